"""Detours of networks are ascending trees, even if the sources' trees have branches that serve only other networks."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

from fabrics import ROOT, make_irregular
from tagloom import pipeline
from tagloom.route.detours import DetourLimits, find_detours_of_networks, order_beside
from tagloom.verify import dependencies

pytestmark = pytest.mark.kernel

NOT_UP = ((0, 5), (1, 4), (4, 6))
LINKS = [(0, 5), (0, 3), (3, 7), (1, 4), (4, 7), (1, 6), (5, 6), (1, 3), (2, 7), (4, 6), (2, 5), (0, 2)]
NETWORKS = {0: "b", 1: "a", 2: "c", 3: "b", 4: "c", 6: "a", 7: "a"}


def three_networks():
    """Return a fabric whose order descends into a branch of a tree that leads to a host of another network."""
    fabric = make_irregular([int(s in NETWORKS) for s in range(8)], LINKS, "linux-bridge")
    hosts = tuple(replace(host, network=NETWORKS[host.switch]) for host in fabric.hosts)
    return replace(fabric, hosts=hosts).with_links_down({LINKS.index(link) for link in NOT_UP})


def drawn(seed):
    """Return a ring with chords, on whose switches hosts of three networks are scattered."""
    rng = np.random.default_rng(seed)
    switches = int(rng.integers(5, 12))
    graph = nx.gnm_random_graph(switches, switches, seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    fabric = make_irregular(rng.choice([0, 1, 1, 2], switches).tolist(), sorted(graph.edges), "linux-bridge")
    names = rng.choice(["a", "b", "c"], len(fabric.hosts)).tolist()
    hosts = [replace(host, network=name) for host, name in zip(fabric.hosts, names, strict=True)]
    return replace(fabric, hosts=tuple(hosts))


def descents(fabric, order, trees):
    """List (root, switch) of each detour's channels that follow no channel of the tree, or precede it in the order."""
    place = {channel: i for i, channel in enumerate(order.tolist())}
    found = []
    for root, parent in zip(trees.root.tolist(), trees.parent.tolist(), strict=True):
        for switch in np.flatnonzero(np.array(parent) >= 0).tolist():
            upper = int(fabric.tail[parent[switch]])
            if upper != root and not 0 <= place.get(parent[upper], -1) < place[parent[switch]]:
                found.append((root, switch))
    return found


@pytest.mark.parametrize("kind", ["link", "switch"])
@pytest.mark.parametrize("fabric", [three_networks(), *map(drawn, range(6))])
def test_times_ascend_along_every_detour(fabric, kind):
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", routing="up-down", texts=False)
    order, _ = order_beside(fabric, dependencies(fabric, build.state), kind)
    for limits in (DetourLimits(500, 4), DetourLimits(500, 4, enough=1.0)):
        for trees in find_detours_of_networks(fabric, build.routes, order, kind, limits):
            assert descents(fabric, order, trees) == []
