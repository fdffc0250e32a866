"""Represent as arrays what every switch may hold at some line of a wave: VLAN rows, ports and entries by position."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.kernel import kernel
from tagloom.records.carrier import CARRIER_COLUMNS, CableEnds, Carrier, carriers, link_carriers, port_table
from tagloom.records.lines import (
    BOUNCE,
    ENABLED,
    ENTRY,
    FLOODING,
    FRAMES,
    INGRESS_FILTER,
    LAG,
    MEMBER,
    NEGOTIATION,
    PVID,
    SPEED,
    VLAN,
    WIDEST,
    Lines,
)
from tagloom.records.switch_state import BROADCAST, MAX_VLAN, Membership

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

NOWHERE = -1
_TAGGED, _UNTAGGED = int(Membership.TAGGED), int(Membership.UNTAGGED)


class InterleavingModel(NamedTuple):
    """Every (switch, VLAN) of a wave, called a node, and its changes by position; sets of ports are bits.

    With K nodes, N switches of W - 1 ports at most, C channels, H hosts and A arrivals (channel and tag of a frame):
    node_switch, node_vlan  int32[K]; node_of int32[N, MAX_VLAN + 2], NOWHERE if there is none
    row_lo        int64[K + 1], the epochs of node k are row_lo[k] .. row_lo[k + 1], each from row_pos on:
    row_exists, row_tagged, row_untagged  whether the VLAN exists and its members
    port_lo       int64[N W + 1], the epochs of port p of switch s are those of place s W + p, each from port_pos on:
    port_pvid, port_frames, port_filter, port_floods, port_on: a port of a link is on if frames may pass the link
    on_at_first   uint64[N], the ports enabled at position 0; floods_at_first uint64[N], those that flood; on_varies
                  bool[N], whether one of the two ever changes
    arrival_lo    int64[K], the arrivals of tagged frames from node k begin here, one for each port ever tagged
    arrival_channel, arrival_node  int32[A], the channel of the frame, and the node its tag names, NOWHERE if none;
                  arrival c < C is an untagged frame on channel c
    usable        bool[C], whether frames may pass at some positions of the two ends
    doubtful      bool[C], whether frames that the positions of each end let pass may be lost because the ends differ
    loose         int64[X, 3], cables that are up and not bound at some positions: switch, port, the port-channel
    host_named    bool[H], whether a host has an address that entries may name; others are no destination of unicasts
    entry_lo      int64[H + 2], the entries for host d at position 0 are entry_lo[d] .. entry_lo[d + 1]; host H stands
                  for the broadcast address; entry_node, entry_ports: one row for each
    event_lo      int64[H + 2], likewise for changes of entries, ascending by node and position: event_node, event_pos,
                  event_ports (0: no entry from then on)
    """

    width: int
    node_switch: NDArray[np.int32]
    node_vlan: NDArray[np.int32]
    node_of: NDArray[np.int32]
    row_lo: NDArray[np.int64]
    row_pos: NDArray[np.int64]
    row_exists: NDArray[np.bool_]
    row_tagged: NDArray[np.uint64]
    row_untagged: NDArray[np.uint64]
    ever_tagged: NDArray[np.uint64]
    ever_untagged: NDArray[np.uint64]
    port_lo: NDArray[np.int64]
    port_pos: NDArray[np.int64]
    port_pvid: NDArray[np.int32]
    port_frames: NDArray[np.uint8]
    port_filter: NDArray[np.bool_]
    port_floods: NDArray[np.bool_]
    port_on: NDArray[np.bool_]
    on_at_first: NDArray[np.uint64]
    floods_at_first: NDArray[np.uint64]
    on_varies: NDArray[np.bool_]
    arrival_lo: NDArray[np.int64]
    arrival_channel: NDArray[np.int32]
    arrival_node: NDArray[np.int32]
    port_channel: NDArray[np.int32]
    port_host: NDArray[np.int32]
    head: NDArray[np.int32]
    head_port: NDArray[np.int32]
    usable: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    loose: NDArray[np.int64]
    host_switch: NDArray[np.int32]
    host_port: NDArray[np.int32]
    host_named: NDArray[np.bool_]
    entry_lo: NDArray[np.int64]
    entry_node: NDArray[np.int32]
    entry_ports: NDArray[np.uint64]
    event_lo: NDArray[np.int64]
    event_node: NDArray[np.int32]
    event_pos: NDArray[np.int64]
    event_ports: NDArray[np.uint64]


_FEWER = "name the ports that you use behind the model in the fabric file, as powerconnect-5548:gi1/0/1-24,gi2/0/1-24"


def interleaving(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], *, entries: bool = True
) -> InterleavingModel:
    """Return the model of the states `before` and all states after any of `lines` (by switch name, others have none).

    Positions are doubled, so that a line which may bounce its link has a separate one for the moment it is down.
    Entries of nodes that no frame can reach are left out. Reachability is judged by members and PVIDs alone, so it
    never leaves out too much. Without `entries` there are none. Raises PlanError for switches with more ports than a
    word has bits.
    """
    if max(fabric.ports, default=0) > WIDEST:
        raise PlanError(
            f"waves are proven for switches of at most {WIDEST} ports", f"{max(fabric.ports)} ports", _FEWER
        )
    states = [before[switch.name] for switch in fabric.switches]
    sent = [lines.get(switch.name, _NO_LINES) for switch in fabric.switches]
    effects = _Effects(
        switch=np.repeat(np.arange(len(sent), dtype=np.int32), [len(each) for each in sent]),
        position=np.concatenate([each.position for each in sent]) * 2,
        cell=np.concatenate([each.cell for each in sent]),
        port=np.concatenate([each.port for each in sent]),
        vlan=np.concatenate([each.vlan for each in sent]),
        mac=np.concatenate([each.mac for each in sent]),
        value=np.concatenate([each.value for each in sent]),
    )
    nodes = _nodes(states, effects)
    rows = _rows(states, effects, nodes[2], len(nodes[0]))
    ports = _ports(states, effects, max(fabric.ports, default=0) + 1)
    links = _links(fabric, states, effects, ports)
    net = _net(fabric, nodes, rows, _while_up(ports, links.off), links)
    return _with_entries(net, fabric, states, effects) if entries else net


def without_blocked(fabric: Fabric, net: InterleavingModel, blocked: Collection[tuple[int, int]]) -> InterleavingModel:
    """Return the model without the links that spanning tree blocks, at (switch index, port number)."""
    if not blocked:
        return net
    ends = ((fabric.tail, fabric.tail_port), (fabric.head, fabric.head_port))
    shut = [[(s, p) in blocked for s, p in zip(*map(np.ndarray.tolist, end), strict=True)] for end in ends]
    return net._replace(usable=net.usable & ~np.any(np.array(shut, np.bool_), axis=0))


class _Effects(NamedTuple):
    """All effects of all lines, by switch and then by position; the rest as in Lines."""

    switch: NDArray[np.int32]
    position: NDArray[np.int64]
    cell: NDArray[np.uint8]
    port: NDArray[np.int32]
    vlan: NDArray[np.int32]
    mac: NDArray[np.uint64]
    value: NDArray[np.uint64]

    def only(self, *cells: int) -> _Effects:
        which = np.isin(self.cell, cells)
        return _Effects._make(column[which] for column in self)


_NO_LINES = Lines.of(())
_Nodes = tuple["NDArray[np.int32]", "NDArray[np.int32]", "NDArray[np.int32]"]


def _nodes(states: list[SwitchState], effects: _Effects) -> _Nodes:
    """Return a number for every (switch, VLAN) that exists at some line, as (node_switch, node_vlan, node_of)."""
    span = MAX_VLAN + 2
    named = effects.only(VLAN, MEMBER, ENTRY)
    there = np.zeros(len(states) * span, np.bool_)
    for s, state in enumerate(states):
        there[s * span + state.vlans] = True
    there[named.switch * np.int64(span) + named.vlan] = True
    key = np.flatnonzero(there)
    node_of = np.full(len(there), NOWHERE, np.int32)
    node_of[key] = np.arange(len(key), dtype=np.int32)
    return (key // span).astype(np.int32), (key % span).astype(np.int32), node_of.reshape(len(states), span)


_Rows = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.bool_]", "NDArray[np.uint64]", "NDArray[np.uint64]"]


def _rows(states: list[SwitchState], effects: _Effects, node_of: NDArray[np.int32], nodes: int) -> _Rows:
    """Return the epochs of every node's row: (row_lo, row_pos, row_exists, row_tagged, row_untagged)."""
    exists = np.zeros(nodes, np.bool_)
    tagged, untagged = np.zeros(nodes, np.uint64), np.zeros(nodes, np.uint64)
    for s, state in enumerate(states):
        bits = np.uint64(1) << np.arange(state.ports, dtype=np.uint64)
        here = node_of[s, state.vlans]
        exists[here] = True
        tagged[here] = ((state.membership == Membership.TAGGED) * bits).sum(axis=1, dtype=np.uint64)
        untagged[here] = ((state.membership == Membership.UNTAGGED) * bits).sum(axis=1, dtype=np.uint64)
    changes = effects.only(VLAN, MEMBER)
    node = node_of[changes.switch, changes.vlan]
    order = np.lexsort((changes.position, node))
    lo, columns = _row_epochs(
        *(exists, tagged, untagged, node[order].astype(np.int64), changes.position[order]),
        *(changes.cell[order], changes.port[order].astype(np.int64), changes.value[order]),
    )
    return lo, *columns


