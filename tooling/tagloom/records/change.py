"""A change as a value: one cell of a switch's state from one value to another, with its inverse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.switch_state import (
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
    SwitchState,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Cell(StrEnum):
    """What a change may set. Its key is (port), (vlan), (vlan, port), (vlan, mac) or nothing, as noted."""

    VLAN = "vlan"  # vlan: absent (0) or present (1)
    VLAN_NAME = "vlan-name"  # vlan: the name, "" = default
    MODE = "mode"  # port: PortMode
    MEMBER = "member"  # vlan, port: Membership
    PVID = "pvid"  # port: VLAN id, 0 = discard
    ENTRY = "entry"  # vlan, mac: tuple of ports, () = none
    INGRESS_FILTER = "ingress-filter"  # port: bool
    FRAMES = "frames"  # port: Frames
    ENABLED = "enabled"  # port: bool
    NEGOTIATION = "negotiation"  # port: bool
    SPEED = "speed"  # port: Mb/s, 0 = the port's best
    FLOW_CONTROL = "flow-control"  # port: FlowControl
    EEE = "eee"  # port: bool
    PORT_SPANNING_TREE = "port-spanning-tree"  # port: bool
    LAG = "lag"  # port: the port number of its port-channel, 0 = none
    FLOODING = "flooding"  # port: bool
    LEARNING = "learning"  # port: bool
    SPANNING_TREE = "spanning-tree"  # the switch: bool
    AGING = "aging"  # the switch: seconds
    BPDU_FILTERING = "bpdu-filtering"  # the switch: bool


Value = int | str | tuple[int, ...]

# The cells with one value per port: the SwitchEditor's list and the type of its values.
PORT_CELLS: dict[Cell, tuple[str, type]] = {
    Cell.MODE: ("mode", PortMode),
    Cell.PVID: ("pvid", int),
    Cell.INGRESS_FILTER: ("ingress_filter", bool),
    Cell.FRAMES: ("frames", Frames),
    Cell.ENABLED: ("enabled", bool),
    Cell.NEGOTIATION: ("negotiation", bool),
    Cell.SPEED: ("speed_mbps", int),
    Cell.FLOW_CONTROL: ("flow_control", FlowControl),
    Cell.EEE: ("eee", bool),
    Cell.PORT_SPANNING_TREE: ("port_spanning_tree", bool),
    Cell.LAG: ("lag", int),
    Cell.FLOODING: ("flooding", bool),
    Cell.LEARNING: ("learning", bool),
}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one cell from `before` to `after`; `port`, `vlan` and `mac` are 0 if the cell has no such key."""

    cell: Cell
    before: Value
    after: Value
    port: int = 0
    vlan: int = 0
    mac: int = 0

    @property
    def inverse(self) -> Change:
        """Return the change that undoes this one."""
        return Change(self.cell, self.after, self.before, self.port, self.vlan, self.mac)


@dataclass(frozen=True, slots=True)
class Patch:
    """All changes of one switch; their order carries no meaning, rendering imposes its own."""

    switch: str
    changes: tuple[Change, ...]

    @property
    def inverse(self) -> Patch:
        """Return the patch that undoes this one."""
        return Patch(self.switch, tuple(change.inverse for change in reversed(self.changes)))


