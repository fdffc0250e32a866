"""Show what was read of a live network, and what it does today."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.report.terminal import SHOWN_FINDINGS, count, finding_lines, remark_lines, row, verdict

if TYPE_CHECKING:
    from tagloom.records.network import AdoptedNetwork


def adopted_lines(network: AdoptedNetwork) -> list[str]:
    """Return what was read, the proof of what runs, and what an operator must decide."""
    fabric, proof, tree = network.fabric, network.proof, network.tree
    kinds = network.to_json()["models"]
    models = ", ".join(f"{number} {model}" for model, number in kinds.items())
    parts = [count(len(fabric.switches), "switch"), count(len(fabric.links), "link"), count(len(fabric.hosts), "host")]
    lines = row("read", f"{', '.join(parts)} ({models})")
    shown = ", ".join(network.blocked[:SHOWN_FINDINGS]) + (" ..." if len(network.blocked) > SHOWN_FINDINGS else "")
    lines += row("tree", f"root {tree.root or 'outside, or none'}; blocked: {shown or 'no port'}")
    lines += row("assumed", tree.assumed) if tree.assumed else []
    for vlan in network.foreign:
        where = ", ".join(vlan.ports[:SHOWN_FINDINGS]) + (" ..." if len(vlan.ports) > SHOWN_FINDINGS else "")
        lines += row("stays", f"VLAN {vlan.vlan}: {where or 'no port'}; on {count(vlan.links, 'link')}")
    pairs = f"{proof.reachable_pairs:,} of {proof.pairs:,}"
    figure = f"{count(len(fabric.hosts), 'host')}" if proof.broadcast_exactly_once else "copies differ"
    lines += [
        *verdict("proof", "every pair arrives, flooded or where it was learnt", pairs, not proof.unreachable_pairs),
        *verdict("", "no storm", "no cycle" if proof.storm_free else "storm", proof.storm_free),
        *verdict("", "each broadcast exactly once", figure, proof.broadcast_exactly_once),
    ]
    if proof.foreign_vlans:
        vlans = count(len(proof.foreign_vlans), "VLAN")
        lines += verdict("", "VLANs of others neither storm nor reach a host", vlans, proof.foreign_safe)
    lines += finding_lines((*proof.findings, *network.edge.findings, *tree.findings))
    for found in network.edge.uplinks:
        lines += row("uplink?", f"{found.where}: {found.actual}")
    if silent := network.edge.silent:
        more = " ..." if len(silent) > SHOWN_FINDINGS else ""
        lines += row("silent", f"{', '.join(silent[:SHOWN_FINDINGS])}{more}: up, and nothing was learnt there")
    lines += remark_lines(network.remarks)
    for switch, why in network.failed.items():
        lines += row("failed", f"{switch}: {why}")
    return lines
