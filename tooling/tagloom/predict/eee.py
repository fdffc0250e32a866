"""Model the time that Energy Efficient Ethernet costs an application: Miwa, Aita, Nakamura 2013, and beyond."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.sleep import Eee, Fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PERIODIC, EXPONENTIAL = 0.0, 1.0  # coefficients of variation of the gaps between calls
LONGEST_SECONDS = 3600.0  # of a policy's times: more is taken for another unit
RESOLUTION_SECONDS = 1e-9  # of overheads: fits nearer than this to their pairs are alike
NEARLY_PERIODIC = 1e-3  # below this, scipy's functions cannot tell a gamma distribution from a step


# Miwa et al. 2013, Sect. 5.1, measured on a PowerConnect 5548; Ts is the minimum for 1000BASE-T, IEEE 802.3-2022 table
# 78-2.
POWERCONNECT_5548 = Eee(1e-3, 182e-6, 60e-6, "PowerConnect 5548, Miwa et al. 2013", together=True)


def check_policy(timeout_seconds: float, sleep_seconds: float, wake_seconds: float, where: str) -> None:
    """Raise InputError with all findings if a sleep policy has an invalid time, or a time-out below Ts.

    A port that requests sleep sooner than Ts would spend its idle time on transitions.
    """
    times = {"TIMEOUT": timeout_seconds, "TS": sleep_seconds, "TW": wake_seconds}
    findings = [
        Finding(f"{where}: {name}", f"seconds from 0 to {LONGEST_SECONDS:g}", f"{value:g}")
        for name, value in times.items()
        if not 0 <= value <= LONGEST_SECONDS
    ]
    if not findings and timeout_seconds < sleep_seconds:
        expected = f"a time-out from TS = {sleep_seconds:g} s (one link frame by frame: tagloom eee --idle-timeout 0)"
        findings.append(Finding(f"{where}: TIMEOUT", expected, f"{timeout_seconds:g} s"))
    if findings:
        raise InputError(findings)


def idle_seconds(seconds: float, messages: float, message_bits: float, bandwidth_bps: float) -> float:
    """Return the mean gap between two messages, eq. 4: I = (T - n S / B) / n.

    S must be in bits; the paper's "1.73 KB takes 1.73 us" at 1 Gb/s is a unit slip (it takes 13.84 us). Raises
    InputError if there is no message or the data do not fit into the time.

    >>> round(idle_seconds(1.0, 1000, 1024, 1e9) * 1e6, 3)  # the paper's worked example, "999 us"
    998.976
    """
    findings = [
        Finding(f"profile.{name}", f"a finite number {expected}", f"{value:g}")
        for name, value, expected, good in (
            ("seconds", seconds, "above 0", 0 < seconds < np.inf),
            ("messages", messages, "above 0", 0 < messages < np.inf),
            ("message_bits", message_bits, "from 0", 0 <= message_bits < np.inf),
            ("bandwidth_bps", bandwidth_bps, "above 0", 0 < bandwidth_bps < np.inf),
        )
        if not good
    ]
    if findings:
        raise InputError(findings)
    gap = (seconds - messages * message_bits / bandwidth_bps) / messages
    if gap < 0:
        most, actual = seconds * bandwidth_bps / 8, messages * message_bits / 8
        expected = f"at most {most:.0f} bytes, what {bandwidth_bps:g} b/s carries in {seconds:g} s"
        raise InputError([Finding("profile.bytes", expected, f"{actual:.0f} bytes (a negative gap between messages)")])
    return gap


def step_overhead_seconds(
    gap_seconds: float,
    plateau_seconds: float,
    alpha: float,
    threshold_seconds: float,
    offset_seconds: float | None = None,
) -> float:
    """Return a message's overhead by the paper's fitted form, eq. 3: 0 up to t, then c (1 - exp(-alpha (I - t0))).

    Without an offset, t0 = t: then the function does not jump.
    """
    return Fit(plateau_seconds, alpha, threshold_seconds, 0.0, offset_seconds).overhead_seconds(gap_seconds)


def fit_overhead(pairs: Sequence[tuple[float, float]], threshold_seconds: float | None = None) -> Fit:
    """Return (c, alpha, t) of eq. 3 fitted by least squares to (gap, overhead) pairs in seconds, as in the paper.

    `threshold_seconds` fixes t if the device's time-out is known. The sum of squares has a kink where t passes a gap,
    so t is sought between every two neighbouring gaps. t0 is t, unless the overheads jump at t by the
    Bayesian information criterion: then t is the middle between the two gaps around it. Overheads are differences of
    two measurements, so noise may make them negative. Raises InputError if there are fewer pairs than unknowns, or a
    pair has an invalid time.
    """
    unknown = 3 if threshold_seconds is None else 2
    data = np.asarray(sorted(pairs), float).reshape(-1, 2)
    findings = [
        Finding(f"pairs[{i}]", "a gap from 0 and an overhead, in seconds", f"{gap:g}, {over:g}")
        for i, (gap, over) in enumerate(pairs)
        if not (0 <= gap < np.inf and abs(over) < np.inf)
    ]
    if len(data) < unknown:
        findings.append(Finding("pairs", f"at least {unknown} pairs of gap and overhead", str(len(data))))
    if findings:
        raise InputError(findings)
    gap, over = data.T
    smooth = _fit_smooth(gap, over, threshold_seconds)
    jumping = _fit_jump(gap, over, threshold_seconds) if len(data) > unknown else None
    if jumping is None:
        return smooth
    fits = [len(data) * np.log(each.residual_seconds**2 + RESOLUTION_SECONDS**2) for each in (smooth, jumping)]
    return jumping if fits[1] + np.log(len(data)) < fits[0] else smooth


def _fit_smooth(gap: NDArray[np.float64], over: NDArray[np.float64], threshold_seconds: float | None) -> Fit:
    """Return the fit with t0 = t."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - a third of a second that most commands need not spend

    top = max(float(over.max()), 1e-12)
    scale = max(float(gap.max()), 1e-12)

    def residual(x: NDArray[np.float64], threshold: float | None) -> NDArray[np.float64]:
        t = threshold if threshold is not None else x[2] * scale
        return np.asarray(
            (x[0] * top * -np.expm1(-np.exp(x[1]) / scale * np.maximum(gap - t, 0.0)) - over) / top, float
        )

    best: Fit | None = None
    edges = np.unique(np.concatenate([[0.0], gap])) / scale
    brackets = [(None, None)] if threshold_seconds is not None else list(pairwise(edges))
    for low, high in brackets:
        middle = [] if low is None else [(low + high) / 2]
        found = least_squares(
            residual,
            [1.0, np.log(10.0), *middle],
            bounds=([0.0, -7.0, *([] if low is None else [low])], [10.0, 14.0, *([] if high is None else [high])]),
            args=(threshold_seconds,),
        )
        rms = float(np.sqrt(np.mean(found.fun**2))) * top
        t = threshold_seconds if threshold_seconds is not None else float(found.x[2]) * scale
        if best is None or rms < best.residual_seconds:
            best = Fit(float(found.x[0]) * top, float(np.exp(found.x[1])) / scale, t, rms)
    assert best is not None  # noqa: S101 - there is at least one bracket
    return best


