"""Collect the contents of a build's report: proof, forecast, loads, trees, curves, waves and the day's power."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

import numpy as np

from tagloom.apply.build import read_rollout
from tagloom.errors import Finding, InputError
from tagloom.graph.floods import load_by, reported_load
from tagloom.graph.network_loads import network_loads
from tagloom.graph.paths import average_hops
from tagloom.pipeline.files import read_build
from tagloom.pipeline.forecasting import Question, predict_build, traffic_of
from tagloom.pipeline.proving import prove
from tagloom.platforms.port_names import link_ends
from tagloom.platforms.power import fabric_watts, power_unknown
from tagloom.predict.eee import PERIODIC, POWERCONNECT_5548, overhead_seconds, sleeping_share
from tagloom.predict.link import one_link
from tagloom.read.build_directory import read_texts
from tagloom.read.calendar import due, upcoming
from tagloom.read.runs import with_profile
from tagloom.read.timetable_file import read_timetable
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.records.report import OFF, ON, SLEEPING, SLOW, GapPoint, LoadPoint, PowerStep, Report
from tagloom.records.timetable import ALL_ON
from tagloom.regulate.settings_file import read_result, read_settings, with_links_off

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tagloom.platforms import PortWatts
    from tagloom.predict.energy import Rates
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.sleep import Eee
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic

FRAME_BYTES, RATE_BPS = 1500.0, 1e9  # of the delay curve: full-size frames on a host's link
GAPS_SECONDS = np.geomspace(1e-5, 1e-1, 81)
LOADS = np.geomspace(1e-4, 0.9, 61)
WEEK_DAYS, DAY_SECONDS = 7, 86_400.0


def report(  # noqa: PLR0913 - what a report may be made of
    directory: Path,
    *,
    at_seconds: float,
    traffic_file: Path | None = None,
    profile: Path | None = None,
    placement: str = "",
    seconds: float | None = None,
    ranks: int | None = None,
    settings: Path | None = None,
    rollout: Path | None = None,
    timetable: Path | None = None,
    eee: Eee | None = None,
    rates: Rates | None = None,
    power: Mapping[str, PortWatts] | None = None,
    read_traffic: Callable[[Path, Build], Traffic] | None = None,
) -> Report:
    """Return a build's report; whatever is not given is left out, and listed as such.

    `at_seconds` (since the epoch) is on the first day of the drawn timetable. Without `eee`, hosts' ports sleep as in
    `Question`, and the curves are a PowerConnect 5548's. `read_traffic` reads `traffic_file` in our place. Raises
    InputError with the findings of all inputs at once.
    """
    findings: list[Finding] = []
    build, texts = read_build(directory, states=False), dict[str, str]()
    after, traffic, asleep = build.fabric, None, dict[str, set[int]]()
    with _gathered(findings):
        after = with_links_off(build.fabric, [], settings)
        if settings is not None:
            asleep = read_result(after, settings).asleep
    with _gathered(findings):
        texts = read_texts(build.fabric, directory / "configs")
    place = placement, seconds, ranks
    with _gathered(findings):
        if traffic_file is not None:
            read = read_traffic or (lambda path, build: traffic_of(path, build.fabric, *place))
            traffic = read(traffic_file, build)
            if traffic.seconds is None and profile is None:
                findings.append(
                    Finding(str(traffic_file), "how long it took ('# seconds: N', or --seconds)", "nothing said")
                )
    with _gathered(findings):
        if profile is not None:
            traffic = with_profile(traffic, traffic_of(profile, build.fabric, *place, profile=True), str(profile))
    waves: dict[str, Any] = {}
    days, day = tuple[str, ...](), tuple[PowerStep, ...]()
    with _gathered(findings):
        waves = read_rollout(rollout).model_dump() if rollout is not None else waves
    with _gathered(findings):
        if timetable:
            days, day = _by_timetable(build.fabric.with_links_up(), timetable, at_seconds, power)
    if findings:
        raise InputError(findings)
    state, proof = prove(
        build.fabric,
        texts,
        build.routes,
        duplicates_allowed=build.duplicates_allowed,
        whole=True,
        taught=build.taught,
    )
    question = Question(traffic, settings, eee, rates=rates, power=power, rollout=rollout)
    curve = eee or POWERCONNECT_5548
    volume = traffic.volume_bytes if traffic is not None else None
    load_of = load_by(build.fabric, build.routes, build.assignment)
    load = reported_load(build.fabric, build.routes, build.assignment, volume)
    within = traffic.seconds if traffic is not None else None
    left_out = _left_out(
        ("load in bytes and run time", "--traffic or --profile", traffic_file or profile),
        ("waves of a rollout", "--rollout", rollout),
        ("power over the timetable", "--timetable", timetable),
        ("cost and CO2", "--price and --co2", rates and (rates.price_per_kwh or rates.co2_kg_per_kwh)),
    )
    if unknown := power_unknown(build.fabric, power):
        left_out.append(f"watts and saving (none of {', '.join(unknown)} are known): give --power FILE")
    if after.links != build.fabric.links:
        left_out.append("paths moved away from the settings' links: plan with --settings, and report on that build")
    states, host_states = _states(after, state, asleep)
    return Report(
        fabric=after,
        reason=build.routes.reason,
        average_hops=average_hops(build.fabric, build.routes) if build.fabric.hosts else 0.0,
        vlans=build.vlans,
        assignment=build.assignment,
        proof=proof,
        forecast=predict_build(build, question),
        eee=curve,
        load=load,
        load_unit="host pairs" if traffic is None else "bytes",
        share=None if within is None else np.asarray(8.0 * load / (DEFAULT_SPEED_MBPS * 1e6 * within), np.float64),
        states=states,
        host_states=host_states,
        link_names=tuple(link_ends(after, i) for i in range(len(after.links))),
        trees=vlan_trees(build.fabric, state),
        gaps=tuple(_gap(float(gap), curve) for gap in np.union1d(GAPS_SECONDS, _corners(curve))),
        loads=tuple(_load(float(at), curve) for at in LOADS),
        rollout={key: value for key, value in waves.items() if key != "waves"},
        waves=tuple(waves.get("waves", ())),
        days=days,
        day=day,
        per_kwh=rates.per_kwh if rates else (),
        left_out=tuple(left_out),
        networks=network_loads(build.fabric, build.routes, state, volume, load_of),
    )


@contextmanager
def _gathered(findings: list[Finding]) -> Iterator[None]:
    """Add the findings of an InputError to `findings` instead of raising it."""
    try:
        yield
    except InputError as error:
        findings += error.findings


def _left_out(*parts: tuple[str, str, object]) -> list[str]:
    """Return what was not given, each part with the option for it."""
    return [f"{what}: give {flag}" for what, flag, given in parts if not given]


def _states(fabric: Fabric, state: FabricState, asleep: dict[str, set[int]]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the state of every link (off, slow, asleep at both ends by plan or by settings, or on) and host port."""

    def sleeps(switch: int, port: int) -> bool:
        name = fabric.switches[switch].name
        eee = state[name].eee
        return port in asleep.get(name, ()) or (port <= len(eee) and bool(eee[port - 1]))

    found = []
    for link in fabric.links:
        slow = 0 < link.speed_mbps < DEFAULT_SPEED_MBPS
        both = sleeps(link.a, link.cables[0][0]) and sleeps(link.b, link.cables[0][1])
        found.append(OFF if not link.up else SLOW if slow else SLEEPING if both else ON)
    return tuple(found), tuple(SLEEPING if sleeps(host.switch, host.port) else ON for host in fabric.hosts)


