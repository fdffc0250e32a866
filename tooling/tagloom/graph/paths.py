"""All paths of a fabric at once: lengths, dependencies, loads and egress ports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph import walks
from tagloom.records.routes import DELIVERED, UNUSED, Departures, Relation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

COMPILED_FROM = 65_536  # pairs of source and switch from which compiled loops are worth a second of start-up


def _large(routes: Routes) -> bool:
    return routes.parent is not None and routes.parent.size >= COMPILED_FROM


def path_lengths(fabric: Fabric, routes: Routes) -> NDArray[np.int32]:
    """Return the number of channels from each source to each switch, int32[S, N]; -1 without a path."""
    if routes.parent is not None and _large(routes):
        return walks.depths(fabric.tail, routes.root, routes.parent)
    if routes.parent is not None:
        return _depth(fabric.tail, routes.root, routes.parent)
    depth = np.full((routes.sources, len(fabric.switches)), -1, np.int32)
    depth[np.arange(routes.sources), routes.root] = 0
    for step, (source, target, _) in enumerate(_walk(fabric, routes), start=1):
        depth[source, target] = step
    return depth


def average_hops(fabric: Fabric, routes: Routes) -> float:
    """Return the mean number of switches on a path over all ordered host pairs, host to itself included (Avg.H).

    Pairs are those of one network.
    """
    lengths, total = path_lengths(fabric, routes), 0
    for hosts in fabric.networks.values():
        of_source = np.bincount(routes.source_of_host[hosts], minlength=routes.sources)
        at_switch = np.bincount(fabric.host_switch[hosts], minlength=len(fabric.switches)).astype(np.int32)
        total += int(of_source @ (lengths @ at_switch))
    return 1.0 + total / sum(len(hosts) ** 2 for hosts in fabric.networks.values())


def max_hops(fabric: Fabric, routes: Routes) -> int:
    """Return the most switches on a path between two hosts; 1 if all hosts have the same switch, 0 without hosts.

    Pairs are those of one network.
    """
    if not fabric.hosts:
        return 0
    lengths = path_lengths(fabric, routes)
    ends = ((routes.source_of_host[hosts], fabric.host_switch[hosts]) for hosts in fabric.networks.values())
    return 1 + max(int(lengths[np.ix_(np.unique(s), np.unique(t))].max()) for s, t in ends)


def paths_to(fabric: Fabric, routes: Routes, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the channels of every path from a source to `targets`, int32[S, T, longest + 1], padded with -1."""
    if routes.parent is None:
        assert routes.relation is not None  # noqa: S101 - Routes has one of the two
        return _along(routes.relation, targets)
    depth = path_lengths(fabric, routes)[:, targets]
    path = np.full((*depth.shape, max(0, int(depth.max(initial=0))) + 1), -1, np.int32)
    source, column = (g.ravel() for g in np.meshgrid(*map(np.arange, depth.shape), indexing="ij"))
    here, step_of = targets[column], depth.ravel()
    while len(source):  # walk back from all targets at once
        channel = routes.parent[source, here]
        going = channel >= 0
        source, column, channel, step_of = source[going], column[going], channel[going], step_of[going] - 1
        path[source, column, step_of] = channel
        here = fabric.tail[channel]
    return path


def _along(relation: Relation, targets: NDArray[np.int32]) -> NDArray[np.int32]:
    steps: list[NDArray[np.int32]] = []
    channel = relation.first[:, targets]
    while np.any(channel >= 0):
        if len(steps) > len(relation.following):
            raise ValueError("the relation leads in circles")
        steps.append(np.maximum(channel, -1))
        channel = np.where(channel >= 0, relation.following[channel, targets], -1)
    return np.stack([*steps, np.full_like(channel, -1)], axis=2)


def check_routes(fabric: Fabric, routes: Routes) -> None:
    """Raise ValueError unless `routes` fit the fabric: shapes and ranges right, trees rooted, no path in a circle."""
    hosts, switches, channels = len(fabric.hosts), len(fabric.switches), len(fabric.tail)
    _check_range("source_of_host", routes.source_of_host, (hosts,), 0, len(routes.root))
    _check_range("root", routes.root, (len(routes.root),), 0, switches)
    if (routes.root[routes.source_of_host] != fabric.host_switch).any():
        raise ValueError("sources that are not where their hosts are")
    if routes.parent is not None:
        _check_range("parent", routes.parent, (routes.sources, switches), -1, channels)
        _, switch = np.nonzero(routes.parent >= 0)
        if (fabric.head[routes.parent[routes.parent >= 0]] != switch).any():
            raise ValueError("trees whose channels enter other switches")
        if ((routes.parent >= 0) != (path_lengths(fabric, routes) > 0)).any():
            raise ValueError("trees that do not begin at their root")
    if routes.relation is not None:
        first, following = routes.relation.first, routes.relation.following
        _check_range("first", first, (routes.sources, switches), UNUSED, channels)
        _check_range("following", following, (channels, switches), UNUSED, channels)
        source, _ = np.nonzero(first >= 0)
        if (fabric.tail[first[first >= 0]] != routes.root[source]).any():
            raise ValueError("paths that begin at other switches")
        held, _ = np.nonzero(following >= 0)
        if (fabric.tail[following[following >= 0]] != fabric.head[held]).any():
            raise ValueError("paths that leap from switch to switch")
        for _ in _walk(fabric, routes):
            pass


