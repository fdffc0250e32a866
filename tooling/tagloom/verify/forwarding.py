"""Model 802.1Q forwarding of a whole fabric as arrays: where each switch forwards a frame of a VLAN."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.rows import places
from tagloom.graph.search import reached
from tagloom.platforms.port_names import port_name
from tagloom.records.switch_state import BROADCAST, MAX_VLAN, Frames, Membership
from tagloom.verify.aggregation import carrying

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

NOWHERE = -1


@dataclass(frozen=True, eq=False)
class Forwarding:
    """The forwarding of every existing (switch, VLAN), called a node; K nodes, R egresses.

    An egress is a member port of a node that leads to a host or a live link:
    node_switch int32[K], node_vlan int32[K]
    egress_node    int32[R], ascending; egress_port int32[R]; egress_channel int32[R], -1 for hosts
    egress_host    int32[R], the host that accepts the frame, -1 for links, and if it leaves tagged (hosts want
                   untagged)
    egress_floods  bool[R], whether the port floods: other egresses are taken by static entries alone
    egress_to      int32[R], the node the frame is classified to at the other end, -1 if it is dropped
    egress_start   int64[K + 1], the egresses of node k are egress_start[k] .. egress_start[k + 1]
    inject      int32[H], the node a host's frame, untagged or with its tag, is classified to, -1 if it is dropped
    tag_node, tag_port  int32, the nodes that frames tagged by a host are classified to, by the host's port
    entry_node, entry_host, entry_port   int32, static entries for the fabric's hosts, one row each
    group_node, group_port               int32, static entries for the broadcast address
    """

    fabric: Fabric
    node_switch: NDArray[np.int32]
    node_vlan: NDArray[np.int32]
    egress_node: NDArray[np.int32]
    egress_port: NDArray[np.int32]
    egress_channel: NDArray[np.int32]
    egress_host: NDArray[np.int32]
    egress_floods: NDArray[np.bool_]
    egress_to: NDArray[np.int32]
    egress_start: NDArray[np.int64]
    inject: NDArray[np.int32]
    tag_node: NDArray[np.int32]
    tag_port: NDArray[np.int32]
    entry_node: NDArray[np.int32]
    entry_host: NDArray[np.int32]
    entry_port: NDArray[np.int32]
    group_node: NDArray[np.int32]
    group_port: NDArray[np.int32]

    @cached_property
    def egress_down(self) -> NDArray[np.bool_]:
        """Return which egresses lead onto links that the fabric declares down, where nothing arrives, bool[R]."""
        up = np.append(self.fabric.channel_up, True)  # for egresses to hosts, whose channel is -1
        down: NDArray[np.bool_] = ~up[self.egress_channel]
        return down

    @property
    def nodes(self) -> int:
        """Return the number of (switch, VLAN) pairs."""
        return len(self.node_switch)

    def egress_table(self) -> NDArray[np.int32]:
        """Return the egress of [node, port number], -1 if there is none, int32[K, ports + 1]."""
        table = np.full((self.nodes, max(self.fabric.ports, default=0) + 1), NOWHERE, np.int32)
        egresses = np.flatnonzero(~self.egress_down).astype(np.int32)
        table[self.egress_node[egresses], self.egress_port[egresses]] = egresses
        return table

    def steps(self, egresses: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (egress, next egress) of flooded frames: all egresses of the next node but the port of arrival.

        `egresses` masks the egresses that frames may take, bool[R].
        """
        usable = np.flatnonzero(egresses & (self.egress_to != NOWHERE))
        to = self.egress_to[usable]
        return self.fan_out(usable, to, self.fabric.head_port[self.egress_channel[usable]], egresses)

    def followed(
        self, egresses: NDArray[np.bool_], first: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
        """Return the steps (egress, next egress) of floods from the egresses `first`, and the egresses taken, bool[R].

        `egresses` masks those that frames may take, bool[R].
        """
        before, after = self.steps(egresses)
        live = reached(len(egresses), before, after, first)
        taken = live[before]
        return before[taken], after[taken], live

    def injections(self, egresses: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (host, first egress) of frames that flood from a host."""
        hosts = np.flatnonzero(self.inject != NOWHERE)
        return self.fan_out(hosts, self.inject[hosts], self.fabric.host_port[hosts], egresses)

    def leaving(self, nodes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (index in `nodes`, egress) of frames from nodes by any member port, whatever their port of arrival."""
        no_port = np.full(len(nodes), NOWHERE, np.int32)
        return self.fan_out(
            np.arange(len(nodes)), nodes.astype(np.int32), no_port, np.ones(len(self.egress_node), np.bool_)
        )

    def tagged_injections(self) -> NDArray[np.bool_]:
        """Return which egresses may be the first of frames that hosts tagged themselves, bool[R].

        Those that a host tags with the VLAN of its own untagged frames are left out: they go as those go.
        """
        others = ~np.isin(self._place(self.tag_node, self.tag_port), self._place(self.inject, self.fabric.host_port))
        tag_node, tag_port = self.tag_node[others], self.tag_port[others]
        taking = np.bincount(tag_node, minlength=self.nodes)[self.egress_node]
        only = np.full(self.nodes, NOWHERE, np.int32)
        only[tag_node] = tag_port  # if only one port accepts such frames, they leave by every other
        first: NDArray[np.bool_] = (taking > 1) | ((taking == 1) & (only[self.egress_node] != self.egress_port))
        return first

    def _place(self, node: NDArray[np.int32], port: NDArray[np.int32]) -> NDArray[np.int64]:
        """Return one number for each (node, port), int64."""
        return node.astype(np.int64) * (max(self.fabric.ports, default=0) + 1) + port

    def fan_out(
        self, who: NDArray[np.int64], node: NDArray[np.int32], in_port: NDArray[np.int32], egresses: NDArray[np.bool_]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (`who`, egress) of frames that flood from `node`: all of its `egresses` but that at `in_port`."""
        count = self.egress_start[node + 1] - self.egress_start[node]
        index = np.repeat(np.arange(len(who)), count)
        egress = places(self.egress_start[node], count)
        keep = egresses[egress] & (self.egress_port[egress] != in_port[index])
        return who[index[keep]].astype(np.int64), egress[keep]


def forwarding(fabric: Fabric, state: FabricState, *, unicast: bool = True) -> Forwarding:
    """Return the model of switch states; cost is linear in members and entries. Without `unicast`, hosts have none.

    The rules are those of IEEE 802.1Q-2018. A frame is classified by its tag or the port's PVID (6.9). It is dropped if
    the port does not accept such frames, or filters a VLAN of which it is no member (8.6.2). It is forwarded by the
    static entry of its VLAN and address or flooded (8.8), which ports may be told not to take part in, and leaves each
    member port tagged or untagged (8.6.3). A
    VLAN that a switch does not have is dropped there. A link is live if the ports at both ends are enabled; an
    aggregated one if all its cables are bound as well (see `carrying`). A live link that the fabric declares down keeps
    its egresses: they must not be used, and any storm or deadlock over them occurs when the link is back.
    """
    switches = [state[switch.name] for switch in fabric.switches]
    node_switch = np.repeat(np.arange(len(switches), dtype=np.int32), [len(s.vlans) for s in switches])
    node_vlan = np.concatenate([s.vlans for s in switches])
    node_of = np.full((len(switches), MAX_VLAN + 2), NOWHERE, np.int32)
    node_of[node_switch, node_vlan] = np.arange(len(node_vlan), dtype=np.int32)
    ports = max(fabric.ports, default=0) + 1
    pvid, frames = _by_port(switches, ports, "pvid"), _by_port(switches, ports, "frames")
    enabled, filters = carrying(fabric, switches, ports), _by_port(switches, ports, "ingress_filter") > 0
    member = np.zeros((len(node_vlan), ports), np.uint8)
    row = 0
    for s in switches:
        member[row : row + len(s.vlans), 1 : s.ports + 1] = s.membership
        row += len(s.vlans)

    def classify(
        switch: NDArray[np.int32], port: NDArray[np.int32], vlan: NDArray[np.int32], tagged: NDArray[np.bool_]
    ) -> NDArray[np.int32]:
        """Return the node that an arriving frame is classified to, NOWHERE if it is dropped."""
        wanted = np.where(tagged, vlan, pvid[switch, port])
        node = np.where(wanted > 0, node_of[switch, wanted], NOWHERE)
        refused = np.where(
            tagged, frames[switch, port] == Frames.UNTAGGED_ONLY, frames[switch, port] == Frames.TAGGED_ONLY
        )
        filtered = filters[switch, port] & (member[node, port] == Membership.NONE)
        return np.where(refused | filtered | ~enabled[switch, port], NOWHERE, node).astype(np.int32)

    egress_node, egress_port = np.nonzero(member)
    at = node_switch[egress_node]
    channel, host = fabric.port_channel[at, egress_port], fabric.port_host[at, egress_port]
    live = enabled[at, egress_port] & ((channel >= 0) | (host >= 0))
    if len(fabric.tail):
        live &= (channel < 0) | enabled[fabric.head[channel], fabric.head_port[channel]]
    egress_node, egress_port, channel, host = egress_node[live], egress_port[live], channel[live], host[live]
    tagged = member[egress_node, egress_port] == Membership.TAGGED
    egress_to = np.full(len(egress_node), NOWHERE, np.int32)
    links = np.flatnonzero(channel >= 0)
    c = channel[links]
    egress_to[links] = classify(fabric.head[c], fabric.head_port[c], node_vlan[egress_node[links]], tagged[links])
    inject = classify(fabric.host_switch, fabric.host_port, fabric.host_tag, fabric.host_tag > 0)
    tag_node, tag_port = _tagged(fabric, (egress_node, egress_port, host >= 0), node_switch, filters)
    kept = classify(node_switch[tag_node], tag_port, node_vlan[tag_node], np.ones(len(tag_node), np.bool_)) != NOWHERE
    entries = _entries(fabric, switches, node_of, unicast=unicast)
    return Forwarding(
        fabric=fabric,
        node_switch=node_switch,
        node_vlan=node_vlan,
        egress_node=egress_node.astype(np.int32),
        egress_port=egress_port.astype(np.int32),
        egress_channel=channel,
        egress_host=np.where(tagged, NOWHERE, host).astype(np.int32),
        egress_floods=_by_port(switches, ports, "flooding")[node_switch[egress_node], egress_port] > 0,
        egress_to=egress_to,
        egress_start=np.searchsorted(egress_node, np.arange(len(node_vlan) + 1)),
        inject=inject,
        tag_node=tag_node[kept],
        tag_port=tag_port[kept],
        entry_node=entries[0],
        entry_host=entries[1],
        entry_port=entries[2],
        group_node=entries[3],
        group_port=entries[4],
    )


def hop_names(model: Forwarding, egresses: list[int]) -> list[str]:
    """Return egresses in words: the switch, the port, and the VLAN of frames there."""
    return [
        f"{port_name(model.fabric, int(model.node_switch[model.egress_node[w]]), int(model.egress_port[w]))}"
        f" (VLAN {model.node_vlan[model.egress_node[w]]})"
        for w in egresses
    ]


def addressed(model: Forwarding, fabric: Fabric, state: FabricState) -> Forwarding:
    """Return the model with the static entries for the hosts' addresses in `fabric`."""
    node_of = np.full((len(fabric.switches), MAX_VLAN + 2), NOWHERE, np.int32)
    node_of[model.node_switch, model.node_vlan] = np.arange(model.nodes, dtype=np.int32)
    states = [state[switch.name] for switch in fabric.switches]
    node, host, port, _, _ = _entries(fabric, states, node_of, unicast=True)
    return replace(model, fabric=fabric, entry_node=node, entry_host=host, entry_port=port)


def _tagged(
    fabric: Fabric,
    egresses: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]],
    node_switch: NDArray[np.int32],
    filters: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return (node, host's port) that a tagged frame might be classified to: members, or all nodes without a filter.

    `egresses` are (node, port, whether a host is there).
    """
    node, port, at_host = egresses
    nodes, ports = [node[at_host]], [port[at_host]]
    for s, p in zip(fabric.host_switch.tolist(), fabric.host_port.tolist(), strict=True):
        if not filters[s, p]:
            here = np.flatnonzero(node_switch == s)
            nodes.append(here)
            ports.append(np.full(len(here), p, np.int64))
    rows = np.unique(np.stack([np.concatenate(nodes), np.concatenate(ports)]), axis=1).astype(np.int32)
    return rows[0], rows[1]


def _by_port(switches: list[SwitchState], ports: int, name: str) -> NDArray[np.int32]:
    table = np.zeros((len(switches), ports), np.int32)
    for s, switch in enumerate(switches):
        table[s, 1 : switch.ports + 1] = getattr(switch, name)
    return table


def _entries(
    fabric: Fabric, switches: list[SwitchState], node_of: NDArray[np.int32], *, unicast: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return the static entries for the fabric's hosts, then those for the broadcast address."""
    order = np.argsort(fabric.host_mac).astype(np.int32)
    # addresses above those of all hosts fall on the last row, which is no host
    sorted_macs = np.append(fabric.host_mac[order], np.uint64(BROADCAST))
    order = np.append(order, np.int32(NOWHERE))
    blocks: list[tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]] = []
    groups: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    for s, switch in enumerate(switches):
        node, port = node_of[s, switch.entry_vlan], switch.entry_port
        group = (switch.entry_mac == BROADCAST) & (node != NOWHERE)
        if group.any():
            groups.append((node[group], port[group]))
        if unicast:
            at = np.searchsorted(sorted_macs, switch.entry_mac)
            host = np.where(sorted_macs[at] == switch.entry_mac, order[at], NOWHERE)
            mine = (host != NOWHERE) & (node != NOWHERE)
            blocks.append((node[mine], host[mine], port[mine]))
    empty = np.empty(0, np.int32)
    node, host, port = map(np.concatenate, zip(*blocks, strict=True)) if blocks else (empty, empty, empty)
    group_node, group_port = map(np.concatenate, zip(*groups, strict=True)) if groups else (empty, empty)
    return node, host, port, group_node, group_port
