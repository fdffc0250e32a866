"""Read what profilers of parallel programs say about messages: Open MPI monitoring, TAU, paraprof and mpiP."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.read.mpip_report import mpip
from tagloom.read.rank_matrix import Cells, RankMatrix, lines_of
from tagloom.read.tau_profiles import TAU_FILE, paraprof, tau
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from pathlib import Path

PROF = re.compile(r"([EI])\t([0-9]{1,6})\t([0-9]{1,6})\t([0-9]{1,20}) bytes\t([0-9]{1,20}) msgs sent")
ONE_SIDED = re.compile(r"[SR]\t[0-9]{1,6}\t[0-9]{1,6}\t([0-9]{1,20}) bytes\t([0-9]{1,20}) msgs sent")
_RUNS_SHOWN = 4
PROF_FILE = re.compile(r"\.([0-9]{1,6})\.prof$")


def kind_of(path: Path) -> str:
    """Return which tool wrote a file or folder, "" where it is none of those read here."""
    if path.is_dir():
        if any(path.glob("*.prof")):
            return "open-mpi"
        return "tau" if any(TAU_FILE.match(p.name) for p in path.rglob("profile.*")) else ""
    if path.suffix == ".prof":
        return "open-mpi"
    head = lines_of(path)[:8]
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
    found = Cells()
    numbers = set()
    one_sided = [0, 0]  # bytes and messages
    for file in sorted(files):
        number = PROF_FILE.search(file.name)
        if number is None:
            found.findings.append(Finding(str(file), "PREFIX.RANK.prof", file.name))
            continue
        numbers.add(int(number[1]))
        for at, line in enumerate(lines_of(file), start=1):
            if (apart := ONE_SIDED.match(line)) is not None:
                one_sided = [one_sided[0] + int(apart[1]), one_sided[1] + int(apart[2])]
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
    remarks = ["Open MPI monitoring does not say how long the run took, nor when messages were sent"]
    if one_sided[1]:
        remarks.append(
            f"{one_sided[1]:,} one-sided messages (MPI_Put, MPI_Get) of {one_sided[0]:,} bytes are not in the matrix, "
            "except what was sent point to point for them"
        )
    if len(runs := sorted({re.sub(r"\.\d+\.prof$", "", file.name) for file in files})) > 1:
        shown_runs = ", ".join(runs[:_RUNS_SHOWN]) + (" ..." if len(runs) > _RUNS_SHOWN else "")
        remarks.append(f"files of {len(runs)} runs or phases are added up: {shown_runs} (name a file to read its own)")
    return found.done(ranks, None, tuple(remarks))
