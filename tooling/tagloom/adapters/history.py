"""Keep readings in a file: an SQLite history of snapshots, each with its exact time."""

from __future__ import annotations

import json
from contextlib import closing
from typing import TYPE_CHECKING, Any

from tagloom.adapters.database import Form, open_file
from tagloom.records.observation import Counters, Observation

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
_FORM = Form(_APPLICATION_ID, SCHEMA_VERSION, _SCHEMA, "a history of tagloom's, or a new file", "a history")
_MAGIC = b"SQLite format 3\0"  # sqlite.org/fileformat.html section 1.3
_COUNTED = ("in_octets", "out_octets", "in_packets", "out_packets", "in_errors", "out_errors")


def is_one(path: Path) -> bool:
    """Tell whether a file is an SQLite database, which no other kind of traffic is."""
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


class History:
    """Append snapshots to one file, and give the last one back. Raises InputError where the file is something else."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = open_file(path, _FORM)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def append(self, fabric: str, at: float, seen: Mapping[str, Observation]) -> int:
        """Write one snapshot, whole or not at all; gives its number."""
        with self._file:
            number = self._file.execute("INSERT INTO snapshot (at, fabric) VALUES (?, ?)", (at, fabric)).lastrowid
            assert number is not None  # noqa: S101 - an insert has a row
            self._file.executemany(
                f"INSERT INTO reading VALUES ({', '.join('?' * 15)})",  # noqa: S608 - question marks alone
                [_reading(number, each) for each in seen.values()],
            )
            self._file.executemany(
                f"INSERT INTO port VALUES ({', '.join('?' * 15)})",  # noqa: S608 - as above
                [_port(number, each.switch, port) for each in seen.values() for port in each.ports],
            )
        return number

    def last(self, fabric: str) -> dict[str, Observation]:
        """Give the last snapshot of a fabric, as far as rates need it: times, errors and ports; {} where none is."""
        with closing(self._file.cursor()) as rows:
            number = rows.execute("SELECT max(id) FROM snapshot WHERE fabric = ?", (fabric,)).fetchone()[0]
        return self._snapshot(number)

    def snapshots(self, fabric: str, seconds: float | None = None) -> Iterator[dict[str, Observation]]:
        """Give the snapshots of a fabric, oldest first, as `last` does: all, or those of the last `seconds`."""
        with closing(self._file.cursor()) as rows:
            found = rows.execute("SELECT id, at FROM snapshot WHERE fabric = ? ORDER BY at, id", (fabric,)).fetchall()
        since = found[-1][1] - seconds if found and seconds is not None else 0.0
        for number, at in found:
            if at >= since:
                yield self._snapshot(number)

    def _snapshot(self, found: int | None) -> dict[str, Observation]:
        with closing(self._file.cursor()) as rows:
            ports: dict[str, list[Counters]] = {}
            for switch, *values in rows.execute(
                "SELECT switch, number, name, admin_up, oper_up, speed_bps, last_change_seconds, in_octets, out_octets,"
                " in_packets, out_packets, in_errors, out_errors, bits FROM port WHERE snapshot = ? ORDER BY number",
                (found,),
            ):
                number, name, admin, oper, speed, changed, *counted, bits = values
                cells: dict[str, Any] = {
                    key: each if each is None else int(each) for key, each in zip(_COUNTED, counted, strict=True)
                }
                up = {"admin_up": _truth(admin), "oper_up": _truth(oper)}
                known = {"speed_bps": speed, "last_change_seconds": changed, "bits": bits}
                ports.setdefault(switch, []).append(Counters(number, name, **up, **known, **cells))
            return {
                switch: Observation(switch, at, error, uptime_seconds=uptime, ports=tuple(ports.get(switch, ())))
                for switch, at, error, uptime in rows.execute(
                    "SELECT switch, at, error, uptime_seconds FROM reading WHERE snapshot = ?", (found,)
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
        json.dumps(seen.as_json()["neighbours"]),
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
