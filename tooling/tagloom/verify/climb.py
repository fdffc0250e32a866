"""Follow all entries of one destination as the tree they must form, in loops compiled to machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKNOWN, ON_THE_WAY, HERE = -3, -2, -1


@kernel
def climb(  # noqa: C901, PLR0912, PLR0913 - one compiled loop: split, each part would take all of its arrays
    pin: NDArray[np.unsignedinteger],
    table: NDArray[np.int32],
    egress_to: NDArray[np.int32],
    egress_channel: NDArray[np.int32],
    egress_host: NDArray[np.int32],
    inject: NDArray[np.int32],
    host_port: NDArray[np.int32],
    host_switch: NDArray[np.int32],
    host_before: NDArray[np.int32],
    head_port: NDArray[np.int32],
    parent: NDArray[np.int32],
    source_of_host: NDArray[np.int32],
    trusted: NDArray[np.bool_],
    good: NDArray[np.bool_],
    turns: NDArray[np.bool_],
) -> None:
    """Write to `good` which destinations every other host reaches by entries on the whole path, never sent back.

    pin          uint[H, K], the port that [destination, node] is pinned to, 0 if frames flood
    table        int32[K, ports + 1], the egress of [node, port], -1 if there is none
    host_before  int32[C], a host of the switch each channel leaves, -1 if it has none
    parent       int32[S, N], the planned trees, without rows if nothing is planned
    trusted      bool[H], the hosts to which all paths may be as planned
    turns        bool[C, ports + 1], gets the ports by which frames leave after arriving by a channel

    Each node that frames meet is visited once, so the cost is one visit per entry; a pair-by-pair walk visits each
    entry once per frame that uses it. If paths are planned, only the last channel of each is compared with the plan.
    That is enough, by induction over the length of the planned paths, which form a tree from each source: the last
    channel is the planned one, from a switch u; and up to there every node forwards frames to the destination as it
    does those to a host of u, whose paths are as planned if it is `trusted`. If a u has no such host the destination is
    not good, and the caller must walk its pairs. Call again with only the good ones as `trusted` until both are equal.
    """
    hosts, nodes = pin.shape
    last = np.empty(nodes, np.int32)  # the last channel from a node, HERE if the destination is at the node
    stack = np.empty(nodes, np.int32)
    for d in range(hosts):
        row = pin[d]
        last[:] = UNKNOWN
        fine = True
        for h in range(hosts):
            if h == d:
                continue
            node, port, depth = inject[h], host_port[h], 0
            if node < 0 or row[node] == port:
                fine = False
                break
            while last[node] == UNKNOWN:
                last[node] = ON_THE_WAY
                stack[depth] = node
                depth += 1
                egress = table[node, row[node]] if row[node] > 0 else -1
                if egress < 0:
                    fine = False
                    break
                channel = egress_channel[egress]
                if channel < 0:
                    fine = egress_host[egress] == d
                    last[node] = HERE
                    break
                node = egress_to[egress]
                if node < 0 or row[node] == head_port[channel] or row[node] == 0:
                    fine = False
                    break
                if table[node, row[node]] >= 0:
                    turns[channel, row[node]] = True
            if not fine or last[node] == ON_THE_WAY:
                fine = False
                break
            for i in range(depth - 1, -1, -1):
                here = stack[i]
                if last[here] == HERE:
                    continue
                egress = table[here, row[here]]
                then = last[egress_to[egress]]
                last[here] = egress_channel[egress] if then == HERE else then
                if then != HERE and len(parent) > 0:
                    before = host_before[then]
                    if before < 0 or not trusted[before] or pin[before, here] != row[here]:
                        fine = False
            if len(parent) > 0 and fine:
                planned = parent[source_of_host[h], host_switch[d]]
                met = last[inject[h]]
                fine = planned == met or (planned < 0 and met == HERE)
            if not fine:
                break
        good[d] = fine
