"""Shared trees: fewer VLANs than first fit if the graph allows, no pair a hop longer, always proven."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.graph.paths import average_hops, path_lengths
from tagloom.read.fabric_file import parse_fabric
from tagloom.route import route
from tagloom.route.gather import gather
from tagloom.verify import Plan, verify
from tagloom.weave import first_fit_count, weave
from thinned import examples


def fabric_of(graph, every=1):
    """Return a fabric cabled as a graph, with a host on every `every`-th switch."""
    taken, links = dict.fromkeys(graph, 0), []
    for a, b in graph.edges:
        taken[a], taken[b] = taken[a] + 1, taken[b] + 1
        links.append(f'  - ["s{a}:swp{taken[a]}", "s{b}:swp{taken[b]}"]')
    switches = "".join(f"  s{v}: {{}}\n" for v in graph)
    hosts = "".join(f"  h{v}: {{switch: s{v}, port: swp{taken[v] + 1}}}\n" for v in list(graph)[::every])
    cables = "\n".join(links)
    return parse_fabric(
        f"name: graph\nmodel: linux-bridge\nswitches:\n{switches}hosts:\n{hosts}links:\n{cables}\n", "test"
    )


@examples(100)
@given(st.integers(2, 14), st.integers(0, 12), st.integers(1, 3), st.integers(0, 10_000))
def test_never_more_vlans_than_first_fit_and_never_a_longer_path(n, more, every, seed):
    graph = nx.compose(
        nx.random_labeled_tree(n, seed=seed), nx.gnm_random_graph(n, min(more, n * (n - 1) // 2), seed=seed)
    )
    fabric = fabric_of(nx.Graph(graph), every)
    routes = route(fabric, "up-down")
    gathered = gather(fabric, routes)
    woven = weave(fabric, gathered)
    assert woven.vlans <= first_fit_count(fabric, routes)
    needed = np.unique(fabric.host_switch)
    assert np.array_equal(path_lengths(fabric, gathered)[:, needed], path_lengths(fabric, routes)[:, needed])
    assert verify(fabric, woven.state, Plan(gathered)).proven
    assert np.array_equal(gather(fabric, routes).trees, gathered.trees)


@pytest.mark.parametrize(
    ("make", "first_fit", "few"),
    [
        (lambda: make_fabric("mesh", 4, 4), 15, 11),
        (lambda: make_fabric("mesh", 8, 8).with_links_down({30}), 61, 51),
        (lambda: make_fabric("mesh", 8, 8).with_links_down({3, 30, 50, 70, 90}), 57, 48),
        (lambda: fabric_of(nx.petersen_graph()), 10, 10),  # as many odd cycles as can be: nothing to share
        (lambda: fabric_of(nx.random_regular_graph(3, 16, seed=0)), 14, 12),
        (lambda: fabric_of(nx.random_regular_graph(3, 64, seed=1)), 48, 44),
    ],
    ids=["mesh 4x4", "mesh 8x8 less 1", "mesh 8x8 less 5", "petersen", "3-regular 16", "3-regular 64"],
)
def test_named_fabrics_need_fewer_vlans_than_first_fit(make, first_fit, few):
    fabric = make()
    routes = route(fabric, "up-down")
    assert first_fit_count(fabric, routes) == first_fit
    gathered = gather(fabric, routes)
    woven = weave(fabric, gathered)
    assert woven.vlans <= few
    assert average_hops(fabric, gathered) == average_hops(fabric, routes)
    assert verify(fabric, woven.state, Plan(gathered)).proven


def test_a_plan_says_what_first_fit_would_need(templates):
    fabric = make_fabric("mesh", 4, 4, model="powerconnect-5324")
    build, proof, _ = pipeline.plan(fabric, templates, routing="up-down")
    assert proof.proven
    assert build.vlans < build.first_fit_vlans


def test_closed_forms_keep_the_trees_of_table_3():
    for family, dims in (("mesh", (4, 4)), ("fat-tree", (2, 4, 2)), ("clos", (3, 3))):
        fabric = make_fabric(family, *dims)
        routes = route(fabric)
        assert gather(fabric, routes) is routes
