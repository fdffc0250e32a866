"""Choose VLAN numbers, keep within what the models hold, and number unchanged VLANs as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.records.numbering import renumbered
from tagloom.records.vlan_plan import VlanPlan
from tagloom.weave.broadcast import broadcast_tree
from tagloom.weave.fixed import fixed, trees
from tagloom.weave.renamed import renamed

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState

ASSIGNMENTS = ("fixed", "renamed")


def weave(
    fabric: Fabric,
    routes: Routes,
    assignment: str = "fixed",
    previous: FabricState | None = None,
    broadcasts_once: Callable[[FabricState], bool] | None = None,
    *,
    static_arp: bool = False,
) -> VlanPlan:
    """Assign VLANs to routes and give every switch's target state.

    With `previous`, a VLAN whose members and entries are all as before keeps its number, and every other gets one that
    `previous` uses nowhere. Where `broadcasts_once` denies that flooding alone brings each broadcast once, broadcasts
    get a tree of their own, by group entries; where a switch cannot hold those, or `static_arp` asks for it, hosts
    shall know each other's addresses beforehand instead. Without `broadcasts_once` that is not looked into.
    Raises PlanError where a model's limits are exceeded, saying the other assignment, and where no tree fits.
    """
    if assignment not in ASSIGNMENTS:
        raise InputError([Finding("--assignment", "fixed or renamed", repr(assignment))])
    broadcast, remarks = "flood", tuple[str, ...]()
    if assignment == "renamed":
        draft = renamed(fabric, routes, fabric.first_vlan)
        state = draft.states(tagged_links=False)
        if broadcasts_once is not None and not broadcasts_once(state):
            broadcast, remarks = _broadcasts(fabric, static_arp=static_arp)
            if broadcast == "tree":
                draft = renamed(fabric, routes, fabric.first_vlan, broadcast_tree(fabric, routes))
                state = draft.states(tagged_links=False)
        vlans = max((len(members) for members in draft.members), default=0)
    else:
        vlans = len(trees(fabric, routes)[0])
        draft = fixed(fabric, routes, list(range(fabric.first_vlan, fabric.first_vlan + vlans)))
        state = draft.states(tagged_links=True)
    if previous:
        state = renumbered(previous, state, fabric.first_vlan)
    _within_limits(fabric, state, assignment, vlans)
    pvid = [int(state[fabric.switches[host.switch].name].pvid[host.port - 1]) for host in fabric.hosts]
    return VlanPlan(assignment, vlans, np.array(pvid, np.int32), state, broadcast, remarks)


def _broadcasts(fabric: Fabric, *, static_arp: bool) -> tuple[str, tuple[str, ...]]:
    """Choose between group entries and static ARP, by what the models can hold, and say what that asks of people."""
    models = {switch.model: platforms.load(switch.model) for switch in fabric.switches}
    unable = sorted(p.title for p in models.values() if p.group_entries == "none")
    unproven = sorted(p.title for p in models.values() if p.group_entries == "unproven")
    if unable or static_arp:
        why = f"{', '.join(unable)} cannot hold entries for the broadcast address" if unable else "as asked"
        remark = (
            f"broadcasts may come several times and come back to their sender ({why}): give every host the addresses "
            "of all others with the role tagloom_static_arp and hosts/static-arp.yml, before any traffic"
        )
        return "static-arp", (remark,)
    if unproven:
        remark = (
            f"no {' or '.join(unproven)} was seen to hold a static entry for ff:ff:ff:ff:ff:ff with several ports: if "
            "it refuses one, plan again with --static-arp"
        )
        return "tree", (remark,)
    return "tree", ()


def _within_limits(fabric: Fabric, state: FabricState, assignment: str, vlans: int) -> None:
    other = "renamed" if assignment == "fixed" else "fixed"
    for switch in fabric.switches:
        platform, held = platforms.load(switch.model), state[switch.name]
        if len(held.vlans) - 1 > platform.max_vlans or int(held.vlans.max()) > platform.max_vlan_id:
            raise PlanError(
                f"a {platform.title} holds at most {platform.max_vlans} VLANs, ids up to {platform.max_vlan_id}",
                f"{switch.name} would need {len(held.vlans) - 1}, up to id {int(held.vlans.max())}",
                f"use --assignment {other}",
            )
        if len(held.entry_vlan) > platform.mac_table:
            raise PlanError(
                f"a {platform.title} holds at most {platform.mac_table} MAC addresses",
                f"{switch.name} would need {len(held.entry_vlan)} static entries for {len(fabric.hosts)} hosts in "
                f"{vlans} VLANs (learning would hold {platform.mac_table // max(1, vlans)} hosts)",
                f"use --assignment {other}",
            )
