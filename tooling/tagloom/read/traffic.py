"""Read traffic matrices and place the ranks of a parallel program on hosts."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.traffic import Traffic

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

ABSURD_BYTES = 1e18  # an exabyte between two hosts: a unit error
RANK_HEADER = ("src", "dst")
HOST_HEADER = ("source", "destination", "bytes")


def read_traffic(path: Path, fabric: Fabric, placement: str = "") -> Traffic:
    """Read a host matrix (``source,destination,bytes[,messages]``) or a rank matrix (``src,dst,..,wire_bytes,..``).

    A comment line ``# seconds: 3600`` says how long it took. Messages to oneself are dropped: they never leave the
    host (NAS CG and MG send them). Raises InputError with all findings.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError([Finding(str(path), "a readable traffic file", str(error))]) from None
    findings: list[Finding] = []
    seconds: float | None = None
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith("#"):
            key, _, value = line[1:].partition(":")
            if key.strip() == "seconds":
                seconds = _number(f"{path}:{number}  seconds", value, findings, least=1e-9)
        elif line.strip():
            rows.append((number, next(csv.reader([line]))))
    if not rows:
        raise InputError([Finding(str(path), "a header line and rows", "nothing")])
    header = tuple(cell.strip() for cell in rows[0][1])
    if header[:3] == HOST_HEADER:
        names = {host.name: i for i, host in enumerate(fabric.hosts)}
        columns = (2, 3 if "messages" in header else -1)
    elif header[:2] == RANK_HEADER and "wire_bytes" in header and "wire_msgs" in header:
        ranks = _ranks(path, rows[1:], findings)
        names = {str(rank): host for rank, host in enumerate(place(fabric, ranks, placement, str(path)))}
        columns = (header.index("wire_bytes"), header.index("wire_msgs"))
    else:
        expected = "the header source,destination,bytes[,messages] or src,dst,..,wire_bytes,wire_msgs"
        raise InputError([Finding(f"{path}:{rows[0][0]}", expected, ",".join(header))])
    traffic = _fill(path, rows[1:], names, columns, len(fabric.hosts), findings)
    if findings:
        raise InputError(findings)
    return Traffic(*traffic, seconds)


def _fill(
    path: Path,
    rows: list[tuple[int, list[str]]],
    names: dict[str, int],
    columns: tuple[int, int],
    hosts: int,
    findings: list[Finding],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    volume = np.zeros((hosts, hosts))
    messages = np.zeros((hosts, hosts))
    for number, cells in rows:
        where = f"{path}:{number}"
        if len(cells) <= max(columns):
            findings.append(Finding(where, f"{max(columns) + 1} columns", str(len(cells))))
            continue
        ends = [names.get(cell.strip()) for cell in cells[:2]]
        for cell, end in zip(cells, ends, strict=False):
            if end is None:
                findings.append(Finding(where, "a host of the fabric", repr(cell)))
        size = _number(f"{where}  bytes", cells[columns[0]], findings)
        count = _number(f"{where}  messages", cells[columns[1]], findings) if columns[1] >= 0 else 1.0
        a, b = ends
        if a is not None and b is not None and a != b:
            volume[a, b] += size
            messages[a, b] += count
    return volume, messages


def _ranks(path: Path, rows: list[tuple[int, list[str]]], findings: list[Finding]) -> int:
    highest = -1
    for number, cells in rows:
        for cell in cells[:2]:
            if cell.strip().isdigit():
                highest = max(highest, int(cell))
            else:
                findings.append(Finding(f"{path}:{number}", "a rank", repr(cell)))
    return highest + 1


def place(fabric: Fabric, ranks: int, placement: str, where: str) -> Sequence[int]:
    """Give the host of each rank: rank i on host i where there are as many hosts, else spread over the switches.

    `placement` is "", "block" (fill hosts in order), or "spread" (one host of every switch, then the next of each).
    Raises InputError where there are more ranks than hosts.
    """
    hosts = len(fabric.hosts)
    if ranks > hosts:
        raise InputError([Finding(where, f"at most {hosts} ranks, one per host", str(ranks))])
    if placement not in {"", "block", "spread"}:
        raise InputError([Finding("--placement", "block or spread", repr(placement))])
    if placement == "block" or (placement == "" and ranks == hosts):
        return range(ranks)
    turn: dict[int, int] = {}
    order: list[tuple[int, int, int]] = []
    for h, host in enumerate(fabric.hosts):
        order.append((turn.get(host.switch, 0), host.switch, h))
        turn[host.switch] = turn.get(host.switch, 0) + 1
    spread = [h for _, _, h in sorted(order)]
    # Evenly over the switches, also where there are fewer ranks than switches.
    switches = len({host.switch for host in fabric.hosts})
    if ranks < switches:
        return [spread[i * switches // ranks] for i in range(ranks)]
    return spread[:ranks]


def _number(where: str, text: str, findings: list[Finding], least: float = 0.0) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= ABSURD_BYTES:  # also catches NaN
        findings.append(Finding(where, f"a number from {least:g} to {ABSURD_BYTES:g}", repr(text.strip())))
        return 0.0
    return value
