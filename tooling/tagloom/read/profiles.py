"""Read what profilers of parallel programs say about messages: Open MPI monitoring, TAU, paraprof and mpiP."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.storage.document import shown
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from pathlib import Path

# Ranks have six digits at most, so that no number in a file asks for memory without bound.
RANK = re.compile(r"[0-9]{1,6}")
PROF = re.compile(r"([EI])\t([0-9]{1,6})\t([0-9]{1,6})\t([0-9]{1,20}) bytes\t([0-9]{1,20}) msgs sent")
PROF_FILE = re.compile(r"\.([0-9]{1,6})\.prof$")
TAU_FILE = re.compile(r"profile\.([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})$")
TAU_EVENT = re.compile(r'"Message size sent to node ([0-9]{1,6})\s*" (\S+) (\S+) (\S+) (\S+) ')
TAU_TIMER = re.compile(r'"(.+?)\s*" (\S+) \S+ (\S+) (\S+) ')
NO_BYTES = ("Alltoallv", "Alltoallw")  # mpiP 3.5 has their times, but not what they sent
MICROSECONDS = 1e-6
MOST_EVEN = 2048  # ranks whose bytes are spread over all pairs: four million of them
MOST_FINDINGS = 20
OUTSIDE = ("MPI_Init", "MPI_Finalize")  # before and after the run, as far as messages go
SPREAD = "mpiP does not say who sent to whom: bytes are spread evenly over all pairs of ranks"
# The calls in which a process waits for messages of others, without MPI_: the steps of a run.
WAITS = re.compile(
    r"(Recv|Mrecv|Sendrecv|Sendrecv_replace|Wait|Waitall|Waitany|Waitsome|Barrier|Bcast|Reduce|Allreduce|Scan|Exscan"
    r"|(Gather|Allgather|Scatter)v?|Alltoall[vw]?|Reduce_scatter(_block)?)(\(\))?"
)


@dataclass(frozen=True, eq=False)
class RankMatrix:
    """Bytes and messages by ordered pair of ranks, how many ranks there are, seconds or None, and remarks.

    `communication_seconds` is how long a rank was inside MPI calls on average, start and end of the run left out;
    `calls` how often a rank waited for messages there, on average.
    """

    ranks: int
    cells: dict[tuple[int, int], tuple[float, float]]
    seconds: float | None = None
    remarks: tuple[str, ...] = ()
    communication_seconds: float | None = None
    calls: float | None = None


@dataclass
class _Cells:
    findings: list[Finding] = field(default_factory=list)
    cells: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)

    def add(self, a: int, b: int, size: float, count: float) -> None:
        old = self.cells.get((a, b), (0.0, 0.0))
        self.cells[a, b] = old[0] + size, old[1] + count

    def done(
        self,
        ranks: int,
        seconds: float | None,
        remarks: tuple[str, ...],
        communication: float | None = None,
        calls: float | None = None,
    ) -> RankMatrix:
        self.findings += [
            Finding(f"messages from rank {a} to rank {b}", "bytes and a number from 0", shown(cell))
            for (a, b), cell in self.cells.items()
            if not all(0 <= number < inf for number in cell)
        ][:MOST_FINDINGS]
        known = ("seconds of the run", seconds), ("seconds of communication", communication), ("MPI calls", calls)
        for what, number in known:
            if number is not None and not 0 <= number < inf:
                self.findings.append(Finding(what, "a number from 0", shown(number)))
        if self.findings:
            raise InputError(self.findings)
        return RankMatrix(ranks, self.cells, seconds, remarks, communication, calls or None)


def kind_of(path: Path) -> str:
    """Return which tool wrote a file or folder, "" where it is none of those read here."""
    if path.is_dir():
        if any(path.glob("*.prof")):
            return "open-mpi"
        return "tau" if any(TAU_FILE.match(p.name) for p in path.rglob("profile.*")) else ""
    if path.suffix == ".prof":
        return "open-mpi"
    head = _lines(path)[:8]
    if any(line.startswith("@ mpiP") for line in head):
        return "mpip"
    if any("Bytes Transferred" in line for line in head):
        return "paraprof"
    if any(line.startswith("ts,") and ",sa,da," in line for line in head[:1]):
        return "nfdump"
    return ""


def read_ranks(path: Path, kind: str, ranks: int | None = None) -> RankMatrix:
    """Read a rank matrix of a kind. Raises InputError with all findings.

    `ranks` says how many there were where the format does not: paraprof's summary.
    """
    if kind == "open-mpi":
        return open_mpi(path)
    if kind == "tau":
        return tau(path)
    return mpip(path) if kind == "mpip" else paraprof(path, ranks)


def open_mpi(path: Path) -> RankMatrix:
    """Read Open MPI's monitoring output, PREFIX.<rank>.prof; naming one rank's file reads those of all.

    External (E) and internal (I) point-to-point lines are added: which is which is the sign of the tag, which
    collectives over persistent requests set wrongly. Collective lines (C, O2A, A2O, A2A) are nominal, of messages that
    the E and I lines already hold. Source: Open MPI 4.1, ompi/mca/common/monitoring.
    """
    if path.is_dir():
        files = sorted(path.glob("*.prof"))
    else:
        prefix = re.sub(r"\.\d+\.prof$", "", path.name)
        files = [p for p in path.parent.glob("*.prof") if re.sub(r"\.\d+\.prof$", "", p.name) == prefix]
    found = _Cells()
    numbers = set()
    for file in sorted(files):
        number = PROF_FILE.search(file.name)
        if number is None:
            found.findings.append(Finding(str(file), "PREFIX.RANK.prof", file.name))
            continue
        numbers.add(int(number[1]))
        for at, line in enumerate(_lines(file), start=1):
            if line[:2] not in {"E\t", "I\t"}:
                continue
            cell = PROF.match(line)
            if cell is None:
                found.findings.append(Finding(f"{file}:{at}", "E|I, ranks, bytes and msgs sent by tabs", shown(line)))
            elif int(cell[2]) != int(number[1]):
                found.findings.append(Finding(f"{file}:{at}", f"lines of rank {number[1]}", f"rank {cell[2]}"))
            else:
                found.add(int(cell[2]), int(cell[3]), float(cell[4]), float(cell[5]))
    ranks = 1 + max([*numbers, *(max(pair) for pair in found.cells)], default=-1)
    missing = [rank for rank in range(ranks) if rank not in numbers]
    if missing or not numbers:
        found.findings.append(Finding(str(path), f"a file of each rank, 0 to {ranks - 1}", f"none of {shown(missing)}"))
    reported = "Open MPI monitoring does not say how long the run took, nor when messages were sent"
    return found.done(ranks, None, (reported,))


def tau(path: Path) -> RankMatrix:
    """Read TAU profiles (profile.N.C.T) written with TAU_COMM_MATRIX=1: bytes are events times their mean.

    Times are microseconds; the run took as long as the longest inclusive time of any rank.
    """
    files = sorted(p for p in path.rglob("profile.*") if TAU_FILE.match(p.name)) if path.is_dir() else [path]
    found = _Cells()
    nodes: set[int] = set()
    longest, inside, calls, collective = 0.0, 0.0, 0.0, False
    for file in files:
        name = TAU_FILE.match(file.name)
        if name is None:
            found.findings.append(Finding(str(file), "profile.NODE.CONTEXT.THREAD", file.name))
            continue
        node = int(name[1])
        nodes.add(node)
        for at, line in enumerate(_lines(file), start=1):
            if line.startswith('"Message size') and " : " not in line:
                collective = collective or line.startswith('"Message size for')
                event = TAU_EVENT.match(line)
                if event is not None:
                    try:
                        count, mean = float(event[2]), float(event[5])
                    except ValueError:
                        found.findings.append(Finding(f"{file}:{at}", "numbers", shown(line)))
                        continue
                    found.add(node, int(event[1]), float(np.round(count * mean)), count)
            elif (timer := TAU_TIMER.match(line)) is not None and "GROUP=" in line:
                try:
                    often, exclusive, inclusive = (float(timer[n]) for n in (2, 3, 4))
                except ValueError:
                    found.findings.append(Finding(f"{file}:{at}", "microseconds", shown(line)))
                    continue
                longest = max(longest, inclusive * MICROSECONDS)
                if timer[1].startswith("MPI") and not timer[1].startswith(OUTSIDE):
                    inside += exclusive * MICROSECONDS
                    calls += often if WAITS.fullmatch(timer[1][4:].strip()) else 0.0
    ranks = 1 + max([*nodes, *(max(pair) for pair in found.cells)], default=-1)
    if not found.cells:
        expected = 'events "Message size sent to node N" (set TAU_COMM_MATRIX=1 for the run)'
        found.findings.append(Finding(str(path), expected, "none"))
    if len(nodes) < ranks:
        found.findings.append(Finding(str(path), f"profiles of {ranks} nodes", f"{len(nodes)} of them"))
    remarks = ["TAU does not say when messages were sent"]
    if collective:
        remarks.append("TAU knows no partners of collective messages: they are not in the matrix")
    count = max(1, len(nodes))
    return found.done(ranks, longest or None, tuple(remarks), inside / count if nodes else None, calls / count)


def paraprof(path: Path, ranks: int | None) -> RankMatrix:
    """Read `paraprof --dumpmpisummary`: how long the run and its MPI calls took, and how often ranks waited there.

    Columns are of fixed width (6 of 12 and 9 of 16, or 3 and 6 with -x), so that wide numbers may abut. "Bytes
    Transferred" is not read: for a call it adds up the mean message sizes of all events whose names contain the call's,
    one for each partner, and it is 0 for collectives. What was sent cannot be told from that (CG.S on 4 ranks would be
    2.7 times too high, IS.W on 16 would be 64 bytes in place of 44.6 MB), so there are no messages.
    """
    if ranks is None or ranks < 2:
        raise InputError(
            [Finding("--ranks", "how many ranks ran (2 or more): paraprof's summary does not say", str(ranks))]
        )
    found = _Cells()
    longest = inside = calls = 0.0
    rows = 0
    for at, line in enumerate(_lines(path), start=1):
        if not re.match(r"\s+\d", line) or "   " not in line:
            continue
        wide = len(line) > 6 * 12 + 9 * 16
        narrow, broad = (6, 9) if wide else (3, 6)
        edges = [12 * i for i in range(narrow + 1)] + [12 * narrow + 16 * (i + 1) for i in range(broad)]
        try:
            cells = [float(line[a:b]) for a, b in itertools.pairwise(edges)]
        except ValueError:
            found.findings.append(Finding(f"{path}:{at}", f"{narrow} columns of 12 and {broad} of 16", shown(line)))
            continue
        rows += 1
        name = line[edges[-1] :].strip()
        longest = max(longest, cells[-5] * MICROSECONDS)
        if name.startswith("MPI") and not name.startswith(OUTSIDE):
            inside += cells[narrow + 2] * MICROSECONDS
            calls += cells[2] if WAITS.fullmatch(name[4:]) else 0.0
    if not rows:
        found.findings.append(Finding(str(path), "rows of paraprof --dumpmpisummary", "none"))
    remarks = ("of paraprof's summary, times and calls count: it does not say what was sent",)
    return found.done(ranks, longest or None, remarks, inside, calls)


def mpip(path: Path) -> RankMatrix:
    """Read an mpiP report: what was sent in all, spread over all pairs evenly; Alltoall counts one destination there.

    A rank's Alltoall really sends to the P - 1 others, so its bytes are scaled so. Other figures stay as reported. What
    mpiP counts but no link carries (messages to oneself), and what it does not count, stands in the remarks.
    """
    found = _Cells()
    ranks, seconds = 0, None
    sent = count = communication = waits = 0.0
    inside, vectors = "", dict[str, float]()
    for at, line in enumerate(_lines(path), start=1):
        if line.startswith("@ MPI Task Assignment"):
            ranks += 1
        if line.startswith("@---"):
            inside = line
            continue
        cells = line.split()
        try:
            if "Task Time" in inside or "MPI Time (seconds)" in inside:
                if cells[:1] == ["Max"]:
                    seconds = float(cells[1])
                elif cells[:1] == ["Mean"]:
                    mean, communication = float(cells[1]), float(cells[2])
                elif cells[:1] == ["Aggregate"]:
                    ranks = ranks or round(float(cells[1]) / mean)
                elif len(cells) == 4 and RANK.fullmatch(cells[0]):
                    seconds = max(seconds or 0.0, float(cells[1]))
                    ranks = max(ranks, int(cells[0]) + 1)
                elif len(cells) == 4 and cells[0] == "*":
                    communication = float(cells[2]) / ranks
            elif "Aggregate Time" in inside:
                waits += _waiting(cells, vectors)
            elif "Aggregate Sent" in inside and len(cells) == 6 and RANK.fullmatch(cells[1]):
                others = max(1, ranks - 1) if cells[0] == "Alltoall" else 1
                count += float(cells[2]) * others
                sent += float(cells[3]) * others
        except (ValueError, NameError, IndexError, ArithmeticError):
            found.findings.append(Finding(f"{path}:{at}", "a row of an mpiP 3.5 report", shown(line)))
    if ranks < 2:
        found.findings.append(Finding(str(path), "the task times of two or more ranks", str(ranks)))
        raise InputError(found.findings)
    remarks = [
        SPREAD,
        "mpiP prints three significant digits, of the twenty calls that sent most",
        "mpiP counts what a rank sends to itself, which no link carries, as sent to others (NAS CG and MG do that)",
    ]
    remarks += [
        f"mpiP has no bytes of {name}, {share:.0f} % of the time in MPI: they are missing"
        for name, share in sorted(vectors.items())
    ]
    return _even(found, ranks, sent, count, seconds, tuple(remarks), communication, waits / ranks)


def _waiting(cells: list[str], vectors: dict[str, float]) -> float:
    """Return how often a call of mpiP's "Aggregate Time" waited; note in `vectors` the share of those without bytes."""
    if len(cells) != 6 or not RANK.fullmatch(cells[1]):
        return 0.0
    if cells[0] in NO_BYTES:
        vectors[cells[0]] = vectors.get(cells[0], 0.0) + float(cells[4])
    return float(cells[5]) if WAITS.fullmatch(cells[0]) else 0.0


def _even(
    found: _Cells,
    ranks: int,
    sent: float,
    count: float,
    seconds: float | None,
    remarks: tuple[str, ...],
    communication: float | None,
    calls: float,
) -> RankMatrix:
    if ranks > MOST_EVEN:
        found.findings.append(Finding("ranks", f"at most {MOST_EVEN}, as nobody says who sent to whom", str(ranks)))
        raise InputError(found.findings)
    pairs = ranks * (ranks - 1)
    for a in range(ranks):
        for b in range(ranks):
            if a != b:
                found.add(a, b, sent / pairs, count / pairs)
    return found.done(ranks, seconds, remarks, communication, calls)


def _lines(path: Path) -> list[str]:
    return read_text(path, "a readable traffic file").splitlines()