def _fit_jump(gap: NDArray[np.float64], over: NDArray[np.float64], threshold_seconds: float | None) -> Fit | None:
    """Return the fit with t0 below t, None if no three gaps lie beyond any t."""
    from scipy.optimize import least_squares  # noqa: PLC0415 - as above

    top, scale = max(float(over.max()), 1e-12), max(float(gap.max()), 1e-12)
    edges = np.unique(np.concatenate([[0.0], gap])).tolist()
    brackets = [(threshold_seconds,) * 2] if threshold_seconds is not None else list(pairwise(edges))
    best: Fit | None = None
    for low, high in brackets:
        beyond = gap > low
        if beyond.sum() < 3 or low <= 0:
            continue

        def residual(x: NDArray[np.float64], beyond: NDArray[np.bool_] = beyond) -> NDArray[np.float64]:
            curve = x[0] * top * -np.expm1(-np.exp(x[1]) / scale * (gap - x[2] * scale))
            return np.asarray((np.where(beyond, curve, 0.0) - over) / top, float)

        found = least_squares(
            residual, [1.0, np.log(10.0), low / scale / 2], bounds=([0.0, -7.0, 0.0], [10.0, 14.0, low / scale])
        )
        rms = float(np.sqrt(np.mean(found.fun**2))) * top
        if best is None or rms < best.residual_seconds:
            t0 = float(found.x[2]) * scale
            best = Fit(float(found.x[0]) * top, float(np.exp(found.x[1])) / scale, (low + high) / 2, rms, t0)
    return best


