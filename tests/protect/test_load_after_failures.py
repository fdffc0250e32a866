"""Detours after which no channel carries much more than without a failure, within the VLANs and entries there are."""

import networkx as nx
import numpy as np
import pytest

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import pipeline
from tagloom.route.any_order.plan import any_protected
from tagloom.route.detours import DetourLimits, find_detours
from tagloom.verify import what_if
from tagloom.weave import name_detours, weave, weave_detours

pytestmark = pytest.mark.kernel


def random_regular(degree, switches, seed=1):
    graph = nx.random_regular_graph(degree, switches, seed=seed)
    return make_irregular([1] * switches, sorted(graph.edges), "linux-bridge")


@pytest.fixture(scope="module", params=[("link", 1), ("switch", 2)], ids=lambda param: param[0])
def searched(request):
    kind, seed = request.param
    fabric = random_regular(4, 20, seed)
    routes, order, left = any_protected(fabric, kind)
    return fabric, kind, routes, order, left


def proven(searched, limits):
    """Return detours, the states that hold them, and what each failure is proven to do."""
    fabric, kind, routes, order, _ = searched
    trees = find_detours(fabric, routes, order, kind, limits)
    state, vlan_of = weave_detours(fabric, routes, "fixed", [trees])
    detours = name_detours(fabric, routes, [trees], vlan_of)
    found = what_if(fabric, state, "links", detours)
    assert found.safe
    return trees, state, found


def test_the_busiest_channel_after_the_worst_failure_carries_at_most_half_more_than_without_detours():
    fabric = random_regular(4, 28)
    bare, _, _ = pipeline.plan(fabric, ROOT / "templates", prefer="load", texts=False)
    build, proof, _ = pipeline.plan(fabric, ROOT / "templates", prefer="load", protect="link", texts=False)
    before, after = (what_if(fabric, each.state, "links", each.detours) for each in (bare, build))
    assert after.unprotected == 0
    assert after.load_max <= 1.5 * before.load_before
    assert after.hops_max <= 1.3 * before.hops_before
    assert proof.fdb_entries_max <= 8_000


def test_more_trees_carry_less_on_the_busiest_channel_and_lose_no_pair(searched):
    before = None
    for enough in (np.inf, 1.5, 1.2):
        trees, _, found = proven(searched, DetourLimits(2000, 2, enough=enough))
        assert (trees.unserved, found.unprotected) == (0, 0) or searched[4] > 0
        if before is not None:
            assert found.load_max <= before.load_max
            assert found.unprotected == before.unprotected
        before = found


def test_shared_detours_are_relieved_too(searched):
    shared, _, before = proven(searched, DetourLimits(2000))
    trees, _, after = proven(searched, DetourLimits(2000, enough=1.3))
    assert after.load_max < before.load_max
    assert after.unprotected == before.unprotected
    assert shared.added < trees.added


@pytest.mark.parametrize("parts", [0, 1])
def test_no_more_trees_are_added_than_there_is_room_for(searched, parts):
    fewest, _, _ = proven(searched, DetourLimits(2000, parts))
    for more in (1, 7, 40):
        trees, _, found = proven(searched, DetourLimits(fewest.added + more, parts, enough=1.0))
        assert trees.added <= fewest.added + more
        assert found.load_max > 0


def test_a_source_whose_tree_is_whole_moves_only_to_another_tree(searched):
    fabric, _, routes, _, _ = searched
    trees, state, _ = proven(searched, DetourLimits(2000, 2, enough=1.0))
    for f, choice in enumerate(trees.choice):
        for k in np.flatnonzero(choice >= 0).tolist():
            detour = trees.parent[choice[k]]
            assert trees.root[choice[k]] == routes.root[k]
            assert not np.array_equal(detour, routes.trees[k]), (f, k)
    assert len(state) == len(fabric.switches)


@pytest.mark.parametrize("table", [0, 120, 150, 200, 10_000])
def test_only_as_many_detours_are_kept_as_the_tables_surely_hold(table):
    fabric = make_fabric("torus", 4, 4)
    routes, order, _ = any_protected(fabric, "link")
    bare = max(len(held.entry_vlan) for held in weave(fabric, routes).state.values())
    every, kept = (
        find_detours(fabric, routes, order, "link", DetourLimits(64, table=room))
        for room in (None, np.full(len(fabric.switches), table, np.int64))
    )
    state, vlan_of = weave_detours(fabric, routes, "fixed", [kept])
    assert max(len(held.entry_vlan) for held in state.values()) <= max(bare, table)
    assert what_if(fabric, state, "links", name_detours(fabric, routes, [kept], vlan_of)).safe
    assert (len(kept.parent) == 0) == (table == 0 or table <= bare)
    assert (len(kept.parent) == len(every.parent)) == (table == 10_000)
    assert (kept.unserved > 0) == (table < 10_000)
