"""Bound from below how many links carry traffic where no link may be the only one between two parts of a fabric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_ENDS = 16  # switches whose bytes are counted: all sets of them are looked at
SLACK = 1e-9  # of a link's capacity: loads are whole bytes, only the division rounds


def least_links(demand: NDArray[np.float64], capacity: float) -> int:
    """Return how many links at least carry `demand` over any paths if each switch stays reachable without any one link.

    `demand` is float64[N, N], the bytes between the N switches, `capacity` what a link carries each way at most.

    Every switch then has two links or more. Let there be N + e links in all: the degrees above two sum to 2e. With
    e = 0 they are one ring. Else switches with two links form chains between the others, the branches, and

    - what leaves or enters consecutive switches of a chain crosses two links,
    - what leaves or enters a branch with three links, together with any of the chains at it, crosses three.

    So a chain has `chain` ends at most, the most that can be taken one by one into a set which two links serve, and a
    branch with three links and its chains have `region`. An end on a chain is counted half at both branches. A branch
    with d links then has at most 1 + d chain / 2 ends, one with three (1 + region) / 2. Among all ways to spend 2e on
    branches, three or four links each give most ends per unit; e must suffice for all ends.

    Bytes of the busiest MOST_ENDS switches among themselves are counted, others left out: less traffic needs no more.
    """
    amount = demand.sum(axis=0) + demand.sum(axis=1)
    ends = np.argsort(-amount, kind="stable")[:MOST_ENDS]
    ends = ends[amount[ends] > 0]
    if not len(ends) or capacity <= 0:
        return len(demand)
    needed = _crossing(demand[np.ix_(ends, ends)]) / capacity
    chain = _most_ends(needed, 2)
    if chain == len(ends):
        return len(demand)
    per_unit = max(min(1 + 1.5 * chain, (1 + _most_ends(needed, 3)) / 2), 0.5 + chain)
    return len(demand) + int(np.ceil(len(ends) / (2 * per_unit) - SLACK))


def _crossing(demand: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what leaves or enters each set of ends, the greater: float64[2^E], bit i of an index stands for end i."""
    inside = _inside(len(demand)).astype(np.float64)
    leaves, enters = (np.einsum("se,se->s", inside @ way, 1.0 - inside) for way in (demand, demand.T))
    both: NDArray[np.float64] = np.maximum(leaves, enters)
    return both


def _most_ends(needed: NDArray[np.float64], links: int) -> int:
    """Return the size of the greatest set that grows end by end, none on the way needing more than `links`."""
    ends = len(needed).bit_length() - 1
    size = _inside(ends).sum(axis=1)
    reached = np.zeros(len(needed), np.bool_)
    reached[0] = True
    for n in range(1, ends + 1):
        fit = np.flatnonzero((size == n) & (needed <= links + SLACK))
        for end in range(ends):
            with_end = fit[fit >> end & 1 > 0]
            reached[with_end] |= reached[with_end ^ (1 << end)]
        if not reached[fit].any():
            return n - 1
    return ends


def _inside(ends: int) -> NDArray[np.bool_]:
    """Return which ends are in each set, bool[2^E, E]."""
    return (np.arange(1 << ends)[:, None] >> np.arange(ends) & 1).astype(np.bool_)
