"""All paths of a fabric as arrays: a tree of channels from every source, or a relation between channels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from tagloom.errors import PlanError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

UNUSED, DELIVERED = -2, -1


@dataclass(frozen=True, eq=False)
class Relation:
    """A routing relation C x N -> C: the channel that follows from the in-channel and the destination alone.

    first      int32[S, N], the first channel from a source to a switch
    following  int32[C, N], the channel after channel c on the way to a switch
    Both hold DELIVERED (-1) at the destination itself and UNUSED (-2) where no path goes.
    """

    first: NDArray[np.int32]
    following: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Departures:
    """A routing relation C x N -> C as the ports frames leave by; T switches have hosts.

    targets    int32[T], the switches with hosts, ascending
    first      uint8 or uint16[S, T], the port by which a source leaves towards a target
    following  uint8 or uint16[C, T], the port by which what came in by a channel leaves towards a target
    Both hold 0 where no path goes and `here`, which no port has as its number, at the target itself.
    """

    targets: NDArray[np.int32]
    first: NDArray[np.unsignedinteger]
    following: NDArray[np.unsignedinteger]
    here: int


@dataclass(frozen=True, eq=False)
class Routes:
    """The path from every source to every switch that has hosts.

    A source is a set of hosts of one switch that share all their paths; with S sources and N switches:

    source_of_host  int32[H], the source each host belongs to
    root            int32[S], the switch a source sits at
    parent          int32[S, N], the channel by which the source's tree enters a switch;
                    -1 at the root and where the tree does not go; None if the paths of a source are no tree
    relation        where the next channel follows from the in-channel and the destination; else None

    At least one of `parent` and `relation` is there; where both are, they say the same paths. Fixed VLAN assignment
    needs trees (Koibuchi et al. 2011, Sect. 3.2.1 takes them for granted; arbitrary minimal paths are none), renamed
    assignment needs the relation. `method` names the routing, `reason` says why it was chosen.
    """

    method: str
    reason: str
    source_of_host: NDArray[np.int32]
    root: NDArray[np.int32]
    parent: NDArray[np.int32] | None = None
    relation: Relation | None = None

    def __post_init__(self) -> None:
        if self.parent is None and self.relation is None:
            raise ValueError("routes are trees, or a relation, or both")

    @property
    def trees(self) -> NDArray[np.int32]:
        """Return `parent`. Raises PlanError if the paths of a source are no tree."""
        if self.parent is None:
            raise PlanError(
                "fixed assignment needs the paths of every source to be a tree",
                f"those of {self.method} routing as planned for renamed assignment are none",
                "use --assignment renamed",
            )
        return self.parent

    @cached_property
    def sources(self) -> int:
        """Count the sources."""
        return len(self.root)


@dataclass(frozen=True, eq=False)
class DetourTrees:
    """Trees that go round single failures, beside the trees of routes; F failures, S sources, X detours, N switches.

    links, switches  int32, the links and the switches whose loss is a failure each, links first
    root     int32[X], parent int32[X, N], the trees, as in Routes
    choice   int32[F, S], the detour that each source takes after each failure, -1 if it keeps its own tree
    unserved  how many (source, failure) keep it although they lose hosts that some detour reaches
    """

    links: NDArray[np.int32]
    switches: NDArray[np.int32]
    root: NDArray[np.int32]
    parent: NDArray[np.int32]
    choice: NDArray[np.int32]
    unserved: int = 0
