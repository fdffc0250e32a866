"""Bring one switch to its target: read, compare, send, read back, save."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, Self

from tagloom.apply.journal import READ_BACK, SAVED
from tagloom.apply.outcomes import Fault, Outcome
from tagloom.apply.private_files import write_backup
from tagloom.errors import DeviceError, Finding, InputError, PlanError, TagloomError
from tagloom.records.change import Cell, Change, difference
from tagloom.records.ownership import conflicts, left_unnamed, lockout, overlay
from tagloom.records.switch_state import FlowControl, Frames, Membership, PortMode
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from enum import IntEnum
    from pathlib import Path

    from tagloom.records.change import Value
    from tagloom.records.switch_state import SwitchState


class SwitchConnection(Protocol):
    """Talk to one switch; entering logs in, leaving logs out, everything raises DeviceError.

    `sent` lists the configuration lines the switch has accepted since the login, also after a failure. `before_line`
    is called before each of them is sent, and may raise to stop there.
    """

    sent: list[str]
    before_line: Callable[[str], None]

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def identity(self) -> str:
        """Return what the switch says of itself, "" where it says nothing."""
        ...

    def running_configuration(self) -> str:
        """Return the whole running configuration."""
        ...

    def startup_configuration(self) -> str | None:
        """Return the configuration the switch starts with; None where it keeps none of its own."""
        ...

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Send configuration lines up to the first one refused; return (line, answer) pairs."""
        ...

    def save(self, text: str) -> bool:
        """Make the running configuration, which `text` says, the one the switch starts with; False where it cannot."""
        ...


class SwitchJournal(Protocol):
    """Write down one switch's part in one wave; raises InputError where that cannot be done."""

    def intend(self, lines: Sequence[str], before: str, after: str) -> None:
        """Write down what is about to be sent, synced."""
        ...

    def note(self, state: str, sent: int = 0, error: str = "") -> None:
        """Write down how far it got."""
        ...


@dataclass(frozen=True, slots=True)
class Language:
    """A switch's language as functions: its text to a state, a state to text, changes to command lines.

    `parse` also gives a finding for each line that it does not understand and that bears on our ports or VLANs;
    `commands` takes the state that the changes start from, too; `mistaken` gives a finding where what a switch says of
    itself is not the model. `port_name` names a port, `switchwide` are the cells that one line sets on all ports,
    `physical_ports` counts the ports that are no port-channels.
    """

    parse: Callable[[str], tuple[SwitchState, tuple[Finding, ...]]]
    text: Callable[[SwitchState], str]
    commands: Callable[[tuple[Change, ...], SwitchState], tuple[str, ...]]
    mistaken: Callable[[str], tuple[Finding, ...]]
    port_name: Callable[[int], str]
    physical_ports: int
    switchwide: frozenset[Cell]


