"""Answer the commands that change switches: apply, rollback, abort."""

from __future__ import annotations

import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagloom.cli.confirming import Keyboard, add_confirm_option, until_confirmed, wrong_confirmation
from tagloom.cli.inputs import (
    LAB,
    Findings,
    add_window_option,
    counting,
    folder_of,
    inventory_of,
    inventory_words,
    network_of,
    seconds_of,
    sees_up_of,
    site_of,
    windows_of,
)
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.vault import add_vault_words
from tagloom.cli.watching import start_watchdog
from tagloom.cli.words import Commands, Parser
from tagloom.errors import Finding, InputError, PlanError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tagloom.apply.journal import Run
    from tagloom.apply.outcomes import Outcome, Outcomes
    from tagloom.apply.playbook import Ansible
    from tagloom.apply.site import Site
    from tagloom.operate.apply import ApplyOptions
    from tagloom.operate.prepare import PreparedChange
    from tagloom.operate.waves import Survey
    from tagloom.read.windows import MaintenanceWindows
    from tagloom.records.fabric import Fabric


ABORT_POLL_SECONDS = 0.2
SUMMARY, FULL = "summary", "full"  # of --diff
# The commands that send lines to switches, or answer for one that does: their JSON page has `pending`.
PUSHING = frozenset({"apply", "rollback", "abort", "confirm", "repair", "replace", "bootstrap", "run"})


