"""Show one virtual switch as SNMP objects: system, interfaces, bridge, VLANs and LLDP, from its state as it is now."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from tagloom.lab import ber
from tagloom.records.switch_state import DISCARD_PVID, Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from tagloom.lab.ber import Oid
    from tagloom.lab.device import Device

    Spanning = tuple[tuple[int, int] | None, Collection[int]]

FRAME_OCTETS = 64  # every frame of the rack's data plane counts as the shortest there is
_VLAN_INTERFACE = 100_000  # ifIndex of the interface that manages the switch, which is no port
_FACTORY_MAC = 0x0210_0000_0000  # locally administered; the switch's number follows
_SYSTEM = (1, 3, 6, 1, 2, 1, 1)
_IF_ENTRY = (1, 3, 6, 1, 2, 1, 2, 2, 1)
_IFX_ENTRY = (1, 3, 6, 1, 2, 1, 31, 1, 1, 1)
_BRIDGE = (1, 3, 6, 1, 2, 1, 17)
_Q_BRIDGE = (*_BRIDGE, 7, 1)
_LLDP = (1, 0, 8802, 1, 1, 2, 1)
_LAG_PORT = (1, 2, 840, 10006, 300, 43, 1, 2, 1, 1)
_MAC_SUBTYPE, _IF_NAME_SUBTYPE = 4, 5  # LldpChassisIdSubtype, LldpPortIdSubtype
_BRIDGE_CAPABILITY = b"\x20"  # LldpSystemCapabilitiesMap, bit 2
_DOT1D_LEARNED, _DOT1D_MGMT = 3, 5  # dot1qTpFdbStatus
_PERMANENT = 3  # dot1qStaticUnicastStatus
_STP_PRIORITY = 32768
_STP_DISABLED, _STP_BLOCKING, _STP_FORWARDING = 1, 2, 5  # dot1dStpPortState


@dataclass(frozen=True, slots=True)
class Neighbour:
    """What the other end of a cable tells of itself: its device, its port there, its agent's IPv4 address."""

    device: Device
    number: int
    port: int
    address: str


@dataclass(slots=True)
class _Column:
    """The instances of one object: their indices in order, and how to write the value of one."""

    rows: Callable[[], Sequence[Oid]]
    value: Callable[[Oid], bytes]


