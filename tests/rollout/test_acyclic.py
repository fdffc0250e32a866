"""Law: dependencies are added while they stay acyclic, in groups, in each of several sets, as networkx says."""

import random
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.rollout.acyclic import Acyclic
from tagloom.rollout.trees import trees_beside
from thinned import examples

pytestmark = pytest.mark.kernel

CHANNELS = 6


def arrays(edges):
    held, wanted = zip(*edges, strict=True) if edges else ((), ())
    return np.array(held, np.int64), np.array(wanted, np.int64)


def fits(*edges):
    return all(nx.is_directed_acyclic_graph(nx.DiGraph(each)) for each in edges)


@examples(150)
@given(st.integers(0, 2**32), st.integers(1, 3))
def test_a_group_is_added_whole_if_it_closes_no_cycle_in_any_set_and_else_not_at_all(seed, sets):
    chance = random.Random(seed)
    every = [(a, b) for a in range(CHANNELS) for b in range(CHANNELS)]
    bases = [[(a, b) for a, b in every if a < b and chance.random() < 0.2] for _ in range(sets)]
    kept = [list(base) for base in bases]
    order = Acyclic(CHANNELS, [arrays(base) for base in bases], 60)
    for _ in range(12):
        group = chance.sample(every, chance.randint(1, 3))
        together = [each + group for each in kept]
        assert order.add(*arrays(group)) == fits(*together)
        kept = together if fits(*together) else kept


def test_a_channel_that_would_wait_for_itself_is_a_cycle():
    order = Acyclic(2, [arrays([])], 4)
    assert not order.add(*arrays([(1, 1)]))
    assert order.add(*arrays([(0, 1)]))
    assert not order.add(*arrays([(1, 0)]))


def test_a_set_that_is_cyclic_from_the_start_is_refused():
    with pytest.raises(ValueError, match="cyc"):
        Acyclic(2, [arrays([(0, 1), (1, 0)])], 4)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("family", "dims"), [("fat-tree", (1, 3, 2)), ("fat-tree", (2, 2, 3)), ("clos", (3, 2))])
def test_a_tree_joins_all_switches_with_hosts_over_those_without(family, dims, turned):
    fabric = make_fabric(family, *dims)
    if turned:
        ends = [replace(link, a=link.b, a_port=link.b_port, b=link.a, b_port=link.a_port) for link in fabric.links]
        fabric = replace(fabric, links=tuple(ends))
    trees = [*trees_beside(fabric, np.ones(len(fabric.links), np.bool_), arrays([]))]
    assert trees
    for tree in trees:
        chosen = nx.Graph((fabric.links[i].a, fabric.links[i].b) for i in np.flatnonzero(tree))
        assert nx.is_forest(chosen)
        assert len({frozenset(nx.node_connected_component(chosen, int(s))) for s in fabric.host_switch}) == 1
