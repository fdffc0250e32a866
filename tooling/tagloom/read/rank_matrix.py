"""Gather what a profile of a parallel program has: bytes and messages between ranks, and what is wrong with it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError
from tagloom.storage.document import shown
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from pathlib import Path

# Ranks have six digits at most, so that no number in a file asks for memory without bound.
RANK = re.compile(r"[0-9]{1,6}")
MOST_FINDINGS = 20
OUTSIDE = ("MPI_Init", "MPI_Finalize")  # before and after the run, as far as messages go
# The calls in which a process waits for messages of others, without MPI_: the steps of a run.
WAITS = re.compile(
    r"(Recv|Mrecv|Sendrecv|Sendrecv_replace|Wait|Waitall|Waitany|Waitsome|Barrier|Bcast|Reduce|Allreduce|Scan|Exscan"
    r"|(Gather|Allgather|Scatter)v?|Alltoall[vw]?|Reduce_scatter(_block)?)(\(\))?"
)


@dataclass(frozen=True)
class RankMatrix:
    """Bytes and messages by ordered pair of ranks, how many ranks there are, seconds or None, and remarks.

    `communication_seconds` is how long a rank was inside MPI calls on average, start and end of the run left out;
    `calls` how often a rank waited for messages there, on average. `spread` is as in `Traffic`.
    """

    ranks: int
    cells: dict[tuple[int, int], tuple[float, float]]
    seconds: float | None = None
    remarks: tuple[str, ...] = ()
    communication_seconds: float | None = None
    calls: float | None = None
    spread: bool = False


@dataclass
class Cells:
    """Bytes and messages by ordered pair of ranks while a profile is read, and what is wrong with it."""

    findings: list[Finding] = field(default_factory=list)
    cells: dict[tuple[int, int], tuple[float, float]] = field(default_factory=dict)

    def add(self, a: int, b: int, size: float, count: float) -> None:
        """Add what rank `a` sent to rank `b`."""
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
        """Return the matrix. Raises InputError with all that is wrong."""
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


def lines_of(path: Path) -> list[str]:
    """Return the lines of a profile's file."""
    return read_text(path, "a readable traffic file").splitlines()
