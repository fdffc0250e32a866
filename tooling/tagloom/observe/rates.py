"""Compute bits per second on every port between two readings, through counter wraps and reboots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.records.observation import CountedInterval, Rate, Rates

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Counters, Observation

UPTIME_WRAP_SECONDS = 2**32 / 100  # sysUpTime is 32 bits of hundredths: 497 days
CLOCK_SLACK_SECONDS = 5.0  # difference of its clock and ours, for late answers; a hundredth of the time is added

CACHED_SECONDS = 30.0  # that an agent's counters may lag behind, to catch up in one interval
IMPOSSIBLE = 2  # times a port's speed: a counter that would have risen or wrapped faster was set


def rates(before: Observation, after: Observation) -> Rates:
    """Return the rates of every port between two readings.

    The interval is measured on the switch's own clock, so that a slow reading does not distort it. A counter below its
    earlier value has wrapped once. That holds for 64 bits (RFC 2863 section 3.1.6), and for 32 bits while less than one
    round fits into the interval; if more could, there is no rate. There is none either after a cleared counter or a
    reboot, where a port would have been much faster than it is, and where a counter went back at a port of unknown
    speed.
    """
    name = after.switch
    if before.error or after.error:
        return Rates(name, 0.0, why_none=before.error or after.error)
    if before.uptime_seconds is None or after.uptime_seconds is None:
        return Rates(name, 0.0, why_none="sysUpTime: missing")
    ours = after.at - before.at
    slack = CLOCK_SLACK_SECONDS + 0.01 * abs(ours)
    seconds = after.uptime_seconds - before.uptime_seconds
    if seconds < 0 and abs(seconds + UPTIME_WRAP_SECONDS - ours) <= slack:
        seconds += UPTIME_WRAP_SECONDS
    if seconds <= 0 or ours - seconds > slack:
        return Rates(name, ours, why_none="it rebooted in between" if seconds or ours > 0 else "no time went by")
    earlier = {port.number: port for port in before.ports}
    found = []
    for port in after.ports:
        old = earlier.get(port.number)
        if old is None or old.bits != port.bits:
            continue
        into = _bits(old.in_octets, port.in_octets, old, port, seconds)
        out = _bits(old.out_octets, port.out_octets, old, port, seconds)
        if into is not None and out is not None:
            share = max(into, out) / seconds / port.speed_bps if port.speed_bps else None
            found.append(Rate(port.number, port.name, into / seconds, out / seconds, share))
    return Rates(name, seconds, tuple(found))


def _bits(was: int | None, now: int | None, old: Counters, port: Counters, seconds: float) -> int | None:
    if was is None or now is None:
        return None
    modulus = 1 << port.bits
    speed = max(port.speed_bps or 0, old.speed_bps or 0)
    if port.bits == 32 and speed * seconds / 8 >= modulus:
        return None
    bits = (now - was) % modulus * 8
    if not speed:
        return bits if now >= was else None
    return None if bits > IMPOSSIBLE * speed * (seconds + CACHED_SECONDS * (now >= was)) else bits


def rates_between(before: Mapping[str, Observation], after: Mapping[str, Observation]) -> dict[str, Rates]:
    """Return every switch's rates since an earlier reading; a switch missing from it has none."""
    return {name: rates(before[name], shown) for name, shown in after.items() if name in before}


def ports_down(seen: Iterable[Observation]) -> set[tuple[str, int]]:
    """Return the ports that were down at a reading, as (switch, port number)."""
    return {(each.switch, port.number) for each in seen for port in each.ports if port.oper_up is False}


def slowest_bps(seen: Iterable[Observation]) -> dict[tuple[str, int], int]:
    """Return the least speed of each port that was up at a reading, bits per second, by (switch, port number)."""
    least: dict[tuple[str, int], int] = {}
    for each in seen:
        for port in each.ports:
            if port.oper_up and port.speed_bps:
                end = each.switch, port.number
                least[end] = min(port.speed_bps, least.get(end, port.speed_bps))
    return least


def apart_seconds(seen: Iterable[Observation]) -> float:
    """Return how far apart switches were read at one look; those that did not answer don't count."""
    at = [each.at for each in seen if not each.error]
    return max(at) - min(at) if at else 0.0


def counted_interval(before: Mapping[str, Observation], after: Mapping[str, Observation]) -> CountedInterval:
    """Return what ports carried between two looks at a fabric."""
    looks = list(before.values()), list(after.values())
    end = max(each.at for each in looks[1])
    apart = max(map(apart_seconds, looks))
    seen = looks[0] + looks[1]
    return CountedInterval(end, rates_between(before, after), frozenset(ports_down(seen)), apart, slowest_bps(seen))


def busiest_link(
    fabric: Fabric, before: Mapping[str, Observation], after: Mapping[str, Observation]
) -> tuple[float | None, str, bool]:
    """Return the busiest channel between switches: the share of its speed, its port, and completeness.

    The share is None if no link's rate is known. Completeness is whether every link that is up was seen at one end at
    least.
    """
    shares = {
        (name, port.number): (port.utilisation, f"{name}:{port.name}")
        for name, each in rates_between(before, after).items()
        for port in each.ports
        if port.utilisation is not None
    }
    known: list[tuple[float, str]] = []
    complete = True
    for link in fabric.links:
        for a, b in link.cables if link.up else ():
            ends = [(fabric.switches[link.a].name, a), (fabric.switches[link.b].name, b)]
            heard = [shares[end] for end in ends if end in shares]
            known += heard
            complete &= bool(heard)
    share, where = max(known, default=(None, ""))
    return share, where, complete
