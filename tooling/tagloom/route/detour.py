"""Move trees off links that are wanted down, one link at a time, and keep all other links."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies
from tagloom.graph.trees import pruned, rooted, rooted_at
from tagloom.records.routes import Routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

MAX_TRIES = 12  # links tried per broken tree, nearest first


def detour(fabric: Fabric, routes: Routes) -> Routes | None:
    """Return the routes moved off the links that are wanted down, or None if that closes a dependency cycle.

    Each tree that uses such a link replaces it by another link between the two halves: a parallel one first, then those
    nearest to the gap. Sources with equal trees move together, so no VLAN is added.
    """
    if fabric.channel_up.all():
        return routes
    down = {i for i, link in enumerate(fabric.links) if not link.up}
    trees, tree_of = _trees(routes)
    broken = [t for t, links in enumerate(trees) if links & down]
    if not broken:
        return routes
    current = routes
    for t in broken:
        moved = _reconnect(fabric, current, trees[t], np.flatnonzero(tree_of == t), down)
        if moved is None:
            return None
        current = moved
    parent = pruned(fabric, current.trees)
    reason = f"{routes.reason}; {len(broken)} of {len(trees)} trees moved off links that are down"
    return Routes(routes.method, reason, routes.source_of_host, routes.root, parent)


def _trees(routes: Routes) -> tuple[list[set[int]], NDArray[np.int64]]:
    """Return the different trees as sets of links, and the tree of each source."""
    sets: dict[frozenset[int], int] = {}
    tree_of = np.empty(routes.sources, np.int64)
    for source, row in enumerate(routes.trees):
        links = frozenset((row[row >= 0] // 2).tolist())
        tree_of[source] = sets.setdefault(links, len(sets))
    return [set(links) for links in sets], tree_of


def _reconnect(
    fabric: Fabric, routes: Routes, links: set[int], sources: NDArray[np.int64], down: set[int]
) -> Routes | None:
    """Return routes with one tree reconnected, gap by gap, by the first links that close no cycle, or None."""
    for gap in sorted(links & down):
        kept = links - {gap}
        if any(_hostless(fabric, kept, end) for end in (fabric.links[gap].a, fabric.links[gap].b)):
            links = kept  # no host on that side, as behind a dead switch
            continue
        for choice in _joins(fabric, kept, gap, down)[:MAX_TRIES]:
            candidate = kept | {choice}
            parent = routes.trees.copy()
            parent[sources] = rooted_at(fabric, candidate, routes.root[sources])
            moved = Routes(routes.method, routes.reason, routes.source_of_host, routes.root, parent)
            if not find_cycle(len(fabric.tail), *dependencies(fabric, moved)):
                routes, links = moved, candidate
                break
        else:
            return None
    return routes


def _hostless(fabric: Fabric, kept: set[int], end: int) -> bool:
    """Return whether the component of a tree that contains `end` has no hosts."""
    here = rooted(fabric, kept, end) >= 0
    here[end] = True
    return not here[fabric.host_switch].any()


def _joins(fabric: Fabric, kept: set[int], gap: int, down: set[int]) -> list[int]:
    """Return the links that are up and reconnect the two halves of a tree without `gap`, nearest to it first."""
    ends = (fabric.links[gap].a, fabric.links[gap].b)
    distance: list[dict[int, int]] = []
    for end in ends:
        parent = rooted(fabric, kept, end)
        steps = {end: 0}
        for s in np.flatnonzero(parent >= 0).tolist():
            steps[s] = _steps(fabric, parent, s)
        distance.append(steps)
    joins = []
    for i, link in enumerate(fabric.links):
        if i in down or i in kept:
            continue
        for x, y in ((link.a, link.b), (link.b, link.a)):
            if x in distance[0] and y in distance[1]:
                joins.append((distance[0][x] + distance[1][y], i))
    return [i for _, i in sorted(joins)]


def _steps(fabric: Fabric, parent: NDArray[np.int32], switch: int) -> int:
    steps = 0
    while parent[switch] >= 0:
        switch = int(fabric.tail[parent[switch]])
        steps += 1
    return steps
