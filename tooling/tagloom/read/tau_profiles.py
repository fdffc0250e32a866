"""Read what TAU writes: profiles of each rank, and paraprof's summary of them, by their headings and metrics."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.read.rank_matrix import OUTSIDE, WAITS, Cells, RankMatrix, lines_of
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TAU_FILE = re.compile(r"profile\.([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})$")
# TAU's metrics of wall-clock time, all in microseconds, in the order of choice; "" is a profile of old, without a name.
WALL_CLOCK = (
    *("TIME", "", "GET_TIME_OF_DAY", "LINUX_TIMERS", "CRAY_TIMERS", "BGL_TIMERS", "BGP_TIMERS", "BGQ_TIMERS"),
    *("SGI_TIMERS", "P_WALL_CLOCK_TIME", "PAPI_WALLCLOCK", "WALL_CLOCK_TIME", "TAUGPU_TIME"),
)
MICROSECONDS = 1e-6
SECONDS_OF = {"microseconds": MICROSECONDS, "milliseconds": 1e-3, "seconds": 1.0}
_FIRST = re.compile(r"([0-9]{1,9}) templated_functions(?:_MULTI)?_*(\S*)")
_USER_EVENTS = re.compile(r"([0-9]{1,9}) userevents")
_AGGREGATES = re.compile(r"[0-9]{1,9} aggregates")
_HEADING = re.compile(r"#((?:[ \t]+[A-Za-z][\w%]*)+)")
_ROW = re.compile(r'"(.*?)[ \t]*"((?:[ \t]+[^\s"=]+)+)')
_SENT = re.compile(r"Message size sent to node ([0-9]{1,6})")
_TIMES, _EVENTS = ("Calls", "Excl", "Incl"), ("numevents", "mean")
# Rows of a call path (of sampling, too) or of a parameter's value: the call's own row has their times already.
_PARTS = re.compile(r"=>|<[^<>]*> ?= ?<")
_THROTTLED = re.compile(r"[ \t]*\[THROTTLED\]")  # TAU has stopped measuring it


class _Table(NamedTuple):
    """The rows of one table of a profile: what its first line counts, its columns, and (line, name, cells)."""

    stated: int
    columns: tuple[str, ...]
    rows: list[tuple[int, str, list[str]]]

    def cells(self, row: list[str], wanted: Sequence[str]) -> list[float]:
        """Return a row's numbers of some columns. Raises ValueError."""
        return [float(row[self.columns.index(name) - 1]) for name in wanted]


