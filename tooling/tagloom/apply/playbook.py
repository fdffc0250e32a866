"""Run the apply playbook for a build, and gather what became of every switch."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.apply.build import WaveOrder, between, read_waves
from tagloom.apply.outcomes import Fault, Outcome, Outcomes
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    Progress = Callable[[Outcome], None]
    Go = Callable[[Sequence[str], Progress | None], Outcomes]

WORD = b"g"  # what tells a run that waits to go
_POLL_SECONDS = 0.1
_PATIENCE = 2  # interrupts that end a run in good order; the one after them does not
_TROUBLE = re.compile(r"ERROR|fatal:|FAILED!")


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """Name the files of one run, which the playbook's plugins write: outcomes, backups, Ansible's log.

    One directory per run; a rerun in the same one begins a new journal and keeps the older backups.
    """

    path: Path

    @property
    def outcomes(self) -> Path:
        """Hold one JSON file per wave and switch."""
        return self.path / "outcomes"

    @property
    def backups(self) -> Path:
        """Hold whole running configurations, secrets and all: mode 0600 in 0700."""
        return self.path / "backups"

    @property
    def log(self) -> Path:
        """Hold what ansible-playbook printed."""
        return self.path / "ansible.log"

    @property
    def stop(self) -> Path:
        """Exist when somebody wants the run to end between two waves."""
        return self.path / "stop"

    @property
    def stop_now(self) -> Path:
        """Exist when somebody wants the run to end before the next line."""
        return self.path / "stop-now"

    @property
    def begun(self) -> Path:
        """Hold the number of the wave that was begun last."""
        return self.path / "begun"

    @property
    def landed(self) -> Path:
        """Hold the number of the wave that landed last, on all its switches."""
        return self.path / "landed"

    def has_landed(self, wave: int) -> bool:
        """Tell whether a wave landed on all its switches."""
        return self.landed.is_file() and self.landed.read_text("utf-8") == str(wave)

    @property
    def hosts(self) -> Path:
        """Hold the switches that the run reaches for, as Ansible's limit left them."""
        return self.path / "hosts.json"

    @property
    def order(self) -> Path:
        """Hold what a push of each wave needs to know: a task's arguments would be templated for every switch."""
        return self.path / "order.json"

    @property
    def findings(self) -> Path:
        """Hold what is wrong with the order itself, where that kept every switch from being reached."""
        return self.path / "findings.json"

    def write(self, outcome: Outcome) -> None:
        """Leave an outcome for `read`, whole or not at all."""
        self.outcomes.mkdir(parents=True, exist_ok=True)
        path = self.outcomes / f"{outcome.number}.{outcome.switch}.json"
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(outcome.as_json()) + "\n", "utf-8")
        draft.replace(path)

    def read(self, seen: set[str]) -> Iterator[Outcome]:
        """Give the outcomes written since, and add their file names to `seen`."""
        for path in self._written(lambda name: name not in seen):
            seen.add(path.name)
            yield Outcome.of_json(json.loads(path.read_text("utf-8")))

    def read_switch(self, switch: str) -> list[Outcome]:
        """Give what became of one switch, wave by wave."""
        found = self._written(lambda name: name.partition(".")[2] == f"{switch}.json")
        return [Outcome.of_json(json.loads(path.read_text("utf-8"))) for path in found]

    def _written(self, wanted: Callable[[str], bool]) -> list[Path]:
        """List the files of outcomes whose name is wanted, wave by wave."""
        found = (path for path in self.outcomes.glob("*.json") if wanted(path.name))
        return sorted(found, key=lambda each: int(each.name.partition(".")[0]))

    def start(self) -> None:
        """Begin a new journal; backups stay."""
        for old in (
            *self.outcomes.glob("*.json"),
            self.stop,
            self.stop_now,
            self.begun,
            self.landed,
            self.hosts,
            self.order,
            self.findings,
        ):
            old.unlink(missing_ok=True)
        self.outcomes.mkdir(parents=True, exist_ok=True)


