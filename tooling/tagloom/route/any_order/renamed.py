"""Choose one next channel per channel and destination, on shortest paths along an order, and spread the load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel
from tagloom.records.routes import DELIVERED, UNUSED
from tagloom.route.net import relation_table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.net import Ordered, Tables


@kernel
def pointers(order: Ordered, sequence: NDArray[np.int64]) -> Tables:
    """Return the next channel of every channel to every destination, one destination after another in `sequence`.

    Channels are positions in the order. Return (first int32[D, n], following int32[D, m], load float64[m]). Among
    shortest paths the one with the least load so far is taken. `following` is filled for unused channels too.
    """
    head, out_start, out, turn_start, turn = order.head, order.out_start, order.out, order.turn_start, order.turn
    weight, target = order.weight, order.target
    m, n = len(head), len(out_start) - 1
    first = np.full((len(target), n), UNUSED, np.int32)
    following = np.empty((len(target), m), np.int32)
    load = np.zeros(m)
    price = np.ones(m)
    path_cost = np.empty(m)
    flow = np.zeros(m + 1)  # the last takes what has arrived: no branch, which no processor could predict
    heaviest = 0.0
    for k in sequence:
        d = target[k]
        nxt, fst = following[k], first[k]
        if heaviest > 0.0:
            for c in range(m):
                # less than one channel in sum over paths below 10,000 channels: load only breaks ties
                x = load[c] / heaviest
                price[c] = 1.0 + 1e-4 * x * x * x * x
        for c in range(m - 1, -1, -1):
            if head[c] == d:
                nxt[c] = DELIVERED
                path_cost[c] = price[c]
                continue
            best, e = np.inf, UNUSED
            for j in range(turn_start[c], turn_start[c + 1]):
                if path_cost[turn[j]] < best:
                    e = turn[j]
                    best = path_cost[e]
            nxt[c] = e
            path_cost[c] = best + price[c]
        fst[d] = DELIVERED
        for s in range(n):
            if s == d or weight[s] == 0.0:
                continue
            best = np.inf
            for j in range(out_start[s], out_start[s + 1]):
                if path_cost[out[j]] < best:
                    fst[s] = out[j]
                    best = path_cost[out[j]]
            flow[fst[s]] += weight[s] * weight[d]
        for c in range(m):
            load[c] += flow[c]
            heaviest = max(heaviest, load[c])
            flow[nxt[c] if nxt[c] >= 0 else m] += flow[c]
            flow[c] = 0.0
    return first, following, load


@kernel
def _gain(
    following: NDArray[np.int32],
    load: NDArray[np.float64],
    a: int,
    b: int,
    f: float,
    squarings: int,
) -> float:
    """Return the change of the sum when f moves from the path that begins with channel a to that of channel b."""
    gain = 0.0
    while a != b:
        # positions ascend along both paths, so the lower one advances until they meet
        if b == DELIVERED or (a != DELIVERED and a < b):
            x = load[a]
            gain += _height(x - f, squarings) - _height(x, squarings)
            a = following[a]
        else:
            x = load[b]
            gain += _height(x + f, squarings) - _height(x, squarings)
            b = following[b]
    return gain


@kernel
def _height(x: float, squarings: int) -> float:
    for _ in range(squarings):
        x *= x
    return x


@kernel
def _shift(
    following: NDArray[np.int32],
    load: NDArray[np.float64],
    flow: NDArray[np.float64],
    a: int,
    b: int,
    f: float,
) -> None:
    while a != b:
        if b == DELIVERED or (a != DELIVERED and a < b):
            load[a] -= f
            flow[a] -= f
            a = following[a]
        else:
            load[b] += f
            flow[b] += f
            b = following[b]


@kernel
def respread(  # noqa: C901 - one compiled loop: split, each part would take all of its arrays
    order: Ordered,
    sequence: NDArray[np.int64],
    tables: Tables,
    squarings: int,
    detour_penalty: float,
    enough: float,
) -> int:
    """Change next channels if that lowers the sum of load^(2^squarings), in place; return the number of changes.

    The gain of a change is exact: over the old and the new path up to where they meet. Paths keep their length, or grow
    if that lowers the sum by `detour_penalty` for every host pair and added channel. Paths without a channel that
    carries `enough` stay as they are.
    """
    out_start, out, turn_start, turn = order.out_start, order.out, order.turn_start, order.turn
    weight, target = order.weight, order.target
    first, following, load = tables
    m, n = len(load), len(out_start) - 1
    rest = np.empty(m, np.int32)
    flow = np.empty(m + 1)  # the last takes what has arrived
    busy = np.empty(m + 1, np.int32)
    peak = np.empty(m)  # the largest load on the path from each channel
    changes = 0
    more = 1 if detour_penalty < np.inf else 0
    for k in sequence:
        d = target[k]
        nxt, fst = following[k], first[k]
        # Channels are handled in ascending order: later ones, and so `rest` of all choices, are still unchanged.
        for c in range(m - 1, -1, -1):
            e = nxt[c]
            rest[c] = 1 if e == DELIVERED else (1 << 30 if e == UNUSED else min(1 << 30, rest[e] + 1))
            peak[c] = max(load[c], peak[e]) if e >= 0 else load[c]
        flow[:] = 0.0
        for s in range(n):
            if fst[s] >= 0:
                flow[fst[s]] += weight[s] * weight[d]
        some = 0
        for c in range(m):
            a = nxt[c]
            flow[a if a >= 0 else m] += flow[c]
            busy[some] = c
            some += (a >= 0) & (peak[a] >= enough)
        for s in range(n):
            a = fst[s]
            if a < 0 or peak[a] < enough:
                continue
            f = weight[s] * weight[d]
            for j in range(out_start[s], out_start[s + 1]):
                b = out[j]
                if b == a or rest[b] > rest[a] + more:
                    continue
                price = f * detour_penalty * (rest[b] - rest[a]) if rest[b] != rest[a] else 0.0
                if _gain(nxt, load, a, b, f, squarings) + price < 0.0:
                    _shift(nxt, load, flow, a, b, f)
                    fst[s] = a = b
                    changes += 1
        for i in range(some):
            c = busy[i]
            a = nxt[c]
            if flow[c] <= 0.0:
                continue
            for j in range(turn_start[c], turn_start[c + 1]):
                b = turn[j]
                if b == a or rest[b] > rest[a] + more:
                    continue
                price = flow[c] * detour_penalty * (rest[b] - rest[a]) if rest[b] != rest[a] else 0.0
                if _gain(nxt, load, a, b, flow[c], squarings) + price < 0.0:
                    _shift(nxt, load, flow, a, b, flow[c])
                    nxt[c] = a = b
                    changes += 1
    return changes


def relation_rows(order: Ordered, tables: Tables, channels: int, switches: int) -> Tables:
    """Return the tables in the fabric's numbers: first int32[D, N], following int32[C, N], and loads float64[m].

    Only entries that a path uses are written. The loads are recomputed from the paths. Raises AssertionError if a path
    does not ascend or does not arrive.
    """
    rows = relation_table(order, channels, switches)
    if not _write(order, tables, rows):
        raise AssertionError("a path along the order does not climb or does not arrive")
    return rows


@kernel
def _write(order: Ordered, tables: Tables, rows: Tables) -> bool:
    """Follow all flows; return False unless all ascend and arrive. In blocks of columns, or every write is a miss."""
    tail, head, weight = order.tail, order.head, order.weight
    target, channel, switch = order.target, order.channel, order.switch
    first, following, _ = tables
    out_first, out_following, load = rows
    m, width = len(tail), 16
    flow = np.zeros((width, m))
    for begin in range(0, len(target), width):
        end = min(begin + width, len(target))
        for k in range(begin, end):
            d = target[k]
            for i in range(len(target)):
                s = target[i]
                c = first[k, s]
                if s == d:
                    out_first[i, switch[d]] = DELIVERED
                    continue
                if c < 0 or tail[c] != s:
                    return False
                out_first[i, switch[d]] = channel[c]
                flow[k - begin, c] += weight[s] * weight[d]
            for c in range(m):
                f = flow[k - begin, c]
                if f > 0.0:
                    e = following[k, c]
                    load[c] += f
                    if e == DELIVERED:
                        if head[c] != d:
                            return False
                    elif e <= c or tail[e] != head[c]:
                        return False
                    else:
                        flow[k - begin, e] += f
        for c in range(m):
            row = out_following[channel[c]]
            for k in range(begin, end):
                e = following[k, c]
                name = channel[e] if e >= 0 else DELIVERED
                row[switch[target[k]]] = name if flow[k - begin, c] > 0.0 else UNUSED
                flow[k - begin, c] = 0.0
    return True
