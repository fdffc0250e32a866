"""Make orders of the channels: paths that ascend an order cannot wait for each other in a cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel
from tagloom.route.net import Ordered, by_switch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.net import Net

# Every order here comes from ranks of the switches: rank 0 is the root, and every other switch has a neighbour of lower
# rank. First come the channels towards lower ranks, from the highest-ranked switch down; then the others, from the
# lowest-ranked switch up. That is up*/down* (Schroeder et al., Autonet, 1991) with any such ranks; it connects all
# pairs.


def by_rank(net: Net, rank: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the channels ordered by ranks of the switches, int32[m]: the channel at each position."""
    n = len(net.switch)
    below, above = rank[net.tail], rank[net.head]
    return np.argsort(np.where(above < below, n - below, n + 1 + below), kind="stable").astype(np.int32)


def layered(net: Net, ranks: list[NDArray[np.int32]]) -> NDArray[np.int32]:
    """Return the first of all parallel links ordered by the first ranks, the second ones by the second, int32[m]."""
    orders = [by_rank(net, rank) for rank in ranks]
    last = len(ranks) - 1
    return np.concatenate([o[np.minimum(net.parallel_link[o], last) == i] for i, o in enumerate(orders)])


def eliminated(net: Net, priority: NDArray[np.int64]) -> NDArray[np.int32]:
    """Rank the switches by removing them one by one, int32[n].

    The next to go is the switch of least remaining degree that is no cut vertex; ties go to the least `priority` (a
    permutation, int64[n]). The last to go is the root. Turns are prohibited only at a removed switch (Levitin,
    Karpovsky, Mustafa, Zakrevski, JGAA 10(2), 2006, doi 10.7155/jgaa.00134; if all switches of least degree are cut
    vertices they split the graph, and here another switch goes).
    """
    return _eliminate(net.out_start, net.head[net.out], priority)


@kernel
def _eliminate(start: NDArray[np.int32], near: NDArray[np.int32], priority: NDArray[np.int64]) -> NDArray[np.int32]:
    n = len(start) - 1
    gone = np.int64(1) << 60
    degree = np.empty(n, np.int64)
    key = np.empty(n, np.int64)
    for v in range(n):
        degree[v] = start[v + 1] - start[v]
        key[v] = degree[v] * n + priority[v]
    alive = np.ones(n, np.bool_)
    rank = np.zeros(n, np.int32)
    stamp = np.full(n, -1, np.int64)
    owner = np.zeros(n, np.int32)
    queue = np.empty(n, np.int32)
    union = np.empty(n + 1, np.int32)
    tests = 0
    r = n - 1
    while r >= 0:
        v = int(np.argmin(key))
        tests += 1
        if _is_cut_vertex(start, near, alive, v, tests, stamp, owner, queue, union):
            key[v] = gone  # until a switch goes whose only neighbour it is
            continue
        alive[v] = False
        key[v] = gone
        rank[v] = r
        r -= 1
        only, others = -1, 0
        for i in range(start[v], start[v + 1]):
            u = near[i]
            if alive[u]:
                degree[u] -= 1
                if key[u] != gone:
                    key[u] -= n
                if u != only:
                    only = u
                    others += 1
        if others == 1 and key[only] == gone:
            # A cut vertex stops being one only if the removed neighbour was a whole component behind it.
            key[only] = degree[only] * n + priority[only]
    return rank


@kernel
def _is_cut_vertex(  # noqa: PLR0913 - the arrays of one compiled loop
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    alive: NDArray[np.bool_],
    v: int,
    test: int,
    stamp: NDArray[np.int64],
    owner: NDArray[np.int32],
    queue: NDArray[np.int32],
    union: NDArray[np.int32],
) -> bool:
    """Return whether v is a cut vertex: grow a region around each neighbour until all have met."""
    end = 0
    for i in range(start[v], start[v + 1]):
        u = near[i]
        if alive[u] and stamp[u] != test:
            stamp[u] = test
            owner[u] = end
            union[end] = end
            queue[end] = u
            end += 1
    parts, begin = end, 0
    if parts <= 1:
        return False
    while begin < end:
        u = queue[begin]
        begin += 1
        a = owner[u]
        while union[a] != a:
            a = union[a]
        for i in range(start[u], start[u + 1]):
            w = near[i]
            if not alive[w] or w == v:
                continue
            if stamp[w] != test:
                stamp[w] = test
                owner[w] = a
                queue[end] = w
                end += 1
                continue
            b = owner[w]
            while union[b] != b:
                b = union[b]
            if a != b:
                union[b] = a
                parts -= 1
                if parts == 1:
                    return False
    return True


