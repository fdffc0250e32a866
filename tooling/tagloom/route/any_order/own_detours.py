"""Make detours for each source alone: a failed branch of its tree is reattached elsewhere, with even load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.any_order.detours import Along

SWEEPS = 4  # times each switch of a detour chooses its channel
HOP = 0.25  # the cost of one more hop, relative to crossing the most loaded channel
AVOIDED = 16.0  # the cost of a channel that this detour should avoid although it is not dead
PASSES = 3  # times each detour is made; from the second on the others are known


def own_detours(
    net: Along,
    sources: NDArray[np.int32],
    weight: NDArray[np.float64],
    trees: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    most: int,
    parts: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return trees grown for one source each, int32[T, n], and which of them each wanted (source, failure) takes.

    Switches that a failure cuts off a source's tree are reattached; the rest stays. One tree avoids, if it can, links
    at equal distance from the root, as each moves little; `parts` trees share them all, and more parts move less.
    `trees` (int32[S, n]) are the sources' own, `weight` (float64[S, n]) the pairs of hosts between each source and
    switch. At most `most` trees are made; the choice is int32[S, F], -1 for none.
    """
    count, n, m = wanted.shape[1], trees.shape[1], len(net.tail)
    choice = np.full(wanted.shape, -1, np.int32)
    flows = np.zeros((len(sources), m), np.float32)
    for k in range(len(sources)):
        flows_of(net, trees[k], weight[k], flows[k])
    load = np.tile(flows.sum(axis=0), (count, 1))  # after each failure, with the choices so far
    found: list[NDArray[np.int32]] = []
    made: list[tuple[int, int]] = []  # the source and the failure that each tree was made for
    carried: list[NDArray[np.float32]] = []

    def grown(k: int, dead: int, cases: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
        time, served = trees[k].copy(), np.zeros(count, np.bool_)
        most_loaded = load[cases].max(axis=0).astype(np.float64)
        _reattach(net, _cut_off(net, trees[k], cases), dead, cases, most_loaded, weight[k], time)
        _mark_served(net, time, int(sources[k]), cases, served)
        return time, served

    for k in range(len(sources)):
        left = wanted[k].copy()
        while left.any() and len(found) < most:
            dead = int(np.argmax(left))
            cases = _avoided_together(net, trees[k], dead, left, parts)
            load[cases] -= flows[k]
            time, served = grown(k, dead, cases)
            flow = np.empty(m, np.float32)
            flows_of(net, time, weight[k], flow)
            load[cases & ~served] += flows[k]
            load[served] += flow
            left &= ~served
            left[dead] = False
            if served.any():
                choice[k, served] = len(found)
                found.append(time)
                made.append((k, dead))
                carried.append(flow)
    full = len(found) == most  # then the result is of no use
    for t in [] if full else list(range(len(found))) * (PASSES - 1):  # again, now that the others are known
        k, dead = made[t]
        cases = choice[k] == t
        load[cases] -= carried[t]
        time, served = grown(k, dead, cases)
        if served[cases].all():
            found[t] = time
            flows_of(net, time, weight[k], carried[t])
        load[cases] += carried[t]
    return np.array(found, np.int32).reshape(len(found), n), choice


@kernel
def flows_of(net: Along, time: NDArray[np.int32], weight: NDArray[np.float64], flow: NDArray[np.float32]) -> None:
    """Write to `flow` the load of a tree on each channel, float32[m]."""
    below = weight.copy()
    for c in range(len(net.tail) - 1, -1, -1):
        flow[c] = 0.0
        if time[net.head[c]] == c:
            flow[c] = below[net.head[c]]
            below[net.tail[c]] += below[net.head[c]]


@kernel
def _avoided_together(
    net: Along, time: NDArray[np.int32], dead: int, left: NDArray[np.bool_], parts: int
) -> NDArray[np.bool_]:
    """Return the failures in `left` that one detour should avoid together with `dead`, bool[F].

    Those are links at equal distance from the root, divided into `parts`, where each branch finds a new place nearby; a
    link at the root alone; and of switches those on one branch of the root.
    """
    n = len(time)
    first, depth = np.full(n, -1, np.int32), np.zeros(n, np.int64)
    at = dead - net.links
    for c in range(len(net.tail)):
        v = net.head[c]
        if time[v] == c:
            depth[v] = depth[net.tail[c]] + 1
            first[v] = v if depth[v] == 1 else first[net.tail[c]]
            if net.first[c] == dead:
                at = v
    marked = np.zeros(len(left), np.bool_)
    for v in range(n):
        if first[v] < 0:
            continue
        if dead < net.links:
            alike = depth[v] == depth[at] > 1 and v % parts == at % parts
            marked[net.first[time[v]]] |= v == at or alike
        elif first[v] == first[at]:
            marked[net.links + v] = True
    return marked & left


@kernel
def _cut_off(net: Along, time: NDArray[np.int32], cases: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the switches that any of the failures cuts off a tree, bool[n]."""
    cut = np.zeros(len(time), np.bool_)
    for c in range(len(net.tail)):
        v, u = net.head[c], net.tail[c]
        if time[v] == c:
            beside = net.links + u < len(cases) and cases[net.links + u]
            cut[v] = cut[u] or cases[net.first[c]] or beside
    return cut


@kernel
def _is_dead(net: Along, c: int, dead: int) -> bool:
    return bool(net.first[c] == dead or net.second[c] == dead or net.third[c] == dead)


@kernel
def _avoids(net: Along, c: int, avoided: NDArray[np.bool_]) -> bool:
    """Return whether a channel's link, or the switch it leaves, is to be avoided."""
    return bool(avoided[net.first[c]]) or (net.second[c] >= 0 and bool(avoided[net.second[c]]))


@kernel
def _attach_earliest(
    net: Along, moving: NDArray[np.bool_], dead: int, avoided: NDArray[np.bool_], time: NDArray[np.int32]
) -> None:
    """Attach the moving switches by the earliest arrivals, which reach everything, avoiding `avoided` if possible."""
    n, m = len(time), len(net.tail)
    hung = np.empty(n, np.bool_)
    for v in range(n):
        if moving[v]:
            time[v] = -2
        hung[v] = time[v] != -2
    early = np.empty(n, np.int64)
    for careful in (True, False):
        for v in range(n):
            early[v] = -1 if time[v] == -1 else m
        for c in range(m):
            free = not _is_dead(net, c, dead) and not (careful and _avoids(net, c, avoided))
            if free and early[net.tail[c]] < c < early[net.head[c]]:
                early[net.head[c]] = c
        for i in range(n):
            v = i
            if hung[v] or early[v] == m:
                continue
            while True:
                c = early[v]
                hung[v], time[v], moving[v] = True, c, True
                v = net.tail[c]
                if hung[v] and time[v] < c:
                    break


@kernel
def _reattach(
    net: Along,
    moving: NDArray[np.bool_],
    dead: int,
    avoided: NDArray[np.bool_],
    load: NDArray[np.float64],
    weight: NDArray[np.float64],
    time: NDArray[np.int32],
) -> None:
    """Reattach the moving switches over few hops and little loaded channels; the others stay if they can.

    After the earliest arrivals, each switch chooses its channel again, last reached first: any channel later than the
    one into its tail and earlier than those that leave the switch for its branches. So times ascend along the tree, and
    it stays one.
    """
    n, m = len(time), len(net.tail)
    _attach_earliest(net, moving, dead, avoided, time)
    heaviest = max(1.0, load.max())
    depth, cost, latest, below = np.zeros(n), np.zeros(n), np.empty(n, np.int64), np.empty(n)
    for _ in range(SWEEPS):
        for c in range(m):
            v = net.head[c]
            if time[v] == c:
                x = load[c] / heaviest
                depth[v] = depth[net.tail[c]] + 1.0
                cost[v] = cost[net.tail[c]] + x * x * x * x + (AVOIDED if _avoids(net, c, avoided) else 0.0)
        for v in range(n):
            latest[v], below[v] = m, weight[v]
        old = time.copy()
        for k in range(m - 1, -1, -1):
            v = net.head[k]
            if old[v] != k:
                continue
            if moving[v]:
                least = np.inf
                for j in range(net.in_start[v], net.in_start[v + 1]):
                    c = net.into[j]
                    u = net.tail[c]
                    if time[u] == -2 or time[u] >= c or c >= latest[v] or _is_dead(net, c, dead):
                        continue
                    x = (load[c] + below[v]) / heaviest
                    price = cost[u] + HOP * (depth[u] + 1.0) + x * x * x * x
                    price += AVOIDED if _avoids(net, c, avoided) else 0.0
                    if price < least:
                        time[v], least = c, price
            latest[net.tail[time[v]]] = min(latest[net.tail[time[v]]], time[v])
            below[net.tail[time[v]]] += below[v]


@kernel
def _mark_served(
    net: Along, time: NDArray[np.int32], source: int, cases: NDArray[np.bool_], served: NDArray[np.bool_]
) -> int:
    """Mark the cases, bool[F], in which a tree loses no host that ascending paths still reach; return their number."""
    count, n, words = net.reach.shape
    below = np.zeros((n, words), np.uint64)
    whole = np.zeros(words, np.uint64)
    hit = np.zeros(count, np.bool_)
    for v in range(n):
        if time[v] != -2:
            own = (np.uint64(1) << np.uint64(v & 63)) & net.hosts[v >> 6]
            below[v, v >> 6] = own
            whole[v >> 6] |= own
    for c in range(len(net.tail) - 1, -1, -1):
        v = net.head[c]
        if time[v] != c:
            continue
        f, g = net.first[c], net.links + v
        for w in range(words):
            own = np.uint64(1) << np.uint64(v & 63) if v >> 6 == w else np.uint64(0)
            if below[v, w] & net.reach[f, source, w]:
                hit[f] = True
            if g < count and below[v, w] & ~own & net.reach[g, source, w]:
                hit[g] = True
            below[net.tail[c], w] |= below[v, w]
    total = 0
    for f in range(count):
        served[f] = cases[f] and not hit[f]
        for w in range(words):
            if net.reach[f, source, w] & net.hosts[w] & ~whole[w]:
                served[f] = False
        total += served[f]
    return total
