"""Read a day of traffic: a matrix per interval, from a file each or from one with a time column."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.read.networks import check_networks
from tagloom.read.traffic import ABSURD_BYTES, read_traffic
from tagloom.records.timetable import History
from tagloom.records.traffic import Traffic
from tagloom.storage.document import split_rows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

DAY_SECONDS = 86_400.0
SHORT_GAP_SECONDS = 3600.0  # what is missing between two intervals and is taken to be as busy as both
TIME_HEADER = ("time", "source", "destination", "bytes")
SLACK_SECONDS = 1.0  # by which intervals may overlap: clocks are read to the second


@dataclass(frozen=True, eq=False)
class Interval:
    """One matrix of a history: where it was read, its wall-clock start, and bytes per second by host pair.

    `counted`, of an estimate: bytes per second in and out at hosts' ports, float64[2, H], over channels, float64[C],
    whether links were as in the fabric file, and the share by which counts may differ.
    """

    where: str
    start: datetime
    seconds: float
    rate: NDArray[np.float32]
    counted: tuple[NDArray[np.float64], NDArray[np.float64], bool, float] | None = None


def read_history(paths: Sequence[Path], fabric: Fabric, timezone: str, placement: str = "") -> History:
    """Read a day of traffic. Raises InputError with all findings.

    Either files (or directories of ``*.csv``), each a traffic file with the comment lines ``# seconds: 300`` and
    ``# start: 2026-11-20T08:00`` (or ``08:00``, or seconds since the epoch); or one CSV with the header
    ``time,source,destination,bytes``, its intervals as long as its ``# seconds:`` says, or else as its times lie apart.
    Times without an offset are those of `timezone`.
    """
    zone = zone_of(timezone, "--timezone")
    files = [file for path in paths for file in (sorted(path.glob("*.csv")) if path.is_dir() else [path])]
    if not files:
        raise InputError([Finding(", ".join(map(str, paths)), "traffic files, *.csv", "none")])
    findings: list[Finding] = []
    intervals: list[Interval] = []
    remarks: list[str] = []
    for file in files:
        try:
            lines = read_text(file, "a readable traffic file").splitlines()
            found, said = _timed(file, lines, fabric, zone) or _single(file, lines, fabric, zone, placement)
            intervals += found
            remarks += said
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return whole_day(intervals, tuple(dict.fromkeys(remarks)))[0]


def zone_of(name: str, where: str) -> ZoneInfo:
    """Return a time zone by its IANA name. Raises InputError where there is none."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError([Finding(where, "a time zone such as Europe/Berlin", repr(name))]) from None


def whole_day(intervals: Sequence[Interval], remarks: tuple[str, ...] = ()) -> tuple[History, list[int]]:
    """Put intervals in order and fill what is missing of the day. Raises InputError with all findings.

    A gap of up to an hour between two intervals counts as busy as each of them at every pair; a longer one, and what
    is missing of 24 hours, is not known. Also return which of the intervals each row of the day is, by its index, -1
    where none is.
    """
    if not intervals:
        raise InputError([Finding("history", "traffic in one interval or more", "none: an empty history")])
    order = sorted(range(len(intervals)), key=lambda i: intervals[i].start)
    ordered = [intervals[i] for i in order]
    midnight = ordered[0].start.replace(hour=0, minute=0, second=0, microsecond=0)
    start = [(each.start - midnight).total_seconds() for each in ordered]
    findings = [
        Finding(later.where, f"a start after {earlier.where} ends", f"{later.start:%Y-%m-%d %H:%M:%S}: they overlap")
        for (a, earlier), (b, later) in itertools.pairwise(zip(start, ordered, strict=True))
        if a + earlier.seconds > b + SLACK_SECONDS
    ]
    span = start[-1] + ordered[-1].seconds - start[0]
    if span > DAY_SECONDS + SLACK_SECONDS:
        findings.append(Finding("history", "24 hours at most: a timetable is of one day", f"{span / 3600:.1f} hours"))
    if not any(each.rate.any() for each in ordered):
        findings.append(Finding("history", "some bytes between two hosts", "none: nothing to choose by"))
    if findings:
        raise InputError(findings)
    rows: list[tuple[float, float, NDArray[np.float32], bool]] = []
    of_row: list[int] = []
    silence = np.zeros_like(ordered[0].rate)
    short = unknown = 0.0
    for i, each in enumerate(ordered):
        end = start[i + 1] if i + 1 < len(ordered) else start[0] + DAY_SECONDS
        gap = end - start[i] - each.seconds
        rows.append((start[i], each.seconds + min(gap, 0.0), each.rate, True))
        of_row.append(order[i])
        if gap > SLACK_SECONDS and i + 1 < len(ordered) and gap <= SHORT_GAP_SECONDS:
            short += gap
            rows.append((end - gap, gap, np.maximum(each.rate, ordered[i + 1].rate), True))
            of_row.append(-1)
        elif gap > SLACK_SECONDS:
            unknown += gap
            rows.append((end - gap, gap, silence, False))
            of_row.append(-1)
        elif gap > 0:
            rows[-1] = (start[i], each.seconds + gap, each.rate, True)
    said = [f"{short / 60:.0f} minutes missing between intervals count as busy as those around them"] if short else []
    said += [f"{unknown / 3600:.1f} hours of the day were not measured: everything is on then"] if unknown else []
    columns = tuple(zip(*rows, strict=True))
    history = History(
        np.array(columns[0]),
        np.array(columns[1]),
        np.stack(columns[2]),
        np.array(columns[3], np.bool_),
        (*remarks, *said),
    )
    return history, of_row


