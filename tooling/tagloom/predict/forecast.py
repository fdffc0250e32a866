"""Put a forecast together: watts before and after, run time with sleep, what a change of links costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.platforms.power import DEFAULT_SPEED_MBPS, port_watts
from tagloom.predict.eee import (
    POWERCONNECT_5548,
    idle_seconds,
    most_overhead_seconds,
    overhead_seconds,
    sleeping_share,
)
from tagloom.records.forecast import Figure, Forecast, PortVerdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.sleep import Eee
    from tagloom.records.traffic import Traffic

HOST_BANDWIDTH_BPS = 1e9
SLOWDOWN_LIMIT = 0.01  # of the run: what a port's sleep may cost before its time-out should be longer, or sleep off
WORTH_SLEEPING = 0.01  # of the time in LPI: less than that is not worth a wake
LONGEST_TIMEOUT_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class _Sleep:
    """Hold what sleep does to the links of the fabric, by channel: first the hosts', sending, then receiving, then C.

    gap, overhead, most, share  float64[2H + C]: mean idle gap, mean wait per message, the most any law of gaps allows,
    share of the time in LPI
    """

    messages: NDArray[np.float64]
    gap: NDArray[np.float64]
    overhead: NDArray[np.float64]
    most: NDArray[np.float64]
    share: NDArray[np.float64]
    busy: NDArray[np.float64]


def forecast(
    before: Fabric,
    after: Fabric,
    traffic: Traffic | None,
    watts: Callable[[Fabric], float],
    toggle_seconds: Callable[[str], float],
    eee: Eee = POWERCONNECT_5548,
    paths: NDArray[np.int32] | None = None,
) -> Forecast:
    """Forecast the change from `before` to `after` (the same fabric with other links up).

    A message waits on its host's link, on the receiver's, and, where `paths` says by which channels every pair goes
    (int32[H, H, longest], -1 after the last), on every link between switches, each by the mean gap of the traffic that
    it carries. The run time is that of the host whose messages wait longest in all: they are all sent in its own time
    (Miwa et al. count n per process). Without traffic the seconds are 0. Raises InputError where the traffic does not
    say how long it took, or does not fit into that time.
    """
    changed = {
        before.switches[s].model
        for old, new in zip(before.links, after.links, strict=True)
        if old.up != new.up
        for s in (old.a, old.b)
    }
    toggles = max((toggle_seconds(model) for model in changed), default=0.0)
    table_2 = "chassis + ports by speed, Koibuchi et al. 2011, table 2"
    run = _run_time(after, traffic, eee, paths) if traffic is not None else _nothing()
    return Forecast(
        watts_before=Figure(watts(before), "W", table_2),
        watts_after=Figure(watts(after), "W", table_2),
        toggle_seconds=Figure(toggles, "s", "Koibuchi et al. 2011, table 6"),
        lost_bytes=Figure(0.0, "B", "paths are moved away before a link is shut"),
        **run,
    )


def _nothing() -> dict[str, Figure]:
    keys = ("seconds_base", "seconds_predicted", "idle_seconds", "overhead_seconds")
    nothing = {key: Figure(0.0, "s", "no traffic given") for key in keys}
    return {**nothing, "eee_saved_watts": Figure(0.0, "W", "no traffic given")}


def _run_time(after: Fabric, traffic: Traffic, eee: Eee, paths: NDArray[np.int32] | None) -> dict[str, object]:
    if traffic.seconds is None:
        raise InputError([Finding("traffic", "how long it took (a line '# seconds: N')", "nothing said")])
    seconds = traffic.seconds
    sleep = _sleep(after, traffic, eee, paths)
    hosts = len(after.hosts)
    wait, most = (
        traffic.messages * (by[:hosts, None] + by[None, hosts : 2 * hosts] + _between(by[2 * hosts :], paths))
        for by in (sleep.overhead, sleep.most)
    )
    slowest = int(np.argmax(wait.sum(axis=1)))
    sent = float(traffic.messages[slowest].sum())
    added, bound = float(wait.sum(axis=1).max(initial=0.0)), float(most.sum(axis=1).max(initial=0.0))
    where = "every link" if paths is not None else "host links"
    source = f"T + sum of n f(I) over the path, {where} asleep; Miwa et al. 2013, eq. 1-2; "
    watts = [_port_watts(after, h) for h in range(hosts)]
    saved = [(1.0 - eee.lpi_power) * w for w in watts]
    share, free = sleep.share[:hosts], 1.0 - sleep.busy[:hosts] / seconds
    return {
        "seconds_base": Figure(seconds, "s", "given with the traffic", seconds, seconds),
        "seconds_predicted": Figure(
            seconds + added, "s", f"{source}low: no gap outlasts the time-out, high: any law of gaps of this mean",
            seconds, seconds + bound,
        ),
        "idle_seconds": Figure(float(sleep.gap[slowest]) if sent else 0.0, "s", "Miwa et al. 2013, eq. 4"),
        "overhead_seconds": Figure(
            float(sleep.overhead[slowest]) if sent else 0.0, "s",
            f"closed form in place of eq. 3, exponential gaps; {eee.source}",
            0.0, float(sleep.most[slowest]) if sent else 0.0,
        ),
        "eee_saved_watts": Figure(
            float(share @ saved), "W", f"EEE ports of known watts, LPI at {eee.lpi_power:g} of a port's power",
            0.0, float(free @ saved),
        ),
        "ports": tuple(_verdict(after, h, eee, sleep, seconds) for h in range(hosts)),
    }  # fmt: skip


def _sleep(fabric: Fabric, traffic: Traffic, eee: Eee, paths: NDArray[np.int32] | None) -> _Sleep:
    """Give every channel the gaps of what it carries; where both directions sleep together, of what its cable does."""
    assert traffic.seconds is not None  # noqa: S101 - the caller has looked
    seconds, hosts = traffic.seconds, len(fabric.hosts)
    channels = 0 if paths is None else len(fabric.tail)

    def carried(volume: NDArray[np.float64]) -> NDArray[np.float64]:
        between = np.zeros(channels)
        if paths is not None:
            pair_a, pair_b, step = np.nonzero(paths >= 0)
            np.add.at(between, paths[pair_a, pair_b, step], volume[pair_a, pair_b])
        return np.concatenate([volume.sum(axis=1), volume.sum(axis=0), between])

    messages = carried(traffic.messages)
    rate = np.full(2 * hosts + channels, HOST_BANDWIDTH_BPS)
    for i, link in enumerate(fabric.links if channels else ()):
        rate[2 * hosts + 2 * i : 2 * hosts + 2 * i + 2] = (link.speed_mbps or DEFAULT_SPEED_MBPS) * 1e6
    volume = carried(traffic.volume_bytes)
    busy = 8.0 * volume / rate
    findings = [
        Finding(
            "traffic",
            f"at most {seconds * rate[c] / 8:.0f} bytes over {_name(fabric, int(c))} in {seconds:g} s",
            f"{volume[c]:.0f} bytes (a negative gap between messages)",
        )
        for c in np.flatnonzero(busy > seconds)
    ]
    if findings:
        raise InputError(findings)
    if eee.together:
        back = np.concatenate(
            [np.arange(hosts) + hosts, np.arange(hosts), 2 * hosts + (np.arange(channels) ^ 1)]
        ).astype(int)
        messages, busy = messages + messages[back], np.maximum(busy, busy[back])
    gap = np.array(
        [idle_seconds(seconds, n, b / n, 1.0) if n else seconds for n, b in zip(messages, busy, strict=True)]
    )
    share = np.array([sleeping_share(g, eee) * (1.0 - b / seconds) for g, b in zip(gap, busy, strict=True)])
    used = messages > 0
    overhead = np.array([overhead_seconds(g, eee) if u else 0.0 for g, u in zip(gap, used, strict=True)])
    most = np.array([most_overhead_seconds(g, eee) if u else 0.0 for g, u in zip(gap, used, strict=True)])
    return _Sleep(messages, gap, overhead, most, np.where(used, share, 1.0), busy)


def _between(by_channel: NDArray[np.float64], paths: NDArray[np.int32] | None) -> NDArray[np.float64] | float:
    """Add up what the links between switches cost each pair, float64[H, H]."""
    if paths is None:
        return 0.0
    return np.asarray(np.append(by_channel, 0.0)[paths].sum(axis=2), np.float64)  # -1 takes the 0 at the end


def _name(fabric: Fabric, channel: int) -> str:
    hosts = len(fabric.hosts)
    if channel < 2 * hosts:
        return f"the link of {fabric.hosts[channel % hosts].name}"
    tail, head = fabric.tail[channel - 2 * hosts], fabric.head[channel - 2 * hosts]
    return f"{fabric.switches[tail].name} to {fabric.switches[head].name}"


def _port_watts(fabric: Fabric, host: int) -> float:
    """Give the watts of a host's switch port, 0 where it cannot sleep."""
    model = fabric.switches[fabric.hosts[host].switch].model
    return port_watts(model, DEFAULT_SPEED_MBPS) if platforms.load(model).eee else 0.0


