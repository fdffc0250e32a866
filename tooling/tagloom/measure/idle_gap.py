"""Probe a link's sleep policy from outside, by round trips after idle gaps of chosen lengths (Miwa 2013, 5.1).

A message after a gap up to the time-out H is not delayed. After a longer gap the link is falling asleep, and the
message waits for the rest of Ts and then Tw; after a gap longer than H + Ts it waits Tw alone. So the round trip over
the gap g is level, then falls as S - g with S = H + Ts + Tw, then is level again: two change points.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.measurement import AWAKE, SLEPT, GapPoint, Interval, SleepPolicy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

FIRST_SECONDS, LAST_SECONDS = 0.5e-3, 4e-3
# Extra gaps in which no link sleeps, as shares of the first gap: they measure the awake round trip.
AWAKE_SHARES = (0.0, 0.02, 0.05, 0.1, 0.2)
COARSE, MIDDLE, FINE = 36, 32, 16  # gaps in the first pass, around the slope it found, and at the time-out
REPEATS = 40
QUANTILE = 0.5  # of the round trips after one gap: some wait for a processor, others find the link awake
RESAMPLES = 100
LEAST_AFTER = 3  # gaps in the last segment
OFF_SHARE, OFF_SECONDS = 0.02, 20e-6  # a gap longer by more was not paced: another process had the processor


def probe(
    ask: Callable[[float, int], GapPoint],
    first: float,
    last: float,
    repeats: int,
    note: Callable[[int, int], None],
    into: list[GapPoint],
    coarse: int = COARSE,
    seed: int = 0,
) -> None:
    """Measure round trips after gaps from `first` to `last` seconds, finer around the change points; fill `into`.

    The gaps come in random order, so that a drift of the hosts does not look like a change point. Any exception of
    `ask` ends the probe; the points in `into` by then are valid.
    """
    chance = random.Random(seed)  # noqa: S311 - not for security
    middle, fine = max(8, coarse * MIDDLE // COARSE), max(6, coarse * FINE // COARSE)
    total = len(AWAKE_SHARES) + coarse + middle + fine

    def look(gaps: Sequence[float]) -> None:
        for gap in chance.sample(list(gaps), len(gaps)):
            note(len(into), total)
            into.append(ask(gap, repeats))

    look([*(share * first for share in AWAKE_SHARES), *np.linspace(first, last, coarse).tolist()])
    step = (last - first) / (coarse - 1)
    found = _estimate(*_table(into))
    if found is None:
        return
    low, high = found.edges
    look(np.linspace(max(low - step / 2, 0.0), min(found.asleep + 1.5 * step, last), middle).tolist())
    found = _estimate(*_table(into))
    if found is not None:
        low, high = found.edges
        look(np.linspace(low, high, fine + 2)[1:-1].tolist())


class _Estimate:
    """One fit: the gaps on both sides of the time-out, S, Tw, and where the link is asleep."""

    def __init__(self, edges: tuple[float, float], awake: float, total: float, wake: float) -> None:
        self.edges, self.awake, self.total, self.wake = edges, awake, total, wake

    @property
    def asleep(self) -> float:
        return max(self.total - self.wake, self.edges[1])


def _paced(point: GapPoint) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gaps and trips that were paced; the first trip follows no paced gap and is dropped."""
    gaps, trips = np.array(point.gap_seconds[1:]), np.array(point.round_trip_seconds[1:])
    wanted = float(np.min(gaps))
    good = gaps <= wanted * (1 + OFF_SHARE) + OFF_SECONDS
    return gaps[good], trips[good]


