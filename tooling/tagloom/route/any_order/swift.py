"""Point every channel to its next one for many destinations at a time: for speed, with no look back at the loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel
from tagloom.records.routes import DELIVERED, UNUSED
from tagloom.route.net import relation_table

if TYPE_CHECKING:
    from tagloom.route.net import Ordered, Tables

BATCH = 64  # destinations at a time, as in the scores
NOISE, PRICE = 31, 95.0  # the most that chance and the load so far add for a channel
FAR = 1 << 16
LEVEL = 1 << 14  # a channel more on the way; less than that, up to 128 channels, is what ties are broken by


def swift_rows(order: Ordered, channels: int, switches: int) -> Tables:
    """Return a relation in the fabric's numbers: first int32[D, N], following int32[C, N], and loads float64[m].

    Of shortest paths the one whose next channel has carried least is taken, and chance decides within blocks of
    destinations. Only what a path uses is written. All turns come from the list of turns that climb, so no dependency
    cycle can close. Raises AssertionError where a switch is not reached.
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
    far = np.empty((m, BATCH), np.int32)  # LEVEL times the channels on the way, and a tie-breaker below LEVEL
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
    # Two indices and no rows: a row is an object, and to count its references takes as long as its numbers.
    for begin in range(0, len(target), BATCH):
        some = target[begin : begin + BATCH]
        straight = switch[some[-1]] - switch[some[0]] == len(some) - 1  # then rows are written as a whole
        pairs[:] = 0.0
        for i in range(len(some)):
            slot_of[some[i]] = i
            pairs[i] = weight[some[i]]
        for c in range(m - 1, -1, -1):
            for i in range(BATCH):
                far[c, i] = FAR * LEVEL  # and more for every channel that leads nowhere: 16 bits are left for that
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
            a, b = 0.0, 0.0  # two sums that need not wait for each other
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
