"""Find dependency cycles that the fabric's own frames and foreign ones close in some interleaving of a wave's lines.

Foreign frames are followed as the fabric's own are (see `wave`): at each switch over all positions of its lines. So the
dependencies found are those of all interleavings and of frames in transit, and each occurs in one, as theorem 1 has it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle
from tagloom.platforms.port_names import channel_name
from tagloom.records.lines import ENABLED, FLOW_CONTROL, INGRESS_FILTER, LAG, MEMBER, Lines
from tagloom.records.switch_state import FlowControl, Membership
from tagloom.units import format_ranges
from tagloom.verify.foreign import paused_channels
from tagloom.verify.interleaving import NOWHERE, interleaving, without_blocked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.records.wave_proof import ProofAssumptions
    from tagloom.verify.interleaving import InterleavingModel

    Edges = tuple[NDArray[np.int64], NDArray[np.int64]]
    Place = tuple[int, int]
    Follow = Callable[[InterleavingModel, NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]], Edges]

_NO_LINES = Lines.of(())
_NONE = np.empty(0, np.int64), np.empty(0, np.int64)


def waiting_in_wave(
    fabric: Fabric,
    before: FabricState,
    lines: Mapping[str, Lines],
    own: Edges,
    assumptions: ProofAssumptions,
    follow: Follow,
    own_before: Callable[[], Edges],
) -> list[Finding]:
    """Return a finding for a dependency cycle that arises only with foreign frames, all of whose channels pause.

    `own` are the dependencies of the fabric's own frames at all lines, acyclic by themselves; `own_before` returns
    those of the state before alone. A cycle that is there before the wave is no finding: the wave may be what ends it,
    and the state after it is judged by itself. A port counts as pausing if it sends PAUSE at some line: flow control is
    set alike on all ports of a fabric, so those that pause do so together before the wave or after it.
    """
    paused = paused_channels(fabric, _ever_pausing(before, lines))
    if not paused.any():
        return []
    foreign = _foreign(fabric, before, lines, assumptions, follow)
    cycle = _waiting_cycle(fabric, own, foreign.edges(), paused) if foreign is not None else []
    if not cycle or foreign is None:
        return []
    if any(len(sent) for sent in lines.values()):
        earlier = _foreign(fabric, before, {}, assumptions, follow)
        now = paused_channels(fabric, before)
        if earlier is not None and _waiting_cycle(fabric, own_before(), earlier.edges(), now):
            return []
    vlans = format_ranges(foreign.vlans_on(cycle, own))
    expected = "no dependency cycle with the fabric's own frames in any interleaving of the wave's lines"
    return [Finding(f"VLAN {vlans}, of others", expected, "; ".join(channel_name(fabric, c) for c in cycle))]


def waiting_in_state(fabric: Fabric, state: FabricState, assumptions: ProofAssumptions, follow: Follow) -> Edges:
    """Return the dependencies of foreign frames between channels that pause in a state, as (held, wanted)."""
    paused = paused_channels(fabric, state)
    foreign = _foreign(fabric, state, {}, assumptions, follow) if paused.any() else None
    held, wanted = foreign.edges() if foreign is not None else _NONE
    waits = paused[wanted]
    return held[waits], wanted[waits]


class _Foreign:
    """What enters a fabric by ports outside it, and where it leads.

    switch, port, node  int32[F], where frames enter, and the node that their tag names, NOWHERE if they have none
    """

    def __init__(self, net: InterleavingModel, places: NDArray[np.int64], follow: Follow) -> None:
        self._net, self._follow = net, follow
        s, port = places
        let_in = _unfiltered(net)[s * net.width + port]
        bit = np.uint64(1) << (port - 1).astype(np.uint64)
        first = np.searchsorted(net.node_switch, s)
        count = np.searchsorted(net.node_switch, s, side="right") - first
        which = np.repeat(np.arange(len(s)), count)
        node = np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count) + first[which]
        members = net.ever_tagged[node] | net.ever_untagged[node]
        kept = let_in[which] | (members & bit[which] > 0)
        which, node = which[kept], node[kept]
        self.switch = np.concatenate([s, s[which]]).astype(np.int32)
        self.port = np.concatenate([port, port[which]]).astype(np.int32)
        self.node = np.concatenate([np.full(len(s), NOWHERE), node]).astype(np.int32)

    def edges(self, entering: NDArray[np.bool_] | None = None) -> Edges:
        """Return the dependencies of all frames that enter, or of those that `entering` masks."""
        each = (self.switch, self.port, self.node)
        return self._follow(self._net, *(column if entering is None else column[entering] for column in each))

    def vlans_on(self, cycle: list[int], own: Edges) -> list[int]:
        """Return the VLANs, ascending, in which frames enter that close a cycle with the fabric's own."""
        steps = set(zip(cycle, [*cycle[1:], cycle[0]], strict=True)) - set(_pairs(own))
        net, place = self._net, self.switch * np.int64(self._net.width) + self.port
        found = []
        for vlan in np.unique(net.node_vlan).tolist():
            named = np.add.reduceat(net.port_pvid == vlan, net.port_lo[:-1])[place] > 0
            entering = np.where(self.node == NOWHERE, named, net.node_vlan[self.node] == vlan)
            if entering.any() and steps.intersection(_pairs(self.edges(entering))):
                found.append(vlan)
        return found


