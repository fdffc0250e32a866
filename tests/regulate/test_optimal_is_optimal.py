"""The optimum is the cheapest of all subsets of links, each tried with all trees for all hosts, by another program."""

import sys
from dataclasses import replace
from itertools import pairwise

import networkx as nx
import numpy as np
import pytest

from fabrics import make_irregular
from tagloom import pipeline
from tagloom.operate.repair_target import failures_left
from tagloom.platforms.power import link_watts
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from thinned import few

pytestmark = pytest.mark.kernel


def a_case(seed, *, aggregated=False):
    """Return a random fabric of 3 or 4 switches, at most 6 links and 4 hosts, and its traffic.

    Every other link is an aggregated one of two or three cables, where some may be.
    """
    chance = np.random.default_rng(seed)
    switches = int(chance.integers(3, 5))
    links = [(int(chance.integers(v)), v) for v in range(1, switches)]
    links += [tuple(chance.choice(switches, 2, replace=False).tolist()) for _ in range(int(chance.integers(1, 4)))]
    if aggregated:
        links = [(*ends, int(chance.integers(2, 4))) if i % 2 else ends for i, ends in enumerate(links)]
    at = [1, *chance.integers(0, 2, switches - 2).tolist(), 1]
    fabric = make_irregular(at, links, model="powerconnect-5324")
    hosts = len(fabric.hosts)
    volume = chance.integers(1, 30, (hosts, hosts)) * (chance.random((hosts, hosts)) < 0.8) * 1.0
    np.fill_diagonal(volume, 0.0)
    volume[0, 1] = 7.0
    return fabric, volume


def joined(fabric, links):
    """Return whether links join all switches."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(fabric.switches)))
    graph.add_edges_from((fabric.links[i].a, fabric.links[i].b) for i in links)
    return nx.is_connected(graph)


def spare(fabric, links):
    """Return whether links still join all switches when any one of them is gone."""
    return all(joined(fabric, set(links) - {gone}) for gone in links)


def mended(fabric, links):
    """Return whether, whichever link dies, one that is off joins what is left, if cables join it at all."""
    cables = set(range(len(fabric.links)))
    return all(
        any(joined(fabric, set(links) - {gone} | {woken}) for woken in cables - {gone})
        for gone in links
        if joined(fabric, cables - {gone})
    )


def trees_of(fabric, links):
    """Return every spanning tree of links, as tuples."""
    return [tuple(t) for t in subsets(links, len(fabric.switches) - 1) if joined(fabric, t)]


def subsets(links, size):
    links = list(links)
    masks = [m for m in range(1 << len(links)) if m.bit_count() == size]
    return [[links[i] for i in range(len(links)) if m >> i & 1] for m in masks]


def path_of(fabric, tree, a, b):
    """Return the channels of a tree's path from switch to switch."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(fabric.switches)))
    graph.add_edges_from((fabric.links[i].a, fabric.links[i].b, {"link": i}) for i in tree)
    steps = nx.shortest_path(graph, a, b)
    return [2 * graph[u][v]["link"] + int(fabric.links[graph[u][v]["link"]].a != u) for u, v in pairwise(steps)]


def choices(fabric, volume, links):
    """Return trees, each host's paths over each, and what each choice of a tree for every host loads channels with."""
    trees, at = trees_of(fabric, links), fabric.host_switch.tolist()
    paths = [[[path_of(fabric, tree, a, b) for b in at] for tree in trees] for a in at]
    load = np.zeros((len(at), len(trees), 2 * len(fabric.links)))
    for a, of_trees in enumerate(paths):
        for k, of_pairs in enumerate(of_trees):
            for b, path in enumerate(of_pairs):
                load[a, k, path] += volume[a, b]
    total = np.zeros((1, load.shape[2]))
    for of_host in load:  # all combinations, the last host's tree first
        total = (total[None, :, :] + of_host[:, None, :]).reshape(-1, load.shape[2])
    cables = np.repeat([len(link.cables) for link in fabric.links], 2)  # all of 1 Gb/s
    return trees, paths, total / cables


