"""Fit a sleep policy (time-out, Ts, Tw) and the paper's three parameters to measured (idle gap, overhead) pairs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.predict.eee import EXPONENTIAL, PERIODIC, delay_seconds, fit_overhead, overhead_seconds
from tagloom.records.sleep import Eee, Fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FLOOR_SECONDS, CEILING_SECONDS = 1e-9, 10.0  # times are sought between these
STARTS = (0.25, 1.0, 4.0)  # factors on a first guess of the time-out: the sum of squares has several minima
TS_STARTS = (1e-5, 182e-6, 1e-3)
CONFIDENCE = 0.95  # of the intervals, as those of measure idle-gap
FAR = 50.0  # in logarithms: beyond all that is sought, whatever the times
UNKNOWN = 1e-7  # of the largest slope of the overheads by a time: of one whose slope is less, the pairs tell nothing


class _Found(NamedTuple):
    """A local fit: sum of squares and RMS residual in seconds, the policy, and the 95 % ends of log(Ts, Tw[, H])."""

    squares: float
    residual: float
    policy: Eee
    low: NDArray[np.float64]
    high: NDArray[np.float64]


def fit_policy(
    pairs: Sequence[tuple[float, float]], *, regular: bool = False, timeout_seconds: float | None = None
) -> tuple[Fit, Eee, float]:
    """Return the fit of Miwa et al. 2013, eq. 3, the policy of our closed form, and our residual in seconds.

    `regular` pairs were measured with equal gaps, others with random gaps of that mean. A known time-out is kept. With
    regular gaps the wait jumps at the time-out. So the time-out is sought between every two measured gaps.

    The policy's `least` and `most` are its 95 % intervals, if the pairs scatter around it independently and alike: by
    the curvature of the sum of squares in the logarithms of the times, and with regular gaps over all pairs of gaps
    between which the time-out explains the overheads as well (an F test). With random gaps, 87 to 95 % of them held
    what simulated pairs were made with. A time that the pairs do not tell has an interval as wide as what is sought.
    Raises InputError as `fit_overhead` does.
    """
    paper = fit_overhead(pairs, timeout_seconds)
    gap, over = np.asarray(sorted(pairs), float).T
    top = max(float(over.max()), FLOOR_SECONDS)
    if timeout_seconds is not None:
        timeouts, free = [(timeout_seconds, timeout_seconds)], False
    elif regular:
        timeouts, free = list(pairwise(gap.tolist())), False
    else:
        guess = max(paper.threshold_seconds, float(gap.min()), 1e-6)
        timeouts, free = [(guess * s, guess * s) for s in STARTS], True
    law = PERIODIC if regular else EXPONENTIAL
    found = [
        (min((_search(gap, over, law, sum(edges) / 2, ts, top, free=free) for ts in TS_STARTS), key=_squares), edges)
        for edges in timeouts
    ]
    best, edges = min(found, key=lambda each: each[0].squares)
    if free:
        found = [(best, edges)]
    least, most = _intervals(found, best, len(gap), free=free)
    return paper, replace(best.policy, least=least, most=most), best.residual


def _squares(found: _Found) -> float:
    return found.squares


def _intervals(
    found: Sequence[tuple[_Found, tuple[float, float]]], best: _Found, pairs: int, *, free: bool
) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Return the least and the most time-out, Ts and Tw of all fits that explain the pairs as well as the best does.

    Between two gaps the time-out may be anywhere; with it the end of falling asleep stays, so Ts moves against it.
    """
    from scipy.stats import f  # noqa: PLC0415 - a third of a second that most commands need not spend

    left = pairs - (3 if free or len(found) > 1 else 2)
    worst = best.squares * (1 + f.ppf(CONFIDENCE, 1, left) / left) if left > 0 else np.inf
    lows, highs = list[list[float]](), list[list[float]]()
    for one, (below, above) in found:
        if one.squares > worst:
            continue
        low, high = np.exp(one.low), np.exp(one.high)
        half = (above - below) / 2
        timeout = (float(low[2]), float(high[2])) if free else (below, above)
        lows.append([timeout[0], float(low[0]) - half, float(low[1])])
        highs.append([timeout[1], float(high[0]) + half, float(high[1])])
    times = best.policy.timeout_seconds, best.policy.sleep_seconds, best.policy.wake_seconds
    least = np.clip(np.min([*lows, times], axis=0), 0.0, CEILING_SECONDS).tolist()
    most = np.clip(np.max([*highs, times], axis=0), 0.0, CEILING_SECONDS).tolist()
    return (least[0], least[1], least[2]), (most[0], most[1], most[2])


def _search(
    gap: NDArray[np.float64],
    over: NDArray[np.float64],
    law: float,
    timeout: float,
    ts: float,
    top: float,
    *,
    free: bool,
) -> _Found:
    """Return what a local search in the logarithms of the times, which stay positive, finds."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - a third of a second that most commands need not spend
    from scipy.stats import t  # noqa: PLC0415 - as above

    def policy(x: NDArray[np.float64]) -> Eee:
        times = np.exp(x)
        return Eee(float(times[2]) if free else timeout, float(times[0]), float(times[1]), "fitted")

    def residual(x: NDArray[np.float64]) -> NDArray[np.float64]:
        eee = policy(x)
        model = [delay_seconds(g, eee) if law == PERIODIC else overhead_seconds(g, eee, law) for g in gap.tolist()]
        return np.asarray((np.array(model) - over) / top, np.float64)

    bounds = np.log(FLOOR_SECONDS), np.log(CEILING_SECONDS)
    start = np.clip(np.log([ts, top, *([timeout] if free else [])]), *bounds)
    found = least_squares(residual, start, bounds=bounds, max_nfev=60)
    squares, left = float(np.sum(found.fun**2)), len(gap) - len(found.x)
    off = np.full(len(found.x), FAR)
    scale = np.linalg.norm(found.jac, axis=0)
    known = np.flatnonzero(scale > UNKNOWN * scale.max())
    jac = found.jac[:, known] / scale[known]
    if left > 0 and len(known) and np.linalg.cond(jac) < 1 / UNKNOWN:
        spread = np.sqrt(np.diag(np.linalg.inv(jac.T @ jac)) * squares / left) / scale[known]
        off[known] = np.minimum(t.ppf((1 + CONFIDENCE) / 2, left) * spread, FAR)
    rms = float(np.sqrt(squares / len(gap))) * top
    return _Found(squares * top**2, rms, policy(found.x), found.x - off, found.x + off)