def _foreign(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], assumptions: ProofAssumptions, follow: Follow
) -> _Foreign | None:
    """Return what enters by ports outside the fabric, None if none of it can leave by a link.

    Ports of hosts that come or go are left out: their frames are among the fabric's own. Static entries are ignored,
    and what ports flood: an entry leads to members of its VLAN alone.
    """
    places = _entrances(fabric, before, lines, assumptions)
    if not len(places):
        return None
    net = without_blocked(fabric, interleaving(fabric, before, lines, entries=False), assumptions.blocked)
    everywhere = np.full(len(net.floods_at_first), ~np.uint64(0))
    net = net._replace(floods_at_first=everywhere, port_floods=np.ones_like(net.port_floods))
    return _Foreign(net, np.array(places, np.int64).T, follow)


def _entrances(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], assumptions: ProofAssumptions
) -> list[Place]:
    """Return (switch index, port) of the ports outside the fabric that are open at some line.

    None, if at no switch a VLAN that they may enter has a port of a link at some line: then no frame gets anywhere.
    """
    hosts = assumptions.transient_ports | {(name, port) for name, port, _, _ in assumptions.transient_tags}
    found: list[Place] = []
    leads_on = False
    for s, switch in enumerate(fabric.switches):
        if not switch.up:
            continue
        held, sent = before[switch.name], lines.get(switch.name, _NO_LINES)
        outside = _ever_open(held, sent, platforms.load(switch.model).physical_ports)
        outside[[port - 1 for port in fabric.used_ports[s]]] = False
        outside[[port - 1 for name, port in hosts if name == switch.name]] = False
        ports = np.flatnonzero(outside)
        if not len(ports):
            continue
        found += [(s, port + 1) for port in ports.tolist()]
        linked = _ever_in(held, sent, fabric.port_channel[s, 1 : held.ports + 1] >= 0)
        unfiltered = ~held.ingress_filter
        unfiltered[sent.port[(sent.cell == INGRESS_FILTER) & (sent.value == 0)] - 1] = True
        leads_on |= bool(linked if unfiltered[ports].any() else linked & _ever_in(held, sent, outside))
    return found if leads_on else []


def _ever_open(held: SwitchState, sent: Lines, physical: int) -> NDArray[np.bool_]:
    """Return which ports may be open at some line, bool[P]: of port-channels those with some member."""
    enabled, bound = held.enabled.copy(), set(held.lag[held.lag > 0].tolist())
    enabled[sent.port[(sent.cell == ENABLED) & (sent.value > 0)] - 1] = True
    bound |= set(sent.value[(sent.cell == LAG) & (sent.value > 0)].tolist())
    enabled[physical:] &= np.isin(np.arange(physical + 1, held.ports + 1), list(bound))
    return enabled


def _ever_in(held: SwitchState, sent: Lines, ports: NDArray[np.bool_]) -> set[int]:
    """Return the VLANs that some of `ports`, bool[P], are in at some line."""
    joined = (sent.cell == MEMBER) & (sent.value != Membership.NONE)
    joined &= np.append(False, ports)[sent.port]
    inside = (held.membership[:, ports] != Membership.NONE).any(axis=1)
    return {*held.vlans[inside].tolist(), *sent.vlan[joined].tolist()}


def _unfiltered(net: InterleavingModel) -> NDArray[np.bool_]:
    """Return by place which ports take frames of VLANs that they are not in at some line."""
    open_: NDArray[np.bool_] = np.logical_or.reduceat(~net.port_filter, net.port_lo[:-1])
    return open_


def _ever_pausing(before: FabricState, lines: Mapping[str, Lines]) -> FabricState:
    """Return `before` with flow control on wherever it is on at some line."""
    found = dict(before)
    for name, sent in lines.items():
        on = (sent.cell == FLOW_CONTROL) & (sent.value != FlowControl.OFF)
        if on.any():
            flow = before[name].flow_control.copy()
            flow[sent.port[on] - 1] = FlowControl.ON
            found[name] = replace(before[name], flow_control=flow)
    return found


def _waiting_cycle(fabric: Fabric, own: Edges, foreign: Edges, paused: NDArray[np.bool_]) -> list[int]:
    """Return a cycle of the dependencies between channels that pause, [] if there is none."""
    held, wanted = (np.concatenate(each) for each in zip(own, foreign, strict=True))
    waits = paused[wanted]
    return find_cycle(len(fabric.tail), held[waits], wanted[waits])


def _pairs(edges: Edges) -> list[tuple[int, int]]:
    return list(zip(edges[0].tolist(), edges[1].tolist(), strict=True))
