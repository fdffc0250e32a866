"""Convert a fabric to the arrays that the kernels read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.search import hops_from
from tagloom.records.routes import UNUSED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric


# (first, following) by destination, then the load of each channel
Tables = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.float64]"]


class Net(NamedTuple):
    """The part of a fabric that connects its hosts, with its own numbers.

    With n switches, m channels (those that are up), D switches with hosts:

    switch   int32[n], the fabric's number of each switch
    channel  int32[m], the fabric's number of each channel; the numbers 2i and 2i + 1 are the two directions of a link
    tail, head  int32[m], the switch each channel leaves and enters
    parallel_link int32[m], the number of the channel's link among the parallel links of its two switches, from 0
    weight   float64[n], hosts at each switch
    target   int32[D], the switches with hosts
    out_start int32[n + 1], out int32[m]: the channels that leave switch v are out[out_start[v] : out_start[v + 1]]
    """

    switch: NDArray[np.int32]
    channel: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    parallel_link: NDArray[np.int32]
    weight: NDArray[np.float64]
    target: NDArray[np.int32]
    out_start: NDArray[np.int32]
    out: NDArray[np.int32]


class Ordered(NamedTuple):
    """The channels of a net renumbered by their positions in an order, with the turns that the order allows.

    A path may go from channel c to channel c' if c' leaves the switch that c enters, does not lead straight back, and c
    < c'. So every path ascends, and the dependencies cannot close a cycle.

    channel  int32[m], the fabric's number of the channel at each position
    tail, head  int32[m]
    out_start int32[n + 1], out int32[m]; in_start int32[n + 1], into int32[m]: by switch, each ascending
    turn_start int32[m + 1], turn int32[T]: the channels that may follow each channel, ascending
    switch, weight, target  as in Net
    """

    channel: NDArray[np.int32]
    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    out_start: NDArray[np.int32]
    out: NDArray[np.int32]
    in_start: NDArray[np.int32]
    into: NDArray[np.int32]
    turn_start: NDArray[np.int32]
    turn: NDArray[np.int32]
    switch: NDArray[np.int32]
    weight: NDArray[np.float64]
    target: NDArray[np.int32]


def lay_out(fabric: Fabric) -> Net:
    """Return the switches that connect the hosts over links that are up, as arrays.

    Raises PlanError if two hosts are not connected. Without hosts the net is empty.
    """
    n = len(fabric.switches)
    channel = np.flatnonzero(fabric.channel_up).astype(np.int32)
    tail, head = fabric.tail[channel], fabric.head[channel]
    out_start, out = by_switch(n, tail)
    hosts = np.bincount(fabric.host_switch, minlength=n) if len(fabric.hosts) else np.zeros(n, np.int64)
    inside = np.zeros(n, np.bool_)
    if len(fabric.hosts):
        inside = hops_from(n, tail, head, int(fabric.host_switch[0])) < n
    if np.any(hosts[~inside]):
        lost = fabric.switches[int(np.flatnonzero(~inside & (hosts > 0))[0])].name
        raise PlanError("all hosts are connected by links that are up", f"{lost} is cut off", "switch a link on")
    switch = np.flatnonzero(inside).astype(np.int32)
    if len(switch) < n:
        keep = inside[tail]
        channel, tail, head = channel[keep], tail[keep], head[keep]
        number = np.cumsum(inside, dtype=np.int32) - 1
        tail, head = number[tail], number[head]
        out_start, out = by_switch(len(switch), tail)
    weight = hosts[switch].astype(np.float64)
    target = np.flatnonzero(weight > 0).astype(np.int32)
    return Net(switch, channel, tail, head, _parallel_links(len(switch), tail, head), weight, target, out_start, out)


def by_switch(n: int, where: NDArray[np.int32]) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return channels sorted by their switch `where`: (start int32[n + 1], channels int32[m], ascending per switch)."""
    start = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(where, minlength=n), out=start[1:])
    return start, np.argsort(where, kind="stable").astype(np.int32)


def _parallel_links(n: int, tail: NDArray[np.int32], head: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return the number of each channel's link among the parallel links between two switches, int32[m], from 0."""
    number = np.zeros(len(tail), np.int32)
    pair = np.minimum(tail, head)[::2].astype(np.int64) * n + np.maximum(tail, head)[::2]
    order = np.argsort(pair, kind="stable")
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    if len(starts) == len(pair):
        return number
    first = np.repeat(starts, np.diff(starts, append=len(pair)))
    number[2 * order] = number[2 * order + 1] = np.arange(len(pair)) - first
    return number


def relation_table(order: Ordered, channels: int, switches: int) -> Tables:
    """Return tables for a relation in the fabric's numbers, all UNUSED, and for the loads of the ordered channels."""
    first = np.full((len(order.target), switches), UNUSED, np.int32)
    return first, np.full((max(1, channels), switches), UNUSED, np.int32), np.zeros(len(order.tail))
