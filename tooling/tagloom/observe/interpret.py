"""Convert an agent's answers to an Observation; what is missing or inconsistent becomes a named complaint."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import TYPE_CHECKING

from tagloom.observe.address_pages import NO_VLAN
from tagloom.observe.objects import COLUMNS, SCALARS
from tagloom.observe.stations import kind_of
from tagloom.plain_text import printable
from tagloom.platforms.port_names import port_at_path, port_number
from tagloom.records.observation import Counters, Neighbour, Observation, SpanningTree, Vlans
from tagloom.records.switch_state import DISCARD_PVID, MAX_VLAN, Membership
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tagloom.platforms import Platform
    from tagloom.records.snmp import Oid, Raw, Rows, Value

TICKS_PER_SECOND = 100  # TimeTicks, RFC 2578 section 7.1.8
_MOST, _MOST_COUNTED = (1 << 32) - 1, (1 << 64) - 1  # Gauge32, Counter32, TimeTicks; Counter64 (RFC 2578 section 7.1)
_BRIDGE_OCTETS = 8  # of a bridge identifier: priority, address
_TEXT_OCTETS = 255  # of a DisplayString, and of an LLDP id
_PORT_LIST_OCTETS = 512  # 4,096 ports
_COMPLAINTS = 50  # reported per reading; an adversarial agent can be wrong in every row
_NEIGHBOURS_A_PORT = 16  # behind a hub; a cable has one
_UP, _DOWN = 1, 2  # ifAdminStatus, ifOperStatus
_LEARNED = 3  # dot1qTpFdbStatus
_BLOCKING, _LISTENING, _LEARNING, _BROKEN = 2, 3, 4, 6  # dot1dStpPortState, RFC 4188
_CHASSIS_KINDS = {1: "component", 2: "interface-alias", 3: "port", 4: "mac", 5: "address", 6: "interface", 7: "local"}
_BLANK = "\0 \r\n\t"
_MAC_CHASSIS, _LOCAL_CHASSIS, _MAC_PORT = 4, 7, 3  # LldpChassisIdSubtype, LldpPortIdSubtype
_MAC_TEXT = re.compile(rb"(?:[0-9A-Fa-f]{2}([:-]?)){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}[.-]){2}[0-9A-Fa-f]{4}")


@dataclass(slots=True)
class _Reader:
    """Typed access to one agent's answers by name."""

    raw: Raw
    complaints: Counter[str] = field(default_factory=Counter)

    def scalar(self, name: str, kind: type) -> Value | None:
        found = self._check(name, self.raw.scalars.get(SCALARS[name]), kind)
        return self._in_range(name, found) if isinstance(found, int) else found

    def text(self, name: str) -> str:
        found = self.scalar(name, bytes)
        return _words(found) if isinstance(found, bytes) else ""

    def rows(self, name: str) -> Rows:
        return self.raw.columns.get(COLUMNS[name], {})

    def requested(self, name: str) -> bool:
        return COLUMNS[name] in self.raw.columns

    def number(self, name: str, index: Oid) -> int | None:
        found = self._check(name, self.rows(name).get(index), int)
        return self._in_range(name, found) if isinstance(found, int) else None

    def octets(self, name: str, index: Oid) -> bytes | None:
        found = self._check(name, self.rows(name).get(index), bytes)
        return found if isinstance(found, bytes) else None

    def complain(self, what: str) -> None:
        self.complaints[what] += 1

    def _check(self, name: str, value: Value | None, kind: type) -> Value | None:
        if value is None or isinstance(value, kind):
            return value
        expected = {int: "a number", bytes: "octets", tuple: "an object identifier"}[kind]
        actual = {int: "a number", bytes: "octets", tuple: "an object identifier"}[type(value)]
        self.complain(f"{name}: expected {expected}, actual {actual}")
        return None

    def _in_range(self, name: str, number: int) -> int | None:
        """Return a number if objects of this name can have it: not negative, and of 64 bits only for ifHC."""
        if 0 <= number <= (_MOST_COUNTED if name.startswith("ifHC") else _MOST):
            return number
        self.complain(f"{name}: a number out of range")
        return None

    def said(self) -> tuple[str, ...]:
        """Return the complaints, one line each, with the count if above one."""
        own = [f"{what} ({count} times)" if count > 1 else what for what, count in self.complaints.items()]
        if len(own) > _COMPLAINTS:
            own[_COMPLAINTS:] = [f"and {len(own) - _COMPLAINTS} more of the kind"]
        return (*self.raw.complaints, *own)


