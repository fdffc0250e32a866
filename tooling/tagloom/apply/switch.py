"""Bring one switch to its target: read, compare, send, read back, save."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self

from tagloom.apply.keep import keep
from tagloom.apply.outcomes import Outcome
from tagloom.errors import DeviceError, Finding, PlanError
from tagloom.records.change import Cell, Change, difference
from tagloom.records.ownership import conflicts, lockout, overlay
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

    `sent` lists the configuration lines the switch has accepted since the login, also after a failure.
    """

    sent: list[str]

    def __enter__(self) -> Self: ...
    def __exit__(self, *_: object) -> None: ...

    def identity(self) -> str:
        """Give what the switch says of itself, "" where it says nothing."""
        ...

    def running_configuration(self) -> str:
        """Give the whole running configuration."""
        ...

    def send(self, lines: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Send configuration lines up to the first one refused; give (line, answer) pairs."""
        ...

    def save(self, text: str) -> bool:
        """Make the running configuration, which `text` says, the one the switch starts with; False where it cannot."""
        ...


@dataclass(frozen=True, slots=True)
class Language:
    """Hold a switch's language as functions: its text to a state, a state to text, changes to command lines.

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


def bring(
    connection: SwitchConnection,
    switch: str,
    language: Language,
    target: SwitchState,
    ports: Collection[int],
    *,
    check: bool,
    backups: Path,
    out_of_band: bool = False,
    expected: SwitchState | None = None,
    ahead: bool = False,
    wave: str = "",
    number: int = 1,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Bring a switch to `target` on all that tagloom owns (see `overlay`), or with `check` say what that would take.

    `expected` is what the switch must hold on those cells beforehand; a switch on the way from there to `target`
    (an interrupted push: some cells at the one, some at the other) is taken as well, anything else is drift.
    A switch that says it is of another model is refused before its configuration is read: its lines would mean others.
    `ahead` says that earlier waves have not been sent (check mode), so that the change starts at `expected`.
    `out_of_band` says that the switch is managed by a way that no VLAN can cut; otherwise one must be left.
    `wave` and `number` name the outcome. The running configuration is kept in `backups` before the first line.
    Never raises DeviceError: a failing switch is an outcome.
    """
    began = clock()
    outcome = Outcome(switch, wave, number)
    try:
        with connection:
            if wrong := language.mistaken(connection.identity()):
                return replace(
                    outcome, error=f"refused, nothing was sent: {wrong[0]}", findings=wrong, seconds=clock() - began
                )
            text = connection.running_configuration()
            running, unknown = language.parse(text)
            wanted = overlay(running, target, ports, language.switchwide)
            findings = (*unknown, *conflicts(running, target, ports, switch, language.port_name))
            findings += () if out_of_band else lockout(wanted, ports, switch, language.physical_ports)
            if expected is not None:
                assumed = overlay(running, expected, ports, language.switchwide)
                if ahead:
                    running, wanted = assumed, overlay(assumed, target, ports, language.switchwide)
                else:
                    findings += _drift(switch, running, assumed, wanted, language.port_name)
            changes = difference(running, wanted)
            commands = language.commands(changes, running)
            outcome = replace(
                outcome,
                changed=bool(changes) and check and not findings,
                commands=commands,
                before=language.text(running),
                after=language.text(wanted),
            )
            if findings:
                outcome = replace(outcome, error=f"refused, nothing was sent: {findings[0]}", findings=findings)
            elif changes and not check:
                outcome = replace(outcome, backup=str(keep(backups, switch, text)))
                connection.send(commands)
                outcome = replace(outcome, changed=True)
                found, _ = language.parse(connection.running_configuration())
                if found != wanted:
                    missed = tuple(cell_finding(switch, each, language.port_name) for each in difference(wanted, found))
                    error = f"accepted every line, but {len(missed)} cells differ: {missed[0]}; not saved"
                    outcome = replace(outcome, error=error, findings=missed)
                else:
                    outcome = replace(outcome, volatile=not connection.save(outcome.after))
    except DeviceError as error:
        outcome = replace(outcome, error=error.text, command=error.command)
    except PlanError as error:  # the model has no words for a change
        outcome = replace(outcome, error=f"refused, nothing was sent: {error}")
    sent = tuple(connection.sent)
    return replace(outcome, sent=sent, changed=outcome.changed or bool(sent), seconds=clock() - began)


def _drift(
    switch: str, running: SwitchState, assumed: SwitchState, wanted: SwitchState, name_of: Callable[[int], str]
) -> tuple[Finding, ...]:
    """List the cells that are neither where the wave before left them nor where this one brings them."""
    planned = set(difference(assumed, wanted))  # a change carries both values of its cell
    return tuple(cell_finding(switch, each, name_of) for each in difference(assumed, running) if each not in planned)


def cell_finding(switch: str, change: Change, name_of: Callable[[int], str] = "g{}".format) -> Finding:
    """Say of one cell what was expected (`before`) and what is there (`after`).

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
