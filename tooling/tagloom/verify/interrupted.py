"""Find the pairs of hosts that work in a state, and those that work at every line of a wave that is not proven."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle
from tagloom.platforms.port_names import channel_name
from tagloom.records.lines import FLOW_CONTROL
from tagloom.records.switch_state import FlowControl
from tagloom.records.tagged_ports import lines_without_tags, without_tags
from tagloom.records.wave_proof import AS_PLANNED, WaveProof
from tagloom.verify.foreign_waits import waiting_in_wave
from tagloom.verify.forwarding import addressed, forwarding
from tagloom.verify.guard import guard
from tagloom.verify.interleaving import interleaving
from tagloom.verify.isolation_wave import leaks_of_wave
from tagloom.verify.prove import dependencies
from tagloom.verify.strange_senders import strange_hosts
from tagloom.verify.unicast import walk
from tagloom.verify.uplinks import heard_at_uplinks
from tagloom.verify.wave import NOBODY, WITNESSES, copies_at, follow_foreign, follow_frames, goes_round, turns_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState
    from tagloom.verify.wave import Records


def working_pairs(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return the ordered pairs (source, destination) of one network whose frames arrive, bool[H, H]; no diagonal.

    A frame that no entry pins is flooded, and arrives if a copy does. So hosts in one VLAN over which spanning tree
    runs work whichever links it blocks, since it disconnects nothing that links connect. To a host with several
    addresses, frames to each must arrive.
    """
    if fabric.tagged_hosts:
        return _of_networks(fabric, lambda part: working_pairs(*without_tags(part, state)))
    works = fabric.same_network.copy()
    model = forwarding(fabric, state)
    for each in (model, *(addressed(model, known, state) for known in fabric.by_further_addresses)):
        for trouble in walk(each, None).lost:
            works[trouble.source, trouble.destination] = False
    strange = strange_hosts(fabric, state, {}, follow_frames) if len(fabric.uplinks) else {}
    works[:, fabric.uplinks] &= heard_at_uplinks(model, strange.keys())
    return works