def _check_range(name: str, array: NDArray[np.int32], shape: tuple[int, ...], least: int, end: int) -> None:
    if array.shape != shape or (array < least).any() or (array >= end).any():
        raise ValueError(f"{name} of another fabric")


def _walk(fabric: Fabric, routes: Routes) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]]:
    """Yield the (source, target switch, channel) of all unfinished paths of a relation, one hop at a time."""
    assert routes.relation is not None  # noqa: S101 - the callers checked
    targets = np.unique(fabric.host_switch)
    source = np.repeat(np.arange(routes.sources, dtype=np.int64), len(targets))
    target = np.tile(targets.astype(np.int64), routes.sources)
    channel = routes.relation.first[source, target]
    for _ in range(len(fabric.tail) + 1):
        going = channel >= 0
        source, target, channel = source[going], target[going], channel[going]
        if not len(source):
            return
        yield source, target, channel
        channel = routes.relation.following[channel, target]
    raise ValueError("the relation leads in circles")


def _depth(tail: NDArray[np.int32], root: NDArray[np.int32], parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the distance of each switch from its root by pointer doubling, O(S N log N); -1 outside the tree."""
    sources, switches = parent.shape
    here = np.arange(switches, dtype=np.int32)
    rows = np.arange(sources)[:, None]
    # The next switch towards the root; roots and switches outside the tree point at themselves. There may be no
    # channel at all.
    up = np.where(parent >= 0, np.append(tail, 0)[parent], here)
    steps = (parent >= 0).astype(np.int32)
    for _ in range(max(1, int(switches).bit_length())):
        steps = steps + steps[rows, up]
        up = up[rows, up]
    reached = up == root[:, None]
    return np.where(reached, steps, -1).astype(np.int32)


def dependencies(fabric: Fabric, routes: Routes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the channel dependencies of all paths, as (channel held, channel wanted), each once."""
    channels = max(1, len(fabric.tail))
    if _large(routes):
        turn = walks.turns(fabric.tail, fabric.tail_port, routes.trees, fabric.port_channel.shape[1])
        held, port = np.nonzero(turn)
        return held, fabric.port_channel[fabric.head[held], port].astype(np.int64)
    if routes.parent is not None:
        source, switch = np.nonzero(routes.parent >= 0)
        wanted = routes.parent[source, switch].astype(np.int64)
        held = routes.parent[source, fabric.tail[wanted]].astype(np.int64)
        keys = np.unique(held[held >= 0] * channels + wanted[held >= 0])
    else:
        assert routes.relation is not None  # noqa: S101 - one of the two is there
        used = np.zeros(routes.relation.following.shape, np.bool_)
        for _, target, channel in _walk(fabric, routes):
            used[channel, target] = True
        held, target = np.nonzero(used)
        wanted = routes.relation.following[held, target].astype(np.int64)
        keys = np.unique(held[wanted >= 0] * channels + wanted[wanted >= 0])
    return keys // channels, keys % channels


def channel_load(fabric: Fabric, routes: Routes, volume: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the load of each channel, float64[C].

    `volume` is bytes by ordered host pair, and the load is scaled to 1 Gb/s of capacity. Without it every ordered pair
    of different hosts of one network counts 1, unscaled. Raises ValueError if a pair with traffic has no path.
    """
    flow = _flow(fabric, routes, volume)
    load = np.zeros(len(fabric.tail))
    if _large(routes):
        load, reached = walks.loads(fabric.tail, routes.root, routes.trees, flow)
    else:
        depth = path_lengths(fabric, routes)
        reached = not np.any(flow[depth < 0])
        if routes.parent is None:
            for source, target, channel in _walk(fabric, routes):
                load += np.bincount(channel, flow[source, target], len(load))
        # Trees are added up from the leaves: a channel carries the traffic of all switches behind it.
        for level in range(int(depth.max(initial=0)), 0, -1) if routes.parent is not None else ():
            source, switch = np.nonzero(depth == level)
            channel = routes.trees[source, switch]
            amount = flow[source, switch]
            load += np.bincount(channel, amount, len(load))
            np.add.at(flow, (source, fabric.tail[channel]), amount)
    if not reached:
        raise ValueError("traffic to a switch the routes do not reach")
    if volume is not None:
        capacity_mbps = np.repeat([link.capacity_mbps() for link in fabric.links], 2)
        load = load * 1000.0 / capacity_mbps if len(load) else load
    return load


def _flow(fabric: Fabric, routes: Routes, volume: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """Return what each source sends to each switch, float64[S, N]; without `volume` each host pair counts 1."""
    switches = len(fabric.switches)
    if volume is None:  # a host with itself may count, as it crosses no channel
        flow = np.zeros((routes.sources, switches))
        for hosts in fabric.networks.values():
            of_source = np.bincount(routes.source_of_host[hosts], minlength=routes.sources)
            flow += np.outer(of_source, np.bincount(fabric.host_switch[hosts], minlength=switches))
        return flow
    to_switch = np.zeros((len(fabric.hosts), switches))
    np.add.at(to_switch.T, fabric.host_switch, volume.T)
    flow = np.zeros((routes.sources, switches))
    np.add.at(flow, routes.source_of_host, to_switch)
    return flow


def relation(fabric: Fabric, routes: Routes) -> Relation | None:
    """Return the relation C x N -> C of the routes, or None if two paths over one channel to one target diverge."""
    if routes.relation is not None:
        return routes.relation
    leaving = departures(fabric, routes)
    if leaving is None:
        return None
    channel_of = np.full((len(fabric.switches), leaving.here + 1), UNUSED, np.int32)
    channel_of[:, 1 : fabric.port_channel.shape[1]] = fabric.port_channel[:, 1:]
    channel_of[:, leaving.here] = DELIVERED
    first = np.full((routes.sources, len(fabric.switches)), UNUSED, np.int32)
    following = np.full((max(1, len(fabric.tail)), len(fabric.switches)), UNUSED, np.int32)
    first[:, leaving.targets] = channel_of[routes.root[:, None], leaving.first]
    following[: len(fabric.tail), leaving.targets] = channel_of[fabric.head[:, None], leaving.following]
    return Relation(first, following)


def departures(fabric: Fabric, routes: Routes) -> Departures | None:
    """Return the relation C x N -> C of the routes as egress ports, or None if two paths over one channel diverge.

    Renamed assignment can only realise routes that have one: the next switch knows a frame's in-port, not its source.
    The result is cached with the routes, since both choosing and weaving need it.
    """
    kept: tuple[Fabric, Departures | None] | None = routes.__dict__.get("_departures")
    if kept is None or kept[0] is not fabric:
        kept = routes.__dict__["_departures"] = fabric, _departures(fabric, routes)
    return kept[1]


def _departures(fabric: Fabric, routes: Routes) -> Departures | None:
    targets = np.unique(fabric.host_switch)
    kind: type[np.unsignedinteger] = np.uint8 if fabric.port_channel.shape[1] < np.iinfo(np.uint8).max else np.uint16
    here = int(np.iinfo(kind).max)
    if routes.relation is not None:
        # UNUSED (-2) and DELIVERED (-1) index the last two
        port_of = np.append(fabric.tail_port, [0, here]).astype(kind)
        given = routes.relation.first[:, targets], routes.relation.following[: len(fabric.tail), targets]
        return Departures(targets, port_of[given[0]], port_of[given[1]], here)
    first = np.zeros((routes.sources, len(targets)), kind)
    following = np.zeros((len(fabric.tail), len(targets)), kind)
    found = Departures(targets, first, following, here)
    if _large(routes):
        tree = fabric.tail, fabric.tail_port, routes.root, routes.trees
        return found if walks.departures(*tree, targets, first, following, here) else None
    grid = np.meshgrid(np.arange(routes.sources), np.arange(len(targets)), indexing="ij")
    source, column = (axis.ravel() for axis in grid)
    switch, out = targets[column], np.full(len(column), here, kind)
    while len(source):  # walk all paths back from their targets at once
        channel = routes.trees[source, switch]
        at_root = switch == routes.root[source]
        first[source[at_root], column[at_root]] = out[at_root]
        going = channel >= 0
        source, column, channel, out = source[going], column[going], channel[going], out[going]
        known = following[channel, column]
        following[channel, column] = np.where(known > 0, known, out)
        if np.any(following[channel, column] != out):
            return None
        switch, out = fabric.tail[channel], fabric.tail_port[channel].astype(kind)
    return found
