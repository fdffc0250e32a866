"""Trees around each single failure along the order that all paths ascend, shared or per source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.any_order.protect import Failures
    from tagloom.route.net import Ordered

CLOSED, SHUNNED, OPEN = 0, 1, 2  # channels to be used not at all, where there is no other way, or at will
ROOT, OUTSIDE = -1, -2  # instead of the position of the channel into a switch: the root, a switch outside the tree


class Along(NamedTuple):
    """Channels by their positions in an order (m), their failures (F), and what stays reachable.

    tail, head   int32[m]; out_start int32[n + 1], out int32[m], in_start, into: the channels that leave and enter each
                 switch, ascending
    back         int32[m], the position of the opposite channel
    first, second, third  int32[m], the failures that kill each channel, as in Failures
    links        failures of links; those of switches come after
    hosts        uint64[W], the switches with hosts, as bits
    reach        uint64[F, n, W], the switches that ascending paths from each switch reach after each failure
    """

    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    out_start: NDArray[np.int32]
    out: NDArray[np.int32]
    in_start: NDArray[np.int32]
    into: NDArray[np.int32]
    back: NDArray[np.int32]
    first: NDArray[np.int32]
    second: NDArray[np.int32]
    third: NDArray[np.int32]
    links: int
    hosts: NDArray[np.uint64]
    reach: NDArray[np.uint64]


def along(order: Ordered, net_order: NDArray[np.int32], what: Failures) -> Along:
    """Return the failures with channels renumbered by position in `net_order`, and what each leaves reachable."""
    n = len(order.out_start) - 1
    place = np.empty(len(net_order), np.int32)
    place[net_order] = np.arange(len(net_order), dtype=np.int32)
    found = Along(
        order.tail, order.head, order.out_start, order.out, order.in_start, order.into, place[net_order ^ 1],
        what.first[net_order], what.second[net_order], what.third[net_order],
        what.links, what.hosts, np.empty((len(what.cut), n, len(what.hosts)), np.uint64),
    )  # fmt: skip
    _reach(found)
    return found


@kernel
def _is_dead(net: Along, c: int, failure: int) -> bool:
    """Return whether a failure kills a channel: that of its link, or of a switch at an end."""
    return bool(net.first[c] == failure or net.second[c] == failure or net.third[c] == failure)


@kernel
def _reach(net: Along) -> None:
    """Fill `net.reach` by sweeping the order backwards for each failure."""
    count, n, words = net.reach.shape
    for f in range(count):
        for v in range(n):
            for w in range(words):
                net.reach[f, v, w] = 0
            net.reach[f, v, v >> 6] = np.uint64(1) << np.uint64(v & 63)
        for c in range(len(net.tail) - 1, -1, -1):
            if not _is_dead(net, c, f):
                for w in range(words):
                    net.reach[f, net.tail[c], w] |= net.reach[f, net.head[c], w]
        if f >= net.links:  # a dead switch neither sends nor receives
            for w in range(words):
                net.reach[f, f - net.links, w] = 0


@kernel
def _cut_descents(net: Along, trees: NDArray[np.int32]) -> None:
    """Remove the branches that no ascending path from the root reaches, from trees int32[T, n], in place."""
    for time in trees:
        for c in range(len(net.tail)):
            if time[net.head[c]] == c and not OUTSIDE < time[net.tail[c]] < c:
                time[net.head[c]] = OUTSIDE


def ascending(net: Along, trees: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return trees without the branches that no ascending path from the root reaches, int32[T, n].

    The order ascends along every path between two hosts of one network, so the removed branches serve no such pair.
    The searches for detours assume that times ascend along a tree. With these branches, a search could leave one
    attached to a switch that the tree no longer reaches, or attach a switch below its own branch and close a cycle.
    """
    kept = trees.copy()
    _cut_descents(net, kept)
    return kept


