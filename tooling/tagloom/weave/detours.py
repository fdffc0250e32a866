"""Name the changes after each failure, for hosts whose detours are woven."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import DetourTrees, Routes


def name_detours(
    fabric: Fabric, routes: Routes, trees: Sequence[DetourTrees], vlan_of: Sequence[NDArray[np.int64]]
) -> tuple[Detour, ...]:
    """Return the changes after each failure: the hosts whose PVID changes, with their new PVID.

    `trees` and their VLANs are those of each network, around the same failures.
    """
    dead = chain(
        (link_ends(fabric, i) for i in trees[0].links.tolist()), ((fabric.switches[s].name,) for s in trees[0].switches)
    )
    found = [Detour(part, {}) for part in dead]
    for part, hosts, own, vlans in zip(fabric.by_network, fabric.networks.values(), trees, vlan_of, strict=True):
        names, source = [host.name for host in part.hosts], routes.of_hosts(hosts).source_of_host
        for f, choice in enumerate(own.choice):
            taken = choice[source]
            moved = {names[h]: int(vlans[taken[h]]) for h in np.flatnonzero(taken >= 0).tolist()}
            found[f] = replace(found[f], pvids={**found[f].pvids, **moved})
    return tuple(found)
