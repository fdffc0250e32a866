"""Spreading: within 5 % of the bound, proven in both assignments, never worse for knowing the bytes."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.cli import main
from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import average_hops, channel_load, dependencies, relation
from tagloom.read import read_fabric, read_traffic
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.route.spread import load_bound, spread
from tagloom.verify import Plan, broadcasts_once, verify
from tagloom.weave import weave
from thinned import examples


def inventory(name):
    return read_fabric(ROOT / "inventory" / name / "fabric.yml")


CASES = {
    "mesh 4x4, 2 links": (lambda: make_fabric("mesh", 4, 4, parallel=2), 12, 4, 8),
    "mesh 4x4, 3 links": (lambda: make_fabric("mesh", 4, 4, parallel=3), 12, 4, 12),
    "torus 4x2, 3 links, 225 hosts": (lambda: inventory("supernova"), 1130, 4, 12),
    "torus 4x2, 5 links, 64 hosts": (lambda: inventory("supernova64-6248"), 64, 4, 20),
    "complete 6, 2 links, 66 hosts": (lambda: inventory("misc"), 66, 6, 12),
    "fat tree, 2 links, 3 hosts a leaf": (lambda: make_fabric("fat-tree", 2, 4, 2, hosts=3, parallel=2), 24, 4, 8),
    "fat tree, 4 hosts a leaf": (lambda: make_fabric("fat-tree", 2, 4, 2, hosts=4), 64, 4, 4),
}


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("case", CASES)
def test_the_busiest_channel_is_within_5_percent_of_the_best_possible(case, assignment):
    make, load, plain_vlans, vlans = CASES[case]
    fabric = make()
    routes = route(fabric, "auto", assignment)
    found = spread(fabric, routes, assignment)
    assert channel_load(fabric, found.routes).max() == load
    assert load <= 1.05 * found.bound
    assert average_hops(fabric, found.routes) == average_hops(fabric, routes)
    woven = weave(fabric, found.routes, assignment)
    assert verify(fabric, woven.state, Plan(found.routes)).proven
    if assignment == "fixed":
        assert (weave(fabric, routes).vlans, woven.vlans) == (plain_vlans, vlans)


def test_the_bound_is_the_mean_of_a_hop_over_its_lanes_where_shares_are_small():
    """Mesh 2x1, two links, 40 hosts a switch: 1,600 pairs each way over two channels."""
    fabric = make_fabric("mesh", 2, 1, parallel=2, hosts=40)
    assert load_bound(fabric, route(fabric)) == 800


def test_the_bound_knows_that_a_host_takes_one_lane_of_a_hop():
    """Three hosts that send 4 each share two links 8 to 4, not 6 to 6; one host alone cannot be split at all."""
    fabric = make_fabric("mesh", 2, 1, parallel=2, hosts=3)
    assert load_bound(fabric, route(fabric)) == 6  # 2 hosts x 3 pairs; the mean is 4.5
    assert load_bound(make_fabric("mesh", 4, 4, parallel=3), route(make_fabric("mesh", 4, 4, parallel=3))) == 12


def test_the_bound_lets_hosts_choose_among_trees():
    """All bytes leave the two hosts with even numbers: routed by number they share one middle switch; they need not."""
    fabric = make_fabric("fat-tree", 2, 4, 1, hosts=4)
    volume = np.zeros((8, 8))
    volume[[0, 2], [4, 6]] = 1000.0
    routes = route(fabric)
    assert channel_load(fabric, routes, volume).max() == 2000
    assert load_bound(fabric, routes, "fixed", volume) == pytest.approx(1000)
    assert channel_load(fabric, spread(fabric, routes, "fixed", volume).routes, volume).max() == 1000


@examples(25)
@given(
    st.sampled_from(
        [
            ("mesh", (3, 3), 2, 2),
            ("torus", (4, 3), 2, 2),
            ("torus", (5, 3), 2, 1),
            ("ring", (7,), 2, 2),
            ("complete", (4,), 3, 2),
            ("fat-tree", (2, 4, 1), 2, 3),
            ("dragonfly", (3, 2), 2, 2),
            ("clos", (3, 3), 2, 2),
        ]
    ),
    st.sampled_from(["fixed", "renamed"]),
    st.integers(0, 10_000),
)
def test_spread_routes_prove_and_known_bytes_never_hurt(shape, assignment, seed):
    family, dims, parallel, hosts = shape
    fabric = make_fabric(family, *dims, parallel=parallel, hosts=hosts, model="powerconnect-6248")
    count = len(fabric.hosts)
    chance = np.random.default_rng(seed)
    volume = chance.pareto(1.2, (count, count)) * (chance.random((count, count)) < 0.4) * 1e6
    np.fill_diagonal(volume, 0)
    routes = route(fabric, "auto", assignment)
    aware, unaware = spread(fabric, routes, assignment, volume), spread(fabric, routes, assignment)
    most = [channel_load(fabric, r, volume).max() for r in (aware.routes, unaware.routes, routes)]
    assert most[0] <= min(most[1:]) * (1 + 1e-9)
    assert aware.bound <= most[0] * (1 + 1e-6)
    assert unaware.bound <= channel_load(fabric, unaware.routes).max()
    for found in (aware, unaware):
        assert not find_cycle(len(fabric.tail), *dependencies(fabric, found.routes))
        once = partial(broadcasts_once, fabric)
        plan = weave(fabric, found.routes, assignment, broadcasts_once=once)
        assert verify(fabric, plan.state, Plan(found.routes)).proven
    again = spread(fabric, routes, assignment, volume).routes
    assert np.array_equal(again.trees, aware.routes.trees)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("matrix", ["bt.S.16", "bt.S.4", "cg.S.16", "cg.S.4"])
@pytest.mark.parametrize("family", ["testbed", "mesh", "fat-tree", "fat-tree, 2 links"])
def test_the_bytes_of_npb_are_within_5_percent_of_the_best_possible(family, matrix, assignment, npb):
    fabric = {
        "testbed": lambda: inventory("testbed"),
        "mesh": lambda: make_fabric("mesh", 4, 4, parallel=2),
        "fat-tree": lambda: make_fabric("fat-tree", 2, 4, 2, hosts=4),
        "fat-tree, 2 links": lambda: make_fabric("fat-tree", 2, 4, 2, hosts=4, parallel=2),
    }[family]()
    volume = read_traffic(npb / f"{matrix}.matrix.csv", fabric, "").volume_bytes
    found = spread(fabric, route(fabric, "auto", assignment), assignment, volume)
    assert found.bound <= channel_load(fabric, found.routes, volume).max() * (1 + 1e-6) <= 1.05 * found.bound
    assert verify(fabric, weave(fabric, found.routes, assignment).state, Plan(found.routes)).proven


def test_links_that_are_down_are_not_used():
    fabric = make_fabric("mesh", 3, 3, parallel=3).with_links_down({1, 2, 10})
    found = spread(fabric, route(fabric))
    used = np.flatnonzero(channel_load(fabric, found.routes))
    assert fabric.channel_up[used].all()
    assert verify(fabric, weave(fabric, found.routes).state, Plan(found.routes)).proven


def test_a_ring_whose_two_lanes_are_cut_apart_keeps_them_apart_where_joining_would_close_it():
    fabric = make_fabric("ring", 9, parallel=2)
    found = spread(fabric, route(fabric))
    assert not find_cycle(len(fabric.tail), *dependencies(fabric, found.routes))
    assert channel_load(fabric, found.routes).max() <= channel_load(fabric, route(fabric)).max()


@pytest.mark.parametrize(("family", "dims"), [("mesh", (4, 4)), ("torus", (4, 2)), ("complete", (4,))])
def test_a_relation_without_trees_is_spread_by_lanes_too(family, dims):
    fabric = make_fabric(family, *dims, parallel=3, hosts=4)
    trees = route(fabric, "auto", "renamed")
    rel = Routes(trees.method, "", trees.source_of_host, trees.root, relation=relation(fabric, trees))
    found = spread(fabric, rel, "renamed")
    assert found.routes.parent is None
    assert (
        channel_load(fabric, found.routes).max() == channel_load(fabric, spread(fabric, trees, "renamed").routes).max()
    )
    assert verify(fabric, weave(fabric, found.routes, "renamed").state, Plan(found.routes)).proven


@pytest.mark.kernel
def test_the_command_prefers_what_it_is_told(tmp_path, capsys, npb):
    def page(*words):
        assert main([*map(str, words), "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    main(["new", "mesh", "--dims", "4", "4", "--parallel", "2", "-o", str(tmp_path / "f.yml")])
    capsys.readouterr()
    plain = page("plan", tmp_path / "f.yml", "-o", tmp_path / "a")
    assert (plain["vlans"], plain["max_channel_load"], plain["max_channel_load_bound_of_paths"]) == (4, 16, 12)
    load = page("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "--prefer", "load", "--routing", "dor")
    assert (load["vlans"], load["max_channel_load"], load["max_channel_load_bound_of_paths"]) == (8, 12, 12)
    free = page("plan", tmp_path / "f.yml", "-o", tmp_path / "b", "--prefer", "load")
    assert (free["routing"], free["vlans"], free["max_channel_load"]) == ("any", 16, 11)
    assert free["max_channel_load_bound"] == plain["max_channel_load_bound"] <= 11
    assert "11 host pairs where dor has 12" in free["routing_reason"]
    assert page("verify", tmp_path / "b")["off_path_pairs"] == 0
    matrix = npb / "is.S.16.matrix.csv"
    plain = page("plan", tmp_path / "f.yml", "-o", tmp_path / "c", "--traffic", matrix, "--prefer", "vlans")
    aware = page("plan", tmp_path / "f.yml", "-o", tmp_path / "d", "--traffic", matrix)
    assert plain["vlans"] == 4
    assert (
        aware["max_channel_load_bound"]
        <= aware["max_channel_load_bound_of_paths"]
        <= aware["max_channel_load"]
        < plain["max_channel_load"]
    )
    assert main(["plan", str(tmp_path / "f.yml"), "-o", str(tmp_path / "a"), "-v"]) == 0
    shown = capsys.readouterr().out
    assert "load      max channel load 16 host pairs, best possible >= " in shown
    assert "over this plan's paths >= 12" in " ".join(shown.split())
    assert "first fit" in shown
    assert main(["plan", str(tmp_path / "f.yml"), "-o", str(tmp_path / "a"), "--prefer", "speed"]) == 2


@pytest.mark.kernel
def test_a_spread_that_does_not_fit_proposes_fewer_vlans(templates):
    fabric = replace(make_fabric("mesh", 4, 4, parallel=3, model="powerconnect-5324"), first_vlan=4089)
    with pytest.raises(PlanError, match="use --prefer vlans"):
        pipeline.plan(fabric, templates, prefer="load")
