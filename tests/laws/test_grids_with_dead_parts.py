"""Grids with random dead links and switches: every applicable method reaches every host, and is proven."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies, path_lengths, paths_to
from tagloom.route import METHODS, route
from tagloom.verify import Plan, verify
from tagloom.weave import weave
from thinned import examples

GRIDS = [("mesh", (4, 3), 1), ("mesh", (3, 2, 2), 1), ("mesh", (3, 3), 2), ("torus", (3, 4), 1), ("torus", (5, 3), 2)]


def connected(fabric):
    alive = {i for i, switch in enumerate(fabric.switches) if switch.up}
    seen = {min(alive)}
    while more := {
        s for x in fabric.links if x.up and (x.a in seen) != (x.b in seen) for s in (x.a, x.b) if s not in seen
    }:
        seen |= more
    return seen == alive


@st.composite
def damaged(draw):
    family, dims, parallel = draw(st.sampled_from(GRIDS))
    fabric = make_fabric(family, *dims, parallel=parallel)
    for link in draw(st.lists(st.integers(0, len(fabric.links) - 1), max_size=3)):
        smaller = fabric.with_links_down({link})
        fabric = smaller if connected(smaller) else fabric
    for switch in draw(st.lists(st.integers(0, len(fabric.switches) - 1), max_size=2, unique=True)):
        smaller = fabric.with_switches_down({switch})
        fabric = smaller if connected(smaller) else fabric
    return fabric


@examples(40)
@given(damaged(), st.sampled_from(sorted(METHODS)), st.sampled_from(["fixed", "renamed", "pinned"]))
def test_every_method_that_takes_a_damaged_grid_routes_all_of_it(fabric, method, assignment):
    try:
        routes = route(fabric, method, assignment)
    except PlanError:
        assert method != "auto"
        return
    assert np.all(path_lengths(fabric, routes)[:, fabric.host_switch] >= 0)
    assert find_cycle(len(fabric.tail), *dependencies(fabric, routes)) == []
    used = paths_to(fabric, routes, np.unique(fabric.host_switch))
    assert fabric.channel_up[used[used >= 0]].all()
    if assignment == "fixed":
        proof = verify(fabric, weave(fabric, routes, "fixed").state, Plan(routes))
        assert proof.proven, [str(finding) for finding in proof.findings]
