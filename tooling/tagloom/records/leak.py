"""A way by which a frame of one network comes to a port of another."""

from __future__ import annotations

from dataclasses import dataclass

from tagloom.errors import Finding


@dataclass(frozen=True, slots=True)
class Leak:
    """The way by which a frame of host `source` leaves by the port of host `destination`, of another network.

    `tag` is the VLAN id in the tag that the sender gives it, 0 for none; `way` are the egresses, as "s0:g1 (VLAN 100)".
    """

    source: str
    network: str
    destination: str
    other: str
    tag: int
    way: tuple[str, ...]

    def finding(self) -> Finding:
        """Return the leak as a finding, with the way as its witness."""
        sent = f"tagged {self.tag} by the sender" if self.tag else "sent untagged"
        rule = f"no frame of network {self.network} at ports of network {self.other}"
        return Finding(f"{self.source} -> {self.destination}", rule, f"{sent}, it leaves by {' -> '.join(self.way)}")
