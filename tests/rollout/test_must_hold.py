"""Between any two of a mesh's plans a proven order is found: fixed, renamed, its trees, a link off, each up*/down*."""

import itertools
import os
import random
from functools import cache, partial

import numpy as np

from fabrics import make_fabric
from tagloom.pipeline import rollout
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.route.trees import per_switch, rooted
from tagloom.route.up_down import _trees, ranked
from tagloom.verify import broadcasts_once
from tagloom.weave import weave

SAMPLE = 40  # of the 2,070 ordered pairs; TAGLOOM_ALL_PAIRS=1 takes them all, a few minutes
MOST_WAVES = 7


def mesh():
    return make_fabric("mesh", 4, 4, model="powerconnect-5324")


def woven(fabric, routes, assignment="fixed"):
    return weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric)).state


def row_and_columns(fabric, row):
    """One row and all columns, for every source: the trees that dimension order is made of."""
    links = [
        i
        for i, link in enumerate(fabric.links)
        if link.a // 4 != link.b // 4 or (link.a // 4 == row and link.b // 4 == row)
    ]
    source, root = per_switch(fabric)
    return Routes("tree", "", source, root, np.array([rooted(fabric, links, int(r)) for r in root]))


def up_down(fabric, top):
    source, root = per_switch(fabric)
    return Routes("up-down", "", source, root, _trees(fabric, root, ranked(fabric, top))[0])


@cache
def plans():
    """46 states by name: fixed, renamed, 4 trees, 24 with a link off, up*/down* from 16 roots."""
    fabric = mesh()
    found = {"fixed": woven(fabric, route(fabric)), "renamed": woven(fabric, route(fabric), "renamed")}
    for row in range(4):
        found[f"tree of row {row}"] = woven(fabric, row_and_columns(fabric, row))
    for link in range(len(fabric.links)):
        less = fabric.with_links_down({link})
        found[f"link {link} off"] = woven(less, route(less))
    for root in range(len(fabric.switches)):
        found[f"up*/down* from {root}"] = woven(fabric, up_down(fabric, root))
    return found


def test_every_pair_of_plans_has_a_proven_order():
    pairs = list(itertools.permutations(plans(), 2))
    assert len(pairs) == 2070
    if "TAGLOOM_ALL_PAIRS" not in os.environ:
        pairs = random.Random(5).sample(pairs, SAMPLE)
    strategies = {}
    fabric = mesh()
    for old, new in pairs:
        change = rollout(fabric, plans()[old], plans()[new])
        assert change.waves or change.after == plans()[old], (old, new)
        assert len(change.waves) <= MOST_WAVES, (old, new)
        assert all(wave.proof.proven for wave in change.waves), (old, new)
        assert change.downtime_seconds == 0, (old, new)
        counts = strategies.setdefault(change.strategy, {})
        counts[len(change.waves)] = counts.get(len(change.waves), 0) + 1
    assert len(strategies) >= 3, "a sample in which direct is not enough"