CALLS_ITSELF = "its agent calls itself "  # what a complaint begins with that says whose address it may be


def own_name_doubted(switch: str, shown: Observation, names: Collection[str]) -> Observation:
    """Return a reading with a complaint where the agent at a switch's address calls itself as another of `names`."""
    if shown.name == switch or shown.name not in names:
        return shown
    words = f"{CALLS_ITSELF}{shown.name}, the name of another switch: is this the address of that one?"
    return replace(shown, complaints=(*shown.complaints, words))


def interpret(switch: str, raw: Raw, platform: Platform, ports: Collection[int] = ()) -> Observation:
    """Return a switch's answers as an Observation; `ports` must be present: a fabric's."""
    if raw.error:
        return Observation(switch, raw.at, error=raw.error)
    reader = _Reader(raw)
    object_id = reader.scalar("sysObjectID", tuple)
    uptime = reader.scalar("sysUpTime", int)
    if uptime is None:
        reader.complain("sysUpTime: missing")
    numbers = _port_numbers(reader, platform, ports)
    found = Observation(
        switch=switch,
        at=raw.at,
        name=reader.text("sysName"),
        description=reader.text("sysDescr"),
        object_id=".".join(map(str, object_id)) if isinstance(object_id, tuple) else "",
        uptime_seconds=uptime / TICKS_PER_SECOND if isinstance(uptime, int) else None,
        chassis=_local_chassis(reader),
        ports=_counters(reader, numbers, platform) if reader.requested("ifOperStatus") else (),
        vlans=_vlans(reader, numbers, platform.discard_pvid) if reader.requested("dot1qPvid") else Vlans(),
        neighbours=_neighbours(reader, numbers, platform) if reader.requested("lldpRemChassisId") else (),
        aggregated=_aggregated(reader, numbers, platform),
        spanning=_spanning(reader, numbers) if reader.requested("dot1dStpPortState") else None,
    )
    return replace(found, complaints=reader.said())


def no_switch(raw: Raw, platform: Platform) -> str:
    """Return why an agent of a machine with any ports is not a switch's: it has none that the model names; else ""."""
    if not platform.is_shell or _port_numbers(_Reader(raw), platform, ()):
        return ""
    ports = f"{platform.port_name(1)} to {platform.port_name(platform.physical_ports)}"
    return f"it is a Linux machine without a port of {platform.model} ({ports}): a host, or a switch of other ports"


# --- ports -----------------------------------------------------------------------------------------------------------


def _port_numbers(reader: _Reader, platform: Platform, wanted: Collection[int]) -> dict[int, int]:
    """Return our port number by ifIndex, from ifName, else ifDescr, in the model's own words."""
    numbers: dict[int, int] = {}
    indices = sorted({index[0] for name in ("ifName", "ifDescr") for index in reader.rows(name) if len(index) == 1})
    for index in indices:
        for name in ("ifName", "ifDescr"):
            number = port_number(platform, _words(reader.octets(name, (index,)) or b""))
            if number is not None and number not in numbers.values():
                numbers[index] = number
                break
    missing = sorted(set(wanted) - set(numbers.values()))
    if missing:
        named = platform.port_name(missing[0]) + (f" and {len(missing) - 1} more ports" if len(missing) > 1 else "")
        reader.complain(f"ifName, ifDescr: no row for {named}")
    return numbers


