"""Route any connected graph by up*/down* so that the paths of every source form a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.search import all_hops, hops_from
from tagloom.graph.trees import per_switch, pruned, rooted_at
from tagloom.records.routes import Routes
from tagloom.route.net import lay_out
from tagloom.route.ranked_trees import by_distance, compare, grown_rows, ranks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.route.net import Net

CANDIDATE_ROOTS = 16  # the most central switches; the best root is nearly always among them
COMPILED = 128  # switches from which compiled loops are worth the second that loading them takes
FAR = 1 << 20  # more hops than any path has


def up_down(fabric: Fabric, top: int | None = None) -> Routes:
    """Return an up*/down* tree of short paths for every source, from the switch `top` or the best root.

    Switches are ranked by distance from the root, then by number; up is towards the lower rank. Arbitrary shortest
    up*/down* paths of one source need not form a tree (527 of 1,600 sources on random 16-switch graphs). Here a switch
    whose up path others need keeps it, even if a down path to it is shorter, so the paths always form one. No path goes
    down and up again, so there is no dependency cycle (Schroeder et al., Autonet, 1991). Raises PlanError if two hosts
    are not connected.
    """
    source_of_host, root = per_switch(fabric)
    if len(fabric.switches) < COMPILED:
        chosen = best_root(fabric) if top is None else top
        parent = pruned(fabric, whole_trees(fabric, root, ranked(fabric, chosen)))
    else:
        net = lay_out(fabric)
        chosen = _compiled_best(net) if top is None else top
        parent = grown_rows(net, ranks(net, chosen), len(fabric.switches), spread=False)
    return Routes("up-down", f"up*/down* from {root_words(fabric, chosen, top)}", source_of_host, root, parent)


def root_words(fabric: Fabric, chosen: int, requested: int | None) -> str:
    """Return the root's name, and why it was chosen unless it was requested."""
    tried = min(CANDIDATE_ROOTS, len(fabric.live))
    why = f", the best of the {tried} most central roots" if requested is None else ""
    return fabric.switches[chosen].name + why


def best_root(fabric: Fabric) -> int:
    """Return the switch with the shortest mean up*/down* paths between hosts, among CANDIDATE_ROOTS central ones.

    Of equal ones, that with the shortest paths to uplinks. Large fabrics compare the paths from a sample of the
    switches with hosts, evenly taken, and pass uplinks over. Raises PlanError if two hosts are not connected.
    """
    if len(fabric.switches) >= COMPILED:
        return _compiled_best(lay_out(fabric))
    hosts = _hosts(fabric)
    tops = central(fabric)[:CANDIDATE_ROOTS]
    uplinks = np.bincount(fabric.host_switch[fabric.uplinks], minlength=len(hosts))

    def lengths(top: int) -> tuple[int, int]:
        away = hops(fabric, ranked(fabric, top))[1]
        return int(hosts @ away @ hosts), int(hosts @ away @ uplinks)

    return min(tops, key=lengths)


def _compiled_best(net: Net) -> int:
    tops = by_distance(net)[:CANDIDATE_ROOTS]
    return int(tops[np.argmin(compare(net, tops))])


