"""Forecast what a build, settings or a rollout will cost and save: what is compared, over which ways."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.graph.flows import flows_of
from tagloom.pipeline.files import read_texts
from tagloom.pipeline.planning import Build, own_routes, parse
from tagloom.platforms.power import fabric_watts
from tagloom.predict import forecast
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.energy import Rates, energy
from tagloom.predict.interruption import interruption, lost_figure
from tagloom.predict.performance import Moved, move
from tagloom.predict.rate_switch import switched_in_place
from tagloom.predict.trace import awake, network_of, replay
from tagloom.read import read_traffic
from tagloom.records.forecast import Replay
from tagloom.records.pages import RolloutPage
from tagloom.regulate.settings_file import read_result, with_links_off
from tagloom.route import route
from tagloom.storage.document import checked, read_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from tagloom.platforms import PortWatts
    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Forecast, Interruption
    from tagloom.records.routes import Routes
    from tagloom.records.simulation import Program
    from tagloom.records.sleep import Eee
    from tagloom.records.traffic import Traffic


SEARCHED_UP_TO = 256  # switches: half a minute of search at a thousand, where shapes have holes


@dataclass(frozen=True, eq=False)
class Question:
    """What a forecast of a build is asked.

    settings     a file of links to turn off or slow, besides the build's own
    eee          how host ports sleep; None: with a PowerConnect 5548's times where a model can sleep, else not at all
    every_link   links between switches sleep as well as those of hosts, whatever the models
    rollout      a rollout directory, whose waves may interrupt
    program      the messages of a run, whose sum `traffic` is, to be replayed
    """

    traffic: Traffic | None = None
    settings: Path | None = None
    eee: Eee | None = None
    every_link: bool = False
    rates: Rates | None = None
    power: Mapping[str, PortWatts] | None = None
    rollout: Path | None = None
    program: Program | None = None


def predict(
    before: Fabric,
    after: Fabric,
    traffic: Traffic | None,
    eee: Eee | None = POWERCONNECT_5548,
    routes: Routes | None = None,
    moved: tuple[Moved, Moved] | None = None,
    power: Mapping[str, PortWatts] | None = None,
    rates: Rates | None = None,
    replayed: Replay | None = None,
) -> Forecast:
    """Forecast the change from one set of links to another; with the `routes` of `after`, its links sleep as well.

    `moved` is how both move the traffic, where bandwidth and latency are to count; `replayed`, where a run's messages
    were replayed, says instead what it takes longer.
    """
    flows = None
    if routes is not None and traffic is not None:
        flows = moved[1].flows if moved else flows_of(after, routes, traffic.volume_bytes, traffic.messages)

    def watts(fabric: Fabric) -> float:
        return fabric_watts(fabric, power)

    def toggle_seconds(model: str) -> float:
        return platforms.load(model).toggle_seconds.get("on_off", 0.0)

    found = forecast(before, after, traffic, watts, toggle_seconds, eee, flows, moved, power, replayed)
    saved = _saved(before, after, watts)
    assumed = _assumed(before, traffic, eee, moved)
    found = replace(found, causes={**found.causes, "saving": saved}, assumed=assumed)
    return replace(found, energy=energy(before, after, found, rates or Rates(), power))


def predict_build(build: Build, question: Question) -> Forecast:
    """Forecast a build, with settings where there are some, against the same cabling with every link on.

    Before: every link is up and, where the settings slow it, at its ports' best speed. Ways are those of the build
    where its links are up as they are in it, else what `tagloom plan` would choose. Raises InputError.
    """
    before, after = _compared(build, question.settings)
    traffic, moved = question.traffic, None
    remarks: tuple[str, ...] = ()
    routes = build.routes
    old = new = build.routes
    if traffic is not None:
        if _up(before) != _up(build.fabric):
            old, how = _would_plan(before, build.assignment)
            remarks += (f"with every link on: {how}",)
        if _up(after) != _up(build.fabric):
            new, how = _settled(after, build, question.settings)
            remarks += (f"with these settings: {how}",)
        first = move(before, old, traffic)
        moved = first, (first if _same(before, after) and old is new else move(after, new, traffic))
        routes = new
    eee = question.eee or (POWERCONNECT_5548 if question.every_link or _sleeps(after) else None)
    every = routes if question.every_link else None
    replayed = None
    if question.program is not None and traffic is not None:
        replayed = _replayed(question.program, (before, old), (after, new), eee, every_link=question.every_link)
        traffic = replace(traffic, seconds=traffic.seconds or replayed.seconds)
    found = predict(before, after, traffic, eee, every, moved, question.power, question.rates, replayed)
    if traffic is not None and traffic.seconds and moved is not None:
        found = replace(found, rate_switch=switched_in_place(before, after, moved[0].flows, traffic.seconds))
    if question.rollout is not None:
        cut = interruption_of(build.fabric, question.rollout, traffic)
        lost = {"loss": tuple((f"wave {name}: {why}", seconds) for name, why, seconds in cut.waves)}
        causes = {**found.causes, **lost}
        found = replace(found, interruption=cut, lost_bytes=lost_figure(cut, traffic), causes=causes)
    return replace(found, assumed=(*found.assumed, *remarks))


def _replayed(
    program: Program, before: tuple[Fabric, Routes], after: tuple[Fabric, Routes], eee: Eee | None, *, every_link: bool
) -> Replay:
    """Replay a run's messages with every link on and awake, then as forecast, with sleep and without."""
    asleep = network_of(*after, program, eee, every_link=every_link)
    first = replay(network_of(*before, program, None, every_link=False), program)
    second = replay(awake(asleep), program)
    third = replay(asleep, program) if eee is not None else second
    return Replay(len(program.destination), len(program.compute_seconds), first, third - second, second - first)


