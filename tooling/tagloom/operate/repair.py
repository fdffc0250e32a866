"""Repair a running fabric: find what is dead, and lead the pairs that it cut off over what is left."""

from __future__ import annotations

import shutil
import time
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from tagloom.apply.run_states import DONE
from tagloom.errors import DeviceError, Finding, InputError, PlanError
from tagloom.operate import apply, prepare, waves
from tagloom.operate.interrupting import SHOWN
from tagloom.operate.repair_detour import detour_for, detour_wave, rejoin_waves, write_detour
from tagloom.operate.repair_runs import Way, assess, what_runs
from tagloom.operate.repair_spare import Spare, spare_wave
from tagloom.operate.repair_target import island_pairs, joined_pairs, same_target
from tagloom.operate.running import FOLDER
from tagloom.pipeline.files import write_build
from tagloom.pipeline.planning import plan
from tagloom.platforms.port_names import link_name
from tagloom.read.build_directory import read_texts
from tagloom.records.carrier import links_on
from tagloom.records.detours import Detour
from tagloom.records.switch_state import dead_states
from tagloom.regulate.settings_file import RegulateResult
from tagloom.render import parse
from tagloom.rollout import layers
from tagloom.rollout.choose import SESSION_SECONDS
from tagloom.route.detours import trees_beside
from tagloom.verify import dependencies, working_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from tagloom.operate.prepare import PreparedChange
    from tagloom.operate.ready_waves import ReadyWaves
    from tagloom.operate.repair_runs import Assessment, Poll, Runs
    from tagloom.operate.repair_target import Target
    from tagloom.operate.waves import ApplyContext, Survey
    from tagloom.records.build import Build
    from tagloom.records.dead_parts import DeadParts
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState

    KnownWaves = Callable[[int], ReadyWaves | None]

FINISHED = "a change that had broken off is finished"
ROUNDS = 3  # repairs one after the other: what a repair counts on may die while it is under way


@dataclass(frozen=True)
class Repair:
    """What a repair found, and what it did, or with --check would do.

    pairs_cut       ordered pairs of hosts that do not work, for something dead, before it; `pairs_restored` of them
                    do after it, `pairs_apart` cannot, since no cable joins them any more
    hosts_apart     the hosts that no cable joins with the others
    means           detour, wake or replan; "" where there was nothing to do
    waiting         what was dead and is back, but not for long enough yet, with its seconds
    result          the last push, None where none was needed
    """

    dead_links: tuple[str, ...] = ()
    dead_switches: tuple[str, ...] = ()
    silent: tuple[str, ...] = ()
    pairs_cut: int = 0
    pairs_restored: int = 0
    pairs_apart: int = 0
    hosts_apart: tuple[str, ...] = ()
    links_woken: tuple[str, ...] = ()
    means: str = ""
    reason: str = ""
    waiting: Mapping[str, float] = field(default_factory=dict)
    seconds: float = 0.0
    proposed: bool = False
    result: apply.Result | None = None

    @property
    def pairs_left(self) -> int:
        """Count the pairs that stay cut although cables join them."""
        return self.pairs_cut - self.pairs_restored - self.pairs_apart

    @property
    def pending(self) -> bool:
        """Return whether something would be sent, or is left to send."""
        if self.proposed:
            return bool(self.means)
        return self.pairs_left > 0 or not (self.result is None or self.result.good)

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        pushed = self.result.to_json() if self.result is not None else {"changed": [], "unchanged": [], "failed": []}
        return {**pushed, **self.figures, "proposed": self.proposed, "pending": self.pending}

    @property
    def figures(self) -> dict[str, Any]:
        """Return what is dead and what became of its pairs, with the keys of the command line."""
        return {
            "dead_links": list(self.dead_links),
            "dead_switches": list(self.dead_switches),
            "silent_switches": list(self.silent),
            "pairs_cut": self.pairs_cut,
            "pairs_restored": self.pairs_restored,
            "pairs_apart": self.pairs_apart,
            "hosts_apart": list(self.hosts_apart),
            "links_woken": list(self.links_woken),
            "means": self.means or None,
            "reason": self.reason,
            "waiting": {name: round(seconds, 1) for name, seconds in self.waiting.items()},
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True)
class RepairOptions:
    """What the operator wants: with `propose` nothing is sent; `hold_seconds` before paths go home.

    `allow_interrupt` lets pairs that work be cut off while lines land.
    """

    propose: bool = False
    hold_seconds: float = 300.0
    allow_interrupt: bool = False


