"""Combine path sets in the switches: add one beside another, remove one, point hosts at one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.records.carrier import links_on
from tagloom.records.switch_state import FlowControl, Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric, Switch
    from tagloom.records.switch_state import FabricState, SwitchState

# Settings of a link's port whose change may take the link down for a moment: names of cells, and columns of a state.
RETRAINING = {"speed": "speed_mbps", "negotiation": "negotiation", "flow-control": "flow_control", "eee": "eee"}
LINK_CELLS = RETRAINING | {"lag": "lag"}  # and its port-channel


def beside(state: SwitchState, layer: SwitchState, vlans: Collection[int]) -> SwitchState:
    """Return `state` with those of `vlans` that only `layer` has: names, members and static entries."""
    rows = [row for row, v in enumerate(layer.vlans.tolist()) if v in vlans and v not in state.vlan_index]
    if not rows:
        return state
    ids = np.concatenate([state.vlans, layer.vlans[rows]])
    order = np.argsort(ids)
    names = [*state.vlan_names, *(layer.vlan_names[row] for row in rows)]
    mine = np.isin(layer.entry_vlan, layer.vlans[rows])
    vlan = np.concatenate([state.entry_vlan, layer.entry_vlan[mine]])
    by_vlan = np.argsort(vlan, kind="stable")  # the rows of a VLAN all come from one of the two, in order
    return replace(
        state,
        vlans=ids[order],
        vlan_names=tuple(names[i] for i in order.tolist()),
        membership=np.concatenate([state.membership, layer.membership[rows]])[order],
        entry_vlan=vlan[by_vlan],
        entry_mac=np.concatenate([state.entry_mac, layer.entry_mac[mine]])[by_vlan],
        entry_port=np.concatenate([state.entry_port, layer.entry_port[mine]])[by_vlan],
    )


def without(state: SwitchState, vlans: Collection[int]) -> SwitchState:
    """Return `state` without these VLANs, their members and static entries; PVIDs stay as they are."""
    keep = np.array([v not in vlans for v in state.vlans.tolist()], np.bool_)
    if keep.all():
        return state
    entries = np.isin(state.entry_vlan, state.vlans[keep])
    return replace(
        state,
        vlans=state.vlans[keep],
        vlan_names=tuple(name for name, kept in zip(state.vlan_names, keep.tolist(), strict=True) if kept),
        membership=state.membership[keep],
        entry_vlan=state.entry_vlan[entries],
        entry_mac=state.entry_mac[entries],
        entry_port=state.entry_port[entries],
    )


def hosts_to(fabric: Fabric, state: FabricState, target: FabricState, hosts: NDArray[np.bool_]) -> FabricState:
    """Return `state` with the PVIDs that `target` has on the ports of `hosts`, a mask."""
    changed: FabricState = dict(state)
    for s in np.unique(fabric.host_switch[hosts]).tolist():
        name = fabric.switches[s].name
        at = fabric.host_port[hosts & (fabric.host_switch == s)] - 1
        changed[name] = with_cells(state[name], target[name], at, ("pvid",))
    return changed


def with_cells(
    state: SwitchState, target: SwitchState, at: NDArray[np.integer] | list[int], cells: Collection[str]
) -> SwitchState:
    """Return `state` with the named cells of `target` on some ports (port n is n - 1)."""
    values = {}
    for name in cells:
        column = getattr(state, name).copy()
        column[at] = getattr(target, name)[at]
        values[name] = column
    return replace(state, **values)


def link_ports(fabric: Fabric, s: int) -> NDArray[np.int64]:
    """Return a switch's ports with links, as indices from 0; a dead switch has none."""
    if not fabric.switches[s].up:
        return np.empty(0, np.int64)
    return np.flatnonzero(fabric.port_channel[s, 1 : fabric.ports[s] + 1] >= 0)


def ends_of(fabric: Fabric, links: NDArray[np.bool_]) -> dict[int, NDArray[np.int64]]:
    """Return by switch the ports at the ends of links, from 0: of an aggregated one its port-channel and members."""
    mine = fabric.cables[links[fabric.cables[:, 0]]]
    channels = np.flatnonzero(np.repeat(links, 2))
    switch = np.concatenate([mine[:, 1], mine[:, 3], fabric.tail[channels]])
    port = np.concatenate([mine[:, 2], mine[:, 4], fabric.tail_port[channels]]).astype(np.int64)
    order = np.argsort(switch, kind="stable")
    switches, starts = np.unique(switch[order], return_index=True)
    parts = np.split(port[order], starts[1:])
    return {s: np.unique(ports) - 1 for s, ports in zip(switches.tolist(), parts, strict=False)}


def leaving(fabric: Fabric, state: FabricState, how: Membership = Membership.UNTAGGED) -> NDArray[np.bool_]:
    """Return on which channels frames of tagloom's VLANs leave untagged (or tagged, by `how`), bool[C]."""
    ports = np.zeros((len(fabric.switches), max(fabric.ports, default=0) + 1), np.bool_)
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        rows = [held.vlan_index[v] for v in held.owned_vlans]
        ports[s, 1 : held.ports + 1] = held.enabled & np.any(held.membership[rows] == how, axis=0)
    return ports[fabric.tail, fabric.tail_port]


def bouncing(switch: Switch) -> tuple[str, ...]:
    """Return the columns of a state whose change takes a port's link down for a moment."""
    cells = platforms.of(switch).bounces
    return tuple(column for cell, column in LINK_CELLS.items() if cell in cells)


def retrained(fabric: Fabric, before: FabricState, after: FabricState) -> NDArray[np.bool_]:
    """Return which links stay on but change a setting at an end that takes them down for a moment, bool[L]."""
    differ = np.zeros((len(fabric.switches), max(fabric.ports, default=0) + 1), np.bool_)
    for s, switch in enumerate(fabric.switches):
        old, new = before[switch.name], after[switch.name]
        for name in bouncing(switch):
            differ[s, 1 : old.ports + 1] |= getattr(old, name) != getattr(new, name)
    link, a, a_port, b, b_port = fabric.cables.T
    at = np.bincount(link[differ[a, a_port] | differ[b, b_port]], minlength=len(fabric.links)) > 0
    at |= (differ[fabric.tail, fabric.tail_port] | differ[fabric.head, fabric.head_port])[0::2]
    return at & links_on(fabric, before) & links_on(fabric, after)


def with_links_of_both(before: FabricState, after: FabricState) -> FabricState:
    """Return `after` with the ports open that are open in `before`."""
    return {
        name: replace(held, enabled=held.enabled | before[name].enabled)
        if not np.array_equal(held.enabled, before[name].enabled)
        else held
        for name, held in after.items()
    }


def taking_all(state: SwitchState, at: NDArray[np.integer]) -> SwitchState:
    """Return `state` with tagged and untagged frames accepted on some ports."""
    frames = state.frames.copy()
    frames[at] = Frames.ALL
    return replace(state, frames=frames)


def unpausing(fabric: Fabric, state: FabricState) -> FabricState:
    """Return `state` with flow control off on all links; on all ports if one line sets all."""
    changed: FabricState = dict(state)
    ends = ends_of(fabric, np.ones(len(fabric.links), np.bool_))
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        at = np.arange(held.ports) if platforms.of(switch).at_once("flow_on") else ends.get(s, np.arange(0))
        flow = held.flow_control.copy()
        flow[at] = FlowControl.OFF
        if not np.array_equal(flow, held.flow_control):
            changed[switch.name] = replace(held, flow_control=flow)
    return changed