def interruption_of(fabric: Fabric, directory: Path, traffic: Traffic | None) -> Interruption:
    """Read a rollout directory and say what its waves interrupt. Raises InputError where it is none of this fabric."""
    path = directory / "rollout.json"
    page = checked(RolloutPage, read_json(path, "a rollout made by tagloom rollout"), str(path))
    waves = [(wave.name, wave.why, wave.downtime_seconds) for wave in page.waves]
    folders = [page.before, *(wave.configs for wave in page.waves)]
    states = [parse(fabric, read_texts(fabric, directory / folder))[0] for folder in folders]

    def toggle_seconds(model: str) -> float:
        return platforms.load(model).toggle_seconds.get("on_off", 0.0)

    return interruption(fabric, states, waves, toggle_seconds, traffic)


def traffic_of(path: Path, fabric: Fabric, placement: str, seconds: float | None, ranks: int | None = None) -> Traffic:
    """Read traffic; `seconds` says how long it took where the file does not, `ranks` how many ranks ran."""
    traffic = read_traffic(path, fabric, placement, ranks)
    return replace(traffic, seconds=seconds) if seconds is not None else traffic


def with_profile(traffic: Traffic | None, profile: Traffic, where: str) -> Traffic:
    """Return traffic the run time of a profile and its split; without a matrix, the profile's own messages.

    Raises InputError where the profile knows no time, or none inside MPI calls.
    """
    findings = []
    if profile.seconds is None:
        findings.append(Finding(where, "a profile that says how long the run took, or --seconds", "nothing said"))
    if profile.communication_seconds is None:
        expected = "a profile with times inside MPI calls: mpiP, TAU or paraprof --dumpmpisummary"
        findings.append(Finding(where, expected, "none"))
    if findings:
        raise InputError(findings)
    inside, remarks = profile.communication_seconds, profile.remarks
    if traffic is None:
        return profile
    return replace(traffic, seconds=profile.seconds, communication_seconds=inside, remarks=traffic.remarks + remarks)


def _compared(build: Build, settings: Path | None) -> tuple[Fabric, Fabric]:
    after = with_links_off(build.fabric, [], settings)
    unset = build.fabric.with_speeds(dict.fromkeys(range(len(build.fabric.links)), -1))
    named = with_links_off(unset, [], settings)
    both = zip(build.fabric.links, named.links, strict=True)
    slowed = {i: 0 for i, (own, link) in enumerate(both) if own.speed_mbps == link.speed_mbps}
    return build.fabric.with_links_up().with_speeds(slowed), after


def _settled(after: Fabric, build: Build, settings: Path | None) -> tuple[Routes, str]:
    given = read_result(after, settings).routes if settings is not None else None
    if given is not None:
        return given, "the paths read_result with them"
    try:
        return _would_plan(after, build.assignment)
    except PlanError as error:
        expected = "settings with which the fabric can be planned"
        raise InputError([Finding(str(settings), expected, f"{error.rule}: {error.witness}")]) from None


def _would_plan(fabric: Fabric, assignment: str) -> tuple[Routes, str]:
    """Route a fabric that was not planned so; where the planner would search for long, by up*/down*."""
    if len(fabric.switches) <= SEARCHED_UP_TO:
        return own_routes(fabric, "auto", assignment), "the paths that tagloom plan would choose"
    return route(fabric, "up-down"), "up*/down* paths (plan it with them for the planner's own)"


def _up(fabric: Fabric) -> list[bool]:
    return [link.up for link in fabric.links]


def _same(before: Fabric, after: Fabric) -> bool:
    return [(x.up, x.speed_mbps) for x in before.links] == [(x.up, x.speed_mbps) for x in after.links]


def _sleeps(fabric: Fabric) -> bool:
    return fabric.eee is not False and any(platforms.of(switch).eee for switch in fabric.live)


def _saved(before: Fabric, after: Fabric, watts: Callable[[Fabric], float]) -> tuple[tuple[str, float], ...]:
    """Split the watts saved: links off, links slowed."""
    off = {i for i, (a, b) in enumerate(zip(before.links, after.links, strict=True)) if a.up and not b.up}
    by_off = watts(before) - watts(before.with_links_down(off))
    rest = watts(before) - watts(after) - by_off
    slowed = sum(a.up and b.up and a.speed_mbps != b.speed_mbps for a, b in zip(before.links, after.links, strict=True))
    parts = [(f"{len(off)} links off", by_off), (f"{slowed} links slowed", rest)]
    return tuple(sorted((p for p in parts if abs(p[1]) > 1e-9), key=lambda p: -p[1]))


def _assumed(
    before: Fabric, traffic: Traffic | None, eee: Eee | None, moved: tuple[Moved, Moved] | None
) -> tuple[str, ...]:
    said = []
    if traffic is not None and moved is not None:
        said.append("all traffic begins at once, flows share channels max-min fair, hosts send at 1 Gb/s")
        if traffic.communication_seconds is None:
            said.append("only what the network takes longer counts: no --profile says how much was communication")
    if traffic is not None and eee is not None:
        said.append(f"host ports sleep after {eee.timeout_seconds * 1e6:g} us ({eee.source}); Poisson messages")
    unmeasured = sorted({s.model for s in before.live if platforms.load(s.model).latency_seconds is None})
    if traffic is not None and moved is not None and unmeasured:
        said.append(f"latency of {', '.join(unmeasured)} as a PowerConnect 5324's, 2.75 us")
    return (*said, *(traffic.remarks if traffic is not None else ()))
