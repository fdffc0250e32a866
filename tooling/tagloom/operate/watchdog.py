"""Take back a change that nobody confirmed and whose command is gone, from a process of its own that keeps trying."""

from __future__ import annotations

import getpass
import json
import os
import socket
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from tagloom.apply.abort import JOURNAL, at_work
from tagloom.apply.confirmations import UNDER_WAY, WAITING, Confirmations
from tagloom.apply.journal import Journal
from tagloom.apply.lock import alive, began_at
from tagloom.apply.private_files import write_private
from tagloom.apply.run_states import STOPPED
from tagloom.errors import InputError
from tagloom.storage.document import checked, read_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tagloom.operate.apply import Result

    TakeBack = Callable[[], str]

WATCHDOG = "watchdog.json"  # in the home of an inventory's runs
POLL_SECONDS = 0.5
FIRST_RETRY_SECONDS, LONGEST_RETRY_SECONDS = 2.0, 300.0
GIVES_UP_SECONDS = 86_400.0  # after the first try that failed


@dataclass(frozen=True, slots=True)
class Watchdog:
    """The process that takes back a change, and how its tries went; times are in seconds since the epoch.

    `began` tells it from a later process of its number. `tries` counts those that failed, `error` is why the last one
    did, `next_at` when it tries again (None before the first failure, and once it has given up).
    """

    user: str
    host: str
    pid: int
    began: int = 0
    tries: int = 0
    failed_since: float | None = None
    tried_at: float | None = None
    next_at: float | None = None
    error: str = ""

    @property
    def at_work(self) -> bool:
        """Return whether the process runs; one of another computer counts as if it did."""
        return not self.gave_up and (self.host != socket.gethostname() or alive(self.pid, self.began))

    @property
    def gave_up(self) -> bool:
        """Return whether it has tried for as long as it may."""
        return self.tries > 0 and self.next_at is None

    @property
    def gives_up_at(self) -> float | None:
        """Return when it stops trying, None before the first try that failed."""
        return None if self.failed_since is None else self.failed_since + GIVES_UP_SECONDS

    def failed(self, error: str, now: float) -> Watchdog:
        """Return it after a try that failed `now`.

        >>> dog = Watchdog("me", "here", 1).failed("s1: no answer", 0.0)
        >>> dog.next_at, dog.failed("s1: no answer", 2.0).next_at, dog.failed("s1: no answer", 86_400.0).gave_up
        (2.0, 6.0, True)
        """
        since = now if self.failed_since is None else self.failed_since
        waits = min(FIRST_RETRY_SECONDS * 2.0 ** min(self.tries, 10), LONGEST_RETRY_SECONDS)
        then = None if now - since >= GIVES_UP_SECONDS else now + waits
        return replace(self, tries=self.tries + 1, failed_since=since, tried_at=now, next_at=then, error=error)


def this_process() -> Watchdog:
    """Return this process as a watchdog that has tried nothing yet."""
    return Watchdog(getpass.getuser(), socket.gethostname(), os.getpid(), began_at(os.getpid()))


def read_watchdog(home: Path) -> Watchdog | None:
    """Return the last watchdog of an inventory's runs in `home`; None if it ended well, or its file is not whole."""
    try:
        return checked(Watchdog, read_json(home / WATCHDOG, "what a watchdog has written"), WATCHDOG)
    except InputError:
        return None


def keep_watch(home: Path, take_back: TakeBack, tell: Callable[[Watchdog], None]) -> Watchdog:
    """Have a change taken back once it is due, again and again where that fails; return how it ended.

    `take_back` returns why it failed, "" where it did not; `tell` receives each failure. Ends once the change is
    confirmed, taken back or superseded, and after GIVES_UP_SECONDS of failures. It also ends where its file is gone
    or another's: of two, the one that began later watches. Raises OSError where its file cannot be written.
    """
    dog = this_process()
    write_private(home / WATCHDOG, json.dumps(asdict(dog)) + "\n")
    try:
        while (due := is_due(home)) is not None and _is_ours(home, dog):
            if due and (dog.next_at is None or time.time() >= dog.next_at):
                error = take_back()
                if error and _is_ours(home, dog):
                    dog = dog.failed(error, time.time())
                    write_private(home / WATCHDOG, json.dumps(asdict(dog)) + "\n")
                    tell(dog)
                    if dog.gave_up:
                        break
            time.sleep(POLL_SECONDS)
    finally:
        if not dog.gave_up and _is_ours(home, dog):
            with suppress(OSError):
                (home / WATCHDOG).unlink()
    return dog


def dismiss(home: Path) -> None:
    """Have the watchdog end unless a change is still to be confirmed or taken back. Raises InputError."""
    if Confirmations(Journal(home / JOURNAL)).open() is None:
        with suppress(OSError):
            (home / WATCHDOG).unlink(missing_ok=True)


def _is_ours(home: Path, dog: Watchdog) -> bool:
    found = read_watchdog(home)
    return found is not None and (found.host, found.pid) == (dog.host, dog.pid)


def is_due(home: Path) -> bool | None:
    """Return whether a change is to be taken back now; None where nothing is left to watch.

    A command that works on the switches is waited for: it takes its own change back, or begins one. A change that was
    asked to stop is its operator's.
    """
    if not (home / JOURNAL).exists():
        return False if at_work(home) else None
    try:
        armed = Confirmations(Journal(home / JOURNAL)).open()
    except InputError:  # which another process may be writing
        return False
    if armed is not None and armed.state == WAITING:
        return False
    if at_work(home):
        return False
    return None if armed is None or (armed.state == UNDER_WAY and armed.run.state == STOPPED) else True


def trouble_of(result: Result | None) -> str:
    """Return why a change was not taken back, "" where it was, or nothing was left to take back."""
    if result is None or result.good:
        return ""
    failed = [each.trouble for each in result.outcomes.outcomes if each.failed]
    changed = [f"changed since: {finding}" for finding in result.drift]
    stands = [result.run.standing] if result.run is not None else []
    return (changed + failed + [result.outcomes.error or ""] + stands)[0] or "the switches did not take it"
