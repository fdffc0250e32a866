"""The benchmark of repairs on kernel bridges: broken links are gone round, and its page has all rows."""

import importlib.util
import sys

import pytest

from fabrics import ROOT

SPEC = importlib.util.spec_from_file_location("repair_on_bridges", ROOT / "benchmarks" / "repair_on_bridges.py")
repair_on_bridges = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = repair_on_bridges  # where its records look for their types
SPEC.loader.exec_module(repair_on_bridges)


@pytest.mark.long
@pytest.mark.needs("a kernel with bridges")
def test_all_pairs_are_reached_round_a_link_that_is_taken_down():
    """Spanning tree listens and learns for four seconds each, so that no detour can be told from it by chance."""
    (detours, tree), _ = repair_on_bridges.measure(16, breaks=1, links=2, timers=["least timers"])
    assert [len(detours.seconds), len(tree.seconds)] == [2, 1]
    assert min(*detours.cut, *tree.cut) > 0
    assert min(tree.seconds) > 8


def test_the_page_has_a_row_for_each_size_and_means():
    made = repair_on_bridges.table(
        repair_on_bridges.Row(switches, means, (8,), (0.5,))
        for switches in repair_on_bridges.SHAPES
        for means in (
            repair_on_bridges.DETOUR,
            *(f"spanning tree, {each}" for each in repair_on_bridges.TIMERS if repair_on_bridges.BREAKS[switches]),
        )
    )
    written = (ROOT / "benchmarks" / "results" / "repair-on-bridges.md").read_text("utf-8").splitlines()
    rows = [line for line in written if line.startswith("|")]
    assert [line.split(" | ")[:2] for line in made] == [line.split(" | ")[:2] for line in rows]
