"""MAC addresses of hosts as they were seen or listed, and what they change in a fabric file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.errors import Finding


@dataclass(frozen=True, slots=True)
class SeenAddress:
    """One address: the host it is said to be of, "" for none of the fabric, and where that was seen or stands.

    `name` is what a list calls the host; the address is 0 where the list has none.
    """

    mac: int
    where: str
    host: str = ""
    name: str = ""

    def to_json(self) -> dict[str, str]:
        """Return it with the keys of the command line."""
        mac = format_mac(self.mac) if self.mac else ""
        return {"mac": mac, "where": self.where, "host": self.host, "name": self.name}


@dataclass(frozen=True, slots=True)
class HostList:
    """What a list says: its kind, its addresses by name, or names with their places where it has no addresses.

    `remarks` are what it cannot say, though it can be read.
    """

    kind: str
    addresses: tuple[SeenAddress, ...]
    names: tuple[tuple[str, str], ...]
    remarks: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class AddressChange:
    """One host's address as it should be, as the fabric file has it (None where tagloom made that up), and why.

    `where` is the port that shows it, or the line that names it. A host that has `moved` is to be plugged in there.
    `several` are all addresses that the host is to have, () where it is this one alone.
    """

    host: str
    mac: int
    before: int | None
    where: str
    moved: bool = False
    several: tuple[int, ...] = ()

    @property
    def macs(self) -> tuple[int, ...]:
        """List the addresses that the host is to have."""
        return self.several or (self.mac,)

    @property
    def adds(self) -> bool:
        """Return whether addresses come beside those that the fabric file has, which stay."""
        return self.before in self.several and not self.moved

    @property
    def keys(self) -> dict[str, str | list[str]]:
        """Return what the fabric file is to say of the host."""
        if not self.moved:
            macs = [format_mac(mac) for mac in self.macs]
            return {"mac": macs if len(macs) > 1 else macs[0]}
        switch, _, port = self.where.partition(":")
        return {"switch": switch, "port": port}

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        before = None if self.before is None else format_mac(self.before)
        return {
            "host": self.host,
            "mac": format_mac(self.mac),
            "macs": [format_mac(mac) for mac in self.macs],
            "before": before,
            "where": self.where,
            "moved": self.moved,
        }


@dataclass(frozen=True, slots=True)
class AddressChanges:
    """What addresses change in a fabric file.

    learned   of hosts whose address tagloom had made up, and addresses beside those of the file where asked for
    changed   of hosts whose address in the file is another; written only where that was asked for
    unknown   addresses that are no host's, or one of several of a host
    silent    hosts of which no address is known from here, by name
    findings  what is not written and should be looked at
    failed    switches that did not answer, and why
    """

    learned: tuple[AddressChange, ...] = ()
    changed: tuple[AddressChange, ...] = ()
    unknown: tuple[SeenAddress, ...] = ()
    silent: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    def to_write(self, *, change: bool) -> tuple[AddressChange, ...]:
        """Return the changes that go into the file; with `change`, of addresses that differ from the file's, too."""
        return (*self.learned, *(self.changed if change else ()))

    def to_json(self) -> dict[str, Any]:
        """Return them with the keys of the command line."""
        return {
            "learned": [each.to_json() for each in self.learned],
            "changed": [each.to_json() for each in self.changed],
            "unknown": [each.to_json() for each in self.unknown],
            "silent": list(self.silent),
            "findings": [each.to_json() for each in self.findings],
            "failed": list(self.failed),
        }
