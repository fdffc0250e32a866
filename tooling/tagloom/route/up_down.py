"""Route any connected graph by up*/down*, with the paths of every source a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.routes import Routes
from tagloom.route.trees import per_switch, pruned, rooted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

CANDIDATE_ROOTS = 16  # the most central switches; the best root is nearly always among them
SAMPLED = 1 << 15  # beyond EXACT switches, roots are compared by so many switches times sources
EXACT = 256
COMPILED = 128  # switches from which compiled loops earn the second that loading them takes


def up_down(fabric: Fabric) -> Routes:
    """Give every source the shortest up*/down* tree, from the root with the shortest average path.

    Switches are ranked by distance from the root, then by number; up is towards the lower rank. A tree takes all it
    can by up channels first and hangs the rest by down channels. Arbitrary shortest up*/down* paths of one source
    need not be a tree (527 of 1,600 sources on random 16-switch graphs); these always are. No path goes down and up
    again, so no dependency cycle exists (Schroeder et al., Autonet, 1991).
    """
    source_of_host, root = per_switch(fabric)
    top, parent = (_best_root if len(fabric.switches) < COMPILED else _best_root_compiled)(fabric, root)
    reason = f"up*/down* from {fabric.switches[top].name}, the best of the {CANDIDATE_ROOTS} most central roots"
    return Routes("up-down", reason, source_of_host, root, parent)


def _best_root(fabric: Fabric, root: NDArray[np.int32]) -> tuple[int, NDArray[np.int32]]:
    """Give the best root and the trees from all sources, int32[S, N]."""
    hosts = _hosts(fabric)
    best: tuple[int, int, NDArray[np.int32]] | None = None
    for top in central(fabric)[:CANDIDATE_ROOTS]:
        parent, depth = _trees(fabric, root, ranked(fabric, top))
        hops = int(hosts[root] @ depth @ hosts)
        if best is None or hops < best[0]:
            best = (hops, top, parent)
    assert best is not None  # noqa: S101 - a fabric has a switch
    return best[1], pruned(fabric, best[2])


def _best_root_compiled(fabric: Fabric, root: NDArray[np.int32]) -> tuple[int, NDArray[np.int32]]:
    """Give what `_best_root` gives, beyond EXACT switches by a part of the sources."""
    from tagloom.route.up_down_trees import grown, ranked  # noqa: PLC0415 - numba takes its time

    start, out = _leaving(fabric)
    head, tail, n = fabric.head, fabric.tail, len(fabric.switches)
    near = head[out]
    weight = _hosts(fabric)
    some = root if n <= EXACT else root[:: 1 + len(root) * n // SAMPLED]
    scratch = np.empty((len(some), n), np.int32)

    def hops(top: int) -> int:
        return grown(start, out, head, tail, ranked(start, near, top), some, weight, scratch, False)

    top = min(central(fabric)[:CANDIDATE_ROOTS], key=hops)
    parent = np.empty((len(root), n), np.int32)
    grown(start, out, head, tail, ranked(start, near, top), root, weight, parent, not weight.all())
    return top, parent


def shared_tree(fabric: Fabric) -> Routes:
    """Send everything over one breadth-first spanning tree from the most central switch, as plain Ethernet does."""
    source_of_host, root = per_switch(fabric)
    top = central(fabric)[0]
    parent = _trees(fabric, np.array([top], np.int32), ranked(fabric, top))[0][0]
    links = {int(channel) // 2 for channel in parent if channel >= 0}
    trees = np.stack([rooted(fabric, links, int(s)) for s in root])
    reason = f"one breadth-first tree from {fabric.switches[top].name}"
    return Routes("tree", reason, source_of_host, root, pruned(fabric, trees))


def central(fabric: Fabric) -> list[int]:
    """List the switches from which all hosts are reached over links that are up, the one nearest to them first."""
    hosts = _hosts(fabric)
    if len(hosts) < COMPILED:
        from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for
        from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415 - as above

        up = fabric.channel_up
        graph = csr_matrix((np.ones(int(up.sum())), (fabric.tail[up], fabric.head[up])), (len(hosts), len(hosts)))
        total = shortest_path(graph, unweighted=True)[:, fabric.host_switch].sum(axis=1)
        return [int(s) for s in np.lexsort((np.arange(len(total)), total)) if np.isfinite(total[s])]
    from tagloom.route.up_down_trees import total_distance  # noqa: PLC0415 - numba takes its time

    start, out = _leaving(fabric)
    tops = np.flatnonzero(hosts).astype(np.int32)
    tops = tops if len(hosts) <= EXACT else tops[:: 1 + len(tops) * len(hosts) // (4 * SAMPLED)]
    total = total_distance(start, fabric.head[out], tops, hosts)
    joined = np.diff(start) > 0  # a dead switch has no channel that is up
    return [int(s) for s in np.lexsort((np.arange(len(total)), total)) if joined[s]]


def _hosts(fabric: Fabric) -> NDArray[np.int64]:
    """Count the hosts at each switch, int64[N]."""
    hosts = np.zeros(len(fabric.switches), np.int64)
    np.add.at(hosts, fabric.host_switch, 1)
    return hosts


def _leaving(fabric: Fabric) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Sort the channels that are up by the switch they leave: (start int32[N + 1], channels int32[m])."""
    up = np.flatnonzero(fabric.channel_up).astype(np.int32)
    start = np.zeros(len(fabric.switches) + 1, np.int32)
    np.cumsum(np.bincount(fabric.tail[up], minlength=len(fabric.switches)), out=start[1:])
    return start, up[np.argsort(fabric.tail[up], kind="stable")]


def ranked(fabric: Fabric, top: int) -> NDArray[np.int64]:
    """Rank the switches by distance from `top`, then by number, int64[N]; up is towards the lower rank."""
    n = len(fabric.switches)
    level = np.full(n, n, np.int64)
    level[top] = 0
    tail, head = fabric.tail[fabric.channel_up], fabric.head[fabric.channel_up]
    for d in range(n):
        nxt = head[(level[tail] == d) & (level[head] == n)]
        if not len(nxt):
            break
        level[nxt] = d + 1
    rank = np.empty(n, np.int64)
    rank[np.lexsort((np.arange(n), level))] = np.arange(n)
    return rank


def _trees(
    fabric: Fabric, root: NDArray[np.int32], rank: NDArray[np.int64]
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Grow all sources' trees at once, by levels: up channels first, the rest by down channels; (parent, depth)."""
    n, sources = len(fabric.switches), len(root)
    channel = np.flatnonzero(fabric.channel_up)
    is_up = rank[fabric.head[channel]] < rank[fabric.tail[channel]]
    depth = np.full((sources, n), -1, np.int64)
    depth[np.arange(sources), root] = 0
    parent = np.full((sources, n), -1, np.int32)
    for group in (channel[is_up][::-1], channel[~is_up][::-1]):  # reversed: of equal choices the last written stays
        tail, head = fabric.tail[group], fabric.head[group]
        d = 0
        while d <= depth.max():
            source, c = np.nonzero((depth[:, tail] == d) & (depth[:, head] < 0))
            parent[source, head[c]] = group[c]
            depth[source, head[c]] = d + 1
            d += 1
    return parent, depth
