"""Lead a fabric that runs to a build for another one: by a rollout between the two, made where a build is applied."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.apply.build import GIVEN_BACK, build_of, duplicates_allowed, fabric_file, read_waves
from tagloom.apply.run_states import DONE
from tagloom.errors import InputError, PlanError
from tagloom.operate.prepare import prepare
from tagloom.operate.waves import read_sequence
from tagloom.pipeline.files import read_build, write_rollout
from tagloom.pipeline.planning import by_new_names
from tagloom.pipeline.rollouts import rollout_between
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import switchwide
from tagloom.read import read_fabric
from tagloom.read.build_directory import read_texts, write_texts
from tagloom.records.fabric_pair import FabricPair, link_ends, owned_ports
from tagloom.records.ownership import overlay
from tagloom.render import parse, render
from tagloom.rollout.changed_states import changed_states
from tagloom.rollout.growth import given_back
from tagloom.units import number_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tagloom.apply.journal import Run
    from tagloom.operate.prepare import PreparedChange
    from tagloom.operate.waves import ApplyContext
    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.rollout.changed_states import ChangedState


def from_what_runs(
    context: ApplyContext, prepared: PreparedChange, *, allow_drain: bool, at_once: bool
) -> tuple[PreparedChange, str]:
    """Return a build as the rollout to it from what the last run has left, and what is to be told of it.

    That is where hosts, links or switches differ; a build for the fabric that runs, and a rollout, stay what they are.
    Where no rollout is found, the build is set up in one go if `at_once`; else PlanError or InputError says why not.
    """
    last = _last_run(context)
    if prepared.is_rollout or last is None or last.state != DONE or not (prepared.directory / "plan.json").is_file():
        return prepared, ""
    ran = _fabric_of(context, last)
    # a switch that died, or is back, has ways of its own
    if (same := FabricPair(ran, prepared.fabric).same_cabling) or _other_up(ran, prepared.fabric):
        return prepared if same else _in_one_go(context, prepared, ran), ""
    new = read_build(prepared.directory)
    old = by_new_names(_left_by(context, last, new), new.fabric)
    fabrics = FabricPair(old.fabric, new.fabric)
    if (same := fabrics.same_cabling) or _other_up(old.fabric, new.fabric):  # by today's names
        return prepared if same else _in_one_go(context, prepared, old.fabric), ""
    try:
        change = rollout_between(old, new, allow_drain=allow_drain, own_ids=True)
    except (InputError, PlanError):
        if not at_once:
            raise
        return _in_one_go(context, prepared, old.fabric), ""
    if not change.waves:
        return prepared, ""
    for name, held in change.after.items():
        planned = new.state.get(name, held)
        if overlay(held, planned, owned_ports((new.fabric,), name)) != held:
            if at_once:
                return _in_one_go(context, prepared, old.fabric), ""
            raise PlanError(
                "a VLAN id must not be reused for a changed tree while hosts are using it",
                f"the build gives ids that are in use to other trees: {name}",
                "tagloom rollout OLD NEW, or plan again with --keep OLD where its paths can be kept",
                ("rollout OLD NEW",),
            )
    directory = context.site.directory("growth") / "rollout"
    write_rollout(new, change, context.site.share / "templates", directory)
    reported = (
        f"{fabrics.difference}: {number_of(len(change.waves), 'wave')}, each line proven for the pairs that both have"
    )
    return replace(prepared, sequence=read_sequence(directory)), reported


def _in_one_go(context: ApplyContext, prepared: PreparedChange, old: Fabric) -> PreparedChange:
    """Return a build that also gives back the ports of the old fabric, for where no rollout leads to it."""
    names = (switch.name for switch in prepared.fabric.live)
    return with_ports_back(context, prepared, {name: owned_ports((old,), name) for name in names})


def with_ports_back(
    context: ApplyContext, prepared: PreparedChange, had: Mapping[str, Collection[int]]
) -> PreparedChange:
    """Return a build that also gives those ports back, of each switch, that nothing of its fabric has any more.

    It is written among the files of a site's runs, and proven there.
    """
    fabric = prepared.fabric
    names = [switch.name for switch in fabric.live]
    back = {name: sorted({*had.get(name, ())}.difference(owned_ports((fabric,), name))) for name in names}
    if not any(back.values()):
        return prepared
    directory = context.site.directory("growth") / "build"
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(prepared.directory, directory)
    state = given_back(fabric, read_build(directory).state, back)
    write_texts(directory / "configs", render(fabric, state, context.site.share / "templates"))
    (directory / GIVEN_BACK).write_text(json.dumps({"ports": back}) + "\n", "utf-8")
    return replace(prepare(directory), source=prepared.source)


def _other_up(ran: Fabric, fabric: Fabric) -> bool:
    """Return whether a switch of both is up in one, and down in the other."""
    up = {switch.name: switch.up for switch in ran.switches}
    return any(up.get(switch.name, switch.up) != switch.up for switch in fabric.switches)


def changed_states_since(context: ApplyContext, prepared: PreparedChange) -> list[ChangedState]:
    """List the parts that are down or dead in what runs, or in the build, alone, with the commands for each."""
    last = _last_run(context)
    if last is None or last.state != DONE:
        return []
    old_place, new_place = str(build_of(Path(last.source))), str(prepared.source)
    return changed_states(_fabric_of(context, last), prepared.fabric, old_place, new_place)


def differs_in_words(context: ApplyContext, fabric: Fabric) -> bool:
    """Return whether parts have other names, or are up or dead otherwise, than in what the last run has led to."""
    last = _last_run(context)
    return last is not None and last.state == DONE and _words(_fabric_of(context, last)) != _words(fabric)


def _last_run(context: ApplyContext) -> Run | None:
    """Return the last run of which a wave was begun, done or not."""
    return next((r for r in context.journal.runs() if r.wave and r.kind in {"apply", "rollback"}), None)


def _words(fabric: Fabric) -> tuple[object, ...]:
    """Return what a fabric says of its parts, in no order: names, and which are up and dead."""
    links = {ends: (link.up, link.dead) for ends, link in zip(link_ends(fabric), fabric.links, strict=True)}
    return {host.name for host in fabric.hosts}, {switch.name: switch.up for switch in fabric.switches}, links


def _fabric_of(context: ApplyContext, run: Run) -> Fabric:
    """Return the fabric that a run has led to."""
    directory = context.unpacked(run)
    wave = read_waves(directory)[-1]
    return read_fabric(wave.fabrics[-1] if wave.fabrics else fabric_file(directory))


def _left_by(context: ApplyContext, run: Run, new: Build) -> Build:
    """Return what a run that is done has led a fabric to, as a build: no routes of its own, and nothing of others."""
    sequence = context.own_sequence(run)
    fabric = sequence.judged[-1][1] if sequence.judged else sequence.fabric
    if sequence.states:
        held = {**sequence.left, **sequence.states[-1]}
        state = {switch.name: held[switch.name] for switch in fabric.switches}
    else:
        state, _ = parse(fabric, read_texts(fabric, sequence.directory / "configs"))
    for switch in fabric.live:
        platform, ports = platforms.of(switch), owned_ports((fabric,), switch.name)
        state[switch.name] = overlay(factory_state(platform), state[switch.name], ports, switchwide(platform))
    repeats = duplicates_allowed(sequence.directory)
    return replace(new, fabric=fabric, state=state, broadcast="static-arp" if repeats else "flood", traffic=None)
