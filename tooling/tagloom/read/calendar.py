"""Find which settings of a timetable hold at a time, and what begins next."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from cronsim import CronSim

from tagloom.read.history import zone_of
from tagloom.records.timetable import ALL_ON

if TYPE_CHECKING:
    from tagloom.records.timetable import Timetable

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
    end = at_seconds + days * 86_400
    start = datetime.fromtimestamp(at_seconds, zone_of(table.timezone, "timezone"))
    found = []
    for order, rule in enumerate(table.rules):
        for begin in CronSim(rule.when, start):
            if begin.timestamp() > end:
                break
            found.append((begin.timestamp(), order, rule.settings))
    return [(begin, settings) for begin, _, settings in sorted(found)]
