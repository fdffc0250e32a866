"""Keep in the journal who typed what at a switch outside a run, over what: first logins at consoles, and trials."""

from __future__ import annotations

import json
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import FiniteFloat, TypeAdapter

from tagloom.apply.lock import operator
from tagloom.errors import DeviceError
from tagloom.platforms.secrets import scrub

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tagloom.apply.journal import Journal

# Not among the tables that a journal must have: older ones lack it.
_SCHEMA = """
create table if not exists typed (
    id integer primary key, began real not null, ended real, operator text not null, command text not null,
    switch text not null, place text not null, lines text not null, sent integer not null, error text not null
)
"""
_COLUMNS = "began, ended, operator, command, switch, place, lines, sent, error"
_ROWS = TypeAdapter(list[tuple[FiniteFloat, FiniteFloat | None, str, str, str, str, tuple[str, ...], int, str]])


@dataclass(frozen=True, slots=True)
class Typed:
    """Lines that were typed at a switch, secrets hidden; `sent` counts those that it is known to have taken.

    `place` says over what. Times are in seconds since the epoch; `ended` is None where the command died.
    """

    began: float
    ended: float | None
    operator: str
    command: str
    switch: str
    place: str
    lines: tuple[str, ...]
    sent: int
    error: str


class Console(Protocol):
    """What lines are typed at."""

    def type(self, lines: Sequence[str]) -> None:
        """Type lines, and end at the first that is refused. Raises DeviceError."""
        ...


@dataclass(slots=True)
class Typing:
    """How far lines are that are being typed."""

    sent: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class TypedLines:
    """What one command types at one switch, as a journal has it; raises InputError where that cannot be written."""

    journal: Journal
    command: str
    switch: str
    place: str

    def type(self, console: Console, lines: Sequence[str]) -> None:
        """Type lines one by one, and write down what became of them. Raises DeviceError, as the console does."""
        with self.written(lines) as typing:
            for line in lines:
                console.type((line,))
                typing.sent += 1

    @contextmanager
    def written(self, lines: Sequence[str]) -> Iterator[Typing]:
        """Write down lines before they are typed, synced, and afterwards how many were taken, and what went wrong."""
        kept = json.dumps([scrub(line) for line in lines])
        row = (time.time(), operator(), self.command, self.switch, self.place, kept)
        with self.journal.writing() as wire:
            wire.execute(_SCHEMA)
            number = wire.execute(
                "insert into typed (began, operator, command, switch, place, lines, sent, error)"
                " values (?, ?, ?, ?, ?, ?, 0, '')",
                row,
            ).lastrowid
        typing = Typing()
        try:
            yield typing
        except DeviceError as error:
            typing.error = error.text
            raise
        finally:
            with self.journal.writing() as wire:
                wire.execute(
                    "update typed set ended = ?, sent = ?, error = ? where id = ?",
                    (time.time(), typing.sent, typing.error, number),
                )


def typed(journal: Journal) -> list[Typed]:
    """Return all that was typed, the newest first. Raises InputError where the journal cannot be read."""
    with journal.reported(), closing(journal.connection()) as wire:
        if wire.execute("select 1 from sqlite_master where name = 'typed'").fetchone() is None:
            return []
        rows = wire.execute(f"select {_COLUMNS} from typed order by id desc").fetchall()  # noqa: S608 - our own text
    return journal.records(_ROWS, [(*row[:6], journal.lines(row[6]), *row[7:]) for row in rows], Typed)
