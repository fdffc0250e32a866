"""Read and push over sessions that are open already, without Ansible: for repairs that must not wait."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any, Protocol

from tagloom.apply.build import proven_texts
from tagloom.apply.controller import Controller
from tagloom.apply.gate import Gate
from tagloom.apply.interrupts import counted
from tagloom.apply.outcomes import Fault, Outcome, Outcomes
from tagloom.apply.private_files import write_fault
from tagloom.apply.run_directory import RunDirectory, request_stop
from tagloom.apply.session import SwitchConnection
from tagloom.errors import InputError, PlanError, TagloomError
from tagloom.operate.one_switch import Reach, configure_one
from tagloom.operate.push_order import order_of
from tagloom.platforms import load
from tagloom.render import parse_configuration, site_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tagloom.apply.playbook import Lock as LockSwitches
    from tagloom.apply.playbook import Progress
    from tagloom.apply.run_directory import Job
    from tagloom.records.fabric import Fabric

    SeenUp = Callable[[Mapping[str, Collection[int]]], bool]

import_module("numpy.ma")  # before any thread begins that needs it: see adapters/worker_pool.py

MOST = 256  # switches that one process reads side by side; Ansible's takes a process for each processor
_POLL_SECONDS = 0.1
_AS_BY_HAND = Controller(-1)  # a gate hears of nobody but this process


@dataclass(frozen=True)
class DirectHost:
    """Where a switch is reached, and whether by a way that no VLAN can cut."""

    address: tuple[str, int]
    out_of_band: bool = False


class OpenConnection(SwitchConnection, Protocol):
    """A connection that may be logged in already."""

    @property
    def is_open(self) -> bool:
        """Return whether it is, as far as this end knows."""
        ...


class _Turn:
    """The word to begin, and whether all agree, for the switches of one wave."""

    def __init__(self, count: int) -> None:
        self.begun, self.begins = Event(), False
        self._decided, self._good = Event(), True
        self._left, self._counting = count, Lock()

    def __call__(self) -> bool:
        self.begun.wait()
        return self.begins

    def vote(self, good: bool) -> None:
        """Count one that stands well or not."""
        with self._counting:
            self._good &= good
            self._left -= 1
            if not self._left:
                self._decided.set()

    def decided(self) -> bool:
        """Wait until all have voted, and return whether all stand well."""
        self._decided.wait()
        return self._good


@dataclass
class _OneTurn:
    """One switch's part in that: it votes once, at the latest when it has ended."""

    whole: _Turn
    voted: bool = False

    def __call__(self) -> bool:
        return self.whole()

    def agree(self, good: bool) -> bool:
        self.end(good=good)
        return self.whole.decided()

    def end(self, *, good: bool = True) -> None:
        if not self.voted:
            self.voted = True
            self.whole.vote(good)


def _unseen(_ports: Mapping[str, Collection[int]]) -> bool:
    return False


