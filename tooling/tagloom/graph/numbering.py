"""Number VLANs so that an id never names two different trees: unchanged VLANs keep their ids, others get new ones."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tagloom.records.switch_state import FabricState, SwitchState

VlanFingerprint = tuple[tuple[str, bytes, bytes], ...]


def renumbered(before: FabricState, after: FabricState, first_vlan: int) -> FabricState:
    """Return `after` with ids that can coexist with those of `before` on the same switches.

    A VLAN takes the id of an old one if its members and static entries are equal on every switch. Any other id that
    `before` uses is replaced by an unused one from `first_vlan` up: old and new halves of a tree under one id may close
    a loop (9 of 25 mixed states flood endlessly on two switches with two links). Raises PlanError if a switch of
    `after` has entries in a VLAN that it does not have.
    """
    old_ids = {v for state in before.values() for v in state.vlans.tolist()}
    known = {vlan_fingerprint(before, v): v for v in sorted(owned(before))}
    mine = sorted(owned(after))
    given = {v: v for v in mine if v < first_vlan}  # by the operator: hosts use them
    number = given | {v: known[c] for v in mine if v not in given and (c := vlan_fingerprint(after, v)) in known}
    number |= {v: v for v in mine if v not in number and v not in old_ids}
    number |= _unused((v for v in mine if v not in number), old_ids | set(mine), first_vlan)
    if all(v == n for v, n in number.items()):
        return after
    return {name: with_numbers(name, state, number) for name, state in after.items()}


def numbered_beside(
    before: FabricState, held: FabricState, after: FabricState, first_vlan: int
) -> tuple[FabricState, dict[int, int]]:
    """Return `held` with the VLANs that only `after` has, numbered as by `renumbered`, and the new ids of `after`.

    `after` has each VLAN of `held`, under any id. Which ports sleep is as in `held`.
    """
    number: dict[int, int] = {}
    for v, same in new_numbers(after, held).items():
        if same not in number.values():
            number[v] = same
    old_ids = {v for state in before.values() for v in state.vlans.tolist()}
    known = {vlan_fingerprint(before, v): v for v in sorted(owned(before) - owned(held))}
    for v in sorted(owned(after) - number.keys()):
        if (same_as_before := known.pop(vlan_fingerprint(after, v), None)) is not None:
            number[v] = same_as_before
    more = sorted(owned(after) - number.keys())
    number |= _unused(more, old_ids | owned(held), first_vlan)
    state = {name: replace(with_numbers(name, each, number), eee=held[name].eee) for name, each in after.items()}
    return state, number


def _unused(vlans: Iterable[int], taken: Collection[int], first_vlan: int) -> dict[int, int]:
    """Assign VLANs ids that are not taken, from `first_vlan` up."""
    free = (v for v in count(first_vlan) if v not in taken)
    return dict(zip(vlans, free, strict=False))


def ids_clash(before: FabricState, after: FabricState, first_vlan: int) -> bool:
    """Return whether an id that `before` uses names something else in `after`, so that they cannot coexist.

    Ids below `first_vlan` are the operator's, and stay.
    """
    shared = owned(after) & {v for state in before.values() for v in state.vlans.tolist()}
    return any(v >= first_vlan and vlan_fingerprint(before, v) != vlan_fingerprint(after, v) for v in shared)


def new_numbers(before: FabricState, after: FabricState) -> dict[int, int]:
    """Return the id in `after` of each VLAN of `before` whose members and entries `after` also has."""
    known = {vlan_fingerprint(after, v): v for v in sorted(owned(after))}
    return {v: known[c] for v in sorted(owned(before)) if (c := vlan_fingerprint(before, v)) in known}


def owned(state: FabricState) -> set[int]:
    """Return the VLAN ids that tagloom owns on any switch."""
    return {v for switch in state.values() for v in switch.owned_vlans}


def vlan_fingerprint(state: FabricState, vlan: int) -> VlanFingerprint:
    """Return a VLAN without its number: each switch that has it, with the members and entries there."""
    return tuple((name, *_part(switch, vlan)) for name, switch in state.items() if vlan in switch.vlan_index)


def _part(switch: SwitchState, vlan: int) -> tuple[bytes, bytes]:
    rows = switch.entry_vlan == vlan
    entries = switch.entry_mac[rows].tobytes() + switch.entry_port[rows].tobytes()
    return switch.membership[switch.vlan_index[vlan]].tobytes(), entries


def with_numbers(name: str, state: SwitchState, number: dict[int, int]) -> SwitchState:
    """Return a switch's state with other VLAN ids; ids that `number` lacks stay.

    Raises PlanError if the switch has entries in a VLAN that it does not have.
    """
    absent = np.setdiff1d(state.entry_vlan, state.vlans)
    if len(absent):
        raise PlanError(
            "a state in which every static entry is in a VLAN of its switch",
            f"{name} has entries in VLAN {absent[0]}, which it does not have",
        )
    ids = np.array([number.get(v, v) for v in state.vlans.tolist()], np.int32)
    order = np.argsort(ids)
    lookup = np.arange(int(max(state.vlans.max(), state.pvid.max())) + 1, dtype=np.int32)
    lookup[state.vlans] = ids
    entry_vlan = lookup[state.entry_vlan]
    rows = np.lexsort((state.entry_port, state.entry_mac, entry_vlan))
    return replace(
        state,
        vlans=ids[order],
        vlan_names=tuple(state.vlan_names[i] for i in order.tolist()),
        membership=state.membership[order],
        pvid=lookup[state.pvid],
        entry_vlan=entry_vlan[rows],
        entry_mac=state.entry_mac[rows],
        entry_port=state.entry_port[rows],
    )
