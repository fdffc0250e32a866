"""What switches report over SNMP: their ports and counters, their VLANs, their neighbours."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.records.switch_state import Membership


@dataclass(frozen=True, slots=True)
class Counters:
    """One port as in IF-MIB (RFC 2863); what the switch lacks is None and named in a complaint.

    `number` is our port number, `name` the port in its model's words. Octets and packets count modulo 2^64, or modulo
    2^`bits`. `last_change_seconds` is on the switch's own clock: sysUpTime when the port last went up or down.
    """

    number: int
    name: str
    admin_up: bool | None = None
    oper_up: bool | None = None
    speed_bps: int | None = None
    last_change_seconds: float | None = None
    in_octets: int | None = None
    out_octets: int | None = None
    in_packets: int | None = None
    out_packets: int | None = None
    in_errors: int | None = None
    out_errors: int | None = None
    bits: int = 64


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One row of lldpRemTable (IEEE 802.1AB): what the far end of a port's cable reports about itself.

    `port` is our port number here, `far_port` the far port's id, or its description where the id is an address, and
    `far_description` its description. `chassis` is the device's id ("mac 02:..." or "kind text"), `port_mac` the far
    port's address if that is its id, `addresses` the management addresses. `bridge` is whether it is read as a switch,
    `doubt` why it may be the other, "" where its capabilities decide.
    """

    port: int
    chassis: str
    far_port: str
    name: str = ""
    description: str = ""
    bridge: bool = True
    port_mac: int | None = None
    addresses: tuple[str, ...] = ()
    far_description: str = ""
    doubt: str = ""


@dataclass(frozen=True, slots=True)
class Vlans:
    """The VLANs in Q-BRIDGE-MIB (RFC 4363): members of every VLAN by port, PVIDs by port, static entries.

    A part the switch lacks is None. `entries` maps (VLAN, MAC) to ports, ascending; `learned` maps (VLAN, MAC) to the
    port the switch learned, VLAN 0 where its table names none. `seen_on` names in a phrase the source of all but that.
    """

    members: Mapping[int, Mapping[int, Membership]] | None = None
    pvid: Mapping[int, int] | None = None
    entries: Mapping[tuple[int, int], tuple[int, ...]] | None = None
    learned: Mapping[tuple[int, int], int] | None = None
    seen_on: str = "over SNMP"


@dataclass(frozen=True, slots=True)
class SpanningTree:
    """What a switch reports of its spanning tree in BRIDGE-MIB (RFC 4188): one tree for all VLANs.

    bridge, root  the addresses of the switch itself and of the root, twelve hex digits, "" if not reported
    root_port     the port that leads to the root, 0 if the switch is the root
    blocked       ports that forward nothing
    changing      ports that listen or learn: the tree has not settled
    """

    bridge: str
    root: str
    root_port: int
    blocked: frozenset[int]
    changing: frozenset[int]


@dataclass(frozen=True, slots=True)
class Observation:
    """One reading of one switch.

    `at` is the time of the reading in seconds since the epoch, `uptime_seconds` the switch's own sysUpTime then.
    `error` says why there is no reading, or ""; `complaints` what was missing or inconsistent in one. `aggregated` maps
    a port to the port-channel that binds it (IEEE 802.1AX), None if the switch does not report it.
    """

    switch: str
    at: float
    error: str = ""
    complaints: tuple[str, ...] = ()
    name: str = ""
    description: str = ""
    object_id: str = ""
    uptime_seconds: float | None = None
    chassis: str = ""
    ports: tuple[Counters, ...] = ()
    neighbours: tuple[Neighbour, ...] = ()
    vlans: Vlans = field(default_factory=Vlans)
    aggregated: Mapping[int, int] | None = None
    spanning: SpanningTree | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the reading with the keys of the command line; VLANs as ids, entries as counts."""
        members, entries, learned = self.vlans.members, self.vlans.entries, self.vlans.learned
        return {
            "at": self.at,
            "error": self.error,
            "complaints": list(self.complaints),
            "name": self.name,
            "description": self.description,
            "object_id": self.object_id,
            "uptime_seconds": self.uptime_seconds,
            "chassis": self.chassis,
            "ports": [asdict(port) for port in self.ports],
            "neighbours": [
                {
                    **asdict(each),
                    "port_mac": format_mac(each.port_mac) if each.port_mac is not None else None,
                    "addresses": list(each.addresses),
                }
                for each in self.neighbours
            ],
            "vlans": None if members is None else sorted(members),
            "static_entries": None if entries is None else len(entries),
            "learned_entries": None if learned is None else len(learned),
        }


@dataclass(frozen=True, slots=True)
class Rate:
    """The load of one port between two readings: bits per second, and the share of its speed, None if unknown."""

    number: int
    name: str
    in_bps: float
    out_bps: float
    utilisation: float | None


@dataclass(frozen=True, slots=True)
class Rates:
    """A switch's rates between two readings, or why there are none ("" if there are)."""

    switch: str
    seconds: float
    ports: tuple[Rate, ...] = ()
    why_none: str = ""


@dataclass(frozen=True, slots=True)
class CountedInterval:
    """The rates of a fabric's switches between two looks at it.

    end            of the interval, seconds since the epoch
    down           ports that were down at one of both, as (switch, port number)
    apart_seconds  how far apart switches were read at one look
    slowest_bps    the least speed of each port that was up at one of both, bits per second, by (switch, port number)
    """

    end: float
    rates: Mapping[str, Rates]
    down: frozenset[tuple[str, int]] = frozenset()
    apart_seconds: float = 0.0
    slowest_bps: Mapping[tuple[str, int], int] = field(default_factory=dict)
