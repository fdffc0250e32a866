"""Prove that no switch drops a frame because its sender is pinned at another port than the frame comes in by.

Such switches look up senders as well as destinations (Huawei's Ethernet switching guide: once an interface is bound to
a MAC address, the others discard frames from it), and have no line against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.tagged_ports import lines_without_tags, without_tags
from tagloom.verify.interleaving import NOWHERE, InterleavingModel, interleaving

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState

    Follow = Callable[[InterleavingModel, NDArray[np.bool_], NDArray[np.bool_], int], tuple[NDArray[np.int64], ...]]

WITNESSES = 5
_NOBODY = -1  # an address that no entry names


def dropped_as_strange(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], follow: Follow
) -> list[Finding]:
    """Return findings for frames that a switch may drop at some of `lines`, or in `before` where there are none."""
    if not looks_at_senders(fabric):
        return []
    parts = ((*without_tags(part, before), lines_without_tags(part, lines)) for part in fabric.by_network)
    each = (found for part in parts for found in strange_hosts(*part, follow).values())
    return [finding for found in each for finding in found][:WITNESSES]


def looks_at_senders(fabric: Fabric) -> bool:
    """Return whether a live switch of a fabric looks up senders."""
    return any(platforms.of(switch).drops_strange_senders for switch in fabric.live)


def strange_hosts(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], follow: Follow
) -> dict[int, list[Finding]]:
    """Return the hosts of a network, without tags, whose frames a switch may drop, each with the findings.

    `follow` follows all copies of a host's frames, as `follow_frames` does. Frames to addresses that no entry names
    flood, and their copies include the path of each unicast (lemma 3 of `wave`) unless a port floods nothing; then
    those to each host are followed, too. A frame may meet each switch at any of its lines: an entry at any line counts.
    """
    if not looks_at_senders(fabric):
        return {}
    looking = np.array([switch.up and platforms.of(switch).drops_strange_senders for switch in fabric.switches])
    net = interleaving(fabric, before, lines)
    known = [net, *(interleaving(each, before, lines) for each in fabric.by_further_addresses)]
    pinned = [_pinned(each, looking) for each in known]
    strange = {}
    for host in range(len(fabric.hosts)):
        if any(host in each for each in pinned):
            met = _met(net, known, host, follow)
            if found := [f for each in pinned for f in _drops(fabric, net, host, met, each.get(host, {}))]:
                strange[host] = found
    return strange


def _pinned(net: InterleavingModel, looking: NDArray[np.bool_]) -> dict[int, dict[int, int]]:
    """Return by host the ports, as bits, that each node of a switch that looks at senders pins it to at some line."""
    found: dict[int, dict[int, int]] = {}
    for low, nodes, ports in (
        (net.entry_lo, net.entry_node, net.entry_ports),
        (net.event_lo, net.event_node, net.event_ports),
    ):
        for host in range(len(net.host_switch)):
            rows = slice(int(low[host]), int(low[host + 1]))
            for node, bits in zip(nodes[rows].tolist(), ports[rows].tolist(), strict=True):
                if bits and looking[net.node_switch[node]]:
                    mine = found.setdefault(host, {})
                    mine[node] = mine.get(node, 0) | bits
    return found


def _met(net: InterleavingModel, known: list[InterleavingModel], host: int, follow: Follow) -> set[tuple[int, int]]:
    """Return the (node, port) by which frames of a host may come in anywhere."""
    hosts, channels = len(net.host_switch), len(net.head)
    alone, turns = np.arange(hosts) == host, np.zeros((channels + 1, net.width), np.bool_)
    records = [follow(net, alone, turns, _NOBODY)]
    if (net.port_on & ~net.port_floods).any():
        records += [follow(each, alone, turns, d) for each in known for d in range(hosts) if d != host]
    to = np.unique(np.concatenate([each[2] for each in records]))
    met = _classified(net, int(net.host_switch[host]), int(net.host_port[host]))
    for arrival in to[(to >= 0) & (to < len(net.arrival_channel))].tolist():
        channel = int(net.arrival_channel[arrival])
        switch, port = int(net.head[channel]), int(net.head_port[channel])
        node = int(net.arrival_node[arrival])
        met |= _classified(net, switch, port) if arrival < channels else {(node, port)}
    return met


def _classified(net: InterleavingModel, switch: int, port: int) -> set[tuple[int, int]]:
    """Return the (node, port) that untagged frames at a port belong to at some line."""
    place = switch * net.width + port
    vlans = net.port_pvid[net.port_lo[place] : net.port_lo[place + 1]]
    return {(int(node), port) for node in net.node_of[switch, vlans[vlans > 0]] if node != NOWHERE}


def _drops(
    fabric: Fabric, net: InterleavingModel, host: int, met: set[tuple[int, int]], pinned: Mapping[int, int]
) -> list[Finding]:
    found = []
    for node, port in sorted(met):
        if others := pinned.get(node, 0) & ~(1 << (port - 1)):
            switch = fabric.switches[net.node_switch[node]]
            platform = platforms.of(switch)
            there, here = platform.port_name(others.bit_length()), platform.port_name(port)
            why = (
                f"dropped at {here} in VLAN {net.node_vlan[node]}: it is pinned at {there}, and a {platform.title} "
                "drops frames of such senders (use --assignment fixed, or --routing tree)"
            )
            found.append(Finding(f"frames of {fabric.hosts[host].name} at {switch.name}", "taken in", why))
    return found
