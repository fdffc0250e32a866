"""A switch's forwarding state, vendor-neutral: VLANs, ports, static entries, spanning tree, aging."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from enum import IntEnum
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

DEFAULT_VLAN = 1
BROADCAST = 0xFFFF_FFFF_FFFF
MAX_VLAN = 4094  # IEEE 802.1Q-2018, 9.6: 0 and 4095 are reserved
DISCARD_PVID = 0  # untagged frames are dropped (ROS writes it as PVID 4095)
DEFAULT_AGING_SECONDS = 300  # IEEE 802.1Q-2018, table 8-6
OWNED_VLAN_NAME = "tagloom"  # prefix of the names of tagloom's VLANs; no other VLAN is ever changed


class PortMode(IntEnum):
    """The VLAN mode of a port; its PVID and memberships are kept in every mode."""

    ACCESS = 0
    GENERAL = 1
    TRUNK = 2


class Frames(IntEnum):
    """Which arriving frames a port takes (acceptable frame types, IEEE 802.1Q-2018, 6.9)."""

    ALL = 0
    TAGGED_ONLY = 1
    UNTAGGED_ONLY = 2


class FlowControl(IntEnum):
    """IEEE 802.3 annex 31B PAUSE on a port."""

    OFF = 0
    ON = 1
    AUTO = 2


class Membership(IntEnum):
    """A port's membership in a VLAN: none, or with frames leaving untagged or tagged."""

    NONE = 0
    UNTAGGED = 1
    TAGGED = 2


@dataclass(frozen=True, slots=True)
class PortView:
    """A read-only view of one port of a SwitchState; `untagged` and `tagged` are ascending VLAN ids."""

    number: int
    mode: PortMode
    pvid: int
    untagged: tuple[int, ...]
    tagged: tuple[int, ...]
    ingress_filter: bool
    frames: Frames
    enabled: bool
    negotiation: bool
    speed_mbps: int
    flow_control: FlowControl
    eee: bool
    spanning_tree: bool
    lag: int
    flooding: bool
    learning: bool


