"""Choose which settings apply when, over a day that repeats: dynamic programming over time."""

from __future__ import annotations

from itertools import combinations, islice
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.timetable import Schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.timetable import Offer

SETS = 5_000  # sets of settings that are tried
RANKED = 400_000  # sets: up to here the tried ones are those that would be cheapest if changes were free
CELLS = 8_000_000  # array cells in memory at a time


def schedules(offer: Offer, most_settings: int, dwell_seconds: float, most_changes: int) -> list[Schedule]:
    """Return the cheapest day with at most 1, 2, ... `most_settings` settings, as long as any can carry it.

    The day repeats: the step from its last interval to its first is a change like others. Every stretch of one setting
    within the day lasts `dwell_seconds` or the whole day, and there are at most `most_changes` changes. All sets of
    settings are tried if they are no more than SETS. Beyond, those that would be cheapest if changes were free are
    tried; beyond RANKED, completions of the best set with one fewer. Then members of the best are exchanged one by one
    while that helps. `exact` says whether no set that was left out can be better.
    """
    found: list[Schedule] = []
    best: Schedule | None = None
    count = len(offer.joules)
    for n in range(1, min(most_settings, count) + 1):
        if comb(count, n) <= SETS:
            answer, exact = _best(offer, combinations(range(count), n), dwell_seconds, most_changes), True
        else:
            start, exact = best, False
            if comb(count, n) <= RANKED:
                promising, rest = _promising(offer, n)
                start = _best(offer, promising, dwell_seconds, most_changes)
                exact = start is not None and start.joules <= rest
            answer = start if exact else _improved(offer, start, n, dwell_seconds, most_changes)
        if answer is not None and (best is None or answer.joules < best.joules * (1 - 1e-12)):
            best = Schedule(answer.setting, answer.joules, answer.changes, exact)
        if best is not None:
            found.append(Schedule(best.setting, best.joules, best.changes, exact))
    return found


