"""Compute power, delay and wakes of one link under the time-out policy and Poisson frames, in closed form."""

from __future__ import annotations

from math import exp, expm1
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.predict.eee import delay_seconds
from tagloom.records.forecast import LinkForecast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.sleep import Eee

LONGEST = 200_000  # frame times; a longer drain is cut off, at loads that leave no sleep to be wrong about
BURSTS = 10, 100  # frames in one burst, of the range for traffic whose bursts nobody knows: 15 and 150 kB
MOST_FRAMES = 10_000  # in one burst that is asked for: 15 MB of full frames
EVEN_FRAMES = 1000  # followed
NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)


def one_link(
    eee: Eee,
    load: float,
    frame_bytes: float,
    rate_bps: float,
    quiet_seconds: float = 0.0,
    refresh_seconds: float = 0.0,
    frames: int = 1,
) -> LinkForecast:
    """Return the exact forecast of one direction of a link with Poisson arrivals of frames of one size.

    Or of bursts of `frames`, which follow one another at the link's rate. A burst is a long frame: its frames come as
    fast as they leave, so that each waits as long as the first.

    After its last frame a port waits H. If still idle it takes Ts to fall asleep, which cannot be interrupted. It stays
    in LPI until a frame comes, and wakes for Tw. With x = lambda Ts, a = exp(-x), b = lambda Tw, h = exp(lambda H) - 1,
    rho the load: LPI share (1 - rho) a / (x + a + b + h), wakes per second (1 - rho) lambda / (x + a + b + h), mean
    waiting time M/D/1 + (x^2 + 2 (x + a) b + b^2) / (2 lambda (x + a + b + h)). These follow from the renewal cycle
    from sleep to sleep and Fuhrmann and Cooper's decomposition. If both directions must be idle (`eee.together`), both
    carry this load. Transitions draw full power; quiet and refresh seconds, if given, charge the refresh signals in
    LPI. Raises InputError with every invalid value.
    """
    check_link(eee, load, frame_bytes, rate_bps, quiet_seconds, refresh_seconds, frames)
    service = 8.0 * frames * frame_bytes / rate_bps
    arrivals = load / service
    both = 2 if eee.together else 1  # Poisson streams that can end an idle time
    ts, tw = eee.sleep_seconds, eee.wake_seconds
    quiet = exp(-both * arrivals * eee.timeout_seconds)  # an idle time outlasts the time-out
    early = exp(-both * arrivals * ts)  # no arrival while the port falls asleep
    # One cycle in units of the mean gap, times `quiet`: with large time-outs exp(lambda H) would overflow.
    away = both * arrivals * (ts + tw) + early
    if both == 1:
        idle_share, cycle = 1.0 - load, quiet * away - expm1(-arrivals * eee.timeout_seconds)
    else:
        idle_share = 1.0
        drain = both * load * _drain(load, arrivals * ts, arrivals * tw, early) if load else 0.0
        cycle = quiet * (away + drain) + (1.0 - quiet) / (1.0 - load) ** 2
    sleeps = idle_share * quiet / cycle  # per mean gap
    queued = arrivals * (ts**2 / 2 + ts * tw + tw**2 / 2) + early * tw / both  # frames x time, in one sleep
    lpi = sleeps * early
    refreshing = _refreshing(both * arrivals, quiet_seconds, refresh_seconds)
    return LinkForecast(
        power_relative=1.0 - (1.0 - eee.lpi_power) * lpi * (1.0 - refreshing),
        lpi_share=lpi,
        mean_delay_seconds=load * service / (2 * (1.0 - load)) + sleeps * both * queued / (1.0 - load),
        wakes_per_second=sleeps * both * arrivals,
    )


def evenly_spaced(eee: Eee, load: float, frame_bytes: float, rate_bps: float) -> LinkForecast:
    """Return the forecast of one direction of a link whose frames come at equal intervals, followed frame by frame."""
    service = 8.0 * frame_bytes / rate_bps
    if not load:
        return LinkForecast(eee.lpi_power, 1.0, 0.0, 0.0)
    interval = service / load
    waited, asleep, wakes, total = 0.0, 0.0, 0, 0.0
    for _ in range(EVEN_FRAMES):
        idle = interval - service - waited
        waited = max(-idle, 0.0) if idle <= 0 else delay_seconds(idle, eee)
        asleep += max(idle - eee.timeout_seconds - eee.sleep_seconds, 0.0)
        wakes += idle > eee.timeout_seconds
        total += waited
    share = asleep / (EVEN_FRAMES * interval)
    power = 1.0 - (1.0 - eee.lpi_power) * share
    return LinkForecast(power, share, total / EVEN_FRAMES, wakes / (EVEN_FRAMES * interval))


