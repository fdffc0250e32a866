"""Decompose routes into the trees that hosts send over, and compose routes from trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import flooded_by, unflooded_bytes
from tagloom.records.routes import Routes
from tagloom.regulate.moves import Net, Trees, start

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.traffic import Traffic

SPARE = 64  # additional trees that single hosts may be given


def net_of(fabric: Fabric, traffic: Traffic, max_hops: int | None = None) -> Net:
    """Return the channels of all links, up or not, and the bytes from each host to each switch, and what it floods.

    `max_hops` is the most switches on a path between two hosts of one network, None for no limit.
    """
    switches, hosts = len(fabric.switches), len(fabric.hosts)
    out = np.argsort(fabric.tail, kind="stable").astype(np.int32)
    begin = np.zeros(switches + 1, np.int32)
    np.cumsum(np.bincount(fabric.tail, minlength=switches), out=begin[1:])
    slot = np.empty(len(fabric.tail), np.int32)
    slot[out] = np.arange(len(out)) - begin[fabric.tail[out]]
    flow = np.zeros((hosts, switches))
    np.add.at(flow.T, fabric.host_switch, unflooded_bytes(fabric, traffic.volume_bytes).T)
    flow[np.arange(hosts), fabric.host_switch] = 0.0  # hosts of one switch use no channel
    target = np.zeros(switches, np.int64)
    target[fabric.host_switch] = 1
    reach = (max_hops or switches) - 1
    network, at = np.zeros(hosts, np.int32), np.zeros((len(fabric.networks), switches), np.bool_)
    for i, mine in enumerate(fabric.networks.values()):
        network[mine] = i
        at[i, fabric.host_switch[mine]] = True
    ends = fabric.tail, fabric.head, begin, out, slot, fabric.host_switch
    flood = flooded_by(fabric, traffic.volume_bytes)
    return Net(*ends, flow, flow.sum(axis=1), flood, target, reach, network, at)


def trees_of(fabric: Fabric, net: Net, routes: Routes, most: int) -> Trees | None:
    """Return the distinct trees of the routes; None if their turns close a cycle or a path is too long.

    There is room for SPARE more, and for at most `most` in all.
    """
    kinds: dict[bytes, int] = {}
    tree_of_source = np.empty(routes.sources, np.int32)
    rows: list[NDArray[np.int32]] = []
    roots: list[int] = []
    for source, row in enumerate(routes.trees):
        links = np.sort(row[row >= 0] >> 1).tobytes()
        if links not in kinds:
            kinds[links] = len(rows)
            rows.append(row)
            roots.append(int(routes.root[source]))
        tree_of_source[source] = kinds[links]
    room, switches, channels = max(most, len(rows)), len(fabric.switches), len(fabric.tail)
    room = min(room, len(rows) + SPARE)  # every trial may have to be undone, tree by tree
    root, row_of = np.zeros(room, np.int32), np.full((room, switches), -1, np.int32)
    root[: len(rows)], row_of[: len(rows)] = roots, rows
    widest = int(np.diff(net.start).max(initial=0))
    capacity = np.repeat([link.capacity_mbps() for link in fabric.links], 2)
    trees = Trees(
        np.array([link.up for link in fabric.links], np.bool_),
        1000.0 / capacity if len(capacity) else np.zeros(0),
        np.array([len(rows)], np.int64),
        tree_of_source[routes.source_of_host].astype(np.int32),
        root,
        row_of,
        np.zeros((room, switches)),
        np.zeros((room, switches)),
        np.zeros(channels),
        np.zeros((channels, widest), np.int32),
        np.arange(channels),
    )
    return trees if start(net, trees) else None


def links_of(trees: Trees) -> list[list[int]]:
    """Return the sorted links of each tree that some host sends over."""
    return [sorted(set((row[row >= 0] >> 1).tolist())) for row in trees.row[np.unique(trees.tree_of)]]


def routes_of(
    fabric: Fabric, forest: list[list[int]], tree_of_host: NDArray[np.integer], method: str, reason: str
) -> Routes:
    """Return the routes of hosts that send over trees of links; hosts of one switch on one tree are one source.

    Raises ValueError if a tree has a cycle, or does not reach every host.
    """
    pairs = np.stack([fabric.host_switch.astype(np.int64), np.asarray(tree_of_host, np.int64)], axis=1)
    sources, source_of_host = np.unique(pairs, axis=0, return_inverse=True)
    parent = np.full((len(sources), len(fabric.switches)), -1, np.int32)
    around = [_around(fabric, links) for links in forest]
    needed = np.unique(fabric.host_switch)
    for row, (root, tree) in zip(parent, sources.tolist(), strict=True):
        stack = [root]
        while stack:
            here = stack.pop()
            for channel in around[tree].get(here, ()):
                head = int(fabric.head[channel])
                if row[here] != channel ^ 1:
                    if row[head] >= 0 or head == root:
                        raise ValueError(f"tree {tree} is none: it closes a ring")
                    row[head] = channel
                    stack.append(head)
        if np.any((row[needed] < 0) & (needed != root)):
            raise ValueError(f"tree {tree} does not lead from {fabric.switches[root].name} to every host")
    root = sources[:, 0].astype(np.int32)
    return Routes(method, reason, source_of_host.reshape(-1).astype(np.int32), root, parent)


def _around(fabric: Fabric, links: list[int]) -> dict[int, list[int]]:
    around: dict[int, list[int]] = {}
    for i in links:
        around.setdefault(fabric.links[i].a, []).append(2 * i)
        around.setdefault(fabric.links[i].b, []).append(2 * i + 1)
    return around
