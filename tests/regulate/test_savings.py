"""benchmarks/results/savings.md says what the script that wrote it computes."""

import importlib.util

import pytest

from fabrics import ROOT
from thinned import few

pytestmark = pytest.mark.kernel

spec = importlib.util.spec_from_file_location("savings", ROOT / "benchmarks" / "savings.py")
savings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(savings)


@pytest.mark.parametrize(("cluster", "percent"), savings.CLUSTERS)
def test_the_arithmetic_stands_in_the_docs(cluster, percent):
    page = (ROOT / "benchmarks" / "results" / "savings.md").read_text("utf-8")
    assert f"| {' | '.join(savings.arithmetic(cluster, percent))} |" in page


@pytest.mark.slow
@pytest.mark.parametrize("name", few(["lu.S.16", "ep.S.16"], 1))
def test_a_row_of_misc_stands_in_the_docs(name):
    section = (ROOT / "benchmarks" / "results" / "savings.md").read_text("utf-8").split("## misc")[1].split("## ")[0]
    row = savings.row("misc", name, savings.METHODS[:2])
    line = next(line for line in section.splitlines() if line.startswith(f"| {name} |")).split(" | ")
    assert [cell.rpartition(",")[0] for cell in line[1:3]] == [cell.rpartition(",")[0] for cell in row[1:]]
