"""Keep a fabric to its timetable: look at clock, jobs and load, and lead the switches to what should hold."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from tagloom.errors import DeviceError, InputError, PlanError, TagloomError, one_line
from tagloom.observe import PORTS, busiest_link, observe_all
from tagloom.operate import apply, confirming, prepare, waves
from tagloom.operate.clock_journal import ClockJournal, links_off, same_speeds, unfinished
from tagloom.operate.repair_runs import protection_applied, what_runs
from tagloom.operate.reweaving import read_woven, woven_beside
from tagloom.operate.running import is_repair
from tagloom.pipeline import own_routes
from tagloom.pipeline.files import write_build
from tagloom.pipeline.planning import plan
from tagloom.platforms.power import fabric_watts, power_unknown
from tagloom.read.calendar import due, upcoming
from tagloom.read.requests import mark_answered, requests_in
from tagloom.read.windows import MaintenanceWindows
from tagloom.records.fabric_pair import alike
from tagloom.records.reweave import ReweaveStatus
from tagloom.records.settings import lost_speed_steps
from tagloom.records.timetable import ALL_ON, ClockStatus, DeadStatus, LookStatus, TimetableProgress, Watch, list_name
from tagloom.regulate.own_ways import keeps_ways
from tagloom.regulate.reweave import rewoven
from tagloom.regulate.settings_file import RegulateResult, read_settings
from tagloom.regulate.timetable_watch import changed, decide
from tagloom.render import host_pages
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from tagloom.apply.outcomes import Outcomes
    from tagloom.apply.site import Site
    from tagloom.operate.backup import DailyBackups
    from tagloom.operate.prepare import PreparedChange
    from tagloom.operate.repair_runs import Runs
    from tagloom.operate.repair_watch import RepairWatch
    from tagloom.operate.reweave_watch import ReweaveWatch
    from tagloom.operate.reweaving import WovenPaths
    from tagloom.operate.waves import ApplyContext
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.observation import Observation
    from tagloom.records.snmp import Address, Ask
    from tagloom.records.timetable import Timetable
    from tagloom.regulate.timetable_watch import Decision

RATE_SECONDS = 10.0  # between two readings that make a rate: counters of a switch may be seconds old
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 60.0, 3600.0
BUILD, WOVEN = "build", ("woven-1", "woven-2")  # builds in `home`: of settings; of measured traffic, by turns
PROFILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")  # what a request may name: a file of the profiles' folder, no path


class Clock(Protocol):
    """The time in seconds since the epoch, and let it pass; `steady` goes on alike when the computer's is set."""

    def now(self) -> float:
        """Return the time."""
        ...

    def steady(self) -> float:
        """Return the seconds since any moment, which nobody can set."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait, at most so long."""
        ...


class Memory(Protocol):
    """Remember across restarts (`adapters.timetable_memory`)."""

    def standing(self) -> TimetableProgress:
        """Return what was remembered."""
        ...

    def remember(self, standing: TimetableProgress) -> None:
        """Write what is to be remembered."""
        ...

    def note(self, at: float, kind: str, settings: tuple[str, ...], why: str) -> None:
        """Append an event: begun, done, failed or stopped, or one of repair's."""
        ...

    def counts(self) -> tuple[int, int]:
        """Count changes done and failed."""
        ...


@dataclass(frozen=True, eq=False)
class LoadProbe:
    """How load is seen: the switches' agents, how to ask them, and how often."""

    agents: Mapping[str, Address]
    ask: Ask
    every_seconds: float = 30.0


@dataclass(frozen=True, eq=False)
class Jobs:
    """Where jobs leave requests, a file each that names a profile, and where profiles' settings are, NAME.json."""

    requests: Path
    profiles: Path


