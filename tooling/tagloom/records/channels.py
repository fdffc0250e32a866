"""Decide whether dependencies between channels can close a cycle: rank the channels, or show the cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def find_cycle(channels: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> list[int]:
    """Give the channels of a shortest cycle through one cyclic channel, or [] where the dependencies are acyclic.

    `before[i] -> after[i]` is a dependency: a frame may hold channel `before[i]` while it waits for `after[i]`.
    An acyclic graph means no deadlock (Dally and Seitz, IEEE Trans. Computers C-36(5), 1987, theorem 1). Works in
    O(channels + dependencies) by strongly connected components.
    """
    if len(before) == 0:
        return []
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for
    from scipy.sparse.csgraph import breadth_first_order, connected_components  # noqa: PLC0415 - as above

    graph = csr_matrix((np.ones(len(before), np.int8), (before, after)), (channels, channels))
    loops = np.flatnonzero(before == after)
    if len(loops):
        return [int(before[loops[0]])]
    _, label = connected_components(graph, directed=True, connection="strong")
    inside = label[before] == label[after]
    if not inside.any():
        return []
    # Inside one component every dependency lies on a cycle: close the first by the shortest way back.
    keep = label[before] == label[before[inside][0]]
    keep &= inside
    start, nxt = int(before[keep][0]), int(after[keep][0])
    part = csr_matrix((np.ones(int(keep.sum()), np.int8), (before[keep], after[keep])), (channels, channels))
    _, parent = breadth_first_order(part, nxt, directed=True)
    back = [start]
    while back[-1] != nxt:
        back.append(int(parent[back[-1]]))
    return back[::-1]  # nxt ... start, and start leads to nxt again


def ranks(channels: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rank the channels so that every dependency climbs: rank[before[i]] < rank[after[i]], int32[channels].

    A channel's rank is the length of the longest chain of dependencies that ends at it (longest-path layering; Kahn,
    CACM 5(11), 1962, one whole layer at a time), so O(channels + dependencies). Whoever holds the ranks can check
    deadlock freedom one dependency at a time, without a graph. Raises ValueError where the dependencies close a cycle.

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
        edge = np.repeat(start[layer] - (np.cumsum(count) - count), count) + np.arange(int(count.sum()))
        following, met = np.unique(wanted[edge], return_counts=True)
        waits_for[following] -= met
        layer = following[waits_for[following] == 0]
        level += 1
    if placed < channels:
        raise ValueError("the dependencies close a cycle, and no ranks climb round it")
    return rank