def _apply(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.apply.build import read_waves
    from tagloom.apply.playbook import Ansible

    if args.resume:
        return _resume(args, screen)
    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    windows = wrong.of(lambda: windows_of(args, site)) if site is not None else None
    if args.build is None:
        wrong.findings.append(Finding("apply", "a build or a rollout, or --resume", "neither"))
    else:
        wrong.of(lambda: read_waves(args.build))
        if (args.build / "rollout.json").exists() and args.limit:
            rule = "a build: the waves of a rollout need all their switches"
            wrong.findings.append(Finding("--limit", rule, str(args.build)))
        if (args.build / "rollout.json").exists() and (args.without or args.readmit):
            rule = f"a build, such as {args.build}/build: the waves of a rollout need all their switches"
            wrong.findings.append(Finding("--without and --readmit", rule, str(args.build)))
        wrong.findings += wrong_confirmation(args)
        if (args.build / "rollout.json").exists() and args.foreign != "refuse":
            rule = "a build: the waves of a rollout are what they are, and rollout has this option too"
            wrong.findings.append(Finding("--foreign", rule, str(args.build)))
    wrong.end()
    closed = closed_now(args, windows)
    with until_confirmed(args, screen), Ansible(site, args.limit) as ansible:
        ansible.start()
        return prove_and_apply(args, screen, ansible, closed=closed)


def closed_now(args: argparse.Namespace, windows: MaintenanceWindows | None) -> PlanError | None:
    """Refuse a push outside the maintenance windows; a check returns the refusal."""
    return None if windows is None else _refusal(args, lambda: windows.refuse_outside(time.time()))


def _refusal(args: argparse.Namespace, refuse: Callable[[], None]) -> PlanError | None:
    """Call what may refuse a push; a check returns the refusal, to show it with the preview. Raises PlanError."""
    try:
        refuse()
    except PlanError as error:
        if not args.check:
            raise
        return error
    return None


def _settled(context: Any, result: Any, args: argparse.Namespace) -> Any:
    """Return what became of an apply once it was confirmed or taken back, where it waits for that."""
    from tagloom.operate import confirming, watchdog

    if args.check:
        return result
    keyboard = Keyboard()
    words = _next_words(args, "confirm") + (", or yes here" if keyboard.is_open else "")
    result = confirming.settle(context, result, _options(args), keyboard, words)
    watchdog.dismiss(context.site.home)
    return result


def prove_and_apply(
    args: argparse.Namespace,
    screen: Screen,
    ansible: Ansible,
    more: Mapping[str, Any] | None = None,
    closed: PlanError | None = None,
) -> int:
    """Prove a build or a rollout, apply it and answer, with `more` of a command that does so at its end.

    `closed` is why the push would be refused of which this is the preview, whatever it finds.
    """
    from tagloom.operate import prepare
    from tagloom.report import terminal

    with ExitStack() as stack:
        with screen.waiting("proving what would be pushed"):
            prepared = stack.enter_context(prepare.prepared_copy(args.build, ansible.site, _without(args)))
            _check_readmitted(args.readmit, prepared)
        if prepared.proof.proven:
            return _apply_proven(args, screen, ansible, prepared, more or {}, closed)
        screen.say(
            *terminal.proof_lines(prepared.proof, len(prepared.fabric.hosts)),
            "refused: nothing goes to a switch that was not proven",
        )
        screen.answer({**pushed_payload(), **prepared.proof.to_json(), **(more or {})})
        return NO


def _apply_proven(
    args: argparse.Namespace,
    screen: Screen,
    ansible: Ansible,
    prepared: PreparedChange,
    more: Mapping[str, Any],
    closed: PlanError | None,
) -> int:
    from tagloom.operate import apply as operation

    options = _options(args)
    names = [switch.name for switch in prepared.fabric.live]
    wanted = [n for n in names if not args.limit or n in args.limit.replace(":", ",").split(",")]

    @contextmanager
    def phase(what: str, waves: int) -> Iterator[Callable[[Outcome], None]]:
        with screen.progress(what) as note:
            yield counting(note, len(wanted) * waves)

    def show(found: Survey) -> None:
        if (args.check and not args.drift) or (args.diff and not args.check):
            _show(found.outcomes, screen, args, prepared.fabric)

    with context_of(args, screen, ansible) as context:
        name = prepared.fabric.name
        older = closed or _refusal(
            args, lambda: operation.refuse_unfinished(context, name, options, lambda what: _next_words(args, what))
        )
        try:
            result = operation.look_and_apply(context, prepared, options, check=args.check, on_found=show, phase=phase)
        except PlanError:
            if older is None:
                raise
            raise older from None  # which the command itself would meet first
        result = _settled(context, result, args)
        if args.check and args.drift:  # which may lead elsewhere than what was surveyed
            _show(result.outcomes, screen, args, prepared.fabric)
        return _show_result(result, screen, args, context, checked=args.check, more=more, older=older)


def _options(args: argparse.Namespace) -> ApplyOptions:
    from tagloom.operate.apply import ApplyOptions

    allowed = args.allow or []
    drift = getattr(args, "drift", "")
    readmitted = getattr(args, "readmit", "")
    return ApplyOptions(
        args.on_failure,
        drift,
        "drain" in allowed,
        "interrupt" in allowed,
        readmitted,
        bool(_without(args)),
        getattr(args, "foreign", "refuse"),
        seconds_of(args.confirm, "--confirm") if getattr(args, "confirm", "") else 0.0,
    )


def _without(args: argparse.Namespace) -> list[str]:
    """List the switches that the operator calls dead."""
    return [name for words in getattr(args, "without", None) or [] for name in words.split(",") if name]


def _check_readmitted(name: str, prepared: PreparedChange) -> None:
    if name and name not in [switch.name for switch in prepared.fabric.live]:
        raise InputError([Finding("--readmit", "a switch of the build that is up", name)])


def _resume(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.operate import apply as operation
    from tagloom.operate import confirming

    wrong = Findings()
    site = wrong.of(lambda: site_of(args))
    said = {"--allow drain": "drain" in (args.allow or []), "--drift": args.drift, "--limit": args.limit}
    actual = "a run goes on as it was begun"
    wrong.findings += [Finding(name, "nothing beside --resume", actual) for name, value in said.items() if value]
    wrong.findings += wrong_confirmation(args)
    wrong.end()
    with until_confirmed(args, screen), context_at(args, screen, site) as context:
        left = confirming.left_waiting(context)
        if left is not None and left.run is not None and not args.check:
            confirming.protect(context, left.run)
            return _show_result(_settled(context, left, args), screen, args, context)
        run = operation.interrupted(context)
        if args.confirm and not args.check:
            confirming.arm(context, run, _options(args).confirm_seconds)
        if args.build is not None and str(args.build.absolute()) != run.source:
            raise InputError([Finding("--resume", f"{run.source}, which was interrupted", str(args.build))])
        protection = {} if args.check else confirming.protect(context, run)
        screen.remark(f"resuming  {run.kind} {run.name} of {run.source}, in wave {run.wave} of {run.waves}")
        with screen.progress("switches read" if args.check else "pushes") as note:
            result = operation.resume(context, run, _options(args), counting(note, None), check=args.check)
        result = replace(result, protection=protection)
        result = _settled(context, result, args)
        if args.check or args.diff:
            _show(result.outcomes, screen, args, context.own_sequence(run).fabric)
        return _show_result(result, screen, args, context, checked=args.check)


def _rollback(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.operate import apply as operation

    options = _options(args)
    with context_at(args, screen, site_of(args)) as context:
        with screen.progress("switches read" if args.check else "pushes") as note:
            result = operation.rollback(context, args.build, options, counting(note, None), check=args.check)
        if (args.check or args.diff) and result.run is not None:
            _show(result.outcomes, screen, args, context.own_sequence(result.run).fabric)
        return _show_result(result, screen, args, context, checked=args.check)


def _abort(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.apply import abort
    from tagloom.report import terminal

    home = abort.home_of(inventory_of(args))
    requested = abort.ask_to_stop(home, now=args.now)
    if requested is not None:
        screen.remark(
            f"asked     {requested}", f"waiting   for {'its next line' if args.now else 'the end of its wave'}"
        )
        with screen.waiting("waiting for it to stop"):
            while abort.at_work(home):
                time.sleep(ABORT_POLL_SECONDS)
    payload = abort.standing_payload(home, requested)
    payload["resume_with"] = _next_words(args, "apply --resume") if payload["unfinished"] else ""
    payload["pending"] = payload["unfinished"]
    if requested is None:
        screen.say("abort     no command works on these switches; nothing to stop")
    screen.say(*terminal.row("stands", payload["stands"]))
    if payload["unfinished"]:
        screen.say(f"next      {payload['resume_with']}", f"          or {_next_words(args, 'rollback')}")
    screen.answer(payload)
    return GOOD


@contextmanager
def context_at(args: argparse.Namespace, screen: Screen, site: Site) -> Iterator[Any]:
    """Take the fabric's lock and open its journal, with an Ansible that starts when it is needed."""
    from tagloom.apply.playbook import Ansible

    with Ansible(site) as ansible, context_of(args, screen, ansible) as context:
        yield context


@contextmanager
def context_of(args: argparse.Namespace, screen: Screen, ansible: Ansible) -> Iterator[Any]:
    """Take the fabric's lock and open its journal, for one command at a time."""
    from tagloom.operate.waves import open_context

    what = getattr(args, "build", None) or getattr(args, "timetable", None)
    words = " ".join(["tagloom", args.command, *([str(what)] if what else [])])
    inventory = ansible.site.inventory
    network, sees_up, watch = network_of(inventory), sees_up_of(inventory), partial(start_watchdog, args)
    with open_context(ansible, words, screen.remark, network, sees_up=sees_up, watch=watch) as context:
        yield context


def _show(outcomes: Outcomes, screen: Screen, args: argparse.Namespace, fabric: Fabric) -> None:
    """Print what changes on each switch: a summary by kind, all switches wave by wave with -v, texts if asked for."""
    from tagloom.cli.changes import each_wave, whole_change
    from tagloom.report.change_summary import summary_lines
    from tagloom.report.terminal import row

    whole_text = args.diff == FULL or (args.diff and screen.verbose)
    if not (whole_text or screen.verbose):
        screen.say(*summary_lines(whole_change(fabric, outcomes)))
        return
    shown = 0
    for outcome, change in each_wave(fabric, outcomes):
        if outcomes.outcomes[0].number < outcomes.outcomes[-1].number and outcome.number > shown:
            shown = outcome.number
            screen.say(*row(f"wave {shown}", outcome.wave))
        screen.say(*change.lines(), *(outcome.diff.splitlines() if whole_text else ()))


def _show_result(
    result: Any,
    screen: Screen,
    args: argparse.Namespace,
    context: Any,
    *,
    checked: bool = False,
    more: Mapping[str, Any] | None = None,
    older: PlanError | None = None,
) -> int:
    """Return what became of every switch, where the fabric stands, and what to type next.

    `older` is why the push would be refused of which this is the preview: the hour, or a run that needs an answer.
    """
    from tagloom.apply.confirmations import WAITING
    from tagloom.operate.clock_document import failover_of, read_clock
    from tagloom.report import terminal
    from tagloom.report.status import confirmation_words

    outcomes = result.outcomes
    unfinished = context.journal.unfinished()
    resume = _next_words(args, "apply --resume") if unfinished and not checked else ""
    again = _again(args, result)
    _say_result(result, screen, args, checked=checked)
    if result.drift:
        _say_past_drift(result, screen, args)
    elif older is not None:
        screen.say(*terminal.row("refused", older.rule), *terminal.row("", older.witness))
        screen.say(*terminal.row("next", older.next_step))
    elif result.refused or (checked and outcomes.changed):
        screen.say(*terminal.row("next", again))
    elif resume:
        screen.say(f"next      {resume}", f"          or {_next_words(args, 'rollback')}")
    payload = {
        **result.to_json(checked=checked),
        "resume_with": resume,
        "next": "",
        "advice": _advice(args, result, resume),
        "failover": failover_of(read_clock(context.site.home)),
    }
    silent = _silent(result)
    if silent and len(silent) == len({o.switch for o in outcomes.outcomes}):
        payload["next"] = _where_none_answers(args)
        screen.say(*terminal.row("next", f"no switch answers: {payload['next']}"))
    elif dead := _where_dead(args, result, silent):
        screen.say(*terminal.row("", f"where {', '.join(silent)} is dead: {dead}"))
        payload["next"] = dead
    if result.confirmation is not None:
        screen.say(*terminal.row("confirm", confirmation_words(payload["confirmation"], time.time())))
        if result.confirmation.state == WAITING:
            payload["next"] = _next_words(args, "confirm")
            screen.say(*terminal.row("next", payload["next"]))
    if result.refused:
        payload |= {"refused": result.interrupted.rule, "witness": result.interrupted.witness, "next": again}
    if older is not None:
        payload |= older.to_json()
    screen.answer({**payload, **(more or {})})
    return NO if older is not None else _status_of(result)


def _say_result(result: Any, screen: Screen, args: argparse.Namespace, *, checked: bool) -> None:
    """Print the outcomes, the drift, what the change interrupts, and the way it takes."""
    from tagloom.apply.outcomes import Fault
    from tagloom.report import terminal

    outcomes, drifted = result.outcomes, bool(result.drift)
    waves = max(outcomes.waves, 1)
    shown = replace(outcomes, outcomes=tuple(o for o in outcomes.outcomes if o.fault is not Fault.DRIFT))
    verb = "resume" if getattr(args, "resume", False) else args.command
    nothing = not checked and (result.refused or (drifted and not outcomes.changed))
    screen.say(*terminal.outcome_lines(shown, checked=checked, waves=waves, verb=verb, nothing_sent=nothing))
    screen.say(*(line for remark in result.remarks for line in terminal.row("remark", remark)))
    if drifted:
        screen.say(*terminal.drift_lines(result.drift))
    screen.say(*terminal.interrupted_lines(result.interrupted, checked=checked, refused=result.refused))
    if result.way is not None and (checked or result.refused):
        screen.say(*terminal.way_lines(result.way))
    screen.say(*_protection_lines(result, checked=checked))
    if result.run is not None and not result.good:
        screen.say(*terminal.row("stands", result.run.standing))


def _say_past_drift(result: Any, screen: Screen, args: argparse.Namespace) -> None:
    """Print how to continue where switches were changed manually."""
    from tagloom.report import terminal

    screen.say(*_over_drift(args, result.run))
    drifting = {finding.where.partition(":")[0] for finding in result.drift}
    if result.run is None and len(drifting) == 1 and not (args.build / "rollout.json").exists():
        back = _next_words(args, f"apply {args.build} --readmit {drifting.pop()}")
        screen.say(*terminal.row("", f"or, where it came back with an old configuration: {back}"))


def _status_of(result: Any) -> int:
    """Return the exit status of a push, or of its preview."""
    from tagloom.apply.confirmations import CONFIRMED
    from tagloom.apply.outcomes import Fault

    outcomes = result.outcomes
    if result.drift:
        return NO
    if outcomes.failed_by(*set(Fault) - {Fault.NONE, Fault.STOPPED}) or outcomes.error:
        return DEVICE_FAILED
    if result.refused:
        return NO
    unconfirmed = result.confirmation is not None and result.confirmation.state != CONFIRMED
    return NO if outcomes.stopped or outcomes.failed or unconfirmed else GOOD


def _protection_lines(result: Any, *, checked: bool) -> list[str]:
    """Return what protects each switch, for a check; else it was printed before the first line."""
    from tagloom.operate.protection import protection_sentences
    from tagloom.report import terminal

    said = protection_sentences(result.protection) if checked else ()
    labels = ("protect", *[""] * len(said))
    return [line for label, sentence in zip(labels, said, strict=False) for line in terminal.row(label, sentence)]


def _silent(result: Any) -> list[str]:
    """Return the switches that did not answer."""
    from tagloom.apply.outcomes import Fault

    outcomes = result.outcomes.outcomes
    return sorted({o.switch for o in outcomes if o.fault is Fault.DEVICE and not o.read and not o.sent})


def _where_none_answers(args: argparse.Namespace) -> str:
    """Return what to do where no switch answers: start the lab, or look at the way to the switches."""
    home = folder_of(inventory_of(args))
    if (home / "rack.log").exists() and not (home / "rack.json").exists():
        return f"tagloom lab up {home / 'fabric.yml'} (the lab is down)"
    return "check the network between this computer and the switches, and their addresses in the inventory"


def _where_dead(args: argparse.Namespace, result: Any, silent: Sequence[str]) -> str:
    """Return the command that goes on without the switches that did not answer, "" where there is none."""
    source = source_of(args, result.run) if result.run is not None else args.build
    if not silent or source is None:
        return ""
    source = source / "build" if (source / "rollout.json").exists() else source
    words = [f"apply {source}", *_parts(args), *(f"--without {name}" for name in silent)]
    over = " --drift overwrite" if result.run is not None and result.run.unfinished else ""
    return _next_words(args, " ".join(words)) + over


def source_of(args: argparse.Namespace, run: Run) -> Path:
    """Return what a run brings to the switches: the directory that was named, or the run's own copy if that is gone."""
    from tagloom.apply.abort import home_of
    from tagloom.operate.running import own_copy

    source = Path(run.source)
    return source if source.exists() or run.kind != "apply" else own_copy(run, home_of(inventory_of(args)))


def _parts(args: argparse.Namespace) -> list[str]:
    """Return the words that say which switches are dead or readmitted, and what is done about VLANs of others."""
    words = [f"--without {name}" for name in getattr(args, "without", None) or []]
    words += [f"--readmit {args.readmit}"] if getattr(args, "readmit", "") else []
    return words + (["--foreign prune"] if getattr(args, "foreign", "") == "prune" else [])


def _again(args: argparse.Namespace, result: Any) -> str:
    """Return the command that does what was looked at or refused, with all that it needs to be allowed."""
    words = [
        args.command,
        *(["--resume"] if getattr(args, "resume", False) else [str(args.build)] if args.build else []),
        *([f"--confirm {args.confirm}"] if getattr(args, "confirm", "") else []),
    ]
    allowed = dict.fromkeys(args.allow or [])
    if not result.interrupted.hitless and "interrupt" not in allowed:
        allowed[result.interrupted.needs] = None
    words = [
        _next_words(args, " ".join([*words, *_parts(args)])),
        *(["--drift", args.drift] if getattr(args, "drift", "") else []),
    ]
    return " ".join([*words, *(f"--allow {each}" for each in allowed)])


def _over_drift(args: argparse.Namespace, run: Any) -> list[str]:
    """Return how to go on past what was changed by hand."""
    source = source_of(args, run) if run else args.build
    past = f"{_next_words(args, f'apply {source}')} --drift overwrite (or keep)"
    if run is None:
        return [f"next      {past}"]
    again = _next_words(args, "rollback" if args.command == "rollback" else "apply --resume")
    lines = ["next      set these back by hand to what was expected, then", f"          {again}"]
    return lines if not run.unfinished else [*lines, f"          or {past}"]


def _advice(args: argparse.Namespace, result: Any, resume: str) -> list[str]:
    """Return the options or commands any one of which leads on from a result, none where only hands do."""
    if result.drift and result.run is None:
        return [f"--drift {each}" for each in ("overwrite", "keep")]
    if result.drift:
        source = source_of(args, result.run) if result.run.unfinished else ""
        return [f"apply {source} --drift {each}" for each in ("overwrite", "keep") if source]
    if result.refused:
        return [f"--allow {result.interrupted.needs}"]
    return ["apply --resume", "rollback"] if resume and not result.good else []


def _next_words(args: argparse.Namespace, what: str) -> str:
    return f"tagloom {what}{inventory_words(args)}"


def pushed_payload() -> dict[str, Any]:
    """Return the JSON page of a push that did not come to send anything."""
    from tagloom.records.interrupted import Interrupted

    nothing = {"changed": [], "unchanged": [], "failed": [], "seconds": 0.0, "pending": False}
    return nothing | Interrupted().to_json()


def add_diff_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that shows changes: a summary by kind, or whole texts."""
    about = "summarize by kind what changes on each switch; with -v, show all lines"
    parser.add_argument("--diff", dest="diff", action="store_const", const=SUMMARY, default="", help=about)
    about = "show each switch's change as a diff of its configuration"
    parser.add_argument("--diff=full", dest="diff", action="store_const", const=FULL, default="", help=about)


def add(commands: Commands) -> None:
    """Add these commands to the parser."""
    site = Parser(add_help=False)
    site.add_argument(
        "-i", "--inventory", type=Path, metavar="INVENTORY", help=f"Ansible inventory (default {LAB}, where a lab runs)"
    )
    add_vault_words(site)
    failing = Parser(add_help=False)
    failing.add_argument(
        "--on-failure",
        choices=["stop", "finish", "undo"],
        default="stop",
        help="when a switch fails: stop after its wave (default), finish "
        "what can be proven without it, or undo the wave",
    )
    looking = Parser(add_help=False)
    looking.add_argument(
        "--check", action="store_true", help="read every switch and show what would change; send nothing"
    )
    add_diff_option(looking)
    looking.add_argument(
        "--allow",
        action="append",
        choices=["drain", "interrupt"],
        help="drain: the rollout may pause hosts; interrupt: the change may cut off pairs of hosts for a moment, as "
        "--check announces; a first push then goes to all switches at the same time",
    )
    apply = commands.add(
        "apply", _apply, "push a build or a rollout with ansible-playbook through netmiko", site, looking, failing
    )
    apply.add_argument(
        "build",
        type=Path,
        nargs="?",
        metavar="BUILD-or-ROLLOUT",
        help="directory made by tagloom plan or tagloom rollout",
    )
    apply.add_argument(
        "--limit", default="", metavar="S", help="with a build: only these switches, separated by commas"
    )
    apply.add_argument(
        "--without",
        action="append",
        metavar="SWITCH",
        help="with a build: do not contact this switch, which is dead; move the others to the build, hitless",
    )
    apply.add_argument(
        "--readmit",
        default="",
        metavar="SWITCH",
        help="with a build: take back a switch that returned with an old configuration: isolate it, configure it, then "
        "reconnect it",
    )
    apply.add_argument(
        "--foreign",
        choices=["refuse", "prune"],
        default="refuse",
        help="with a build: foreign VLANs that would loop once spanning tree is off: refuse (default), or first prune "
        "them to a tree, as --check shows",
    )
    apply.add_argument("--resume", action="store_true", help="continue the interrupted run")
    add_confirm_option(apply)
    add_window_option(apply)
    apply.add_argument(
        "--drift",
        choices=["keep", "overwrite"],
        default="",
        help="changes made by hand since the last run: keep them where the whole can be proven with them, or overwrite "
        "them (default: show them and refuse)",
    )

    rollback = commands.add(
        "rollback", _rollback, "undo the last rollout by the inverse of its waves, each proven", site, looking, failing
    )
    rollback.add_argument("build", type=Path, nargs="?", metavar="BUILD", help="the build applied last, as a safeguard")

    abort = commands.add("abort", _abort, "stop the running apply, and show the state it leaves", site)
    abort.add_argument("--now", action="store_true", help="stop before the next line, not at the end of the wave")
