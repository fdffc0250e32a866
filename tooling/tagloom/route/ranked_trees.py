"""Grow trees along ranks of the switches, for many sources at a time, in loops compiled to machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.breadth_first import ranks_by_number
from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.route.net import Net

# Ranks are a permutation of the switches; up is towards the lower rank. A path goes up, then down (up*/down*, Schroeder
# et al., Autonet, 1991). Up channels in descending order of the ranks they leave, then down channels in ascending
# order, settle all paths in one sweep: no queue, and every step is done for BATCH or SAMPLE sources at once.
# The neighbours of switch v are at start[v] : start[v + 1] everywhere. Tables are indexed by two numbers, not by
# rows: numba counts references to every row view, which takes longer than the row's arithmetic.

BATCH = 64  # sources whose trees grow at once: their tables fit in a processor's cache
SAMPLE = 64  # most sources by which roots are compared
NOISE, PRICE = 31, 95.0  # the most that chance and the load so far add to the cost of a channel
LEVEL = np.int32(1 << 14)  # the cost of one more channel; the additions that break ties stay below it for 128 channels
FAR = np.int32(1 << 30)
# the sign bit marks a length as needed; LENGTH masks it out
NEEDED, LENGTH = np.int32(-(1 << 31)), np.int32((1 << 31) - 1)
NO_WAY = np.int16(30_000)

# The ones of a word are counted in pairs, then in fours, then in bytes; a multiplication adds up the bytes.
PAIRS, FOURS, BYTES, ONES = (np.uint64(0x0101010101010101 * byte) for byte in (0x55, 0x33, 0x0F, 0x01))
ONE, TWO, FOUR, SUM = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)


def total_distance(net: Net) -> NDArray[np.int64]:
    """Return the sum of the distances from each switch to all hosts, in channels, int64[n]."""
    return _total_distance(net.out_start, net.head[net.out], net.weight.astype(np.int64))


def by_distance(net: Net) -> NDArray[np.int32]:
    """Return the switches in the fabric's numbers, int32[n], the one nearest to all hosts first."""
    return net.switch[np.argsort(total_distance(net), kind="stable")]


