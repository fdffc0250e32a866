"""The result of a proof: counts, verdicts and the smallest witness of every failure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.leak import Leak
    from tagloom.records.what_if import WhatIf


@dataclass(frozen=True, slots=True)
class MissingEntry:
    """The effect of losing each static entry alone, over all flows (host pairs) that use it.

    `entries` counts the entries in use, `flows` the (entry, host pair) cases. Extra hosts are those that receive a
    frame of another host, averaged over all flows and at worst. The rest count flows whose frames are lost, arrive more
    than once, or loop forever.
    """

    entries: int
    flows: int
    extra_hosts_average: float
    extra_hosts_worst: int
    lost_flows: int
    duplicated_flows: int
    storm_flows: int


@dataclass(frozen=True, slots=True)
class Network:
    """A network of hosts: its name, the number of its hosts, and the VLANs that its hosts' untagged frames are in."""

    name: str
    hosts: int
    vlans: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        """Return the network with the keys of the command line."""
        return {"name": self.name, "hosts": self.hosts, "pairs": self.hosts * (self.hosts - 1), "vlans": self.vlans}


@dataclass(frozen=True, slots=True)
class ForeignLine:
    """A configuration line that tagloom does not know, and that may change forwarding.

    `block` is the line that opened its block, "" outside of any.
    """

    switch: str
    line: int
    block: str
    text: str

    def finding(self) -> Finding:
        """Return it as a finding, which keeps the proof from an unqualified yes."""
        return Finding(
            f"{self.switch}:{self.line}  {self.block or 'configuration'}", "a line tagloom knows", repr(self.text)
        )


@dataclass(frozen=True, slots=True)
class LatentRing:
    """A ring of a VLAN that no spanning tree breaks and into which nothing sends: its channels, as "s0:g1 -> s1:g2"."""

    vlan: int
    channels: tuple[str, ...]

    def __str__(self) -> str:
        return f"VLAN {self.vlan}: {'; '.join(self.channels)}"