@dataclass(frozen=True)
class AtOnce:
    """What a repair need not wait for: what was found dead, detours and spares that are proven."""

    found: Assessment | None = None
    ready: Mapping[tuple[str, ...], ReadyWaves] = field(default_factory=dict)

    def ready_for(self, runs: Runs, way: Way) -> ReadyWaves | None:
        """Return the proven waves of a way, None if they were proven from another state than runs now."""
        if self.found is None or way.known is None or runs is not self.found.runs:
            return None
        wave = self.ready.get(way.known.dead)
        return wave if wave is not None and same_target(wave.build.fabric, way.wanted.fabric) else None


def repair(
    context: ApplyContext, whole: Fabric, poll: Poll, options: RepairOptions, at_once: AtOnce | None = None
) -> Repair:
    """Find what is dead, and restore the pairs that it cut off, as far as cables still join them.

    `whole` is the fabric of the inventory, of which links that are off in what runs are asleep; `poll` reads a fabric's
    switches over SNMP. It looks again after each push, for what died meanwhile. Where nothing is dead any more, and has
    not been for long enough, paths go home to the build that was applied before the first repair. Raises InputError
    where nothing was applied, PlanError where no proven way is found, DeviceError where no switch answers.
    `at_once` is what is known beforehand.
    """
    began = time.monotonic()
    done = Repair(proposed=options.propose)
    tried: Way | None = None
    known = at_once.found if at_once is not None else None
    if known is not None and context.journal.applied() != known.runs.run:  # others worked on the switches meanwhile
        known = None
    runs = known.runs if known is not None else what_runs(context)
    first = last = runs.state
    if not options.propose and runs.run.unfinished and not runs.ours:
        found = known or assess(runs, whole, poll, options.hold_seconds)
        if _raises_all_that_seems_dead(context, found):
            done, first = _finish(context, found, done, options)
            known, runs = None, what_runs(context)
            last = runs.state
    counted: Assessment | None = None
    for _ in range(ROUNDS + len(runs.known.switches)):
        found, known = known or assess(runs, whole, poll, options.hold_seconds), None
        counted = found if counted is None or not _same_but_for_parts_left_out(counted, found) else counted
        way = found.ways[0]
        if not (found.to_do or _leaves_pairs(found)) or (tried is not None and tried.leads_as(way)):
            break
        if context.direct is None:
            context.ansible.start()  # it takes a second, in which the plan is made
        beyond = bool(done.means) and not found.to_do  # a detour was taken; the pairs that it leaves may have to wait
        try:
            acted = _act(context, found, options, at_once)
        except PlanError:
            if not beyond:
                raise
            break
        if beyond and acted.result.refused:
            break
        result, last = acted.result, acted.state
        if done.result is None:  # switches that are left out were not read
            live = {switch.name for switch in acted.wanted.fabric.live}
            first = {**first, **{name: held for name, held in acted.read.items() if name in live}}
        tried = way
        done = _reported(done, runs, acted)
        if options.propose:
            break
        last = last if result.good else {**runs.state, **acted.read}
        if result.refused or result.drift:
            break
        runs = acted.runs or what_runs(context)
    seconds = time.monotonic() - began if done.means else 0.0
    return replace(_counted(done, counted or found, first, last), seconds=seconds)


def _leaves_pairs(found: Assessment) -> bool:
    """Return whether a detour that is taken leaves pairs cut off that cables join."""
    fabric, runs = found.runs.home.fabric, found.runs
    if not runs.ours or detour_for(runs.home, found.dead) is None:
        return False
    lost = fabric.same_network & ~_works(fabric, found.dead, runs.state)
    return bool((lost & joined_pairs(fabric, found.whole, found.dead)).any())


def _same_but_for_parts_left_out(earlier: Assessment, later: Assessment) -> bool:
    """Return whether all that is dead later, and was not before, are parts that a repair left out and that are alive.

    Switches that no cable joins with most hosts go on by themselves; they count as dead until they are joined again.
    """
    fabric, before, now = later.runs.home.fabric, earlier.dead, later.dead
    more = now.switches - before.switches
    theirs = all({fabric.links[i].a, fabric.links[i].b} & more for i in now.links - before.links)
    alive = {fabric.switches[s].name for s in more} <= now.back.keys()
    return before.links <= now.links and before.switches <= now.switches and theirs and alive


