"""benchmarks/results/selection.md says what its script computes: some rows of each table once more, without times."""

import importlib.util
import sys

import pytest

from fabrics import ROOT
from tagloom.read import read_fabric
from thinned import few

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
SLOWER = ["mesh 3 4, all-to-all", "torus 3 4, all-to-all"]


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("row", few([*SMALL, *SLOWER], 0, 1))
def test_rows_of_small_fabrics_are_what_the_script_prints(row, capsys):
    words, name = row.split(", ")
    found = printed(capsys, selection.family(words, "powerconnect-5324"), name, "optimal", selection.SMALL_SECONDS)
    assert found == rows("Small fabrics")[row]
    assert found[2] == "0.00"


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(list(range(selection.RANDOM_CASES)), 1))
def test_rows_of_random_fabrics_are_what_the_script_prints(seed, capsys):
    title = f"seed {seed}"
    selection.measure_traffic(*selection.random_case(seed), "optimal", selection.SMALL_SECONDS, title)
    assert capsys.readouterr().out.strip("| \n").split(" | ")[1:4] == rows("Random fabrics")[title]


CLUSTERS = [
    ("misc", "ep.S.4"),
    ("misc", "lu.S.4"),
    ("testbed", "mg.S.4"),
    ("testbed", "lu.S.16"),
    ("supernova", "cg.S.4"),
    ("supernova", "mg.S.16"),
    ("supernova64-5324", "lu.S.16"),
    ("supernova64-6248", "mg.S.16"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("cluster", "name"), few(CLUSTERS, 0, 5))
def test_rows_of_clusters_are_what_the_script_prints(cluster, name, capsys):
    fabric = read_fabric(ROOT / "inventory" / cluster / "fabric.yml")
    assert printed(capsys, fabric, name, "optimal", selection.CLUSTER_SECONDS) == rows(f"{cluster}, optimal")[name]


GREEDY = f"64 switches, greedy: torus 8x8, {selection.MODELS_64[0]}"


@pytest.mark.long
def test_rows_of_64_switches_are_what_the_script_prints(capsys):
    fabric = selection.torus(8, selection.MODELS_64[0])
    for name in ("ft.S.4", "lu.S.16", "sp.S.16"):
        assert printed(capsys, fabric, name, "greedy", 10.0) == rows(GREEDY)[name]


def test_what_the_page_says_of_other_models_follows_from_its_rows(capsys):
    """Links off are whole numbers, and so is the most that may be: the gap in percent of one model gives both."""
    fabric, found = selection.torus(8, selection.MODELS_64[0]), {}
    watts, of_link = selection.fabric_watts(fabric), selection.link_watts(fabric, 0)
    for name in selection.NPB:
        off, _, gap = rows(GREEDY)[name]
        links = int(off.split()[0])
        most = round(links + float(gap) / 100 * (watts - links * of_link) / of_link)
        assert f"{selection.gap_percent(fabric, links, most):.2f}" == gap
        found[name] = links, most
    selection.by_model(found)
    counted = capsys.readouterr().out
    assert counted in PAGE.partition(f"\n## {GREEDY}")[2]
    within = [int(line.split(" | ")[2].split(" of ")[0]) for line in counted.splitlines() if " of 16 " in line]
    assert len(within) == len(selection.MODELS_64)
    assert min(within) >= 15  # the goal


def test_what_the_page_counts_is_what_its_rows_say():
    for heading, most in (
        ("Small fabrics", 0.001),
        ("Random fabrics", 0.001),
        *((f"{cluster}, optimal", 0.001) for cluster in selection.CLUSTERS),
    ):
        assert len(rows(heading)) > (selection.RANDOM_CASES if heading == "Random fabrics" else 16)
        gaps = [float(cells[2]) for first, cells in rows(heading).items() if first != "traffic"]
        within = f"of the bound: {sum(gap <= most for gap in gaps)} of {len(gaps)}"
        assert within in PAGE.partition(f"\n## {heading}")[2].partition("\n## ")[0]
