"""Read what names hosts by what they are for: Ansible's inventory and facts, NetBox's interfaces."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.storage.document import parse_json, parse_yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.read.host_rows import Rows

_MAC_VARIABLES = ("mac", "mac_address", "macaddress", "hwaddr")
_LONGEST_LINE = 10_000


def read_ansible(text: str, rows: Rows) -> None:
    """Read an inventory (YAML, INI, or the JSON of ``ansible-inventory --list``), or the facts of one host."""
    if text.lstrip().startswith("{"):
        document = parse_json(text, rows.source, "an inventory of Ansible's")
    else:
        try:
            document = parse_yaml(text, rows.source).value
        except InputError:  # as INI mostly is none
            document = None
    if not isinstance(document, dict):
        _read_ini(text, rows)
        return
    facts = document.get("ansible_facts", document)
    if isinstance(facts, dict) and isinstance(name := facts.get("ansible_hostname", facts.get("hostname")), str):
        _host(name, facts, rows)
        return
    listed = document.get("_meta")
    if isinstance(listed, dict) and isinstance(listed.get("hostvars"), dict):
        for name, variables in listed["hostvars"].items():
            _host(name, variables, rows)
        return
    groups: list[Any] = list(document.values())
    while groups:
        group = groups.pop()
        if not isinstance(group, dict):
            continue
        hosts, children = group.get("hosts"), group.get("children")
        for name, variables in hosts.items() if isinstance(hosts, dict) else ():
            _host(name, variables, rows)
        groups += children.values() if isinstance(children, dict) else ()


def _read_ini(text: str, rows: Rows) -> None:
    """Read an INI inventory: hosts with key=value behind them; groups' variables and children name no address."""
    of_hosts = True
    for number, line in enumerate(text.splitlines(), 1):
        words = line.strip()
        if not words or words[0] in "#;":
            continue
        if words.startswith("["):
            of_hosts = ":" not in words
            continue
        if not of_hosts:
            continue
        if len(words) > _LONGEST_LINE:  # shlex takes time by the square of it
            rows.find(number, f"a line of at most {_LONGEST_LINE} characters (Ansible)", str(len(words)))
            continue
        try:
            name, *parts = shlex.split(words, comments=True)
        except ValueError as error:
            rows.find(number, "a host and its variables (Ansible)", str(error))
            continue
        _host(name, dict(part.split("=", 1) for part in parts if "=" in part), rows, number)


def read_facts(text: str, name: str, rows: Rows) -> None:
    """Read one file of a facts cache: what Ansible found on a host."""
    document = parse_json(text, rows.source, "facts of a host (JSON)")
    if not isinstance(document, dict):
        rows.find(0, "facts of a host", document)
        return
    _host(name, document.get("ansible_facts", document), rows)


def _host(name: Any, variables: Any, rows: Rows, line: int = 0) -> None:
    """Add a host where its variables have an address; of switches, say, there are none."""
    found = next(_addresses(variables), None) if isinstance(variables, dict) else None
    if found is not None:
        rows.add(str(name), found, line)


def _addresses(variables: dict[Any, Any]) -> Iterator[Any]:
    """List where a host's variables may have its address: its own, before what Ansible found of the default route."""
    yield from (variables[key] for key in _MAC_VARIABLES if variables.get(key))
    for key in ("ansible_default_ipv4", "default_ipv4"):
        facts = variables.get(key)
        if isinstance(facts, dict) and facts.get("macaddress"):
            yield facts["macaddress"]


def read_netbox(text: str, rows: Rows) -> None:
    """Read interfaces as NetBox's REST interface lists them; those for management alone are left out."""
    add_interfaces(parse_json(text, rows.source, "JSON (NetBox)"), rows)


def add_interfaces(document: Any, rows: Rows) -> None:
    """Add the interfaces of an answer of NetBox, as a list or a page."""
    if isinstance(document, dict) and document.get("next"):
        rows.remarks.append(Finding(rows.source, "all interfaces on one page (limit=0)", "more of them: next is set"))
    listed = document.get("results") if isinstance(document, dict) else document
    if not isinstance(listed, list):
        rows.find(0, "interfaces, or results with interfaces (NetBox)", document)
        return
    for each in listed:
        device = each.get("device") if isinstance(each, dict) else None
        if not isinstance(device, dict):
            rows.find(0, "an interface of a device (NetBox)", each)
            continue
        if not each.get("mgmt_only"):
            for mac in _macs_of(each):
                rows.add(device.get("name"), mac)


def _macs_of(interface: dict[str, Any]) -> list[Any]:
    """Return the addresses of an interface of NetBox: the primary one, or where none was made primary, all it has."""
    primary = interface.get("primary_mac_address")
    first = interface.get("mac_address") or (primary.get("mac_address") if isinstance(primary, dict) else None)
    others = interface.get("mac_addresses")
    found = [first] if first else [each.get("mac_address") for each in others or () if isinstance(each, dict)]
    return [mac for mac in found if mac]
