"""Detours: trees move off links that are down, and lose only what leads to no host."""

import numpy as np
import pytest

from fabrics import make_irregular
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies, path_lengths
from tagloom.graph.trees import per_switch, rooted_at
from tagloom.records.routes import Routes
from tagloom.route.detour import detour


def on_tree(fabric, links):
    """Return routes over one tree of links, unpruned, from every switch with hosts."""
    source_of_host, root = per_switch(fabric)
    return Routes("tree", "by hand", source_of_host, root, rooted_at(fabric, set(links), root))


def reached(fabric, routes):
    return (path_lengths(fabric, routes)[:, fabric.host_switch] >= 0).all()


def test_a_cut_branch_without_hosts_is_given_up():
    """Switch 3 has no hosts and hangs on one link: with that down, the rest stays as it is."""
    fabric = make_irregular([1, 1, 1, 0], [(0, 1), (1, 2), (2, 3)])
    routes = on_tree(fabric, [0, 1, 2])
    moved = detour(fabric.with_links_down({2}), routes)
    assert moved is not None
    assert reached(fabric, moved)
    assert not np.isin(moved.trees, [4, 5]).any()


@pytest.mark.parametrize("ends", [(2, 0), (0, 2)], ids=["beyond the far end", "beyond the near end"])
def test_a_cut_branch_with_hosts_takes_another_link(ends):
    """A ring of three with hosts at both ends of the dead link: each half has hosts, so the third link joins them."""
    fabric = make_irregular([1, 1, 1], [(0, 1), (1, 2), ends])
    moved = detour(fabric.with_links_down({1}), on_tree(fabric, [0, 1]))
    assert moved is not None
    assert reached(fabric, moved)
    assert not np.isin(moved.trees, [2, 3]).any()
    assert np.isin(moved.trees, [4, 5]).any()
    assert find_cycle(len(fabric.tail), *dependencies(fabric, moved)) == []


def test_hosts_that_no_link_reaches_any_more_are_not_given_up():
    fabric = make_irregular([1, 1, 1], [(0, 1), (1, 2)])
    assert detour(fabric.with_links_down({1}), on_tree(fabric, [0, 1])) is None


def test_the_nearest_link_that_joins_the_halves_is_taken():
    """A ring of six with a chord beside the dead link: the chord makes a shorter detour than the ring's last link."""
    links = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (1, 3)]
    fabric = make_irregular([1] * 6, links)
    moved = detour(fabric.with_links_down({2}), on_tree(fabric, [0, 1, 2, 3, 4]))
    assert set((moved.trees[moved.trees >= 0] // 2).tolist()) == {0, 1, 3, 4, 6}
    assert "1 of 1 trees moved" in moved.reason


def test_a_branch_that_was_given_up_joins_nothing_again():
    """Switch 2 has no hosts, and both of its links of the tree are down: host 3 is reached over neither."""
    fabric = make_irregular([1, 1, 0, 1], [(0, 1), (1, 2), (0, 3), (2, 3)])
    routes = on_tree(fabric, [0, 1, 2])
    assert detour(fabric.with_links_down({1, 2}), routes) is None
