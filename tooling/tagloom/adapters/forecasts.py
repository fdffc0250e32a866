"""Keep forecasts and what was measured of them in a file: SQLite, one row for every forecast and every number."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pydantic import FiniteFloat, TypeAdapter

from tagloom.records.kept import KeptForecast, Measured, Quantity
from tagloom.storage.database import EpochSeconds, Form, Store
from tagloom.storage.document import checked, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

SCHEMA_VERSION = 1  # PRAGMA user_version of the file
_APPLICATION_ID = 0x74616766  # "tagf", in the header of the file (sqlite.org/fileformat.html)
_SCHEMA = """
CREATE TABLE forecast (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,                -- seconds since the epoch
  fabric TEXT NOT NULL,
  build TEXT NOT NULL,             -- the build's directory, as it was given
  quantities TEXT NOT NULL         -- JSON: name -> [value, low or null, high or null, source]; SI units
);
CREATE TABLE measured (
  quantity TEXT NOT NULL,
  value REAL NOT NULL,
  origin TEXT NOT NULL,            -- where the number came from
  at REAL,                         -- seconds since the epoch, NULL where nobody said
  fabric TEXT NOT NULL,
  UNIQUE (quantity, value, origin, at, fabric)
);
"""
_FORM = Form("forecasts kept by tagloom predict --record", _APPLICATION_ID, SCHEMA_VERSION, _SCHEMA)
_QUANTITIES = TypeAdapter(dict[str, tuple[FiniteFloat, FiniteFloat | None, FiniteFloat | None, str]])


class Forecasts:
    """Append forecasts and measurements to one file, and give them back. Raises InputError for another file."""

    def __init__(self, path: Path, *, new: bool) -> None:
        self._file = Store(path, _FORM, new=new)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def keep(self, at: float, fabric: str, build: str, quantities: Mapping[str, Quantity]) -> int:
        """Write one forecast; returns its number."""
        payload = json.dumps({name: [q.value, q.low, q.high, q.source] for name, q in quantities.items()})
        with self._file.writing() as wire:
            number = wire.execute(
                "INSERT INTO forecast (at, fabric, build, quantities) VALUES (?, ?, ?, ?)", (at, fabric, build, payload)
            ).lastrowid
        assert number is not None  # noqa: S101 - an insert has a row
        return number

    def forecasts(self) -> list[KeptForecast]:
        """Return all forecasts, the oldest first."""
        rows = self._file.rows(
            tuple[int, EpochSeconds, str, str, str],
            "SELECT id, at, fabric, build, quantities FROM forecast ORDER BY at, id",
        )
        return [
            KeptForecast(number, at, fabric, build, self._quantities(number, payload))
            for number, at, fabric, build, payload in rows
        ]

    def _quantities(self, number: int, payload: str) -> dict[str, Quantity]:
        where = f"{self._file.path}: forecast {number}"
        found = checked(_QUANTITIES, parse_json(payload, where, "the quantities of a forecast"), where)
        return {name: Quantity(*each) for name, each in found.items()}

    def measure(self, found: Iterable[Measured]) -> None:
        """Write measurements, all or none; one that is there already is not written again."""
        rows = [(m.quantity, m.value, m.origin, m.at, m.fabric) for m in found]
        known = {(m.quantity, m.value, m.origin, m.at, m.fabric) for m in self.measured()}  # UNIQUE lets NULLs repeat
        with self._file.writing() as wire:
            wire.executemany(
                "INSERT OR IGNORE INTO measured VALUES (?, ?, ?, ?, ?)", [row for row in rows if row not in known]
            )

    def measured(self) -> list[Measured]:
        """Return all measurements in the order of their times."""
        rows = self._file.rows(
            tuple[str, FiniteFloat, str, EpochSeconds | None, str],
            "SELECT quantity, value, origin, at, fabric FROM measured ORDER BY at, quantity",
        )
        return [Measured(*row) for row in rows]
