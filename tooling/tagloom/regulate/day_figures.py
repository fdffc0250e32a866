"""A day's timetable as documents: its figures as JSON, and the files of its rules and settings."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tagloom.records.timetable import ALL_ON, Rule, Timetable
from tagloom.regulate.day import (
    BYTES_PER_SECOND,
    DAY_MINUTES,
    clock_text,
    lead_seconds,
    longest_toggle,
    settled_seconds,
)
from tagloom.regulate.day_changes import EARLY, VIA
from tagloom.regulate.headroom import to_json as headroom_json
from tagloom.regulate.headroom import worst_of
from tagloom.regulate.settings_file import to_json as settings_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.headroom import Headroom
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
            "max_channel_share": _share(
                day.candidates[k].expected[schedule.setting == k].max(initial=0.0), day.headrooms[k]
            ),
            **headroom_json(day.headrooms[k], BYTES_PER_SECOND),
            "two_connected": day.candidates[k].settings.two_connected,
            "average_hops": day.candidates[k].settings.average_hops_after,
            "max_hops": day.candidates[k].settings.max_hops_after,
        }
        for k in schedule.used
    ]
    sure = worst_of([*([day.headrooms[k] for k in schedule.used if k] or day.headrooms.values()), day.meanwhile])
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
        "max_channel_share_in_changes": _share(
            max((change.worst for change in day.changes), default=0.0), day.meanwhile
        ),
        "max_channel_share_if_late": _share(
            max((day.candidates[c.before].expected[c.t] for c in day.changes), default=0.0), day.if_late
        ),
        "headroom": options.headroom,
        "headroom_is": sure.kind,
        "headroom_in_changes": headroom_json(day.meanwhile, BYTES_PER_SECOND),
        "headroom_if_late": headroom_json(day.if_late, BYTES_PER_SECOND),
        "headroom_notes": list(sure.notes),
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


def _share(load: float, headroom: Headroom) -> float:
    """Return a load as a share of a channel; an estimate that links' counts exclude gives way to their bound."""
    most = load if headroom.bound is None else min(load, headroom.bound)
    return round(float(most) / BYTES_PER_SECOND, 6)


def _why_dwell(dwell: float, day: Day, options: TimetableOptions) -> str:
    """Return a comment that explains where a file's dwell time is not the one asked for, "" where it is."""
    if dwell == options.dwell_seconds:
        return ""
    lead = lead_seconds(day.candidates[0].fabric, options)
    why = f"less {lead:g} s: links that come up begin that much before their interval"
    if dwell != _dwell_seconds(day, options):
        why += "; of two of these rules the second comes sooner still"
    return f"# dwell_seconds: --dwell {options.dwell_seconds:g} s, {why}\n"


def percent(part: float, whole: float) -> float:
    """Return a share in percent; 100 if both are 0, and 0 if only the whole is."""
    return round(100.0 * part / whole, 6) if whole > 0 else 100.0 if part == whole else 0.0


def names_of(schedule: Schedule) -> dict[int, str]:
    """Return the names of a day's settings by index, numbered in order of first use; index 0 has everything on."""
    order = list(dict.fromkeys(k for k in schedule.setting.tolist() if k))
    return {0: ALL_ON} | {k: f"settings-{n}" for n, k in enumerate(order, start=1)}


def times_of(day: Day, schedule: Schedule, options: TimetableOptions) -> list[tuple[str, str]]:
    """Return when each settings begin, as ``HH:MM`` local time.

    A change begins with its interval, in the first full minute of it, if the former settings carry that too, else early
    enough to be over by then; if neither settings carry the traffic of both intervals, everything comes on before, and
    the new settings follow after the dwell time, or at the interval's start where the change after that would come too
    soon.
    """
    names, setting = names_of(schedule), schedule.setting
    starts = [int(start // 60) for start in day.history.start_seconds]
    after = [math.ceil(round(start) / 60) for start in day.history.start_seconds]
    rows = [] if schedule.changes else [(starts[0] % DAY_MINUTES, names[int(setting[0])])]
    lead = int(lead_seconds(day.candidates[0].fabric, options) // 60)
    settled = int(settled_seconds(day.candidates[0].fabric, options) // 60)
    changes = [(starts[c.t] - lead if c.mode in {EARLY, VIA} else after[c.t], c) for c in day.changes]
    for n, (minute, change) in enumerate(changes):
        if change.mode == VIA:
            rows.append((minute % DAY_MINUTES, ALL_ON))
            until = changes[(n + 1) % len(changes)][0]
            apart = (until - minute) % DAY_MINUTES or DAY_MINUTES
            late = after[change.t] - starts[change.t]
            minute += late + (settled if apart >= 2 * settled else lead)  # noqa: PLW2901 - the change's second
        rows.append((minute % DAY_MINUTES, names[change.after]))
    return [(clock_text(minute), name) for minute, name in sorted(rows)]


def _dwell_seconds(day: Day, options: TimetableOptions) -> float:
    """Return how long settings last at least where links that come on begin early: the dwell time less their lead."""
    return max(0.0, options.dwell_seconds - lead_seconds(day.candidates[0].fabric, options))


def _least_apart_seconds(times: Sequence[tuple[str, str]]) -> float:
    """Return the least time between two rules of a day that repeats."""
    minutes = [int(at[:2]) * 60 + int(at[3:]) for at, _ in times]
    after = [*minutes[1:], minutes[0] + DAY_MINUTES]
    return 60.0 * min(b - a for a, b in zip(minutes, after, strict=True))


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
    times = times_of(day, schedule, options)
    for at, name in times:
        hour, minute = (int(part) for part in at.split(":"))
        rules.append(Rule(f"{minute} {hour} * * *", file_of[name]))
    dwell = min(_dwell_seconds(day, options), _least_apart_seconds(times))
    table = Timetable(tuple(rules), timezone, dwell, options.changes_a_day)
    found = {f"{stem}.yml": _why_dwell(dwell, day, options) + text_of(table)}
    for k, name in names.items():
        if k:
            said = (f"for {name} of {stem}.yml",)
            settings = replace(
                day.candidates[k].settings,
                remarks=said,
                power_unknown=day.power_unknown,
                seconds=1.0,  # loads are bytes per second
                headroom=day.headrooms.get(k, worst_of(day.headrooms.values())),
            )
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
