"""Keep measurements in a file: one SQLite table, one row for every number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tagloom.storage.database import Form, Store

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tagloom.records.measurement import StoredMeasurement

_SCHEMA = """
CREATE TABLE measurement (
  id INTEGER PRIMARY KEY,
  "when" REAL NOT NULL,            -- seconds since the epoch, when the measurement began
  kind TEXT NOT NULL,              -- pingpong, power, idle-gap, rps
  fabric TEXT NOT NULL,            -- what was measured, as its operator calls it
  parameters TEXT NOT NULL,        -- JSON object
  quantity TEXT NOT NULL,          -- seconds, bandwidth, watts, ...
  value REAL NOT NULL,
  unit TEXT NOT NULL,              -- SI: s, bit/s, W, J, bit/J, J/bit; %
  uncertainty REAL                 -- standard deviation in the same unit, NULL where none is known
)
"""
FORM = Form("a file of measurements", 0, 0, _SCHEMA)


class Measurements:
    """Append rows to one file. Raises InputError where the file is something else, before anything is measured."""

    def __init__(self, path: Path) -> None:
        self._file = Store(path, FORM, new=True)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def append(self, at: float, rows: Sequence[StoredMeasurement]) -> None:
        """Append rows, all or none."""
        words = (
            (at, r.kind, r.fabric, json.dumps(r.parameters, sort_keys=True), r.quantity, r.value, r.unit, r.uncertainty)
            for r in rows
        )
        with self._file.writing() as wire:
            wire.executemany(
                'INSERT INTO measurement ("when", kind, fabric, parameters, quantity, value, unit, uncertainty) '
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                words,
            )