def check_link(
    eee: Eee,
    load: float,
    frame_bytes: float,
    rate_bps: float,
    quiet_seconds: float = 0.0,
    refresh_seconds: float = 0.0,
    frames: int = 1,
) -> None:
    """Raise InputError with a finding for each invalid value of one link."""
    wanted = (
        ("--load", load, "from 0, below 1", 0 <= load < 1),
        ("--idle-timeout", eee.timeout_seconds, "seconds from 0 to 3600", 0 <= eee.timeout_seconds <= 3600),
        ("--ts", eee.sleep_seconds, "seconds from 0 to 1", 0 <= eee.sleep_seconds <= 1),
        ("--tw", eee.wake_seconds, "seconds from 0 to 1", 0 <= eee.wake_seconds <= 1),
        ("--lpi-power", eee.lpi_power, "from 0 to 1", 0 <= eee.lpi_power <= 1),
        ("--frame-bytes", frame_bytes, "bytes from 1 to 65536", 1 <= frame_bytes <= 65536),
        ("rate", rate_bps, "bits per second above 0", 0 < rate_bps < np.inf),
        ("--burst", frames, f"frames from 1 to {MOST_FRAMES}", 1 <= frames <= MOST_FRAMES),
        ("refresh", min(quiet_seconds, refresh_seconds), "seconds from 0", min(quiet_seconds, refresh_seconds) >= 0),
    )
    findings = [Finding(where, expected, f"{value:g}") for where, value, expected, good in wanted if not good]
    if findings:
        raise InputError(findings)


def _refreshing(arrivals: float, quiet: float, refresh: float) -> float:
    """Return the share of LPI spent on refresh signals: Tr after every Tq, in LPI times of exponential length."""
    if not refresh:
        return 0.0
    if not arrivals:
        return refresh / (quiet + refresh)
    return exp(-arrivals * quiet) * expm1(-arrivals * refresh) / expm1(-arrivals * (quiet + refresh))


def _drain(load: float, falling: float, waking: float, early: float) -> float:
    """Return the mean time from the wake until both directions are empty at once, in frame times.

    `falling` and `waking` are the mean arrivals of one direction in Ts and Tw. From a moment when both are empty, the
    expected time with both empty up to t is (1 - rho)^2 t + constant. From the wake it is less by (1 - rho)^2 drain. So
    drain (1 - rho)^2 = integral of p0^2 - E[p p'], with p0 the probability that a direction is empty a time t after it
    was empty, and p, p' those after the wake. All are exact for frames of one size: p0 by the ballot theorem; the first
    passage is the generalised Poisson distribution (Consul) from a Poisson backlog, Borel's from one frame.
    """
    from scipy.signal import fftconvolve  # noqa: PLC0415 - a third of a second that most commands need not spend
    from scipy.special import gammaln, pdtr  # noqa: PLC0415 - as above

    backlog = falling + waking + 1.0
    length = int(min(LONGEST, 40.0 / (1.0 - load) ** 2 + 20.0 * backlog / (1.0 - load) + 50.0))
    whole = np.arange(length, dtype=float)
    time = whole[None, :] + (NODES[:, None] + 1.0) / 2.0
    empty = pdtr(whole, load * time) - load * np.where(whole > 0, pdtr(np.maximum(whole - 1, 0), load * time), 0.0)
    one = np.zeros(length)
    one[1:] = np.exp((whole[1:] - 1) * np.log(load * whole[1:]) - load * whole[1:] - gammaln(whole[1:] + 1))

    def passage(mean: float) -> NDArray[np.float64]:
        if mean <= 0:
            return np.asarray(np.eye(1, length)[0], np.float64)
        at = mean + load * whole
        return np.asarray(np.exp(np.log(mean) + (whole - 1) * np.log(at) - at - gammaln(whole + 1)), np.float64)

    def after(first: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(fftconvolve(empty, first[None, :], axes=1)[:, :length], np.float64)

    all_of_it, woken = after(passage(falling + waking)), after(passage(waking))
    woken_by_one = after(fftconvolve(passage(waking), one)[:length])
    pair = all_of_it**2 + early * (woken_by_one * woken - woken**2)
    return float(WEIGHTS @ (empty**2 - pair).sum(axis=1)) / 2.0 / (1.0 - load) ** 2
