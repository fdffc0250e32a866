"""Choose VLAN numbers within the limits of the models, and keep those of unchanged VLANs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError, PlanError, one_of
from tagloom.graph.numbering import renumbered
from tagloom.records.host_entries import with_all_addresses
from tagloom.records.switch_state import Frames
from tagloom.records.vlan_plan import VlanPlan
from tagloom.weave.broadcast import broadcast_tree
from tagloom.weave.fixed import fixed, join_detours
from tagloom.weave.pinned import flood_tree, pinned
from tagloom.weave.renamed import renamed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import DetourTrees, Routes
    from tagloom.records.switch_state import FabricState

ASSIGNMENTS = ("fixed", "renamed", "pinned")


def unknown_assignment(assignment: str) -> list[Finding]:
    """Return a finding if there is no such assignment."""
    known = assignment in ASSIGNMENTS
    return [] if known else [Finding("--assignment", one_of(ASSIGNMENTS, assignment), repr(assignment))]


@dataclass(frozen=True, slots=True)
class Alternative:
    """A proposal if a plan does not fit: the option to give, its assignment, and a function that makes its routes."""

    words: str
    assignment: str
    routes: Callable[[], Routes]


def weave(  # noqa: PLR0913 - what a plan may choose
    fabric: Fabric,
    routes: Routes,
    assignment: str = "fixed",
    previous: FabricState | None = None,
    alternatives: Sequence[Alternative] = (),
    *,
    broadcasts_once: Callable[[FabricState], bool] | None = None,
    static_arp: bool = False,
    hosts_tag: bool = False,
    movable: bool = False,
) -> VlanPlan:
    """Return the plan that assigns VLANs to routes, with every switch's target state.

    With `previous`, a VLAN with unchanged members and entries keeps its number, and every other gets one that
    `previous` uses nowhere. If `broadcasts_once` denies that flooding alone delivers each broadcast once, broadcasts
    get a tree of their own, by group entries. If a switch cannot hold those, or with `static_arp`, hosts must know each
    other's addresses beforehand instead. Without `broadcasts_once` this is not checked. With `hosts_tag` the ports of
    hosts accept tagged frames too, which `render.learning` needs. If paths are `movable`, under pinned, every switch
    has entries for detours to change.

    Raises PlanError if no tree fits, if flooding would duplicate frames to uplinks, or if a model's limits are
    exceeded. The error proposes the first of `alternatives` (by default the other assignment of the same routes) that
    was woven, counted and fits.
    """
    if unknown := unknown_assignment(assignment):
        raise InputError(unknown)
    _refuse_other_assignment(fabric, assignment)
    state, vlans = _state_and_count(fabric, routes, assignment, previous=previous, movable=movable)
    broadcast, remarks = "flood", tuple[str, ...]()
    if assignment == "renamed" and broadcasts_once is not None and not broadcasts_once(state):
        if len(fabric.uplinks):
            rule = "an uplink hears frames to addresses that nobody knows, by flooding, and each once"
            repeated = "these renamed VLANs would bring some several times"
            raise PlanError(rule, repeated, _next_step(fabric, alternatives or [_other(assignment, routes)]))
        broadcast, remarks = _broadcasts(fabric, static_arp=static_arp)
        if broadcast == "tree":
            state, vlans = _state_and_count(fabric, routes, assignment, broadcast_tree(fabric, routes))
    if previous:
        state = renumbered(previous, state, fabric.first_vlan)
    if hosts_tag:
        state = _with_tagged_hosts(fabric, state)
    if over := _exceeded_limit(fabric, state, vlans):
        raise PlanError(*over, _next_step(fabric, alternatives or [_other(assignment, routes)]))
    pvid = [int(state[fabric.switches[host.switch].name].pvid[host.port - 1]) for host in fabric.hosts]
    return VlanPlan(assignment, vlans, np.array(pvid, np.int32), state, broadcast, remarks)


def _other(assignment: str, routes: Routes) -> Alternative:
    other = "renamed" if assignment == "fixed" else "fixed"  # pinned needs routes of its own
    return Alternative(f"use --assignment {other}", other, lambda: routes)


def _state_and_count(
    fabric: Fabric,
    routes: Routes,
    assignment: str,
    tree: Collection[int] = (),
    previous: FabricState | None = None,
    *,
    movable: bool = False,
) -> tuple[FabricState, int]:
    """Return the state of every switch and the number of VLANs, whether or not the models can hold them."""
    if assignment == "pinned":
        tree = flood_tree(fabric, routes, previous or {})
        state, vlans = pinned(fabric, routes, fabric.first_vlan, tree, movable=movable)
        return with_all_addresses(fabric, state), vlans
    if assignment == "renamed":
        _refuse_shared_ports(fabric)
        state = with_all_addresses(fabric, renamed(fabric, routes, fabric.first_vlan, tree).states(tagged_links=False))
        return state, max((len(held.vlans) - 1 for held in state.values()), default=0)
    draft, vlans, _ = fixed(fabric, routes, fabric.first_vlan)
    return with_all_addresses(fabric, draft.states(tagged_links=True)), vlans


def _refuse_other_assignment(fabric: Fabric, assignment: str) -> None:
    """Raise PlanError where a model of live switches is known to work with another assignment alone."""
    for switch in sorted(fabric.live, key=lambda switch: switch.name):
        platform = platforms.of(switch)
        only, why = platform.assignments
        if only and assignment != only:
            raise PlanError(
                f"--assignment {only} on a {platform.title}: {why}",
                f"{assignment}, and {switch.name} is one",
                f"use --assignment {only}",
            )


def _refuse_shared_ports(fabric: Fabric) -> None:
    """Raise PlanError for several networks: between switches, renamed VLANs leave frames without a tag to part them."""
    if len(fabric.networks) > 1:
        raise PlanError(
            "renamed VLANs tell frames apart by the port they come in by, which several networks would share",
            f"the networks {', '.join(fabric.networks)}",
            "use --assignment fixed or pinned, which give each network VLANs of its own",
        )


def weave_detours(
    fabric: Fabric,
    routes: Routes,
    assignment: str,
    detours: Sequence[DetourTrees],
    tree: Collection[int] = (),
    *,
    hosts_tag: bool = False,
    apart: bool = False,
) -> tuple[FabricState, list[NDArray[np.int64]]]:
    """Return every switch's target state with the VLANs of each network's detours too, and those VLANs, int64[X] each.

    VLANs are numbered network by network: as by `weave`, those of its detours after them. Frames keep a detour's VLAN
    on the whole path under `renamed`, too: they carry its tag between switches, all others none. `tree` is the one that
    broadcasts take there by group entries, if any. With `apart`, the VLANs of one network's paths serve as no detour:
    they are what they are without detours. Raises PlanError if a model's limits are exceeded.
    """
    if assignment == "renamed":
        draft = renamed(fabric, routes, fabric.first_vlan, tree)
        vlans = int(draft.pvid.max(initial=fabric.first_vlan - 1)) - fabric.first_vlan + 1
        vlan_of = [join_detours(draft, fabric, routes, fabric.first_vlan + vlans, detours[0])]
        vlans += len(np.unique(vlan_of[0]))
    elif apart:
        draft, vlans, _ = fixed(fabric, routes, fabric.first_vlan)
        vlan_of = [join_detours(draft, fabric, routes, fabric.first_vlan + vlans, detours[0])]
        vlans += len(np.unique(vlan_of[0]))
    else:
        draft, vlans, vlan_of = fixed(fabric, routes, fabric.first_vlan, detours)
    state = with_all_addresses(fabric, draft.states(tagged_links=assignment != "renamed"))
    if hosts_tag:
        state = _with_tagged_hosts(fabric, state)
    if over := _exceeded_limit(fabric, state, vlans):
        raise PlanError(*over, "use --protect none")
    return state, vlan_of


def _with_tagged_hosts(fabric: Fabric, state: FabricState) -> FabricState:
    """Return `state` with tagged frames accepted on the ports of hosts; those that carry some network tagged do."""
    taking = dict(state)
    for s, switch in enumerate(fabric.switches):
        frames = state[switch.name].frames.copy()
        ports = fabric.host_port[fabric.host_switch == s].tolist()
        frames[[port - 1 for port in ports if (s, port) not in fabric.tagged_hosts]] = Frames.ALL
        taking[switch.name] = replace(state[switch.name], frames=frames)
    return taking


def _broadcasts(fabric: Fabric, *, static_arp: bool) -> tuple[str, tuple[str, ...]]:
    """Return "tree" (group entries) or "static-arp", by what the models can hold, and remarks for operators."""
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


def _exceeded_limit(fabric: Fabric, state: FabricState, vlans: int) -> tuple[str, str] | None:
    """Return the exceeded limit of a model and the need, or None if everything fits; VLAN 1 counts too."""
    for switch in fabric.switches:
        platform, held = platforms.load(switch.model), state[switch.name]
        if len(held.vlans) > platform.max_vlans or int(held.vlans.max()) > platform.max_vlan_id:
            return (
                f"a {platform.title} holds at most {platform.max_vlans} VLANs, ids up to {platform.max_vlan_id}",
                f"{switch.name} would need {len(held.vlans)} with VLAN 1, up to id {int(held.vlans.max())}",
            )
        if len(held.entry_vlan) > platform.mac_table:
            addresses = sum(len(host.macs) for host in fabric.hosts)
            several = f" with {addresses} addresses" if addresses > len(fabric.hosts) else ""
            needed = f"{len(held.entry_vlan)} static entries for {len(fabric.hosts)} hosts{several} in {vlans} VLANs"
            learnt = f"learning would hold {platform.mac_table // max(1, vlans)} hosts"
            return (
                f"a {platform.title} holds at most {platform.mac_table} MAC addresses",
                f"{switch.name} would need {needed} ({learnt})",
            )
    return None


def _next_step(fabric: Fabric, alternatives: Sequence[Alternative]) -> str:
    """Return the first alternative that fits, by counting, or a text that none does."""
    for alternative in alternatives:
        try:
            state, vlans = _state_and_count(fabric, alternative.routes(), alternative.assignment)
        except PlanError:
            continue
        if _exceeded_limit(fabric, state, vlans) is None:
            return alternative.words
    tried = ", ".join(alternative.words.removeprefix("use ") for alternative in alternatives)
    return f"fewer hosts or models that hold more (counted, and not enough: {tried})"
