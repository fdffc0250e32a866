"""Route meshes, tori and hypercubes by dimension order, so that the paths of every source form a tree."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.trees import per_switch
from tagloom.records.routes import Routes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

MINUS, PLUS = 0, 1


@dataclass(frozen=True, slots=True)
class _Line:
    """The rule of one dimension: direction and parallel link of the last hop into y from a source at x, int[k, k]."""

    rule: str
    direction: NDArray[np.int8]
    parallel_link: NDArray[np.int8]


def is_grid(fabric: Fabric) -> bool:
    """Return whether the switches occupy every point of a mesh, torus, ring or hypercube."""
    shape = fabric.shape
    if shape is None or shape.family not in {"mesh", "torus", "ring", "hypercube"}:
        return False
    dims, at = _dims(fabric), fabric.points
    if at.shape != (math.prod(dims), len(dims)):
        return False
    inside = bool(np.all((at >= 0) & (at < dims)))
    return inside and len(np.unique(at @ _strides(dims))) == len(at)


def refusal(fabric: Fabric) -> str:
    """Return why dimension order cannot be deadlock-free here, or "" if it can."""
    if not is_grid(fabric):
        return "dimension order needs a mesh, torus, ring or hypercube with a switch on every point"
    return _closed_ring(fabric, _channels(fabric).shape[3])


def _closed_ring(fabric: Fabric, parallel_links: int) -> str:
    if not _wraps(fabric):
        return ""
    for k in _dims(fabric):
        if k > 4 and parallel_links < 2:
            return (
                f"a ring of {k} switches with one link between neighbours closes a dependency cycle: add a second link"
            )
    return ""


def dimension_order(fabric: Fabric, rule: str = "", assignment: str = "fixed") -> Routes:
    """Return the dimension-order tree of every switch with hosts, whether or not a link is wanted down.

    On a line the path is the straight one. On a ring of k switches:
    - one link, k <= 4: the short path; at distance 2 of 4, sources on even points go plus, on odd ones minus. With ties
      split this way no chain of dependencies closes a ring.
    - two links, rule R7: parallel link 0 is a line cut between points k-1 and 0, parallel link 1 one cut between k/2-1
      and k/2; the source takes the parallel link with the shorter paths. Two trees, minimal at k = 4, up to k^2/16
      longer in sum beyond.
    - two links, rule R1: the short path, ties split as above, in one parallel link until the hop between k-1 and 0 and
      in the other from that hop on, so neither parallel link closes the ring. k/2 trees for even k, k for odd.

    `rule` "r1" or "r7" applies to every dimension. Without it R7 applies to the first dimension and, for fixed
    assignment, R1 to the others, except those of size 4, where R7 is minimal too. Only the cut of the first ring
    multiplies the trees, since the source's other coordinates distinguish them anyway. For renamed assignment R7
    applies everywhere, because broadcasts by R1 arrive twice (k > 4). The dimension with the fewest trees per point
    goes first, which makes (trees of its line / its size) N trees.

    Raises PlanError if no such rule is deadlock-free (k > 4 with one link) or `rule` has no ring with two links.
    """
    if not is_grid(fabric):
        raise PlanError(refusal(fabric), next_step="use --routing up-down")
    dims, into = _dims(fabric), _channels(fabric)
    ringed = [_wraps(fabric) and k > 2 for k in dims]
    parallel_links = into.shape[3]
    if no := _closed_ring(fabric, parallel_links):
        raise PlanError(no, next_step="use --routing up-down")
    if rule and not (parallel_links >= 2 and any(ringed)):
        raise PlanError(f"rule {rule.upper()} needs rings with two links between neighbours", next_step="use dor")
    order = _travelled(fabric, parallel_links)
    lines = [_straight(k) for k in dims]
    for d, k in enumerate(dims):
        if ringed[d] and parallel_links < 2:
            lines[d] = _short(k)
        elif ringed[d]:
            first = rule or ("r7" if d == order[0] or k == 4 or assignment != "fixed" else "r1")
            lines[d] = _two_lines(k) if first == "r7" else _dateline(k)
    source_of_host, root = per_switch(fabric)
    parent = _parents(fabric.points, root, dims, into, [(d, lines[d]) for d in order])
    if parent is None:
        raise PlanError("dimension order needs every link of the grid cabled", next_step="use --routing up-down")
    rules = ", ".join(dict.fromkeys(lines[d].rule for d in order))
    return Routes(f"dor-{rule}" if rule else "dor", f"dimension order ({rules})", source_of_host, root, parent)


def _parents(
    at: NDArray[np.int64],
    root: NDArray[np.int32],
    dims: tuple[int, ...],
    into: NDArray[np.int32],
    lines: list[tuple[int, _Line]],
) -> NDArray[np.int32] | None:
    """Return the tree of every root, int32[S, N], or None if a link that it needs is not cabled.

    A path enters a switch along the last dimension travelled in which switch and root differ. With the switches ordered
    by point, last dimension slowest, a row is first written as if all switches differed there. Then the part that
    agrees with the root in that dimension is overwritten as if all of it differed in the one before. Only the channels
    along one dimension of `into` are read, so a row costs little more than its copy.
    """
    order = [d for d, _ in lines]
    by_point = np.lexsort(at[:, order].T)  # the last key is the primary one
    sorted_already = bool(np.all(by_point[1:] > by_point[:-1]))
    parent = np.empty((len(root), len(at)), np.int32)
    sources, outer = np.arange(len(root)), np.zeros(len(root), np.int64)  # the number of the part that agrees so far
    for d, line in reversed(lines):
        parts = math.prod(dims[e] for e in order[order.index(d) + 1 :])
        entering = into[by_point, d].reshape(len(at), -1)  # [switch, direction and parallel link]
        entering = np.append(entering, np.full((len(at), 1), -1, np.int32), axis=1)
        column = line.direction.astype(np.int64) * into.shape[3] + line.parallel_link
        np.fill_diagonal(column, entering.shape[1] - 1)
        y = at[by_point, d].reshape(parts, -1)
        row = np.arange(len(at)).reshape(parts, 1, -1) * entering.shape[1]
        channel = entering.ravel()[row + column.T[y].transpose(0, 2, 1)]  # [part, x, in part]
        mine = outer, at[root, d]
        if parts == 1:
            np.take(channel[0], mine[1], axis=0, out=parent, mode="clip")  # "raise" would buffer the whole result
        else:
            parent.reshape(len(root), parts, -1)[sources, outer] = channel[mine]
        requested = np.zeros(channel.shape[:2], np.bool_)
        requested[mine] = True
        if np.any((channel < 0).sum(axis=2)[requested] > channel.shape[2] // dims[d]):
            return None
        outer = outer * dims[d] + mine[1]
    if sorted_already:
        return parent
    placed = np.empty_like(parent)
    placed[:, by_point] = parent
    return placed


def travelled(fabric: Fabric) -> list[int]:
    """Return the dimensions of a grid in the order paths travel them: fewest trees per point, then by number."""
    return _travelled(fabric, _channels(fabric).shape[3])


def _travelled(fabric: Fabric, parallel_links: int) -> list[int]:
    def share(d: int) -> tuple[float, int]:
        k = _dims(fabric)[d]
        trees = 1 if not _wraps(fabric) or k <= 2 else 2 if parallel_links >= 2 or k == 4 else k
        return trees / k, d

    return sorted(range(len(_dims(fabric))), key=share)


def _dims(fabric: Fabric) -> tuple[int, ...]:
    assert fabric.shape is not None  # noqa: S101 - is_grid came first
    return (2,) * fabric.shape.dims[0] if fabric.shape.family == "hypercube" else fabric.shape.dims


def _wraps(fabric: Fabric) -> bool:
    return fabric.shape is not None and fabric.shape.family in {"torus", "ring"}


def _straight(k: int) -> _Line:
    x, y = np.indices((k, k))
    return _Line("straight lines", np.where(y > x, PLUS, MINUS).astype(np.int8), np.zeros((k, k), np.int8))


def _two_lines(k: int) -> _Line:
    """Return rule R7: each source takes the line, of two cut opposite each other, with the shorter paths."""
    x, y = np.indices((k, k))
    turned = (np.arange(k) - k // 2) % k  # positions along parallel link 1's line
    length = np.stack([np.abs(x - y), np.abs(turned[x] - turned[y])])
    parallel_link = np.broadcast_to(np.argmin(length.sum(axis=2), axis=0)[:, None], (k, k))
    plus = np.where(parallel_link == 0, y > x, turned[y] > turned[x])
    return _Line("two trees per ring, rule R7", plus.astype(np.int8), parallel_link.astype(np.int8))


def _dateline(k: int) -> _Line:
    """Return rule R1: minimal, in parallel link 0, and in parallel link 1 from the hop between k-1 and 0 on.

    Parallel link 0 has no crossing, and no path in parallel link 1 goes half the ring to reach the crossing again.
    """
    x, y = np.indices((k, k))
    plus = _short(k).direction == PLUS
    parallel_link = np.where(plus, y < x, y > x)
    return _Line("the short way, rule R1", plus.astype(np.int8), parallel_link.astype(np.int8))


def _short(k: int) -> _Line:
    x, y = np.indices((k, k))
    ahead = (y - x) % k
    plus = np.where(2 * ahead == k, x % 2 == 0, 2 * ahead < k)
    return _Line("the short way, ties split by parity", plus.astype(np.int8), np.zeros((k, k), np.int8))


def directions(fabric: Fabric) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each channel's dimension and direction of travel (0 minus, 1 plus), int64[C]; -1 outside the grid."""
    into = _channels(fabric)
    dim, sign = np.full(len(fabric.tail), -1, np.int64), np.full(len(fabric.tail), -1, np.int64)
    _, d, s, _ = np.nonzero(into >= 0)
    dim[into[into >= 0]], sign[into[into >= 0]] = d, s
    return dim, sign


