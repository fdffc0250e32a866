"""Make networks to simulate: hosts around one switch, or on both ends of a row of switches, and their programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.simulation import NEVER, Network, Program

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.sleep import Eee

SWITCH_SECONDS = 2.75e-6  # Koibuchi et al. 2011, table 4: what one switch adds to a message, on a PowerConnect 5324


def network(
    cables: int,
    paths: Sequence[Sequence[Sequence[int]]],
    rate_bps: float,
    eee: Eee | None,
    latency_seconds: float = 0.0,
    buffer_bytes: float = np.inf,
    *,
    pause: bool = False,
) -> Network:
    """Make a network of cables whose channel 2i is the other direction of 2i + 1; paths[source][destination]."""
    channels = 2 * cables
    start, flat = [0], list[int]()
    for row in paths:
        for way in row:
            flat += [*way, -1]
            start.append(len(flat))
    timeout = NEVER if eee is None else eee.timeout_seconds
    return Network(
        np.full(channels, rate_bps, float),
        (np.arange(channels) ^ 1).astype(np.int64),
        np.full(channels, timeout, float),
        np.full(channels, eee.sleep_seconds if eee else 0.0, float),
        np.full(channels, eee.wake_seconds if eee else 0.0, float),
        np.full(channels, eee.together if eee else False),
        np.full(channels, latency_seconds, float),
        np.array(start, np.int64),
        np.array(flat, np.int64),
        8.0 * buffer_bytes,
        pause,
    )


def star(hosts: int, rate_bps: float, eee: Eee | None, latency_seconds: float = SWITCH_SECONDS) -> Network:
    """Make hosts around one switch: host h sends on channel 2h and receives on 2h + 1 (Miwa et al. 2013, Sect. 5)."""
    paths = [[[] if a == b else [2 * a, 2 * b + 1] for b in range(hosts)] for a in range(hosts)]
    return network(hosts, paths, rate_bps, eee, latency_seconds)


def row(switches: int, rate_bps: float, eee: Eee | None, latency_seconds: float = SWITCH_SECONDS) -> Network:
    """Make two hosts with a row of switches between them: channels 0, 2, ... lead from the first to the second."""
    there = list(range(0, 2 * switches + 2, 2))
    return network(switches + 1, [[[], there], [[c + 1 for c in reversed(there)], []]], rate_bps, eee, latency_seconds)


def exchange(host: Sequence[int], compute_seconds: NDArray[np.float64], volume_bytes: NDArray[np.float64]) -> Program:
    """Make a program whose every step exchanges messages: volume_bytes float64[K or 1, R, R], NaN where none goes."""
    steps, ranks = compute_seconds.shape
    volume = np.broadcast_to(volume_bytes, (steps, ranks, ranks))
    step, source, destination = np.nonzero(~np.isnan(volume))
    counts = np.bincount(step * ranks + source, minlength=steps * ranks)
    return Program(
        np.array(host, np.int64),
        np.ascontiguousarray(compute_seconds),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        destination.astype(np.int64),
        np.ascontiguousarray(volume[step, source, destination]),
    )


def all_to_all(host: Sequence[int], compute_seconds: NDArray[np.float64], message_bytes: float) -> Program:
    """Make the paper's synthetic application: every step each rank sleeps, then sends to every other rank (Fig. 5)."""
    ranks = len(host)
    volume = np.full((1, ranks, ranks), float(message_bytes))
    volume[0, np.arange(ranks), np.arange(ranks)] = np.nan
    return exchange(host, compute_seconds, volume)


def stream(gaps_seconds: NDArray[np.float64], message_bytes: float, *, both: bool = False) -> Program:
    """Make one-frame messages from host 0 to host 1 at given gaps (float64[K, 1 or 2]); `both`: and back as well."""
    steps = len(gaps_seconds)
    compute = np.zeros((steps, 2))
    compute[:, : gaps_seconds.shape[1]] = gaps_seconds
    counts = np.tile([1, int(both)], steps)
    destination = np.tile(np.array([1, 0], np.int64) if both else np.array([1], np.int64), steps)
    return Program(
        np.array([0, 1], np.int64),
        compute,
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        destination,
        np.full(len(destination), float(message_bytes)),
        waits=False,
        frame_bytes=message_bytes,
        overhead_bytes=0.0,
    )
