"""The turn models by name: each forbids the two turns that Glass and Ni forbid, and no more.

Glass and Ni, The Turn Model for Adaptive Routing, ISCA 1992, section 4, for a mesh of two dimensions: west-first
forbids the two turns to the west, north-last the two turns of a packet travelling north, negative-first the two turns
from a positive direction to a negative one. Which direction is west or north is free: each model has its mirror images.
"""

from itertools import permutations, product

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies
from tagloom.route import route
from tagloom.route.dimension_order import directions
from tagloom.route.turn_model import _phases

X, Y = 0, 1
WAYS = list(product((X, Y), (0, 1)))  # (dimension, 0 minus or 1 plus)
TURNS = {(a, b) for a in WAYS for b in WAYS if a[0] != b[0]}
MODELS = ("west-first", "north-last", "negative-first")


def forbidden(model, east_west, west, north):
    """Return the two turns that a model forbids: `east_west` is a dimension, `west` and `north` are plus or minus."""
    to_west, to_east = (east_west, west), (east_west, 1 - west)
    to_north, to_south = (1 - east_west, north), (1 - east_west, 1 - north)
    return {
        "west-first": {(to_north, to_west), (to_south, to_west)},
        "north-last": {(to_north, to_west), (to_north, to_east)},
        "negative-first": {(to_east, to_south), (to_north, to_west)},
    }[model]


def images(model, order):
    """Return the turns that each mirror image of a model forbids, if dimension order travels `order[0]` first."""
    return {frozenset(forbidden(model, order[0], *signs)) for signs in product((0, 1), repeat=2)}


@pytest.mark.parametrize("order", [[X, Y], [Y, X]])
@pytest.mark.parametrize("model", MODELS)
def test_a_name_forbids_the_turns_that_the_literature_says(model, order):
    phases = [{way: int(phase[way]) for way in WAYS} for phase in _phases(model, order)]
    assert {frozenset((a, b) for a, b in TURNS if phase[a] > phase[b]) for phase in phases} == images(model, order)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("model", MODELS)
def test_routes_keep_to_the_turns_of_the_model_they_are_named_by(model, assignment):
    fabric = make_fabric("mesh", 4, 4)
    others, told_apart = [other for other in MODELS if other != model], set()
    for link in range(len(fabric.links)):
        smaller = fabric.with_links_down({link})
        try:
            routes = route(smaller, model, assignment)
        except PlanError:
            continue
        dim, sign = directions(smaller)
        held, wanted = dependencies(smaller, routes)
        steps = {((int(dim[a]), int(sign[a])), (int(dim[b]), int(sign[b]))) for a, b in zip(held, wanted, strict=True)}
        assert not any(a[0] == b[0] and a != b for a, b in steps), "turned about"
        taken = steps & TURNS
        assert any(not taken & image for image in images(model, [X, Y])), link
        told_apart |= {other for other in others if all(taken & image for image in images(other, [X, Y]))}
    assert told_apart == set(others), "one of these routes is no route of each other model"


@pytest.mark.parametrize("order", [*permutations(range(2)), *permutations(range(3)), (2, 0, 3, 1)])
@pytest.mark.parametrize("model", MODELS)
def test_all_turns_that_a_model_allows_together_close_no_cycle(model, order):
    """In a mesh of three switches along each dimension, by following all of them at once."""
    fabric = make_fabric("mesh", *[3] * len(order))
    dim, sign = directions(fabric)
    for phase in _phases(model, list(order)):
        a, b = np.nonzero(fabric.head[:, None] == fabric.tail[None, :])
        step = (phase[dim[a], sign[a]] <= phase[dim[b], sign[b]]) & (fabric.tail[a] != fabric.head[b])
        assert find_cycle(len(dim), a[step], b[step]) == []
        if model != "negative-first":  # whoever meets nothing dead stays on dimension order
            for i, early in enumerate(order):
                assert phase[early].max() <= phase[list(order[i + 1 :])].min(initial=9)


@pytest.mark.parametrize(
    ("model", "dimensions", "sizes"),
    [
        ("north-last", 2, [3, 1]),
        ("north-last", 3, [3, 3]),
        ("north-last", 4, [3, 4, 1]),
        ("west-first", 2, [1, 3]),
        ("west-first", 3, [1, 4, 1]),
        ("west-first", 4, [1, 4, 3]),
        ("negative-first", 4, [4, 4]),
    ],
)
def test_in_more_dimensions_a_phase_takes_up_to_four_directions(model, dimensions, sizes):
    for phase in _phases(model, list(range(dimensions))):
        assert np.bincount(phase.ravel()).tolist() == sizes
