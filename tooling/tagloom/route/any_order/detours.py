"""Trees around each single failure along the order that all paths ascend, shared or per source."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.any_order.protect import Failures
    from tagloom.route.net import Ordered

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
def _avoids(net: Along, c: int, avoided: NDArray[np.bool_]) -> bool:
    """Return whether a channel's link, or the switch it leaves, is to be avoided."""
    return bool(avoided[net.first[c]]) or (net.second[c] >= 0 and bool(avoided[net.second[c]]))


@kernel
def _grow(  # noqa: C901, PLR0912, PLR0913 - one compiled loop: split, each part would take all of its arrays
    net: Along,
    root: int,
    dead: int,
    avoided: NDArray[np.bool_],
    time: NDArray[np.int32],
    level: NDArray[np.int32],
    early: NDArray[np.int32],
    queue: NDArray[np.int32],
    foremost: int,
) -> None:
    """Grow a tree from `root` past a failure to all that ascending paths reach, around `avoided` failures if possible.

    First level by level, by the earliest channel. The rest, or with `foremost` everything, is reached by the earliest
    arrivals, which reach everything and form a tree. `time` gets positions of channels, ROOT and OUTSIDE.
    """
    n, m = len(time), len(net.tail)
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
            if c <= time[u] or _is_dead(net, c, dead):
                continue
            v = net.head[c]
            if _avoids(net, c, avoided) or v == root:
                continue
            if level[v] < 0:
                level[v], time[v] = level[u] + 1, c
                queue[end] = v
                end += 1
            elif level[v] == level[u] + 1 and c < time[v]:
                time[v] = c
    for careful in (True, False):
        for v in range(n):
            early[v] = m
        early[root] = -1
        for c in range(m):
            if _is_dead(net, c, dead):
                continue
            if careful and _avoids(net, c, avoided):
                continue
            if early[net.tail[c]] < c < early[net.head[c]]:
                early[net.head[c]] = c
        for i in range(n):
            v = i
            if level[v] >= 0 or early[v] == m:
                continue
            while True:
                c = early[v]
                level[v], time[v] = 0, c
                v = net.tail[c]
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
def _covers(
    net: Along,
    sources: NDArray[np.int32],
    open_cases: NDArray[np.bool_],
    legal: NDArray[np.bool_],
    holds: NDArray[np.bool_],
    span: NDArray[np.uint64],
    covered: NDArray[np.bool_],
) -> int:
    """Mark the open (source, failure) that a tree serves in full, and return their number."""
    everything = True
    for w in range(len(span)):
        everything = everything and span[w] == net.hosts[w]
    count = 0
    for k in range(len(sources)):
        s = sources[k]
        if not legal[s]:
            covered[k, :] = False
            continue
        for f in range(open_cases.shape[1]):
            good = open_cases[k, f] and not holds[f]
            if good and not everything:
                for w in range(len(span)):
                    good = good and not (net.reach[f, s, w] & net.hosts[w] & ~span[w])
            covered[k, f] = good
            count += good
    return count


class Room(NamedTuple):
    """Work arrays of the search for trees: by switch, by failure, by source and failure."""

    time: NDArray[np.int32]
    level: NDArray[np.int32]
    early: NDArray[np.int32]
    queue: NDArray[np.int32]
    near: NDArray[np.int32]
    legal: NDArray[np.bool_]
    kept: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    span: NDArray[np.uint64]
    covered: NDArray[np.bool_]


def _room(net: Along, sources: int) -> Room:
    count, n, words = net.reach.shape
    whole = np.empty((4, n), np.int32)
    flags = np.empty((2, n), np.bool_)
    return Room(
        whole[0], whole[1], whole[2], whole[3], np.empty((3, n), np.int32), flags[0], flags[1],
        np.empty(count, np.bool_), np.empty(words, np.uint64), np.empty((sources, count), np.bool_),
    )  # fmt: skip


@kernel
def _serve(
    net: Along, sources: NDArray[np.int32], time: NDArray[np.int32], wanted: NDArray[np.bool_], room: Room
) -> int:
    """Mark in `room.covered` the wanted (source, failure) that a tree serves, and return their number."""
    _prune(net, time, room.kept)
    _survey(net, time, room.legal, room.holds, room.span, room.queue, room.near)
    return _covers(net, sources, wanted, room.legal, room.holds, room.span, room.covered)


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
    open_cases = wanted.copy()
    count, taken = open_cases.shape[1], 0
    avoided = np.zeros(count, np.bool_)
    best = np.empty(len(room.time), np.int32)
    while taken < most:
        worst, dead = 0, -1
        for f in range(count):
            sources_open = open_cases[:, f].sum()
            if sources_open > worst:
                worst, dead = sources_open, f
        if dead < 0:
            break
        for f in range(net.links):  # avoid links whose failure leaves many sources unserved
            avoided[f] = 2 * open_cases[:, f].sum() > worst
        top = 0
        for r in roots:
            if net.links + r == dead:
                continue
            for foremost in (1, 0):
                _grow(net, r, dead, avoided, room.time, room.level, room.early, room.queue, foremost)
                served = _serve(net, sources, room.time, open_cases, room)
                if served > top and room.covered[:, dead].any():
                    top = served
                    best[:] = room.time
        if top == 0:
            for k in range(len(sources)):  # no tree from these roots serves it, but one from a source itself does
                if open_cases[k, dead]:
                    _grow(net, sources[k], dead, avoided, best, room.level, room.early, room.queue, 0)
                    break
        found[taken] = best
        taken += 1
        _serve(net, sources, found[taken - 1], open_cases, room)
        open_cases &= ~room.covered
    return taken


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
    return found[: _shared(net, sources, wanted, some, limit, _room(net, len(sources)), found)]


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
    for t in range(len(trees)):
        if _serve(net, sources, trees[t], wanted, room) == 0:
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
                if room.covered[k, f] and hops < least[k, f]:
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
    _choose(net, sources, weight, wanted, trees, _room(net, len(sources)), choice)
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
