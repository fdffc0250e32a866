"""Read what was measured: words of the command line, CSV files, histories of SNMP counters, files of measurements."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from math import isfinite
from pathlib import Path

from tagloom.errors import Finding, InputError
from tagloom.records.kept import Measured

SQLITE = b"SQLite format 3\0"  # how such a file begins (sqlite.org/fileformat.html)
PROBED = ("timeout", "sleep", "wake")  # what tagloom measure idle-gap keeps of a policy


def read_measured(words: list[str]) -> list[Measured]:
    """Read every word: ``quantity=value``, or a file: CSV, or one that observe or measure wrote.

    Raises InputError with the findings of all of them at once.
    """
    found, findings = list[Measured](), list[Finding]()
    for word in words:
        try:
            path = Path(word)
            if "=" in word and not path.is_file():
                name, _, value = word.partition("=")
                found.append(_row(f"--measured {word}", name, value, "given"))
            else:
                found += _file(path)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return found


def _row(where: str, name: str, value: str, origin: str, at: str = "", fabric: str = "") -> Measured:
    findings = []
    numbers: list[float | None] = []
    for key, text in (("value", value), ("at", at)):
        try:
            number = float(text) if text or key == "value" else None
        except ValueError:
            number = float("nan")
        if number is not None and not isfinite(number):
            findings.append(Finding(f"{where}: {key}", "a number", repr(text)))
        numbers.append(number)
    if not name.strip():
        findings.append(Finding(where, "quantity=value", repr(name)))
    if findings:
        raise InputError(findings)
    return Measured(name.strip(), numbers[0] or 0.0, origin, numbers[1], fabric)


def _file(path: Path) -> list[Measured]:
    try:
        with path.open("rb") as opened:
            head = opened.read(len(SQLITE))
        if head != SQLITE:
            return _csv(path, path.read_text("utf-8-sig"))
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
            tables = {name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if {"snapshot", "port"} <= tables:
                return _history(path, file)
            if "measurement" in tables:
                return _measurements(path, file)
    except (OSError, UnicodeDecodeError, sqlite3.Error) as error:
        actual = getattr(error, "strerror", None) or str(error)
        raise InputError([Finding(str(path), "a readable file of measurements, or quantity=value", actual)]) from None
    raise InputError([Finding(str(path), "what tagloom observe or measure wrote", f"tables {sorted(tables)}")])


def _csv(path: Path, text: str) -> list[Measured]:
    """Read ``quantity,value[,at][,fabric]`` rows under a header; `at` in seconds since the epoch."""
    rows = csv.DictReader(text.splitlines())
    if not {"quantity", "value"} <= set(rows.fieldnames or ()):
        raise InputError(
            [Finding(f"{path}: line 1", "quantity,value[,at][,fabric]", repr(text.split("\n", 1)[0][:60]))]
        )
    found, findings = list[Measured](), list[Finding]()
    for row in rows:
        name, value, at, fabric = (row.get(key) or "" for key in ("quantity", "value", "at", "fabric"))
        try:
            found.append(_row(f"{path}: line {rows.line_num}", name, value, path.name, at, fabric))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return found


def _history(path: Path, file: sqlite3.Connection) -> list[Measured]:
    """Give what every port sent between two snapshots, in bits per second of octets, as ``out_bps/SWITCH/PORT``.

    A counter that went back was reset, or wrapped: what it counted is not known.
    """
    rows = file.execute(
        "SELECT s.fabric, p.switch, p.number, r.at, p.out_octets FROM port p"
        " JOIN snapshot s ON s.id = p.snapshot JOIN reading r ON r.snapshot = p.snapshot AND r.switch = p.switch"
        " WHERE p.out_octets IS NOT NULL ORDER BY s.fabric, p.switch, p.number, r.at"
    )
    found = list[Measured]()
    before: tuple[tuple[str, str, int], float, int] | None = None
    for fabric, switch, number, at, octets in rows:
        key, count = (fabric, switch, number), int(octets)
        if before is not None and before[0] == key and at > before[1] and count >= before[2]:
            bps = 8.0 * (count - before[2]) / (at - before[1])
            found.append(Measured(f"out_bps/{switch}/{number}", bps, path.name, at, fabric))
        before = key, at, count
    return found


def _measurements(path: Path, file: sqlite3.Connection) -> list[Measured]:
    """Give the watts that tagloom measure power kept; its joules are those of the metering, not of a run."""
    rows = file.execute(
        'SELECT "when", fabric, value FROM measurement WHERE kind = ? AND quantity = ?', ("power", "watts")
    )
    return [Measured("watts_after", value, path.name, at, fabric) for at, fabric, value in rows]


def read_pairs(path: Path) -> list[tuple[float, float]]:
    """Read ``gap_seconds,overhead_seconds`` rows under a header. Raises InputError with all findings."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), "a readable CSV file", str(error))]) from None
    rows = csv.DictReader(lines)
    keys = ("gap_seconds", "overhead_seconds")
    if not set(keys) <= set(rows.fieldnames or ()):
        raise InputError([Finding(f"{path}: line 1", ",".join(keys), repr((lines or [""])[0][:60]))])
    pairs, findings = list[tuple[float, float]](), list[Finding]()
    for row in rows:
        try:
            times = [float(row[key] or "") for key in keys]
        except ValueError:
            times = []
        if times and all(0 <= time < float("inf") for time in times):
            pairs.append((times[0], times[1]))
        else:
            where = f"{path}: line {rows.line_num}"
            findings.append(Finding(where, "two times in seconds, from 0", ",".join(str(row[k]) for k in keys)))
    if findings:
        raise InputError(findings)
    return pairs


def read_policy(path: Path) -> tuple[float, float, float]:
    """Read the last sleep policy that tagloom measure idle-gap found: time-out, Ts and Tw in seconds.

    Raises InputError where the file holds none that is whole.
    """
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
            rows = file.execute(
                'SELECT quantity, value FROM measurement WHERE kind = ? ORDER BY "when", id', ("idle-gap",)
            )
            found = {name: float(value) for name, value in rows if name in PROBED}
    except (sqlite3.Error, ValueError) as error:
        raise InputError([Finding(str(path), "a file of tagloom measure idle-gap", str(error))]) from None
    if missing := [name for name in PROBED if name not in found]:
        actual = f"no {', '.join(missing)}"
        raise InputError([Finding(str(path), "a probe that found time-out, sleep and wake", actual)])
    return found["timeout"], found["sleep"], found["wake"]
