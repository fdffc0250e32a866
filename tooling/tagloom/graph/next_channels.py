"""Determine whether the next channel of every path follows from the switch and the destination alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.paths import paths_to

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

BLOCK = 64  # destinations whose paths are compared at once; bounds memory to sources x BLOCK x hops
NO_CHANNEL = -1


class NextChannels(NamedTuple):
    """Where frames leave each switch by destination alone; T switches have hosts.

    targets   int32[T], the switches with hosts, ascending
    channel   int32[N, T], the next channel; NO_CHANNEL at the target itself and wherever no path to it passes
    """

    targets: NDArray[np.int32]
    channel: NDArray[np.int32]


class Parting(NamedTuple):
    """Two sources whose paths to one target switch leave a switch they share by different channels."""

    target: int
    sources: tuple[int, int]
    channels: tuple[int, int]


def next_channels(fabric: Fabric, routes: Routes) -> NextChannels | Parting:
    """Return the next channel by switch and destination, or the first two paths whose next channel needs more."""
    targets = np.unique(fabric.host_switch).astype(np.int32)
    found = np.full((len(fabric.switches), len(targets)), NO_CHANNEL, np.int32)
    for low in range(0, len(targets), BLOCK):
        block = targets[low : low + BLOCK]
        path = paths_to(fabric, routes, block)
        source, column, step = np.nonzero(path >= 0)
        channel = path[source, column, step]
        at = fabric.tail[channel], low + column
        np.maximum.at(found, at, channel)
        apart = np.flatnonzero(found[at] != channel)
        if len(apart):
            one = int(apart[0])
            other = int(np.flatnonzero((column == column[one]) & (channel == found[at][one]))[0])
            (a, b), (c, d) = source[[one, other]].tolist(), channel[[one, other]].tolist()
            return Parting(int(block[column[one]]), (a, b), (c, d))
    return NextChannels(targets, found)
