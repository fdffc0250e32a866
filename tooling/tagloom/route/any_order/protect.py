"""Move channels of an order until any single failure leaves ascending paths between all that are still connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.net import Net

NEVER = 1 << 60
FAR = np.uint16(60_000)
LONGER = (1.05, 1.1)  # factors by which mean path lengths may grow for detours; the second if pairs are left
MOST_MOVES = 200_000
WORK = 12_000_000_000  # the most that a search may cost, in steps of one channel, failure and word
HOPS_WORK = 1_000_000_000  # and for no failure, in steps of one channel and destination


class Failures(NamedTuple):
    """The failures of a net, each a set of channels that die together: F failures, W words of 64 switches.

    first, second, third  int32[m], the failures that kill each channel: of its link, and of its two switches (-1: none)
    cut    int64[F], ordered pairs of switches with hosts that each failure disconnects, those of a dead switch included
    hosts  uint64[W], the switches with hosts, as bits
    ends   uint64[W], those to which paths from them are counted
    every  uint64[W], all, to each of which paths lead without a failure: trees are grown to switches without hosts too
    links  how many of the failures are of links; those of switches come after
    besides  whether pairs also need paths without a failure
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    third: NDArray[np.int32]
    cut: NDArray[np.int64]
    hosts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    every: NDArray[np.uint64]
    links: int
    besides: bool = True


def failures(net: Net, kind: str) -> Failures:
    """Return every single failure of a net: of its links, and for `kind` "switch" of its switches as well."""
    n, m = len(net.switch), len(net.channel)
    first = np.arange(m, dtype=np.int32) // 2
    none = np.full(m, -1, np.int32)
    links = m // 2
    second, third = (net.tail + np.int32(links), net.head + np.int32(links)) if kind == "switch" else (none, none)
    count = links + (n if kind == "switch" else 0)
    hosts = _bits(net, net.target)
    found = Failures(first, second, third, np.zeros(count, np.int64), hosts, hosts, _bits(net, np.arange(n)), links)
    return found._replace(cut=_cut(net.tail, net.head, n, found))


def no_failure(net: Net) -> Failures:
    """Return a failure of nothing, after which pairs may lack a path: for a search that starts from any order."""
    none = np.full(len(net.channel), -1, np.int32)
    every = _bits(net, np.arange(len(net.switch)))
    return Failures(none, none, none, np.zeros(1, np.int64), _bits(net, net.target), every, every, 1, besides=False)