def _counters(reader: _Reader, ports: dict[int, int], platform: Platform) -> tuple[Counters, ...]:
    found = []
    gone: dict[str, int] = {}
    wide = bool(reader.rows("ifHCInOctets"))

    def value(name: str, index: Oid) -> int | None:
        if not reader.requested(name):
            return None
        number = reader.number(name, index)
        if number is None:
            gone[name] = gone.get(name, 0) + 1
        return number

    for if_index, number in sorted(ports.items(), key=lambda each: each[1]):
        index = (if_index,)
        admin, oper = value("ifAdminStatus", index), value("ifOperStatus", index)
        speed, changed = value("ifHighSpeed", index), value("ifLastChange", index)
        found.append(
            Counters(
                number=number,
                name=platform.port_name(number),
                admin_up=_is_up("ifAdminStatus", admin, reader),
                oper_up=_is_up("ifOperStatus", oper, reader),
                speed_bps=None if speed is None else speed * 1_000_000,
                last_change_seconds=None if changed is None else changed / TICKS_PER_SECOND,
                in_octets=value("ifHCInOctets" if wide else "ifInOctets", index),
                out_octets=value("ifHCOutOctets" if wide else "ifOutOctets", index),
                in_packets=value("ifHCInUcastPkts", index),
                out_packets=value("ifHCOutUcastPkts", index),
                in_errors=value("ifInErrors", index),
                out_errors=value("ifOutErrors", index),
                bits=64 if wide else 32,
            )
        )
    if not wide and reader.requested("ifHCInOctets"):
        reader.complain("ifHCInOctets: missing" + ("; 32-bit counters are used" if reader.rows("ifInOctets") else ""))
    for name, count in gone.items():
        if name != "ifHCInOctets":
            reader.complain(f"{name}: missing for {count} of {len(ports)} ports")
    return tuple(found)


def _is_up(name: str, value: int | None, reader: _Reader) -> bool | None:
    if value is not None and not 1 <= value <= 7:  # RFC 2863: up, down, testing, ..., lowerLayerDown
        reader.complain(f"{name}: expected 1 to 7, actual {value}")
        return None
    return None if value is None else value == _UP


def _aggregated(reader: _Reader, ports: dict[int, int], platform: Platform) -> dict[int, int] | None:
    """Return the port-channel of each bound port; an unbound port may report itself, nothing or another port."""
    column = "dot3adAggPortAttachedAggID"
    if not reader.rows(column):
        return None
    found = {}
    for index in reader.rows(column):
        bound = ports.get(reader.number(column, index) or 0, 0)
        if len(index) == 1 and index[0] in ports and bound > platform.physical_ports:
            found[ports[index[0]]] = bound
    return found


# --- VLANs -----------------------------------------------------------------------------------------------------------


def _vlans(reader: _Reader, ports: dict[int, int], discards: int) -> Vlans:
    """Return the VLANs of Q-BRIDGE-MIB, whose port numbers dot1dBasePortTable maps to ifIndex.

    `discards` is the PVID by which ports drop untagged frames.
    """
    bridge = _bridge_ports(reader, ports)
    if not bridge:
        reader.complain("dot1dBasePortIfIndex: missing")
        return Vlans()
    pvid = {}
    for index in reader.rows("dot1qPvid"):
        vlan = reader.number("dot1qPvid", index)
        if len(index) == 1 and index[0] in bridge and vlan is not None:
            pvid[bridge[index[0]]] = DISCARD_PVID if vlan == discards else vlan
    members = _members(reader, bridge)
    entries: dict[tuple[int, int], tuple[int, ...]] = {}
    column = "dot1qStaticUnicastAllowedToGoTo"
    for index in reader.rows(column):
        listed = reader.octets(column, index)
        if len(index) != 8 or any(octet > 0xFF for octet in index[1:7]):
            reader.complain(f"{column}: an index that is no VLAN, MAC and port")
        elif listed is not None:
            mac = int.from_bytes(bytes(index[1:7]), "big")
            at = tuple(sorted(bridge[p] for p in _listed(listed) if p in bridge))
            entries[index[0], mac] = tuple(sorted({*entries.get((index[0], mac), ()), *at}))
    for name, requested, part in (
        ("dot1qPvid", "dot1qPvid", pvid),
        ("dot1qVlanStaticTable", "dot1qVlanStaticEgressPorts", members),
    ):
        if not part and reader.requested(requested):
            reader.complain(f"{name}: missing")
    return Vlans(members or None, pvid or None, entries if entries or members else None, _learned(reader, bridge, pvid))


