"""Read what names hosts by MAC address on a network: ethers, dnsmasq, ISC dhcpd, Kea."""

from __future__ import annotations

import csv
import ipaddress
import re
from typing import TYPE_CHECKING, Any

from tagloom.storage.document import parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.read.host_rows import Rows

_HARDWARE = re.compile(r"(?:[0-9]+-)?((?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2})\Z")
_LEASE_TIME = re.compile(r"[0-9]+[smhdw]?|infinite|deprecated")
_STRING = r'"(?:[^"\\]|\\.?)*+(?:"|\Z)'  # one that does not end goes to the end of the text, so that none is read twice
_TOKEN = re.compile(rf'{_STRING}|#[^\n]*|[{{}};]|[^\s{{}};"#]+', re.DOTALL)
_NOT_JSON = re.compile(rf"({_STRING})|(?:#|//)[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMA = re.compile(rf"({_STRING})|,(?=\s*[\]}}])", re.DOTALL)
_ENDED = {"free", "expired", "released", "abandoned", "backup", "reset", "bootp"}


def read_ethers(text: str, rows: Rows) -> None:
    """Read ethers(5): an address and a name a line."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if len(words) == 2:
            rows.add(words[1], _padded(words[0]), number)
        elif words:
            rows.find(number, "a MAC address and a name (ethers)", line.strip())


def _padded(mac: str) -> str:
    """Return an address with two digits in each part, as ether_ntoa(3) leaves zeros out."""
    return ":".join(part.zfill(2) for part in mac.split(":"))


def read_dnsmasq(text: str, rows: Rows) -> None:
    """Read dnsmasq's leases, its dhcp-host= lines, or a file of such lines without that word (dhcp-hostsfile)."""
    lines = [(number, line.strip()) for number, line in enumerate(text.splitlines(), 1)]
    options = any(re.match(r"[a-z][a-z0-9-]*(=|$)", line) for _, line in lines)
    for number, line in lines:
        words = line.split()
        if not words or line.startswith("#"):
            continue
        if len(words) >= 4 and words[0].isascii() and words[0].isdecimal():
            hardware = _HARDWARE.match(words[1])
            if hardware and words[3] != "*":
                rows.add(words[3], hardware[1], number)
        elif line.startswith("dhcp-host=") or (not options and "," in line):
            _dhcp_host(line.removeprefix("dhcp-host=").partition("#")[0], rows, number)


def _dhcp_host(line: str, rows: Rows, number: int) -> None:
    parts = [part.strip() for part in line.split(",")]
    macs = [hardware[1] for part in parts if (hardware := _HARDWARE.match(part))]
    names = [part for part in parts if part and not _HARDWARE.match(part) and _is_name(part)]
    if len(names) > 1:
        rows.find(number, "one name in a dhcp-host", ", ".join(names))
    for mac in macs if len(names) == 1 else ():
        rows.add(names[0], mac, number)


def _is_name(part: str) -> bool:
    if ":" in part or "*" in part or part == "ignore" or _LEASE_TIME.fullmatch(part):
        return False
    try:
        ipaddress.ip_address(part.strip("[]"))
    except ValueError:
        return True
    return False


def read_isc(text: str, rows: Rows) -> None:
    """Read dhcpd.conf and dhcpd.leases: of the leases of an address, which are a journal, the last one that holds."""
    blocks: list[tuple[list[str], dict[str, str], int]] = []  # the words before {, what is said within, its line
    leases: dict[str, tuple[str, str, int]] = {}
    statement: list[str] = []
    for word, line in _tokens(text):
        if word == "{":
            blocks.append((statement, {}, line))
            statement = []
        elif word == ";":
            if blocks and statement:
                _statement(blocks[-1][1], statement)
            statement = []
        elif word == "}":
            if not blocks:
                rows.find(line, "blocks that begin before they end (dhcpd)", "}")
                return
            _end_of_block(*blocks.pop(), leases)
            statement = []
        else:
            statement.append(word)
    if blocks:
        rows.find(blocks[-1][2], "a block that ends (dhcpd)", " ".join(blocks[-1][0]))
    for name, mac, line in leases.values():
        rows.add(name, mac, line)


def _tokens(text: str) -> Iterator[tuple[str, int]]:
    line, at = 1, 0
    for match in _TOKEN.finditer(text):
        line += text.count("\n", at, match.start())
        at = match.start()
        if not match[0].startswith("#"):
            yield match[0], line


def _statement(said: dict[str, str], words: list[str]) -> None:
    if words[:2] == ["hardware", "ethernet"] and len(words) == 3:
        said["mac"] = _padded(words[2])
    elif words[0] == "client-hostname" and len(words) == 2:
        said["name"] = words[1].strip('"')
    elif words[:2] == ["binding", "state"] and len(words) == 3:
        said["state"] = words[2]
    elif words == ["deleted"]:
        said["state"] = "free"


def _end_of_block(head: list[str], said: dict[str, str], line: int, leases: dict[str, tuple[str, str, int]]) -> None:
    if len(head) != 2 or head[0] not in {"host", "lease"}:
        return
    if said.get("state") in _ENDED:
        leases.pop(head[1], None)
    elif head[0] == "host" and "mac" in said:
        leases[f"host {head[1]} {said['mac']}"] = head[1].strip('"'), said["mac"], line
    elif "mac" in said and "name" in said:
        leases[head[1]] = said["name"], said["mac"], line


def read_kea(text: str, rows: Rows) -> None:
    """Read the reservations of a configuration of Kea's, JSON with comments, or its leases (CSV)."""
    if not text.lstrip().startswith(("{", "#", "/")):
        _kea_leases(text, rows)
        return
    plain = _NOT_JSON.sub(lambda match: match[1] or "\n" * match[0].count("\n"), text)
    plain = _LAST_COMMA.sub(lambda match: match[1] or "", plain)
    parts: list[Any] = [parse_json(plain, rows.source, "JSON (Kea)")]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            reserved = part.get("reservations")
            for each in reserved if isinstance(reserved, list) else ():
                if isinstance(each, dict) and "hw-address" in each and each.get("hostname"):
                    rows.add(each["hostname"], each["hw-address"])
            parts += [value for key, value in part.items() if key != "reservations"]
        elif isinstance(part, list):
            parts += part


def _kea_leases(text: str, rows: Rows) -> None:
    """Read Kea's leases: a journal, whose last row of an address counts."""
    leases: dict[str, tuple[str, str, int]] = {}
    try:
        for number, row in enumerate(csv.DictReader(text.splitlines()), 2):
            address, mac, name = (row.get(key) or "" for key in ("address", "hwaddr", "hostname"))
            leases.pop(address, None)
            if mac and name and (row.get("state") or "0") == "0" and row.get("valid_lifetime") != "0":
                leases[address] = name, mac, number
    except csv.Error as error:
        rows.find(0, "leases with commas between (Kea)", str(error))
    for name, mac, number in leases.values():
        rows.add(name, mac, number)
