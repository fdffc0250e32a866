"""Whether links can carry traffic on whole trees: every combination of trees tried gives the same answer."""

from dataclasses import replace
from itertools import combinations, product
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.graph.paths import channel_load
from tagloom.read import read_traffic
from tagloom.regulate import routes_of
from tagloom.regulate.carry import carry
from tagloom.regulate.forest import net_of, trees_of

FOREVER = 1e6  # seconds


def no_time_passes():
    """Be a clock of which a busy machine takes nothing."""
    return 0.0


def every_spanning_tree(fabric, links):
    for some in combinations(links, len(fabric.switches) - 1):
        graph = nx.Graph((fabric.links[i].a, fabric.links[i].b) for i in some)
        if len(graph) == len(fabric.switches) and nx.is_connected(graph):
            yield list(some)


def acyclic(fabric, traffic, routes):
    return trees_of(fabric, net_of(fabric, traffic), routes, 64) is not None


@pytest.mark.parametrize("seed", range(8))
def test_the_answer_is_that_of_all_combinations_of_trees(seed):
    fabric = make_fabric("complete", 4, model="powerconnect-5324")
    chance = np.random.default_rng(seed)
    links = sorted(chance.choice(6, 4 + seed % 2, replace=False).tolist())
    volume = chance.integers(0, 4, (4, 4)) * 1e3
    np.fill_diagonal(volume, 0)
    traffic = replace(read_traffic(Path("pattern:uniform"), fabric), volume_bytes=volume, messages=volume)
    smaller = fabric.with_links_down(set(range(6)) - set(links))
    trees = list(every_spanning_tree(fabric, links))
    limits = {}
    for choice in product(range(len(trees)), repeat=4):
        routes = routes_of(smaller, trees, np.array(choice), "tried", "")
        load = channel_load(smaller, routes, volume).max()
        if load not in limits:
            limits[load] = False
        limits[load] = limits[load] or acyclic(smaller, traffic, routes)
    if not trees:
        assert carry(fabric, net_of(fabric, traffic), links, 1e9, FOREVER, no_time_passes).can is False
        return
    least = min(load for load, good in limits.items() if good)
    for limit in (least, least - 1):
        verdict = carry(fabric, net_of(fabric, traffic), links, limit, FOREVER, no_time_passes)
        assert verdict.can is bool(limit == least)
        if verdict.can:
            routes = routes_of(smaller, verdict.forest, verdict.tree_of_host, "carried", "")
            assert channel_load(smaller, routes, volume).max() <= limit
            assert acyclic(smaller, traffic, routes)


def test_turns_that_close_a_ring_are_refused_where_loads_would_fit():
    """Five hosts on a ring, each to both that are two links away: shortest ways fit, and deadlock."""
    fabric = make_fabric("ring", 5, model="powerconnect-5324")
    volume = np.array([[float((a - b) % 5 in {2, 3}) for b in range(5)] for a in range(5)])
    traffic = replace(read_traffic(Path("pattern:uniform"), fabric), volume_bytes=volume, messages=volume)
    trees = list(every_spanning_tree(fabric, range(5)))
    loads = []
    for choice in product(range(5), repeat=5):
        routes = routes_of(fabric, trees, np.array(choice), "tried", "")
        loads.append((channel_load(fabric, routes, volume).max(), acyclic(fabric, traffic, routes)))
    least, least_good = min(loads)[0], min(load for load, good in loads if good)
    assert least == 2 < least_good
    for limit, can in ((least, False), (least_good - 0.5, False), (least_good, True)):
        assert carry(fabric, net_of(fabric, traffic), range(5), limit, FOREVER, no_time_passes).can is can


@pytest.mark.parametrize(("missing", "can"), [(0, True), (1, False)])
def test_one_byte_too_many_in_a_billion_is_too_many(missing, can):
    """Two hosts at one end of the only link: a program of HiGHS tolerates 1 in 10^6, so whole bytes are added up."""
    fabric = make_fabric("mesh", 2, 1, hosts=2, model="powerconnect-5324")
    volume = np.zeros((4, 4))
    volume[0, 2], volume[1, 3] = 500_000_000, 500_000_001
    traffic = replace(read_traffic(Path("pattern:uniform"), fabric), volume_bytes=volume, messages=volume)
    limit = 1_000_000_001 - missing
    assert carry(fabric, net_of(fabric, traffic), [0], limit, FOREVER, no_time_passes).can is can


def test_questions_too_large_are_left_open():
    fabric = make_fabric("torus", 4, 4, model="powerconnect-5324")
    traffic = read_traffic(Path("pattern:uniform"), fabric)
    verdict = carry(fabric, net_of(fabric, traffic), range(len(fabric.links)), 1e12, FOREVER, no_time_passes)
    assert verdict.can is None
