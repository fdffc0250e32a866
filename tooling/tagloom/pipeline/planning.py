"""Plan, prove, regulate and forecast: the sequence of verbs, from records to records."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.graph.floods import reported_load
from tagloom.graph.numbering import new_numbers, renumbered
from tagloom.graph.paths import average_hops
from tagloom.pipeline.protecting import with_detours, with_detours_beside
from tagloom.records.build import Build
from tagloom.records.detours import UNASKED, Detour, with_vlans
from tagloom.records.fabric_pair import FabricPair
from tagloom.records.switch_state import FlowControl, SwitchEditor, dead_states
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.choose import regulate as choose_settings
from tagloom.render import check_templates, parse, render, site_lines
from tagloom.rollout.growth import numbered_as
from tagloom.route import balanced, chosen_root, kept_routes, own_routes, plannable, route, unknown_method
from tagloom.route.alternatives import alternatives
from tagloom.route.choose import refuse_ways
from tagloom.route.gather import gather
from tagloom.route.plannable import refuse_networks, refuse_protection
from tagloom.route.spread import any_bound, load_bound
from tagloom.units import device_at
from tagloom.verify import Plan, broadcasts_once, dependencies, protection, tagged_frames_storm, verify, verify_taught
from tagloom.weave import (
    Alternative,
    asleep,
    first_fit_count,
    moved_entries,
    table_3_remarks,
    unknown_assignment,
    weave,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.routes import Routes
    from tagloom.records.settings import LinkSettings
    from tagloom.records.switch_state import FabricState
    from tagloom.records.traffic import Traffic
    from tagloom.records.vlan_plan import VlanPlan
    from tagloom.regulate.settings_file import RegulateResult

PREFERENCES = ("vlans", "load")


def summary_of(build: Build, proof: Findings) -> dict[str, Any]:
    """Return a plan's figures with the keys of the command line."""
    volume = build.traffic.volume_bytes if build.traffic is not None else None
    load = reported_load(build.fabric, build.routes, build.assignment, volume)
    counted, bound = build.fabric, build.load_bound
    if volume is None and (volume := build.fabric.within_networks) is not None:
        counted, bound = build.fabric.with_links_alike(), None  # a host pair counts 1 on every link
    if bound is None:
        bound = load_bound(counted, build.routes, build.assignment, volume, floods=build.traffic is not None)
    return {
        "name": build.fabric.name,
        "switches": len(build.fabric.switches),
        "links": len(build.fabric.links),
        "switches_down": len(build.fabric.switches) - len(build.fabric.live),
        "links_off": sum(not link.up for link in build.fabric.links),
        "hosts": len(build.fabric.hosts),
        "routing": build.routes.method,
        "routing_reason": build.routes.reason,
        "assignment": build.assignment,
        "vlans": build.vlans,
        "broadcast": build.broadcast,
        "remarks": list(build.remarks),
        "average_hops": round(average_hops(build.fabric, build.routes), 6) if build.fabric.hosts else 0.0,
        "max_channel_load": round(float(load.max(initial=0.0))),
        "max_channel_load_bound": math.floor(any_bound(counted, volume) + 1e-6),
        "max_channel_load_bound_of_paths": math.floor(bound + 1e-6),
        "site_lines": sum(map(len, site_lines(build.fabric).values())),
        "protect": "none",
        "unprotected_why": build.unprotected_why,
        "taught": build.taught,
        "detour_vlans": 0,
        "fdb_entries_max_without": proof.fdb_entries_max,
        **(build.protection.to_json() if build.protection is not None else {}),
        **proof.to_json(),
    }


def refuse_plan(
    fabric: Fabric | None,
    routing: str,
    assignment: str,
    prefer: str = "vlans",
    *,
    protect: str = "none",
    root: str | None = None,
    texts: bool = True,
) -> None:
    """Raise InputError, of all findings, for what cannot be planned; without a fabric only the words are judged."""
    findings = unknown_method(routing) + unknown_assignment(assignment)
    if prefer not in PREFERENCES:
        findings.append(Finding("--prefer", " or ".join(PREFERENCES), repr(prefer)))
    if assignment == "pinned" and prefer == "load":
        why = "load: all hosts of a switch share one tree towards it"
        findings.append(Finding("--prefer", "vlans with --assignment pinned", why))
    checks: list[Callable[[], object]] = []
    if fabric is not None:
        checks = [
            partial(plannable, fabric, spoken=texts),
            partial(refuse_protection, protect, assignment, fabric),
            partial(refuse_ways, fabric, assignment, prefer),
            partial(chosen_root, fabric, routing, root),
            partial(site_lines, fabric),  # before minutes are spent on a plan that they would stop
        ]
    for check in checks:
        try:
            check()
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(dict.fromkeys(findings))