def _bridge_ports(reader: _Reader, ports: dict[int, int]) -> dict[int, int]:
    """Return our port number by the bridge's own."""
    bridge = {}
    for index in reader.rows("dot1dBasePortIfIndex"):
        if_index = reader.number("dot1dBasePortIfIndex", index)
        if len(index) == 1 and if_index in ports:
            bridge[index[0]] = ports[if_index]
    return bridge


def _learned(reader: _Reader, bridge: dict[int, int], pvid: dict[int, int]) -> dict[tuple[int, int], int] | None:
    """Return the learned addresses; VLANs that share a filtering database share them, which no plan relies on.

    Some agents fill the table of BRIDGE-MIB (dot1dTpFdbTable) alone, which names no VLAN: an address that only stands
    there counts as learned in its port's PVID, as those of untagged hosts are.
    """
    of_database: dict[int, int] = {}
    for index in reader.rows("dot1qVlanFdbId"):
        database = reader.number("dot1qVlanFdbId", index)
        if index and database is not None and of_database.setdefault(database, index[-1]) != index[-1]:
            reader.complain(f"dot1qVlanFdbId: VLANs share what they learn (filtering database {database})")
    found: dict[tuple[int, int], int] = {}
    for index, mac, port in _learned_rows(reader, "dot1qTpFdb", 7, bridge):
        vlan = of_database.get(index[0], index[0])
        if not 1 <= vlan <= MAX_VLAN:
            reader.complain(f"dot1qTpFdbTable: filtering database {vlan} is no VLAN; the PVID of each port is taken")
            vlan = pvid.get(port, NO_VLAN)
        found[vlan, mac] = port
    known = {mac for _, mac in found}
    for _, mac, port in _learned_rows(reader, "dot1dTpFdb", 6, bridge):
        if mac not in known:
            found[pvid.get(port, NO_VLAN), mac] = port
    if not of_database and not reader.rows("dot1qTpFdbPort") and not reader.rows("dot1dTpFdbPort"):
        if reader.requested("dot1qTpFdbPort"):
            reader.complain("dot1qTpFdbTable, dot1dTpFdbTable: missing, so no address is known that the switch learned")
        return None
    return found


def _learned_rows(reader: _Reader, table: str, arcs: int, bridge: dict[int, int]) -> Iterator[tuple[Oid, int, int]]:
    """Yield the learned rows of a table at our ports: index, MAC address, port; what cannot be read is a complaint."""
    ports = {index[0] for index in reader.rows("dot1dBasePortIfIndex") if len(index) == 1}
    for index in reader.rows(f"{table}Port"):
        port, status = reader.number(f"{table}Port", index), reader.number(f"{table}Status", index)
        if len(index) != arcs or any(octet > 0xFF for octet in index[-6:]):
            database = "filtering database and " * (arcs > 6)
            reader.complain(f"{table}Table: an index that is no {database}MAC")
        elif status is None:
            reader.complain(f"{table}Table: a row without its status")
        elif status == _LEARNED and port in bridge:
            yield index, int.from_bytes(bytes(index[-6:]), "big"), bridge[port]
        elif status == _LEARNED and port and port not in ports:
            reader.complain(f"{table}Table: a row at a port that dot1dBasePortTable lacks")


def _members(reader: _Reader, bridge: dict[int, int]) -> dict[int, dict[int, Membership]]:
    """Return the members of each VLAN from the static table, else from the current one."""
    members: dict[int, dict[int, Membership]] = {}
    for table in ("Static", "Current"):
        egress, untagged = f"dot1qVlan{table}EgressPorts", f"dot1qVlan{table}UntaggedPorts"
        for index in reader.rows(egress):
            listed, bare = reader.octets(egress, index), reader.octets(untagged, index)
            vlan = index[-1] if index else 0
            if listed is None or not 1 <= vlan <= MAX_VLAN or vlan in members:
                continue
            plain = set(_listed(bare or b""))
            members[vlan] = {
                bridge[p]: Membership.UNTAGGED if p in plain else Membership.TAGGED
                for p in _listed(listed)
                if p in bridge
            }
        if members:
            break
    return members


