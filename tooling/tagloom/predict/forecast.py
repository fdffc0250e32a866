"""Assemble a forecast: watts before and after, run time with sleep, the cost of changing links."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.graph.flows import HOST_BPS
from tagloom.platforms.power import port_watts, power_sources
from tagloom.predict.eee import (
    POWERCONNECT_5548,
    idle_seconds,
    most_overhead_seconds,
    overhead_seconds,
    sleeping_share,
)
from tagloom.predict.performance import Moved, performance, worst_ratio
from tagloom.predict.trace import HELD
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.forecast import NO_TRAFFIC, Figure, Forecast, PortVerdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.graph.flows import Flows
    from tagloom.platforms import PortWatts
    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Replay
    from tagloom.records.sleep import Eee, Fit
    from tagloom.records.traffic import Traffic

SLOWDOWN_LIMIT = 0.01  # of the run: if a port's sleep costs more, a longer time-out or no sleep is advised
WORTH_SLEEPING = 0.01  # of the time in LPI: less does not justify a wake
LONGEST_TIMEOUT_SECONDS = 1.0  # advised: our choice
TABLE_2_OVER, TABLE_2_UNDER = 0.022, 0.007  # base + ports against printed maxima: the extremes of four switches
PORT_UNDER, PORT_OVER = 0.05, 0.013  # (printed maximum - base) / ports against watts per port, SF-420G and 6224
LEAST_SECONDS, MOST_SECONDS = 1e-6, 3.2e8  # of a run: a microsecond to ten years
ROUNDED = 1e-3  # of the seconds that profilers report: mpiP prints three digits
MOST_MESSAGE_BYTES = 1e12  # a message of more is taken for another unit
ASLEEP_ERROR = 0.01  # of the run, in a link's share in LPI: four times the worst of 100 runs simulated by frames


@dataclass(frozen=True, eq=False)
class _Sleep:
    """The effect of sleep on the links, by channel: the hosts' sending, then receiving, then the fabric's C.

    gap, overhead, most, share  float64[2H + C]: mean idle gap, mean wait per message, its bound over all distributions
                                of gaps, share of the time in LPI
    """

    messages: NDArray[np.float64]
    gap: NDArray[np.float64]
    overhead: NDArray[np.float64]
    most: NDArray[np.float64]
    share: NDArray[np.float64]
    busy: NDArray[np.float64]


def forecast(  # noqa: PLR0913 - what a forecast depends on
    before: Fabric,
    after: Fabric,
    traffic: Traffic | None,
    watts: Callable[[Fabric], float] | None,
    toggle_seconds: Callable[[str], float],
    eee: Eee | None = POWERCONNECT_5548,
    flows: Flows | None = None,
    moved: tuple[Moved, Moved] | None = None,
    power: Mapping[str, PortWatts] | None = None,
    replayed: Replay | None = None,
) -> Forecast:
    """Forecast the change from `before` to `after` (the same fabric with other links up).

    Sleep: a message waits on its host's link, on the receiver's, and, with `flows` over the paths of `after`, on every
    link between switches, each by the mean gap of the traffic that it carries. The run is extended by the largest total
    wait of any host's messages, since a host sends all of them within the run (Miwa et al. count n per process).

    Bandwidth and latency: `moved` is how before and after move the traffic. Communication time grows by the model's
    ratio; its base is the profile's seconds, else the model's. Computation time stays.

    If a run's messages were `replayed`, in their order or in random ones, that decides how much longer the run takes.

    Without traffic the seconds are 0, without `watts` those are None. Raises InputError if the traffic has no duration,
    or does not fit into it.
    """
    changed = {
        before.switches[s].model
        for old, new in zip(before.links, after.links, strict=True)
        if (old.up, old.speed_mbps) != (new.up, new.speed_mbps)
        for s in (old.a, old.b)
    }
    toggles = max((toggle_seconds(model) for model in changed), default=0.0)
    run = _run_time(after, traffic, eee, flows, moved, power, replayed) if traffic is not None else _nothing()
    if watts is None:
        run |= dict.fromkeys(("watts_before", "watts_after", "saved_watts", "eee_saved_watts"))
    else:
        drawn, sources = (watts(before), watts(after)), power_sources(before, power)
        run |= {
            "watts_before": _watts(drawn[0], sources),
            "watts_after": _watts(drawn[1], sources),
            "saved_watts": _saved(drawn[0] - drawn[1], sources),
        }
    return Forecast(
        toggle_seconds=_toggles(toggles, changed),
        lost_bytes=Figure(0.0, "B", "paths are moved away before a link is shut", 0.0, 0.0),
        performance=performance(*moved) if moved is not None and len(moved[0].flows) else None,
        replay=replayed,
        **run,
    )


def network_seconds(
    run: Traffic,
    moved: tuple[Moved, Moved],
    waits: tuple[NDArray[np.float64], NDArray[np.float64]] | None,
    replayed: Replay | None,
) -> Figure:
    """Return how long a network's run takes, with the model of the whole forecast, or as `replayed` beside all others.

    `moved` is how its traffic is moved while that of all is; `waits` are the seconds that its hosts wait for links that
    wake, and their bounds, float64[h].
    """
    seconds = _checked_seconds(run)
    if replayed is not None:
        return _replayed_seconds(seconds, replayed.sleep_seconds + replayed.network_seconds, replayed)
    slower, low, high, how = _communication(run, seconds, moved)
    slept, bound = (float(each.max(initial=0.0)) for each in waits) if waits is not None else (0.0, 0.0)
    added = slept + sum(part for _, part in slower)
    return Figure(seconds + added, "s", how, seconds + low, seconds + bound + high)


def waits_of(
    after: Fabric, traffic: Traffic, eee: Eee, flows: Flows | None, moved: Moved | None = None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the seconds that each host's messages wait for links that wake, and their bounds, float64[H] each."""
    sleep = _sleep(after, traffic, eee, flows, moved)
    return _waits(after, traffic, sleep.overhead, flows), _waits(after, traffic, sleep.most, flows)