def _promising(offer: Offer, n: int) -> tuple[list[tuple[int, ...]], float]:
    """Return the SETS sets of n that would be cheapest if changes were free, and the cost of the best other."""
    sets = np.array(list(combinations(range(len(offer.joules)), n)))
    parts = np.array_split(sets, max(1, sets.size * len(offer.seconds) // CELLS))
    least = np.concatenate([offer.joules[part].min(axis=1).sum(axis=1) for part in parts])
    order = np.argsort(least, kind="stable")
    return [tuple(each) for each in sets[order[:SETS]].tolist()], float(least[order[SETS]])


def _improved(offer: Offer, start: Schedule | None, n: int, dwell: float, most: int) -> Schedule | None:
    everything = range(len(offer.joules))
    kept = start.used if start is not None else ()
    best = start
    while True:
        missing = n - len(kept)
        smaller = [kept] if missing > 0 else [tuple(k for k in kept if k != gone) for gone in kept]
        sets = [(*few, extra) for few in smaller for extra in everything if extra not in few]
        answer = _best(offer, iter(sets), dwell, most)
        if answer is None or (best is not None and answer.joules >= best.joules * (1 - 1e-12)):
            return best
        best, kept = answer, answer.used


def _best(offer: Offer, sets: object, dwell: float, most: int) -> Schedule | None:
    """Return the cheapest day over any of `sets`, all of one size; None if none can carry the day."""
    every = iter(sets)  # type: ignore[call-overload]  # combinations or a list of tuples
    best: tuple[float, tuple[int, ...], int] | None = None
    first = next(every, None)
    if first is None:
        return None
    size = (len(offer.seconds) + 1) * len(first) * (most + 1)
    room = max(1, CELLS // size)
    batch: list[tuple[int, ...]] = [first, *islice(every, room - 1)]
    while batch:
        chosen = np.array(batch)
        for begin in range(chosen.shape[1]):
            cost = _end(offer, chosen, begin, _table(offer, chosen, begin, dwell, most)).min(axis=(1, 2))
            at = int(np.argmin(cost))
            if np.isfinite(cost[at]) and (best is None or cost[at] < best[0]):
                best = float(cost[at]), batch[at], begin
        batch = list(islice(every, room))
    return _traced(offer, np.array([best[1]]), best[2], dwell, most) if best is not None else None


def _table(offer: Offer, sets: NDArray[np.int64], begin: int, dwell: float, most: int) -> NDArray[np.float64]:
    """Return the least joules from the day's start to boundary t, float64[T + 1, B, N, most + 1], of B sets of N.

    The last axes are the setting at t, in force for at least `dwell` seconds, and the changes so far. The day begins
    with setting `begin` of each set.
    """
    joules, ends = offer.joules[sets], _ends(offer.seconds, dwell)
    intervals, (batch, n) = len(offer.seconds), sets.shape
    sums = np.concatenate([np.zeros((batch, n, 1)), np.cumsum(joules, axis=2)], axis=2)
    table = np.full((intervals + 1, batch, n, most + 1), np.inf)
    first = min(ends[0], intervals)
    table[first, :, begin, 0] = _stretch(joules, sums, 0, first)[:, begin]
    for t in range(1, intervals):
        now = table[t]
        table[t + 1] = np.minimum(table[t + 1], now + joules[:, :, t, None])
        if ends[t] <= intervals and most:
            entered = (now[:, :, None, :-1] + _changes(offer, sets, t)[:, :, :, None]).min(axis=1)
            stretch = _stretch(joules, sums, t, ends[t])
            table[ends[t], :, :, 1:] = np.minimum(table[ends[t], :, :, 1:], entered + stretch[:, :, None])
    return table


def _changes(offer: Offer, sets: NDArray[np.int64], t: int) -> NDArray[np.float64]:
    change: NDArray[np.float64] = offer.change_joules[t][sets[:, :, None], sets[:, None, :]]
    change[:, np.arange(sets.shape[1]), np.arange(sets.shape[1])] = np.inf  # staying is not a change
    return change


def _ends(seconds: NDArray[np.float64], dwell: float) -> list[int]:
    """Return the first boundary at which a stretch that begins at t may end; beyond the day if there is none."""
    bounds = np.concatenate([[0.0], np.cumsum(seconds)])
    ends: list[int] = np.maximum(
        np.searchsorted(bounds, bounds[:-1] + dwell - 1e-6), np.arange(1, len(bounds))
    ).tolist()
    return ends


def _stretch(joules: NDArray[np.float64], sums: NDArray[np.float64], begin: int, end: int) -> NDArray[np.float64]:
    """Return the joules from boundary to boundary; inf if an interval within cannot be carried."""
    with np.errstate(invalid="ignore"):  # inf - inf if an earlier interval could not be carried
        total = sums[:, :, end] - sums[:, :, begin]
    late = ~np.isfinite(total)
    if late.any():
        total = np.where(late, joules[:, :, begin:end].sum(axis=2), total)
    return np.asarray(total, np.float64)


def _end(offer: Offer, sets: NDArray[np.int64], begin: int, table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the joules of whole days, float64[B, N, most + 1], with the change from the last setting to the first."""
    last: NDArray[np.float64] = table[-1].copy()
    back = _changes(offer, sets, 0)[:, :, begin]
    others = np.arange(sets.shape[1]) != begin
    last[:, others, :] += back[:, others, None]
    last[:, others, -1] = np.inf  # that change must be allowed, too
    return last


def _traced(offer: Offer, sets: NDArray[np.int64], begin: int, dwell: float, most: int) -> Schedule:
    """Return the cheapest day of one set, traced back from its end."""
    table = _table(offer, sets, begin, dwell, most)
    final = _end(offer, sets, begin, table)[0]
    k, c = (int(i) for i in np.unravel_index(np.argmin(final), final.shape))
    joules, ends = offer.joules[sets], _ends(offer.seconds, dwell)
    sums = np.concatenate([np.zeros((1, sets.shape[1], 1)), np.cumsum(joules, axis=2)], axis=2)
    intervals, total, changes = len(offer.seconds), float(final[k, c]), c + int(k != begin)
    setting = np.full(intervals, -1, np.int64)
    t = intervals
    while t:
        stay = table[t - 1, 0, k, c] + joules[0, k, t - 1]
        options: list[tuple[float, int, int]] = [(float(stay), t - 1, k)]
        for b in [b for b in range(1, t) if ends[b] == t and c] if most else []:
            stretch, change = _stretch(joules, sums, b, t)[0, k], _changes(offer, sets, b)[0]
            options += [
                (float(table[b, 0, j, c - 1] + change[j, k] + stretch), b, j) for j in range(len(change)) if j != k
            ]
        if t == min(ends[0], intervals) and k == begin and c == 0:
            options.append((float(_stretch(joules, sums, 0, t)[0, k]), 0, k))
        _, before, other = min(options, key=lambda option: option[0])
        setting[before:t] = sets[0, k]
        t, c, k = before, c - int(other != k), other
    return Schedule(setting, total, changes, exact=True)


def groups(
    rate: NDArray[np.float32], known: NDArray[np.bool_], most: int
) -> tuple[list[NDArray[np.int64]], list[NDArray[np.int64]]]:
    """Return groups of similar intervals: every group of a hierarchy, and the at most `most` at its leaves.

    Clusters are joined by Ward's rule over the square roots of rates, so that a few heavy pairs do not hide the others.
    The idlest quarter, half and three quarters are added, since what carries a busy time also carries an idle one.
    """
    from scipy.cluster.hierarchy import fcluster, linkage  # noqa: PLC0415 - slow to load

    index = np.flatnonzero(known)
    if len(index) < 2:
        return [index] * len(index), [index] * len(index)
    flat = np.sqrt(rate[index].reshape(len(index), -1))
    flat = flat[:, flat.any(axis=0)]
    tree = linkage(flat if flat.shape[1] else np.zeros((len(index), 1)), "ward")
    cuts = [fcluster(tree, n, "maxclust") for n in range(1, most + 1)]
    found = [index[label == which] for label in cuts for which in range(1, int(label.max()) + 1)]
    volume = rate[index].sum(axis=(1, 2), dtype=np.float64)
    found += [index[volume <= np.quantile(volume, share)] for share in (0.25, 0.5, 0.75)]
    leaves = [index[cuts[-1] == which] for which in range(1, int(cuts[-1].max()) + 1)]
    return list({members.tobytes(): members for members in found}.values()), leaves


def covering(rate: NDArray[np.float32], members: Sequence[int] | NDArray[np.int64]) -> NDArray[np.float64]:
    """Return one matrix in which every pair sends its maximum over the intervals.

    Channel loads grow with every pair's rate, so routes that carry this matrix carry each interval.
    """
    return np.asarray(rate[members].max(axis=0), np.float64)
