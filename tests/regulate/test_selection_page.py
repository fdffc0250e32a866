"""benchmarks/results/selection.md says what its script computes: some rows of each table once more, without times."""

import importlib.util
import sys

import pytest

from fabrics import ROOT
from tagloom.read import read_fabric

SPEC = importlib.util.spec_from_file_location("selection", ROOT / "benchmarks" / "selection.py")
selection = importlib.util.module_from_spec(SPEC)
sys.modules["selection"] = selection
SPEC.loader.exec_module(selection)
PAGE = (ROOT / "benchmarks" / "results" / "selection.md").read_text("utf-8")


def rows(heading):
    """Return the cells of a table by its first ones, those of times and memory left out."""
    lines = PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0].splitlines()
    cells = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ")]
    return {first: rest[:3] for first, *rest in cells}


def printed(capsys, *given):
    selection.measure(*given)
    return capsys.readouterr().out.strip("| \n").split(" | ")[1:4]


SMALL = ["torus 3 3, is.S.4", "hypercube 3, bit-reversal", "complete 7, is.S.4", "mesh 3 3, all-to-all"]


@pytest.mark.parametrize("row", SMALL)
def test_rows_of_small_fabrics_are_what_the_script_prints(row, capsys):
    words, name = row.split(", ")
    found = printed(capsys, selection.family(words, "powerconnect-5324"), name, "optimal", selection.SMALL_SECONDS)
    assert found == rows("Small fabrics")[row]
    assert found[2] == "0.00"


@pytest.mark.parametrize("name", ["ep.S.4", "lu.S.4"])
def test_rows_of_misc_are_what_the_script_prints(name, capsys):
    fabric = read_fabric(ROOT / "inventory" / "misc" / "fabric.yml")
    assert printed(capsys, fabric, name, "optimal", 60.0) == rows("misc")[name]


@pytest.mark.long
@pytest.mark.parametrize("model", ["powerconnect-6248", "powerconnect-5324"])
def test_rows_of_64_switches_are_what_the_script_prints(model, capsys):
    fabric = selection.torus(8, model)
    for name in ("ft.S.4", "sp.S.16"):
        assert printed(capsys, fabric, name, "greedy", 10.0) == rows(f"64 switches, greedy: torus 8x8, {model}")[name]


def test_what_the_page_counts_is_what_its_rows_say():
    for heading, most in (
        ("Small fabrics", 0.001),
        ("misc", 0.001),
        ("64 switches, greedy: torus 8x8, powerconnect-6248", 2.0),
    ):
        gaps = [float(cells[2]) for first, cells in rows(heading).items() if first != "traffic"]
        within = f"of the bound: {sum(gap <= most for gap in gaps)} of {len(gaps)}"
        assert within in PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]