@kernel
def _total_distance(start: NDArray[np.int32], near: NDArray[np.int32], hosts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of the distances from each switch to all hosts (`hosts` int64[n] counts them), int64[n].

    All switches extend the set of switches they reach, as bits, by one channel at a time. This never ends if a host is
    unreachable: `near` must connect all switches.
    """
    n = len(start) - 1
    words = (n + 63) // 64
    bits, whole = 0, hosts.sum()
    for v in range(n):
        while hosts[v] >> bits:
            bits += 1
    plane = np.zeros((bits, words), np.uint64)  # the switches whose number of hosts has this bit
    reach, wider = np.zeros((n, words), np.uint64), np.zeros((n, words), np.uint64)
    left = np.empty(n, np.int64)
    for v in range(n):
        one = ONE << np.uint64(v & 63)
        reach[v, v >> 6] |= one
        for b in range(bits):
            if (hosts[v] >> b) & 1:
                plane[b, v >> 6] |= one
        left[v] = whole - hosts[v]
    total = np.zeros(n, np.int64)
    going = True
    while going:
        going = False
        for v in range(n):
            total[v] += left[v]
            for w in range(words):
                wider[v, w] = reach[v, w]
            if left[v] == 0:
                continue
            for j in range(start[v], start[v + 1]):
                u = near[j]
                for w in range(words):
                    wider[v, w] |= reach[u, w]
            count = np.uint64(0)
            for b in range(bits):
                for w in range(words):
                    x = wider[v, w] & plane[b, w]
                    x -= (x >> ONE) & PAIRS
                    x = (x & FOURS) + ((x >> TWO) & FOURS)
                    x = (x + (x >> FOUR)) & BYTES
                    count += ((x * ONES) >> SUM) << np.uint64(b)
            left[v] = whole - np.int64(count)
            going |= left[v] > 0
        reach, wider = wider, reach
    return total


def ranks(net: Net, top: int) -> NDArray[np.int32]:
    """Rank the switches by distance from the switch that the fabric numbers `top`, then by number, int32[n]."""
    rank: NDArray[np.int32] = _ranks(net, [top])[0]
    return rank


def _ranks(net: Net, tops: Sequence[int] | NDArray[np.int32]) -> NDArray[np.int32]:
    return ranks_by_number(net.out_start, net.head[net.out], np.searchsorted(net.switch, tops).astype(np.int32))


@kernel
def _sort_slots(
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    rank: NDArray[np.int32],
    by_rank: NDArray[np.int32],
    slot: NDArray[np.int32],
    middle: NDArray[np.int32],
) -> None:
    """Sort every switch's slots: neighbours of higher rank up to `middle`, ascending, the others then descending."""
    for v in range(len(rank)):
        by_rank[rank[v]] = v
        front, back = start[v], start[v + 1] - 1
        for j in range(start[v], start[v + 1]):  # without a branch, which no processor could predict
            higher = rank[near[j]] > rank[v]
            slot[front] = slot[back] = j
            front += higher
            back -= not higher
        middle[v] = front


def compare(net: Net, tops: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the total length of the shortest up*/down* paths for each of the roots `tops`, int64[len(tops)].

    The sum is over pairs of hosts, the first of them at one of at most SAMPLE switches, evenly taken.
    """
    some = net.target[:: max(1, -(-len(net.target) // SAMPLE))]
    return _compared(net.out_start, net.head[net.out], net.weight.astype(np.int64), some, _ranks(net, tops))


@kernel
def _compared(
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    hosts: NDArray[np.int64],
    some: NDArray[np.int32],
    ranks: NDArray[np.int32],
) -> NDArray[np.int64]:
    n, whole = len(start) - 1, hosts.sum()
    after = np.empty((n, SAMPLE), np.int16)  # channels to a switch, plus one
    best = np.empty(SAMPLE, np.int16)
    total = np.empty(SAMPLE, np.int32)
    slot_of = np.full(n, -1, np.int32)
    for i in range(len(some)):
        slot_of[some[i]] = i
    by_rank, middle = np.empty(n, np.int32), np.empty(n, np.int32)
    slot = np.empty(len(near), np.int32)
    sums = np.zeros(len(ranks), np.int64)
    for t in range(len(ranks)):
        _sort_slots(start, near, ranks[t], by_rank, slot, middle)
        for at in range(n - 1, -1, -1):
            v = by_rank[at]
            best[:] = NO_WAY
            for j in range(start[v], middle[v]):
                u = near[slot[j]]
                for i in range(SAMPLE):
                    best[i] = min(best[i], after[u, i])
            for i in range(SAMPLE):
                after[v, i] = best[i] + 1
            if slot_of[v] >= 0:
                after[v, slot_of[v]] = 1
        total[:] = 0
        for at in range(n):
            v = by_rank[at]
            best[:] = NO_WAY
            for j in range(middle[v], start[v + 1]):
                u = near[slot[j]]
                for i in range(SAMPLE):
                    best[i] = min(best[i], after[u, i])
            for i in range(SAMPLE):
                best[i] += 1
            here = np.int32(hosts[v])
            for i in range(SAMPLE):
                best[i] = min(after[v, i], best[i])
                after[v, i] = best[i]
                total[i] += here * np.int32(best[i])
        for i in range(len(some)):
            sums[t] += hosts[some[i]] * (np.int64(total[i]) - whole)
    return sums


def grown_rows(net: Net, rank: NDArray[np.int32], switches: int, *, spread: bool) -> NDArray[np.int32]:
    """Return a tree from every switch with hosts, in the fabric's numbers, without hostless branches, int32[D, N].

    A switch is reached by a shortest up path, or by a down channel if that is shorter and no switch above it needs its
    up path. So the result is a tree, and no path is longer than if every switch that can be reached upwards were. Ties
    go to the channel of lowest number; with `spread` to the path with the least load so far, and to chance within BATCH
    sources.
    """
    parent = np.empty((len(net.target), switches), np.int32)
    if len(net.switch) < switches:
        parent[:] = -1
    into = net.out ^ 1  # the opposite direction of every channel that leaves
    hosts = net.weight.astype(np.int64)
    _grown(net.out_start, net.tail[into], net.channel[into], rank, net.target, hosts, net.switch, parent, spread)
    return parent


@kernel
def _grown(  # noqa: C901, PLR0912, PLR0913, PLR0915 - one compiled loop: split, each part would take all of its arrays
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    entering: NDArray[np.int32],
    rank: NDArray[np.int32],
    root: NDArray[np.int32],
    hosts: NDArray[np.int64],
    switch: NDArray[np.int32],
    parent: NDArray[np.int32],
    spread: bool,
) -> None:
    n, m = len(rank), len(near)
    by_rank, middle = np.empty(n, np.int32), np.empty(n, np.int32)
    slot = np.empty(m, np.int32)
    _sort_slots(start, near, rank, by_rank, slot, middle)
    for v in range(n):
        i, j = middle[v], start[v + 1] - 1
        while i < j:
            slot[i], slot[j] = slot[j], slot[i]
            i, j = i + 1, j - 1
    prune = hosts.min() == 0
    deep = np.empty((n, BATCH), np.int32)
    pick = np.empty((n, BATCH), np.int32)
    below = np.empty((n, BATCH), np.float32)
    best, chosen = np.empty(BATCH, np.int32), np.empty(BATCH, np.int32)
    pairs = np.empty(BATCH, np.float32)
    slot_of = np.full(n, -1, np.int32)
    cost = np.full(m, LEVEL, np.int32)
    load = np.zeros(m)
    chance, last = np.zeros((256 if spread else 1, BATCH), np.int32), 255 if spread else 0
    mix = 1
    for j in range(last + 1 if spread else 0):
        for i in range(BATCH):
            mix = (mix * 1103515245 + 12345) & 0x7FFFFFFF
            chance[j, i] = (mix >> 16) & NOISE
    for begin in range(0, len(root), BATCH):
        width = min(BATCH, len(root) - begin)
        pairs[:] = 0.0
        for i in range(width):
            slot_of[root[begin + i]] = i
            pairs[i] = hosts[root[begin + i]]
        for at in range(n - 1, -1, -1):
            v = by_rank[at]
            best[:] = FAR
            chosen[:] = -1
            for j in range(start[v], middle[v]):
                q = slot[j]
                u, step, luck = near[q], cost[q], q & last
                for i in range(BATCH):
                    path_cost = np.int32(deep[u, i] + step + chance[luck, i])
                    chosen[i] = q if path_cost < best[i] else chosen[i]
                    best[i] = min(best[i], path_cost)
            for i in range(BATCH):
                deep[v, i] = best[i]
                pick[v, i] = chosen[i]
            if slot_of[v] >= 0:
                deep[v, slot_of[v]] = 0
                pick[v, slot_of[v]] = -1
        for at in range(n):
            v = by_rank[at]
            best[:] = FAR
            chosen[:] = -1
            for j in range(middle[v], start[v + 1]):
                q = slot[j]
                u, step, luck = near[q], cost[q], q & last
                for i in range(BATCH):
                    path_cost = np.int32(deep[u, i] + step + chance[luck, i])
                    chosen[i] = q if path_cost < best[i] else chosen[i]
                    best[i] = min(best[i], path_cost)
            for i in range(BATCH):  # a marked length is negative, so less than every unmarked one
                falls = best[i] < deep[v, i]
                pick[v, i] = chosen[i] if falls else pick[v, i]
                deep[v, i] = best[i] if falls else deep[v, i] & LENGTH
            for j in range(start[v], middle[v]):
                q = slot[j]
                u = near[q]
                for i in range(BATCH):
                    deep[u, i] |= NEEDED if pick[v, i] == q else np.int32(0)
        if prune or spread:
            _gathered(start, near, hosts, by_rank, slot, middle, pick, pairs, below)
        if spread:
            heaviest = 0.0
            for v in range(n):
                for q in range(start[v], start[v + 1]):
                    # two independent sums, which the processor adds in parallel
                    a, b = np.float32(0.0), np.float32(0.0)
                    for i in range(0, BATCH, 2):
                        a += below[v, i] if pick[v, i] == q else np.float32(0.0)
                        b += below[v, i + 1] if pick[v, i + 1] == q else np.float32(0.0)
                    load[q] += a + b
                    heaviest = max(heaviest, load[q])
            for q in range(m):
                x = load[q] / max(heaviest, 1.0)
                cost[q] = LEVEL + np.int32(PRICE * x * x)
        for at in range(0, n, 16):  # by blocks, as reads go by switch and writes by source
            for i in range(width):
                for v in range(at, min(n, at + 16)):
                    q = pick[v, i]
                    parent[begin + i, switch[v]] = entering[q] if q >= 0 and not (prune and below[v, i] == 0.0) else -1
        for i in range(width):
            slot_of[root[begin + i]] = -1


@kernel
def _gathered(  # noqa: PLR0913 - the arrays of one compiled loop
    start: NDArray[np.int32],
    near: NDArray[np.int32],
    hosts: NDArray[np.int64],
    by_rank: NDArray[np.int32],
    slot: NDArray[np.int32],
    middle: NDArray[np.int32],
    pick: NDArray[np.int32],
    pairs: NDArray[np.float32],
    below: NDArray[np.float32],
) -> None:
    """Write the host pairs at and below each switch, float32[n, BATCH]: along down channels first, then up channels."""
    n = len(by_rank)
    for v in range(n):
        here = np.float32(hosts[v])
        for i in range(BATCH):
            below[v, i] = here * pairs[i]
    for at in range(n - 1, -1, -1):
        v = by_rank[at]
        for j in range(middle[v], start[v + 1]):
            q = slot[j]
            u = near[q]
            for i in range(BATCH):
                below[u, i] += below[v, i] if pick[v, i] == q else np.float32(0.0)
    for at in range(n):
        v = by_rank[at]
        for j in range(start[v], middle[v]):
            q = slot[j]
            u = near[q]
            for i in range(BATCH):
                below[u, i] += below[v, i] if pick[v, i] == q else np.float32(0.0)
