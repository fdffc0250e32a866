"""Add detours to a plan: a channel order, trees around each failure, and their VLANs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.graph.cycles import ascends
from tagloom.route.any_order.plan import any_protected, relation_along
from tagloom.route.detours import detour_limits, find_detours_of_networks, order_beside
from tagloom.verify import broadcasts_once, dependencies
from tagloom.weave import broadcast_tree, name_detours, weave, weave_detours

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.records.vlan_plan import VlanPlan


@dataclass(frozen=True, eq=False)
class ProtectedPlan:
    """Routes with detours: the state of every switch, its VLANs, and the changes after each failure."""

    routes: Routes
    state: FabricState
    vlans: int
    detours: tuple[Detour, ...]


def with_detours(
    fabric: Fabric,
    routes: Routes,
    woven: VlanPlan,
    protect: str,
    *,
    own: bool,
    effort: int,
    free: bool,
    hosts_tag: bool,
) -> ProtectedPlan:
    """Return a plan with detours in one channel order that all paths ascend.

    With `own`, each source gets detours of its own. If the routing is `free` to choose, an order searched for
    protection is taken if it protects more. Fewer detours are installed if the models hold no more. Raises PlanError if
    the plan does not even fit without any.
    """
    renamed = woven.assignment == "renamed"
    order, left = order_beside(fabric, dependencies(fabric, woven.state), protect, effort)
    if free and left:
        searched = any_protected(fabric, protect, effort)
        found = (searched[0], woven) if not renamed else _renamed_along(fabric, searched, woven.broadcast, effort)
        if searched[2] < left and found is not None:
            why = f"{routes.method} leaves {left} pairs of switches without a path after a failure"
            (routes, woven), order = found, searched[1]
            routes = replace(routes, reason=f"{routes.reason}; {why}")
    tree = broadcast_tree(fabric, routes) if woven.broadcast == "tree" else frozenset[int]()
    held = woven.state if renamed else None
    for limits in detour_limits(fabric, routes, woven.vlans, own=own and not tree, renamed=held):
        trees = find_detours_of_networks(fabric, routes, order, protect, replace(limits, broadcasts=tree))
        if limits.parts and any(each.unserved for each in trees):
            continue
        try:
            state, vlan_of = weave_detours(fabric, routes, woven.assignment, trees, tree, hosts_tag=hosts_tag)
        except PlanError:
            if limits.most == 0:
                raise
            continue
        break
    detours = name_detours(fabric, routes, trees, vlan_of)
    last = max((int(held.vlans.max()) for held in state.values()), default=0)
    vlans = max(0, last - fabric.first_vlan + 1) + len(fabric.tags)
    return ProtectedPlan(routes, state, vlans, detours)


def _renamed_along(
    fabric: Fabric, searched: tuple[Routes, NDArray[np.int32], int], broadcast: str, effort: int
) -> tuple[Routes, VlanPlan] | None:
    """Return renamed VLANs along an order found for protection.

    None where broadcasts would come by other means than `broadcast`, or make turns against the order.
    """
    trees, order, _ = searched
    routes, static_arp = relation_along(fabric, order, trees.reason, max(1, effort)), broadcast == "static-arp"
    try:
        once = partial(broadcasts_once, fabric)
        found = weave(fabric, routes, "renamed", broadcasts_once=once, static_arp=static_arp)
    except PlanError:
        return None
    climbs = ascends(len(fabric.tail), order, *dependencies(fabric, found.state))
    return (routes, found) if climbs and found.broadcast == broadcast else None
