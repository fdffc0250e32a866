"""Take over a live network: what its switches report becomes a fabric, and what they do today is proven."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import DeviceError
from tagloom.observe.host_networks import with_networks
from tagloom.observe.network import active_tree, cabling_by_name, edge_ports, foreign_vlans, read_switches
from tagloom.observe.objects import NETWORK
from tagloom.pipeline.proving import prove_what_runs
from tagloom.platforms.port_names import port_name
from tagloom.platforms.secrets import scrub
from tagloom.read.active_tree import write_running_network
from tagloom.read.fabric_text import format_fabric, quoted
from tagloom.records.fabric import Host
from tagloom.records.network import ActiveTree, AdoptedNetwork
from tagloom.render import parse, port_descriptions
from tagloom.rollout import settled
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric
    from tagloom.records.snmp import Address, Ask

    # of switches by name, their texts and, of those that could not be read, why not
    ReadTexts = Callable[[Mapping[str, Platform]], tuple[dict[str, str], dict[str, str]]]


def adopt(
    name: str,
    agents: Mapping[str, Address],
    addresses: Mapping[str, str],
    ask: Ask,
    read: ReadTexts,
    *,
    model: str | None = None,
    called: Mapping[int, str] | None = None,
    trust_foreign: bool = False,
) -> AdoptedNetwork:
    """Return a live network as a fabric, with the proof of what it does; nothing is configured.

    `agents` and `addresses` are by the inventory's names of switches; `read` reads running configurations, `called`
    maps addresses of hosts to names. Switches that cannot be read are left out, with the reason. Raises DeviceError if
    none can be read.
    """
    seen, models, failed = read_switches(ask(agents, NETWORK), model)
    texts, unread = read({switch: platforms.load(is_a) for switch, is_a in models.items()}) if models else ({}, {})
    failed |= unread
    seen = {switch: shown for switch, shown in seen.items() if switch in texts}
    if not seen:
        raise DeviceError(next(iter(failed)), "", next(iter(failed.values())))
    texts = {switch: scrub(text) for switch, text in texts.items()}
    cabling = cabling_by_name(name, seen, models, addresses)
    state, _ = parse(cabling.fabric, texts)
    described = {
        switch.name: port_descriptions(platforms.of(switch), texts[switch.name]) for switch in cabling.fabric.switches
    }
    edge = edge_ports(cabling.fabric, state, seen, called or {}, described)
    fabric = replace(
        cabling.fabric,
        hosts=tuple(Host(host, s, port, macs[0], macs[1:]) for host, s, port, macs in edge.hosts),
        reserved=edge.reserved,
    )
    fabric = with_networks(fabric, state)
    tree = active_tree(fabric, state, seen) or _computed(fabric)
    proof = prove_what_runs(fabric, texts, tree.blocked, trust_foreign=trust_foreign)
    proof = replace(proof, paste_order=None, paste_refused=())  # nobody pastes what runs
    remarks = [f"{switch}: {words}" for switch, shown in seen.items() for words in shown.complaints]
    return AdoptedNetwork(
        fabric,
        edge,
        tree,
        tuple(port_name(fabric, *port) for port in tree.blocked),
        proof,
        foreign_vlans(fabric, state, proof.foreign_vlans),
        {switch.name: texts[switch.name] for switch in fabric.switches},
        (*cabling.complaints, *remarks),
        dict(sorted(failed.items())),
    )


def _computed(fabric: Fabric) -> ActiveTree:
    """Return the tree that 802.1D settles on where switches do not report theirs, with what that assumes."""
    tree = settled(fabric, range(len(fabric.switches)))
    assumed = (
        "switches that run spanning tree do not report it (BRIDGE-MIB): computed by 802.1D with equal costs and bridge "
        "addresses in the order of the fabric; compare with show spanning-tree"
    )
    return ActiveTree(fabric.switches[0].name, tuple(sorted(tree.blocked)), assumed)


def fabric_text(network: AdoptedNetwork) -> str:
    """Return the fabric file of a network, with comments for what an operator must decide."""
    lines = ["# As tagloom adopt read it."]
    for found in network.edge.uplinks:
        switch, _, port = found.where.partition(":")
        lines += [
            f"# {found.where}: {found.actual}. Frames to addresses that nobody knows may leave there, as a host:",
            f"#   uplink-{switch}: {{switch: {quoted(switch)}, port: {quoted(port)}, uplink: true}}",
        ]
    waiting = "up, and nothing was learnt there: let it send, or add it by hand"
    lines += [f"# {where}: {waiting}." for where in network.edge.silent]
    for vlan in network.foreign:
        ports = ", ".join(vlan.ports) or "no port"
        lines.append(f"# VLAN {vlan.vlan} stays as it is: {ports}; on {number_of(vlan.links, 'link')}.")
    return "\n".join(lines) + "\n" + format_fabric(network.fabric)


def write_running(network: AdoptedNetwork, directory: Path, *, force: bool = False) -> None:
    """Write what runs, for `rollout --running`. Raises InputError where something else is in the way."""
    outside = [found.where for found in network.edge.uplinks]
    write_running_network(directory, network.texts, network.tree.root, network.blocked, outside, force=force)
