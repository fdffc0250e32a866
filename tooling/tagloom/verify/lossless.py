"""Prove of anybody's routes that a lossless network cannot deadlock, or show the cycle and the turns to forbid."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle, on_cycles, ranks, shortest_through
from tagloom.graph.kernel import kernel
from tagloom.graph.rows import places
from tagloom.records.route_set import DELIVERED, NONE, Followed, LosslessProof, RouteSet, Shard, Turn
from tagloom.verify.forbidden_turns import EDGES, fewest_to_remove

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.route_set import ForwardingTables, Sharing


class _Cells(NamedTuple):
    """A cell for each (channel into a switch, group of channels out of it).

    That of channel ``incoming[first_in[s] + j]`` and group g of switch s is ``start[s] + j * groups[s] + place[g]``.
    """

    incoming: NDArray[np.int32]
    first_in: NDArray[np.int64]
    groups: NDArray[np.int64]
    place: NDArray[np.int32]
    start: NDArray[np.int64]
    held: NDArray[np.bool_]


ALL = -1  # in place of a priority: whatever frames have


def prove_lossless(routes: RouteSet) -> LosslessProof:
    """Prove routes deadlock-free, or show why not.

    No cycle of dependencies between channels means no deadlock, whatever priorities frames have (Dally and Seitz, IEEE
    Trans. Computers C-36(5), 1987, theorem 1: sufficient, and no buffer is assumed to be shared). If routes name
    priorities, frames of one wait for buffers of that one alone (IEEE 802.1Qbb), so that each is proven by itself.
    """
    count = len(routes.channels)
    whole = _ranks(routes.vertices, routes.before, routes.after)
    cycle = () if whole is not None else _cycle(routes, *routes.pairs)
    rank = {} if whole is None else {ALL: whole[:count]}
    by_priority: dict[int, tuple[str, ...]] = {}
    cyclic = [] if whole is not None else [routes.pairs]
    if routes.priority is not None:
        rank, cyclic = {}, []
        for priority in np.unique(routes.priority).tolist():
            before, after = (each[routes.priority == priority] for each in (routes.before, routes.after))
            alone = _ranks(count, before, after)
            by_priority[priority] = () if alone is not None else _cycle(routes, before, after)
            if alone is None:
                cyclic.append(np.stack([before, after]))
            else:
                rank[priority] = alone
    turns: set[tuple[int, int]] = set()
    at_least = 0
    for before, after in cyclic:
        inside = on_cycles(count, before, after)
        removed, bound = fewest_to_remove(before[inside], after[inside])
        turns |= removed
        at_least = max(at_least, bound)
    named = [Turn(routes.switches[routes.ends[a, 1]], routes.channels[a], routes.channels[b]) for a, b in sorted(turns)]
    return LosslessProof(routes, cycle, whole is not None, by_priority, tuple(named), at_least, {} if cyclic else rank)


def _ranks(vertices: int, before: NDArray[np.int64], after: NDArray[np.int64]) -> NDArray[np.int32] | None:
    """Return ranks that climb along every dependency, None where there are none."""
    try:
        return ranks(vertices, before, after)
    except ValueError:
        return None


def _cycle(routes: RouteSet, before: NDArray[np.int64], after: NDArray[np.int64]) -> tuple[str, ...]:
    """Return the channels of a cycle, a shortest one unless there are too many dependencies to look at all."""
    count = len(routes.channels)
    inside = on_cycles(count, before, after)
    before, after = before[inside], after[inside]
    few = len(before) <= EDGES
    found = find_cycle(count, before, after) if few else shortest_through(count, before, after, int(before[0]))
    return tuple(routes.channels[c] for c in found)


def dependencies(tables: ForwardingTables, sharing: Sharing | None = None) -> RouteSet:
    """Follow tables from every sender to every destination, and return what frames hold and wait for.

    A frame at a switch may have come over any channel that some sender's frame to the same destination takes there.
    O(switches + channels in use) per destination. Each destination is followed by itself, so `sharing` may have them
    followed in shards, anywhere: what is marked in one shard or another is what is marked in all at once.
    """
    cells, by_switch, first_group = _cells(tables.ends, tables.first, tables.members, len(tables.switches))
    count = len(tables.destinations)
    bounds = np.linspace(0, count, 1 + max(1, min(sharing.shards if sharing else 1, count))).astype(int).tolist()
    shards = [  # a list: Dask maps over nothing else
        Shard(tables.ends, np.ascontiguousarray(tables.group[:, a:b]), tables.first, tables.members, tables.senders)
        for a, b in itertools.pairwise(bounds)
    ]
    met = dead = 0
    for found in (sharing.run if sharing else map)(follow, shards):
        cells.held[found.marked] = True
        met, dead = met + found.met, dead + found.dead
    before, after = _graph(tables, cells, by_switch, first_group)
    findings = list(tables.findings)
    if dead:
        findings.append(Finding("tables", "an entry wherever frames to a destination come", f"{dead} without one"))
    return RouteSet(
        tables.channels,
        tables.switches,
        tables.ends,
        before,
        after,
        None,
        len(tables.destinations),
        met,
        dead,
        tuple(findings),
    )


def follow(shard: Shard) -> Followed:
    """Follow the frames to the destinations of a shard, and return what they hold and wait for as cells."""
    cells, _, _ = _cells(shard.ends, shard.first, shard.members, shard.group.shape[0])
    senders, into = np.flatnonzero(shard.senders).astype(np.int32), shard.ends[:, 1].astype(np.int32)
    met, dead = _follow(shard.group, shard.first, shard.members, into, senders, cells)
    return Followed(np.flatnonzero(cells.held), int(met), int(dead))


def _cells(
    ends: NDArray[np.int32], first: NDArray[np.int32], members: NDArray[np.int32], switches: int
) -> tuple[_Cells, NDArray[np.int64], NDArray[np.int64]]:
    """Return cells, none marked, and the groups by switch: those of s are [first_group[s]:first_group[s + 1]]."""
    into = ends[:, 1]
    of_group = ends[members[first[:-1]], 0]
    groups = np.bincount(of_group, minlength=switches)
    by_switch = np.argsort(of_group, kind="stable")
    first_group = np.concatenate([[0], np.cumsum(groups)])
    place = np.empty(len(of_group), np.int32)
    place[by_switch] = np.arange(len(of_group)) - first_group[of_group[by_switch]]
    incoming = np.argsort(into, kind="stable").astype(np.int32)
    degree = np.bincount(into, minlength=switches)
    first_in = np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)
    start = np.concatenate([[0], np.cumsum(degree * groups)]).astype(np.int64)
    return _Cells(incoming, first_in, groups, place, start, np.zeros(int(start[-1]), np.bool_)), by_switch, first_group


def _graph(
    tables: ForwardingTables, cells: _Cells, by_switch: NDArray[np.int64], first_group: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the marked (channel, group) and the members of all groups as dependencies, groups after the channels.

    The groups of switch s are ``by_switch[first_group[s]:first_group[s + 1]]``.
    """
    marked = np.flatnonzero(cells.held)
    at = np.searchsorted(cells.start, marked, side="right") - 1
    place, local = np.divmod(marked - cells.start[at], cells.groups[at])
    group = by_switch[first_group[at] + local]
    channel = cells.incoming[cells.first_in[at] + place].astype(np.int64)
    met, group = np.unique(group, return_inverse=True)  # a group that no frame meets has no member
    size = np.diff(tables.first)[met].astype(np.int64)
    count = len(tables.channels)
    before = np.concatenate([channel, count + np.repeat(np.arange(len(met)), size)])
    return before, np.concatenate([count + group, tables.members[places(tables.first[met], size)]]).astype(np.int64)


