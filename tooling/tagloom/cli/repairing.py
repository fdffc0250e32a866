"""Answer tagloom repair: find what is dead, and lead the pairs that it cut off over what is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.cli.applying import context_at
from tagloom.cli.inputs import Findings, inventory_words, seconds_of, site_of, snmp_reader, snmp_settings_of
from tagloom.cli.screen import DEVICE_FAILED, GOOD, NO, Screen
from tagloom.cli.words import Commands, snmp_words

if TYPE_CHECKING:
    import argparse

    from tagloom.operate.repair import Repair
    from tagloom.records.fabric import Fabric
    from tagloom.records.observation import Observation

HOLD = "5m"


def _repair(args: argparse.Namespace, screen: Screen) -> int:
    from tagloom.observe import CARRIER, observe_all
    from tagloom.operate import repair as operation
    from tagloom.operate.one_way_links import OneWayLinks
    from tagloom.operate.running import applied_place
    from tagloom.read import fabric_of
    from tagloom.report import terminal
    from tagloom.report.repair import repair_lines

    wrong = Findings()
    hold = wrong.of(lambda: seconds_of(args.hold, "--hold", least=0.0), 0.0)
    site = wrong.of(lambda: site_of(args))
    fabric = wrong.of(lambda: fabric_of(site.inventory)) if site is not None else None
    settings = wrong.of(lambda: snmp_settings_of(args, site.inventory)) if site is not None else None
    wrong.end()
    assert fabric is not None and settings is not None  # noqa: S101, PT018 - else there are findings
    agents = settings.agents(fabric)
    with snmp_reader(args, settings) as snmp, context_at(args, screen, site) as context:

        def poll(every: Fabric) -> dict[str, Observation]:
            return observe_all(every, agents, snmp.ask, CARRIER)

        options = operation.RepairOptions(args.propose, hold, args.allow == "interrupt")
        done = operation.repair(context, fabric, OneWayLinks(site.home, screen.remark).looking(poll), options)
        unfinished, last = context.journal.unfinished(fabric.name), context.journal.applied()
        runs = applied_place(context.journal, last, site.home) if last is not None else None
    again = f"tagloom repair{inventory_words(args)}" + (f" --hold {args.hold}" if args.hold != HOLD else "")
    result = done.result
    refused = result is not None and result.refused
    drifted = result is not None and bool(result.drift)
    stays = (
        done.pairs_left > 0 and not done.means and args.allow != "interrupt"
    )  # whatever is to be done interrupts pairs
    if refused or stays:
        again += " --allow interrupt"
    elif unfinished is not None and not done.proposed:
        again = f"tagloom apply --resume{inventory_words(args)}"
    advice = ["--allow interrupt"] if refused or stays else []
    if drifted and runs is not None:
        again = f"tagloom apply {runs}{inventory_words(args)} --drift overwrite, then {again}"
        advice = ["apply BUILD --drift overwrite"]
    to_do = done.pairs_left > 0 or refused or drifted or (done.proposed and done.means)
    payload = {**done.to_json(), "next": again if to_do else "", "advice": advice}
    screen.say(*repair_lines(payload))
    if result is not None:
        screen.say(
            *terminal.outcome_lines(result.outcomes, checked=done.proposed, waves=result.outcomes.waves, verb="push"),
            *(terminal.drift_lines(result.drift) if result.drift else []),
            *terminal.interrupted_lines(result.interrupted, checked=done.proposed, refused=result.refused),
        )
    screen.say(*([f"next      {again}"] if to_do else []))
    screen.answer(payload)
    return _status(done)


def _status(done: Repair) -> int:
    from tagloom.apply.outcomes import Fault

    result = done.result
    if result is not None and (result.drift or result.refused):
        return NO
    outcomes = result.outcomes if result is not None else None
    if outcomes is not None and (outcomes.error or outcomes.failed_by(*set(Fault) - {Fault.NONE, Fault.STOPPED})):
        return DEVICE_FAILED
    if done.proposed and (done.means or done.dead_links or done.dead_switches or done.silent):
        return NO  # a check monitors: whatever is dead is wrong, even where all pairs work around it
    return NO if done.pairs_left > 0 or not (result is None or result.good) else GOOD


def add(commands: Commands) -> None:
    """Add this command to the parser."""
    repair = commands.add(
        "repair",
        _repair,
        "find dead links and switches, and reroute the pairs they cut off",
        snmp_words(),
    )
    repair.add_argument(
        "--check",
        "--propose",
        dest="propose",
        action="store_true",
        help="show what is dead and what would be done; send nothing",
    )
    repair.add_argument(
        "--hold",
        default=HOLD,
        metavar="TIME",
        help="time a dead part must be back before paths return to it (default 5m)",
    )
    repair.add_argument(
        "--allow",
        choices=["interrupt"],
        help="interrupt: the repair may cut off working pairs for a moment (default: refused)",
    )