CORNERS = "the intervals of the sleep policy's times, their corners"


def widened(found: Forecast, others: Sequence[Forecast], said: str = CORNERS) -> Forecast:
    """Return a forecast whose run time and sleep reach as far as those of `others`: by default, of other policies."""
    if not others:
        return found

    def reach(key: str) -> Figure:
        figures: list[Figure] = [getattr(each, key) for each in (found, *others)]
        low = min(x for f in figures for x in (f.value, f.low) if x is not None)
        high = max(x for f in figures for x in (f.value, f.high) if x is not None)
        source = figures[0].source
        source += f" and {said}" if "; interval" in source else f"; interval: {said}"
        return replace(figures[0], low=low, high=high, source=source)

    return replace(
        found,
        seconds_predicted=reach("seconds_predicted"),
        overhead_seconds=reach("overhead_seconds"),
        eee_saved_watts=found.eee_saved_watts and reach("eee_saved_watts"),
    )


def _toggles(seconds: float, changed: set[str]) -> Figure:
    """Return the seconds for which changed links are away: a least one, so its interval has no upper end."""
    if not changed:
        return Figure(0.0, "s", "no link changes", 0.0, 0.0)
    return Figure(seconds, "s", platforms.said_of("toggle_seconds", changed), seconds)


def _watts(value: float, sources: str) -> Figure:
    source = f"chassis + ports by speed: {sources}; interval: sums of Koibuchi et al. 2011, table 2, against its maxima"
    return Figure(value, "W", source, value / (1 + TABLE_2_OVER), value / (1 - TABLE_2_UNDER))


def _saved(value: float, sources: str) -> Figure:
    source = (
        f"ports by speed: {sources}; interval: watts per port that the maxima of Koibuchi et al. 2011, table 2, imply"
    )
    return Figure(value, "W", source, value * (1 - PORT_UNDER), value * (1 + PORT_OVER))


def _nothing() -> dict[str, Any]:
    keys = ("seconds_base", "seconds_predicted", "idle_seconds", "overhead_seconds")
    nothing = {key: Figure(0.0, "s", NO_TRAFFIC) for key in keys}
    return {**nothing, "eee_saved_watts": Figure(0.0, "W", NO_TRAFFIC)}


