"""Judge the VLANs of others: where frames from ports outside the fabric go, what storms, whose host hears them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.records.switch_state import DEFAULT_VLAN, DISCARD_PVID, Frames, Membership

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.verify.forwarding import Forwarding


@dataclass(slots=True)
class ForeignFrames:
    """What becomes of frames that enter a fabric by ports outside it.

    vlans  the VLAN ids of others, ascending: neither VLAN 1, nor made by tagloom, nor that of a host's port
    storm  the ways of a cycle that copies go round and that spanning tree does not break, [] where there is none
    heard  (host, VLAN id) of each host that such a frame reaches untagged, ascending
    """

    vlans: tuple[int, ...] = ()
    storm: list[int] = field(default_factory=list)
    heard: list[tuple[int, int]] = field(default_factory=list)


def foreign_frames(model: Forwarding, state: FabricState) -> ForeignFrames:
    """Follow every frame that any port outside the fabric takes, in every VLAN it may be classified to.

    A cable whose two ends run spanning tree may be blocked. A cycle of such cables alone is broken: those that forward
    are a forest (IEEE 802.1D-2004, 17.1), whatever VLANs they carry. A cycle with one other cable in it counts as a
    storm, since no text tells whether BPDUs pass its ends. What is cabled to the ports outside is not known.
    """
    fabric = model.fabric
    ours = _ours(fabric, state)
    theirs = {v for held in state.values() for v in held.vlans.tolist()} - ours - {DEFAULT_VLAN}
    entered = _entered(model, state)
    found = ForeignFrames(tuple(sorted(theirs)))
    first = np.flatnonzero(np.isin(model.way_node, entered))
    if not len(first):
        return found
    before, after, live = _followed(model, first)
    found.storm = _unbroken_cycle(before, after, ~_spanned(model, state))
    hosts = np.flatnonzero(live & (model.way_host >= 0))
    vlan = model.node_vlan[model.way_node[hosts]]
    foreign = np.isin(vlan, sorted(theirs))
    pairs = zip(model.way_host[hosts[foreign]].tolist(), vlan[foreign].tolist(), strict=True)
    found.heard = sorted(set(pairs))
    return found


def _ours(fabric: Fabric, state: FabricState) -> set[int]:
    """Return the VLANs that tagloom made, by name, and those that hosts' untagged frames are classified to."""
    ours = {vlan for held in state.values() for vlan in held.owned_vlans}
    for host in fabric.hosts:
        ours.add(int(state[fabric.switches[host.switch].name].pvid[host.port - 1]))
    return ours - {DISCARD_PVID}


def _entered(model: Forwarding, state: FabricState) -> NDArray[np.int64]:
    """List the nodes to which frames from ports outside the fabric are classified."""
    fabric = model.fabric
    start = np.searchsorted(model.node_switch, np.arange(len(fabric.switches) + 1))
    entered: list[NDArray[np.int64]] = [np.empty(0, np.int64)]
    for s, switch in enumerate(fabric.switches):
        if switch.up:
            held = state[switch.name]
            entered.append(start[s] + np.flatnonzero(_takes(held, _outside(fabric, s, held)).any(axis=1)))
    return np.concatenate(entered)


def _outside(fabric: Fabric, s: int, held: SwitchState) -> NDArray[np.bool_]:
    """Mark the ports of a switch that are open and belong to no link and no host of the fabric, bool[P]."""
    outside: NDArray[np.bool_] = held.enabled & (held.lag == 0)
    physical = platforms.load(fabric.switches[s].model).physical_ports
    channels = np.arange(physical + 1, held.ports + 1)
    outside[physical:] &= np.isin(channels, held.lag[held.enabled])
    outside[[port - 1 for port in fabric.used_ports[s]]] = False
    return outside


def _takes(held: SwitchState, ports: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Mark which VLANs a frame that enters by some ports may be classified to, bool[V, P]."""
    member = held.membership != Membership.NONE
    let_in = member | ~held.ingress_filter
    tagged = let_in & (held.frames != Frames.UNTAGGED_ONLY)
    untagged = let_in & (held.vlans[:, None] == held.pvid) & (held.frames != Frames.TAGGED_ONLY)
    taken: NDArray[np.bool_] = (tagged | untagged) & ports
    return taken


def _followed(
    model: Forwarding, first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Follow floods that begin with the ways `first`; return the steps (way, next way), and the ways taken, bool[R]."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - as above

    ways = len(model.way_node)
    before, after = model.steps(np.ones(ways, np.bool_))
    rows = np.concatenate([before, np.full(len(first), ways)])
    graph = csr_matrix((np.ones(len(rows), np.int8), (rows, np.concatenate([after, first]))), (ways + 1, ways + 1))
    live = np.zeros(ways + 1, np.bool_)
    live[breadth_first_order(graph, ways, return_predecessors=False)] = True
    return before[live[before]], after[live[before]], live[:ways]


def _spanned(model: Forwarding, state: FabricState) -> NDArray[np.bool_]:
    """Mark the ways over cables whose two ends run spanning tree, bool[R]."""
    fabric = model.fabric
    ports = max(fabric.ports, default=0) + 1
    runs = np.zeros((len(fabric.switches), ports), np.bool_)
    for s, switch in enumerate(fabric.switches):
        held = state[switch.name]
        runs[s, 1 : held.ports + 1] = held.port_spanning_tree & held.spanning_tree
    # a way to a host has channel -1, and runs none
    both = runs[fabric.tail, fabric.tail_port] & runs[fabric.head, fabric.head_port]
    spanned: NDArray[np.bool_] = np.append(both, False)[model.way_channel]
    return spanned


def _unbroken_cycle(before: NDArray[np.int64], after: NDArray[np.int64], free: NDArray[np.bool_]) -> list[int]:
    """Return a shortest cycle of steps through the first way that is `free`, bool[R], and lies on one; [] for none."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above
    from scipy.sparse.csgraph import breadth_first_order, connected_components  # noqa: PLC0415 - as above

    ways = len(free)
    if not len(before):
        return []
    graph = csr_matrix((np.ones(len(before), np.int8), (before, after)), (ways, ways))
    _, label = connected_components(graph, directed=True, connection="strong")
    inside = label[before] == label[after]
    on_a_cycle = np.unique(before[inside & free[before]])
    if not len(on_a_cycle):
        return []
    start, old, new = int(on_a_cycle[0]), before[inside], after[inside]
    part = csr_matrix((np.ones(len(old), np.int8), (old, new)), (ways, ways))
    reached, parent = breadth_first_order(part, start)
    place = {int(way): at for at, way in enumerate(reached)}
    last = min(old[new == start].tolist(), key=lambda way: place.get(way, ways))
    cycle = [int(last)]
    while cycle[-1] != start:
        cycle.append(int(parent[cycle[-1]]))
    return cycle[::-1]
