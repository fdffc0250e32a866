"""How long a transfer takes, and what it loses, while its link's rate is switched once a period.

F. Blanquicet and K. Christensen, on Rapid PHY Selection; Tables I and II.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor

from tagloom.predict.rate_switch import longest_pause_seconds, lost_bytes, lost_packets


@dataclass(frozen=True, slots=True)
class Transfer:
    """A transfer over a link that is switched now and then: its time in seconds, its losses."""

    seconds: float
    switches: int
    lost_bytes: float
    lost_packets: int
    loss_share: float


def tcp_transfer(seconds: float, outage_seconds: float, period_seconds: float, held_seconds: float = 0.0) -> Transfer:
    """Return the time of a TCP transfer that takes `seconds` undisturbed and is interrupted once a period.

    Every interruption costs its own length: with PAUSE the sender waits, without it TCP sends again, and both have
    delivered nothing meanwhile. Nothing is lost for good. `held_seconds` is what a PAUSE frame that nobody takes back
    holds the sender beyond the interruption (`longest_pause_seconds` at most).
    """
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
    seconds = 8.0 * volume_bytes / rate_bps
    switches = floor(seconds / period_seconds)
    held = min(outage_seconds, longest_pause_seconds(rate_bps)) if pause else 0.0
    each = lost_bytes(volume_bytes, rate_bps, outage_seconds - held, buffer_bytes)
    packets = switches * lost_packets(each, packet_bytes)
    total = switches * each
    return Transfer(seconds + switches * held, switches, total, packets, total / volume_bytes if volume_bytes else 0.0)
