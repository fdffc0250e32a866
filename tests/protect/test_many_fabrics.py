"""Five hundred random two-connected fabrics of up to 24 switches: every single failure, frame by frame."""

import random

import networkx as nx
import pytest

from fabrics import ROOT, make_fabric, make_irregular
from failing import holds
from tagloom import pipeline
from tagloom.errors import PlanError

pytestmark = pytest.mark.kernel

FABRICS, BLOCK = 500, 10
MODELS = [
    ("powerconnect-5324", False),
    ("powerconnect-5324", True),
    ("linux-bridge", False),
    ("powerconnect-6248", False),
]


def drawn(seed):
    """Return a fabric of a ring with chords, up to two hosts a switch, what is to fail, and how to plan."""
    rng = random.Random(seed)
    switches = rng.randint(4, 24)
    graph = nx.gnm_random_graph(switches, rng.randint(1, switches), seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    hosts = [rng.randint(0, 2) for _ in range(switches)]
    hosts[0], hosts[-1] = 1, 2
    model, static_arp = rng.choice(MODELS)
    how = {"routing": rng.choice(["auto", "any", "up-down"])}
    fabric = make_irregular(hosts, sorted(graph.edges), model)
    return fabric, rng.choice(["link", "switch"]), rng.choice(["vlans", "load"]), how, static_arp


@pytest.mark.long
@pytest.mark.parametrize("first", range(0, FABRICS, BLOCK))
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_each_failure_of_many_fabrics_is_what_was_proven(assignment, first):
    for seed in range(first, first + BLOCK):
        fabric, kind, prefer, how, static_arp = drawn(seed)
        how |= {"assignment": assignment, "static_arp": static_arp and assignment == "renamed"}
        try:
            holds(fabric, kind, prefer, **how)
        except PlanError:  # up*/down* may leave no tree for broadcasts to take; detours are not why
            with pytest.raises(PlanError, match="broadcasts need one tree"):
                pipeline.plan(fabric, ROOT / "templates", texts=False, **how)


def test_where_every_failure_cuts_no_path_is_moved_for_detours():
    """A line of 70 switches, more than a word has bits: each link's failure disconnects what it disconnects."""
    fabric = make_fabric("mesh", 70, 1)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", protect="link", texts=False)
    assert build.routes.reason.startswith("dimension order")
