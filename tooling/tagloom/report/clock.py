"""Show timetables to people: what settings over a day save, when each holds, and what a calendar does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tagloom.report.terminal import count, row, table

if TYPE_CHECKING:
    from collections.abc import Mapping


def day_lines(page: Mapping[str, Any]) -> list[str]:
    """Return what a day's timetable saves, against fewer settings and against the most that any could save."""
    rows = [
        (
            str(each["settings"]),
            f"{each['saving_percent']:.1f} %",
            f"{each['kept_percent']:.1f} %",
            str(each["changes"]),
        )
        for each in page["by_settings"]
    ]
    settings = [
        (
            each["name"],
            str(each["links_off"]),
            str(each["links_slowed"]),
            f"{each['watts']:.1f} W",
            f"{each['seconds'] / 3600:.1f} h",
            f"{100 * each['max_channel_share']:.0f} %",
        )
        for each in page["settings"]
    ]
    exact = "the best of all ways to use them" if page["exact"] else "sets of them tried one change at a time"
    return [
        *row(
            "saving",
            f"{page['saving_percent']:.1f} %: {page['watts_before']:.1f} W -> {page['watts_after']:.1f} W over "
            f"{page['seconds'] / 3600:.1f} h in {count(page['intervals'], 'interval')}",
        ),
        *row(
            "best",
            f"no settings save more than {page['most_percent']:.1f} %, one for each interval even: "
            f"{page['kept_percent']:.1f} % of that is kept",
        ),
        *row("sought", f"{count(page['candidates'], 'setting')} found; {exact}"),
        "",
        *table(("settings", "saving", "of the most", "changes"), rows, right=(0, 1, 2, 3)),
        "",
        *table(("setting", "links off", "slowed", "draws", "holds", "busiest"), settings, right=(1, 2, 3, 4, 5)),
        "",
        *[line for each in page["times"] for line in row("at", f"{each['at']}  {each['settings']}")],
        *row(
            "changes",
            f"{count(page['changes'], 'change')} a day; links take up to {page['toggle_seconds']:.1f} s (Koibuchi et "
            "al. 2011, table 6), charged; no bytes lost: paths move first",
        ),
        *[line for remark in page["remarks"] for line in row("note", remark)],
    ]


def calendar_lines(page: Mapping[str, Any]) -> list[str]:
    """Return what a calendar does in the week to come."""
    settings = [
        (each["name"], str(each["links_off"]), str(each["links_slowed"]), f"{each['watts']:.1f} W")
        for each in page["settings"]
    ]
    return [
        *row("now", page["now"]),
        *row("saving", f"{page['saving_percent']:.1f} % in the 7 days to come; every setting planned and proven"),
        "",
        *table(("setting", "links off", "slowed", "draws"), settings, right=(1, 2, 3)),
        "",
        *[line for each in page["week"] for line in row("at", f"{each['at']}  {each['settings']}")],
    ]
