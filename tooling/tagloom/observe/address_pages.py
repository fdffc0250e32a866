"""Parse the learned addresses from the table on a switch's command line.

The maintained templates (ntc-templates) reject a table with a static or a management row, which every switch of a
running fabric has. So rows are parsed here by their contents, whatever the order of the columns.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tagloom.units import parse_mac

if TYPE_CHECKING:
    from tagloom.platforms import Platform

_ROW = re.compile(r"(\d{1,4})\s+((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4})\s+(.*)")
_MAC = r"((?:[0-9A-Fa-f]{4}-){2}[0-9A-Fa-f]{4})"
_MOVED = re.compile(r"\s+\d{1,9}\s+\S{1,40}\s+ago$")  # EOS: how often an address moved, and when last
_HYPHENS = (  # head and row of a family's table
    (r"\bMAC Address\s+VLAN ID\s+State\b", rf"{_MAC}\s+(\d{{1,4}})\s+Learned\s+(\S+)\s+\S+"),  # Comware
    (r"\bMAC Address\s+VLAN/VSI\S*\s+Learned-From\b", rf"{_MAC}\s+(\d{{1,4}})/\S+\s+(\S+)\s+dynamic"),  # Huawei
)
_HEAD = re.compile(r"\bVlan\b.*\bMac Address\b", re.IGNORECASE)
_TERSE = re.compile(r"\d{1,6}[ \t]+((?:[A-Z]{1,6}[ \t]+){0,6})(\S+=.*)")
_LEARNT = {"dynamic", "learned"}


def learnt_on_page(platform: Platform, text: str) -> dict[tuple[int, int], int] | None:
    """Return (VLAN, MAC address) -> port of the learned rows; None if the text is no address table.

    Rows of static, management and the switch's own addresses are ignored, and so are ports that the model lacks.
    """
    if platform.is_shell:
        return _of_bridge(platform, text)
    if not platform.has_modes:
        return _of_routeros(platform, text)
    if pattern := next((row for head, row in _HYPHENS if re.search(head, text, re.IGNORECASE)), ""):
        rows = [row for line in text.splitlines() if (row := re.fullmatch(pattern, line.strip()))]
        named = [(int(row[2]), parse_mac(row[1]), platform.port_number(row[3])) for row in rows]
        return {(vlan, mac): port for vlan, mac, port in named if port}
    if not _HEAD.search(text):
        return None
    found = {}
    for line in text.splitlines():
        row = _ROW.fullmatch(_MOVED.sub("", line.strip()))
        words = row[3].split() if row else []
        places = [word for word in words if word.lower() not in _LEARNT]
        if row and len(words) == 2 and len(places) == 1 and (port := platform.port_number(places[0])):
            found[int(row[1]), parse_mac(row[2])] = port
    return found


def _of_routeros(platform: Platform, text: str) -> dict[tuple[int, int], int] | None:
    """Return the learned rows of `/interface bridge host print terse`: dynamic ones (D), not the bridge's own (L)."""
    rows = [row for line in text.splitlines() if (row := _TERSE.match(line.strip()))]
    if text.strip() and not rows:
        return None
    found: dict[tuple[int, int], int] = {}
    for row in rows:
        said = dict(word.partition("=")[::2] for word in row[2].split())
        mac, vlan, port = (said.get(name, "") for name in ("mac-address", "vid", "on-interface"))
        number = platform.port_number(port)
        flags = row[1].split()
        if any("L" in each or "D" not in each for each in flags) or not flags or number is None:
            continue
        if re.fullmatch(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", mac) and re.fullmatch(r"\d{1,4}", vlan):
            found[int(vlan), parse_mac(mac)] = number
    return found


def _of_bridge(platform: Platform, text: str) -> dict[tuple[int, int], int] | None:
    """Return the learned rows of `bridge -j fdb show` (bridge(8)): those of a bridge's ports that are not static."""
    try:
        rows = json.loads(text)
    except ValueError:
        return None
    found = {}
    for row in rows if isinstance(rows, list) else ():
        if (
            not isinstance(row, dict)
            or row.get("state") in {"static", "permanent"}
            or not {"vlan", "master"} <= row.keys()
        ):
            continue
        port = platform.port_number(str(row.get("ifname")))
        vlan, mac = row["vlan"], str(row.get("mac"))
        if port and isinstance(vlan, int) and re.fullmatch(r"(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}", mac):
            found[vlan, parse_mac(mac)] = port
    return found
