"""From any tree to any other, link by link, also if each leaves out different switches without hosts."""

import random

import numpy as np
from test_wave_proof import a_fabric, a_tree

from tagloom.rollout.acyclic import acyclic, tree_turns
from tagloom.rollout.trees import _joins, _slides


def pruned(fabric, chance):
    """Return a tree that connects all hosts, without some branches to switches without hosts."""
    tree = set(a_tree(fabric, chance))
    for _ in range(chance.randint(0, len(fabric.switches))):
        for s in set(range(len(fabric.switches))) - set(fabric.host_switch.tolist()):
            here = [i for i in tree if s in (fabric.links[i].a, fabric.links[i].b)]
            if len(here) == 1:
                tree.remove(here[0])
    return np.isin(np.arange(len(fabric.links)), list(tree))


def test_slides_end_at_the_tree_they_lead_to_and_every_two_neighbours_are_acyclic_together():
    chance = random.Random(4)
    grown = shrunk = moved = 0
    for _ in range(300):
        fabric = a_fabric(chance)
        first, last = pruned(fabric, chance), pruned(fabric, chance)
        wanted = np.zeros(len(fabric.switches), bool)
        wanted[fabric.host_switch] = True
        here = first
        for count, tree in enumerate(_slides(fabric, first, last)):
            assert count < len(fabric.links) ** 2
            assert _joins(fabric, tree, wanted)
            assert acyclic(len(fabric.tail), tree_turns(fabric, here), tree_turns(fabric, tree))
            grown += bool(tree.sum() > here.sum())
            shrunk += bool(tree.sum() < here.sum())
            moved += bool(tree.sum() == here.sum())
            if tree.sum() == here.sum():
                assert (tree ^ here).sum() == 2, "one link in, a neighbour of its cycle out"
            elif tree.sum() < here.sum():
                assert not (last & ~here).any(), "only what is not wanted goes in the end"
            here = tree
        assert np.array_equal(here, last)
    assert min(grown, shrunk) > 20
    assert moved > 100
