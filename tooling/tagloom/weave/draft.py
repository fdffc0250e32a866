"""Collect VLANs, members and static entries of a whole fabric as arrays, then convert them to the switches' states."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tagloom import platforms
from tagloom.records.switch_state import (
    DEFAULT_VLAN,
    OWNED_VLAN_NAME,
    FabricState,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchState,
)

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


Columns = tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]  # VLAN, MAC address, port
_Numbers = int | NDArray[np.integer]
_NONE: Columns = np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int32)


@dataclass(slots=True)
class Draft:
    """The decisions of a plan, switch by switch.

    members   blocks of rows int32[4, n]: switch, VLAN, port, Membership
    pvid      int32[N, ports + 1], 0 where the plan leaves VLAN 1 as a dead PVID (or none, if a port can have none)
    entries   switch -> blocks of (vlan, mac, port) columns, each ascending
    """

    fabric: Fabric
    members: list[NDArray[np.int32]] = field(default_factory=list)
    pvid: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    entries: list[list[Columns]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.entries = [[] for _ in self.fabric.switches]
        self.pvid = np.zeros((len(self.fabric.switches), max(self.fabric.ports) + 1), np.int32)

    def join(self, switch: _Numbers, vlan: _Numbers, port: _Numbers, how: Membership | NDArray[np.integer]) -> None:
        """Make ports members of VLANs, which creates the VLANs."""
        self.members.append(np.stack(np.broadcast_arrays(switch, vlan, port, how)).astype(np.int32))

    def enter(self, switch: int, vlan: NDArray[np.integer], mac: NDArray[np.uint64], port: NDArray[np.integer]) -> None:
        """Add a block of static entries of one switch, ascending; those for uplinks without an address are left out."""
        if len(self.fabric.uplinks):
            named = mac > 0
            vlan, mac, port = vlan[named], mac[named], port[named]
        self.entries[switch].append((vlan.astype(np.int32), mac, port.astype(np.int32)))

    def states(self, *, tagged_links: bool) -> FabricState:
        """Return the state of every switch.

        Fabric ports are in general mode, leave VLAN 1, and filter on ingress; where the family has hosts on access
        ports, those with one untagged VLAN are such. Spanning tree is off on the switch or, if the fabric says so, on
        the fabric's ports alone: BPDUs that arrive there are to be dropped. If frames travel tagged,
        ports of links accept nothing else, so that a neighbour back at factory default cannot reach into the fabric.
        Ports of hosts accept untagged frames only, if the family can express that: frames that a host tagged itself
        would follow trees of other sources, and close dependency cycles there. Those that carry a network tagged accept
        tags, and only these where they carry none untagged. A link that is wanted down is shut at both ends; a dead one
        is enabled and in no VLAN. Members of an aggregated link are in no VLAN of their own: if the group falls apart,
        they carry nothing.
        """
        fabric = self.fabric
        shape = len(fabric.switches), max(fabric.ports) + 1
        enabled, speed = np.ones(shape, np.bool_), np.zeros(shape, np.int32)
        lag = np.zeros(shape, np.int32)
        for link in fabric.links:
            for port in ((link.a_port, link.b_port), *link.members):
                enabled[link.a, port[0]] = enabled[link.b, port[1]] = link.up or link.dead
            for port in link.cables if link.speed_mbps in {10, 100} else ():
                speed[link.a, port[0]] = speed[link.b, port[1]] = link.speed_mbps
            for port in link.members:
                lag[link.a, port[0]], lag[link.b, port[1]] = link.a_port, link.b_port
        rows = np.concatenate([np.empty((4, 0), np.int32), *self.members], axis=1)
        rows = rows[:, np.argsort(rows[0], kind="stable")]
        bounds = np.searchsorted(rows[0], np.arange(len(fabric.switches) + 1))
        state: FabricState = {}
        for s, switch in enumerate(fabric.switches):
            ports = slice(1, fabric.ports[s] + 1)
            state[switch.name] = self._state(
                s,
                rows[1:, bounds[s] : bounds[s + 1]],
                (enabled[s, ports], speed[s, ports], lag[s, ports]),
                tagged_links=tagged_links,
            )
        return state

    def _entries(self, s: int) -> Columns:
        blocks = self.entries[s]
        if len(blocks) == 1:
            return blocks[0]
        vlan, mac, port = (np.concatenate(column) for column in zip(*blocks, strict=True)) if blocks else _NONE
        order = np.lexsort((port, mac, vlan))
        return vlan[order], mac[order], port[order]

    def _state(
        self,
        s: int,
        members: NDArray[np.int32],
        wanted: tuple[NDArray[np.bool_], NDArray[np.int32], NDArray[np.int32]],
        *,
        tagged_links: bool,
    ) -> SwitchState:
        fabric, ports, platform = self.fabric, self.fabric.ports[s], platforms.of(self.fabric.switches[s])
        enabled, speed, lag = wanted
        vlan, port, how = members
        vlans = np.append(np.int32(DEFAULT_VLAN), np.unique(vlan))
        membership = np.zeros((len(vlans), ports), np.uint8)
        membership[0] = Membership.UNTAGGED
        membership[np.searchsorted(vlans, vlan), port - 1] = how
        used = np.array(fabric.used_ports[s], np.int64) - 1
        membership[0, used] = Membership.NONE
        mode = np.full(ports, PortMode.ACCESS, np.uint8)
        mode[used] = PortMode.GENERAL
        if platform.hosts_on_access:
            alone = (membership > Membership.NONE).sum(axis=0) == 1
            mode[alone & (self.pvid[s, 1 : ports + 1] > 0)] = PortMode.ACCESS
        pvid = np.where(self.pvid[s, 1 : ports + 1] > 0, self.pvid[s, 1 : ports + 1], DEFAULT_VLAN)
        frames = np.full(ports, Frames.ALL, np.uint8)
        if platform.pvid_is_membership:
            pvid[used] = self.pvid[s, used + 1]  # DISCARD_PVID if the plan sets none: no PVID, no untagged frames
        elif tagged_links:
            frames[fabric.port_channel[s, 1 : ports + 1] >= 0] = Frames.TAGGED_ONLY
        if platform.refuses_tagged:
            frames[fabric.port_host[s, 1 : ports + 1] >= 0] = Frames.UNTAGGED_ONLY
        for (at, port), hosts in fabric.tagged_hosts.items():
            if at == s:
                frames[port - 1] = Frames.ALL if 0 in hosts or platform.pvid_is_membership else Frames.TAGGED_ONLY
        entry, outside = self._entries(s), fabric.spanning_tree == "outside"
        spans = np.ones(ports, np.bool_)
        spans[used] = not outside
        flow = np.full(ports, FlowControl.OFF, np.uint8)
        cables = used[used < platform.physical_ports]
        everywhere = np.arange(ports)
        if fabric.flow_control:
            flow[everywhere if platform.at_once("flow_on") else cables] = FlowControl.ON
        eee = np.full(ports, platform.eee_at_factory, np.bool_)
        if fabric.eee is not None and platform.eee:
            eee[everywhere if platform.at_once("eee_on") else cables] = fabric.eee
        everyone = np.ones(ports, np.bool_)
        return SwitchState(
            vlans=vlans,
            vlan_names=("", *[OWNED_VLAN_NAME] * (len(vlans) - 1)),
            membership=membership,
            mode=mode,
            pvid=pvid.astype(np.int32),
            ingress_filter=np.ones(ports, np.bool_),
            frames=frames,
            enabled=enabled,
            negotiation=speed == 0,
            speed_mbps=speed,
            flow_control=flow,
            eee=eee,
            port_spanning_tree=spans,
            lag=lag,
            flooding=everyone,
            learning=everyone,
            entry_vlan=entry[0],
            entry_mac=entry[1],
            entry_port=entry[2],
            spanning_tree=outside,
            bpdu_filtering=outside and platform.tells_bpdus,
        )