def _run_time(
    after: Fabric,
    traffic: Traffic,
    eee: Eee | None,
    flows: Flows | None,
    moved: tuple[Moved, Moved] | None,
    power: Mapping[str, PortWatts] | None,
    replayed: Replay | None = None,
) -> dict[str, Any]:
    seconds = _checked_seconds(traffic)
    _fits(after, _at_hosts(after, traffic.volume_bytes), seconds)
    asleep = _awake()
    if eee is not None:
        asleep = _asleep_time(after, traffic, eee, flows, power, moved and moved[1], replayed)
    slower, low, high, how = _communication(traffic, seconds, moved)
    causes = [("sleeping links", asleep["added"]), *slower]
    if replayed is not None:
        causes = [("sleeping links", replayed.sleep_seconds), ("other paths and speeds", replayed.network_seconds)]
    added = sum(part for _, part in causes)
    predicted = Figure(
        seconds + added, "s", "; ".join(filter(None, (asleep["source"], how))), seconds + low,
        seconds + asleep["most"] + high,
    )  # fmt: skip
    if replayed is not None:
        predicted = _replayed_seconds(seconds, added, replayed)
    fitted = _by_curve(traffic, seconds, eee.fit) if eee is not None and eee.fit is not None else {}
    if fitted and eee is not None and eee.by_curve:
        predicted, causes = _of_curve(seconds, fitted["seconds_by_fit"], predicted, causes)
    found = {
        "seconds_base": Figure(seconds, "s", "given with the traffic", seconds, seconds),
        "seconds_predicted": predicted,
        "causes": {"slow-down": tuple(sorted((c for c in causes if c[1]), key=lambda c: -abs(c[1])))},
        **asleep["figures"],
        **fitted,
    }  # fmt: skip
    if traffic.communication_seconds is not None:
        inside = min(traffic.communication_seconds, seconds)
        source = "run time less the mean time inside MPI calls, as the profile says"
        found["computation_seconds"] = Figure(seconds - inside, "s", source, seconds - inside, seconds - inside)
    return found


def _by_curve(traffic: Traffic, seconds: float, fit: Fit) -> dict[str, Figure]:
    """Return the overhead per message and the run time by Miwa et al. 2013, eqs. 1 to 4, with fitted parameters.

    Of the host that the sum n f(I) delays most: n messages that it sends, I their mean gap at the rate of its link.
    """
    sent, bits = traffic.messages.sum(axis=1), 8.0 * traffic.volume_bytes.sum(axis=1)
    gaps = [idle_seconds(seconds, n, b / n, HOST_BPS) if n else seconds for n, b in zip(sent, bits, strict=True)]
    each = np.array([fit.overhead_seconds(float(gap)) for gap in gaps])
    host = int(np.argmax(sent * each))
    added = float(sent[host] * each[host])
    source = (
        f"Miwa et al. 2013, eqs. 1 to 4, fitted: t {fit.threshold_seconds * 1e6:.6g} us, c "
        f"{fit.plateau_seconds * 1e6:.6g} us, alpha {fit.alpha:.6g} / s"
    )
    return {
        "fitted_overhead_seconds": Figure(float(each[host]), "s", source),
        "seconds_by_fit": Figure(seconds + added, "s", source),
    }


def _of_curve(
    seconds: float, fitted: Figure, predicted: Figure, causes: list[tuple[str, float]]
) -> tuple[Figure, list[tuple[str, float]]]:
    """Return the forecast by the fitted curve, where it explains the measurements better than the times do.

    What other paths and speeds add stays. The interval reaches as far as that of the forecast by the times.
    """
    others = [cause for cause in causes if cause[0] != "sleeping links"]
    value = fitted.value + sum(part for _, part in others)
    ends = [end for end in (value, predicted.value, predicted.low, predicted.high) if end is not None]
    source = f"{fitted.source}; interval: and the forecast by the fitted times, {predicted.source}"
    figure = Figure(value, "s", source, min(ends), max(ends))
    return figure, [("sleeping links", fitted.value - seconds), *others]


