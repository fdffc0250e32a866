"""Wait for the confirmation of a change, and take back what nobody confirms; also what a dead command left waiting."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from tagloom.apply.abort import JOURNAL, at_work
from tagloom.apply.confirmations import EXPIRED, TAKING_BACK, UNDER_WAY, WAITING, Confirmations
from tagloom.apply.journal import Journal
from tagloom.apply.outcomes import Outcomes
from tagloom.apply.run_directory import RunDirectory
from tagloom.apply.run_states import STOPPED
from tagloom.errors import PlanError
from tagloom.operate import apply, own_lines
from tagloom.operate.protection import protection_of
from tagloom.units import clock_time

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.apply.confirmations import Confirmation
    from tagloom.apply.journal import Run
    from tagloom.operate.apply import ApplyOptions, Result
    from tagloom.operate.waves import ApplyContext

POLL_SECONDS = 0.2
NO_TIME_LEFT = "nobody: the time was over"
CUT_SHORT = "nobody: its command died while it sent it"


class Terminal(Protocol):
    """Where the operator may answer."""

    def heard(self, seconds: float) -> bool | None:
        """Wait so long at most, and return whether the change is to be kept; None where nobody has said."""
        ...


def settle(
    context: ApplyContext, result: Result, options: ApplyOptions, terminal: Terminal, words: str = "tagloom confirm"
) -> Result:
    """Wait for the confirmation of what an apply has brought, and take it back where none comes; else as it is.

    A change that did not end well is taken back at once, but not one that was asked to stop: its operator is there.
    `words` is the command that confirms. A command that is asked to stop meanwhile leaves the change waiting. What is
    taken back may cut off pairs that the change connected. Raises InputError and PlanError as a rollback does.
    """
    kept = Confirmations(context.journal)
    armed = kept.open() if result.run is not None else None
    if armed is None or result.run is None or armed.run.id != result.run.id:
        return result
    if armed.state == UNDER_WAY:
        if armed.run.state == STOPPED or not armed.run.wave:
            return replace(result, confirmation=armed)
        context.tell("taken back: it did not end well")
        return _take_back(context, kept, armed, options, "nobody: it did not end well", result)
    if armed.state == WAITING:
        kept_until = clock_time(armed.until or 0.0, time.time())
        context.tell(f"waiting   until {kept_until}, and takes the change back then, unless somebody types: {words}")
    answer, by = (False, armed.by) if armed.state == TAKING_BACK else _answer(context, kept, armed, terminal)
    if answer is None:
        return replace(result, confirmation=kept.newest())
    if answer and kept.answer(armed.run.id, keep=True, by=by):
        return replace(result, confirmation=kept.newest())
    return _take_back(context, kept, armed, options, by, result)


def _answer(
    context: ApplyContext, kept: Confirmations, armed: Confirmation, terminal: Terminal
) -> tuple[bool | None, str]:
    """Wait for an answer, and return it and whose it is; None where another terminal gave it, or we are to stop."""
    left = (armed.until or 0.0) - time.time()
    end = time.monotonic() + min(max(left, 0.0), armed.seconds)
    while (left := end - time.monotonic()) > 0:
        try:
            said = terminal.heard(min(left, POLL_SECONDS))
        except KeyboardInterrupt:
            said = False
        if said is not None:
            return said, context.lock.operator
        here = kept.newest()
        if here is None or not here.is_open or RunDirectory(context.site.home).stop.exists():
            return None, ""
    return False, NO_TIME_LEFT


def _take_back(
    context: ApplyContext, kept: Confirmations, armed: Confirmation, options: ApplyOptions, by: str, result: Result
) -> Result:
    """Roll a change back, unless somebody has confirmed it meanwhile."""
    if armed.state != TAKING_BACK and not kept.answer(armed.run.id, keep=False, by=by):
        return replace(result, confirmation=kept.newest())
    context.tell(f"taking back {armed.named}")
    wish = replace(options, allow_drain=True, allow_interrupt=True, on_failure="stop", confirm_seconds=0.0)
    back = apply.rollback(context, None, wish)
    if result.outcomes.failed:  # why it is taken back
        back = replace(back, outcomes=own_lines.joined(result.outcomes, back.outcomes))
    return replace(back, confirmation=kept.newest(), protection=result.protection)


def arm(context: ApplyContext, run: Run, seconds: float) -> None:
    """Have a run that is resumed wait for its confirmation. Raises PlanError where no proven way leads back from it."""
    if run.kind != "apply" or not run.proven:
        raise apply.not_to_be_confirmed(f"{run.kind} {run.name} of {run.source} cannot be taken back so")
    Confirmations(context.journal).arm(run.id, seconds)


def protect(context: ApplyContext, run: Run) -> dict[str, str]:
    """Announce what takes a resumed run back on each of its switches, and have it watched; {} if none is to confirm."""
    armed = Confirmations(context.journal).open()
    if armed is None or armed.run.id != run.id or armed.state not in {UNDER_WAY, WAITING}:
        return {}
    fabric = context.own_sequence(run).fabric
    by = protection_of(fabric, [switch.name for switch in fabric.live])
    apply.announce_protection(context, by)
    context.watch()
    return by


def left_waiting(context: ApplyContext) -> Result | None:
    """Return a change whose command died while it waited for its confirmation, None where there is none."""
    armed = Confirmations(context.journal).open()
    if armed is None or armed.state == UNDER_WAY or context.journal.unfinished() is not None:
        return None
    return apply.Result(Outcomes((), ()), armed.run)


def is_left_over(home: Path) -> bool:
    """Return whether a command died and left a change that is to be taken back, by an inventory's runs in `home`."""
    if not (home / JOURNAL).exists() or at_work(home):
        return False
    armed = Confirmations(Journal(home / JOURNAL)).open()
    return armed is not None and armed.state != WAITING


def take_back_left_over(context: ApplyContext, options: ApplyOptions) -> Result | None:
    """Take back what a command that died left unconfirmed, for one that nobody looks at; None where there is none."""
    kept = Confirmations(context.journal)
    armed = kept.open()
    if armed is None or armed.state == WAITING:
        return None
    by = CUT_SHORT if armed.state == UNDER_WAY else NO_TIME_LEFT
    return _take_back(context, kept, armed, options, by, apply.Result(Outcomes((), ()), armed.run))


def confirm(kept: Confirmations, by: str) -> Confirmation | None:
    """Confirm the change that waits, and return how it stands; None where none was ever to be confirmed.

    Raises PlanError where it is not there yet, or is being taken back.
    """
    armed = kept.newest()
    if armed is not None and armed.state in {WAITING, EXPIRED}:
        kept.answer(armed.run.id, keep=True, by=by)
        armed = kept.newest()
    if armed is not None and armed.is_open:
        raise PlanError(
            "a change is confirmed once it is on all switches, and before it is taken back",
            f"{armed.named} is {armed.state}",
            "tagloom status",
            ("status",),
        )
    return armed
