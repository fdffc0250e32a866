"""What a proof found: counts, verdicts and the smallest witness of every failure."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.what_if import WhatIf


@dataclass(frozen=True, slots=True)
class MissingEntry:
    """What the loss of static entries would do, each alone, over all flows (host pairs) that use it.

    `entries` counts the entries in use, `flows` the (entry, host pair) cases. Extra hosts are those that hear a frame
    that is not theirs, in the mean of all flows and at worst; the rest count flows whose frames would be lost, arrive
    more than once, or go round for ever.
    """

    entries: int
    flows: int
    extra_hosts_average: float
    extra_hosts_worst: int
    lost_flows: int
    duplicated_flows: int
    storm_flows: int


@dataclass(frozen=True, slots=True)
class ForeignLine:
    """A line of a configuration text that tagloom does not know, and that may change what frames do.

    `block` is the line that opened its block, "" outside of any.
    """

    switch: str
    line: int
    block: str
    text: str

    def finding(self) -> Finding:
        """Return it as what stands in the way of an unqualified yes."""
        return Finding(
            f"{self.switch}:{self.line}  {self.block or 'configuration'}", "a line tagloom knows", repr(self.text)
        )


@dataclass(frozen=True)
class Findings:
    """The verdict on a fabric's configuration, proven from SwitchStates alone.

    `deadlock_cycle` lists the channels of one dependency cycle as "s0:g1 -> s1:g2", or is empty.
    `broadcast_exactly_once` counts every host's broadcast at every other host; with `duplicates_allowed` the plan says
    that the hosts do without, and only a broadcast that does not come at all is a finding. `channel_rank` is the
    certificate of deadlock freedom, int32[C]: each dependency leads to a channel of higher rank; None where there is a
    cycle. `missing_entry` and `what_if` are filled in where asked for. `tagged_frames_ports` counts the hosts' ports
    that take frames which hosts tagged themselves, `tagged_frames_cycle` is the storm or dependency cycle that those
    would close: no verdict, but an assumption that is needed then. `foreign_vlans` are the VLANs of others on any
    switch, `foreign_safe` says that frames from ports outside the fabric neither storm nor reach a host in one of them,
    `foreign_cycle` is a dependency cycle that arises only with those: a finding where all its channels end at ports
    that send PAUSE, else no verdict, but an assumption that is needed; `foreign_unguarded` are those that join ports
    outside of two switches which run spanning tree, over links which do not: if both are cabled together outside, that
    loops, and no text tells;
    `invented_addresses` counts the hosts whose MAC address tagloom made up: entries for them serve no real host.
    Where texts were read, `unknown_lines` are those that the proof leaves out, and `paste_order` tells whether every
    text works pasted top to bottom into a switch in its factory default (None where none is a list of lines);
    `paste_refused` are the lines that would not.
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
    foreign_cycle: tuple[str, ...] = ()
    foreign_unguarded: tuple[str, ...] = ()
    invented_addresses: int = 0

    @property
    def unreachable_pairs(self) -> int:
        """Count the ordered host pairs of which no frame arrives."""
        return self.pairs - self.reachable_pairs

    @property
    def tagged_frames_safe(self) -> bool:
        """Return whether hosts may send tagged frames: they are refused, or close no cycle and raise no storm."""
        return not self.tagged_frames_cycle

    @property
    def proven(self) -> bool:
        """Return whether every proof holds and nothing else was found."""
        return self._holds and not self.findings

    @property
    def proven_but_for_unknown_lines(self) -> bool:
        """Return whether every proof holds, and nothing was found but lines that tagloom does not know."""
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
            "foreign_cycle": list(self.foreign_cycle),
            "foreign_unguarded": list(self.foreign_unguarded),
            "invented_addresses": self.invented_addresses,
            "channels": self.channels,
            "dependencies": self.dependencies,
            "fdb_entries_max": self.fdb_entries_max,
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
