"""Route any connected graph by up*/down* so that the next channel follows from the in-port alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.trees import per_switch
from tagloom.records.routes import DELIVERED, UNUSED, Relation, Routes
from tagloom.route.up_down import FAR, best_root, hops, ranked, root_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric


def up_down_by_in_port(fabric: Fabric, top: int | None = None) -> Routes:
    """Return a shortest up*/down* path for every pair, from root `top` or the best one, as a relation C x N -> C.

    The next hop of a frame depends on whether it has gone down already, which its in-port shows. So each switch has two
    tables: one for frames from hosts and up channels, one for frames from down channels. The trees of `up_down` do not
    give that on larger graphs: paths of two sources whose up-reachable sets differ diverge below (0 of 30 random graphs
    with 24 switches, 5 of 30 with 32, 12 of 12 with 96).
    """
    source_of_host, root = per_switch(fabric)
    chosen = best_root(fabric) if top is None else top
    rank = ranked(fabric, chosen)
    down, free = hops(fabric, rank)
    first = np.array([_choice(fabric, rank, s, down, free, gone_down=False) for s in root.tolist()], np.int32)
    following = np.array(
        [
            _choice(fabric, rank, s, down, free, gone_down=bool(rank[s] > rank[t]))
            for t, s in zip(fabric.tail.tolist(), fabric.head.tolist(), strict=True)
        ],
        np.int32,
    ).reshape(-1, len(fabric.switches))
    reason = f"up*/down* by in-port from {root_words(fabric, chosen, top)}"
    return Routes("up-down", reason, source_of_host, root, None, _used(fabric, Relation(first, following)))


def _choice(
    fabric: Fabric,
    rank: NDArray[np.int64],
    s: int,
    down: NDArray[np.int64],
    free: NDArray[np.int64],
    *,
    gone_down: bool,
) -> NDArray[np.int32]:
    """Return the channel from switch `s` towards every switch, int32[N]; ties are spread by destination."""
    n = len(rank)
    channels = np.flatnonzero((fabric.tail == s) & fabric.channel_up)
    is_up = rank[fabric.head[channels]] < rank[s]
    if gone_down:
        channels, is_up = channels[~is_up], is_up[~is_up]
    chosen = np.full(n, UNUSED, np.int32)
    if len(channels):
        cost = np.where(is_up[:, None], free[fabric.head[channels]], down[fabric.head[channels]])
        least = cost == cost.min(axis=0)
        nth = np.arange(n) % least.sum(axis=0)
        pick = np.argmax(least & (np.cumsum(least, axis=0) == nth + 1), axis=0)
        chosen = np.where(cost.min(axis=0) < FAR, channels[pick], UNUSED).astype(np.int32)
    chosen[s] = DELIVERED
    return chosen


def _used(fabric: Fabric, relation: Relation) -> Relation:
    """Return the part of a relation that paths between hosts need."""
    first, following = np.full_like(relation.first, UNUSED), np.full_like(relation.following, UNUSED)
    targets = np.unique(fabric.host_switch)
    first[:, targets] = relation.first[:, targets]
    source, target = (grid.ravel() for grid in np.meshgrid(np.arange(len(first)), targets, indexing="ij"))
    channel = first[source, target]
    while True:
        target, channel = target[channel >= 0], channel[channel >= 0]
        if not len(channel):
            return Relation(first, following)
        following[channel, target] = relation.following[channel, target]
        channel = following[channel, target]
