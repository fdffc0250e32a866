"""Compute a fabric's time to move traffic, its ratio to one ideal switch, and the latency of its switches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import with_copies
from tagloom.graph.flows import flows_of, one_switch
from tagloom.graph.rows import places
from tagloom.platforms.power import latency_seconds
from tagloom.predict.flows import finish, max_min_rates
from tagloom.records.forecast import Figure, Performance

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic

EXACT_UP_TO = 5_000  # flows: up to here the rates change at the end of every single flow
FOLLOWED_UP_TO = 100_000  # flows: up to here they are followed to their ends
TOGETHER = 0.01  # of the time passed: beyond EXACT_UP_TO, flows that end within this share end together
TABLE_4 = "switches on the way x latency, Koibuchi et al. 2011, table 4; models that it lacks as its PowerConnect 5324"


@dataclass(frozen=True, eq=False)
class Moved:
    """How a fabric moves traffic.

    seconds   until all is moved; at least `least`, the busiest channel's sending time; `stuck`, if the initial rates
              never grew
    ends      float64[F], when each flow has finished; None if they were not followed
    latency   delay by switches per message, mean over all messages; `waiting`, the largest sum over one host's messages
    busy      float64[2H + C], share of `seconds` that each channel sends
    """

    flows: Flows
    seconds: float
    least: float
    stuck: float
    ends: NDArray[np.float64] | None
    latency: float
    waiting: float
    busy: NDArray[np.float64]

    @property
    def model_seconds(self) -> float:
        """Return the time that communication scales with: moving the bytes, then one host's latencies in sequence."""
        return self.seconds + self.waiting


def move(fabric: Fabric, routes: Routes, traffic: Traffic, *, floods: bool = False) -> Moved:
    """Move traffic that all begins at once by the planned paths, max-min fair. Raises ValueError if a path is missing.

    With `floods`, what is sent to uplinks without an address takes all channels and ports that flooded frames take; the
    paths of every source must be a tree, as with fixed assignment. Beyond FOLLOWED_UP_TO flows the time is that of the
    busiest channel, a lower bound.
    """
    flows = flows_of(fabric, routes, traffic.volume_bytes, traffic.messages)
    flows = with_copies(fabric, routes, flows) if floods else flows
    messages = traffic.messages[flows.source, flows.destination]
    bits = 8.0 * flows.volume_bytes
    with np.errstate(divide="ignore", invalid="ignore"):
        channel_seconds = np.nan_to_num(flows.add_up(bits) / flows.capacity_bps, nan=0.0)
    least = float(channel_seconds.max(initial=0.0))
    ends = None
    if len(flows) <= FOLLOWED_UP_TO:
        ended = finish(flows, TOGETHER if len(flows) > EXACT_UP_TO else 0.0)
        ends, seconds, rate = ended.seconds, max(ended.makespan_seconds, least), ended.first_bps
    else:
        seconds, rate = least, max_min_rates(flows)
    stuck = float((bits[bits > 0] / rate[bits > 0]).max(initial=0.0))
    of_flow = messages * flows.along(arrival_latency(fabric))
    waiting = np.bincount(flows.source, of_flow, len(fabric.hosts)).max(initial=0.0)
    mean = float(of_flow.sum() / messages.sum()) if messages.sum() else 0.0
    busy = channel_seconds / seconds if seconds else channel_seconds
    return Moved(flows, seconds, least, max(stuck, seconds), ends, mean, float(waiting), busy)


def moved_of(fabric: Fabric, moved: Moved, traffic: Traffic, hosts: NDArray[np.int64]) -> Moved:
    """Return how the traffic of some hosts is moved while that of all is; of all that is not followed, by channel."""
    mine = np.isin(moved.flows.source, hosts)
    flows = moved.flows.among(mine)
    messages = traffic.messages[flows.source, flows.destination]
    of_flow = messages * flows.along(arrival_latency(fabric))
    sending = 8.0 * flows.add_up(flows.volume_bytes)
    own = np.divide(sending, flows.capacity_bps, out=np.zeros_like(sending), where=flows.capacity_bps > 0)
    least = float(own.max(initial=0.0))
    ends = None if moved.ends is None else moved.ends[mine]
    with_others = float((moved.busy * moved.seconds)[own > 0].max(initial=0.0))
    seconds = with_others if ends is None else max(least, float(ends.max(initial=0.0)))
    waiting = np.bincount(flows.source, of_flow, len(fabric.hosts)).max(initial=0.0)
    mean = float(of_flow.sum() / messages.sum()) if messages.any() else 0.0
    stuck = max(moved.stuck, seconds)
    return Moved(flows, seconds, least, stuck, ends, mean, float(waiting), own / seconds if seconds else own)


def arrival_latency(fabric: Fabric) -> NDArray[np.float64]:
    """Return the latency of the switch at the end of each channel, float64[2H + C] in seconds."""
    hosts = len(fabric.hosts)
    enters = np.concatenate([fabric.host_switch, np.zeros(hosts, np.int32), fabric.head])
    late: NDArray[np.float64] = np.array([latency_seconds(switch.model) for switch in fabric.switches])[enters]
    late[hosts : 2 * hosts] = 0.0  # the receiving channel of a host ends at the host
    return late


def performance(before: Moved, after: Moved) -> Performance:
    """Return the comparison of two ways to move the same traffic, also with one ideal switch."""
    flows, hosts = before.flows, before.flows.hosts
    ideal = float((8.0 * flows.add_up(flows.volume_bytes)[: 2 * hosts] / flows.capacity_bps[: 2 * hosts]).max())
    if before.ends is not None:
        ideal = max(ideal, finish(one_switch(flows), TOGETHER).makespan_seconds)

    def seconds(moved: Moved) -> Figure:
        how = "max-min fair flows begun at once" if moved.ends is not None else "the busiest channel's bytes"
        low_high = "low: the busiest channel alone, high: rates as at the beginning"
        return Figure(moved.seconds, "s", f"{how}; {low_high}", moved.least, moved.stuck)

    def share(moved: Moved) -> Figure:
        source = "one ideal switch's time over the fabric's, as Koibuchi et al. 2011, Fig. 10"
        # Nothing is faster than one ideal switch; grouping the ends of its flows may make it seem so.
        value, low, high = (min(1.0, _over(ideal, x)) for x in (moved.seconds, moved.stuck, moved.least))
        return Figure(value, "", source, low, high)

    def latency(moved: Moved) -> Figure:
        return Figure(moved.latency, "s", TABLE_4, moved.latency, moved.latency)

    return Performance(
        seconds(before),
        seconds(after),
        share(before),
        share(after),
        latency(before),
        latency(after),
        after.busy,
        len(flows),
        _rerouted(flows, after.flows),
    )


def _rerouted(before: Flows, after: Flows) -> int:
    """Return how many flows take another path than before; both are the same pairs in the same order."""
    if before is after:
        return 0
    alike = before.hops == after.hops
    kept = before.hops[alike] + 1
    old, new = (x.channel[places(x.first[:-1][alike], kept)] for x in (before, after))
    flow = np.repeat(np.arange(len(kept)), kept)
    return int((~alike).sum()) + len(np.unique(flow[old != new]))


def worst_ratio(before: Moved, after: Moved) -> float:
    """Return the slow-down of the pair that is slowed most, at least 1."""
    if before.ends is None or after.ends is None:
        return max(1.0, _over(after.stuck, before.stuck))
    some = (before.ends > 0) & np.isfinite(before.ends)
    return float((after.ends[some] / before.ends[some]).max(initial=1.0))


def _over(a: float, b: float) -> float:
    return a / b if b else 1.0
