"""Keep, beside an inventory's runs, what tagloom run does while it is at work, for others who look."""

from __future__ import annotations

import getpass
import json
import os
import socket
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from tagloom.apply.lock import alive, began_at
from tagloom.apply.private_files import write_private
from tagloom.errors import InputError
from tagloom.records.timetable import ClockStatus  # noqa: TC001 - pydantic reads it
from tagloom.storage.document import checked, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Show = Callable[[ClockStatus], None]

CLOCK = "clock.json"  # in the home of an inventory's runs


@dataclass(frozen=True, slots=True)
class ClockDocument:
    """Who keeps a fabric to which timetable ("": to none), and how it stood when it last looked."""

    user: str
    host: str
    pid: int
    timetable: str
    status: ClockStatus
    began: int = 0  # the process, in ticks since the computer's start; 0 in a document of an older tagloom

    @property
    def at_work(self) -> bool:
        """Return whether its process runs still; of another computer's nobody knows, and it counts as if."""
        return self.host != socket.gethostname() or alive(self.pid, self.began)


def failover_of(clock: ClockDocument | None) -> str:
    """Return what moves paths around a failure: "armed" where tagloom run does, "proposes" where it writes the repair.

    "not running" where nothing does: no run is at work, or one that looks for no failures or cannot see the fabric.
    """
    if clock is None or not clock.at_work or clock.status.look.error:
        return "not running"
    return {"auto": "armed", "propose": "proposes"}.get(clock.status.dead.mode, "not running")


@contextmanager
def written(home: Path, timetable: Path | None, show: Show) -> Iterator[Show]:
    """Return what shows a status by `show` and writes it for others, whole or not at all, until the context ends.

    What it returns raises OSError.
    """
    user, host, pid = getpass.getuser(), socket.gethostname(), os.getpid()
    place, began = str(timetable.absolute()) if timetable is not None else "", began_at(pid)

    def show_and_write(status: ClockStatus) -> None:
        show(status)
        payload = ClockDocument(user, host, pid, place, status, began)
        write_private(home / CLOCK, json.dumps(asdict(payload)) + "\n")

    try:
        yield show_and_write
    finally:
        payload = read_clock(home)
        if payload is not None and (payload.host, payload.pid) == (host, pid):
            with suppress(OSError):
                (home / CLOCK).unlink()


def read_clock(home: Path) -> ClockDocument | None:
    """Return what the last tagloom run wrote that was not told to end; None where there is none, or no whole one."""
    try:
        return checked(ClockDocument, read_json(home / CLOCK, "what tagloom run does"), CLOCK)
    except InputError:
        return None
