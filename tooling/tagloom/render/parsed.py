"""What a text says of a switch, and what of it was not understood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tagloom.records.switch_state import SwitchState


@dataclass(frozen=True, slots=True)
class UnknownLine:
    """A line inside a block of ours that is not understood or cannot hold, and the switch's answer to it.

    `number` counts from 1; `block` is the line that opened the block, "" outside of any. `answer` is "" for a line
    nobody knows, else what the switch would say at its place. `ports` and `vlan` are what the block is about.
    `rule` is what a line breaks that the switch takes, "" for one that it doesn't.
    """

    number: int
    block: str
    text: str
    answer: str
    ports: tuple[int, ...] = ()
    vlan: int = 0
    rule: str = ""

    def touches(self, ports: Collection[int], vlans: Collection[int]) -> bool:
        """Return whether the line may bear on any of these ports or VLANs."""
        if self.ports:
            return not set(self.ports).isdisjoint(ports)
        return self.vlan in vlans if self.vlan else True


@dataclass(frozen=True)
class Parsed:
    """What a text says, and what of it was not understood.

    `unknown` are lines in blocks of ours that are not understood or cannot hold; `foreign` all others that change
    nothing of the state, harmless ones among them. `refused` are the lines that a switch would refuse, were the text
    pasted top to bottom into its factory default; None for a text that is no list of lines to paste. `duplex` is what
    the text says of it by port, `unpinned` the (VLAN, MAC) whose entry does not last. `waiting` are lines that hold
    nothing now, and will where a port changes its mode or a VLAN is made: they matter before anything is sent.
    """

    state: SwitchState
    unknown: tuple[UnknownLine, ...]
    foreign: tuple[UnknownLine, ...] = ()
    refused: tuple[UnknownLine, ...] | None = ()
    duplex: Mapping[int, str] = field(default_factory=dict)
    unpinned: frozenset[tuple[int, int]] = frozenset()
    waiting: tuple[UnknownLine, ...] = ()
