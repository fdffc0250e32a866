"""Prove that no line of a wave cuts the path from tagloom to a switch managed over the fabric's own links."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle
from tagloom.platforms.port_names import channel_name
from tagloom.records.fabric import Host
from tagloom.records.switch_state import Membership, dead_states
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.verify.wave import prove_frames

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.fabric import Fabric, Management
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import WaveProof


def prove_management(
    fabric: Fabric,
    before: FabricState,
    lines: Mapping[str, Lines],
    assumptions: ProofAssumptions,
    data: WaveProof,
    *,
    pausing: bool,
) -> tuple[Finding, ...]:
    """Prove that tagloom reaches every switch at every line, if the fabric declares in-band management.

    The switches' own addresses are modelled as hosts of the management VLAN, each behind an extra port. Its frames are
    proven as those of a wave: every one arrives once, whatever lines are in force. If a state lacks the VLAN (a plan
    does: it is not tagloom's) it is taken to be tagged on the declared links. With `pausing`, i.e. if some port sends
    PAUSE, its frames and those of `data` together must close no dependency cycle.
    """
    requested = fabric.management
    if requested is None:
        return ()
    ports: list[list[int]] = [[] for _ in fabric.switches]
    for i in requested.links:
        link = fabric.links[i]
        ports[link.a].append(link.a_port)
        ports[link.b].append(link.b_port)
    macs = range(1 << 40, (1 << 40) + len(fabric.switches))
    cpus = [
        Host(f"switch {switch.name}", s, fabric.ports[s] + 1, mac)
        for (s, switch), mac in zip(enumerate(fabric.switches), macs, strict=True)
        if switch.up
    ]
    hosts = (Host("tagloom", requested.switch, requested.port, (1 << 40) - 1), *cpus)
    managed = replace(fabric, hosts=hosts, ports=tuple(count + 1 for count in fabric.ports))
    states = {
        switch.name: _with_cpu(before[switch.name], requested, ports[s], s == requested.switch)
        for s, switch in enumerate(fabric.switches)
    }
    loose = ProofAssumptions(learning=frozenset({requested.vlan}), lossy=True, blocked=assumptions.blocked)
    proof = prove_frames(managed, states, lines, assumptions=loose)
    if proof.findings:
        return proof.findings
    if pausing:
        held, wanted = (np.concatenate([getattr(each, name) for each in (data, proof)]) for name in ("held", "wanted"))
        if cycle := find_cycle(len(fabric.tail), held, wanted):
            named = "; ".join(channel_name(fabric, c) for c in cycle)
            return (Finding("management", "no dependency cycle with the hosts' frames under PAUSE", named),)
    return ()


def prove_managed(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], assumptions: ProofAssumptions, data: WaveProof
) -> WaveProof:
    """Return a proof of `data`, with what cuts tagloom off from switches at some line of a wave that keeps pairs.

    A switch that is apart counts once it is sent lines: before, it is reached by nobody, and nobody over it.
    """
    requested = fabric.management
    if requested is None or not data.proven:
        return data
    alone = {s for s in assumptions.apart if fabric.switches[s].name not in lines}
    ways = tuple(i for i in requested.links if not {fabric.links[i].a, fabric.links[i].b} & alone)
    less = replace(fabric.with_switches_down(alone), management=replace(requested, links=ways))
    held = {**before, **dead_states(less)}
    return replace(data, findings=prove_management(less, held, lines, ProofAssumptions(), data, pausing=False))


def _with_cpu(state: SwitchState, requested: Management, ports: list[int], here: bool) -> SwitchState:
    """Return a switch's state with one more port, for its own processor, and with the management VLAN if missing."""
    columns = {
        name: np.append(getattr(state, name), np.array([value], getattr(state, name).dtype))
        for name, value in (
            *(("mode", 1), ("pvid", requested.vlan), ("ingress_filter", True), ("frames", 0), ("enabled", True)),
            *(("negotiation", True), ("speed_mbps", 0), ("flow_control", 0), ("eee", False)),
            *(("port_spanning_tree", False), ("lag", 0), ("flooding", True), ("learning", True)),
        )
    }
    members = np.pad(state.membership, ((0, 0), (0, 1)))
    vlans, names = state.vlans, state.vlan_names
    at = int(np.searchsorted(vlans, requested.vlan))
    if requested.vlan not in state.vlan_index:
        row = np.zeros((1, state.ports + 1), np.uint8)
        row[0, np.array(ports, np.int64) - 1] = Membership.TAGGED
        if here:
            row[0, requested.port - 1] = Membership.UNTAGGED
            columns["pvid"][requested.port - 1] = requested.vlan
        vlans = np.insert(vlans, at, requested.vlan).astype(np.int32)
        names = (*names[:at], "", *names[at:])
        members = np.insert(members, at, row, axis=0)
    members[at, -1] = Membership.UNTAGGED
    return replace(state, vlans=vlans, vlan_names=names, membership=members, **columns)  # type: ignore[arg-type]  # all columns are arrays
