"""Choose VLAN numbers, keep within what the models hold, and number unchanged VLANs as before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError
from tagloom.records.vlan_plan import VlanPlan
from tagloom.weave.fixed import fixed, trees
from tagloom.weave.renamed import renamed

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState, SwitchState

ASSIGNMENTS = ("fixed", "renamed")
Content = tuple[tuple[str, bytes, bytes], ...]


def weave(fabric: Fabric, routes: Routes, assignment: str = "fixed", previous: FabricState | None = None) -> VlanPlan:
    """Assign VLANs to routes and give every switch's target state.

    With `previous`, a fixed VLAN whose members and entries are all as before keeps its number, and every other VLAN
    gets one that `previous` uses nowhere: an id must never be reused for a changed tree, since old and new halves
    together may close a loop. Raises PlanError where a model's limits are exceeded, saying the other assignment.
    """
    if assignment not in ASSIGNMENTS:
        raise InputError([Finding("--assignment", "fixed or renamed", repr(assignment))])
    taken = {v for state in (previous or {}).values() for v in state.owned_vlans}
    if assignment == "renamed":
        draft = renamed(fabric, routes, max((v + 1 for v in taken), default=fabric.first_vlan))
        vlans = max((len(members) for members in draft.members), default=0)
        state = draft.states(tagged_links=False)
    else:
        vlans = len(trees(fabric, routes)[0])
        numbers = _free(fabric.first_vlan, taken, vlans)
        state = fixed(fabric, routes, numbers).states(tagged_links=True)
        kept = _kept(state, numbers, previous) if previous else {}
        if kept:
            fresh = iter(_free(fabric.first_vlan, taken, vlans - len(kept)))
            numbers = [kept[v] if v in kept else next(fresh) for v in numbers]
            state = fixed(fabric, routes, numbers).states(tagged_links=True)
    _within_limits(fabric, state, assignment, vlans)
    pvid = [int(state[fabric.switches[host.switch].name].pvid[host.port - 1]) for host in fabric.hosts]
    return VlanPlan(assignment, vlans, np.array(pvid, np.int32), state)


def _free(first: int, taken: set[int], count: int) -> list[int]:
    numbers: list[int] = []
    vlan = first
    while len(numbers) < count:
        if vlan not in taken:
            numbers.append(vlan)
        vlan += 1
    return numbers


def _kept(state: FabricState, numbers: list[int], previous: FabricState) -> dict[int, int]:
    """Map each new VLAN to the old number under which every switch already holds exactly the same."""
    old = {_content(previous, v): v for v in sorted({v for s in previous.values() for v in s.owned_vlans})}
    return {v: old[content] for v in numbers if (content := _content(state, v)) in old}


def _content(state: FabricState, vlan: int) -> Content:
    """Give what a VLAN is, fabric-wide: by switch its members and its entries, without its number."""
    return tuple((name, *_part(switch, vlan)) for name, switch in state.items() if vlan in switch.vlan_index)


def _part(switch: SwitchState, vlan: int) -> tuple[bytes, bytes]:
    rows = switch.entry_vlan == vlan
    entries = switch.entry_mac[rows].tobytes() + switch.entry_port[rows].tobytes()
    return switch.membership[switch.vlan_index[vlan]].tobytes(), entries


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
