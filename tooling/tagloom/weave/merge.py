"""Partition mutually exclusive things into the fewest classes, as far as a bounded search finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.integer_programs import solve_program

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

EXACT_THINGS = 48  # above this number no integer program is tried
EXACT_NODES = 2_000  # branch-and-bound nodes of the integer program: the same on every machine, unlike seconds
EXACT_ROUNDS = 24  # integer programs solved before the best partition found so far is kept


def first_fit(
    conflict: NDArray[np.bool_], together: Callable[[list[int]], bool], order: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """Return the first class that each thing fits in, taken in `order` (Koibuchi et al. 2011, Sect. 3.2.1, Step 2).

    conflict  bool[n, n], symmetric: which two may not share a class
    together  whether a whole set may share one, which can be False although no two of it conflict

    Return int64[n], classes numbered in the order of their creation.
    """
    place = np.full(len(conflict), -1, np.int64)
    classes: list[list[int]] = []
    closed = np.zeros(conflict.shape, np.bool_)  # [class, thing]: a member of the class conflicts with the thing
    for thing in range(len(conflict)) if order is None else order.tolist():
        for known in np.flatnonzero(~closed[: len(classes), thing]).tolist():
            if together([*classes[known], thing]):
                classes[known].append(thing)
                closed[known] |= conflict[thing]
                place[thing] = known
                break
        else:
            place[thing] = len(classes)
            closed[len(classes)] = conflict[thing]
            classes.append([thing])
    return place


def fewest(conflict: NDArray[np.bool_], together: Callable[[list[int]], bool] = lambda _: True) -> NDArray[np.int64]:
    """Return classes of things, few in number: by first fit, or by another partition if that has fewer.

    This is graph colouring, NP-hard in general. First fit is kept if a clique proves it minimal, the common case.
    Otherwise the most constrained things go first (Brelaz, CACM 22(4), 1979), and up to EXACT_THINGS an integer program
    (HiGHS) searches for one class less until there is none. Arguments and result as for `first_fit`; deterministic.
    """
    if conflict.sum() == len(conflict) * (len(conflict) - 1):
        return np.arange(len(conflict))  # every two conflict
    best = first_fit(conflict, together)
    clique = _clique(conflict)
    if not len(best) or best.max() + 1 == len(clique):
        return best
    other = first_fit(conflict, together, _by_saturation(conflict))
    if other.max() < best.max():
        best = other
    cuts: list[list[int]] = []
    for _ in range(EXACT_ROUNDS if len(conflict) <= EXACT_THINGS else 0):
        if best.max() + 1 <= max(1, len(clique)):
            break
        found = _with_classes(conflict, int(best.max()), clique, cuts)
        if found is None:
            break
        bad = [
            m.tolist() for c in range(int(found.max()) + 1) if not together((m := np.flatnonzero(found == c)).tolist())
        ]
        if not bad:
            best = found
        cuts += [_minimal_conflict(members, together) for members in bad]
    return _numbered(best)


def _numbered(place: NDArray[np.int64]) -> NDArray[np.int64]:
    """Renumber classes in the order of their first members, so that equal partitions are equal arrays."""
    _, first, inverse = np.unique(place, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]


def _clique(conflict: NDArray[np.bool_]) -> list[int]:
    """Return things of which every two conflict, the most conflicting first: a lower bound on the classes."""
    degree = conflict.sum(axis=1)
    allowed = np.ones(len(conflict), np.bool_)
    clique: list[int] = []
    while allowed.any():
        thing = int(np.argmax(np.where(allowed, degree, -1)))
        clique.append(thing)
        allowed &= conflict[thing]
        allowed[thing] = False
    return clique


def _by_saturation(conflict: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the things ordered by the number of classes closed to each when it is taken, then of its conflicts."""
    n = len(conflict)
    degree = conflict.sum(axis=1)
    closed = np.zeros((n, n), np.bool_)  # [thing, class]
    left = np.ones(n, np.bool_)
    order = np.empty(n, np.int64)
    for i in range(n):
        thing = int(np.argmax(np.where(left, closed.sum(axis=1) * (n + 1) + degree, -1)))
        left[thing], order[i] = False, thing
        closed[conflict[thing], int(np.argmin(closed[thing]))] = True
    return order


def _with_classes(
    conflict: NDArray[np.bool_], classes: int, clique: list[int], cuts: list[list[int]]
) -> NDArray[np.int64] | None:
    """Return a partition into `classes` classes, or None if there is none or the branches run out.

    Variables x[thing, class] in {0, 1}: each thing has one class, two in conflict never the same, the things of a cut
    not all the same. The members of the clique get a class each beforehand; as classes are interchangeable, nothing is
    lost.
    """
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 - a third of a second most need not wait
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    n = len(conflict)
    if classes < len(clique):
        return None
    a, b = np.nonzero(np.triu(conflict))
    groups = [[i, j] for i, j in zip(a.tolist(), b.tolist(), strict=True)] + cuts
    each = csr_matrix((np.ones(n * classes), (np.repeat(np.arange(n), classes), np.arange(n * classes))))
    rows = [r for r, group in enumerate(groups) for _ in group]
    columns = np.array([i for group in groups for i in group], np.int64)
    size = np.array([len(group) for group in groups], np.float64)
    constraints = [LinearConstraint(each, 1, 1)]
    for c in range(classes if groups else 0):
        shape = (len(groups), n * classes)
        matrix = csr_matrix((np.ones(len(rows)), (rows, columns * classes + c)), shape)
        constraints.append(LinearConstraint(matrix, -np.inf, size - 1))
    low = np.zeros((n, classes))
    low[clique, np.arange(len(clique))] = 1
    answer = solve_program(
        np.zeros(n * classes),
        integrality=np.ones(n * classes),
        bounds=Bounds(low.ravel(), 1),
        constraints=constraints,
        options={"node_limit": EXACT_NODES},
    )
    if answer.x is None:
        return None
    return np.asarray(np.argmax(answer.x.reshape(n, classes), axis=1), np.int64)


def _minimal_conflict(members: list[int], together: Callable[[list[int]], bool]) -> list[int]:
    """Return a smallest part of a set that may not share a class: every member is needed for that."""
    for thing in list(members):
        smaller = [m for m in members if m != thing]
        if not together(smaller):
            members = smaller
    return members
