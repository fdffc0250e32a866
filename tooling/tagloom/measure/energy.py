"""Compute the energy per message size from power samples during trials, each with its uncertainty in quadrature.

R. Mansbach, Power Measurement and Modulization in NetPIPE, SULI report, Ames Laboratory 2009; eqs. 2 to 6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.measurement import Energy, PingPong

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.records.measurement import Point, PowerTrace, Sample

LEAST_SAMPLES = 2  # per size; fewer have no standard deviation


def bandwidth(bits: float, messages: int, seconds: float, sigma_seconds: float) -> tuple[float, float]:
    """Return the bandwidth and its standard deviation: b = 2 i m / t and sigma_b = b sigma_t / t.

    `seconds` are those of i round trips of m bits, `sigma_seconds` the standard deviation of their mean over trials.
    The paper's eq. 3 prints b / (sigma_t t), which is not a bandwidth. This is what its text says: time and bandwidth
    have the same percent error.

    >>> bandwidth(8e6, 100, 2.0, 0.1)
    (800000000.0, 40000000.0)
    """
    b = 2 * messages * bits / seconds
    return b, b * sigma_seconds / seconds


def quotient(a: float, sigma_a: float, b: float, sigma_b: float) -> tuple[float, float]:
    """Return a / b and its standard deviation, relative errors in quadrature (independent a and b).

    >>> value, sigma = quotient(100.0, 3.0, 50.0, 2.0)
    >>> value, round(sigma, 12)
    (2.0, 0.1)
    """
    value = a / b
    return value, abs(value) * float(np.hypot(sigma_a / a, sigma_b / b))


def extremes(b: float, b_sigma: float, power: float, power_sigma: float) -> tuple[float, float | None]:
    """Return the least and the most bits per joule, eqs. 5 and 4: (b -+ sigma_b) / (p +- sigma_p).

    The most is None if the power is as uncertain as it is large, where the paper's eq. 4 does not hold.

    >>> extremes(100.0, 3.0, 50.0, 2.0)[0], round(extremes(100.0, 3.0, 50.0, 2.0)[1], 6)
    (1.8653846153846154, 2.145833)
    """
    least = max(b - b_sigma, 0.0) / (power + power_sigma)
    return least, (b + b_sigma) / (power - power_sigma) if power > power_sigma else None


def joules(samples: Sequence[Sample], began: float, ended: float) -> float:
    """Return the energy between two times, by linear interpolation; constant outside the first and last sample."""
    inside = [s for s in samples if began < s.at_seconds < ended]
    at = np.array([s.at_seconds for s in samples])
    watts = np.array([s.watts for s in samples])
    x = np.array([began, *(s.at_seconds for s in inside), ended])
    return float(np.trapezoid(np.interp(x, at, watts), x))


def energy_of(point: Point, traces: Sequence[PowerTrace]) -> Energy | None:
    """Return the energy of a message size; None if fewer than two samples of a meter fall into its trials.

    The watts of several meters, one for each host for example, add up, and so do their variances.

    A sample's time is that of its arrival less the meter's lag. Bits per joule are the bandwidth (bits on the wire in
    either direction, one at a time) over the power. The uncertainty of the time is that of the mean of
    the trials (standard deviation), that of the power the standard deviation of its samples, as in the paper.
    """
    each = []
    for trace in traces:
        lag = trace.lag_seconds or 0.0
        each.append(
            [s.watts for s in trace.samples if point.began_seconds <= s.at_seconds - lag <= point.ended_seconds]
        )
    if any(len(watts) < LEAST_SAMPLES or min(watts) <= 0 for watts in each):
        return None
    power = float(sum(np.mean(watts) for watts in each))
    power_sigma = float(np.sqrt(sum(np.var(watts, ddof=1) for watts in each)))
    b, b_sigma = bandwidth(8 * point.bytes, 1, 2 * point.mean_seconds, 2 * point.mean_sigma_seconds)
    per_joule, per_joule_sigma = quotient(b, b_sigma, power, power_sigma)
    per_bit, per_bit_sigma = quotient(power, power_sigma, b, b_sigma)
    least, most = extremes(b, b_sigma, power, power_sigma)
    found = (power, power_sigma, per_joule, per_joule_sigma, per_bit, per_bit_sigma, min(map(len, each)), least, most)
    return Energy(*found)


def with_energy(run: PingPong, traces: Sequence[PowerTrace]) -> PingPong:
    """Return the run with the energy of every size that has samples; incomplete if a meter's trace is."""
    points = tuple(replace(point, energy=energy_of(point, traces)) for point in run.points)
    why = "; ".join(filter(None, (run.why, *(trace.why for trace in traces))))
    return replace(run, points=points, complete=run.complete and all(t.complete for t in traces), why=why)


def correlation(points: Sequence[Point]) -> float | None:
    """Return Pearson's correlation of bandwidth and bits per joule, as the paper reports it; None below 3 points."""
    pairs = [(p.bits_per_second, p.energy.bits_per_joule) for p in points if p.energy is not None]
    if len(pairs) < 3:
        return None
    a, b = np.array(pairs).T
    return float(np.corrcoef(a, b)[0, 1]) if a.std() > 0 and b.std() > 0 else None
