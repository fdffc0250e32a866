"""Prove that networks which are isolated before a wave stay so at every line of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding
from tagloom.graph.search import reached
from tagloom.records.switch_state import Frames
from tagloom.verify.interleaving import NOWHERE, interleaving

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState
    from tagloom.verify.interleaving import InterleavingModel


def leaks_of_wave(fabric: Fabric, before: FabricState, lines: Mapping[str, Lines]) -> list[Finding]:
    """Return findings for networks that are isolated in `before`, and perhaps not at some line.

    What a switch has at any of its lines counts as if it had it at all of them: members, PVIDs, what ports accept. So
    no interleaving is left out, and a wave that reuses a VLAN of another network is refused, even if none would leak.
    Frames are as in `isolation`: any tags, tags below them, any address.
    """
    if not fabric.isolated_networks.any():
        return []
    leaking = _leaking(fabric, interleaving(fabric, before, lines))
    leaking = {pair: where for pair, where in leaking.items() if fabric.isolated_networks[pair]}
    known = _leaking(fabric, interleaving(fabric, before, {})) if leaking else {}
    names = list(fabric.networks)
    return [
        Finding(f"network {names[a]} -> {names[b]}", "no frame of one at ports of the other, at every line", where)
        for (a, b), where in sorted(leaking.items())
        if (a, b) not in known
    ]


def _leaking(fabric: Fabric, net: InterleavingModel) -> dict[tuple[int, int], str]:
    """Return the pairs (a, b) of networks of which frames of a may leave by a port of b, with a port and its VLAN."""
    takes = _taken(net)
    at, port = np.nonzero(_port_sets(net, net.ever_tagged | net.ever_untagged))
    host = net.port_host[net.node_switch[at], port]
    before, after = _steps(net, takes)
    number = np.empty(len(fabric.hosts), np.int64)
    for i, hosts in enumerate(fabric.networks.values()):
        number[hosts] = i
    found: dict[tuple[int, int], str] = {}
    for i, hosts in enumerate(fabric.networks.values()):
        starts = [_first(fabric, net, takes, h) for h in hosts.tolist()]
        live = reached(len(net.node_switch), before, after, np.unique(np.concatenate(starts)))
        for row in np.flatnonzero(live[at] & (host >= 0)).tolist():
            place = int(net.node_switch[at[row]]), int(port[row])
            vlan, bit = int(net.node_vlan[at[row]]), np.uint64(1) << np.uint64(port[row] - 1)
            forms = ((0, net.ever_untagged), (vlan, net.ever_tagged))
            there = fabric.tagged_hosts.get(place, {})
            hearing = [there.get(tag, -1) for tag, ever in forms if ever[at[row]] & bit] if there else [int(host[row])]
            if -1 in hearing and i in {int(number[h]) for h in there.values()}:  # in a form that none there expects
                hearing = [h for h in hearing if h >= 0]
            for h in [int(host[row]) if each < 0 else each for each in hearing]:
                if number[h] != i:
                    where = f"{fabric.hosts[h].name} in VLAN {vlan} at some line"
                    found.setdefault((i, int(number[h])), f"they may reach {where}")
    return found


def _first(fabric: Fabric, net: InterleavingModel, takes: _Taken, h: int) -> NDArray[np.int64]:
    """Return the nodes to which a host's frames are classified, but those with tags of other networks at its port."""
    host = fabric.hosts[h]
    nodes = takes.of(host.switch, host.port)
    there = fabric.tagged_hosts.get((host.switch, host.port), {})
    first = int(net.port_host[host.switch, host.port]) in {-1, h}  # what no host there expects is of the first
    if host.tag and not first:
        nodes = takes.tagged(host.switch, host.port)
        return np.asarray(nodes[net.node_vlan[nodes] == host.tag], np.int64)
    kept = ~np.isin(net.node_vlan[nodes], [tag for tag in there if tag and tag != host.tag])
    return np.asarray(nodes[kept], np.int64)


class _Taken:
    """The nodes that frames from a port may be classified to at some line, by the frame's tag.

    tags  bool[K, W]: whether a frame tagged with the node's VLAN is taken
    pvids  the nodes of the port's PVIDs at its lines, by (switch, port)
    """

    def __init__(self, net: InterleavingModel, tags: NDArray[np.bool_], pvids: dict[tuple[int, int], set[int]]) -> None:
        self.tags, self.pvids = tags, pvids
        self._begin = np.searchsorted(net.node_switch, np.arange(int(net.node_switch.max(initial=-1)) + 2))

    def tagged(self, s: int, port: int) -> NDArray[np.int64]:
        """Return the nodes to which frames with any tag are classified."""
        first, end = self._begin[s : s + 2].tolist()
        return np.arange(first, end)[self.tags[first:end, port]]

    def of(self, s: int, port: int) -> NDArray[np.int64]:
        """Return the nodes to which frames with any tag or none are classified."""
        return np.union1d(self.tagged(s, port), np.array(sorted(self.pvids.get((s, port), ())), np.int64))


def _taken(net: InterleavingModel) -> _Taken:
    places = len(net.port_lo) - 1
    place = np.repeat(np.arange(places), np.diff(net.port_lo))
    some_tag = np.zeros(places, np.bool_)
    unfiltered = np.zeros(places, np.bool_)
    some_tag[place[net.port_on & (net.port_frames != Frames.UNTAGGED_ONLY)]] = True
    unfiltered[place[net.port_on & ~net.port_filter]] = True
    shape = places // net.width, net.width
    member = _port_sets(net, net.ever_tagged | net.ever_untagged)
    tags = (member | unfiltered.reshape(shape)[net.node_switch]) & some_tag.reshape(shape)[net.node_switch]
    pvids: dict[tuple[int, int], set[int]] = {}
    bare = np.flatnonzero(net.port_on & (net.port_frames != Frames.TAGGED_ONLY) & (net.port_pvid > 0))
    s, port = np.divmod(place[bare], net.width)
    node = net.node_of[s, net.port_pvid[bare]]
    kept = (node != NOWHERE) & (member[node, port] | ~net.port_filter[bare])
    for key, each in zip(zip(s[kept].tolist(), port[kept].tolist(), strict=True), node[kept].tolist(), strict=True):
        pvids.setdefault(key, set()).add(each)
    return _Taken(net, tags, pvids)


def _port_sets(net: InterleavingModel, bits: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return sets of ports, given as bits for each node, as bool[K, W]; port 1 is bit 0."""
    held = np.zeros((len(bits), net.width), np.bool_)
    held[:, 1:] = (bits[:, None] >> np.arange(net.width - 1, dtype=np.uint64)) & np.uint64(1) > 0
    return held


def _steps(net: InterleavingModel, takes: _Taken) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (node, node) of frames that cross a link between them at some lines."""
    rows = []
    for bits, tagged in ((net.ever_tagged, True), (net.ever_untagged, False)):
        node, port = np.nonzero(_port_sets(net, bits))
        channel = net.port_channel[net.node_switch[node], port]
        kept = (channel >= 0) & net.usable[channel]
        node, channel = node[kept], channel[kept]
        s, far = net.head[channel], net.head_port[channel]
        if tagged:
            to = net.node_of[s, net.node_vlan[node]].astype(np.int64)
            good = (to != NOWHERE) & takes.tags[to, far]
            rows.append((node[good], to[good]))
        for c in () if tagged else np.unique(channel).tolist():  # and any tag below one that was taken off
            leaving, to = node[channel == c], takes.of(int(net.head[c]), int(net.head_port[c]))
            rows.append((np.repeat(leaving, len(to)), np.tile(to, len(leaving))))
    return np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])
