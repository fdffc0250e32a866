"""Parse the learned addresses from the table on a switch's command line.

The maintained templates (ntc-templates) reject a table with a static or a management row, which every switch of a
running fabric has. So rows are parsed here by their contents, whatever the order of the columns, and those that could
not be read are kept.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tagloom.platforms.port_names import port_number
from tagloom.units import parse_mac

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.platforms import Platform

NO_VLAN = 0  # of an address whose table names no VLAN
_COLONS = r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"
# A MAC address as a word, or behind the two octets of its VLAN, as FASTPATH's oldest tables have it.
_MAC = re.compile(
    rf"(?<!\S)(?:([0-9A-Fa-f]{{2}}:[0-9A-Fa-f]{{2}}):)?({_COLONS}|(?:[0-9A-Fa-f]{{4}}[.-]){{2}}[0-9A-Fa-f]{{4}})(?!\S)"
)
# One of a form that no family prints, which some firmware may: the row is kept as unread.
_OTHER_MAC = re.compile(
    r"(?<!\S)(?:(?:[0-9A-Fa-f]{1,2}[:.-]){5}[0-9A-Fa-f]{1,2}|(?:[0-9A-Fa-f]{4}:){2}[0-9A-Fa-f]{4}"
    r"|[0-9A-Fa-f]{6}[:.-][0-9A-Fa-f]{6}|(?=[0-9]{0,11}[A-Fa-f])[0-9A-Fa-f]{12}|[0-9]{12})(?!\S)"
)
_VLAN = re.compile(r"(\d{1,4})(?:/\S*|\([A-Z]\))?")  # Huawei: VLAN/VSI/BD; SG300: an internal one is marked
_HEAD = re.compile(r"\bVLAN\b.*\bMAC Addr|\bMAC Addr(?:ess)?\b.*\bVLAN\b", re.IGNORECASE)
_TOTAL = re.compile(
    r"Total mac addresses (?:for this criterion|in use) ?: *(\d{1,7})|Total items(?: displayed)? *[=:] *(\d{1,7})"
    r"|(\d{1,7}) mac address(?:es|\(es\))? found|Total matching items[^=]{0,40}displayed *= *(\d{1,7})",
    re.IGNORECASE,
)
_LEARNT = {"dynamic", "learned", "learnt"}
# What a switch was told, or is itself: the words of all families for addresses that it did not learn.
_HELD = frozenset(
    [
        "static",
        "management",
        "self",
        "mgmt",
        "other",
        "own",
        "secure",
        "security",
        "sticky",
        "blackhole",
        "permanent",
        "config",
        "multicast",
        "multiport",
        "authen",
        "authenticated",
        "guest",
        "snooping",
        "mux",
        "gmrp",
        "evpn",
        "peer",
        "delete-on-reset",
        "delete-on-timeout",
        "sec-config",
        "system",
        "internal",
        "invalid",
        "user-defined",
        "local",
    ]
)
# Where addresses are learned that are no port of a host: aggregates, tunnels, the switch's own processor.
_ELSEWHERE = re.compile(
    r"(?:po|ch|lag|trk|port-?channel|bagg|bridge-aggregation|eth-trunk|bond|vx|vxlan|vlan|tunnel|nve|router|cpu|mlag|"
    r"peer-?link|vfi|pw|vsi-?interface|self|switch)[\d/.:-]*",
    re.IGNORECASE,
)
_TERSE = re.compile(r"\d{1,6}[ \t]+((?:[A-Z]{1,6}[ \t]+){0,6})(\S+=.*)")


class AddressPage(NamedTuple):
    """The learned rows of a table, (VLAN, MAC address) -> port, and the rows that could not be read, as printed.

    Where the table names no VLAN, it is NO_VLAN. Rows of static, management and the switch's own addresses are no
    learned ones, and neither are those at aggregates and tunnels.
    """

    learned: dict[tuple[int, int], int]
    unread: tuple[str, ...] = ()


def learnt_on_page(platform: Platform, text: str) -> dict[tuple[int, int], int] | None:
    """Return (VLAN, MAC address) -> port of the learned rows, None if the text is no address table.

    `address_page` also returns the rows that could not be read.
    """
    page = address_page(platform, text)
    return None if page is None else page.learned


def address_page(platform: Platform, text: str) -> AddressPage | None:
    """Return what a text has as an address table, None if it is none."""
    if platform.is_shell:
        return _of_bridge(platform, text)
    if not platform.has_modes:
        return _of_routeros(platform, text)
    found: dict[tuple[int, int], int] = {}
    unread: list[str] = []
    rows = stated = 0
    for line in text.splitlines():
        mac = _MAC.search(line)
        stated += sum(int(digits) for digits in _stated(line))
        if mac is None:
            unread += [line.strip()] if _OTHER_MAC.search(line) and not _is_held(line.split()) else []
            continue
        rows += 1
        _read_row(platform, line, mac, found, unread)
    if not found and not _HEAD.search(text) and not _TOTAL.search(text):
        return None
    if stated > rows:
        unread.append(f"{stated} rows, as it counts them, but shows {rows}")
    return AddressPage(found, tuple(unread))


def _stated(line: str) -> list[str]:
    total = _TOTAL.search(line)
    return [digits for digits in total.groups() if digits] if total is not None else []


def _read_row(
    platform: Platform, line: str, mac: re.Match[str], found: dict[tuple[int, int], int], unread: list[str]
) -> None:
    """Add a row to what is found, or to what is unread, or to neither where it is of another kind."""
    before, after = line[: mac.start()].split(), line[mac.end() :].split()
    words = [word.lower() for word in (*before, *after)]
    if _is_held(words):
        return
    if _LEARNT.isdisjoint(words):
        unread.append(line.strip())
        return
    beside = [*before[-1:], *after[:1]]
    vlan = next((int(word[1]) for each in beside if (word := _VLAN.fullmatch(each))), NO_VLAN)
    if mac[1]:
        vlan = int(mac[1].replace(":", ""), 16)
    ports = [port for word in (*after, *before) if (port := port_number(platform, word)) is not None]
    if ports:
        found[vlan, parse_mac(mac[2])] = ports[0]
    elif not any(_ELSEWHERE.fullmatch(word) for word in words):
        unread.append(line.strip())


def _is_held(words: Sequence[str]) -> bool:
    return not _HELD.isdisjoint(word.lower() for word in words)


def _of_routeros(platform: Platform, text: str) -> AddressPage | None:
    """Return the learned rows of `/interface bridge host print terse`: dynamic ones (D), not the bridge's own (L)."""
    found: dict[tuple[int, int], int] = {}
    unread: list[str] = []
    rows = 0
    for line in map(str.strip, text.splitlines()):
        row = _TERSE.match(line)
        if row is None:
            unread += [line] if re.search(_COLONS, line) else []
            continue
        rows += 1
        said = dict(word.partition("=")[::2] for word in row[2].split())
        mac, vlan = said.get("mac-address", ""), said.get("vid", str(NO_VLAN))
        port = said.get("on-interface") or said.get("interface", "")
        flags = row[1].replace(" ", "")
        if not {"L", "X", "I"}.isdisjoint(flags) or "D" not in flags or _ELSEWHERE.fullmatch(port):
            continue
        number = port_number(platform, port)
        if number and re.fullmatch(_COLONS, mac) and re.fullmatch(r"\d{1,4}", vlan):
            found[int(vlan), parse_mac(mac)] = number
        else:
            unread.append(line)
    return None if text.strip() and not rows and not unread else AddressPage(found, tuple(unread))


