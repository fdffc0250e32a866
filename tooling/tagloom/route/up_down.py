"""Route any connected graph by up*/down*, with the paths of every source a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.routes import Routes
from tagloom.route.trees import per_switch, pruned, rooted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

CANDIDATE_ROOTS = 16  # the most central switches; the best root is nearly always among them
SAMPLED = 1 << 15  # beyond EXACT switches, roots are compared by so many switches times sources
EXACT = 256


def up_down(fabric: Fabric) -> Routes:
    """Give every source the shortest up*/down* tree, from the root with the shortest average path.

    Switches are ranked by distance from the root, then by number; up is towards the lower rank. A tree takes all it
    can by up channels first and hangs the rest by down channels. Arbitrary shortest up*/down* paths of one source
    need not be a tree (527 of 1,600 sources on random 16-switch graphs); these always are. No path goes down and up
    again, so no dependency cycle exists (Schroeder et al., Autonet, 1991).
    """
    from tagloom.route.up_down_trees import grown, ranked  # noqa: PLC0415 - numba takes its time

    source_of_host, root = per_switch(fabric)
    start, out = _leaving(fabric)
    head, tail, n = fabric.head, fabric.tail, len(fabric.switches)
    near = head[out]
    weight = _hosts(fabric)
    some = root if n <= EXACT else root[:: 1 + len(root) * n // SAMPLED]
    scratch = np.empty((len(some), n), np.int32)

    def hops(top: int) -> int:
        return grown(start, out, head, tail, ranked(start, near, top), some, weight, scratch, False)

    top = min(central(fabric)[:CANDIDATE_ROOTS], key=hops)
    parent = np.empty((len(root), n), np.int32)
    grown(start, out, head, tail, ranked(start, near, top), root, weight, parent, not weight.all())
    reason = f"up*/down* from {fabric.switches[top].name}, the best of the {CANDIDATE_ROOTS} most central roots"
    return Routes("up-down", reason, source_of_host, root, parent)


def shared_tree(fabric: Fabric) -> Routes:
    """Send everything over one breadth-first spanning tree from the most central switch, as plain Ethernet does."""
    from tagloom.route.up_down_trees import grown, ranked  # noqa: PLC0415 - numba takes its time

    source_of_host, root = per_switch(fabric)
    top = central(fabric)[0]
    start, out = _leaving(fabric)
    rank = ranked(start, fabric.head[out], top)
    parent = np.empty((1, len(fabric.switches)), np.int32)
    above = np.array([top], np.int32)
    grown(start, out, fabric.head, fabric.tail, rank, above, _hosts(fabric), parent, False)
    links = {int(channel) // 2 for channel in parent[0] if channel >= 0}
    trees = np.stack([rooted(fabric, links, int(s)) for s in root])
    reason = f"one breadth-first tree from {fabric.switches[top].name}"
    return Routes("tree", reason, source_of_host, root, pruned(fabric, trees))


def central(fabric: Fabric) -> list[int]:
    """List the switches, the one nearest to all hosts first, over links that are up."""
    from tagloom.route.up_down_trees import total_distance  # noqa: PLC0415 - numba takes its time

    start, out = _leaving(fabric)
    hosts = _hosts(fabric)
    tops = np.flatnonzero(hosts).astype(np.int32)
    tops = tops if len(hosts) <= EXACT else tops[:: 1 + len(tops) * len(hosts) // (4 * SAMPLED)]
    total = total_distance(start, fabric.head[out], tops, hosts)
    return [int(s) for s in np.lexsort((np.arange(len(total)), total))]


def _hosts(fabric: Fabric) -> NDArray[np.int64]:
    """Count the hosts at each switch, int64[N]."""
    hosts = np.zeros(len(fabric.switches), np.int64)
    np.add.at(hosts, fabric.host_switch, 1)
    return hosts


def _leaving(fabric: Fabric) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Sort the channels that are up by the switch they leave: (start int32[N + 1], channels int32[m])."""
    up = np.flatnonzero(fabric.channel_up).astype(np.int32)
    start = np.zeros(len(fabric.switches) + 1, np.int32)
    np.cumsum(np.bincount(fabric.tail[up], minlength=len(fabric.switches)), out=start[1:])
    return start, up[np.argsort(fabric.tail[up], kind="stable")]
