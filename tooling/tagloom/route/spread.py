"""Spread load over parallel links and trees, host by host, without closing a dependency cycle.

The switches on a path stay as the routing chose them. Free are the parallel link of each hop, and for each host the
choice among trees as short as its own. Interchangeable channels form a class. If the dependencies between classes are
acyclic, those between any channels chosen from them are too, since a cycle of channels would be a cycle of classes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import find_cycle
from tagloom.graph.floods import flooded_by, load_with_copies, unflooded_bytes
from tagloom.graph.integer_programs import solve_program
from tagloom.graph.paths import channel_load, departures, dependencies, path_lengths, paths_to
from tagloom.graph.search import all_hops
from tagloom.graph.trees import rooted
from tagloom.records.routes import UNUSED, Relation, Routes
from tagloom.route.backwards import turned_around

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

CLOSE_ENOUGH = 1.05  # of the bound: no more VLANs are spent beyond this
POWER = 8  # hosts choose by the sum of load^8: nearly the maximum, yet every load counts
PASSES = 8  # times every host may choose again
WORK = 50_000_000  # hops examined in all; a limit that is the same on every machine, unlike seconds
CYCLE_CHECKS = 256  # searches for a cycle, each linear in the dependencies
TREE_PAIRS = 4_096  # (source, tree) pairs tried for trees that other sources use
LARGEST = 2_000_000  # paths from sources to switches; a fabric with more keeps its parallel links
PROGRAM_TERMS = 200_000  # most coefficients of the linear program for the bound
EXACT_TERMS = 20_000  # coefficients up to which its variables are integers
PROGRAM_NODES = 200  # its branch-and-bound nodes


@dataclass(frozen=True, eq=False)
class Spread:
    """Spread routes, and a lower bound on the load of the busiest channel over all choices left free."""

    routes: Routes
    bound: float


@dataclass(frozen=True, eq=False)
class _Sent:
    """What hosts send: float64[H, T] to each of the switches with hosts, or [1, T] if all send alike.

    flooded  float64[H], what each floods along its tree besides, over each channel once
    hears    bool[H, T], whether a frame that a host floods is to come to each of the switches
    alike    all hosts send alike: one to each host
    """

    to: NDArray[np.float64]
    flooded: NDArray[np.float64]
    hears: NDArray[np.bool_]
    alike: bool

    def over(self, path: NDArray[np.int32], h: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return what host `h` sends over channels of a tree, its path to each target as int32[T, D]: to be added up.

        A channel is there once for each target behind it, and once for what is flooded.
        """
        row, going = 0 if self.alike else h, path >= 0
        channel, amount = path[going], np.repeat(self.to[row], path.shape[1])[going.ravel()]
        if self.flooded[h]:
            leading = np.unique(path[self.hears[h]][going[self.hears[h]]])
            channel = np.concatenate([channel, leading])
            amount = np.concatenate([amount, np.full(len(leading), self.flooded[h])])
        return channel, amount


@dataclass(frozen=True, eq=False)
class _ParallelLinks:
    """The classes of channels, K of them.

    of       int32[C], the class of each channel, -1 if the link is down
    index    int32[C], its number in the class
    members  int32, the channels class by class; those of class k begin at start[k], size[k] of them
    """

    of: NDArray[np.int32]
    index: NDArray[np.int32]
    members: NDArray[np.int32]
    start: NDArray[np.int64]
    size: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class _PathChoices:
    """The paths that hosts may use, O of them: a root and the path to each of the T switches with hosts.

    root     int32[O]
    source   int32[O], its source in the given routes, -1 for a tree of another source
    path     int32[O, T, D], the channels in turn, -1 after the last
    targets  int32[T]
    """

    root: NDArray[np.int32]
    source: NDArray[np.int32]
    path: NDArray[np.int32]
    targets: NDArray[np.int32]


