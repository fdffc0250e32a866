"""Decide whether a running fabric is given other paths for the traffic that was measured."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagloom.records.reweave import ReweaveForecast, ReweaveLimits
    from tagloom.records.timetable import TimetableProgress

DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class ReweaveDecision:
    """Whether to change paths, and why or why not."""

    change: bool
    why: str


def decide_reweave(
    now: float,
    forecast: ReweaveForecast,
    standing: TimetableProgress,
    limits: ReweaveLimits,
    dwell_seconds: float,
) -> ReweaveDecision:
    """Return whether other paths are worth their change at `now` (seconds since the epoch).

    All of this must hold, and what does not is the reason to stay:

    - enough matrices were measured since the last change, and the busiest channel's load falls by `limits.gain` or more
      under each of the last `limits.intervals`;
    - nothing was changed for `dwell_seconds`, and paths less than `limits.changes_a_day` times in 24 hours;
    - the change pays: until the next one may follow, the busiest channel is busy for at least as many seconds less as
      the rollout takes. So an idle fabric is left alone, whatever share of its little load would be gained.

    With the lower bound of all paths as forecast, at no cost, it tells whether planning can be worth while.
    """
    if len(forecast.before) < limits.intervals:
        return ReweaveDecision(False, f"{len(forecast.before)} of {limits.intervals} intervals are measured")
    gains = forecast.gains[-limits.intervals :]
    if min(gains) < limits.gain:
        return ReweaveDecision(False, f"{_by(gains)}; {_percent(limits.gain)} is asked for")
    if (waits := dwell_seconds - (now - standing.changed_at)) > 0:
        return ReweaveDecision(False, f"waits {waits:.0f} s: {dwell_seconds:.0f} s between two changes")
    if sum(at > now - DAY_SECONDS for at in standing.woven_at) >= limits.changes_a_day:
        return ReweaveDecision(False, f"waits: paths were changed {limits.changes_a_day} times in 24 hours")
    both = zip(forecast.before[-limits.intervals :], forecast.after[-limits.intervals :], strict=True)
    lasts = max(dwell_seconds, limits.intervals * limits.interval_seconds)
    saved = lasts * min(before - after for before, after in both)
    if saved < forecast.rollout_seconds:
        seconds = f"{saved:.2g} s less in {lasts:.0f} s"
        return ReweaveDecision(False, f"the busiest channel would be busy {seconds}; a change takes {_cost(forecast)}")
    return ReweaveDecision(True, f"{_by(gains)}, for {_cost(forecast)}")


def rewoven(now: float, directory: str, standing: TimetableProgress) -> TimetableProgress:
    """Return the progress after paths were changed for measured traffic, to those of a build in `directory`."""
    recent = tuple(at for at in standing.woven_at if at > now - DAY_SECONDS)
    return replace(standing, woven=directory, changed_at=now, woven_at=(*recent, now))


def _by(gains: tuple[float, ...]) -> str:
    low, high = min(gains), max(gains)
    if high <= 0:
        return "no channel's load would fall"
    if low < 0:
        return (
            f"the busiest channel's load would fall by {_percent(high)} at best, and rise by {_percent(-low)} at worst"
        )
    share = _percent(high) if _percent(low) == _percent(high) else f"{100 * low:.0f} to {_percent(high)}"
    return f"the busiest channel's load would fall by {share}"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _cost(forecast: ReweaveForecast) -> str:
    waves = f"{forecast.waves} wave{'' if forecast.waves == 1 else 's'}"
    return f"{forecast.rollout_seconds:.3g} s in {waves}, {forecast.lines} lines"
