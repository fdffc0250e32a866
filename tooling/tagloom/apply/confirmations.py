"""Keep in the journal which change waits for its operator's confirmation, and who has answered what."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import FiniteFloat, TypeAdapter

from tagloom.apply.run_states import DONE, LEFT, UNDONE
from tagloom.errors import PlanError

if TYPE_CHECKING:
    import sqlite3

    from tagloom.apply.journal import Journal, Run

UNDER_WAY = "under way"  # its lines are being sent, or were when its command died
WAITING, EXPIRED = "waiting", "expired"  # for the confirmation; in vain
CONFIRMED, TAKING_BACK, TAKEN_BACK = "confirmed", "taking back", "taken back"
SUPERSEDED = "superseded"  # a later run began from what it left
OPEN = (UNDER_WAY, WAITING, EXPIRED, TAKING_BACK)
_YES, _NO = "yes", "no"
# Not among the tables that a journal must have: older ones lack it.
_SCHEMA = """
create table if not exists confirmations (
    run integer primary key references runs, seconds real not null,
    answer text not null default '', operator text not null default ''
)
"""
_ROWS = TypeAdapter(list[tuple[int, FiniteFloat, str, str]])


@dataclass(frozen=True, slots=True)
class Confirmation:
    """A run that is to be confirmed within some `seconds` after its end, else taken back.

    `state` is one of this module's; `until` the time by which it is to be confirmed, in seconds since the epoch, None
    before its end; `by` who has answered, "" for nobody, or the time.
    """

    run: Run
    seconds: float
    state: str
    by: str = ""

    @property
    def until(self) -> float | None:
        """Return when it is taken back, in seconds since the epoch."""
        return self.run.ended + self.seconds if self.run.state == DONE and self.run.ended is not None else None

    @property
    def is_open(self) -> bool:
        """Return whether it is neither confirmed nor taken back."""
        return self.state in OPEN

    @property
    def named(self) -> str:
        """Name the run."""
        return f"{self.run.kind} {self.run.name} of {self.run.source}"

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line; `until` is ISO 8601, by the computer's own time zone."""
        return {
            "run": self.run.name,
            "source": self.run.source,
            "seconds": self.seconds,
            "state": self.state,
            "until": None if self.until is None else datetime.fromtimestamp(self.until, UTC).astimezone().isoformat(),
            "by": self.by,
        }


def must_be_answered(armed: Confirmation) -> PlanError:
    """Return the refusal of another change before one that waits is confirmed or taken back."""
    until = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(armed.until))
    return PlanError(
        "a change that waits for its confirmation is confirmed or taken back before another begins",
        f"{armed.named} waits until {until}",
        "tagloom confirm, or tagloom rollback",
        ("confirm", "rollback"),
    )


def insert(wire: sqlite3.Connection, run: int, seconds: float) -> None:
    """Write down that a run is to be confirmed, in a transaction of its own or of others."""
    wire.execute(_SCHEMA)
    wire.execute(
        "insert into confirmations (run, seconds) values (?, ?) on conflict (run) do update set seconds = ?",
        (run, seconds, seconds),
    )


@dataclass(frozen=True, slots=True)
class Confirmations:
    """The confirmations of a journal; every method raises InputError where it cannot be read or written."""

    journal: Journal

    def newest(self, now: float | None = None) -> Confirmation | None:
        """Return the newest confirmation as it stands `now`, None where no run has asked for one."""
        with self.journal.reported(), closing(self.journal.connection()) as wire:
            if wire.execute("select 1 from sqlite_master where name = 'confirmations'").fetchone() is None:
                return None
            rows = wire.execute(
                "select run, seconds, answer, operator from confirmations order by run desc limit 1"
            ).fetchall()
        found = self.journal.records(_ROWS, rows, lambda *cells: cells)
        if not found:
            return None
        number, seconds, answer, by = found[0]
        run = self.journal.run(number)
        waiting = Confirmation(run, seconds, WAITING, by)
        if answer == _YES:
            state = CONFIRMED
        elif run.state == UNDONE:
            state = TAKEN_BACK
        elif run.state == LEFT or any(r.id > run.id and r.wave and r.kind == "apply" for r in self.journal.runs()):
            state = SUPERSEDED
        elif answer == _NO:
            state = TAKING_BACK
        elif waiting.until is None:
            state = UNDER_WAY
        else:
            state = WAITING if (time.time() if now is None else now) < waiting.until else EXPIRED
        return Confirmation(run, seconds, state, by)

    def open(self, now: float | None = None) -> Confirmation | None:
        """Return the confirmation that nobody has given, of a change that was not taken back."""
        found = self.newest(now)
        return found if found is not None and found.is_open else None

    def arm(self, run: int, seconds: float) -> None:
        """Write down that a run is to be confirmed in so many seconds after its end; synced."""
        with self.journal.writing() as wire:
            insert(wire, run, seconds)

    def answer(self, run: int, *, keep: bool, by: str) -> bool:
        """Write down who wants a run kept or taken back; False where another answer came before. Synced."""
        with self.journal.writing() as wire:
            done = wire.execute(
                "update confirmations set answer = ?, operator = ? where run = ? and answer = ''",
                (_YES if keep else _NO, by, run),
            )
            return done.rowcount == 1