def plan(  # noqa: PLR0913 - what an operator may choose
    fabric: Fabric,
    templates: Path,
    *,
    routing: str = "auto",
    assignment: str = "fixed",
    previous: Build | None = None,
    prefer: str = "vlans",
    traffic: Traffic | None = None,
    texts: bool = True,
    static_arp: bool = False,
    effort: int = 1,
    root: str | None = None,
    regulated: RegulateResult | None = None,
    learning: bool = False,
    entries: bool = True,
    keep: Build | None = None,
    protect: str = "none",
) -> tuple[Build, Findings, dict[str, str]]:
    """Route, weave and render a plan, prove it from the rendered texts, and return build, proof and texts.

    prefer     "vlans" keeps the routing's parallel links; "load" chooses parallel links and trees host by host for a
               small load on the busiest channel (of `traffic`, or of all pairs alike), at the price of VLANs. `auto`
               may then take `any` if the models' tables suffice
    texts      without them nothing is rendered: the proof is of the planned states, and no texts are returned
    root       the switch at the root of up*/down*
    regulated  the routes that links were turned off for (with fixed assignment and routing auto), and the ports
               that may sleep
    learning   host ports accept tagged frames, by which hosts teach the switches; the plan is refused if those storm,
               or close a dependency cycle while ports send PAUSE
    entries    whether switches hold static entries; without them (with `learning` alone) frames flood until hosts have
               taught the switches, which keep what they learn as long as their families are known to
    keep       a build whose paths and VLAN ids stay for its hosts if possible; the plan's reason says if not
    protect    "link" or "switch": detours around every single failure are also installed, and proven; "auto": around
               single links, as far as that changes nothing else of the plan, surely fits and is found quickly

    Raises InputError if a model's command line is unknown (unless without `texts`), the links that are up do not
    connect the fabric or `root` is invalid, PlanError if no deadlock-free plan fits.
    """
    refuse_plan(fabric, routing, assignment, prefer, protect=protect, root=root, texts=texts)
    _refuse_without_entries(fabric, assignment, protect, entries=entries)
    protect = protect if entries else "none"
    keep, previous = (build and by_new_names(build, fabric) for build in (keep, previous))
    top = chosen_root(fabric, routing, root)
    given = regulated.routes if regulated is not None and assignment == "fixed" and routing == "auto" else None
    given, not_kept = (given, "") if keep is None else kept_routes(keep, fabric, assignment)
    plain = given or route(fabric, routing, assignment, effort, top)
    plain = replace(plain, reason=f"{plain.reason}; {not_kept}") if not_kept else plain
    volume = traffic.volume_bytes if traffic is not None else fabric.within_networks
    choices: list[_Choice]
    if keep is not None and given is not None:
        choices = [(plain, plain, None)]
    elif prefer == "vlans":
        choices = [(plain, gather(fabric, plain, top) if assignment == "fixed" else plain, None)]
    else:
        free, floods = routing == "auto" and given is None, traffic is not None
        choices = balanced(fabric, plain, assignment, volume, effort, free=free, floods=floods)
    plain, routes, bound, woven = _first_that_fits(
        choices,
        lambda routes: weave(
            fabric,
            routes,
            assignment,
            previous.state if previous is not None else None,
            _next_steps(fabric, routing, assignment, prefer, top),
            broadcasts_once=partial(broadcasts_once, fabric),
            static_arp=static_arp,
            hosts_tag=learning,
            movable=protect not in UNASKED and assignment == "pinned",
        ),
    )
    vlans, unnumbered, detours = woven.vlans, woven.state, tuple[Detour, ...]()
    if protect not in UNASKED and assignment == "pinned":
        detours = moved_entries(fabric, unnumbered, dependencies(fabric, unnumbered), protect, effort)
    elif protect not in UNASKED:
        free = routing in {"auto", "any"} and given is None and not fabric.own_ways
        guarded = with_detours(
            fabric, routes, woven, protect, own=prefer == "load", effort=effort, free=free, hosts_tag=learning
        )
        routes, vlans, unnumbered, detours = guarded.routes, guarded.vlans, guarded.state, guarded.detours
    wanted = asleep(fabric, unnumbered, regulated.asleep) if regulated is not None else unnumbered
    if keep is not None:
        wanted = numbered_as(FabricPair(keep.fabric, fabric), keep.state, wanted)
    elif protect not in UNASKED and previous is not None:
        wanted = renumbered(previous.state, wanted, fabric.first_vlan)
    if detours and (keep is not None or previous is not None):
        detours = with_vlans(detours, new_numbers(unnumbered, wanted))
    beside = None
    if protect == "auto":
        old = keep or previous
        beside = with_detours_beside(fabric, routes, woven, wanted, old.state if old else {}, hosts_tag=learning)
        wanted = beside.state
    wanted = wanted if entries else _without_entries(fabric, wanted)
    state, written = _rendered(fabric, wanted, templates, texts=texts)
    first_fit = first_fit_count(fabric, plain) if assignment == "fixed" and len(fabric.networks) < 2 else None
    beside_paper = table_3_remarks(fabric, routes, woven.vlans) if woven.assignment == "renamed" else ()
    reported = woven.broadcast, (*woven.remarks, *beside_paper)
    once = woven.broadcast != "static-arp"
    if beside is not None:
        detours, shown, rank = beside.detours, beside.protection, beside.rank
    else:
        detours, shown, rank = protection(fabric, woven.state, state, protect, detours, once=once)
    build = Build(fabric, routes, woven.assignment, vlans, state, *reported, bound, traffic, first_fit, detours, shown)
    build = replace(build, unprotected_why=beside.why if beside is not None else "", taught=not entries)
    compared = Plan(routes, build.duplicates_allowed, shares=True)
    proof = verify(fabric, state, compared) if entries else verify_taught(fabric, state, compared)
    if rank is not None:  # dependencies after failures ascend in it, too
        proof = replace(proof, channel_rank=rank)
    if learning and woven.assignment == "fixed" and not proof.tagged_frames_safe:
        _refuse_teaching(fabric, state, proof)
    return build, proof, written


