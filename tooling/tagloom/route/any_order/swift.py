"""Point every channel to its next one for many destinations at a time: for speed, with no look back at the loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.net import Ordered

LANES = 64  # destinations at a time, as in the scores
NOISE, PRICE = 31, 95.0  # the most that chance and the load so far add for a channel
NO_WAY, THERE = -2, -1  # the records' UNUSED and DELIVERED
FAR = 1 << 16
LEVEL = 1 << 14  # a channel more on the way; less than that, up to 128 channels, is what ties are broken by


def swift_rows(
    net: Ordered,
    weight: NDArray[np.float64],
    target: NDArray[np.int32],
    switch: NDArray[np.int32],
    channels: int,
    switches: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return a relation in the fabric's numbers: first int32[D, N], following int32[C, N], and loads float64[m].

    Of shortest ways the one whose next channel has carried least is taken, and chance decides within blocks of
    destinations. Only what a path uses is written. All turns come from the list of turns that climb, so no dependency
    cycle can close. Raises AssertionError where a switch is not reached.
    """
    first = np.full((len(target), switches), NO_WAY, np.int32)
    following = np.full((max(1, channels), switches), NO_WAY, np.int32)
    load = np.zeros(len(net.tail))
    if not _swift(
        net.head, net.out_start, net.out, net.turn_start, net.turn, net.channel, weight, target, switch,
        first, following, load,
    ):  # fmt: skip
        raise AssertionError("an order of the channels does not join all switches")
    return first, following, load


@kernel
def _swift(
    head: NDArray[np.int32],
    out_start: NDArray[np.int32],
    out: NDArray[np.int32],
    turn_start: NDArray[np.int32],
    turn: NDArray[np.int32],
    channel: NDArray[np.int32],
    weight: NDArray[np.float64],
    target: NDArray[np.int32],
    switch: NDArray[np.int32],
    first: NDArray[np.int32],
    following: NDArray[np.int32],
    load: NDArray[np.float64],
) -> bool:
    m, n = len(head), len(out_start) - 1
    far = np.empty((m, LANES), np.int32)  # LEVEL times the channels on the way, and a tie-breaker below LEVEL
    nxt = np.empty((m, LANES), np.int32)
    flow = np.empty((m, LANES), np.float32)
    price = np.zeros(m, np.int32)
    best = np.empty(LANES, np.int32)
    pick = np.empty(LANES, np.int32)
    pairs = np.empty(LANES, np.float32)
    lane = np.full(n, -1, np.int32)
    chance = np.empty((256, LANES), np.int32)
    mix = 1
    for j in range(256):
        for i in range(LANES):
            mix = (mix * 1103515245 + 12345) & 0x7FFFFFFF
            chance[j, i] = (mix >> 16) & NOISE
    # Two indices and no rows: a row is an object, and to count its references takes as long as its numbers.
    for begin in range(0, len(target), LANES):
        some = target[begin : begin + LANES]
        straight = switch[some[-1]] - switch[some[0]] == len(some) - 1  # then rows are written as a whole
        pairs[:] = 0.0
        for i in range(len(some)):
            lane[some[i]] = i
            pairs[i] = weight[some[i]]
        for c in range(m - 1, -1, -1):
            for i in range(LANES):
                far[c, i] = FAR * LEVEL  # and more for every channel that leads nowhere: 16 bits are left for that
                nxt[c, i] = NO_WAY
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                name = channel[e]
                for i in range(LANES):
                    nxt[c, i] = name if far[e, i] < far[c, i] else nxt[c, i]
                    far[c, i] = min(far[c, i], far[e, i])
            step, luck = np.int32(LEVEL + price[c]), c & 0xFF
            for i in range(LANES):
                far[c, i] += step + chance[luck, i]
            if lane[head[c]] >= 0:
                far[c, lane[head[c]]] = LEVEL + price[c]
                nxt[c, lane[head[c]]] = THERE
        flow[:] = 0.0
        for k in range(len(target)):
            s = target[k]
            best[:] = FAR * LEVEL
            pick[:] = NO_WAY
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(LANES):
                    pick[i] = e if far[e, i] < best[i] else pick[i]
                    best[i] = min(best[i], far[e, i])
            if lane[s] >= 0:
                pick[lane[s]] = THERE
            sent = np.float32(weight[s])
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(LANES):
                    flow[e, i] += sent * pairs[i] if pick[i] == e else np.float32(0.0)
            for i in range(len(some)):
                if pick[i] == NO_WAY:
                    return False
                first[k, switch[some[i]]] = channel[pick[i]] if pick[i] >= 0 else THERE
        heaviest = 0.0
        for c in range(m):
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                name = channel[e]
                for i in range(LANES):
                    flow[e, i] += flow[c, i] if nxt[c, i] == name else np.float32(0.0)
            line = following[channel[c]]
            if straight:
                part = line[switch[some[0]] :]
                for i in range(len(some)):
                    part[i] = nxt[c, i] if flow[c, i] > 0.0 else NO_WAY
            else:
                for i in range(len(some)):
                    if flow[c, i] > 0.0:
                        line[switch[some[i]]] = nxt[c, i]
            a, b = 0.0, 0.0  # two sums that need not wait for each other
            for i in range(0, LANES, 2):
                a += flow[c, i]
                b += flow[c, i + 1]
            load[c] += a + b
            heaviest = max(heaviest, load[c])
        for c in range(m):
            x = load[c] / heaviest
            price[c] = np.int32(PRICE * x * x)
        for i in range(len(some)):
            lane[some[i]] = -1
    return True
