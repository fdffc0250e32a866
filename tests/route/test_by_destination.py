"""Routes by switch and destination alone, as pinned assignment needs them: trees walked backwards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import SMALL_FABRICS, make_fabric, make_irregular
from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.next_channels import NextChannels, Parting, next_channels
from tagloom.graph.paths import average_hops, channel_load, check_routes, dependencies, path_lengths
from tagloom.route import METHODS, route
from tagloom.route.backwards import turned_around
from tagloom.route.spread import load_bound

pytestmark = pytest.mark.kernel


@st.composite
def irregular(draw):
    """Draw a connected graph of 2 to 7 switches with parallel links, some switches without hosts."""
    size = draw(st.integers(2, 7))
    tree = [(draw(st.integers(0, s - 1)), s) for s in range(1, size)]
    pairs = [(a, b) for a in range(size) for b in range(a + 1, size)]
    hosts = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size).filter(lambda h: sum(map(bool, h)) > 1))
    return make_irregular(hosts, [*tree, *draw(st.lists(st.sampled_from(pairs), max_size=8))], model="linux-bridge")


def holds(fabric, routes):
    """Assert that every pair of switches with hosts has a path by destination alone, and no dependency cycle."""
    check_routes(fabric, routes)
    found = next_channels(fabric, routes)
    assert isinstance(found, NextChannels)
    for column, target in enumerate(found.targets.tolist()):
        for start in found.targets.tolist():
            here, steps = start, 0
            while here != target:
                here, steps = int(fabric.head[found.channel[here, column]]), steps + 1
                assert steps <= len(fabric.switches)
    assert not find_cycle(len(fabric.tail), *dependencies(fabric, routes))


@given(irregular(), st.sampled_from(["auto", "any", "up-down", "tree"]))
def test_every_connected_graph_has_acyclic_trees_towards_every_switch(fabric, method):
    holds(fabric, route(fabric, method, "pinned", effort=0))


@given(irregular(), st.sampled_from(["any", "up-down"]))
def test_they_cost_as_many_hops_and_as_much_load_as_trees_away_from_every_switch(fabric, method):
    away, towards = (route(fabric, method, assignment, effort=0) for assignment in ("fixed", "pinned"))
    if away.sources == towards.sources:
        assert average_hops(fabric, towards) == average_hops(fabric, away)
        load = [channel_load(fabric, routes).reshape(-1, 2).max(axis=1) for routes in (away, towards)]
        np.testing.assert_allclose(*load)


@pytest.mark.parametrize(("family", "dims", "options"), SMALL_FABRICS, ids=str)
def test_every_named_routing_of_a_family_has_such_trees_or_is_refused_as_with_fixed_assignment(family, dims, options):
    fabric = make_fabric(family, *dims, **options)
    for method in METHODS:
        try:
            away = route(fabric, method, "fixed", effort=0)
        except PlanError as refused:
            with pytest.raises(PlanError, match=refused.rule[:20].replace("*", ".").replace("(", ".")):
                route(fabric, method, "pinned")
            continue
        towards = route(fabric, method, "pinned", effort=0)
        holds(fabric, towards)
        at = np.unique(fabric.host_switch)
        lengths = [path_lengths(fabric, routes)[:, at] for routes in (away, towards)]
        assert lengths[1].max() <= lengths[0].max()


def test_dimension_order_on_a_mesh_and_one_tree_are_such_trees_already():
    fabric = make_fabric("mesh", 4, 3)
    for method in ("dor", "tree"):
        assert np.array_equal(route(fabric, method, "pinned").parent, route(fabric, method, "fixed").parent)


def test_turned_around_again_they_are_trees_with_the_loads_of_the_other_directions():
    fabric = make_irregular([1] * 8, [*((s, (s + 1) % 8) for s in range(8)), (0, 4), (1, 6), (2, 5)])
    towards = route(fabric, "any", "pinned", effort=0)
    assert towards.parent is None
    back = turned_around(fabric, towards)
    assert not find_cycle(len(fabric.tail), *dependencies(fabric, back))
    assert np.array_equal(channel_load(fabric, back), channel_load(fabric, towards).reshape(-1, 2)[:, ::-1].ravel())


def test_paths_that_part_ways_are_shown_by_two_sources():
    fabric = make_fabric("fat-tree", 2, 4, 1, hosts=2)
    found = next_channels(fabric, route(fabric, "fat-tree", "fixed"))
    assert isinstance(found, Parting)
    assert found.channels[0] != found.channels[1]
    assert len({int(fabric.tail[c]) for c in found.channels}) == 1


def test_of_several_sources_at_a_switch_the_trees_taken_spread_the_load():
    fabric = make_fabric("fat-tree", 2, 4, 2, hosts=2)
    towards = route(fabric, "fat-tree", "pinned")
    load = channel_load(fabric, towards)
    fixed = channel_load(fabric, route(fabric, "fat-tree", "fixed"))
    assert load.max() <= 2 * fixed.max()
    holds(fabric, towards)


def test_the_bound_on_load_is_that_of_the_trees_turned_around():
    fabric = make_fabric("torus", 3, 3, parallel=2)
    towards = route(fabric, "auto", "pinned")
    assert 0 < load_bound(fabric, towards, "pinned") <= channel_load(fabric, towards).max()
