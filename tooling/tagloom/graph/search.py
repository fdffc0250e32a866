"""Search graphs given as arrays of edges, with numpy and scipy and without compilation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix


def hops_from(vertices: int, tail: NDArray[np.integer], head: NDArray[np.integer], root: int) -> NDArray[np.int64]:
    """Return the number of edges from `root` to each vertex, int64[vertices]; `vertices` if unreachable.

    >>> hops_from(4, np.array([0, 1]), np.array([1, 2]), 0).tolist()
    [0, 1, 2, 4]
    """
    hops = np.full(vertices, vertices, np.int64)
    hops[root] = 0
    for level in range(vertices):
        onward = head[(hops[tail] == level) & (hops[head] == vertices)]
        if not len(onward):
            break
        hops[onward] = level + 1
    return hops


def all_hops(
    vertices: int, tail: NDArray[np.integer], head: NDArray[np.integer], sources: NDArray[np.integer] | None = None
) -> NDArray[np.float64]:
    """Return the number of edges from each vertex, or from each of `sources`, to each vertex; inf if unreachable."""
    from scipy.sparse.csgraph import shortest_path  # noqa: PLC0415 - a third of a second that few commands need

    found = shortest_path(matrix(vertices, tail, head), unweighted=True, indices=sources)
    return np.asarray(found, np.float64)


def reached(
    vertices: int, tail: NDArray[np.integer], head: NDArray[np.integer], start: NDArray[np.integer]
) -> NDArray[np.bool_]:
    """Return which vertices can be reached from any of `start`, those included, bool[vertices]."""
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - a third of a second that few commands need

    before = np.concatenate([tail, np.full(len(start), vertices)])  # one more vertex with an edge to each of `start`
    graph = matrix(vertices + 1, before, np.concatenate([head, start]))
    found = np.zeros(vertices + 1, np.bool_)
    found[breadth_first_order(graph, vertices, return_predecessors=False)] = True
    return found[:vertices]


def matrix(vertices: int, tail: NDArray[np.integer], head: NDArray[np.integer]) -> csr_matrix:
    """Return the edges of a graph as a sparse adjacency matrix."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    return csr_matrix((np.ones(len(tail), np.int8), (tail, head)), (vertices, vertices))