def _keep_home(context: ApplyContext, runs: Runs) -> None:
    """Keep a copy of the build without repairs, which paths go home to. Raises InputError where that cannot be."""
    home = context.site.home / FOLDER / "home"
    if runs.ours:
        return
    try:
        home.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        shutil.rmtree(home, ignore_errors=True)
        if runs.directory is not None:
            shutil.copytree(runs.directory, home)
    except (OSError, shutil.Error) as error:
        raise InputError([Finding(str(home), "a directory that can be written", str(error))]) from error
    if runs.directory is None:
        _written(context, runs.home, runs.home.fabric, runs.state, home)


# --- what is done -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Done:
    """What came of a push, what was read before it, what shall run, by which means, and the target of that.

    `runs` is what runs after it, where that is known without asking the journal. `beside`: a spare does it.
    """

    result: apply.Result
    read: FabricState
    state: FabricState
    means: str
    wanted: Target
    runs: Runs | None = None
    beside: bool = False

    @property
    def harmless(self) -> bool:
        """Return whether no pair that works is cut off, or nothing is sent since something was changed by hand."""
        return bool(self.result.drift) or (not self.result.refused and self.result.interrupted.hitless)


def waves_around(runs: Runs, fabric: Fabric, way: Detour | Spare, templates: Path) -> ReadyWaves | None:
    """Return the proven waves of a detour or a spare from what runs, None where they do not prove."""
    if isinstance(way, Spare):
        return spare_wave(runs, fabric, way, templates)
    return detour_wave(runs, fabric, way, templates)


def _means(way: Detour | Spare | None) -> str:
    return "wake" if isinstance(way, Spare) else "detour" if way is not None else "replan"


def _way_home(found: Assessment, templates: Path) -> ReadyWaves | None:
    """Return the waves that lead home from a detour round a switch under pinned; None where that is not so.

    The switch must hold what it held before it died, and the others what the detour left there: else the regular way,
    which sets it apart, follows.
    """
    runs = found.runs
    away = runs.ours and runs.run.state == DONE and not found.waiting
    return rejoin_waves(runs, templates) if away and same_target(found.wanted.fabric, runs.home.fabric) else None


def _by_known_waves(
    context: ApplyContext, found: Assessment, options: RepairOptions, known: KnownWaves, *, partly: bool = False
) -> _Done | None:
    """Take a detour, a spare, or the way home from a detour round a switch, or only look at it; None if none will do.

    They must restore all pairs, or with `partly` some. `known` returns the waves of a known way by its place, None if
    they do not prove. Waves go to the switches that they change, and no others are read: these must hold what the last
    run has left there. What was changed manually on others is for the regular look, which follows if this does not do.
    """
    runs, templates = found.runs, context.site.share / "templates"
    for at, way in enumerate(found.known_ways):
        wave = known(at)
        if wave is None or wave.complete == partly:
            continue
        under_pinned = found.dead.switches and runs.home.assignment == "pinned"
        if options.propose and isinstance(way.known, Detour) and not (under_pinned or partly):
            break  # the look of an apply shows more of it
        if (done := _by_waves(context, runs, wave, way, options)) is not None:
            return done
    wave = _way_home(found, templates) if runs.home.assignment == "pinned" and not partly else None
    looked = _as_left(context, wave) if wave is not None else None
    home = Way(None, found.wanted)
    return _by_waves(context, runs, wave, home, options, looked) if wave is not None and looked is not None else None


def _by_waves(
    context: ApplyContext,
    runs: Runs,
    wave: ReadyWaves,
    way: Way,
    options: RepairOptions,
    looked: Survey | None = None,
) -> _Done | None:
    """Send proven waves, or only look at all switches; None if that sends nothing, or they hold something else."""
    if not options.propose:
        return _sent(context, runs, wave, way)
    looked = looked or _as_left(context, wave)
    if looked is None:
        return None
    result = apply.Result(looked.outcomes)
    beside = isinstance(way.known, Spare)
    return _Done(result, looked.read, wave.change.after, _means(way.known), way.wanted, beside=beside)


def _as_left(context: ApplyContext, wave: ReadyWaves) -> Survey | None:
    """Return what all switches hold, changed by the waves or not; None unless it is what these begin with."""
    sequence = wave.write(context.site.share / "templates", context.site.directory("look") / "rollout")
    looked = apply.look(context, sequence, 0)
    progress = waves.locate_switches(sequence, 0, looked)
    return None if progress.findings or progress.unread else looked


