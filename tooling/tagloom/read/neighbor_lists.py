"""Read what names hosts by the addresses that a machine met or was told: ARP tables, OpenWrt's static leases."""

from __future__ import annotations

import ipaddress
import re
import shlex
from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.storage.document import parse_json
from tagloom.units import is_host_address, parse_mac

if TYPE_CHECKING:
    from tagloom.read.host_rows import Rows

_MAC = re.compile(r"(?:[0-9A-Fa-f]{1,2}[:-]){5}[0-9A-Fa-f]{1,2}|(?:[0-9A-Fa-f]{4}[.-]){2}[0-9A-Fa-f]{4}")
_SILENT = {"FAILED", "INCOMPLETE", "(incomplete)"}
_HARDWARE = (["ether"], ["infiniband"], ["ieee1394"], ["fddi"], ["tr"])  # of `arp -e`
_LONGEST_LINE = 10_000
_SHOWN = re.compile(r"dhcp\.([^.=]+)(?:\.(name|mac))?=(.*)")


def read_arp(text: str, rows: Rows) -> None:
    """Read a table of neighbors: `arp` (with -a, -e or -n), /proc/net/arp, `ip neigh` (also -j), a router's.

    A neighbor is named, or by its IP address, which few hosts of a fabric are called: those rows are then strangers.
    Neighbors that did not answer have no MAC address and are left out.
    """
    if text.lstrip().startswith("["):
        for each in parse_json(text, rows.source, "JSON (ip -j neigh)"):
            if isinstance(each, dict) and each.get("lladdr"):
                rows.add(each.get("dst"), each["lladdr"])
        return
    for number, line in enumerate(text.splitlines(), 1):
        words = [
            word.removeprefix("mac-").removeprefix("address=")
            for word in line[:_LONGEST_LINE].replace(",", " ").split()
        ]
        mac = next((word for word in words if _MAC.fullmatch(word)), "")
        if not mac or not _SILENT.isdisjoint(words) or not is_host_address(parse_mac(_padded(mac))):
            continue  # a heading, a neighbor that did not answer, a group's address
        name = _name_in(words, words.index(mac))
        if name:
            rows.add(name, _padded(mac), number)
        else:
            rows.find(number, "a name or an IP address beside a MAC address (arp)", line.strip())


def _name_in(words: list[str], at: int) -> str:
    """Return what a row calls the neighbor whose MAC address is at a place; "" where that cannot be told.

    A first word is its name only in the forms of `arp` and `ip neigh`: in other tables it may be an interface (ASA,
    Solaris).
    """
    before = words[at > 0 and words[0] == "Internet" : at]
    first = before[0] if before else ""
    is_name = (before[1:2] and before[1].startswith("(")) or "lladdr" in before or before[1:] in _HARDWARE
    if words[:1] == ["Internet"] or (is_name and first != "?"):
        return first
    addresses = (word.strip("()") for word in (*before, *words[at + 1 :]))
    return next((word for word in addresses if _is_address(word) and not word.startswith("255.")), "")


def _padded(mac: str) -> str:
    """Return an address with two digits in each part, as BSD's arp leaves zeros out."""
    parts = re.split("[.:-]", mac)
    return mac.replace("-", ".") if len(parts) == 3 else ":".join(part.zfill(2) for part in parts)


def _is_address(word: str) -> bool:
    try:
        ipaddress.ip_address(word.partition("%")[0])
    except ValueError:
        return False
    return True


def read_openwrt(text: str, rows: Rows) -> None:
    """Read OpenWrt's static leases: sections `host` of /etc/config/dhcp, or as `uci show dhcp` prints them."""
    sections: dict[str, tuple[int, dict[str, list[str]]]] = {}
    key = ""
    for number, line in enumerate(text.splitlines(), 1):
        if (shown := _SHOWN.fullmatch(line.strip())) is not None:
            if shown[2] is None and shown[3].strip("'\"") == "host":
                sections[shown[1]] = number, {}
            elif shown[2] is not None and shown[1] in sections:
                sections[shown[1]][1].setdefault(shown[2], []).extend(_words(shown[3]))
            continue
        words = _words(line)
        if words[:1] == ["config"]:
            key = f"{number}" if words[1:2] == ["host"] else ""
            if key:
                sections[key] = number, {}
        elif key and words[:1] in (["option"], ["list"]) and len(words) == 3:
            sections[key][1].setdefault(words[1], []).append(words[2])
    for number, options in sections.values():
        macs = [mac for said in options.get("mac", ()) for mac in said.split()]
        if macs and not options.get("name"):
            rows.remarks.append(Finding(rows.at(number), "a host with a name (OpenWrt)", ", ".join(macs)))
        for mac in macs if options.get("name") else ():
            rows.add(options["name"][0], mac, number)


def _words(line: str) -> list[str]:
    """Return the words of a line, quoted or not; none of one that is longer than any, or does not end its quotes."""
    if len(line) > _LONGEST_LINE:  # shlex takes time by the square of it
        return []
    try:
        return shlex.split(line, comments=True)
    except ValueError:
        return []
