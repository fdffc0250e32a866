"""Grow up*/down* trees from many switches in loops compiled to machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel
def total_distance(
    start: NDArray[np.int32], near: NDArray[np.int32], tops: NDArray[np.int32], hosts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add up the channels from the switches `tops` to each switch, times the hosts there (int64[N]), int64[N].

    The neighbours of switch v are near[start[v] : start[v + 1]]. A switch that is not reached counts n channels.
    """
    n = len(start) - 1
    total = np.zeros(n, np.int64)
    depth = np.empty(n, np.int32)
    queue = np.empty(n, np.int32)
    for top in tops:
        depth[:] = n
        depth[top], queue[0] = 0, top
        begin, end = 0, 1
        while begin < end:
            u = queue[begin]
            begin += 1
            deeper = depth[u] + 1
            for i in range(start[u], start[u + 1]):
                v = near[i]
                if depth[v] == n:
                    depth[v] = deeper
                    queue[end] = v
                    end += 1
        total += hosts[top] * depth
    return total


@kernel
def ranked(start: NDArray[np.int32], near: NDArray[np.int32], top: int) -> NDArray[np.int64]:
    """Rank the switches by distance from `top`, then by number, int64[N]; those not reached come last."""
    n = len(start) - 1
    level = np.full(n, n, np.int64)
    queue = np.empty(n, np.int32)
    level[top], queue[0] = 0, top
    begin, end = 0, 1
    while begin < end:
        u = queue[begin]
        begin += 1
        for i in range(start[u], start[u + 1]):
            v = near[i]
            if level[v] == n:
                level[v] = level[u] + 1
                queue[end] = v
                end += 1
    place = np.zeros(n + 2, np.int64)
    for v in range(n):
        place[level[v] + 1] += 1
    for d in range(n):
        place[d + 1] += place[d]
    rank = np.empty(n, np.int64)
    for v in range(n):
        rank[v] = place[level[v]]
        place[level[v]] += 1
    return rank


@kernel
def grown(
    start: NDArray[np.int32],
    out: NDArray[np.int32],
    head: NDArray[np.int32],
    tail: NDArray[np.int32],
    rank: NDArray[np.int64],
    root: NDArray[np.int32],
    weight: NDArray[np.int64],
    parent: NDArray[np.int32],
    prune: bool,
) -> int:
    """Write the tree of each root to `parent`, int32[S, N]; give the host pairs' channels, rows weighed by their root.

    The channels that leave switch v are out[start[v] : start[v + 1]]. A tree takes all it can by up channels (towards
    lower ranks), breadth first, and the rest by down channels; of equals it takes the channel of lowest number.
    With `prune` branches that lead to no host (`weight`, int64[N], counts them) are cut off: -1, as at roots.
    """
    n = len(start) - 1
    depth = np.empty(n, np.int32)
    climbed, fallen = np.empty(n, np.int32), np.empty(n, np.int32)
    below = np.empty(n, np.int64)
    # of each switch the up channels from the front of its part, the down channels from the back
    channel, near = np.empty(len(out), np.int32), np.empty(len(out), np.int32)
    middle = start[:-1].copy()
    for u in range(n):
        back = start[u + 1]
        for i in range(start[u], start[u + 1]):
            c = out[i]
            if rank[head[c]] < rank[u]:
                at = middle[u]
                middle[u] += 1
            else:
                back -= 1
                at = back
            channel[at], near[at] = c, head[c]
    hops = 0
    for k in range(len(root)):
        r, row = root[k], parent[k]
        row[:] = -1
        depth[:] = -1
        depth[r], climbed[0] = 0, r
        begin, end = 0, 1
        while begin < end:
            u = climbed[begin]
            begin += 1
            deeper = depth[u] + 1
            for i in range(start[u], middle[u]):
                c, v = channel[i], near[i]
                if depth[v] < 0:
                    depth[v], row[v] = deeper, c
                    climbed[end] = v
                    end += 1
                elif depth[v] == deeper and c < row[v]:
                    row[v] = c
        # Down channels lead on from both kinds of switches, the shallowest first.
        first, here, met = 0, 0, 0
        while first < end or here < met:
            if here == met or (first < end and depth[climbed[first]] <= depth[fallen[here]]):
                u = climbed[first]
                first += 1
            else:
                u = fallen[here]
                here += 1
            deeper = depth[u] + 1
            for i in range(middle[u], start[u + 1]):
                c, v = channel[i], near[i]
                if depth[v] < 0:
                    depth[v], row[v] = deeper, c
                    fallen[met] = v
                    met += 1
                elif depth[v] == deeper and c < row[v] and rank[tail[row[v]]] < rank[v]:
                    row[v] = c
        below[:] = weight
        reach = 0
        for v in range(n):
            reach += weight[v] * depth[v]
        hops += weight[r] * reach
        if not prune:
            continue
        # leaves first, whichever way they were reached: what carries no host is cut off
        first, here = end - 1, met - 1
        while first >= 0 or here >= 0:
            if first < 0 or (here >= 0 and depth[fallen[here]] >= depth[climbed[first]]):
                v = fallen[here]
                here -= 1
            else:
                v = climbed[first]
                first -= 1
            if v == r:
                continue
            if below[v]:
                below[tail[row[v]]] += below[v]
            else:
                row[v] = -1
    return hops
