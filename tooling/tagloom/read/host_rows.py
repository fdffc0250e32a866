"""Gather the hosts that a list names, and what is wrong with it."""

from __future__ import annotations

from tagloom.errors import Finding, InputError
from tagloom.records.addresses import HostList, SeenAddress
from tagloom.storage.document import shown
from tagloom.units import is_host_address, parse_mac


class Rows:
    """The rows of a list while it is read; `within` are those that a file of several adds to."""

    def __init__(self, source: str, within: Rows | None = None) -> None:
        self.source = source
        whole = within or self
        if within is None:
            self.addresses: list[SeenAddress] = []
            self.names: list[tuple[str, str]] = []
            self.remarks: list[Finding] = []
            self.findings: list[Finding] = []
        else:
            self.addresses, self.names = whole.addresses, whole.names
            self.remarks, self.findings = whole.remarks, whole.findings

    def at(self, line: int) -> str:
        """Return the place of a line, from 1; 0 for the whole file."""
        return f"{self.source}:{line}" if line else self.source

    def find(self, line: int, expected: str, actual: object) -> None:
        """Note what makes the list none that can be read."""
        self.findings.append(Finding(self.at(line), expected, shown(actual)))

    def add(self, name: object, mac: object, line: int = 0) -> None:
        """Add a host with its address, as the list writes both."""
        if not isinstance(name, str) or not name or len(name) > 255:
            self.find(line, "the name of a host", name)
            return
        try:
            number = parse_mac(mac) if isinstance(mac, str) else 0
        except ValueError:
            number = 0
        if not is_host_address(number):
            self.find(line, f"the MAC address of a network card for {name}", mac)
            return
        self.addresses.append(SeenAddress(number, self.at(line), name=name))

    @property
    def is_empty(self) -> bool:
        """Return whether nothing was read, and nothing found wrong."""
        return not self.findings and not self.addresses and not self.names

    def end(self, kind: str) -> HostList:
        """Return the list. Raises InputError where anything is wrong with it, or nobody stands in it."""
        if self.is_empty:
            self.find(0, f"hosts with MAC addresses ({kind})", "none")
        if self.findings:
            raise InputError(self.findings)
        return HostList(kind, tuple(self.addresses), tuple(self.names), tuple(self.remarks))
