"""Forecast the cost and saving of a build, settings or a rollout: which states are compared, over which paths."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.apply.build import read_rollout
from tagloom.errors import Finding, InputError, PlanError, TagloomError, one_line
from tagloom.graph.network_loads import busiest_of_networks
from tagloom.observe.counted import counted
from tagloom.pipeline.files import read_build
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.floods import counted_floods, followed_floods
from tagloom.predict.interruption import interruption, lost_figure
from tagloom.predict.links import predict
from tagloom.predict.networks import networks_of, runs_of, timed
from tagloom.predict.orders import can_be_replayed, replay_orders
from tagloom.predict.performance import move
from tagloom.predict.rate_switch import switched_in_place
from tagloom.predict.sweep import FIGURES, NONE, row_of
from tagloom.predict.trace import network_of, replay_run
from tagloom.predict.unknown_messages import guesses, spanned
from tagloom.read import read_profile, read_traffic
from tagloom.read.build_directory import read_texts
from tagloom.read.estimate import estimate
from tagloom.regulate.settings_file import read_result, with_links_off
from tagloom.render import parse
from tagloom.route import own_routes, route

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tagloom.platforms import PortWatts
    from tagloom.predict.energy import Rates
    from tagloom.predict.sweep import Cell
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.forecast import Forecast, Interruption, Replay
    from tagloom.records.observation import Observation
    from tagloom.records.routes import Routes
    from tagloom.records.simulation import Program
    from tagloom.records.sleep import Eee
    from tagloom.records.traffic import Run, Traffic


SEARCHED_UP_TO = 256  # switches; the search takes half a minute at a thousand if shapes have holes


@dataclass(frozen=True, eq=False)
class Question:
    """The inputs of a build's forecast.

    settings     a file of links to turn off or slow, besides the build's own
    eee          how host ports sleep; None: with a PowerConnect 5548's times if a model can sleep, else not at all
    lpi_power    power in LPI over power awake, None for the policy's own
    every_link   links between switches sleep as well as those of hosts, whatever the models
    rollout      a rollout directory, whose waves may interrupt
    program      the messages of a run to replay, whose sum is `traffic`
    runs         of each network, whose sum is `traffic`; else each network has its part of that
    """

    traffic: Traffic | None = None
    settings: Path | None = None
    eee: Eee | None = None
    every_link: bool = False
    rates: Rates | None = None
    power: Mapping[str, PortWatts] | None = None
    rollout: Path | None = None
    program: Program | None = None
    runs: Sequence[Run] = ()
    lpi_power: float | None = None


def predict_build(build: Build, question: Question) -> Forecast:
    """Forecast a build, with settings if given, against the same cabling with every link on.

    Before, every link is up, and at its ports' best speed if the settings slow it. Paths are those of the build if the
    same links are up, else what `tagloom plan` would choose. A run's messages are replayed in their order if known,
    else in random ones; traffic of too many pairs is only bounded by its channels. Intervals of the sleep policy widen
    those of the forecast. Of a profile without messages several are guessed, and the interval holds them all. Raises
    InputError.
    """
    before, after = _compared(build, question.settings)
    traffic, moved = question.traffic, None
    remarks: tuple[str, ...] = ()
    routes = build.routes
    old = new = build.routes
    copied = False
    if traffic is not None:
        old, new, remarks = _paths(build, question, before, after)
        if traffic.unknown:
            guessed = guesses(traffic, lambda each: (move(before, old, each), move(after, new, each)))
            return spanned([predict_build(build, replace(question, traffic=each)) for each in guessed])
        floods, remark = counted_floods(before, traffic, (old, new), build.assignment)
        copied, lacking = followed_floods(before, question.program) if floods else (False, ())
        remarks += remark + lacking
        first = move(before, old, traffic, floods=floods)
        moved = first, (first if _same(before, after) and old is new else move(after, new, traffic, floods=floods))
        routes = new
    eee = question.eee or (POWERCONNECT_5548 if question.every_link or _sleeps(after) else None)
    if eee is not None and question.lpi_power is not None:
        eee = replace(eee, lpi_power=question.lpi_power)
    every = routes if question.every_link else None
    policies = [eee, *(eee.corners() if eee is not None and traffic is not None else ())]
    runs: list[Replay | None] = [None] * len(policies)
    own: Sequence[Run] = question.runs
    if traffic is not None and not own:
        own = runs_of(before, traffic if question.program is None else replace(traffic, seconds=None))
    if traffic is not None and (question.program is not None or can_be_replayed(traffic)):
        quiet = network_of(before, old, traffic.messages, None, every_link=False, floods=copied)
        every_link = question.every_link
        asleep = [network_of(after, new, traffic.messages, p, every_link=every_link, floods=copied) for p in policies]
        if question.program is None:
            replays = replay_orders(quiet, asleep, traffic, runs=own)
        else:
            replays = replay_run(question.program, quiet, asleep, [run.hosts for run in own])
            own = timed(own, traffic, replays[0])
            traffic = replace(traffic, seconds=traffic.seconds or replays[0].seconds)
        runs = [*replays]
    corners = list(zip(policies[1:], runs[1:], strict=True))
    found = predict(before, after, traffic, eee, every, moved, question.power, question.rates, runs[0], corners)
    if traffic is not None and moved is not None:
        loads = [
            busiest_of_networks(fabric, paths, build.assignment, traffic.volume_bytes)
            for fabric, paths in ((before, old), (after, new))
        ]
        policed, flows = [*zip(policies, runs, strict=True)], moved[1].flows if question.every_link else None
        found = replace(found, networks=networks_of(before, after, traffic, moved, loads, own, policed, flows))
    if traffic is not None and traffic.seconds and moved is not None:
        found = replace(found, rate_switch=switched_in_place(before, after, moved[0].flows, traffic.seconds))
    if question.rollout is not None:
        cut = interruption_of(build.fabric, question.rollout, traffic)
        lost = {"loss": tuple((f"wave {name}: {why}", seconds) for name, why, seconds in cut.waves)}
        causes = {**found.causes, **lost}
        found = replace(found, interruption=cut, lost_bytes=lost_figure(cut, traffic), causes=causes)
    return replace(found, assumed=(*found.assumed, *remarks))


def _paths(build: Build, question: Question, before: Fabric, after: Fabric) -> tuple[Routes, Routes, tuple[str, ...]]:
    """Return the paths before and after, and remarks on those that are not the build's."""
    old = new = build.routes
    remarks: tuple[str, ...] = ()
    if _up(before) != _up(build.fabric):
        old, how = _would_plan(before, build.assignment)
        remarks += (f"with every link on: {how}",)
    if _up(after) != _up(build.fabric):
        new, how = _settled(after, build, question.settings)
        remarks += (f"with these settings: {how}",)
    return old, new, remarks


