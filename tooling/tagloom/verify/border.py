"""Prove that no frame of the fabric's VLANs crosses a port outside the fabric, at any line of a wave."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.lines import ENABLED, MEMBER, PVID, Lines
from tagloom.records.switch_state import Membership

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

_NO_LINES = Lines.of(())


def open_borders(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], transient_ports: Collection[tuple[str, int]]
) -> list[Finding]:
    """Return findings for ports of no link, host or transient port that are open in a tagloom VLAN at some line.

    New and removed devices are connected there, and nothing is known of the other end. One finding per switch.
    """
    found = []
    for s, switch in enumerate(fabric.switches):
        if not switch.up:
            continue
        state, sent = before[switch.name], lines.get(switch.name, _NO_LINES)
        inside = {*fabric.used_ports[s], *(port for name, port in transient_ports if name == switch.name)}
        outside = np.array([port for port in range(1, state.ports + 1) if port not in inside], np.int64)
        ours = _owned_at_some_line(state, sent)
        first = _in_vlans(state, ours)
        open_ = outside[(state.enabled & first)[outside - 1]].tolist()
        touched = np.intersect1d(outside, sent.port[np.isin(sent.cell, (ENABLED, MEMBER, PVID))])
        open_ += [port for port in touched.tolist() if _opens_at_some_line(state, sent, port, ours)]
        if open_:
            where = f"{switch.name}:{platforms.of(switch).port_name(min(open_))}"
            found.append(Finding(where, "shut, or in no VLAN of the fabric, at every line", "open in one at some line"))
    return found


def _owned_at_some_line(state: SwitchState, sent: Lines) -> NDArray[np.int64]:
    """Return the VLANs that are tagloom's at some line: those with its name, and those that lines create."""
    made = sent.vlan[(sent.cell == MEMBER) & ~np.isin(sent.vlan, state.vlans)]
    return np.union1d(np.array(state.owned_vlans, np.int64), made.astype(np.int64))


def _in_vlans(state: SwitchState, ours: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which ports are members of `ours` or classify frames to them, bool[P]."""
    members = (state.membership[np.isin(state.vlans, ours)] != Membership.NONE).any(axis=0)
    return np.asarray(members | np.isin(state.pvid, ours), np.bool_)


def _opens_at_some_line(state: SwitchState, sent: Lines, port: int, ours: NDArray[np.int64]) -> bool:
    """Return whether a port is open in one of the VLANs `ours` after some line."""
    rows = np.isin(state.vlans, ours) & (state.membership[:, port - 1] != Membership.NONE)
    member = set(state.vlans[rows].tolist())
    pvid, enabled = int(state.pvid[port - 1]), bool(state.enabled[port - 1])
    mine = np.flatnonzero(sent.port == port)
    known = set(ours.tolist())
    for position in np.unique(sent.position[mine]).tolist():
        for i in mine[sent.position[mine] == position].tolist():
            cell, vlan, value = int(sent.cell[i]), int(sent.vlan[i]), int(sent.value[i])
            if cell == ENABLED:
                enabled = value > 0
            elif cell == PVID:
                pvid = value
            elif cell == MEMBER and vlan in known:
                member = member | {vlan} if value else member - {vlan}
        if enabled and (member or pvid in known):
            return True
    return False
