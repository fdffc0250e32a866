"""A day's timetable as documents: its figures as JSON, and the files of its rules and settings."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagloom.records.settings import lost_speed_steps
from tagloom.records.timetable import ALL_ON, Rule, Timetable
from tagloom.regulate.day import BYTES_PER_SECOND, DAY_MINUTES, clock_text, longest_toggle
from tagloom.regulate.settings_file import to_json as settings_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric
    from tagloom.records.timetable import Schedule
    from tagloom.regulate.day import Day, TimetableOptions


def to_json(fabric: Fabric, day: Day, options: TimetableOptions, schedule: Schedule) -> dict[str, Any]:
    """Return a day's timetable with the keys of the command line."""
    span = float(day.history.seconds.sum())
    names = names_of(schedule)
    can = day.full_joules - day.bound_joules
    rows = [
        {
            "settings": n,
            "saving_percent": percent(day.full_joules - each.joules, day.full_joules),
            "kept_percent": percent(day.full_joules - each.joules, can),
            "joules": round(each.joules, 3),
            "changes": each.changes,
            "exact": each.exact,
        }
        for n, each in enumerate(day.schedules, start=1)
    ]
    return {
        "intervals": len(day.history),
        "seconds": span,
        "candidates": len(day.candidates),
        "by_settings": rows,
        "settings": [
            {
                "name": names[k],
                "links_off": len(day.candidates[k].settings.links_off),
                "links_slowed": len(day.candidates[k].settings.links_slowed),
                "watts": round(day.candidates[k].settings.watts_after, 6),
                "seconds": float(day.history.seconds[schedule.setting == k].sum()),
                "max_channel_share": round(
                    float(day.candidates[k].busiest[schedule.setting == k].max(initial=0.0)) / BYTES_PER_SECOND, 6
                ),
                "two_connected": day.candidates[k].settings.two_connected,
                "average_hops": day.candidates[k].settings.average_hops_after,
                "max_hops": day.candidates[k].settings.max_hops_after,
            }
            for k in schedule.used
        ],
        "times": [{"at": at, "settings": name} for at, name in times_of(day, schedule, options)],
        "joules_before": round(day.full_joules, 3),
        "joules_after": round(schedule.joules, 3),
        "lower_bound_joules": round(day.bound_joules, 3),
        "watts_before": round(day.full_joules / span, 6),
        "watts_after": round(schedule.joules / span, 6),
        "saving_percent": percent(day.full_joules - schedule.joules, day.full_joules),
        "most_percent": percent(can, day.full_joules),
        "kept_percent": percent(day.full_joules - schedule.joules, can),
        "changes": schedule.changes,
        "toggle_seconds": longest_toggle(fabric, options),
        "lost_bytes": 0,  # paths move away before a link is shut, and back after it is up
        "exact": schedule.exact,
        "remarks": list(day.remarks),
    }


def percent(part: float, whole: float) -> float:
    """Return a share in percent; 100 if both are 0, and 0 if only the whole is."""
    return round(100.0 * part / whole, 6) if whole > 0 else 100.0 if part == whole else 0.0


def names_of(schedule: Schedule) -> dict[int, str]:
    """Return the names of a day's settings by index, numbered in order of first use; index 0 has everything on."""
    order = list(dict.fromkeys(k for k in schedule.setting.tolist() if k))
    return {0: ALL_ON} | {k: f"settings-{n}" for n, k in enumerate(order, start=1)}


def times_of(day: Day, schedule: Schedule, options: TimetableOptions) -> list[tuple[str, str]]:
    """Return when each settings begin, as ``HH:MM`` local time.

    Links that come up, or get faster, begin early enough to be up when needed; other changes begin on time.
    """
    names, setting = names_of(schedule), schedule.setting
    whole = day.candidates[0].fabric
    lacks = [lost_speed_steps(whole, each.fabric) for each in day.candidates]
    rows = []
    for t, k in enumerate(setting):
        before = setting[t - 1]
        if k != before or (t == 0 and schedule.changes == 0):
            lead = _lead_minutes(day, options) if lacks[before] - lacks[k] else 0
            minute = int(day.history.start_seconds[t] // 60) - lead
            rows.append((minute % DAY_MINUTES, names[int(k)]))
    return [(clock_text(minute), name) for minute, name in sorted(rows)]


def _lead_minutes(day: Day, options: TimetableOptions) -> int:
    return math.ceil((options.change_seconds + longest_toggle(day.candidates[0].fabric, options)) / 60)


def files_of(
    fabric: Fabric,
    day: Day,
    options: TimetableOptions,
    schedule: Schedule,
    timezone: str,
    stem: str,
    text_of: Callable[[Timetable], str],
) -> dict[str, str]:
    """Return the files by name: a timetable, as `text_of` writes it, first, then its settings."""
    names = names_of(schedule)
    file_of = {ALL_ON: ALL_ON} | {name: f"{stem}.{name}.json" for k, name in names.items() if k}
    rules = []
    for at, name in times_of(day, schedule, options):
        hour, minute = (int(part) for part in at.split(":"))
        rules.append(Rule(f"{minute} {hour} * * *", file_of[name]))
    dwell = options.dwell_seconds - 60 * _lead_minutes(day, options)  # links that come on begin earlier by this much
    table = Timetable(tuple(rules), timezone, max(0.0, dwell), options.changes_a_day)
    found = {f"{stem}.yml": text_of(table)}
    for k, name in names.items():
        if k:
            settings = replace(day.candidates[k].settings, remarks=(f"for {name} of {stem}.yml",))
            row = settings_json(fabric, settings)
            for key in (
                "lower_bound_watts",
                "gap_percent",
                "bound_source",
                "bound_holds_for",
                "max_channel_load_before",
            ):
                del row[key]  # of one matrix, not of a day: the timetable has its own figures
            found[file_of[name]] = json.dumps(row, indent=2) + "\n"
    return found
