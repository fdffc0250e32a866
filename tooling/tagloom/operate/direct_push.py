"""Push one proven wave over sessions that are open already, without Ansible: for repairs that must not wait."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock
from typing import TYPE_CHECKING, Any

from tagloom.apply.build import proven_texts
from tagloom.apply.journal import Journal
from tagloom.apply.outcomes import Fault, Outcome, Outcomes
from tagloom.apply.private_files import write_fault
from tagloom.apply.run_directory import RunDirectory, request_stop
from tagloom.errors import PlanError, TagloomError
from tagloom.operate.one_switch import Reach, configure_one
from tagloom.operate.push_order import order_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from tagloom.apply.playbook import Lock as LockSwitches
    from tagloom.apply.playbook import Progress
    from tagloom.apply.run_directory import Job
    from tagloom.apply.session import SwitchConnection

_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class DirectHost:
    """Where a switch is reached, and whether by a way that no VLAN can cut."""

    address: tuple[str, int]
    out_of_band: bool = False


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


@dataclass
class DirectPush:
    """Do the jobs that `apply.playbook.Ansible` does, of one wave: `lend` gives a switch's open session.

    The lock, the journal, backups, what each switch must hold beforehand, the read-back and the save are the same.
    """

    hosts: Mapping[str, DirectHost]
    lend: Callable[[str], AbstractContextManager[SwitchConnection]]
    templates: Path
    _lock: LockSwitches = field(default=lambda _addresses: ())

    def hold(self, lock: LockSwitches) -> None:
        """Take the locks with `lock` on switches, by their addresses, before any of them is spoken to."""
        self._lock = lock

    def do(
        self,
        job: Job,
        directory: Path,
        switches: Sequence[str],
        *,
        meanwhile: Callable[[], object] = lambda: None,
        on_progress: Progress | None = None,
    ) -> Outcomes:
        """Push a job's one wave, and return the outcomes of its switches, once all have ended.

        As Ansible does: `meanwhile` is called while switches are waited for, an interrupt asks for an end. Raises
        PlanError for a job of several waves, InputError for a build that is none of these hosts.
        """
        began = time.monotonic()
        files = RunDirectory(directory.absolute())
        files.start(job)
        order = order_of(job, list(self.hosts), list(self.hosts))
        if len(order["waves"]) != 1 or job.check or order["own_lines"]:
            raise PlanError("what is pushed without Ansible is one wave", f"{len(order['waves'])} waves", "")
        (wave,) = order["waves"].values()
        texts = [
            proven_texts(Path(folder), order["switches"], proven, order["templates"].items())
            for folder, proven in zip((wave["configs"], wave["expected"]), wave["proven"], strict=True)
        ]
        names: list[str] = wave["switches"]
        self._lock({name: self.hosts[name].address for name in names})
        turn = _Turn(len(names))

        def push(name: str) -> Outcome:
            mine = _OneTurn(turn)
            try:
                outcome = self._push(name, order, wave, texts, files, mine)
            except (TagloomError, OSError) as error:
                outcome = _failed(name, wave, str(error))
            except Exception as error:  # noqa: BLE001 - a fault of ours is one switch's, and is told like any other
                said = write_fault(files.fault(name), error)
                outcome = _failed(name, wave, f"{said}; what it was about to send is in the journal")
            finally:
                mine.end()
            files.write(outcome)
            if on_progress is not None:
                on_progress(outcome)
            return outcome

        with ThreadPoolExecutor(max(1, len(names))) as threads:
            pushes = [threads.submit(push, name) for name in names]
            try:
                meanwhile()
                Journal(Path(job.journal)).begin_wave(job.run, wave["number"])
                files.begun.write_text(str(wave["number"]), "utf-8")
                turn.begins = True
            finally:
                turn.begun.set()
            _wait_for(pushes, files)
        outcomes = tuple(each.result() for each in pushes)
        seconds = time.monotonic() - began
        return Outcomes(tuple(switches), outcomes, reached=wave["number"], waves=wave["number"], seconds=seconds)

    def _push(
        self,
        name: str,
        order: Mapping[str, Any],
        wave: Mapping[str, Any],
        texts: Sequence[Mapping[str, str]],
        files: RunDirectory,
        turn: _OneTurn,
    ) -> Outcome:
        with self.lend(name) as connection:
            reach = Reach(lambda _name, _platform: connection, self.templates, self.hosts[name].out_of_band)
            return configure_one(name, order, wave, texts, reach, files, turn, None)


def _failed(name: str, wave: Mapping[str, Any], error: str) -> Outcome:
    return Outcome(name, wave["name"], wave["number"], error=error, fault=Fault.CONTROLLER)


def _wait_for(pushes: Sequence[Any], files: RunDirectory) -> None:
    """Wait until all have ended; an interrupt asks for an end between waves, a second one before the next line."""
    interrupts = 0
    while True:
        try:
            if not wait(pushes, timeout=_POLL_SECONDS).not_done:
                return
        except KeyboardInterrupt:
            interrupts += 1
            request_stop(files.path, now=interrupts > 1)
