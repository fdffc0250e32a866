"""Choose the links that foreign VLANs keep, so that each is a forest that connects what it connected."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.switch_state import Membership

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.rollout import Cells
    from tagloom.records.switch_state import FabricState


def cells_to_prune(
    fabric: Fabric, vlans: Collection[int], before: FabricState, after: FabricState, forwards: NDArray[np.bool_]
) -> Cells:
    """Return the memberships of `vlans` to remove from ports of links, so that the links left to each form a forest.

    It connects all that links connect in `before` or `after`. Of the links of a ring, those go first that are on only
    in `after`, then those only in `before`, then those that spanning tree blocks now (not in `forwards`, bool[L]).
    """
    import networkx as nx  # noqa: PLC0415 - a third of a second that most rollouts need not wait for

    cells: dict[str, list[tuple[int, int]]] = {}
    for vlan in sorted(vlans):
        on = [_carrying(fabric, state, vlan) for state in (before, after)]
        cost = np.select([on[0] & on[1] & forwards, on[0] & on[1], on[0]], [0, 1, 2], 3)
        graph = nx.MultiGraph()
        for i in np.flatnonzero(on[0] | on[1]).tolist():
            graph.add_edge(fabric.links[i].a, fabric.links[i].b, i, weight=int(cost[i]))
        kept = {key for _, _, key in nx.minimum_spanning_edges(graph, keys=True, data=False)}
        for i in np.flatnonzero(on[0] | on[1]).tolist():
            if i not in kept:
                link = fabric.links[i]
                for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
                    cells.setdefault(fabric.switches[s].name, []).append((vlan, port))
    return {name: tuple(sorted(mine)) for name, mine in sorted(cells.items())}


def without_members(state: FabricState, cells: Mapping[str, Collection[tuple[int, int]]]) -> FabricState:
    """Return a state without some memberships, by switch as (VLAN, port); VLANs that it lacks are skipped."""
    found = dict(state)
    for name, mine in cells.items():
        held = found[name]
        members = held.membership.copy()
        for vlan, port in mine:
            if vlan in held.vlan_index:
                members[held.vlan_index[vlan], port - 1] = Membership.NONE
        found[name] = replace(held, membership=members)
    return found


def _carrying(fabric: Fabric, state: FabricState, vlan: int) -> NDArray[np.bool_]:
    """Return which links carry a VLAN: open at both ends, and both in it, bool[L]."""

    def joined(s: int, port: int) -> bool:
        held = state[fabric.switches[s].name]
        row = held.vlan_index.get(vlan)
        member = row is not None and held.membership[row, port - 1] != Membership.NONE
        return bool(member and held.enabled[port - 1] and fabric.switches[s].up)

    return np.array([joined(x.a, x.a_port) and joined(x.b, x.b_port) for x in fabric.links], np.bool_)
