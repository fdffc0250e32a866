"""Forecast the change from one set of links to another: seconds, watts, joules, and the assumptions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.graph.flows import flows_of
from tagloom.platforms.power import assumed_watts, fabric_watts, port_watts, power_unknown, watts_as_if
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.energy import Rates, energy
from tagloom.predict.forecast import forecast, widened
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tagloom.platforms import PortWatts
    from tagloom.predict.performance import Moved
    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Figure, Forecast, Replay
    from tagloom.records.routes import Routes
    from tagloom.records.sleep import Eee
    from tagloom.records.traffic import Traffic


def predict(  # noqa: PLR0913 - what a forecast depends on
    before: Fabric,
    after: Fabric,
    traffic: Traffic | None,
    eee: Eee | None = POWERCONNECT_5548,
    routes: Routes | None = None,
    moved: tuple[Moved, Moved] | None = None,
    power: Mapping[str, PortWatts] | None = None,
    rates: Rates | None = None,
    replayed: Replay | None = None,
    corners: Sequence[tuple[Eee | None, Replay | None]] = (),
) -> Forecast:
    """Forecast the change from one set of links to another; with the `routes` of `after`, its links sleep as well.

    `moved` is how both move the traffic, if bandwidth and latency are to count. `replayed` replaces both models if a
    run's messages were replayed. `corners` are the ends of the intervals of `eee`, each with its replay: the forecast's
    intervals reach as far as those of any of them. Where a model's watts are not known, there are none, and no energy.
    """
    flows = None
    if routes is not None and traffic is not None:
        flows = moved[1].flows if moved else flows_of(after, routes, traffic.volume_bytes, traffic.messages)

    def watts(fabric: Fabric) -> float:
        return fabric_watts(fabric, power)

    unknown = power_unknown(before, power)

    def toggle_seconds(model: str) -> float:
        return platforms.load(model).toggle_seconds.get("on_off", 0.0)

    def forecast_with(policy: Eee | None, run: Replay | None) -> Forecast:
        known = None if unknown else watts
        return forecast(before, after, traffic, known, toggle_seconds, policy, flows, moved, power, run)

    found = forecast_with(eee, replayed)
    found = widened(found, [forecast_with(policy, run) for policy, run in corners])
    assumed = _assumed(before, traffic, eee, moved, replayed)
    if unknown:
        return replace(found, causes={**found.causes, "saving": ()}, assumed=assumed, power_unknown=unknown)
    found = _as_if_measured(found, before, after, power)
    saved = _saved(before, after, watts)
    found = replace(found, causes={**found.causes, "saving": saved}, assumed=(*assumed_watts(before, power), *assumed))
    return replace(found, energy=energy(before, after, found, rates or Rates(), power))


def _as_if_measured(found: Forecast, before: Fabric, after: Fabric, power: Mapping[str, PortWatts] | None) -> Forecast:
    """Return a forecast whose watts reach as far as with those of each measured model, for models nobody measured."""
    if not (tables := watts_as_if(before, power)):
        return found
    pairs = [(fabric_watts(before, each), fabric_watts(after, each)) for each in tables]

    def reach(figure: Figure | None, values: Sequence[float]) -> Figure | None:
        if figure is None:
            return None
        known = [x for x in (figure.value, figure.low, figure.high) if x is not None]
        source = f"{figure.source}, and with the watts of each model that was measured"
        return replace(figure, low=min([*known, *values]), high=max([*known, *values]), source=source)

    able = {switch.model for switch in before.switches if platforms.load(switch.model).eee}
    more = [_port_watts(model, each) / _port_watts(model, power) for each in tables for model in able]
    asleep = found.eee_saved_watts
    return replace(
        found,
        watts_before=reach(found.watts_before, [w for w, _ in pairs]),
        watts_after=reach(found.watts_after, [w for _, w in pairs]),
        saved_watts=reach(found.saved_watts, [a - b for a, b in pairs]),
        eee_saved_watts=reach(asleep, [asleep.value * x for x in more]) if asleep else None,
    )


def _port_watts(model: str, power: Mapping[str, PortWatts] | None) -> float:
    return port_watts(model, DEFAULT_SPEED_MBPS, power)


def _saved(before: Fabric, after: Fabric, watts: Callable[[Fabric], float]) -> tuple[tuple[str, float], ...]:
    """Return the watts saved by links off and by links slowed, the larger first."""
    off = {i for i, (a, b) in enumerate(zip(before.links, after.links, strict=True)) if a.up and not b.up}
    by_off = watts(before) - watts(before.with_links_down(off))
    rest = watts(before) - watts(after) - by_off
    slowed = sum(a.up and b.up and a.speed_mbps != b.speed_mbps for a, b in zip(before.links, after.links, strict=True))
    parts = [(f"{number_of(len(off), 'link')} off", by_off), (f"{number_of(slowed, 'link')} slowed", rest)]
    return tuple(sorted((p for p in parts if abs(p[1]) > 1e-9), key=lambda p: -p[1]))


def _assumed(
    before: Fabric,
    traffic: Traffic | None,
    eee: Eee | None,
    moved: tuple[Moved, Moved] | None,
    replayed: Replay | None,
) -> tuple[str, ...]:
    said = []
    if replayed is not None and replayed.orders > 1:
        said.append(
            "messages come in steps in unknown order, those of a pair alike; in each step every host computes alike "
            "long, sends, and waits for what is sent to it (--trace knows better)"
        )
    if traffic is not None and moved is not None:
        alone = "for bandwidth, " if replayed is not None else ""
        said.append(f"{alone}all traffic begins at once, flows share channels max-min fair, hosts send at 1 Gb/s")
        if traffic.communication_seconds is None and replayed is None:
            said.append("only what the network takes longer counts: no --profile says how much was communication")
    if traffic is not None and eee is not None:
        said.append(f"host ports sleep after {eee.timeout_seconds * 1e6:g} us ({eee.source}); Poisson messages")
    if traffic is not None and moved is not None:
        said += _assumed_latency(sorted({s.model for s in before.live}))
    return (*said, *(traffic.remarks if traffic is not None else ()))


def _assumed_latency(models: list[str]) -> list[str]:
    """Return what is assumed of the latency of models that nobody has measured."""
    known = {model: platforms.load(model) for model in models}
    unmeasured = [model for model, platform in known.items() if platform.latency_seconds is None]
    said = [f"latency of {', '.join(unmeasured)} as a PowerConnect 5324's, 2.75 us"] if unmeasured else []
    for model, platform in known.items():
        if platform.latency_seconds is not None and platform.sources["latency_seconds"].kind == "assumed":
            like = platform.sources["latency_seconds"].text.partition(" (")[0]
            said.append(f"latency of {model} {like}'s, {1e6 * platform.latency_seconds:.2f} us")
    return said