def _listed(octets: bytes) -> list[int]:
    """Return the ports of a PortList: the most significant bit of the first octet is port 1 (RFC 4363).

    >>> _listed(bytes([0b10000001, 0b01000000]))
    [1, 8, 10]
    """
    return [
        place * 8 + bit + 1
        for place, octet in enumerate(octets[:_PORT_LIST_OCTETS])
        if octet
        for bit in range(8)
        if octet & 0x80 >> bit
    ]


# --- spanning tree ----------------------------------------------------------------------------------------------------


def _spanning(reader: _Reader, ports: dict[int, int]) -> SpanningTree | None:
    """Return the spanning tree of BRIDGE-MIB, None if the switch does not report any port of it."""
    bridge = _bridge_ports(reader, ports)
    states: dict[int, int] = {}
    for index in reader.rows("dot1dStpPortState"):
        state = reader.number("dot1dStpPortState", index)
        if len(index) == 1 and index[0] in bridge and state is not None:
            # a port that takes no part forwards, whatever else an agent says of it
            taking = reader.number("dot1dStpPortEnable", index) != _DOWN
            states[bridge[index[0]]] = state if taking else 0
    if not states:
        return None
    own, root = (reader.scalar(name, bytes) for name in ("dot1dBaseBridgeAddress", "dot1dStpDesignatedRoot"))
    root_port = reader.scalar("dot1dStpRootPort", int)
    return SpanningTree(
        own.hex() if isinstance(own, bytes) else "",
        root[2:].hex() if isinstance(root, bytes) and len(root) == _BRIDGE_OCTETS else "",
        bridge.get(root_port, 0) if isinstance(root_port, int) else 0,
        frozenset(port for port, state in states.items() if state in {_BLOCKING, _BROKEN}),
        frozenset(port for port, state in states.items() if state in {_LISTENING, _LEARNING}),
    )


# --- neighbours ------------------------------------------------------------------------------------------------------


def _neighbours(reader: _Reader, ports: dict[int, int], platform: Platform) -> tuple[Neighbour, ...]:
    """Return the neighbours of LLDP-MIB; its port numbers need not be ifIndex, so lldpLocPortTable identifies ports."""
    addresses: dict[Oid, list[str]] = {}
    for index in reader.rows("lldpRemManAddrIfSubtype"):
        if len(index) >= 5 and len(index) == 5 + index[4] and index[3] in {1, 2}:  # AddressFamilyNumbers: IPv4, IPv6
            try:
                address = str(ip_address(bytes(index[5:])))
            except ValueError:
                reader.complain("lldpRemManAddrTable: an index that is no address")
                continue
            addresses.setdefault(index[:3], []).append(address)
    bridge_ports = _bridge_ports(reader, ports)
    found: list[Neighbour] = []
    for index in reader.rows("lldpRemChassisId"):
        if len(index) != 3:
            reader.complain("lldpRemTable: an index that is no time, port and number")
            continue
        here = _local_port(reader, index[1], ports, bridge_ports, platform)
        if here is None:
            reader.complain(f"lldpLocPortTable: no port of the model at lldpRemLocalPortNum {index[1]}")
            continue
        if len(found) == _NEIGHBOURS_A_PORT * platform.ports:
            reader.complain(f"lldpRemTable: more than {len(found)} neighbours")
            break
        kind = reader.number("lldpRemPortIdSubtype", index)
        far = reader.octets("lldpRemPortId", index) or b""
        mac = _mac_of(far) if kind == _MAC_PORT or (kind is None and _is_raw_mac(far)) else None
        described = _words(reader.octets("lldpRemPortDesc", index) or b"")
        neighbour = Neighbour(
            port=here,
            chassis=_chassis(
                reader.number("lldpRemChassisIdSubtype", index), reader.octets("lldpRemChassisId", index) or b""
            ),
            far_port=_words(far) if mac is None else described or _words(far),
            name=_words(reader.octets("lldpRemSysName", index) or b""),
            description=_words(reader.octets("lldpRemSysDesc", index) or b""),
            port_mac=mac,
            addresses=tuple(addresses.get(index, ())),
            far_description=described,
        )
        enabled, supported = (reader.octets(f"lldpRemSysCap{each}", index) for each in ("Enabled", "Supported"))
        bridge, doubt = kind_of(neighbour, enabled, supported)
        found.append(replace(neighbour, bridge=bridge, doubt=doubt))
    return tuple(sorted(found, key=lambda each: (each.port, each.chassis)))


