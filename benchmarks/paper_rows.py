"""What the modules of the papers share: the shape of a row, and cells of the pages of results."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
HERE = "`python benchmarks/papers.py`"
NOT_RUN = "-"
Row = tuple[str, str, str, str, str]


def column(page: str, section: str, row: str, cells: slice) -> list[str]:
    """Return cells of the first row under a heading of a page of results that begins as given."""
    text = (RESULTS / page).read_text("utf-8").partition(section)[2]
    line = next(line for line in text.splitlines() if line.startswith(f"| {row}"))
    return [cell.strip() for cell in line.strip("|").split("|")][cells]
