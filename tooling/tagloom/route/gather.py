"""Share trees among up*/down* sources without longer paths, so that fewer VLANs are needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies, path_lengths
from tagloom.graph.trees import pruned, rooted, rooted_at
from tagloom.route.up_down import CANDIDATE_ROOTS, central, ranked, whole_trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

WORK = 3_000_000  # channels examined in all; a limit that is the same on every machine, unlike seconds


def gather(fabric: Fabric, routes: Routes, top: int | None = None) -> Routes:
    """Return routes with as many hops for every pair, and with fewer different trees if any are found.

    `top` is the root that the routes were made from, None for the best one.

    A spanning tree is shortest for several sources at once if, seen from each of them, every switch hangs below one
    that is a hop nearer. Away from the paths between the sources, every channel of the tree must be such a hop for all
    of them; on those paths its direction depends on the source. Groups grow greedily, nearest source first. As before,
    a tree only turns from up to down, so no dependency cycle can close. Odd cycles leave no choice: two neighbours at
    equal distance from a third switch can never share. Routes of other methods are returned unchanged, and those of
    networks with ways of their own.
    """
    if fabric.own_ways or routes.method != "up-down" or routes.parent is None or routes.sources < 2:
        return routes
    order = _order(fabric, routes, top)
    if order is None:
        return routes
    grower, parent, left = _Grower(fabric, routes, *order), routes.trees.copy(), list(range(routes.sources))
    while left:
        group, links = grower.group(left[0], left[1:])
        left = [s for s in left if s not in group]
        members = sorted(group) if len(group) > 1 else []
        if members:
            parent[members] = rooted_at(fabric, links, routes.root[members])
    gathered, needed = replace(routes, parent=pruned(fabric, parent)), np.unique(fabric.host_switch)
    as_short = np.array_equal(path_lengths(fabric, gathered)[:, needed], path_lengths(fabric, routes)[:, needed])
    if not as_short or find_cycle(len(fabric.tail), *dependencies(fabric, gathered)):
        raise ValueError("shared trees became longer, or closed a cycle")
    return gathered if len(_distinct(gathered)) < len(_distinct(routes)) else routes


def _distinct(routes: Routes) -> set[frozenset[int]]:
    return {frozenset((row[row >= 0] // 2).tolist()) for row in routes.trees}


def _order(fabric: Fabric, routes: Routes, root: int | None) -> tuple[NDArray[np.int64], NDArray[np.int32]] | None:
    """Return a ranking of switches that allows the routes and no shorter ones, with its whole trees int32[S, N]."""
    held, wanted = dependencies(fabric, routes)
    needed = np.unique(fabric.host_switch)
    depth = path_lengths(fabric, routes)[:, needed]
    for top in central(fabric)[:CANDIDATE_ROOTS] if root is None else [root]:
        rank = ranked(fabric, top)
        up = rank[fabric.head] < rank[fabric.tail]
        if np.any(~up[held] & up[wanted]):
            continue
        full = whole_trees(fabric, routes.root, rank)
        if np.array_equal(path_lengths(fabric, replace(routes, parent=full))[:, needed], depth):
            return rank, full
    return None


class _Grower:
    """Grows groups of sources that can share a tree, and counts the work done."""

    def __init__(self, fabric: Fabric, routes: Routes, rank: NDArray[np.int64], full: NDArray[np.int32]) -> None:
        self.fabric, self.root, self.work = fabric, routes.root.tolist(), 0
        self._via: dict[int, int] = {}  # the channel into each switch outside the core, of the tree being grown
        self._fixed: set[int] = set()  # the switches of its core
        self.up = (rank[fabric.head] < rank[fabric.tail]).tolist()
        self.tail, self.head = fabric.tail.tolist(), fabric.head.tolist()
        self.full = full
        self.depth = path_lengths(fabric, replace(routes, parent=full))
        self.steps = (self.depth[:, fabric.head] == self.depth[:, fabric.tail] + 1) & fabric.channel_up
        self.with_hosts = set(fabric.host_switch.tolist())

    def group(self, seed: int, others: list[int]) -> tuple[set[int], set[int]]:
        """Return the sources that share a tree with `seed`, and the tree's links."""
        row = self.full[seed]
        links = set((row[row >= 0] // 2).tolist())
        group, core = [seed], set[int]()
        away = self.depth[seed]
        for s in sorted(others, key=lambda s: (int(away[self.root[s]]), s)):
            if self.work > WORK:
                break
            tried = self._extended(group, core, links, s)
            if tried is not None:
                group.append(s)
                core, links = tried
        return set(group), links

    def _extended(self, group: list[int], core: set[int], links: set[int], s: int) -> tuple[set[int], set[int]] | None:
        """Return the core (links between the sources) and a tree for the group and `s`, or None if none is found."""
        self.work += len(self.tail)
        here, path = self.root[s], set[int]()
        towards = rooted(self.fabric, links, self.root[group[0]])
        inside = {self.root[g] for g in group} | {e for i in core for e in (self.tail[2 * i], self.head[2 * i])}
        while here not in inside:  # the path from the group to s, along the group's tree
            if towards[here] < 0:
                return None
            path.add(int(towards[here]) // 2)
            here = self.tail[towards[here]]
        core, members = core | path, [*group, s]
        arrives_down = self._arrivals_in_core(core, members)
        if arrives_down is None:
            return None
        steps = self.steps[members].all(axis=0)
        found = set(core)
        order = np.flatnonzero(steps)
        for c in order[np.argsort(self.depth[group[0], self.fabric.head[order]], kind="stable")].tolist():
            # channels into one switch are consecutive, after those into the level above
            tail, head = self.tail[c], self.head[c]
            if tail not in arrives_down or head in self._fixed:
                continue
            # A path may go on up or down after an up channel, so it replaces a down channel.
            up_fits = self.up[c] and not arrives_down[tail] and arrives_down.get(head, True)
            if up_fits or (not self.up[c] and head not in arrives_down):
                self._add_channel(found, arrives_down, head, c)
        return (core, found) if self.with_hosts <= arrives_down.keys() else None

    def _add_channel(self, found: set[int], arrives_down: dict[int, bool], head: int, channel: int) -> None:
        if head in self._via:
            found.discard(self._via[head] // 2)
        found.add(channel // 2)
        self._via[head] = channel
        arrives_down[head] = not self.up[channel]

    def _arrivals_in_core(self, core: set[int], members: list[int]) -> dict[int, bool] | None:
        """Return for each core switch whether a member's frames may arrive down; None if the core is too long."""
        self._via = {}
        arrives: dict[int, bool] = {}
        for s in members:
            row = rooted(self.fabric, core, self.root[s])
            arrives.setdefault(self.root[s], False)
            for v in np.flatnonzero(row >= 0).tolist():
                c, steps, here = int(row[v]), 0, v
                before = int(row[self.tail[c]])
                if before >= 0 and self.up[c] and not self.up[before]:
                    return None
                while row[here] >= 0:
                    here, steps = self.tail[row[here]], steps + 1
                if steps != self.depth[s, v]:
                    return None
                arrives[v] = arrives.get(v, False) or not self.up[c]
        self._fixed = set(arrives)
        return arrives
