"""Read from LLDP whether a neighbour is a switch or a host, and where its announcement leaves a doubt."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.platforms.detect import by_text
from tagloom.units import format_mac, parse_mac

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tagloom.records.observation import Neighbour

# LldpSystemCapabilitiesMap (IEEE 802.1AB-2005 annex G): bit 0 is the most significant one of the first octet.
_BRIDGE, _ROUTER, _TELEPHONE, _STATION = 0x20, 0x08, 0x04, 0x01
_OTHERS = {
    0x80: "Other",
    0x40: "Repeater",
    0x10: "access point",
    _ROUTER: "Router",
    0x02: "DOCSIS",
    _STATION: "Station",
}
_VAGUE = 0x80 | 0x40  # what a switch without Bridge may announce, and a host too
# How a general-purpose system begins its description of itself (lldpd, systemd-networkd, snmpd, ESXi, BMCs).
_HOST_SYSTEM = re.compile(
    r"^\W{0,4}(?:Linux|Debian|Ubuntu|Red ?Hat|RHEL|CentOS|Rocky|Alma|Fedora|Oracle|SUSE|openSUSE|SLE[SD]|Arch|Alpine"
    r"|Gentoo|NixOS|Raspbian|Scientific|Amazon|Proxmox|Flatcar|CoreOS|Talos|FreeBSD|OpenBSD|NetBSD|DragonFly|TrueNAS|Darwin"
    r"|macOS|SunOS|Solaris|illumos|OmniOS|Windows|Microsoft|Hardware:.{0,120}Windows|VMware|ESXi|XCP|XenServer|Citrix"
    r"|Synology|QNAP|Unraid|iDRAC|Integrated (?:Dell|Lights)|iLO|BMC|OpenBMC|Supermicro|AMI|ASPEED)\b"
    r"|GNU/Linux|-pve\b|\bESXi\b",
    re.IGNORECASE,
)
# Systems of switches that are Linux or BSD below; a machine of other kinds may call itself by the last two words.
_NAMES_OF_SWITCH_SYSTEMS = r"Cumulus|SONiC|DENT OS|DentOS|PicOS|OcNOS|RouterOS|switchdev|\bEOS\b"
_NAMED_SWITCH_SYSTEM = re.compile(_NAMES_OF_SWITCH_SYSTEMS, re.IGNORECASE)
_SWITCH_SYSTEM = re.compile(rf"{_NAMES_OF_SWITCH_SYSTEMS}|OpenWrt|\bswitch\b", re.IGNORECASE)
_HOST_PORT = re.compile(
    r"(?:eth\d+|em\d+|en[opsx][0-9a-z]+|enP?\d+\w*|p\d+p\d+\w*|bond\d+|team\d+|vmbr\d+|virbr\d+|docker\d+|br\d+|br-\w+|veth\w+|tap\w+|wlan\d+|vmnic\d+|igb\d+|ix\d+|bge\d+|ib\w+"
    r"|NIC\W?.{0,40}|iDRAC.{0,40}|iLO.{0,40}|BMC.{0,40}|Ethernet \d+|Local Area Connection.{0,20})",
    re.IGNORECASE,
)
_SWITCH_PORT = re.compile(
    r"(?:[a-z][a-z -]{0,30}\d{1,3}(?:/\d{1,3}){1,3}|\d{1,2}/x?g\d{1,3}|x?g\d{1,3}|gi\d{1,3}|te\d{1,3}|swp\d{1,3}\w{0,3}"
    r"|lan\d{1,2}|ether\d{1,3}|sfp[\w-]{0,16}|(?:.{1,40}/)(?:ether|sfp)[\w-]{0,16})",
    re.IGNORECASE,
)
_MANAGEMENT_CONTROLLER = re.compile(r"bmc|i?drac|\bilo|ipmi|\bimm\d?\b|\bxcc\b|cimc|\bNIC\b", re.IGNORECASE)
_NAMED = 60  # characters of a description that are shown


def kind_of(neighbour: Neighbour, enabled: bytes | None, supported: bytes | None) -> tuple[bool, str]:
    """Return whether a neighbour is read as a switch, and why that is in doubt, "" where its capabilities decide.

    `enabled` and `supported` are the octets of its capability TLV, None where there is none; agents write zeros then.
    Some copy the TLV, whose bits are in the other order, and IEEE 802.1AB-2009 has more of them, in the second octet.
    """
    on, able = (octets[0] if octets else 0 for octets in (enabled, supported))
    if not any(enabled or b""):
        return _looks_like_switch(neighbour), "it announces no capabilities"
    if not on & _BRIDGE:
        return _without_bridge(neighbour, enabled or b"", able)
    if on & _TELEPHONE:
        return False, "it announces Telephone beside Bridge"
    if _is_host_system(neighbour):
        return _is_switch_port(neighbour), f"it announces Bridge, but {_described(neighbour)}"
    if _is_host_port(neighbour):
        return False, f"it announces Bridge, but calls its port {neighbour.far_port!r}"
    if _has_one_address(neighbour) and not _is_switch_port(neighbour):
        return False, "it announces Bridge, but its chassis id is the address of its port"
    return True, ""


def _without_bridge(neighbour: Neighbour, enabled: bytes, able: int) -> tuple[bool, str]:
    """Return what `kind_of` does of a station that announces other capabilities than Bridge."""
    on, system = enabled[0], _is_host_system(neighbour)
    if on & _ROUTER and not (on & _STATION or system or _is_host_port(neighbour)):
        can = "it can bridge, but announces" if able & _BRIDGE else "it announces"
        return _looks_like_switch(neighbour), f"{can} Router alone"
    if not on:
        return _looks_like_switch(neighbour), f"its capabilities ({enabled.hex(' ')}) are none of LLDP-MIB"
    announced = " and ".join(name for bit, name in _OTHERS.items() if on & bit)
    known = _NAMED_SWITCH_SYSTEM if on & _STATION else _SWITCH_SYSTEM
    if not (on & _TELEPHONE or system) and (known.search(neighbour.description) or _is_of_a_model(neighbour)):
        return True, f"it announces {announced}, not Bridge, but {_described(neighbour)}"
    if not on & ~_VAGUE:
        return _looks_like_switch(neighbour), f"it announces {announced} alone"
    return False, ""


def _described(neighbour: Neighbour) -> str:
    return f"describes itself as {neighbour.description[:_NAMED]!r}"


def _is_host_system(neighbour: Neighbour) -> bool:
    words = neighbour.description
    if not words or _SWITCH_SYSTEM.search(words) or not _HOST_SYSTEM.search(words):
        return False
    return all(platforms.load(model).is_shell for model in by_text(words).models)


def _is_of_a_model(neighbour: Neighbour) -> bool:
    """Return whether a station describes itself as a model of switches that is no machine with a shell."""
    models = by_text(neighbour.description).models if neighbour.description else ()
    return not all(platforms.load(model).is_shell for model in models)


def _is_host_port(neighbour: Neighbour) -> bool:
    return any(_HOST_PORT.fullmatch(words) for words in (neighbour.far_port, neighbour.far_description) if words)


def _is_switch_port(neighbour: Neighbour) -> bool:
    return any(_SWITCH_PORT.fullmatch(words) for words in (neighbour.far_port, neighbour.far_description) if words)


def _looks_like_switch(neighbour: Neighbour) -> bool:
    """Return whether a station without an announcement is more likely a switch: not where anything is a host's."""
    if _is_host_system(neighbour):
        return False
    if by_text(neighbour.description).models or _SWITCH_SYSTEM.search(neighbour.description):
        return True
    if _is_switch_port(neighbour):
        return True
    return not (_is_host_port(neighbour) or _has_one_address(neighbour))


