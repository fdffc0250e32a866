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
    child, sibling  int64[...], beside `path`: the first place that takes a frame on from this one, and the next one
                   that takes a copy from where this does, -1 for none; empty where nothing is flooded. A pair whose
                   frames flood has each channel of their copies after its path, with -1 before and after each
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
    child: NDArray[np.int64] = np.empty(0, np.int64)
    sibling: NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def hosts(self) -> int:
        """Return the number of hosts."""
        return round(float(np.sqrt(len(self.path_start) - 1)))

    @property
    def copies(self) -> NDArray[np.int64]:
        """Return the channels that copies of a flooded frame of each pair cross beside its path, int64[H, H]."""
        copy = np.zeros(len(self.path), np.int64)
        copy[1:] = (self.path[1:] >= 0) & (self.path[:-1] < 0)
        copy[self.path_start[:-1][np.diff(self.path_start) > 0]] = 0
        sums = np.concatenate([[0], np.cumsum(copy)])
        return np.diff(sums[self.path_start]).reshape(self.hosts, self.hosts)


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
    """Return one program that runs several side by side: the ranks of the first, then those of the next, and so on.

    A rank whose program has fewer steps computes nothing more in the others, and waits for nobody.
    """
    if len(programs) == 1:
        return programs[0]
    ranks = np.array([len(program.host) for program in programs])
    start, steps = np.cumsum(ranks) - ranks, max(len(program.compute_seconds) for program in programs)
    compute, rows, awaited = np.zeros((steps, int(ranks.sum()))), [], []
    for program, first, mine in zip(programs, start.tolist(), ranks.tolist(), strict=True):
        compute[: len(program.compute_seconds), first : first + mine] = program.compute_seconds
        sent = np.repeat(np.arange(len(program.first_message) - 1), np.diff(program.first_message))
        rows.append(sent // mine * compute.shape[1] + first + sent % mine)
        awaited.append(program.awaited if len(program.awaited) else sent // mine)
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    destination = np.concatenate([p.destination + first for p, first in zip(programs, start.tolist(), strict=True)])
    later = any(len(program.awaited) for program in programs)
    return programs[0]._replace(
        host=np.concatenate([program.host for program in programs]),
        compute_seconds=compute,
        first_message=np.concatenate([[0], np.cumsum(np.bincount(row, minlength=compute.size))]).astype(np.int64),
        destination=destination[order],
        volume_bytes=np.concatenate([program.volume_bytes for program in programs])[order],
        awaited=np.concatenate(awaited)[order] if later else np.empty(0, np.int64),
    )
