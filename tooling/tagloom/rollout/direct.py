"""Change a running fabric by adding the new, flipping the hosts, removing the old.

Sources: the rollout research beside the design (Theorem 2 and procedure `direct`). A host's PVID decides at the first
switch whether a frame is wholly old or wholly new; both are complete, so every pair stays reachable in every mix of
flipped and unflipped hosts, whatever the order of the lines. Two things must hold for that, and are checked here:

1. no frame of the old configuration looks like one of the new on any link (no id is reused for a changed VLAN, and
   not both sides travel untagged over one channel);
2. the dependencies of old and new together are acyclic, since frames of both are under way at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.change import Patch, difference
from tagloom.records.channels import find_cycle
from tagloom.records.numbering import content, owned, renumbered
from tagloom.records.rollout import Rollout, Wave
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, Frames, Membership, SwitchEditor

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState, SwitchState

    Prove = Callable[[FabricState], Findings]
    Dependencies = Callable[[FabricState], tuple[NDArray[np.int64], NDArray[np.int64]]]

DRAIN_SECONDS = 5.0  # the bound without PAUSE is 6 ms; with PAUSE and fair outputs 0.35 s over 4 hops (128 kB buffers)
LINK_UP_SECONDS = 10.0  # thrice the slowest port of Koibuchi et al. 2011, table 6

DEAD_PVIDS = {DEFAULT_VLAN, DISCARD_PVID}  # what a port has whose untagged frames go nowhere


def direct(
    fabric: Fabric,
    before: FabricState,
    after: FabricState,
    prove: Prove,
    dependencies: Dependencies,
    name_channel: Callable[[int], str],
) -> Rollout:
    """Give the waves from `before` to `after`: add, flip, remove. Raises PlanError where they would not be safe.

    VLANs of `after` are renumbered where an id of `before` names something else. Every wave's end is proven by
    `prove`; a wave that would change nothing is left out.
    """
    after = renumbered(before, after, fabric.first_vlan)
    before_proof = prove(before)
    if not before_proof.proven:
        witness = str(before_proof.findings[0]) if before_proof.findings else "unreachable pairs"
        raise PlanError(
            "a rollout starts from a fabric that proves", witness, "tagloom apply BUILD sets it up in one go"
        )
    if before == after:
        return Rollout("unchanged", before, after, (), before_proof)
    _same_kind(fabric, before, after)
    _distinguishable(fabric, before, after)
    held, wanted = (np.concatenate(both) for both in zip(dependencies(before), dependencies(after), strict=True))
    if cycle := find_cycle(len(fabric.tail), held, wanted):
        raise PlanError(
            "frames of the old and the new paths under way together must not close a dependency cycle",
            "; ".join(map(name_channel, cycle)),
            "stop the hosts' traffic, or go over a plan with --routing tree in two rollouts",
        )
    added = {name: _add(fabric, name, before[name], after[name]) for name in before}
    flipped = {name: _flip(fabric, name, added[name], after[name]) for name in before}
    raises_links = any(np.any(after[name].enabled & ~before[name].enabled) for name in before)
    steps = (
        (
            "add",
            "new VLANs, members and entries; nothing names them yet",
            added,
            LINK_UP_SECONDS if raises_links else 0.0,
        ),
        ("flip", "each host's PVID; every frame is wholly old or wholly new", flipped, DRAIN_SECONDS),
        ("remove", "old VLANs, once their last frames are gone; then links nobody uses are shut", after, 0.0),
    )
    waves: list[Wave] = []
    here = before
    for name, why, there, wait in steps:
        patches = tuple(
            Patch(switch, changes) for switch in here if (changes := difference(here[switch], there[switch]))
        )
        if patches:
            waves.append(Wave(name, why, patches, there, _proven(prove, name, there), wait))
        here = there
    return Rollout("direct", before, after, tuple(waves), before_proof)


def _proven(prove: Prove, name: str, state: FabricState) -> Findings:
    proof = prove(state)
    if not proof.proven:
        witness = str(proof.findings[0]) if proof.findings else ""
        raise PlanError(f"the state after wave {name!r} must be proven", witness)
    return proof


def _same_kind(fabric: Fabric, before: FabricState, after: FabricState) -> None:
    """Refuse what adding, flipping and removing cannot do safely."""
    for v in sorted(owned(before) & owned(after)):
        if content(before, v) != content(after, v):
            raise PlanError("a VLAN id must not be reused for a changed tree", f"VLAN {v}")
    for i, switch in enumerate(fabric.switches):
        old, new = before[switch.name], after[switch.name]
        for port in fabric.used_ports[i]:
            p = port - 1
            if old.enabled[p] and (old.speed_mbps[p], old.negotiation[p]) != (new.speed_mbps[p], new.negotiation[p]):
                raise PlanError(
                    "a link changes its speed only while nothing uses it",
                    f"{switch.name} port {port}",
                    "turn it off in one rollout, and on at the new speed in the next",
                )


def _distinguishable(fabric: Fabric, before: FabricState, after: FabricState) -> None:
    """Refuse where old and new frames both travel untagged over one channel: the receiving PVID cannot tell them."""
    for c in range(len(fabric.tail)):
        name, port = fabric.switches[int(fabric.tail[c])].name, int(fabric.tail_port[c])
        if all(_sends_untagged(state[name], port) for state in (before, after)):
            if before[name] == after[name] and before == after:
                continue
            raise PlanError(
                "old and new frames must differ on every link, and both travel untagged",
                f"{name} port {port}",
                "go over a plan with --assignment fixed in two rollouts",
            )


def _sends_untagged(state: SwitchState, port: int) -> bool:
    rows = [state.vlan_index[v] for v in state.owned_vlans]
    return bool(state.enabled[port - 1]) and bool(np.any(state.membership[rows, port - 1] == Membership.UNTAGGED))


def _add(fabric: Fabric, name: str, before: SwitchState, after: SwitchState) -> SwitchState:
    """Install all of `after` that nothing names yet, beside `before`."""
    editor, new = SwitchEditor.of(before), SwitchEditor.of(after)
    for vlan in new.vlans:
        if vlan not in editor.vlans:
            editor.create_vlan(vlan)
            editor.name_vlan(vlan, new.vlans[vlan])
            editor.members[vlan] = dict(new.members[vlan])
    for (vlan, mac), ports in new.entries.items():
        editor.entries.setdefault((vlan, mac), ports)
    for port in _link_ports(fabric, name):
        p = port - 1
        if editor.pvid[p] in DEAD_PVIDS and new.pvid[p] not in DEAD_PVIDS:
            editor.pvid[p] = new.pvid[p]  # no untagged frame arrives at this port yet
        if new.frames[p] is Frames.ALL:
            editor.frames[p] = Frames.ALL
        if new.enabled[p] and not editor.enabled[p]:
            editor.enabled[p] = True
            editor.speed_mbps[p], editor.negotiation[p] = new.speed_mbps[p], new.negotiation[p]
    return editor.freeze()


def _flip(fabric: Fabric, name: str, added: SwitchState, after: SwitchState) -> SwitchState:
    """Point every host's untagged frames at its new VLAN."""
    editor = SwitchEditor.of(added)
    s = fabric.index[name]
    for host in fabric.hosts:
        if host.switch == s:
            editor.set_pvid(host.port, int(after.pvid[host.port - 1]))
    return editor.freeze()


def _link_ports(fabric: Fabric, name: str) -> list[int]:
    s = fabric.index[name]
    return [port for port in fabric.used_ports[s] if fabric.port_channel[s, port] >= 0]
