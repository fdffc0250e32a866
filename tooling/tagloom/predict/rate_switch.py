"""Model what a link loses, and how long a transfer takes, while its rate is switched.

F. Blanquicet and K. Christensen, on Rapid PHY Selection; its eq. 1 and Tables I and II.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor, isfinite

from tagloom.errors import Finding, InputError

PAUSE_QUANTA, QUANTUM_BITS = 65535, 512  # IEEE 802.3 clause 31B: the longest one PAUSE frame can ask for


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer over a link that is switched now and then: its time in seconds, its losses."""

    seconds: float
    switches: int
    lost_bytes: float
    lost_packets: int
    loss_share: float


def lost_bytes(burst_bytes: float, rate_bps: float, outage_seconds: float, buffer_bytes: float) -> float:
    """Return what one switch of rate loses of a burst, eq. 1: L = max(0, min(B, R T) - S).

    What arrives while the link is away is at most the burst and at most R T; the buffer keeps S of it. The two
    conditions printed under the paper's eq. 1 are swapped. Raises InputError with every value that cannot be.

    >>> [round(lost_bytes(10e6, 4e9, 10e-3, s * 1e6)) for s in (0, 1, 2.5, 5)]
    [5000000, 4000000, 2500000, 0]
    """
    _check(burst_bytes=burst_bytes, rate_bps=rate_bps, outage_seconds=outage_seconds, buffer_bytes=buffer_bytes)
    return max(0.0, min(burst_bytes, rate_bps * outage_seconds / 8.0) - buffer_bytes)


def lost_packets(lost: float, packet_bytes: float) -> int:
    """Count the packets that a loss touches, each of them lost whole."""
    _check(lost_bytes=lost, packet_bytes=packet_bytes)
    return ceil(lost / packet_bytes)


def longest_pause_seconds(rate_bps: float) -> float:
    """Return how long one PAUSE frame can hold a sender: 65,535 quanta of 512 bit times.

    >>> round(longest_pause_seconds(1e9) * 1e3, 1)
    33.6
    """
    return PAUSE_QUANTA * QUANTUM_BITS / rate_bps


def tcp_transfer(seconds: float, outage_seconds: float, period_seconds: float, held_seconds: float = 0.0) -> Transfer:
    """Return the time of a TCP transfer that takes `seconds` undisturbed and is interrupted once a period.

    Every interruption costs its own length: with PAUSE the sender waits, without it TCP sends again, and both have
    delivered nothing meanwhile. Nothing is lost for good. `held_seconds` is what a PAUSE frame that nobody takes back
    holds the sender beyond the interruption (`longest_pause_seconds` at most).
    """
    _check(seconds=seconds, outage_seconds=outage_seconds, period_seconds=period_seconds, held_seconds=held_seconds)
    switches = floor(seconds / period_seconds)
    return Transfer(seconds + switches * (outage_seconds + held_seconds), switches, 0.0, 0, 0.0)


def udp_transfer(
    volume_bytes: float,
    rate_bps: float,
    outage_seconds: float,
    period_seconds: float,
    buffer_bytes: float = 0.0,
    packet_bytes: float = 1472.0,
    *,
    pause: bool = False,
) -> Transfer:
    """Return time and loss of a UDP transfer at a steady rate that is interrupted once a period.

    Without PAUSE the sender keeps its pace and eq. 1 is lost every time; with it the sender waits instead, as long as
    one PAUSE frame can hold it, and only what it sends after that is lost.
    """
    _check(volume_bytes=volume_bytes, rate_bps=rate_bps, period_seconds=period_seconds, packet_bytes=packet_bytes)
    seconds = 8.0 * volume_bytes / rate_bps
    switches = floor(seconds / period_seconds)
    held = min(outage_seconds, longest_pause_seconds(rate_bps)) if pause else 0.0
    each = lost_bytes(volume_bytes, rate_bps, outage_seconds - held, buffer_bytes)
    packets = switches * lost_packets(each, packet_bytes)
    total = switches * each
    return Transfer(seconds + switches * held, switches, total, packets, total / volume_bytes if volume_bytes else 0.0)


def _check(**values: float) -> None:
    """Raise InputError with every value that is no finite number from 0 (rates, periods, packets: above 0)."""
    above = {"rate_bps", "period_seconds", "packet_bytes"}
    findings = [
        Finding(name, f"a finite number {'above' if name in above else 'from'} 0", f"{value:g}")
        for name, value in values.items()
        if not (isfinite(value) and (value > 0 if name in above else value >= 0))
    ]
    if findings:
        raise InputError(findings)
