"""The proof of a wave: every interleaving of its switches' lines, and every frame in flight."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from tagloom.errors import Finding
    from tagloom.records.switch_state import SwitchState


@dataclass(frozen=True)
class ProofAssumptions:
    """The assumptions under which a wave is proven; the default is a fabric that runs as planned.

    paused    frames of hosts may be dropped at ingress
    learning  VLANs in which unicasts without an entry are flooded, or follow a learned address: each must be one tree,
              where both lead to the same host, once
    lossy     no port sends PAUSE, so no frame holds a buffer while it waits and nothing can deadlock; freedom from
              loops is then proven destination by destination
    spanning  spanning tree runs on some switches, and blocks no more than `blocked`; the composer of the wave ensures
              that
    blocked   (switch index, port number) of the ports that spanning tree keeps from forwarding during the whole wave
    keeping   for fabrics in which some pairs are cut off already: pairs without a path before the wave, or not meant to
              have one after it, may do anything; all others keep a path at every line, and nothing storms
    foreign   only the topology of foreign VLANs changes: it is proven that none storms or is cut at any line, nor waits
              in a cycle with the fabric's own frames
    apart     indices of switches outside the proof: their links are shut, or dead
    stuck     switches that stopped between two states and take no lines of this wave
    transient_ports  (switch name, port number) of hosts that are leaving or have not arrived yet: their frames must do
              no harm, whatever becomes of them
    transient_tags  (switch name, port number, tag, network) of networks that a port is leaving or has not joined yet,
              0 for untagged: as above, and where others stay at the port, their frames reach no isolated network
    """

    paused: bool = False
    learning: frozenset[int] = frozenset()
    lossy: bool = False
    spanning: bool = False
    blocked: frozenset[tuple[int, int]] = frozenset()
    keeping: bool = False
    foreign: bool = False
    apart: frozenset[int] = frozenset()
    stuck: Mapping[str, tuple[SwitchState, SwitchState]] = field(default_factory=dict)
    transient_ports: frozenset[tuple[str, int]] = frozenset()
    transient_tags: frozenset[tuple[str, int, int, str]] = frozenset()

    def to_json(self) -> dict[str, Any]:
        """Return the assumptions as stored in files: all but `stuck`."""
        return {
            "paused": self.paused,
            "learning": sorted(self.learning),
            "lossy": self.lossy,
            "spanning": self.spanning,
            "blocked": sorted(self.blocked),
            **(
                {"transient_ports": [{"switch": s, "port": p} for s, p in sorted(self.transient_ports)]}
                if self.transient_ports
                else {}
            ),
            **(
                {
                    "transient_tags": [
                        {"switch": s, "port": p, "tag": t, "network": n} for s, p, t, n in sorted(self.transient_tags)
                    ]
                }
                if self.transient_tags
                else {}
            ),
            "keeping": self.keeping,
            **({"foreign": True} if self.foreign else {}),
            "apart": sorted(self.apart),
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Return the assumptions from the output of `to_json`."""
        return cls(
            paused=bool(plain.get("paused", False)),
            learning=frozenset(map(int, plain.get("learning", ()))),
            lossy=bool(plain.get("lossy", False)),
            spanning=bool(plain.get("spanning", False)),
            blocked=frozenset((int(switch), int(port)) for switch, port in plain.get("blocked", ())),
            transient_ports=frozenset(
                (str(guest["switch"]), int(guest["port"])) for guest in plain.get("transient_ports", ())
            ),
            transient_tags=frozenset(
                (str(guest["switch"]), int(guest["port"]), int(guest["tag"]), str(guest["network"]))
                for guest in plain.get("transient_tags", ())
            ),
            keeping=bool(plain.get("keeping", False)),
            foreign=bool(plain.get("foreign", False)),
            apart=frozenset(map(int, plain.get("apart", ()))),
        )


AS_PLANNED = ProofAssumptions()


@dataclass(frozen=True)
class WaveProof:
    """The verdict on all states between two waves, however the lines of the switches interleave.

    frame_states   (switch, in-port, tag, destination) that frames can be in, over all those states
    held, wanted   the channel dependencies of all frames, each once, int64
    cycle          the channels of a dependency cycle, or ()
    findings       the smallest witness of each fault; empty = proven
    """

    frame_states: int
    held: NDArray[np.int64] = field(repr=False)
    wanted: NDArray[np.int64] = field(repr=False)
    cycle: tuple[int, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def proven(self) -> bool:
        """Return whether everything holds in every state of the wave."""
        return not self.findings
