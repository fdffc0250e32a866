"""Forecast the loss on links whose speed is switched while they carry traffic.

F. Blanquicet and K. Christensen, on Rapid PHY Selection; its eq. 1.
"""

from __future__ import annotations

from math import ceil, inf, isfinite
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.forecast import RateSwitch

if TYPE_CHECKING:
    from tagloom.graph.flows import Flows
    from tagloom.records.fabric import Fabric

PAUSE_QUANTA, QUANTUM_BITS = 65535, 512  # IEEE 802.3 clause 31B: the longest one PAUSE frame can ask for


PACKET_BYTES = 1500.0  # what an Ethernet frame carries at most, IEEE 802.3 clause 3


def switched_in_place(before: Fabric, after: Fabric, flows: Flows, seconds: float) -> RateSwitch | None:
    """Return the loss on links that change speed under `flows`, which take `seconds`; None if no link does.

    A rollout moves paths away first and loses nothing; this is the price of not doing so. Each direction is down for as
    long as its slower end takes at least (Koibuchi et al. 2011, table 6) and loses what its mean rate brings meanwhile.
    """
    hosts = len(before.hosts)
    volume = flows.add_up(flows.volume_bytes)
    links, outage, lost, packets = 0, 0.0, 0.0, 0
    for i, (old, new) in enumerate(zip(before.links, after.links, strict=True)):
        speeds = old.speed_mbps or DEFAULT_SPEED_MBPS, new.speed_mbps or DEFAULT_SPEED_MBPS
        if not (old.up and new.up) or speeds[0] == speeds[1]:
            continue
        known = [platforms.load(before.switches[s].model).toggle_seconds for s in (old.a, old.b)]
        away = max(times.get(f"{speeds[0]}_{speeds[1]}", times.get("on_off", 0.0)) for times in known)
        links, outage = links + 1, max(outage, away)
        for sent in volume[2 * hosts + 2 * i : 2 * hosts + 2 * i + 2].tolist():
            each = lost_bytes(sent, 8.0 * sent / seconds, away, 0.0) if sent else 0.0
            lost, packets = lost + each, packets + lost_packets(each, PACKET_BYTES)
    if not links:
        return None
    return RateSwitch(links, outage, lost, packets, longest_pause_seconds(1e6 * DEFAULT_SPEED_MBPS))


def lost_bytes(burst_bytes: float, rate_bps: float, outage_seconds: float, buffer_bytes: float) -> float:
    """Return the bytes of a burst that one rate switch loses, eq. 1: L = max(0, min(B, R T) - S).

    While the link is down, at most the burst and at most R T arrive; the buffer keeps S of it. The two conditions
    printed under the paper's eq. 1 are swapped. Raises InputError with every invalid value.

    >>> [round(lost_bytes(10e6, 4e9, 10e-3, s * 1e6)) for s in (0, 1, 2.5, 5)]
    [5000000, 4000000, 2500000, 0]
    """
    _check(burst_bytes=burst_bytes, rate_bps=rate_bps, outage_seconds=outage_seconds, buffer_bytes=buffer_bytes)
    return max(0.0, min(burst_bytes, rate_bps * outage_seconds / 8.0) - buffer_bytes)


def loss_probability(
    burst_bytes: float, rate_bps: float, outage_seconds: float, buffer_bytes: float, period_seconds: float
) -> float:
    """Return how likely a burst loses bytes if the link switches once a period, at no set time before or after.

    The question that the paper leaves open (its question 1). A burst of B / R seconds overlaps an outage by more than
    S / R seconds, and then fills the buffer, if it begins at one of B / R + T - 2 S / R seconds of the period. Raises
    InputError with every invalid value, and for a period that ends before the burst and the outage could.

    >>> [round(loss_probability(10e6, 4e9, 10e-3, s * 1e6, 1.0), 4) for s in (0, 1, 2.5, 5)]
    [0.03, 0.026, 0.02, 0.0]
    """
    _check(burst_bytes=burst_bytes, rate_bps=rate_bps, outage_seconds=outage_seconds, buffer_bytes=buffer_bytes)
    lasting, fills = 8.0 * burst_bytes / rate_bps, 8.0 * buffer_bytes / rate_bps
    if not lasting + outage_seconds <= period_seconds < inf:
        expected = f"at least {lasting + outage_seconds:g} s, what the burst and the outage take together"
        raise InputError([Finding("period_seconds", expected, f"{period_seconds:g}")])
    if fills >= min(lasting, outage_seconds):
        return 0.0
    return (lasting + outage_seconds - 2.0 * fills) / period_seconds


def lost_packets(lost: float, packet_bytes: float) -> int:
    """Return the number of packets that a loss touches, each of them lost whole."""
    _check(lost_bytes=lost, packet_bytes=packet_bytes)
    return ceil(lost / packet_bytes)


def longest_pause_seconds(rate_bps: float) -> float:
    """Return how long one PAUSE frame can stop a sender: 65,535 quanta of 512 bit times.

    >>> round(longest_pause_seconds(1e9) * 1e3, 1)
    33.6
    """
    return PAUSE_QUANTA * QUANTUM_BITS / rate_bps


def _check(**values: float) -> None:
    """Raise InputError with every value that is not finite or below 0 (rates, packets: not above 0)."""
    above = {"rate_bps", "packet_bytes"}
    findings = [
        Finding(name, f"a finite number {'above' if name in above else 'from'} 0", f"{value:g}")
        for name, value in values.items()
        if not (isfinite(value) and (value > 0 if name in above else value >= 0))
    ]
    if findings:
        raise InputError(findings)