def interruption_of(fabric: Fabric, directory: Path, traffic: Traffic | None) -> Interruption:
    """Return what a rollout directory's waves interrupt. Raises InputError if it is not for this fabric."""
    payload = read_rollout(directory)
    waves = [(wave.name, wave.why, wave.downtime_seconds) for wave in payload.waves]
    folders = [payload.before, *(wave.configs for wave in payload.waves)]
    states = [parse(fabric, read_texts(fabric, directory / folder))[0] for folder in folders]

    def toggle_seconds(model: str) -> float:
        return platforms.load(model).toggle_seconds.get("on_off", 0.0)

    return interruption(fabric, states, waves, toggle_seconds, traffic)


def traffic_of(
    path: Path,
    fabric: Fabric,
    placement: str,
    seconds: float | None,
    ranks: int | None = None,
    *,
    profile: bool = False,
) -> Traffic:
    """Return traffic from a file, or a `profile`; `seconds` overrides its duration, `ranks` says how many ranks ran."""
    traffic = (read_profile if profile else read_traffic)(path, fabric, placement, ranks)
    return replace(traffic, seconds=seconds) if seconds is not None else traffic


def traffic_from(fabric: Fabric, routes: Routes, snapshots: Iterable[Mapping[str, Observation]], where: str) -> Traffic:
    """Estimate the matrix between hosts from readings, over routes. Raises InputError if they do not suffice."""
    return estimate(fabric, routes, counted(snapshots, where))


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
        return given, "the paths chosen with them"
    try:
        return _would_plan(after, build.assignment)
    except PlanError as error:
        expected = "settings with which the fabric can be planned"
        raise InputError([Finding(str(settings), expected, f"{error.rule}: {error.witness}")]) from None


def _would_plan(fabric: Fabric, assignment: str) -> tuple[Routes, str]:
    """Return the routes of a fabric without a plan, and their description; up*/down* if the search would be long."""
    if len(fabric.switches) <= SEARCHED_UP_TO:
        return own_routes(fabric, "auto", assignment), "the paths that tagloom plan would choose"
    return route(fabric, "up-down"), "up*/down* paths (plan it with them for the planner's own)"


def _up(fabric: Fabric) -> list[bool]:
    return [link.up for link in fabric.links]


def _same(before: Fabric, after: Fabric) -> bool:
    return [(x.up, x.speed_mbps) for x in before.links] == [(x.up, x.speed_mbps) for x in after.links]


def _sleeps(fabric: Fabric) -> bool:
    return fabric.eee is not False and any(platforms.of(switch).eee for switch in fabric.live)


def run_cell(cell: Cell) -> dict[str, Any]:
    """Return the forecast of one cell; it runs in the worker."""
    try:
        build = _build(cell.build)
        settings = None if cell.settings == NONE else Path(cell.settings)
        traffic = traffic_of(Path(cell.traffic), build.fabric, cell.placement, cell.seconds)
        times = cell.timeout_seconds, cell.sleep_seconds, cell.wake_seconds
        eee = replace(
            POWERCONNECT_5548, timeout_seconds=times[0], sleep_seconds=times[1], wake_seconds=times[2], source="swept"
        )
        found = predict_build(build, Question(traffic, settings, eee))
    except TagloomError as error:
        return row_of(cell, one_line(error))
    figures = {key: getattr(found, key) for key in FIGURES}
    row = row_of(cell, "") | {key: figure and figure.value for key, figure in figures.items()}
    before, watts, base, seconds = (row[key] for key in FIGURES[:4])
    row["slowdown_percent"] = 100.0 * (seconds - base) / base if base else 0.0
    if not found.power_unknown:
        row["saving_percent"] = 100.0 * (before - watts) / before if before else 0.0
        row["joules"] = watts * seconds
    return row


@cache
def _build(directory: str) -> Build:
    return read_build(Path(directory))
