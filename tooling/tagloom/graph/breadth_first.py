"""Breadth-first search in compiled loops; the neighbours of vertex v are near[start[v] : start[v + 1]]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def _search(
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    root: int,
    distance: NDArray[np.integer],
    queue: NDArray[np.int32],
) -> int:
    """Write the distance of every vertex that the root reaches, and the order in which they are found.

    Unreached vertices keep their -1. Return how many are reached.
    """
    distance[root], queue[0] = 0, root
    begin, end = 0, 1
    while begin < end:
        u = queue[begin]
        begin += 1
        for j in range(start[u], start[u + 1]):
            v = near[j]
            if distance[v] < 0:
                distance[v] = distance[u] + 1
                queue[end] = v
                end += 1
    return end


@kernel
def ranks_as_met(start: NDArray[np.int32], near: NDArray[np.int32], root: int) -> NDArray[np.int32]:
    """Rank the vertices by distance from `root`, then by the order of the search, int32[n]; -1 if unreachable."""
    n = len(start) - 1
    rank, queue = np.full(n, -1, np.int32), np.empty(n, np.int32)
    met = _search(start, near, root, rank, queue)
    for i in range(met):
        rank[queue[i]] = i
    return rank


@kernel
def ranks_by_number(start: NDArray[np.int32], near: NDArray[np.int32], roots: NDArray[np.int32]) -> NDArray[np.int32]:
    """Rank the vertices by distance from each root, then by number, int32[roots, n]; every root reaches all."""
    n = len(start) - 1
    rank, distance, queue = np.empty((len(roots), n), np.int32), np.empty(n, np.int32), np.empty(n, np.int32)
    place = np.empty(n + 1, np.int32)
    for k in range(len(roots)):
        distance[:] = -1
        _search(start, near, roots[k], distance, queue)
        place[:] = 0
        for v in range(n):
            place[distance[v] + 1] += 1
        for d in range(n):
            place[d + 1] += place[d]
        for v in range(n):
            rank[k, v] = place[distance[v]]
            place[distance[v]] += 1
    return rank


@kernel
def distances(start: NDArray[np.int32], near: NDArray[np.int32], roots: NDArray[np.int32]) -> NDArray[np.int16]:
    """Return the number of edges from each root to each vertex, int16[roots, n]; -1 if unreachable."""
    n = len(start) - 1
    distance, queue = np.full((len(roots), n), -1, np.int16), np.empty(n, np.int32)
    for k in range(len(roots)):
        _search(start, near, roots[k], distance[k], queue)
    return distance
