"""The journal of a fabric's runs: what is about to be sent, synced first, and the outcome.

One SQLite file beside the inventory, written by the controller and Ansible's workers. Before a worker sends the first
line of a wave to its switch, it commits the lines and the states before and after them with a sync (write-ahead log,
``synchronous = FULL``). Later records are committed without, since a resume reads the switches anyway and a later sync
includes them. So the journal may lag behind a switch by the lines it announced, and never claims what was not done. It
stores only what tagloom renders, never a switch's own text: no secrets.
"""

from __future__ import annotations

import io
import json
import lzma
import sqlite3
import tarfile
import time
import zlib
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from pydantic import FiniteFloat, TypeAdapter, ValidationError

from tagloom.apply import confirmations
from tagloom.apply.run_states import (
    DONE,
    FAILED,
    INTERRUPTED,
    LEFT,
    MOVES,
    RUNNING,
    STOPPED,
    UNDONE,
    UNFINISHED,
    IllegalMoveError,
    Move,
)
from tagloom.errors import Finding, InputError
from tagloom.storage.database import Form, Store, connected, transaction
from tagloom.storage.document import checked, parse_json, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

T = TypeVar("T")
_BUSY_SECONDS = 60.0  # 64 workers that commit at once wait for each other, one sync each
_SCHEMA = """
create table if not exists runs (
    id integer primary key, name text not null, kind text not null, fabric text not null, source text not null,
    command text not null, operator text not null, began real not null, ended real,
    state text not null, note text not null default '', waves integer not null, wave integer not null,
    proven integer not null, undoes integer, pack blob not null
);
create table if not exists switches (
    run integer not null references runs, wave integer not null, switch text not null, state text not null,
    lines text not null, before text not null, after text not null,
    sent integer not null default 0, error text not null default '', at real not null,
    primary key (run, wave, switch)
);
"""
_FORM = Form("a journal of tagloom's", 0, 0, _SCHEMA)
_SAID = {
    RUNNING: "is running",
    INTERRUPTED: "was interrupted",
    DONE: "is done",
    STOPPED: "was stopped",
    FAILED: "failed",
    UNDONE: "was undone",
    LEFT: "was left",
}
SENDING, READ_BACK, SAVED = "sending", "read back", "saved"


@dataclass(frozen=True, slots=True)
class Run:
    """The journal's record of one run.

    kind     "apply", "rollback", or "undo" (of one wave); `undoes` is the run that the latter two revert
    source   the requested directory; the run's own copy is in the journal
    state    RUNNING, INTERRUPTED (its command is gone), DONE, STOPPED (on request), FAILED (a switch did), UNDONE
             (by a later run), LEFT (for a later one)
    waves    how many there are; `wave`, the last one begun (0 = none)
    proven   whether every intermediate state is; not if all switches of a fabric change at once
    began, ended   seconds since the epoch; `ended` is None while it runs
    """

    id: int
    name: str
    kind: str
    fabric: str
    source: str
    command: str
    operator: str
    began: float
    state: str
    note: str
    waves: int
    wave: int
    proven: bool
    undoes: int | None
    ended: float | None

    @property
    def unfinished(self) -> bool:
        """Return whether switches may be in a state between the run's start and its target."""
        return self.state in UNFINISHED

    def to_json(self) -> dict[str, Any]:
        """Return a summary for people and programs."""
        return {"run": self.name, "kind": self.kind, "state": self.state, "wave": self.wave, "waves": self.waves}

    @property
    def standing(self) -> str:
        """Return a sentence on where the run left the fabric."""
        what = f"{self.kind} {self.name} {_SAID[self.state]}" + (f" ({self.note})" if self.note else "")
        if not self.unfinished:
            return what
        if not self.wave:
            return f"{what}; no wave was begun, nothing was sent"
        of = f"{what}, in wave {self.wave} of {self.waves}"
        return (
            f"{of}: every state inside that wave is proven" if self.proven else f"{of}: a set-up in one go, not proven"
        )


@dataclass(frozen=True, slots=True)
class SwitchRow:
    """The journal's record of one switch in one wave: `sent` counts the lines that it is known to have accepted.

    `at` is the time of the last update, in seconds since the epoch.
    """

    wave: int
    switch: str
    state: str
    lines: tuple[str, ...]
    before: str
    after: str
    sent: int
    error: str
    at: float


_RUN_COLUMNS = ", ".join(Run.__dataclass_fields__)
_State = Literal["running", "interrupted", "done", "stopped", "failed", "undone", "left"]
_RUNS: TypeAdapter[list[Any]] = TypeAdapter(
    list[
        tuple[
            int, str, str, str, str, str, str, FiniteFloat, _State, str, int, int, bool, int | None, FiniteFloat | None
        ]
    ]
)
_SWITCHES: TypeAdapter[list[Any]] = TypeAdapter(
    list[tuple[int, str, str, tuple[str, ...], str, str, int, str, FiniteFloat]]
)
_LINES = TypeAdapter(tuple[str, ...])
_MOST_UNPACKED = 1 << 32


