"""Read what was measured: words of the command line, CSV files, histories of SNMP counters, files of measurements."""

from __future__ import annotations

from math import isfinite
from pathlib import Path
from typing import Annotated

from pydantic import Field, FiniteFloat

from tagloom.adapters.history import FORM as HISTORY
from tagloom.adapters.measurements import FORM as MEASUREMENTS
from tagloom.errors import Finding, InputError
from tagloom.records.kept import Measured
from tagloom.storage.database import LAST_SECOND, EpochSeconds, Store, mark_of
from tagloom.storage.document import shown, split_rows
from tagloom.storage.text import read_text

WITHIN = 1.96  # standard deviations on either side: 95 % of a normal distribution
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
        elif key == "at" and number is not None and not 0 <= number <= LAST_SECOND:
            findings.append(Finding(f"{where}: {key}", "seconds since the epoch", repr(text)))
        numbers.append(number)
    if not name.strip():
        findings.append(Finding(where, "quantity=value", repr(name)))
    if findings:
        raise InputError(findings)
    return Measured(name.strip(), numbers[0] or 0.0, origin, numbers[1], fabric)


def _file(path: Path) -> list[Measured]:
    expected = "a readable file of measurements, or quantity=value"
    mark = mark_of(path)
    if mark is None:
        return _csv(path, read_text(path, expected))
    history = mark == HISTORY.application_id
    with Store(path, HISTORY if history else MEASUREMENTS) as file:
        return (_history if history else _measurements)(path, file)


def _table(path: Path, text: str, expected: str, keys: set[str]) -> list[tuple[int, dict[str, str]]]:
    """Read CSV under a header that has all of `keys`: rows by their columns' names, with their lines."""
    rows = split_rows(text.splitlines(), str(path))
    header = [cell.strip() for cell in rows[0][1]] if rows else []
    if not keys <= set(header):
        raise InputError([Finding(f"{path}: line 1", expected, shown(text.split("\n", 1)[0]))])
    return [(number, dict(zip(header, cells, strict=False))) for number, cells in rows[1:]]


def _csv(path: Path, text: str) -> list[Measured]:
    """Read ``quantity,value[,at][,fabric]`` rows under a header; `at` in seconds since the epoch."""
    found, findings = list[Measured](), list[Finding]()
    for line, row in _table(path, text, "quantity,value[,at][,fabric]", {"quantity", "value"}):
        name, value, at, fabric = (row.get(key) or "" for key in ("quantity", "value", "at", "fabric"))
        try:
            found.append(_row(f"{path}: line {line}", name, value, path.name, at, fabric))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return found


def _history(path: Path, file: Store) -> list[Measured]:
    """Return what every port sent between two snapshots, in bits per second of octets, as ``out_bps/SWITCH/PORT``.

    A counter that went back was reset, or wrapped: what it counted is not known.
    """
    rows = file.each(
        tuple[str, str, int, EpochSeconds, Annotated[str, Field(pattern=r"^[0-9]{1,20}$")]],
        "SELECT s.fabric, p.switch, p.number, r.at, p.out_octets FROM port p"
        " JOIN snapshot s ON s.id = p.snapshot JOIN reading r ON r.snapshot = p.snapshot AND r.switch = p.switch"
        " WHERE p.out_octets IS NOT NULL ORDER BY s.fabric, p.switch, p.number, r.at",
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


def _measurements(path: Path, file: Store) -> list[Measured]:
    """Return the watts that tagloom measure power kept; its joules are those of the metering, not of a run."""
    rows = file.each(
        tuple[EpochSeconds, str, FiniteFloat],
        'SELECT "when", fabric, value FROM measurement WHERE kind = ? AND quantity = ?',
        ("power", "watts"),
    )
    return [Measured("watts_after", value, path.name, at, fabric) for at, fabric, value in rows]


def read_pairs(path: Path) -> list[tuple[float, float]]:
    """Read ``gap_seconds,overhead_seconds`` rows under a header. Raises InputError with all findings.

    An overhead is the difference of two measurements, so noise may make it negative; a gap is not.
    """
    keys = ("gap_seconds", "overhead_seconds")
    pairs, findings = list[tuple[float, float]](), list[Finding]()
    for line, row in _table(path, read_text(path, "a readable CSV file"), ",".join(keys), set(keys)):
        try:
            times = [float(row.get(key) or "") for key in keys]
        except ValueError:
            times = []
        if times and 0 <= times[0] < float("inf") and abs(times[1]) < float("inf"):
            pairs.append((times[0], times[1]))
        else:
            actual = shown(",".join(row.get(key, "") for key in keys))
            findings.append(Finding(f"{path}: line {line}", "a gap from 0 and an overhead, in seconds", actual))
    if findings:
        raise InputError(findings)
    return pairs


def read_policy(path: Path) -> tuple[tuple[float, float, float], list[tuple[float, float]]]:
    """Read the last sleep policy that tagloom measure idle-gap found: time-out, Ts and Tw in seconds.

    Beside them the ends of their 95 % intervals, by the standard deviations kept; none where one was not kept.
    Raises InputError where the file holds none that is whole.
    """
    with Store(path, MEASUREMENTS) as file:
        rows = file.rows(
            tuple[str, FiniteFloat, FiniteFloat | None],
            'SELECT quantity, value, uncertainty FROM measurement WHERE kind = ? ORDER BY "when", id',
            ("idle-gap",),
        )
    found = {name: (value, sigma) for name, value, sigma in rows if name in PROBED}
    if missing := [name for name in PROBED if name not in found]:
        actual = f"no {', '.join(missing)}"
        raise InputError([Finding(str(path), "a probe that found time-out, sleep and wake", actual)])
    (timeout, *_), (sleep, *_), (wake, *_) = (found[name] for name in PROBED)
    ends = [
        (max(0.0, t - WITHIN * sigma), t + WITHIN * sigma)
        for t, sigma in (found[name] for name in PROBED)
        if sigma is not None
    ]
    return (timeout, sleep, wake), ends if len(ends) == len(PROBED) else []
