"""The files of one run, through which a command and Ansible's plugins exchange their progress."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.apply.outcomes import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@dataclass(frozen=True, slots=True)
class Job:
    """What one run must do.

    build        the directory of a build or a rollout
    check        only read, and report what would be sent
    limit        the switches it may reach; none = all of Ansible's limit
    first_wave   the first wave; `last_wave` the last, 0 = the last there is
    proven       the digests of the configurations before the first wave, and after each; none = unknown
    own_lines    the operator's own lines of switches, as from `SiteLine.to_json`; `only_own` sends these alone
    access       nothing is read or sent: the command wants the switches' login variables
    reload_seconds  after which a switch that is sent lines is to reload, unless all goes well; 0 = it is not told to
    call_off     the switches that an older push may have told to reload
    journal      the journal's file, "" = none; `run` is the run's number in it
    """

    build: Path
    check: bool = False
    limit: tuple[str, ...] = ()
    first_wave: int = 0
    last_wave: int = 0
    proven: tuple[str, ...] = ()
    journal: str = ""
    run: int = 0
    own_lines: Mapping[str, list[dict[str, Any]]] = field(default_factory=dict)
    only_own: bool = False
    reload_seconds: float = 0.0
    call_off: tuple[str, ...] = ()
    access: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values; `from_json` reads them back."""
        return asdict(self) | {"build": str(self.build)}

    @classmethod
    def from_json(cls, plain: dict[str, Any]) -> Job:
        """Return the job from the output of `to_json`."""
        return cls(
            **plain
            | {"build": Path(plain["build"]), "limit": tuple(plain["limit"]), "proven": tuple(plain["proven"])}
            | {"call_off": tuple(plain["call_off"])}
        )


@dataclass(frozen=True, slots=True)
class RunDirectory:
    """The files of one run, written by the playbook's plugins: outcomes, backups, progress.

    One directory per run; a rerun in the same one starts over and keeps the older backups.
    """

    path: Path

    @property
    def outcomes(self) -> Path:
        """One JSON file per wave and switch."""
        return self.path / "outcomes"

    @property
    def backups(self) -> Path:
        """Whole running configurations, with secrets: mode 0600 in 0700."""
        return self.path / "backups"

    def fault(self, switch: str) -> Path:
        """Return the file for the traceback of a tagloom bug at a switch."""
        return self.path / "faults" / f"{switch}.txt"

    @property
    def job(self) -> Path:
        """The run's job."""
        return self.path / "job.json"

    @property
    def stop(self) -> Path:
        """A file that exists if the run must end between two waves."""
        return self.path / "stop"

    @property
    def stop_now(self) -> Path:
        """A file that exists if the run must end before the next line."""
        return self.path / "stop-now"

    @property
    def begun(self) -> Path:
        """The number of the last wave begun."""
        return self.path / "begun"

    @property
    def completed(self) -> Path:
        """The number of the last wave complete on all its switches, and when."""
        return self.path / "landed"

    def links_up(self, wave: int) -> Path:
        """Return the file that exists once all links which a wave raised were seen up."""
        return self.path / f"links-up-{wave}"

    @property
    def hosts(self) -> Path:
        """The switches that the run reaches, after all limits."""
        return self.path / "hosts.json"

    @property
    def addresses(self) -> Path:
        """The host and port of each switch in Ansible's limit."""
        return self.path / "addresses.json"

    @property
    def held(self) -> Path:
        """By switch, the text of the state last read, from which the run was proven."""
        return self.path / "held.json"

    @property
    def order(self) -> Path:
        """The input for pushing each wave: a task's arguments would be templated for every switch."""
        return self.path / "order.json"

    @property
    def findings(self) -> Path:
        """What is wrong with the order itself, if that kept all switches from being reached."""
        return self.path / "findings.json"

    def start(self, job: Job) -> None:
        """Start a job with fresh files; backups stay."""
        reported = (self.stop, self.stop_now, self.begun, self.completed, self.hosts, self.order, self.findings)
        seen = self.path.glob("links-up-*")
        for old in (*self.outcomes.glob("*.json"), *reported, *seen, self.addresses, self.held):
            old.unlink(missing_ok=True)
        self.outcomes.mkdir(parents=True, exist_ok=True)
        self.job.write_text(json.dumps(job.to_json()), "utf-8")

    def read_job(self) -> Job:
        """Return the job that was started."""
        return Job.from_json(json.loads(self.job.read_text("utf-8")))

    def complete(self, wave: int) -> None:
        """Record that a wave is complete on all its switches now."""
        draft = self.completed.with_suffix(".new")  # who waits for links reads it meanwhile
        draft.write_text(json.dumps([wave, time.monotonic()]), "utf-8")
        draft.replace(self.completed)

    def completed_at(self, wave: int) -> float | None:
        """Return when a wave was complete on all its switches, on the monotonic clock; None if it was not the last."""
        if not self.completed.is_file():
            return None
        number, at = json.loads(self.completed.read_text("utf-8"))
        return float(at) if number == wave else None

    def write(self, outcome: Outcome) -> None:
        """Write an outcome for `read`, atomically."""
        self.outcomes.mkdir(parents=True, exist_ok=True)
        path = self.outcomes / f"{outcome.number}.{outcome.switch}.json"
        draft = path.with_suffix(".new")
        draft.write_text(json.dumps(outcome.to_json()) + "\n", "utf-8")
        draft.replace(path)

    def read(self, found: dict[str, Outcome]) -> Iterator[Outcome]:
        """Yield the outcomes written since, and add them to `found` by file name."""
        for path in self._written(lambda name: name not in found):
            found[path.name] = Outcome.from_json(json.loads(path.read_text("utf-8")))
            yield found[path.name]

    def last_read(self) -> dict[str, str]:
        """Return by switch the text of the state last read: in this run, else before it."""
        known: dict[str, str] = json.loads(self.held.read_text("utf-8")) if self.held.is_file() else {}
        for outcome in self.read({}):
            if outcome.failed:
                known.pop(outcome.switch, None)
            elif outcome.read:
                known[outcome.switch] = outcome.after
        return known

    def read_switch(self, switch: str) -> list[Outcome]:
        """Return the outcomes of one switch, wave by wave."""
        found = self._written(lambda name: name.partition(".")[2] == f"{switch}.json")
        return [Outcome.from_json(json.loads(path.read_text("utf-8"))) for path in found]

    def _written(self, wanted: Callable[[str], bool]) -> list[Path]:
        """Return the outcome files with a wanted name, wave by wave."""
        found = (path for path in self.outcomes.glob("*.json") if wanted(path.name))
        return sorted(found, key=lambda each: int(each.name.partition(".")[0]))


def request_stop(directory: Path, *, now: bool = False) -> None:
    """Ask the run of a directory to end after its current wave, or before the next line of any switch."""
    files = RunDirectory(directory)
    files.stop.touch()
    if now:
        files.stop_now.touch()
