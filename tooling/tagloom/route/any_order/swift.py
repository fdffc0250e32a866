"""Choose next channels for many destinations at a time: fast, without a second pass over the loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel
from tagloom.records.routes import DELIVERED, UNUSED
from tagloom.route.net import relation_table

if TYPE_CHECKING:
    from tagloom.route.net import Ordered, Tables

BATCH = 64  # destinations at a time, as in the scores
NOISE, PRICE = 31, 95.0  # the most that chance and the load so far add to the cost of a channel
FAR = 1 << 16
LEVEL = 1 << 14  # the cost of one more channel; the additions that break ties stay below it for 128 channels


def swift_rows(order: Ordered, channels: int, switches: int) -> Tables:
    """Return a relation in the fabric's numbers: first int32[D, N], following int32[C, N], and loads float64[m].

    Among shortest paths the one whose next channel has the least load so far is taken, at random within blocks of
    destinations. Only entries that a path uses are written. All turns ascend, so no dependency cycle can close. Raises
    AssertionError if a switch is not reached.
    """
    rows = relation_table(order, channels, switches)
    if not _swift(order, rows):
        raise AssertionError("an order of the channels does not join all switches")
    return rows


@kernel
def _swift(order: Ordered, rows: Tables) -> bool:  # noqa: C901, PLR0912, PLR0915 - one compiled loop: split, each part would take all of its arrays
    head, out_start, out, turn_start, turn = order.head, order.out_start, order.out, order.turn_start, order.turn
    channel, weight, target, switch = order.channel, order.weight, order.target, order.switch
    first, following, load = rows
    m, n = len(head), len(out_start) - 1
    far = np.empty((m, BATCH), np.int32)  # LEVEL times the channels on the path, plus a tie-breaker below LEVEL
    nxt = np.empty((m, BATCH), np.int32)
    flow = np.empty((m, BATCH), np.float32)
    price = np.zeros(m, np.int32)
    best = np.empty(BATCH, np.int32)
    pick = np.empty(BATCH, np.int32)
    pairs = np.empty(BATCH, np.float32)
    slot_of = np.full(n, -1, np.int32)
    chance = np.empty((256, BATCH), np.int32)
    mix = 1
    for j in range(256):
        for i in range(BATCH):
            mix = (mix * 1103515245 + 12345) & 0x7FFFFFFF
            chance[j, i] = (mix >> 16) & NOISE
    # Two indices and no rows: a row is an object, and counting its references takes as long as its numbers.
    for begin in range(0, len(target), BATCH):
        some = target[begin : begin + BATCH]
        straight = switch[some[-1]] - switch[some[0]] == len(some) - 1  # then rows are written in one piece
        pairs[:] = 0.0
        for i in range(len(some)):
            slot_of[some[i]] = i
            pairs[i] = weight[some[i]]
        for c in range(m - 1, -1, -1):
            for i in range(BATCH):
                far[c, i] = FAR * LEVEL  # plus more for every dead-end channel: 16 bits are left for that
                nxt[c, i] = UNUSED
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                name = channel[e]
                for i in range(BATCH):
                    nxt[c, i] = name if far[e, i] < far[c, i] else nxt[c, i]
                    far[c, i] = min(far[c, i], far[e, i])
            step, luck = np.int32(LEVEL + price[c]), c & 0xFF
            for i in range(BATCH):
                far[c, i] += step + chance[luck, i]
            if slot_of[head[c]] >= 0:
                far[c, slot_of[head[c]]] = LEVEL + price[c]
                nxt[c, slot_of[head[c]]] = DELIVERED
        flow[:] = 0.0
        for k in range(len(target)):
            s = target[k]
            best[:] = FAR * LEVEL
            pick[:] = UNUSED
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(BATCH):
                    pick[i] = e if far[e, i] < best[i] else pick[i]
                    best[i] = min(best[i], far[e, i])
            if slot_of[s] >= 0:
                pick[slot_of[s]] = DELIVERED
            sent = np.float32(weight[s])
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(BATCH):
                    flow[e, i] += sent * pairs[i] if pick[i] == e else np.float32(0.0)
            for i in range(len(some)):
                if pick[i] == UNUSED:
                    return False
                first[k, switch[some[i]]] = channel[pick[i]] if pick[i] >= 0 else DELIVERED
        heaviest = 0.0
        for c in range(m):
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                name = channel[e]
                for i in range(BATCH):
                    flow[e, i] += flow[c, i] if nxt[c, i] == name else np.float32(0.0)
            line = following[channel[c]]
            if straight:
                part = line[switch[some[0]] :]
                for i in range(len(some)):
                    part[i] = nxt[c, i] if flow[c, i] > 0.0 else UNUSED
            else:
                for i in range(len(some)):
                    if flow[c, i] > 0.0:
                        line[switch[some[i]]] = nxt[c, i]
            a, b = 0.0, 0.0  # two independent sums, which the processor adds in parallel
            for i in range(0, BATCH, 2):
                a += flow[c, i]
                b += flow[c, i + 1]
            load[c] += a + b
            heaviest = max(heaviest, load[c])
        for c in range(m):
            x = load[c] / heaviest
            price[c] = np.int32(PRICE * x * x)
        for i in range(len(some)):
            slot_of[some[i]] = -1
    return True