def _verdict(fabric: Fabric, host: int, eee: Eee, sleep: _Sleep, seconds: float) -> PortVerdict:
    """Say whether a host's port should sleep: the wait of all messages over its link against the time it sleeps."""
    there = [host] if eee.together else [host, host + len(fabric.hosts)]

    def cost(policy: Eee) -> tuple[float, float]:
        waits = [sleep.messages[c] * overhead_seconds(float(sleep.gap[c]), policy) for c in there if sleep.messages[c]]
        shares = [
            sleeping_share(float(sleep.gap[c]), policy) * (1.0 - sleep.busy[c] / seconds) if sleep.messages[c] else 1.0
            for c in there
        ]
        return float(sum(waits)) / seconds, float(np.mean(shares))

    slowdown, share = cost(eee)
    name, model = fabric.hosts[host].name, fabric.switches[fabric.hosts[host].switch].model
    timeout = eee.timeout_seconds
    if not platforms.load(model).eee:
        return PortVerdict(name, "off", f"{model} has no EEE", timeout, slowdown, share)
    if share < WORTH_SLEEPING:
        gap = min(sleep.gap[c] for c in there) * 1e6
        return PortVerdict(name, "off", f"gaps of {gap:.0f} us leave hardly any sleep", timeout, slowdown, share)
    if slowdown <= SLOWDOWN_LIMIT:
        reason = f"asleep {100 * share:.0f} % of the time for {100 * slowdown:.2f} % of the run"
        return PortVerdict(name, "on", reason, timeout, slowdown, share)
    longer = max(timeout, eee.sleep_seconds)
    while (longer := 2.0 * longer) <= LONGEST_TIMEOUT_SECONDS:
        then, left = cost(replace(eee, timeout_seconds=longer))
        if left < WORTH_SLEEPING:
            break
        if then <= SLOWDOWN_LIMIT:
            reason = (
                f"{100 * slowdown:.1f} % of the run at {timeout * 1e6:.0f} us; {longer * 1e6:.0f} us cost "
                f"{100 * then:.2f} % and leave {100 * left:.0f} % asleep"
            )
            return PortVerdict(name, "lengthen", reason, longer, slowdown, share)
    reason = f"costs {100 * slowdown:.1f} % of the run, and no longer time-out that costs less leaves sleep"
    return PortVerdict(name, "off", reason, timeout, slowdown, share)
