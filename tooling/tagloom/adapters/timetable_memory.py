"""Keep what a running timetable did and remembers, in an SQLite file that outlives the process."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from pydantic import TypeAdapter

from tagloom.records.timetable import TimetableProgress
from tagloom.storage.database import Form, Store
from tagloom.storage.document import checked, parse_json

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x7461676D  # "tagm", in the header of the file (sqlite.org/fileformat.html)
_SCHEMA = """
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,        -- seconds since the epoch
  kind TEXT NOT NULL,      -- begun, done, failed, stopped; found, by the journal; of repair: dead, back, repaired,
                           -- repair-...; of paths that are woven anew: reweave-begun, rewoven, reweave-...
  settings TEXT NOT NULL,  -- JSON list of names; of repair: of what is dead
  why TEXT NOT NULL
);
CREATE TABLE standing (id INTEGER PRIMARY KEY CHECK (id = 1), page TEXT NOT NULL);
"""


_KNOWN = ("done", "found", "rewoven", "reweave-refused")  # what runs after these is known; refused, nothing was sent
_UNKNOWN = ("begun", "failed", "stopped", "reweave-begun", "reweave-failed", "reweave-stopped")
_LAST_OF_SETTINGS = f"SELECT kind FROM event WHERE kind IN {_KNOWN + _UNKNOWN} ORDER BY id DESC LIMIT 1"  # noqa: S608
_FORM = Form("a state file of tagloom run", _APPLICATION_ID, SCHEMA_VERSION, _SCHEMA)
_STANDING = TypeAdapter(TimetableProgress)


class TimetableMemory:
    """One file. Raises InputError where it is something else, or another process keeps it."""

    def __init__(self, path: Path) -> None:
        self._file = Store(
            path, _FORM, new=True, parents=True, busy_seconds=1.0, exclusive=True
        )  # one process, until it ends

    def close(self) -> None:
        """Close the file, and let others have it."""
        self._file.close()

    def standing(self) -> TimetableProgress:
        """Return what was remembered; a change that was begun and not ended leaves unknown what runs."""
        rows = self._file.rows(tuple[str], "SELECT page FROM standing")
        if not rows:
            return TimetableProgress()
        where = f"{self._file.path}: standing"
        standing = checked(_STANDING, parse_json(rows[0][0], where, "what tagloom run remembers"), where)
        last = self._file.rows(tuple[str], _LAST_OF_SETTINGS)
        return standing if last and last[0][0] in _KNOWN else replace(standing, settings=())

    def remember(self, standing: TimetableProgress) -> None:
        """Write what is to be remembered."""
        with self._file.writing() as wire:
            wire.execute("INSERT OR REPLACE INTO standing VALUES (1, ?)", (json.dumps(asdict(standing)),))

    def note(self, at: float, kind: str, settings: tuple[str, ...], why: str) -> None:
        """Append an event."""
        with self._file.writing() as wire:
            wire.execute(
                "INSERT INTO event (at, kind, settings, why) VALUES (?, ?, ?, ?)", (at, kind, json.dumps(settings), why)
            )

    def counts(self) -> tuple[int, int]:
        """Count changes done and failed, ever."""
        rows = dict(self._file.rows(tuple[str, int], "SELECT kind, count(*) FROM event GROUP BY kind"))
        return rows.get("done", 0), rows.get("failed", 0)
