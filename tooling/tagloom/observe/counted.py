"""Add up the bytes on every port over a sequence of readings."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.observe.rates import apart_seconds, ports_down, rates, slowest_bps
from tagloom.records.counted import Counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tagloom.records.observation import Observation


_SHOWN = 8  # ports in a remark


def counted(snapshots: Iterable[Mapping[str, Observation]], where: str) -> Counted:
    """Return the bytes on every port over a sequence of readings, scaled to the whole time if some were missing.

    Raises InputError if there are fewer than two readings.
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
    down: set[tuple[str, int]] = set()
    carried: dict[tuple[str, int], tuple[float, float]] = {}
    gaps: set[str] = set()
    lacking: list[str] = []  # ports whose rates are known for a part of the time
    for name, mine in readings.items():
        sums: dict[int, tuple[float, float, float]] = {}
        rated = 0.0
        down |= ports_down(mine)
        for before, after in pairwise(mine):
            between = rates(before, after)
            if between.why_none:
                gaps.add(name)
            rated += 0.0 if between.why_none else between.seconds
            for port in between.ports:
                old = sums.get(port.number, (0.0, 0.0, 0.0))
                into, out = (bps / 8 * between.seconds for bps in (port.in_bps, port.out_bps))
                sums[port.number] = old[0] + into, old[1] + out, old[2] + between.seconds
        for number, (into, out, seconds) in sums.items():
            carried[name, number] = into * span / seconds, out * span / seconds
        partly = {number for number, (_, _, seconds) in sums.items() if seconds < rated}
        lacking += [f"{name}:{port.name}" for port in mine[-1].ports if port.number in partly]
    remarks = []
    if gaps := gaps | failed.keys():
        remarks.append(f"between some readings {', '.join(sorted(gaps))} gave no rates: the others stand for them")
    if lacking:
        named = ", ".join(lacking[:_SHOWN]) + (f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else "")
        why = "counters were cleared or may have wrapped twice"
        remarks.append(f"between some readings the ports {named} gave no rates ({why}): the others stand for them")
    apart = max(apart_seconds(mine[at] for mine in readings.values() if mine) for at in (0, -1))
    slowest = slowest_bps(seen for mine in readings.values() for seen in mine)
    return Counted(span, intervals, carried, tuple(remarks), frozenset(down), apart, slowest)
