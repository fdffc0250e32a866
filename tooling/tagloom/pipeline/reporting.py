"""Gather what a report shows of a build: proof, forecast, loads, trees, curves, waves and the day's power."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from tagloom.errors import Finding, InputError
from tagloom.pipeline.files import read_build, read_texts
from tagloom.pipeline.forecasting import Question, predict_build, traffic_of
from tagloom.pipeline.planning import prove, with_links_off
from tagloom.pipeline.regulating import chosen, link_ends
from tagloom.platforms.power import DEFAULT_SPEED_MBPS, fabric_watts
from tagloom.predict.eee import PERIODIC, POWERCONNECT_5548, overhead_seconds, sleeping_share
from tagloom.predict.link import one_link
from tagloom.records.report import OFF, ON, SLEEPING, SLOW, GapPoint, LoadPoint, PowerStep, Report
from tagloom.records.routes import channel_load

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.sleep import Eee
    from tagloom.records.switch_state import FabricState

FRAME_BYTES, RATE_BPS = 1500.0, 1e9  # of the delay curve: full frames over a host's link
GAPS_SECONDS = np.geomspace(1e-5, 1e-1, 81)
LOADS = np.geomspace(1e-4, 0.9, 61)
DAILY = re.compile(r"(\d{1,2}) (\d{1,2}) \* \* \*")  # minute hour, of every day
ALL_ON = "all-on"


def report(
    directory: Path,
    *,
    traffic_file: Path | None = None,
    placement: str = "",
    seconds: float | None = None,
    settings: Path | None = None,
    rollout: Path | None = None,
    timetable: Path | None = None,
    eee: Eee = POWERCONNECT_5548,
) -> Report:
    """Gather a build's report; whatever is not given is left out, and said to be.

    Raises InputError with the findings of all inputs at once.
    """
    findings: list[Finding] = []
    build = read_build(directory)
    after, traffic, asleep, slept = build.fabric, None, dict[str, set[int]](), tuple[str, ...]()
    try:
        after = with_links_off(build.fabric, [], settings)
        if settings is not None:
            brought = chosen(after, settings)
            asleep, slept = brought.asleep, brought.sleeping_hosts
    except InputError as error:
        findings += error.findings
    try:
        if traffic_file is not None:
            traffic = traffic_of(traffic_file, build.fabric, placement, seconds)
            if traffic.seconds is None:
                findings.append(
                    Finding(str(traffic_file), "how long it took ('# seconds: N', or --seconds)", "nothing said")
                )
    except InputError as error:
        findings += error.findings
    waves: dict[str, Any] = {}
    day: tuple[PowerStep, ...] = ()
    try:
        waves = _waves(rollout) if rollout is not None else waves
    except InputError as error:
        findings += error.findings
    try:
        day = _day(build.fabric.with_links_up(), timetable) if timetable is not None else day
    except InputError as error:
        findings += error.findings
    if findings:
        raise InputError(findings)
    _, proof = prove(
        build.fabric,
        read_texts(build.fabric, directory / "configs"),
        build.routes,
        duplicates_allowed=build.duplicates_allowed,
    )
    volume = traffic.volume_bytes if traffic is not None else None
    load = channel_load(build.fabric, build.routes, volume)
    within = traffic.seconds if traffic is not None else None
    left_out = [
        f"{what}: give {flag}"
        for what, flag, given in (
            ("load in bytes and run time", "--traffic", traffic_file),
            ("waves of a rollout", "--rollout", rollout),
            ("power over the day", "--timetable", timetable),
        )
        if given is None
    ]
    if after.links != build.fabric.links:
        left_out.append("paths moved away from the settings' links: plan with --settings, and report on that build")
    if slept:
        left_out.append(f"{len(slept)} host ports asleep are counted in the settings' file, not drawn")
    return Report(
        fabric=after,
        summary=build.summary(proof),
        proof=proof,
        forecast=predict_build(build, Question(traffic, settings, rollout=rollout)),
        eee=eee,
        load=load,
        load_unit="host pairs" if traffic is None else "bytes",
        share=None if within is None else np.asarray(8.0 * load / (DEFAULT_SPEED_MBPS * 1e6 * within), np.float64),
        states=_states(after, build.state, asleep),
        link_names=tuple(link_ends(after, i) for i in range(len(after.links))),
        trees=_trees(build.fabric, build.state),
        gaps=tuple(_gap(float(gap), eee) for gap in np.union1d(GAPS_SECONDS, _corners(eee))),
        loads=tuple(_load(float(at), eee) for at in LOADS),
        rollout={key: value for key, value in waves.items() if key != "waves"},
        waves=tuple(waves.get("waves", ())),
        day=day,
        left_out=tuple(left_out),
    )


def _states(fabric: Fabric, state: FabricState, asleep: dict[str, set[int]]) -> tuple[str, ...]:
    """Say how every link stands: off, slow, asleep at both ends by plan or by settings, or on."""

    def sleeps(switch: int, port: int) -> bool:
        name = fabric.switches[switch].name
        eee = state[name].eee
        return port in asleep.get(name, ()) or (port <= len(eee) and bool(eee[port - 1]))

    found = []
    for link in fabric.links:
        slow = 0 < link.speed_mbps < DEFAULT_SPEED_MBPS
        both = sleeps(link.a, link.cables[0][0]) and sleeps(link.b, link.cables[0][1])
        found.append(OFF if not link.up else SLOW if slow else SLEEPING if both else ON)
    return tuple(found)


def _trees(fabric: Fabric, state: FabricState) -> dict[int, tuple[int, ...]]:
    """Give the links that carry each of tagloom's VLANs: its ports are members at both ends, and up."""
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
    """Give the gaps at which the wait after regular gaps jumps or bends: the time-out, and asleep."""
    wanted = eee.timeout_seconds, eee.timeout_seconds * (1 + 1e-9), eee.timeout_seconds + eee.sleep_seconds
    return [gap for gap in wanted if GAPS_SECONDS[0] < gap < GAPS_SECONDS[-1]]


