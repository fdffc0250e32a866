"""The path of one frame through a fabric: what every switch on it does with the frame."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Hop:
    """What one switch does with a frame: it comes in at a port, in a VLAN, and leaves by others.

    `by` is "entry" where a static entry says where to, "flood" where none does, "" where the switch drops the frame;
    `why` says what becomes of it there, "" where it goes on. Ports are ``switch:port``, in the model's own words.
    """

    switch: str
    port_in: str
    vlan: int
    ports_out: tuple[str, ...]
    by: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class FramePath:
    """The hops of a frame from one host to another, in the order in which copies arrive, and whether it gets there."""

    source: str
    destination: str
    reaches: bool
    hops: tuple[Hop, ...]

    @property
    def why(self) -> str:
        """Return why the frame does not arrive, "" where it does."""
        return "" if self.reaches else next((hop.why for hop in reversed(self.hops) if hop.why), "nobody sends it on")

    def to_json(self) -> dict[str, Any]:
        """Return it with the keys of the command line."""
        hops = [asdict(hop) | {"ports_out": list(hop.ports_out)} for hop in self.hops]
        return {"from": self.source, "to": self.destination, "reaches": self.reaches, "why": self.why, "hops": hops}
