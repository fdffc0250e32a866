"""Merging into few VLANs: never more than first fit, fewer if possible, and still proven."""

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.weave.fixed import _is_tree, first_fit_count, trees
from tagloom.weave.merge import EXACT_THINGS, _by_saturation, _minimal_conflict, _numbered, fewest, first_fit


def conflicts(graph):
    return nx.to_numpy_array(graph, nodelist=sorted(graph), dtype=np.int8).astype(bool)


def always(_):
    return True


def is_proper(conflict, place):
    return not np.any(conflict & (place[:, None] == place[None, :]))


def crown(n):
    """Two things a_i, b_j conflict unless i = j; taken a_0 b_0 a_1 b_1 ..., first fit opens n classes, 2 suffice."""
    conflict = np.zeros((2 * n, 2 * n), bool)
    for i in range(n):
        for j in range(n):
            if i != j:
                conflict[2 * i, 2 * j + 1] = conflict[2 * j + 1, 2 * i] = True
    return conflict


@settings(max_examples=100)
@given(st.integers(1, 18), st.integers(0, 100), st.integers(0, 10_000))
def test_never_more_classes_than_first_fit(n, percent, seed):
    graph = nx.gnp_random_graph(n, percent / 100, seed=seed)
    conflict = conflicts(graph)
    few, first = fewest(conflict), first_fit(conflict, always)
    assert is_proper(conflict, few)
    assert few.max() <= first.max()
    assert few.tolist() == fewest(conflict).tolist()
    assert np.array_equal(np.unique(few, return_index=True)[1], np.sort(np.unique(few, return_index=True)[1]))


@pytest.mark.parametrize(
    ("conflict", "first", "few"),
    [
        (crown(4), 4, 2),
        (crown(7), 7, 2),
        (
            conflicts(nx.convert_node_labels_to_integers(nx.mycielski_graph(4))),
            4,
            4,
        ),  # Grotzsch: no triangle, 4 colours
        (conflicts(nx.relabel_nodes(nx.path_graph(4), {0: 0, 1: 2, 2: 3, 3: 1})), 3, 2),
    ],
    ids=["crown-4", "crown-7", "grotzsch", "path"],
)
def test_named_conflict_graphs(conflict, first, few):
    assert first_fit(conflict, always).max() + 1 == first
    assert fewest(conflict).max() + 1 == few


def test_beyond_what_an_integer_program_takes_the_most_constrained_go_first():
    """A crown of 60 things: Brelaz's order finds the two classes that it needs, first fit opens one for each pair."""
    conflict = crown(30)
    assert len(conflict) > EXACT_THINGS
    assert first_fit(conflict, always).max() + 1 == 30
    assert fewest(conflict).tolist() == [0, 1] * 30


def test_where_the_most_constrained_first_need_more_classes_first_fit_is_kept():
    """Graphs by chance, too large for an integer program: the smaller answer counts, and of equal ones first fit's."""
    kept = 0
    for seed in range(40):
        conflict = conflicts(nx.gnp_random_graph(EXACT_THINGS + 2, 0.2, seed=seed))
        first, other = first_fit(conflict, always), first_fit(conflict, always, _by_saturation(conflict))
        few = fewest(conflict)
        assert few.max() == min(first.max(), other.max())
        if first.max() <= other.max():
            kept += 1
            assert few.tolist() == _numbered(first).tolist()
    assert 0 < kept < 40


def test_three_that_go_together_two_by_two_only():
    """Any two of three things share a class, all three do not: the integer program learns it by a cut."""
    conflict = np.zeros((6, 6), bool)
    place = fewest(conflict, lambda which: len({i % 3 for i in which}) < 3)
    assert place.max() + 1 == 2
    assert all(len({i % 3 for i in np.flatnonzero(place == c).tolist()}) < 3 for c in (0, 1))


def partial_routes(fabric, links_by_source):
    """Return routes of partial trees; sources are at the first end of their first link."""
    from tagloom.graph.trees import rooted  # noqa: PLC0415 - only here

    root = np.array([fabric.links[links[0]].a for links in links_by_source], np.int32)
    parent = np.stack([rooted(fabric, links, int(r)) for links, r in zip(links_by_source, root, strict=True)])
    return Routes("partial", "", np.zeros(len(fabric.hosts), np.int32), root, parent)


def test_partial_trees_on_a_triangle_share_two_vlans_where_first_fit_takes_three():
    """Links ab, bc, ca of a ring of five and its chords: first fit pairs the wrong ones."""
    fabric = make_fabric("complete", 4)
    between = {(x.a, x.b): i for i, x in enumerate(fabric.links)}
    a, b, c, d, e, f = (between[k] for k in ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)))
    routes = partial_routes(fabric, [[a], [b], [d, e], [c, f]])
    assert first_fit_count(fabric, routes) == 3
    merged, place, _ = trees(fabric, routes)
    assert len(merged) == 2
    assert all(_is_tree(fabric, links) for links in merged)
    for source, tree in enumerate(place.tolist()):
        row = routes.parent[source]
        assert set((row[row >= 0] // 2).tolist()) <= merged[tree]


def test_branches_that_lead_to_no_host_keep_no_trees_apart():
    """One tree of a fat tree, with a dead end to the other top switch over one middle switch or another."""
    fabric = make_fabric("fat-tree", 2, 4, 2)
    tree = trees(fabric, route(fabric, "tree"))[0][0]
    reached = {s for i in tree for s in (fabric.links[i].a, fabric.links[i].b)}
    top = next(s for s in (12, 13) if s not in reached)
    ends = [i for i, x in enumerate(fabric.links) if {x.a, x.b} - reached == {top}]
    routes = partial_routes(fabric, [sorted(tree | {end}) for end in ends])
    assert first_fit_count(fabric, routes) == len(ends) == 2
    assert len(trees(fabric, routes)[0]) == 1


@given(st.frozensets(st.frozensets(st.integers(0, 7), min_size=1, max_size=4), min_size=1, max_size=4))
def test_of_a_set_that_may_not_share_a_class_only_members_that_are_needed_are_kept(forbidden):
    def together(members):
        return not any(part <= set(members) for part in forbidden)

    kept = _minimal_conflict(list(range(8)), together)
    assert not together(kept)
    assert all(together([m for m in kept if m != member]) for member in kept)