@dataclass(frozen=True)
class Findings:
    """The verdict on a fabric's configuration, proven from SwitchStates alone.

    deadlock_cycle  the channels of one dependency cycle as "s0:g1 -> s1:g2", or empty
    broadcast_exactly_once  every host's broadcast reaches every other host once; with `duplicates_allowed` hosts
        do without ARP requests, and only a broadcast that does not arrive is a finding
    channel_rank  the certificate of deadlock freedom, int32[C]: each dependency leads to a channel of higher rank;
        None if there is a cycle
    missing_entry, what_if  filled in on request
    tagged_frames_ports  hosts' ports that accept frames tagged by hosts
    tagged_frames_cycle  the storm or dependency cycle that such frames would close; the proof then assumes none
    foreign_vlans  VLANs of others on any switch
    foreign_safe  in them, frames from ports outside the fabric neither storm nor reach a host
    latent  rings of unmanaged VLANs, VLAN 1 among them, that neither spanning tree breaks nor a port or a switch's own
        address leads into: a warning, since one more member of the VLAN makes each a storm
    foreign_cycle  a dependency cycle that arises only with those frames: a finding if all its channels end at ports
        that send PAUSE, else an assumption that the proof needs
    foreign_unguarded  foreign VLANs that join outside ports of two switches which run spanning tree, over links which
        do not: if the two are also cabled together outside, that loops, and no configuration shows it
    invented_addresses  hosts whose MAC address tagloom made up: entries for them serve no real host
    uplinks  ports that lead to unknown addresses, to which frames are flooded
    learned_entries_max  the most addresses that a switch must have learned for the paths to be its own; 0 where static
        entries lead everywhere
    flood_links_max, flood_ports_max  the most channels and hosts' ports that one such frame takes
    networks  the networks of hosts, none if there is but one; the pairs are those of each
    leaks     frames that come to a port of another network: a witness for each two networks
    unknown_lines  lines that the proof leaves out, None unless texts were read
    paste_order  whether every text works pasted top to bottom into a switch in its factory default; None if none is a
        list of lines
    paste_refused  the lines that a switch would refuse then
    """

    pairs: int
    reachable_pairs: int
    off_path_pairs: int
    storm_free: bool
    broadcast_exactly_once: bool
    deadlock_free: bool
    channels: int
    dependencies: int
    fdb_entries_max: int
    deadlock_cycle: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = field(default=())
    missing_entry: MissingEntry | None = None
    what_if: WhatIf | None = None
    channel_rank: NDArray[np.int32] | None = field(default=None, compare=False, repr=False)
    duplicates_allowed: bool = False
    unknown_lines: tuple[ForeignLine, ...] | None = None
    paste_order: bool | None = None
    paste_refused: tuple[Finding, ...] = ()
    tagged_frames_ports: int = 0
    tagged_frames_cycle: tuple[str, ...] = ()
    foreign_vlans: tuple[int, ...] = ()
    foreign_safe: bool = True
    latent: tuple[LatentRing, ...] = ()
    foreign_cycle: tuple[str, ...] = ()
    foreign_unguarded: tuple[str, ...] = ()
    invented_addresses: int = 0
    learned_entries_max: int = 0
    uplinks: int = 0
    flood_links_max: int = 0
    flood_ports_max: int = 0
    networks: tuple[Network, ...] = ()
    leaks: tuple[Leak, ...] = ()

    @property
    def unreachable_pairs(self) -> int:
        """Return the number of ordered host pairs that lose all frames."""
        return self.pairs - self.reachable_pairs

    @property
    def tagged_frames_safe(self) -> bool:
        """Return whether hosts may send tagged frames: either refused, or free of cycles and storms."""
        return not self.tagged_frames_cycle

    @property
    def isolated(self) -> bool:
        """Return whether no frame of a host, untagged or tagged, comes to a port of another network."""
        return not self.leaks

    @property
    def proven(self) -> bool:
        """Return whether every proof holds and nothing else was found."""
        return self._holds and not self.findings

    @property
    def proven_but_for_unknown_lines(self) -> bool:
        """Return whether every proof holds, and all findings are lines that tagloom does not know."""
        unknown = {line.finding() for line in self.unknown_lines or ()}
        return self._holds and unknown.issuperset(self.findings)

    @property
    def _holds(self) -> bool:
        return (
            self.unreachable_pairs == 0
            and self.off_path_pairs == 0
            and self.storm_free
            and (self.broadcast_exactly_once or self.duplicates_allowed)
            and self.deadlock_free
            and self.isolated
        )

    def to_json(self) -> dict[str, Any]:
        """Return the verdict with the keys of the command line."""
        return {
            "proven": self.proven,
            "pairs": self.pairs,
            "reachable_pairs": self.reachable_pairs,
            "unreachable_pairs": self.unreachable_pairs,
            "off_path_pairs": self.off_path_pairs,
            "storm_free": self.storm_free,
            "broadcast_exactly_once": self.broadcast_exactly_once,
            "broadcast_duplicates_allowed": self.duplicates_allowed,
            "deadlock_free": self.deadlock_free,
            "deadlock_cycle": list(self.deadlock_cycle),
            "tagged_frames_safe": self.tagged_frames_safe,
            "tagged_frames_ports": self.tagged_frames_ports,
            "tagged_frames_cycle": list(self.tagged_frames_cycle),
            "foreign_vlans": list(self.foreign_vlans),
            "latent": [asdict(ring) for ring in self.latent],
            "foreign_cycle": list(self.foreign_cycle),
            "foreign_unguarded": list(self.foreign_unguarded),
            "invented_addresses": self.invented_addresses,
            "uplinks": self.uplinks,
            "flood_links_max": self.flood_links_max,
            "flood_ports_max": self.flood_ports_max,
            "networks": [network.to_json() for network in self.networks],
            "isolated": self.isolated,
            "leaks": [asdict(leak) for leak in self.leaks],
            "channels": self.channels,
            "dependencies": self.dependencies,
            "fdb_entries_max": self.fdb_entries_max,
            "learned_entries_max": self.learned_entries_max,
            "findings": [finding.to_json() for finding in self.findings],
            **(self._of_texts() if self.unknown_lines is not None else {}),
            **self._what_if(),
        }

    def _what_if(self) -> dict[str, Any]:
        if self.missing_entry is not None:
            loss = asdict(self.missing_entry)
            return {"missing_entry": loss, "what_if": {"kind": "entries", **loss}}
        return {"what_if": self.what_if.to_json()} if self.what_if is not None else {}

    def _of_texts(self) -> dict[str, Any]:
        return {
            "unknown_lines": [asdict(line) for line in self.unknown_lines or ()],
            "paste_order": self.paste_order,
            "paste_refused": [finding.to_json() for finding in self.paste_refused],
        }