def _of_bridge(platform: Platform, text: str) -> AddressPage | None:
    """Return the learned rows of `bridge -j fdb show` (bridge(8)): those of a bridge's ports that are not static."""
    try:
        rows = json.loads(text)
    except ValueError:
        return None
    if not isinstance(rows, list):
        return None
    found: dict[tuple[int, int], int] = {}
    unread: list[str] = []
    for row in rows:
        if isinstance(row, dict) and (row.get("state") in {"static", "permanent"} or "master" not in row):
            continue  # told to the bridge, or a card's own filter
        read = _bridge_row(platform, row) if isinstance(row, dict) else None
        if read is None:
            unread.append(json.dumps(row))
        elif read[1]:
            found[read[0]] = read[1]
    return AddressPage(found, tuple(unread))


def _bridge_row(platform: Platform, row: dict[str, Any]) -> tuple[tuple[int, int], int] | None:
    """Return a row's VLAN and address, and its port, 0 where that is an aggregate or a tunnel; None if unread."""
    name, vlan, mac = str(row.get("ifname")), row.get("vlan", NO_VLAN), str(row.get("mac"))
    port = platform.port_number(name) or (0 if _ELSEWHERE.fullmatch(name) else None)
    if port is None or type(vlan) is not int or not re.fullmatch(_COLONS, mac):
        return None
    return (vlan, parse_mac(mac)), port
