"""Gather links and table entries, row by row, into forwarding tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.records.route_set import DELIVERED, NONE, ForwardingTables
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_CELLS = 1 << 31  # switches x destinations


class TableRows:
    """Links and entries by the names that their files give; what is wrong with them is told once all are there."""

    def __init__(self) -> None:
        self.switches: dict[str, int] = {}
        self.destinations: dict[str, int] = {}
        self._channel: dict[tuple[int, str], int] = {}
        self._ends: list[tuple[int, int]] = []
        self._groups: dict[tuple[int, ...], int] = {}
        self._entries: dict[tuple[int, int], int] = {}
        self._findings: list[Finding] = []
        self._tables: dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]] = {}
        self._delivery: dict[int, tuple[int, str]] = {}
        self._misdelivered: list[Finding] = []

    def add_switch(self, name: str) -> int:
        """Return the number of a switch, which is new or known."""
        return self.switches.setdefault(name, len(self.switches))

    def add_link(self, a: str, a_port: str, b: str, b_port: str, where: str) -> None:
        """Add both channels of a link."""
        near, far = self.add_switch(a), self.add_switch(b)
        for switch, port, to, name in ((near, a_port, far, a), (far, b_port, near, b)):
            if (switch, port) in self._channel:
                self._findings.append(Finding(where, "one link at a port", f"a second at {shown(f'{name}:{port}')}"))
            self._channel[switch, port] = len(self._ends)
            self._ends.append((switch, to))

    def is_link(self, switch: str, port: str) -> bool:
        """Return whether a link is at a port."""
        return (self.switches[switch], port) in self._channel

    def attach(self, destination: str, switch: str, port: str) -> None:
        """Attach a destination to a port; frames to it that leave elsewhere are a finding."""
        self._delivery[self._destination(destination)] = self.add_switch(switch), port

    def add_entry(self, switch: str, destination: str, ports: tuple[str, ...], where: str) -> None:
        """Add the ports that a switch sends the frames to a destination by; one without a link delivers them."""
        if switch not in self.switches:
            self._findings.append(Finding(where, "a switch that a link names", shown(switch)))
            return
        s, d = self.switches[switch], self._destination(destination)
        if (s, d) in self._entries:
            self._findings.append(Finding(where, f"one entry for {shown(destination)} at {switch}", "a second"))
            return
        found = tuple(sorted({self._channel.get((s, port), DELIVERED) for port in ports}))
        if not found or (found[0] == DELIVERED and len(found) > 1):
            self._findings.append(Finding(where, "ports that all carry links, or one that carries none", str(ports)))
            return
        if found[0] == DELIVERED:
            at = self._delivery.get(d)
            if at is not None and at not in [(s, port) for port in ports]:
                rule = f"frames to {shown(destination)} leave where it is attached"
                self._misdelivered.append(Finding(where, rule, f"{switch}:{' '.join(ports)}"))
            self._entries[s, d] = DELIVERED
        else:
            self._entries[s, d] = self._groups.setdefault(found, len(self._groups))

    def add_table(self, switch: str, destinations: NDArray[np.int32], ports: NDArray[np.int32], where: str) -> None:
        """Add all entries of a switch at once, each with one port by its number; destinations by theirs."""
        if switch not in self.switches or switch in self._tables or len(np.unique(destinations)) < len(destinations):
            rule = "a switch that a link names, with one table and one entry for each destination"
            self._findings.append(Finding(where, rule, shown(switch)))
            return
        s = self.switches[switch]
        groups = np.full(int(ports.max(initial=0)) + 1, DELIVERED, np.int32)
        for port in np.unique(ports).tolist():
            if (channel := self._channel.get((s, str(port)))) is not None:
                groups[port] = self._groups.setdefault((channel,), len(self._groups))
        self._tables[switch] = destinations, groups[ports]
        here = np.flatnonzero(groups[ports] == DELIVERED)
        for d, number in zip(destinations[here].tolist(), ports[here].tolist(), strict=True):
            if self._delivery.get(d, (s, str(number))) != (s, str(number)):
                rule = f"frames to {shown(list(self.destinations)[d])} leave where it is attached"
                self._misdelivered.append(Finding(where, rule, f"{switch}:{number}"))

    def finish(self) -> ForwardingTables:
        """Return the tables. Raises InputError with all that is wrong."""
        if not self._entries and not self._tables and not self._findings:
            self._findings.append(Finding("tables", "entries", "none"))
        if len(self.switches) * len(self.destinations) > MOST_CELLS:
            actual = f"{len(self.switches)} x {len(self.destinations)}"
            self._findings.append(Finding("tables", f"at most {MOST_CELLS} switches x destinations", actual))
        if self._findings:
            raise InputError(self._findings)
        group = np.full((len(self.switches), len(self.destinations)), NONE, np.int32)
        where = np.array(list(self._entries), np.int64).reshape(-1, 2)
        group[where[:, 0], where[:, 1]] = list(self._entries.values())
        for name, (destinations, groups) in self._tables.items():
            group[self.switches[name], destinations] = groups
        names = list(self.switches)
        named = {channel: port for (_, port), channel in self._channel.items()}
        senders = (group == DELIVERED).any(axis=1)
        for switch, _ in self._delivery.values():
            senders[switch] = True
        return ForwardingTables(
            tuple(names),
            tuple(f"{names[a]}:{named[c]}" for c, (a, _) in enumerate(self._ends)),
            tuple(self.destinations),
            np.array(self._ends, np.int32).reshape(-1, 2),
            group,
            np.concatenate([[0], np.cumsum([len(each) for each in self._groups])]).astype(np.int32),
            np.array([c for each in self._groups for c in each], np.int32),
            senders,
            tuple(self._misdelivered),
        )

    def _destination(self, name: str) -> int:
        """Return the number of a destination, which is new or known."""
        return self.destinations.setdefault(name, len(self.destinations))