def _single(
    path: Path, lines: list[str], fabric: Fabric, zone: ZoneInfo, placement: str
) -> tuple[list[Interval], tuple[str, ...]]:
    """Read a file of one interval."""
    findings: list[Finding] = []
    starts = [(n, line) for n, line in enumerate(lines, start=1) if _key(line) == "start"]
    start = None
    if len(starts) != 1:
        findings.append(Finding(str(path), "one line '# start: TIME'", f"{len(starts)} of them"))
    else:
        start = _time(f"{path}:{starts[0][0]}  start", starts[0][1].partition(":")[2], zone, findings)
    try:
        traffic = read_traffic(path, fabric, placement)
    except InputError as error:
        raise InputError([*findings, *error.findings]) from None
    if traffic.seconds is None:
        findings.append(Finding(str(path), "a line '# seconds: N'", "none"))
    if findings or start is None or traffic.seconds is None:
        raise InputError(findings)
    rate = (traffic.volume_bytes / traffic.seconds).astype(np.float32)
    return [Interval(str(path), start, traffic.seconds, rate)], traffic.remarks


def _timed(
    path: Path, lines: list[str], fabric: Fabric, zone: ZoneInfo
) -> tuple[list[Interval], tuple[str, ...]] | None:
    """Read a file with a time column; None where it has none."""
    rows = split_rows(lines, str(path))
    if not rows or tuple(cell.strip() for cell in rows[0][1][:4]) != TIME_HEADER:
        return None
    findings: list[Finding] = []
    seconds = None
    for n, line in enumerate(lines, start=1):
        if _key(line) == "seconds":
            seconds = _number(f"{path}:{n}  seconds", line.partition(":")[2], 1e-9, findings)
    names = {host.name: i for i, host in enumerate(fabric.hosts)}
    volume: dict[datetime, NDArray[np.float32]] = {}
    first: dict[datetime, str] = {}
    for n, cells in rows[1:]:
        where = f"{path}:{n}"
        if len(cells) < len(TIME_HEADER):
            findings.append(Finding(where, "4 columns", str(len(cells))))
            continue
        at = _time(where, cells[0], zone, findings)
        ends = [names.get(cell.strip()) for cell in cells[1:3]]
        findings += [
            Finding(where, "a host of the fabric", repr(cell))
            for cell, end in zip(cells[1:3], ends, strict=True)
            if end is None
        ]
        size = _number(f"{where}  bytes", cells[3], 0.0, findings)
        a, b = ends
        if at is not None:
            matrix = volume.setdefault(at, np.zeros((len(names),) * 2, np.float32))
            first.setdefault(at, where)
            if a is not None and b is not None and a != b:
                matrix[a, b] += size
    times = sorted(volume)
    if seconds is None:
        apart = [(b - a).total_seconds() for a, b in itertools.pairwise(times)]
        if not apart:
            findings.append(Finding(str(path), "a line '# seconds: N', or two times and more", f"{len(times)} times"))
        seconds = min(apart, default=1.0)
    if volume:
        whole = np.asarray(np.sum(list(volume.values()), axis=0), np.float64)
        try:
            check_networks(fabric, Traffic(whole, np.zeros_like(whole)), str(path))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return [Interval(first[at], at, seconds, volume[at] / np.float32(seconds)) for at in times], ()


def _key(line: str) -> str:
    return line[1:].partition(":")[0].strip() if line.startswith("#") else ""


def _time(where: str, text: str, zone: ZoneInfo, findings: list[Finding]) -> datetime | None:
    """Read a time as the clock on the wall shows it."""
    word = text.strip()
    try:
        if ":" not in word and "-" not in word:
            return datetime.fromtimestamp(float(word), zone).replace(tzinfo=None)
        at = datetime.fromisoformat(word if "-" in word else f"2000-01-01T{word}")
    except (ValueError, OverflowError, OSError):
        findings.append(Finding(where, "YYYY-MM-DDTHH:MM, HH:MM or seconds since the epoch", repr(word)))
        return None
    return at.astimezone(zone).replace(tzinfo=None) if at.tzinfo else at


def _number(where: str, text: str, least: float, findings: list[Finding]) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not least <= value <= ABSURD_BYTES:  # also catches NaN
        findings.append(Finding(where, f"a number from {least:g} to {ABSURD_BYTES:g}", repr(text.strip())))
        return 1.0
    return value
