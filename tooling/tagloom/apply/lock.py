"""Allow one command at a time to reach a fabric's switches, and identify it to others.

The lock is the kernel's (flock(2)) and belongs to the open file. So ansible-playbook and its workers, which inherit it,
keep it after their controller was killed, and it is released with the last of them, however they end.
"""

from __future__ import annotations

import fcntl
import getpass
import json
import os
import socket
import time
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Self

from tagloom.apply.private_files import write_private
from tagloom.apply.switch_locks import SwitchLocks
from tagloom.errors import Finding, InputError, PlanError
from tagloom.storage.document import checked, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.apply.switch_locks import Address

_POLL_SECONDS = 0.2
_TRIES = 5
_STARTTIME = 19  # of the fields of /proc/PID/stat behind the name


def operator() -> str:
    """Return the user and host of this process."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class Holder:
    """The command that works on a fabric: the run looks for a stop request in `directory`."""

    user: str
    host: str
    pid: int
    since: str
    command: str
    directory: str

    def __str__(self) -> str:
        return f"{self.user} on {self.host}, process {self.pid}, since {self.since}: {self.command}"


class FabricLock:
    """The lock at `path`, held for the context's duration; child processes inherit the descriptors that `over` returns.

    Raises PlanError if another command holds it. If the controller that took it is dead but its ansible-playbook is
    still finishing its wave, `__enter__` waits for that. `say` receives messages about the wait and about a lock taken
    over.
    """

    def __init__(self, path: Path, command: str, say: Callable[[str], None]) -> None:
        self.path, self.command, self._say = path, command, say
        self.descriptor = -1
        self._switches = SwitchLocks()
        self.taken_over: Holder | None = None

    @property
    def operator(self) -> str:
        """Return the user and host of this process."""
        return operator()

    def __enter__(self) -> Self:
        """Take the lock, or raise."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            self._take()
            for old in (self.path.with_name("stop"), self.path.with_name("stop-now")):  # see playbook.request_stop
                old.unlink(missing_ok=True)
            self.announce()
        except OSError as error:
            self.__exit__()
            raise InputError([Finding(str(self.path), "a lock that can be taken", error.strerror or "")]) from error
        except BaseException:
            self.__exit__()
            raise
        return self

    def over(self, switches: Mapping[str, Address]) -> tuple[int, ...]:
        """Lock switches by their addresses, too, and return the descriptors of all locks. Raises TagloomError."""
        self._switches.take(switches)
        return (self.descriptor, *self._switches.descriptors)

    def __exit__(self, *_: object) -> None:
        """Release the lock."""
        self._switches.release()
        if self.descriptor >= 0:
            _holder_payload(self.path).unlink(missing_ok=True) if self._mine() else None
            os.close(self.descriptor)
            self.descriptor = -1

    def announce(self, directory: Path | None = None) -> None:
        """Write the holder of the lock, and where its run looks for a stop request."""
        payload = asdict(
            Holder(
                getpass.getuser(),
                socket.gethostname(),
                os.getpid(),
                time.strftime("%Y-%m-%d %H:%M:%S"),
                self.command,
                str((directory or self.path.parent).absolute()),
            )
        )
        write_private(_holder_payload(self.path), json.dumps(payload) + "\n")

    def _take(self) -> None:
        said, tries = False, 0
        while True:
            before = holder(self.path)
            tries += 1
            try:
                fcntl.flock(self.descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if before is None and tries < _TRIES:  # just started, or a query by `held`
                    time.sleep(_POLL_SECONDS)
                    continue
                if before is None or before.host != socket.gethostname() or alive(before.pid):
                    raise PlanError(
                        "one command at a time works on a fabric's switches",
                        f"held by {before or 'another command that has just begun'}",
                        "wait for it, or: tagloom abort",
                    ) from None
                if not said:
                    self._say(f"waiting   for what process {before.pid}, which died, had begun on the switches")
                    said = True
                time.sleep(_POLL_SECONDS)
                continue
            if before is not None:
                self.taken_over = before
                self._say(f"lock      taken over from a command that died: {before}")
            return

    def _mine(self) -> bool:
        found = holder(self.path)
        return found is not None and found.pid == os.getpid() and found.host == socket.gethostname()


def holder(path: Path) -> Holder | None:
    """Return the holder of the lock at `path`, or the one that died with it; None if there is none."""
    try:
        return checked(Holder, read_json(_holder_payload(path), "who holds the lock"), str(path))
    except InputError:
        return None


def held(path: Path) -> bool:
    """Return whether the lock at `path` is held now."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def alive(pid: int, began: int = 0) -> bool:
    """Return whether a process of this machine runs; a zombie does not.

    With `began`, which `began_at` returned for it, nor does a later process that got its number.
    """
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    else:
        if _stat(pid)[:1] == ["Z"]:
            return False
    return began in {0, began_at(pid)}


def began_at(pid: int) -> int:
    """Return when a process of this computer began, in ticks since the computer's start; 0 where nobody can tell."""
    words = _stat(pid)
    return int(words[_STARTTIME]) if len(words) > _STARTTIME else 0


def _stat(pid: int) -> list[str]:
    """Return what procfs has of a process behind its name, from its state on: proc(5)."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as payload:  # noqa: PTH123 - of procfs, read at once
            return payload.read().rpartition(")")[2].split()
    except OSError:
        return []


def _holder_payload(path: Path) -> Path:
    return path.with_suffix(".holder")