def spread(
    fabric: Fabric,
    routes: Routes,
    assignment: str = "fixed",
    volume: NDArray[np.float64] | None = None,
    *,
    floods: bool = False,
) -> Spread:
    """Return routes with parallel links and trees chosen per host so that the busiest channel carries little.

    `volume` is float64[H, H], bytes by ordered host pair; without it every pair of different hosts counts 1.

    Every host takes one tree and starts on one parallel link. A frame keeps the number of its parallel link, so the
    next channel still follows from the channel of arrival and both assignments can realise it. Fixed assignment may
    also change single hops of single hosts if the load still exceeds CLOSE_ENOUGH times the bound. With `volume` the
    result is never worse than the choice without it, nor than `routes`. Deterministic, bounded by WORK.

    With `floods`, bytes to uplinks without an address cross every channel of their sender's tree that leads to a host
    of its network, where paths are trees.
    """
    floods = floods and routes.parent is not None
    if _too_large(routes, fabric):
        return Spread(routes, _mean_bound(fabric, routes, volume))
    parallel_links = _classes(fabric, routes, merge=assignment == "fixed")
    choices = _path_choices(fabric, routes, parallel_links, others=assignment == "fixed")
    sent = _towards(fabric, choices.targets, volume, floods=floods)
    bound, start = _bound(fabric, routes, choices, sent)
    if assignment != "fixed" and departures(fabric, routes) is None:
        return Spread(routes, bound)
    pairs = _towards(fabric, choices.targets, None)
    found = [
        routes,
        _chosen(fabric, routes, parallel_links, choices, assignment, pairs, bound if volume is None else 0.0),
    ]
    if volume is not None:
        found.append(_chosen(fabric, routes, parallel_links, choices, assignment, sent, bound))
    if start is not None:
        found.append(_chosen(fabric, routes, parallel_links, choices, assignment, sent, bound, start))
    most = [busiest(fabric, r, volume, floods=floods) for r in found]
    best = found[next(i for i, load in enumerate(most) if load <= min(most) * (1 + 1e-9))]
    if find_cycle(len(fabric.tail), *dependencies(fabric, best)):
        raise ValueError("channels chosen from classes without a cycle closed one")
    return Spread(best, bound)


def busiest(fabric: Fabric, routes: Routes, volume: NDArray[np.float64] | None, *, floods: bool) -> float:
    """Return the load of the busiest channel, units of channel_load; with `floods`, of all copies along trees."""
    if floods and volume is not None and routes.parent is not None:
        return float(load_with_copies(fabric, routes, volume).max(initial=0.0))
    return float(channel_load(fabric, routes, volume).max(initial=0.0))


def load_bound(
    fabric: Fabric,
    routes: Routes,
    assignment: str = "fixed",
    volume: NDArray[np.float64] | None = None,
    *,
    floods: bool = False,
) -> float:
    """Return a lower bound on the load of the busiest channel over all choices of `spread`; units of channel_load.

    If every host has one tree, it is for each hop the mean over its parallel links, and the consequence of a host's
    share staying whole (VLAN trees hold one parallel link of a hop; renamed in-ports flood to one, or frames are
    duplicated). If hosts may choose among trees, it is a program with fractional choices, parallel links pooled and,
    without `volume`, whole shares on a parallel link. Paths by destination are bounded as the trees that they are
    backwards, without copies of what `floods`: those only raise it.
    """
    if assignment == "pinned":
        backwards = volume.T if volume is not None else None
        return load_bound(fabric, turned_around(fabric, routes), "fixed", backwards)
    if _too_large(routes, fabric):
        return _mean_bound(fabric, routes, volume)
    parallel_links = _classes(fabric, routes, merge=assignment == "fixed")
    choices = _path_choices(fabric, routes, parallel_links, others=assignment == "fixed")
    copied = floods and routes.parent is not None
    return _bound(fabric, routes, choices, _towards(fabric, choices.targets, volume, floods=copied))[0]


# --- what is free ----------------------------------------------------------------------------------------------------


def _hops(fabric: Fabric) -> NDArray[np.int64]:
    """Return the number of each channel's ordered neighbour pair, int64[C]; parallel channels share it."""
    pair = fabric.tail.astype(np.int64) * len(fabric.switches) + fabric.head
    _, hop = np.unique(pair, return_inverse=True)
    return np.asarray(hop, np.int64)


def _classes(fabric: Fabric, routes: Routes, *, merge: bool) -> _ParallelLinks:
    """Return the classes of interchangeable channels.

    At best a class is all parallel links of a hop. If dependencies between whole hops would close a cycle (a ring cut
    at two places, one per parallel link), or with `merge` off if a hop uses several parallel links, used ones stay
    separate and take the unused ones. With `merge`, hop by hop, they are then joined if that closes no cycle.
    """
    held, wanted = dependencies(fabric, routes)
    hop, channels = _hops(fabric), len(fabric.tail)
    used = np.zeros(channels, np.bool_)
    load = channel_load(fabric, routes)
    used[load > 0] = True
    several = np.bincount(hop[used], minlength=int(hop.max(initial=-1)) + 1) > 1
    if (merge or not several.any()) and not find_cycle(channels, hop[held], hop[wanted]):
        return _numbered(fabric, hop)
    leader = np.full(len(several), -1, np.int64)  # the busiest parallel link of each hop takes the unused ones
    order = np.lexsort((-np.arange(channels), load))
    leader[hop[order]] = order
    of = np.where(used, np.arange(channels), leader[hop])
    for h in np.flatnonzero(several).tolist()[: CYCLE_CHECKS if merge else 0]:
        joined = np.where(hop == h, leader[h], of)
        if not find_cycle(channels, joined[held], joined[wanted]):
            of = joined
    return _numbered(fabric, of)


