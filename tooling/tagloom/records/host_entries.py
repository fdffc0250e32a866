"""Repeat static entries of hosts for all addresses that are at their ports, or leave out those of some addresses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState


def with_all_addresses(fabric: Fabric, state: FabricState) -> FabricState:
    """Return states in which every address at a host's port has the entries that the host's own address has."""
    if not fabric.also:
        return state
    own = np.array(list(fabric.also), np.uint64)
    return {
        name: with_copied_entries(held, np.flatnonzero(np.isin(held.entry_mac, own)), fabric.also)
        for name, held in state.items()
    }


def with_copied_entries(
    state: SwitchState, rows: NDArray[np.int64], also: Mapping[int, tuple[int, ...]]
) -> SwitchState:
    """Return a state with these rows of its entries again for other addresses: those that `also` names for each."""
    if not len(rows):
        return state
    addresses = [also[mac] for mac in state.entry_mac[rows].tolist()]
    rows = np.repeat(rows, [len(macs) for macs in addresses])
    vlan = np.append(state.entry_vlan, state.entry_vlan[rows])
    mac = np.append(state.entry_mac, np.array([mac for macs in addresses for mac in macs], np.uint64))
    port = np.append(state.entry_port, state.entry_port[rows])
    by = np.lexsort((port, mac, vlan))
    return replace(state, entry_vlan=vlan[by], entry_mac=mac[by], entry_port=port[by])


def without_entries(state: FabricState, macs: Collection[int]) -> FabricState:
    """Return states without the static entries of some addresses."""
    if not macs:
        return state
    gone, found = np.array(sorted(macs), np.uint64), dict(state)
    for name, held in state.items():
        kept = ~np.isin(held.entry_mac, gone)
        columns = {each: getattr(held, each)[kept] for each in ("entry_vlan", "entry_mac", "entry_port")}
        found[name] = replace(held, **columns)
    return found
