"""Bring one switch to its target: read, compare, send, read back, save."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tagloom.apply.outcomes import Fault
from tagloom.errors import Finding, UnwritableError
from tagloom.records.change import Cell, Change, difference
from tagloom.records.ownership import conflicts, leaves_vlan_1, left_unnamed, lockout, overlay
from tagloom.records.switch_state import FlowControl, Frames, Membership, PortMode
from tagloom.units import format_mac, number_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from enum import IntEnum

    from tagloom.apply.outcomes import Outcome
    from tagloom.apply.session import Session, SwitchConnection
    from tagloom.records.change import Value
    from tagloom.records.switch_state import SwitchState


@dataclass(frozen=True, slots=True)
class Language:
    """The functions for a switch model: text to state, state to text, changes to command lines.

    `parse` also returns a finding for each unknown line that may affect our ports or VLANs. `commands` also takes the
    state that the changes start from. `mistaken` returns a finding if a switch identifies itself as another model.
    `port_name` names a port, `switchwide` are the cells that one line sets on all ports, `physical_ports` counts the
    ports that are not port-channels.
    """

    parse: Callable[[str], tuple[SwitchState, tuple[Finding, ...]]]
    text: Callable[[SwitchState], str]
    commands: Callable[[tuple[Change, ...], SwitchState], tuple[str, ...]]
    mistaken: Callable[[str], tuple[Finding, ...]]
    port_name: Callable[[int], str]
    physical_ports: int
    switchwide: frozenset[Cell]


def configure_switch(  # noqa: PLR0913 - what the switch must hold before, what after, and how it is managed
    session: Session,
    language: Language,
    target: SwitchState | None,
    ports: Collection[int],
    *,
    check: bool,
    out_of_band: bool = False,
    expected: SwitchState | None = None,
    held: SwitchState | None = None,
    ahead: bool = False,
    own_lines: Callable[[str], tuple[str, ...]] = lambda _text: (),
    pruned: Collection[tuple[int, int]] = (),
) -> Outcome:
    """Bring a switch to `target` on all that tagloom owns (see `overlay`), or with `check` report what that would take.

    expected     what the switch must hold on those cells beforehand; a state between it and `target` (an interrupted
                 push: some cells at one, some at the other) is accepted too, anything else is drift
    held         the state last read, from which the change was proven: those cells must equal it exactly
    ahead        earlier waves have not been sent (check mode), so the change starts at `expected`
    own_lines    returns the operator's own lines that a running configuration lacks
    pruned       memberships in foreign VLANs, as (VLAN, port), that the operator allows to change
    out_of_band  no VLAN can cut the switch's management; otherwise a management port must remain in VLAN 1

    A switch that identifies itself as another model is refused before its configuration is read, since its lines would
    mean something else. A switch without changes whose saved configuration differs is saved; if `target` is None,
    nothing else is done. Never raises a TagloomError: a failing switch is an outcome.
    """

    def steps() -> None:
        if wrong := language.mistaken(connection.identity()):
            session.refuse(wrong)
            return
        if not session.released():
            return
        session.call_off_older()
        text = connection.running_configuration()
        running, unknown = language.parse(text)
        wanted = running
        findings: tuple[Finding, ...] = ()
        drifted: tuple[Finding, ...] = ()
        if target is not None:
            left = _leftovers(running, expected, target, ports)
            wanted = laid(running, target, leftovers=left)
            findings = (*unknown, *conflicts(running, target, ports, switch, language.port_name))
            if not out_of_band:
                findings += lockout(wanted, ports, switch, language.physical_ports)
                session.note(leaves_vlan_1=leaves_vlan_1(running, wanted, ports))
        if target is not None and expected is not None:
            assumed = laid(running, expected)
            if ahead:
                running, wanted = assumed, laid(assumed, target)
            else:
                drifted = _cells(switch, language, drifted_cells(running, assumed, wanted))
        if held is not None and not check:
            assumed = laid(running, held)
            drifted = _cells(switch, language, difference(assumed, running))
        changes = difference(running, wanted)
        commands, after = _written(language, running, wanted, findings)
        refused = (*findings, *drifted)
        unsaved = (check or not changes) and not ahead and _unsaved(connection, language, running)
        session.note(
            changed=bool(changes) and check and not refused,
            commands=commands,
            read=True,
            before=language.text(running),
            after=after,
            unsaved=unsaved,
            own_lines=own_lines(text),
        )
        agreed = session.agreed(not drifted)
        if refused:
            session.refuse(refused, Fault.REFUSED if findings else Fault.DRIFT)
            return
        if not agreed:
            error = "nothing was sent: another switch of this wave holds what this run has not sent it"
            session.note(error=error, fault=Fault.STOPPED)
            return
        if check:
            return
        if changes:
            session.send(text, commands)
            found, _ = language.parse(connection.running_configuration())
            if found != wanted:
                missed = _cells(switch, language, difference(wanted, found))
                differing = number_of(len(missed), "difference")
                error = f"accepted every line, but reads back with {differing}: {missed[0]}; not saved"
                session.note(error=error, findings=missed, fault=Fault.DEVICE)
                return
        if changes or unsaved:
            session.save(after_reading=bool(changes))
        session.done()

    connection, switch = session.connection, session.switch
    laid = partial(overlay, ports=ports, switchwide=language.switchwide, pruned=pruned)
    return session.run(steps)


def _written(
    language: Language, running: SwitchState, wanted: SwitchState, findings: tuple[Finding, ...]
) -> tuple[tuple[str, ...], str]:
    """Return the lines from one state to the other, and the text of that.

    What a switch cannot be told has neither where `findings` say why already: nothing is sent then.
    """
    try:
        return language.commands(difference(running, wanted), running), language.text(wanted)
    except UnwritableError:
        if not findings:
            raise
        return (), language.text(running)


def _leftovers(
    running: SwitchState, expected: SwitchState | None, target: SwitchState, ports: Collection[int]
) -> tuple[int, ...]:
    """Return the unnamed VLANs that a wave must remove: those in `expected` that are not in `target`."""
    if expected is None:
        return ()
    return left_unnamed(
        running, left_unnamed(expected, set(expected.vlans.tolist()) - set(target.vlans.tolist()), ports), ports
    )


def _cells(switch: str, language: Language, changes: Sequence[Change]) -> tuple[Finding, ...]:
    return tuple(cell_finding(switch, each, language.port_name) for each in changes)


def _unsaved(connection: SwitchConnection, language: Language, running: SwitchState) -> bool:
    """Return whether a reboot would change what tagloom reads from the switch."""
    startup = connection.startup_configuration()
    return startup is not None and language.parse(startup)[0] != running


def drifted_cells(running: SwitchState, assumed: SwitchState, wanted: SwitchState) -> tuple[Change, ...]:
    """Return the cells that are neither where the wave before left them nor where this one brings them.

    Each change leads from the assumed value to the running one.
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