class _Ports(NamedTuple):
    """The epochs of every port, as in InterleavingModel; `on` if it is enabled and bound to no port-channel."""

    width: int
    lo: NDArray[np.int64]
    pos: NDArray[np.int64]
    pvid: NDArray[np.int32]
    frames: NDArray[np.uint8]
    filter: NDArray[np.bool_]
    floods: NDArray[np.bool_]
    on: NDArray[np.bool_]
    enabled: NDArray[np.bool_]
    lag: NDArray[np.int32]
    negotiation: NDArray[np.bool_]
    speed: NDArray[np.int32]

    def epochs(self, place: int) -> slice:
        return slice(int(self.lo[place]), int(self.lo[place + 1]))

    def at(self, place: int, position: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the epochs of a port at some positions."""
        epochs = self.epochs(place)
        return np.searchsorted(self.pos[epochs], position, side="right") + np.int64(epochs.start - 1)


_CARRIER_CELLS = (ENABLED, NEGOTIATION, SPEED, LAG, BOUNCE)


def _ports(states: list[SwitchState], effects: _Effects, width: int) -> _Ports:
    changes = effects.only(PVID, INGRESS_FILTER, FRAMES, FLOODING, *_CARRIER_CELLS)
    place = changes.switch * np.int64(width) + changes.port
    order = np.lexsort((changes.cell != BOUNCE, changes.position, place))  # what bounces is down before its line
    names = ("pvid", "frames", "ingress_filter", "flooding", *CARRIER_COLUMNS)
    first = {name: port_table(states, width, name).ravel() for name in names}
    lo, columns = _port_epochs(
        first["pvid"],
        first["frames"].astype(np.uint8),
        first["ingress_filter"] > 0,
        first["flooding"] > 0,
        first["enabled"] > 0,
        first["lag"],
        first["negotiation"] > 0,
        first["speed_mbps"],
        place[order],
        changes.position[order],
        changes.cell[order],
        changes.value[order],
    )
    return _Ports(width, lo, *columns)


class _Links(NamedTuple):
    """The carrier of links: `usable` and `doubtful` (bool[L]) as in InterleavingModel, `loose`, and when each is down.

    off  place of the port that speaks for a link -> positions, and whether no frame passes from each on
    """

    usable: NDArray[np.bool_]
    doubtful: NDArray[np.bool_]
    loose: list[tuple[int, int, int]]
    off: dict[int, tuple[NDArray[np.int64], NDArray[np.bool_]]]


def _links(fabric: Fabric, states: list[SwitchState], effects: _Effects, ports: _Ports) -> _Links:
    """Return the carrier of every link: once, or if lines change it, at all positions of both ends."""
    steady = carriers(fabric, states)
    found = _Links(steady != Carrier.NONE, steady == Carrier.PARTIAL, [], {})
    width = np.int64(ports.width)
    changes = effects.only(*_CARRIER_CELLS)
    changed = np.unique(changes.switch * width + changes.port)
    touched = np.zeros(len(ports.lo) - 1, np.bool_)
    touched[changed] = True
    bound: dict[int, set[int]] = {}  # port-channel -> what is a member of it at some position
    for place in changed.tolist():
        for channel in np.unique(ports.lag[ports.epochs(place)]).tolist():
            if channel:
                speaker = place - place % ports.width + channel
                touched[speaker] = True
                bound.setdefault(speaker, set()).add(place)
    link, a, a_port, b, b_port = fabric.cables.T
    cables = a * width + a_port, b * width + b_port
    speakers = [s * width + port for s, port in ((fabric.tail, fabric.tail_port), (fabric.head, fabric.head_port))]
    hit = np.bincount(link[touched[cables[0]] | touched[cables[1]]], minlength=len(fabric.links)) > 0
    hit |= (touched[speakers[0]] | touched[speakers[1]])[0::2]
    for i in np.flatnonzero(hit).tolist():
        mine = slice(*np.searchsorted(link, [i, i + 1]).tolist())
        ends = [
            _LinkEnd.of(ports, states, int(speaker[2 * i]), places[mine], bound, aggregated=bool(fabric.aggregated[i]))
            for speaker, places in zip(speakers, cables, strict=True)
        ]
        table = _at_all_positions(*ends)
        may = table != Carrier.NONE
        passes = may.any(axis=1), may.any(axis=0)
        found.usable[i] = may.any()
        found.doubtful[i] = bool(np.any(np.outer(*passes) & (table != Carrier.WHOLE)))
        for end, far, some, speaker, places in zip(ends, ends[::-1], passes, speakers, cables, strict=True):
            at = int(speaker[2 * i])
            found.off[at] = end.position, ~some
            up = far.cables.up.any(axis=0)
            loose = np.flatnonzero((end.cables.up & ~end.cables.bound).any(axis=0) & up)
            rows = [(int(p // width), int(p % width), int(at % width)) for p in places[mine][loose].tolist()]
            found.loose.extend(rows)
    return found


class _LinkEnd(NamedTuple):
    """One end of a link at all its positions: arrays [P] or, for its cables, [P, X]."""

    position: NDArray[np.int64]
    closed: NDArray[np.bool_]
    strange: NDArray[np.bool_]
    cables: CableEnds

    @classmethod
    def of(
        cls,
        ports: _Ports,
        states: list[SwitchState],
        speaker: int,
        cables: NDArray[np.int64],
        bound: Mapping[int, set[int]],
        *,
        aggregated: bool,
    ) -> _LinkEnd:
        """Return the epochs of the port that speaks for the link, of its cables and of all else bound to it."""
        channel = speaker % ports.width
        others: set[int] = set()
        if aggregated:
            held = states[speaker // ports.width].lag
            others = {*bound.get(speaker, ()), *(speaker - channel + 1 + np.flatnonzero(held == channel)).tolist()}
            others -= {*cables.tolist()}
        places = [speaker, *cables.tolist(), *others]
        position = np.unique(np.concatenate([ports.pos[ports.epochs(place)] for place in places]))
        at = np.array([ports.at(place, position) for place in places])
        own, theirs, foreign = at[0], at[1 : 1 + len(cables)].T, at[1 + len(cables) :]
        up = ports.enabled[theirs] if aggregated else ports.on[theirs]
        is_bound = ports.lag[theirs] == channel if aggregated else np.ones(theirs.shape, np.bool_)
        return cls(
            position,
            ~ports.enabled[own],
            (ports.enabled[foreign] & (ports.lag[foreign] == channel)).any(axis=0),
            CableEnds(up, is_bound, ports.negotiation[theirs], ports.speed[theirs]),
        )


def _at_all_positions(one: _LinkEnd, other: _LinkEnd) -> NDArray[np.uint8]:
    """Return the Carrier of a link at every pair of positions of its ends, uint8[P, Q]."""
    shape = len(one.position), len(other.position)
    rows, cables = shape[0] * shape[1], one.cables.up.shape[1]
    first = CableEnds._make(np.repeat(column, shape[1], axis=0).ravel() for column in one.cables)
    second = CableEnds._make(np.tile(column, (shape[0], 1)).ravel() for column in other.cables)
    either = ((getattr(one, name)[:, None] | getattr(other, name)).ravel() for name in ("closed", "strange"))
    return link_carriers(rows, np.repeat(np.arange(rows), cables), first, second, *either).reshape(shape)


def _while_up(ports: _Ports, off: Mapping[int, tuple[NDArray[np.int64], NDArray[np.bool_]]]) -> _Ports:
    """Return the epochs with ports off while their link lets no frame pass, whatever the state of its far end."""
    if not off:
        return ports
    counts = np.diff(ports.lo)
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]] = []  # epoch, position, off
    done = 0
    for place in sorted(off):
        epochs, (position, lost) = ports.epochs(place), off[place]
        before = np.arange(done, epochs.start)
        parts.append((before, ports.pos[before], np.zeros(len(before), np.bool_)))
        parts.append((ports.at(place, position), position, lost))
        counts[place] = len(position)
        done = epochs.stop
    rest = np.arange(done, len(ports.pos))
    parts.append((rest, ports.pos[rest], np.zeros(len(rest), np.bool_)))
    which, position, lost = (np.concatenate(column) for column in zip(*parts, strict=True))
    columns = {name: getattr(ports, name)[which] for name in _Ports._fields[3:]}
    columns["on"] = columns["on"] & ~lost
    return _Ports(ports.width, np.concatenate([[0], np.cumsum(counts)]), position, **columns)


def _net(fabric: Fabric, nodes: _Nodes, rows: _Rows, ports: _Ports, carried: _Links) -> InterleavingModel:
    """Return nodes, rows and ports combined, with the arrivals that follow from them and no entries yet."""
    node_switch, node_vlan, node_of = nodes
    switches, channels, width = len(fabric.switches), len(fabric.tail), ports.width
    place = np.repeat(np.arange(len(ports.lo) - 1), np.diff(ports.lo))  # of each epoch
    at_first, floods_at_first = ports.on[ports.lo[:-1]], ports.floods[ports.lo[:-1]]
    bits = np.uint64(1) << np.arange(width - 1, dtype=np.uint64)
    on_varies = np.zeros(switches, np.bool_)
    varied = (ports.on != at_first[place]) | (ports.floods != floods_at_first[place])
    on_varies[place[varied] // width] = True
    ever_tagged, ever_untagged = np.zeros(len(node_vlan), np.uint64), np.zeros(len(node_vlan), np.uint64)
    node = np.repeat(np.arange(len(node_vlan)), np.diff(rows[0]))
    np.bitwise_or.at(ever_tagged, node, rows[3])
    np.bitwise_or.at(ever_untagged, node, rows[4])
    egress_node, egress_port, lo = _spread_out(ever_tagged)
    channel = fabric.port_channel[node_switch[egress_node], egress_port]
    far = np.full(len(channel), NOWHERE, np.int32)
    links = channel >= 0
    far[links] = node_of[fabric.head[channel[links]], node_vlan[egress_node[links]]]
    hosts = len(fabric.hosts)
    none = np.zeros(hosts + 2, np.int64), np.empty(0, np.int32)
    return InterleavingModel(
        width=width,
        node_switch=node_switch,
        node_vlan=node_vlan,
        node_of=node_of,
        row_lo=rows[0],
        row_pos=rows[1],
        row_exists=rows[2],
        row_tagged=rows[3],
        row_untagged=rows[4],
        ever_tagged=ever_tagged,
        ever_untagged=ever_untagged,
        port_lo=ports.lo,
        port_pos=ports.pos,
        port_pvid=ports.pvid,
        port_frames=ports.frames,
        port_filter=ports.filter,
        port_floods=ports.floods,
        port_on=ports.on,
        on_at_first=(at_first.reshape(switches, width)[:, 1:] * bits).sum(axis=1, dtype=np.uint64),
        floods_at_first=(floods_at_first.reshape(switches, width)[:, 1:] * bits).sum(axis=1, dtype=np.uint64),
        on_varies=on_varies,
        arrival_lo=lo + channels,
        arrival_channel=np.concatenate([np.arange(channels, dtype=np.int32), channel]),
        arrival_node=np.concatenate([np.full(channels, NOWHERE, np.int32), far]),
        port_channel=fabric.port_channel,
        port_host=fabric.port_host,
        head=fabric.head,
        head_port=fabric.head_port,
        usable=np.repeat(carried.usable, 2),
        doubtful=np.repeat(carried.doubtful, 2),
        loose=np.array(carried.loose, np.int64).reshape(len(carried.loose), 3),
        host_switch=fabric.host_switch,
        host_port=fabric.host_port,
        host_named=fabric.host_mac > 0,
        entry_lo=none[0],
        entry_node=none[1],
        entry_ports=np.empty(0, np.uint64),
        event_lo=none[0],
        event_node=none[1],
        event_pos=np.empty(0, np.int64),
        event_ports=np.empty(0, np.uint64),
    )


def _with_entries(
    net: InterleavingModel, fabric: Fabric, states: list[SwitchState], effects: _Effects
) -> InterleavingModel:
    """Return the model with the static entries of nodes that frames can reach, and their changes, by destination."""
    live = reachable(net)
    where = np.repeat(np.arange(len(states)), [len(s.entry_vlan) for s in states])
    vlan, mac, port = (
        np.concatenate([getattr(s, name) for s in states]) for name in ("entry_vlan", "entry_mac", "entry_port")
    )
    node = net.node_of[where, vlan]
    kept = live[node]
    bits = np.uint64(1) << (port[kept] - 1).astype(np.uint64)
    first = _by_host(fabric, mac[kept], node[kept], np.zeros(len(bits), np.int64), bits)
    changes = effects.only(ENTRY)
    node = net.node_of[changes.switch, changes.vlan]
    kept = np.flatnonzero(live[node])
    kept = kept[np.lexsort((changes.position[kept], node[kept]))]
    later = _by_host(fabric, changes.mac[kept], node[kept], changes.position[kept], changes.value[kept])
    return net._replace(
        entry_lo=first[0],
        entry_node=first[1],
        entry_ports=first[3],
        event_lo=later[0],
        event_node=later[1],
        event_pos=later[2],
        event_ports=later[3],
    )


_Columns = tuple["NDArray[np.int64]", "NDArray[np.int32]", "NDArray[np.int64]", "NDArray[np.uint64]"]


def _by_host(
    fabric: Fabric, mac: NDArray[np.uint64], node: NDArray[np.int32], pos: NDArray[np.int64], bits: NDArray[np.uint64]
) -> _Columns:
    """Sort rows by the host whose address they name, the broadcast address last; other addresses are left out."""
    known = np.append(fabric.host_mac, np.uint64(BROADCAST))
    order = np.argsort(known)
    at = np.minimum(np.searchsorted(known[order], mac), len(known) - 1)
    host = np.where(known[order][at] == mac, order[at], NOWHERE)
    return _sorted_by(host, len(known), node, pos, bits)


@kernel
def _sorted_by(
    host: NDArray[np.int64],
    hosts: int,
    node: NDArray[np.int32],
    pos: NDArray[np.int64],
    bits: NDArray[np.uint64],
) -> _Columns:
    """Sort rows by host, in stable order: one pass to count, one to place."""
    lo = np.zeros(hosts + 1, np.int64)
    for h in host:
        if h >= 0:
            lo[h + 1] += 1
    for h in range(hosts):
        lo[h + 1] += lo[h]
    to = lo.copy()
    out_node, out_pos = np.empty(lo[hosts], np.int32), np.empty(lo[hosts], np.int64)
    out_bits = np.empty(lo[hosts], np.uint64)
    for i in range(len(host)):
        if host[i] >= 0:
            place = to[host[i]]
            to[host[i]] += 1
            out_node[place], out_pos[place], out_bits[place] = node[i], pos[i], bits[i]
    return lo, out_node, out_pos, out_bits


@kernel
def _row_epochs(
    exists: NDArray[np.bool_],
    tagged: NDArray[np.uint64],
    untagged: NDArray[np.uint64],
    node: NDArray[np.int64],
    position: NDArray[np.int64],
    cell: NDArray[np.uint8],
    port: NDArray[np.int64],
    value: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], tuple[NDArray[np.int64], NDArray[np.bool_], NDArray[np.uint64], NDArray[np.uint64]]]:
    """Apply the changes of every node's row, ascending by node and position, and return each resulting row."""
    nodes, most = len(exists), len(exists) + len(node)
    lo = np.zeros(nodes + 1, np.int64)
    out_pos, out_exists = np.zeros(most, np.int64), np.zeros(most, np.bool_)
    out_tagged, out_untagged = np.zeros(most, np.uint64), np.zeros(most, np.uint64)
    n = at = 0
    for k in range(nodes):
        lo[k] = n
        out_exists[n], out_tagged[n], out_untagged[n] = exists[k], tagged[k], untagged[k]
        while at < len(node) and node[at] == k:
            if position[at] != out_pos[n]:
                out_exists[n + 1], out_tagged[n + 1], out_untagged[n + 1] = (
                    out_exists[n],
                    out_tagged[n],
                    out_untagged[n],
                )
                n += 1
                out_pos[n] = position[at]
            if cell[at] == VLAN:
                out_exists[n] = value[at] > 0
            else:
                bit = np.uint64(1) << np.uint64(port[at] - 1)
                out_tagged[n] &= ~bit
                out_untagged[n] &= ~bit
                if value[at] == _TAGGED:
                    out_tagged[n] |= bit
                elif value[at] == _UNTAGGED:
                    out_untagged[n] |= bit
            at += 1
        n += 1
    lo[nodes] = n
    return lo, (out_pos[:n], out_exists[:n], out_tagged[:n], out_untagged[:n])


_PortColumns = tuple[
    "NDArray[np.int64]",
    "NDArray[np.int32]",
    "NDArray[np.uint8]",
    "NDArray[np.bool_]",
    "NDArray[np.bool_]",
    "NDArray[np.bool_]",
    "NDArray[np.bool_]",
    "NDArray[np.int32]",
    "NDArray[np.bool_]",
    "NDArray[np.int32]",
]


@kernel
def _port_epochs(  # noqa: PLR0913 - the arrays of one compiled loop
    pvid: NDArray[np.int32],
    frames: NDArray[np.uint8],
    filters: NDArray[np.bool_],
    floods: NDArray[np.bool_],
    enabled: NDArray[np.bool_],
    lag: NDArray[np.int32],
    negotiation: NDArray[np.bool_],
    speed: NDArray[np.int32],
    place: NDArray[np.int64],
    position: NDArray[np.int64],
    cell: NDArray[np.uint8],
    value: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], _PortColumns]:
    """Apply the changes of every port, ascending by place and position; a bounce is down just before its position.

    Of the changes at one position bounces come first.
    Return `lo` and the columns of _Ports from `pos` on.
    """
    places, most = len(pvid), len(pvid) + 2 * len(place)
    lo = np.zeros(places + 1, np.int64)
    out_pos, out_pvid = np.zeros(most, np.int64), np.zeros(most, np.int32)
    out_frames, out_filter = np.zeros(most, np.uint8), np.zeros(most, np.bool_)
    out_floods = np.zeros(most, np.bool_)
    out_enabled, out_lag = np.zeros(most, np.bool_), np.zeros(most, np.int32)
    out_negotiation, out_speed = np.zeros(most, np.bool_), np.zeros(most, np.int32)
    n = at = 0
    for k in range(places):
        lo[k] = n
        out_pvid[n], out_frames[n], out_filter[n], out_floods[n] = pvid[k], frames[k], filters[k], floods[k]
        out_enabled[n], out_lag[n], out_negotiation[n], out_speed[n] = enabled[k], lag[k], negotiation[k], speed[k]
        wanted = enabled[k]
        while at < len(place) and place[at] == k:
            bounces = cell[at] == BOUNCE
            when = position[at] - 1 if bounces else position[at]
            for _ in range(2 if bounces else 1):
                if when > out_pos[n]:
                    n += 1
                    out_pos[n], out_pvid[n], out_frames[n] = when, out_pvid[n - 1], out_frames[n - 1]
                    out_filter[n], out_enabled[n], out_lag[n] = out_filter[n - 1], out_enabled[n - 1], out_lag[n - 1]
                    out_negotiation[n], out_speed[n] = out_negotiation[n - 1], out_speed[n - 1]
                    out_floods[n] = out_floods[n - 1]
                if bounces:
                    out_enabled[n] = wanted and when == position[at]
                when = position[at]
            if cell[at] == PVID:
                out_pvid[n] = value[at]
            elif cell[at] == FRAMES:
                out_frames[n] = value[at]
            elif cell[at] == INGRESS_FILTER:
                out_filter[n] = value[at] > 0
            elif cell[at] == FLOODING:
                out_floods[n] = value[at] > 0
            elif cell[at] == LAG:
                out_lag[n] = value[at]
            elif cell[at] == NEGOTIATION:
                out_negotiation[n] = value[at] > 0
            elif cell[at] == SPEED:
                out_speed[n] = value[at]
            elif cell[at] == ENABLED:
                wanted = value[at] > 0
                out_enabled[n] = wanted
            at += 1
        n += 1
    lo[places] = n
    return lo, (
        out_pos[:n],
        out_pvid[:n],
        out_frames[:n],
        out_filter[:n],
        out_floods[:n],
        out_enabled[:n] & (out_lag[:n] == 0),
        out_enabled[:n],
        out_lag[:n],
        out_negotiation[:n],
        out_speed[:n],
    )


