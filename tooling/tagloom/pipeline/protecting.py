"""Add detours to a plan: a channel order, trees around each failure, and their VLANs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.graph.cycles import ascends
from tagloom.graph.numbering import numbered_beside
from tagloom.records.switch_state import MAX_VLAN
from tagloom.route.any_order.plan import any_protected, relation_along
from tagloom.route.detours import detour_limits, find_detours_of_networks, order_beside
from tagloom.route.detours_beside import detours_beside, too_large
from tagloom.units import number_of
from tagloom.verify import broadcasts_once, dependencies, protection
from tagloom.weave import broadcast_tree, name_detours, weave, weave_detours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.detours import Detour, Protection
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.records.vlan_plan import VlanPlan

MOST_ENTRIES = 150_000  # of detours without a request, on all switches: writing and proving them takes a second

_ASK = "tagloom plan --protect link computes it"


@dataclass(frozen=True, eq=False)
class ProtectedPlan:
    """Routes with detours: the state of every switch, VLANs of normal paths, and the changes after each failure."""

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
            why = f"{routes.method} leaves {number_of(left, 'pair')} of switches without a path after a failure"
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
    return ProtectedPlan(routes, state, woven.vlans if renamed else _selected(fabric, state), detours)


def _selected(fabric: Fabric, state: FabricState) -> int:
    """Return how many VLANs the hosts' PVIDs select before a failure; the tags of hosts that tag count, too."""
    pvids = {int(state[fabric.switches[host.switch].name].pvid[host.port - 1]) for host in fabric.hosts}
    return len(pvids) + len(fabric.tags)


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


@dataclass(frozen=True, eq=False)
class DetoursBeside:
    """Detours in VLANs of their own beside a plan's paths, and the proof of every failure.

    why   the reason if there are none
    rank  of the channels, int32[C], which all frames ascend before, during and after every failure
    """

    state: FabricState
    detours: tuple[Detour, ...] = ()
    protection: Protection | None = None
    rank: NDArray[np.int32] | None = None
    why: str = ""


def with_detours_beside(
    fabric: Fabric, routes: Routes, woven: VlanPlan, planned: FabricState, before: FabricState, *, hosts_tag: bool
) -> DetoursBeside:
    """Return a plan's `planned` state with detours around single links that change nothing else of it.

    VLANs and entries are added until half of what every model holds is taken, so that a rollout to another such plan
    has room for both. A detour's VLAN keeps its id of `before` if its members and entries are the same; any other takes
    one that `before` uses nowhere. Without detours, the answer says why.
    """
    without = partial(DetoursBeside, planned)
    if why := _unprotectable(fabric, woven, hosts_tag=hosts_tag):
        return without(why=why)
    if not (most := _half_of_the_room(fabric, woven.vlans, planned)):
        return without(why=f"none: the models hold too few VLANs or static entries for detours; {_ASK}")
    try:
        trees = detours_beside(fabric, routes, dependencies(fabric, woven.state), most)
        if not len(trees.root):
            return without(why="none: a failed link disconnects hosts, since no other path fits beside these")
        merged, vlan_of = weave_detours(fabric, routes, woven.assignment, [trees], apart=True)
        state, number = numbered_beside(before, planned, merged, fabric.first_vlan)
        if max(number.values()) > _last_vlan(fabric):
            return without(why=f"none: too few VLAN ids are left beside those in use; {_ASK}")
        named = name_detours(fabric, routes, [trees], [np.array([number[v] for v in vlan_of[0].tolist()])])
        detours, counted, rank = protection(fabric, planned, state, "auto", named)
    except PlanError as error:
        return without(why=f"none: detours beside these paths do not prove ({error.rule})")
    return DetoursBeside(state, detours, counted, rank)


def _unprotectable(fabric: Fabric, woven: VlanPlan, *, hosts_tag: bool) -> str:
    """Return why a plan gets no detours without a request for them, "" where it may."""
    if woven.assignment != "fixed":
        return f"not computed under {woven.assignment}; {_ASK}"
    if len(fabric.networks) > 1 or fabric.tags:
        return f"not computed for several networks; {_ASK}"
    if hosts_tag:
        return f"not computed with --learning; {_ASK}"
    if not any(link.up for link in fabric.links):
        return "none: no link between switches is up"
    if too_large(fabric):
        return f"not computed for {len(fabric.switches)} switches; {_ASK}"
    return ""


def _last_vlan(fabric: Fabric) -> int:
    return min(min(platforms.of(switch).max_vlan_id, MAX_VLAN) for switch in fabric.live)


def _half_of_the_room(fabric: Fabric, vlans: int, planned: FabricState) -> int:
    """Return how many VLANs, with an entry for every host, surely leave half of each model's VLANs and entries free."""
    hosts = max(1, sum(len(host.macs) for host in fabric.hosts))
    room = (_last_vlan(fabric) - fabric.first_vlan + 1) // 2 - vlans
    for switch in fabric.live:
        model, held = platforms.of(switch), planned[switch.name]
        room = min(room, model.max_vlans // 2 - len(held.vlans), (model.mac_table // 2 - len(held.entry_vlan)) // hosts)
    return max(0, min(room, MOST_ENTRIES // (hosts * len(fabric.live))))
