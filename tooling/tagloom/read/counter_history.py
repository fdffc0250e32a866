"""Read a day of traffic from what switches counted between readings, where nobody knows who sent to whom."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.counted_loads import OWN_BYTES, TOLERANCE
from tagloom.read.estimate import channel_sums, links_usual
from tagloom.read.history import Interval, whole_day, zone_of
from tagloom.records.counted import PortCounts
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import CountedInterval
    from tagloom.records.timetable import History


def history_of_counters(fabric: Fabric, readings: Sequence[CountedInterval], timezone: str) -> History:
    """Return a day of traffic of what the ports of hosts carried between readings.

    Who sent to whom no counter says: what hosts sent is spread over what hosts received in proportion (the gravity
    model), within each network alone, so that every host's totals are as measured. What a port carried of several
    networks counts for each alike. Raises InputError where nothing was measured.
    """
    zone = zone_of(timezone, "--timezone")
    hosts = [(fabric.switches[host.switch].name, host.port) for host in fabric.hosts]
    networks = np.bincount(fabric.host_link, minlength=len(hosts))[fabric.host_link]  # at each host's port
    intervals, absent = [], Counter[str]()
    for reading in readings:
        rates = reading.rates
        carried = {
            (name, port.number): (port.in_bps / 8, port.out_bps / 8)
            for name, each in rates.items()
            for port in each.ports
        }
        absent.update({name for name, _ in hosts if name not in rates or rates[name].why_none})
        if not all(place in carried for place in hosts) or not hosts:
            continue  # a reading that lacks a switch says nothing of its hosts: a gap
        seconds = max(rates[name].seconds for name, _ in hosts)
        sent, received = np.array([carried[place] for place in hosts]).T / networks
        start = datetime.fromtimestamp(reading.end - seconds, zone).replace(tzinfo=None)
        rate = np.zeros((len(hosts), len(hosts)), np.float32)
        for mine in fabric.networks.values():
            rate[np.ix_(mine, mine)] = gravity(sent[mine], received[mine])
        tolerance = reading.apart_seconds / seconds
        counted = (
            np.array([carried[place] for place in hosts]).T,
            channel_sums(fabric, carried, (TOLERANCE + tolerance, OWN_BYTES)),
            links_usual(fabric, reading.down, reading.slowest_bps),
            tolerance,
        )
        intervals.append(Interval(f"reading of {start:%Y-%m-%d %H:%M:%S}", start, seconds, rate, counted))
    remark = "who sends to whom is estimated from host ports' totals (gravity model): counters cannot know it"
    lost = tuple(f"{name} gave no rates in {number_of(n, 'interval')}" for name, n in sorted(absent.items()))
    history, of_row = whole_day(intervals, (remark,))
    none = np.full((2, len(hosts)), np.nan), np.full(2 * len(fabric.links), np.nan), True, 0.0
    rows = [none if i < 0 else intervals[i].counted or none for i in of_row]
    both, channel, usual, tolerance = zip(*rows, strict=True)
    sums = np.stack(both).transpose(1, 0, 2)
    counts = PortCounts(sums[0], sums[1], np.stack(channel), np.array(usual), np.array(tolerance), lost)
    return replace(history, counts=counts)


def gravity(sent: NDArray[np.float64], received: NDArray[np.float64]) -> NDArray[np.float32]:
    """Spread totals over pairs of different hosts, in proportion to both, by iterative proportional fitting.

    It ends where rows and columns fit to a thousandth, or after 100 rounds where they cannot (what the switches
    themselves send and receive is in the totals too).
    """
    seed = np.outer(sent, received)
    np.fill_diagonal(seed, 0.0)
    if not seed.any():
        return seed.astype(np.float32)
    wanted = received * (sent.sum() / received.sum())
    for _ in range(100):
        rows, columns = seed.sum(axis=1), seed.sum(axis=0)
        if np.allclose(rows, sent, rtol=1e-3) and np.allclose(columns, wanted, rtol=1e-3):
            break
        seed *= np.divide(sent, rows, out=np.zeros_like(rows), where=rows > 0)[:, None]
        columns = seed.sum(axis=0)
        seed *= np.divide(wanted, columns, out=np.zeros_like(columns), where=columns > 0)
    return seed.astype(np.float32)
