"""Find which settings of a timetable hold at a time, and what begins next."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cronsim import CronSim

from tagloom.read.history import zone_of
from tagloom.records.timetable import ALL_ON

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.records.timetable import Timetable

LEFT_OUT = timedelta(hours=2)  # more than any clocks are put on by
BACK_DAYS = (1, 8, 62, 800)  # looked back through for what began last, the further the longer nothing did


def due(table: Timetable, at_seconds: float) -> str:
    """Return the settings that hold at a time (seconds since the epoch): those of the rule that began last.

    Where none ever began, everything is on. Clocks that are put on or back are met as Debian's cron does: what is
    due in the hour left out is due when the clocks are put on, what is due in the hour that comes twice, once.
    """
    for days in BACK_DAYS:
        if begun := upcoming(table, at_seconds - days * 86_400, days):
            return begun[-1][1]
    return ALL_ON


def upcoming(table: Timetable, at_seconds: float, days: float) -> list[tuple[float, str]]:
    """List what begins after a time, within so many days: (seconds since the epoch, settings), in order."""
    return [(begin, settings) for begin, _, settings in beginnings(table, at_seconds, days)]


def beginnings(table: Timetable, at_seconds: float, days: float) -> list[tuple[float, datetime, str]]:
    """List what begins after a time, within so many days: (seconds since the epoch, time on the wall, settings).

    In order of both. The time on the wall is that of the rule: of the hour that is left out when clocks are put on,
    what is due at 2:30 comes after what is due at 2:10, although both begin when the clocks are put on.
    """
    end = at_seconds + days * 86_400
    start = datetime.fromtimestamp(at_seconds, zone_of(table.timezone, "timezone"))
    found = []
    for order, rule in enumerate(table.rules):
        for begin in times_after(rule.when, start):
            if begin.timestamp() > end:
                break
            found.append((begin.timestamp(), _on_the_wall(rule.when, begin), order, rule.settings))
    return [(begin, wall, settings) for begin, wall, _, settings in sorted(found)]


def times_after(when: str, start: datetime) -> Iterator[datetime]:
    """Yield the times in cron words after a time with a zone, in order.

    From within the second of an hour that comes twice, CronSim begins with what was due in the first: left out here.
    """
    after = start.timestamp()
    return (begin for begin in CronSim(when, start) if begin.timestamp() > after)


def _on_the_wall(when: str, begin: datetime) -> datetime:
    """Return the last time, without a zone, at which a rule is due by its words up to when it begins."""
    local = begin.replace(tzinfo=None, fold=0)
    if (begin.astimezone(UTC) - LEFT_OUT).astimezone(begin.tzinfo).replace(tzinfo=None) >= local - LEFT_OUT:
        return local  # clocks were not put on
    wall = local
    for named in CronSim(when, local - LEFT_OUT):
        if named > local:
            break
        wall = named
    return wall