@kernel
def needed(net: Along, sources: NDArray[np.int32], trees: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Return for which failures each source's tree loses hosts that ascending paths still reach, bool[S, F]."""
    count, n, words = net.reach.shape
    lost = np.zeros((len(sources), count), np.bool_)
    below = np.empty((n, words), np.uint64)
    for k in range(len(sources)):
        s, time = sources[k], trees[k]
        for v in range(n):
            for w in range(words):
                below[v, w] = 0
            below[v, v >> 6] = (np.uint64(1) << np.uint64(v & 63)) & net.hosts[v >> 6]
        for c in range(len(net.tail) - 1, -1, -1):
            v = net.head[c]
            if time[v] != c:
                continue
            f, g = net.first[c], net.links + v
            for w in range(words):
                if below[v, w] & net.reach[f, s, w]:
                    lost[k, f] = True
                if g < count:
                    own = np.uint64(1) << np.uint64(v & 63) if v >> 6 == w else np.uint64(0)
                    if below[v, w] & ~own & net.reach[g, s, w]:
                        lost[k, g] = True
                below[net.tail[c], w] |= below[v, w]
    return lost


@kernel
def _sort_channels(net: Along, dead: int, avoided: NDArray[np.bool_], use: NDArray[np.int8]) -> None:
    """Mark each channel as CLOSED by a failure, SHUNNED as its link or the switch it leaves is avoided, or OPEN."""
    for c in range(len(use)):
        use[c] = OPEN
        if avoided[net.first[c]] or (net.second[c] >= 0 and avoided[net.second[c]]):
            use[c] = SHUNNED
        if net.first[c] == dead or net.second[c] == dead or net.third[c] == dead:
            use[c] = CLOSED


@kernel
def _grow(
    net: Along,
    root: int,
    use: NDArray[np.int8],
    time: NDArray[np.int32],
    level: NDArray[np.int32],
    early: NDArray[np.int32],
    queue: NDArray[np.int32],
    foremost: int,
) -> None:
    """Grow a tree from `root` to all that ascending paths reach by channels not CLOSED, by OPEN ones if possible.

    First level by level, by the earliest channel. The rest, or with `foremost` everything, is reached by the earliest
    arrivals, which reach everything and form a tree. `time` gets positions of channels, ROOT and OUTSIDE.
    """
    n, m = len(time), len(net.tail)
    tail, head = net.tail, net.head
    for v in range(n):
        time[v], level[v] = -2, -1
    time[root], level[root] = -1, 0
    queue[0] = root
    begin, end = 0, 1
    while begin < end and foremost == 0:
        u = queue[begin]
        begin += 1
        for j in range(net.out_start[u], net.out_start[u + 1]):
            c = net.out[j]
            v = head[c]
            if c <= time[u] or use[c] != OPEN or v == root:
                continue
            if level[v] < 0:
                level[v], time[v] = level[u] + 1, c
                queue[end] = v
                end += 1
            elif level[v] == level[u] + 1 and c < time[v]:
                time[v] = c
    for least in (OPEN, SHUNNED):
        for v in range(n):
            early[v] = m
        early[root] = -1
        for c in range(m):
            if use[c] >= least and early[tail[c]] < c < early[head[c]]:
                early[head[c]] = c
        for i in range(n):
            v = i
            if level[v] >= 0 or early[v] == m:
                continue
            while True:
                c = early[v]
                level[v], time[v] = 0, c
                v = tail[c]
                if level[v] >= 0 and time[v] < c:
                    break


@kernel
def _prune(net: Along, time: NDArray[np.int32], kept: NDArray[np.bool_]) -> None:
    """Cut the branches that lead to no host."""
    n = len(time)
    for v in range(n):
        kept[v] = bool((net.hosts[v >> 6] >> np.uint64(v & 63)) & np.uint64(1)) and time[v] != -2
    for c in range(len(net.tail) - 1, -1, -1):
        v = net.head[c]
        if time[v] == c:
            if kept[v]:
                kept[net.tail[c]] = True
            else:
                time[v] = -2


@kernel
def _survey(  # noqa: C901, PLR0912 - one compiled loop: split, each part would take all of its arrays
    net: Along,
    time: NDArray[np.int32],
    legal: NDArray[np.bool_],
    holds: NDArray[np.bool_],
    span: NDArray[np.uint64],
    queue: NDArray[np.int32],
    near: NDArray[np.int32],
) -> None:
    """Find the roots from which all paths of a tree ascend, the failures that break it, and the hosts it reaches.

    A root may move over a link of the tree if the opposite channel precedes every other channel of the tree that leaves
    the old root. That depends on the tree alone, so the legal roots are found by a search outwards. A switch breaks a
    tree only if it has more than one tree link.
    """
    n, m = len(time), len(net.tail)
    for f in range(len(holds)):
        holds[f] = False
    for w in range(len(span)):
        span[w] = 0
    least, second = near[0], near[1]  # the first two channels of the tree that leave each switch
    degree = near[2]
    root = 0
    for v in range(n):
        legal[v] = False
        least[v] = second[v] = m
        degree[v] = 0
        if time[v] == -1:
            root = v
    for v in range(n):
        if time[v] == -2:
            continue
        span[v >> 6] |= (np.uint64(1) << np.uint64(v & 63)) & net.hosts[v >> 6]
        if time[v] < 0:
            continue
        holds[net.first[time[v]]] = True
        for end in range(2):  # the channel of the tree that leaves the upper end of its link, and the lower one's
            c = net.back[time[v]] if end else time[v]
            u = net.tail[c]
            degree[u] += 1
            if c < least[u]:
                second[u] = least[u]
                least[u] = c
            elif c < second[u]:
                second[u] = c
    if len(holds) > net.links:
        for v in range(n):
            holds[net.links + v] = degree[v] > 1
    queue[0] = root
    legal[root] = True
    begin, end = 0, 1
    while begin < end:
        a = queue[begin]
        begin += 1
        for j in range(net.out_start[a], net.out_start[a + 1]):
            c = net.out[j]
            b = net.head[c]
            if legal[b] or not (time[b] == c or (time[a] >= 0 and net.back[c] == time[a])):
                continue
            others = second[a] if least[a] == c else least[a]
            if net.back[c] < others:
                legal[b] = True
                queue[end] = b
                end += 1


@kernel
def _count_bits(x: np.uint64) -> np.int64:
    """Return how many bits of a word are set, by sums in ever wider fields of it."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def _pack(flags: NDArray[np.bool_], words: NDArray[np.uint64]) -> None:
    """Write flags as bits: flag i is bit ``i & 63`` of word ``i >> 6``."""
    for w in range(len(words)):
        words[w] = 0
    for i in range(len(flags)):
        if flags[i]:
            words[i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@kernel
def _has_bit(words: NDArray[np.uint64], i: int) -> bool:
    """Return whether number i is in a set."""
    return bool((words[i >> 6] >> np.uint64(i & 63)) & np.uint64(1))


@kernel
def _transpose(block: NDArray[np.uint64]) -> None:
    """Transpose 64 x 64 bits in place, bit j of word i against bit i of word j, by halves of halves."""
    width, mask = 32, np.uint64(0xFFFFFFFF)
    while width:
        for i in range(64):
            if not i & width:
                moved = ((block[i] >> np.uint64(width)) ^ block[i + width]) & mask
                block[i] ^= moved << np.uint64(width)
                block[i + width] ^= moved
        width >>= 1
        mask ^= mask << np.uint64(width)


@kernel
def _hearing(net: Along, sources: NDArray[np.int32]) -> NDArray[np.uint64]:
    """Return after which failures ascending paths from each source reach each switch, uint64[n, S, ceil(F / 64)]."""
    count, n, words = net.reach.shape
    found = np.zeros((n, len(sources), (count + 63) // 64), np.uint64)
    block = np.empty(64, np.uint64)
    for i in range(found.shape[2]):
        for k in range(len(sources)):
            for w in range(words):
                for j in range(64):
                    block[j] = net.reach[64 * i + j, sources[k], w] if 64 * i + j < count else np.uint64(0)
                _transpose(block)
                for j in range(min(64, n - 64 * w)):
                    found[64 * w + j, k, i] = block[j]
    return found


@kernel
def _covers(
    net: Along,
    sources: NDArray[np.int32],
    open_cases: NDArray[np.uint64],
    legal: NDArray[np.bool_],
    holds: NDArray[np.uint64],
    span: NDArray[np.uint64],
    hearing: NDArray[np.uint64],
    covered: NDArray[np.uint64],
) -> int:
    """Mark the open (source, failure) that a tree serves in full, and return their number."""
    count = 0
    for k in range(len(sources)):
        for i in range(covered.shape[1]):
            covered[k, i] = open_cases[k, i] & ~holds[i] if legal[sources[k]] else np.uint64(0)
    for h in range(len(legal)):
        if _has_bit(net.hosts, h) and not _has_bit(span, h):
            covered &= ~hearing[h]  # the source reaches a host that the tree leaves out
    for k in range(len(sources)):
        for i in range(covered.shape[1]):
            count += int(_count_bits(covered[k, i]))
    return count


class Room(NamedTuple):
    """Work arrays of the search for trees: by channel, switch, failure, and source; sets of failures as bits."""

    use: NDArray[np.int8]
    time: NDArray[np.int32]
    level: NDArray[np.int32]
    early: NDArray[np.int32]
    queue: NDArray[np.int32]
    near: NDArray[np.int32]
    legal: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    breaks: NDArray[np.bool_]
    holds: NDArray[np.uint64]
    span: NDArray[np.uint64]
    hearing: NDArray[np.uint64]
    covered: NDArray[np.uint64]


def _room(net: Along, sources: NDArray[np.int32]) -> Room:
    count, n, words = net.reach.shape
    whole = np.empty((4, n), np.int32)
    flags = np.empty((2, n), np.bool_)
    failed = np.empty((1 + len(sources), -(-count // 64)), np.uint64)
    return Room(
        np.empty(len(net.tail), np.int8), whole[0], whole[1], whole[2], whole[3],
        np.empty((3, n), np.int32), flags[0], flags[1],
        np.empty(count, np.bool_), failed[0], np.empty(words, np.uint64), _hearing(net, sources), failed[1:],
    )  # fmt: skip


@kernel
def _serve(
    net: Along, sources: NDArray[np.int32], time: NDArray[np.int32], wanted: NDArray[np.uint64], room: Room
) -> int:
    """Mark in `room.covered` the wanted (source, failure) that a tree serves, and return their number."""
    _prune(net, time, room.kept)
    _survey(net, time, room.legal, room.breaks, room.span, room.queue, room.near)
    _pack(room.breaks, room.holds)
    return _covers(net, sources, wanted, room.legal, room.holds, room.span, room.hearing, room.covered)


@kernel
def _packed(flags: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """Return flags by source and failure as bits, uint64[S, ceil(F / 64)]."""
    words = np.empty((flags.shape[0], (flags.shape[1] + 63) // 64), np.uint64)
    for k in range(len(flags)):
        _pack(flags[k], words[k])
    return words


@kernel
def _shared(
    net: Along,
    sources: NDArray[np.int32],
    wanted: NDArray[np.bool_],
    roots: NDArray[np.int32],
    most: int,
    room: Room,
    found: NDArray[np.int32],
) -> int:
    """Take the tree that serves most open cases, repeatedly, up to `most` trees; return their number."""
    open_cases = _packed(wanted)
    count, taken = wanted.shape[1], 0
    avoided = np.zeros(count, np.bool_)
    unserved = np.empty(count, np.int64)  # sources of each failure
    best = np.empty(len(room.time), np.int32)
    while taken < most:
        unserved[:] = 0
        for k in range(len(sources)):
            for f in range(count):
                unserved[f] += _has_bit(open_cases[k], f)
        dead = int(np.argmax(unserved))
        worst = unserved[dead]
        if worst == 0:
            break
        for f in range(net.links):  # avoid links whose failure leaves many sources unserved
            avoided[f] = 2 * unserved[f] > worst
        _sort_channels(net, dead, avoided, room.use)
        top = 0
        for r in roots:
            if net.links + r == dead:
                continue
            for foremost in (1, 0):
                _grow(net, r, room.use, room.time, room.level, room.early, room.queue, foremost)
                served = _serve(net, sources, room.time, open_cases, room)
                if served > top and _any_of(room.covered, dead):
                    top = served
                    best[:] = room.time
        if top == 0:
            for k in range(len(sources)):  # no tree from these roots serves it, but one from a source itself does
                if _has_bit(open_cases[k], dead):
                    _grow(net, sources[k], room.use, best, room.level, room.early, room.queue, 0)
                    break
        found[taken] = best
        taken += 1
        _serve(net, sources, found[taken - 1], open_cases, room)
        open_cases &= ~room.covered
    return taken


@kernel
def _any_of(cases: NDArray[np.uint64], failure: int) -> bool:
    """Return whether (source, failure) is marked for any source."""
    for k in range(len(cases)):  # noqa: SIM110 - compiled
        if _has_bit(cases[k], failure):
            return True
    return False


def shared_trees(
    net: Along, sources: NDArray[np.int32], wanted: NDArray[np.bool_], most: int, roots: int
) -> NDArray[np.int32]:
    """Return trees that serve the wanted (source, failure), as positions of channels into switches, int32[T, n].

    The tree that serves most comes first, rooted at one of `roots` switches. At most `most` are made; the rest stays
    unserved.
    """
    n = len(net.out_start) - 1
    limit = int(min(most, wanted.sum()))
    found = np.empty((limit, n), np.int32)
    some = np.unique(np.linspace(0, n - 1, min(n, roots)).astype(np.int32))
    return found[: _shared(net, sources, wanted, some, limit, _room(net, sources), found)]


@kernel
def _choose(
    net: Along,
    sources: NDArray[np.int32],
    weight: NDArray[np.float64],
    wanted: NDArray[np.bool_],
    trees: NDArray[np.int32],
    room: Room,
    choice: NDArray[np.int32],
) -> None:
    """Write to `choice` the tree of fewest hops that serves each wanted (source, failure), -1 if none does."""
    n = len(net.out_start) - 1
    least = np.full(wanted.shape, np.inf)
    depth = np.empty(n, np.int64)
    cases = _packed(wanted)
    for t in range(len(trees)):
        if _serve(net, sources, trees[t], cases, room) == 0:
            continue
        for k in range(len(sources)):
            if not room.covered[k].any():
                continue
            time = rerooted(net, trees[t], sources[k])
            depth[sources[k]] = 0
            hops = 0.0
            for c in range(len(net.tail)):
                if time[net.head[c]] == c:
                    depth[net.head[c]] = depth[net.tail[c]] + 1
                    hops += weight[net.head[c]] * depth[net.head[c]]
            for f in range(wanted.shape[1]):
                if _has_bit(room.covered[k], f) and hops < least[k, f]:
                    least[k, f], choice[k, f] = hops, t


def chosen(
    net: Along,
    sources: NDArray[np.int32],
    weight: NDArray[np.float64],
    wanted: NDArray[np.bool_],
    trees: NDArray[np.int32],
) -> NDArray[np.int32]:
    """Return the tree that serves each wanted (source, failure) in fewest hops, int32[S, F], -1 for none.

    `weight` counts the hosts of each switch. Branches that lead to no host are cut off `trees`, in place.
    """
    choice = np.full(wanted.shape, -1, np.int32)
    _choose(net, sources, weight, wanted, trees, _room(net, sources), choice)
    return choice


@kernel
def rerooted(net: Along, time: NDArray[np.int32], root: int) -> NDArray[np.int32]:
    """Return a tree rerooted at another of its switches, int32[n]."""
    turned = time.copy()
    c = time[root]
    turned[root] = -1
    while c >= 0:
        u = net.tail[c]
        onward = time[u]
        turned[u] = net.back[c]
        c = onward
    return turned


@kernel
def _entries(net: Along, time: NDArray[np.int32], hosts: NDArray[np.float64], count: NDArray[np.float64]) -> None:
    """Write to `count`, float64[n], the entries that a tree's paths from its root need at each switch."""
    for v in range(len(time)):
        count[v] = hosts[v] if time[v] != OUTSIDE else 0.0
    for c in range(len(net.tail) - 1, -1, -1):
        if time[net.head[c]] == c:
            count[net.tail[c]] += count[net.head[c]]


@kernel
def _fit(
    net: Along,
    trees: NDArray[np.int32],
    grown: NDArray[np.int32],
    hosts: NDArray[np.float64],
    sequence: NDArray[np.int64],
    table: NDArray[np.float64],
    kept: NDArray[np.bool_],
) -> None:
    """Mark in `kept` the trees that fit beside the sources' own and those before them in `sequence`."""
    left, count = table.copy(), np.empty(len(table))
    for time in trees:
        _entries(net, time, hosts, count)
        left -= count
    for t in sequence:
        _entries(net, grown[t], hosts, count)
        fits = True
        for v in range(len(left)):
            fits &= count[v] <= left[v]
        if fits:
            left -= count
            kept[t] = True


def fitting(
    net: Along,
    trees: NDArray[np.int32],
    grown: NDArray[np.int32],
    hosts: NDArray[np.float64],
    uses: NDArray[np.int64],
    table: NDArray[np.int64],
) -> NDArray[np.bool_]:
    """Return which of the `grown` trees to keep so that no switch holds more entries than its `table`, bool[T].

    The sources' own `trees` are always there. Each tree is counted as if it shared no entry, so what is kept fits.
    Those that serve the most failures, `uses`, come first.
    """
    kept = np.zeros(len(grown), np.bool_)
    _fit(net, trees, grown, hosts, np.argsort(-uses, kind="stable"), table.astype(np.float64), kept)
    return kept
