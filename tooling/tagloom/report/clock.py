"""Show timetables: what settings over a day save, when each applies, and what a calendar does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.report.terminal import count, row, share_words, table, upward_percent, watts_unknown

if TYPE_CHECKING:
    from collections.abc import Mapping

NAME_WIDTH = 40


def day_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return the saving of a day's timetable, beside those of fewer settings and the largest possible."""
    rows = [
        (
            str(each["settings"]),
            _with_unit(each["saving_percent"], "%"),
            _with_unit(each["kept_percent"], "%"),
            str(each["changes"]),
        )
        for each in payload["by_settings"]
    ]
    counted = payload["headroom_is"] != "measured"
    settings = [
        (
            each["name"],
            str(each["links_off"]),
            str(each["links_slowed"]),
            _with_unit(each["watts"], "W"),
            f"{each['seconds'] / 3600:.1f} h",
            "see below" if counted else f"{100 * each['max_channel_share']:.0f} %",
            f"{each['average_hops']:.2f}",
            str(each["max_hops"]),
        )
        for each in payload["settings"]
    ]
    exact = "the best of all ways to use them" if payload["exact"] else "sets of them tried one change at a time"
    over = f"{payload['seconds'] / 3600:.1f} h in {count(payload['intervals'], 'interval')}"
    if unknown := watts_unknown(payload):
        saving = row("saving", f"{unknown}; over {over}")
    else:
        watts = f"{payload['watts_before']:.1f} W -> {payload['watts_after']:.1f} W over {over}"
        best = (
            f"no settings save more than {payload['most_percent']:.1f} %, one for each interval even: "
            f"{payload['kept_percent']:.1f} % of that is kept"
        )
        saving = [*row("saving", f"{payload['saving_percent']:.1f} %: {watts}"), *row("best", best)]
    return [
        *saving,
        *(_headroom_lines(payload) if counted else ()),
        *row("sought", f"{count(payload['candidates'], 'setting')} found; {exact}"),
        "",
        *table(("settings", "saving", "of the most", "changes"), rows, right=(0, 1, 2, 3)),
        "",
        *table(
            ("setting", "links off", "slowed", "draws", "holds", "busiest", "hops", "most"), settings, right=range(1, 8)
        ),
        *(
            line
            for n, each in enumerate(payload["settings"] if counted else ())
            for line in row("" if n else "busiest", f"{each['name']}: {share_words(each['max_channel_share'], each)}")
        ),
        "",
        *[line for each in payload["times"] for line in row("at", f"{each['at']}  {each['settings']}")],
        *row(
            "changes",
            f"{count(payload['changes'], 'change')} a day; links take {payload['toggle_seconds']:.1f} s or more "
            f"(Koibuchi et "
            "al. 2011, table 6), charged; no bytes lost: paths move first",
        ),
        *(
            [
                *row("", f"busiest channel while settings change: {_most(payload, 'in_changes')}"),
                *row("", f"busiest channel if a change is one interval late: {_most(payload, 'if_late')}"),
            ]
            if payload["changes"]
            else ()
        ),
        *[line for remark in [*payload["headroom_notes"], *payload["remarks"]] for line in row("note", remark)],
    ]


def _most(payload: Mapping[str, Any], when: str) -> str:
    """Return how busy a channel gets at a time of changes."""
    share, headroom = payload[f"max_channel_share_{when}"], payload[f"headroom_{when}"]
    at_most = "at most " if headroom["headroom_is"] == "measured" and when == "in_changes" else ""
    return at_most + share_words(share, headroom)


def _headroom_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return whether counters guarantee the headroom, and what to do where they don't."""
    off = [each for each in payload["settings"] if each["links_off"] or each["links_slowed"]] or payload["settings"]
    every = [*off, payload["headroom_in_changes"]]
    bounds = [each["max_channel_share_bound"] for each in every if each["max_channel_share_bound"] is not None]
    allowed = f"{100 * (1 - payload['headroom']):.0f} %"
    kind, most = payload["headroom_is"], upward_percent(max(bounds, default=0.0))
    if kind == "guaranteed":
        words = f"guaranteed: whatever traffic the counts allow, no channel is busier than {most} %"
        return row("headroom", f"{words} on average between two readings, if changes are on time")
    if kind == "estimated":
        why = f"some traffic that the counts allow makes a channel {most} % busy, over the {allowed} that are allowed"
    else:
        why = "; ".join(dict.fromkeys(what for each in every for what in each["headroom_missing"]))
    advice = "--guarantee takes only settings that the counts guarantee"
    return row("headroom", f"{'NOT GUARANTEED' if kind == 'estimated' else 'UNKNOWN'}: {why} ({advice})")


def calendar_lines(payload: Mapping[str, Any]) -> list[str]:
    """Return what a calendar does in the coming week."""
    settings = [
        (_short(each["name"]), str(each["links_off"]), str(each["links_slowed"]), _with_unit(each["watts"], "W"))
        for each in payload["settings"]
    ]
    off = [
        line
        for each in payload["settings"]
        if each["off"]
        for line in row("links", f"{_short(each['name'])}: {', '.join(' - '.join(ends) for ends in each['off'])}")
    ]
    saving = watts_unknown(payload) or f"{payload['saving_percent']:.1f} % in the 7 days to come"
    return [
        *row("now", payload["now"]),
        *row("saving", f"{saving}; every setting planned and proven"),
        "",
        *table(("setting", "links off", "slowed", "draws"), settings, right=(1, 2, 3)),
        "",
        *off,
        *[line for each in payload["week"] for line in row("at", f"{each['at']}  {_short(each['settings'])}")],
    ]


def _short(name: str) -> str:
    """Return the name of settings, the first of its links and their count where it lists many."""
    ends = name.split(", ")
    return name if len(name) <= NAME_WIDTH else f"{ends[0]}, ... ({len(ends)} links)"


def _with_unit(value: float | None, unit: str) -> str:
    """Return a number and its unit, "-" where it is not known."""
    return "-" if value is None else f"{value:.1f} {unit}"
