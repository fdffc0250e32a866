"""Run the apply playbook, one job after another, and collect every switch's outcome."""

from __future__ import annotations

import json
import os
import re
import select
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from tagloom.apply.build import between, read_waves
from tagloom.apply.controller import ACCESS, GO, LOCK, MESSAGE_BYTES, PACKAGE, READY
from tagloom.apply.interrupts import counted
from tagloom.apply.outcomes import Fault, Outcome, Outcomes
from tagloom.apply.private_files import write_private
from tagloom.apply.run_directory import Job, RunDirectory, request_stop
from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tagloom.apply.build import WaveOrder
    from tagloom.apply.site import Site

    Progress = Callable[[Outcome], None]
    Lock = Callable[[Mapping[str, tuple[str, int]]], Sequence[int]]

_POLL_SECONDS = 0.1
_PATIENCE = 2  # interrupts that end a run in good order; the next one kills it
_TROUBLE = re.compile(r"ERROR|fatal:|FAILED!|failed:")
# Ansible's words for a fabric file that our inventory plugin refused, and a finding among them.
_REFUSED = re.compile(
    r"Failed to parse (?:inventory|\S+) with '?tagloom'? plugin: (.+?)\n(?:\n|\[WARNING\])", re.DOTALL
)
_FINDING = re.compile(r"(.+?): expected (.+), actual (.*)")
# Ansible's words for a vault without its password, and with another.
_NO_HOST = re.compile("no hosts to target|Could not match supplied host pattern")
_VAULT = re.compile(r"(?P<other>Decryption failed)|no vault secrets found")


