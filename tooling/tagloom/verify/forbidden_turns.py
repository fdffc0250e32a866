"""Choose the fewest turns to forbid so that no dependency cycle is left: a minimum feedback arc set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import on_cycles, shortest_through
from tagloom.graph.integer_programs import solve_program

if TYPE_CHECKING:
    from numpy.typing import NDArray

EDGES = 20_000  # beyond, no fewest are looked for
SECONDS = 3.0  # for the search
AT_ONCE = 64  # cycles that are added at a time


def fewest_to_remove(before: NDArray[np.int64], after: NDArray[np.int64]) -> tuple[set[tuple[int, int]], int]:
    """Return edges (before, after) whose removal leaves no cycle, and how many any such set has at least.

    Every edge given lies on a cycle. The set is a smallest one where the bound is reached. A 0-1 program covers the
    cycles known so far, and cycles that its answer leaves are added (Grötschel, Jünger, Reinelt, Math. Programming 33,
    1985). Beyond EDGES or SECONDS the set is that of a greedy order (Eades, Lin, Smyth, Inform. Process. Lett. 47,
    1993), without what it does not need.
    """
    if not len(before):
        return set(), 0
    vertices, number = np.unique(np.concatenate([before, after]), return_inverse=True)
    old, new = number[: len(before)], number[len(before) :]
    chosen, bound = _exactly(len(vertices), old, new) if len(old) <= EDGES else (None, 1)
    if chosen is None:
        place = _greedy_order(len(vertices), old, new)
        chosen = _needed(len(vertices), old, new, place[old] >= place[new])
    return set(zip(before[chosen].tolist(), after[chosen].tolist(), strict=True)), bound


def _exactly(
    vertices: int, before: NDArray[np.int64], after: NDArray[np.int64]
) -> tuple[NDArray[np.bool_] | None, int]:
    """Return a smallest set, None where time is over, and a lower bound."""
    chosen, bound = np.zeros(len(before), np.bool_), 1
    cycles: list[list[int]] = []
    end = time.monotonic() + SECONDS
    while found := _cycles_left(vertices, before, after, chosen):
        cycles += found
        answer = _covering(cycles, len(before), end - time.monotonic())
        if answer is None:
            return None, bound
        chosen, bound = answer[0], max(bound, answer[1])
    return chosen, bound


def _cycles_left(
    vertices: int, before: NDArray[np.int64], after: NDArray[np.int64], removed: NDArray[np.bool_]
) -> list[list[int]]:
    """List some cycles that avoid what is removed, as edges: a shortest one through each of some vertices."""
    left = np.flatnonzero(~removed)
    left = left[on_cycles(vertices, before[left], after[left])]
    edge = {(a, b): e for a, b, e in zip(before[left].tolist(), after[left].tolist(), left.tolist(), strict=True)}
    starts = np.unique(before[left])
    cycles = set()
    for start in starts[:: -(-len(starts) // AT_ONCE) or 1].tolist():
        circle = shortest_through(vertices, before[left], after[left], start)
        cycles.add(tuple(sorted(edge[a, b] for a, b in zip(circle, circle[1:] + circle[:1], strict=True))))
    return [list(cycle) for cycle in sorted(cycles)]


def _covering(cycles: list[list[int]], edges: int, seconds: float) -> tuple[NDArray[np.bool_], int] | None:
    """Choose the fewest edges that meet every cycle, with a lower bound; None where the time is over."""
    from scipy.optimize import LinearConstraint  # noqa: PLC0415 - a third of a second that few commands need
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    if seconds <= 0:
        return None
    rows = np.repeat(np.arange(len(cycles)), [len(cycle) for cycle in cycles])
    columns = np.concatenate([np.array(cycle) for cycle in cycles])
    matrix = csr_matrix((np.ones(len(rows)), (rows, columns)), (len(cycles), edges))
    answer = solve_program(
        np.ones(edges),
        integrality=np.ones(edges),
        bounds=(0, 1),
        constraints=[LinearConstraint(matrix, 1, np.inf)],
        options={"time_limit": seconds},
    )
    if answer.x is None or answer.status != 0:
        return None
    return answer.x > 0.5, int(np.ceil(answer.mip_dual_bound - 1e-6))


def _greedy_order(vertices: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each vertex in an order that few edges run against: sources first, sinks last."""
    onward: list[list[int]] = [[] for _ in range(vertices)]
    back: list[list[int]] = [[] for _ in range(vertices)]
    for a, b in zip(before.tolist(), after.tolist(), strict=True):
        onward[a].append(b)
        back[b].append(a)
    out, into = [len(each) for each in onward], [len(each) for each in back]
    buckets: dict[int, set[int]] = {}
    for v in range(vertices):
        buckets.setdefault(out[v] - into[v], set()).add(v)
    free, place = set(range(vertices)), np.zeros(vertices, np.int64)
    sinks, sources = [v for v in free if not out[v]], [v for v in free if not into[v]]
    low, high = 0, vertices - 1
    while free:
        if sinks:
            v, last = sinks.pop(), True
        elif sources:
            v, last = sources.pop(), False
        else:
            v, last = buckets[max(key for key, some in buckets.items() if some)].copy().pop(), False
        if v not in free:
            continue
        free.discard(v)
        buckets[out[v] - into[v]].discard(v)
        place[v], low, high = (high, low, high - 1) if last else (low, low + 1, high)
        for near, count, ready in ((back[v], out, sinks), (onward[v], into, sources)):
            for u in near:
                if u in free:
                    buckets[out[u] - into[u]].discard(u)
                    count[u] -= 1
                    buckets.setdefault(out[u] - into[u], set()).add(u)
                    if not count[u]:
                        ready.append(u)
    return place


def _needed(
    vertices: int, before: NDArray[np.int64], after: NDArray[np.int64], removed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Put back the edges that close no cycle with what is left."""
    for edge in np.flatnonzero(removed).tolist():
        kept = ~removed
        kept[edge] = True
        if not on_cycles(vertices, before[kept], after[kept]).any():
            removed = ~kept
    return removed
