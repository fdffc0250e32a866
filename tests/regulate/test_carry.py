"""Whether links can carry traffic on whole trees: every combination of trees tried gives the same answer."""

from dataclasses import replace
from itertools import combinations, pairwise, product
from pathlib import Path
from time import monotonic

import networkx as nx
import numpy as np
import pytest

from fabrics import make_fabric, make_irregular
from tagloom.graph.paths import channel_load
from tagloom.read import read_traffic
from tagloom.records.traffic import Traffic
from tagloom.regulate import routes_of
from tagloom.regulate.all_trees import choose_trees
from tagloom.regulate.carry import carry, senders_of
from tagloom.regulate.forest import net_of, trees_of
from thinned import few

pytestmark = pytest.mark.kernel

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


@pytest.mark.slow
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
    net = net_of(fabric, traffic)
    assert carry(fabric, net, [0], limit, FOREVER, no_time_passes).can is can
    # what is asked where OR-Tools is not installed
    assert bool(choose_trees(fabric, net, senders_of(net)[0], [0], limit, FOREVER, no_time_passes)) is can


@pytest.mark.slow
def test_questions_too_large_are_left_open():
    fabric = make_fabric("torus", 4, 4, model="powerconnect-5324")
    traffic = read_traffic(Path("pattern:uniform"), fabric)
    net, links = net_of(fabric, traffic), list(range(len(fabric.links)))
    senders, _ = senders_of(net)
    assert choose_trees(fabric, net, senders, links, 1e12, FOREVER, no_time_passes) is None
    assert carry(fabric, net, links, 1e12, FOREVER, no_time_passes).can is True
    large = make_fabric("torus", 16, 16, model="powerconnect-5324")
    net = net_of(large, read_traffic(Path("pattern:uniform"), large))
    assert carry(large, net, range(len(large.links)), 1e12, FOREVER, no_time_passes).can is None


def test_what_effort_leaves_open_does_not_depend_on_the_clock():
    fabric = make_fabric("mesh", 3, 4, model="powerconnect-5324")
    net = net_of(fabric, read_traffic(Path("pattern:all-to-all"), fabric))
    most = 12 * net.flow.max()
    for effort, can in ((0.0, None), (0.1, None), (FOREVER, True)):
        found = {carry(fabric, net, range(1, 17), most, effort, ticks).can for ticks in (no_time_passes, monotonic)}
        assert found == {can}


def a_question(seed):
    """Return a random fabric with a few links, parallel ones and slow ones among them, its traffic and a limit."""
    chance = np.random.default_rng(seed)
    switches = int(chance.integers(3, 7))
    links = [(int(chance.integers(v)), v) for v in range(1, switches)]
    links += [tuple(chance.choice(switches, 2, replace=False).tolist()) for _ in range(int(chance.integers(1, 4)))]
    at = [int(n) for n in chance.integers(0, 3, switches)]
    fabric = make_irregular([max(1, at[0]), *at[1:-1], max(1, at[-1])], links, model="powerconnect-5324")
    hosts = len(fabric.hosts)
    fabric = fabric.with_speeds({i: 100 for i in range(len(links)) if chance.random() < 0.1})
    if seed % 3 == 2 and hosts > 3:
        cut = int(chance.integers(2, hosts - 1))
        named = [replace(host, network="one" if h < cut else "other") for h, host in enumerate(fabric.hosts)]
        fabric = replace(fabric, hosts=tuple(named))
    volume = chance.integers(0, 6, (hosts, hosts)) * (chance.random((hosts, hosts)) < 0.6) * chance.choice([1.0, 1 / 3])
    np.fill_diagonal(volume, 0)
    for some in [set(mine.tolist()) for mine in fabric.networks.values()]:
        volume[np.ix_(sorted(some), sorted(set(range(hosts)) - some))] = 0.0
    return fabric, Traffic(volume, volume), float(volume.sum() * chance.uniform(0.1, 1.0)) + 0.1, chance


def turns(fabric, routes):
    """Return every two channels that follow each other on a path between two hosts of one network."""
    found = set()
    for mine in fabric.networks.values():
        for a, b in product(mine.tolist(), repeat=2):
            at, path = fabric.hosts[b].switch, []
            source = routes.source_of_host[a]
            while at != routes.root[source]:
                path.append(int(routes.trees[source][at]))
                at = int(fabric.tail[path[-1]])
            found |= set(pairwise(reversed(path)))
    return found


@pytest.mark.parametrize("some", few([range(n, n + 10) for n in range(0, 200, 10)], 0, 1), ids=str)
def test_a_search_and_a_choice_among_all_trees_answer_alike(some):
    answers = []
    for seed in some:
        fabric, traffic, limit, chance = a_question(seed)
        net = net_of(fabric, traffic, int(chance.integers(2, 7)) if seed % 2 else None)
        on = sorted(set(range(len(fabric.links))) - set(chance.choice(len(fabric.links), seed % 2).tolist()))
        smaller = fabric.with_links_down(set(range(len(fabric.links))) - set(on))
        chosen = choose_trees(fabric, net, senders_of(net)[0], on, limit, FOREVER, no_time_passes)
        assert chosen is not None
        verdict = carry(fabric, net, on, limit, FOREVER, no_time_passes)
        assert verdict.can is bool(chosen)
        answers.append(verdict.can)
        if verdict.can:
            routes = routes_of(smaller, verdict.forest, verdict.tree_of_host, "carried", "")
            assert channel_load(smaller, routes, traffic.volume_bytes).max() <= limit * (1 + 1e-9)
            assert nx.is_directed_acyclic_graph(nx.DiGraph(sorted(turns(smaller, routes))))
    assert set(answers) == {True, False}
