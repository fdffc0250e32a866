"""Up*/down* by in-port: no path goes up after down, and none is longer than the shortest such path."""

import networkx as nx
import numpy as np
import pytest

from fabrics import make_irregular
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies, paths_to
from tagloom.route.in_port import up_down_by_in_port


def ranks(fabric, root):
    """Rank by distance from the root, then by number (Schroeder et al., Autonet, IEEE JSAC 9(8), 1991, sect. 4.2)."""
    graph = nx.Graph((link.a, link.b) for link in fabric.links)
    far = nx.single_source_shortest_path_length(graph, root)
    return {s: (far[s], s) for s in graph}


def legal_lengths(fabric, rank):
    """Return the hops of the shortest legal path by (source, target), on a graph of switches doubled by 'went down'."""
    steps = nx.DiGraph()
    for link in fabric.links:
        for s, t in ((link.a, link.b), (link.b, link.a)):
            if rank[t] < rank[s]:
                steps.add_edge((s, "up"), (t, "up"))
            else:
                steps.add_edge((s, "up"), (t, "down"))
                steps.add_edge((s, "down"), (t, "down"))
    found = {}
    for s in rank:
        for (t, _), hops in nx.single_source_shortest_path_length(steps, (s, "up")).items():
            found[s, t] = min(hops, found.get((s, t), hops))
    return found


@pytest.mark.parametrize("seed", range(6))
def test_every_path_goes_up_then_down_and_is_as_short_as_that_allows(seed):
    graph = nx.random_regular_graph(3, 32, seed=seed)
    fabric = make_irregular([1] * 32, sorted(graph.edges))
    routes = up_down_by_in_port(fabric, top=seed)
    rank = ranks(fabric, seed)
    shortest = legal_lengths(fabric, rank)
    targets = np.arange(32)
    paths = paths_to(fabric, routes, targets)
    for a, s in enumerate(routes.root.tolist()):
        for t in targets.tolist():
            used = paths[a, t][paths[a, t] >= 0]
            ends = [(int(fabric.tail[c]), int(fabric.head[c])) for c in used]
            up = [rank[head] < rank[tail] for tail, head in ends]
            assert up == sorted(up, reverse=True), (s, t, ends)
            assert [s, *(head for _, head in ends)] == [*(tail for tail, _ in ends), t]
            assert len(ends) == shortest[s, t]
    assert find_cycle(len(fabric.tail), *dependencies(fabric, routes)) == []
