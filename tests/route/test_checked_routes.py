"""Routes read from a file are taken only where they fit the fabric: each spoilt array is named."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.graph.paths import check_routes
from tagloom.route import route

pytestmark = pytest.mark.kernel

FABRIC = make_fabric("torus", 3, 3)


def spoilt(array, at, value):
    changed = array.copy()
    changed[at] = value
    return changed


@pytest.fixture(scope="module")
def trees():
    found = route(FABRIC, "any")
    check_routes(FABRIC, found)
    return found


@pytest.fixture(scope="module")
def relation():
    found = route(FABRIC, "any", assignment="renamed")
    assert found.relation is not None
    check_routes(FABRIC, found)
    return found


def refused(routes, **changes):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the caller looks at the words
        check_routes(FABRIC, replace(routes, **changes))
    return str(caught.value)


def test_sources_and_trees_of_another_fabric_are_refused(trees):
    assert refused(trees, source_of_host=trees.source_of_host[:-1]) == "source_of_host of another fabric"
    assert refused(trees, root=spoilt(trees.root, 0, len(FABRIC.switches))) == "root of another fabric"
    assert refused(trees, parent=spoilt(trees.parent, (0, 1), len(FABRIC.tail))) == "parent of another fabric"
    other = spoilt(trees.root, 0, trees.root[1])
    assert refused(trees, root=other) == "sources that are not where their hosts are"


def test_trees_that_are_none_are_refused(trees):
    into = int(np.flatnonzero(trees.parent[0] >= 0)[0])
    stray = int(np.flatnonzero(FABRIC.head != into)[0])
    assert refused(trees, parent=spoilt(trees.parent, (0, into), stray)) == "trees whose channels enter other switches"
    apart = (FABRIC.tail != trees.root[0]) & (FABRIC.head != trees.root[0])
    there, ring = int(np.flatnonzero(apart)[0]), trees.parent.copy()
    for channel in (there, there ^ 1):
        ring[0, FABRIC.head[channel]] = channel
    assert refused(trees, parent=ring) == "trees that do not begin at their root"


def test_relations_that_leap_or_turn_in_circles_are_refused(relation):
    def with_(**changes):
        return refused(relation, relation=replace(relation.relation, **changes))

    first, following = relation.relation.first, relation.relation.following
    source, target = (int(each[0]) for each in np.nonzero(first >= 0))
    elsewhere = int(np.flatnonzero(FABRIC.tail != relation.root[source])[0])
    assert with_(first=spoilt(first, (source, target), elsewhere)) == "paths that begin at other switches"
    channel, goal = (int(each[0]) for each in np.nonzero(following >= 0))
    leap = int(np.flatnonzero(FABRIC.tail != FABRIC.head[channel])[0])
    assert with_(following=spoilt(following, (channel, goal), leap)) == "paths that leap from switch to switch"
    round_, held = following.copy(), int(first[source, target])
    round_[held, target], round_[held ^ 1, target] = held ^ 1, held
    assert "circles" in with_(following=round_)