@dataclass(eq=False)
class TimetableController:
    """Keep one fabric to one timetable; without rules, look for failures alone and leave the links' settings.

    Pairs that work are cut off only with `allow_interrupt`. A change that takes links off or slows them begins only in
    the maintenance `windows`.

    `tell` takes the narration, a line at a time, with its time; `show` every status. `context` takes the fabric's lock
    and opens its journal, for one change at a time; `home` takes the builds. With `dry_run` nothing is sent and nothing
    remembered: what would be done is told, and counts as done for what follows.
    """

    fabric: Fabric
    table: Timetable
    site: Site
    context: Callable[[Site], AbstractContextManager[ApplyContext]]
    home: Path
    memory: Memory
    clock: Clock
    watch: Watch
    probe: LoadProbe | None
    jobs: Jobs | None
    tell: Callable[[float, str], None]
    show: Callable[[ClockStatus], None]
    every_seconds: float = 30.0
    dry_run: bool = False
    allow_interrupt: bool = False
    repairs: RepairWatch | None = None
    reweaves: ReweaveWatch | None = None
    backups: DailyBackups | None = None
    windows: MaintenanceWindows = field(default_factory=MaintenanceWindows)
    ending: bool = False  # set by who interrupts: nothing more is begun
    pending: bool = False  # whether the last change was only shown, or has not ended well
    _standing: TimetableProgress = field(default_factory=TimetableProgress)
    _epoch: float = 0.0  # of `clock.steady`: what `_now` adds to it
    _may_lack: frozenset[tuple[int, int]] = frozenset()  # what links may lack where a change failed on its way
    _forgetful: bool = False  # whether it has been told that nothing can be remembered
    _counts: tuple[int, int] = (0, 0)
    _kept_ways: dict[frozenset[int], bool] = field(default_factory=dict)  # by links off: `keeps_ways`
    _unanswered: bool = False  # whether it has been told that requests cannot be marked
    _unshown: bool = False  # whether it has been told that nobody can be shown how it stands
    _seen: Mapping[str, Observation] = field(default_factory=dict)
    _retry_at: float = 0.0
    _retry_seconds: float = FIRST_RETRY_SECONDS
    _said: str = ""
    _sight: LookStatus = field(default_factory=LookStatus)
    _runs: int = 0
    _sure: bool = False
    _journal: ClockJournal = field(init=False)

    def __post_init__(self) -> None:
        self._journal = ClockJournal(self.site.home, self.home)
        now = self.clock.now()
        self._epoch = now - self.clock.steady()
        known = self.memory.standing() if self.table.rules else TimetableProgress()
        # What was remembered by a clock that was ahead of this one: waits begin anew, and do not last until then.
        self._standing = replace(
            known,
            busy_at=min(known.busy_at, now),
            changed_at=min(known.changed_at, now),
            lowered_at=tuple(min(at, now) for at in known.lowered_at),
        )
        if not known.settings:
            self._standing = replace(self._standing, applied="")  # by which it is found again
        try:
            self._target(known.settings or (ALL_ON,))
        except InputError:  # the timetable, or a job's profile, is another one since
            self._standing = replace(self._standing, settings=(), applied="")

    def _now(self) -> float:
        """Return the time by which is waited: the computer's at the start, and on from there whatever it is set to."""
        return self._epoch + self.clock.steady()

    def run(self, *, once: bool = False) -> None:
        """Look and act until interrupted (KeyboardInterrupt), or once. A failed change is told and tried again later.

        Waking late is no matter: what should hold now is applied, not all that was missed. Once raises what failed.
        Raises PlanError where an operator's run is neither finished nor undone.
        """
        with contextlib.suppress(InputError):  # told at each look
            self._journal.refuse_unfinished(self.fabric.name)
            self._heed_journal(self.clock.now())
        if self.probe is not None and not (once and self._all_on_anyway()):
            self._look()
            if once:  # two readings make a rate
                self.clock.sleep(min(self.every_seconds, RATE_SECONDS))
        while True:
            try:
                self.step()
            except (TagloomError, OSError) as error:
                if once:
                    raise
                self._failed(one_line(error))
            if self.backups is not None and not self.ending:
                self.backups.look(self.clock.now())
            if once or self.ending:
                return
            now = self.clock.now()
            coming = [at - now for at, _ in upcoming(self.table, now, self.every_seconds / 86_400)]
            self._wait(max(0.0, min([self.every_seconds, *coming])))

    def _all_on_anyway(self) -> bool:
        """Return whether all links come on, or stay on, whatever the load is."""
        now = self.clock.now()
        return ALL_ON in {due(self.table, now), *self._requests(now).values()}

    def _wait(self, seconds: float) -> None:
        """Wait, and look for what dies meanwhile; a clock that is woken ends a wait early."""
        part = self.repairs.every_seconds if self.repairs is not None else seconds
        end = self.clock.steady() + seconds
        while self.repairs is not None and end - self.clock.steady() > part:
            self.clock.sleep(part)
            self.repairs.look()
            if self.ending:
                return
        self.clock.sleep(max(0.0, end - self.clock.steady()))

    def step(self) -> None:
        """Look once, and act on it. Raises TagloomError where a change fails, KeyboardInterrupt if it was stopped."""
        away, load = self._seen_now()
        if away or not self.table.rules:  # settings wait until paths are home again
            if self.reweaves is not None:
                self.reweaves.forget()
            self._status(self.clock.now(), due(self.table, self.clock.now()), None, 0)
            return
        now, waited = self.clock.now(), self._now()
        self._heed_journal(now)
        scheduled = due(self.table, now)
        requests = self._requests(now)
        decision = decide(
            waited, scheduled, set(requests.values()), load, self._standing, self.watch, self._lost_speed_steps
        )
        if decision.standing != self._standing:
            self._remember(decision.standing)
        what = " + ".join(decision.settings)
        if decision.change and self._waits_for_window(now, decision):
            self._tell_window(now, what)
        elif decision.change and (waited >= self._retry_at or self._raises(decision)):
            self._change(now, decision.settings, decision.why)
            self._said = ""
        elif not decision.change and decision.settings != self._standing.settings and self._said != what:
            self._said = what
            self.tell(now, f"{what}: {decision.why}")
        if self._standing.settings == decision.settings:
            self._confirm(now, decision.settings)
            self._answer(requests)
        if self.reweaves is not None:
            self._reweave(now, self.reweaves, decision)
        self._status(now, scheduled, load[0] if load is not None else None, len(requests))

    def _take_back_left_over(self) -> None:
        """Take back a change that a command which died left waiting for its confirmation, once the time is over."""
        if self.dry_run or not confirming.is_left_over(self.site.home):
            return
        with self.context(self.next_site()) as context:
            result = confirming.take_back_left_over(context, apply.ApplyOptions())
        if result is not None and result.run is not None:
            self._sound(result)
            self._sure = False  # of what switches hold
            self.tell(self.clock.now(), f"nobody confirmed {result.run.source} in time: it was taken back")

    def _raises(self, decision: Decision) -> bool:
        """Return whether a change must not wait after one that failed: for load, or for links it may have left down."""
        return decision.standing.raised or bool(self._may_lack - self._lost_speed_steps(decision.settings))

    def _waits_for_window(self, now: float, decision: Decision) -> bool:
        """Return whether a change waits for a maintenance window; one that brings a link up, or faster, never does."""
        if self.windows.is_open(now) or self._raises(decision):
            return False
        before = self._lost_speed_steps(self._standing.settings) if self._standing.settings else frozenset()
        return not before - self._lost_speed_steps(decision.settings)

    def _tell_window(self, now: float, what: str) -> None:
        begin = self.windows.next_begin(now)
        when = f"that of {begin:%Y-%m-%d %H:%M %Z}" if begin is not None else "one, and none is to come"
        said = f"{what}: waits for a maintenance window, {when}"
        if self._said != said:
            self._said = said
            self.tell(now, said)

    # --- what is seen ------------------------------------------------------------------------------------------------

    def _seen_now(self) -> tuple[bool, tuple[float | None, bool] | None]:
        """Return whether paths are away from home for something dead, and the load if it is watched.

        Also note when the fabric was seen, and show at once why it could not be.
        """
        try:
            self._take_back_left_over()
            away = self.repairs is not None and self.repairs.look()
            load = self._look() if self.probe is not None and not away else None
        except (TagloomError, OSError) as error:
            self._saw(one_line(error))
            with contextlib.suppress(TagloomError, OSError):
                self._status(self.clock.now(), due(self.table, self.clock.now()), None, 0)
            raise
        trouble = self.repairs.trouble if self.repairs is not None else ""
        if not trouble and load is not None and self._seen and all(each.error for each in self._seen.values()):
            trouble = f"no switch answers over SNMP: {next(iter(self._seen.values())).error}"
        self._saw(trouble)
        return away, load

    def _saw(self, trouble: str) -> None:
        self._sight = LookStatus(self._sight.good_at if trouble else self.clock.now(), trouble)

    def _look(self) -> tuple[float | None, bool]:
        assert self.probe is not None  # noqa: S101 - asked before
        fabric = self._target(self._standing.settings)[0] if self._standing.settings else self.fabric
        seen = observe_all(fabric, self.probe.agents, self.probe.ask, PORTS)
        share, where, complete = busiest_link(fabric, self._seen, seen)
        self._seen = seen
        if share is not None and share >= self.watch.raise_above and not self._standing.raised:
            self.tell(self.clock.now(), f"{where} carries {100 * share:.3g} % of its speed: all links come on")
        return share, complete

    def _requests(self, now: float) -> dict[str, str]:
        """Read what jobs ask for: settings by the name of the request; what cannot be read asks for everything."""
        found: dict[str, str] = {}
        if self.jobs is not None:
            found = {request: self._profile(now, name) for request, name in requests_in(self.jobs.requests).items()}
        return found

    def _profile(self, now: float, name: str) -> str:
        assert self.jobs is not None  # noqa: S101 - asked before
        if name == ALL_ON or name in self.table.names:
            return name
        path = self.jobs.profiles / f"{name}.json"
        if PROFILE.fullmatch(name) and path.is_file():
            with contextlib.suppress(InputError):
                read_settings(self.fabric, self.table, str(path))
                return str(path)
        if self._said != f"request {name}":
            self._said = f"request {name}"
            self.tell(now, f"a job asks for {name!r}, of which there are no settings here: all links stay on for it")
        return ALL_ON

    def _answer(self, requests: Mapping[str, str]) -> None:
        """Mark requests whose settings hold, for prologs that wait, and forget marks of those that are gone."""
        if self.jobs is not None and not self.dry_run:
            try:
                mark_answered(self.jobs.requests, requests)
                self._unanswered = False
            except OSError as error:
                if not self._unanswered:
                    self.tell(self.clock.now(), f"requests cannot be marked as answered: {error}")
                self._unanswered = True

    # --- what settings mean ------------------------------------------------------------------------------------------

    def _target(self, names: tuple[str, ...]) -> tuple[Fabric, RegulateResult | None]:
        """Return the fabric with the links of several settings on, and the routes, where one of them has just those.

        A link that is slower in some of them is at full speed where none has just those. All links are on where the
        tree of a tagged network, or another network's own routing, would not be what it is then.

        Raises InputError for settings that cannot be read.
        """
        if ALL_ON in names:
            return self.fabric, None
        each = [read_settings(self.fabric, self.table, name) for name in names]
        all_lack = frozenset.intersection(*(lost_speed_steps(self.fabric, fabric) for fabric, _ in each))
        for fabric, regulated in each:
            if lost_speed_steps(self.fabric, fabric) == all_lack:
                return fabric, regulated
        off = frozenset.intersection(*(_down(self.fabric, fabric) for fabric, _ in each))
        both = self.fabric.with_links_down(off)  # at full speed: nobody knows what paths would carry
        if off not in self._kept_ways:
            routes_of = partial(own_routes, routing="auto", assignment="fixed")
            self._kept_ways[off] = keeps_ways(self.fabric, both, routes_of)
        return (both if self._kept_ways[off] else self.fabric), None

    def _lost_speed_steps(self, names: tuple[str, ...]) -> frozenset[tuple[int, int]]:
        return lost_speed_steps(self.fabric, self._target(names)[0])

    # --- what runs ---------------------------------------------------------------------------------------------------

    def _heed_journal(self, now: float) -> None:
        """Take what the journal shows for what runs, where it is another run than was remembered."""
        run = self._journal.applied()
        if run is None or run.name == self._standing.applied:
            return
        before, woven = self._standing, ""
        settings: tuple[str, ...] = ()
        if not run.unfinished and (running := self._journal.running_fabric()) is not None:
            settings = self._settings_of(running, before.settings, now)
            own = is_repair(run, self.site.home) or Path(run.source) == (self.home / before.woven).absolute()
            woven = before.woven if own else ""
            if settings != before.settings:
                off = len(_down(self.fabric, running)) if alike(running, self.fabric) else 0
                count = f"{off} of {len(self.fabric.links)} links off" if settings else "other links than this fabric's"
                self.tell(now, f"{run.source} runs, by the journal: {count}")
        if settings and not self.dry_run:
            self._note("found", settings, run.source)
        known = settings == before.settings
        self._remember(
            replace(
                before,
                settings=settings,
                applied=run.name,
                woven=woven,
                changed_at=before.changed_at if known or not before.applied else self._now(),
            )
        )

    def _settings_of(self, running: Fabric, remembered: tuple[str, ...], now: float) -> tuple[str, ...]:
        """Return the settings that a running fabric has: those remembered or due, others, or a list of its own.

        () where it is another fabric, or links are slower than any settings have them.
        """
        if not alike(running, self.fabric):
            return ()
        known = [(ALL_ON,), (due(self.table, now),), *((name,) for name in self.table.names)]
        for names in ([remembered] if remembered else []) + known:
            with contextlib.suppress(InputError):
                if same_speeds(self._target(names)[0], running):
                    return names
        ends = links_off(self.fabric, running)
        if ends is None:
            return ()
        name = list_name(ends)
        self.table = replace(self.table, links={**self.table.links, name: ends})
        return (name,)

    def _applied(self) -> str:
        run = self._journal.applied()
        return run.name if run is not None else ""

    # --- what is done ------------------------------------------------------------------------------------------------

    def _change(self, now: float, names: tuple[str, ...], why: str) -> None:
        fabric, regulated = self._target(names)
        what = " + ".join(name if name in self.table.links else name.rpartition("/")[2] for name in names)
        off, lacks = _down(self.fabric, fabric), lost_speed_steps(self.fabric, fabric)
        before = (
            self._lost_speed_steps(self._standing.settings) if self._standing.settings else frozenset[tuple[int, int]]()
        )
        count = f"{len(off)} of {number_of(len(self.fabric.links), 'link')} off"
        if slower := {link for link, _ in lacks} - off:
            count += f", {len(slower)} slowed"
        lowered = bool(lacks - before) and not before - lacks and bool(self._standing.settings)
        self.pending = True
        if self.dry_run:
            self.tell(now, f"would change to {what}: {count} ({why})")
            self._standing = changed(self._now(), names, self._standing, lowered=lowered)
            return
        self._note("begun", names, why)
        try:
            switches, stopped = self._lead(fabric, regulated)
        except (TagloomError, OSError) as error:
            self._may_lack |= before | lacks
            self._failed(one_line(error), names)
            raise
        if stopped:
            self._note("stopped", names, "asked to end between two waves")
            self.tell(self.clock.now(), f"{what}: stopped between two waves; the next start goes on")
            raise KeyboardInterrupt
        self._sure, self.pending = True, False
        self._retry_seconds, self._retry_at, self._may_lack = FIRST_RETRY_SECONDS, 0.0, frozenset()
        self._note("done", names, why)
        self._remember(changed(self._now(), names, self._standing, lowered=lowered), self._applied())
        reported = f"changed {number_of(switches, 'switch')}" if switches else "the switches hold it already"
        self.tell(self.clock.now(), f"{what}: {count} ({why}); {reported}")

    def _reweave(self, now: float, watch: ReweaveWatch, decision: Decision) -> None:
        """Lead a fabric with all links on to other paths where measured traffic calls for them.

        A change that is refused before anything was sent leaves the paths; after one that failed, those of the settings
        are led to. Raises what failed, KeyboardInterrupt if it was stopped.
        """
        if not decision.settings == self._standing.settings == (ALL_ON,):
            watch.forget()  # settings with links off have paths of their own
            return
        wait = "" if self.windows.is_open(now) else "waits for a maintenance window"
        woven = watch.look(self._now(), self._seen, self._standing, wait)
        if woven is None or (self.repairs is not None and self.repairs.look()):  # planning took its time
            return
        why, directory = watch.status.why, next(name for name in WOVEN if name != self._standing.woven)
        self._note("reweave-begun", (ALL_ON,), why)
        try:
            switches, stopped = self._lead(self.fabric, None, woven, directory)
        except (PlanError, InputError) as error:
            refused = one_line(error)
            watch.failed(refused)
            self._note("reweave-refused", (ALL_ON,), refused)
            self.tell(self.clock.now(), f"paths stay: {refused}")
            return
        except (TagloomError, OSError) as error:
            watch.failed(one_line(error))
            self._failed(watch.status.why, (ALL_ON,), "reweave-failed")
            raise
        if stopped:
            self._note("reweave-stopped", (ALL_ON,), "asked to end between two waves")
            self.tell(self.clock.now(), "other paths: stopped between two waves; the next start goes on")
            raise KeyboardInterrupt
        watch.done()
        self._note("rewoven", (ALL_ON,), why)
        self._remember(rewoven(self._now(), directory, self._standing), self._applied())
        self.tell(self.clock.now(), f"paths woven anew: {why}; changed {number_of(switches, 'switch')}")

    def _woven(self) -> WovenPaths | None:
        """Return the paths that were woven for measured traffic and stand; None where nobody has them any more."""
        if not self._standing.woven:
            return None
        try:
            return read_woven(self.home / self._standing.woven)
        except (InputError, PlanError) as error:
            said = one_line(error)
            self.tell(self.clock.now(), f"paths woven for measured traffic cannot be read again: {said}")
            return None

    def _confirm(self, now: float, names: tuple[str, ...]) -> None:
        """Once after a start, make sure that the switches hold what was remembered."""
        if self._sure or self.dry_run:
            return
        fabric, regulated = self._target(names)
        woven = self._woven()
        again = (woven, self._standing.woven) if woven is not None else ()
        try:
            switches, stopped = self._lead(fabric, regulated, *again)
        except PlanError as error:
            if woven is None:
                raise
            self.tell(now, f"paths woven for measured traffic are given up: {str(error).replace(chr(10), '; ')}")
            woven = None
            switches, stopped = self._lead(fabric, regulated)
        if stopped:
            raise KeyboardInterrupt
        self._sure = True
        if woven is None and self._standing.woven:
            self._remember(replace(self._standing, woven=""))
        what = f"put {number_of(switches, 'switch')} back" if switches else "the switches hold it still"
        self.tell(now, f"{' + '.join(names)}: remembered; {what}")

    def _lead(
        self, fabric: Fabric, regulated: RegulateResult | None, woven: WovenPaths | None = None, directory: str = BUILD
    ) -> tuple[int, bool]:
        """Plan, prove, order and push; return how many switches changed, and whether it was stopped between waves.

        A run that was interrupted is finished first. The plan is made beside what the switches run: a VLAN id in use is
        not given to another tree. What was changed by hand is not overwritten. Paths that are `woven` for traffic are
        led to only by waves that cut off no pair. The build is written to `directory`.
        """
        options = apply.ApplyOptions(allow_interrupt=self.allow_interrupt and woven is None)
        with self.context(self.next_site()) as context:
            run = context.journal.unfinished(fabric.name)
            if run is not None and run.proven and run.wave:
                if not self._journal.is_own(run):
                    raise unfinished(run)
                if self._sound(apply.resume(context, run, options)).stopped:
                    return 0, True
        running, base = self._journal.running(fabric), self._journal.base(fabric)
        with self.context(self.next_site()) as context:
            context.ansible.start()  # which takes a second or two, while paths are planned
            protect = self.table.protect or protection_applied(context.journal, context.site.home)
            weave = partial(self._prepared, fabric, regulated, protect=protect, woven=woven, directory=directory)
            kept = next((each for each in (running, base) if each and same_speeds(each.fabric, fabric)), None)
            kept = kept if regulated is None or regulated.routes is None else None
            build, prepared = weave(running, kept) if woven is None else weave(None)

            found: list[waves.Survey] = []
            try:
                result = apply.look_and_apply(context, prepared, options, on_found=found.append)
            except PlanError:
                if not found:
                    raise
                build, prepared = weave(replace(build, state=found[0].read))
                result = apply.look_and_apply(context, prepared, options)
            if woven is not None and result.refused:
                raise PlanError(result.interrupted.rule, result.interrupted.sentence)
            outcomes = self._sound(result)
        return len(outcomes.changed), outcomes.stopped

    @staticmethod
    def _sound(result: apply.Result) -> Outcomes:
        """Return the outcomes of a push. Raises PlanError for changes by hand, DeviceError for faults."""
        outcomes = result.outcomes
        if result.drift:
            next_step = "tagloom apply with --drift keep or --drift overwrite"
            advice = tuple(f"apply BUILD --drift {each}" for each in ("keep", "overwrite"))
            raise PlanError("what was changed by hand is not overwritten", str(result.drift[0]), next_step, advice)
        if result.refused:
            next_step, advice = "tagloom run with --allow interrupt", ("run --allow interrupt",)
            raise PlanError(result.interrupted.rule, result.interrupted.sentence, next_step, advice)
        if outcomes.failed or outcomes.error:
            bad = next((each for each in outcomes.outcomes if each.failed), None)
            raise DeviceError(
                bad.switch if bad else "run", bad.command if bad else "", bad.error if bad else outcomes.error
            )
        return outcomes

    def _prepared(
        self,
        fabric: Fabric,
        regulated: RegulateResult | None,
        previous: Build | None,
        kept: Build | None = None,
        *,
        protect: str,
        woven: WovenPaths | None,
        directory: str,
    ) -> tuple[Build, PreparedChange]:
        templates = self.site.share / "templates"
        if woven is None:
            build, proof, texts = _planned(fabric, templates, previous, kept, regulated, protect)
        elif previous is None:
            build, proof, texts = woven.build, woven.proof, dict(woven.texts)
        else:
            build, proof, texts = woven_beside(woven, previous, templates, protect)
        if not proof.proven:
            raise PlanError("settings must prove before they are pushed", str(proof.findings[0]), "tagloom timetable")
        place = self.home / directory
        payloads = host_pages(build, sleeping=regulated.sleeping_hosts if regulated is not None else ())
        write_build(build, proof, texts, place, hosts=payloads)
        prepared = prepare.prepare(place)
        if not prepared.proof.proven:
            raise PlanError("settings must prove before they are pushed", str(prepared.proof.findings[0]))
        return build, prepared

    def next_site(self) -> Site:
        """Return a name of its own to each run, so that none writes over another's outcomes and backups."""
        self._runs += 1
        return replace(self.site, run=f"{self.site.run}-{self._runs}")

    def _failed(self, why: str, names: tuple[str, ...] = (), kind: str = "failed") -> None:
        now = self.clock.now()
        if names:  # a change failed, and what runs now is not known
            self._note(kind, names, why)
            self._remember(replace(self._standing, settings=()))
            self._retry_at = self._now() + self._retry_seconds
            self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)
        elif self._said != why:
            self._said = why
            self.tell(now, f"failed: {why}; tried again in {max(0.0, self._retry_at - self._now()):.0f} s")

    def _remember(self, standing: TimetableProgress, applied: str = "") -> None:
        self._standing = standing = replace(standing, applied=applied or standing.applied)
        if not self.dry_run:
            self._keep(lambda: self.memory.remember(standing))

    def runs_and_protection(self) -> tuple[Runs, str]:
        """Return what the journal says that runs, and the failures for which plans install detours."""
        with self.context(self.next_site()) as context:
            home = context.site.home
            return what_runs(context), self.table.protect or protection_applied(context.journal, home)

    def note_decision(self, kind: str, parts: tuple[str, ...], why: str) -> None:
        """Keep what repair, or the comparison of paths, has decided, and why."""
        self._note(kind, parts, why)

    def _note(self, kind: str, names: tuple[str, ...], why: str) -> None:
        self._keep(lambda: self.memory.note(self.clock.now(), kind, names, why))

    def _keep(self, write: Callable[[], None]) -> None:
        """Write what is to be remembered. Where that fails (a full disk), say so once, and go on regulating."""
        try:
            write()
            if self._forgetful:
                if self._standing.settings:  # what was done meanwhile
                    self.memory.note(self.clock.now(), "done", self._standing.settings, "remembered late")
                self.memory.remember(self._standing)
                self._forgetful = False
                self.tell(self.clock.now(), "what is done is remembered again")
        except (InputError, OSError) as error:
            if not self._forgetful:
                self.tell(self.clock.now(), f"what is done cannot be remembered, and is done all the same: {error}")
            self._forgetful = True

    def _reweave_status(self) -> ReweaveStatus:
        status = self.reweaves.status if self.reweaves is not None else ReweaveStatus()
        return replace(status, woven=bool(self._standing.woven))

    def _status(self, now: float, scheduled: str, share: float | None, jobs: int) -> None:
        names = self._standing.settings
        fabric = self._target(names)[0] if names else self.fabric
        coming, unknown = upcoming(self.table, now, 8.0), power_unknown(self.fabric)
        if self._forgetful:
            self._remember(self._standing)
        with contextlib.suppress(InputError):
            self._counts = self.memory.counts()
        try:
            self.show(
                ClockStatus(
                    now,
                    names,
                    scheduled,
                    self._standing.raised,
                    len(_down(self.fabric, fabric)),
                    None if unknown else fabric_watts(fabric),
                    None if unknown else fabric_watts(self.fabric),
                    share,
                    jobs,
                    coming[0][0] if coming else None,
                    *self._counts,
                    replace(self.repairs.status, mode=self.repairs.mode) if self.repairs is not None else DeadStatus(),
                    self._reweave_status(),
                    self._sight,
                )
            )
            self._unshown = False
        except (InputError, OSError) as error:
            if not self._unshown:
                self.tell(now, f"how it stands cannot be shown: {error}")
            self._unshown = True


def _planned(
    fabric: Fabric,
    templates: Path,
    previous: Build | None,
    kept: Build | None,
    regulated: RegulateResult | None,
    protect: str,
) -> tuple[Build, Findings, dict[str, str]]:
    """Plan a fabric beside what runs, over the paths of a build that has its links, where that can be."""
    planned = partial(plan, fabric, templates, regulated=regulated, protect=protect)
    if kept is not None:
        same = {"assignment": kept.assignment, "static_arp": kept.duplicates_allowed}
        with contextlib.suppress(PlanError, InputError):
            return planned(previous=previous, keep=kept, **same)  # type: ignore[arg-type]  # its own keywords
    if previous is not None:
        with contextlib.suppress(PlanError, InputError):
            return planned(previous=previous)
    return planned()


def _down(whole: Fabric, fabric: Fabric) -> frozenset[int]:
    """List the links that are up in the whole fabric and not in another of its cabling."""
    pairs = enumerate(zip(whole.links, fabric.links, strict=True))
    return frozenset(i for i, (a, b) in pairs if a.up and not b.up)
