"""docs/papers.md has a row for every table and figure of the four papers, and says what its script computes."""

import csv
import importlib.util
import re

import pytest

from fabrics import ROOT

SPEC = importlib.util.spec_from_file_location("papers", ROOT / "benchmarks" / "papers.py")
papers = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(papers)
koibuchi = papers.paper_koibuchi
WRITTEN = (ROOT / "docs" / "papers.md").read_text("utf-8")
# Tables and figures of each paper, by the first and the last of each.
ALL = {
    "Koibuchi": {"T": (1, 12), "F": (5, 13)},
    "Miwa": {"T": (1, 3), "F": (1, 11)},
    "Blanquicet": {"T": (1, 2), "F": (1, 3), "eq. ": (1, 1)},
    "Mansbach": {"F": (1, 18), "eq. ": (1, 6)},
}


def rows():
    for section in WRITTEN.split("\n## ")[1:]:
        paper = re.split(r"\W", section)[0]
        for line in section.splitlines():
            if line.startswith("| ") and not line.startswith(("| where", "| ---")):
                yield paper, [cell.strip() for cell in line.strip("|").split(" | ")]


@pytest.mark.slow
def test_the_page_says_what_its_script_computes():
    assert papers.page() == WRITTEN


def test_every_table_figure_and_equation_of_the_papers_has_a_row():
    for paper, kinds in ALL.items():
        places = [cells[0] for name, cells in rows() if name == paper]
        for kind, (first, last) in kinds.items():
            seen = set()
            for place in (each for each in places if each.startswith(kind)):
                numbers = [int(n) for n in re.findall(r"\d+", place)]
                seen |= set(range(numbers[0], numbers[-1] + 1)) if " to " in place else set(numbers)
            assert seen == set(range(first, last + 1)), (paper, kind)


def test_every_row_has_a_number_of_ours_and_its_command_or_says_why_not():
    for paper, (where, *_, ours, how) in rows():
        assert (ours == "-") == how.startswith("none: "), (paper, where)
        scripts = re.findall(r"`python (benchmarks/\w+\.py)`", how)
        assert ours == "-" or scripts or "`tagloom " in how or how == "the same", (paper, where)
        assert all((ROOT / script).is_file() for script in scripts)


def test_our_table_11_is_the_papers():
    line = next(cells for paper, cells in rows() if paper == "Koibuchi" and cells[0] == "T11")
    assert line[2] == line[3] == ", ".join(f"{n:.2f}" for n in koibuchi.TABLE_11)


def test_the_bytes_of_ft_are_those_it_was_seen_to_send():
    with (ROOT / "tests" / "data" / "npb" / "ft.S.16.matrix.csv").open() as file:
        sent = sum(int(row["wire_bytes"]) for row in csv.DictReader(file) if row["src"] != row["dst"])
    assert koibuchi.ft_bytes("S", 16) == pytest.approx(sent, rel=1e-3)


@pytest.mark.kernel
@pytest.mark.parametrize("buffer_bytes", [float("inf"), koibuchi.BUFFER])
def test_ft_moves_no_faster_than_its_busiest_channel(buffer_bytes):
    """The line's middle link carries what 66 ranks send to 62; with PAUSE, others wait behind what waits for it."""
    complete, line = koibuchi.ft_simulated("S", buffer_bytes)
    middle = 8e-9 * koibuchi.ft_bytes("S", 128) * 66 * 62 / (128 * 127)
    assert middle < line < 2 * middle
    assert complete < line


@pytest.mark.kernel
def test_pause_makes_ft_slower_and_the_page_says_what_it_explains():
    free, paused = koibuchi.ft_simulated("A", float("inf")), koibuchi.ft_simulated("A", koibuchi.BUFFER)
    assert all(slow > fast for fast, slow in zip(free, paused, strict=True))
    line = next(cells for paper, cells in rows() if paper == "Koibuchi" and cells[0] == "T12")
    numbers = [float(n) for n in re.findall(r"([\d.]+) s", line[3])]
    assert numbers[3] - numbers[2] == pytest.approx(numbers[5] - 62.7, abs=0.16)
    assert numbers[5] == pytest.approx(189.0, rel=0.02)  # the paper's; over other trees it is less, as the page says