def _refuse_without_entries(fabric: Fabric, assignment: str, protect: str, *, entries: bool) -> None:
    """Raise InputError, of all findings, for what switches without static `entries` cannot do."""
    if entries:
        return
    refused = {
        "--assignment": (assignment != "fixed", "fixed: only there a host can tag frames of each VLAN", assignment),
        "--protect": (protect not in UNASKED, "none: nobody teaches switches detours", protect),
        "networks": (len(fabric.networks) > 1 or bool(fabric.tagged_hosts), "one network of untagged hosts", "several"),
        "uplinks": (bool(len(fabric.uplinks)), "none: hosts behind them teach nothing", f"{len(fabric.uplinks)}"),
    }
    if findings := [
        Finding(where, f"{rule} (--learning-only)", what) for where, (no, rule, what) in refused.items() if no
    ]:
        raise InputError(findings)


def _without_entries(fabric: Fabric, state: FabricState) -> FabricState:
    """Return states without static entries, whose switches keep what they learn as long as is known to be possible."""
    found = dict(state)
    for switch in fabric.live:
        editor = SwitchEditor.of(state[switch.name])
        editor.entries = {}
        editor.aging_seconds = platforms.of(switch).longest_aging_seconds or editor.aging_seconds
        found[switch.name] = editor.freeze()
    return found


def _refuse_teaching(fabric: Fabric, state: FabricState, proof: Findings) -> None:
    """Refuse tagged frames of hosts that storm, or that close a dependency cycle where ports send PAUSE.

    Without PAUSE a full buffer drops frames, so nothing waits in a cycle (Koibuchi et al. 2011, Sect. 3.4).
    """
    pauses = any((held.flow_control != FlowControl.OFF).any() for held in state.values())
    if pauses or tagged_frames_storm(fabric, state):
        no_pause = 'turn flow control off (flow_control: "off" in the fabric file), ' if pauses else ""
        raise PlanError(
            "hosts that teach the switches send tagged frames, which must close no dependency cycle",
            "; ".join(proof.tagged_frames_cycle),
            f"{no_pause}use --routing tree, or static entries (no --learning)",
        )


_Choice = tuple["Routes", "Routes", float | None]  # plain routes, those to weave, and the bound of their load


