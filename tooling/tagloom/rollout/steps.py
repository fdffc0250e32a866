"""Compose the waves of every strategy: the states of switches after each, whether or not they can be proven."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.graph.numbering import owned
from tagloom.records.carrier import links_on
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, MAX_VLAN
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions
from tagloom.rollout.layers import (
    LINK_CELLS,
    beside,
    ends_of,
    hosts_to,
    leaving,
    link_ports,
    retrained,
    taking_all,
    unpausing,
    with_cells,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

PAUSED = ProofAssumptions(paused=True)


@dataclass(frozen=True)
class Step:
    """The state after a wave, the wait after it, and the assumptions it is proven under.

    If `silent`, what hosts send is dropped once it has ended. `until_up` says that the wait is only for links that were
    off: it may end as soon as all of them are seen up.
    """

    name: str
    why: str
    state: FabricState
    wait_seconds: float = 0.0
    assumptions: ProofAssumptions = AS_PLANNED
    silent: bool = False
    until_up: bool = False


@dataclass(frozen=True)
class Change:
    """What all strategies of one change share: both ends, the waits, and the room in the switches.

    drain_seconds  until old frames have left the fabric
    up_seconds     until a port that was raised or retrained carries frames
    fits           whether a switch can hold the VLANs and entries of two states at once
    vlan_limit     the highest VLAN id of the switch of this index
    """

    fabric: Fabric
    before: FabricState
    after: FabricState
    drain_seconds: float
    up_seconds: float
    fits: Callable[[FabricState, FabricState], bool]
    vlan_limit: Callable[[int], int] = lambda _: MAX_VLAN


def through(change: Change, layers: Sequence[FabricState], batches: Sequence[NDArray[np.bool_]] = ()) -> list[Step]:
    """Return the steps that lead hosts over `layers` (the last is the target): add one, flip PVIDs, remove the old.

    A host's PVID decides at the first switch whether a frame is wholly old or wholly new (theorem 2), so two layers can
    coexist if their frames differ on every link. A layer is added in the wave that removes the one before last; if a
    switch has no room for both, in a separate one. With `batches`, masks of hosts, the last flip goes batch by batch,
    each drained. Links that `after` needs are raised with the first layer, and those it does not need are shut in the
    last wave. Links that change speed do so when nothing old is left.
    """
    fabric, after = change.fabric, change.after
    steps: list[Step] = []
    state, live, dead = change.before, change.before, None
    everyone = [np.ones(len(fabric.hosts), np.bool_)]
    for number, layer in enumerate(layers):
        wait = 0.0
        names = []
        if dead is not None:
            cleared = _cleared(change, state, dead, live, layer)
            if change.fits(state, _added(change, cleared, live, layer)):  # lines add before they remove
                names.append("remove")
            else:
                steps.append(Step("remove", WHY["remove"], cleared))
            state = cleared
        elif np.any(rising(change)):
            state, wait = raised(change), change.up_seconds
        if number == 1:
            state, wait = _retrained(change, state)
        state = _added(change, state, live, layer)
        names.append("add")
        steps.append(Step(" and ".join(names), WHY[" and ".join(names)], state, wait, until_up=not number and wait > 0))
        last = number == len(layers) - 1
        flipped = np.zeros(len(fabric.hosts), np.bool_)
        for batch in (batches or everyone) if last else everyone:
            flipped = flipped | batch
            state = hosts_to(fabric, state, layer, batch)
            steps.append(Step("flip", WHY["flip"], state, change.drain_seconds))
        dead, live = live, layer
    steps.append(Step("remove", WHY["end"], after))
    return worth(change.before, steps)


def piecewise(change: Change, batches: Sequence[NDArray[np.bool_]]) -> list[Step]:
    """Return the steps that lead `batches` of hosts one by one, each with only its VLANs beside those still in use.

    For tables without room for both path sets, and only if frames keep their VLAN on the whole path, so that a VLAN is
    needed exactly while some host's PVID names it.
    """
    fabric, after = change.fabric, change.after
    more = bool(rising(change).any())
    state = raised(change) if more else change.before
    steps: list[Step] = []
    waiting = np.ones(len(fabric.hosts), np.bool_)
    wait = change.up_seconds if more else 0.0
    for batch in batches:
        used = _named(fabric, change.before, waiting) | _named(fabric, after, ~waiting)
        cleared = {name: without(held, set(held.owned_vlans) - used) for name, held in state.items()}
        needed = _named(fabric, after, batch)
        added = {name: beside(held, after[name], needed) for name, held in cleared.items()}
        if not change.fits(state, added):  # lines add before they remove
            steps.append(Step("remove", WHY["remove"], cleared))
        name = "remove and add" if waiting.sum() < len(waiting) else "add"
        steps.append(Step(name, WHY["piece"], added, wait, until_up=wait > 0))
        wait = 0.0
        state = hosts_to(fabric, added, after, batch)
        steps.append(Step("flip", WHY["flip"], state, change.drain_seconds))
        waiting = waiting & ~batch
    steps.append(Step("remove", WHY["end"], after))
    return worth(change.before, steps)


def _named(fabric: Fabric, state: FabricState, hosts: NDArray[np.bool_]) -> set[int]:
    at = np.flatnonzero(hosts)
    return {int(state[fabric.switches[fabric.host_switch[h]].name].pvid[fabric.host_port[h] - 1]) for h in at}


def unpaused(change: Change) -> list[Step]:
    """Return the steps of a direct change while no link sends PAUSE: a dependency cycle loses frames, none waits.

    Flow control goes off first and on again last, in separate waves.
    """
    quiet = unpausing(change.fabric, change.before)
    goal = unpausing(change.fabric, change.after)
    lossy = ProofAssumptions(lossy=True)
    between = through(replace(change, before=quiet, after=goal), [goal])
    return worth(
        change.before,
        [
            Step("flow control off", WHY["unpause"], quiet),
            *(replace(step, assumptions=lossy) for step in between),
            Step("flow control on", WHY["pause again"], change.after),
        ],
    )


def paused(change: Change, *, beside_each_other: bool) -> list[Step]:
    """Return the steps that pause the hosts by discarding their frames, and change everything once none is in transit.

    If old and new can coexist, only the flip itself happens in the pause.
    """
    fabric, after = change.fabric, change.after
    everyone = np.ones(len(fabric.hosts), np.bool_)
    state = change.before
    steps: list[Step] = []
    if beside_each_other:
        more = bool(rising(change).any())
        state = _added(change, raised(change) if more else state, state, after)
        steps.append(Step("add", WHY["add"], state, change.up_seconds if more else 0.0, until_up=more))
    silence = {name: _with_hosts_discarded(fabric, name, held) for name, held in state.items()}
    steps.append(Step("pause", WHY["pause"], silence, change.drain_seconds, assumptions=PAUSED, silent=True))
    if not beside_each_other:
        rebuilt = {name: _with_hosts_discarded(fabric, name, held) for name, held in after.items()}
        trained = bool(retrained(fabric, change.before, after).any() or np.any(rising(change)))
        wait = change.up_seconds if trained else 0.0
        steps.append(Step("rebuild", WHY["rebuild"], rebuilt, wait, assumptions=PAUSED, silent=True))
        state = rebuilt
    silent = silence if beside_each_other else state
    steps.append(Step("resume", WHY["resume"], hosts_to(fabric, silent, after, everyone), assumptions=PAUSED))
    steps.append(Step("remove", WHY["end"], after))
    return worth(change.before, steps)


WHY = {
    "add": "VLANs, members and entries that nothing names yet; links that will be needed come up",
    "remove and add": "the old VLANs, once their last frames are gone, and new ones that nothing names yet",
    "piece": "the VLANs of the hosts that go next, in the place of those that nobody names any more",
    "unpause": "no link sends PAUSE: what cannot be sent is lost, and nothing can deadlock",
    "pause again": "all paths are the new ones, which are acyclic",
    "remove": "the old VLANs, once their last frames are gone",
    "flip": "hosts' PVIDs; every frame is wholly old or wholly new",
    "end": "old VLANs, once their last frames are gone; then links nobody uses are shut",
    "pause": "hosts' frames are discarded where they enter, until nothing is under way",
    "rebuild": "everything else, while nothing is under way",
    "resume": "hosts' PVIDs name their new VLANs",
}


def worth(before: FabricState, steps: list[Step]) -> list[Step]:
    """Return the steps that change something."""
    kept: list[Step] = []
    here = before
    for step in steps:
        if any(step.state[name] != here[name] for name in here if step.state[name] is not here[name]):
            kept.append(step)
            here = step.state
    return kept


def _added(change: Change, state: FabricState, live: FabricState, layer: FabricState) -> FabricState:
    """Return `state` with all of `layer` that no PVID names yet.

    If it sends untagged frames between switches, the PVIDs of links' ports are those of `layer`: no untagged frame may
    arrive there yet.
    """
    fabric, vlans = change.fabric, owned(layer)
    untagged = leaving(fabric, layer).any() and not leaving(fabric, live).any()
    added: FabricState = {}
    for s, switch in enumerate(fabric.switches):
        held = beside(state[switch.name], layer[switch.name], vlans)
        if untagged:
            ports = link_ports(fabric, s)
            held = taking_all(with_cells(held, layer[switch.name], ports, ("pvid",)), ports)
        added[switch.name] = held
    return added


def _cleared(
    change: Change, state: FabricState, dead: FabricState, live: FabricState, layer: FabricState
) -> FabricState:
    """Return `state` without the VLANs that only `dead` needs; PVIDs of links' ports that named them name nothing."""
    gone = owned(dead) - owned(live) - owned(layer)
    cleared: FabricState = {}
    for s, switch in enumerate(change.fabric.switches):
        held = state[switch.name]
        ports = link_ports(change.fabric, s)
        stale = ports[np.isin(held.pvid[ports], list(gone))]
        if len(stale):
            pvid = held.pvid.copy()
            pvid[stale] = DISCARD_PVID if platforms.of(switch).pvid_is_membership else DEFAULT_VLAN
            held = replace(held, pvid=pvid)
        cleared[switch.name] = without(held, gone)
    return cleared