@dataclass
class DirectPush:
    """Do the jobs that `apply.playbook.Ansible` does: `lend` gives a switch's open session.

    The locks, the journal, backups, what each switch must hold beforehand, the read-back, the save and the waits
    between waves are the same. A look that finds a session to have ended logs in once more. `seen_up` is asked whether
    ports of switches are up, both ends of their cables: where they are, a wait for links alone ends. What was read of a
    switch must still be there when lines are sent, so one of these serves one command.
    """

    hosts: Mapping[str, DirectHost]
    lend: Callable[[str], AbstractContextManager[OpenConnection]]
    templates: Path
    seen_up: SeenUp = _unseen
    _lock: LockSwitches = field(default=lambda _addresses: ())
    _held: dict[str, str] = field(default_factory=dict)  # the text of the state that each was last read to hold

    def hold(self, lock: LockSwitches) -> None:
        """Take the locks with `lock` on switches, by their addresses, before any of them is spoken to."""
        self._lock = lock

    def reaches(self, fabric: Fabric) -> bool:
        """Return whether all that is to be read or sent of a fabric can be: the operator's own lines need Ansible."""
        live = [switch.name for switch in fabric.live]
        return len(live) <= MOST and all(name in self.hosts for name in live) and not any(site_lines(fabric).values())

    def do(
        self,
        job: Job,
        directory: Path,
        switches: Sequence[str],
        *,
        meanwhile: Callable[[], object] = lambda: None,
        on_progress: Progress | None = None,
    ) -> Outcomes:
        """Do a job, and return the outcomes of its switches, once all of its waves have ended, or one has failed.

        As Ansible does: `meanwhile` is called while switches are waited for, an interrupt asks for an end. Raises
        PlanError for own lines of the operator's, InputError for a build that is none of these hosts.
        """
        began = time.monotonic()
        files = RunDirectory(directory.absolute())
        files.start(job)
        order = order_of(replace(job, build=job.build.absolute()), list(self.hosts), list(self.hosts))
        if order["own_lines"]:
            raise PlanError("lines of the operator's own are sent by Ansible", "this job has some", "")
        self._lock({name: self.hosts[name].address for name in order["hosts"]})
        push = _Waves(self, order, files, dict(self._held), on_progress)
        with ThreadPoolExecutor(1) as leader:  # so that an interrupt ends no wait of a wave's
            led = leader.submit(push.lead)
            try:
                meanwhile()
                push.may_begin = True
            finally:
                push.released.set()
            _wait_for(led, files)
        led.result()
        place = {name: number for number, name in enumerate(switches)}
        found = tuple(sorted(push.outcomes, key=lambda each: (each.number, place.get(each.switch, len(place)))))
        failed = any(each.failed and each.fault is not Fault.STOPPED for each in found)
        stopped = files.stop.exists() and bool(push.reason) and not failed
        outcomes = Outcomes(
            tuple(switches),
            found,
            reached=int(files.begun.read_text("utf-8")) if files.begun.is_file() else 0,
            waves=max(map(int, order["waves"])),
            error="" if failed or stopped else push.reason,
            stopped=stopped,
            seconds=time.monotonic() - began,
        )
        outcomes.remember(self._held, min(map(int, order["waves"])) if job.check else -1)
        return outcomes