def request_stop(directory: Path, *, now: bool = False) -> None:
    """Ask the run of a directory to end after the wave it is in, or before the next line of any switch."""
    files = RunDirectory(directory)
    files.stop.touch()
    if now:
        files.stop_now.touch()


@dataclass(frozen=True, slots=True)
class Booking:
    """Say where the workers of a run write down what they do, and what they hold on to while they live.

    journal     the journal's file; `run` is the run's number in it
    descriptor  an open file whose lock stays held until the last worker has ended
    """

    journal: Path
    run: int
    descriptor: int


@contextmanager
def started(
    build: Path,
    inventory: Path,
    *,
    directory: Path,
    share: Path,
    environment: Mapping[str, str],
    check: bool = False,
    limit: str = "",
    first_wave: int = 0,
    last_wave: int = 0,
    booking: Booking | None = None,
) -> Iterator[Go]:
    """Let Ansible start to push a build or a rollout with ``playbooks/apply.yml`` of `share`; give the word to go.

    Ansible needs a second, and waits for that word: left without it, it ends before it has reached for a switch.
    The word takes the fabric's switches in order, and gives every switch's outcome once all workers have ended.
    `directory` takes the run's files. `environment` is the process's, on which ours is laid. Waves are sent from
    `first_wave` up to `last_wave`, 0 being the last there is. The run is a process group of its own: an interrupt
    (KeyboardInterrupt) asks it to stop after the wave it is in and goes on waiting; a second one before the next
    line, a third ends it. It also begins no further wave once this process is gone. A switch of which a begun wave
    brought no word has failed. Raises InputError where nothing could be begun: no build, or none of this inventory; no
    host of that limit.
    """
    began = time.monotonic()
    waves = between(read_waves(build), first_wave, last_wave, check=check)
    files = RunDirectory(directory.absolute())
    files.start()
    # Ansible and its workers inherit one end of each: the first tells them that we live, the second us that they do.
    ours, theirs = os.pipe(), os.pipe()
    arguments = {
        "tagloom_apply_build": str(build.absolute()),
        "tagloom_apply_directory": str(files.path),
        "tagloom_apply_first_wave": first_wave,
        "tagloom_apply_last_wave": last_wave,
        "tagloom_apply_controller": ours[0],
        **({"tagloom_apply_journal": str(booking.journal), "tagloom_apply_run": booking.run} if booking else {}),
    }
    command = [
        *(sys.executable, "-m", "ansible", "playbook", str(share / "playbooks" / "apply.yml")),
        *("--inventory", str(inventory_source(inventory)), "--extra-vars", json.dumps(arguments)),
        *(["--check"] if check else []),
        # A process for each switch: what became of it is read from the directory; its variables, by the push itself.
        *("--skip-tags", "tagloom_apply_outcome,always"),
        *(["--limit", limit] if limit else []),
    ]
    ends = [*ours, *theirs]
    process: subprocess.Popen[bytes] | None = None
    try:
        with files.log.open("wb") as log:
            process = subprocess.Popen(
                command,
                env=ansible_environment(environment, share),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(ours[0], theirs[1], *([booking.descriptor] if booking else [])),
            )
        os.close(theirs[1])
        ends.remove(theirs[1])

        def go(switches: Sequence[str], on_progress: Progress | None) -> Outcomes:
            os.write(ours[1], WORD)
            found = _follow(process, theirs[0], files, on_progress)
            if not files.hosts.is_file():
                raise InputError(_findings(files, inventory, limit))
            outcomes = _gather(files, tuple(switches), waves, found, process.returncode)
            return replace(outcomes, waves=max(wave.number for wave in waves), seconds=time.monotonic() - began)

        yield go
    finally:
        for end in ends:
            os.close(end)
        if process is not None:
            process.wait()


