"""Links that sleep, the path of every host pair, and the messages of a parallel program."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NEVER = np.inf  # a time-out that never ends: the link does not sleep


class Network(NamedTuple):
    """C channels (one direction of a cable each) and the path of every ordered pair of H hosts over them.

    rate_bps       float64[C]
    back           int64[C], the channel of the same cable's other direction
    timeout_seconds, sleep_seconds, wake_seconds  float64[C]; equal in both directions of a cable if `together`
    together       bool[C], the PHY sleeps only when both directions are idle (1000BASE-T)
    latency_seconds  float64[C], from the end of a frame on the wire to when the next node may send it
    path_start     int64[H * H + 1], the offset in `path` of the path of each pair (source * H + destination)
    path           int64[...]
    buffer_bits    a switch's buffer for frames from one channel; the excess is lost
    pause          802.3x: a switch pauses a channel while its buffer goes from half full to a quarter full
    """

    rate_bps: NDArray[np.float64]
    back: NDArray[np.int64]
    timeout_seconds: NDArray[np.float64]
    sleep_seconds: NDArray[np.float64]
    wake_seconds: NDArray[np.float64]
    together: NDArray[np.bool_]
    latency_seconds: NDArray[np.float64]
    path_start: NDArray[np.int64]
    path: NDArray[np.int64]
    buffer_bits: float = np.inf
    pause: bool = False

    @property
    def hosts(self) -> int:
        """Return the number of hosts."""
        return round(float(np.sqrt(len(self.path_start) - 1)))


class Program(NamedTuple):
    """A parallel program of R ranks and K steps: compute, send this step's messages, wait for the received ones.

    host             int64[R], the host of each rank; messages within a host cost nothing
    compute_seconds  float64[K, R]
    first_message    int64[K * R + 1], the offset of the messages of (step * R + rank) in the next two
    destination      int64[M], a rank
    volume_bytes     float64[M]
    waits            False for senders that do not wait: traffic of given arrival times
    frame_bytes      the maximum payload of a frame
    overhead_bytes   added to every frame on the wire (headers, preamble, gap)
    awaited          int64[M], the step in which the destination awaits each message; empty: that in which it is sent
    """

    host: NDArray[np.int64]
    compute_seconds: NDArray[np.float64]
    first_message: NDArray[np.int64]
    destination: NDArray[np.int64]
    volume_bytes: NDArray[np.float64]
    waits: bool = True
    frame_bytes: float = 1460.0
    overhead_bytes: float = 78.0
    awaited: NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def frames(self) -> NDArray[np.int64]:
        """Return the number of frames of every message, int64[M]; an empty message still takes one."""
        return np.maximum(1, np.ceil(self.volume_bytes / self.frame_bytes)).astype(np.int64)

    @property
    def wire_bits(self) -> NDArray[np.float64]:
        """Return the bits that every message puts on the wire, float64[M]."""
        return np.asarray(8.0 * (self.volume_bytes + self.frames * self.overhead_bytes), np.float64)


def joined_programs(programs: Sequence[Program]) -> Program:
    """Return one program that runs several, of the same ranks, of which each computes and sends in one of them alone.

    A rank that is done early computes nothing more and waits for nobody.
    """
    if len(programs) == 1:
        return programs[0]
    ranks = programs[0].compute_seconds.shape[1]
    steps = max(len(program.compute_seconds) for program in programs)
    compute = np.zeros((steps, ranks))
    for program in programs:
        compute[: len(program.compute_seconds)] += program.compute_seconds
    rows = [np.repeat(np.arange(len(p.first_message) - 1), np.diff(p.first_message)) for p in programs]
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=steps * ranks))]).astype(np.int64)
    destination, volume = (
        np.concatenate([getattr(p, name) for p in programs])[order] for name in ("destination", "volume_bytes")
    )
    return programs[0]._replace(
        compute_seconds=compute, first_message=first, destination=destination, volume_bytes=volume
    )