def _strides(dims: tuple[int, ...]) -> NDArray[np.int64]:
    return np.cumprod([1, *dims[:-1]], dtype=np.int64)


@lru_cache(maxsize=4)  # called several times while one fabric is routed
def _channels(fabric: Fabric) -> NDArray[np.int32]:
    """Return the channel into [switch, dimension, direction of travel, parallel link], -1 if none is cabled."""
    dims, at, parallel_link = np.array(_dims(fabric), np.int64), fabric.points, fabric.parallel_link
    parallel_links = int(parallel_link.max(initial=0)) + 1
    into = np.full((len(fabric.switches), len(dims), 2, parallel_links), -1, np.int32)
    step = at[fabric.head] - at[fabric.tail]
    dim = np.argmax(step != 0, axis=1)
    size = step[np.arange(len(step)), dim]
    # links between switches that are not neighbours are outside the grid; dimension order does not use them
    closing = (np.abs(size) == dims[dim] - 1) & (np.abs(size) > 1) & _wraps(fabric)
    size = np.where(closing, -np.sign(size), size)
    used = (np.count_nonzero(step, axis=1) == 1) & (np.abs(size) == 1)
    into[fabric.head[used], dim[used], np.where(size[used] > 0, PLUS, MINUS), parallel_link[used]] = np.flatnonzero(
        used
    )
    # only parallel links that every pair of neighbours has are used
    full = [
        parallel_link
        for parallel_link in range(parallel_links)
        if np.array_equal(into[..., parallel_link] >= 0, into[..., 0] >= 0)
    ]
    into = into[..., : len(full)]
    into.setflags(write=False)
    return into