def _has_one_address(neighbour: Neighbour) -> bool:
    """Return whether a station's chassis has the address of its port, as a host's of one card has."""
    own = neighbour.port_mac
    return own is not None and neighbour.chassis == f"mac {format_mac(own)}"


def host_mac(neighbour: Neighbour) -> int | None:
    """Return a station's address: that of its port, else of its chassis; None where it announces neither."""
    if neighbour.port_mac is not None:
        return neighbour.port_mac
    kind, _, words = neighbour.chassis.partition(" ")
    try:
        return parse_mac(words) if kind == "mac" else None
    except ValueError:  # not an address of six octets
        return None


def in_order(stations: Iterable[Neighbour]) -> list[Neighbour]:
    """Return the stations of one port, a management controller or a card's own agent behind the host itself."""
    return sorted(stations, key=_rank)


def _rank(station: Neighbour) -> tuple[bool, bool, str]:
    words = f"{station.name} {station.description} {station.far_port} {station.far_description}"
    return not station.name, bool(_MANAGEMENT_CONTROLLER.search(words)), station.chassis


def called(station: Neighbour) -> str:
    """Return a station's name and address, as findings write it."""
    mac = host_mac(station)
    name = station.name or station.chassis
    return f"{name} ({format_mac(mac)})" if mac is not None and station.name else name


def one_address_each(stations: Sequence[Neighbour]) -> list[int]:
    """Return the addresses of the stations of one port, each once, in their order."""
    return list(dict.fromkeys(mac for station in stations if (mac := host_mac(station)) is not None))