def _sent(context: ApplyContext, runs: Runs, wave: ReadyWaves, way: Way) -> _Done | None:
    """Send proven waves to the switches that they change, and read no others; None where that sends nothing."""
    means = _means(way.known)
    sequence = wave.write(context.site.share / "templates", context.site.directory(means) / "rollout")
    source = (context.site.home / FOLDER / "build").absolute()
    run, sequence = context.begin(sequence, "apply", str(source))
    outcomes = context.push(run, sequence, by=context.direct)
    if not outcomes.good and context.journal.withdraw(run.id):
        return None
    run, state = context.journal.run(run.id), sequence.states[-1]
    home = context.site.home / FOLDER / "home"
    now = replace(runs, run=run, fabric=wave.build.fabric, state=state, directory=home, ours=True, texts={})
    after = now if outcomes.good else None
    return _Done(apply.Result(outcomes, run), {}, state, means, way.wanted, after, isinstance(way.known, Spare))


def _gone_on(context: ApplyContext, found: Assessment, options: RepairOptions) -> _Done | None:
    """Go on with a repair that was cut short, if it leads where paths shall go now; None where it cannot be."""
    runs = found.runs
    if not (runs.ours and runs.run.unfinished and same_target(found.wanted.fabric, runs.fabric)):
        return None
    try:
        result, read = _resumed(context, runs, options)
    except PlanError:
        return None
    if result.refused or result.drift or (options.propose and not result.interrupted.hitless):
        return None
    return _Done(result, read, runs.state, "wake" if found.wanted.woken else "replan", found.wanted)


def _resumed(context: ApplyContext, runs: Runs, options: RepairOptions) -> tuple[apply.Result, FabricState]:
    """Go on with a run that broke off; return what came of it, and what was read before. Raises as `apply.resume`."""
    looked: list[Survey] = []
    requested = apply.ApplyOptions(allow_interrupt=options.allow_interrupt)
    result = apply.resume(context, runs.run, requested, check=options.propose, on_found=looked.append)
    return result, looked[0].read


def _raises_all_that_seems_dead(context: ApplyContext, found: Assessment) -> bool:
    """Return whether a change that broke off raises each link that seems dead: at one end, which no carrier follows."""
    if found.dead.switches or found.dead.silent or not found.dead.links:
        return False
    sequence = context.own_sequence(found.runs.run)
    if not sequence.states:
        return False
    before = links_on(sequence.fabric.with_links_up(), sequence.states[0])
    return not before[list(found.dead.links)].any()


def _finish(
    context: ApplyContext, found: Assessment, done: Repair, options: RepairOptions
) -> tuple[Repair, FabricState]:
    """Go on with a change that is no repair and broke off; return what came of it, and what was read before."""
    try:
        result, read = _resumed(context, found.runs, options)
    except (PlanError, DeviceError):  # paths are led around what seems dead, as it stands
        return done, found.runs.state
    return replace(done, reason=FINISHED, result=result), read


def _act(context: ApplyContext, found: Assessment, options: RepairOptions, at_once: AtOnce | None = None) -> _Done:
    """Plan, prove and push what shall run, or only look: by the first way that cuts off no pair that works.

    A detour that leaves pairs cut off comes after the ways that plan anew. If each way would cut off pairs that work,
    the one that cuts off fewest is taken if `allow_interrupt`, else shown as refused. Raises PlanError if none is
    found.
    """
    if (done := _gone_on(context, found, options)) is not None:
        return done
    if not options.propose:
        _keep_home(context, found.runs)

    @cache
    def known(at: int) -> ReadyWaves | None:
        way = found.known_ways[at]
        assert way.known is not None  # noqa: S101 - known ways are
        ready = at_once.ready_for(found.runs, way) if at_once is not None else None
        return ready or waves_around(found.runs, way.wanted.fabric, way.known, context.site.share / "templates")

    if (done := _by_known_waves(context, found, options, known)) is not None:
        return done
    tried: list[tuple[Way, _Done]] = []
    refused: list[PlanError] = []
    gentle = replace(options, allow_interrupt=False)
    for way in (*(each for each in found.ways if isinstance(each.known, Detour)), *found.new_paths):
        try:
            led = _led(context, found, way, gentle)
        except PlanError as error:
            refused.append(error)
            continue
        if led is not None and led.harmless:
            return led
        if led is not None:
            tried.append((way, led))
    if not (tried and options.allow_interrupt):
        done = _by_known_waves(context, found, options, known, partly=True)
        if done is not None:
            return done
    if not tried:
        raise refused[0]
    way, least = min(tried, key=lambda each: each[1].result.interrupted.interrupted)
    if options.allow_interrupt and (led := _led(context, found, way, options)) is not None:
        return led
    return least


