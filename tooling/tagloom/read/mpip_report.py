"""Read a report of mpiP: its columns by their headings, which differ between versions, in the units it gives."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from tagloom.errors import Finding, InputError
from tagloom.read.rank_matrix import RANK, WAITS, Cells, RankMatrix, lines_of
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from pathlib import Path

# mpiP has their times, but not what they sent (its make-wrappers.py); Start and Startall send by persistent requests.
NO_BYTES = frozenset(
    ["Alltoallv", "Alltoallw", "Scatterv", "Reduce_scatter", "Reduce_scatter_block", "Exscan", "Start", "Startall"]
)
# It counts one block of them, which goes to each of the other ranks.
ONE_BLOCK = frozenset(["Alltoall", "Ialltoall", "Allgather", "Allgatherv", "Iallgather", "Iallgatherv"])
MOST_EVEN = 2048  # ranks whose bytes are spread over all pairs: four million of them
SPREAD = "mpiP does not say who sent to whom: each order replayed has partners of its own, bandwidth is of all pairs"
UNCOUNTED = "this mpiP report does not count calls: how often a rank waited is unknown"
_VERSION = re.compile(r"@ Version\s*:\s*([0-9]+)\.")
_VERSIONS = ("2", "3")
_TITLE = re.compile(r"@--- ([^(:]+?) \((?:[^()]*, )?(\w+)\)")
_STATISTICS, _TASKS, _TIMES, _SIZES, _SITES = (
    "Task Time Statistics",
    "MPI Time",
    "Aggregate Time",
    "Aggregate Sent Message Size",
    "Callsite Time statistics",
)
_ONE_SIDED = ("Aggregate RMA Origin Size", "Aggregate RMA Size")
# The sections that are read, each with its unit and the columns that it needs.
_SECTIONS = {
    _STATISTICS: ("seconds", ("AppTime", "MPITime")),
    _TASKS: ("seconds", ("Task", "AppTime", "MPITime")),
    _TIMES: ("milliseconds", ("Call", "Site", "MPI%")),
    _SIZES: ("bytes", ("Call", "Site", "Count", "Total")),
    _SITES: ("milliseconds", ("Name", "Site")),
    **dict.fromkeys(_ONE_SIDED, ("bytes", ("Call", "Site", "Count", "Total"))),
}
_LABELS = ("Max", "Mean", "Min", "Stddev", "Aggregate")  # of the rows of _STATISTICS, which no heading names


class _Row(NamedTuple):
    """A row of a section, by the columns of its heading."""

    at: int
    section: str
    columns: tuple[str, ...]
    cells: list[str]

    def word(self, column: str) -> str:
        """Return what stands in a column. Raises ValueError or IndexError."""
        return self.cells[self.columns.index(column)]

    def number(self, column: str) -> float:
        """Return the number in a column. Raises ValueError or IndexError."""
        return float(self.word(column))


class _Sums:
    """What the rows of a report add up to."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.seconds: float | None = None
        self.communication: float | None = None
        self.sent = self.count = self._mean = 0.0
        self.one_sided = 0.0  # bytes
        self.waits: dict[str, float] = {}  # by section, of those that count calls
        self.shares: dict[tuple[str, str], float] = {}  # of time, by section and call, of calls without bytes

    def add(self, row: _Row) -> None:
        """Add a row. Raises ValueError, IndexError or ArithmeticError."""
        if row.section == _STATISTICS:
            self._statistic(row, row.cells[0])
        elif row.section == _TASKS:
            if row.word("Task") == "*":
                self.communication = row.number("MPITime") / self.ranks
            else:
                self.seconds = max(self.seconds or 0.0, row.number("AppTime"))
                self.ranks = max(self.ranks, int(row.word("Task")) + 1)
        elif row.section == _SIZES:
            others = max(1, self.ranks - 1) if row.word("Call") in ONE_BLOCK else 1
            self.count += row.number("Count") * others
            self.sent += row.number("Total") * others
        elif row.section in _ONE_SIDED:
            self.one_sided += row.number("Total")
        else:
            self._call(row, row.word("Call" if row.section == _TIMES else "Name"))

    def _statistic(self, row: _Row, label: str) -> None:
        if label == "Max":
            self.seconds = row.number("AppTime")
        elif label == "Mean":
            self._mean, self.communication = row.number("AppTime"), row.number("MPITime")
        elif label == "Aggregate":
            self.ranks = self.ranks or round(row.number("AppTime") / self._mean)

    def _call(self, row: _Row, call: str) -> None:
        if row.section == _SITES and ("Rank" not in row.columns or row.word("Rank") != "*"):
            return
        if call in NO_BYTES:
            share = row.number("MPI%") if "MPI%" in row.columns else 0.0
            self.shares[row.section, call] = self.shares.get((row.section, call), 0.0) + share
        if "Count" in row.columns:
            often = row.number("Count") if WAITS.fullmatch(call) else 0.0
            self.waits[row.section] = self.waits.get(row.section, 0.0) + often


