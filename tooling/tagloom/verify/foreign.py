"""Judge foreign VLANs: where frames from ports outside the fabric go, what storms, and who hears or waits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.graph.cycles import find_cycle, on_cycles, shortest_through
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, FlowControl, Frames, Membership

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.verify.forwarding import Forwarding


@dataclass(slots=True)
class ForeignFrames:
    """The outcome of frames that enter a fabric by ports outside it.

    vlans  the foreign VLAN ids, ascending: neither VLAN 1, nor made by tagloom, nor that of a host's port
    storm  the egresses of a cycle that copies follow and that spanning tree does not break, [] if there is none
    by_switch  whether the copies of the storm are those of a frame from a switch's own address
    latent  the like cycles, by VLAN id, that frames from no port and no address reach: one more member and it storms
    heard  (host, VLAN id) of each host that such a frame reaches untagged, ascending
    held, wanted  the channel dependencies of such frames, int64: they fill the buffers that the fabric's own wait for
    """

    vlans: tuple[int, ...] = ()
    storm: list[int] = field(default_factory=list)
    by_switch: bool = False
    latent: dict[int, list[int]] = field(default_factory=dict)
    heard: list[tuple[int, int]] = field(default_factory=list)
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def foreign_frames(model: Forwarding, state: FabricState, *, anywhere: bool = False) -> ForeignFrames:
    """Return the outcome of frames from any port outside the fabric, in every VLAN they may be classified to.

    With `anywhere` they are in all foreign VLANs of all switches, whether a port leads there or not.

    A cable both of whose ends run spanning tree may be blocked. A cycle of such cables alone is broken: those that
    forward form a forest (IEEE 802.1D-2004, 17.1), whatever VLANs they carry. A cycle with any other cable in it counts
    as a storm, since no configuration shows whether BPDUs pass its ends. What is connected to the ports outside is
    unknown.
    """
    fabric = model.fabric
    ours = host_vlans(fabric, state).union(*(held.owned_vlans for held in state.values()))
    theirs = {v for held in state.values() for v in held.vlans.tolist()} - ours - {DEFAULT_VLAN}
    entered = _entered(model, state)
    found = ForeignFrames(tuple(sorted(theirs)))
    first = np.flatnonzero(np.isin(model.egress_node, entered))
    if anywhere:
        first = np.flatnonzero(np.isin(model.node_vlan[model.egress_node], sorted(theirs)))
    if not len(first):
        return found
    before, after, live = model.followed(np.ones(len(model.egress_node), np.bool_), first)
    found.storm = _unbroken_cycle(before, after, ~_spanned(model, state))
    over = (model.egress_channel[before] >= 0) & (model.egress_channel[after] >= 0)
    found.held, found.wanted = (model.egress_channel[each[over]].astype(np.int64) for each in (before, after))
    hosts = np.flatnonzero(live & (model.egress_host >= 0))
    vlan = model.node_vlan[model.egress_node[hosts]]
    foreign = np.isin(vlan, sorted(theirs))
    pairs = zip(model.egress_host[hosts[foreign]].tolist(), vlan[foreign].tolist(), strict=True)
    found.heard = sorted(set(pairs))
    return found


def foreign_frames_and_rings(
    model: Forwarding, state: FabricState, addresses: Collection[tuple[str, int]]
) -> ForeignFrames:
    """Return the outcome of foreign frames, with the rings of unmanaged VLANs into which no port outside leads.

    `addresses` are the (switch name, VLAN id) of the switches' own addresses, beside those of in-band management. A
    switch sends by itself in the VLAN of such an address, so a ring that its frames reach storms; any other is latent.
    All VLANs count as unmanaged where no host's frames come, also those that bear tagloom's name.
    """
    found = foreign_frames(model, state)
    every = np.ones(len(model.egress_node), np.bool_)
    if not len(every):
        return found
    before, after, _ = model.followed(every, np.arange(len(every)))
    inside = on_cycles(len(every), before, after)
    if not inside.any():
        return found
    before, after = before[inside], after[inside]
    sources = np.concatenate([_entered(model, state), model.inject])
    entered = model.followed(every, np.flatnonzero(np.isin(model.egress_node, sources)))[2]
    on_ring = before[~_spanned(model, state)[before] & ~entered[before]]
    if not len(on_ring):
        return found
    fabric = model.fabric
    own = {(fabric.index[name], vlan) for name, vlan in addresses}
    own |= {(s, fabric.management.vlan) for s in range(len(fabric.switches))} if fabric.management else set()
    nodes = [
        n for n, at in enumerate(zip(model.node_switch.tolist(), model.node_vlan.tolist(), strict=True)) if at in own
    ]
    sent = model.followed(every, np.flatnonzero(np.isin(model.egress_node, nodes)))[2]
    vlans = model.node_vlan[model.egress_node[on_ring]]
    for vlan in np.unique(vlans).tolist():
        ring = on_ring[vlans == vlan]
        reached = ring[sent[ring]]
        if len(reached) and not found.storm:
            found.storm = shortest_through(len(every), before, after, int(reached.min()))
            found.by_switch = True
        elif not len(reached):
            found.latent[vlan] = shortest_through(len(every), before, after, int(ring.min()))
    return found


def cycle_with_foreign(
    fabric: Fabric, state: FabricState, own: tuple[NDArray[np.int64], NDArray[np.int64]], frames: ForeignFrames
) -> tuple[list[int], bool]:
    """Return the channels of a dependency cycle of the fabric's `own` frames and foreign ones, and whether it waits.

    It does if every channel of it ends at a port that sends PAUSE; otherwise its frames are dropped before they wait.
    """
    if not len(frames.held) or frames.storm:
        return [], False
    held, wanted = (np.concatenate(each) for each in zip(own, (frames.held, frames.wanted), strict=True))
    paused = paused_channels(fabric, state)[wanted]
    cycle = find_cycle(len(fabric.tail), held[paused], wanted[paused])
    return (cycle, True) if cycle else (find_cycle(len(fabric.tail), held, wanted), False)


def paused_channels(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return which channels end at a port that may send PAUSE, or at members of a port-channel of which one may."""
    sends = np.zeros((len(fabric.switches), max(fabric.ports, default=0) + 1), np.bool_)
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        sends[s, 1 : held.ports + 1] = held.flow_control != FlowControl.OFF
    paused: NDArray[np.bool_] = sends[fabric.head, fabric.head_port]
    link, a, a_port, b, b_port = fabric.cables.T
    np.logical_or.at(paused, 2 * link, sends[b, b_port])
    np.logical_or.at(paused, 2 * link + 1, sends[a, a_port])
    return paused