def acyclic(paths, trees, which):
    """Return whether a choice, by its index, closes no cycle of channels."""
    turns = set()
    for of_trees in paths:
        which, k = divmod(which, len(trees))
        turns |= {pair for path in of_trees[k] for pair in pairwise(path)}
    return nx.is_directed_acyclic_graph(nx.DiGraph(sorted(turns)))


def carried(fabric, volume, links, limit):
    """Return whether some choice of a tree for every host keeps the limit and closes no cycle of channels."""
    trees, paths, load = choices(fabric, volume, links)
    good = np.flatnonzero(load.max(axis=1) <= limit * (1 + 1e-9))
    return any(acyclic(paths, trees, which) for which in good.tolist())


def cheapest_at_levels(fabric, volume, limit, levels, *, two):
    """Return the least watts of links, each as slow as its load allows, or off where `levels` has 0 and none is on it.

    All choices of a tree for every host are tried, those that draw least first.
    """
    everything = set(range(len(fabric.links)))
    trees, paths, load = choices(fabric, volume, everything)
    speeds = sorted({1000, *levels} - {0}, reverse=True)
    fast = load.reshape(len(load), -1, 2).max(axis=2) / (limit * (1 + 1e-9))
    at = [np.array([link_watts(fabric, i, s) for i in everything]) for s in speeds]
    watts = np.full(fast.shape, np.inf)
    for s, drawn in zip(speeds, at, strict=True):
        watts = np.where(fast * 1000 / s <= 1, np.minimum(watts, drawn), watts)
    least = np.minimum.reduce(at)
    held = np.zeros((1, fast.shape[1]), bool)
    of_tree = np.array([[i in tree for i in sorted(everything)] for tree in trees])
    for _ in paths:
        held = (held[None, :, :] | of_tree[:, None, :]).reshape(-1, fast.shape[1])
    sets, which = np.unique(held, axis=0, return_inverse=True)
    rest = []
    for used in (set(np.flatnonzero(links).tolist()) for links in sets):
        more = [[*some] for size in range(len(everything - used) + 1) for some in subsets(everything - used, size)]
        good = [some for some in more if not two or spare(fabric, used | set(some))] if 0 in levels else more[-1:]
        rest.append(min((least[some].sum() for some in good), default=np.inf))
    cost = np.where(held, watts, 0.0).sum(axis=1) + np.array(rest)[which.reshape(-1)]
    return next(cost[c] for c in np.argsort(cost, kind="stable").tolist() if acyclic(paths, trees, c))


def cheapest(fabric, volume, limit, *, two, survive):
    """Return the most watts that links may save: every subset of them is tried, those that draw least first."""
    everything = range(len(fabric.links))
    watts = [link_watts(fabric, i) for i in everything]
    some = [links for size in range(len(fabric.switches) - 1, len(watts)) for links in subsets(everything, size)]
    for links in sorted(some, key=lambda links: sum(watts[i] for i in links)):
        fits = joined(fabric, links) and (not two or spare(fabric, links))
        if fits and (not survive or mended(fabric, links)) and carried(fabric, volume, links, limit):
            return sum(watts) - sum(watts[i] for i in links)
    return 0.0


def check(seed, *, cut, survive, aggregated=False):
    fabric, volume = a_case(seed, aggregated=aggregated)
    survives = (lambda less: not failures_left(less, fabric)) if survive else None
    options = RegulateOptions("optimal", allow_cut=cut, survives=survives)
    settings = pipeline.regulate(fabric, Traffic(volume, volume), "auto", "fixed", lambda *_: None, options)
    two = not cut and spare(fabric, range(len(fabric.links)))
    saved = cheapest(fabric, volume, settings.max_channel_load_before, two=two, survive=survive)
    assert sum(link_watts(fabric, i) for i in settings.links_off) == pytest.approx(saved)
    assert settings.watts_after == pytest.approx(settings.watts_before - saved)
    assert settings.lower_bound_watts == pytest.approx(settings.watts_after, abs=1e-4), "and it is proven"
    if survive:
        assert mended(fabric, set(range(len(fabric.links))) - set(settings.links_off))
    return saved