@dataclass
class _Waves:
    """The waves of one job, one after the other; `released` once `may_begin` is decided.

    `held` is what switches must hold when lines are sent, `reason` says why it went no further.
    """

    by: DirectPush
    order: Mapping[str, Any]
    files: RunDirectory
    held: dict[str, str]
    on_progress: Progress | None
    may_begin: bool = False
    released: Event = field(default_factory=Event)
    outcomes: list[Outcome] = field(default_factory=list)
    reason: str = ""

    def lead(self) -> None:
        """Push wave after wave, for as long as each comes to its end on all its switches."""
        early: Callable[[], bool] = _never
        for number, wave in self.order["waves"].items():
            gate = Gate(self.files, self.order, int(number), _AS_BY_HAND, early=early)
            if not gate.reached:
                return
            if not gate.approach():
                self.reason = gate.reason
                return
            try:
                texts = self._texts(wave)
            except InputError as error:
                self.reason = f"stopped before wave {number}: {error}"
                return
            begun, outcomes = self._push_wave(wave, texts, gate)
            Outcomes((), tuple(outcomes)).remember(self.held)
            self.outcomes += outcomes
            if not begun:
                self.reason = gate.reason
                return
            if any(each.failed for each in outcomes):
                return
            early = _SeenOnce(self.by.seen_up, self._raised(wave, texts)) if wave["until_up"] else _never
            gate.close(early)

    def _texts(self, wave: Mapping[str, Any]) -> list[dict[str, str]]:
        """Read the configurations that a wave leads to, and those that it expects. Raises InputError."""
        own, folders = self.order["templates"].items(), (wave["configs"], wave["expected"])
        return [
            proven_texts(Path(folder), self.order["switches"], proven, own) if folder else {}
            for folder, proven in zip(folders, wave["proven"], strict=True)
        ]

    def _push_wave(
        self, wave: Mapping[str, Any], texts: Sequence[Mapping[str, str]], gate: Gate
    ) -> tuple[bool, list[Outcome]]:
        """Push one wave to all its switches side by side; return whether it was begun, and what became of them."""
        names: list[str] = list(wave["switches"])
        turn = _Turn(len(names))
        with ThreadPoolExecutor(max(1, len(names))) as threads:
            pushes = [threads.submit(self._push, name, wave, texts, turn) for name in names]
            try:
                self.released.wait()
                turn.begins = self.may_begin and gate.wait_for_wave()
            finally:
                turn.begun.set()
        return turn.begins, [outcome for each in pushes if (outcome := each.result()) is not None]

    def _push(
        self, name: str, wave: Mapping[str, Any], texts: Sequence[Mapping[str, str]], turn: _Turn
    ) -> Outcome | None:
        """Bring one switch to a wave's target; None where the wave was not begun."""
        mine = _OneTurn(turn)
        try:
            outcome = self._configured(name, wave, texts, mine)
        except (TagloomError, OSError) as error:
            outcome = _failed(name, wave, str(error))
        except Exception as error:  # noqa: BLE001 - a fault of ours is one switch's, and is told like any other
            said = write_fault(self.files.fault(name), error)
            outcome = _failed(name, wave, f"{said}; what it was about to send is in the journal")
        finally:
            mine.end()
        if not turn():
            return None
        self.files.write(outcome)
        if self.on_progress is not None:
            self.on_progress(outcome)
        return outcome

    def _configured(
        self, name: str, wave: Mapping[str, Any], texts: Sequence[Mapping[str, str]], turn: _OneTurn
    ) -> Outcome:
        held = None if self.order["check"] else self.held.get(name)
        with self.by.lend(name) as connection:
            reach = Reach(lambda _name, _platform: connection, self.by.templates, self.by.hosts[name].out_of_band)
            was_open = connection.is_open
            outcome = configure_one(name, self.order, wave, texts, reach, self.files, turn, held)
            if self.order["check"] and was_open and outcome.failed and not (outcome.read or connection.is_open):
                outcome = configure_one(name, self.order, wave, texts, reach, self.files, turn, held)
            return outcome

    def _raised(self, wave: Mapping[str, Any], texts: Sequence[Mapping[str, str]]) -> dict[str, list[int]]:
        """Return by switch the ports that a wave has switched on."""
        raised: dict[str, list[int]] = {}
        for name in wave["switches"]:
            own = tuple(sorted(self.order["templates"].items()))
            platform = load(self.order["models"][name], tuple(sorted(self.order["firmware"][name].items())), own)
            after, before = (parse_configuration(platform, each[name]).state.enabled for each in texts)
            raised[name] = [p + 1 for p in (after & ~before).nonzero()[0].tolist()]
        return raised


@dataclass
class _SeenOnce:
    """Whether ports are up: once they were all seen to be, yes."""

    seen_up: SeenUp
    ports: Mapping[str, Collection[int]]
    seen: bool = False

    def __call__(self) -> bool:
        self.seen = self.seen or self.seen_up(self.ports)
        return self.seen


def _never() -> bool:
    return False


def _failed(name: str, wave: Mapping[str, Any], error: str) -> Outcome:
    return Outcome(name, wave["name"], wave["number"], error=error, fault=Fault.CONTROLLER)


def _wait_for(led: Any, files: RunDirectory) -> None:
    """Wait until all waves have ended; an interrupt asks for an end between two, a second one before the next line."""
    with counted() as interrupts:
        while wait([led], timeout=_POLL_SECONDS).not_done:
            if number := interrupts.next():
                request_stop(files.path, now=number > 1)
