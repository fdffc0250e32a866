"""Forecast what each of several networks has of the fabric that all of them load, and how long its run takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.predict.forecast import network_seconds, waits_of
from tagloom.predict.performance import moved_of
from tagloom.records.forecast import Figure, NetworkForecast
from tagloom.records.traffic import Run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tagloom.graph.flows import Flows
    from tagloom.predict.performance import Moved
    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Replay
    from tagloom.records.sleep import Eee
    from tagloom.records.traffic import Traffic


def runs_of(fabric: Fabric, traffic: Traffic) -> tuple[Run, ...]:
    """Return each network's part of the traffic of all, as a run of its own; none if there is but one network."""
    if len(fabric.networks) < 2:
        return ()
    return tuple(Run(hosts, traffic.among(hosts)) for hosts in fabric.networks.values())


def timed(runs: Sequence[Run], traffic: Traffic, replayed: Replay) -> tuple[Run, ...]:
    """Return runs whose order is known with their seconds: their own, else those replayed.

    Where `traffic` states seconds for all together, each network has as much of them as of the replay.
    """
    found = []
    for run, own in zip(runs, replayed.networks, strict=True):
        seconds = run.traffic.seconds
        if seconds is None:
            seconds = own.seconds * (traffic.seconds or replayed.seconds) / replayed.seconds
        found.append(replace(run, traffic=replace(run.traffic, seconds=seconds)))
    return tuple(found)


def networks_of(
    before: Fabric,
    after: Fabric,
    traffic: Traffic,
    moved: tuple[Moved, Moved],
    loads: Sequence[Mapping[str, float]],
    runs: Sequence[Run] = (),
    policies: Sequence[tuple[Eee | None, Replay | None]] = (),
    flows: Flows | None = None,
) -> tuple[NetworkForecast, ...]:
    """Return each network's share of how both fabrics move the traffic of all, none if there is but one network.

    `loads` are the bytes on each network's busiest channel before and after, scaled to 1 Gb/s.
    With `runs`, one for each network, also how long each takes; `policies` and `flows` are those of the whole forecast:
    how ports sleep, with the replay, the first as forecast and the others the ends of its intervals.
    """
    if len(before.networks) < 2:
        return ()
    runs = runs or [Run(hosts, traffic.among(hosts)) for hosts in before.networks.values()]
    timed = bool(policies) and traffic.seconds is not None
    waits = [
        waits_of(after, traffic, eee, flows, moved[1]) if timed and eee is not None and run is None else None
        for eee, run in policies
    ]
    total, inner = moved[1].flows.add_up(np.ones(len(moved[1].flows))), slice(2 * len(after.hosts), None)
    found = []
    for n, ((name, hosts), run) in enumerate(zip(before.networks.items(), runs, strict=True)):
        old, new = both = [
            moved_of(fabric, each, traffic, hosts) for fabric, each in zip((before, after), moved, strict=True)
        ]
        carried = new.flows.add_up(np.ones(len(new.flows)))[inner]
        shared = int(np.count_nonzero((carried > 0) & (total[inner] > carried)))
        volume = float(traffic.volume_bytes[hosts].sum())
        ends = [None if each.ends is None else float(each.ends.max(initial=0.0)) for each in both]
        part = NetworkForecast(
            name,
            len(hosts),
            len(hosts) * (len(hosts) - 1),
            volume,
            loads[0][name],
            loads[1][name],
            shared,
            ends[0],
            ends[1],
            old.latency,
            new.latency,
        )
        if timed and run.traffic.messages.any():
            slept = [None if both is None else (both[0][hosts], both[1][hosts]) for both in waits]
            replays = [None if replay is None else replay.networks[n] for _, replay in policies]
            figures = [
                network_seconds(run.traffic, (old, new), wait, replay)
                for wait, replay in zip(slept, replays, strict=True)
            ]
            part = _with_seconds(part, run.traffic.seconds, figures)
        found.append(part)
    return tuple(found)


def _with_seconds(part: NetworkForecast, base: float | None, figures: Sequence[Figure]) -> NetworkForecast:
    """Return a forecast with a run's seconds: the first figure, with an interval that reaches as far as any."""
    low = min(end for each in figures for end in (each.value, each.low) if end is not None)
    high = max(end for each in figures for end in (each.value, each.high) if end is not None)
    first = figures[0].value
    return replace(
        part, seconds_base=base, seconds_predicted=first, seconds_predicted_low=low, seconds_predicted_high=high
    )
