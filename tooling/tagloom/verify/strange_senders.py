"""Prove that no switch drops a frame because its sender is pinned at another port than the frame comes in by.

Such switches look up senders as well as destinations (Huawei's Ethernet switching guide: once an interface is bound to
a MAC address, the others discard frames from it), and have no line against it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.graph.kernel import kernel
from tagloom.records.tagged_ports import lines_without_tags, without_tags
from tagloom.verify.interleaving import InterleavingModel, interleaving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState

    Follow = Callable[[InterleavingModel, NDArray[np.bool_], NDArray[np.bool_], int], tuple[NDArray[np.int64], ...]]

    _Pinned = tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64]]

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

    `follow` follows all copies of hosts' frames, as `follow_frames` does. Frames to addresses that no entry names
    flood, and their copies include the path of each unicast (lemma 3 of `wave`) unless a port floods nothing; then
    those to each host are followed, too. Where a frame goes on does not depend on its sender, so all senders' are
    followed together, and each sender's are those that its own lead to. A frame may meet each switch at any of its
    lines: an entry at any line counts. At most WITNESSES findings are kept of each host.
    """
    if not looks_at_senders(fabric):
        return {}
    looking = np.array([switch.up and platforms.of(switch).drops_strange_senders for switch in fabric.switches])
    net = interleaving(fabric, before, lines)
    known = [net, *(interleaving(each, before, lines) for each in fabric.by_further_addresses)]
    pinned = [_pinned(each, looking) for each in known]
    found = [np.empty((0, 4), np.uint64)]
    for records in _followed(net, known, follow):
        steps = _steps(records, len(net.arrival_channel) + len(fabric.hosts))
        found += [_elsewhere(net, steps, each) for each in pinned]
    strange: dict[int, list[Finding]] = {}
    for host, node, port, others in np.unique(np.concatenate(found), axis=0).tolist():
        mine = strange.setdefault(host, [])
        if len(mine) < WITNESSES:
            mine.append(_drop(fabric, net, (host, node, port), others))
    return strange


def _pinned(net: InterleavingModel, looking: NDArray[np.bool_]) -> _Pinned:
    """Return what pins hosts at switches that look at senders, at some line: (begin by host int64[H + 1], node, ports).

    Ports are bits; a node that several lines change has several rows.
    """
    hosts = len(net.host_switch)
    rows = [
        (np.repeat(np.arange(hosts), np.diff(low[: hosts + 1])), nodes[: low[hosts]], ports[: low[hosts]])
        for low, nodes, ports in (
            (net.entry_lo, net.entry_node, net.entry_ports),
            (net.event_lo, net.event_node, net.event_ports),
        )
    ]
    host, node, ports = (np.concatenate(column) for column in zip(*rows, strict=True))
    kept = looking[net.node_switch[node]] & (ports > 0)
    host, node, ports = host[kept], node[kept], ports[kept]
    order = np.argsort(host, kind="stable")
    return np.searchsorted(host[order], np.arange(hosts + 1)), node[order].astype(np.int64), ports[order]


def _followed(
    net: InterleavingModel, known: list[InterleavingModel], follow: Follow
) -> Iterator[tuple[NDArray[np.int64], ...]]:
    """Yield the records of all hosts' frames: to an address no entry names and, if a port floods nothing, to each."""
    hosts, turns = len(net.host_switch), np.zeros((len(net.head) + 1, net.width), np.bool_)
    everyone = np.ones(hosts, np.bool_)
    yield follow(net, everyone, turns, _NOBODY)
    if (net.port_on & ~net.port_floods).any():
        for each in known:
            for d in range(hosts):
                yield follow(each, np.arange(hosts) != d, turns, d)


def _steps(records: tuple[NDArray[np.int64], ...], states: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the successors of each frame state: (begin by state int64[S + 1], successors)."""
    state, _, to = records
    order = np.argsort(state, kind="stable")
    return np.searchsorted(state[order], np.arange(states + 1)), to[order]


def _elsewhere(
    net: InterleavingModel,
    steps: tuple[NDArray[np.int64], NDArray[np.int64]],
    pinned: _Pinned,
) -> NDArray[np.uint64]:
    """Return where frames come in by another port than their sender is pinned at: rows of `_met_elsewhere`."""
    pin_lo, pin_node, pin_ports = pinned
    room = 1024
    while True:
        rows, size = _met_elsewhere(net, *steps, pin_lo, pin_node, pin_ports, room)
        if size <= room:
            return np.unique(rows[:size], axis=0)
        room = 2 * size


@kernel
def _met_elsewhere(
    net: InterleavingModel,
    step_lo: NDArray[np.int64],
    step_to: NDArray[np.int64],
    pin_lo: NDArray[np.int64],
    pin_node: NDArray[np.int64],
    pin_ports: NDArray[np.uint64],
    room: int,
) -> tuple[NDArray[np.uint64], int]:
    """Return rows (host, node, port, the other ports it is pinned at, as bits), and the size they need."""
    channels, arrivals = len(net.head), len(net.arrival_channel)
    out = np.empty((room, 4), np.uint64)
    own, seen = np.zeros(len(net.node_vlan), np.uint64), np.zeros(arrivals, np.int64)
    stack = np.empty(arrivals + 1, np.int64)
    rows = 0
    for host in range(len(net.host_switch)):
        if pin_lo[host + 1] == pin_lo[host]:
            continue
        for i in range(pin_lo[host], pin_lo[host + 1]):
            own[pin_node[i]] |= pin_ports[i]
        stack[0] = arrivals + host
        size = 1
        while size:
            size -= 1
            x = stack[size]
            if x < arrivals:
                s, p = net.head[net.arrival_channel[x]], net.head_port[net.arrival_channel[x]]
            else:
                s, p = net.host_switch[host], net.host_port[host]
            here = np.uint64(1) << np.uint64(p - 1)
            untagged = x < channels or x >= arrivals
            place = s * net.width + p
            low, high = (net.port_lo[place], net.port_lo[place + 1]) if untagged else (0, 1)
            for e in range(low, high):  # untagged, by the PVID of any line
                node = net.arrival_node[x] if not untagged else net.node_of[s, net.port_pvid[e]]
                if untagged and net.port_pvid[e] == 0:
                    continue
                if node >= 0 and own[node] & ~here:
                    if rows < room:
                        out[rows, 0], out[rows, 1], out[rows, 2] = host, node, p
                        out[rows, 3] = own[node] & ~here
                    rows += 1
            for j in range(step_lo[x], step_lo[x + 1]):
                to = step_to[j]
                if 0 <= to < arrivals and seen[to] != host + 1:
                    seen[to] = host + 1
                    stack[size] = to
                    size += 1
        for i in range(pin_lo[host], pin_lo[host + 1]):
            own[pin_node[i]] = np.uint64(0)
    return out, rows


def _drop(fabric: Fabric, net: InterleavingModel, where: tuple[int, int, int], others: int) -> Finding:
    """Return the finding for a host's frames that come in at a node by a port, where others are pinned, as bits."""
    host, node, port = where
    switch = fabric.switches[net.node_switch[node]]
    platform = platforms.of(switch)
    there, here = platform.port_name(others.bit_length()), platform.port_name(port)
    why = (
        f"dropped at {here} in VLAN {net.node_vlan[node]}: it is pinned at {there}, and a {platform.title} "
        "drops frames of such senders (use --assignment fixed, or --routing tree)"
    )
    return Finding(f"frames of {fabric.hosts[host].name} at {switch.name}", "taken in", why)
