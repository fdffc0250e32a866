"""Keep in the journal which switches are told to reload at a set time, from before that until it is called off."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import FiniteFloat, TypeAdapter

if TYPE_CHECKING:
    from tagloom.apply.journal import Journal

# Not among the tables that a journal must have: older ones lack it.
_SCHEMA = "create table if not exists reloads (switch text primary key, run integer not null, until real not null)"
_ROWS = TypeAdapter(list[tuple[str, int, FiniteFloat]])


@dataclass(frozen=True, slots=True)
class ScheduledReload:
    """A switch that reloads from its saved configuration by `until`, in seconds since the epoch, for a run."""

    switch: str
    run: int
    until: float

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line; `until` is ISO 8601, by the computer's own time zone."""
        return {
            "switch": self.switch,
            "until": datetime.fromtimestamp(self.until, UTC).astimezone().isoformat(timespec="seconds"),
        }


@dataclass(frozen=True, slots=True)
class ScheduledReloads:
    """The scheduled reloads of a journal; every method raises InputError where it cannot be read or written."""

    journal: Journal

    def all(self) -> list[ScheduledReload]:
        """Return those that nobody is known to have called off, by switch; their time may have come since."""
        with self.journal.reported(), closing(self.journal.connection()) as wire:
            if wire.execute("select 1 from sqlite_master where name = 'reloads'").fetchone() is None:
                return []
            rows = wire.execute("select switch, run, until from reloads order by switch").fetchall()
        return self.journal.records(_ROWS, rows, ScheduledReload)

    def arm(self, switch: str, run: int, until: float) -> None:
        """Write down that a switch is about to be told to reload; synced."""
        with self.journal.writing() as wire:
            wire.execute(_SCHEMA)
            wire.execute("insert or replace into reloads (switch, run, until) values (?, ?, ?)", (switch, run, until))

    def called_off(self, switch: str) -> None:
        """Write down that a switch shows no scheduled reload any more; synced."""
        with self.journal.writing() as wire:
            wire.execute(_SCHEMA)
            wire.execute("delete from reloads where switch = ?", (switch,))


@dataclass(frozen=True, slots=True)
class Armed:
    """How one switch of a push is armed: to reload after `seconds` at the earliest (0 = not), for a run.

    `pending` says that an older push may have left it armed.
    """

    kept: ScheduledReloads
    switch: str
    run: int
    seconds: float = 0.0
    pending: bool = False

    def arm(self, until: float) -> None:
        """Write down that it is about to be told, and by when it reloads, in seconds since the epoch."""
        self.kept.arm(self.switch, self.run, until)

    def called_off(self) -> None:
        """Write down that it is called off."""
        self.kept.called_off(self.switch)
