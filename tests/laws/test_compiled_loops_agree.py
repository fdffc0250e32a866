"""Law: the compiled loops for large fabrics agree with the array code for small ones."""

from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import SMALL_FABRICS, make_fabric
from tagloom.graph import paths
from tagloom.graph.paths import channel_load, departures, dependencies, path_lengths
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.verify import Plan, unicast, verify
from tagloom.weave import weave
from test_every_plan_is_what_frames_do import damaged, graphs
from test_verifier_agrees_with_frames import damage
from thinned import examples


@contextmanager
def forced(from_pairs):
    """Use compiled loops from so many pairs on."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "COMPILED_FROM", from_pairs)
        patch.setattr(unicast, "COMPILED_FROM", from_pairs)
        yield


def same(one, other):
    return (one is None and other is None) or all(
        np.array_equal(getattr(one, name), getattr(other, name)) for name in ("targets", "first", "following", "here")
    )


@examples(100)
@given(graphs(), st.data())
def test_walks_over_trees(fabric, data):
    fabric = damaged(data.draw, fabric)
    routes = route(fabric, data.draw(st.sampled_from(["any", "up-down", "tree"])), "fixed", 0)
    parent = routes.trees.copy()
    for _ in range(data.draw(st.integers(0, 2))):  # cut branches off, or send them in circles
        row, switch = data.draw(st.integers(0, len(parent) - 1)), data.draw(st.integers(0, parent.shape[1] - 1))
        into = [-1, *np.flatnonzero(fabric.head == switch).tolist()]
        parent[row, switch] = data.draw(st.sampled_from(into)) if routes.root[row] != switch else -1
    answers = []
    for from_pairs in (0, 1 << 40):
        with forced(from_pairs):
            fresh = Routes("", "", routes.source_of_host, routes.root, parent)
            held, wanted = dependencies(fabric, fresh)
            depth = path_lengths(fabric, fresh)
            reached = np.all(depth[:, fabric.host_switch] >= 0)
            load = channel_load(fabric, fresh) if reached else None
            relation = departures(fabric, fresh) if reached else None
            answers.append((depth, set(zip(held.tolist(), wanted.tolist(), strict=True)), load, relation))
    (depth, turns, load, relation), (depth_too, turns_too, load_too, relation_too) = answers
    assert np.array_equal(depth, depth_too)
    assert turns == turns_too
    assert (load is None and load_too is None) or np.allclose(load, load_too)
    assert same(relation, relation_too)


@examples(150)
@given(st.data())
def test_proofs_of_damaged_configurations(data):
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS))
    assignment = data.draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    fabric = make_fabric(family, *dims, **options)
    routes = route(fabric, "auto", assignment)
    state = damage(data.draw, fabric, weave(fabric, routes, assignment).state)
    plan = Plan(routes) if data.draw(st.booleans()) else None
    pages = []
    for from_pairs in (0, 1 << 40):
        with forced(from_pairs):
            proof = verify(fabric, state, plan)
            pages.append((proof.to_json(), [str(finding) for finding in proof.findings], proof.dependencies))
    assert pages[0] == pages[1]