def _local_port(
    reader: _Reader, number: int, ports: dict[int, int], bridge: dict[int, int], platform: Platform
) -> int | None:
    """Return a local port by its id, else its description, else its number: an ifIndex as a rule, or the bridge's own.

    An agent's id is its own. What only a description or the number says is a complaint where they disagree.
    """
    by_id, by_words = (
        port_at_path(platform, named) or (ports.get(int(named)) if named.isdecimal() else None)
        for named in (
            _words(reader.octets(column, (number,)) or b"") for column in ("lldpLocPortId", "lldpLocPortDesc")
        )
    )
    if by_id is not None:
        return by_id
    readings = {"description": by_words, "ifIndex": ports.get(number), "bridge port": bridge.get(number)}
    said = {kind: port for kind, port in readings.items() if port is not None}
    taken = next(iter(said.values()), None)
    agrees = by_words is not None and by_words in {ports.get(number), bridge.get(number)}
    if len(set(said.values())) > 1 and not agrees:
        shown = ", ".join(f"{platform.port_name(port)} by its {kind}" for kind, port in said.items())
        reader.complain(f"lldpLocPortTable: no id for lldpRemLocalPortNum {number}: {shown}; the first is taken")
    return taken


def _local_chassis(reader: _Reader) -> str:
    """Return the id that a switch announces; where its agent has none, the bridge's address, which most announce."""
    kind, octets = reader.scalar("lldpLocChassisIdSubtype", int), reader.scalar("lldpLocChassisId", bytes)
    if isinstance(octets, bytes) and octets.strip(_BLANK.encode()):
        return _chassis(kind if isinstance(kind, int) else None, octets)
    address = reader.scalar("dot1dBaseBridgeAddress", bytes)
    if isinstance(address, bytes) and (mac := _mac_of(address)):
        found = f"mac {format_mac(mac)}"
        reader.complain(f"lldpLocChassisId: missing; taken to be the bridge's address, {found.removeprefix('mac ')}")
        return found
    return ""


def _is_raw_mac(octets: bytes) -> bool:
    """Return whether an id without its subtype is an address: six octets that are no text."""
    return len(octets) == 6 and not octets.decode("ascii", "replace").isprintable()


def _mac_of(octets: bytes) -> int | None:
    """Return the address in six octets, or in the text that some agents write in their place."""
    if len(octets) == 6:
        return int.from_bytes(octets, "big")
    text = octets.strip(_BLANK.encode())
    return int(re.sub(rb"[:.-]", b"", text), 16) if _MAC_TEXT.fullmatch(text) else None


def _chassis(kind: int | None, octets: bytes) -> str:
    as_mac = kind == _MAC_CHASSIS or (kind == _LOCAL_CHASSIS and len(octets) > 6)
    as_mac |= kind is None and _is_raw_mac(octets)
    if as_mac and (mac := _mac_of(octets)) is not None:
        return f"mac {format_mac(mac)}"
    octets = octets[:_TEXT_OCTETS]
    text = octets.decode("utf-8", "replace").strip(_BLANK)
    if kind == _MAC_CHASSIS:  # only six octets are a MAC address
        return f"unknown {octets.hex()}"
    return f"{_CHASSIS_KINDS.get(kind or 0, 'unknown')} {text if text.isprintable() else octets.hex()}"


def _words(octets: bytes) -> str:
    """Return printable text of a switch, no longer than its type allows."""
    return printable(octets[:_TEXT_OCTETS].decode("utf-8", "replace").strip(_BLANK).replace("\n", " "))