def difference(before: SwitchState, after: SwitchState) -> tuple[Change, ...]:
    """Return every cell in which two states of one switch differ.

    ``apply_changes(a, difference(a, b)) == b`` and its inverse hold for all states of equal port count. Raises
    ValueError if the counts differ.
    """
    if before.ports != after.ports:
        raise ValueError(f"states of {before.ports} and {after.ports} ports cannot be of one switch")
    changes: list[Change] = []
    same = np.array_equal(before.vlans, after.vlans)
    vlans = before.vlans if same else np.union1d(before.vlans, after.vlans)
    was, now = _aligned(before, vlans), _aligned(after, vlans)
    differ = was != now
    of_members = differ.any(axis=1)
    for row, vlan in enumerate(vlans.tolist()):
        old_row, new_row = before.vlan_index.get(vlan), after.vlan_index.get(vlan)
        if (old_row is None) != (new_row is None):
            changes.append(Change(Cell.VLAN, int(old_row is not None), int(new_row is not None), vlan=vlan))
        old_name = "" if old_row is None else before.vlan_names[old_row]
        new_name = "" if new_row is None else after.vlan_names[new_row]
        if old_name != new_name:
            changes.append(Change(Cell.VLAN_NAME, old_name, new_name, vlan=vlan))
        for p in np.flatnonzero(differ[row]).tolist() if of_members[row] else ():
            how_was, how_now = Membership(int(was[row, p])), Membership(int(now[row, p]))
            changes.append(Change(Cell.MEMBER, how_was, how_now, port=p + 1, vlan=vlan))
    for cell, (name, kind) in PORT_CELLS.items():
        x, y = getattr(before, name), getattr(after, name)
        changes += [Change(cell, kind(x[p]), kind(y[p]), port=p + 1) for p in np.flatnonzero(x != y).tolist()]
    old, new = _entries(before), _entries(after)
    for vlan, mac in sorted(key for key in old.keys() | new.keys() if old.get(key) != new.get(key)):
        ports_was, ports_now = old.get((vlan, mac), ()), new.get((vlan, mac), ())
        changes.append(Change(Cell.ENTRY, ports_was, ports_now, vlan=vlan, mac=mac))
    if before.spanning_tree != after.spanning_tree:
        changes.append(Change(Cell.SPANNING_TREE, before.spanning_tree, after.spanning_tree))
    if before.aging_seconds != after.aging_seconds:
        changes.append(Change(Cell.AGING, before.aging_seconds, after.aging_seconds))
    if before.bpdu_filtering != after.bpdu_filtering:
        changes.append(Change(Cell.BPDU_FILTERING, before.bpdu_filtering, after.bpdu_filtering))
    return tuple(changes)


def _aligned(state: SwitchState, vlans: NDArray[np.int32]) -> NDArray[np.uint8]:
    """Return the membership rows of `vlans`, all NONE for a VLAN the state lacks, uint8[V, P]."""
    table = np.zeros((len(vlans), state.ports), np.uint8)
    table[np.searchsorted(vlans, state.vlans)] = state.membership
    return table


def _entries(state: SwitchState) -> dict[tuple[int, int], tuple[int, ...]]:
    """Return the static entries, (VLAN, MAC) -> ports."""
    entries: dict[tuple[int, int], tuple[int, ...]] = {}
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    for vlan, mac, port in rows:
        entries[vlan, mac] = (*entries.get((vlan, mac), ()), port)
    return entries


def apply_changes(state: SwitchState, changes: tuple[Change, ...]) -> SwitchState:
    """Return the state after the changes; VLANs are created first and deleted last, so order does not matter."""
    editor = SwitchEditor.of(state)
    for change in changes:
        if change.cell is Cell.VLAN and change.after:
            editor.create_vlan(change.vlan)
    gone = [change.vlan for change in changes if change.cell is Cell.VLAN and not change.after]
    for change in changes:
        if change.cell is not Cell.VLAN and change.cell is not Cell.PVID:
            _set(editor, change)
    for vlan in gone:
        editor.delete_vlan(vlan)
    for change in changes:  # after deletions, which reset the PVIDs that named the VLAN
        if change.cell is Cell.PVID:
            _set(editor, change)
    return editor.freeze()


def _set(editor: SwitchEditor, change: Change) -> None:
    after = change.after
    if change.cell in PORT_CELLS:
        name, kind = PORT_CELLS[change.cell]
        getattr(editor, name)[change.port - 1] = kind(after)
    elif change.cell is Cell.VLAN_NAME:
        editor.name_vlan(change.vlan, str(after))
    elif change.cell is Cell.MEMBER:
        editor.set_member(change.vlan, change.port, Membership(int(after)))  # type: ignore[arg-type]  # a member cell holds a number
    elif change.cell is Cell.ENTRY:
        editor.set_entry(change.vlan, change.mac, after)  # type: ignore[arg-type]  # an entry cell holds ports
    elif change.cell is Cell.SPANNING_TREE:
        editor.spanning_tree = bool(after)
    elif change.cell is Cell.BPDU_FILTERING:
        editor.bpdu_filtering = bool(after)
    elif change.cell is Cell.AGING:
        editor.aging_seconds = int(after)  # type: ignore[arg-type]  # seconds
