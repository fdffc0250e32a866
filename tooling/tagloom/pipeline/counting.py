"""Lead readings of counters to traffic: what every port carried, and the matrix that fits it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tagloom import observe, platforms
from tagloom.errors import Finding, InputError
from tagloom.read.estimate import estimate
from tagloom.records.counted import Counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic


def counted(snapshots: Iterable[Mapping[str, Observation]], where: str) -> Counted:
    """Add up what every port carried from reading to reading, scaled to the whole time where some were missing.

    Raises InputError where there are fewer than two readings.
    """
    readings: dict[str, list[Observation]] = {}
    failed: dict[str, int] = {}
    for snapshot in snapshots:
        for name, seen in snapshot.items():
            mine = readings.setdefault(name, [])
            if seen.error:
                failed[name] = failed.get(name, 0) + 1
            elif not mine or seen.at > mine[-1].at:  # Prometheus repeats a reading until the next
                mine.append(seen)
    span = max((mine[-1].at - mine[0].at for mine in readings.values() if mine), default=0.0)
    intervals = max((len(mine) - 1 for mine in readings.values()), default=0)
    if intervals < 1:
        found = "none" if not readings else "one"
        raise InputError([Finding(where, "two readings or more of the fabric", found)])
    carried: dict[tuple[str, int], tuple[float, float]] = {}
    gaps: set[str] = set()
    for name, mine in readings.items():
        sums: dict[int, tuple[float, float, float]] = {}
        for before, after in pairwise(mine):
            rates = observe.rates(before, after)
            if rates.why_none:
                gaps.add(name)
            for port in rates.ports:
                old = sums.get(port.number, (0.0, 0.0, 0.0))
                into, out = (bps / 8 * rates.seconds for bps in (port.in_bps, port.out_bps))
                sums[port.number] = old[0] + into, old[1] + out, old[2] + rates.seconds
        for number, (into, out, seconds) in sums.items():
            carried[name, number] = into * span / seconds, out * span / seconds
    remarks = []
    if gaps := gaps | failed.keys():
        remarks.append(f"between some readings {', '.join(sorted(gaps))} gave no rates: the others stand for them")
    return Counted(span, intervals, carried, tuple(remarks))


def traffic_from(fabric: Fabric, routes: Routes, snapshots: Iterable[Mapping[str, Observation]], where: str) -> Traffic:
    """Estimate the host matrix of readings, over routes. Raises InputError where they do not suffice."""
    return estimate(fabric, routes, counted(snapshots, where))


def port_numbers(fabric: Fabric) -> Callable[[str, str], int | None]:
    """Return what finds a port's number by switch and name, 0 for the switch itself (no name), None for strangers."""

    def number(switch: str, port: str) -> int | None:
        if switch not in fabric.index:
            return None
        return platforms.load(fabric.switches[fabric.index[switch]].model).port_number(port) if port else 0

    return number
