"""Lead an apply, its resume and its rollback from what switches hold to what they shall hold, or say why not."""

from __future__ import annotations

import math
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from tagloom import platforms
from tagloom.apply.build import digest, read_rollout, read_waves
from tagloom.apply.confirmations import EXPIRED, WAITING, Confirmations, must_be_answered
from tagloom.apply.journal import SAVED
from tagloom.apply.outcomes import Fault
from tagloom.apply.run_states import DONE, UNDONE, Move
from tagloom.apply.survey import survey
from tagloom.apply.switch import cell_finding, drifted_cells
from tagloom.errors import AT_ONCE, DeviceError, Finding, InputError, PlanError
from tagloom.operate import first_push, growing, own_lines, prepare, waves
from tagloom.operate.interrupting import interrupted_at_once, interrupted_by_waves
from tagloom.operate.management import check_management
from tagloom.operate.protection import protection_of, protection_sentences
from tagloom.operate.running import applied_place
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import switchwide
from tagloom.platforms.port_names import link_name
from tagloom.read.build_directory import write_texts
from tagloom.records.change import Cell, apply_changes, difference
from tagloom.records.change_way import IN_ONE_GO, ChangeWay
from tagloom.records.interrupted import Interrupted
from tagloom.records.ownership import overlay
from tagloom.records.rollout import cells_to_json
from tagloom.render import render
from tagloom.rollout import finish, leads_from
from tagloom.rollout.choose import SESSION_SECONDS
from tagloom.rollout.pruning import pruned_names, refuse_harm_to_others, unless_assumed
from tagloom.units import number_of
from tagloom.verify import Plan, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tagloom.apply.confirmations import Confirmation
    from tagloom.apply.journal import Run
    from tagloom.apply.outcomes import Outcomes
    from tagloom.apply.playbook import Progress
    from tagloom.operate.prepare import PreparedChange
    from tagloom.operate.waves import ApplyContext, Survey, WaveSequence
    from tagloom.records.change import Change
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

    Phase = Callable[[str, int], AbstractContextManager[Progress | None]]

_OVERWRITE = "--drift overwrite"
_AT_ONCE = "the fabric would be set up in one go, from a state that does not prove"
REQUESTED = (
    "asked"  # in a run's order: configurations as they were asked for, where something by hand was kept beside them
)


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """What the operator wants: `on_failure` stop, finish or undo; `drift` "" (refuse), keep or overwrite.

    `allow_drain` lets hosts be paused, `allow_interrupt` lets pairs that work be cut off while lines land.
    `readmit` names a switch that came back with an old configuration, and is led to its place apart from the others;
    `without`, that switches were said to be dead, which the build is to be planned around. `foreign` says what is done
    about VLANs of others that would loop: refuse, or prune. With `own_ids` trees that run under other ids of VLANs get
    those of the build. With `confirm_seconds` the change is taken back unless somebody confirms it within so many after
    its end (see `confirming.settle`).
    """

    on_failure: str = "stop"
    drift: str = ""
    allow_drain: bool = False
    allow_interrupt: bool = False
    readmit: str = ""
    without: bool = False
    foreign: str = "refuse"
    confirm_seconds: float = 0.0
    own_ids: bool = False


