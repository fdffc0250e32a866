"""Read the forwarding tables of an InfiniBand subnet, as OpenSM and infiniband-diags write them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.read.lft_lines import scan
from tagloom.read.table_rows import TableRows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# opensm-subnet.lst: a line for each cable, both ends in braces.
_END = re.compile(
    r"\{ (CA|SW)\S* .*?NodeGUID:([0-9A-Fa-f]{1,16}) .*?\{([^}]*)\} LID:([0-9A-Fa-f]{1,4}) PN:([0-9A-Fa-f]{1,2}) \}"
)
# ibnetdiscover: a block for each node, a line for each of its ports.
_NODE = re.compile(r'(Switch|Ca|Rt)\s+\d+ "[SHR]-([0-9a-f]{1,16})"\s+# "([^"]*)"(?:.*?lid (\d{1,5})\b)?')
_PORT = re.compile(
    r'\[(\d{1,3})\](?:\([0-9a-f]+\))?\s+"([SHR])-([0-9a-f]{1,16})"\[(\d{1,3})\](?:\([0-9a-f]+\))?'
    r"\s*#.*? lid (\d{1,5})\b"
)
# opensm.fdbs and dump_lfts: a block for each switch, a line for each LID (`lft_lines`).
_TABLE = re.compile(r"^(?:Unicast lids .*?guid |\S*dump_ucast_routes: Switch )0x([0-9a-f]{1,16})\b.*", re.MULTILINE)
_End = tuple[str, str, str, str, str]  # of `_END`: CA or SW, the GUID, the description, the LID, the port
_NodePort = tuple[str, str, int, int]  # CA or SW, the node's GUID, its LID, the port
MOST_LIDS = 100_000  # of up to five digits; a subnet has 49,151
_LOOKED_AT = 4096  # characters


def is_subnet(path: Path) -> bool:
    """Return whether a file is one of a subnet manager's, by its beginning."""
    try:
        with path.open("rb") as file:
            beginning = file.read(_LOOKED_AT).decode("utf-8", "replace")
    except OSError:
        return False
    return bool(_kind(beginning))


def _kind(text: str) -> str:
    beginning = text[:_LOOKED_AT]
    if beginning.startswith(("{ CA", "{ SW")):
        return "cables"
    if re.search(r'^(?:Switch|Ca)\s+\d+ "[SH]-', beginning, re.MULTILINE):
        return "nodes"
    return "tables" if _TABLE.match(beginning) else ""


def read_subnet(files: list[Path]) -> TableRows:
    """Read cables, and every switch's way to each channel adapter; switches' own LIDs carry no data.

    Raises InputError where cables or tables are missing.
    """
    texts = {path: read_text(path, "a readable file of a subnet manager") for path in files}
    kinds = {path: _kind(text) for path, text in texts.items()}
    wrong = [
        Finding(str(files[0].parent), expected, "none")
        for some, expected in (
            ({"cables", "nodes"}, "cables: opensm-subnet.lst or the output of ibnetdiscover"),
            ({"tables"}, "tables: opensm.fdbs or the output of dump_lfts"),
        )
        if not some & set(kinds.values())
    ]
    if wrong:
        raise InputError(wrong)
    rows = TableRows()
    cabling = next(path for kind in ("cables", "nodes") for path in files if kinds[path] == kind)
    by_ends = kinds[cabling] == "cables"
    ends_of_lines = [_END.findall(line) for line in texts[cabling].splitlines()] if by_ends else []
    names = _names(ends_of_lines, texts[cabling])
    for number, (a, b) in enumerate(_cables(ends_of_lines) if by_ends else _nodes(texts[cabling]), start=1):
        for near, far in ((a, b), (b, a)):
            if near[0] != "SW" and far[0] == "SW":
                rows.attach(f"lid {near[2]}", names.get(far[1], far[1]), str(far[3]))
        if a[0] == b[0] == "SW":
            at, to = (names.get(end[1], end[1]) for end in (a, b))
            rows.add_link(at, str(a[3]), to, str(b[3]), f"{cabling}, cable {number}")
    adapter = np.full(MOST_LIDS, -1, np.int32)
    for name, number in rows.destinations.items():
        adapter[int(name.removeprefix("lid "))] = number
    tables = next(path for path in files if kinds[path] == "tables")
    data, others, places, lids, ports = scan(texts[tables])
    whole = ((start, data[start : data.find(b"\n", start)].decode()) for start in others.tolist())
    heads = [(start, head[1]) for start, line in whole if (head := _TABLE.match(line))]
    bounds = [*np.searchsorted(places, [start for start, _ in heads]).tolist(), len(places)]
    for (_, guid_digits), first, last in zip(heads, bounds, bounds[1:], strict=False):
        destination = adapter[lids[first:last]]
        guid = f"S-{int(guid_digits, 16):016x}"
        kept = destination >= 0
        where = f"{tables}: switch 0x{guid_digits}"
        rows.add_table(names.get(guid, guid), destination[kept], ports[first:last][kept], where)
    return rows


def _names(lines: list[list[_End]], text: str) -> dict[str, str]:
    """Return the descriptions of switches by their GUIDs, of those that have one of their own."""
    described = {(guid, name) for ends in lines for kind, guid, name, _, _ in ends if kind == "SW"}
    found = {f"S-{int(guid, 16):016x}": name for guid, name in sorted(described)}
    found |= {f"S-{int(guid, 16):016x}": name for kind, guid, name, _ in _NODE.findall(text) if kind == "Switch"}
    count = Counter(found.values())
    return {guid: name for guid, name in found.items() if name.strip() and count[name] == 1}


def _cables(lines: list[list[_End]]) -> Iterator[tuple[_NodePort, _NodePort]]:
    """List the cables of opensm-subnet.lst, whose LIDs and ports are hexadecimal; each stands there once or twice."""
    seen = set()
    for ends in lines:
        if len(ends) != 2:
            continue
        a, b = ((k, f"S-{int(guid, 16):016x}", int(lid, 16), int(port, 16)) for k, guid, _, lid, port in ends)
        if (b, a) not in seen and (a, b) not in seen:
            seen.add((a, b))
            yield a, b


def _nodes(text: str) -> Iterator[tuple[_NodePort, _NodePort]]:
    """List the cables of ibnetdiscover, which tells each from both ends."""
    kinds = {"S": "SW", "H": "CA", "R": "CA"}
    here = ("", "", 0)
    seen = set()
    for line in text.splitlines():
        if node := _NODE.match(line):
            here = ("SW" if node[1] == "Switch" else "CA", f"S-{int(node[2], 16):016x}", int(node[4] or 0))
        elif (port := _PORT.match(line)) and here[0] == "SW":
            a = (*here, int(port[1]))
            b = (kinds[port[2]], f"S-{int(port[3], 16):016x}", int(port[5]), int(port[4]))
            if (b[1], b[3], a[1], a[3]) not in seen:
                seen.add((a[1], a[3], b[1], b[3]))
                yield a, b
