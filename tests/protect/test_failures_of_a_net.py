"""What each single failure disconnects, counted for all failures at once, is what networkx finds one by one."""

import networkx as nx
import pytest

from fabrics import make_irregular
from tagloom.route.any_order.protect import failures
from tagloom.route.net import lay_out

pytestmark = pytest.mark.kernel


def cut_pairs(graph, gone, hosts):
    """Return how many ordered pairs of `hosts` have no way without a part, those of a dead switch included."""
    left = graph.copy()
    if isinstance(gone, tuple):
        left.remove_edge(*gone)
    else:
        left.remove_node(gone)
    parts = (len(hosts & part) for part in nx.connected_components(left))
    return len(hosts) * (len(hosts) - 1) - sum(n * (n - 1) for n in parts)


@pytest.mark.parametrize("switches", [5, 33, 64, 70, 140])
@pytest.mark.parametrize("kind", ["link", "switch"])
def test_every_failure_disconnects_the_pairs_that_it_disconnects(switches, kind):
    tree = nx.random_labeled_tree(switches, seed=switches)
    graph = nx.compose(tree, nx.gnm_random_graph(switches, switches // 4, seed=1))
    links = sorted(tuple(sorted(edge)) for edge in graph.edges)
    hosts = {s for s in range(switches) if s % 3 != 1}
    fabric = make_irregular([int(s in hosts) for s in range(switches)], links)
    found = failures(lay_out(fabric), kind)
    ends = [(link.a, link.b) for link in fabric.links]
    parts = [*ends, *(range(switches) if kind == "switch" else ())]
    assert found.cut.tolist() == [cut_pairs(graph, part, hosts) for part in parts]
