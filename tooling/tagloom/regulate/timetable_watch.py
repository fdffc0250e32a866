"""Decide which settings apply now: by the clock, by jobs' requests, and by the measured load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.records.timetable import ALL_ON

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from tagloom.records.timetable import TimetableProgress, Watch

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Decision:
    """What should apply and why, and the new progress; `change` is False if it applies already, or must wait."""

    settings: tuple[str, ...]
    why: str
    change: bool
    standing: TimetableProgress


def decide(
    now: float,
    scheduled: str,
    requested: Collection[str],
    load: tuple[float | None, bool] | None,
    standing: TimetableProgress,
    watch: Watch,
    lost_speed_steps: Callable[[tuple[str, ...]], frozenset[tuple[int, int]]],
) -> Decision:
    """Return what should apply at `now` (seconds since the epoch).

    `scheduled` is the timetable's setting, `requested` are those of jobs; the links of all of them are on. `load` is
    the share of its speed that the busiest channel carried, and whether every link was seen; None without measurement.

    All links come on when the load reaches `watch.raise_above`, and stay on until it has been below `watch.lower_below`
    for `hold_seconds`; an unknown load then counts as busy. A change that brings no link up waits for the dwell time,
    the daily cap and a low load. A change that brings a link up, or makes it faster, does not wait.

    `lost_speed_steps` returns the speed steps, (link, Mb/s), that links lack under several settings together: all of
    them if a link is off.
    """
    share, complete = load if load is not None else (0.0, True)
    standing = _seen(now, share, standing, watch, complete=complete)
    wanted = (ALL_ON,) if standing.raised else _together({scheduled, *requested})
    if standing.raised:
        why = f"the busiest channel carried {100 * share:.3g} %" if share is not None else "the load is not known"
    else:
        why = "jobs and the timetable" if set(requested) - {scheduled} else "the timetable"
    if wanted == standing.settings:
        return Decision(wanted, why, False, standing)
    if not standing.settings:
        return Decision(wanted, f"{why}; what runs is not known", True, standing)
    comes_up = lost_speed_steps(standing.settings) - lost_speed_steps(wanted)
    if not comes_up and (wait := _wait(now, share, standing, watch, complete=complete)):  # there is no hurry
        return Decision(wanted, wait, False, standing)
    return Decision(wanted, why, True, standing)


def changed(now: float, settings: tuple[str, ...], standing: TimetableProgress, *, lowered: bool) -> TimetableProgress:
    """Return the progress after a change; `lowered` if links went off or slower and none came on or got faster."""
    recent = tuple(at for at in standing.lowered_at if at > now - DAY_SECONDS)
    lowered_at = (*recent, now) if lowered else recent
    return replace(standing, settings=settings, changed_at=now, lowered_at=lowered_at, woven="")


def _seen(
    now: float, share: float | None, standing: TimetableProgress, watch: Watch, *, complete: bool
) -> TimetableProgress:
    if share is not None and share >= watch.raise_above:
        return replace(standing, raised=True, busy_at=now)
    if not standing.raised:
        return standing
    if share is None or not complete or share >= watch.lower_below:
        return replace(standing, busy_at=now)
    return replace(standing, raised=now - standing.busy_at < watch.hold_seconds)


def _wait(now: float, share: float | None, standing: TimetableProgress, watch: Watch, *, complete: bool) -> str:
    if share is None or not complete:
        return "waits until the load of every link is known"
    if share >= watch.lower_below:
        return f"waits for load below {100 * watch.lower_below:.3g} % (now {100 * share:.3g} %)"
    if now - standing.changed_at < watch.dwell_seconds:
        return f"waits {watch.dwell_seconds - (now - standing.changed_at):.0f} s: {watch.dwell_seconds:.0f} s a setting"
    if sum(at > now - DAY_SECONDS for at in standing.lowered_at) >= watch.changes_a_day:
        return f"waits: links went off {watch.changes_a_day} times in 24 hours"
    return ""


def _together(names: set[str]) -> tuple[str, ...]:
    return (ALL_ON,) if ALL_ON in names else tuple(sorted(names))