def _of_networks(fabric: Fabric, pairs: Callable[[Fabric], NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """Return pairs of the hosts of each network, found network by network, bool[H, H]."""
    found = np.zeros((len(fabric.hosts), len(fabric.hosts)), np.bool_)
    for part, hosts in zip(fabric.by_network, fabric.networks.values(), strict=True):
        found[np.ix_(hosts, hosts)] = pairs(part)
    return found


def kept_pairs(fabric: Fabric, before: FabricState, lines: Mapping[str, Lines]) -> tuple[NDArray[np.bool_], str]:
    """Return the ordered pairs whose frames arrive in every interleaving of `lines`, bool[H, H], and any harm to all.

    Dead links are judged both as dead and as coming back: see `_kept_pairs`.
    """
    kept, harm = _kept_pairs(fabric, before, lines)
    if harm or not any(link.dead for link in fabric.links):
        return kept, harm
    cut, harm = _kept_pairs(fabric, _dead_ports_shut(fabric, before), lines)
    return kept & cut, harm


def _dead_ports_shut(fabric: Fabric, state: FabricState) -> FabricState:
    """Return a state in which the ports of dead links are shut."""
    shut = {name: held.enabled.copy() for name, held in state.items()}
    for link, a, a_port, b, b_port in fabric.cables.tolist():
        if fabric.links[link].dead:
            for s, port in ((a, a_port), (b, b_port)):
                shut[fabric.switches[s].name][port - 1] = False
    return {name: replace(held, enabled=shut[name]) for name, held in state.items()}


def _kept_pairs(fabric: Fabric, before: FabricState, lines: Mapping[str, Lines]) -> tuple[NDArray[np.bool_], str]:
    """Return what `kept_pairs` does, with dead links judged by the state of their ports.

    For each destination, the frame states that some interleaving leads to are followed (see `prove_wave`). A pair is
    kept if every choice from each of them is one egress, and leads on to the destination. The least such set counts, so
    it contains nothing that may loop. A pair whose frames are flooded is kept if every choice delivers one copy, in
    both directions, from which switches learn. No pair of a host whose frames a switch may drop for their sender is
    kept. If something may storm or deadlock, or something outside the model may
    affect frames (spanning tree, a port's mode), no pair is kept, as it harms all.
    """
    seen: list[NDArray[np.bool_]] = []
    harms: list[str] = []

    def of_part(part: Fabric) -> NDArray[np.bool_]:
        kept, harm, turns = _kept_by_turns(*without_tags(part, before), lines_without_tags(part, lines))
        harms.append(harm)
        seen.extend(turns)
        return kept

    kept = _of_networks(fabric, of_part) if fabric.tagged_hosts else of_part(fabric)
    harm = next((harm for harm in harms if harm), "")
    if not harm and seen and _pausing(before, lines):
        held, out = np.nonzero(np.logical_or.reduce(seen)[:-1])  # of all networks' frames together
        wanted = fabric.port_channel[fabric.head[held], out].astype(np.int64)
        if cycle := find_cycle(len(fabric.tail), held.astype(np.int64), wanted):
            named = "; ".join(channel_name(fabric, c) for c in cycle)
            harm = f"channels: expected no dependency cycle at any line, actual {named}, where ports send PAUSE"
        else:
            own, own_before = (held.astype(np.int64), wanted), partial(dependencies, fabric, before)
            shared = waiting_in_wave(fabric, before, lines, own, AS_PLANNED, follow_foreign, own_before)
            harm = str(shared[0]) if shared else ""
    return (kept if not harm else np.zeros_like(kept)), harm


def _kept_by_turns(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines]
) -> tuple[NDArray[np.bool_], str, list[NDArray[np.bool_]]]:
    """Return what `_kept_pairs` does for the networks of ports without tags, and the turns of all frames."""
    hosts = len(fabric.hosts)
    none = np.zeros((hosts, hosts), np.bool_)
    if found := guard(fabric, before, lines, AS_PLANNED):
        return none, str(found[0]), []
    net = interleaving(fabric, before, lines)
    sending = np.ones(hosts, np.bool_)
    turns = turns_of(net)
    for address in (hosts, NOBODY):
        unnamed = follow_frames(net, sending, turns, address)
        if found := goes_round(fabric, net, unnamed, "a broadcast"):
            return none, str(found[0]), []
    pinned, flooded = ~none, ~none
    for u in fabric.uplinks.tolist():
        heard, copies = copies_at(net, unnamed, u)
        pinned[:, u] = heard & (copies == 1) & (np.arange(hosts) != u)
        flooded[:, u] = pinned[:, u]
    further = ((known, interleaving(known, before, lines)) for known in fabric.by_further_addresses)
    for known, each in chain([(fabric, net)], further):
        for d in np.flatnonzero(each.host_named).tolist():
            others = sending.copy()
            others[d] = False
            records = follow_frames(each, others, turns, d)
            pinned[:, d] &= others & _arriving(records, len(each.arrival_channel), hosts, d)
            if found := goes_round(fabric, each, records, f"frames to {known.hosts[d].name}"):
                return none, str(found[0]), []
            heard, copies = copies_at(each, records, d)
            flooded[:, d] &= others & heard & (copies == 1)
    kept = pinned | (flooded & flooded.T)
    kept[list(strange_hosts(fabric, before, lines, follow_frames))] = False
    return kept, "", [turns]


def prove_kept(fabric: Fabric, before: FabricState, after: FabricState, lines: Mapping[str, Lines]) -> WaveProof:
    """Prove that every pair that works before and after works in every interleaving of `lines`, and nothing storms."""
    kept, harm = kept_pairs(fabric, before, lines)
    works = working_pairs(fabric, before) & working_pairs(fabric, after)
    found = leaks_of_wave(fabric, before, lines)
    found += [Finding("wave", "no harm to all pairs at any line", harm)] if harm else []
    for a, b in np.argwhere(works & ~kept)[: 0 if harm else WITNESSES].tolist():
        where = f"{fabric.hosts[a].name} -> {fabric.hosts[b].name}"
        found.append(Finding(where, "delivery at every line", "frames may be lost at some line"))
    none = np.empty(0, np.int64)
    return WaveProof(0, none, none, (), tuple(found))


def _pausing(before: FabricState, lines: Mapping[str, Lines]) -> bool:
    """Return whether some port sends PAUSE at some line."""
    held = any(bool((state.flow_control != FlowControl.OFF).any()) for state in before.values())
    return held or any(
        bool(((sent.cell == FLOW_CONTROL) & (sent.value != FlowControl.OFF)).any()) for sent in lines.values()
    )


def _arriving(records: Records, arrivals: int, hosts: int, d: int) -> NDArray[np.bool_]:
    """Return the hosts whose frames reach host `d` by one egress at a time whatever is chosen, bool[H]."""
    state, choice, to = records
    good = np.zeros(arrivals + hosts, np.bool_)
    if not len(state):
        return good[arrivals:]
    onward = (to >= 0) & (to < arrivals)
    first = np.flatnonzero(np.append(True, choice[1:] != choice[:-1]))
    alone = np.diff(np.append(first, len(choice))) == 1
    whose = state[first]
    requested = np.bincount(whose, minlength=arrivals + hosts)
    while True:
        leads = (to == arrivals + d) | (onward & good[np.where(onward, to, 0)])
        met = np.bincount(whose[alone & leads[first]], minlength=arrivals + hosts)
        better = (requested > 0) & (met == requested)
        if (better == good).all():
            return good[arrivals:]
        good = better