def _replayed_seconds(seconds: float, added: float, replayed: Replay) -> Figure:
    """Return how long the run takes, with the interval of the orders replayed, or of a known order's own replays."""
    if replayed.orders > 1:
        source = (
            f"median of {replayed.orders} orders of the messages (at random, evenly spread, in bursts, pipelined), "
            "replayed; interval: nine in ten of them"
        )
    else:
        source = (
            "the run's messages replayed over links as they are forecast; interval: nine in ten replays whose "
            "computations last a percent more or less"
        )
    return Figure(seconds + added, "s", source, seconds + replayed.least_seconds, seconds + replayed.most_seconds)


def _checked_seconds(traffic: Traffic) -> float:
    """Return the run's seconds. Raises InputError with every inconsistency in the profile."""
    inside, seconds = traffic.communication_seconds, traffic.seconds
    findings = []
    if seconds is None:
        findings.append(Finding("traffic", "how long it took (a line '# seconds: N', or --seconds)", "nothing said"))
    elif not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        expected = f"a run of {LEAST_SECONDS:g} to {MOST_SECONDS:g} seconds"
        findings.append(Finding("traffic: seconds", expected, f"{seconds:g} (another unit?)"))
    if inside is not None and seconds is not None and not 0 <= inside <= seconds * (1 + ROUNDED):
        expected = f"from 0 to the run's {seconds:g} s inside MPI calls, of a process on average"
        findings.append(Finding("profile: communication", expected, f"{inside:g} s"))
    if inside is not None and not traffic.messages.any():
        expected = "messages between hosts: with n = 0 there is no gap between them (Miwa et al. 2013, eq. 4)"
        findings.append(Finding("profile: messages", expected, "none"))
    size = traffic.volume_bytes / np.maximum(traffic.messages, 1.0)
    if size.max(initial=0.0) > MOST_MESSAGE_BYTES:
        expected = f"messages of at most {MOST_MESSAGE_BYTES:g} bytes"
        findings.append(Finding("traffic: messages", expected, f"{size.max():g} bytes in one (another unit?)"))
    if findings:
        raise InputError(findings)
    assert seconds is not None  # noqa: S101 - else there is a finding
    return seconds


def _communication(
    traffic: Traffic, seconds: float, moved: tuple[Moved, Moved] | None
) -> tuple[list[tuple[str, float]], float, float, str]:
    """Return how much longer communication takes: (parts, least seconds, most seconds, how it was computed).

    The least assumes that no process waited for the network, only for another. The most assumes that all communication
    in the profile, or without one the whole run, is slowed like the pair that is slowed most.
    """
    if moved is None:
        return [], 0.0, 0.0, ""
    before, after = moved
    inside = traffic.communication_seconds
    scale = 1.0 if inside is None else inside / before.model_seconds if before.model_seconds else 0.0
    parts = [
        ("less bandwidth", scale * (after.seconds - before.seconds)),
        ("longer ways", scale * (after.waiting - before.waiting)),
    ]
    slower = sum(part for _, part in parts)
    worst = max(worst_ratio(before, after), after.model_seconds / before.model_seconds if before.model_seconds else 1.0)
    most = (inside if inside is not None else seconds) * (worst - 1.0)
    how = (
        "communication as the profile says x max-min fair time after / before"
        if inside is not None
        else ("max-min fair time of all traffic, after - before")
    )
    return parts, min(0.0, slower), max(most, slower), how


def _awake() -> dict[str, Any]:
    none = "no port sleeps: no model here has EEE (IEEE 802.3az), or it is off"
    figures = {
        "idle_seconds": Figure(0.0, "s", none, 0.0, 0.0),
        "overhead_seconds": Figure(0.0, "s", none, 0.0, 0.0),
        "eee_saved_watts": Figure(0.0, "W", none, 0.0, 0.0),
    }
    return {"added": 0.0, "most": 0.0, "source": "", "figures": figures}


