"""Turn the trees that lead away from every source into trees that lead towards every destination."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.next_channels import NextChannels, Parting, next_channels
from tagloom.graph.paths import path_lengths
from tagloom.graph.trees import per_switch
from tagloom.records.routes import DELIVERED, UNUSED, Relation, Routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric


def by_destination(fabric: Fabric, routes: Routes) -> Routes:
    """Return routes whose next channel follows from the switch and the destination alone, made from trees.

    Routes that have this property already, as dimension order on a mesh has, are returned as they are. Others are
    walked backwards: the path from A to B becomes that from B to A with every channel reversed. A tree away from a
    switch so becomes a tree towards it. A dependency of channel c on channel d becomes one of d reversed on c reversed,
    so dependencies are acyclic if they were; every length, and the load of every link, stay. The converse holds too:
    a fabric has acyclic trees towards all switches of some length and load if and only if it has such trees away from
    them. If a switch has several sources, one of their trees is taken, so that the busiest channels carry little.
    """
    source_of_host, root = per_switch(fabric)
    if np.array_equal(routes.root, root) and isinstance(next_channels(fabric, routes), NextChannels):
        return routes
    trees = _one_per_switch(fabric, routes, root)
    switches, channels = len(fabric.switches), len(fabric.tail)
    towards = np.full((switches, switches), UNUSED, np.int32)  # [switch, destination]
    rows, entered = np.nonzero(trees >= 0)
    towards[entered, root[rows]] = trees[rows, entered] ^ 1
    towards[root, root] = DELIVERED
    following = np.full((max(1, channels), switches), UNUSED, np.int32)
    here, target = np.nonzero(towards >= 0)
    taken = towards[here, target]
    following[taken, target] = towards[fabric.head[taken], target]
    return Routes(
        routes.method,
        f"{routes.reason}; each path is that of the other direction, walked backwards",
        source_of_host,
        root,
        relation=Relation(towards[root], following),
    )


def turned_around(fabric: Fabric, routes: Routes) -> Routes:
    """Return the trees away from every switch whose paths, walked backwards, are `routes`, one per switch with hosts.

    The inverse of `by_destination`; raises ValueError for routes whose next channel needs more than the destination.
    """
    found = next_channels(fabric, routes)
    if isinstance(found, Parting):
        raise ValueError("paths that part ways have no trees backwards")  # noqa: TRY004 - a value, of the right type
    source_of_host, root = per_switch(fabric)
    parent = np.where(found.channel >= 0, found.channel ^ 1, -1).T.astype(np.int32)
    return replace(routes, source_of_host=source_of_host, root=root, parent=parent, relation=None)


def _one_per_switch(fabric: Fabric, routes: Routes, root: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return one tree for each of the switches `root`, int32[len(root), N], the least loaded with those before it."""
    if len(root) == routes.sources:
        return routes.trees[np.argsort(routes.root)]
    load, depth = np.zeros(len(fabric.tail)), path_lengths(fabric, routes)
    hosts = np.bincount(fabric.host_switch, minlength=len(fabric.switches))
    chosen: list[int] = []
    for switch in root.tolist():
        sources = np.flatnonzero(routes.root == switch).tolist()
        sums = [load + _load_of_one(fabric, routes.trees[s], depth[s], hosts) * hosts[switch] for s in sources]
        best = int(np.argmin([float((each**2).sum()) for each in sums]))
        load = sums[best]
        chosen.append(sources[best])
    return routes.trees[chosen]


def _load_of_one(
    fabric: Fabric, tree: NDArray[np.int32], depth: NDArray[np.int32], hosts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the load of each channel if one host sends to all along a tree: the hosts behind it, float64[C]."""
    load, behind = np.zeros(len(fabric.tail)), hosts.astype(np.float64)
    for switch in np.argsort(-depth, kind="stable").tolist():
        channel = int(tree[switch])
        if channel >= 0:
            load[channel] = behind[switch]
            behind[fabric.tail[channel]] += behind[switch]
    return load