def _gap(gap: float, eee: Eee) -> GapPoint:
    waits = overhead_seconds(gap, eee, PERIODIC), overhead_seconds(gap, eee)
    return GapPoint(gap, *waits, sleeping_share(gap, eee))


def _load(load: float, eee: Eee) -> LoadPoint:
    found = one_link(eee, load, FRAME_BYTES, RATE_BPS)
    return LoadPoint(load, found.power_relative, found.mean_delay_seconds)


def _waves(directory: Path) -> dict[str, Any]:
    """Read a rollout's page. Raises InputError where the directory holds none."""
    path = directory / "rollout.json"
    try:
        page: dict[str, Any] = json.loads(path.read_text("utf-8"))
        for wave in page["waves"]:
            wave["name"], wave["why"], wave["switches"], float(wave["expected_seconds"]), float(wave["drain_seconds"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        expected = "a rollout made by tagloom rollout"
        raise InputError([Finding(str(directory), expected, str(error) or "another directory")]) from None
    return page


def _day(fabric: Fabric, path: Path) -> tuple[PowerStep, ...]:
    """Read a timetable of daily rules and add up what the switches draw from each on. Raises InputError.

    A rule is ``{when: "MINUTE HOUR * * *", settings: FILE beside the timetable, or all-on}``. Rules that are not daily
    make no one day to draw, and are findings.
    """
    try:
        page = yaml.safe_load(path.read_text("utf-8"))
        raw = page["rules"] if isinstance(page, dict) else page
        rules = [(str(rule["when"]), str(rule["settings"])) for rule in raw]
    except (OSError, UnicodeDecodeError, yaml.YAMLError, KeyError, TypeError) as error:
        expected = "a timetable made by tagloom timetable"
        raise InputError([Finding(str(path), expected, str(error).replace("\n", " ") or "another file")]) from None
    findings, steps = list[Finding](), list[PowerStep]()
    for number, (when, settings) in enumerate(rules):
        time = DAILY.fullmatch(when.strip())
        if time is None or int(time[1]) > 59 or int(time[2]) > 23:
            where, expected = (
                f"{path}: rules[{number}].when",
                "a time of every day, MINUTE HOUR * * *, for a day's curve",
            )
            findings.append(Finding(where, expected, repr(when)))
            continue
        try:
            then = fabric if settings == ALL_ON else with_links_off(fabric, [], path.parent / settings)
        except InputError as error:
            findings += error.findings
            continue
        off = sum(not link.up for link in then.links)
        steps.append(PowerStep(60.0 * int(time[1]) + 3600.0 * int(time[2]), settings, fabric_watts(then), off))
    if not rules:
        findings.append(Finding(f"{path}: rules", "at least one", "none"))
    if findings:
        raise InputError(findings)
    return tuple(sorted(steps, key=lambda step: step.at_seconds))