@kernel
def _spread_out(sets: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return the members of sets of ports: (set, port number) one by one, and where each set begins."""
    lo = np.zeros(len(sets), np.int64)
    n = 0
    for k in range(len(sets)):
        lo[k] = n
        rest = sets[k]
        while rest:
            rest &= rest - np.uint64(1)
            n += 1
    which, port = np.empty(n, np.int64), np.empty(n, np.int64)
    n = 0
    for k in range(len(sets)):
        for p in range(WIDEST):
            if (sets[k] >> np.uint64(p)) & np.uint64(1):
                which[n], port[n] = k, p + 1
                n += 1
    return which, port, lo


@kernel
def reachable(net: InterleavingModel) -> NDArray[np.bool_]:
    """Return which nodes a frame may be classified to, whatever entries and filters say, bool[K + 1].

    The last one stands for NOWHERE and is False.
    """
    live = np.zeros(len(net.node_vlan) + 1, np.bool_)
    stack = np.empty(len(net.node_vlan), np.int64)
    size = 0
    for h in range(len(net.host_switch)):
        s = net.host_switch[h]
        place = s * net.width + net.host_port[h]
        for e in range(net.port_lo[place], net.port_lo[place + 1]):
            node = net.node_of[s, net.port_pvid[e]] if net.port_pvid[e] > 0 else NOWHERE
            if node >= 0 and not live[node]:
                live[node] = True
                stack[size] = node
                size += 1
    while size:
        size -= 1
        k = stack[size]
        s = net.node_switch[k]
        arrival = net.arrival_lo[k]
        for p in range(1, net.width):
            bit = np.uint64(1) << np.uint64(p - 1)
            if net.ever_tagged[k] & bit:
                node = net.arrival_node[arrival]
                if node >= 0 and net.usable[net.arrival_channel[arrival]] and not live[node]:
                    live[node] = True
                    stack[size] = node
                    size += 1
                arrival += 1
            c = net.port_channel[s, p]
            if net.ever_untagged[k] & bit and c >= 0 and net.usable[c]:
                far = net.head[c]
                place = far * net.width + net.head_port[c]
                for e in range(net.port_lo[place], net.port_lo[place + 1]):
                    node = net.node_of[far, net.port_pvid[e]] if net.port_pvid[e] > 0 else NOWHERE
                    if node >= 0 and not live[node]:
                        live[node] = True
                        stack[size] = node
                        size += 1
    return live
