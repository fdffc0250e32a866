"""Find frames that come from hosts of one network to ports of another, whatever tags the hosts give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import Finding
from tagloom.graph.search import hops_from, reached
from tagloom.records.findings import Network
from tagloom.records.leak import Leak
from tagloom.records.switch_state import Frames, Membership
from tagloom.verify.forwarding import hop_names

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.verify.forwarding import Forwarding

    Steps = tuple[NDArray[np.int64], NDArray[np.int64]]


def isolation(model: Forwarding, state: FabricState) -> tuple[tuple[Network, ...], tuple[Leak, ...]]:
    """Return the networks of a fabric, none if there is one, and its `leaks`."""
    fabric = model.fabric
    if len(fabric.networks) < 2:
        return (), ()
    networks = []
    for name, hosts in fabric.networks.items():
        injected = model.inject[hosts]
        vlans = np.unique(model.node_vlan[injected[injected >= 0]])
        networks.append(Network(name, len(hosts), tuple(vlans.tolist())))
    return tuple(networks), leaks(model, state)


def leaks(model: Forwarding, state: FabricState, moved: Collection[tuple[int, int]] = ()) -> tuple[Leak, ...]:
    """Return a leak for each two networks between which there is one; () for a fabric of one network.

    Untagged frames of hosts that are `moved`, as (host, node), may also enter by those nodes. A host may send to any
    address, from any address, with any tags. A frame that an entry pins, or that a switch has learned the place of,
    leaves by one of the ports by which a flood leaves; so floods are followed, in every VLAN that its port lets it
    into. A frame that leaves a switch untagged over a link may have another tag below the one it came
    with, a priority tag (VLAN id 0) included: behind such a link it is in any VLAN that the port there lets tagged
    frames into.
    """
    fabric = model.fabric
    if len(fabric.networks) < 2:
        return ()
    before, after = _steps(model, state)
    starts = _starts(model, moved)
    number = np.empty(len(fabric.hosts), np.int64)
    for i, hosts in enumerate(fabric.networks.values()):
        number[hosts] = i
    at, strange = _hearers(model, state)
    found = list[Leak]()
    for i in range(len(fabric.networks)):
        mine = number[starts.host] == i
        live = reached(len(at), before, after, np.unique(starts.egress[mine]))
        theirs = live & (at >= 0) & fabric.isolated_networks[i, number[at]]
        for egress in np.flatnonzero(theirs & strange).tolist():  # a port of its own network too, with another tag
            there = fabric.tagged_hosts[
                int(model.node_switch[model.egress_node[egress]]), int(model.egress_port[egress])
            ]
            theirs[egress] = all(fabric.isolated_networks[i, number[h]] for h in there.values())
        astray = np.flatnonzero(theirs)
        _, first = np.unique(number[at[astray]], return_index=True)
        found += [_leak(model, (before, after), starts, mine, int(astray[each]), at) for each in first.tolist()]
    return tuple(found)


def _hearers(model: Forwarding, state: FabricState) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the host that hears what leaves by each egress, -1 for links, int64[R], and where none has that tag."""
    fabric = model.fabric
    at = fabric.port_host[model.node_switch[model.egress_node], model.egress_port].astype(np.int64)
    strange = np.zeros(len(at), np.bool_)
    for (s, port), hosts in fabric.tagged_hosts.items():
        held = state[fabric.switches[s].name]
        for egress in np.flatnonzero(
            (model.node_switch[model.egress_node] == s) & (model.egress_port == port)
        ).tolist():
            vlan = int(model.node_vlan[model.egress_node[egress]])
            how = held.membership[held.vlan_index[vlan], port - 1]
            tag = vlan if how == Membership.TAGGED else 0
            at[egress] = hosts.get(tag, at[egress])
            strange[egress] = tag not in hosts
    return at, strange


def strays(model: Forwarding, state: FabricState) -> list[Finding]:
    """Return a finding for each network whose frames come onto a link that it may not use, whatever its hosts send."""
    if not model.fabric.barred:
        return []
    before, after = _steps(model, state)
    starts, found = _starts(model, ()), list[Finding]()
    for name, links in model.fabric.barred.items():
        mine = np.isin(starts.host, model.fabric.networks[name])
        live = reached(len(model.egress_node), before, after, np.unique(starts.egress[mine]))
        onto = np.append(np.repeat(links, 2), False)[model.egress_channel]
        for egress in np.flatnonzero(live & onto)[:1].tolist():
            rule = "its frames on the links that it may use alone"
            found.append(Finding(f"network {name}", rule, f"they leave by {hop_names(model, [egress])[0]}"))
    return found