def delay_seconds(gap_seconds: float, eee: Eee) -> float:
    """Return the wait of one message that finds the link idle for exactly this gap.

    Nothing up to H, then the rest of the transition to sleep and the wake, then the wake alone.

    >>> device = Eee(1e-3, 182e-6, 60e-6)
    >>> [round(delay_seconds(g * 1e-6, device) * 1e6, 6) for g in (1000, 1100, 1182, 5000)]
    [0.0, 142.0, 60.0, 60.0]
    """
    asleep = eee.timeout_seconds + eee.sleep_seconds
    if gap_seconds <= eee.timeout_seconds:
        return 0.0
    return max(asleep - gap_seconds, 0.0) + eee.wake_seconds


def overhead_seconds(gap_seconds: float, eee: Eee, variation: float = EXPONENTIAL, hops: int = 1) -> float:
    """Return a call's mean overhead for gaps of mean I and coefficient of variation v, in closed form instead of eq. 3.

    The mean of `delay_seconds` over gamma-distributed gaps: v = 1 is exponential, v = 0 periodic, above 1 bursty. For v
    = 1 it is f(I) = exp(-H/I) (Tw + Ts - I (1 - exp(-Ts/I))). It tends to Tw for long gaps and to 0 for short ones.
    `hops` links in series carry nothing else. If the first had slept, so have the others, and each adds Tw, since it
    wakes only when the first frame reaches it.

    >>> device = Eee(1e-3, 182e-6, 60e-6)
    >>> [round(overhead_seconds(i * 1e-6, device) * 1e6, 1) for i in (500, 1000, 10000)]
    [12.1, 27.8, 55.8]
    """
    from scipy.special import gammainc, gammaincc  # noqa: PLC0415 - a third of a second that most commands need not spend

    if gap_seconds <= 0 or hops == 0:
        return 0.0
    h, ts, tw = eee.timeout_seconds, eee.sleep_seconds, eee.wake_seconds
    if variation < NEARLY_PERIODIC:
        delay = delay_seconds(gap_seconds, eee)
        return delay + (hops - 1) * tw * (delay > 0)
    shape = variation**-2
    low, high = h * shape / gap_seconds, (h + ts) * shape / gap_seconds
    falling = gammainc(shape, high) - gammainc(shape, low)  # P(H < G <= H + Ts)
    moment = gap_seconds * (gammainc(shape + 1, high) - gammainc(shape + 1, low))  # E[G; H < G <= H + Ts]
    slept = gammaincc(shape, low)  # P(G > H)
    return float((h + ts) * falling - moment + hops * tw * slept)


def sleeping_share(gap_seconds: float, eee: Eee, variation: float = EXPONENTIAL) -> float:
    """Return the mean share of a gap spent in LPI, E[(G - H - Ts)+] / E[G], for the same distribution of gaps."""
    from scipy.special import gammaincc  # noqa: PLC0415 - a third of a second that most commands need not spend

    if gap_seconds <= 0:
        return 0.0
    start = eee.timeout_seconds + eee.sleep_seconds
    if variation < NEARLY_PERIODIC:
        return max(0.0, 1.0 - start / gap_seconds)
    shape = variation**-2
    at = start * shape / gap_seconds
    return max(0.0, float(gammaincc(shape + 1, at) - start / gap_seconds * gammaincc(shape, at)))


def most_overhead_seconds(gap_seconds: float, eee: Eee) -> float:
    """Return an upper bound on the overhead per message and link, over all distributions of gaps with this mean.

    A message waits at most Ts + Tw, and only after more than H of idle time. Of n gaps of mean I at most n I / H are so
    long.
    """
    worst = eee.sleep_seconds + eee.wake_seconds
    return worst * min(1.0, gap_seconds / eee.timeout_seconds) if eee.timeout_seconds > 0 else worst
