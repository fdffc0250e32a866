"""Order a change of a network shared with others: reject harm to their VLANs, or prune these to trees first."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.platforms.grammar import switchwide
from tagloom.platforms.port_names import port_name
from tagloom.records.ownership import overlay
from tagloom.records.switch_state import DEFAULT_VLAN
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.rollout.choose import timed
from tagloom.rollout.foreign import cells_to_prune, without_members
from tagloom.rollout.layers import with_links_of_both
from tagloom.rollout.spanning import settled
from tagloom.rollout.steps import Step

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.rollout import Cells, Rollout, Wave
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout.services import ProofServices

    Order = Callable[[FabricState, FabricState], Rollout]

_PRUNE = "--foreign prune"
_NO_STORM = "no storm"  # what findings of a storm expect
WHY = "VLANs of others leave links of their rings while nothing else changes: what is left of each is a tree"


def refuse_harm_to_others(
    services: ProofServices, after: FabricState, *, prunable: bool = True, instead: str = ""
) -> None:
    """Raise PlanError if foreign frames would storm over the fabric's links, or reach one of its hosts.

    Also if their frames close a dependency cycle with the fabric's own, and ports send PAUSE. `prunable` says that the
    command can prune them but was not asked to; `instead` names the command that can if this one cannot.
    """
    harm = services.foreign_harm(after)
    if not harm and (cycle := services.foreign_waiting(after)):
        rule = "frames of others and the fabric's own wait for one another in no circle where ports send PAUSE"
        raise PlanError(rule, str(cycle[0]), 'flow_control: "off" in the fabric file, and plan again')
    if not harm:
        return
    rule = "VLANs of others neither loop where spanning tree is off nor reach the fabric's hosts"
    witness = "; ".join(map(str, harm))
    if all(each.expected == _NO_STORM for each in harm) and (prunable or instead):
        next_step = instead or f"{_PRUNE} takes those that loop off links, until a tree of each is left"
        raise PlanError(rule, witness, next_step, ("apply OLD --foreign prune" if instead else _PRUNE,))
    raise PlanError(rule, witness, "take those VLANs off the named ports, until what is left of each is a tree")


def laid_over(fabric: Fabric, running: FabricState, target: FabricState) -> FabricState:
    """Return what switches hold once `target` is applied over what they run: foreign settings stay."""
    found = dict(running)
    for s, switch in enumerate(fabric.switches):
        if switch.up:
            cells = switchwide(platforms.of(switch))
            found[switch.name] = overlay(running[switch.name], target[switch.name], fabric.used_ports[s], cells)
    return found


def shared_with_others(state: FabricState) -> bool:
    """Return whether switches have foreign VLANs."""
    return any(set(held.vlans.tolist()) - {DEFAULT_VLAN, *held.owned_vlans} for held in state.values())


def pruning(
    fabric: Fabric,
    services: ProofServices,
    before: FabricState,
    after: FabricState,
    forwards: NDArray[np.bool_] | None = None,
) -> tuple[Cells, str]:
    """Return the foreign memberships to remove from links before a change, {} if none, and what is assumed.

    These are of VLANs that would go round `after` it, or while links of both states are on, also where no port leads
    into their rings yet: one may once a switch or a link goes. `forwards` are the links that spanning tree lets forward
    now, bool[L]. Without it they are computed as 802.1D determines them with equal costs and bridge addresses in the
    order of the fabric; that is what is assumed.
    """
    joint = with_links_of_both(before, after)
    cells: Cells = {}
    assumed, looping = "", set[int]()
    while more := services.foreign_ring(without_members(joint, cells)) - looping:
        looping |= more
        if forwards is None:
            forwards, assumed = _forwarding(fabric, before)
        cells = cells_to_prune(fabric.with_links_up(), looping, before, after, forwards)
    return cells, assumed


def _forwarding(fabric: Fabric, state: FabricState) -> tuple[NDArray[np.bool_], str]:
    """Return the links that spanning tree would let forward, bool[L], and that assumption in words, "" if it is off."""
    running = np.array([_spans(fabric, state, s) for s in range(len(fabric.switches))], np.bool_)
    tree = settled(fabric, range(len(fabric.switches)), running)
    shut = np.array([bool(tree.blocked & {(x.a, x.a_port), (x.b, x.b_port)}) for x in fabric.links], np.bool_)
    named = " ".join(sorted(port_name(fabric, *port) for port in tree.blocked))
    return ~shut, f"spanning tree blocks {named or 'no port'} now" if running.any() else ""


def pruning_wave(services: ProofServices, before: FabricState, cells: Cells, *, floods: bool = False) -> Wave:
    """Return the proven wave that removes memberships. Raises PlanError with what is not proven."""
    here = ProofAssumptions(foreign=True)
    state = without_members(before, cells)
    proof, lines = services.wave(before, state, here)
    if not proof.proven:
        rule = "VLANs of others are pruned where none is cut, and none is left in a loop"
        raise PlanError(rule, "; ".join(map(str, proof.findings)), "take those VLANs off the named ports by hand")
    return replace(timed(before, Step("prune", WHY, state, 0.0, here), proof, lines), floods=floods)


def pruned_first(
    fabric: Fabric,
    services: ProofServices,
    before: FabricState,
    after: FabricState,
    order: Order,
    *,
    foreign: str = "refuse",
    forwards: NDArray[np.bool_] | None = None,
    floods: bool = False,
) -> Rollout:
    """Return the rollout that `order` makes, after a wave that prunes foreign VLANs if they would storm.

    Raises PlanError if they would and `foreign` is not "prune", or if what is left of them does harm.
    """
    if not shared_with_others(before):
        return order(before, after)
    cells, assumed = pruning(fabric, services, before, after, forwards) if foreign == "prune" else ({}, "")
    after = without_members(after, cells)
    refuse_harm_to_others(services, after, prunable=foreign != "prune")
    if not cells:
        try:
            change = order(before, after)
        except PlanError:
            joint = with_links_of_both(before, after)
            if any(each.expected == _NO_STORM for each in services.foreign_harm(joint)):
                refuse_harm_to_others(services, joint, prunable=foreign != "prune")
            raise
    else:
        first = pruning_wave(services, before, cells, floods=floods)
        change = order(first.state, after)
        waves = (first, *change.waves)
        assumed = change.assumed or assumed
        remark = unless_assumed(assumed, sum(wave.expected_seconds for wave in waves)) if assumed else ""
        change = replace(change, before=before, waves=waves, assumed=remark)
    for wave in change.waves:
        refuse_harm_to_others(services, wave.state, prunable=foreign != "prune")
    return change


def unless_assumed(assumed: str, seconds: float) -> str:
    """Return what is assumed of spanning tree, and whom a wrong assumption cuts off for how long."""
    return f"{assumed}; where it blocks others, a VLAN of others may be cut until it is off, {seconds:.0f} s at most"


def pruned_names(fabric: Fabric, cells: Cells) -> tuple[str, ...]:
    """Return what is removed from where, a sentence per VLAN."""
    ends: dict[int, list[str]] = {}
    for name, mine in cells.items():
        for vlan, port in mine:
            ends.setdefault(vlan, []).append(port_name(fabric, fabric.index[name], port))
    return tuple(
        f"VLAN {vlan}, of others, is taken from {', '.join(ports)}: a tree of it is left, which joins what it joined"
        for vlan, ports in sorted(ends.items())
    )


def _spans(fabric: Fabric, state: FabricState, s: int) -> bool:
    """Return whether a switch runs spanning tree on some port of a link."""
    held = state[fabric.switches[s].name]
    ports = np.flatnonzero(fabric.port_channel[s, 1 : fabric.ports[s] + 1] >= 0)
    return bool(fabric.switches[s].up and held.spanning_tree and held.port_spanning_tree[ports].any())