@kernel
def _follow(
    group: NDArray[np.int32],
    first: NDArray[np.int32],
    members: NDArray[np.int32],
    into: NDArray[np.int32],
    senders: NDArray[np.int32],
    cells: _Cells,
) -> tuple[int, int]:
    """Mark the dependencies of all destinations; return how many entries frames met, and how many were missing."""
    switches = group.shape[0]
    reached, arrived = np.full(switches, -1, np.int32), np.full(len(into), -1, np.int32)
    queue = np.empty(switches, np.int32)
    met, dead = 0, 0
    for d in range(group.shape[1]):
        tail = 0
        for s in senders:
            reached[s] = d
            queue[tail] = s
            tail += 1
        head = 0
        while head < tail:
            s = queue[head]
            head += 1
            g = group[s, d]
            if g == NONE:
                dead += 1
            elif g != DELIVERED:
                met += 1
                for i in range(first[g], first[g + 1]):
                    c = members[i]
                    arrived[c] = d
                    if reached[into[c]] != d:
                        reached[into[c]] = d
                        queue[tail] = into[c]
                        tail += 1
        for at in range(tail):
            s = queue[at]
            g = group[s, d]
            if g < 0:
                continue
            for j in range(cells.first_in[s], cells.first_in[s + 1]):
                if arrived[cells.incoming[j]] == d:
                    cells.held[cells.start[s] + (j - cells.first_in[s]) * cells.groups[s] + cells.place[g]] = True
    return met, dead