class Journal:
    """The journal at `path`; it and its directory are created if missing, for their owner alone.

    Every method raises InputError if the journal cannot be read or written: a full disk, or no permission.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # While this connection is open, short-lived ones of workers do not each checkpoint the log.
        self._kept: sqlite3.Connection | None = None
        with self.reported(), self._checked(deep=False) as file:
            file.wire.execute("pragma journal_mode = wal")

    def __enter__(self) -> Self:
        """Check the whole file, and keep a connection open."""
        with self.reported():
            self._checked(deep=True).close()
            self._kept = self.connection()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        if self._kept is not None:
            self._kept.close()

    def begin(  # noqa: PLR0913 - what a run is recorded with
        self,
        *,
        name: str,
        kind: str,
        fabric: str,
        source: str,
        command: str,
        operator: str,
        waves: int,
        proven: bool,
        order: Path,
        undoes: int | None = None,
        confirm_seconds: float = 0.0,
    ) -> Run:
        """Record a run and a copy of its directory `order`, synced, before anything is sent.

        With `confirm_seconds` it must be confirmed within so many seconds after its end.
        """
        row = (name, kind, fabric, source, command, operator, time.time(), RUNNING, waves, proven, undoes, _pack(order))
        with self.writing() as wire:
            number = wire.execute(
                "insert into runs (name, kind, fabric, source, command, operator, began, state, waves, wave, proven,"
                " undoes, pack) values (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)",
                row,
            ).lastrowid
            if confirm_seconds:
                confirmations.insert(wire, int(number or 0), confirm_seconds)
        return self.run(int(number or 0))

    def run(self, number: int) -> Run:
        """Return one run."""
        found = self._runs("where id = ?", number)
        if not found:
            raise self._damaged(f"run {number}", "none")
        return found[0]

    def runs(self, fabric: str = "") -> list[Run]:
        """Return the runs, the newest first: of one fabric, or of all."""
        return self._runs("where fabric = ? or ? = '' order by id desc", fabric, fabric)

    def unfinished(self, fabric: str = "") -> Run | None:
        """Return the newest unfinished run, unless a later one is done."""
        for run in self.runs(fabric):
            if run.unfinished:
                return run
            if run.state == DONE and run.kind != "undo":
                return None
        return None

    def applied(self) -> Run | None:
        """Return the apply that switches hold, whole or in part: the newest that began a wave and was not undone."""
        return next(
            (r for r in self.runs() if r.wave and r.kind == "apply" and (r.unfinished or r.state == DONE)), None
        )

    def switches(self, run: int, wave: int | None = None) -> list[SwitchRow]:
        """Return the records of switches, by wave and then by name."""
        with self.reported(), closing(self.connection()) as wire:
            rows = wire.execute(
                "select wave, switch, state, lines, before, after, sent, error, at from switches"
                " where run = ? and (wave = ? or ? is null) order by wave, switch",
                (run, wave, wave),
            ).fetchall()
        return self.records(_SWITCHES, [(*row[:3], self.lines(row[3]), *row[4:]) for row in rows], SwitchRow)

    def unpack(self, run: int, directory: Path) -> None:
        """Extract the run's copy of its order into `directory`, over older files."""
        with self.reported():
            with closing(self.connection()) as wire:
                row = wire.execute("select pack from runs where id = ?", (run,)).fetchone()
            if row is None or not isinstance(row[0], bytes):
                raise self._damaged(f"the directory of run {run}", "none")
            try:
                with tarfile.open(fileobj=io.BytesIO(row[0])) as archive:
                    if sum(member.size for member in archive) > _MOST_UNPACKED:
                        raise self._damaged(f"the directory of run {run}, of at most {_MOST_UNPACKED} bytes", "more")
                    archive.extractall(directory, filter="data")
            except (tarfile.TarError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise self._damaged(f"the directory of run {run}", str(error)) from None

    def begin_wave(self, run: int, wave: int) -> None:
        """Record that a wave begins; the number never decreases when switches that fell behind catch up."""
        with self.writing() as wire:
            self._move(wire, run, Move.BEGIN_WAVE)
            wire.execute("update runs set wave = max(wave, ?) where id = ?", (wave, run))

    def withdraw(self, run: int) -> bool:
        """Reset the wave to 0 if no line of any was about to be sent; return whether that was so."""
        with self.writing() as wire:
            (meant,) = wire.execute("select count(*) from switches where run = ? and lines <> '[]'", (run,)).fetchone()
            if not meant:
                wire.execute("update runs set wave = 0 where id = ?", (run,))
        return not meant

    def move(self, run: int, move: Move, note: str = "") -> None:
        """Record a transition of a run; `note` is for people. Raises IllegalMoveError if its state forbids it."""
        with self.writing() as wire:
            state = self._move(wire, run, move)
            ended = None if state == RUNNING else time.time()
            wire.execute("update runs set note = ?, ended = ? where id = ?", (note, ended, run))

    @staticmethod
    def _move(wire: sqlite3.Connection, run: int, move: Move) -> str:
        row = wire.execute("select state from runs where id = ?", (run,)).fetchone()
        state = row[0] if row is not None else "not in the journal"
        if state not in MOVES[move]:
            raise IllegalMoveError(move, state)
        there = MOVES[move][state]
        wire.execute("update runs set state = ? where id = ?", (there, run))
        return there

    def interrupt(self) -> None:
        """Record that running runs were interrupted; only for the holder of the lock."""
        with self.writing() as wire:
            for (run,) in wire.execute("select id from runs where state = ?", (RUNNING,)).fetchall():
                self._move(wire, run, Move.INTERRUPT)

    def wave_journal(self, run: int, wave: int, switch: str) -> WaveJournal:
        """Return the part of the journal that a worker writes for its switch."""
        return WaveJournal(self, run, wave, switch)

    def _runs(self, condition: str, *values: object) -> list[Run]:
        with self.reported(), closing(self.connection()) as wire:
            rows = wire.execute(f"select {_RUN_COLUMNS} from runs {condition}", values).fetchall()  # noqa: S608 - our own text
        return self.records(_RUNS, [(*row[:12], bool(row[12]), *row[13:]) for row in rows], Run)

    def records(
        self, rows_of: TypeAdapter[list[Any]], rows: list[tuple[Any, ...]], record: Callable[..., T]
    ) -> list[T]:
        """Return records of rows. Raises InputError if a cell has an unexpected type."""
        try:
            return [record(*row) for row in rows_of.validate_python(rows, strict=True)]
        except ValidationError as error:
            cell = error.errors(include_url=False)[0]
            raise self._damaged(f"cells as tagloom writes them: {cell['msg']}", shown(cell["input"])) from None

    def lines(self, text: object) -> tuple[str, ...]:
        """Return the lines of a cell. Raises InputError where they are none."""
        where = f"{self.path}: lines"
        return checked(_LINES, parse_json(text if isinstance(text, str) else "", where, "a list of lines"), where)

    def _damaged(self, expected: str, actual: str) -> InputError:
        return InputError([Finding(str(self.path), f"a whole journal, with {expected}", actual)])

    def _checked(self, *, deep: bool) -> Store:
        return Store(self.path, _FORM, new=True, parents=True, owner_only=True, busy_seconds=_BUSY_SECONDS, deep=deep)

    def connection(self) -> sqlite3.Connection:
        """Return a connection to the file, which the caller closes; what it writes is synced to disk."""
        wire = connected(self.path, _BUSY_SECONDS)
        wire.execute("pragma synchronous = full")
        return wire

    @contextmanager
    def writing(self, *, synced: bool = True) -> Iterator[sqlite3.Connection]:
        """Return a connection inside one transaction, committed at the end, and also synced to disk if `synced`."""
        with self.reported(), closing(self.connection()) as wire:
            if not synced:
                wire.execute("pragma synchronous = normal")
            with transaction(wire):
                yield wire

    @contextmanager
    def reported(self) -> Iterator[None]:
        """Raise InputError where the file cannot be read or written inside."""
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            raise InputError([Finding(str(self.path), "a journal that can be written", _reason(error))]) from error


@dataclass(frozen=True, slots=True)
class WaveJournal:
    """One switch's part in one wave of the journal. Methods raise InputError if it cannot be written."""

    journal: Journal
    run: int
    wave: int
    switch: str

    def intend(self, lines: Sequence[str], before: str, after: str) -> None:
        """Record what is about to be sent; it is on the disk on return."""
        row = (self.run, self.wave, self.switch, SENDING, json.dumps(list(lines)), before, after, time.time())
        with self.journal.writing() as wire:
            wire.execute(
                "insert or replace into switches (run, wave, switch, state, lines, before, after, at)"
                " values (?, ?, ?, ?, ?, ?, ?, ?)",
                row,
            )

    def note(self, state: str, sent: int = 0, error: str = "") -> None:
        """Record the progress; a switch without an intention (nothing to send) gets a row of its own."""
        key = (self.run, self.wave, self.switch)
        with self.journal.writing(synced=False) as wire:
            wire.execute(
                "insert into switches (run, wave, switch, state, lines, before, after, at, sent, error)"
                " values (?, ?, ?, ?, '[]', '', '', ?, ?, ?) on conflict (run, wave, switch)"
                " do update set state = excluded.state, sent = excluded.sent, error = excluded.error, at = excluded.at",
                (*key, state, time.time(), sent, error),
            )


def _pack(directory: Path) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        archive.add(directory, ".")
    return packed.getvalue()


def _reason(error: Exception) -> str:
    if isinstance(error, OSError):
        return error.strerror or str(error)
    return str(error)