class Ansible:
    """One ansible-playbook process that runs jobs one after another; leaving the context ends it.

    It runs ``playbooks/apply.yml`` of a site, on the switches of `limit`, Ansible's own pattern. It starts with the
    first job, or before, since that takes a second; without a job it ends without reaching a switch. It has a process
    group of its own, and starts nothing further once this process is gone. If it ended, it is started anew for the next
    job. Its output goes to the site's log, which is removed if there was no job.
    """

    def __init__(self, site: Site, limit: str = "") -> None:
        self.site, self.limit = site, limit
        self._lock: Lock = lambda _addresses: ()
        self._last_texts: dict[str, str] = {}  # by switch, the text of the state that was last read
        self._process: subprocess.Popen[bytes] | None = None
        self._line: socket.socket | None = None
        self._owed = 0  # READY messages due before the last job is over
        self._jobs = 0
        self._shown = 0  # bytes of the log before the current process's

    def __enter__(self) -> Self:
        """Return it unchanged."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.end()
        if not self._jobs:
            self.site.log.unlink(missing_ok=True)

    def hold(self, lock: Lock) -> None:
        """Set `lock`, which locks switches by their addresses before any of them is reached.

        All processes that reach switches hold the descriptors that it returns: the locks last until the last one has
        ended.
        """
        self._lock = lock

    def start(self) -> None:
        """Start the process unless it runs. Raises InputError if its log cannot be opened."""
        if self._line is not None and self._process is not None:
            if self._owed or self._process.poll() is None:  # one that ended before its first job says why
                return
            self.end()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [
            *playbook_words(
                self.site.share, "apply", self.site.inventory, controller=theirs.fileno(), package=str(PACKAGE)
            ),
            *(["--limit", self.limit] if self.limit else []),
        ]
        self._line, self._owed = ours, 1
        with theirs, self.site.open_log() as log:
            self._shown = log.tell()
            self._process = subprocess.Popen(
                command,
                env=ansible_environment(self.site.environment, self.site.share),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(theirs.fileno(),),
            )

    def end(self) -> int:
        """End the process, wait for it, and return its exit status."""
        if self._line is not None:
            self._line.close()
            self._line = None
        return self._process.wait() if self._process is not None else 0

    def do(
        self,
        job: Job,
        directory: Path,
        switches: Sequence[str],
        *,
        meanwhile: Callable[[], object] = lambda: None,
        on_progress: Progress | None = None,
    ) -> Outcomes:
        """Run one job, and return every switch's outcome, in the order of `switches`, once all workers have ended.

        `directory` takes the run's files. `meanwhile` is called during the logins to switches; an exception of it ends
        the job before anything else is requested. An interrupt (KeyboardInterrupt) asks the job to stop after its wave
        and keeps waiting, a second one to stop before the next line; a third ends it. A switch without a report on a
        begun wave has failed. A switch that an earlier job has read must still hold what was read. Raises InputError if
        nothing could start: no build, or none of this inventory; no host of that limit.
        """
        began = time.monotonic()
        job = replace(job, build=job.build.absolute())
        waves = between(read_waves(job.build), job.first_wave, job.last_wave, check=job.check)
        files = RunDirectory(directory.absolute())
        files.start(job)
        self.start()
        self._jobs += 1
        self._owed += 1
        if self._last_texts and not job.check:
            write_private(files.held, json.dumps(self._last_texts))
        self._say(os.fsencode(files.path))
        try:
            if self._receive_lock_request():
                self._say(LOCK, self._lock(_addresses(files)))
                meanwhile()
                self._say(GO)
        except BaseException:
            self.end()
            raise
        found, status = self._follow(files, on_progress)
        trouble = ""
        if status:  # earlier jobs went well, or it would have ended then
            trouble = trouble_in(self._shown_log())
        if not files.hosts.is_file():
            raise InputError(self._findings(files, trouble))
        outcomes = _gather(files, tuple(switches), waves, found, trouble, status)
        outcomes.remember(self._last_texts, waves[0].number if job.check else -1)
        return replace(outcomes, waves=max(wave.number for wave in waves), seconds=time.monotonic() - began)

    def access(self, directory: Path) -> dict[str, dict[str, Any]]:
        """Return each host's login variables, with secrets, as Ansible has them; they pass over the socket, not a file.

        `directory` takes the run's other files. Raises InputError if Ansible ended instead.
        """
        files = RunDirectory(directory.absolute())
        files.start(Job(files.path, access=True))
        self.start()
        self._jobs += 1
        self._owed += 1
        self._say(os.fsencode(files.path))
        found: dict[str, dict[str, Any]] = {}
        while self._line is not None and self._owed:
            said = self._receive(self._line)
            if said.startswith(ACCESS):
                name, variables = json.loads(said.removeprefix(ACCESS))
                found[name] = variables
        if self._line is None:
            self.end()
            raise InputError(self._findings(files, trouble_in(self.site.log.read_text("utf-8", errors="replace"))))
        return found

    def _receive_lock_request(self) -> bool:
        """Wait until the job is about to reach switches; return False if it ended instead."""
        while self._line is not None and self._owed:
            if self._receive(self._line) == LOCK:
                return True
        return False

    def _say(self, message: bytes, descriptors: Sequence[int] = ()) -> None:
        if self._line is None:
            return
        try:
            socket.send_fds(self._line, [message], descriptors)
        except (BrokenPipeError, ConnectionResetError):
            return  # it has ended, which the next receive notices

    def _follow(self, files: RunDirectory, on_progress: Progress | None) -> tuple[list[Outcome], int]:
        """Collect outcomes until the job is over; return them and the exit status, 0 if it still runs.

        An interrupt asks it to stop.
        """
        found: dict[str, Outcome] = {}
        with counted() as interrupts:
            while True:
                if number := interrupts.next():
                    if number > _PATIENCE and self._process is not None:
                        self._process.terminate()
                    request_stop(files.path, now=number > 1)
                if self._line is not None and self._owed:
                    self._receive(self._line)
                for outcome in files.read(found):
                    if on_progress is not None:
                        on_progress(outcome)
                if self._line is None:
                    return [*found.values()], self.end()
                if not self._owed:
                    return [*found.values()], 0

    def _receive(self, line: socket.socket) -> bytes:
        """Wait briefly for a message and return it: LOCK, READY for another job, or b"" for neither.

        If the process and all its children have ended, the connection is closed.
        """
        if not select.select([line], [], [], _POLL_SECONDS)[0]:
            return b""
        # No interrupt may fall between receiving a message and counting it.
        interrupts = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            word = _word(line)
            if word == READY:
                self._owed -= 1
            elif not word:
                line.close()
                self._line = None
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, interrupts)
        return word

    def _shown_log(self) -> str:
        """Return what the current process has written into the log, "" if there is no log."""
        log = self.site.log
        return log.read_bytes()[self._shown :].decode("utf-8", errors="replace") if log.is_file() else ""

    def _findings(self, files: RunDirectory, trouble: str) -> tuple[Finding, ...]:
        if files.findings.is_file():
            return tuple(Finding(**each) for each in json.loads(files.findings.read_text("utf-8")))
        if refused := refused_in(self._shown_log()):
            return refused
        if locked := _VAULT.search(trouble):
            rule = "the password of its vault (--ask-vault-pass, --vault-password-file or ANSIBLE_VAULT_PASSWORD_FILE)"
            return (Finding(str(self.site.inventory), rule, "another" if locked["other"] else "none"),)
        if self.limit and _NO_HOST.search(trouble):
            return (Finding("--limit", f"a switch or a group of {self.site.inventory}", self.limit),)
        where = str(self.site.inventory) + (f", limit {self.limit!r}" if self.limit else "")
        return (Finding(where, "an inventory with switches to reach", trouble),)


def ansible_environment(environment: Mapping[str, str], share: Path) -> dict[str, str]:
    """Return the environment in which Ansible finds tagloom's roles and plugins, and nothing in the current directory.

    The settings file is the one that ANSIBLE_CONFIG names, else the user's or the system's as Ansible finds them, else
    tagloom's own; an ``ansible.cfg`` of the current directory is ignored. Raises InputError if the named one cannot be
    read.
    """
    return dict(environment) | {
        "ANSIBLE_CONFIG": str(_ansible_config(environment, share)),
        "PYTHONSAFEPATH": "1",
        "PYTHONPATH": os.pathsep.join(_python_path(environment.get("PYTHONPATH", ""))),
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


def _ansible_config(environment: Mapping[str, str], share: Path) -> Path:
    """Return the file of Ansible's settings, in the order of ansible-config(1) without the current directory."""
    if named := environment.get("ANSIBLE_CONFIG"):
        path = Path(named).expanduser()
        path = path / "ansible.cfg" if path.is_dir() else path
        if not os.access(path, os.R_OK):  # Ansible would ignore it, and look in the current directory
            raise InputError([Finding("ANSIBLE_CONFIG", "a file that can be read", named)])
        return path
    homes = [Path(home) / ".ansible.cfg"] if (home := environment.get("HOME")) else []
    known = (*homes, Path("/etc/ansible/ansible.cfg"))
    return next((path for path in known if os.access(path, os.R_OK)), share / "playbooks" / "ansible.cfg")