def tau(path: Path) -> RankMatrix:
    """Read TAU profiles (profile.N.C.T) written with TAU_COMM_MATRIX=1: bytes are events times their mean.

    Of several metrics (folders MULTI__METRIC) one of wall-clock time is read, in microseconds; without one there is a
    finding. The run took as long as the longest inclusive time of any rank. Calls that TAU stopped measuring are a
    remark.
    """
    found = Cells()
    texts = _of_wall_clock(path, found.findings)
    seen: dict[tuple[str, ...], Path] = {}
    nodes: set[int] = set()
    longest, inside, calls, collective = 0.0, 0.0, 0.0, False
    throttled: set[str] = set()
    for file, lines in texts.items():
        name = TAU_FILE.match(file.name)
        if name is None:
            found.findings.append(Finding(str(file), "profile.NODE.CONTEXT.THREAD", file.name))
            continue
        if name.groups() in seen:
            expected = f"one run in a folder, one profile of each rank and metric, as {seen[name.groups()]}"
            found.findings.append(Finding(str(file), expected, "a second one"))
            continue
        seen[name.groups()] = file
        node = int(name[1])
        nodes.add(node)
        timers, events = _tables(file, lines, found.findings)
        for at, called, row in timers.rows:
            try:
                often, exclusive, inclusive = timers.cells(row, _TIMES)
            except (ValueError, IndexError):
                found.findings.append(Finding(f"{file}:{at}", "microseconds", shown(" ".join(row))))
                continue
            longest = max(longest, inclusive * MICROSECONDS)
            if _is_mpi(called):
                inside += exclusive * MICROSECONDS
                measured = _THROTTLED.sub("", called)
                calls += often if WAITS.fullmatch(measured[4:]) else 0.0
                throttled |= {measured} - {called}
        for at, called, row in events.rows:
            collective = collective or called.startswith("Message size for")
            if (sent := _SENT.fullmatch(called)) is None:
                continue
            try:
                count, mean = events.cells(row, _EVENTS)
            except (ValueError, IndexError):
                found.findings.append(Finding(f"{file}:{at}", "numbers", shown(" ".join(row))))
                continue
            found.add(node, int(sent[1]), float(np.round(count * mean)), count)
    ranks = 1 + max([*nodes, *(max(pair) for pair in found.cells)], default=-1)
    if not found.cells:
        expected = 'events "Message size sent to node N" (set TAU_COMM_MATRIX=1 for the run)'
        found.findings.append(Finding(str(path), expected, "none"))
    if len(nodes) < ranks:
        found.findings.append(Finding(str(path), f"profiles of {ranks} nodes", f"{len(nodes)} of them"))
    remarks = ["TAU does not say when messages were sent"]
    if collective:
        remarks.append("TAU knows no partners of collective messages: they are not in the matrix")
    if throttled:
        stopped = ", ".join(sorted(throttled))
        remarks.append(
            f"TAU stopped measuring {stopped} (TAU_THROTTLE=1): their times and numbers of calls are too low"
        )
    count = max(1, len(nodes))
    return found.done(ranks, longest or None, tuple(remarks), inside / count if nodes else None, calls / count)


def _is_mpi(called: str) -> bool:
    """Return whether a row has all the time of an MPI call during the run."""
    return called.startswith("MPI") and not called.startswith(OUTSIDE) and _PARTS.search(called) is None


def _of_wall_clock(path: Path, findings: list[Finding]) -> dict[Path, list[str]]:
    """Return the lines of the profiles of one metric of wall-clock time; findings where there is none."""
    files = sorted(p for p in path.rglob("profile.*") if TAU_FILE.match(p.name)) if path.is_dir() else [path]
    texts = {file: lines_of(file) for file in files}
    metrics: dict[Path, str] = {}
    for file, lines in texts.items():
        said = lines[0] if lines else ""
        if (first := _FIRST.fullmatch(said.strip())) is None:
            findings.append(Finding(f"{file}:1", "a number and templated_functions_MULTI_METRIC", shown(said)))
        else:
            metrics[file] = first[2].upper()
    chosen = next((metric for metric in WALL_CLOCK if metric in metrics.values()), None)
    if metrics and chosen is None:
        expected = "profiles of wall-clock time in microseconds (TAU_METRICS=TIME)"
        findings.append(Finding(str(path), expected, shown(", ".join(sorted(set(metrics.values()))))))
    return {file: texts[file] for file, metric in metrics.items() if metric == chosen}


def _tables(file: Path, lines: list[str], findings: list[Finding]) -> tuple[_Table, _Table]:
    """Return the timers and the user events of a profile: as many as it says, under headings that are known."""
    timers, events = _Table(0, (), []), _Table(0, (), [])
    now: _Table | None = None
    for at, line in enumerate(lines, start=1):
        if at == 1 and (first := _FIRST.match(line)) is not None:
            now = timers = _Table(int(first[1]), (), [])
        elif (counted := _USER_EVENTS.fullmatch(line.strip())) is not None:
            now = events = _Table(int(counted[1]), (), [])
        elif _AGGREGATES.fullmatch(line.strip()):
            now = None
        elif now is None:
            continue
        elif not now.columns and (heading := _HEADING.match(line)) is not None:
            now = now._replace(columns=tuple(heading[1].split()))
            timers, events = (now, events) if now.rows is timers.rows else (timers, now)
        elif line.startswith('"'):
            row = _ROW.match(line)
            if row is None:
                findings.append(Finding(f"{file}:{at}", "a name in quotes and numbers", shown(line)))
                continue
            now.rows.append((at, row[1], row[2].split()))
    for table, wanted in ((timers, _TIMES), (events, _EVENTS)):
        if table.rows and not set(wanted) <= set(table.columns):
            said = " ".join(table.columns) or "no heading"
            findings.append(Finding(str(file), f"a heading with {', '.join(wanted)}", shown(said)))
        if len(table.rows) != table.stated:
            findings.append(Finding(str(file), f"{table.stated} rows, as it says above them", str(len(table.rows))))
    if any(str(file) == finding.where for finding in findings):
        return _Table(0, (), []), _Table(0, (), [])
    return timers, events