@dataclass(slots=True)
class SwitchTree:
    """Answer for the objects of one switch, live: nothing is kept from message to message but the columns' names.

    `number` counts the rack's switches from 0; `octets` gives a port's octets received and sent since it booted;
    `neighbours` the far ends of the cables that have link, by port number; `uptime_seconds` the agent's own clock;
    `changed_seconds` when a port last went up or down by that clock, 0 if not since the switch booted; `spanning` its
    spanning tree as `Dataplane.spanning` has it, None if only a kernel knows.
    """

    device: Device
    number: int
    octets: Callable[[int], tuple[int, int]]
    neighbours: Callable[[], Mapping[int, Neighbour]]
    uptime_seconds: Callable[[], float]
    changed_seconds: Callable[[int], float]
    spanning: Callable[[], Spanning] | None = None
    _columns: dict[Oid, _Column] = field(default_factory=dict)
    _all: list[Oid] = field(default_factory=list)
    _kept: dict[Oid, Sequence[Oid]] = field(default_factory=dict)
    _fdb: dict[Oid, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._columns = {
            **self._system(),
            **self._interfaces(),
            **self._bridge(),
            **(self._spanning_tree(self.spanning) if self.spanning is not None else {}),
            **self._aggregation(),
            **self._lldp(),
        }
        self._all = sorted(self._columns)

    @property
    def _names(self) -> list[Oid]:
        """List the objects there are, in order."""
        hide = self.device.quirks.hide
        return [n for n in self._all if not re.search(hide, ".".join(map(str, n)))] if hide else self._all

    def refresh(self) -> None:
        """Look at the device anew."""
        self._kept, self._fdb = {}, {}

    def _rows(self, prefix: Oid) -> Sequence[Oid]:
        """Return a column's indices, made once for a message: a table of static entries is long."""
        if prefix not in self._kept:
            self._kept[prefix] = self._columns[prefix].rows()
        return self._kept[prefix]

    def get(self, name: Oid) -> bytes:
        """Return the value of an instance, or why there is none."""
        names = self._names
        at = bisect_right(names, name) - 1
        if at < 0 or name[: len(names[at])] != names[at]:
            return ber.tlv(ber.NO_SUCH_OBJECT, b"")
        column, index = self._columns[names[at]], name[len(names[at]) :]
        return column.value(index) if index in self._rows(names[at]) else ber.tlv(ber.NO_SUCH_INSTANCE, b"")

    def after(self, name: Oid) -> tuple[Oid, bytes] | None:
        """Return the next instance in lexical order."""
        names = self._names
        for prefix in islice(names, max(bisect_right(names, name) - 1, 0), None):
            column, rows = self._columns[prefix], self._rows(prefix)
            inside = name[: len(prefix)] == prefix
            place = bisect_right(rows, name[len(prefix) :]) if inside else 0
            if place < len(rows) and (inside or prefix > name):
                return (*prefix, *rows[place]), column.value(rows[place])
        return None

    # --- what there is -----------------------------------------------------------------------------------------------

    def _system(self) -> dict[Oid, _Column]:
        """Return SNMPv2-MIB's system group (RFC 3418)."""
        device = self.device
        values: dict[int, Callable[[], bytes]] = {
            1: lambda: _text(_description(device)),
            2: lambda: ber.oid(_arcs(next(iter(device.platform.sys_object_id), "0.0"))),
            3: lambda: _ticks(self.uptime_seconds()),
            4: lambda: _text("virtual rack"),
            5: lambda: _text(device.hostname),
            6: lambda: _text("loopback"),
        }
        return {(*_SYSTEM, k): _scalar(write) for k, write in values.items()}

    def _interfaces(self) -> dict[Oid, _Column]:
        """Return IF-MIB (RFC 2863): the ports, and the interface of VLAN 1."""
        device = self.device
        rows = [*((port,) for port in range(1, device.platform.ports + 1)), (_VLAN_INTERFACE,)]

        def port(write: Callable[[int], bytes], other: bytes) -> Callable[[Oid], bytes]:
            return lambda index: other if index[0] == _VLAN_INTERFACE else write(index[0])

        def name(number: int) -> bytes:
            return _text(device.platform.port_name(number))

        def kind(number: int) -> bytes:
            return ber.integer(6 if number <= device.platform.physical_ports else 161)  # ethernetCsmacd, ieee8023adLag

        def admin(number: int) -> bytes:
            return ber.integer(1 if device.editor.enabled[number - 1] else 2)

        def oper(number: int) -> bytes:
            return ber.integer(1 if self._up(number) else 2)

        def speed(number: int) -> int:
            return (device.editor.speed_mbps[number - 1] or _best_mbps(device, number)) if self._up(number) else 0

        def octets(which: int, tag: int) -> Callable[[int], bytes]:
            bits = 64 if tag == ber.COUNTER64 else 32
            return lambda number: ber.integer(self.octets(number)[which] % (1 << bits), tag)

        def frames(which: int) -> Callable[[int], bytes]:
            return lambda number: ber.integer(self.octets(number)[which] // FRAME_OCTETS, ber.COUNTER64)

        zero32, zero64 = ber.integer(0, ber.COUNTER32), ber.integer(0, ber.COUNTER64)
        mac = self.mac
        parts: dict[Oid, Callable[[Oid], bytes]] = {
            (*_IF_ENTRY, 1): lambda index: ber.integer(index[0]),
            (*_IF_ENTRY, 2): port(name, _text("Vlan 1")),
            (*_IF_ENTRY, 3): port(kind, ber.integer(135)),  # l2vlan
            (*_IF_ENTRY, 4): port(lambda _: ber.integer(1500), ber.integer(1500)),
            (*_IF_ENTRY, 5): port(
                lambda n: ber.integer(min(speed(n) * 1_000_000, 0xFFFF_FFFF), ber.GAUGE32), ber.integer(0, ber.GAUGE32)
            ),
            (*_IF_ENTRY, 6): lambda _: ber.tlv(ber.OCTETS, mac.to_bytes(6, "big")),
            (*_IF_ENTRY, 7): port(admin, ber.integer(1)),
            (*_IF_ENTRY, 8): port(oper, ber.integer(1)),
            (*_IF_ENTRY, 9): port(lambda n: _ticks(self._changed(n)), _ticks(0.0)),
            (*_IF_ENTRY, 10): port(octets(0, ber.COUNTER32), zero32),
            (*_IF_ENTRY, 13): lambda _: zero32,
            (*_IF_ENTRY, 14): lambda _: zero32,
            (*_IF_ENTRY, 16): port(octets(1, ber.COUNTER32), zero32),
            (*_IF_ENTRY, 19): lambda _: zero32,
            (*_IF_ENTRY, 20): lambda _: zero32,
            (*_IFX_ENTRY, 1): port(name, _text("Vlan1")),
            (*_IFX_ENTRY, 6): port(octets(0, ber.COUNTER64), zero64),
            (*_IFX_ENTRY, 7): port(frames(0), zero64),
            (*_IFX_ENTRY, 10): port(octets(1, ber.COUNTER64), zero64),
            (*_IFX_ENTRY, 11): port(frames(1), zero64),
            (*_IFX_ENTRY, 15): port(lambda n: ber.integer(speed(n), ber.GAUGE32), ber.integer(0, ber.GAUGE32)),
            (*_IFX_ENTRY, 18): lambda _: _text(""),
        }
        return {name_: _Column(lambda: rows, value) for name_, value in parts.items()}

    def _aggregation(self) -> dict[Oid, _Column]:
        """Return of IEEE8023-LAG-MIB (IEEE 802.1AX-2008 annex C) which port-channel a port is attached to, 0 = none."""
        device = self.device
        rows = [(port,) for port in range(1, device.platform.physical_ports + 1)]
        return {(*_LAG_PORT, 13): _Column(lambda: rows, lambda index: ber.integer(device.editor.lag[index[0] - 1]))}

    def _bridge(self) -> dict[Oid, _Column]:
        """Return BRIDGE-MIB (RFC 4188) and Q-BRIDGE-MIB (RFC 4363): bridge ports, learnt and static entries, VLANs."""
        device = self.device
        ports = [(port,) for port in range(1, device.platform.ports + 1)]

        def vlans() -> list[Oid]:
            return [(vlan,) for vlan in sorted(device.editor.vlans)]

        def current() -> list[Oid]:  # dot1qVlanCurrentTable's time filter is 0: since ever
            return [(0, vlan) for vlan in sorted(device.editor.vlans)]

        def members(index: Oid, *kinds: Membership) -> bytes:
            joined = device.editor.members[index[-1]]
            return self._bitmap(port for port, how in joined.items() if how in kinds)

        def entries() -> list[Oid]:
            return sorted((vlan, *mac.to_bytes(6, "big"), 0) for vlan, mac in device.editor.entries)

        def entry_ports(index: Oid) -> bytes:
            return self._bitmap(device.editor.entries[index[0], int.from_bytes(bytes(index[1:7]), "big")])

        def known() -> dict[Oid, tuple[int, int]]:
            if not self._fdb:
                static = {key: (ports[0], _DOT1D_MGMT) for key, ports in device.editor.entries.items()}
                learnt = {key: (port, _DOT1D_LEARNED) for key, port in device.learned.items()}
                both = {**learnt, **static}
                self._fdb = {(vlan, *mac.to_bytes(6, "big")): at for (vlan, mac), at in both.items()}
            return self._fdb

        egress = Membership.TAGGED, Membership.UNTAGGED
        return {
            (*_BRIDGE, 1, 1): _scalar(lambda: ber.tlv(ber.OCTETS, self.mac.to_bytes(6, "big"))),
            (*_BRIDGE, 1, 2): _scalar(lambda: ber.integer(len(ports))),
            (*_BRIDGE, 1, 4, 1, 2): _Column(lambda: ports, lambda index: ber.integer(index[0])),
            (*_BRIDGE, 4, 2): _scalar(lambda: ber.integer(device.editor.aging_seconds)),
            (*_Q_BRIDGE, 2, 2, 1, 2): _Column(lambda: sorted(known()), lambda index: ber.integer(known()[index][0])),
            (*_Q_BRIDGE, 2, 2, 1, 3): _Column(lambda: sorted(known()), lambda index: ber.integer(known()[index][1])),
            (*_Q_BRIDGE, 3, 1, 1, 3): _Column(entries, entry_ports),
            (*_Q_BRIDGE, 3, 1, 1, 4): _Column(entries, lambda _: ber.integer(_PERMANENT)),
            (*_Q_BRIDGE, 4, 2, 1, 3): _Column(current, lambda index: ber.integer(index[-1], ber.GAUGE32)),  # IVL
            (*_Q_BRIDGE, 4, 2, 1, 4): _Column(current, lambda index: members(index, *egress)),
            (*_Q_BRIDGE, 4, 2, 1, 5): _Column(current, lambda index: members(index, Membership.UNTAGGED)),
            (*_Q_BRIDGE, 4, 3, 1, 1): _Column(vlans, lambda index: _text(device.editor.vlans[index[0]])),
            (*_Q_BRIDGE, 4, 3, 1, 2): _Column(vlans, lambda index: members(index, *egress)),
            (*_Q_BRIDGE, 4, 3, 1, 4): _Column(vlans, lambda index: members(index, Membership.UNTAGGED)),
            (*_Q_BRIDGE, 4, 3, 1, 5): _Column(vlans, lambda _: ber.integer(1)),
            (*_Q_BRIDGE, 4, 5, 1, 1): _Column(lambda: ports, self._pvid),
            (*_Q_BRIDGE, 4, 5, 1, 2): _Column(
                lambda: ports,
                lambda index: ber.integer(2 if device.editor.frames[index[0] - 1] is Frames.TAGGED_ONLY else 1),
            ),
            (*_Q_BRIDGE, 4, 5, 1, 3): _Column(
                lambda: ports, lambda index: ber.integer(1 if device.editor.ingress_filter[index[0] - 1] else 2)
            ),
        }

    def _spanning_tree(self, spanning: Callable[[], Spanning]) -> dict[Oid, _Column]:
        """Return BRIDGE-MIB's dot1dStp group (RFC 4188): the root, and what each port does."""
        device = self.device
        ports = [(port,) for port in range(1, device.platform.ports + 1)]

        def root() -> tuple[int, int]:
            return spanning()[0] or (self.number, 0)

        def state(index: Oid) -> bytes:
            physical = index[0] <= device.platform.physical_ports
            if not device.editor.enabled[index[0] - 1] or (physical and not self._up(index[0])):
                return ber.integer(_STP_DISABLED)
            return ber.integer(_STP_BLOCKING if index[0] in spanning()[1] else _STP_FORWARDING)

        def enabled(index: Oid) -> bytes:
            runs = device.editor.spanning_tree and device.editor.port_spanning_tree[index[0] - 1]
            return ber.integer(1 if runs else 2)

        def designated() -> bytes:
            identity = _STP_PRIORITY.to_bytes(2, "big") + switch_mac(root()[0]).to_bytes(6, "big")
            return ber.tlv(ber.OCTETS, identity)

        return {
            (*_BRIDGE, 2, 2): _scalar(lambda: ber.integer(_STP_PRIORITY)),
            (*_BRIDGE, 2, 5): _scalar(designated),
            (*_BRIDGE, 2, 7): _scalar(lambda: ber.integer(root()[1])),
            (*_BRIDGE, 2, 15, 1, 3): _Column(lambda: ports, state),
            (*_BRIDGE, 2, 15, 1, 4): _Column(lambda: ports, enabled),
        }

    def _lldp(self) -> dict[Oid, _Column]:
        """Return LLDP-MIB (IEEE 802.1AB-2005 clause 12): this switch, its ports, and the switches at the other ends."""
        device = self.device
        ports = [(port,) for port in range(1, device.platform.physical_ports + 1)]

        def rows() -> list[Oid]:  # lldpRemTimeMark, lldpRemLocalPortNum, lldpRemIndex
            return [(0, port, 1) for port in sorted(self.neighbours())]

        def far(index: Oid, write: Callable[[Neighbour], bytes]) -> bytes:
            return write(self.neighbours()[index[1]])

        def addresses() -> list[Oid]:
            return sorted((0, p, 1, 1, 4, *map(int, at.address.split("."))) for p, at in self.neighbours().items())

        remote: dict[int, Callable[[Neighbour], bytes]] = {
            4: lambda _: ber.integer(_MAC_SUBTYPE),
            5: lambda at: ber.tlv(ber.OCTETS, switch_mac(at.number).to_bytes(6, "big")),
            6: lambda _: ber.integer(_IF_NAME_SUBTYPE),
            7: lambda at: _text(at.device.platform.port_name(at.port)),
            8: lambda at: _text(at.device.platform.port_name(at.port)),
            9: lambda at: _text(at.device.hostname),
            10: lambda at: _text(_description(at.device)),
            11: lambda _: ber.tlv(ber.OCTETS, _BRIDGE_CAPABILITY),
            12: lambda _: ber.tlv(ber.OCTETS, _BRIDGE_CAPABILITY),
        }
        local: dict[int, Callable[[], bytes]] = {
            1: lambda: ber.integer(_MAC_SUBTYPE),
            2: lambda: ber.tlv(ber.OCTETS, self.mac.to_bytes(6, "big")),
            3: lambda: _text(device.hostname),
            4: lambda: _text(_description(device)),
        }
        return {
            **{(*_LLDP, 3, k): _scalar(write) for k, write in local.items()},
            (*_LLDP, 3, 7, 1, 2): _Column(lambda: ports, lambda _: ber.integer(_IF_NAME_SUBTYPE)),
            (*_LLDP, 3, 7, 1, 3): _Column(lambda: ports, lambda index: _text(device.platform.port_name(index[0]))),
            (*_LLDP, 3, 7, 1, 4): _Column(lambda: ports, lambda _: _text("")),
            **{(*_LLDP, 4, 1, 1, k): _Column(rows, partial(far, write=write)) for k, write in remote.items()},
            (*_LLDP, 4, 2, 1, 3): _Column(addresses, lambda _: ber.integer(2)),  # ifIndex
            (*_LLDP, 4, 2, 1, 4): _Column(addresses, lambda _: ber.integer(_VLAN_INTERFACE)),
        }

    # --- values ------------------------------------------------------------------------------------------------------

    @property
    def mac(self) -> int:
        """Return the switch's own address."""
        return switch_mac(self.number)

    def _up(self, port: int) -> bool:
        return self.device.editor.enabled[port - 1] and self.device.carrier(port)

    def _changed(self, number: int) -> float:
        """Return when a port last went up or down; a port-channel when one of its ports did."""
        if number <= self.device.platform.physical_ports:
            return self.changed_seconds(number)
        joined = [port for port, lag in enumerate(self.device.editor.lag, start=1) if lag == number]
        return max((self.changed_seconds(port) for port in joined), default=0.0)

    def _pvid(self, index: Oid) -> bytes:
        pvid = self.device.editor.pvid[index[0] - 1]
        return ber.integer(self.device.platform.discard_pvid if pvid == DISCARD_PVID else pvid, ber.GAUGE32)

    def _bitmap(self, ports: Iterable[int]) -> bytes:
        """Write a PortList: the most significant bit of the first octet is port 1 (RFC 4363, PortList)."""
        octets = bytearray((self.device.platform.ports + 7) // 8)
        for port in ports:
            octets[(port - 1) // 8] |= 0x80 >> (port - 1) % 8
        return ber.tlv(ber.OCTETS, bytes(octets))


def switch_mac(number: int) -> int:
    """Return the address of the rack's switch `number`, which is its chassis id."""
    return _FACTORY_MAC + number


def _ticks(seconds: float) -> bytes:
    """Write TimeTicks: hundredths of a second, which begin again after 497 days."""
    return ber.integer(int(seconds * 100) % (1 << 32), ber.TIME_TICKS)


def _scalar(write: Callable[[], bytes]) -> _Column:
    return _Column(lambda: [(0,)], lambda _: write())


def _description(device: Device) -> str:
    """Return sysDescr as the model is known to write it; the others say their title."""
    return {"powerconnect-5324": "Neyland 24T"}.get(device.platform.model, device.platform.title)


def _best_mbps(device: Device, port: int) -> int:
    """Return the best speed of a port; a port-channel, and a port that the machine names, has that of one cable."""
    return dict(enumerate(device.platform.port_mbps, start=1)).get(port, 0) or 1_000


def _text(words: str) -> bytes:
    return ber.tlv(ber.OCTETS, words.encode())


def _arcs(dotted: str) -> Oid:
    return tuple(int(arc) for arc in dotted.split("."))
