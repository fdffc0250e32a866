"""The paper's static selection: links off, nobody busier than the busiest was, nobody cut off."""

from math import inf

import numpy as np
import pytest

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import pipeline
from tagloom.read import read_fabric, read_traffic
from tagloom.records.traffic import Traffic
from tagloom.regulate.settings_file import to_json
from tagloom.regulate.static import connected, static, two_connected
from tagloom.route import route
from thinned import few

MATRICES = ("bt", "cg", "ep", "ft", "is", "lu", "mg", "sp")


def choose(fabric, traffic):
    return pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None)


@pytest.fixture(scope="module")
def testbed():
    return read_fabric(ROOT / "inventory" / "testbed" / "fabric.yml")


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("name", few(MATRICES, 3, 5))
def test_the_busiest_channel_gets_no_busier_and_every_host_stays_reachable(testbed, npb, templates, name):
    traffic = read_traffic(npb / f"{name}.S.16.matrix.csv", testbed)
    settings = choose(testbed, traffic)
    assert settings.max_channel_load_after <= settings.max_channel_load_before
    smaller = testbed.with_links_down(settings.links_off)
    assert connected(smaller)
    assert settings.two_connected == two_connected(smaller)
    build, proof, _ = pipeline.plan(smaller, templates)
    assert proof.proven
    off = {2 * i + way for i in settings.links_off for way in (0, 1)}
    assert not np.isin(build.routes.parent, list(off)).any()


@pytest.mark.slow
def test_it_turns_off_at_least_the_links_no_tree_uses(testbed, npb):
    """Rule R7 cuts two of the eight links of each of the eight rings."""
    settings = choose(testbed, read_traffic(npb / "is.S.16.matrix.csv", testbed))
    assert len(settings.links_off) >= 16


def test_without_traffic_a_tree_is_left_and_no_more():
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324")
    nothing = np.zeros((9, 9))
    settings = choose(fabric, Traffic(nothing, nothing))
    assert len(settings.links_off) == len(fabric.links) - 8
    assert not settings.two_connected
    page = to_json(fabric, settings)
    assert page["gap_percent"] == pytest.approx(0, abs=1e-4)  # the solver's tolerance
    assert page["watts_before"] == pytest.approx(9 * 15 + (9 + 2 * 12) * 1.2)
    assert page["watts_after"] == pytest.approx(page["lower_bound_watts"])


def test_a_bridge_is_no_second_way():
    assert not two_connected(make_fabric("tree", 2, 2))
    assert two_connected(make_fabric("ring", 5))
    assert two_connected(make_fabric("mesh", 2, 1, parallel=2)), "a parallel link is a second way"


def test_a_dead_switch_does_not_keep_links_of_the_others_on():
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324", extra="switches: {s8: {state: down}}\n")
    nothing = np.zeros((len(fabric.hosts),) * 2)
    settings = choose(fabric, Traffic(nothing, nothing))
    assert sum(link.up for link in fabric.with_links_down(settings.links_off).links) == 7


def off(fabric, traffic, **rules):
    return static(fabric, traffic, lambda left: route(left, "up-down"), lambda _: 0.0, **rules)


def test_a_limit_asks_for_less_than_the_busiest_channel_had_and_never_allows_more():
    """Two links between two switches, one idle: it may go, unless the other may not be as busy as it is."""
    fabric = make_fabric("mesh", 2, 1, parallel=2)
    volume = np.array([[0.0, 1000.0], [1000.0, 0.0]])
    traffic = Traffic(volume, volume)
    assert len(off(fabric, traffic, limit=inf).links_off) == 1
    assert len(off(fabric, traffic, limit=1000.0).links_off) == 1
    assert off(fabric, traffic, limit=999.0).links_off == ()
    ring = make_fabric("ring", 3)
    each = np.full((3, 3), 1000.0) - np.diag([1000.0] * 3)
    assert off(ring, Traffic(each, each), limit=1e9).links_off == (), "any link off doubles the load of another"


def test_no_link_becomes_the_only_way_where_that_is_asked_and_none_was_before():
    nothing = Traffic(np.zeros((4, 4)), np.zeros((4, 4)))
    ring = make_irregular([1] * 4, [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
    assert len(off(ring, nothing).links_off) == 2
    kept = off(ring, nothing, keep_two=True)
    assert (kept.links_off, kept.two_connected) == ((4,), True)
    tail = make_irregular([1] * 4, [(0, 1), (1, 2), (2, 0), (2, 3)])  # switch 3 has one way to begin with
    assert len(off(tail, nothing, keep_two=True).links_off) == 1
