"""Hold all paths of a fabric as arrays: a tree of channels from every source, or a relation between channels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

UNUSED, DELIVERED = -2, -1


@dataclass(frozen=True, eq=False)
class Relation:
    """Hold a routing relation C x N -> C: the channel that follows from the in-channel and the destination alone.

    first      int32[S, N], the first channel from a source to a switch
    following  int32[C, N], the channel after channel c on the way to a switch
    Both hold DELIVERED (-1) at the destination itself and UNUSED (-2) where no path goes.
    """

    first: NDArray[np.int32]
    following: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Routes:
    """Hold the path from every source to every switch that has hosts.

    A source is a set of hosts of one switch that share all their paths; with S sources and N switches:

    source_of_host  int32[H], the source each host belongs to
    root            int32[S], the switch a source sits at
    parent          int32[S, N], the channel by which the source's tree enters a switch;
                    -1 at the root and where the tree does not go; None where the paths of a source are no tree
    relation        where the next channel follows from the in-channel and the destination; else None

    At least one of `parent` and `relation` is there; where both are, they say the same paths. Fixed VLAN assignment
    needs trees (Koibuchi et al. 2011, Sect. 3.2.1 takes them for granted; arbitrary minimal paths are none), renamed
    assignment needs the relation. `method` names the routing, `reason` says why it was chosen.
    """

    method: str
    reason: str
    source_of_host: NDArray[np.int32]
    root: NDArray[np.int32]
    parent: NDArray[np.int32] | None = None
    relation: Relation | None = None

    def __post_init__(self) -> None:
        if self.parent is None and self.relation is None:
            raise ValueError("routes are trees, or a relation, or both")

    @property
    def trees(self) -> NDArray[np.int32]:
        """Give `parent`. Raises PlanError where the paths of a source are no tree."""
        if self.parent is None:
            raise PlanError(
                "fixed assignment needs the paths of every source to be a tree",
                f"those of {self.method} routing as planned for renamed assignment are none",
                "use --assignment renamed",
            )
        return self.parent

    @cached_property
    def sources(self) -> int:
        """Count the sources."""
        return len(self.root)

    def depth(self, fabric: Fabric) -> NDArray[np.int32]:
        """Count the channels from each source to each switch, int32[S, N]; -1 where no path goes."""
        if self.parent is not None:
            return _depth(fabric.tail, self.root, self.parent)
        depth = np.full((self.sources, len(fabric.switches)), -1, np.int32)
        depth[np.arange(self.sources), self.root] = 0
        for step, (source, target, _) in enumerate(_walk(fabric, self), start=1):
            depth[source, target] = step
        return depth

    def average_hops(self, fabric: Fabric) -> float:
        """Count switches on a path, averaged over all ordered host pairs, a host with itself included (Avg.H)."""
        depth = self.depth(fabric)
        return float(np.mean(depth[self.source_of_host][:, fabric.host_switch] + 1.0))

    def paths(self, fabric: Fabric, targets: NDArray[np.int32]) -> NDArray[np.int32]:
        """Give the n-th channel from every source to each of `targets`, int32[S, T, longest + 1], -1 after the last."""
        depth = self.depth(fabric)[:, targets]
        path = np.full((*depth.shape, max(0, int(depth.max(initial=0))) + 1), -1, np.int32)
        source, column = (g.ravel() for g in np.meshgrid(*map(np.arange, depth.shape), indexing="ij"))
        if self.parent is None:
            assert self.relation is not None  # noqa: S101 - __post_init__ saw to it
            channel = self.relation.first[source, targets[column]]
            for step in range(path.shape[2]):
                going = channel >= 0
                source, column, channel = source[going], column[going], channel[going]
                path[source, column, step] = channel
                channel = self.relation.following[channel, targets[column]]
            return path
        here, step_of = targets[column], depth.ravel()
        while len(source):  # walk back from every target at once
            channel = self.parent[source, here]
            going = channel >= 0
            source, column, channel, step_of = source[going], column[going], channel[going], step_of[going] - 1
            path[source, column, step_of] = channel
            here = fabric.tail[channel]
        return path


def _walk(fabric: Fabric, routes: Routes) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int32]]]:
    """Take all paths of a relation one step at a time: the (source, target switch, channel) still on their way."""
    assert routes.relation is not None  # noqa: S101 - the callers asked
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
    """Count steps to the root by pointer doubling, O(S N log N)."""
    sources, switches = parent.shape
    here = np.arange(switches, dtype=np.int32)
    rows = np.arange(sources)[:, None]
    up = np.where(parent >= 0, tail[parent], here)  # one step towards the root; roots and strangers point at themselves
    steps = (parent >= 0).astype(np.int32)
    for _ in range(max(1, int(switches).bit_length())):
        steps = steps + steps[rows, up]
        up = up[rows, up]
    reached = up == root[:, None]
    return np.where(reached, steps, -1).astype(np.int32)


def dependencies(fabric: Fabric, routes: Routes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """List the channel dependencies of all paths, as (channel held, channel wanted), each once."""
    channels = max(1, len(fabric.tail))
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
    """Add up what crosses each channel, float64[C].

    `volume` is bytes by ordered host pair, and the load is scaled to 1 Gb/s of capacity; without it every ordered
    pair of different hosts counts 1, unscaled. Raises ValueError where a path that carries something is missing.
    """
    sources, switches, hosts = routes.sources, len(fabric.switches), len(fabric.hosts)
    pairs = np.ones((hosts, hosts)) - np.eye(hosts) if volume is None else volume
    to_switch = np.zeros((hosts, switches))
    np.add.at(to_switch.T, fabric.host_switch, pairs.T)
    flow = np.zeros((sources, switches))
    np.add.at(flow, routes.source_of_host, to_switch)
    depth = routes.depth(fabric)
    if np.any(flow[depth < 0]):
        raise ValueError("traffic to a switch the routes do not reach")
    load = np.zeros(len(fabric.tail))
    if routes.parent is None:
        for source, target, channel in _walk(fabric, routes):
            load += np.bincount(channel, flow[source, target], len(load))
    # Of a tree, leaves first: a channel carries all that lies beyond it.
    for level in range(int(depth.max(initial=0)), 0, -1) if routes.parent is not None else ():
        source, switch = np.nonzero(depth == level)
        channel = routes.trees[source, switch]
        amount = flow[source, switch]
        load += np.bincount(channel, amount, len(load))
        np.add.at(flow, (source, fabric.tail[channel]), amount)
    if volume is not None:
        capacity_mbps = np.repeat([link.capacity_mbps() for link in fabric.links], 2)
        load = load * 1000.0 / capacity_mbps if len(load) else load
    return load


def relation(fabric: Fabric, routes: Routes) -> Relation | None:
    """Give the relation C x N -> C of the routes, or None where two paths over one channel part ways.

    Renamed assignment can only realise such routes: the next switch knows a frame's in-port, not its source.
    The answer is kept with the routes, since both choosing and weaving ask.
    """
    if routes.relation is not None:
        return routes.relation
    kept: tuple[Fabric, Relation | None] | None = routes.__dict__.get("_relation")
    if kept is None or kept[0] is not fabric:
        kept = routes.__dict__["_relation"] = fabric, _relation(fabric, routes)
    return kept[1]


def _relation(fabric: Fabric, routes: Routes) -> Relation | None:
    targets = np.unique(fabric.host_switch)
    sources = routes.sources
    first = np.full((sources, len(fabric.switches)), UNUSED, np.int32)
    following = np.full((max(1, len(fabric.tail)), len(fabric.switches)), UNUSED, np.int32)
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(sources), targets, indexing="ij"))
    here, after = target.copy(), np.full(len(target), DELIVERED, np.int32)
    while len(source):  # walk all paths back from their ends at once
        channel = routes.trees[source, here]
        at_root = here == routes.root[source]
        first[source[at_root], target[at_root]] = after[at_root]
        going = channel >= 0
        source, target, channel, after = source[going], target[going], channel[going], after[going]
        following[channel, target] = after
        here, after = fabric.tail[channel], channel
    # Where two paths disagreed the later one was written: walk again and compare.
    return Relation(first, following) if _agrees(fabric, routes, following, targets) else None


def _agrees(fabric: Fabric, routes: Routes, following: NDArray[np.int32], targets: NDArray[np.int32]) -> bool:
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(routes.sources), targets, indexing="ij"))
    here, after = target.copy(), np.full(len(target), DELIVERED, np.int32)
    while len(source):
        channel = routes.trees[source, here]
        going = channel >= 0
        source, target, channel, after = source[going], target[going], channel[going], after[going]
        if np.any(following[channel, target] != after):
            return False
        here, after = fabric.tail[channel], channel
    return True
