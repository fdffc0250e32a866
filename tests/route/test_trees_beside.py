"""Trees for what is left of a fabric, along an order that the paths which still run ascend, too."""

from dataclasses import replace
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from fabrics import make_fabric, make_irregular
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies as of_routes
from tagloom.graph.paths import path_lengths
from tagloom.pipeline.planning import plan
from tagloom.pipeline.proving import proof_services
from tagloom.regulate.settings_file import RegulateResult
from tagloom.rollout.choose import keeping
from tagloom.route.detours import trees_beside
from tagloom.verify import dependencies

pytestmark = pytest.mark.kernel

MESH = ("mesh", 4, 4)


def planned(fabric, **how):
    return plan(fabric, Path(), texts=False, **how)[0]


def bridges(fabric):
    graph = nx.Graph((link.a, link.b) for link in fabric.links)
    return {frozenset(edge) for edge in nx.bridges(graph)}


def random_fabric(seed):
    graph = nx.random_regular_graph(3, 10, seed)
    return make_irregular([1] * 10, list(graph.edges))


@pytest.mark.parametrize("fabric", [make_fabric(*MESH), *map(random_fabric, range(4))])
def test_all_pairs_have_paths_that_close_no_cycle_with_those_that_run(fabric):
    held, wanted = dependencies(fabric, planned(fabric).state)
    found = 0
    tried = [i for i, link in enumerate(fabric.links) if frozenset((link.a, link.b)) not in bridges(fabric)]
    for i in tried:
        left = fabric.with_links_down({i})
        routes = trees_beside(left, (held, wanted))
        if routes is None:
            continue
        found += 1
        assert (path_lengths(left, routes)[:, fabric.host_switch] >= 0).all()
        alive = (held // 2 != i) & (wanted // 2 != i)
        new = of_routes(left, routes)
        both = [np.concatenate([old[alive], more]) for old, more in zip((held, wanted), new, strict=True)]
        assert not find_cycle(len(fabric.tail), *both)
    assert found >= len(tried) - 2  # of random ones some order leaves no room for a way around


def test_none_is_found_beside_paths_that_wait_in_a_cycle():
    fabric = make_fabric("ring", 4)
    around = np.flatnonzero((fabric.tail + 1) % 4 == fabric.head)
    around = around[np.argsort(fabric.tail[around])].astype(np.int64)
    assert trees_beside(fabric, (around, np.roll(around, -1))) is None


def test_waves_lead_where_a_plan_by_itself_finds_none():
    """A torus whose rings are open at night, as its trees were moved, loses the link at a corner."""
    whole = make_fabric("torus", 4, 4, model="powerconnect-5324")
    at = [divmod(s, 4) for s in range(16)]
    wraps = {i for i, x in enumerate(whole.links) if max(abs(a - b) for a, b in zip(at[x.a], at[x.b], strict=True)) > 1}
    night = planned(whole.with_links_down(wraps))
    corner = next(i for i, link in enumerate(whole.links) if (link.a, link.b) == (0, 1))
    left = night.fabric.with_links_dead({corner})
    services = proof_services(left)
    by_itself = planned(left, previous=night)
    beside = trees_beside(left, dependencies(left, night.state))
    assert beside is not None
    plan_beside = planned(left, previous=night, regulated=RegulateResult(beside, {}, ()))
    assert keeping(left, night.state, by_itself.state, services) is None
    waves = keeping(left, night.state, plan_beside.state, services)
    assert waves is not None
    assert replace(waves, waves=()).after == plan_beside.state