def host_vlans(fabric: Fabric, state: FabricState) -> set[int]:
    """Return the VLANs that hosts' frames are classified to: untagged ones, and those with the hosts' tags."""
    pvids = (state[fabric.switches[host.switch].name].pvid[host.port - 1] for host in fabric.hosts if not host.tag)
    return ({int(pvid) for pvid in pvids} | {host.tag for host in fabric.hosts if host.tag}) - {DISCARD_PVID}


def _entered(model: Forwarding, state: FabricState) -> NDArray[np.int64]:
    """Return the nodes to which frames from ports outside the fabric are classified."""
    fabric = model.fabric
    start = np.searchsorted(model.node_switch, np.arange(len(fabric.switches) + 1))
    entered: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for s, switch in enumerate(fabric.switches):
        if switch.up:
            held = state[switch.name]
            entered.append(start[s] + np.flatnonzero(_takes(held, outside_ports(fabric, s, held)).any(axis=1)))
    return np.concatenate(entered)


def outside_ports(fabric: Fabric, s: int, held: SwitchState) -> NDArray[np.bool_]:
    """Return which ports of a switch are open and belong to no link and no host of the fabric, bool[P]."""
    outside: NDArray[np.bool_] = held.enabled & (held.lag == 0)
    physical = platforms.load(fabric.switches[s].model).physical_ports
    channels = np.arange(physical + 1, held.ports + 1)
    outside[physical:] &= np.isin(channels, held.lag[held.enabled])
    outside[[port - 1 for port in fabric.used_ports[s]]] = False
    return outside


def _takes(held: SwitchState, ports: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which VLANs a frame that enters by some ports may be classified to, bool[V, P]."""
    member = held.membership != Membership.NONE
    let_in = member | ~held.ingress_filter
    tagged = let_in & (held.frames != Frames.UNTAGGED_ONLY)
    untagged = let_in & (held.vlans[:, None] == held.pvid) & (held.frames != Frames.TAGGED_ONLY)
    taken: NDArray[np.bool_] = (tagged | untagged) & ports
    return taken


def _spanned(model: Forwarding, state: FabricState) -> NDArray[np.bool_]:
    """Return which egresses are over cables both of whose ends run spanning tree, bool[R]."""
    fabric = model.fabric
    ports = max(fabric.ports, default=0) + 1
    runs = np.zeros((len(fabric.switches), ports), np.bool_)
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        runs[s, 1 : held.ports + 1] = held.port_spanning_tree & held.spanning_tree
    # the last element is for egresses to hosts, whose channel is -1
    both = runs[fabric.tail, fabric.tail_port] & runs[fabric.head, fabric.head_port]
    spanned: NDArray[np.bool_] = np.append(both, False)[model.egress_channel]
    return spanned


def _unbroken_cycle(before: NDArray[np.int64], after: NDArray[np.int64], free: NDArray[np.bool_]) -> list[int]:
    """Return a shortest cycle of steps through the first egress that is `free`, bool[R], and lies on one; else []."""
    inside = on_cycles(len(free), before, after)
    candidates = before[inside & free[before]]
    return shortest_through(len(free), before[inside], after[inside], int(candidates.min())) if len(candidates) else []
