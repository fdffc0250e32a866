"""Change a fabric from the factory's VLAN 1 under spanning tree, loops cabled and hosts running, to a plan."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import AT_ONCE, PlanError
from tagloom.records.switch_state import DEFAULT_VLAN, FlowControl, Membership, PortMode
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.rollout.layers import RETRAINING, beside, leaving, with_cells
from tagloom.rollout.steps import Change, Step, through, worth
from tagloom.rollout.trees import tree_state

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.rollout.spanning import Spanning

STRIP, OFF = "strip", "spanning tree off"  # waves
_WHY_STRIP = (
    "VLAN 1 leaves every link that spanning tree blocks, BPDUs are to be dropped where it goes off, and the plan's "
    "VLANs come, which nothing names yet"
)
_WHY_OFF = "spanning tree goes off where no other switch hangs below: no root port moves, and nothing is blocked anew"
_PAUSE = f"pause the hosts, and: tagloom {AT_ONCE}"


def factory_like(fabric: Fabric, state: FabricState) -> bool:
    """Return whether every port of the fabric is as from the factory: untagged in VLAN 1, spanning tree running."""
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        at = np.array(fabric.used_ports[s], np.int64) - 1
        row = held.membership[held.vlan_index[DEFAULT_VLAN]]
        plain = (row[at] == Membership.UNTAGGED) & (held.pvid[at] == DEFAULT_VLAN) & held.enabled[at]
        if switch.up and not (plain.all() and held.spanning_tree and held.port_spanning_tree[at].all()):
            return False
        if held.owned_vlans:
            return False
    return True


def plain_end(before: FabricState, after: FabricState) -> FabricState:
    """Return `after` with the ports' speed, negotiation, flow control and EEE as in `before`: those change last."""
    return {
        name: with_cells(held, before[name], np.arange(held.ports), RETRAINING.values()) for name, held in after.items()
    }


def greenfield(change: Change, tree: Spanning, unused_vlan: int) -> list[Step]:
    """Return the steps: strip, spanning tree off leaves first, hosts to the plan, VLAN 1 removed.

    `tree` is the active one. While spanning tree runs, the ports it blocks forward nothing; no line of the first wave
    affects that. A switch that drops BPDUs and has no switch below it in the tree then uses only alternatives in which
    switches learn. From there hosts go to a plan of tagged frames directly. To one of untagged frames they go over a
    tagged tree, since PVIDs between switches must not change under frames that name no VLAN. Nothing sends PAUSE at the
    factory, so dependencies cannot deadlock; only loops are checked. Raises PlanError for other fabrics.
    """
    fabric = change.fabric
    _check(fabric, change.before)
    on_tree = np.repeat(tree.links, 2)
    layers = [change.after]
    if leaving(fabric, change.after).any():
        layers.insert(0, tree_state(fabric, tree.links, unused_vlan))
    stripped: FabricState = {}
    for s, switch in enumerate(fabric.switches):
        held, goal = change.before[switch.name], change.after[switch.name]
        if not switch.up:
            stripped[switch.name] = held
            continue
        used = np.array(fabric.used_ports[s], np.int64) - 1
        bare = fabric.tail_port[(fabric.tail == s) & ~on_tree] - 1
        for layer in layers:
            held = beside(held, layer[switch.name], layer[switch.name].owned_vlans)
        held = replace(with_cells(held, goal, used, ("mode",)), bpdu_filtering=platforms.of(switch).tells_bpdus)
        stripped[switch.name] = _without_default(held, bare.tolist())
    learning = frozenset({DEFAULT_VLAN})
    shut = {(s, p) for s, p in zip(fabric.tail[~on_tree].tolist(), fabric.tail_port[~on_tree].tolist(), strict=True)}
    loose = ProofAssumptions(learning=learning, lossy=True)
    running = replace(loose, spanning=True)
    steps = [Step(STRIP, _WHY_STRIP, stripped, 0.0, replace(running, blocked=frozenset(shut)))]
    state = stripped
    for level in range(int(tree.depth.max()), -1, -1):
        state = dict(state)
        for s in np.flatnonzero(tree.depth == level).tolist():
            name = fabric.switches[s].name
            state[name] = _without_spanning_tree(fabric, s, state[name], change.after[name])
        steps.append(Step(OFF, _WHY_OFF, state, 0.0, running))
    rest = through(replace(change, before=state), layers)
    return worth(change.before, [*steps, *(replace(step, assumptions=loose) for step in rest)])


def leads_from(fabric: Fabric, before: FabricState) -> bool:
    """Return whether greenfield may lead from a state: its waves are then ordered and proven, or refused for others."""
    return not why_not_from(fabric, before)


def why_not_from(fabric: Fabric, before: FabricState) -> str:
    """Return why greenfield cannot lead from a state, "" where it may."""
    try:
        _check(fabric, before)
    except PlanError as error:
        return f"{error.rule}; {error.witness}"
    return ""


def _check(fabric: Fabric, before: FabricState) -> None:
    if fabric.tagged_hosts:
        rule = "from the factory's one VLAN, no port is led to several networks under traffic"
        raise PlanError(rule, "ports carry networks tagged", _PAUSE, (AT_ONCE,))
    if not factory_like(fabric, before):
        rule = "greenfield starts from the factory's VLAN 1, untagged on every port, under spanning tree"
        next_step = f"tagloom rollout OLD NEW, from the build that runs; where none does, tagloom {AT_ONCE}"
        raise PlanError(rule, "a port or a switch is set otherwise", next_step, (AT_ONCE,))
    flooding = [s for s in fabric.live if not platforms.of(s).drops_bpdus]
    if flooding:
        rule = "a switch whose spanning tree goes off must drop BPDUs: passed on, they make others block links in use"
        title = platforms.of(flooding[0]).title
        raise PlanError(rule, f"{flooding[0].name} ({title}) passes them on", _PAUSE, (AT_ONCE,))
    if any(link.members for link in fabric.links):
        rule = "aggregated links are not led from the factory under traffic"
        raise PlanError(rule, "the fabric has some", _PAUSE, (AT_ONCE,))
    if any((held.flow_control != FlowControl.OFF).any() for held in before.values()):
        rule = "greenfield starts without PAUSE"
        raise PlanError(rule, "flow control is on at some port", f"turn it off first, or {_PAUSE}", (AT_ONCE,))


def _without_spanning_tree(fabric: Fabric, s: int, held: SwitchState, goal: SwitchState) -> SwitchState:
    """Return a switch with spanning tree off as `goal` has it: altogether, or at the fabric's ports alone.

    Other switches see no difference: such a port drops BPDUs and sends none.
    """
    if not goal.spanning_tree:
        return replace(held, spanning_tree=False)
    return with_cells(held, goal, np.array(fabric.used_ports[s], np.int64) - 1, ("port_spanning_tree",))


def _without_default(held: SwitchState, at: list[int]) -> SwitchState:
    """Return `held` with some ports (from 0) removed from VLAN 1; all ports are in general mode."""
    members = held.membership.copy()
    members[held.vlan_index[DEFAULT_VLAN], at] = Membership.NONE
    assert all(held.mode[p] == PortMode.GENERAL for p in at)  # noqa: S101 - a plan's ports are
    return replace(held, membership=members)
