"""Derive what each command line of a patch does to the switch, in the order the lines are sent."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.platforms import iproute2
from tagloom.platforms.grammar import Grammar
from tagloom.records.change import Cell, apply_changes, difference
from tagloom.records.lines import BOUNCES, ENTRY, Lines
from tagloom.records.switch_state import SwitchEditor
from tagloom.render.shell import shell_lines
from tagloom.render.steps import in_order, steps_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.platforms import Platform
    from tagloom.records.change import Change
    from tagloom.records.switch_state import SwitchState

PHASE = 1 << 40  # positions of one phase of the grammar's order: more than a switch has lines


def line_changes(
    platform: Platform, changes: tuple[Change, ...], before: SwitchState | None = None
) -> list[tuple[str, tuple[Change, ...]]]:
    """List the lines that `render_commands` sends, those that move between contexts left out, with what each changes.

    Raises PlanError where the model has no words for a change.
    """
    if platform.grammar == iproute2.FAMILY:
        return _shell_changes(platform, changes, before)
    grammar = Grammar.of(platform)
    ordered = in_order(grammar, steps_of(grammar, changes, before))
    return [line for _, _, lines in ordered for line in lines]


def _shell_changes(
    platform: Platform, changes: tuple[Change, ...], before: SwitchState | None
) -> list[tuple[str, tuple[Change, ...]]]:
    """List the commands of a Linux bridge with what each changes, by running them: one may change several cells."""
    if before is None:
        raise PlanError(f"the lines of a {platform.title} say all of a membership", "nothing is known of it")
    shell, here = iproute2.Shell(platform, SwitchEditor.of(before)), before
    rows = []
    for line in shell_lines(platform, before, apply_changes(before, changes)):
        shell.feed(line)
        there = shell.editor.freeze()
        rows.append((line, difference(here, there)))
        here = there
    return rows


def _quiet(platform: Platform) -> frozenset[Cell]:
    """Return the cells that would bounce a link on other models and do not on this one."""
    return frozenset(cell for cell in BOUNCES if cell.value not in platform.bounces)


def line_effects(platform: Platform, before: SwitchState, after: SwitchState) -> Lines:
    """Return what the lines from `before` to `after` do, in their order; as `line_changes`, with entries as arrays.

    Nearly all lines of a large rollout are static entries: they are told apart and placed without an object for each.
    Raises PlanError where the model has no words for a change.
    """
    if platform.grammar == iproute2.FAMILY:
        rows = _shell_changes(platform, difference(before, after), before)
        return Lines.of(((n, changes) for n, (_, changes) in enumerate(rows, start=1)), _quiet(platform))
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
    return Lines.joined([Lines.of(placed, _quiet(platform)), _entries(grammar, before, after, deleted_at)])


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
