"""Fit a sleep policy (time-out, Ts, Tw) and the paper's three parameters to measured (idle gap, overhead) pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.predict.eee import EXPONENTIAL, PERIODIC, Fit, delay_seconds, fit_overhead, overhead_seconds
from tagloom.records.sleep import Eee

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

FLOOR_SECONDS = 1e-9  # times are sought from here
STARTS = (0.25, 1.0, 4.0)  # factors on a first guess of the time-out: the sum of squares has several minima
TS_STARTS = (1e-5, 182e-6, 1e-3)


def fit_policy(
    pairs: Sequence[tuple[float, float]], *, regular: bool = False, timeout_seconds: float | None = None
) -> tuple[Fit, Eee, float]:
    """Return the fit of Miwa et al. 2013, eq. 3, the policy of our closed form, and our residual in seconds.

    `regular` pairs were measured with equal gaps, others with random gaps of that mean. A known time-out is kept. With
    regular gaps the wait jumps at the time-out. So the time-out is sought between every two measured gaps, and its
    precision is their distance. Raises InputError as `fit_overhead` does.
    """
    paper = fit_overhead(pairs, timeout_seconds)
    gap, over = np.asarray(sorted(pairs), float).T
    top = max(float(over.max()), FLOOR_SECONDS)
    if timeout_seconds is not None:
        timeouts, free = [timeout_seconds], False
    elif regular:
        timeouts, free = [float(t) for t in (gap[1:] + gap[:-1]) / 2], False
    else:
        guess = max(paper.threshold_seconds, float(gap.min()), 1e-6)
        timeouts, free = [guess * s for s in STARTS], True
    law = PERIODIC if regular else EXPONENTIAL
    best: tuple[float, Eee] | None = None
    for timeout in timeouts:
        for ts in TS_STARTS:
            found, policy = _search(gap, over, law, timeout, ts, top, free=free)
            if best is None or found < best[0]:
                best = found, policy
    assert best is not None  # noqa: S101 - fit_overhead asks for two gaps
    return paper, best[1], best[0]


def _search(
    gap: NDArray[np.float64],
    over: NDArray[np.float64],
    law: float,
    timeout: float,
    ts: float,
    top: float,
    *,
    free: bool,
) -> tuple[float, Eee]:
    """Return the RMS residual and policy of a local search in the logarithms of the times, which stay positive."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - a third of a second that most commands need not spend

    def policy(x: NDArray[np.float64]) -> Eee:
        times = np.exp(x)
        return Eee(float(times[2]) if free else timeout, float(times[0]), float(times[1]), "fitted")

    def residual(x: NDArray[np.float64]) -> NDArray[np.float64]:
        eee = policy(x)
        model = [delay_seconds(g, eee) if law == PERIODIC else overhead_seconds(g, eee, law) for g in gap.tolist()]
        return np.asarray((np.array(model) - over) / top, np.float64)

    bounds = np.log(FLOOR_SECONDS), np.log(10.0)
    start = np.clip(np.log([ts, top, *([timeout] if free else [])]), *bounds)
    found = least_squares(residual, start, bounds=bounds, max_nfev=60)
    return float(np.sqrt(np.mean(found.fun**2))) * top, policy(found.x)