def _numbered(fabric: Fabric, of: NDArray[np.int64]) -> _ParallelLinks:
    up = np.flatnonzero(fabric.channel_up)
    kind = np.full(len(of), -1, np.int32)
    kind[up] = np.unique(of[up], return_inverse=True)[1]
    parallel_link = np.repeat(np.array([link.parallel_link for link in fabric.links], np.int64), 2)
    members = up[np.lexsort((up, parallel_link[up], kind[up]))].astype(np.int32)
    size = np.bincount(kind[up])
    start = np.concatenate([[0], np.cumsum(size)[:-1]]).astype(np.int64)
    index = np.zeros(len(of), np.int32)
    index[members] = np.arange(len(members)) - start[kind[members]] if len(members) else 0
    return _ParallelLinks(kind, index, members, start, size)


def _path_choices(fabric: Fabric, routes: Routes, parallel_links: _ParallelLinks, *, others: bool) -> _PathChoices:
    """Return the paths that hosts may use: those of their switch's sources and, with `others`, other sources' trees.

    Another source's tree qualifies if it reaches every switch with hosts in as few hops and the dependencies of all
    paths between classes stay acyclic. Renamed assignment cannot use those: an in-port's flooding would widen.
    """
    targets = np.unique(fabric.host_switch)
    extra = _other_trees(fabric, routes, parallel_links, targets) if others and routes.parent is not None else []
    source = np.concatenate([np.arange(routes.sources), np.full(len(extra), -1)]).astype(np.int32)
    path = paths_to(fabric, routes, targets)
    root = routes.root
    if extra:
        root = np.concatenate([root, [r for r, _ in extra]]).astype(np.int32)
        added = Routes("", "", routes.source_of_host, root[routes.sources :], np.stack([row for _, row in extra]))
        more = paths_to(fabric, added, targets)
        depth = max(path.shape[2], more.shape[2])
        widen = [np.pad(p, ((0, 0), (0, 0), (0, depth - p.shape[2])), constant_values=-1) for p in (path, more)]
        path = np.concatenate(widen)
    return _PathChoices(root, source, path, targets)