def _led(context: ApplyContext, found: Assessment, way: Way, options: RepairOptions) -> _Done | None:
    """Lead to what shall run by a way, as an apply does; None if its detour does not prove. Raises PlanError."""
    runs, wanted = found.runs, way.wanted
    folder = context.site.directory("repair") if options.propose else context.site.home / FOLDER
    pairs = enumerate(zip(runs.fabric.switches, wanted.fabric.switches, strict=True))
    back = [s for s, (a, b) in pairs if b.up and not a.up]
    apart = island_pairs(runs.home.fabric, back, found.waiting) if found.waiting else []
    name = wanted.fabric.switches[back[0]].name if back else ""
    requested = apply.ApplyOptions(allow_interrupt=options.allow_interrupt, readmit=name)
    check = options.propose or bool(apart and not options.allow_interrupt)
    looked: list[Survey] = []
    means = "detour" if way.known is not None else "wake" if wanted.woken else "replan"
    templates, directory = context.site.share / "templates", folder / "build"
    home = runs.directory if same_target(wanted.fabric, runs.home.fabric) else None
    if home is not None:
        prepared = prepare.prepare(home)
    elif isinstance(way.known, Detour):
        if not write_detour(runs.home, wanted.fabric, way.known, templates, directory):
            return None
        prepared = prepare.prepare(directory)
    else:
        prepared = _planned(context, runs, wanted, runs.state, directory)

    def led(prepared: PreparedChange, *, own_ids: bool = False) -> tuple[PreparedChange, apply.Result | PlanError]:
        wish = replace(requested, own_ids=own_ids)
        try:
            result = apply.look_and_apply(context, prepared, wish, check=check, on_found=looked.append)
        except PlanError as error:
            if not looked:
                raise
            return prepared, error
        return prepared, result

    prepared, result = led(prepared)
    if _is_no_way(result, check=check):  # such as where an id names another tree or half of one: beside what was read
        means = "replan" if means == "detour" else means
        prepared, result = led(_planned(context, runs, wanted, looked[0].read, directory))
    if _is_no_way(result, check=check) and (routes := _beside(wanted.fabric, runs, looked[0].read)) is not None:
        prepared, result = led(_planned(context, runs, wanted, looked[0].read, directory, routes))
    if isinstance(result, PlanError):
        raise result
    if home is not None and not check and _has_other_ids(context, result, runs.home.state):
        prepared, result = _or_before(led(prepare.prepare(home), own_ids=True), (prepared, result))
    if apart:
        result = _with_island(result, runs.home.fabric, apart, 1 + len(found.waiting))
        if check and not options.propose and not result.drift and looked:
            result = replace(result, outcomes=looked[0].unsent(), refused=True)
    return _Done(result, looked[0].read if looked else {}, _state_of(prepared), means, wanted)


def _has_other_ids(context: ApplyContext, result: apply.Result, home: FabricState) -> bool:
    """Return whether a push led home to VLANs under other ids, since trees of what ran had theirs: none is cut so."""
    states = context.own_sequence(result.run).states if result.good and result.run is not None else ()
    return bool(states) and any({*held.owned_vlans} != {*home[name].owned_vlans} for name, held in states[-1].items())


def _or_before(
    led: tuple[PreparedChange, apply.Result | PlanError], before: tuple[PreparedChange, apply.Result]
) -> tuple[PreparedChange, apply.Result]:
    """Return what was pushed last, and what came of it: `before` it where nothing was sent."""
    prepared, result = led
    return before if isinstance(result, PlanError) or result.refused or result.run is None else (prepared, result)


def _is_no_way(result: apply.Result | PlanError, *, check: bool) -> bool:
    """Return whether nothing was sent, or would be: no waves lead there by which pairs that work go on working."""
    if isinstance(result, PlanError):
        return True
    return (check or result.refused) and not result.drift and not result.interrupted.hitless


def _beside(fabric: Fabric, runs: Runs, read: FabricState) -> Routes | None:
    """Return routes that close no dependency cycle together with the paths that run; None where none were found."""
    if runs.home.assignment != "fixed" or fabric.own_ways or any(switch.name not in read for switch in fabric.live):
        return None
    return trees_beside(fabric, dependencies(fabric, {**read, **dead_states(fabric)}))


