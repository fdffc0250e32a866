"""Add detours to a plan: a channel order, trees around each failure, and their VLANs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError, PlanError
from tagloom.records.detours import PROTECTIONS
from tagloom.route.any_order.plan import any_protected
from tagloom.route.detours import detour_limits, find_detours_of_networks, order_beside
from tagloom.route.plannable import refuse_moved_entries
from tagloom.verify import dependencies
from tagloom.weave import name_detours, weave_detours

if TYPE_CHECKING:
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


def refuse_protection(protect: str, assignment: str, fabric: Fabric | None = None) -> None:
    """Raise InputError if the requested detours are impossible, of a fabric if there is one."""
    if protect not in PROTECTIONS:
        raise InputError([Finding("--protect", " or ".join(PROTECTIONS), repr(protect))])
    if protect != "none" and assignment not in {"fixed", "pinned"}:
        rule = (
            "--assignment fixed, where a host's PVID picks its whole path, or pinned, where entries alone lead frames"
        )
        why = (
            f"--assignment {assignment}: detours would change PVIDs between switches, which no single wave does safely"
        )
        raise InputError([Finding(f"--protect {protect}", rule, why)])
    if protect != "none" and assignment == "pinned" and fabric is not None:
        refuse_moved_entries(fabric, f"--protect {protect} with --assignment pinned")


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
    for limits in detour_limits(fabric, woven.vlans, own=own):
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


def _because(routes: Routes, why: str) -> Routes:
    return replace(routes, reason=f"{routes.reason}; {why}")
