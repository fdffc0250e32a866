"""Find the host networks of a fabric that tagloom configured: by the hosts that each host's own switch names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx

from tagloom.records.switch_state import Membership

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.records.fabric import Fabric, Host
    from tagloom.records.switch_state import FabricState, SwitchState


def networks_of_hosts(fabric: Fabric, state: FabricState) -> tuple[str, ...]:
    """Return the network of each host: "" for the largest, others numbered; all "" where a host is outside our VLANs.

    Two hosts are of one network where a static entry names one in a VLAN of tagloom's that the other's port is in, at
    its own switch. What the networks were called is not known, nor are networks told apart that share a port.
    """
    hosts = fabric.hosts
    vlans = [_own_vlans(state[fabric.switches[host.switch].name], host) for host in hosts]
    if not all(vlans):
        return ("",) * len(hosts)
    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(range(len(hosts)))
    for h, (host, mine) in enumerate(zip(hosts, vlans, strict=True)):
        held = state[fabric.switches[host.switch].name]
        entries = zip(held.entry_vlan.tolist(), held.entry_mac.tolist(), strict=True)
        named = {mac for vlan, mac in entries if vlan in mine}
        graph.add_edges_from((h, fabric.host_of_mac[mac]) for mac in named & fabric.host_of_mac.keys())
    parts: Sequence[set[int]] = sorted(nx.connected_components(graph), key=lambda part: (-len(part), min(part)))
    number = {h: n for n, part in enumerate(parts) for h in part}
    return tuple(f"network-{number[h]}" if number[h] else "" for h in range(len(hosts)))


def _own_vlans(held: SwitchState, host: Host) -> set[int]:
    """Return tagloom's VLANs that a host's port is in."""
    column = held.membership[:, host.port - 1]
    return {vlan for vlan in held.owned_vlans if column[held.vlan_index[vlan]] != Membership.NONE}
