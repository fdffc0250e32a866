"""Add channel dependencies while they stay acyclic, and grow spanning trees whose turns fit beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.cycles import find_cycle, ranks
from tagloom.graph.kernel import kernel
from tagloom.graph.rows import places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

    Edges = tuple[NDArray[np.int64], NDArray[np.int64]]


class _Order(NamedTuple):
    """Dependencies as linked lists of edges, and a topological order of their channels.

    place      int64[C], the position of each channel in the order
    ends       int64[2, E], of each edge: the channel held, the channel wanted
    first      int64[2, C], by direction, the newest edge of each channel; following int64[2, E], the one before it
    size       int64[1], the number of edges
    mark, scratch  int64[C], int64[3, C], for searches
    """

    place: NDArray[np.int64]
    ends: NDArray[np.int64]
    first: NDArray[np.int64]
    following: NDArray[np.int64]
    size: NDArray[np.int64]
    mark: NDArray[np.int64]
    scratch: NDArray[np.int64]


class Acyclic:
    """Dependencies between C channels, with a topological order that is repaired as they grow.

    Adding an edge visits only the channels between its ends in the order (Pearce and Kelly, ACM JEA 11, 2006). Edges
    come in groups, which are added as a whole or not at all.
    """

    def __init__(self, channels: int, bases: Sequence[Edges], room: int) -> None:
        """Start from sets of dependencies, each acyclic by itself; additions must fit each of them.

        There is room for `room` more in each. Raises ValueError if one is cyclic. Set n uses separate channels, n C ..
        (n + 1) C.
        """
        held, wanted = together(*((old + n * channels, new + n * channels) for n, (old, new) in enumerate(bases)))
        self.channels, channels = channels, channels * len(bases)
        rank = ranks(channels, held, wanted)
        place = np.empty(channels, np.int64)
        place[np.argsort(rank, kind="stable")] = np.arange(channels)
        most = len(held) + room * len(bases)
        self.order = _Order(
            place,
            np.zeros((2, most), np.int64),
            np.full((2, channels), -1, np.int64),
            np.full((2, most), -1, np.int64),
            np.zeros(1, np.int64),
            np.zeros(channels, np.int64),
            np.empty((3, channels), np.int64),
        )
        _link_all(self.order, held, wanted)

    def add(self, held: NDArray[np.int64], wanted: NDArray[np.int64]) -> bool:
        """Add dependencies to all sets; if they would close a cycle in one, add none and return False."""
        shift = np.arange(len(self.order.place) // self.channels)[:, None] * self.channels
        held, wanted = (held + shift).ravel(), (wanted + shift).ravel()
        return bool(_add(self.order, held, wanted))

    def grow_tree(self, fabric: Fabric, links: NDArray[np.int64], wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return a forest of links, taken in order if they join two parts and their turns fit; bool[L].

        It stops once the switches that `wanted` masks are connected.
        """
        ends = fabric.tail.astype(np.int64), fabric.head.astype(np.int64)
        return _grow(self.order, links, *ends, wanted, len(self.order.place) // self.channels)


def tree_turns(fabric: Fabric, tree: NDArray[np.bool_]) -> Edges:
    """Return the turns of a tree of links, bool[L], as dependencies: from each of its channels to all next ones."""
    channels = np.flatnonzero(np.repeat(tree, 2))
    into, out = fabric.head[channels], fabric.tail[channels]
    by_out = np.argsort(out, kind="stable")
    lo, hi = np.searchsorted(out[by_out], into, "left"), np.searchsorted(out[by_out], into, "right")
    count = hi - lo
    held = np.repeat(channels, count)
    wanted = channels[by_out[places(lo, count)]]
    turn = held // 2 != wanted // 2
    return held[turn].astype(np.int64), wanted[turn].astype(np.int64)


def together(*parts: Edges) -> Edges:
    """Return dependencies concatenated; some may then occur twice."""
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def acyclic(channels: int, *parts: Edges) -> bool:
    """Return whether dependencies are acyclic together."""
    return not find_cycle(channels, *together(*parts))


@kernel
def _link(order: _Order, held: int, wanted: int) -> None:
    ends, first, following = order.ends, order.first, order.following
    e = order.size[0]
    order.size[0] += 1
    ends[0, e], ends[1, e] = held, wanted
    for direction in range(2):
        following[direction, e] = first[direction, ends[direction, e]]
        first[direction, ends[direction, e]] = e


@kernel
def _link_all(order: _Order, held: NDArray[np.int64], wanted: NDArray[np.int64]) -> None:
    for i in range(len(held)):
        _link(order, held[i], wanted[i])


@kernel
def _between(order: _Order, start: int, direction: int, bound: int, found: NDArray[np.int64]) -> int:
    """Write what `start` leads to (direction 0) or is led to from (1), up to place `bound`; return the number."""
    place, ends, first, following, _, mark, _ = order
    n, at = 1, 0
    found[0] = start
    mark[start] = 1
    while at < n:
        e = first[direction, found[at]]
        while e >= 0:
            c = ends[1 - direction, e]
            if mark[c] == 0 and (place[c] <= bound if direction == 0 else place[c] >= bound):
                mark[c] = 1
                found[n] = c
                n += 1
            e = following[direction, e]
        at += 1
    return n


@kernel
def _insert(order: _Order, held: int, wanted: int) -> bool:
    """Repair the order for one more edge, not yet linked; return False, and leave it, if that closes a cycle."""
    place, mark, scratch = order.place, order.mark, order.scratch
    if held == wanted:
        return False
    low, high = place[wanted], place[held]
    if high < low:
        return True
    ahead, behind, pool = scratch[0], scratch[1], scratch[2]
    n = _between(order, wanted, 0, high, ahead)
    closed = mark[held] == 1
    for i in range(n):
        mark[ahead[i]] = 0
    if closed:
        return False
    m = _between(order, held, 1, low, behind)
    for i in range(m):
        mark[behind[i]] = 0
        pool[i] = place[behind[i]]
    for i in range(n):
        pool[m + i] = place[ahead[i]]
    front, back = np.argsort(pool[:m]), np.argsort(pool[m : m + n])
    places = np.sort(pool[: m + n])
    for i in range(m):
        place[behind[front[i]]] = places[i]
    for i in range(n):
        place[ahead[back[i]]] = places[m + i]
    return True


@kernel
def _add(order: _Order, held: NDArray[np.int64], wanted: NDArray[np.int64]) -> bool:
    ends, first, following, size = order.ends, order.first, order.following, order.size
    began = size[0]
    for i in range(len(held)):
        if not _insert(order, held[i], wanted[i]):
            while size[0] > began:  # the repaired order fits fewer edges as well
                size[0] -= 1
                e = size[0]
                for direction in range(2):
                    first[direction, ends[direction, e]] = following[direction, e]
            return False
        _link(order, held[i], wanted[i])
    return True


@kernel
def _root(parent: NDArray[np.int64], s: int) -> int:
    while parent[s] != s:
        parent[s] = parent[parent[s]]
        s = parent[s]
    return s


@kernel
def _grow(
    order: _Order,
    links: NDArray[np.int64],
    tail: NDArray[np.int64],
    head: NDArray[np.int64],
    wanted: NDArray[np.bool_],
    copies: int,
) -> NDArray[np.bool_]:
    switches = len(wanted)
    tree = np.zeros(len(tail) // 2, np.bool_)
    parent = np.arange(switches)
    count = wanted.astype(np.int64)  # wanted switches in each part
    missing = count.sum() - 1
    newest = np.full(switches, -1, np.int64)  # channels of the tree that enter a switch, chained
    older = np.full(len(tail), -1, np.int64)
    for i in links:
        if missing <= 0:
            break
        a, b = _root(parent, tail[2 * i]), _root(parent, head[2 * i])
        if a == b:
            continue
        n = 0
        for out in (2 * i, 2 * i + 1):
            c = newest[tail[out]]
            while c >= 0:
                n += 2
                c = older[c]
        held, then = np.empty(n * copies, np.int64), np.empty(n * copies, np.int64)
        n = 0
        for shift in range(0, copies * len(tail), len(tail)):
            for out in (2 * i, 2 * i + 1):
                c = newest[tail[out]]
                while c >= 0:
                    held[n], then[n] = c + shift, out + shift
                    held[n + 1], then[n + 1] = (out ^ 1) + shift, (c ^ 1) + shift
                    n += 2
                    c = older[c]
        if not _add(order, held, then):
            continue
        tree[i] = True
        missing -= 1 if count[a] > 0 and count[b] > 0 else 0
        parent[a] = b
        count[b] += count[a]
        for c in (2 * i, 2 * i + 1):
            older[c] = newest[head[c]]
            newest[head[c]] = c
    return tree
