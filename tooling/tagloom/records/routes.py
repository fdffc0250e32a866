"""Hold all paths of a fabric as arrays: a tree of channels from every source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric


@dataclass(frozen=True, eq=False)
class Routes:
    """Hold the path from every source to every switch.

    A source is a set of hosts of one switch that share all their paths; with S sources and N switches:

    source_of_host  int32[H], the source each host belongs to
    root            int32[S], the switch a source sits at
    parent          int32[S, N], the channel by which the source's tree enters a switch;
                    -1 at the root and where the tree does not go

    The paths of a source form a tree by construction, which fixed VLAN assignment needs (Koibuchi et al. 2011,
    Sect. 3.2.1 takes it for granted; arbitrary minimal paths do not give it).
    `method` names the routing, `reason` says why it was chosen.
    """

    method: str
    reason: str
    source_of_host: NDArray[np.int32]
    root: NDArray[np.int32]
    parent: NDArray[np.int32]

    def depth(self, fabric: Fabric) -> NDArray[np.int32]:
        """Count the channels from each source to each switch, int32[S, N]; -1 where the tree does not go."""
        return _depth(fabric.tail, self.root, self.parent)

    def average_hops(self, fabric: Fabric) -> float:
        """Count switches on a path, averaged over all ordered host pairs, a host with itself included (Avg.H)."""
        depth = self.depth(fabric)
        return float(np.mean(depth[self.source_of_host][:, fabric.host_switch] + 1.0))

    @cached_property
    def sources(self) -> int:
        """Count the sources."""
        return len(self.root)


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
    channels = len(fabric.tail)
    source, switch = np.nonzero(routes.parent >= 0)
    wanted = routes.parent[source, switch].astype(np.int64)
    held = routes.parent[source, fabric.tail[wanted]].astype(np.int64)
    real = held >= 0
    keys = np.unique(held[real] * channels + wanted[real])
    return keys // channels, keys % channels


def channel_load(fabric: Fabric, routes: Routes, volume: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Add up what crosses each channel, float64[C].

    `volume` is bytes by ordered host pair, and the load is scaled to 1 Gb/s of capacity; without it every ordered
    pair of different hosts counts 1, unscaled. Raises ValueError where a path that carries something is missing.
    """
    sources, switches = routes.parent.shape
    hosts = len(fabric.hosts)
    pairs = np.ones((hosts, hosts)) - np.eye(hosts) if volume is None else volume
    to_switch = np.zeros((hosts, switches))
    np.add.at(to_switch.T, fabric.host_switch, pairs.T)
    flow = np.zeros((sources, switches))
    np.add.at(flow, routes.source_of_host, to_switch)
    depth = routes.depth(fabric)
    if np.any(flow[depth < 0]):
        raise ValueError("traffic to a switch the routes do not reach")
    load = np.zeros(len(fabric.tail))
    for level in range(int(depth.max(initial=0)), 0, -1):  # leaves first: a channel carries all that lies beyond it
        source, switch = np.nonzero(depth == level)
        channel = routes.parent[source, switch]
        amount = flow[source, switch]
        load += np.bincount(channel, amount, len(load))
        np.add.at(flow, (source, fabric.tail[channel]), amount)
    if volume is not None:
        speed_mbps = np.repeat([link.speed_mbps or 1000 for link in fabric.links], 2)
        load = load * 1000.0 / speed_mbps if len(load) else load
    return load


UNUSED, DELIVERED = -2, -1


@dataclass(frozen=True, eq=False)
class Relation:
    """Hold a routing relation: the channel that follows from the in-channel and the destination alone.

    first      int32[S, N], the first channel from a source to a switch
    following  int32[C, N], the channel after channel c on the way to a switch
    Both hold DELIVERED (-1) at the destination itself and UNUSED (-2) where no path goes.
    """

    first: NDArray[np.int32]
    following: NDArray[np.int32]


def relation(fabric: Fabric, routes: Routes) -> Relation | None:
    """Give the relation C x N -> C of the routes, or None where two paths over one channel part ways.

    Renamed assignment can only realise such routes: the next switch knows a frame's in-port, not its source.
    The answer is kept with the routes, since both choosing and weaving ask.
    """
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
        channel = routes.parent[source, here]
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
        channel = routes.parent[source, here]
        going = channel >= 0
        source, target, channel, after = source[going], target[going], channel[going], after[going]
        if np.any(following[channel, target] != after):
            return False
        here, after = fabric.tail[channel], channel
    return True
