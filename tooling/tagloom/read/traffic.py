"""Read traffic matrices and place the ranks of a parallel program on hosts."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.read.networks import check_networks
from tagloom.read.patterns import PREFIX, pattern
from tagloom.read.profiles import kind_of, read_ranks
from tagloom.read.rank_matrix import RANK
from tagloom.records.traffic import Traffic
from tagloom.storage.document import shown, split_rows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.read.rank_matrix import RankMatrix
    from tagloom.records.fabric import Fabric

ABSURD_BYTES = 1e18  # an exabyte between two hosts: a unit error
ORDER = re.compile(r"(|block|spread)(?::([1-9][0-9]{0,5}))?")  # of hosts that ranks are put on, and how many on each
RANK_HEADER = ("src", "dst")
HOST_HEADER = ("source", "destination", "bytes")


def read_traffic(path: Path, fabric: Fabric, placement: str = "", ranks: int | None = None) -> Traffic:
    """Read traffic: a host or rank matrix as CSV, what a profiler wrote, flows as CSV, or a synthetic pattern.

    Formats: ``source,destination,bytes[,messages]``; ``src,dst,..,wire_bytes,wire_msgs`` by rank; Open MPI monitoring
    ``*.prof``, TAU and mpiP (`read.profiles`); ``nfdump -o csv``; ``pattern:NAME`` (`read.patterns`).
    A comment line ``# seconds: 3600`` says how long it took. Messages to oneself are dropped: they never leave the
    host (NAS CG and MG send them). `ranks` says how many ran where a format does not. Raises InputError with all
    findings, also for bytes between hosts of different networks; what the format cannot know stands in the remarks.
    """
    traffic = _unchecked(path, fabric, placement, ranks)
    check_networks(fabric, traffic, str(path))
    return traffic


def _unchecked(path: Path, fabric: Fabric, placement: str, ranks: int | None) -> Traffic:
    """Read traffic as `read_traffic` does, whatever networks its hosts are of."""
    if str(path).startswith(PREFIX):
        return pattern(fabric, str(path))
    kind = kind_of(path)
    if kind == "nfdump":
        return _flows(path, fabric, placement)
    if kind:
        traffic = _placed(read_ranks(path, kind, ranks), fabric, placement, str(path))
        if kind == "paraprof":
            expected = "what was sent, and to whom: paraprof's bytes are sums of mean sizes, and 0 for collectives"
            raise InputError([Finding(str(path), expected, "its summary (as --profile it says how long calls took)")])
        return traffic
    if path.is_dir():
        raise InputError([Finding(str(path), "Open MPI .prof files or TAU profiles in it", "neither")])
    lines = read_text(path, "a readable traffic file").splitlines()
    findings: list[Finding] = []
    seconds = stated_seconds(path, lines, findings)
    rows = split_rows(lines, str(path))
    if not rows:
        raise InputError([Finding(str(path), "a header line and rows", "nothing")])
    header = tuple(cell.strip() for cell in rows[0][1])
    if header[:3] == HOST_HEADER:
        names = {host.name: i for i, host in enumerate(fabric.hosts)}
        columns = (2, header.index("messages") if "messages" in header else -1)
    elif header[:2] == RANK_HEADER and "wire_bytes" in header and "wire_msgs" in header:
        ranks = _ranks(path, rows[1:], findings)
        names = {str(rank): host for rank, host in enumerate(place(fabric, ranks, placement, str(path)))}
        columns = (header.index("wire_bytes"), header.index("wire_msgs"))
    else:
        expected = "the header source,destination,bytes[,messages] or src,dst,..,wire_bytes,wire_msgs"
        raise InputError([Finding(f"{path}:{rows[0][0]}", expected, shown(",".join(header)))])
    volume, messages, stayed = _fill(path, rows[1:], names, columns, len(fabric.hosts), findings)
    if findings:
        raise InputError(findings)
    unknown = ["a matrix does not say when in its time bytes were sent"]
    if seconds is None:
        unknown.append("the matrix does not say how many seconds it took (# seconds: N)")
    return Traffic(volume, messages, seconds, (*unknown, *_remark_of(*stayed)))


def read_profile(path: Path, fabric: Fabric, placement: str = "", ranks: int | None = None) -> Traffic:
    """Read a profile of a run as `read_traffic` does, also one that says how long calls took but not what was sent."""
    kind = "" if str(path).startswith(PREFIX) else kind_of(path)
    if kind == "paraprof":
        matrix = read_ranks(path, kind, ranks)
        traffic = _placed(matrix, fabric, placement, str(path))
        check_networks(fabric, traffic, str(path))
        hosts = np.array(place(fabric, matrix.ranks, placement, str(path)))
        return replace(traffic, ranks=np.bincount(hosts, minlength=len(fabric.hosts)))
    return read_traffic(path, fabric, placement, ranks)


def _placed(matrix: RankMatrix, fabric: Fabric, placement: str, where: str) -> Traffic:
    """Put a rank matrix on hosts; messages to oneself, and between ranks of one host, are dropped, and remarked."""
    hosts = place(fabric, matrix.ranks, placement, where)
    volume = np.zeros((len(fabric.hosts),) * 2)
    messages = np.zeros_like(volume)
    stayed = np.zeros(2)
    for (a, b), cell in matrix.cells.items():
        if hosts[a] != hosts[b]:
            volume[hosts[a], hosts[b]] += cell[0]
            messages[hosts[a], hosts[b]] += cell[1]
        else:
            stayed += cell
    if np.any(volume > ABSURD_BYTES):
        raise InputError([Finding(where, f"at most {ABSURD_BYTES:g} bytes between two ranks", f"{volume.max():g}")])
    remarks = matrix.remarks + _remark_of(*stayed.tolist())
    known = matrix.seconds, remarks, matrix.communication_seconds, matrix.calls, matrix.spread
    return Traffic(volume, messages, *known)


def _remark_of(size: float, count: float) -> tuple[str, ...]:
    """Return a remark on bytes and messages that stay on their host, none if there are none."""
    if not count:
        return ()
    what = "1 message stays on its host" if count == 1 else f"{count:,.0f} messages stay on their hosts"
    return (f"{what}, to oneself or to a neighbour, {size:,.0f} bytes: no link",)


def _flows(path: Path, fabric: Fabric, placement: str) -> Traffic:
    """Read ``nfdump -o csv``; `placement` is a file of address,host lines unless hosts are named by their addresses.

    Columns are found by name: sa, da, ipkt, ibyt, and ts and te for the seconds the flows span (nfdump(1)). Rows end
    at the line "Summary". What the other direction sent (opkt, obyt) would be lost, so it is a finding.
    """
    findings: list[Finding] = []
    names = {host.name: i for i, host in enumerate(fabric.hosts)}
    if ORDER.fullmatch(placement) is None:
        names |= _named_places(fabric, placement)
    lines = read_text(path, "a readable traffic file").splitlines()
    (_, columns), *rows = split_rows(itertools.takewhile(lambda line: not line.startswith("Summary"), lines), str(path))
    if missing := [c for c in ("ts", "te", "sa", "da", "ipkt", "ibyt") if c not in columns]:
        raise InputError([Finding(f"{path}:1", "columns ts, te, sa, da, ipkt, ibyt", f"no {', '.join(missing)}")])
    volume = np.zeros((len(fabric.hosts),) * 2)
    messages = np.zeros_like(volume)
    times: list[datetime] = []
    for at, cells in rows:
        where = f"{path}:{at}"
        row = dict.fromkeys(columns, "") | dict(zip(columns, cells, strict=False))
        ends = [names.get(row[c].strip()) for c in ("sa", "da")]
        findings += [
            Finding(where, "the address of a host of the fabric", shown(row[c]))
            for c, end in zip(("sa", "da"), ends, strict=True)
            if end is None
        ]
        if any(row.get(c, "").strip(" 0") for c in ("opkt", "obyt")):
            expected = "0 in opkt and obyt: flows of one direction (nfdump without -b and -B)"
            findings.append(Finding(where, expected, shown(f"{row.get('opkt', '')}, {row.get('obyt', '')}")))
        size = number_in(f"{where}  ibyt", row["ibyt"], findings)
        count = number_in(f"{where}  ipkt", row["ipkt"], findings)
        try:  # without a zone, as nfdump writes them
            times += [datetime.fromisoformat(row[c].strip()).replace(tzinfo=None) for c in ("ts", "te")]
        except ValueError:
            findings.append(Finding(where, "times as YYYY-MM-DD HH:MM:SS", shown(f"{row['ts']}, {row['te']}")))
        a, b = ends
        if a is not None and b is not None and a != b:
            volume[a, b] += size
            messages[a, b] += count
    if not times:
        findings.append(Finding(str(path), "flows", "none"))
    if findings:
        raise InputError(findings)
    seconds = (max(times) - min(times)).total_seconds()
    remarks = (
        "flows count IP bytes and packets, without Ethernet's headers, and sampled ones only a part",
        "a flow that both of its hosts exported is counted twice",
        "a flow does not say when between its start and its end it sent",
    )
    return Traffic(volume, messages, seconds or None, remarks)


def _fill(
    path: Path,
    rows: list[tuple[int, list[str]]],
    names: dict[str, int],
    columns: tuple[int, int],
    hosts: int,
    findings: list[Finding],
) -> tuple[NDArray[np.float64], NDArray[np.float64], tuple[float, float]]:
    """Return bytes and messages by pair of hosts, and how much of them stays on its host."""
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
                findings.append(Finding(where, "a host of the fabric", shown(cell)))
        size = number_in(f"{where}  bytes", cells[columns[0]], findings)
        count = number_in(f"{where}  messages", cells[columns[1]], findings) if columns[1] >= 0 else 1.0
        if size > 0 and not count and columns[1] >= 0:
            findings.append(Finding(f"{where}  messages", f"1 or more, of {size:g} bytes", "0"))
        a, b = ends
        if a is not None and b is not None:
            volume[a, b] += size
            messages[a, b] += count
    stayed = float(volume.trace()), float(messages.trace())
    for matrix in (volume, messages):
        np.fill_diagonal(matrix, 0.0)
    return volume, messages, stayed


def _ranks(path: Path, rows: list[tuple[int, list[str]]], findings: list[Finding]) -> int:
    highest = -1
    for number, cells in rows:
        for cell in cells[:2]:
            if RANK.fullmatch(cell.strip()):
                highest = max(highest, int(cell))
            else:
                findings.append(Finding(f"{path}:{number}", "a rank", shown(cell)))
    return highest + 1


def place(fabric: Fabric, ranks: int, placement: str, where: str) -> Sequence[int]:
    """Return the host of each rank: rank i on host i where there are as many hosts, else spread over the switches.

    `placement` is "", "block" (fill hosts in order), "spread" (one host of every switch, then the next of each), each
    with ":N" for N ranks on every host, one after another, or a file of rank,host lines, which may put several ranks on
    a host. Raises InputError where there are more ranks than places, or a rank has none.
    """
    found = ORDER.fullmatch(placement)
    if found is None:
        places = _named_places(fabric, placement)
        if missing := [rank for rank in range(ranks) if str(rank) not in places]:
            raise InputError(
                [Finding(placement, f"a line for each rank, 0 to {ranks - 1}", f"none for {shown(missing)}")]
            )
        return [places[str(rank)] for rank in range(ranks)]
    order, most = found[1], min(int(found[2] or 1), max(1, ranks))
    used = -(-ranks // most)  # hosts
    if used > len(fabric.hosts):
        if most > 1:
            expected = f"at most {most * len(fabric.hosts)} ranks, {most} on each host"
        else:
            expected = f"at most {len(fabric.hosts)} ranks, one per host, or more on each (--ranks-per-host)"
        raise InputError([Finding(where, expected, str(ranks))])
    hosts = _in_order(fabric, used, "block" if order == "" and used == len(fabric.hosts) else order)
    return [hosts[rank // most] for rank in range(ranks)]


def _in_order(fabric: Fabric, count: int, order: str) -> Sequence[int]:
    """Return the first hosts in the order "block", or else evenly over the switches."""
    if order == "block":
        return range(count)
    turn: dict[int, int] = {}
    rows: list[tuple[int, int, int]] = []
    for h, host in enumerate(fabric.hosts):
        rows.append((turn.get(host.switch, 0), host.switch, h))
        turn[host.switch] = turn.get(host.switch, 0) + 1
    spread = [h for _, _, h in sorted(rows)]
    # Also where there are fewer ranks than switches.
    switches = len({host.switch for host in fabric.hosts})
    if count < switches:
        return [spread[i * switches // count] for i in range(count)]
    return spread[:count]


def _named_places(fabric: Fabric, placement: str) -> dict[str, int]:
    """Read a placement file: a rank (or an address) and its host on each line, with a comma between."""
    if not Path(placement).exists():
        expected = "block, spread, or a file of rank,host lines"
        raise InputError([Finding("--placement", expected, repr(placement))])
    lines = read_text(Path(placement), "a file of rank,host lines").splitlines()
    hosts = {host.name: i for i, host in enumerate(fabric.hosts)}
    places: dict[str, int] = {}
    findings: list[Finding] = []
    for at, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        rank, _, host = (cell.strip() for cell in line.partition(","))
        if host not in hosts:
            findings.append(Finding(f"{placement}:{at}", "rank,host with a host of the fabric", shown(line)))
        elif rank in places:
            findings.append(Finding(f"{placement}:{at}", f"one place for {shown(rank)}", "a second one"))
        else:
            places[rank] = hosts[host]
    if findings:
        raise InputError(findings)
    return places


def stated_seconds(path: Path, lines: Sequence[str], findings: list[Finding]) -> float | None:
    """Return what a line ``# seconds: N`` says, None where there is none."""
    seconds: float | None = None
    for at, line in enumerate(lines, start=1):
        key, _, value = line[1:].partition(":") if line.startswith("#") else ("", "", "")
        if key.strip() == "seconds":
            seconds = number_in(f"{path}:{at}  seconds", value, findings, least=1e-9)
    return seconds


def number_in(where: str, text: str, findings: list[Finding], least: float = 0.0) -> float:
    """Return a number from `least` to ABSURD_BYTES, or 0 and a finding."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not least <= value <= ABSURD_BYTES:  # also catches NaN
        findings.append(Finding(where, f"a number from {least:g} to {ABSURD_BYTES:g}", shown(text.strip())))
        return 0.0
    return value
