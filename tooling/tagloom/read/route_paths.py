"""Read paths, a row for each: which channels a frame may hold, and wait for, between any two hosts."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.route_set import RouteSet
from tagloom.storage.document import shown, split_rows
from tagloom.storage.text import read_text

if TYPE_CHECKING:
    from pathlib import Path

HEADER = ("source", "destination", "path")
PRIORITIES = 8  # IEEE 802.1Q, 3 bits
_HOP = re.compile(r"[^\s:>]+(?::[^\s>]+)?")


class _Channels:
    """Number channels as paths name them: by a switch's port, or by two switches where they have one link."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.switches: dict[str, int] = {}
        self.ends: list[tuple[int, int]] = []
        self._named: dict[tuple[str, str], bool] = {}

    def switch(self, hop: str) -> int:
        """Return the number of a hop's switch, which is new or known."""
        return self.switches.setdefault(hop.split(":", 1)[0], len(self.switches))

    def number(self, hop: str, following: str, where: str, findings: list[Finding]) -> int:
        """Return the channel that a hop takes to the switch of the following one."""
        at, _, port = hop.partition(":")
        to = following.split(":", 1)[0]
        name = hop if port else f"{at}>{to}"
        number = self.numbers.setdefault(name, len(self.numbers))
        if number == len(self.ends):
            self.ends.append((self.switch(hop), self.switch(following)))
        elif self.ends[number][1] != self.switch(following):
            before = list(self.switches)[self.ends[number][1]]
            findings.append(Finding(where, f"{name} leads to {before}, as above", to))
        if self._named.setdefault((at, to), bool(port)) != bool(port):
            findings.append(Finding(where, f"ports named on all paths from {at} to {to}, or on none", shown(hop)))
        return number


def read_paths(path: Path) -> RouteSet:
    """Read ``source,destination,path[,priority]``, a path being switches with spaces between.

    A switch may name the port it sends by (``s0:g1 s1:g2 s2``), and must where links are parallel. Rows of the same
    pair are paths that its frames are spread over. Raises InputError with all findings.
    """
    rows = split_rows(read_text(path, "a readable file of paths").splitlines(), str(path))
    header = tuple(cell.strip() for cell in rows[0][1]) if rows else ()
    if header not in {HEADER, (*HEADER, "priority")}:
        expected = f"the header {','.join(HEADER)}[,priority]"
        raise InputError([Finding(str(path), expected, shown(",".join(header)) or "nothing")])
    findings: list[Finding] = []
    channels = _Channels()
    destinations: set[str] = set()
    found: set[tuple[int, int, int]] = set()
    for at, cells in rows[1:]:
        where = f"{path}:{at}"
        if len(cells) != len(header):
            findings.append(Finding(where, f"{len(header)} cells", str(len(cells))))
            continue
        hops, priority = cells[2].split(), cells[3].strip() if len(header) > len(HEADER) else "0"
        if not hops or not all(map(_HOP.fullmatch, hops)):
            findings.append(Finding(f"{where}  path", "switches, or SWITCH:PORT, with spaces between", shown(cells[2])))
            continue
        if priority not in map(str, range(PRIORITIES)):
            findings.append(Finding(f"{where}  priority", f"0 to {PRIORITIES - 1}", shown(priority)))
            continue
        for hop in hops:
            channels.switch(hop)
        destinations.add(cells[1].strip())
        taken = [channels.number(a, b, where, findings) for a, b in itertools.pairwise(hops)]
        found.update((a, b, int(priority)) for a, b in itertools.pairwise(taken))
    if len(rows) == 1:
        findings.append(Finding(str(path), "paths", "none"))
    if findings:
        raise InputError(findings)
    before, after, priorities = (np.array(sorted(found), np.int64).reshape(-1, 3)).T
    return RouteSet(
        tuple(channels.numbers),
        tuple(channels.switches),
        np.array(channels.ends, np.int32).reshape(-1, 2),
        before,
        after,
        priorities if len(header) > len(HEADER) else None,
        len(destinations),
        len(rows) - 1,
    )