def _with_island(result: apply.Result, fabric: Fabric, apart: list[tuple[int, int]], rounds: int) -> apply.Result:
    """Return a result that counts pairs of switches which come back together, until all of them are readmitted."""
    cut = result.interrupted
    names = tuple(f"{fabric.hosts[a].name} -> {fabric.hosts[b].name}" for a, b in apart)
    cut = replace(
        cut,
        pairs=cut.pairs + len(apart),
        interrupted=cut.interrupted + len(apart),
        seconds_max=max(cut.seconds_max, rounds * max(1, result.outcomes.waves) * SESSION_SECONDS),
        witnesses=(*cut.witnesses, *names)[:SHOWN],
        why=cut.why or "switches that are back together are readmitted one by one",
    )
    return replace(result, interrupted=cut)


def _planned(
    context: ApplyContext,
    runs: Runs,
    wanted: Target,
    beside: FabricState,
    directory: Path,
    routes: Routes | None = None,
) -> PreparedChange:
    """Plan around what is dead, beside what runs: a VLAN whose tree stays keeps its id. Raises PlanError."""
    _written(context, runs.home, wanted.fabric, beside, directory, routes)
    return prepare.prepare(directory)


def _written(
    context: ApplyContext,
    home: Build,
    fabric: Fabric,
    beside: FabricState,
    directory: Path,
    routes: Routes | None = None,
) -> None:
    build, proof, texts = plan(
        fabric,
        context.site.share / "templates",
        assignment=home.assignment,
        previous=replace(home, state=_with_ids_of(beside, home.state)),
        static_arp=home.duplicates_allowed,
        regulated=RegulateResult(routes, {}, ()) if routes is not None else None,
    )
    if not proof.proven:
        raise PlanError("a repair must prove before it is pushed", str(proof.findings[0]), "tagloom plan")
    write_build(replace(build, load_bound=0.0), proof, texts, directory)  # a better bound takes longer than the plan


def _with_ids_of(state: FabricState, home: FabricState) -> FabricState:
    """Return a state with the VLANs beside its own that lead home later, so that their ids name nothing else."""
    return {name: layers.beside(held, home[name], home[name].owned_vlans) for name, held in state.items()}


def _state_of(prepared: PreparedChange) -> FabricState:
    """Return what switches shall hold of a build."""
    sequence = prepared.sequence.build
    return parse(sequence.fabric, read_texts(sequence.fabric, sequence.directory / "configs"))[0]


# --- what is said -----------------------------------------------------------------------------------------------------


def _reported(done: Repair, runs: Runs, acted: _Done) -> Repair:
    """Add a push to what was done."""
    fabric, wanted = runs.home.fabric, acted.wanted
    woken = tuple(link_name(fabric, i) for i in sorted(wanted.woken))
    if acted.beside:
        why = "a spare parallel link replaces the link that is down"
    elif woken:
        why = "links that were off are turned on for new paths"
    elif acted.means == "detour":
        why = "a detour was installed beforehand"
    elif same_target(wanted.fabric, fabric):
        why = "nothing is down any more: the original paths are restored"
    else:
        why = "new paths avoid what is down"
    result = acted.result
    if done.result is not None and done.result.interrupted.interrupted > result.interrupted.interrupted:
        result = replace(result, interrupted=done.result.interrupted)
    return replace(
        done,
        means="wake" if "wake" in (acted.means, done.means) else acted.means,
        links_woken=(*done.links_woken, *woken),
        reason=why,
        result=result,
    )


def _counted(done: Repair, found: Assessment, first: FabricState, last: FabricState) -> Repair:
    """Add what is dead, and the pairs that it cut off: before the first push, and after the last."""
    fabric, dead = found.runs.home.fabric, found.dead
    joined = joined_pairs(fabric, found.whole, dead)
    before, after = (_works(fabric, dead, state) for state in (first, last))
    cut = ~before & fabric.same_network
    return replace(
        done,
        dead_links=found.dead_links,
        dead_switches=found.dead_switches,
        silent=dead.silent,
        waiting={name: seconds for name, seconds in dead.back.items() if done.result is None},
        pairs_cut=int(cut.sum()),
        pairs_restored=int((cut & after).sum()),
        pairs_apart=int((cut & ~after & ~joined).sum()),
        hosts_apart=tuple(host.name for host in fabric.hosts if host.switch in found.wanted.apart),
    )


def _works(fabric: Fabric, dead: DeadParts, state: FabricState) -> NDArray[np.bool_]:
    """Return the ordered pairs of hosts that work in a state while something is dead, bool[H, H]."""
    held = {**state, **dead_states(fabric.with_switches_down(dead.switches))}
    return working_pairs(fabric.with_links_dead(dead.links).with_links_up(), held)