class _Starts(NamedTuple):
    """The first egresses of frames that hosts send: the host, the egress, and the VLAN id of the host's tag or 0."""

    host: NDArray[np.int64]
    egress: NDArray[np.int64]
    tag: NDArray[np.int64]


def _starts(model: Forwarding, moved: Collection[tuple[int, int]]) -> _Starts:
    fabric, everywhere = model.fabric, np.ones(len(model.egress_node), np.bool_)
    hosts, nodes = np.array(sorted(moved), np.int64).reshape(-1, 2).T
    plain = (
        model.injections(everywhere),
        model.fan_out(hosts, nodes.astype(np.int32), fabric.host_port[hosts], everywhere),
    )
    untagged = [np.concatenate(both) for both in zip(*plain, strict=True)]
    who = np.arange(len(model.tag_node))
    sent, egress = model.fan_out(who, model.tag_node, model.tag_port, everywhere)
    at, port = model.node_switch[model.tag_node[sent]], model.tag_port[sent]
    host, tag = fabric.port_host[at, port].astype(np.int64), model.node_vlan[model.tag_node[sent]].astype(np.int64)
    for (s, p), there in fabric.tagged_hosts.items():
        for own, h in there.items():
            host[(at == s) & (port == p) & (tag == own)] = h
    return _Starts(
        np.concatenate([untagged[0], host]),
        np.concatenate([untagged[1], egress]),
        np.concatenate([fabric.host_tag[untagged[0]].astype(np.int64), tag]),
    )


def _steps(model: Forwarding, state: FabricState) -> Steps:
    """Return (egress, next egress) of floods, by the tag that each frame has and by any that may be below it."""
    fabric, everywhere = model.fabric, np.ones(len(model.egress_node), np.bool_)
    start = np.searchsorted(model.node_switch, np.arange(len(fabric.switches) + 1))
    how = np.empty(len(model.egress_node), np.uint8)
    for s, switch in enumerate(fabric.switches):
        here = slice(*np.searchsorted(model.egress_node, start[s : s + 2]).tolist())
        how[here] = state[switch.name].membership[model.egress_node[here] - start[s], model.egress_port[here] - 1]
    bare = np.flatnonzero((how == Membership.UNTAGGED) & (model.egress_channel >= 0))
    rows = [model.steps(everywhere)]
    for channel in np.unique(model.egress_channel[bare]).tolist():
        s, port = int(fabric.head[channel]), int(fabric.head_port[channel])
        taken = start[s] + _tagged_rows(state[fabric.switches[s].name], port)
        leaving = bare[model.egress_channel[bare] == channel]
        egress, node = (each.ravel() for each in np.meshgrid(leaving, taken, indexing="ij"))
        rows.append(model.fan_out(egress, node.astype(np.int32), np.full(len(node), port, np.int32), everywhere))
    return np.concatenate([row[0] for row in rows]), np.concatenate([row[1] for row in rows])


def _tagged_rows(held: SwitchState, port: int) -> NDArray[np.int64]:
    """Return the VLANs, by their rows, that a port lets tagged frames into."""
    if held.frames[port - 1] == Frames.UNTAGGED_ONLY:
        return np.empty(0, np.int64)
    return np.flatnonzero((held.membership[:, port - 1] != Membership.NONE) | ~held.ingress_filter[port - 1])


def _leak(
    model: Forwarding, steps: Steps, starts: _Starts, mine: NDArray[np.bool_], last: int, at: NDArray[np.int64]
) -> Leak:
    """Return one of the shortest ways by which a frame of a network, whose `starts` are `mine`, leaves by an egress."""
    hosts, (before, after) = model.fabric.hosts, steps
    away = hops_from(len(model.egress_node), after, before, last)
    first = np.flatnonzero(mine)[np.argmin(away[starts.egress[mine]])]
    way = [int(starts.egress[first])]
    while way[-1] != last:
        onward = after[before == way[-1]]
        way.append(int(onward[np.argmin(away[onward])]))
    source = hosts[starts.host[first]]
    end = hosts[at[last]]
    return Leak(
        source.name, source.network, end.name, end.network, int(starts.tag[first]), tuple(hop_names(model, way))
    )
