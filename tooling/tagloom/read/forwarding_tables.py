"""Read forwarding tables of switches that tagloom did not configure, in whichever form a directory has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.read.infiniband import is_subnet, read_subnet
from tagloom.read.ip_routes import read_ip_routes
from tagloom.read.table_rows import TableRows
from tagloom.records.route_set import DELIVERED, ForwardingTables
from tagloom.storage.arrays import read_arrays
from tagloom.storage.document import shown, split_rows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from pathlib import Path

LINKS = ("a", "a_port", "b", "b_port")
TABLE = ("switch", "destination", "ports")
_ARRAYS = ("ends", "group", "first", "members", "senders")


def read_tables(directory: Path) -> ForwardingTables:
    """Read a directory of forwarding tables. Raises InputError with all findings.

    It holds one of: tables.npz; tables.csv with links.csv; what a subnet manager writes (opensm-subnet.lst or the
    output of ibnetdiscover, and opensm.fdbs or the output of dump_lfts); links.csv and a SWITCH.json for each router.
    """
    try:
        files = sorted(path for path in directory.iterdir() if path.is_file())
    except OSError as error:
        raise InputError([Finding(str(directory), "a directory of tables", error.strerror or str(error))]) from None
    names = {path.name: path for path in files}
    if "tables.npz" in names:
        return _from_arrays(names["tables.npz"])
    if subnet := [path for path in files if is_subnet(path)]:
        return read_subnet(subnet).finish()
    if "links.csv" not in names:
        expected = "tables.npz, links.csv, or files of a subnet manager"
        raise InputError([Finding(str(directory), expected, ", ".join(names)[:200] or "nothing")])
    rows = TableRows()
    _read_links(names["links.csv"], rows)
    if "tables.csv" in names:
        _read_table(names["tables.csv"], rows)
    else:
        read_ip_routes([path for path in files if path.suffix == ".json"], rows, directory)
    return rows.finish()


def _rows(path: Path, header: tuple[str, ...], what: str) -> list[tuple[str, list[str]]]:
    """Read the rows below a header, each with its place."""
    rows = split_rows(read_text(path, f"a readable file of {what}").splitlines(), str(path))
    first = tuple(cell.strip() for cell in rows[0][1]) if rows else ()
    if first != header:
        raise InputError([Finding(str(path), f"the header {','.join(header)}", shown(",".join(first)) or "nothing")])
    wrong = [
        Finding(f"{path}:{at}", f"{len(header)} cells", str(len(cells)))
        for at, cells in rows[1:]
        if len(cells) != len(header)
    ]
    if wrong:
        raise InputError(wrong)
    return [(f"{path}:{at}", [cell.strip() for cell in cells]) for at, cells in rows[1:]]


def _read_links(path: Path, rows: TableRows) -> None:
    for where, (a, a_port, b, b_port) in _rows(path, LINKS, "links"):
        rows.add_link(a, a_port, b, b_port, where)


def _read_table(path: Path, rows: TableRows) -> None:
    """Read entries; ports with spaces between are those that frames are spread over."""
    for where, (switch, destination, ports) in _rows(path, TABLE, "table entries"):
        rows.add_entry(switch, destination, tuple(ports.split()), where)


def _from_arrays(path: Path) -> ForwardingTables:
    """Read the arrays of `ForwardingTables` by their names, int32; what they number has no other names."""
    found = read_arrays(path, "arrays of forwarding tables")
    if missing := [name for name in _ARRAYS if name not in found]:
        raise InputError([Finding(str(path), f"arrays {', '.join(_ARRAYS)}", f"no {', '.join(missing)}")])
    ends, group, first, members, senders = (found[name] for name in _ARRAYS)
    if ends.ndim != 2 or group.ndim != 2 or ends.shape[1:] != (2,) or not group.size:
        expected = "ends[channels, 2] and group[switches, destinations]"
        raise InputError([Finding(str(path), expected, f"{ends.shape} and {group.shape}")])
    switches = group.shape[0]
    bounds = {
        f"ends from 0 to {switches - 1}": ends.size == 0 or (ends.min() >= 0 and ends.max() < switches),
        "first ascending from 0 to the number of members": (
            first.ndim == 1
            and len(first) > 0
            and first[0] == 0
            and bool((np.diff(first) > 0).all())
            and members.ndim == 1
            and first[-1] == len(members)
        ),
        f"members from 0 to {len(ends) - 1}": members.size == 0 or (members.min() >= 0 and members.max() < len(ends)),
        f"group from {DELIVERED} to {len(first) - 2}": group.min() >= DELIVERED and group.max() < len(first) - 1,
        "senders 0 or 1, one for each switch": senders.shape == (switches,) and bool(np.isin(senders, (0, 1)).all()),
    }
    wrong = [Finding(str(path), rule, "other numbers") for rule, good in bounds.items() if not good]
    if not wrong:
        of = np.full(len(first) - 1, -1, np.int64)
        rows, columns = np.nonzero(group >= 0)
        of[group[rows, columns]] = rows
        of_member = np.repeat(of, np.diff(first))
        mixed = (of[group[rows, columns]] != rows).any()
        if mixed or ((of_member >= 0) & (ends[members, 0] != of_member)).any():
            wrong.append(Finding(str(path), "groups of channels that leave the switch they stand for", "others"))
    if wrong:
        raise InputError(wrong)
    return ForwardingTables(
        tuple(f"s{s}" for s in range(switches)),
        tuple(f"s{a}>s{b}#{c}" for c, (a, b) in enumerate(ends.tolist())),
        tuple(map(str, range(group.shape[1]))),
        ends,
        group,
        first,
        members,
        senders.astype(np.bool_),
    )
