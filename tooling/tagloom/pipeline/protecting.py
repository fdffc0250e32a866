"""Add detours to a plan: an order, trees that go round each failure, their VLANs, and the proof of every failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.graph.cycles import ranks
from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour, Protection
from tagloom.records.switch_state import MAX_VLAN
from tagloom.route.any_order.plan import any_protected
from tagloom.route.detours import find_detours, order_beside
from tagloom.verify import dependencies, what_if
from tagloom.weave import weave_detours

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import DetourTrees, Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.records.vlan_plan import VlanPlan

PROTECTIONS = ("none", "link", "switch")
PARTS = (4, 2, 1)  # into how many trees the detours of one source round links as far from it are dealt, if they fit


@dataclass(frozen=True, eq=False)
class ProtectedPlan:
    """Routes with detours beside them: the state of every switch, its VLANs, and what to change after each failure."""

    routes: Routes
    state: FabricState
    vlans: int
    detours: tuple[Detour, ...]


def refuse_protection(protect: str, assignment: str) -> None:
    """Raise InputError where detours are asked for that cannot be made."""
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
    """Return a plan with detours along one order that all its paths climb; with `own`, each source has some alone.

    Where the routing is `free` to choose, an order searched for protection is taken if it protects more. Fewer detours
    are installed where the models hold no more. Raises PlanError where even none fit.
    """
    order, left = order_beside(fabric, dependencies(fabric, woven.state), protect, effort)
    if free and left:
        searched = any_protected(fabric, protect, effort)
        if searched[2] < left:
            why = f"{routes.method} leaves {left} pairs of switches without a path after a failure"
            routes, order = _because(searched[0], why), searched[1]
    most = _room(fabric, woven.vlans)
    attempts = [(most, parts) for parts in PARTS] if own else []
    attempts += [(limit, 0) for limit in (most, most // 2, most // 8, 0)]
    for limit, parts in attempts:
        trees = find_detours(fabric, routes, order, protect, limit, parts)
        if parts and trees.unserved:
            continue
        try:
            state, vlan_of = weave_detours(fabric, routes, trees, hosts_tag=hosts_tag)
        except PlanError:
            if limit == 0:
                raise
            continue
        break
    detours = name_detours(fabric, routes, trees, vlan_of)
    vlans = max((int(held.vlans.max()) for held in state.values()), default=0) - fabric.first_vlan + 1
    return ProtectedPlan(routes, state, vlans, detours)


def _because(routes: Routes, why: str) -> Routes:
    return replace(routes, reason=f"{routes.reason}; {why}")


def _room(fabric: Fabric, vlans: int) -> int:
    """Return how many more VLANs every switch can hold; VLAN 1 takes a place too."""
    models = [platforms.of(switch) for switch in fabric.live]
    ids = min(min(model.max_vlan_id, MAX_VLAN) for model in models) - fabric.first_vlan + 1
    return max(0, min(ids, min(model.max_vlans for model in models) - 1) - vlans)


def name_detours(fabric: Fabric, routes: Routes, trees: DetourTrees, vlan_of: NDArray[np.int64]) -> tuple[Detour, ...]:
    """Return what changes after each failure: the hosts whose PVID becomes another than it is."""
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


def protection(
    fabric: Fabric, bare: FabricState, state: FabricState, protect: str, detours: tuple[Detour, ...]
) -> tuple[Protection, NDArray[np.int32]]:
    """Prove every failure from the states alone, and return what the detours protect and cost.

    `bare` is the plan without detours. Returned with it are ranks of the channels that all frames climb, before, during
    and after every failure, int32[C]. Raises PlanError where a failure would do harm: a deadlock, a storm, a broadcast
    that comes twice.
    """
    found = [what_if(fabric, state, kind, detours) for kind in ("links", "switches")[: 1 + (protect == "switch")]]
    for each in found:
        if not each.safe:
            raise PlanError(
                "detours after which nothing storms, waits for itself or comes twice", str(each.deadlock_cycle)
            )
    held, wanted = (np.concatenate(column) for column in zip(*(each.dependencies for each in found), strict=True))
    try:
        rank = ranks(len(fabric.tail), held, wanted)
    except ValueError as error:
        raise PlanError("detours of links and switches that close no dependency cycle together", str(error)) from None
    used = {int(state[fabric.switches[h.switch].name].pvid[h.port - 1]) for h in fabric.hosts}
    all_vlans = {v for held in state.values() for v in held.owned_vlans}
    entries = sum(len(held.entry_vlan) for held in state.values()) - sum(len(held.entry_vlan) for held in bare.values())
    cost = Protection(
        protect,
        sum(each.protected for each in found),
        sum(each.unprotected for each in found),
        len(all_vlans - used),
        entries,
        max(each.load_max for each in found),
        round(max(each.hops_max / max(1, each.hops_before) for each in found), 6),
    )
    return cost, rank
