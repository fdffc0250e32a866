"""Gather VLANs, members and static entries of a whole fabric as arrays, then make every switch's state of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

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
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric


@dataclass(slots=True)
class Draft:
    """Gather what a plan decides, switch by switch.

    members   switch -> VLAN -> port -> Membership
    pvid      int32[N, ports + 1], 0 where the plan leaves VLAN 1 as a dead PVID
    entries   blocks of (switch, vlan, mac, port) columns
    """

    fabric: Fabric
    members: list[dict[int, dict[int, Membership]]] = field(default_factory=list)
    pvid: NDArray[np.int32] = field(default_factory=lambda: np.zeros((0, 0), np.int32))
    entries: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint64], NDArray[np.int64]]] = field(
        default_factory=list
    )

    def __post_init__(self) -> None:
        self.members = [{} for _ in self.fabric.switches]
        self.pvid = np.zeros((len(self.fabric.switches), max(self.fabric.ports) + 1), np.int32)

    def join(self, switch: int, vlan: int, port: int, how: Membership) -> None:
        """Make a port a member of a VLAN, which makes the VLAN."""
        self.members[switch].setdefault(vlan, {})[port] = how

    def states(self, *, tagged_links: bool) -> FabricState:
        """Make the state of every switch.

        Fabric ports go to general mode, leave VLAN 1, and filter what arrives; spanning tree goes off. Where frames
        travel tagged, ports of links take nothing else, so that a neighbour fallen back to factory default cannot
        reach into the fabric. A link that is wanted down is shut at both ends. Members of an aggregated link are in no
        VLAN of their own: were the group to fall apart, they would carry nothing.
        """
        fabric = self.fabric
        columns = [
            np.concatenate(column) if self.entries else np.empty(0) for column in zip(*self.entries, strict=True)
        ]
        if not self.entries:
            columns = [np.empty(0, np.int64)] * 4
        switch_of, vlan_of, mac_of, port_of = columns
        order = np.argsort(switch_of, kind="stable")
        bounds = np.searchsorted(switch_of[order], np.arange(len(fabric.switches) + 1))
        down = {
            (switch, port)
            for link in fabric.links
            if not link.up
            for a, b in ((link.a_port, link.b_port), *link.members)
            for switch, port in ((link.a, a), (link.b, b))
        }
        slow = {
            (switch, port): link.speed_mbps
            for link in fabric.links
            if link.speed_mbps in {10, 100}
            for a, b in link.cables
            for switch, port in ((link.a, a), (link.b, b))
        }
        lag = {
            (switch, port): channel
            for link in fabric.links
            for a, b in link.members
            for switch, port, channel in ((link.a, a, link.a_port), (link.b, b, link.b_port))
        }
        state: FabricState = {}
        for s, switch in enumerate(fabric.switches):
            rows = order[bounds[s] : bounds[s + 1]]
            rows = rows[np.lexsort((port_of[rows], mac_of[rows], vlan_of[rows]))]
            entry = (vlan_of[rows].astype(np.int32), mac_of[rows].astype(np.uint64), port_of[rows].astype(np.int32))
            state[switch.name] = self._state(s, entry, down, slow, lag, tagged_links=tagged_links)
        return state

    def _state(
        self,
        s: int,
        entry: tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]],
        down: set[tuple[int, int]],
        slow: dict[tuple[int, int], int],
        lag: dict[tuple[int, int], int],
        *,
        tagged_links: bool,
    ) -> SwitchState:
        fabric, ports, platform = self.fabric, self.fabric.ports[s], platforms.of(self.fabric.switches[s])
        vlans = [DEFAULT_VLAN, *sorted(self.members[s])]
        membership = np.zeros((len(vlans), ports), np.uint8)
        membership[0] = Membership.UNTAGGED
        for row, vlan in enumerate(vlans[1:], start=1):
            for port, how in self.members[s][vlan].items():
                membership[row, port - 1] = how
        used = np.array(fabric.used_ports[s], np.int64) - 1
        membership[0, used] = Membership.NONE
        mode = np.full(ports, PortMode.ACCESS, np.uint8)
        mode[used] = PortMode.GENERAL
        pvid = np.where(self.pvid[s, 1 : ports + 1] > 0, self.pvid[s, 1 : ports + 1], DEFAULT_VLAN)
        frames = np.full(ports, Frames.ALL, np.uint8)
        if tagged_links:
            frames[fabric.port_channel[s, 1 : ports + 1] >= 0] = Frames.TAGGED_ONLY
        enabled = np.array([(s, p) not in down for p in range(1, ports + 1)], np.bool_)
        speed = np.array([slow.get((s, p), 0) for p in range(1, ports + 1)], np.int32)
        flow = np.full(ports, FlowControl.OFF, np.uint8)
        cables = used[used < platform.physical_ports]
        everywhere = np.arange(ports)
        if fabric.flow_control:
            flow[everywhere if platform.at_once("flow_on") else cables] = FlowControl.ON
        eee = np.full(ports, platform.eee_at_factory, np.bool_)
        if fabric.eee is not None and platform.eee:
            eee[everywhere if platform.at_once("eee_on") else cables] = fabric.eee
        return SwitchState(
            vlans=np.array(vlans, np.int32),
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
            port_spanning_tree=np.ones(ports, np.bool_),
            lag=np.array([lag.get((s, p), 0) for p in range(1, ports + 1)], np.int32),
            entry_vlan=entry[0],
            entry_mac=entry[1],
            entry_port=entry[2],
            spanning_tree=False,
        )
