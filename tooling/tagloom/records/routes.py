"""Hold all paths of a fabric as arrays: a tree of channels from every source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric


@dataclass(frozen=True, eq=False)
class Routes:
    """Hold the path from every source to every switch.

    A source is a set of hosts of one switch that share all their paths; with S sources and N switches:

    source_of_host  int32[H], the source each host belongs to
    root            int32[S], the switch a source sits at
    parent          int32[S, N], the channel by which the source's tree enters a switch;
                    -1 at the root and where the tree does not go

    The paths of a source form a tree by construction, which fixed VLAN assignment needs (Koibuchi et al. 2011,
    Sect. 3.2.1 takes it for granted; arbitrary minimal paths do not give it).
    `method` names the routing, `reason` says why it was chosen.
    """

    method: str
    reason: str
    source_of_host: NDArray[np.int32]
    root: NDArray[np.int32]
    parent: NDArray[np.int32]

    def depth(self, fabric: Fabric) -> NDArray[np.int32]:
        """Count the channels from each source to each switch, int32[S, N]; -1 where the tree does not go."""
        return _depth(fabric.tail, self.root, self.parent)

    def average_hops(self, fabric: Fabric) -> float:
        """Count switches on a path, averaged over all ordered host pairs, a host with itself included (Avg.H)."""
        depth = self.depth(fabric)
        return float(np.mean(depth[self.source_of_host][:, fabric.host_switch] + 1.0))

    @cached_property
    def sources(self) -> int:
        """Count the sources."""
        return len(self.root)


def _depth(tail: NDArray[np.int32], root: NDArray[np.int32], parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Count steps to the root by pointer doubling, O(S N log N)."""
    sources, switches = parent.shape
    here = np.arange(switches, dtype=np.int32)
    rows = np.arange(sources)[:, None]
    up = np.where(parent >= 0, tail[parent], here)  # one step towards the root; roots and strangers point at themselves
    steps = (parent >= 0).astype(np.int32)
    for _ in range(max(1, int(switches).bit_length())):
        steps = steps + steps[rows, up]
        up = up[rows, up]
    reached = up == root[:, None]
    return np.where(reached, steps, -1).astype(np.int32)