def _first_that_fits(
    choices: Sequence[_Choice], woven: Callable[[Routes], VlanPlan]
) -> tuple[Routes, Routes, float | None, VlanPlan]:
    """Return the first choice whose VLANs fit the models, with these VLANs. Raises PlanError if the last does not."""
    for plain, routes, bound in choices[:-1]:
        with suppress(PlanError):
            return plain, routes, bound, woven(routes)
    plain, routes, bound = choices[-1]
    return plain, routes, bound, woven(routes)


def _rendered(
    fabric: Fabric, wanted: FabricState, templates: Path, *, texts: bool
) -> tuple[FabricState, dict[str, str]]:
    """Return the state that rendered texts read back as, which is the `wanted` one, and the texts, {} without `texts`.

    Raises PlanError where it is another.
    """
    written = render(fabric, wanted, templates) if texts else {}
    if fabric.templates:
        check_templates(fabric, wanted, written)
    if not texts:
        return wanted, written
    state, unknown = parse(fabric, written)
    if unknown or state != {**wanted, **dead_states(fabric)}:
        raise PlanError("a rendered configuration must read back as the planned state", "; ".join(map(str, unknown)))
    return state, written


def by_new_names(old: Build, new: Fabric) -> Build:
    """Return a build with the switch names of a fabric.

    Two switches are the same if the new fabric file declares the rename and the old one did not. They are also the same
    if an old name is gone, another is new, and address and model agree. Raises InputError if a renamed switch would get
    the name of another switch of the old fabric.
    """
    fabric = old.fabric
    known = {(device_at(s.address), s.model): s.name for s in new.switches if s.address and s.name not in fabric.index}
    names = {
        s.name: known[device_at(s.address), s.model]
        for s in fabric.switches
        if s.address and s.name not in new.index and (device_at(s.address), s.model) in known
    }
    names |= {
        name: known for name, known in new.renamed if name in fabric.index and (name, known) not in fabric.renamed
    }
    if not names:
        return old
    called = [names.get(switch.name, switch.name) for switch in fabric.switches]
    twice = sorted((name, known) for name, known in names.items() if called.count(known) > 1)
    if twice:
        rule = "a name that no other switch had"
        raise InputError([Finding(f"renamed.{name}", rule, f"{known}, which had it before") for name, known in twice])
    switches = tuple(replace(switch, name=name) for switch, name in zip(fabric.switches, called, strict=True))
    state = {names.get(name, name): held for name, held in old.state.items()}
    return replace(old, fabric=replace(fabric, switches=switches), state=state)


def _next_steps(fabric: Fabric, routing: str, assignment: str, prefer: str, top: int | None) -> list[Alternative]:
    """Return what may fit if a plan does not: fewer VLANs, the other assignment, one tree for everything."""
    other = "renamed" if assignment == "fixed" else "fixed"  # also where pinned does not fit
    plain = " --prefer vlans" if prefer != "vlans" else ""
    ways = [
        (f"--assignment {other}{plain}", routing, other),
        (f"--routing tree{plain}", "tree", assignment),
        (f"--routing tree --assignment {other}{plain}", "tree", other),
    ]
    if plain:
        ways.insert(0, (plain.strip(), routing, assignment))
    return [
        Alternative(f"use {words}", kind, partial(own_routes, fabric, method, kind, top if method == routing else None))
        for words, method, kind in ways
    ]


def routings(fabric: Fabric, assignment: str) -> list[dict[str, Any]]:
    """Return the cost of each routing that can route the fabric, fewest VLANs first."""
    return [asdict(row) for row in alternatives(fabric, assignment)]


def regulate(
    fabric: Fabric,
    traffic: Traffic,
    routing: str,
    assignment: str,
    progress: Callable[[int, int], None],
    options: RegulateOptions | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> LinkSettings:
    """Return link settings for traffic, with deadlock-free paths at every step; by default static's links off.

    Several networks share the links under one limit. `clock` returns seconds, for the time limit of `optimal`.
    """
    options = options or RegulateOptions()
    plannable(fabric, spoken=False)
    refuse_networks(fabric, assignment)
    reroute = partial(own_routes, routing=routing, assignment=assignment)  # as `plan` does, so that its loads agree
    up_down = partial(route, method="up-down")
    return choose_settings(fabric, traffic, reroute, up_down, assignment, options, progress, clock)
