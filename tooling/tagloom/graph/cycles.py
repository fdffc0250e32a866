"""Cycles in dependencies between channels: rank the channels if there is none, else return one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.rows import places
from tagloom.graph.search import matrix

if TYPE_CHECKING:
    from numpy.typing import NDArray

AT_ONCE = 4096  # start vertices whose walks are followed at once in the search for a shortest cycle


def find_cycle(channels: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> list[int]:
    """Return the channels of a shortest cycle, or [] if the dependencies are acyclic.

    `before[i] -> after[i]` is a dependency: a frame may hold channel `before[i]` while it waits for `after[i]`. An
    acyclic graph means no deadlock (Dally and Seitz, IEEE Trans. Computers C-36(5), 1987, theorem 1). Strongly
    connected components decide that in O(channels + dependencies).
    """
    if len(before) == 0:
        return []
    loops = np.flatnonzero(before == after)
    if len(loops):
        return [int(before[loops[0]])]
    inside = on_cycles(channels, before, after)
    if not inside.any():
        return []
    vertices, (old, new) = _compacted(before[inside], after[inside])
    start = _vertex_on_shortest_cycle(len(vertices), old, new)
    return [int(vertices[v]) for v in shortest_through(len(vertices), old, new, start)]


def on_cycles(vertices: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which edges lie on some cycle: those within a strongly connected component."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - a third of a second that few commands need

    if not len(before):
        return np.zeros(0, np.bool_)
    _, label = connected_components(matrix(vertices, before, after), directed=True, connection="strong")
    inside: NDArray[np.bool_] = label[before] == label[after]
    return inside


def shortest_through(vertices: int, before: NDArray[np.int64], after: NDArray[np.int64], start: int) -> list[int]:
    """Return a shortest cycle through `start`, which must lie on one, as vertices from `start` on."""
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - as above

    _, parent = breadth_first_order(matrix(vertices, before, after), start, directed=True)
    paths: list[list[int]] = []
    for last in before[after == start].tolist():  # edges back to the start: the nearest tail closes a shortest cycle
        path = [last]
        while path[-1] != start:
            path.append(int(parent[path[-1]]))
        paths.append(path[::-1])
    return min(paths, key=len)


def _compacted(
    before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return the vertices of some dependencies, ascending, and the dependencies renumbered by their indices there."""
    vertices, number = np.unique(np.concatenate([before, after]), return_inverse=True)
    return vertices, (number[: len(before)], number[len(before) :])


def _vertex_on_shortest_cycle(vertices: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> int:
    """Return a vertex on a shortest cycle; every vertex must lie on some cycle.

    Row v of a bit table marks where walks of exactly k edges from v end. The first k at which some v reaches itself is
    the length of a shortest cycle. The table is cut into columns of AT_ONCE vertices to bound memory.
    """
    order = np.argsort(before, kind="stable")
    to, first = after[order], np.searchsorted(before[order], np.arange(vertices))
    best, found = vertices + 1, 0
    for low in range(0, vertices, AT_ONCE):
        itself = np.arange(low, min(low + AT_ONCE, vertices))
        word, bit = (itself - low) // 64, np.uint64(1) << ((itself - low) % 64).astype(np.uint64)
        led = np.zeros((vertices, int(word[-1]) + 1), np.uint64)
        led[itself, word] = bit
        for length in range(1, best):
            led = np.bitwise_or.reduceat(led[to], first, axis=0)
            if len(back := np.flatnonzero(led[itself, word] & bit)):
                best, found = length, int(itself[back[0]])
                break
    return found


def ranks(channels: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rank the channels so that every dependency ascends: rank[before[i]] < rank[after[i]], int32[channels].

    A channel's rank is the length of the longest chain of dependencies that ends at it (longest-path layering; Kahn,
    CACM 5(11), 1962, one whole layer at a time), in O(channels + dependencies). With the ranks, deadlock freedom can be
    checked one dependency at a time, without a graph. Raises ValueError if the dependencies close a cycle.

    >>> ranks(4, np.array([0, 1, 0]), np.array([1, 2, 2])).tolist()
    [0, 1, 2, 0]
    """
    order = np.argsort(before, kind="stable")
    wanted = after[order]
    start = np.searchsorted(before[order], np.arange(channels + 1))
    waits_for = np.bincount(after, minlength=channels)
    rank = np.zeros(channels, np.int32)
    layer, placed, level = np.flatnonzero(waits_for == 0), 0, 0
    while len(layer):
        rank[layer] = level
        placed += len(layer)
        count = start[layer + 1] - start[layer]
        following, met = np.unique(wanted[places(start[layer], count)], return_counts=True)
        waits_for[following] -= met
        layer = following[waits_for[following] == 0]
        level += 1
    if placed < channels:
        raise ValueError("the dependencies close a cycle, and no ranks climb round it")
    return rank


def ascends(channels: int, order: NDArray[np.int32], before: NDArray[np.int64], after: NDArray[np.int64]) -> bool:
    """Return whether every dependency `before[i] -> after[i]` goes on in an order of the channels, both in it.

    >>> ascends(4, np.array([2, 0, 1], np.int32), np.array([2, 0]), np.array([1, 1]))
    True
    """
    place = np.full(channels, -1, np.int64)
    place[order] = np.arange(len(order))
    return bool(((place[before] >= 0) & (place[before] < place[after])).all())