def _other_trees(
    fabric: Fabric, routes: Routes, parallel_links: _ParallelLinks, targets: NDArray[np.int32]
) -> list[tuple[int, NDArray[np.int32]]]:
    kind = parallel_links.of
    distinct: dict[frozenset[int], NDArray[np.int32]] = {}
    taken: set[tuple[int, frozenset[int]]] = set()
    for root, row in zip(routes.root.tolist(), routes.trees, strict=True):
        channels = row[row >= 0]
        pairs = frozenset(kind[channels].tolist()) | frozenset(kind[channels ^ 1].tolist())
        distinct.setdefault(pairs, channels // 2)
        taken.add((root, pairs))
    depth = path_lengths(fabric, routes)[:, targets]
    roots = np.unique(routes.root).tolist()
    if len(roots) * len(distinct) > TREE_PAIRS or len(distinct) < 2:
        return []
    found: list[tuple[int, NDArray[np.int32]]] = []
    for root in roots:
        mine = depth[routes.root == root].min(axis=0)
        for pairs, links in distinct.items():
            if (root, pairs) in taken:
                continue
            row = rooted(fabric, links.tolist(), root)
            as_far = path_lengths(fabric, Routes("", "", routes.source_of_host, np.array([root], np.int32), row[None]))
            if np.array_equal(as_far[0, targets], mine):
                found.append((root, row))
    held, wanted = dependencies(fabric, routes)
    before, after = kind[held].astype(np.int64), kind[wanted].astype(np.int64)
    needed = [_dependencies_of(fabric, routes, root, row) for root, row in found]
    return _acyclic(found, [(kind[h].astype(np.int64), kind[w].astype(np.int64)) for h, w in needed], before, after)


def _dependencies_of(
    fabric: Fabric, routes: Routes, root: int, row: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return dependencies(fabric, Routes("", "", routes.source_of_host, np.array([root], np.int32), row[None]))


def _acyclic(
    found: list[tuple[int, NDArray[np.int32]]],
    needed: list[tuple[NDArray[np.int64], NDArray[np.int64]]],
    before: NDArray[np.int64],
    after: NDArray[np.int64],
) -> list[tuple[int, NDArray[np.int32]]]:
    """Return the trees whose dependencies close no cycle with all others: all at once if possible, else one by one."""
    classes = max((int(x.max(initial=-1)) for x in (before, after, *(n for pair in needed for n in pair))), default=-1)
    everything = [np.concatenate([x, *(pair[i] for pair in needed)]) for i, x in enumerate((before, after))]
    if not find_cycle(classes + 1, *everything):
        return found
    kept = []
    for tree, (held, wanted) in list(zip(found, needed, strict=True))[:CYCLE_CHECKS]:
        b, a = np.concatenate([before, held]), np.concatenate([after, wanted])
        if not find_cycle(classes + 1, b, a):
            before, after = b, a
            kept.append(tree)
    return kept


# --- how low it can get ----------------------------------------------------------------------------------------------


def _towards(
    fabric: Fabric, targets: NDArray[np.int32], volume: NDArray[np.float64] | None, *, floods: bool = False
) -> _Sent:
    """Return what each host sends to each switch with hosts, and what it floods; without `volume` all send alike.

    Without `volume` a host also counts one for itself at its own switch, which crosses no channel.
    """
    column, hosts = np.searchsorted(targets, fabric.host_switch), len(fabric.hosts)
    flooded, hears = np.zeros(hosts), np.zeros((hosts, len(targets)), np.bool_)
    if volume is None:
        return _Sent(np.bincount(column, minlength=len(targets)).astype(np.float64)[None], flooded, hears, alike=True)
    if floods:
        flooded, volume = flooded_by(fabric, volume), unflooded_bytes(fabric, volume)
        for mine in fabric.networks.values():
            hears[mine[:, None], column[mine][None, :]] = True
    sent = np.zeros((hosts, len(targets)))
    np.add.at(sent.T, column, volume.T)
    return _Sent(sent, flooded, hears, alike=False)


def _scale(fabric: Fabric, *, alike: bool) -> NDArray[np.float64]:
    """Return the weight of a unit on each channel: for bytes, scaled to 1 Gb/s of capacity."""
    if alike:
        return np.ones(len(fabric.tail))
    return 1000.0 / np.repeat(np.array([link.capacity_mbps() for link in fabric.links], np.float64), 2)


def _bound(
    fabric: Fabric, routes: Routes, choices: _PathChoices, sent: _Sent
) -> tuple[float, NDArray[np.int64] | None]:
    """Return the bound and, with bytes and several paths, the path of each host in a solution that attains it."""
    hop, up, scale = _hops(fabric), fabric.channel_up, _scale(fabric, alike=sent.alike)
    hops = int(hop.max(initial=-1)) + 1
    if not hops:
        return 0.0, None
    room = np.bincount(hop[up], 1.0 / scale[up], hops).astype(np.float64)  # capacity of a hop, all parallel links
    parallel_links, fastest = np.bincount(hop[up], minlength=hops), np.full(hops, np.inf)
    np.minimum.at(fastest, hop[up], scale[up])
    # Without bytes the `count` hosts of a switch are alike. A share is [path, hop]: what crosses each hop.
    kinds, count = np.unique(fabric.host_switch, return_counts=True)
    if not sent.alike:
        kinds, count = fabric.host_switch, np.ones(len(fabric.hosts), np.int64)
    share = [
        np.stack([_load_per_hop(hop, choices.path[o], sent, i, hops) for o in np.flatnonzero(choices.root == s)])
        for i, s in enumerate(kinds.tolist())
    ]
    certain = np.stack([rows.min(axis=0) for rows in share])  # on any path that the host may take
    best = float(np.max(count @ certain / np.where(room > 0, room, np.inf)))
    for h in np.flatnonzero(parallel_links).tolist() if routes.parent is not None else ():
        best = max(best, _whole_shares(np.repeat(certain[:, h], count), int(parallel_links[h])) * float(fastest[h]))
    start: NDArray[np.int64] | None = None
    if any(len(rows) > 1 for rows in share):
        whole = routes.parent is not None
        of_hop = parallel_links if sent.alike and whole else None
        least, taken = _program(share, count, room, fastest, of_hop, whole=whole)
        best = max(best, least)
        if taken is not None and not sent.alike:
            after = np.cumsum([len(rows) for rows in share])
            start = np.array([int(np.argmax(part)) for part in np.split(taken, after[:-1])], np.int64)
    return float(np.ceil(best - 1e-6)) if sent.alike else best, start


def distance_bound(fabric: Fabric, volume: NDArray[np.float64] | None = None) -> float:
    """Return a lower bound on the load of the busiest channel over all routings; units of channel_load.

    It assumes shortest paths everywhere, spread evenly over all links.
    """
    up, n = fabric.channel_up, len(fabric.switches)
    if not up.any():
        return 0.0
    hops = all_hops(n, fabric.tail[up], fabric.head[up])[np.ix_(fabric.host_switch, fabric.host_switch)]
    hops = np.where(np.isfinite(hops), hops, 0.0)
    crossed = hops.sum() if volume is None else (hops * volume).sum()
    return float(crossed / (1.0 / _scale(fabric, alike=volume is None)[up]).sum())


def any_bound(fabric: Fabric, volume: NDArray[np.float64] | None = None) -> float:
    """Return a lower bound on the load of the busiest channel over all routings and assignments; as `distance_bound`.

    What leaves or enters a switch crosses its own links, too, spread evenly at best.
    """
    n, up = len(fabric.switches), fabric.channel_up
    amount = np.ones((len(fabric.hosts),) * 2) if volume is None else volume
    demand = np.zeros((n, n))
    np.add.at(demand, (fabric.host_switch[:, None], fabric.host_switch[None, :]), amount)
    np.fill_diagonal(demand, 0.0)
    room = np.bincount(fabric.tail[up], 1.0 / _scale(fabric, alike=volume is None)[up], n)
    most = np.maximum(demand.sum(axis=0), demand.sum(axis=1))
    at_switch = np.max(most[room > 0] / room[room > 0], initial=0.0)
    best = max(float(at_switch), distance_bound(fabric, volume))
    return float(np.ceil(best - 1e-6)) if volume is None else best


def _mean_bound(fabric: Fabric, routes: Routes, volume: NDArray[np.float64] | None) -> float:
    """Return the largest mean of a hop over its parallel links: the only bound for fabrics too large for the others."""
    hop, up, scale = _hops(fabric), fabric.channel_up, _scale(fabric, alike=volume is None)
    carried = np.bincount(hop, channel_load(fabric, routes, volume) / scale)
    room = np.bincount(hop[up], 1.0 / scale[up], len(carried))
    mean = float(np.max(carried[room > 0] / room[room > 0], initial=0.0))
    return float(np.ceil(mean - 1e-6)) if volume is None else mean


def _too_large(routes: Routes, fabric: Fabric) -> bool:
    return routes.sources * len(np.unique(fabric.host_switch)) > LARGEST


def _load_per_hop(
    hop: NDArray[np.int64], path: NDArray[np.int32], sent: _Sent, h: int, hops: int
) -> NDArray[np.float64]:
    channel, amount = sent.over(path, h)
    return np.bincount(hop[channel], amount, hops).astype(np.float64)


def _whole_shares(share: NDArray[np.float64], parallel_links: int) -> float:
    """Return a bound on the busiest of m parallel links: of the k m + 1 largest whole shares, one link holds k + 1."""
    ordered = -np.sort(-share)
    total = np.concatenate([[0.0], np.cumsum(ordered)])
    last = np.arange(0, len(ordered), parallel_links)  # k * parallel links
    return float((total[last + 1] - total[last - last // parallel_links]).max(initial=0.0))


def _program(
    share: list[NDArray[np.float64]],
    count: NDArray[np.int64],
    room: NDArray[np.float64],
    fastest: NDArray[np.float64],
    parallel_links: NDArray[np.int64] | None,
    *,
    whole: bool,
) -> tuple[float, NDArray[np.float64] | None]:
    """Minimise the busiest hop's mean over the choices of paths; return (bound, hosts of each group on each path).

    The bound is 0 if the program is too large, and the counts, group by group, are None without a solution. With
    `whole` every host takes one path. With `parallel_links` shares stay whole too: if n of them cross a hop of m
    parallel links, one parallel link holds a whole number of them, n/m or more. Stopped at PROGRAM_NODES branches it
    still gives a bound.
    """
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 - a third of a second most need not wait
    from scipy.sparse import csr_matrix, diags, hstack  # noqa: PLC0415 - a third of a second that most commands need not wait for

    rows = np.concatenate(share)
    if np.count_nonzero(rows) > PROGRAM_TERMS:
        return 0.0, None
    used = np.flatnonzero(rows.any(axis=0))
    choices, hops = len(rows), len(used)
    # Variables: hosts of each group on each path, shares on the fullest parallel link of each hop, the objective.
    group = np.repeat(np.arange(len(share)), [len(r) for r in share])
    each = csr_matrix((np.ones(choices), (group, np.arange(choices))), (len(share), choices + hops + 1))
    minus_aim, nothing = csr_matrix(-np.ones((hops, 1))), csr_matrix((hops, hops))
    mean = hstack([csr_matrix((rows[:, used] / room[used]).T), nothing, minus_aim])
    constraints = [LinearConstraint(each, count, count), LinearConstraint(mean, -np.inf, 0)]
    if parallel_links is not None:
        crossing = csr_matrix((rows[:, used] > 0).astype(np.float64).T)
        smallest = np.where(rows > 0, rows, np.inf)[:, used].min(axis=0)
        fullest = hstack([crossing, -diags(parallel_links[used].astype(np.float64)), csr_matrix((hops, 1))])
        constraints.append(LinearConstraint(fullest, -np.inf, 0))
        constraints.append(
            LinearConstraint(hstack([csr_matrix((hops, choices)), diags(smallest), minus_aim]), -np.inf, 0)
        )
    exact = whole and np.count_nonzero(rows) <= EXACT_TERMS
    whole_paths, whole_parallel_links = float(exact), float(exact and parallel_links is not None)
    if exact and count.max() == 1:  # a host's whole share of its busiest hop lies in one parallel link
        alone = hstack(
            [diags((rows[:, used] * fastest[used]).max(axis=1)), csr_matrix((choices, hops)), -np.ones((choices, 1))]
        )
        constraints.append(LinearConstraint(alone, -np.inf, 0))
    integral = np.concatenate([np.full(choices, whole_paths), np.full(hops, whole_parallel_links), [0.0]])
    aim = np.zeros(choices + hops + 1)
    aim[-1] = 1
    options = {"node_limit": PROGRAM_NODES}
    answer = solve_program(
        aim, integrality=integral, bounds=Bounds(0, np.inf), constraints=constraints, options=options
    )
    least = answer.mip_dual_bound if exact else answer.fun
    taken = np.asarray(answer.x[:choices], np.float64) if answer.x is not None else None
    return float(least) if least is not None and np.isfinite(least) else 0.0, taken


# --- choosing --------------------------------------------------------------------------------------------------------


def _chosen(
    fabric: Fabric,
    routes: Routes,
    parallel_links: _ParallelLinks,
    choices: _PathChoices,
    assignment: str,
    sent: _Sent,
    bound: float,
    start: NDArray[np.int64] | None = None,
) -> Routes:
    """Return routes with a path and a first parallel link chosen per host, repeated while it helps.

    `start` gives paths to begin with.
    """
    layers = int(parallel_links.size.max(initial=1))
    if choices.path.size * layers > WORK or not len(fabric.tail):
        return routes
    scale = np.append(_scale(fabric, alike=sent.alike), 0.0)
    channels, hosts = len(fabric.tail), len(fabric.hosts)
    placed = _placed(parallel_links, choices, layers)  # [O, layers, T, D]
    uses: dict[tuple[int, int], tuple[NDArray[np.int32], NDArray[np.float64]]] = {}

    def usage(h: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the channels and scaled loads of every (path, layer) of a host, padded with channel number C."""
        key = (-1 if sent.alike else h, int(fabric.host_switch[h]))
        if key not in uses:
            mine = np.flatnonzero(choices.root == fabric.host_switch[h])
            parts = [sent.over(tree, h) for tree in placed[mine].reshape(len(mine) * layers, *placed.shape[2:])]
            flat = [(np.unique(channel, return_inverse=True), part) for channel, part in parts]
            longest = max((len(channel) for (channel, _), _ in flat), default=0)
            channel_of = np.full((len(flat), longest), channels, np.int32)
            amount = np.zeros((len(flat), longest))
            for r, ((channel, inverse), part) in enumerate(flat):
                channel_of[r, : len(channel)] = channel
                amount[r, : len(channel)] = np.bincount(inverse, part, len(channel))
            uses[key] = channel_of, amount * scale[channel_of]
        return uses[key]

    load = np.zeros(channels + 1)
    total = [float(usage(h)[1][0].sum()) for h in range(hosts)]
    unit = max(bound, max(total, default=0.0) / max(1, channels), 1e-300)
    order = sorted(range(hosts), key=lambda h: -total[h])
    choice = np.full(hosts, -1, np.int64)
    best, best_load, work = choice, np.inf, 0
    if start is not None:
        choice = start * layers + np.arange(hosts) % layers
        for h in order:
            channel_of, amount = usage(h)
            load[channel_of[choice[h]]] += amount[choice[h]]
        best, best_load = choice.copy(), float(load[:-1].max())
    for _ in range(PASSES):
        moved = False
        for h in order:
            channel_of, amount = usage(h)
            if choice[h] >= 0:
                load[channel_of[choice[h]]] -= amount[choice[h]]
            here = load[channel_of] / unit
            rise = ((here + amount / unit) ** POWER - here**POWER).sum(axis=1)
            new = int(np.argmin(rise))
            if choice[h] >= 0 and rise[new] >= rise[choice[h]] * (1 - 1e-12):
                new = int(choice[h])
            moved |= new != choice[h]
            choice[h] = new
            load[channel_of[new]] += amount[new]
            work += channel_of.size
        if load[:-1].max() < best_load * (1 - 1e-12):
            best, best_load = choice.copy(), float(load[:-1].max())
        if not moved or work > WORK:
            break
    chosen_path = np.array(
        [np.flatnonzero(choices.root == s)[c // layers] for s, c in zip(fabric.host_switch, best, strict=True)]
    )
    layer = best % layers
    if routes.parent is None:
        return _related(routes, parallel_links, choices, chosen_path, layer)
    rows = _parents(fabric, placed, chosen_path, layer)
    if assignment == "fixed" and bound and best_load > CLOSE_ENOUGH * bound:
        rows = _hop_by_hop(fabric, parallel_links, rows, sent, choices.targets, scale, bound)
    return _gathered(fabric, routes, rows)


def _placed(parallel_links: _ParallelLinks, choices: _PathChoices, layers: int) -> NDArray[np.int32]:
    """Return every path in every layer, int32[O, layers, T, D]: a frame keeps its parallel link's number, wrapped."""
    placed = np.repeat(choices.path[:, None], layers, axis=1)
    index = np.broadcast_to(np.arange(layers)[None, :, None], placed.shape[:3]).copy()
    for step in range(placed.shape[3]):
        channel = placed[..., step]
        going = channel >= 0
        kind = parallel_links.of[channel[going]]
        index[going] %= parallel_links.size[kind]
        placed[going, step] = parallel_links.members[parallel_links.start[kind] + index[going]]
    return placed


def _parents(
    fabric: Fabric, placed: NDArray[np.int32], chosen_path: NDArray[np.int64], layer: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Return each host's tree, int32[H, N]."""
    rows = np.full((len(chosen_path), len(fabric.switches)), -1, np.int32)
    for h, (o, number) in enumerate(zip(chosen_path.tolist(), layer.tolist(), strict=True)):
        path = placed[o, number]
        channel = path[path >= 0]
        rows[h, fabric.head[channel]] = channel
    return rows


def _gathered(fabric: Fabric, routes: Routes, rows: NDArray[np.int32]) -> Routes:
    """Return routes in which hosts of a switch with equal trees are one source."""
    keyed = np.concatenate([fabric.host_switch[:, None], rows], axis=1)
    distinct, source_of_host = np.unique(keyed, axis=0, return_inverse=True)
    reason = f"{routes.reason}; parallel links and trees chosen host by host"
    root, parent = distinct[:, 0].astype(np.int32), distinct[:, 1:].astype(np.int32)
    return Routes(routes.method, reason, np.asarray(source_of_host.ravel(), np.int32), root, parent)


def _related(
    routes: Routes,
    parallel_links: _ParallelLinks,
    choices: _PathChoices,
    chosen_path: NDArray[np.int64],
    layer: NDArray[np.int64],
) -> Routes:
    """Return the relation in which a frame keeps its parallel link's number; sources are (source, first link)."""
    given = routes.relation
    assert given is not None  # noqa: S101 - the caller checked that there are no trees
    if not len(parallel_links.members):
        return routes  # all hosts on one switch, and no link is up
    following = np.full_like(given.following, UNUSED)

    def moved(channel: NDArray[np.int32], index: NDArray[np.int64]) -> NDArray[np.int32]:
        kind = parallel_links.of[np.maximum(channel, 0)]
        parallel_link = parallel_links.members[parallel_links.start[kind] + index % parallel_links.size[kind]]
        return np.where(channel >= 0, parallel_link, channel)

    for channel in np.flatnonzero((given.following != UNUSED).any(axis=1)).tolist():
        first = int(parallel_links.start[parallel_links.of[channel]])
        for number in range(int(parallel_links.size[parallel_links.of[channel]])):
            after = moved(given.following[channel], np.full(given.following.shape[1], number))
            row = following[parallel_links.members[first + number]]
            row[after != UNUSED] = after[after != UNUSED]
    pairs = np.stack([choices.source[chosen_path].astype(np.int64), layer])
    keys, source_of_host = np.unique(pairs, axis=1, return_inverse=True)
    first_of = np.stack([moved(given.first[s], np.full(given.first.shape[1], n)) for s, n in keys.T.tolist()])
    reason = f"{routes.reason}; parallel links chosen host by host"
    source, root = source_of_host.reshape(-1).astype(np.int32), routes.root[keys[0]]
    return Routes(routes.method, reason, source, root, relation=Relation(first_of, following))


def _hop_by_hop(
    fabric: Fabric,
    parallel_links: _ParallelLinks,
    rows: NDArray[np.int32],
    sent: _Sent,
    targets: NDArray[np.int32],
    scale: NDArray[np.float64],
    bound: float,
) -> NDArray[np.int32]:
    """Move single hops of single hosts from the busiest channel to another of its class while that helps."""
    rows = rows.copy()
    hosts, switches = rows.shape
    beyond = np.zeros((hosts, switches))  # the traffic that enters each switch along the host's tree
    beyond[:, targets] = sent.to
    floods = np.flatnonzero(sent.flooded)
    leads = np.zeros((len(floods), switches), np.bool_)  # to switches that hear what a host floods
    leads[:, targets] = sent.hears[floods]
    steps = path_lengths(fabric, Routes("", "", np.arange(hosts, dtype=np.int32), fabric.host_switch, rows))
    for level in range(int(steps.max(initial=0)), 0, -1):
        h, s = np.nonzero(steps == level)
        np.add.at(beyond, (h, fabric.tail[rows[h, s]]), beyond[h, s])
        f, s = np.nonzero(steps[floods] == level)
        np.logical_or.at(leads, (f, fabric.tail[rows[floods[f], s]]), leads[f, s])
    beyond[floods] += sent.flooded[floods, None] * leads
    going = rows >= 0
    load = np.bincount(rows[going], beyond[going] * scale[rows[going]], len(fabric.tail))
    for _ in range(max(1, WORK // max(1, rows.size))):
        busiest = int(np.argmax(load))
        if load[busiest] <= CLOSE_ENOUGH * bound:
            break
        kind = int(parallel_links.of[busiest])
        others = parallel_links.members[
            parallel_links.start[kind] : parallel_links.start[kind] + parallel_links.size[kind]
        ]
        head = int(fabric.head[busiest])
        mine = np.flatnonzero(rows[:, head] == busiest)
        best: tuple[float, int, int, int] | None = (
            None  # (the larger of both loads, host, parallel link, host to swap with)
        )
        for parallel_link in others[others != busiest].tolist():
            theirs = np.append(np.flatnonzero(rows[:, head] == parallel_link), -1)
            back = np.where(theirs >= 0, beyond[theirs, head], 0.0)
            net = beyond[mine, head][:, None] - back[None, :]
            worse = np.maximum(load[busiest] - net * scale[busiest], load[parallel_link] + net * scale[parallel_link])
            i, j = np.unravel_index(int(np.argmin(worse)), worse.shape)
            if worse[i, j] < load[busiest] * (1 - 1e-9) and (best is None or worse[i, j] < best[0]):
                best = (float(worse[i, j]), int(mine[i]), parallel_link, int(theirs[j]))
        if best is None:
            break
        _, host, parallel_link, swaps = best
        net = beyond[host, head] - (beyond[swaps, head] if swaps >= 0 else 0.0)
        rows[host, head] = parallel_link
        if swaps >= 0:
            rows[swaps, head] = busiest
        load[busiest] -= net * scale[busiest]
        load[parallel_link] += net * scale[parallel_link]
    return rows
