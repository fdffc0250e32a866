"""Add detours to a plan: a channel order, trees around each failure, and their VLANs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.records.detours import PROTECTIONS
from tagloom.records.switch_state import MAX_VLAN
from tagloom.route.any_order.plan import any_protected
from tagloom.route.detours import DetourLimits, find_detours_of_networks, order_beside
from tagloom.verify import dependencies
from tagloom.weave import name_detours, weave_detours

if TYPE_CHECKING:
    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.records.vlan_plan import VlanPlan

PARTS = (4, 2, 1)  # trees over which one source's detours around equally distant links are distributed, if they fit
ENOUGH = 1.3  # times the largest load without a failure: after each failure, where `--prefer load` finds it


@dataclass(frozen=True, eq=False)
class ProtectedPlan:
    """Routes with detours: the state of every switch, its VLANs, and the changes after each failure."""

    routes: Routes
    state: FabricState
    vlans: int
    detours: tuple[Detour, ...]


def refuse_protection(protect: str, assignment: str) -> None:
    """Raise InputError if the requested detours are impossible."""
    if protect not in PROTECTIONS:
        raise InputError([Finding("--protect", " or ".join(PROTECTIONS), repr(protect))])
    if protect != "none" and assignment != "fixed":
        rule = "--assignment fixed, where a host's PVID picks its whole path"
        why = (
            f"--assignment {assignment}: detours would change PVIDs between switches, which no single wave does safely"
        )
        raise InputError([Finding(f"--protect {protect}", rule, why)])


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
    order, left = order_beside(fabric, dependencies(fabric, woven.state), protect, effort)
    if free and left:
        searched = any_protected(fabric, protect, effort)
        if searched[2] < left:
            why = f"{routes.method} leaves {left} pairs of switches without a path after a failure"
            routes, order = _because(searched[0], why), searched[1]
    for limits in _attempts(fabric, woven, own=own):
        trees = find_detours_of_networks(fabric, routes, order, protect, limits)
        if limits.parts and any(each.unserved for each in trees):
            continue
        try:
            state, vlan_of = weave_detours(fabric, routes, trees, hosts_tag=hosts_tag)
        except PlanError:
            if limits.most == 0:
                raise
            continue
        break
    detours = name_detours(fabric, routes, trees, vlan_of)
    last = max((int(held.vlans.max()) for held in state.values()), default=0)
    vlans = max(0, last - fabric.first_vlan + 1) + len(fabric.tags)
    return ProtectedPlan(routes, state, vlans, detours)


def _attempts(fabric: Fabric, woven: VlanPlan, *, own: bool) -> list[DetourLimits]:
    """Return the numbers of detours to try, until one fits the models; the last adds none.

    A VLAN that all sources share takes an entry for every host at each switch. Where an eighth of the sources' VLANs
    would fill a table so, only as many are tried as surely fit.
    """
    most, several = _room(fabric, woven.vlans), max(1, len(fabric.networks))
    table = np.array([platforms.of(switch).mac_table for switch in fabric.switches], np.int64)
    few = [DetourLimits(most, table=table // several), DetourLimits(0, table=0 * table)]
    if 8 * int(table.min()) < woven.vlans * len(fabric.hosts):
        return few
    attempts = [DetourLimits(most, parts, enough=ENOUGH) for parts in PARTS] if own else []
    attempts += [DetourLimits(limit, enough=ENOUGH) for limit in (most, most // 2, most // 4)] if own else []
    return attempts + [DetourLimits(limit) for limit in (most, most // 2, most // 8)] + few


def _because(routes: Routes, why: str) -> Routes:
    return replace(routes, reason=f"{routes.reason}; {why}")


def _room(fabric: Fabric, vlans: int) -> int:
    """Return how many more VLANs every switch can hold; VLAN 1 counts."""
    models = [platforms.of(switch) for switch in fabric.live]
    ids = min(min(model.max_vlan_id, MAX_VLAN) for model in models) - fabric.first_vlan + 1
    return max(0, min(ids, min(model.max_vlans for model in models) - 1) - vlans)
