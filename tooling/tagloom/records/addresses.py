"""MAC addresses of hosts, as observed or listed, and the changes they make to a fabric file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tagloom.errors import Finding


@dataclass(frozen=True, slots=True)
class SeenAddress:
    """One MAC address, the host it belongs to ("" if no host of the fabric), and where it was found.

    `name` is what a list calls the host. `mac` is 0 if the list has no address.
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
    """A parsed host list: its kind, its addresses by name, or (name, place) pairs if it has no addresses.

    `remarks` say what is missing from the list, although it can be read.
    """

    kind: str
    addresses: tuple[SeenAddress, ...]
    names: tuple[tuple[str, str], ...]
    remarks: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class AddressChange:
    """A host's new address, the one in the fabric file (None if tagloom made it up), and its evidence.

    `where` is the port that shows the address, or the line that names it. A host that has `moved` must be plugged in
    there. `several` are all addresses that the host must have, None if it is this one alone. `migrated` are those of
    machines that came to the host from another, or left it for another: the other's change belongs to it.
    """

    host: str
    mac: int
    before: int | None
    where: str
    moved: bool = False
    several: tuple[int, ...] | None = None
    migrated: tuple[int, ...] = ()

    @property
    def macs(self) -> tuple[int, ...]:
        """Return the addresses that the host must have."""
        return (self.mac,) if self.several is None else self.several

    @property
    def adds(self) -> bool:
        """Return whether the addresses are added to those of the fabric file, which stay."""
        return self.before in (self.several or ()) and not self.moved and not self.migrated

    @property
    def keys(self) -> dict[str, str | list[str]]:
        """Return the keys that the fabric file must have for the host."""
        if not self.moved:
            macs = [format_mac(mac) for mac in self.macs]
            return {"mac": macs[0] if len(macs) == 1 else macs}
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
            "migrated": [format_mac(mac) for mac in self.migrated],
        }


@dataclass(frozen=True, slots=True)
class AddressChanges:
    """The changes to addresses in a fabric file.

    learned   hosts whose address tagloom had made up, and on request addresses besides those of the file
    changed   hosts whose address differs from the file's; written only on request
    unknown   addresses of no host, or one of several of a host
    silent    names of hosts with no known address
    made_up   names of hosts that send from the address that tagloom made up: the virtual rack's
    findings  what is not written and needs attention
    failed    switches that did not answer, and why
    over_ssh  switches whose command line was read
    """

    learned: tuple[AddressChange, ...] = ()
    changed: tuple[AddressChange, ...] = ()
    unknown: tuple[SeenAddress, ...] = ()
    silent: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    over_ssh: tuple[str, ...] = ()
    made_up: tuple[str, ...] = ()

    def to_write(self, *, change: bool) -> tuple[AddressChange, ...]:
        """Return the changes to write into the file; `change` includes addresses that differ from the file's."""
        return (*self.learned, *(self.changed if change else ()))

    def to_json(self) -> dict[str, Any]:
        """Return them with the keys of the command line."""
        return {
            "learned": [each.to_json() for each in self.learned],
            "changed": [each.to_json() for each in self.changed],
            "unknown": [each.to_json() for each in self.unknown],
            "silent": list(self.silent),
            "made_up": list(self.made_up),
            "findings": [each.to_json() for each in self.findings],
            "failed": list(self.failed),
            "over_ssh": list(self.over_ssh),
        }
