"""Name the changes after each failure, for hosts whose detours are woven."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import DetourTrees, Routes


def name_detours(fabric: Fabric, routes: Routes, trees: DetourTrees, vlan_of: NDArray[np.int64]) -> tuple[Detour, ...]:
    """Return the changes after each failure: the hosts whose PVID changes, with their new PVID."""
    names = np.array([host.name for host in fabric.hosts])
    dead = chain(
        (link_ends(fabric, i) for i in trees.links.tolist()), ((fabric.switches[s].name,) for s in trees.switches)
    )
    found = []
    for part, choice in zip(dead, trees.choice, strict=True):
        taken = choice[routes.source_of_host]
        moved = np.flatnonzero(taken >= 0)
        found.append(Detour(part, dict(zip(names[moved].tolist(), vlan_of[taken[moved]].tolist(), strict=True))))
    return tuple(found)