def configure_switch(  # noqa: C901, PLR0912, PLR0913, PLR0915 - backup, journal, send, read back, save: one order, and every way out of it
    connection: SwitchConnection,
    switch: str,
    language: Language,
    target: SwitchState | None,
    ports: Collection[int],
    *,
    check: bool,
    backups: Path,
    out_of_band: bool = False,
    expected: SwitchState | None = None,
    held: SwitchState | None = None,
    ahead: bool = False,
    wave: str = "",
    number: int = 1,
    wave_journal: SwitchJournal | None = None,
    own_lines: Callable[[str], tuple[str, ...]] = lambda _text: (),
    stop: Callable[[], bool] = lambda: False,
    released: Callable[[], bool] = lambda: True,
    agree: Callable[[bool], bool] = lambda good: good,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Bring a switch to `target` on all that tagloom owns (see `overlay`), or with `check` say what that would take.

    `expected` is what the switch must hold on those cells beforehand; a switch on the way from there to `target`
    (an interrupted push: some cells at the one, some at the other) is taken as well, anything else is drift.
    `held` is what it was last read to hold, from where the way was proven: it must hold exactly that on those cells.
    A switch that says it is of another model is refused before its configuration is read: its lines would mean others.
    `ahead` says that earlier waves have not been sent (check mode), so that the change starts at `expected`.
    `own_lines` names the operator's own lines that a running configuration lacks.
    `out_of_band` says that the switch is managed by a way that no VLAN can cut; otherwise one must be left.
    `wave` and `number` name the outcome. The running configuration is kept in `backups` before the first line, and what
    is about to be sent is in `wave_journal`, synced: where either cannot be written, nothing is sent. `stop` is asked
    before every line, `released` once the switch is logged in to: it may wait, and where it says no, the switch is
    asked nothing more. `agree` is told, before the first line, whether the switch holds what it must, and waits for all
    others of the wave: where it says no, one of them was changed by others, and nothing is sent. A switch with nothing
    to change that would start with something else is saved; where `target` is None, that is all that is done. Never
    raises a TagloomError: a failing switch is an outcome.
    """
    began = clock()
    outcome = Outcome(switch, wave, number)

    def before_line(line: str) -> None:
        if stop():
            raise StoppedError(switch, line, "stopped before this line, as asked")

    connection.before_line = before_line
    try:
        with connection:
            if wrong := language.mistaken(connection.identity()):
                return replace(outcome, **_refused(wrong), seconds=clock() - began)
            waited = clock()
            if not released():
                return outcome
            began += clock() - waited
            text = connection.running_configuration()
            running, unknown = language.parse(text)
            wanted = running
            findings: tuple[Finding, ...] = ()
            drifted: tuple[Finding, ...] = ()
            if target is not None:
                wanted = overlay(
                    running, target, ports, language.switchwide, _leftovers(running, expected, target, ports)
                )
                findings = (*unknown, *conflicts(running, target, ports, switch, language.port_name))
                findings += () if out_of_band else lockout(wanted, ports, switch, language.physical_ports)
            if target is not None and expected is not None:
                assumed = overlay(running, expected, ports, language.switchwide)
                if ahead:
                    running, wanted = assumed, overlay(assumed, target, ports, language.switchwide)
                else:
                    cells = drifted_cells(running, assumed, wanted)
                    drifted = tuple(cell_finding(switch, each, language.port_name) for each in cells)
            if held is not None and not check:
                assumed = overlay(running, held, ports, language.switchwide)
                drifted = tuple(cell_finding(switch, c, language.port_name) for c in difference(assumed, running))
            changes = difference(running, wanted)
            commands = language.commands(changes, running)
            refused = bool(findings or drifted)
            outcome = replace(
                outcome,
                changed=bool(changes) and check and not refused,
                commands=commands,
                read=True,
                before=language.text(running),
                after=language.text(wanted),
                unsaved=(check or not changes) and not ahead and _unsaved(connection, language, running),
                own_lines=own_lines(text),
            )
            waited = clock()
            agreed = agree(not drifted)
            began += clock() - waited
            if refused:
                fault = Fault.REFUSED if findings else Fault.DRIFT
                outcome = replace(outcome, **{**_refused((*findings, *drifted)), "fault": fault})
            elif not agreed:
                error = "nothing was sent: another switch of this wave holds what this run has not sent it"
                outcome = replace(outcome, error=error, fault=Fault.STOPPED)
            elif changes and not check:
                outcome = replace(outcome, backup=str(write_backup(backups, switch, text)))
                if wave_journal is not None:
                    wave_journal.intend(commands, outcome.before, outcome.after)
                connection.send(commands)
                outcome = replace(outcome, changed=True)
                found, _ = language.parse(connection.running_configuration())
                if found != wanted:
                    missed = tuple(cell_finding(switch, each, language.port_name) for each in difference(wanted, found))
                    error = f"accepted every line, but {len(missed)} cells differ: {missed[0]}; not saved"
                    outcome = replace(outcome, error=error, findings=missed, fault=Fault.DEVICE)
                else:
                    if wave_journal is not None:
                        wave_journal.note(READ_BACK, len(connection.sent))
                    outcome = replace(outcome, volatile=not connection.save(outcome.after), saved=True)
            elif outcome.unsaved and not check:
                outcome = replace(outcome, volatile=not connection.save(outcome.after), saved=True)
            if wave_journal is not None and not check and not outcome.failed:
                wave_journal.note(SAVED, len(connection.sent))
    except StoppedError as error:
        outcome = replace(outcome, error=error.text, command=error.command, fault=Fault.STOPPED)
    except DeviceError as error:
        outcome = replace(outcome, error=error.text, command=error.command, fault=Fault.DEVICE)
    except PlanError as error:  # the model has no words for a change
        outcome = replace(outcome, error=f"refused, nothing was sent: {error}", fault=Fault.REFUSED)
    except (InputError, OSError) as error:  # the journal or the backup could not be written
        nothing = "" if connection.sent else "nothing was sent: "
        outcome = replace(outcome, error=f"{nothing}{error}", fault=Fault.CONTROLLER)
    sent = tuple(connection.sent)
    outcome = replace(outcome, sent=sent, changed=outcome.changed or bool(sent), seconds=clock() - began)
    if wave_journal is not None and outcome.failed and not check:
        with contextlib.suppress(TagloomError):  # the intention stands in the journal, if anything was sent
            wave_journal.note("failed", len(sent), outcome.error)
    return outcome


def _leftovers(
    running: SwitchState, expected: SwitchState | None, target: SwitchState, ports: Collection[int]
) -> tuple[int, ...]:
    """List the unnamed VLANs that a wave is to remove: what it expects has them, what it leads to does not."""
    if expected is None:
        return ()
    return left_unnamed(
        running, left_unnamed(expected, set(expected.vlans.tolist()) - set(target.vlans.tolist()), ports), ports
    )


class StoppedError(DeviceError):
    """Somebody asked the run to end at once."""


def _refused(findings: tuple[Finding, ...]) -> dict[str, Any]:
    error = f"refused, nothing was sent: {findings[0]}"
    return {"error": error, "findings": findings, "fault": Fault.REFUSED}


def _unsaved(connection: SwitchConnection, language: Language, running: SwitchState) -> bool:
    """Return whether a reboot would change what tagloom reads of the switch."""
    startup = connection.startup_configuration()
    return startup is not None and language.parse(startup)[0] != running


def drifted_cells(running: SwitchState, assumed: SwitchState, wanted: SwitchState) -> tuple[Change, ...]:
    """List the cells that are neither where the wave before left them nor where this one brings them.

    Each change leads from what was assumed to what runs.
    """
    planned = set(difference(assumed, wanted))  # a change carries both values of its cell
    return tuple(each for each in difference(assumed, running) if each not in planned)


def cell_finding(switch: str, change: Change, name_of: Callable[[int], str] = "g{}".format) -> Finding:
    """Return the finding of one cell: what was expected (`before`) and what is there (`after`).

    >>> print(cell_finding("s0", Change(Cell.MEMBER, Membership.TAGGED, Membership.NONE, port=3, vlan=100)))
    s0: VLAN 100 g3 member: expected tagged, actual none
    """
    key = [f"VLAN {change.vlan}"] if change.vlan else []
    key += [name_of(change.port)] if change.port else []
    key += [format_mac(change.mac)] if change.cell is Cell.ENTRY else []
    key += [] if change.cell is Cell.VLAN else [change.cell.value.removeprefix("vlan-")]
    before, after = (_words(change.cell, value, name_of) for value in (change.before, change.after))
    return Finding(f"{switch}: {' '.join(key)}", before, after)


_KINDS: dict[Cell, type[IntEnum]] = {
    Cell.MODE: PortMode,
    Cell.MEMBER: Membership,
    Cell.FRAMES: Frames,
    Cell.FLOW_CONTROL: FlowControl,
}
_NUMBERS = {Cell.PVID, Cell.SPEED, Cell.AGING}


def _words(cell: Cell, value: Value, name_of: Callable[[int], str]) -> str:
    if isinstance(value, str):
        return repr(value) if value else "no name"
    if isinstance(value, tuple):
        return " ".join(map(name_of, value)) or "none"
    if cell is Cell.LAG:
        return name_of(int(value)) if value else "none"
    if cell in _KINDS:
        return _KINDS[cell](value).name.lower().replace("_", " ")
    if cell in _NUMBERS:
        return str(value)
    return ("absent", "present")[value] if cell is Cell.VLAN else ("off", "on")[value]