def _asleep_time(
    after: Fabric,
    traffic: Traffic,
    eee: Eee,
    flows: Flows | None,
    power: Mapping[str, PortWatts] | None,
    moved: Moved | None,
    replayed: Replay | None,
) -> dict[str, Any]:
    """Return the seconds that sleep adds to the run, their bound, the model used, and the figures.

    The watts that sleep saves are those of the links' time in LPI where messages were `replayed`.
    """
    seconds = traffic.seconds or 0.0
    sleep = _sleep(after, traffic, eee, flows, moved)
    hosts = len(after.hosts)
    wait, most = (_waits(after, traffic, by, flows) for by in (sleep.overhead, sleep.most))
    host, ports = int(np.argmax(wait)), np.unique(after.host_link).tolist()
    slowest, sent = int(after.host_link[host]), float(traffic.messages[host].sum())
    where = "every link" if flows is not None else "host links"
    watts = [_port_watts(after, h, power) if h in ports else 0.0 for h in range(hosts)]
    saved = [(1.0 - eee.lpi_power) * w for w in watts]
    share, free = sleep.share[:hosts], 1.0 - sleep.busy[:hosts] / seconds
    gap = float(sleep.gap[slowest]) if sent else 0.0
    slept: list[float | None] = [None] * hosts
    if replayed is not None and replayed.asleep and eee.together:  # else the two directions sleep apart
        slept = np.median(np.array(replayed.asleep), axis=0).tolist()
    figures = {
        "idle_seconds": Figure(gap, "s", "Miwa et al. 2013, eq. 4", gap, gap),
        "overhead_seconds": Figure(
            float(sleep.overhead[slowest]) if sent else 0.0, "s",
            f"closed form in place of eq. 3, exponential gaps; {eee.source}",
            0.0, float(sleep.most[slowest]) if sent else 0.0,
        ),
        "eee_saved_watts": _watts_asleep(np.array(saved), share, free, eee.lpi_power, replayed),
        "ports": tuple(_verdict(after, h, eee, sleep, seconds, slept[h]) for h in ports),
    }  # fmt: skip
    source = (
        f"T + sum of n f(I) over the path, {where} asleep, Miwa et al. 2013, eq. 1-2 (low: no gap outlasts the "
        "time-out, high: any law of gaps of this mean)"
    )
    added, bound = float(wait.max(initial=0.0)), float(most.max(initial=0.0))
    return {"added": added, "most": bound, "source": source, "figures": figures}


def _watts_asleep(
    saved: NDArray[np.float64],
    share: NDArray[np.float64],
    free: NDArray[np.float64],
    lpi_power: float,
    replayed: Replay | None,
) -> Figure:
    """Return the watts that sleep saves: `saved`, float64[H], while a host's port is in LPI.

    `share` is the time in LPI by the closed form, `free` that in which nothing is sent; a replay knows better.
    """
    source = f"EEE ports of known watts, LPI at {lpi_power:g} of a port's power"
    if replayed is None or not replayed.asleep:
        return Figure(float(share @ saved), "W", f"{source}, exponential gaps", 0.0, float(free @ saved))
    drawn = np.array(replayed.asleep) @ saved
    if replayed.orders > 1:
        low, high = np.quantile(drawn, HELD, method="weibull")
        source += "; interval: nine in ten of the orders replayed"
        return Figure(
            float(np.median(drawn)), "W", f"the time in LPI of the replays, {source}", float(low), float(high)
        )
    error = ASLEEP_ERROR * float(saved.sum())
    low, high = max(0.0, drawn[0] - error), min(float(saved.sum()), drawn[0] + error)
    return Figure(float(drawn[0]), "W", f"the time in LPI of the replay, {source}", low, high)


def _waits(
    fabric: Fabric, traffic: Traffic, by_channel: NDArray[np.float64], flows: Flows | None
) -> NDArray[np.float64]:
    """Return the seconds that all messages of each host wait for links that wake, float64[H]."""
    hosts, link = len(fabric.hosts), fabric.host_link
    ends = by_channel[:hosts][link][:, None] + by_channel[hosts : 2 * hosts][link]
    waits: NDArray[np.float64] = (traffic.messages * (ends + _between(by_channel, flows, hosts))).sum(axis=1)
    return waits