@dataclass(frozen=True)
class Result:
    """What became of an apply: outcomes, its run (None where nothing was begun), what drifted, remarks.

    `interrupted` says which pairs the change cuts off, `refused` that it was not begun because nobody allowed that, or
    that a check found that it would not be;
    `pruned` are the memberships in VLANs of others that it takes from links, by switch as (VLAN, port). `confirmation`
    is that which the change waited for, None where nobody asked for one. `way` is None where nothing is to change.
    `protection` says, where the change must be confirmed, what takes it back on each switch that it changes.
    """

    outcomes: Outcomes
    run: Run | None = None
    drift: tuple[Finding, ...] = ()
    remarks: tuple[str, ...] = ()
    interrupted: Interrupted = field(default_factory=Interrupted)
    refused: bool = False
    pruned: Mapping[str, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    confirmation: Confirmation | None = None
    way: ChangeWay | None = None
    protection: Mapping[str, str] = field(default_factory=dict)

    @property
    def good(self) -> bool:
        """Return whether everything is where it was to be."""
        begun = not self.drift and not self.refused
        return self.outcomes.good and begun and (self.run is None or self.run.state in {DONE, UNDONE})

    def to_json(self, *, checked: bool = False) -> dict[str, Any]:
        """Return it with the keys of the command line: `pending` says whether something is, or would be, sent yet."""
        payload = self.outcomes.to_json() | {"remarks": list(self.remarks)}
        payload |= {"run": "", "kind": "", "state": "unchanged", "wave": 0}
        payload |= {k: v for k, v in self.run.to_json().items() if k != "waves"} if self.run else {}
        payload["pruned"] = cells_to_json(self.pruned)
        payload["drift"] = [finding.to_json() for finding in self.drift]
        payload["own_lines"] = {o.switch: list(o.own_lines) for o in self.outcomes.outcomes if o.own_lines}
        payload["confirmation"] = self.confirmation.to_json() if self.confirmation else None
        payload["protection"] = dict(self.protection)
        payload["strategy"] = self.way.strategy if self.way else ""
        payload["rollback_possible"] = self.way.returns if self.way else None
        payload["pending"] = not self.good or (checked and bool(self.outcomes.changed))
        return payload | self.interrupted.to_json()


def refuse_unfinished(context: ApplyContext, fabric: str, options: ApplyOptions, words: Callable[[str], str]) -> None:
    """Refuse a new apply where an older one waits for its confirmation, or left switches between two proven states.

    `words` writes a command as the operator would type it. Raises PlanError.
    """
    armed = Confirmations(context.journal).open()
    if armed is not None and armed.state in {WAITING, EXPIRED}:
        raise must_be_answered(armed)
    run = context.journal.unfinished(fabric)
    if run is not None and run.proven and run.wave and not options.drift:
        raise PlanError(
            "a run that was interrupted is finished or undone before another begins",
            f"{run.kind} {run.name} of {run.source} stands in wave {run.wave} of {run.waves}",
            f"{words('apply --resume')}, or {words('rollback')} (or --drift overwrite, to start from what runs)",
            ("apply --resume", "rollback", "--drift overwrite"),
            pending=True,
        )


# --- a new apply ------------------------------------------------------------------------------------------------------


def look(context: ApplyContext, sequence: WaveSequence, wave: int, on_progress: Progress | None = None) -> Survey:
    """Read every switch, against one wave or (0) against all."""
    own, pusher = own_lines.own_lines_of(sequence), context.pusher(sequence.fabric)
    found = survey(
        *(pusher, context.site.directory("check"), sequence.directory, sequence.fabric),
        wave=wave,
        own_lines=own,
        on_progress=on_progress,
    )
    return waves.survey_of(sequence.fabric, found)


@contextmanager
def _unshown(_what: str, _waves: int) -> Iterator[Progress | None]:
    yield None


def look_and_apply(
    context: ApplyContext,
    prepared: PreparedChange,
    options: ApplyOptions,
    *,
    check: bool = False,
    on_found: Callable[[Survey], None] = lambda _found: None,
    phase: Phase = _unshown,
) -> Result:
    """Look at the switches and apply a build or a rollout; with `check`, return what that would do.

    `on_found` takes what the look found, before anything is sent; `phase` shows how far a phase is, named, over so many
    waves. A look at the waves after the first takes what the ones before leave. Raises as `apply_new` does.
    """
    prepared, reported = growing.from_what_runs(
        context, prepared, allow_drain=options.allow_drain, at_once=options.allow_interrupt
    )
    if reported:
        context.tell(reported)
    if not check:
        context.call_off_reloads(prepared.sequence)
    with phase("switches read", prepared.sequence.waves if check else 1) as on_progress:
        found = look(context, prepared.sequence, 0 if check else 1, on_progress)
    if options.without and all(switch.name in found.read for switch in prepared.fabric.live):
        prepared = prepare.around(prepared, found.read, context.site)
        after = _wanted(prepared, found.read)
        led = found.retarget(prepared.fabric, after, context.site.share / "templates")
        found = waves.Survey(led, found.read, after)
    on_found(found)
    check_management(prepared.fabric, found, context.network, context.tell)
    if options.confirm_seconds and (lacking := sorted({o.switch for o in found.outcomes.outcomes if o.own_lines})):
        raise not_to_be_confirmed(f"{', '.join(lacking)} would be sent lines of your own, which no rollback takes back")
    alone = _pruned_alone(context, prepared, found, options)
    if alone is not None and options.confirm_seconds:
        raise not_to_be_confirmed(_AT_ONCE)
    if alone is not None:
        result, first = alone
        if check:
            return _with_own_lines(result)
        if result.refused:
            return replace(result, outcomes=found.unsent())
        if result.drift:
            return result
        with phase("pushes", 1) as on_progress:
            run, sequence = context.begin(first.sequence, "apply", str(prepared.source.absolute()))
            outcomes = context.push(run, sequence, on_progress=on_progress)
        if not outcomes.good:
            return replace(result, outcomes=found.complete(outcomes), run=context.journal.run(run.id))
        for remark in result.remarks:
            context.tell(remark)
        with phase("switches read", 1) as on_progress:
            found = look(context, prepared.sequence, 1, on_progress)
    if check:
        seen = _with_own_lines(preview(context, prepared, found, options))
        by = protection_of(prepared.fabric, seen.outcomes.changed) if options.confirm_seconds else {}
        return replace(seen, protection=by)
    with phase("pushes", prepared.sequence.waves) as on_progress:
        result = apply_new(context, prepared, found, options, on_progress)
    if alone is not None:
        if result.good and result.run is None:  # there was nothing to do but to prune
            result = replace(result, outcomes=found.complete(outcomes), run=context.journal.run(run.id))
        result = replace(result, pruned=alone[0].pruned)
    lacking = list(dict.fromkeys(o.switch for o in found.outcomes.outcomes if o.own_lines))
    source = str(prepared.source.absolute())
    return _send_own_lines(context, prepared.sequence.build, source, lacking, result, phase) if lacking else result


def _pruned_alone(
    context: ApplyContext, prepared: PreparedChange, found: Survey, options: ApplyOptions
) -> tuple[Result, PreparedChange] | None:
    """Return the wave that prunes VLANs of others before a fabric is set up in one go, and what both would do.

    None where there is no such wave. What comes after it is looked at first, so that nothing is pruned in vain.
    What was changed by hand and is to be kept is so after it too. Raises PlanError where that is refused.
    """
    fabric = prepared.fabric
    if options.foreign != "prune" or prepared.is_rollout or any(s.name not in found.read for s in fabric.live):
        return None
    if not options.allow_interrupt:
        waves_of_it, _ = _first_push(context, prepared, found, _wanted(prepared, found.read), options)
        if waves_of_it is not None:  # which prune first themselves
            return None
    alone = prepare.prune_alone(prepared, found.read, _wanted(prepared, found.read), context.site)
    if alone is None:
        return None
    first, assumed = alone
    left = _left(context, prepared, found) if options.drift == "keep" else {}
    if left:  # so that what the wave finds changed by hand is known for that after it
        write_texts(first.directory / REQUESTED, render(fabric, left, context.site.share / "templates"))
    pruned = waves.overlay_wave(first.sequence, found.read, 1)
    after = _wanted(prepared, pruned)
    led = found.retarget(fabric, after, context.site.share / "templates")
    result = preview(context, prepared, waves.Survey(led, pruned, after), options)
    cells = first.sequence.pruned
    refused = not result.drift and not _consented(result.interrupted, options)
    outcomes = replace(result.outcomes, waves=result.outcomes.waves + 1)
    remarks = (*result.remarks, *pruned_names(fabric, cells))
    if assumed:
        remarks = (*remarks, unless_assumed(assumed, 2 * SESSION_SECONDS + result.interrupted.seconds_max))
    return replace(result, outcomes=outcomes, remarks=remarks, pruned=cells, refused=refused), first


def _prunes(prepared: PreparedChange, found: Survey, after: FabricState, options: ApplyOptions) -> bool:
    """Return whether VLANs of others are to be pruned where nothing else may have to change."""
    if options.foreign != "prune" or any(switch.name not in found.read for switch in prepared.fabric.live):
        return False
    return prepare.prunes(prepared.fabric, found.read, after)


def _with_own_lines(result: Result) -> Result:
    """Count switches that lack some of the operator's own lines among those that would change."""
    outcomes = (replace(o, changed=o.changed or bool(o.own_lines and not o.failed)) for o in result.outcomes.outcomes)
    return replace(result, outcomes=replace(result.outcomes, outcomes=tuple(outcomes)))


def _send_own_lines(
    context: ApplyContext,
    sequence: WaveSequence,
    source: str,
    switches: Collection[str],
    result: Result,
    phase: Phase,
) -> Result:
    """Send the operator's own lines that switches lack, after a push that went well."""
    if result.refused or result.drift:
        return result
    if not result.good:
        rest = f"lines of your own were not sent to {', '.join(switches)}: the push before them did not end well"
        return replace(result, remarks=(*result.remarks, rest))
    with phase("lines of your own", 1) as on_progress:
        run, outcomes = own_lines.send(context, sequence, source, switches, on_progress)
    both = own_lines.joined(result.outcomes, outcomes)
    return replace(result, outcomes=both, run=result.run if run.state == DONE and result.run else run)


def apply_new(
    context: ApplyContext,
    prepared: PreparedChange,
    found: Survey,
    options: ApplyOptions,
    on_progress: Progress | None = None,
) -> Result:
    """Apply a build or a rollout to a fabric that was surveyed (`found`), a rollout against its first wave.

    Raises PlanError where no proven way is found, InputError where nothing can be written down.
    """
    is_rollout = prepared.is_rollout
    seconds = waves.downtime(prepared.directory)
    if seconds and not (options.allow_drain or options.allow_interrupt):
        raise PlanError(
            "hosts are paused only with --allow drain",
            f"this rollout pauses them for about {seconds:.0f} s",
            "tagloom apply with --allow drain, when they can bear it",
            ("--allow drain",),
            pending=bool(found.outcomes.changed),
        )
    sequence = prepared.sequence
    if is_rollout and sequence.holds(found.read, sequence.waves):
        prepared, is_rollout, found = prepared.target, False, found.unchanged()
        sequence = prepared.sequence
    source = str(prepared.source.absolute())
    drifted, findings = detect_drift(context, prepared, sequence, found, options)
    if drifted and not options.drift:
        return Result(found.unsent(), drift=findings)
    remarks = _drift_remarks(options, findings)
    broken = [o for o in found.outcomes.outcomes if o.failed and o.fault is not Fault.DRIFT]
    if found.outcomes.error or (broken and (is_rollout or not found.outcomes.changed)):
        return Result(found.unsent())
    prepared, after = _resolve_target(context, prepared, found, drifted, options)
    unsaved = tuple(o.switch for o in found.outcomes.outcomes if o.unsaved)
    changes = {name for name, state in after.items() if state != found.read[name]}
    if not changes and (drifted or not is_rollout) and not _prunes(prepared, found, after, options):
        return _save_only(context, prepared, found, unsaved, remarks, on_progress)
    if not is_rollout or drifted:
        kept = bool(drifted) and options.drift == "keep"
        requested = (
            render(prepared.fabric, _wanted(prepared, found.read), context.site.share / "templates") if kept else {}
        )
        prepared, no_way = _ordered(context, prepared, found, after, options, kept=kept)
        if requested:  # so that the next apply knows what was kept, and asks again
            write_texts(prepared.directory / REQUESTED, requested)
    else:
        no_way = ""
        _refuse_harm_to_others(sequence, found)
    cells, way = prepared.sequence.pruned, _way_of(prepared.sequence, found.read, after)
    remarks = (*remarks, *pruned_names(prepared.fabric, cells))
    cut = _interrupted(prepared.sequence, found, after, no_way)
    if not _consented(cut, options):
        return Result(found.unsent(), remarks=remarks, interrupted=cut, refused=True, pruned=cells, way=way)
    if options.confirm_seconds and not prepared.sequence.states:
        raise not_to_be_confirmed(_AT_ONCE)
    _announce(context, prepared.sequence, cut)
    if way.returns and way.ends_spanning_tree:
        context.tell(f"way       {way.sentence}")
    by = protection_of(prepared.fabric, changes) if options.confirm_seconds else {}
    if by:
        announce_protection(context, by)
        context.watch()
    wish = {"allowed": not cut.hitless, "confirm_seconds": options.confirm_seconds}
    run, sequence = context.begin(prepared.sequence, "apply", source, save=unsaved, **wish)  # type: ignore[arg-type]  # its own keywords

    def prove_from_here() -> None:
        if sequence.states:
            waves.plan_onward(sequence, waves.locate_switches(sequence, 1, found), 1)

    outcomes = context.push(run, sequence, meanwhile=prove_from_here, on_progress=on_progress)
    result = _after(context, run, sequence, found.complete(outcomes), options, on_progress)
    remarks = (*remarks, *result.remarks)
    return replace(result, remarks=remarks, interrupted=cut, pruned=cells, way=way, protection=by)


def announce_protection(context: ApplyContext, protection: Mapping[str, str]) -> None:
    """Announce what protects each switch, before a line is sent."""
    for number, sentence in enumerate(protection_sentences(protection)):
        context.tell(f"{'' if number else 'protect':<10}{sentence}")


def _way_of(sequence: WaveSequence, before: FabricState, after: FabricState) -> ChangeWay:
    """Describe the way from what was read to what is wanted."""
    live = [switch.name for switch in sequence.fabric.live if switch.name in before]
    ends = any(before[name].spanning_tree and not after[name].spanning_tree for name in live)
    if not sequence.states:
        return ChangeWay(IN_ONE_GO, sequence.names, 0.0, ends)
    page = read_rollout(sequence.directory)
    return ChangeWay(page.strategy, sequence.names, page.expected_seconds, ends)


def not_to_be_confirmed(witness: str) -> PlanError:
    """Return the refusal of a confirmation for what could not be taken back."""
    rule = "a change waits for a confirmation only where a proven way leads back from it"
    return PlanError(rule, witness, "tagloom apply without --confirm", ())


def _interrupted(sequence: WaveSequence, found: Survey, after: FabricState, no_way: str = "") -> Interrupted:
    """Return which pairs a change cuts off: proven waves none but where hosts are paused, a build set up at once some.

    `after` is what switches shall hold where no waves are proven, `no_way` why none were found.
    """
    fabric = sequence.fabric
    unread = [switch.name for switch in fabric.live if switch.name not in found.read]
    if sequence.states and not unread:
        end = waves.overlay_wave(sequence, found.read, sequence.waves)
        between, seconds = _between(sequence, found.read)
        pause = waves.downtime(sequence.directory)
        return _interrupted_by(sequence, found.read, end, pause, between, seconds)
    cut = interrupted_at_once(fabric, found.read, after, unread=unread, duplicates_allowed=sequence.duplicates_allowed)
    return cut if unread or cut.hitless else replace(cut, no_way=no_way)


def _interrupted_by(
    sequence: WaveSequence,
    read: FabricState,
    after: FabricState,
    paused_seconds: float,
    between: Sequence[FabricState] = (),
    seconds: float = 0.0,
) -> Interrupted:
    """Return which pairs waves cut off; switches that go and are sent nothing hold what they did."""
    held, led, *states = ({**sequence.left, **state} for state in (read, after, *between))
    return interrupted_by_waves(sequence.shared, held, led, paused_seconds, states, seconds)


def _between(sequence: WaveSequence, read: FabricState) -> tuple[list[FabricState], float]:
    """Return the states between waves that need not keep all pairs at once, and what the waves take; none of others."""
    if not any(assumptions.keeping for assumptions in sequence.assumptions):
        return [], 0.0
    here, states = read, []
    for number in range(1, sequence.waves):
        here = waves.overlay_wave(sequence, here, number)
        states.append(here)
    return states, sum(sequence.drains) + SESSION_SECONDS * sequence.waves


def _consented(cut: Interrupted, options: ApplyOptions) -> bool:
    """Return whether a change may begin: proven waves that pause hosts ask for a drain, all else for an interrupt."""
    return cut.hitless or options.allow_interrupt or (options.allow_drain and cut.needs == "drain")


def _refuse_harm_to_others(sequence: WaveSequence, found: Survey) -> None:
    """Raise PlanError where a wave would leave VLANs of others in a loop, on top of what was read.

    Between two fabrics that is one which loops now: what comes is in none of them. So it is pruned where it loops.
    """
    first = "prune it in the build that runs: tagloom apply OLD --foreign prune" if sequence.judged else ""
    services = proof_services(sequence.fabric)
    for wave in range(1, sequence.waves + 1):
        held = waves.overlay_wave(sequence, found.read, wave)
        refuse_harm_to_others(services, held, prunable=False, instead=first)


def _announce(context: ApplyContext, sequence: WaveSequence, cut: Interrupted) -> None:
    """Announce which pairs are cut off now or will be, and for how long hosts will be paused, before a line is sent."""
    if not cut.hitless or cut.cut_now:
        context.tell(cut.sentence)
    if any(sequence.paused):
        seconds = waves.downtime(sequence.directory)
        context.tell(f"pausing   hosts for about {seconds:.0f} s: what they send meanwhile is dropped as it enters")


def preview(context: ApplyContext, prepared: PreparedChange, found: Survey, options: ApplyOptions) -> Result:
    """Return what an apply would do: what drifted, and how many waves the change would take."""
    is_rollout = prepared.is_rollout
    seconds = waves.downtime(prepared.directory)
    remarks = (f"pauses hosts for about {seconds:.0f} s: needs --allow drain",) if seconds else ()
    sequence = prepared.sequence
    if is_rollout and sequence.holds(found.read, sequence.waves):
        return Result(found.unchanged().outcomes)
    drifted, findings = detect_drift(context, prepared, sequence, found, options)
    if drifted and not options.drift:
        return Result(found.outcomes, drift=findings, remarks=remarks)
    if found.outcomes.error or any(o.failed and o.fault is not Fault.DRIFT for o in found.outcomes.outcomes):
        cut = _interrupted(prepared.sequence, found, found.wanted) if found.outcomes.changed else Interrupted()
        refused = not is_rollout and not _consented(cut, options)
        return Result(found.outcomes, remarks=remarks, interrupted=cut, refused=refused)
    if is_rollout and not drifted:
        _refuse_harm_to_others(sequence, found)
        waves.plan_onward(sequence, waves.locate_switches(sequence, 1, found), 1)
        remarks = (*remarks, *pruned_names(sequence.fabric, sequence.pruned))
        cut, way = _interrupted(sequence, found, found.wanted), _way_of(sequence, found.read, found.wanted)
        cells, refused = sequence.pruned, not _consented(cut, options)
        return Result(found.outcomes, remarks=remarks, interrupted=cut, refused=refused, pruned=cells, way=way)
    if drifted:
        remarks = (*remarks, *_drift_remarks(options, findings))
    prepared, after = _resolve_target(context, prepared, found, drifted, options)
    outcomes = found.outcomes
    if drifted:
        outcomes = found.retarget(prepared.fabric, after, context.site.share / "templates")
    unchanged = not outcomes.changed or after == found.read  # or all that is to change is pruned before
    if unchanged and not _prunes(prepared, found, after, options):
        return Result(outcomes, remarks=remarks)
    kept = bool(drifted) and options.drift == "keep"
    ordered, no_way = _ordered(context, prepared, found, after, options, kept=kept)
    if options.confirm_seconds and not ordered.sequence.states:
        raise not_to_be_confirmed(_AT_ONCE)
    cut, cells = _interrupted(ordered.sequence, found, after, no_way), ordered.sequence.pruned
    remarks = (*remarks, *pruned_names(ordered.fabric, cells))
    outcomes, way = replace(outcomes, waves=ordered.sequence.waves), _way_of(ordered.sequence, found.read, after)
    refused = not _consented(cut, options)
    return Result(outcomes, remarks=remarks, interrupted=cut, refused=refused, pruned=cells, way=way)


def _resolve_target(
    context: ApplyContext,
    prepared: PreparedChange,
    found: Survey,
    drifted: Mapping[str, tuple[Change, ...]],
    options: ApplyOptions,
) -> tuple[PreparedChange, FabricState]:
    """Return what is to be ordered, and what switches shall hold.

    The waves of a rollout were proven from another state than one that strayed: it is ordered anew, to where they lead.
    """
    if not drifted:
        return prepared, found.wanted
    if prepared.is_rollout:
        prepared = growing.with_ports_back(context, prepared.target, prepared.sequence.owned)
    after = _wanted(prepared, found.read)
    return prepared, _keeping(prepared, after, drifted) if options.drift == "keep" else after


def _ordered(
    context: ApplyContext,
    prepared: PreparedChange,
    found: Survey,
    after: FabricState,
    options: ApplyOptions,
    *,
    kept: bool,
) -> tuple[PreparedChange, str]:
    """Order the change from what was read; one that does not prove is set up in one go, unless something is kept.

    Switches under spanning tree, as from the factory, are led from there by hitless waves, unless the operator allows
    an interruption. The second value says why there are none.
    """
    read, no_way = found.read, ""
    if all(switch.name in read for switch in prepared.fabric.live):
        if options.readmit:
            return prepare.readmit(prepared, read, after, context.site, options.readmit), ""
        if not options.allow_interrupt:
            waves_of_it, no_way = _first_push(context, prepared, found, after, options)
            if waves_of_it is not None:
                return waves_of_it, ""
        wish = {
            "allow_drain": options.allow_drain,
            "at_once": options.allow_interrupt and not options.confirm_seconds,
            "foreign": options.foreign,
            "own_ids": options.own_ids,
        }
        prepared = prepare.order_change(prepared, read, after, context.site, **wish)  # type: ignore[arg-type]  # its own keywords
    else:
        for outcome in found.outcomes.outcomes:
            if outcome.failed and any(set(read[n].owned_vlans) - set(after[n].owned_vlans) for n in after):
                rule = "another plan runs, and it is changed only when every switch can be read"
                way = f"where it is dead: tagloom apply {prepared.source} --without {outcome.switch}"
                raise DeviceError(outcome.switch, outcome.command, f"{outcome.error}; {rule}; {way}")
    if kept and not prepared.is_rollout:
        raise PlanError("what was changed by hand is kept only in a fabric that proves", "", _OVERWRITE, (_OVERWRITE,))
    if not prepared.sequence.states and not no_way:
        no_way = "; ".join(map(str, growing.changed_states_since(context, prepared)))
    return prepared, no_way


def _first_push(
    context: ApplyContext, prepared: PreparedChange, found: Survey, after: FabricState, options: ApplyOptions
) -> tuple[PreparedChange | None, str]:
    """Return the hitless waves of a first push, or why there are none (see `first_push.first_push`)."""
    return first_push.first_push(
        *(prepared, found.read, after, context.site, context.network),
        allow_drain=options.allow_drain,
        foreign=options.foreign,
    )


def _save_only(
    context: ApplyContext,
    prepared: PreparedChange,
    found: Survey,
    unsaved: tuple[str, ...],
    remarks: tuple[str, ...],
    on_progress: Progress | None,
) -> Result:
    """Save switches that hold what they must and would start with something else; write down what parts are called."""
    found = found.unchanged()
    if growing.differs_in_words(context, prepared.fabric):  # so that what comes next knows what runs
        source = str(prepared.source.absolute())
        run, sequence = context.begin(prepared.sequence, "apply", source, save=unsaved)
        outcomes = context.push(run, sequence, on_progress=on_progress)
        remark = "nothing had to be sent: what parts are called, and which are up, is written down"
        return Result(found.complete(outcomes), context.journal.run(run.id), remarks=(*remarks, remark))
    if not unsaved:
        return Result(found.outcomes, remarks=remarks)
    run, sequence = context.begin(prepared.sequence, "save", str(prepared.source.absolute()))
    outcomes = context.push(run, sequence, limit=unsaved, on_progress=on_progress)
    remark = f"saved {', '.join(unsaved)}: held what they must, but would have started with something else"
    return Result(found.complete(outcomes), context.journal.run(run.id), remarks=(*remarks, remark))


# --- drift ------------------------------------------------------------------------------------------------------------


def detect_drift(
    context: ApplyContext, prepared: PreparedChange, sequence: WaveSequence, found: Survey, options: ApplyOptions
) -> tuple[dict[str, tuple[Change, ...]], tuple[Finding, ...]]:
    """List by switch the cells that were changed by hand since the last run, from what it left to what runs.

    `sequence` are the waves to push. Of a rollout that is what stands in the way of its first wave; of a build, what
    differs from where the last run left each switch, if the build does not want it so itself; what that one kept is
    still by hand. A switch with nothing of tagloom on it was reset or replaced, and is set up like a new one. Also
    gives them as findings. Raises PlanError for a rollout from another state than that in which a run has left the
    fabric, unless it may be overwritten.
    """
    read = found.read
    if sequence.states:
        live = {switch.name for switch in prepared.fabric.live}
        by_switch = {name: sequence.drifted_cells(running, name, 1) for name, running in read.items() if name in live}
        left = _left(context, prepared, found) if any(by_switch.values()) and options.drift != "overwrite" else {}
        for name in left:
            by_hand = {(c.cell, c.port, c.vlan, c.mac) for c in difference(left[name], read[name])}
            ours = [c for c in by_switch[name] if (c.cell, c.port, c.vlan, c.mac) not in by_hand]
            if ours:
                raise PlanError(
                    "a rollout is applied where it starts from, and the last run has led the fabric elsewhere",
                    str(sequence.findings(name, ours)[0]),
                    f"tagloom apply {prepared.source / 'build'} orders the change anew, from what runs",
                    (f"apply {prepared.source / 'build'}",),
                )
    else:
        wanted = found.wanted
        by_switch = {
            name: drifted_cells(read[name], held, wanted[name])
            for name, held in _left(context, prepared, found).items()
        }
    by_switch = {name: found_here for name, found_here in by_switch.items() if found_here and name != options.readmit}
    return by_switch, tuple(f for name, changes in by_switch.items() for f in sequence.findings(name, changes))


def _left(context: ApplyContext, prepared: PreparedChange, found: Survey) -> FabricState:
    """Return where the last run left the switches, on top of what is others'; nothing where it did not end well."""
    last = next(
        (r for r in context.journal.runs(prepared.fabric.name) if r.wave and r.kind in {"apply", "rollback"}), None
    )
    if last is None or last.state != DONE:  # one that did not end left cells at either value
        return {}
    sequence = context.own_sequence(last)
    known = {row.switch for row in context.journal.switches(last.id) if row.state == SAVED}
    live = {switch.name for switch in prepared.fabric.live}
    folder = REQUESTED if (sequence.directory / REQUESTED).exists() else "configs"
    left: FabricState = {}
    for name, running in found.read.items():
        if name not in live or name not in sequence.ports or not running.owned_vlans:
            continue
        if sequence.states and folder != REQUESTED:
            left[name] = sequence.state_after(running, name, sequence.waves)
        elif sequence.states or name in known:
            left[name] = _overlay_build(sequence, running, name, folder)
    return left


def _overlay_build(sequence: WaveSequence, running: SwitchState, name: str, folder: str = "configs") -> SwitchState:
    """Lay a build's state over what a switch holds."""
    platform = platforms.of(sequence.fabric.switches[sequence.fabric.index[name]])
    texts = {name: (sequence.directory / folder / f"{name}.cfg").read_text("utf-8")}
    target = waves.states_of(sequence.fabric, texts)[name]
    return overlay(running, target, sequence.ports[name], switchwide(platform))


def _wanted(prepared: PreparedChange, read: FabricState) -> FabricState:
    """Lay a build's states over what was read."""
    sequence = prepared.sequence
    up = {switch.name for switch in sequence.fabric.live}
    return {name: _overlay_build(sequence, state, name) if name in up else state for name, state in read.items()}


def _keeping(prepared: PreparedChange, after: FabricState, drifted: Mapping[str, tuple[Change, ...]]) -> FabricState:
    """Put what was changed by hand into a target. Raises PlanError where it has no place there, or does not prove."""
    kept = dict(after)
    for name, changes in drifted.items():
        vlans = {*after[name].vlans.tolist(), *(c.vlan for c in changes if c.cell is Cell.VLAN and c.after)}
        homeless = [c for c in changes if (c.after if c.cell is Cell.PVID else c.vlan) not in {*vlans, 0}]
        if lasting := [c for c in homeless if c.after]:  # else the VLAN's end takes it along
            name_of = platforms.of(prepared.fabric.switches[prepared.fabric.index[name]]).port_name
            rule = "what was changed by hand is kept only in a VLAN that stays"
            raise PlanError(rule, str(cell_finding(name, lasting[0], name_of)), _OVERWRITE, (_OVERWRITE,))
        kept[name] = apply_changes(after[name], tuple(c for c in changes if c not in homeless))
    proof = verify(prepared.fabric.with_links_up(), kept, Plan(duplicates_allowed=prepared.proof.duplicates_allowed))
    if not proof.proven:
        raise PlanError(
            "what was changed by hand is kept only where the fabric proves with it",
            str(proof.findings[0]) if proof.findings else "pairs are cut off",
            _OVERWRITE,
            (_OVERWRITE,),
        )
    return kept


def _drift_remarks(options: ApplyOptions, findings: tuple[Finding, ...]) -> tuple[str, ...]:
    """Announce what becomes of each cell that was changed by hand."""
    verb = {"keep": "kept", "overwrite": "overwritten"}.get(options.drift, "")
    return tuple(f"changed by hand, {verb}: {finding}" for finding in findings)


# --- after a push -----------------------------------------------------------------------------------------------------


def _after(
    context: ApplyContext,
    run: Run,
    sequence: WaveSequence,
    outcomes: Outcomes,
    options: ApplyOptions,
    on_progress: Progress | None,
) -> Result:
    """Do what the operator wants where switches failed: stop there, go on without them, or take the wave back.

    Where nothing was sent yet, or one of them was asked to stop or holds what nobody sent it, it stops there.
    """
    run = context.journal.run(run.id)
    if drift := tuple(f for o in outcomes.outcomes if o.fault is Fault.DRIFT for f in o.findings):
        return Result(outcomes, run, drift=drift)
    broken = outcomes.failed_by(Fault.DEVICE, Fault.CONTROLLER, Fault.REFUSED)
    if not broken or broken != outcomes.failed or not run.proven or not run.wave:
        return Result(outcomes, run)
    if options.on_failure == "stop" or run.kind == "undo":
        return Result(outcomes, run)
    if options.on_failure == "finish":
        return _finish(context, run, sequence, outcomes, on_progress)
    return _undo(context, run, sequence, outcomes, on_progress)


def _finish(
    context: ApplyContext, run: Run, sequence: WaveSequence, outcomes: Outcomes, on_progress: Progress | None
) -> Result:
    """Send later waves to the other switches, as far as each is proven with the broken ones at any line of theirs.

    What a broken switch may still need stays where a wave would take it (`rollout.finish`). No wave is sent of which
    something stays that its own lines do not take: a resume would find it to be changed by hand.
    """
    number, broken = run.wave, outcomes.failed
    names = ", ".join(broken)
    behind = [o.switch for o in outcomes.outcomes if o.failed and o.number != number]
    if behind:  # while it was led on to where the others stand
        return Result(outcomes, run, remarks=(f"nothing is to be finished before {', '.join(behind)} has caught up",))
    ends: list[FabricState] = []
    why = ""
    if sequence.assumptions[number - 1].foreign:
        remark = f"nothing goes on before {names} has left the VLANs of others: they would loop"
        return Result(outcomes, run, remarks=(remark,))
    states = [{**sequence.left, **state} for state in sequence.states]
    parts = [sequence.part(wave) for wave in range(1, sequence.waves + 1)]
    try:
        for found in finish(parts, states, number, broken, sequence.assumptions):
            end = {name: found[name] for name in sequence.states[0]}
            wave = number + len(ends)
            if any(sequence.drifted_cells(state, name, wave) for name, state in end.items() if name not in broken):
                why = f"; wave {wave} waits for {names}: it would leave what wave {wave - 1} was to take"
                break
            ends.append(end)
    except PlanError as error:
        why = f"; wave {number + len(ends)} waits for {names}: {error.witness}"
    while len(ends) > 1 and ends[-1] == ends[-2]:
        ends.pop()
    if len(ends) > 1:
        last = number + len(ends) - 1
        files = {wave.number: wave.configs for wave in read_waves(sequence.directory)}
        proven = list(sequence.proven)
        for wave, end in enumerate(ends, start=number):
            texts = render(sequence.fabric, end, context.site.share / "templates")
            write_texts(files[wave], texts)
            proven[wave] = digest(texts, sequence.fabric.templates)
        sequence = replace(sequence, proven=tuple(proven))
        waves.save_first(sequence.directory, ())
        # It begins with the wave that failed: the others hold it, but have not waited for what was under way.
        more = context.push(run, sequence, first=number, last=last, whole=False, on_progress=on_progress)
        outcomes = _joined(outcomes, more)
        left = [n for n, state in ends[-1].items() if n not in broken and state != sequence.states[last][n]]
        why = (f"; left on {', '.join(left)} what {names} may still need" if left else "") + why
        why = f", up to wave {last} of {sequence.waves}{why}"
    context.journal.move(run.id, Move.FAIL, ", ".join(outcomes.failed))
    return Result(outcomes, context.journal.run(run.id), remarks=(f"finished what can be without {names}{why}",))


def _undo(
    context: ApplyContext, run: Run, sequence: WaveSequence, outcomes: Outcomes, on_progress: Progress | None
) -> Result:
    """Take the wave back on all switches that can be reached; those that cannot stand where they were last heard of."""
    number = run.wave
    found = _look(context, sequence, number)
    progress = waves.locate_switches(sequence, number, found)
    if progress.findings:
        return Result(outcomes, run, drift=progress.findings)
    last = {o.switch: o for o in outcomes.outcomes}
    unheard = [o.switch for o in progress.unread if o.switch not in last or not last[o.switch].number]
    if unheard:
        remark = f"wave {number} is not undone: nothing is known of {', '.join(unheard)}"
        return Result(outcomes, run, remarks=(remark,))
    lost = {}
    for name in (o.switch for o in progress.unread):
        at = last[name].number
        lost[name] = sequence.states[at - last[name].failed][name], sequence.states[at][name]
    whole = replace(progress, read={**progress.read, **{name: both[0] for name, both in lost.items()}})
    directory = context.site.directory("undo") / "back"
    try:
        way = waves.write_inverse(
            sequence, whole, number, directory, context.site.share / "templates", number - 1, lost
        )
    except PlanError as error:
        return Result(outcomes, run, remarks=(f"wave {number} is not undone: {error.witness}",))
    undo, way = context.begin(way, "undo", run.source, save=progress.unsaved, undoes=run)
    reached = [switch.name for switch in sequence.fabric.live if switch.name not in lost]
    back = context.push(undo, way, limit=reached, on_progress=on_progress)
    remark = (
        f"wave {number} was undone on {number_of(len(back.changed), 'switch')}"
        if back.good
        else f"undoing wave {number} failed"
    )
    remark += f"; {', '.join(lost)} could not be reached" if lost else ""
    together = (*outcomes.outcomes, *(o for o in back.outcomes if o.failed))
    return Result(replace(outcomes, outcomes=together), context.journal.run(run.id), remarks=(remark,))


# --- resume and rollback ----------------------------------------------------------------------------------------------


def _look(context: ApplyContext, sequence: WaveSequence, wave: int, on_progress: Progress | None = None) -> Survey:
    """Read every switch, and whether it would start with what it holds, before a run is led on or back."""
    waves.save_first(sequence.directory, ())
    return look(context, sequence, max(1, wave), on_progress)


def interrupted(context: ApplyContext) -> Run:
    """Return the run to resume. Raises InputError where there is none."""
    run = context.journal.unfinished()
    if run is None:
        raise InputError([Finding("--resume", "a run that was interrupted", "none in the journal")])
    return run


def resume(
    context: ApplyContext,
    run: Run,
    options: ApplyOptions,
    on_progress: Progress | None = None,
    *,
    check: bool = False,
    on_found: Callable[[Survey], None] = lambda _found: None,
) -> Result:
    """Go on with a run from where its switches stand, every line on the way proven anew from what was read.

    With `check`, only say where they stand and what would be sent. What a run has left over of the operator's own lines
    is sent after it. `on_found` hears what was read.
    """
    if check:
        return _with_own_lines(_resume(context, run, options, on_progress, on_found, check=True))
    result = _resume(context, run, options, on_progress, on_found)
    if run.kind != "apply" or not result.good or not own_lines.own_lines_of(context.own_sequence(run)):
        return result
    sequence = context.own_sequence(run).build
    names = [switch.name for switch in sequence.fabric.live]
    return _send_own_lines(context, sequence, run.source, names, result, _unshown)


def _resume(
    context: ApplyContext,
    run: Run,
    options: ApplyOptions,
    on_progress: Progress | None,
    on_found: Callable[[Survey], None],
    *,
    check: bool = False,
) -> Result:
    sequence = context.own_sequence(run)
    if not check:
        context.call_off_reloads(sequence)
    if not sequence.states:  # nothing was proven of the way: where it stands does not matter
        found = look(context, sequence, 1, on_progress)
        on_found(found)
        cut = _interrupted(sequence, found, found.wanted)
        allowed = _consented(cut, options) or (sequence.directory / waves.ALLOWED).exists()
        refused = run.kind != own_lines.KIND and not allowed
        if check:
            return Result(found.outcomes, run, interrupted=cut, refused=refused)
        if refused:
            return Result(found.unsent(), run, interrupted=cut, refused=True)
        _announce(context, sequence, cut)
        outcomes = context.push(run, sequence, on_progress=on_progress)
        return Result(outcomes, context.journal.run(run.id), interrupted=cut)
    found = _look(context, sequence, run.wave, on_progress)
    on_found(found)
    progress = waves.locate_switches(sequence, run.wave, found)
    if progress.findings or progress.unread or found.outcomes.failed_by(Fault.REFUSED):
        return Result(found.unsent(), run, drift=progress.findings)
    pushes = waves.plan_onward(sequence, progress, run.wave)
    pausing = any(sequence.paused[max(0, run.wave - 1) :])
    end = waves.overlay_wave(sequence, progress.read, sequence.waves)
    cut = _interrupted_by(sequence, progress.read, end, waves.downtime(sequence.directory) if pausing else 0.0)
    if check:
        said = [f"{', '.join(names)} would catch up in wave {number}" for number, _, names in pushes if names]
        said.append(f"all would go on from wave {pushes[-1][0]} of {sequence.waves}, every line proven from here")
        led = found.retarget(sequence.fabric, end, context.site.share / "templates")
        led = replace(led, waves=sequence.waves - pushes[0][0] + 1)
        return Result(led, run, remarks=tuple(said), interrupted=cut)
    gathered: Outcomes | None = None
    unsaved = progress.unsaved
    if pausing:  # which was allowed when the run began
        _announce(context, sequence, cut)
    for number, last, switches in pushes:
        waves.save_first(sequence.directory, unsaved)
        unsaved = ()
        outcomes = context.push(run, sequence, first=number, last=last, limit=switches, on_progress=on_progress)
        gathered = outcomes if gathered is None else _joined(gathered, outcomes)
        if not outcomes.good:
            break
    assert gathered is not None  # noqa: S101 - there is at least the push of the last wave
    return replace(_after(context, run, sequence, found.complete(gathered), options, on_progress), interrupted=cut)


def _back_in_one_go(context: ApplyContext, run: Run) -> tuple[str, tuple[str, ...]]:
    """Return what leads back from a run that set a fabric up in one go, as text and as advice.

    Spanning tree does where a way from the factory's state could be proven, too: not by switches that pass BPDUs on.
    """
    fabric = context.own_sequence(run).fabric
    if leads_from(fabric, {switch.name: factory_state(platforms.of(switch)) for switch in fabric.live}):
        place = applied_place(context.journal, run, context.site.home)
        over = f"tagloom rollout --to spanning-tree {place} -o back, then tagloom apply back --allow drain"
        return f"{over}; or tagloom apply of a former build", ("rollout --to spanning-tree BUILD", "apply BUILD")
    before = (r for r in context.journal.runs() if r.id < run.id and r.kind == "apply" and r.state == DONE and r.wave)
    if (former := next(before, None)) is None:
        kept = f"what each switch held is in {context.site.home}/{run.name}-*/backups"
        return f"by hand: no build was applied before, and {kept}", ()
    place = applied_place(context.journal, former, context.site.home)
    return f"tagloom apply {place} --allow interrupt, which cuts pairs off", (AT_ONCE,)


def rollback(
    context: ApplyContext,
    source: Path | None,
    options: ApplyOptions,
    on_progress: Progress | None = None,
    *,
    check: bool = False,
) -> Result:
    """Undo the last rollout, finished or not, by the inverse of its waves, each proven from what was read.

    An interrupted rollback is gone on with. With `check`, only say what would be sent. Raises InputError where
    `source` is not what was applied last, PlanError where there is nothing that a proven way leads back from.
    """
    if not check:
        own_lines.give_up(context)
    while (run := context.journal.unfinished()) is not None and run.kind not in {"apply", own_lines.KIND}:
        result = resume(context, run, options, on_progress, check=check)
        if check or not result.good or run.kind == "rollback":
            return result
    if run is None or run.kind == own_lines.KIND:
        done = (r for r in context.journal.runs() if r.state == DONE and r.kind == "apply")
        run = next(done, None)
    if run is None:
        raise PlanError("there is something to undo", "the journal has no run that was not undone yet", "")
    if source is not None and str(source.absolute()) != run.source:
        raise InputError([Finding("rollback", f"{run.source}, which was applied last", str(source))])
    if not run.proven:
        rule = "every state on the way back must be proven"
        witness = f"run {run.name} set {run.fabric} up in one go, from a state that did not prove"
        raise PlanError(rule, witness, *_back_in_one_go(context, run))
    if source is None and not run.unfinished:
        own_lines.refuse_for_alone(context, run)
    left = own_lines.left_behind(context, run)
    sequence = context.own_sequence(run)
    wave = run.wave if run.unfinished else sequence.waves
    if not check:
        context.call_off_reloads(sequence)
    found = _look(context, sequence, wave, on_progress)
    progress = waves.locate_switches(sequence, wave, found)
    if progress.findings or progress.unread or found.outcomes.failed_by(Fault.REFUSED):
        return Result(found.unsent(), run, drift=progress.findings)
    if run.unfinished and not progress.unsaved and sequence.holds(progress.read, 0):  # cut short before its first line
        if not check:
            context.journal.move(run.id, Move.UNDO)
        remark = "no line had reached a switch: all hold what they held before the run"
        return Result(found.unchanged().outcomes, context.journal.run(run.id), remarks=(remark,))
    directory = context.site.directory("rollback") / "back"
    way = waves.write_inverse(sequence, progress, wave, directory, context.site.share / "templates")
    between, seconds = _between(way, progress.read)
    cut = _interrupted_by(way, progress.read, way.states[-1], waves.downtime(directory), between, seconds)
    left = (*left, *_counted_dead(sequence.fabric, cut))
    if check:
        led = found.retarget(sequence.fabric, way.states[-1], context.site.share / "templates")
        remarks = ("each state on the way back is proven from what was read", *left)
        refused = not _consented(cut, options)
        return Result(replace(led, waves=way.waves), run, remarks=remarks, interrupted=cut, refused=refused)
    if not _consented(cut, options):
        return Result(found.unsent(), run, remarks=left, interrupted=cut, refused=True)
    _announce(context, way, cut)
    back, own = context.begin(way, "rollback", run.source, save=progress.unsaved, undoes=run)
    outcomes = context.push(back, own, on_progress=on_progress)
    result = _after(context, back, own, found.complete(outcomes), options, on_progress)
    return replace(result, remarks=(*result.remarks, *left), interrupted=cut)


def _joined(first: Outcomes, then: Outcomes) -> Outcomes:
    return replace(then, outcomes=(*first.outcomes, *then.outcomes), seconds=first.seconds + then.seconds)


def _counted_dead(fabric: Fabric, cut: Interrupted) -> tuple[str, ...]:
    """Return what to do instead where a cable that is dead in what runs, and may be mended, cuts pairs off for good."""
    dead = [link_name(fabric, i) for i, link in enumerate(fabric.links) if link.dead]
    if not dead or cut.seconds_max < math.inf:
        return ()
    return (f"still counted as dead: {', '.join(dead)}; where that is mended, tagloom repair leads paths home",)