def _bits(net: Net, switches: NDArray[np.integer]) -> NDArray[np.uint64]:
    """Return some switches of a net as bits, uint64[W]."""
    bits = np.zeros(-(-len(net.switch) // 64), np.uint64)
    np.bitwise_or.at(bits, switches // 64, np.uint64(1) << (switches % 64).astype(np.uint64))
    return bits


@kernel
def _cut(tail: NDArray[np.int32], head: NDArray[np.int32], n: int, what: Failures) -> NDArray[np.int64]:
    """Return the number of ordered pairs of switches with hosts that each failure disconnects."""
    cut = np.zeros(len(what.cut), np.int64)
    top = np.empty(n, np.int32)
    size = np.empty(n, np.int64)
    for f in range(len(cut)):
        for v in range(n):
            top[v] = v
            size[v] = (what.hosts[v >> 6] >> np.uint64(v & 63)) & np.uint64(1)
        total = size.sum()
        for c in range(0, len(tail), 2):
            if what.first[c] == f or what.second[c] == f or what.third[c] == f:
                continue
            a, b = tail[c], head[c]
            while top[a] != a:
                top[a] = top[top[a]]
                a = top[a]
            while top[b] != b:
                top[b] = top[top[b]]
                b = top[b]
            if a != b:
                top[a] = b
                size[b] += size[a]
        cut[f] = total * total
        for v in range(n):
            if top[v] == v:
                cut[f] -= size[v] * size[v]
    return cut


@kernel
def _count_bits(x: np.uint64) -> np.int64:
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def reached_after(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    order: NDArray[np.int32],
    what: Failures,
    f: int,
    seen: NDArray[np.uint64],
) -> None:
    """Write to `seen` (uint64[n, W]) the switches that ascending paths from each switch reach after failure f.

    One backward sweep: when a channel's turn comes, `seen` of its head holds what later channels alone reach.
    """
    n, words = seen.shape
    for v in range(n):
        for w in range(words):
            seen[v, w] = 0
        seen[v, v >> 6] = np.uint64(1) << np.uint64(v & 63)
    for i in range(len(order) - 1, -1, -1):
        c = order[i]
        if what.first[c] == f or what.second[c] == f or what.third[c] == f:
            continue
        for w in range(words):
            seen[tail[c], w] |= seen[head[c], w]


@kernel
def _lost(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    order: NDArray[np.int32],
    what: Failures,
    sequence: NDArray[np.int64],
    limit: int,
    seen: NDArray[np.uint64],
    lost: NDArray[np.int64],
) -> int:
    """Return the ordered pairs of switches that are connected and have no ascending path, over all failures.

    Stops above `limit`; returns NEVER if a switch with hosts has none to some switch even without a failure. `lost`
    gets the count of each failure.
    """
    n, words = seen.shape
    total = 0
    for f in sequence:
        reached_after(tail, head, order, what, f, seen)
        missing = 0
        for v in range(n):
            if (what.hosts[v >> 6] >> np.uint64(v & 63)) & np.uint64(1):
                for w in range(words):
                    missing += int(_count_bits(what.ends[w] & ~seen[v, w]))
        lost[f] = missing - what.cut[f]
        total += int(lost[f])
        if total > limit:
            return total
    if not what.besides:
        return total
    reached_after(tail, head, order, what, -2, seen)
    for v in range(n):
        if (what.hosts[v >> 6] >> np.uint64(v & 63)) & np.uint64(1):
            for w in range(words):
                if what.every[w] & ~seen[v, w]:
                    return NEVER
    return total


@kernel
def _hops(
    tail: NDArray[np.int32],
    head: NDArray[np.int32],
    order: NDArray[np.int32],
    target: NDArray[np.int32],
    far: NDArray[np.uint16],
) -> int:
    """Return the total length of the shortest ascending paths between all switches with hosts."""
    n, d = far.shape
    for v in range(n):
        for i in range(d):
            far[v, i] = FAR
    for i in range(d):
        far[target[i], i] = 0
    for k in range(len(order) - 1, -1, -1):
        u, v = tail[order[k]], head[order[k]]
        for i in range(d):
            far[u, i] = min(far[u, i], far[v, i] + np.uint16(1))
    total = 0
    for s in target:
        for i in range(d):
            total += far[s, i]
    return total


def protect(
    net: Net,
    order: NDArray[np.int32],
    what: Failures,
    effort: int = 1,
    seed: int = 0,
    locked: NDArray[np.bool_] | None = None,
    room: float = np.inf,
) -> tuple[NDArray[np.int32], int]:
    """Return an order with fewer unprotected pairs, and their number over all failures `what`.

    Each move shifts one channel so that one more turn is allowed. It is kept if no more pairs are unprotected and paths
    take at most `room` times the hops that they take along `order`. Once all pairs are protected, or half of the moves
    are made, hops may not grow any more. `locked` (bool[m, degree]) marks turns that must stay allowed: from each
    channel to each of those that leave its head, in the order of `Net.out`.
    """
    if not len(order):
        return order, 0
    degree = int(np.diff(net.out_start).max(initial=0))
    if locked is None:
        locked = np.zeros((len(order), degree), np.bool_)
    # Measured on one core of 2024: a failure is checked in about 1 ns per channel and word of 64 switches.
    cost = len(what.cut) * len(order) * len(what.hosts)
    moves = min(MOST_MOVES, WORK // max(1, cost)) * max(1, effort)
    if not what.besides:  # then a move costs more by its hops than by what is left unprotected
        moves = min(moves, HOPS_WORK // max(1, len(order) * len(net.target)))
    draws = np.random.default_rng(seed).integers(0, 1 << 40, (moves, 3))
    turned = order.copy()
    return turned, int(_protect(net, turned, what, locked, draws, room))


@kernel
def _protect(  # noqa: C901, PLR0912 - one compiled loop: split, each part would take all of its arrays
    net: Net,
    order: NDArray[np.int32],
    what: Failures,
    locked: NDArray[np.bool_],
    draws: NDArray[np.int64],
    room: float,
) -> int:
    tail, head, out_start, out = net.tail, net.head, net.out_start, net.out
    n, m = len(out_start) - 1, len(order)
    seen = np.empty((n, len(what.hosts)), np.uint64)
    far = np.empty((n, len(net.target)), np.uint16)
    lost, trial = np.zeros(len(what.cut), np.int64), np.zeros(len(what.cut), np.int64)
    sequence = np.arange(len(what.cut))
    now = _lost(tail, head, order, what, sequence, NEVER, seen, lost)
    hops = _hops(tail, head, order, net.target, far)
    most = room * hops
    place, slot = np.empty(m, np.int32), np.empty(m, np.int32)
    for i in range(m):
        place[order[i]] = i
    for v in range(n):
        for j in range(out_start[v], out_start[v + 1]):
            slot[out[j]] = j - out_start[v]
    moved = order.copy()
    for k in range(len(draws)):
        settled = now == 0 or 2 * k > len(draws)
        x = draws[k, 0] % m
        v = head[x]
        y = out[out_start[v] + draws[k, 1] % (out_start[v + 1] - out_start[v])]
        if head[y] == tail[x] or place[x] < place[y]:
            continue
        low, high = place[y], place[x]
        good = True
        if draws[k, 2] & 1:  # x moves before y: channels in between may no longer turn into x
            for i in range(low, high):
                z = order[i]
                if head[z] == tail[x] and locked[z, slot[x]]:
                    good = False
                    break
                moved[i + 1] = z
            moved[low] = x
        else:  # y moves after x
            for i in range(low, high):
                z = order[i + 1]
                if tail[z] == head[y] and locked[y, slot[z]]:
                    good = False
                    break
                moved[i] = z
            moved[high] = y
        if good:
            length = _hops(tail, head, moved, net.target, far)
            good = length <= (hops if settled else most)
            if good:
                count = _lost(tail, head, moved, what, sequence, now, seen, trial)
                good = count <= now
                if good:
                    now, hops = count, length
                    lost[:] = trial
                    sequence = np.argsort(-lost)
        for i in range(low, high + 1):
            if good:
                order[i] = moved[i]
                place[order[i]] = i
            else:
                moved[i] = order[i]
    return now
