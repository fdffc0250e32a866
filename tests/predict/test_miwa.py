"""The page of Miwa et al.'s figures says what its script computes, a part of it in every run of the tests."""

import importlib.util
import re
import sys

import pytest

from fabrics import ROOT
from tagloom.predict.eee import idle_seconds

SPEC = importlib.util.spec_from_file_location("miwa_page", ROOT / "benchmarks" / "miwa.py")
miwa = sys.modules[SPEC.name] = importlib.util.module_from_spec(SPEC)  # its data classes look for their module
SPEC.loader.exec_module(miwa)
PAGE = (ROOT / "benchmarks" / "results" / "miwa.md").read_text("utf-8")

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module")
def small():
    """Return the runs of the three smallest arrays, four processes."""
    return miwa.points(4, "even", miwa.eee_error.SIZES[:3])


def test_the_page_has_the_seconds_of_fig_10(small):
    for row in miwa.at_100_us(small):
        off, on = [cell.strip() for cell in row.split("|")][2:4]
        assert re.search(rf"^{re.escape(row.split(' | ')[0])} \\| {off} \\| {on} ", PAGE, re.MULTILINE)


def test_calls_are_those_of_a_node_and_the_gap_is_that_of_eq_4(small):
    slow = miwa.worst(small)
    bits = 3 * 8 * (slow.size // 4 + 78)  # a frame to each of three, with its headers, preamble and gap
    assert slow.calls == miwa.eee_error.STEPS
    assert slow.gap_seconds == pytest.approx(idle_seconds(slow.awake, slow.calls, bits, 1e9), rel=1e-3)


def test_only_gaps_beyond_the_time_out_cost_anything(small):
    assert all(p.overhead_seconds == 0 for p in small if p.usleep < 800)
    assert max(p.overhead_seconds for p in small) > 60e-6


def test_the_papers_worst_slow_down_is_within_the_scatter_of_its_own_runs(small):
    assert 5 < miwa.worst_seconds(small) < miwa.SCATTER_SECONDS


@pytest.mark.long
def test_the_page_is_what_its_script_writes():
    assert miwa.page() == PAGE