def _python_path(former: str) -> list[str]:
    """Return the module path of Ansible's Python: this tagloom first, unless it is installed with all others."""
    ours = [] if PACKAGE.parent.name in {"site-packages", "dist-packages"} else [str(PACKAGE.parent)]
    return [*ours, *(place for place in former.split(os.pathsep) if place)]


def playbook_words(share: Path, name: str, inventory: Path, **variables: object) -> list[str]:
    """Return the command line that runs one of tagloom's playbooks; `variables` are its role's, without the prefix.

    It skips tasks that cost a process per switch: the check of variables, which our tasks do themselves, and those of
    a play by hand, which find the hosts that take part and display outcomes. Texts are marked as no templates: a
    directory may have any name.
    """
    arguments = {
        f"tagloom_{name}_{key}": {"__ansible_unsafe": value} if isinstance(value, str) else value
        for key, value in variables.items()
    }
    return [
        *(sys.executable, "-P", "-m", "ansible", "playbook", str(share / "playbooks" / f"{name}.yml")),
        *("--inventory", str(inventory_source(inventory)), "--extra-vars", json.dumps(arguments)),
        *("--skip-tags", f"tagloom_{name}_by_hand,always"),
    ]


def inventory_source(inventory: Path) -> Path:
    """Return the inventory file for Ansible: a directory's tagloom.yml, since Ansible would read every file in it."""
    payload = inventory / "tagloom.yml"
    return payload if payload.is_file() else inventory


def _word(line: socket.socket) -> bytes:
    """Return the next message, b"" if the other side has ended."""
    try:
        return line.recv(MESSAGE_BYTES)
    except ConnectionResetError:  # it ended before it read everything
        return b""


def _addresses(files: RunDirectory) -> dict[str, tuple[str, int]]:
    """Return each switch's address as Ansible knows it."""
    found = json.loads(files.addresses.read_text("utf-8"))
    return {name: (host, port) for name, (host, port) in found.items()}


def _gather(
    files: RunDirectory,
    switches: tuple[str, ...],
    waves: Sequence[WaveOrder],
    found: list[Outcome],
    trouble: str,
    status: int,
) -> Outcomes:
    order = {switch: place for place, switch in enumerate(switches)}
    reached = int(files.begun.read_text("utf-8")) if files.begun.is_file() else 0
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


def refused_in(said: str) -> tuple[Finding, ...]:
    """Return the findings for which our inventory plugin refused a fabric file, by Ansible's output."""
    refused = _REFUSED.search(said)
    found = [_FINDING.fullmatch(line.strip()) for line in refused[1].splitlines()] if refused else []
    return tuple(Finding(*each.groups()) for each in found if each)


def trouble_in(said: str) -> str:
    """Return the line of Ansible's output that says what stopped it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return next((line for line in lines if _TROUBLE.search(line)), lines[-1] if lines else "ansible-playbook is silent")
