"""benchmarks/results/savings.md says what the script that wrote it computes."""

import importlib.util

import pytest

from fabrics import ROOT
from thinned import few

PAGE = (ROOT / "benchmarks" / "results" / "savings.md").read_text("utf-8")
pytestmark = pytest.mark.kernel

spec = importlib.util.spec_from_file_location("savings", ROOT / "benchmarks" / "savings.py")
savings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(savings)


@pytest.mark.parametrize(("cluster", "percent"), savings.CLUSTERS)
def test_the_arithmetic_stands_in_the_docs(cluster, percent):
    assert f"| {' | '.join(savings.arithmetic(cluster, percent))} |" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", few(["lu.S.16", "ep.S.16"], 1))
def test_a_row_of_misc_stands_in_the_docs(name):
    section = PAGE.split("## misc")[1].split("## ")[0]
    row = savings.row("misc", name, savings.METHODS[:2])
    line = next(line for line in section.splitlines() if line.startswith(f"| {name} |")).split(" | ")
    assert [cell.rpartition(",")[0] for cell in line[1:3]] == [cell.rpartition(",")[0] for cell in row[1:]]


FIGURES = [
    ("misc", "ep.S.16"),
    ("supernova128", "cg.S.16"),
    ("supernova128-complete", "lu.S.16"),
    ("supernova64-6248", "cg.S.16"),
    ("supernova64-5324", "cg.S.16"),
]


@pytest.mark.parametrize(("cluster", "name"), few(FIGURES, 0, 2))
def test_the_most_that_static_turns_off_for_figures_12_and_13_stands_in_the_docs(cluster, name):
    assert f"| {' | '.join(savings.figure_row(cluster, name))} |\n" in PAGE


def test_what_the_page_says_of_figures_12_and_13_follows_from_its_rows():
    lines = PAGE.partition("\n| cluster | traffic |")[2].partition("\n\n")[0].splitlines()[2:]
    rows = [line.strip("| ").split(" | ") for line in lines]
    assert [row[:2] for row in rows] == [[cluster, name] for cluster, *_ in savings.FIGURES for name in savings.NPB]
    assert {row[-1] for row in rows} == {"0"}  # "less than" turns no link off, as the page says
    assert "\n".join(savings.figure_lines(rows)) in PAGE