@pytest.mark.slow
@pytest.mark.parametrize("some", few([range(n, n + 8) for n in range(0, 200, 8)], 0), ids=str)
def test_optimal_turns_off_as_many_links_as_the_best_of_all_subsets(some):
    assert sum(check(seed, cut=seed % 2 == 0, survive=False) > 0 for seed in some) > 1


@pytest.mark.parametrize("some", few([range(n, n + 8) for n in range(0, 80, 8)], 0), ids=str)
def test_aggregated_links_carry_what_all_their_cables_do_and_draw_as_much(some):
    assert sum(check(seed, cut=seed % 2 == 0, survive=False, aggregated=True) > 0 for seed in some) > 1


@pytest.mark.slow
@pytest.mark.parametrize("method", ["greedy", "optimal"])
@pytest.mark.parametrize("seed", few(list(range(40)), 10, 16))
def test_links_are_as_slow_as_in_the_best_of_all_choices(seed, method):
    fabric, volume = a_case(seed)
    fabric = replace(fabric, switches=tuple(replace(s, model="powerconnect-6248") for s in fabric.switches))
    volume = np.where(np.random.default_rng(seed).random(volume.shape) < 0.5, volume, 0.01 * volume)
    for levels in ((0, 10, 100), (10, 100)):
        options = RegulateOptions(method, levels=levels, allow_cut=seed % 2 == 0)
        settings = pipeline.regulate(fabric, Traffic(volume, volume), "auto", "fixed", lambda *_: None, options)
        two = seed % 2 and spare(fabric, range(len(fabric.links)))
        least = cheapest_at_levels(fabric, volume, settings.max_channel_load_before, levels, two=two)
        links = sum(link_watts(fabric, i) for i in range(len(fabric.links)))
        assert links - settings.watts_before + settings.watts_after == pytest.approx(least)
        assert settings.lower_bound_watts <= settings.watts_after


@pytest.mark.daily
@pytest.mark.slow
@pytest.mark.parametrize("some", few([range(n, n + 8) for n in range(0, 200, 8)], 0), ids=str)
def test_and_of_all_subsets_that_survive_the_death_of_a_link(some):
    assert sum(check(seed, cut=True, survive=True) > 0 for seed in some) > 1


def test_without_or_tools_it_is_as_optimal_where_trees_are_few_and_says_so(monkeypatch):
    fabric, volume = a_case(3)
    given = fabric, Traffic(volume, volume), "auto", "fixed", lambda *_: None, RegulateOptions("optimal")
    searched = pipeline.regulate(*given)
    monkeypatch.setitem(sys.modules, "ortools", None)
    listed = pipeline.regulate(*given)
    assert len(listed.links_off) == len(searched.links_off)
    assert listed.lower_bound_watts == pytest.approx(searched.lower_bound_watts)
    assert not [remark for remark in searched.remarks if "OR-Tools" in remark]
    assert [remark for remark in listed.remarks if "pip install ortools" in remark]


@pytest.mark.slow
@pytest.mark.parametrize("times", few([16.0, 1000.0, 1 / 3], 0))
def test_a_class_that_sends_the_same_in_other_numbers_of_bytes_has_the_same_optimum(times):
    for seed in range(4):
        fabric, volume = a_case(seed)
        found = [
            pipeline.regulate(fabric, Traffic(sent, sent), "auto", "fixed", lambda *_: None, RegulateOptions("optimal"))
            for sent in (volume, volume * times)
        ]
        assert len({len(settings.links_off) for settings in found}) == 1
        assert found[0].lower_bound_watts == pytest.approx(found[1].lower_bound_watts)