@dataclass(frozen=True, eq=False)
class SwitchState:
    """The complete forwarding state of one switch, shared by all packages of tagloom.

    With P ports (port number n is index n - 1; port-channels are ports, numbered after the physical ones), V VLANs and
    E static entries. A member of a port-channel forwards by the port-channel's settings, not by its own:

    vlans           int32[V], ascending ids, VLAN 1 always among them
    vlan_names      V names, "" if the switch's own default holds
    membership      uint8[V, P] of Membership
    mode            uint8[P] of PortMode
    pvid            int32[P], 0 = untagged frames are dropped
    ingress_filter  bool[P], drop frames of VLANs the port is no member of (802.1Q-2018, 8.6.2)
    frames          uint8[P] of Frames
    enabled         bool[P], not shut down
    negotiation     bool[P], auto-negotiation
    speed_mbps      int32[P], forced (negotiation off) or the highest advertised; 0 = the port's own best
    flow_control    uint8[P] of FlowControl
    eee             bool[P], IEEE 802.3az low power idle
    port_spanning_tree  bool[P], the port takes part when spanning_tree is on
    lag             int32[P], the port number of the port-channel a port is a static member of, 0 = none (802.1AX)
    flooding        bool[P], frames that no entry leads leave by the port: unknown unicasts, multicasts and broadcasts
    learning        bool[P], the addresses of frames that arrive there are learned
    entry_vlan int32[E], entry_mac uint64[E], entry_port int32[E]
                    static MAC entries, ascending by (vlan, mac, port); rows with one (vlan, mac) are a group entry
    spanning_tree   bool; aging_seconds int
    bpdu_filtering  bool, BPDUs are dropped, not passed on, while spanning tree is off
    """

    vlans: NDArray[np.int32]
    vlan_names: tuple[str, ...]
    membership: NDArray[np.uint8]
    mode: NDArray[np.uint8]
    pvid: NDArray[np.int32]
    ingress_filter: NDArray[np.bool_]
    frames: NDArray[np.uint8]
    enabled: NDArray[np.bool_]
    negotiation: NDArray[np.bool_]
    speed_mbps: NDArray[np.int32]
    flow_control: NDArray[np.uint8]
    eee: NDArray[np.bool_]
    port_spanning_tree: NDArray[np.bool_]
    lag: NDArray[np.int32]
    flooding: NDArray[np.bool_]
    learning: NDArray[np.bool_]
    entry_vlan: NDArray[np.int32]
    entry_mac: NDArray[np.uint64]
    entry_port: NDArray[np.int32]
    spanning_tree: bool = True
    aging_seconds: int = DEFAULT_AGING_SECONDS
    bpdu_filtering: bool = False

    def __post_init__(self) -> None:
        count, ports = len(self.vlans), len(self.mode)
        if self.membership.shape != (count, ports) or len(self.vlan_names) != count:
            raise ValueError("membership must be [VLANs, ports] and every VLAN must have a name")
        if count == 0 or self.vlans[0] != DEFAULT_VLAN or np.any(np.diff(self.vlans) <= 0):
            raise ValueError("VLAN ids must ascend and begin with VLAN 1, which cannot be deleted")
        if not len(self.entry_vlan) == len(self.entry_mac) == len(self.entry_port):
            raise ValueError("static entries must have a VLAN, a MAC address and a port each")
        rises = self.entry_port[1:] > self.entry_port[:-1]
        for key in (self.entry_mac, self.entry_vlan):
            rises = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & rises)
        if not rises.all():
            raise ValueError("static entries must ascend by (vlan, mac, port)")
        for each in fields(self):
            value = getattr(self, each.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SwitchState):
            return NotImplemented
        return all(
            np.array_equal(getattr(self, f.name), getattr(other, f.name))
            if isinstance(getattr(self, f.name), np.ndarray)
            else getattr(self, f.name) == getattr(other, f.name)
            for f in fields(self)
        )

    def __hash__(self) -> int:
        return hash((self.vlans.tobytes(), self.membership.tobytes(), self.pvid.tobytes(), self.entry_port.tobytes()))

    @property
    def ports(self) -> int:
        """Return the number of the switch's ports."""
        return len(self.mode)

    @cached_property
    def vlan_index(self) -> dict[int, int]:
        """Return each VLAN's row in `membership` by its id."""
        return {int(v): i for i, v in enumerate(self.vlans)}

    @cached_property
    def owned_vlans(self) -> tuple[int, ...]:
        """Return the VLANs that tagloom made, recognised by name."""
        named = zip(self.vlans.tolist(), self.vlan_names, strict=True)
        return tuple(vlan for vlan, name in named if name.startswith(OWNED_VLAN_NAME))

    def member(self, vlan: int, port: int) -> Membership:
        """Return the membership of port number `port` in `vlan`; a VLAN that does not exist has no members."""
        row = self.vlan_index.get(vlan)
        return Membership.NONE if row is None else Membership(int(self.membership[row, port - 1]))

    def entry(self, vlan: int, mac: int) -> tuple[int, ...]:
        """Return the ports of the static entry for (vlan, mac), ascending; () if there is none."""
        low = int(np.searchsorted(self.entry_vlan, vlan, "left"))
        high = int(np.searchsorted(self.entry_vlan, vlan, "right"))
        at = low + int(np.searchsorted(self.entry_mac[low:high], np.uint64(mac), "left"))
        ports = []
        while at < high and int(self.entry_mac[at]) == mac:
            ports.append(int(self.entry_port[at]))
            at += 1
        return tuple(ports)

    def port(self, number: int) -> PortView:
        """Return a view of port `number` (from 1)."""
        p = number - 1
        column = self.membership[:, p]
        return PortView(
            number=number,
            mode=PortMode(int(self.mode[p])),
            pvid=int(self.pvid[p]),
            untagged=tuple(self.vlans[column == Membership.UNTAGGED].tolist()),
            tagged=tuple(self.vlans[column == Membership.TAGGED].tolist()),
            ingress_filter=bool(self.ingress_filter[p]),
            frames=Frames(int(self.frames[p])),
            enabled=bool(self.enabled[p]),
            negotiation=bool(self.negotiation[p]),
            speed_mbps=int(self.speed_mbps[p]),
            flow_control=FlowControl(int(self.flow_control[p])),
            eee=bool(self.eee[p]),
            spanning_tree=bool(self.port_spanning_tree[p]),
            lag=int(self.lag[p]),
            flooding=bool(self.flooding[p]),
            learning=bool(self.learning[p]),
        )

    @classmethod
    def factory(cls, ports: int) -> SwitchState:
        """Return the factory default: all ports untagged in VLAN 1, spanning tree on."""
        return SwitchEditor.blank(ports).freeze()


