"""Keep readings in a file: an SQLite history of snapshots, each with its exact time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, FiniteFloat

from tagloom.records.observation import Counters, Observation
from tagloom.storage.database import Form, Store, mark_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

SCHEMA_VERSION = 1  # PRAGMA user_version of the file
_APPLICATION_ID = 0x7461676C  # "tagl", in the header of the file (sqlite.org/fileformat.html)
# Counters stand as text: SQLite's whole numbers end at 2^63 - 1, and Counter64 at 2^64 - 1. NULL is what was missing.
_SCHEMA = """
CREATE TABLE snapshot (
  id INTEGER PRIMARY KEY,
  at REAL NOT NULL,                -- seconds since the epoch, when the last switch had answered
  fabric TEXT NOT NULL
);
CREATE TABLE reading (
  snapshot INTEGER NOT NULL REFERENCES snapshot(id),
  switch TEXT NOT NULL,
  at REAL NOT NULL,                -- seconds since the epoch, when this switch had answered
  error TEXT NOT NULL,             -- why there is no reading, or ""
  complaints TEXT NOT NULL,        -- JSON list
  name TEXT NOT NULL,              -- sysName
  description TEXT NOT NULL,       -- sysDescr
  object_id TEXT NOT NULL,         -- sysObjectID
  chassis TEXT NOT NULL,           -- lldpLocChassisId
  uptime_seconds REAL,             -- sysUpTime
  neighbours TEXT NOT NULL,        -- JSON list, as tagloom observe --json has it
  vlans TEXT,                      -- JSON: VLAN -> port -> 1 untagged, 2 tagged
  pvid TEXT,                       -- JSON: port -> VLAN
  entries TEXT,                    -- JSON list of [VLAN, MAC, ports], static
  learned TEXT,                    -- JSON list of [VLAN, MAC, port]
  PRIMARY KEY (snapshot, switch)
);
CREATE TABLE port (
  snapshot INTEGER NOT NULL REFERENCES snapshot(id),
  switch TEXT NOT NULL,
  number INTEGER NOT NULL,
  name TEXT NOT NULL,
  admin_up INTEGER, oper_up INTEGER,
  speed_bps INTEGER,               -- ifHighSpeed
  last_change_seconds REAL,        -- ifLastChange, on the switch's clock
  in_octets TEXT, out_octets TEXT, in_packets TEXT, out_packets TEXT, in_errors TEXT, out_errors TEXT,
  bits INTEGER NOT NULL,           -- width of the octet counters
  PRIMARY KEY (snapshot, switch, number)
);
CREATE INDEX port_by_time ON port (switch, number, snapshot);
"""
FORM = Form("a history of tagloom's", _APPLICATION_ID, SCHEMA_VERSION, _SCHEMA)
_COUNTED = ("in_octets", "out_octets", "in_packets", "out_packets", "in_errors", "out_errors")


# What a cell of a row is; SQLite itself lets any cell hold anything.
_Count = Annotated[str, Field(pattern=r"^[0-9]{1,20}$")] | None
_Flag = Annotated[int, Field(ge=0, le=1)] | None
_Number = Annotated[int, Field(ge=0, lt=1 << 31)]
_Speed = Annotated[int, Field(ge=0)] | None
_Bits = Annotated[int, Field(ge=1, le=64)]
_Seconds = FiniteFloat | None
_PORT: Any = tuple[
    str, _Number, str, _Flag, _Flag, _Speed, _Seconds, _Count, _Count, _Count, _Count, _Count, _Count, _Bits
]


def is_one(path: Path) -> bool:
    """Return whether a file is an SQLite database, which no other kind of traffic is."""
    return mark_of(path) is not None


class History:
    """Append snapshots to one file, and give the last one back. Raises InputError where the file is something else."""

    def __init__(self, path: Path, *, new: bool = True) -> None:
        self._path = path
        self._file = Store(path, FORM, new=new)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def append(self, fabric: str, at: float, seen: Mapping[str, Observation]) -> int:
        """Write one snapshot, whole or not at all; returns its number."""
        with self._file.writing() as wire:
            number = wire.execute("INSERT INTO snapshot (at, fabric) VALUES (?, ?)", (at, fabric)).lastrowid
            assert number is not None  # noqa: S101 - an insert has a row
            wire.executemany(
                f"INSERT INTO reading VALUES ({', '.join('?' * 15)})",  # noqa: S608 - question marks alone
                [_reading(number, each) for each in seen.values()],
            )
            wire.executemany(
                f"INSERT INTO port VALUES ({', '.join('?' * 15)})",  # noqa: S608 - as above
                [_port(number, each.switch, port) for each in seen.values() for port in each.ports],
            )
        return number

    def last(self, fabric: str) -> dict[str, Observation]:
        """Return the last snapshot of a fabric, as far as rates need it: times, errors and ports; {} where none is."""
        ((number,),) = self._file.rows(tuple[int | None], "SELECT max(id) FROM snapshot WHERE fabric = ?", (fabric,))
        return self._snapshot(number)

    def snapshots(self, fabric: str, seconds: float | None = None) -> Iterator[dict[str, Observation]]:
        """Yield the snapshots of a fabric, oldest first, as `last` does: all, or those of the last `seconds`."""
        found = self._file.rows(
            tuple[int, FiniteFloat], "SELECT id, at FROM snapshot WHERE fabric = ? ORDER BY at, id", (fabric,)
        )
        since = found[-1][1] - seconds if found and seconds is not None else 0.0
        for number, at in found:
            if at >= since:
                yield self._snapshot(number)

    def _snapshot(self, found: int | None) -> dict[str, Observation]:
        ports: dict[str, list[Counters]] = {}
        rows: list[tuple[Any, ...]] = self._file.rows(
            _PORT,
            "SELECT switch, number, name, admin_up, oper_up, speed_bps, last_change_seconds, in_octets, out_octets,"
            " in_packets, out_packets, in_errors, out_errors, bits FROM port WHERE snapshot = ? ORDER BY number",
            (found,),
        )
        for switch, *values in rows:
            number, name, admin, oper, speed, changed, *counted, bits = values
            cells: dict[str, Any] = {
                key: each if each is None else int(each) for key, each in zip(_COUNTED, counted, strict=True)
            }
            up = {"admin_up": _truth(admin), "oper_up": _truth(oper)}
            known = {"speed_bps": speed, "last_change_seconds": changed, "bits": bits}
            ports.setdefault(switch, []).append(Counters(number, name, **up, **known, **cells))
        return {
            switch: Observation(switch, at, error, uptime_seconds=uptime, ports=tuple(ports.get(switch, ())))
            for switch, at, error, uptime in self._file.rows(
                tuple[str, FiniteFloat, str, _Seconds],
                "SELECT switch, at, error, uptime_seconds FROM reading WHERE snapshot = ?",
                (found,),
            )
        }


def _truth(cell: int | None) -> Any:
    return None if cell is None else bool(cell)


def _reading(snapshot: int, seen: Observation) -> tuple[object, ...]:
    vlans = seen.vlans
    members = vlans.members and {vlan: dict(ports) for vlan, ports in vlans.members.items()}
    entries = vlans.entries and [[vlan, mac, list(ports)] for (vlan, mac), ports in vlans.entries.items()]
    learned = vlans.learned and [[vlan, mac, port] for (vlan, mac), port in vlans.learned.items()]
    return (
        *(snapshot, seen.switch, seen.at, seen.error, json.dumps(seen.complaints)),
        *(seen.name, seen.description, seen.object_id, seen.chassis, seen.uptime_seconds),
        json.dumps(seen.to_json()["neighbours"]),
        *(None if part is None else json.dumps(part) for part in (members, vlans.pvid, entries, learned)),
    )


def _port(snapshot: int, switch: str, port: Counters) -> tuple[object, ...]:
    counted = (getattr(port, name) for name in _COUNTED)
    return (
        *(snapshot, switch, port.number, port.name, port.admin_up, port.oper_up, port.speed_bps),
        port.last_change_seconds,
        *(None if count is None else str(count) for count in counted),
        port.bits,
    )
