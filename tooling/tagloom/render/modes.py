"""The command line of ROS and FASTPATH, where lines belong to modes: written, sent and read by one grammar."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.harmless import harmless
from tagloom.records.change import Cell, difference
from tagloom.records.lines import ENTRY, Lines
from tagloom.records.switch_state import Membership, PortMode
from tagloom.render.console_text import clean_lines
from tagloom.render.modes_reader import read_modes
from tagloom.render.page import print_page
from tagloom.render.steps import in_order, lay_out, steps_of, untagged_in_its_pvid
from tagloom.render.view import SwitchLines, view_of

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    from numpy.typing import NDArray

    from tagloom.platforms import Platform
    from tagloom.records.change import Change
    from tagloom.records.switch_state import SwitchState
    from tagloom.render.parsed import Parsed, UnknownLine

PHASE = 1 << 40  # positions of one phase of the grammar's order: more than a switch has lines


class Modes:
    """Lines that belong to modes; see `CommandLine` for what each function does."""

    def configuration(self, platform: Platform, state: SwitchState, templates: Path) -> str:
        """Print what differs from the factory default."""
        _check_modes(platform, state)
        lines = SwitchLines(Grammar.of(platform))
        view = view_of(lines, state)
        return lines.joined(print_page(templates, platform, "configuration", title=platform.title, **view))

    def commands(self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None) -> tuple[str, ...]:
        """Lay out the lines in the order of the grammar's phases, over the whole switch.

        Each mode is closed by ``exit``, because netmiko's drivers for these switches do not notice modes below
        ``(config)#``.
        """
        grammar = Grammar.of(platform)
        return tuple(chain.from_iterable(lay_out(grammar, steps_of(grammar, changes, before))))

    def changes(
        self, platform: Platform, changes: tuple[Change, ...], before: SwitchState | None
    ) -> list[tuple[str, tuple[Change, ...]]]:
        """List the lines with what each changes, those that move between modes left out."""
        grammar = Grammar.of(platform)
        ordered = in_order(grammar, steps_of(grammar, changes, before))
        return [line for _, _, lines in ordered for line in lines]

    def effects(self, platform: Platform, before: SwitchState, after: SwitchState, quiet: Collection[Cell]) -> Lines:
        """Return what the lines do, entries as arrays: nearly all lines of a large rollout are those."""
        grammar = Grammar.of(platform)
        empty = {name: getattr(before, name)[:0] for name in ("entry_vlan", "entry_mac", "entry_port")}
        rest = difference(replace(before, **empty), replace(after, **empty))
        placed: list[tuple[int, tuple[Change, ...]]] = []
        deleted_at: dict[int, int] = {}
        ordered = in_order(grammar, steps_of(grammar, rest, before))
        for number, (phase, changes) in enumerate(
            ((phase, changes) for phase, _, lines in ordered for _, changes in lines), start=1
        ):
            position = phase * PHASE + number
            placed.append((position, changes))
            deleted_at |= {change.vlan: position for change in changes if change.cell is Cell.VLAN and not change.after}
        return Lines.joined([Lines.of(placed, quiet), _entries(grammar, before, after, deleted_at)])

    def parse(self, platform: Platform, text: str) -> Parsed:
        """Read a running-config; a line that is refused at its place is tried again at the end."""
        return read_modes(platform, list(map(str.strip, clean_lines(text))))

    def owned(self, platform: Platform) -> tuple[str, ...]:
        """Return what the grammar says."""
        return Grammar.of(platform).owned

    def harmless(self, platform: Platform, line: UnknownLine, ports: Collection[int], vlans: Collection[int]) -> bool:
        """Return whether the line is on the list for its place."""
        known = harmless(platform.grammar)
        places = ["interface"] if line.ports else ["interface-vlan"] if line.vlan else []
        if places and not line.touches(ports, vlans):
            places.append(f"outside-{places[0]}".replace("interface-vlan", "vlan"))
        if not places and line.block.startswith("vlan database"):
            places = ["vlan-database"]
        elif not places and line.block:
            return known.inside(line.block, line.text)
        return known.covers(line.text, *(places or ["config"])) or (not places and known.opens(line.text))


def _check_modes(platform: Platform, state: SwitchState) -> None:
    """Refuse what no line can say: an access or trunk port that is not untagged in its PVID."""
    untagged = state.membership == Membership.UNTAGGED
    alone = untagged.sum(axis=0) == 1
    its_pvid = state.vlans[untagged.argmax(axis=0)] == state.pvid
    keeps_other_mode = Grammar.of(platform).keeps_other_mode
    for at, mode in enumerate(state.mode.tolist()):
        port = at + 1
        if keeps_other_mode and not (alone[at] and its_pvid[at]) and (untagged[:, at].any() or state.pvid[at]):
            raise untagged_in_its_pvid(Grammar.of(platform), port)
        if mode != PortMode.GENERAL and not (alone[at] and its_pvid[at]):
            rule = "a port outside general mode is untagged in its PVID alone"
            raise PlanError(rule, f"port {platform.port_name(port)}", "plan the port in general mode")


def _entries(grammar: Grammar, before: SwitchState, after: SwitchState, deleted_at: dict[int, int]) -> Lines:
    """Place the lines of static entries: in their phase, ascending by VLAN and address, or where the VLAN goes."""
    if before.entry_port is after.entry_port and before.entry_vlan is after.entry_vlan:
        return Lines.of(())
    old_key, old_ports = _keyed(before)
    new_key, new_ports = _keyed(after)
    set_ = np.flatnonzero(_looked_up(old_key, old_ports, new_key) != new_ports)
    gone = np.flatnonzero(_looked_up(new_key, new_ports, old_key) == 0)
    keys = np.concatenate([new_key[set_], old_key[gone]])
    now = np.concatenate([new_ports[set_], np.zeros(len(gone), np.uint64)])
    by_key = np.argsort(keys, kind="stable")
    keys, now = keys[by_key], now[by_key]
    vlan, mac = (keys >> np.uint64(48)).astype(np.int32), keys & np.uint64((1 << 48) - 1)
    phase = {step: at for at, steps in enumerate(grammar.order) for step in steps}
    position = np.where(now > 0, phase["entry"], phase["no_entry"]) * PHASE + np.arange(1, len(keys) + 1)
    if deleted_at and len(keys):
        table = np.zeros(int(max(*deleted_at, int(vlan.max()))) + 1, np.int64)
        table[list(deleted_at)] = list(deleted_at.values())
        position = np.where(table[vlan] > 0, table[vlan], position)
    order = np.argsort(position, kind="stable")
    size = len(keys)
    return Lines(
        position[order],
        np.full(size, ENTRY, np.uint8),
        np.zeros(size, np.int32),
        vlan[order],
        mac[order],
        now[order],
    )


def _looked_up(keys: NDArray[np.uint64], ports: NDArray[np.uint64], wanted: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the ports of `wanted` keys, 0 for those that are not among `keys`, which ascend."""
    if not len(keys):
        return np.zeros(len(wanted), np.uint64)
    at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[at] == wanted, ports[at], np.uint64(0))


def _keyed(state: SwitchState) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Return the static entries as ascending keys, VLAN above MAC address, each with its ports as bits."""
    key = (state.entry_vlan.astype(np.uint64) << np.uint64(48)) | state.entry_mac
    bits = np.uint64(1) << (state.entry_port - 1).astype(np.uint64)
    first = np.flatnonzero(np.diff(key, prepend=np.uint64(0)) > 0) if len(key) else np.empty(0, np.int64)
    return key[first], np.bitwise_or.reduceat(bits, first) if len(first) else bits
