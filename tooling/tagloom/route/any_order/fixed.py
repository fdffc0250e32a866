"""Choose for every source a tree of paths that ascend an order, with few hops, and spread the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.net import Ordered, Tables

# A channel's position is also the time at which a path reaches its head: the path continues by any later channel.


def trees(order: Ordered, sequence: NDArray[np.int64]) -> Tables:
    """Return a tree from every switch with hosts, grown one after another in `sequence`.

    These are (parent int32[D, n], depth int32[D, n], load float64[m]); parents are positions in the order, -1 at the
    root. Raises AssertionError if the order does not connect all switches.
    """
    shape = len(order.target), len(order.weight)
    tables = np.empty(shape, np.int32), np.empty(shape, np.int32), np.zeros(len(order.tail))
    if not _trees(order, sequence, tables):
        raise AssertionError("an order of the channels does not join all switches")
    return tables


@kernel
def _trees(order: Ordered, sequence: NDArray[np.int64], tables: Tables) -> bool:
    tail, out_start, in_start, into = order.tail, order.out_start, order.in_start, order.into
    weight, target = order.weight, order.target
    parent, depth, load = tables
    n = len(out_start) - 1
    queue = np.empty(n, np.int32)
    latest = np.empty(n, np.int64)
    path_cost = np.empty(n)
    below = np.empty(n)
    price = np.zeros(len(tail))
    start = np.zeros(n + 1, np.int32)
    entering = np.empty(len(tail) + 1, np.int32)  # the channels by which each switch of the queue may be reached
    heaviest = 1.0
    for k in sequence:
        root = target[k]
        time, deep = parent[k], depth[k]
        for c in range(len(tail)):
            x = load[c] / heaviest
            price[c] = x * x * x * x
        if not _grow(order, root, time, deep, queue):
            return False
        # the least loaded path to every switch that this tree's depths and times allow
        path_cost[root] = 0.0
        entries = 0
        for i in range(1, n):
            v = queue[i]
            start[i] = entries
            for j in range(in_start[v], in_start[v + 1]):
                c = into[j]
                entering[entries] = c
                # without a branch, which no processor could predict
                entries += (deep[tail[c]] < deep[v]) & (time[tail[c]] < c)
            least = np.inf
            for j in range(start[i], entries):
                least = min(least, path_cost[tail[entering[j]]] + price[entering[j]])
            path_cost[v] = least
        start[n] = entries
        for v in range(n):
            latest[v] = len(tail)
            below[v] = weight[root] * weight[v]
        # the deepest first, so that everything below a switch is known when it chooses
        for i in range(n - 1, 0, -1):
            v = queue[i]
            best, choice = np.inf, time[v]
            for j in range(start[i], start[i + 1]):
                c = entering[j]
                if c < latest[v]:
                    x = (load[c] + below[v]) / heaviest
                    cost = path_cost[tail[c]] + x * x * x * x
                    if cost < best:
                        best, choice = cost, c
            # the time found first stays valid: it is less than every one chosen later
            time[v] = choice
            u = tail[choice]
            latest[u] = min(latest[u], choice)
            load[choice] += below[v]
            below[u] += below[v]
            heaviest = max(heaviest, load[choice])
    return True


@kernel
def _grow(  # noqa: C901, PLR0912 - one compiled loop: split, each part would take all of its arrays
    order: Ordered,
    root: int,
    time: NDArray[np.int32],
    deep: NDArray[np.int32],
    queue: NDArray[np.int32],
) -> bool:
    """Reach every switch as early as its level allows, breadth first; write the switches to `queue` by depth."""
    tail, head, out_start, out = order.tail, order.head, order.out_start, order.out
    n, m = len(time), len(tail)
    deep[:] = -1
    queue[0], deep[root], time[root] = root, 0, -1
    begin, end = 0, 1
    while begin < end:
        u = queue[begin]
        begin += 1
        for j in range(out_start[u], out_start[u + 1]):
            c = out[j]
            if c <= time[u]:
                continue
            v = head[c]
            if deep[v] < 0:
                deep[v], time[v] = deep[u] + 1, c
                queue[end] = v
                end += 1
            elif deep[v] == deep[u] + 1 and c < time[v]:
                time[v] = c
    if end == n:
        return True
    # Stuck: a short path may arrive too late to continue. The earliest arrivals reach everything and form a tree.
    early = np.full(n, m, np.int32)
    early[root] = -1
    for c in range(m):
        if early[tail[c]] < c < early[head[c]]:
            early[head[c]] = c
    for i in range(n):
        if deep[i] >= 0:
            continue
        v = i
        while True:
            c = early[v]
            if c == m:
                return False
            deep[v], time[v] = 0, c
            v = tail[c]
            if deep[v] >= 0 and time[v] < c:
                break
    # recompute depths: times ascend along a path
    deep[:] = -1
    deep[root] = 0
    end = 1
    for c in range(m):
        if time[head[c]] == c and head[c] != root:
            deep[head[c]] = deep[tail[c]] + 1
    level = np.zeros(n + 1, np.int64)
    for v in range(n):
        if deep[v] < 0:
            return False
        level[deep[v] + 1] += 1
    for i in range(n):
        level[i + 1] += level[i]
    for v in range(n):
        queue[level[deep[v]]] = v
        level[deep[v]] += 1
    return True


@kernel
def _height(x: float, squarings: int) -> float:
    for _ in range(squarings):
        x *= x
    return x


@kernel
def respread_trees(  # noqa: C901, PLR0912 - one compiled loop: split, each part would take all of its arrays
    order: Ordered,
    sequence: NDArray[np.int64],
    tables: Tables,
    squarings: int,
    detour_penalty: float,
    enough: float,
) -> int:
    """Move branches if that lowers the sum of load^(2^squarings), in place; return the number of changes.

    The gain of a change is exact: over the old and the new path back to where they diverge. Branches keep their depth,
    or get deeper if that lowers the sum by `detour_penalty` for every host pair and added channel. Paths without a
    channel that carries `enough` stay as they are.
    """
    tail, head, out_start = order.tail, order.head, order.out_start
    out, in_start, into = order.out, order.in_start, order.into
    weight, target = order.weight, order.target
    parent, depth, load = tables
    n, m = len(out_start) - 1, len(tail)
    below = np.empty(n)
    peak = np.empty(n)  # the largest load on the path to each switch
    changes = 0
    more = 1 if detour_penalty < np.inf else 0
    for k in sequence:
        root = target[k]
        time, deep = parent[k], depth[k]
        for v in range(n):
            below[v] = weight[root] * weight[v]
        for c in range(m - 1, -1, -1):
            if time[head[c]] == c:
                below[tail[c]] += below[head[c]]
        peak[root] = 0.0
        for c in range(m):  # a branch that got deeper took everything below it along
            if time[head[c]] == c:
                deep[head[c]] = deep[tail[c]] + 1
                peak[head[c]] = max(load[c], peak[tail[c]])
        for v in range(n):
            f = below[v]
            if v == root or f == 0.0 or peak[v] < enough:
                continue
            latest = m
            for j in range(out_start[v], out_start[v + 1]):
                if time[head[out[j]]] == out[j]:
                    latest = out[j]  # ascending: the first is the earliest
                    break
            for j in range(in_start[v], in_start[v + 1]):
                c, old = into[j], time[v]
                u, now = tail[c], tail[old]
                # u is not in v's branch: times ascend along branches, and those below v start at `latest`
                if c == old or c >= latest or time[u] >= c or deep[u] > deep[now] + more:
                    continue
                gain = f * detour_penalty * (deep[u] - deep[now]) if deep[u] != deep[now] else 0.0
                gain += _height(load[old] - f, squarings) - _height(load[old], squarings)
                gain += _height(load[c] + f, squarings) - _height(load[c], squarings)
                a, b = now, u
                while a != b:
                    if time[a] > time[b]:
                        x = load[time[a]]
                        gain += _height(x - f, squarings) - _height(x, squarings)
                        a = tail[time[a]]
                    else:
                        x = load[time[b]]
                        gain += _height(x + f, squarings) - _height(x, squarings)
                        b = tail[time[b]]
                if gain >= 0.0:
                    continue
                changes += 1
                load[old] -= f
                load[c] += f
                time[v] = c
                deep[v] += deep[u] - deep[now]
                a, b = now, u
                while a != b:
                    if time[a] > time[b]:
                        load[time[a]] -= f
                        below[a] -= f
                        a = tail[time[a]]
                    else:
                        load[time[b]] += f
                        below[b] += f
                        b = tail[time[b]]
    return changes


def tree_rows(
    order: Ordered, parent: NDArray[np.int32], switches: int
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the trees in the fabric's numbers, without hostless branches: parent int32[D, N], and loads float64[m].

    The loads are recomputed. Raises AssertionError if a tree does not ascend or does not reach all hosts.
    """
    rows = np.full((len(order.target), switches), -1, np.int32)
    load = np.zeros(len(order.tail))
    if not _write(order, parent, rows, load):
        raise AssertionError("a tree does not climb the order or does not reach all switches")
    return rows, load


@kernel
def _write(order: Ordered, parent: NDArray[np.int32], rows: NDArray[np.int32], load: NDArray[np.float64]) -> bool:
    tail, head, weight = order.tail, order.head, order.weight
    target, channel, switch = order.target, order.channel, order.switch
    n, m = parent.shape[1], len(tail)
    below = np.empty(n)
    for k in range(len(target)):
        root, time = target[k], parent[k]
        for v in range(n):
            below[v] = weight[root] * weight[v]
            if v != root:
                c = time[v]
                # every step back is an earlier channel and only the root has none, so all walks end there
                if c < 0 or head[c] != v or time[tail[c]] >= c:
                    return False
        if time[root] != -1:
            return False
        for c in range(m - 1, -1, -1):
            v = head[c]
            if time[v] == c and below[v] > 0.0:
                load[c] += below[v]
                below[tail[c]] += below[v]
                rows[k, switch[v]] = channel[c]
    return True
