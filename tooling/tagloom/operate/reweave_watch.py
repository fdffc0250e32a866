"""Measure a running fabric's traffic, interval by interval, and offer other paths where they are worth their change."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tagloom.errors import PlanError, TagloomError, one_line
from tagloom.operate.repair_target import same_target
from tagloom.operate.reweaving import possible, weave_for
from tagloom.pipeline.forecasting import traffic_from
from tagloom.records.fabric_pair import alike
from tagloom.records.reweave import ReweaveStatus
from tagloom.regulate.reweave import decide_reweave

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.operate.repair_runs import Runs
    from tagloom.operate.repair_watch import Note
    from tagloom.operate.reweaving import WovenPaths
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation
    from tagloom.records.reweave import ReweaveForecast, ReweaveLimits
    from tagloom.records.timetable import TimetableProgress
    from tagloom.records.traffic import Traffic


@dataclass(eq=False)
class ReweaveWatch:
    """Compare the paths in use with those that would suit measured traffic: `mode` auto or propose.

    `runs` reads what the journal says that runs, and the failures that it is protected against. `tell` takes a line for
    people, `note` every proposal for the journal. What was measured counts for the paths that were in use then: whoever
    changes them calls `forget`.
    """

    mode: str
    fabric: Fabric
    templates: Path
    limits: ReweaveLimits
    dwell_seconds: float
    runs: Callable[[], tuple[Runs, str]]
    tell: Callable[[str], None]
    note: Note
    status: ReweaveStatus = field(default_factory=ReweaveStatus)
    _first: Mapping[str, Observation] = field(default_factory=dict)
    _begun: float = 0.0
    _measured: tuple[Traffic, ...] = ()
    _in_use: tuple[Build, str] | None = None
    _said: str = ""
    _proposed: bool = False

    def __post_init__(self) -> None:
        self.status = replace(self.status, mode=self.mode)

    def forget(self) -> None:
        """Measure anew from the next reading on: paths or links are others now."""
        self._first, self._measured, self._in_use, self._proposed = {}, (), None, False
        self.status = replace(self.status, gain=None)

    def look(
        self, now: float, seen: Mapping[str, Observation], standing: TimetableProgress, wait: str = ""
    ) -> WovenPaths | None:
        """Take a reading, and return paths to change to at the end of an interval; None where those in use stay.

        `wait` says why nothing may be changed now. What cannot be measured or planned is told, and paths stay.
        """
        if not self._first:
            self._first, self._begun = seen, now
        if now - self._begun < self.limits.interval_seconds:
            return None
        first, self._first, self._begun = self._first, seen, now
        try:
            return self._decide(now, (first, seen), standing, wait)
        except (TagloomError, OSError) as error:
            self._stay(one_line(error))
            return None

    def _decide(
        self,
        now: float,
        readings: tuple[Mapping[str, Observation], ...],
        standing: TimetableProgress,
        wait: str,
    ) -> WovenPaths | None:
        running, protect = self._paths_in_use()
        traffic = traffic_from(self.fabric, running.routes, readings, "the readings of ports")
        self._measured = (*self._measured, traffic)[-self.limits.intervals :]

        def why_not(forecast: ReweaveForecast) -> str:
            found = decide_reweave(now, forecast, standing, self.limits, self.dwell_seconds)
            return "" if found.change else found.why

        most = possible(self.fabric, running.routes, self._measured)
        if why := why_not(most):
            self._stay(why if len(self._measured) < self.limits.intervals else f"{why} (by any paths, at most)")
            return None
        woven, forecast = weave_for(running, self._measured, self.templates, protect)
        self.status = replace(self.status, gain=min(forecast.gains))
        if why := why_not(forecast) or wait:
            self._stay(why)
            return None
        why = decide_reweave(now, forecast, standing, self.limits, self.dwell_seconds).why
        self.status = replace(self.status, why=why)
        if self.mode == "auto":
            return woven
        if not self._proposed:
            self._proposed = True
            self.note("reweave-proposed", standing.settings, why)
            self.tell(f"paths could be woven anew: {why}; reweave: auto does it")
        return None

    def _paths_in_use(self) -> tuple[Build, str]:
        """Return the build that runs, with the routes that frames take. Raises PlanError where it is not known."""
        if self._in_use is None:
            runs, protect = self.runs()
            rule = "paths are woven anew beside those of a build that is known, all its links on"
            if runs.directory is None:
                raise PlanError(rule, "the build that runs is no longer where it was applied from")
            if not (runs.at_home and alike(runs.home.fabric, self.fabric) and same_target(runs.fabric, self.fabric)):
                raise PlanError(rule, "a repair, or another fabric or other links than the timetable's")
            self._in_use = runs.home, protect
        return self._in_use

    def _stay(self, why: str) -> None:
        """Note why paths stay, and say so unless that was said last."""
        self.status = replace(self.status, why=why)
        self._proposed = False
        if why != self._said:
            self._said = why
            self.tell(f"paths stay: {why}")

    def done(self) -> None:
        """Count a change of paths, and measure anew."""
        self.forget()
        self.status = replace(self.status, changes=self.status.changes + 1)

    def failed(self, why: str) -> None:
        """Count a change of paths that was refused or failed, and measure anew."""
        self.forget()
        self.status = replace(self.status, failures=self.status.failures + 1, why=why)
