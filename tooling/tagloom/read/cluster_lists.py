"""Read what names the hosts of a cluster: Slurm's nodes, Warewulf's, and xCAT's table of MAC addresses."""

from __future__ import annotations

import csv
import re
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding
from tagloom.storage.document import parse_yaml

if TYPE_CHECKING:
    from tagloom.read.host_rows import Rows

_MOST_NODES = 100_000
_MOST_BRACKETS = 8  # of a name
_SHOWN = 200  # characters of a host list in a finding
_PART = re.compile(r"([^\[\]]*)\[([0-9]{1,9}(?:-[0-9]{1,9})?(?:,[0-9]{1,9}(?:-[0-9]{1,9})?)*)\]")
_NODES = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")  # what stands between the commas outside of brackets
_XCAT_HEAD = ("node", "interface", "mac")
_OBJECT = re.compile(r"(?:Object name:[ \t]*)?([^\s:]+):?[ \t]*")
_ATTRIBUTE = re.compile(r"(?:([^\s:]+):)?[ \t]+mac[ \t]*=[ \t]*(\S.*)")


def read_slurm(text: str, rows: Rows) -> None:
    """Read the names of nodes in slurm.conf, or as `scontrol show node` lists them: Slurm keeps no MAC addresses."""
    for number, line in _joined(text):
        plain = line.partition("#")[0].strip()
        key, equals, value = plain.partition("=")
        if plain.lower().startswith("include "):
            rows.remarks.append(Finding(rows.at(number), "all nodes in one file (Slurm)", plain))
        if key.strip().lower() != "nodename" or not equals or not value.split():
            continue
        try:
            names = node_names(value.split()[0].strip("\"'").rstrip(","))
        except ValueError as error:
            rows.find(number, f"nodes, at most {_MOST_NODES} (Slurm)", str(error)[:_SHOWN])
            continue
        rows.names += [(name, rows.at(number)) for name in names if name.lower() != "default"]
        if len(rows.names) > _MOST_NODES:
            rows.find(number, f"at most {_MOST_NODES} nodes (Slurm)", "more")
            return
    rows.remarks.append(Finding(rows.source, "MAC addresses of nodes", "names alone: Slurm keeps no addresses"))


def _joined(text: str) -> list[tuple[int, str]]:
    """Return lines with those that continue them (a backslash at the end), by the number of the first."""
    found: list[tuple[int, list[str]]] = []
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        if goes_on:
            found[-1][1].append(line.removesuffix("\\"))
        else:
            found.append((number, [line.removesuffix("\\")]))
        goes_on = line.endswith("\\")
    return [(number, "".join(parts)) for number, parts in found]


def node_names(words: str) -> list[str]:
    """Return the names of a host list of Slurm's, in its order. Raises ValueError.

    >>> node_names("node[08-10,12],login"), node_names("rack[0-1]n[01-02]-ib")
    (['node08', 'node09', 'node10', 'node12', 'login'], ['rack0n01-ib', 'rack0n02-ib', 'rack1n01-ib', 'rack1n02-ib'])
    """
    parts = _NODES.findall(words)
    if ",".join(parts) != words:
        raise ValueError(words)
    names: list[str] = []
    for part in parts:
        names += _expanded(part, _MOST_NODES - len(names))
    return names


def _expanded(words: str, most: int) -> list[str]:
    """Return what one part of a host list stands for: each bracket's numbers with each of the others'."""
    choices: list[list[str]] = []
    at = 0
    while (part := _PART.match(words, at)) is not None:
        choices += [[part[1]], _numbers(part[2], words, most)]
        at = part.end()
        if len(choices) > 2 * _MOST_BRACKETS or prod(map(len, choices)) > most:
            raise ValueError(words)
    rest = words[at:]
    if "[" in rest or "]" in rest or not words:
        raise ValueError(words)
    return ["".join(chosen) + rest for chosen in product(*choices)]


def _numbers(ranges: str, words: str, most: int) -> list[str]:
    """Return the numbers of a bracket, as wide as the first of each range is written."""
    numbers: list[str] = []
    for each in ranges.split(","):
        first, _, last = each.partition("-")
        low, high = int(first), int(last or first)
        if not low <= high < low + most - len(numbers):
            raise ValueError(words)
        numbers += [str(n).zfill(len(first)) for n in range(low, high + 1)]
    return numbers


def read_warewulf(text: str, rows: Rows) -> None:
    """Read Warewulf's nodes.conf, or what `wwctl node export` prints: Ethernet addresses of nodes' network devices.

    A node's primary device counts alone, if one is marked so.
    """
    document = parse_yaml(text, rows.source, "YAML (Warewulf)").value
    nodes = document.get("nodes", document) if isinstance(document, dict) else None
    for name, node in nodes.items() if isinstance(nodes, dict) else ():
        listed = node.get("network devices") if isinstance(node, dict) else None
        given = listed.items() if isinstance(listed, dict) else ()
        devices = {key: each for key, each in given if isinstance(each, dict)}
        primary = str(node.get("primary network", "")) if devices else ""
        marked = [key for key, each in devices.items() if key == primary or str(each.get("primary")).lower() == "true"]
        for key, each in devices.items():
            if each.get("hwaddr") and (key in marked or not marked) and not _is_infiniband(each):
                rows.add(str(name), each["hwaddr"])


def _is_infiniband(device: dict[str, Any]) -> bool:
    return str(device.get("type", "")).lower() == "infiniband"


def read_xcat(text: str, rows: Rows) -> None:
    """Read xCAT's table `mac` as `tabdump` prints it, or nodes' attribute `mac` as `lsdef` does.

    A node's addresses have | between, each with its own name behind a !, where that is not the node's.
    """
    lines = text.splitlines()
    head = next((n for n, line in enumerate(lines) if tuple(_cells(line)[:3]) == _XCAT_HEAD), None)
    name = ""
    for number, line in enumerate(lines, 1):
        if head is not None:
            cells = _cells(line)
            if number > head + 1 and len(cells) >= 3 and cells[2] and cells[4:5] not in (["1"], ["yes"]):
                _add_xcat(cells[0], cells[2], rows, number)
        elif (said := _ATTRIBUTE.fullmatch(line.rstrip())) is not None:
            _add_xcat(said[1] or name, said[2], rows, number)
        elif (called := _OBJECT.fullmatch(line)) is not None:
            name = called[1]


def _cells(line: str) -> list[str]:
    try:
        return [cell.strip() for cell in next(csv.reader([line.removeprefix("#")]), [])]
    except csv.Error:
        return []


def _add_xcat(node: str, macs: str, rows: Rows, number: int) -> None:
    for each in macs.split("|"):
        mac, _, name = each.strip().partition("!")
        rows.add(node if name in {"", "*NOIP*"} else name, mac, number)
