"""All paths of a fabric as arrays: a tree of channels from every source, or a relation between channels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNUSED, DELIVERED = -2, -1


@dataclass(frozen=True, eq=False)
class Relation:
    """A routing relation C x N -> C: in-channel and destination alone determine the next channel.

    first      int32[S, N], the first channel from a source to a switch
    following  int32[C, N], the channel after channel c on the path to a switch
    Both are DELIVERED (-1) at the destination itself and UNUSED (-2) if no path leads there.
    """

    first: NDArray[np.int32]
    following: NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Departures:
    """A routing relation C x N -> C as egress ports; T switches have hosts.

    targets    int32[T], the switches with hosts, ascending
    first      uint8 or uint16[S, T], the egress port of a source towards a target
    following  uint8 or uint16[C, T], the egress port towards a target of frames that enter by a channel
    Both are 0 if no path leads there, and `here`, which is no port's number, at the target itself.
    """

    targets: NDArray[np.int32]
    first: NDArray[np.unsignedinteger]
    following: NDArray[np.unsignedinteger]
    here: int


@dataclass(frozen=True, eq=False)
class Routes:
    """The path from every source to every switch that has hosts.

    A source is a set of hosts of one switch that share all their paths. With S sources and N switches:

    source_of_host  int32[H], the source of each host
    root            int32[S], the switch of a source
    parent          int32[S, N], the channel by which the source's tree enters a switch, -1 at the root and outside the
                    tree; None if the paths of a source are no tree
    relation        the next channel by in-channel and destination; None if they do not determine it

    At least one of `parent` and `relation` exists; if both do, they agree. Fixed VLAN assignment needs trees (Koibuchi
    et al. 2011, Sect. 3.2.1 takes them for granted; arbitrary minimal paths are none), renamed assignment needs the
    relation. `method` names the routing, `reason` says why it was chosen.
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

    def of_hosts(self, hosts: NDArray[np.int64]) -> Routes:
        """Return the routes of some hosts, in their order, and of the sources that are theirs."""
        if np.array_equal(hosts, np.arange(len(self.source_of_host))):
            return self
        kept, source_of_host = np.unique(self.source_of_host[hosts], return_inverse=True)
        relation = self.relation
        return replace(
            self,
            source_of_host=source_of_host.astype(np.int32),
            root=self.root[kept],
            parent=None if self.parent is None else self.parent[kept],
            relation=None if relation is None else replace(relation, first=relation.first[kept]),
        )

    @cached_property
    def sources(self) -> int:
        """Return the number of sources."""
        return len(self.root)


@dataclass(frozen=True, eq=False)
class DetourTrees:
    """Trees around single failures, beside the trees of routes; F failures, S sources, X detours, N switches.

    links, switches  int32, the links, then the switches, whose loss is a failure each
    root     int32[X], parent int32[X, N], the trees, as in Routes
    choice   int32[F, S], the detour of each source after each failure, -1 if it keeps its own tree
    unserved  number of (source, failure) cases that keep it although a detour reaches hosts it loses
    added     number of trees that are not the sources' own, each of which needs a VLAN
    """

    links: NDArray[np.int32]
    switches: NDArray[np.int32]
    root: NDArray[np.int32]
    parent: NDArray[np.int32]
    choice: NDArray[np.int32]
    unserved: int = 0
    added: int = 0