@dataclass(slots=True)
class SwitchEditor:
    """A mutable switch state that changes as a switch does, line by line; `freeze` returns the SwitchState.

    It has the switch's side effects. Deleting a VLAN deletes its memberships and static entries and sets PVIDs that
    named it to 1 (PowerConnect 5548 user guide p. 471). Joining a VLAN untagged replaces a tagged membership. Methods
    raise KeyError if the VLAN does not exist; parsers and the virtual rack turn that into the family's own error line.
    """

    ports: int
    vlans: dict[int, str] = field(default_factory=dict)
    members: dict[int, dict[int, Membership]] = field(default_factory=dict)  # VLAN -> port -> how
    mode: list[PortMode] = field(default_factory=list)
    pvid: list[int] = field(default_factory=list)
    ingress_filter: list[bool] = field(default_factory=list)
    frames: list[Frames] = field(default_factory=list)
    enabled: list[bool] = field(default_factory=list)
    negotiation: list[bool] = field(default_factory=list)
    speed_mbps: list[int] = field(default_factory=list)
    flow_control: list[FlowControl] = field(default_factory=list)
    eee: list[bool] = field(default_factory=list)
    port_spanning_tree: list[bool] = field(default_factory=list)
    lag: list[int] = field(default_factory=list)
    flooding: list[bool] = field(default_factory=list)
    learning: list[bool] = field(default_factory=list)
    entries: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)  # (VLAN, MAC) -> ports
    spanning_tree: bool = True
    aging_seconds: int = DEFAULT_AGING_SECONDS
    bpdu_filtering: bool = False

    @classmethod
    def blank(cls, ports: int) -> SwitchEditor:
        """Return an editor of the factory default of a switch with `ports` ports."""
        return cls(
            ports=ports,
            vlans={DEFAULT_VLAN: ""},
            members={DEFAULT_VLAN: dict.fromkeys(range(1, ports + 1), Membership.UNTAGGED)},
            mode=[PortMode.ACCESS] * ports,
            pvid=[DEFAULT_VLAN] * ports,
            ingress_filter=[True] * ports,
            frames=[Frames.ALL] * ports,
            enabled=[True] * ports,
            negotiation=[True] * ports,
            speed_mbps=[0] * ports,
            flow_control=[FlowControl.OFF] * ports,
            eee=[False] * ports,
            port_spanning_tree=[True] * ports,
            lag=[0] * ports,
            flooding=[True] * ports,
            learning=[True] * ports,
        )

    @classmethod
    def of(cls, state: SwitchState) -> SwitchEditor:
        """Return an editor of an existing state."""
        members: dict[int, dict[int, Membership]] = {}
        for vlan, row in zip(state.vlans.tolist(), state.membership, strict=True):
            members[vlan] = {int(p) + 1: Membership(int(row[p])) for p in np.flatnonzero(row)}
        entries: dict[tuple[int, int], tuple[int, ...]] = {}
        rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
        for vlan, mac, port in rows:
            entries[vlan, mac] = (*entries.get((vlan, mac), ()), port)
        return cls(
            ports=state.ports,
            vlans=dict(zip(state.vlans.tolist(), state.vlan_names, strict=True)),
            members=members,
            mode=[PortMode(m) for m in state.mode.tolist()],
            pvid=state.pvid.tolist(),
            ingress_filter=state.ingress_filter.tolist(),
            frames=[Frames(f) for f in state.frames.tolist()],
            enabled=state.enabled.tolist(),
            negotiation=state.negotiation.tolist(),
            speed_mbps=state.speed_mbps.tolist(),
            flow_control=[FlowControl(f) for f in state.flow_control.tolist()],
            eee=state.eee.tolist(),
            port_spanning_tree=state.port_spanning_tree.tolist(),
            lag=state.lag.tolist(),
            flooding=state.flooding.tolist(),
            learning=state.learning.tolist(),
            entries=entries,
            spanning_tree=state.spanning_tree,
            aging_seconds=state.aging_seconds,
            bpdu_filtering=state.bpdu_filtering,
        )

    def create_vlan(self, vlan: int) -> None:
        """Create a VLAN unless it exists. Raises ValueError outside 1..4094."""
        if not 1 <= vlan <= MAX_VLAN:
            raise ValueError(f"VLAN {vlan} is not in 1..{MAX_VLAN}")
        self.vlans.setdefault(vlan, "")
        self.members.setdefault(vlan, {})

    def delete_vlan(self, vlan: int) -> None:
        """Delete a VLAN with its memberships and entries; PVIDs that named it become 1. Raises KeyError, ValueError."""
        if vlan == DEFAULT_VLAN:
            raise ValueError("VLAN 1 cannot be deleted")
        del self.vlans[vlan]
        del self.members[vlan]
        self.pvid = [DEFAULT_VLAN if p == vlan else p for p in self.pvid]
        self.entries = {key: ports for key, ports in self.entries.items() if key[0] != vlan}

    def name_vlan(self, vlan: int, name: str) -> None:
        """Name a VLAN; "" restores the default. Raises KeyError if the VLAN does not exist."""
        self.vlans[vlan]
        self.vlans[vlan] = name

    def set_member(self, vlan: int, port: int, how: Membership) -> None:
        """Join or leave a VLAN. Raises KeyError if the VLAN does not exist."""
        members = self.members[vlan]
        if how is Membership.NONE:
            members.pop(port, None)
        else:
            members[port] = how

    def set_pvid(self, port: int, vlan: int) -> None:
        """Set the VLAN of a port's untagged frames, 0 to drop them. Raises KeyError for an unknown VLAN."""
        if vlan != DISCARD_PVID:
            self.vlans[vlan]
        self.pvid[port - 1] = vlan

    def set_entry(self, vlan: int, mac: int, ports: Iterable[int]) -> None:
        """Set the ports of a static entry; no ports removes it. Raises KeyError for an unknown VLAN."""
        self.vlans[vlan]
        wanted = tuple(sorted(set(ports)))
        if wanted:
            self.entries[vlan, mac] = wanted
        else:
            self.entries.pop((vlan, mac), None)

    def freeze(self) -> SwitchState:
        """Return the edited state."""
        ids = sorted(self.vlans)
        membership = np.zeros((len(ids), self.ports), np.uint8)
        for row, vlan in enumerate(ids):
            for port, how in self.members[vlan].items():
                membership[row, port - 1] = how
        entry_vlan, entry_mac, entry_port = self._entry_columns()
        return SwitchState(
            vlans=np.array(ids, np.int32),
            vlan_names=tuple(self.vlans[v] for v in ids),
            membership=membership,
            mode=np.array(self.mode, np.uint8),
            pvid=np.array(self.pvid, np.int32),
            ingress_filter=np.array(self.ingress_filter, np.bool_),
            frames=np.array(self.frames, np.uint8),
            enabled=np.array(self.enabled, np.bool_),
            negotiation=np.array(self.negotiation, np.bool_),
            speed_mbps=np.array(self.speed_mbps, np.int32),
            flow_control=np.array(self.flow_control, np.uint8),
            eee=np.array(self.eee, np.bool_),
            port_spanning_tree=np.array(self.port_spanning_tree, np.bool_),
            lag=np.array(self.lag, np.int32),
            flooding=np.array(self.flooding, np.bool_),
            learning=np.array(self.learning, np.bool_),
            entry_vlan=entry_vlan,
            entry_mac=entry_mac,
            entry_port=entry_port,
            spanning_tree=self.spanning_tree,
            aging_seconds=self.aging_seconds,
            bpdu_filtering=self.bpdu_filtering,
        )

    def _entry_columns(self) -> tuple[NDArray[np.int32], NDArray[np.uint64], NDArray[np.int32]]:
        """Return the static entries as columns, ascending by (vlan, mac, port)."""
        count = len(self.entries)
        vlan = np.fromiter((key[0] for key in self.entries), np.int32, count)
        mac = np.fromiter((key[1] for key in self.entries), np.uint64, count)
        ports = np.fromiter(map(len, self.entries.values()), np.int64, count)
        port = np.fromiter(chain.from_iterable(self.entries.values()), np.int32, int(ports.sum()))
        if len(port) != count:
            vlan, mac = np.repeat(vlan, ports), np.repeat(mac, ports)
        order = np.lexsort((port, mac, vlan))
        return vlan[order], mac[order], port[order]


# A fabric's state: the state of every switch by name, in the fabric's order.
FabricState = dict[str, SwitchState]


def dead_states(fabric: Fabric) -> FabricState:
    """Return the states of dead switches: nothing configured, all ports shut."""
    state: FabricState = {}
    for switch, ports in zip(fabric.switches, fabric.ports, strict=True):
        if not switch.up:
            editor = SwitchEditor.blank(ports)
            editor.enabled = [False] * ports
            state[switch.name] = editor.freeze()
    return state