_TWELVE = ("Calls", "Child Calls")  # a summary's columns of 12 characters; all others have 16
_TIMED = re.compile(r"(Exclusive|Inclusive) (\S+) \((\w+)\)")
_EACH = ("Min", "Max", "Mean")


def paraprof(path: Path, ranks: int | None) -> RankMatrix:
    """Read `paraprof --dumpmpisummary`: how long the run and its MPI calls took, and how often ranks waited there.

    Its heading names groups of three columns (Min, Max, Mean) of fixed width, so that wide numbers may abut: 12 for
    calls, 16 for times and bytes; -x leaves some out. "Bytes
    Transferred" is not read: for a call it adds up the mean message sizes of all events whose names contain the call's,
    one for each partner, and it is 0 for collectives. What was sent cannot be told from that (CG.S on 4 ranks would be
    2.7 times too high, IS.W on 16 would be 64 bytes in place of 44.6 MB), so there are no messages.
    """
    if ranks is None or ranks < 2:
        raise InputError(
            [Finding("--ranks", "how many ranks ran (2 or more): paraprof's summary does not say", str(ranks))]
        )
    found = Cells()
    longest = inside = calls = 0.0
    rows = 0
    lines = lines_of(path)
    groups = next((re.split(r"\s{2,}", line.strip())[:-1] for line in lines if "Bytes Transferred" in line), [])
    times = {
        (said[1], stat): (3 * g + i, SECONDS_OF[said[3].lower()])
        for g, group in enumerate(groups)
        if (said := _TIMED.fullmatch(group)) and said[2].upper() in WALL_CLOCK and said[3].lower() in SECONDS_OF
        for i, stat in enumerate(_EACH)
    }
    often = 3 * groups.index("Calls") + _EACH.index("Mean") if "Calls" in groups else -1
    each = next((line.split() for line in lines if line.split()[:1] == ["Min"]), [])
    if not often + 1 or ("Inclusive", "Max") not in times or each != list(_EACH) * len(groups):
        expected = "the heading Calls, Inclusive TIME (Microseconds), each with Min, Max, Mean (wall-clock time)"
        raise InputError([Finding(str(path), expected, shown(", ".join(groups)) or "none")])
    widths = [12 if group in _TWELVE else 16 for group in groups for _ in _EACH]
    edges = [0, *itertools.accumulate(widths)]
    last, last_unit = times["Inclusive", "Max"]
    mean, unit = times.get(("Exclusive", "Mean"), times["Inclusive", "Mean"])
    for at, line in enumerate(lines, start=1):
        if not re.match(r"\s+\d", line) or "   " not in line:
            continue
        try:
            cells = [float(line[a:b]) for a, b in itertools.pairwise(edges)]
        except ValueError:
            expected = f"{widths.count(12)} columns of 12 and {widths.count(16)} of 16"
            found.findings.append(Finding(f"{path}:{at}", expected, shown(line)))
            continue
        rows += 1
        name = line[edges[-1] :].strip()
        longest = max(longest, cells[last] * last_unit)
        if _is_mpi(name):
            inside += cells[mean] * unit
            calls += cells[often] if WAITS.fullmatch(name[4:]) else 0.0
    if not rows:
        found.findings.append(Finding(str(path), "rows of paraprof --dumpmpisummary", "none"))
    remarks = ("of paraprof's summary, times and calls count: it does not say what was sent",)
    return found.done(ranks, longest or None, remarks, inside, calls)
