"""Watch a running fabric for what dies, and repair it by itself or propose to: at each look, beside the timetable."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from tagloom.apply.abort import JOURNAL, at_work
from tagloom.errors import TagloomError, one_line
from tagloom.operate.one_way_links import OneWayLinks
from tagloom.operate.repair import AtOnce, RepairOptions, repair, waves_around
from tagloom.operate.repair_detour import dead_for
from tagloom.operate.repair_runs import assess, assess_ends, what_runs
from tagloom.operate.repair_spare import Spare, spares
from tagloom.operate.repair_target import target
from tagloom.platforms.port_names import link_name
from tagloom.records.fabric_pair import alike
from tagloom.records.timetable import DeadStatus
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tagloom.apply.pusher import DirectPusher
    from tagloom.apply.site import Site
    from tagloom.operate.ready_waves import ReadyWaves
    from tagloom.operate.repair import Repair
    from tagloom.operate.repair_runs import Assessment, Poll, Runs
    from tagloom.operate.waves import ApplyContext
    from tagloom.records.build import Build
    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation

SHOWN, UNHEARD = "as SNMP shows it", "both ends are up, and one receives nothing that the other sends"
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 15.0, 900.0
READY_SECONDS = 2.5  # at most after a look, and half of the time between two: to prove detours beforehand
READY_CHARACTERS = 1 << 26  # of the texts that proven detours hold in memory


class Note(Protocol):
    """Keep a decision: what happened, to which parts, and why."""

    def __call__(self, kind: str, parts: tuple[str, ...], why: str) -> None:
        """Write it down."""
        ...


@dataclass(eq=False)
class RepairWatch:
    """Look for dead parts, and act on them as the operator wants: `mode` auto or propose.

    `next_site` names each run; `context` takes the fabric's lock for one of them; `steady` is a clock nobody sets.
    `tell` takes a line for people, `note` every decision for the journal, `event` the same for a command of the
    operator's. `status` is how it stands. `direct` makes what reads and sends over open sessions, for each repair; else
    Ansible does. While nothing is dead, the detours and spares of what runs are proven one after the other, so that
    they need only be sent. `notified` takes, from another thread, the names of switches that told of something:
    `poll_some` reads these first.
    """

    mode: str
    whole: Fabric
    poll: Poll
    poll_some: Callable[[Fabric, Collection[str]], dict[str, Observation]]
    next_site: Callable[[], Site]
    context: Callable[[Site], AbstractContextManager[ApplyContext]]
    steady: Callable[[], float]
    tell: Callable[[str], None]
    note: Note
    event: Callable[[Mapping[str, Any]], None]
    hold_seconds: float = 300.0
    every_seconds: float = 5.0
    allow_interrupt: bool = False
    direct: Callable[[], DirectPusher] | None = None
    status: DeadStatus = field(default_factory=DeadStatus)
    trouble: str = ""
    pending: bool = False  # whether the last repair was only proposed, or left something to do
    notified: deque[str] = field(default_factory=deque)
    _site: Site | None = None
    _one_way: OneWayLinks | None = None
    _runs: Runs | None = None
    _journal_at: int = -1
    _seen: tuple[str, ...] = ()
    _down_at: dict[str, float] = field(default_factory=dict)  # when parts were last seen to be dead
    _tried: object = None
    _retry_at: float = 0.0
    _retry_seconds: float = FIRST_RETRY_SECONDS
    _said: str = ""
    _shown: Mapping[str, Observation] = field(default_factory=dict)  # by the last look at all
    _ready: dict[tuple[str, ...], ReadyWaves] = field(default_factory=dict)
    _unready: list[Detour | Spare] = field(default_factory=list)

    def look(self) -> bool:
        """Look once and act; return whether something is dead or paths are not home, so that settings have to wait.

        What fails is told, and tried again later. While another command works on the switches nothing is done.
        """
        if self._site is None:
            self._site = self.next_site()
            self._one_way = OneWayLinks(self._site.home, self.tell)
        if at_work(self._site.home):
            return self.status.away
        try:
            runs = self._what_runs(self._site)
            if runs is None:
                return False
            found = self._notified_of(runs) or assess(runs, self.whole, self._look_at_all, self.hold_seconds)
        except (TagloomError, OSError) as error:
            self.trouble = one_line(error)
            self._say_once(f"not known what is dead: {self.trouble}")
            return self.status.away
        self._said = self.trouble = ""
        self._heed(found)
        if not found.to_do:
            self._tried = None
        if not self._flaps(found) and found.to_do:
            self._do(found)
        elif self.mode == "auto" and runs.at_home and not found.to_do:
            self._get_ready(runs, self._site.share / "templates")
        return self.status.away

    def _look_at_all(self, fabric: Fabric) -> dict[str, Observation]:
        assert self._one_way is not None  # noqa: S101 - the look has begun
        self.notified.clear()
        self._shown = seen = self._one_way.looking(self.poll)(fabric)
        return seen

    def _notified_of(self, runs: Runs) -> Assessment | None:
        """Return what switches that told of something show, None where all have to be looked at."""

        def tellers() -> set[str]:
            return {self.notified.popleft() for _ in range(len(self.notified))} & runs.home.fabric.index.keys()

        if self.mode != "auto" or not (self.notified and self._shown and runs.at_home):
            return None
        return assess_ends(runs, self.whole, self._shown, tellers, self.poll_some, self.hold_seconds)

    def _get_ready(self, runs: Runs, templates: Path) -> None:
        """Prove some of the detours and spares of what runs, for as long as that holds nothing up."""
        end = self.steady() + min(READY_SECONDS, self.every_seconds / 2)
        while self._unready and self.steady() < end and not self.notified:
            way, home = self._unready.pop(), runs.home.fabric
            whole = self.whole if isinstance(way, Spare) else home
            around = target(home, home, whole, dead_for(home, way.dead))
            waves = waves_around(runs, around.fabric, way, templates) if way.dead not in self._ready else None
            if waves is not None and waves.complete:
                self._ready[way.dead] = waves
            if sum(each.text_characters for each in self._ready.values()) > READY_CHARACTERS:
                self._unready.clear()  # the others are proven when they are needed

    def _what_runs(self, site: Site) -> Runs | None:
        """Return what runs, read anew if the journal was written since; None if nothing was applied yet.

        Raises InputError if it cannot be read; the next look opens it anew.
        """
        path = site.home / JOURNAL
        if not path.exists():
            return None
        at = max(each.stat().st_mtime_ns for each in path.parent.glob(f"{path.name}*"))
        if self._runs is None or at != self._journal_at:
            with self.context(site) as context:
                self._runs = what_runs(context) if context.journal.applied() is not None else None
            runs = self._runs
            self._ready, self._unready = {}, self._known_ways(runs.home) if runs is not None and runs.at_home else []
            self._journal_at = max(each.stat().st_mtime_ns for each in path.parent.glob(f"{path.name}*"))
        return self._runs

    def _known_ways(self, home: Build) -> list[Detour | Spare]:
        """Return the detours and spares of what runs; the last come first, so a detour before a spare for its link."""
        beside = spares(home.fabric, self.whole) if alike(self.whole, home.fabric) else []
        return [*beside, *home.detours]

    def _heed(self, found: Assessment) -> None:
        """Announce what died and what is back since the last look, and note how it stands."""
        dead = tuple(part for part in (*found.dead_switches, *found.dead_links) if part not in found.dead.back)
        lost = self._one_way.lost if self._one_way is not None else ()
        unheard = {link_name(found.runs.home.fabric, i) for i in lost}
        fresh = [part for part in dead if part not in self._seen]
        for kind, parts, why in (
            ("dead", [part for part in fresh if part not in unheard], SHOWN),
            ("dead", [part for part in fresh if part in unheard], UNHEARD),
            ("back", self._back(dead), SHOWN),
        ):
            if parts:
                self._announce(kind, tuple(parts), why)
        self._seen = dead
        self.status = replace(
            self.status,
            dead_links=len(found.dead_links),
            dead_switches=len(found.dead_switches),
            away=bool(found.dead.links) or found.is_away,
        )

    def _back(self, dead: tuple[str, ...]) -> list[str]:
        return [part for part in self._seen if part not in dead]

    def _flaps(self, found: Assessment) -> bool:
        """Return whether all that is new is back for less than `hold_seconds` by this clock: not all switches tell."""
        known, now = found.runs.known, self.steady()
        self._down_at |= {
            part: now for part in (*found.dead_switches, *found.dead_links) if part not in found.dead.back
        }
        died = found.dead.links - known.links or found.dead.switches - known.switches
        back = (now - self._down_at.get(part, -math.inf) for part in found.dead.back)
        return not died and any(seconds < self.hold_seconds for seconds in back)

    def _do(self, found: Assessment) -> None:
        """Repair, or propose to, once for each thing that is to be done; what failed is tried again after a while."""
        wanted = found.wanted.fabric
        key = tuple((link.up, link.dead) for link in wanted.links), tuple(s.up for s in wanted.switches)
        if key != self._tried:
            self._retry_at, self._retry_seconds = 0.0, FIRST_RETRY_SECONDS
        elif self.mode != "auto" or self.steady() < self._retry_at:
            return
        self._tried = key
        self._retry_at = self.steady() + self._retry_seconds
        self._retry_seconds = min(2 * self._retry_seconds, LONGEST_RETRY_SECONDS)
        options = RepairOptions(self.mode != "auto", self.hold_seconds, self.allow_interrupt)
        try:
            with self.context(self.next_site()) as opened:
                context = opened if self.direct is None else replace(opened, direct=self.direct())
                done = repair(context, self.whole, self._look_at_all, options, AtOnce(found, self._ready))
        except (TagloomError, OSError) as error:
            self.status = replace(self.status, failures=self.status.failures + 1)
            self._announce("repair-failed", self._seen, one_line(error))
            return
        self._runs = None  # what runs is another thing now
        self._reported(done)

    def _reported(self, done: Repair) -> None:
        """Announce what became of a repair."""
        good = done.result is None or (done.result.good and not done.pairs_left)
        self.pending = done.pending
        kind = "repair-proposed" if done.proposed else "repaired" if good else "repair-failed"
        figures = f"{done.pairs_restored} of {number_of(done.pairs_cut, 'pair')} restored by {done.means or 'nothing'}"
        if done.pairs_apart:
            figures += f", {done.pairs_apart} joined by no cable ({', '.join(done.hosts_apart)})"
        why = f"{done.reason}; {figures} in {done.seconds:.1f} s"
        if done.proposed:
            why = f"{why.replace('pairs restored', 'pairs would be restored')}: tagloom repair does it"
        elif not good and done.result is not None:
            cut, outcomes = done.result.interrupted, done.result.outcomes
            failed = f"failed: {', '.join(outcomes.failed)}" if outcomes.failed else outcomes.error
            why += f"; {cut.rule}" if done.result.refused else f"; {failed}" if failed else ""
        self.status = replace(
            self.status,
            pairs_cut=done.pairs_cut if done.proposed else done.pairs_cut - done.pairs_restored,
            repairs=self.status.repairs + (kind == "repaired"),
            failures=self.status.failures + (kind == "repair-failed"),
        )
        self._announce(kind, (*done.dead_switches, *done.dead_links), why, done)

    def _announce(self, kind: str, parts: tuple[str, ...], why: str, done: Repair | None = None) -> None:
        what = ", ".join(parts) or "nothing is dead"
        self.tell(f"{kind}: {what}: {why}")
        self.note(kind, parts, why)
        more = {} if done is None else done.figures
        self.event({"event": kind, "fabric": self.whole.name, "parts": list(parts), "why": why, **more})

    def _say_once(self, text: str) -> None:
        if text != self._said:
            self._said = text
            self.tell(text)