def depth_first(net: Net, root: int) -> NDArray[np.int32]:
    """Rank the switches in the order of a depth-first search from the root, int32[n]."""
    return _depth_first(net.out_start, net.head[net.out], root)


@kernel
def _depth_first(start: NDArray[np.int32], near: NDArray[np.int32], root: int) -> NDArray[np.int32]:
    n = len(start) - 1
    rank = np.full(n, -1, np.int32)
    stack = np.empty(n, np.int32)
    place = start[:-1].copy()
    stack[0], rank[root] = root, 0
    top, met = 0, 1
    while top >= 0:
        u = stack[top]
        if place[u] == start[u + 1]:
            top -= 1
            continue
        v = near[place[u]]
        place[u] += 1
        if rank[v] < 0:
            rank[v] = met
            met += 1
            top += 1
            stack[top] = v
    return rank


def escape_tree(net: Net, order: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return the channels of a tree all of whose turns the order allows, bool[m].

    `order` comes from ranks. Each switch joins its neighbour of lower rank with the least depth, by a first link.
    """
    return _escape_tree(net, order)


@kernel
def _escape_tree(net: Net, order: NDArray[np.int32]) -> NDArray[np.bool_]:
    tail, head, parallel_link = net.tail, net.head, net.parallel_link
    start, out = net.out_start, net.out
    n, m = len(start) - 1, len(tail)
    tree = np.zeros(m, np.bool_)
    position = np.empty(m, np.int32)
    for i in range(m):
        position[order[i]] = i
    depth = np.full(n, n, np.int32)
    # The down channels of first links come in the order of their tails' ranks: a switch gets its depth before use.
    for i in range(m):
        c = order[i]
        if parallel_link[c] or position[c ^ 1] > i:
            continue
        u = tail[c]
        if depth[u] == n:
            best = -1
            for k in range(start[u], start[u + 1]):
                e = out[k]
                if parallel_link[e] == 0 and position[e] < position[e ^ 1]:
                    w = head[e]
                    if best < 0 or depth[w] < depth[head[best]]:
                        best = e
            if best < 0:
                depth[u] = 0
            else:
                depth[u] = depth[head[best]] + 1
                tree[best] = tree[best ^ 1] = True
    for u in range(n):  # switches without a down channel
        if depth[u] == n:
            best = -1
            for k in range(start[u], start[u + 1]):
                e = out[k]
                if (
                    parallel_link[e] == 0
                    and position[e] < position[e ^ 1]
                    and (best < 0 or depth[head[e]] < depth[head[best]])
                ):
                    best = e
            if best >= 0:
                tree[best] = tree[best ^ 1] = True
    return tree


def ordered(net: Net, order: NDArray[np.int32]) -> Ordered:
    """Return the channels renumbered by their positions in `order`, with the turns that ascend."""
    n = len(net.switch)
    tail, head = net.tail[order], net.head[order]
    out_start, out = by_switch(n, tail)
    in_start, into = by_switch(n, head)
    turn_start, turn = _climbing(tail, head, out_start, out)
    return Ordered(
        net.channel[order], tail, head, out_start, out, in_start, into, turn_start, turn,
        net.switch, net.weight, net.target,
    )  # fmt: skip


@kernel
def _climbing(
    tail: NDArray[np.int32], head: NDArray[np.int32], out_start: NDArray[np.int32], out: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    m = len(tail)
    start = np.zeros(m + 1, np.int32)
    for c in range(m):
        v = head[c]
        count = 0
        for i in range(out_start[v], out_start[v + 1]):
            if out[i] > c and head[out[i]] != tail[c]:
                count += 1
        start[c + 1] = start[c] + count
    turn = np.empty(start[m], np.int32)
    for c in range(m):
        v, at = head[c], start[c]
        for i in range(out_start[v], out_start[v + 1]):
            if out[i] > c and head[out[i]] != tail[c]:
                turn[at] = out[i]
                at += 1
    return start, turn
