"""Traffic between hosts: bytes and messages by ordered pair."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.counted import PortCounts


@dataclass(frozen=True, eq=False)
class Traffic:
    """A traffic matrix over hosts.

    volume_bytes  float64[H, H], row = source, zero on the diagonal (a message to oneself never leaves the host)
    messages      float64[H, H]
    seconds       its duration, or None if unknown
    communication_seconds  mean time of a process inside MPI calls, or None if unknown
    remarks       what the source format cannot express, for people
    calls         how often a process called MPI to send, on average, a collective once; None if unknown
    spread        whether nobody knows who sent to whom, and bytes and messages are spread evenly over all pairs
    ranks         int64[H], how many ranks ran on each host, where the source has times of calls but no messages
    counts        what ports counted of it, of which the matrix is an estimate; None where it is not estimated
    """

    volume_bytes: NDArray[np.float64]
    messages: NDArray[np.float64]
    seconds: float | None = None
    remarks: tuple[str, ...] = ()
    communication_seconds: float | None = None
    calls: float | None = None
    spread: bool = False
    ranks: NDArray[np.int64] | None = None
    counts: PortCounts | None = None

    def __post_init__(self) -> None:
        if self.volume_bytes.shape != self.messages.shape or np.any(np.diag(self.volume_bytes)):
            raise ValueError("a traffic matrix is square, with nothing on its diagonal")
        self.volume_bytes.setflags(write=False)
        self.messages.setflags(write=False)

    @property
    def unknown(self) -> bool:
        """Return whether the times and calls of a run are known, but none of its messages."""
        return self.ranks is not None and not self.messages.any()

    def among(self, hosts: NDArray[np.int64]) -> Traffic:
        """Return the traffic among some hosts, given by index, as arrays of all hosts."""
        inside = np.zeros(len(self.messages), np.bool_)
        inside[hosts] = True
        both = inside[:, None] & inside
        return replace(self, volume_bytes=self.volume_bytes * both, messages=self.messages * both, counts=None)

    def of_hosts(self, kept: Sequence[int]) -> Traffic:
        """Return the traffic among some hosts, given by index."""
        both = np.ix_(kept, kept)
        return replace(self, volume_bytes=self.volume_bytes[both], messages=self.messages[both], counts=None)


@dataclass(frozen=True, eq=False)
class Run:
    """What the hosts of one network run, in arrays of all hosts; all runs of a fabric begin at once."""

    hosts: NDArray[np.int64]
    traffic: Traffic


def together(runs: Sequence[Run]) -> Traffic:
    """Return the sum of several networks' traffic, for as long as the longest of their runs, if all are known."""
    each = [run.traffic for run in runs]
    seconds = [traffic.seconds for traffic in each if traffic.seconds is not None]
    return Traffic(
        np.sum([traffic.volume_bytes for traffic in each], axis=0),
        np.sum([traffic.messages for traffic in each], axis=0),
        max(seconds) if len(seconds) == len(each) else None,
        tuple(dict.fromkeys(remark for traffic in each for remark in traffic.remarks)),
    )
