"""Walk the trees of all sources in loops compiled to machine code; `graph.paths` uses them on large fabrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNKNOWN, ON_THE_WAY = -2, -3


@kernel
def _depths(tail: NDArray[np.int32], root: int, parent: NDArray[np.int32], depth: NDArray[np.int32]) -> None:
    """Write to `depth` the number of channels from the root to each switch, -1 outside the tree."""
    trail = np.empty(len(parent), np.int32)
    depth[:] = UNKNOWN
    depth[root] = 0
    for v in range(len(parent)):
        here, length = v, 0
        while depth[here] == UNKNOWN:
            depth[here] = ON_THE_WAY
            trail[length] = here
            length += 1
            if parent[here] < 0:
                break
            here = tail[parent[here]]
        steps = depth[here]
        for i in range(length - 1, -1, -1):
            steps = steps + 1 if steps >= 0 else -1
            depth[trail[i]] = steps


@kernel
def depths(tail: NDArray[np.int32], root: NDArray[np.int32], parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number of channels from each source to each switch, int32[S, N]; -1 without a path."""
    depth = np.empty(parent.shape, np.int32)
    for s in range(len(root)):
        _depths(tail, root[s], parent[s], depth[s])
    return depth


@kernel
def turns(
    tail: NDArray[np.int32], tail_port: NDArray[np.int32], parent: NDArray[np.int32], ports: int
) -> NDArray[np.bool_]:
    """Return by which ports frames leave after arriving by each channel, bool[C, ports], in one pass over the trees."""
    turn = np.zeros((len(tail), ports), np.bool_)
    for s in range(len(parent)):
        row = parent[s]
        for v in range(len(row)):
            channel = row[v]
            if channel >= 0:
                held = row[tail[channel]]
                if held >= 0:
                    turn[held, tail_port[channel]] = True
    return turn


@kernel
def loads(
    tail: NDArray[np.int32], root: NDArray[np.int32], parent: NDArray[np.int32], flow: NDArray[np.float64]
) -> tuple[NDArray[np.float64], bool]:
    """Return the sum of `flow` from every source to every switch over each channel, float64[C]; overwrite `flow`.

    Also return whether all flow has a path. Leaves come first: a channel carries the traffic of all switches behind it.
    """
    n = parent.shape[1]
    load = np.zeros(len(tail))
    depth, order, place = np.empty(n, np.int32), np.empty(n, np.int32), np.empty(n + 2, np.int64)
    for s in range(len(root)):
        row, amount = parent[s], flow[s]
        _depths(tail, root[s], row, depth)
        place[:] = 0
        for v in range(n):
            if depth[v] < 0 and amount[v] > 0:
                return load, False
            place[depth[v] + 2] += 1
        for d in range(n + 1):
            place[d + 1] += place[d]
        for v in range(n):
            order[place[depth[v] + 1]] = v
            place[depth[v] + 1] += 1
        for i in range(n - 1, -1, -1):
            v = order[i]
            if depth[v] <= 0:
                break
            channel = row[v]
            load[channel] += amount[v]
            amount[tail[channel]] += amount[v]
    return load, True


@kernel
def departures(
    tail: NDArray[np.int32],
    tail_port: NDArray[np.int32],
    root: NDArray[np.int32],
    parent: NDArray[np.int32],
    targets: NDArray[np.int32],
    first: NDArray[np.unsignedinteger],
    following: NDArray[np.unsignedinteger],
    here: int,
) -> bool:
    """Write the egress port towards each of `targets`, per source and per channel of arrival.

    first     uint[S, T], following uint[C, T], zero on entry; `here` marks the target itself

    Return False as soon as two paths over one channel to one target diverge. Paths are walked back from their targets,
    64 targets at a time, so that the table stays in the cache.
    """
    table = np.zeros((len(tail), 64), following.dtype)
    for low in range(0, len(targets), 64):
        width = min(64, len(targets) - low)
        table[:] = 0
        for s in range(len(root)):
            row = parent[s]
            for j in range(width):
                switch, out = targets[low + j], here
                channel = row[switch]
                while channel >= 0:
                    known = table[channel, j]
                    if known == 0:
                        table[channel, j] = out
                    elif known != out:
                        return False
                    switch, out = tail[channel], tail_port[channel]
                    channel = row[switch]
                if switch == root[s]:
                    first[s, low + j] = out
        following[:, low : low + width] = table[:, :width]
    return True
