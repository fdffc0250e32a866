"""Find the host networks of a fabric that tagloom configured: by the hosts that each host's own switch names."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from tagloom.records.switch_state import Membership

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagloom.records.fabric import Fabric, Host
    from tagloom.records.switch_state import FabricState

    # a host's index, and the tag of one of the networks at its port, 0 for what is untagged
    Place = tuple[int, int]


def with_networks(fabric: Fabric, state: FabricState) -> Fabric:
    """Return the fabric with the networks of its hosts, tagged ones too; as it is where a host is outside our VLANs.

    What a port sends untagged is of one network, what it takes in one of tagloom's VLANs tagged of another. Two of
    these are one network where a static entry names the one's host in a VLAN of the other, at the other's own switch.
    The largest that is not tagged is the default network, unless a host of it carries others; the rest are numbered:
    what they were called is not known, nor is their routing, nor which links they kept to. A port that is in its own
    network's VLANs tagged, too (as with `plan --learning`), carries no second one.
    """
    vlans = [_vlans_at(fabric, state, host) for host in fabric.hosts]
    if not vlans or not all(vlans):
        return fabric
    graph: nx.Graph[Place] = nx.Graph()
    for h, at in enumerate(vlans):
        graph.add_nodes_from((h, tag) for tag in at)
        graph.add_edges_from(
            ((h, tag), other) for tag, mine in at.items() for other in _named(fabric, state, h, mine, vlans)
        )
    parts = [_of_ports(part) for part in nx.connected_components(graph)]
    parts.sort(key=lambda part: (_is_tagged(part), -len(part), min(part)))
    several = {h for part in parts if _is_tagged(part) for h, tag in part if tag}
    # hosts that carry others tagged must be named in their untagged network, too
    first = 1 if _is_tagged(parts[0]) or several & {h for h, _ in parts[0]} else 0
    network = {
        place: f"network-{number}" if number else "" for number, part in enumerate(parts, first) for place in part
    }
    carried: list[list[int]] = [[] for _ in fabric.hosts]
    for h, tag in sorted(network):
        carried[h].append(tag)
    hosts = [
        replace(host, network=network[h, tags[0]], tag=tags[0])
        for h, (host, tags) in enumerate(zip(fabric.hosts, carried, strict=True))
    ]
    beside = [
        replace(fabric.hosts[h], name=f"{fabric.hosts[h].name}@{network[h, tag]}", network=network[h, tag], tag=tag)
        for h, tags in enumerate(carried)
        for tag in tags[1:]
    ]
    tags = tuple(sorted({(name, tag) for (_, tag), name in network.items() if tag}))
    return replace(
        fabric,
        hosts=(*hosts, *beside),
        tags=tags,
        routings=tuple((name, "tree") for name, _ in tags),
        first_vlan=max([fabric.first_vlan, *(tag + 1 for _, tag in tags)]),
    )


def _vlans_at(fabric: Fabric, state: FabricState, host: Host) -> dict[int, set[int]]:
    """Return tagloom's VLANs that a host's port is in: those of untagged frames by 0, each other by its id."""
    held = state[fabric.switches[host.switch].name]
    ours = np.isin(held.vlans, held.owned_vlans)
    column = held.membership[:, host.port - 1]
    untagged = set(held.vlans[ours & (column == Membership.UNTAGGED)].tolist())
    tagged = held.vlans[ours & (column == Membership.TAGGED)].tolist()
    return ({0: untagged} if untagged else {}) | {vlan: {vlan} for vlan in tagged}


def _named(
    fabric: Fabric, state: FabricState, h: int, mine: set[int], vlans: Sequence[dict[int, set[int]]]
) -> Iterator[Place]:
    """Yield whom the switch of host `h` names in the VLANs `mine`, as what the port of each has of that VLAN."""
    held = state[fabric.switches[fabric.hosts[h].switch].name]
    entries = np.isin(held.entry_vlan, list(mine))
    for vlan, mac in zip(held.entry_vlan[entries].tolist(), held.entry_mac[entries].tolist(), strict=True):
        other = fabric.host_of_mac.get(mac)
        if other is not None and vlan in vlans[other]:
            yield other, vlan
        elif other is not None and 0 in vlans[other]:  # renamed ids mean something else there
            yield other, 0


def _is_tagged(part: set[Place]) -> bool:
    return any(tag for _, tag in part)


def _of_ports(part: set[Place]) -> set[Place]:
    """Return a network's places without tags of ports that carry it untagged."""
    plain = {h for h, tag in part if not tag}
    return {(h, tag) for h, tag in part if not tag or h not in plain}