def _at_hosts(fabric: Fabric, of_pair: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return what each host's link carries of the pairs' values, sending, then receiving, float64[2H]."""
    hosts, link = len(fabric.hosts), fabric.host_link
    both = (np.bincount(link, of_pair.sum(axis=axis), hosts) for axis in (1, 0))
    return np.concatenate([*both]).astype(np.float64)


def _sleep(fabric: Fabric, traffic: Traffic, eee: Eee, flows: Flows | None, moved: Moved | None) -> _Sleep:
    """Return the effect of sleep by channel, or by cable if both directions sleep together.

    Copies of flooded frames wake ports where `moved` counts them.
    """
    assert traffic.seconds is not None  # noqa: S101 - the caller has checked
    seconds, hosts = traffic.seconds, len(fabric.hosts)
    channels = 0 if flows is None else len(fabric.tail)

    def carried(volume: NDArray[np.float64]) -> NDArray[np.float64]:
        if flows is not None:
            return flows.add_up(volume[flows.source, flows.destination])
        if moved is not None and moved.flows.copies is not None:
            return moved.flows.add_up(volume[moved.flows.source, moved.flows.destination])[: 2 * hosts]
        return _at_hosts(fabric, volume)

    messages, volume = carried(traffic.messages), carried(traffic.volume_bytes)
    busy = 8.0 * volume / _rates(fabric, channels)
    _fits(fabric, volume, seconds, with_copies=moved is not None and moved.flows.copies is not None)
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


def _rates(fabric: Fabric, channels: int) -> NDArray[np.float64]:
    """Return the bits per second of the hosts' links, sending, then receiving, then of the first `channels`."""
    inner = np.repeat([1e6 * link.capacity_mbps(DEFAULT_SPEED_MBPS) for link in fabric.links], 2)[:channels]
    return np.concatenate([np.full(2 * len(fabric.hosts), HOST_BPS), inner])


def _fits(fabric: Fabric, volume: NDArray[np.float64], seconds: float, *, with_copies: bool = False) -> None:
    """Raise InputError with a finding for each channel whose bytes do not fit into the time."""
    counted = ", with copies of what floods to uplinks" if with_copies else ""
    rate = _rates(fabric, len(volume) - 2 * len(fabric.hosts))
    findings = [
        Finding(
            "traffic",
            f"at most {seconds * rate[c] / 8:.0f} bytes over {_name(fabric, int(c))} in {seconds:g} s",
            f"{volume[c]:.0f} bytes{counted} (a negative gap between messages)",
        )
        for c in np.flatnonzero(8.0 * volume / rate > seconds)
    ]
    if findings:
        raise InputError(findings)


def _between(by_channel: NDArray[np.float64], flows: Flows | None, hosts: int) -> NDArray[np.float64] | float:
    """Return the sum over each pair's links between switches, float64[H, H]."""
    if flows is None:
        return 0.0
    inner = by_channel.copy()
    inner[: 2 * hosts] = 0.0
    cost = np.zeros((hosts, hosts))
    cost[flows.source, flows.destination] = flows.along(inner)
    return cost


def _name(fabric: Fabric, channel: int) -> str:
    hosts = len(fabric.hosts)
    if channel < 2 * hosts:
        return f"the link of {fabric.hosts[channel % hosts].name}, {'sending' if channel < hosts else 'receiving'},"
    tail, head = fabric.tail[channel - 2 * hosts], fabric.head[channel - 2 * hosts]
    return f"{fabric.switches[tail].name} to {fabric.switches[head].name}"


def _port_watts(fabric: Fabric, host: int, power: Mapping[str, PortWatts] | None) -> float:
    """Return the watts of a host's switch port, 0 if it cannot sleep."""
    model = fabric.switches[fabric.hosts[host].switch].model
    return port_watts(model, DEFAULT_SPEED_MBPS, power) if platforms.load(model).eee else 0.0


def _verdict(fabric: Fabric, host: int, eee: Eee, sleep: _Sleep, seconds: float, slept: float | None) -> PortVerdict:
    """Return whether a host's port should sleep, from the wait of all its messages and its share of sleep.

    `slept` is that share where messages were replayed, else None.
    """
    there = [host] if eee.together else [host, host + len(fabric.hosts)]

    def cost(policy: Eee) -> tuple[float, float]:
        waits = [sleep.messages[c] * overhead_seconds(float(sleep.gap[c]), policy) for c in there if sleep.messages[c]]
        shares = [
            sleeping_share(float(sleep.gap[c]), policy) * (1.0 - sleep.busy[c] / seconds) if sleep.messages[c] else 1.0
            for c in there
        ]
        return float(sum(waits)) / seconds, float(np.mean(shares))

    slowdown, share = cost(eee)
    share = share if slept is None else slept
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