def rising(change: Change) -> NDArray[np.bool_]:
    """Return which links are on in `after` but not in `before`, bool[L]."""
    return links_on(change.fabric, change.after) & ~links_on(change.fabric, change.before)


def raised(change: Change) -> FabricState:
    """Return `before` with the links that `after` needs enabled, configured as there, at both ends.

    For an aggregated link these are its port-channel and its members. A port still in VLAN 1 leaves it by an earlier
    line of the same switch, so it has left at both ends before the link is up: VLAN 1 would close loops there.
    """
    links = rising(change)
    given = _ends_as_wanted(change, change.before, links, ("enabled", "mode", *LINK_CELLS.values()))
    for s, at in ends_of(change.fabric, links).items():
        name = change.fabric.switches[s].name
        held, goal = given[name], change.after[name]
        members = held.membership.copy()
        members[held.vlan_index[DEFAULT_VLAN], at] = goal.membership[goal.vlan_index[DEFAULT_VLAN], at]
        given[name] = replace(held, membership=members)
    return given


def _retrained(change: Change, state: FabricState) -> tuple[FabricState, float]:
    links = retrained(change.fabric, change.before, change.after)
    if not links.any():
        return state, 0.0
    return _ends_as_wanted(change, state, links, LINK_CELLS.values()), change.up_seconds


def _ends_as_wanted(
    change: Change, state: FabricState, links: NDArray[np.bool_], cells: Collection[str]
) -> FabricState:
    given: FabricState = dict(state)
    for s, at in ends_of(change.fabric, links).items():
        name = change.fabric.switches[s].name
        given[name] = with_cells(state[name], change.after[name], at, cells)
    return given


def _with_hosts_discarded(fabric: Fabric, name: str, state: SwitchState) -> SwitchState:
    """Return `state` with all frames of hosts discarded."""
    pvid = state.pvid.copy()
    pvid[fabric.host_port[fabric.host_switch == fabric.index[name]] - 1] = DISCARD_PVID
    return replace(state, pvid=pvid)
