"""Compute max-min fair rates of flows on a fabric's channels, and follow the flows to completion."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.rows import places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows

SAME = 1e-9  # relative: shares that differ by less differ only by rounding


def max_min_rates(flows: Flows) -> NDArray[np.float64]:
    """Return each flow's max-min fair rate in bits per second, float64[F].

    No rate can grow without reducing a smaller one. Progressive filling (Bertsekas and Gallager, Data Networks, 1992,
    Sect. 6.5.2): all rates grow alike until channels are full; flows over those are fixed, the others grow on. Each
    round fixes the flows of the channels with the smallest share, so every flow's channels are visited once.
    """
    everyone = np.arange(len(flows))
    rate = np.zeros(len(flows))
    _fill(flows, everyone, flows.capacity_bps.copy(), rate)
    return rate


def _fill(flows: Flows, who: NDArray[np.int64], left: NDArray[np.float64], rate: NDArray[np.float64]) -> None:
    """Share the capacity `left` on the channels among the flows `who`, and write their rates to `rate`."""
    from scipy.sparse import csr_array  # noqa: PLC0415 - a third of a second that most commands need not spend

    if not len(who):
        return
    first, channel = _paths_of(flows, who)
    waiting = np.bincount(channel, minlength=len(left))
    used = np.flatnonzero(waiting)  # few of many channels, if few flows share anew
    place = np.zeros(len(left), np.int32)
    place[used] = np.arange(len(used), dtype=np.int32)
    left, waiting, channel = left[used], waiting[used].astype(np.float64), place[channel]
    table = csr_array((np.ones(len(channel), np.int8), channel, first), shape=(len(who), len(used))).tocsc()
    over, over_first = table.indices, table.indptr
    open_ = np.ones(len(who), np.bool_)
    share = left / waiting
    remaining = len(who)
    while remaining:
        level = share.min()
        full = np.flatnonzero(share <= level * (1 + SAME))
        now = np.concatenate([over[over_first[c] : over_first[c + 1]] for c in full])
        now = now[open_[now]]
        if len(full) > 1:
            now = np.unique(now)
        open_[now] = False
        remaining -= len(now)
        rate[who[now]] = level
        steps = first[now + 1] - first[now]
        touched = channel[places(first[now], steps)]
        gone = np.bincount(touched, minlength=len(used))
        waiting -= gone
        left -= level * gone
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(waiting > 0, np.maximum(left, 0.0) / waiting, np.inf)


@dataclass(frozen=True, eq=False)
class Finish:
    """The completion of flows that all start at once: seconds and initial rate of each, and the number of events."""

    seconds: NDArray[np.float64]
    first_bps: NDArray[np.float64]
    rounds: int

    @property
    def makespan_seconds(self) -> float:
        """Return when the last flow has finished."""
        return float(self.seconds.max(initial=0.0))


def finish(flows: Flows, together: float = 0.0) -> Finish:
    """Follow all flows from a common start until each has moved its bytes, with max-min fair rates throughout.

    When flows finish, every channel that limits a flow of smaller rate carried none of them. So flows of smaller rate
    keep theirs, and only the others share anew. Flows that finish within `together` (relative to the time passed) are
    one event, after which rates are computed once. Flows over a channel without capacity never finish (inf).
    """
    rate = max_min_rates(flows)
    first_bps = rate.copy()
    bits = 8.0 * flows.volume_bytes
    ends = np.full(len(flows), np.inf)
    seconds = np.full(len(flows), np.inf)
    np.divide(bits, rate, out=ends, where=rate > 0)
    since = np.zeros(len(flows))
    used = flows.add_up(rate)
    rounds = 0
    while np.isfinite(now := ends.min(initial=np.inf)):
        rounds += 1
        done = np.flatnonzero(ends <= now * (1 + together + SAME))
        now = float(ends[done].max())
        seconds[done] = ends[done]
        slowest = rate[done].min() * (1 - SAME)
        ends[done] = np.inf
        again = np.flatnonzero((rate >= slowest) & np.isfinite(ends))
        used -= _carried(flows, done, rate) + _carried(flows, again, rate)
        bits[again] -= rate[again] * (now - since[again])
        since[again] = now
        rate[done] = 0.0
        _fill(flows, again, np.maximum(flows.capacity_bps - used, 0.0), rate)
        used += _carried(flows, again, rate)
        ends[again] = now + np.maximum(bits[again], 0.0) / rate[again]
    return Finish(seconds, first_bps, rounds)


def _paths_of(flows: Flows, who: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Return the channels of the flows `who` (ascending), path after path, and the offset of each path."""
    if len(who) == len(flows):
        return flows.first, flows.channel
    count = flows.first[who + 1] - flows.first[who]
    first = np.concatenate([[0], np.cumsum(count)])
    return first, flows.channel[places(flows.first[who], count)]


def _carried(flows: Flows, who: NDArray[np.int64], rate: NDArray[np.float64]) -> NDArray[np.float64]:
    first, channel = _paths_of(flows, who)
    return np.bincount(channel, np.repeat(rate[who], np.diff(first)), len(flows.capacity_bps)).astype(np.float64)
