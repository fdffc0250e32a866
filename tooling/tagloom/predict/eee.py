"""Model what Energy Efficient Ethernet costs an application in time (Miwa, Aita, Nakamura 2013, eq. 1-4)."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp


@dataclass(frozen=True, slots=True)
class Eee:
    """Hold a port's sleep policy in seconds: idle time before it sleeps, time to fall asleep, time to wake."""

    timeout_seconds: float
    sleep_seconds: float
    wake_seconds: float
    source: str = "given"


# Miwa et al. 2013, Sect. 5.1: measured on a PowerConnect 5548; Ts is IEEE 802.3-2022 table 78-2's least for 1000BASE-T.
POWERCONNECT_5548 = Eee(1e-3, 182e-6, 60e-6, "PowerConnect 5548, Miwa et al. 2013")


def idle_seconds(seconds: float, messages: float, message_bits: float, bandwidth_bps: float) -> float:
    """Give the mean gap between two messages, eq. 4: I = (T - n S / B) / n.

    S must be in bits; the paper's "1.73 KB takes 1.73 us" at 1 Gb/s is a unit slip (it takes 13.84 us).
    Raises ValueError where there is no message or the data do not fit into the time.

    >>> round(idle_seconds(1.0, 1000, 1024, 1e9) * 1e6, 3)  # the paper's worked example, "999 us"
    998.976
    """
    if messages <= 0:
        raise ValueError("no message, no gap")
    gap = (seconds - messages * message_bits / bandwidth_bps) / messages
    if gap < 0:
        raise ValueError("more data than the time holds")
    return gap


def step_overhead_seconds(gap_seconds: float, plateau_seconds: float, alpha: float, threshold_seconds: float) -> float:
    """Give a message's overhead by the paper's fitted form, eq. 3: 0 up to t, then c (1 - exp(-alpha (I - t))).

    The paper names the offset t0 and the threshold t; unless they are equal the function jumps, so they are one here.
    """
    if gap_seconds <= threshold_seconds:
        return 0.0
    return plateau_seconds * (1.0 - exp(-alpha * (gap_seconds - threshold_seconds)))


def overhead_seconds(gap_seconds: float, eee: Eee) -> float:
    """Give a message's mean overhead on one link in place of eq. 3, without a fit, for exponential gaps of mean I.

    f(I) = exp(-H/I) (Tw + Ts - I (1 - exp(-Ts/I))): a message that comes while the port falls asleep waits for the
    rest of it and for the wake. Tends to Tw for long gaps and to 0 for short ones.

    >>> device = Eee(1e-3, 182e-6, 60e-6)
    >>> [round(overhead_seconds(i * 1e-6, device) * 1e6, 1) for i in (500, 1000, 10000)]
    [12.1, 27.8, 55.8]
    """
    if gap_seconds <= 0:
        return 0.0
    h, ts, tw = eee.timeout_seconds, eee.sleep_seconds, eee.wake_seconds
    return exp(-h / gap_seconds) * (tw + ts - gap_seconds * (1.0 - exp(-ts / gap_seconds)))


def predicted_seconds(seconds: float, messages: float, overhead: float, sleeping_links: int) -> float:
    """Give the run time with sleep, eq. 1-2: T + n f(I), counted on every link a message crosses that may sleep."""
    return seconds + messages * sleeping_links * overhead
