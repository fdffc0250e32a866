"""Keep what a running timetable did and remembers, in an SQLite file that outlives the process."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.records.timetable import Standing

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA_VERSION = 1
_APPLICATION_ID = 0x7461676D  # "tagm", in the header of the file (sqlite.org/fileformat.html)
_SCHEMA = """
CREATE TABLE event (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,        -- seconds since the epoch
  kind TEXT NOT NULL,      -- begun, done, failed, stopped
  settings TEXT NOT NULL,  -- JSON list of names
  why TEXT NOT NULL
);
CREATE TABLE standing (id INTEGER PRIMARY KEY CHECK (id = 1), page TEXT NOT NULL);
"""


class Ledger:
    """Hold one file. Raises InputError where it is something else, or another process keeps it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = sqlite3.connect(path, timeout=1.0)
            self._file.execute("PRAGMA locking_mode = EXCLUSIVE")  # one process per file, until it ends
            self._file.execute("BEGIN EXCLUSIVE")
            (version,) = self._file.execute("PRAGMA user_version").fetchone()
            (application,) = self._file.execute("PRAGMA application_id").fetchone()
            tables = self._file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
            self._file.commit()
            if tables == 0:
                pragmas = f"PRAGMA application_id = {_APPLICATION_ID}; PRAGMA user_version = {SCHEMA_VERSION};"
                self._file.executescript(pragmas + _SCHEMA)
        except (OSError, sqlite3.Error) as error:
            busy = "locked" in str(error)
            expected = "no other tagloom run that keeps it" if busy else "a state file of tagloom run, or a new one"
            raise InputError([Finding(str(path), expected, str(error))]) from None
        if tables and (application, version) != (_APPLICATION_ID, SCHEMA_VERSION):
            self._file.close()
            raise InputError([Finding(str(path), "a state file of tagloom run, or a new one", "another program's")])

    def close(self) -> None:
        """Close the file, and let others have it."""
        self._file.close()

    def standing(self) -> Standing:
        """Give what was remembered; a change that was begun and not ended leaves unknown what runs."""
        row = self._file.execute("SELECT page FROM standing").fetchone()
        if row is None:
            return Standing()
        page = json.loads(row[0])
        last = self._file.execute("SELECT kind FROM event ORDER BY id DESC LIMIT 1").fetchone()
        known = page["settings"] if last is not None and last[0] == "done" else ()
        return Standing(**page | {"settings": tuple(known), "lowered_at": tuple(page["lowered_at"])})

    def remember(self, standing: Standing) -> None:
        """Write what is to be remembered."""
        with self._file:
            self._file.execute("INSERT OR REPLACE INTO standing VALUES (1, ?)", (json.dumps(asdict(standing)),))

    def note(self, at: float, kind: str, settings: tuple[str, ...], why: str) -> None:
        """Append an event."""
        with self._file:
            self._file.execute(
                "INSERT INTO event (at, kind, settings, why) VALUES (?, ?, ?, ?)", (at, kind, json.dumps(settings), why)
            )

    def counts(self) -> tuple[int, int]:
        """Count changes done and failed, ever."""
        rows = dict(self._file.execute("SELECT kind, count(*) FROM event GROUP BY kind").fetchall())
        return rows.get("done", 0), rows.get("failed", 0)
