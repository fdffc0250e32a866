"""Read lists of hosts with MAC addresses: what kind of list a file is, and who stands in it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.read import cluster_lists, dhcp_lists, inventory_lists, neighbor_lists
from tagloom.read.host_rows import Rows
from tagloom.storage.document import YAML_BYTES
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from pathlib import Path

    from tagloom.records.addresses import HostList

Reader = Callable[[str, Rows], None]
READERS: dict[str, Reader] = {
    "ethers": dhcp_lists.read_ethers,
    "dnsmasq": dhcp_lists.read_dnsmasq,
    "isc": dhcp_lists.read_isc,
    "kea": dhcp_lists.read_kea,
    "openwrt": neighbor_lists.read_openwrt,
    "arp": neighbor_lists.read_arp,
    "slurm": cluster_lists.read_slurm,
    "warewulf": cluster_lists.read_warewulf,
    "xcat": cluster_lists.read_xcat,
    "ansible": inventory_lists.read_ansible,
    "netbox": inventory_lists.read_netbox,
}
_TITLES = {
    "ethers": "ethers",
    "dnsmasq": "dnsmasq",
    "isc": "ISC dhcpd",
    "kea": "Kea",
    "openwrt": "OpenWrt",
    "arp": "arp or ip neigh",
    "slurm": "Slurm",
    "warewulf": "Warewulf",
    "xcat": "xCAT",
    "ansible": "Ansible",
    "netbox": "NetBox",
}
NO_LIST = "no list that tagloom reads"
MOST_FILES = 100_000  # in a directory of facts
_MAC = r"[0-9A-Fa-f]{1,2}(?:[:-][0-9A-Fa-f]{1,2}){5}"
_INTERFACE = r"(?:e(?:th|n|m|np)|p\d|bond|team|br|vm|vlan|wl|ib|veth|tap|docker|swp|lan)[\w.@-]*"
_HEADING = r"(?:MAC|Hardware|HW|Physical)[ \t]*Addr(?:ess)?\b"
# What tells a kind of list, in this order: none of them stands in a list of another kind.
_SIGNS = (
    ("kea", r"\A\s*address,hwaddr,|\"Dhcp[46]\"\s*:"),
    ("netbox", r"\A\s*[\[{](?s:.*)\"device\"\s*:\s*\{"),
    ("xcat", r'\A#?"?node"?,"?interface"?,"?mac|^Object name:|^(?:[^\s:]+:)?[ \t]+mac=[0-9A-Fa-f:|!]+'),
    ("warewulf", r"^[ \t]*(?:nodeprofiles|network devices)[ \t]*:"),
    ("openwrt", r"^[ \t]*config[ \t]+['\"]?host\b|^dhcp\.[^.=\s]+='?host'?[ \t]*$"),
    ("dnsmasq", rf"^[ \t]*dhcp-host=|^\d+ (?:\d+-)?{_MAC} \S+ \S+ \S+$|^(?:[^#\s,]+,)*{_MAC},"),
    ("isc", r"\bhardware\s+(?:ethernet|token-ring|infiniband)\b|^[ \t]*lease[ \t]+[\d.]+[ \t]*\{"),
    ("slurm", r"^[ \t]*(?i:NodeName)[ \t]*="),
    ("arp", r"\A\s*\[(?s:.*)\"lladdr\"\s*:|^\S+ \([\da-fA-F.:]+\) at \S|^\S+ (?:dev \S+ )?lladdr \S"),
    ("arp", r"\bHW ?(?:address|type)\b|^[\da-fA-F.:]+[ \t]+dev[ \t]|^Internet[ \t]+[\d.]+[ \t].*[ \t]ARPA\b"),
    ("arp", rf"^[ \t]*[\da-fA-F.:]+[ \t]+{_MAC}[ \t]+(?:dynamic|static)\b"),
    # of routers and switches: an address, and a MAC address behind it (Junos: before it)
    ("arp", rf"(?i)^(?!.*host[ _-]?name)[ \t]*(?:No\.?[ \t]+)?(?:(?:IP|Internet)[ \t]*)?Address[ \t].*[ \t]{_HEADING}"),
    ("arp", rf"(?i)^{_HEADING}[ \t]+Address[ \t]"),
    ("arp", r"^[ \t]*\d+[ \t].*\baddress=[\d.]+[ \t]+mac-address="),  # RouterOS
    ("arp", rf"^[\da-fA-F.:]+[ \t]+{_INTERFACE}[ \t]+{_MAC}[ \t]*$"),  # ip -br neigh
    ("arp", r"^[ \t]*[\w-]+[ \t]+[\d.]+[ \t]+(?:[\da-fA-F]{4}\.){2}[\da-fA-F]{4}[ \t]+(?:\d+|-|alias)[ \t]*$"),  # ASA
    ("ethers", rf"^[ \t]*{_MAC}[ \t]+[^\s,]+[ \t]*(?:#.*)?$"),
    ("ansible", r"(?:^|[\s{,\"'])(?:_meta|hosts|children|default_ipv4|ansible_\w+)[\"']?[ \t]*:"),
    ("ansible", r"^\[[^\]\s,]+\][ \t]*(?:[#;].*)?$"),
    ("ansible", r"^[\w.:\[\]-]+[ \t](?:.*[ \t])?(?:ansible_\w+|mac|mac_address|macaddress|hwaddr)="),
)


def read_host_list(path: Path, kind: str = "auto") -> HostList:
    """Return the hosts that a list names, with their addresses; a directory is a cache of Ansible's facts.

    Raises InputError with all findings, each led by ``file:line`` where the kind of list has lines.
    """
    if path.is_dir():
        return _facts(path, kind)
    text = read_text(path, "a list of hosts", YAML_BYTES)
    chosen = _kind(text) if kind == "auto" else kind
    rows = Rows(str(path))
    if chosen:
        READERS[chosen](text, rows)
    if kind == "auto" and (not chosen or (chosen == "ansible" and rows.is_empty)):
        kinds = ", ".join(_TITLES[each] for each in READERS)
        raise InputError([Finding(str(path), f"a list of hosts ({kinds})", NO_LIST)])
    return rows.end(chosen)


def netbox_list(interfaces: list[dict[str, Any]], source: str) -> HostList:
    """Return the hosts whose interfaces a NetBox answered; `source` names it. Raises InputError."""
    rows = Rows(source)
    inventory_lists.add_interfaces(interfaces, rows)
    return rows.end("netbox")


def _kind(text: str) -> str:
    """Return the kind of a list by its signs, "" where it has none of them."""
    plain = re.sub(r"\A(?:\s*(?:#|//)[^\n]*\n)+", "", text)  # comments before JSON
    return next(
        (kind for kind, sign in _SIGNS if any(re.search(sign, each, re.MULTILINE) for each in (text, plain))), ""
    )


def _facts(path: Path, kind: str) -> HostList:
    """Read a directory of facts, a JSON file for each host, named like it."""
    if kind not in {"auto", "ansible"}:
        raise InputError([Finding(str(path), f"a file ({kind})", "a directory")])
    files = sorted(each for each in path.iterdir() if not each.name.startswith("."))
    if len(files) > MOST_FILES:
        raise InputError([Finding(str(path), f"at most {MOST_FILES} files of facts", str(len(files)))])
    rows = Rows(str(path))
    for each in files:
        try:
            text = read_text(each, "facts of a host", YAML_BYTES)
            inventory_lists.read_facts(text, each.name, Rows(str(each), rows))
        except InputError as error:
            rows.findings += error.findings
    return rows.end("ansible")
