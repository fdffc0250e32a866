"""Plan and prove each of a timetable's settings, and the changes between them."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.pipeline.planning import plan
from tagloom.pipeline.rollouts import rollout_between
from tagloom.platforms.port_names import link_ends
from tagloom.platforms.power import fabric_watts, power_unknown, stand_in_power
from tagloom.read.calendar import due, upcoming
from tagloom.read.history import zone_of
from tagloom.records.settings import speeds_mbps
from tagloom.records.timetable import ALL_ON
from tagloom.regulate.day import Planner, retrained
from tagloom.regulate.day_figures import percent
from tagloom.regulate.settings_file import RegulateResult, read_settings
from tagloom.route import own_routes, plannable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from tagloom.platforms import PortWatts
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.timetable import Timetable

MONDAY_SECONDS = datetime(2026, 1, 5, tzinfo=UTC).timestamp()  # any Monday: only the order within a week matters


def planner(fabric: Fabric, templates: Path) -> Planner:
    """Return the planning functions for a search of a day's settings. Raises InputError for a fabric without a plan."""
    plannable(fabric, spoken=False)
    routes = partial(own_routes, routing="auto", assignment="fixed")
    return Planner(routes, lambda smaller, given: built(smaller, given, templates), obstacle)


def built(fabric: Fabric, routes: Routes | None, templates: Path) -> Build | None:
    """Plan over given routes, from texts if all models have a grammar; None if no plan can be made or proven."""
    spoken = all(platforms.load(switch.model).grammar for switch in fabric.live)
    try:
        build, proof, _ = plan(fabric, templates, texts=spoken, regulated=RegulateResult(routes, {}, ()))
    except PlanError:
        return None
    return build if proof.proven else None


def obstacle(old: Build | None, new: Build | None) -> str:
    """Return why no proven rollout without pauses leads from one plan to another; "" if one does."""
    if old is None or new is None:
        return "no plan"
    try:
        rollout_between(old, new)
    except PlanError as error:
        return str(error)
    return ""


def check_settings(fabric: Fabric, table: Timetable, templates: Path) -> dict[str, Fabric]:
    """Plan and prove each of a timetable's settings; return the fabric of each, by name.

    Changes of link speed in the week, and those to everything on and back on load, must also have a proven rollout; all
    changes where networks have ways of their own.
    Raises InputError with all settings files that do not fit this fabric or have no plan, and with all changes without
    a rollout.
    """
    plannable(fabric, spoken=False)
    found, findings = {ALL_ON: fabric}, list[Finding]()
    builds: dict[str, Build | None] = {}
    for name in table.names:
        try:
            found[name], regulated = read_settings(fabric, table, name)
            builds[name] = built(found[name], regulated.routes, templates)
            if builds[name] is None:
                where = str(table.files.get(name, name))
                findings.append(Finding(where, "settings with which a plan proves", "none was found"))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    week = [due(table, MONDAY_SECONDS), *(name for _, name in upcoming(table, MONDAY_SECONDS, 8.0))]
    changes = [*pairwise(week), *(pair for name in builds for pair in ((name, ALL_ON), (ALL_ON, name)))]
    for a, b in dict.fromkeys(changes):
        if a == b or not (fabric.own_ways or retrained(found[a], found[b])):
            continue
        if ALL_ON not in builds:
            builds[ALL_ON] = built(fabric, None, templates)
        if why := obstacle(builds[a], builds[b]):
            findings.append(Finding(f"{a} to {b}", "a rollout that proves, over links that keep their speed", why))
    if findings:
        raise InputError(findings)
    return found


def calendar_payload(
    fabric: Fabric,
    table: Timetable,
    at_seconds: float,
    fabrics: Mapping[str, Fabric],
    power: Mapping[str, PortWatts] | None = None,
) -> dict[str, Any]:
    """Return what a calendar does from a time on: the current settings, the week's changes, and the week's saving."""
    zone = zone_of(table.timezone, "timezone")
    unknown, power = power_unknown(fabric, power), stand_in_power(fabric, power)
    watts = {name: fabric_watts(each, power) for name, each in fabrics.items()}
    week = [(at_seconds, due(table, at_seconds)), *upcoming(table, at_seconds, 7.0)]
    ends = [at for at, _ in week[1:]] + [at_seconds + 7 * 86_400]
    joules = sum(watts[name] * (end - at) for (at, name), end in zip(week, ends, strict=True))
    full = fabric_watts(fabric, power) * 7 * 86_400
    return {
        "now": week[0][1],
        "week": [{"at": datetime.fromtimestamp(at, zone).isoformat(), "settings": name} for at, name in week[1:]],
        "settings": [
            {
                "name": name,
                "watts": None if unknown else round(watts[name], 6),
                "links_off": sum(not link.up for link in each.links),
                "off": [list(link_ends(fabric, i)) for i, link in enumerate(each.links) if not link.up],
                "links_slowed": sum(0 < a < b for a, b in zip(speeds_mbps(each), speeds_mbps(fabric), strict=True)),
            }
            for name, each in sorted(fabrics.items())
        ],
        "joules_before": None if unknown else round(full, 3),
        "joules_after": None if unknown else round(joules, 3),
        "saving_percent": None if unknown else percent(full - joules, full),
        "power_unknown": list(unknown),
    }
