"""Bytes that ports counted over a time, in and out of each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Counted:
    """Bytes by (switch, port number), as (into the switch, out of it), over `seconds`; unread ports are missing.

    `intervals` is the number of readings less one. `remarks` say what was missing in them. `down` are ports that were
    down at a reading, `apart_seconds` how far apart switches were read, at most, and `slowest_bps` the least speed of
    each port that was up.
    """

    seconds: float
    intervals: int
    carried: Mapping[tuple[str, int], tuple[float, float]]
    remarks: tuple[str, ...] = ()
    down: frozenset[tuple[str, int]] = frozenset()
    apart_seconds: float = 0.0
    slowest_bps: Mapping[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class PortCounts:
    """What ports carried in each of T intervals between readings, bytes per second.

    sent      float64[T, H]: into the switch by each host's port, of all networks that it carries
    received  float64[T, H]: out of it; NaN in both where nothing was counted
    channel   float64[T, C]: over each channel, the mean of what its two ends counted; NaN where neither was read, and
              where they contradict one another
    usual     bool[T]: the ports of all links that are up in the fabric file were up, and no slower than there, as far
              as they were read
    tolerance float64[T]: the share of a count by which others may differ from it, such as by the time of reading
    missing   why some of these are no counts of the whole time, for people
    """

    sent: NDArray[np.float64]
    received: NDArray[np.float64]
    channel: NDArray[np.float64]
    usual: NDArray[np.bool_]
    tolerance: NDArray[np.float64]
    missing: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.sent)
