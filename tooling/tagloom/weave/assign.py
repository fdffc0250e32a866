"""Choose VLAN numbers, keep within what the models hold, and number unchanged VLANs as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.records.numbering import renumbered
from tagloom.records.vlan_plan import VlanPlan
from tagloom.weave.fixed import fixed, trees
from tagloom.weave.renamed import renamed

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState

ASSIGNMENTS = ("fixed", "renamed")


def weave(fabric: Fabric, routes: Routes, assignment: str = "fixed", previous: FabricState | None = None) -> VlanPlan:
    """Assign VLANs to routes and give every switch's target state.

    With `previous`, a VLAN whose members and entries are all as before keeps its number, and every other gets one that
    `previous` uses nowhere. Raises PlanError where a model's limits are exceeded, saying the other assignment.
    """
    if assignment not in ASSIGNMENTS:
        raise InputError([Finding("--assignment", "fixed or renamed", repr(assignment))])
    if assignment == "renamed":
        draft = renamed(fabric, routes, fabric.first_vlan)
        vlans = max((len(members) for members in draft.members), default=0)
    else:
        vlans = len(trees(fabric, routes)[0])
        draft = fixed(fabric, routes, list(range(fabric.first_vlan, fabric.first_vlan + vlans)))
    state = draft.states(tagged_links=assignment == "fixed")
    if previous:
        state = renumbered(previous, state, fabric.first_vlan)
    _within_limits(fabric, state, assignment, vlans)
    pvid = [int(state[fabric.switches[host.switch].name].pvid[host.port - 1]) for host in fabric.hosts]
    return VlanPlan(assignment, vlans, np.array(pvid, np.int32), state)


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