def vlan_trees(fabric: Fabric, state: FabricState) -> dict[int, tuple[int, ...]]:
    """Return the links that carry each of tagloom's VLANs: those that are up and members at both ends."""
    carried: dict[int, list[int]] = {}
    owned = [frozenset(state[switch.name].owned_vlans) if switch.up else frozenset() for switch in fabric.switches]
    states = [state[switch.name] for switch in fabric.switches]
    for i, link in enumerate(fabric.links):
        if not link.up:
            continue
        at, to = states[link.a], states[link.b]
        a = at.vlans[at.membership[:, link.a_port - 1] > 0].tolist()
        b = to.vlans[to.membership[:, link.b_port - 1] > 0].tolist()
        for vlan in owned[link.a].intersection(a) & owned[link.b].intersection(b):
            carried.setdefault(vlan, []).append(i)
    return {vlan: tuple(links) for vlan, links in sorted(carried.items())}


def _corners(eee: Eee) -> list[float]:
    """Return the gaps at which the wait after regular gaps jumps or bends: the time-out, and the end of Ts."""
    wanted = eee.timeout_seconds, eee.timeout_seconds * (1 + 1e-9), eee.timeout_seconds + eee.sleep_seconds
    return [gap for gap in wanted if GAPS_SECONDS[0] < gap < GAPS_SECONDS[-1]]


def _gap(gap: float, eee: Eee) -> GapPoint:
    waits = overhead_seconds(gap, eee, PERIODIC), overhead_seconds(gap, eee)
    return GapPoint(gap, *waits, sleeping_share(gap, eee))


def _load(load: float, eee: Eee) -> LoadPoint:
    found = one_link(eee, load, FRAME_BYTES, RATE_BPS)
    return LoadPoint(load, found.power_relative, found.mean_delay_seconds)


def _by_timetable(
    fabric: Fabric, path: Path, at_seconds: float, power: Mapping[str, PortWatts] | None
) -> tuple[tuple[str, ...], tuple[PowerStep, ...]]:
    """Return the switches' power under a timetable, of one day if all days of a week are alike, else of the week.

    It is (the days' names, the steps), from the midnight before `at_seconds` on; no steps if a model's watts are not
    known. Raises InputError.
    """
    table = read_timetable(path, fabric=fabric)
    found, findings = {ALL_ON: fabric}, list[Finding]()
    for name in table.names:
        try:
            found[name], _ = read_settings(fabric, table, name)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    midnight = datetime.fromtimestamp(at_seconds, ZoneInfo(table.timezone)).replace(hour=0, minute=0, second=0)
    begin = midnight.replace(microsecond=0).timestamp()
    week: list[list[tuple[float, str]]] = [[] for _ in range(WEEK_DAYS)]
    for at, settings in upcoming(table, begin - 1.0, WEEK_DAYS + 1.0):
        time = datetime.fromtimestamp(at, midnight.tzinfo)
        days = (time.date() - midnight.date()).days
        if days < WEEK_DAYS:
            week[days].append((3600.0 * time.hour + 60.0 * time.minute, settings))
    names = tuple(f"{midnight + timedelta(days=n):%a}" for n in range(WEEK_DAYS))
    if all(each == week[0] for each in week):
        week, names = week[:1], ("every day",)
    rows = [(DAY_SECONDS * n + at, settings) for n, day in enumerate(week) for at, settings in day]
    if not rows or rows[0][0] > 0:
        rows.insert(0, (0.0, due(table, begin - 1.0)))
    if power_unknown(fabric, power):
        return names, ()
    steps = (
        PowerStep(at, name, fabric_watts(found[name], power), sum(not link.up for link in found[name].links))
        for at, name in rows
    )
    return names, tuple(steps)
