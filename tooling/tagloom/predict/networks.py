"""Forecast what each of several networks has of the fabric that all of them load."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.predict.performance import arrival_latency
from tagloom.records.forecast import NetworkForecast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.predict.performance import Moved
    from tagloom.records.fabric import Fabric
    from tagloom.records.traffic import Traffic


def networks_of(
    before: Fabric, after: Fabric, traffic: Traffic, moved: tuple[Moved, Moved]
) -> tuple[NetworkForecast, ...]:
    """Return each network's share of how both fabrics move the traffic of all, none if there is but one network."""
    if len(before.networks) < 2:
        return ()
    total = moved[1].flows.add_up(np.ones(len(moved[1].flows)))
    found = []
    for name, hosts in before.networks.items():
        both = [_moved(fabric, hosts, traffic, each) for fabric, each in zip((before, after), moved, strict=True)]
        (old, old_seconds, old_latency, _), (new, new_seconds, new_latency, carried) = both
        inner = carried[2 * len(after.hosts) :]
        shared = int(np.count_nonzero((inner > 0) & (total[2 * len(after.hosts) :] > inner)))
        pairs, volume = len(hosts) * (len(hosts) - 1), float(traffic.volume_bytes[hosts].sum())
        times = old_seconds, new_seconds, old_latency, new_latency
        found.append(NetworkForecast(name, len(hosts), pairs, volume, old, new, shared, *times))
    return tuple(found)


def _moved(
    fabric: Fabric, hosts: NDArray[np.int64], traffic: Traffic, moved: Moved
) -> tuple[float, float | None, float, NDArray[np.float64]]:
    """Return of a network's flows: the most bytes on a channel, their end, their latency, how many cross each channel.

    Bytes are scaled to 1 Gb/s, and on channels between switches; seconds are None if flows were not followed.
    """
    flows, inner = moved.flows, slice(2 * len(fabric.hosts), None)
    mine = np.isin(flows.source, hosts)
    volume = flows.add_up(np.where(mine, flows.volume_bytes, 0.0))[inner]
    used = volume > 0
    load = float((volume[used] * 1e9 / flows.capacity_bps[inner][used]).max(initial=0.0))
    seconds = None if moved.ends is None else float(moved.ends[mine].max(initial=0.0))
    messages = traffic.messages[flows.source, flows.destination] * mine
    late = float(messages @ flows.along(arrival_latency(fabric)))
    return load, seconds, late / float(messages.sum()) if messages.any() else 0.0, flows.add_up(mine.astype(float))