def shared_tree(fabric: Fabric) -> Routes:
    """Return routes over one breadth-first spanning tree from the most central switch, as in plain Ethernet."""
    source_of_host, root = per_switch(fabric)
    top = central(fabric)[0]
    parent = whole_trees(fabric, np.array([top], np.int32), ranked(fabric, top))[0]
    links = {int(channel) // 2 for channel in parent if channel >= 0}
    trees = rooted_at(fabric, links, root)
    reason = f"one breadth-first tree from {fabric.switches[top].name}"
    return Routes("tree", reason, source_of_host, root, pruned(fabric, trees))


def central(fabric: Fabric) -> list[int]:
    """Return the switches that reach all hosts over links that are up, the one nearest to them first.

    Of those equally near, the one nearest to uplinks. Raises PlanError if there is none.
    """
    hosts = _hosts(fabric)
    if len(hosts) < COMPILED:
        up = fabric.channel_up
        away = all_hops(len(hosts), fabric.tail[up], fabric.head[up])[:, fabric.host_switch]
        total, to_uplinks = away.sum(axis=1), away[:, fabric.uplinks].sum(axis=1)
        found = [int(s) for s in np.lexsort((np.arange(len(total)), to_uplinks, total)) if np.isfinite(total[s])]
        if not found:
            raise PlanError("all hosts are connected by links that are up", next_step="switch a link on")
        return found
    return [int(top) for top in by_distance(lay_out(fabric))]


def _hosts(fabric: Fabric) -> NDArray[np.int64]:
    """Return the number of hosts at each switch, int64[N]."""
    return np.bincount(fabric.host_switch, minlength=len(fabric.switches))


def ranked(fabric: Fabric, top: int) -> NDArray[np.int64]:
    """Rank the switches by distance from `top`, then by number, int64[N]; up is towards the lower rank."""
    n, up = len(fabric.switches), fabric.channel_up
    level = hops_from(n, fabric.tail[up], fabric.head[up], top)
    rank = np.empty(n, np.int64)
    rank[np.lexsort((np.arange(n), level))] = np.arange(n)
    return rank


def hops(fabric: Fabric, rank: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the hops between all switches, (by down channels only, by up and then down channels), int[N, N]."""
    down = np.full((len(rank), len(rank)), FAR, np.int64)
    np.fill_diagonal(down, 0)
    ups, downs = _channels_by(fabric, rank, fabric.tail)
    order = np.argsort(rank).tolist()
    for s in reversed(order):
        for c in downs[s]:
            np.minimum(down[s], 1 + down[fabric.head[c]], out=down[s])
    free = down.copy()
    for s in order:
        for c in ups[s]:
            np.minimum(free[s], 1 + free[fabric.head[c]], out=free[s])
    return down, free


def _channels_by(
    fabric: Fabric, rank: NDArray[np.int64], where: NDArray[np.int32]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return the up channels and the down channels that are switched on by the switch at the end `where`, ascending."""
    ups: list[list[int]] = [[] for _ in fabric.switches]
    downs: list[list[int]] = [[] for _ in fabric.switches]
    is_up = rank[fabric.head] < rank[fabric.tail]
    for c in np.flatnonzero(fabric.channel_up).tolist():
        (ups if is_up[c] else downs)[int(where[c])].append(c)
    return ups, downs


def whole_trees(fabric: Fabric, root: NDArray[np.int32], rank: NDArray[np.int64]) -> NDArray[np.int32]:
    """Return the trees of all sources, switches without hosts included: the channel into each switch, int32[S, N].

    They grow in one sweep up the ranks and one down, as in `ranked_trees.grown_rows`.
    """
    n, sources = len(rank), np.arange(len(root))
    deep = np.full((n, len(root)), FAR, np.int64)
    deep[root, sources] = 0
    parent = np.full((n, len(root)), -1, np.int32)
    needed = np.zeros((n, len(root)), np.bool_)
    ups, downs = _channels_by(fabric, rank, fabric.head)
    order = np.argsort(rank).tolist()

    def nearer(channels: list[int], length: NDArray[np.int64], by: NDArray[np.int32]) -> None:
        for c in channels:
            distance = 1 + deep[fabric.tail[c]]
            by[distance < length] = c
            np.minimum(length, distance, out=length)

    for v in reversed(order):
        nearer(ups[v], deep[v], parent[v])
    for v in order:
        length, by = np.full(len(root), FAR, np.int64), np.full(len(root), -1, np.int32)
        nearer(downs[v], length, by)
        falls = (length < deep[v]) & ~needed[v]
        deep[v], parent[v] = np.where(falls, length, deep[v]), np.where(falls, by, parent[v])
        for c in ups[v]:
            needed[fabric.tail[c]] |= parent[v] == c
    return np.ascontiguousarray(parent.T)
