"""Reject waves in which something outside the model of a wave may affect frames, and name it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.records.lines import (
    ENABLED,
    ENTRY,
    FLOODING,
    FLOW_CONTROL,
    LEARNING,
    MEMBER,
    MODE,
    PORT_SPANNING_TREE,
    PVID,
    SPANNING_TREE,
    Lines,
    port_bits,
)
from tagloom.records.switch_state import DEFAULT_VLAN, FlowControl, Membership
from tagloom.verify.confined import known_addresses, stray_entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import ProofAssumptions
    from tagloom.verify.confined import KnownAddresses

_NO_LINES = Lines.of(())


def guard(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], assumptions: ProofAssumptions
) -> list[Finding]:
    """Return findings for what may affect frames at some line but is not in the model, one per port or switch.

    spanning tree   blocks and opens ports by messages that are not followed: it must run on no port of the fabric,
                    unless `assumptions.spanning` says that whoever composed the wave knows the ports it blocks
    mode            changes a port's membership by rules of the switch model, unless the port is shut, or is in VLAN 1
                    alone, untagged, as in every mode's default
    flow control    under `assumptions.lossy` no port of a link may send PAUSE at any line
    learning        what was learned at a port, perhaps minutes ago, leads frames there even if the port floods nothing:
                    it learns at every line or at none, unless it is shut, and one that learns always floods
    stray entries   entries for addresses of no host of the VLAN's network are not followed; none may lead to a port
                    that floods nothing at some line
    """
    found: list[Finding] = []
    known = known_addresses(fabric, before, lines)
    mine = np.concatenate([fabric.cables[:, 1:3], fabric.cables[:, 3:5]])
    mine = mine[np.argsort(mine[:, 0], kind="stable")]
    first = np.searchsorted(mine[:, 0], np.arange(len(fabric.switches) + 1)).tolist()
    for s, switch in enumerate(fabric.switches):
        if not switch.up:
            continue
        platform, state = platforms.of(switch), before[switch.name]
        sent = lines.get(switch.name, _NO_LINES)
        used = np.array(fabric.used_ports[s], np.int64)

        def at(ports: NDArray[np.integer], platform: platforms.Platform = platform, name: str = switch.name) -> str:
            return f"{name}:{platform.port_name(int(ports[0]))}"

        if not assumptions.spanning and len(running := _spanning(state, sent, used)):
            found.append(Finding(f"{at(running)} spanning-tree", "off in every state of a wave", "on at some line"))
        if len(turned := np.fromiter(_modes(state, sent, used, plain=not platform.pvid_is_membership), np.int64)):
            found.append(Finding(f"{at(turned)} mode", "the same in every state of a wave", "another at some line"))
        if len(learning := np.fromiter(_learning(state, sent, used), np.int64)):
            expected = "the same at every line, and none where the port floods nothing at some line"
            found.append(Finding(f"{at(learning)} learning", expected, "another, or both"))
        if _strays(known, state, sent):
            expected = "addresses of hosts of their VLAN's network, where a port floods nothing at some line"
            found.append(Finding(f"{switch.name} static entries", expected, "one of no host there"))
        cables = mine[first[s] : first[s + 1], 1]
        if assumptions.lossy and len(pausing := _pausing(state, sent, cables)):
            found.append(Finding(f"{at(pausing)} flow-control", "off where nothing may wait", "on at some line"))
    return found


def _spanning(state: SwitchState, sent: Lines, used: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the used ports that take part in a spanning tree at some line."""
    if not (state.spanning_tree or (sent.value[sent.cell == SPANNING_TREE] > 0).any()):
        return used[:0]
    joined = sent.port[(sent.cell == PORT_SPANNING_TREE) & (sent.value > 0)]
    return used[state.port_spanning_tree[used - 1] | np.isin(used, joined)]


def _modes(state: SwitchState, sent: Lines, used: NDArray[np.int64], *, plain: bool) -> Iterator[int]:
    """Yield the used ports whose mode changes while frames may pass; `plain`: VLAN 1 is the same in every mode."""
    row = state.vlan_index[DEFAULT_VLAN]
    for i in np.flatnonzero((sent.cell == MODE) & np.isin(sent.port, used)).tolist():
        port = int(sent.port[i])
        earlier = (sent.port == port) & (sent.position <= sent.position[i])
        if not state.enabled[port - 1] and not (earlier & (sent.cell == ENABLED)).any():
            continue
        members = np.flatnonzero(state.membership[:, port - 1])
        alone = members.tolist() == [row] and state.membership[row, port - 1] == Membership.UNTAGGED
        changed = (earlier & np.isin(sent.cell, (MEMBER, PVID))).any()
        if not (plain and alone and state.pvid[port - 1] == DEFAULT_VLAN and not changed):
            yield port


def _learning(state: SwitchState, sent: Lines, used: NDArray[np.int64]) -> Iterator[int]:
    """Yield the used ports that begin or end to learn while frames may pass, or learn and cease to flood."""
    for cell in (LEARNING, FLOODING):
        for i in np.flatnonzero((sent.cell == cell) & np.isin(sent.port, used)).tolist():
            port = int(sent.port[i])
            opened = (sent.port == port) & (sent.position <= sent.position[i]) & (sent.cell == ENABLED)
            shut = not state.enabled[port - 1] and not opened.any()
            if not shut and (cell == LEARNING or state.learning[port - 1]):
                yield port
    for port in used[state.learning[used - 1] & ~state.flooding[used - 1]].tolist():
        yield port


def _strays(known: KnownAddresses, state: SwitchState, sent: Lines) -> bool:
    """Return whether an entry leads frames that are not followed to a port that floods nothing at some line."""
    flooding = state.flooding.copy()
    flooding[sent.port[(sent.cell == FLOODING) & (sent.value == 0)] - 1] = False
    if flooding.all():
        return False
    if stray_entries(known, replace(state, flooding=flooding)).any():
        return True
    quiet = np.uint64(port_bits((np.flatnonzero(~flooding) + 1).tolist()))
    set_ = sent.cell == ENTRY
    unknown = ~known.holds(sent.vlan[set_], sent.mac[set_])
    return bool((unknown & (sent.value[set_] & quiet > 0)).any())


def _pausing(state: SwitchState, sent: Lines, ports: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return those of `ports` that may send PAUSE at some line."""
    requested = sent.port[(sent.cell == FLOW_CONTROL) & (sent.value != FlowControl.OFF)]
    sending = np.flatnonzero(state.flow_control != FlowControl.OFF) + 1
    return np.intersect1d(ports, np.concatenate([requested, sending]))
