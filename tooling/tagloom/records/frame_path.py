"""The path of one frame through a fabric: the action of every switch on it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Hop:
    """The handling of a frame by one switch: its ingress port, its VLAN, its egress ports.

    `by` is "entry" if a static entry decides, "flood" if none does, "" if the switch drops the frame. `why` says what
    ends the frame's path there, "" if it goes on. Ports are ``switch:port``, in the model's own words.
    """

    switch: str
    port_in: str
    vlan: int
    ports_out: tuple[str, ...]
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class FramePath:
    """The hops of a frame between two hosts, in the order in which copies arrive, and whether it arrives."""

    source: str
    destination: str
    reaches: bool
    hops: tuple[Hop, ...]

    @property
    def why(self) -> str:
        """Return why the frame does not arrive, "" if it does."""
        return "" if self.reaches else next((hop.why for hop in reversed(self.hops) if hop.why), "nobody sends it on")

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        hops = [asdict(hop) | {"ports_out": list(hop.ports_out)} for hop in self.hops]
        return {"from": self.source, "to": self.destination, "reaches": self.reaches, "why": self.why, "hops": hops}
