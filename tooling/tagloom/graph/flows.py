"""The traffic of a fabric at one time: a flow per pair of hosts that send, with the channels of its path."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.paths import paths_to
from tagloom.graph.rows import places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

HOST_BPS = 1e9  # every host has one link of 1 Gb/s, as in all of the papers' clusters
TARGETS_AT_ONCE = 64  # bounds memory: sources times this many switches times the longest path


@dataclass(frozen=True, eq=False)
class Flows:
    """F flows over K channels: the H hosts' links (sending, then receiving), then the channels of the fabric.

    Hosts that share a port share the link of the first of them (`Fabric.host_link`); nothing crosses the others'.

    source, destination  int32[F], hosts, ordered by source, then by destination
    volume_bytes         float64[F]
    first                int64[F + 1]; flow f crosses channel[first[f]:first[f + 1]], its path in order first
    channel              int32[first[F]]
    capacity_bps         float64[K], 0 if the link is down
    hosts                H
    copies               int64[F], channels after the path's that carry copies of flooded frames, None for none at all
    """

    source: NDArray[np.int32]
    destination: NDArray[np.int32]
    volume_bytes: NDArray[np.float64]
    first: NDArray[np.int64]
    channel: NDArray[np.int32]
    capacity_bps: NDArray[np.float64]
    hosts: int
    copies: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.source)

    @property
    def hops(self) -> NDArray[np.int64]:
        """Return the number of switches on every path, int64[F]."""
        return self.path_end - self.first[:-1] - 1

    @property
    def path_end(self) -> NDArray[np.int64]:
        """Return where each flow's path ends in `channel`, int64[F]: after it are copies of flooded frames."""
        return self.first[1:] - (0 if self.copies is None else self.copies)

    def among(self, kept: NDArray[np.bool_]) -> Flows:
        """Return some of the flows, bool[F], over the same channels."""
        hops = np.diff(self.first)
        return replace(
            self,
            source=self.source[kept],
            destination=self.destination[kept],
            volume_bytes=self.volume_bytes[kept],
            first=np.concatenate([[0], np.cumsum(hops[kept])]),
            channel=self.channel[np.repeat(kept, hops)],
            copies=None if self.copies is None else self.copies[kept],
        )

    def add_up(self, of_flow: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over each channel of the values of the flows that cross it, float64[K]."""
        of_step = np.repeat(of_flow, np.diff(self.first))
        return np.bincount(self.channel, of_step, len(self.capacity_bps)).astype(np.float64)

    def along(self, of_channel: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum over each flow's path of the values of its channels, float64[F]."""
        if not len(self):
            return np.zeros(0)
        if self.copies is None:
            return np.add.reduceat(of_channel[self.channel], self.first[:-1])
        size = self.path_end - self.first[:-1]
        steps = of_channel[self.channel[places(self.first[:-1], size)]]
        return np.add.reduceat(steps, np.cumsum(size) - size)


def flows_of(
    fabric: Fabric, routes: Routes, volume_bytes: NDArray[np.float64], messages: NDArray[np.float64] | None = None
) -> Flows:
    """Return the flows of all pairs of hosts that send each other bytes or empty messages, on their planned paths.

    `volume_bytes` and `messages` are float64[H, H], zero on the diagonal. Raises ValueError if a path is missing.
    """
    hosts = len(fabric.hosts)
    targets = np.unique(fabric.host_switch)
    sent, received = np.nonzero((volume_bytes > 0) | (False if messages is None else messages > 0))
    column = np.searchsorted(targets, fabric.host_switch[received])
    row = routes.source_of_host[sent]
    length = np.zeros(len(sent), np.int64)
    blocks: list[tuple[NDArray[np.int64], NDArray[np.int32]]] = []
    for low in range(0, len(targets), TARGETS_AT_ONCE):
        mine = np.flatnonzero((column >= low) & (column < low + TARGETS_AT_ONCE))
        paths = paths_to(fabric, routes, targets[low : low + TARGETS_AT_ONCE])[row[mine], column[mine] - low]
        missing = (paths[:, 0] < 0) & (fabric.host_switch[sent[mine]] != fabric.host_switch[received[mine]])
        if missing.any():
            raise ValueError("traffic to a switch the routes do not reach")
        length[mine] = np.count_nonzero(paths >= 0, axis=1) + 2
        blocks.append((mine, paths[paths >= 0]))
    first = np.concatenate([[0], np.cumsum(length)])
    channel = np.empty(first[-1], np.int32)
    for mine, inner in blocks:
        count = length[mine] - 2
        channel[places(first[mine] + 1, count)] = 2 * hosts + inner
    channel[first[:-1]] = fabric.host_link[sent]
    channel[first[1:] - 1] = hosts + fabric.host_link[received]
    inner_bps = [1e6 * link.capacity_mbps() * link.up for link in fabric.links]
    capacity = np.concatenate([np.full(2 * hosts, HOST_BPS), np.repeat(np.array(inner_bps, np.float64), 2)])
    ends = sent.astype(np.int32), received.astype(np.int32)
    return Flows(*ends, volume_bytes[sent, received], first, channel, capacity, hosts)


def one_switch(flows: Flows) -> Flows:
    """Return the same flows over one ideal switch that connects all hosts: only the hosts' own links remain."""
    first = 2 * np.arange(len(flows) + 1)
    ends = flows.channel[flows.first[:-1]], flows.channel[flows.path_end - 1]
    channel = np.stack(ends, axis=1).ravel()
    of_hosts = flows.capacity_bps[: 2 * flows.hosts]
    return Flows(flows.source, flows.destination, flows.volume_bytes, first, channel, of_hosts, flows.hosts)