def mpip(path: Path) -> RankMatrix:
    """Read an mpiP report: what was sent in all, spread over all pairs evenly.

    Of Alltoall and Allgather it counts one block, which a rank sends to the P - 1 others: they are scaled so. Other
    figures stay as reported. What
    mpiP counts but no link carries (messages to oneself), and what it does not count, stands in the remarks. Reports
    before mpiP 3.5 count calls by call site alone; where these are left out, how often ranks waited is unknown. Else
    the call sites count, which are all, where the list of the twenty that took most has fewer.
    """
    found = Cells()
    lines = lines_of(path)
    version = next((said for line in lines if (said := _VERSION.match(line))), None)
    if version is not None and version[1] not in _VERSIONS:
        found.findings.append(Finding(str(path), "a report of mpiP 2 or 3", shown(version.string)))
    if (reports := sum(line.startswith("@ mpiP") for line in lines)) > 1:
        found.findings.append(Finding(str(path), "one report of mpiP", str(reports)))
    sums = _Sums(sum(line.startswith("@ MPI Task Assignment") for line in lines))
    for row in _rows(path, lines, found):
        try:
            sums.add(row)
        except (ValueError, IndexError, ArithmeticError):
            expected = f"a row of mpiP's {row.section}: {' '.join(row.columns).strip()}"
            found.findings.append(Finding(f"{path}:{row.at}", expected, shown(lines[row.at - 1])))
    if sums.ranks < 2:
        found.findings.append(Finding(str(path), "the task times of two or more ranks", str(sums.ranks)))
        raise InputError(found.findings)
    remarks = [
        SPREAD,
        "mpiP prints three significant digits, of the twenty calls that sent most",
        "mpiP counts what a rank sends to itself, which no link carries, as sent to others (NAS CG and MG do that)",
    ]
    remarks += _without_bytes(lines, sums)
    waits = max(sums.waits.values(), default=None)
    if waits is None:
        remarks.append(UNCOUNTED)
    if sums.one_sided:
        remarks.append(
            f"mpiP does not say who sent one-sided messages: {sums.one_sided:,.0f} bytes are not in the matrix"
        )
    if not sums.sent:
        remarks.append("this mpiP report has no messages that were sent")
    if not any(line.startswith("@--- End of Report") for line in lines):
        remarks.append("this mpiP report lacks its end: it may have been cut off")
    return _even(found, sums, tuple(remarks), waits)


def _without_bytes(lines: list[str], sums: _Sums) -> list[str]:
    """Return remarks on calls that the report lists, by their share of the time or as a call site, without bytes."""
    shares = {
        call: 0.0 for line in lines if line[:4].strip().isdecimal() for call in line.split()[-1:] if call in NO_BYTES
    }
    for (_, call), share in sums.shares.items():
        shares[call] = max(shares.get(call, 0.0), share)
    return [
        f"mpiP has no bytes of {call}{f', {share:.0f} % of the time in MPI' if share else ''}: they are missing"
        for call, share in sorted(shares.items())
    ]


def _rows(path: Path, lines: list[str], found: Cells) -> list[_Row]:
    """Return the rows of the sections that are read; units and headings that are unknown are findings."""
    rows: list[_Row] = []
    section, columns = "", tuple[str, ...]()
    first: dict[str, int] = {}  # the line of each section
    for at, line in enumerate(lines, start=1):
        cells = line.split()
        if line.startswith("@---"):
            title = _TITLE.match(line)
            section, columns = title[1] if title is not None and title[1] in _SECTIONS else "", ()
            if section and first.setdefault(section, at) != at:
                found.findings.append(Finding(f"{path}:{at}", f"{section} once, as on line {first[section]}", "twice"))
                section = ""
            elif title is not None and section and title[2] != _SECTIONS[section][0]:
                found.findings.append(Finding(f"{path}:{at}", f"{section} in {_SECTIONS[section][0]}", shown(line)))
                section = ""
        elif line.startswith("@ "):
            section = ""
        elif not section or not cells or line.startswith("---"):
            continue
        elif not columns:
            columns = ("", *cells) if section == _STATISTICS else tuple(cells)
            if missing := [name for name in _SECTIONS[section][1] if name not in columns]:
                expected = f"a heading with {', '.join(missing)} ({section})"
                found.findings.append(Finding(f"{path}:{at}", expected, shown(line)))
                section = ""
        elif _is_row(section, cells):
            if section != _STATISTICS and len(cells) != len(columns):
                expected = f"{len(columns)} columns: {' '.join(columns)}"
                found.findings.append(Finding(f"{path}:{at}", expected, shown(line)))
            else:
                rows.append(_Row(at, section, columns, cells))
        elif section not in {_STATISTICS, _TASKS}:
            expected = f"a row of mpiP's {section}: {' '.join(columns)}"
            found.findings.append(Finding(f"{path}:{at}", expected, shown(line)))
    return rows


def _is_row(section: str, cells: list[str]) -> bool:
    """Return whether words are a row of a section, and no line between."""
    if section in {_STATISTICS, _TASKS}:
        return cells[0] in _LABELS or cells[0] == "*" or cells[0].isdecimal()
    return len(cells) > 1 and RANK.fullmatch(cells[1]) is not None


def _even(found: Cells, sums: _Sums, remarks: tuple[str, ...], waits: float | None) -> RankMatrix:
    ranks = sums.ranks
    if ranks > MOST_EVEN:
        found.findings.append(Finding("ranks", f"at most {MOST_EVEN}, as nobody says who sent to whom", str(ranks)))
        raise InputError(found.findings)
    pairs = ranks * (ranks - 1)
    for a in range(ranks):
        for b in range(ranks):
            if a != b:
                found.add(a, b, sums.sent / pairs, sums.count / pairs)
    calls = None if waits is None else waits / ranks
    return replace(found.done(ranks, sums.seconds, remarks, sums.communication, calls), spread=True)
