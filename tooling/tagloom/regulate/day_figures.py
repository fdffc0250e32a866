"""A day's timetable as documents: its figures as JSON, and the files of its rules and settings."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagloom.records.timetable import ALL_ON, Rule, Timetable
from tagloom.regulate.day import BYTES_PER_SECOND, DAY_MINUTES, clock_text, lead_seconds, longest_toggle
from tagloom.regulate.day_changes import EARLY, VIA
from tagloom.regulate.settings_file import to_json as settings_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric
    from tagloom.records.timetable import Schedule
    from tagloom.regulate.day import Day, TimetableOptions

OF_WATTS = (
    "joules_before",
    "joules_after",
    "lower_bound_joules",
    "watts_before",
    "watts_after",
    "saving_percent",
    "most_percent",
    "kept_percent",
)  # keys that are null where a model's watts are not known


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
    settings: list[dict[str, Any]] = [
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
    ]
    payload: dict[str, Any] = {
        "intervals": len(day.history),
        "seconds": span,
        "candidates": len(day.candidates),
        "by_settings": rows,
        "settings": settings,
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
        "max_channel_share_in_changes": round(
            max((change.worst for change in day.changes), default=0.0) / BYTES_PER_SECOND, 6
        ),
        "toggle_seconds": longest_toggle(fabric, options),
        "lost_bytes": 0,  # paths move away before a link is shut, and back after it is up
        "exact": schedule.exact,
        "remarks": list(day.remarks),
        "power_unknown": list(day.power_unknown),
    }
    if day.power_unknown:
        payload |= dict.fromkeys(OF_WATTS)
        payload["by_settings"] = [row | dict.fromkeys(("saving_percent", "kept_percent", "joules")) for row in rows]
        payload["settings"] = [each | {"watts": None} for each in settings]
    return payload


def percent(part: float, whole: float) -> float:
    """Return a share in percent; 100 if both are 0, and 0 if only the whole is."""
    return round(100.0 * part / whole, 6) if whole > 0 else 100.0 if part == whole else 0.0


def names_of(schedule: Schedule) -> dict[int, str]:
    """Return the names of a day's settings by index, numbered in order of first use; index 0 has everything on."""
    order = list(dict.fromkeys(k for k in schedule.setting.tolist() if k))
    return {0: ALL_ON} | {k: f"settings-{n}" for n, k in enumerate(order, start=1)}


def times_of(day: Day, schedule: Schedule, options: TimetableOptions) -> list[tuple[str, str]]:
    """Return when each settings begin, as ``HH:MM`` local time.

    A change begins with its interval if the former settings carry that too, else early enough to be over by then; if
    neither settings carry the traffic of both intervals, everything comes on before, and the new settings follow.
    """
    names, setting = names_of(schedule), schedule.setting
    starts = [int(start // 60) for start in day.history.start_seconds]
    rows = [] if schedule.changes else [(starts[0] % DAY_MINUTES, names[int(setting[0])])]
    lead = int(lead_seconds(day.candidates[0].fabric, options) // 60)
    for change in day.changes:
        minute = starts[change.t]
        if change.mode == VIA:
            rows.append(((minute - lead) % DAY_MINUTES, ALL_ON))
        rows.append(((minute - lead * (change.mode == EARLY)) % DAY_MINUTES, names[change.after]))
    return [(clock_text(minute), name) for minute, name in sorted(rows)]


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
    dwell = options.dwell_seconds - lead_seconds(
        day.candidates[0].fabric, options
    )  # links that come on begin earlier by this much
    table = Timetable(tuple(rules), timezone, max(0.0, dwell), options.changes_a_day)
    found = {f"{stem}.yml": text_of(table)}
    for k, name in names.items():
        if k:
            said = (f"for {name} of {stem}.yml",)
            settings = replace(day.candidates[k].settings, remarks=said, power_unknown=day.power_unknown)
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
