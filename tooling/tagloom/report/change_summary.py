"""Summarize what would change on each switch: lines added and removed, and the kinds of cells that change."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

from tagloom.records.change import Cell
from tagloom.records.switch_state import Membership
from tagloom.report.terminal import LABEL, WIDTH, count, row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tagloom.records.change import Change

SHOWN_LINES = 9  # of switches that change alike, on one screen with all else that a check says
_SIZES = 12  # columns for the numbers of lines

# What cells of ports are called, in the order in which they are listed.
_OF_PORTS = {
    Cell.PVID: "PVID",
    Cell.MODE: "port mode",
    Cell.FRAMES: "frame filter",
    Cell.INGRESS_FILTER: "ingress filter",
    Cell.SPEED: "port speed",
    Cell.NEGOTIATION: "negotiation setting",
    Cell.FLOW_CONTROL: "flow control setting",
    Cell.EEE: "EEE setting",
    Cell.PORT_SPANNING_TREE: "spanning-tree port setting",
    Cell.LAG: "LAG membership",
    Cell.FLOODING: "flooding setting",
    Cell.LEARNING: "learning setting",
}


@dataclass(frozen=True, slots=True)
class SwitchChange:
    """What changes on one switch: the numbers of lines `added` and `removed`, and the `kinds` of changes, in words."""

    switch: str
    added: int
    removed: int
    kinds: tuple[str, ...]

    def lines(self) -> list[str]:
        """Return the change as a line, or more where the kinds need them."""
        sizes = f"+{self.added:,} -{self.removed:,}"
        first, *more = wrap(", ".join(self.kinds), WIDTH - LABEL - _SIZES) or [""]
        indent = " " * (LABEL + _SIZES)
        return [f"{self.switch:<{LABEL}}{sizes:<{_SIZES}}{first}".rstrip(), *(indent + line for line in more)]


def switch_change(switch: str, before: str, after: str, changes: Sequence[Change], own_lines: int = 0) -> SwitchChange:
    """Summarize the change of a switch from its rendered states and the cells in which they differ.

    `own_lines` is the number of the operator's own lines that are sent beside.
    """
    texts = (before.splitlines(), after.splitlines())
    steps = [step for step in difflib.SequenceMatcher(None, *texts, autojunk=False).get_opcodes() if step[0] != "equal"]
    added = sum(end - begin for _, _, _, begin, end in steps) + own_lines
    removed = sum(end - begin for _, begin, end, _, _ in steps)
    kinds = (*kind_words(changes), *_counted(own_lines, "line", " of your own"))
    return SwitchChange(switch, added, removed, kinds)


def kind_words(changes: Iterable[Change]) -> tuple[str, ...]:
    """Count changes by kind, in words: VLANs, ports in them, static MAC entries, settings of ports and switches."""
    by_cell: dict[Cell, list[Change]] = {}
    for change in changes:
        by_cell.setdefault(change.cell, []).append(change)
    members, entries, vlans, enabled = (
        by_cell.get(cell, []) for cell in (Cell.MEMBER, Cell.ENTRY, Cell.VLAN, Cell.ENABLED)
    )
    tagged, untagged, out = (
        {change.port for change in members if change.after == how}
        for how in (Membership.TAGGED, Membership.UNTAGGED, Membership.NONE)
    )
    renamed = {change.vlan for change in by_cell.get(Cell.VLAN_NAME, [])} - {change.vlan for change in vlans}
    words = [
        *_counted(sum(not change.after for change in enabled), "port", " turned off"),
        *_counted(sum(bool(change.after) for change in enabled), "port", " turned on"),
        *(f"spanning tree {'on' if change.after else 'off'}" for change in by_cell.get(Cell.SPANNING_TREE, [])),
        *_added_and_removed(vlans, "VLAN"),
        *_counted(len(renamed), "VLAN", " renamed"),
        *_counted(len(tagged), "port", " tagged"),
        *_counted(len(untagged), "port", " untagged"),
        *_counted(len(out - tagged - untagged), "port", " taken out of VLANs"),
        *_added_and_removed(entries, "static MAC entry"),
        *_counted(sum(bool(change.before and change.after) for change in entries), "static MAC entry", " changed"),
        *(word for cell, what in _OF_PORTS.items() for word in _counted(len(by_cell.get(cell, [])), what)),
        *(f"aging time {change.after} s" for change in by_cell.get(Cell.AGING, [])),
        *(f"BPDU filtering {'on' if change.after else 'off'}" for change in by_cell.get(Cell.BPDU_FILTERING, [])),
    ]
    return tuple(words)


def _counted(number: int, what: str, how: str = "") -> list[str]:
    return [count(number, what) + how] if number else []


def _added_and_removed(changes: Sequence[Change], what: str) -> list[str]:
    """Count what changes add and remove: ``16 VLANs (8 removed)``, ``1 VLAN removed``."""
    added, removed = sum(not change.before for change in changes), sum(not change.after for change in changes)
    if not added:
        return _counted(removed, what, " removed")
    return [count(added, what) + (f" ({removed:,} removed)" if removed else "")]


def summary_lines(changed: Sequence[SwitchChange]) -> list[str]:
    """Return the changes of switches on one screen: switches that change alike once, the first few of those."""
    alike: dict[tuple[int, int, tuple[str, ...]], list[SwitchChange]] = {}
    for each in changed:
        alike.setdefault((each.added, each.removed, each.kinds), []).append(each)
    groups = list(alike.values())
    lines: list[str] = []
    shown = 0
    for first, *others in groups:
        block = first.lines()
        if others:
            more = f"and {count(len(others), 'more switch')} alike"
            named = f"{more}: {', '.join(each.switch for each in others)}"
            block.append(" " * LABEL + (named if len(named) <= WIDTH - LABEL else more))
        if lines and len(lines) + len(block) > SHOWN_LINES:
            break
        lines, shown = lines + block, shown + 1 + len(others)
    left = len(changed) - shown
    return lines + (row("", f"... {count(left, 'more switch')} (all lines: -v)") if left else [])