def ansible_environment(environment: Mapping[str, str], share: Path) -> dict[str, str]:
    """Give the environment in which Ansible finds our roles and plugins and keeps its own counsel."""
    return dict(environment) | {
        "LC_ALL": "C.UTF-8",  # Ansible does not start without a UTF-8 locale
        "ANSIBLE_ROLES_PATH": str(share / "roles"),
        "ANSIBLE_INVENTORY_PLUGINS": str(share / "playbooks" / "inventory_plugins"),
        "ANSIBLE_INVENTORY_ENABLED": "tagloom,auto,yaml,ini,host_list",
        "ANSIBLE_FORKS": "64",
        "ANSIBLE_NOCOWS": "1",
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "0",
        "ANSIBLE_STDOUT_CALLBACK": "default",
        "PYTHONUNBUFFERED": "1",
    }


def inventory_source(inventory: Path) -> Path:
    """Give the file to name to Ansible: of a directory its tagloom.yml, since Ansible would read every file in it."""
    page = inventory / "tagloom.yml"
    return page if page.is_file() else inventory


def _follow(
    process: subprocess.Popen[bytes], workers: int, files: RunDirectory, on_progress: Progress | None
) -> list[Outcome]:
    """Gather outcomes until the run and all its workers have ended; an interrupt asks them to stop."""
    found: list[Outcome] = []
    seen: set[str] = set()
    interrupts = 0
    while True:
        try:
            ended = _wait(process, workers)
            for outcome in files.read(seen):
                found.append(outcome)
                if on_progress is not None:
                    on_progress(outcome)
            if ended:
                return found
        except KeyboardInterrupt:
            interrupts += 1
            if interrupts > _PATIENCE:
                process.terminate()
            request_stop(files.path, now=interrupts > 1)


def _wait(process: subprocess.Popen[bytes], workers: int) -> bool:
    """Wait a moment; True where the process has ended, and whatever it forked: nobody holds the pipe `workers` then."""
    ended = bool(select.select([workers], [], [], _POLL_SECONDS)[0])
    return ended and process.wait() is not None


def _gather(
    files: RunDirectory, switches: tuple[str, ...], waves: Sequence[WaveOrder], found: list[Outcome], status: int
) -> Outcomes:
    order = {switch: place for place, switch in enumerate(switches)}
    reached = int(files.begun.read_text("utf-8")) if files.begun.is_file() else 0
    trouble = _trouble(files.log) if status else ""
    for wave in waves:
        if files.begun.is_file() and wave.number == reached:
            heard = {outcome.switch for outcome in found if outcome.number == reached}
            error = "no word from it: " + (trouble or "its push did not end")
            play = json.loads(files.hosts.read_text("utf-8"))
            silent = [s for s in play if s not in heard and (wave.switches is None or s in wave.switches)]
            found = [*found, *(Outcome(s, wave.name, reached, error=error, fault=Fault.DEVICE) for s in silent)]
    outcomes = tuple(sorted(found, key=lambda each: (each.number, order.get(each.switch, len(order)), each.switch)))
    failed = any(outcome.failed and outcome.fault is not Fault.STOPPED for outcome in outcomes)
    stopped = files.stop.exists() and status != 0 and not failed
    return Outcomes(switches, outcomes, reached=reached, stopped=stopped, error="" if failed or stopped else trouble)


def _findings(files: RunDirectory, inventory: Path, limit: str) -> tuple[Finding, ...]:
    if files.findings.is_file():
        return tuple(Finding(**each) for each in json.loads(files.findings.read_text("utf-8")))
    where = f"{inventory}, limit {limit!r}" if limit else str(inventory)
    return (Finding(where, "an inventory with switches to reach", _trouble(files.log)),)


def _trouble(log: Path) -> str:
    """Give the line in which Ansible says what stopped it."""
    lines = [line.strip() for line in log.read_text("utf-8", errors="replace").splitlines() if line.strip()]
    return next((line for line in lines if _TROUBLE.search(line)), lines[-1] if lines else "ansible-playbook is silent")