def _table(points: Sequence[GapPoint]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the gaps in ascending order and the median of the round trips after each."""
    rows = [(float(np.median(g)), float(np.quantile(t, QUANTILE))) for g, t in map(_paced, points)]
    gap, trip = np.array(sorted(rows)).T
    return gap, trip


def _estimate(gap: NDArray[np.float64], trip: NDArray[np.float64]) -> _Estimate | None:
    """Fit the three segments by least squares over all pairs of change points; None if one level explains as much.

    Each segment is a mean: of the trips, of the trips plus their gaps, of the trips. So the sum of squares of every
    pair (k, j) follows from running sums. The Bayesian information criterion decides between one level and three
    segments, with half a microsecond of resolution added so that it also decides on noiseless data.
    """
    n = len(gap)

    def rest(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        centred = values - values.mean()  # or the running sums lose significant digits
        return np.concatenate([[0], np.cumsum(centred)]), np.concatenate([[0], np.cumsum(centred**2)])

    def squares(
        sums: tuple[NDArray[np.float64], NDArray[np.float64]], low: NDArray[np.int64], high: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        size = np.maximum(high - low, 1)
        return np.asarray(sums[1][high] - sums[1][low] - (sums[0][high] - sums[0][low]) ** 2 / size)

    level, slope = rest(trip), rest(trip + gap)
    k, j = (a.ravel() for a in np.meshgrid(np.arange(2, n), np.arange(2, n), indexing="ij"))
    fits = (j >= k) & (j <= n - LEAST_AFTER)
    k, j = k[fits], j[fits]
    if not len(k):
        return None
    first, last = np.zeros_like(k), np.full_like(k, n)
    cost = squares(level, first, k) + squares(slope, k, j) + squares(level, j, last)
    best = int(np.argmin(cost))
    k0, j0 = int(k[best]), int(j[best])
    floor = n * (0.5e-6) ** 2
    one, three = float(squares(level, first[:1], last[:1])[0]) + floor, float(cost[best]) + floor
    awake, wake = float(np.median(trip[:k0])), float(np.median(trip[j0:]))
    if n * np.log(three / n) + 4 * np.log(n) >= n * np.log(one / n) or wake <= awake:
        return None
    edges = float(gap[k0 - 1]), float(gap[k0])
    total = float(np.median((trip + gap)[k0:j0])) if j0 > k0 else sum(edges) / 2 + wake
    return _Estimate(edges, awake, total - awake, wake - awake)


def fit_policy(points: Sequence[GapPoint], baseline: Sequence[GapPoint] = (), seed: int = 0) -> SleepPolicy:
    """Return the policy fitted to round trips, with 95 % confidence intervals from resampling them.

    `baseline` is the same probe with EEE off: its round trips are subtracted gap by gap, because hosts that slept
    longer answer later. The time-out lies between two neighbouring gaps, and its interval includes both. Raises
    InputError if there are too few gaps.
    """
    if len(points) < 2 + LEAST_AFTER:
        raise InputError([Finding("gaps", f"at least {2 + LEAST_AFTER}", str(len(points)))])
    chance = np.random.default_rng(seed)
    base_gap, base_trip = _table(baseline) if baseline else (np.zeros(1), np.zeros(1))

    def fit(rows: Sequence[tuple[float, NDArray[np.float64]]]) -> _Estimate | None:
        gap = np.array([g for g, _ in rows])
        trip = np.array([float(np.quantile(t, QUANTILE)) for _, t in rows])
        return _estimate(gap, trip - np.interp(gap, base_gap, base_trip))

    rows = sorted(((float(np.median(g)), t) for g, t in map(_paced, points)), key=lambda row: row[0])
    found = fit(rows)
    draws: list[tuple[float, ...]] = []
    for _ in range(RESAMPLES):
        again = fit([(g, t[chance.integers(0, len(t), len(t))]) for g, t in rows])
        if again is not None and found is not None:
            timeout = float(chance.uniform(*again.edges))
            draws.append((again.awake, timeout, again.total - timeout, again.total - timeout - again.wake, again.wake))
    if found is None or len(draws) < RESAMPLES // 2:
        trips = np.concatenate([t for _, t in rows])
        low, middle, high = np.quantile(trips, [0.025, 0.5, 0.975])
        return SleepPolicy(AWAKE, Interval(float(middle), float(low), float(high)))
    timeout = sum(found.edges) / 2
    values = (found.awake, timeout, found.total - timeout, found.total - timeout - found.wake, found.wake)
    lows, highs = np.quantile(np.array(draws), [0.025, 0.975], axis=0)
    each = [Interval(v, min(v, float(a)), max(v, float(b))) for v, a, b in zip(values, lows, highs, strict=True)]
    # The link was idle longer than the host, by the one-way times: anything up to the awake round trip.
    one_way = (found.awake + float(base_trip.min())) / 2
    each[1] = Interval(each[1].value + one_way, each[1].low, each[1].high + 2 * one_way)
    return SleepPolicy(SLEPT, *each)
