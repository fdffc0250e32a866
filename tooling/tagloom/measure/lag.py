"""Estimate a meter's lag by cross-correlating its samples with a load that was switched on and off."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.measurement import Sample

# Times between two switches: longer than a sample, so that each shows, and not in step with the samples.
SHORTEST_SECONDS, LONGEST_SECONDS = 1.1, 3.7
MOST_SECONDS = 10.0  # no known meter is slower
STEP_SECONDS = 0.01
TENT_SECONDS = 0.6  # around the peak, where the correlation falls linearly
RESAMPLES = 60
LEAST_CORRELATION = 0.4


@dataclass(frozen=True, slots=True)
class Lag:
    """A lag, its standard deviation and the correlation at it."""

    seconds: float
    sigma_seconds: float
    correlation: float


def modulation(seconds: float, seed: int) -> tuple[float, ...]:
    """Return the times at which to switch a load, from 0, on first; random, so that only one lag fits them."""
    chance = random.Random(seed)  # noqa: S311 - not for security
    times, at = [], 0.0
    while at < seconds:
        times.append(at)
        at += chance.uniform(SHORTEST_SECONDS, LONGEST_SECONDS)
    return tuple(times)


def find_lag(samples: Sequence[Sample], switched: Sequence[float], ended: float, seed: int = 0) -> Lag:
    """Return the lag at which samples follow the load best.

    `switched` are the times at which the load was actually switched, on first, on the clock of the samples; it was off
    before the first and after `ended`. A meter that averages over its last second is half a second later than one that
    does not; this half second is part of the lag, as it must be to assign samples to trials. The correlation of two
    on/off signals falls linearly on both sides of its peak. The lag is the top of the tent fitted to the sides, finer
    than the sampling interval. The standard deviation comes from resampling. Raises PlanError if no lag fits.
    """
    at = np.array([s.at_seconds for s in samples])
    watts = np.array([s.watts for s in samples])
    lags = np.arange(0.0, MOST_SECONDS, STEP_SECONDS)
    edges = np.array([*switched, ended] if len(switched) % 2 else list(switched))
    load = (np.searchsorted(edges, at[None, :] - lags[:, None], side="right") % 2).astype(float)
    # Only samples that every lag can explain: those during the load, and MOST_SECONDS after it.
    seen = (at >= edges[0]) & (at <= edges[-1] + MOST_SECONDS) if len(edges) else np.zeros(len(at), bool)
    load, watts = load[:, seen], watts[seen]
    if len(watts) < 10 or np.ptp(watts) == 0:
        raise PlanError("a lag needs 10 samples that differ", f"{len(watts)} samples", "a longer calibration")
    chance = np.random.default_rng(seed)
    best, top = _peak(lags, _correlation(load, watts))
    if top < LEAST_CORRELATION:
        raise PlanError(
            "the samples must follow the load",
            f"they do so with a correlation of {top:.2f} at best",
            "a meter that sees this machine, or a longer calibration",
        )
    draws = [chance.integers(0, len(watts), len(watts)) for _ in range(RESAMPLES)]
    again = [_peak(lags, _correlation(load[:, draw], watts[draw]))[0] for draw in draws]
    return Lag(best, float(np.std(again)), top)


def _correlation(load: NDArray[np.float64], watts: NDArray[np.float64]) -> NDArray[np.float64]:
    centred = watts - watts.mean()
    left = load - load.mean(axis=1, keepdims=True)
    size = np.sqrt((left**2).sum(axis=1) * (centred**2).sum())
    return np.asarray(np.divide(left @ centred, size, out=np.zeros(len(load)), where=size > 0))


def _peak(lags: NDArray[np.float64], correlation: NDArray[np.float64]) -> tuple[float, float]:
    top = int(np.argmax(correlation))
    near = np.abs(lags - lags[top]) <= TENT_SECONDS
    x, y = lags[near], correlation[near]
    # r(l) = c - s |l - l0|: for every l0 the best (c, s) by least squares; the l0 with the smallest residual.
    away = np.abs(x[:, None] - x[None, :])
    away -= away.mean(axis=1, keepdims=True)
    rest = -((away @ (y - y.mean())) ** 2) / (away**2).sum(axis=1)
    return float(x[int(np.argmin(rest))]), float(correlation[top])
