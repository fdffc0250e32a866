"""Follow all frames after the loss of each link or switch, with hosts moved to VLANs that avoid it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding, InputError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.rows import places
from tagloom.graph.search import reached
from tagloom.graph.trees import flooding_links
from tagloom.platforms.port_names import channel_name, link_at
from tagloom.records.switch_state import BROADCAST, Frames
from tagloom.records.tagged_ports import without_tags
from tagloom.records.what_if import Loss, WhatIf
from tagloom.verify.broadcast import flood_from, narrowed
from tagloom.verify.detours_at_once import Cases, followed, packed
from tagloom.verify.forwarding import NOWHERE, forwarding
from tagloom.verify.isolation import leaks
from tagloom.verify.looked_up import alike, looked_up
from tagloom.verify.moved_entries import moved_entries
from tagloom.verify.single_failures import (
    Part,
    components,
    cutting_parts,
    dead_channels,
    named,
    single_failures,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.records.detours import Detour
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState
    from tagloom.verify.forwarding import Forwarding
    from tagloom.verify.looked_up import LookedUp

CELLS = 1 << 20  # frames followed at once; bounds memory
AT_ONCE = 1 << 18  # (change of a host, host) above which known detours are followed by compiled loops
WITNESSES = 3  # pairs named per failure
KINDS = ("links", "switches")


@dataclass(frozen=True, eq=False)
class _Tours:
    """All paths of frames from each node by which hosts' frames enter, T nodes.

    node      int64[T]; of_host  the tour of (host, VLAN), if its port accepts frames into that VLAN
    sender    int64[T], the host whose own tour it is, since some switch may drop its frames for their sender (see
              `looked_up`), or H for a tour of all hosts that enter there
    taken     bool[T], whether the first switch takes their frames in
    arrives   bool[T, H], the hosts that entries lead to; heard  those, and the ports of hosts on the first switch
    tour, host, channel  int32[R], a row for each channel on each of those paths, in the order they are taken
    turns     int64, the dependencies of these frames, as (tour * C + held) * C + wanted
    load      float64[T, C], how many hosts are reached over each channel
    """

    node: NDArray[np.int64]
    sender: NDArray[np.int64]
    taken: NDArray[np.bool_]
    of_host: dict[tuple[int, int], int]
    arrives: NDArray[np.bool_]
    heard: NDArray[np.bool_]
    tour: NDArray[np.int32]
    host: NDArray[np.int32]
    channel: NDArray[np.int32]
    turns: NDArray[np.int64]
    load: NDArray[np.float64]


def what_if(
    fabric: Fabric,
    state: FabricState,
    kind: str,
    detours: Sequence[Detour] | None = None,
    *,
    duplicates_allowed: bool = False,
) -> WhatIf:
    """Return the effects of losing every link, or switch, alone, as `_what_if` does; see there.

    With `duplicates_allowed` a second copy of a broadcast is no harm.
    """
    return replace(_what_if(fabric, state, kind, detours), duplicates_allowed=duplicates_allowed)


def _what_if(fabric: Fabric, state: FabricState, kind: str, detours: Sequence[Detour] | None) -> WhatIf:
    """Return the effects of losing every link, or switch, alone, with the hosts moved by `detours`.

    Without detours, each host that loses pairs moves to the VLAN, of those its port is in, that serves most of its
    pairs and closes no dependency cycle with the choices before. Only PVIDs of hosts' ports change. A pair counts as
    reached if static entries lead its frames on the whole path, and its sender's broadcasts come there. The states
    within the wave do not matter: a frame keeps the VLAN it entered by, so the dependencies of all states together are
    those of all VLANs that hosts ever use, and that union is checked for cycles. With several networks the pairs are
    those of each, the dependencies of all, and no frame of a host that has moved may come to a port of another network.
    An uplink is reached if frames to addresses that no entry names come there, flooded along the VLAN of their sender.
    Where floods keep to a tree of the one VLAN, detours change entries instead (`moved_entries`), and without detours
    nothing changes. Raises InputError if a detour names unknown parts or hosts.
    """
    if not flooding_links(fabric, state).all() and not any(each.pvids for each in detours or ()):
        return moved_entries(fabric, state, kind, detours or ())
    cases = single_failures(fabric, kind)
    # Where ports carry networks tagged, each network as its hosts see it: their tag is none, all others are tags.
    several = fabric.by_network if fabric.tagged_hosts else (fabric,)
    groups = [*fabric.networks.values()] if fabric.tagged_hosts else [np.arange(len(fabric.hosts))]
    moves = None if detours is None else _moves(fabric, detours)
    looking = any(platforms.of(switch).drops_strange_senders for switch in fabric.live)
    grouped = any(bool((held.entry_mac == BROADCAST).any()) for held in state.values())
    if moves is not None and len(several) < 2 and not looking and not grouped and not len(fabric.uplinks):
        changes = sum(len(moves.get(case, {})) for case in cases)
        if changes * len(fabric.hosts) > AT_ONCE:
            return _all_at_once(fabric, state, kind, cases, moves)
    judged = [
        _of_hosts(
            *without_tags(part, state), cases, None if moves is None else _among(moves, hosts), alone=len(several) < 2
        )
        for part, hosts in zip(several, groups, strict=True)
    ]
    for one in judged:
        one.legal.beside = np.unique(np.concatenate([each.legal.keys for each in judged if each is not one] or [_NONE]))
    for one in judged:
        for case in cases:
            one.lose(case, None if one.moves is None else one.moves.get(case, {}))
        for other in judged:
            if other is not one:
                other.legal.beside = np.union1d(other.legal.beside, one.legal.keys)
    # a number of a switch and VLAN is the same in all views
    moved = [(int(hosts[h]), int(one.tours.node[t])) for hosts, one in zip(groups, judged, strict=True)
             for h, t in one.moved]  # fmt: skip
    found = leaks(forwarding(fabric, state), state, moved) if len(fabric.networks) > 1 else ()
    answer = _together([one.answer(kind, len(cases)) for one in judged], judged, cases)
    return replace(answer, isolated=not found if len(fabric.networks) > 1 else None, leaks=found)


_NONE = np.empty(0, np.int64)


def _among(moves: Mapping[Part, Mapping[int, int]], hosts: NDArray[np.int64]) -> dict[Part, dict[int, int]]:
    """Return the moves of some hosts, by their places among these."""
    place = {h: i for i, h in enumerate(hosts.tolist())}
    return {part: {place[h]: vlan for h, vlan in each.items() if h in place} for part, each in moves.items()}


def _of_hosts(
    fabric: Fabric,
    state: FabricState,
    cases: Sequence[Part],
    moves: dict[Part, dict[int, int]] | None,
    *,
    alone: bool,
) -> _FailureTally:
    """Return what counts the failures of a fabric, before any; it is `alone`, or some of a fabric's networks."""
    model = forwarding(fabric, state)
    home = [int(state[fabric.switches[h.switch].name].pvid[h.port - 1]) for h in fabric.hosts]
    vlans = {(h, vlan) for h, vlan in enumerate(home)}
    if moves is not None:
        vlans |= {pair for part in cases for pair in moves.get(part, {}).items()}
    else:
        vlans |= set(_vlans_received(model))
    tours = _walked(model, _entered(model, state, sorted(vlans)))
    used = vlans if moves is not None else set(enumerate(home))
    legal = _UsedDependencies(model, tours, {tours.of_host.get(pair, -1) for pair in used})
    return _FailureTally(fabric, tours, legal, home, moves, alone=alone)


def _all_at_once(
    fabric: Fabric, state: FabricState, kind: str, cases: Sequence[Part], moves: Mapping[Part, Mapping[int, int]]
) -> WhatIf:
    """Return what `what_if` does for known detours, without the paths of all frames in memory.

    There are no uplinks, no entries for the broadcast address, and no switches that look up senders.
    """
    model = forwarding(fabric, state)
    home = [int(state[fabric.switches[h.switch].name].pvid[h.port - 1]) for h in fabric.hosts]
    vlans = set(enumerate(home)).union(*(moves.get(part, {}).items() for part in cases))
    entered = _entered(model, state, sorted(vlans))
    nodes, number = np.unique(np.array(list(entered.values()), np.int64), return_inverse=True)
    tour_of = dict(zip(entered, number.tolist(), strict=True))
    at_home = np.array([tour_of.get(pair, -1) for pair in enumerate(home)], np.int64)
    rows = [
        (f, h, tour_of.get((h, vlan), -1)) for f, part in enumerate(cases) for h, vlan in moves.get(part, {}).items()
    ]
    failure, host, tour = np.array(rows, np.int64).reshape(-1, 3).T
    changed = tour != at_home[host]
    failure, host, tour = failure[changed], host[changed], tour[changed]
    of = _connections(fabric, cases)
    found = followed(model, nodes, at_home, (failure, host, tour), of)
    channels = found.load.shape[1]
    sender, taken = np.full(len(nodes), len(fabric.hosts)), np.ones(len(nodes), np.bool_)
    tours = _Tours(
        nodes, sender, taken, tour_of, found.arrives, found.heard, _NO32, _NO32, _NO32, found.turns, np.empty((0, 0))
    )
    legal = _UsedDependencies(model, tours, range(len(nodes)))
    pvids = np.bincount(failure, minlength=len(cases))
    dead = np.concatenate([dead_channels(fabric, channels, part)[None] for part in [(-1, -1), *cases]])
    load, hops = np.where(dead, 0, found.load).max(axis=1, initial=0), found.load.sum(axis=1)
    names, losses = [host.name for host in fabric.hosts], list[Loss]()
    cut = int(fabric.same_network.sum()) - found.total
    for f in np.flatnonzero(found.unprotected).tolist():
        some = [divmod(pair, len(names)) for pair in found.witness[f].tolist() if pair >= 0]
        pairs = tuple(f"{names[a]} -> {names[b]}" for a, b in some)
        dead_part = named(fabric, cases[f])
        losses.append(Loss(dead_part, int(cut[f]), int(found.saved[f]), int(found.unprotected[f]), pairs))
    cycle = legal.cycle()
    several = len(fabric.networks) > 1
    moved = {(h, int(nodes[t])) for h, t in zip(host.tolist(), tour.tolist(), strict=True) if t >= 0} if several else ()
    leaking = leaks(model, state, list(moved)) if several else ()
    return WhatIf(
        kind=kind,
        failures=len(cases),
        protected=int((found.total - found.unprotected).sum()),
        unprotected=int(found.unprotected.sum()),
        saved=int(found.saved.sum()),
        cut_pairs_max=int(cut.max(initial=0)),
        unprotected_pairs_max=int(found.unprotected.max(initial=0)),
        pvids_max=int(pvids.max(initial=0)),
        deadlock_free=not cycle,
        deadlock_cycle=tuple(channel_name(fabric, c) for c in cycle),
        broadcast_exactly_once=legal.once,
        storm_free=legal.storm_free,
        load_before=int(load[0]),
        load_max=int(load.max()),
        hops_before=int(hops[0]),
        hops_max=int(hops.max()),
        losses=tuple(losses),
        isolated=not leaking if several else None,
        leaks=leaking,
        dependencies=np.divmod(legal.keys, legal.channels),
    )


_NO32 = np.empty(0, np.int32)


def _connections(fabric: Fabric, cases: Sequence[Part]) -> Cases:
    """Return the failures, with the hosts that stay connected to each host."""
    bridges, joints = cutting_parts(fabric)
    whole = components(fabric, (-1, -1))
    side = np.zeros((len(cases), len(fabric.hosts)), np.int32)
    together = [np.zeros((1, len(fabric.hosts)), np.bool_)]
    known: dict[Part, NDArray[np.int32]] = {}
    count = 1
    for f, (link, switch) in enumerate(cases):
        cutting = link in bridges or switch in joints
        same = (link if cutting else -1, switch)  # failures of links that cut nothing are alike
        if same not in known:
            near = (components(fabric, (link, switch)) if cutting else whole)[fabric.host_switch]
            near = np.where(fabric.host_switch == switch, -1, near)
            labels = np.unique(near[near >= 0])
            together.append(near[None, :] == labels[:, None])
            known[same] = np.where(near >= 0, count + np.searchsorted(labels, near), 0).astype(np.int32)
            count += len(labels)
        side[f] = known[same]
    into = np.argsort(fabric.head, kind="stable").astype(np.int32)
    return Cases(
        np.array([link for link, _ in cases], np.int32), np.array([switch for _, switch in cases], np.int32),
        side, packed(np.concatenate(together)), packed(fabric.same_network),
        into, np.searchsorted(fabric.head[into], np.arange(len(fabric.switches) + 1)),
    )  # fmt: skip


def _together(answers: Sequence[WhatIf], judged: Sequence[_FailureTally], cases: Sequence[Part]) -> WhatIf:
    """Return the answer for the hosts of all networks, each followed by itself: sums, failure by failure."""
    if len(answers) == 1:
        return answers[0]
    first, fabric = answers[0], judged[0].fabric
    keys = np.unique(np.concatenate([one.legal.keys for one in judged]))
    channels = judged[0].legal.channels
    cycle = find_cycle(channels, *np.divmod(keys, channels))
    each = np.sum([one.each for one in judged], axis=0).reshape(len(cases), 4)
    cut, saved, unprotected, pvids = each.T
    loads = [np.sum([one.loads[i][0] for one in judged], axis=0) for i in range(1 + len(cases))]
    hops = [int(sum(one.loads[i][1] for one in judged)) for i in range(1 + len(cases))]
    of_case = [{loss.dead: loss for loss in answer.losses} for answer in answers]
    losses = []
    for i, part in enumerate(cases):
        if unprotected[i]:
            dead = named(fabric, part)
            pairs = tuple(pair for found in of_case if dead in found for pair in found[dead].pairs)[:WITNESSES]
            losses.append(Loss(dead, int(cut[i]), int(saved[i]), int(unprotected[i]), pairs))
    return replace(
        first,
        protected=sum(answer.protected for answer in answers),
        unprotected=int(unprotected.sum()),
        saved=int(saved.sum()),
        cut_pairs_max=int(cut.max(initial=0)),
        unprotected_pairs_max=int(unprotected.max(initial=0)),
        pvids_max=int(pvids.max(initial=0)),
        deadlock_free=not cycle,
        deadlock_cycle=tuple(channel_name(fabric, c) for c in cycle),
        broadcast_exactly_once=all(answer.broadcast_exactly_once for answer in answers),
        storm_free=all(answer.storm_free for answer in answers),
        load_before=int(loads[0].max(initial=0)),
        load_max=max(int(load.max(initial=0)) for load in loads),
        hops_before=hops[0],
        hops_max=max(hops),
        losses=tuple(losses),
        dependencies=np.divmod(keys, channels),
    )


def _moves(fabric: Fabric, detours: Sequence[Detour]) -> dict[Part, dict[int, int]]:
    """Return the VLAN of each host that moves, by failure. Raises InputError."""
    index = {host.name: h for h, host in enumerate(fabric.hosts)}
    moves: dict[Part, dict[int, int]] = {}
    findings: list[Finding] = []
    for detour in detours:
        link = link_at(fabric, detour.dead[0]) if len(detour.dead) > 1 else None
        switch = fabric.index.get(detour.dead[0]) if len(detour.dead) == 1 else None
        if (link is None and switch is None) or not index.keys() >= detour.pvids.keys():
            findings.append(Finding("detours", "parts and hosts of the fabric", " ".join(detour.dead)))
            continue
        part = (link, -1) if link is not None else (-1, switch if switch is not None else -1)
        moves[part] = {index[name]: vlan for name, vlan in detour.pvids.items()}
    if findings:
        raise InputError(findings)
    return moves


def _vlans_received(model: Forwarding) -> list[tuple[int, int]]:
    """Return (host, VLAN) for every VLAN whose frames a host receives."""
    taking = np.flatnonzero(model.egress_host >= 0)
    vlan = model.node_vlan[model.egress_node[taking]]
    return list(zip(model.egress_host[taking].tolist(), vlan.tolist(), strict=True))


def _entered(model: Forwarding, state: FabricState, vlans: list[tuple[int, int]]) -> dict[tuple[int, int], int]:
    """Return the node by which each (host, VLAN) enters with that VLAN as its PVID; refused ones are left out.

    The rules are those of `forwarding`: the switch has the VLAN, the port is up, accepts untagged frames, and is a
    member or has no ingress filter.
    """
    fabric = model.fabric
    node_of = {
        pair: node for node, pair in enumerate(zip(model.node_switch.tolist(), model.node_vlan.tolist(), strict=True))
    }
    member = model.egress_table() != NOWHERE
    entered: dict[tuple[int, int], int] = {}
    for h, vlan in vlans:
        host = fabric.hosts[h]
        held, node = state[fabric.switches[host.switch].name], node_of.get((host.switch, vlan), NOWHERE)
        taken = held.enabled[host.port - 1] and held.frames[host.port - 1] != Frames.TAGGED_ONLY
        if node != NOWHERE and taken and (member[node, host.port] or not held.ingress_filter[host.port - 1]):
            entered[h, vlan] = node
    return entered


def _walked(model: Forwarding, entered: dict[tuple[int, int], int]) -> _Tours:
    """Return the tours from every node that hosts enter by, by the entries for every host."""
    hosts, channels = len(model.fabric.hosts), max(1, len(model.fabric.tail))
    looked = looked_up(model)
    enters = np.array(list(entered.values()), np.int64)
    whose = looked.told_apart(np.array([h for h, _ in entered], np.int64), enters)
    (sender, nodes), tour_of = np.unique(np.stack([whose, enters]), axis=1, return_inverse=True)
    of_host = {pair: int(t) for pair, t in zip(entered, tour_of.ravel().tolist(), strict=True)}
    in_port = np.append(model.fabric.host_port, 0)[sender]
    taken = ~looked.drops(sender, nodes, in_port)
    pin = np.zeros((model.nodes, hosts), np.int32)
    pin[model.entry_node, model.entry_host] = model.entry_port
    table = model.egress_table()
    arrives = np.zeros((len(nodes), hosts), np.bool_)
    rows: list[tuple[NDArray[np.int32], ...]] = []
    turns: list[NDArray[np.int64]] = []
    block = max(1, CELLS // max(1, hosts))
    for low in range(0, len(nodes), block):
        tour, host = (
            g.ravel()
            for g in np.meshgrid(np.arange(low, min(low + block, len(nodes))), np.arange(hosts), indexing="ij")
        )
        node, came, held = nodes[tour], in_port[tour], np.full(len(tour), -1, np.int64)
        for _ in range(model.nodes + 1):
            port = pin[node, host]
            egress = table[node, port]
            end = model.egress_host[egress] == host
            good = (port > 0) & (egress != NOWHERE) & (port != came) & ~looked.drops(sender[tour], node, came)
            arrives[tour[good & end], host[good & end]] = True
            on = good & (model.egress_to[egress] != NOWHERE) & (model.egress_channel[egress] >= 0)
            tour, host, held, egress = tour[on], host[on], held[on], egress[on]
            if not len(tour):
                break
            channel = model.egress_channel[egress].astype(np.int64)
            rows.append((tour.astype(np.int32), host.astype(np.int32), channel.astype(np.int32)))
            turn = held >= 0
            turns.append(np.unique((tour[turn] * channels + held[turn]) * channels + channel[turn]))
            node, held = model.egress_to[egress].astype(np.int64), channel
            came = model.fabric.head_port[channel]
    if len(model.fabric.uplinks):
        for mine in alike(sender):
            allowed = ~model.egress_down & ~looked.into_drops(int(sender[mine[0]]))
            rows.append(_flooded(model, allowed, nodes, mine[taken[mine]], arrives))
    load = np.bincount(
        np.concatenate([tour.astype(np.int64) * channels + channel for tour, _, channel in rows] or [_NONE]),
        minlength=len(nodes) * channels,
    )
    if len(model.group_node):
        rows.append(_broadcast_by_group(model, looked, (sender, nodes, taken), arrives))
    heard = arrives.copy()  # a host alone on its switch has no entry for itself
    near, first = model.leaving(nodes)
    at_host = (model.egress_host[first] >= 0) & taken[near]
    heard[near[at_host], model.egress_host[first[at_host]]] = True
    empty = np.empty(0, np.int32)
    tour32, host32, channel32 = map(np.concatenate, zip(*rows, strict=True)) if rows else (empty, empty, empty)
    return _Tours(
        nodes,
        sender,
        taken,
        of_host,
        arrives,
        heard,
        tour32,
        host32,
        channel32,
        np.concatenate(turns) if turns else np.empty(0, np.int64),
        load.reshape(len(nodes), channels).astype(np.float64),
    )


def _flooded(
    model: Forwarding,
    allowed: NDArray[np.bool_],
    nodes: NDArray[np.int64],
    mine: NDArray[np.int64],
    arrives: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return rows of the tours `mine` for frames to unknown addresses on their way to each uplink, and note arrivals.

    An uplink is reached if a flood comes there; by entries as well, if its own address is known. Copies that come there
    twice are found by their number, as all floods' are; then the VLAN is no tree. So are copies of an uplink's own
    frames that return: without any, what switches learn of addresses behind it leads where its floods do.
    """
    uplinks = model.fabric.uplinks
    # Entries that name an uplink's own address lead the same way.
    unknown = np.array([model.fabric.hosts[u].mac == 0 for u in uplinks], np.bool_)
    come, rows = _copies(model, allowed, nodes[mine], uplinks, unknown)
    arrives[np.ix_(mine, uplinks)] = come & (arrives[np.ix_(mine, uplinks)] | unknown)
    return mine[rows[0]].astype(np.int32), rows[1], rows[2]


def _broadcast_by_group(
    model: Forwarding,
    looked: LookedUp,
    tours: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]],
    arrives: NDArray[np.bool_],
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """Return rows of the tours whose broadcasts entries for their address lead, for these on their way to each host.

    `tours` are their senders, nodes, and whether they are taken in. Such broadcasts may take other ways than frames to
    one host. A host is reached only if both come there.
    """
    sender, nodes, taken = tours
    found: list[tuple[NDArray[np.int32], ...]] = []
    led = taken & np.isin(nodes, model.group_node)
    everyone = np.arange(len(model.fabric.hosts))
    for same in alike(sender):
        mine = same[led[same]]
        allowed = narrowed(model, model.egress_floods) & ~model.egress_down
        allowed &= ~looked.into_drops(int(sender[same[0]]))
        come, rows = _copies(model, allowed, nodes[mine], everyone, np.ones(len(everyone), np.bool_))
        arrives[mine] &= come
        found.append((mine[rows[0]].astype(np.int32), rows[1], rows[2]))
    tour, host, channel = (np.concatenate(column) for column in zip(*found, strict=True))
    return tour, host, channel


def _copies(
    model: Forwarding,
    allowed: NDArray[np.bool_],
    nodes: NDArray[np.int64],
    hosts: NDArray[np.int64],
    noted: NDArray[np.bool_],
) -> tuple[NDArray[np.bool_], tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]]:
    """Return which of the `hosts` copies of floods into each node reach, bool[K, len(hosts)], and their ways there.

    Copies take the egresses that `allowed` masks, bool[R]. The ways are rows of (place in `nodes`, host, channel), for
    the hosts that `noted` masks.
    """
    who, first = model.leaving(nodes)
    kept = allowed[first]
    who, first = who[kept], first[kept]
    before, after, _ = model.followed(allowed, np.unique(first))
    order = np.argsort(before, kind="stable")
    start = np.searchsorted(before[order], np.arange(len(allowed) + 1))
    come = np.zeros((len(nodes), len(hosts)), np.bool_)
    rows: list[tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]] = [(_NONE, _NO32, _NO32)]
    for i, u in enumerate(hosts.tolist()):
        leads = reached(len(allowed), after, before, np.flatnonzero(model.egress_host == u))
        place, egress = who[leads[first]], first[leads[first]]
        for _ in range(model.nodes + 1):
            come[place[model.egress_host[egress] == u], i] = True
            on = model.egress_channel[egress] >= 0
            place, egress = place[on], egress[on]
            if not len(place):
                break
            if noted[i]:
                rows.append((place, np.full(len(place), u, np.int32), model.egress_channel[egress].astype(np.int32)))
            count = start[egress + 1] - start[egress]
            place, egress = np.repeat(place, count), after[order[places(start[egress], count)]]
            place, egress = place[leads[egress]], egress[leads[egress]]
            pairs = np.unique(place * len(allowed) + egress)  # copies of one flood on one egress go on alike
            place, egress = np.divmod(pairs, len(allowed))
    at, host, channel = (np.concatenate(column) for column in zip(*rows, strict=True))
    return come, (at, host, channel)


class _UsedDependencies:
    """The dependencies of all used tours, unicasts and floods together; `fits` keeps them acyclic."""

    def __init__(self, model: Forwarding, tours: _Tours, used: Collection[int]) -> None:
        self.model, self.tours, self.looked = model, tours, looked_up(model)
        self.channels = max(1, len(model.fabric.tail))
        self.once = self.storm_free = True
        self.used = {t for t in used if t >= 0}
        self.refused: set[int] = set()
        self.beside = _NONE  # dependencies of other networks' frames
        self.keys = self._of(self.used)

    def _of(self, some: Collection[int]) -> NDArray[np.int64]:
        """Return the dependencies of tours, as held * channels + wanted, and check their floods."""
        few = np.array(sorted(some), np.int64)
        square = self.channels**2
        mine = self.tours.turns[np.isin(self.tours.turns // square, few)] % square
        keys, tours = [mine], self.tours
        for same in alike(tours.sender[few]):
            some = few[same]
            some = some[tours.taken[some]]
            dropped = self.looked.into_drops(int(tours.sender[few[same[0]]]))
            flooded, copies = flood_from(self.model, tours.node[some], ~dropped)
            self.storm_free &= not flooded.storm
            if len(self.model.group_node):
                by_group = narrowed(self.model, self.model.egress_floods) & ~dropped
                _, copies = flood_from(self.model, tours.node[some], by_group)
            # Entries lead over egresses that a flood takes too. So as many copies as hosts that entries lead to are one
            # for each of these, on the path of the unicasts, and both survive the same failures. Where entries for the
            # broadcast address lead broadcasts, the hosts are those that both reach.
            self.once &= bool(np.array_equal(copies, tours.heard[some].sum(axis=1)))
            keys.append(flooded.held * self.channels + flooded.wanted)
        return np.unique(np.concatenate(keys))

    def fits(self, tour: int) -> bool:
        """Use a tour if it closes no cycle with those in use; return whether it is in use."""
        if tour in self.used or tour in self.refused:
            return tour in self.used
        before = self.once, self.storm_free
        keys = np.union1d(self.keys, self._of({tour}))
        harmless = (self.once or not before[0]) and (self.storm_free or not before[1])
        around = np.union1d(keys, self.beside)
        if harmless and not find_cycle(self.channels, *np.divmod(around, self.channels)):
            self.used.add(tour)
            self.keys = keys
            return True
        self.once, self.storm_free = before
        self.refused.add(tour)
        return False

    def cycle(self) -> list[int]:
        """Return the channels of a dependency cycle, [] if there is none."""
        return find_cycle(self.channels, *np.divmod(self.keys, self.channels))


class _FailureTally:
    """The effects of one failure after another, added up."""

    def __init__(
        self,
        fabric: Fabric,
        tours: _Tours,
        legal: _UsedDependencies,
        home: list[int],
        moves: dict[Part, dict[int, int]] | None,
        *,
        alone: bool,
    ) -> None:
        self.alone = alone
        self.fabric, self.tours, self.legal, self.moves = fabric, tours, legal, moves
        self.each = list[tuple[int, int, int, int]]()  # by failure: cut, saved, unprotected pairs, PVIDs that change
        self.home = np.array([tours.of_host.get(pair, -1) for pair in enumerate(home)], np.int64)
        self.pairs, self.moved = fabric.same_network, set[tuple[int, int]]()
        into = fabric.head[tours.channel] if len(tours.channel) else tours.channel
        self.label = components(fabric, (-1, -1))
        self.bridges, self.joints = cutting_parts(fabric)
        self.by_link = _sorted(tours.channel // 2, len(fabric.links))
        self.by_switch = _sorted(into, len(fabric.switches))
        self.options: dict[int, list[int]] = {}
        for (h, _), t in tours.of_host.items():
            self.options.setdefault(h, []).append(t)
        self.protected = self.unprotected = self.saved = self.cut = self.worst = self.pvids = 0
        self.losses: list[Loss] = []
        # (tour, host) that no frame passes; the last row is for no tour
        self.broken = np.append(~tours.arrives, np.ones((1, len(fabric.hosts)), np.bool_), axis=0)
        which, times = np.unique(self.home[self.home >= 0], return_counts=True)
        self.home_load: NDArray[np.float64] = times.astype(np.float64) @ tours.load[which]
        load, hops = self._load(self.home)
        # Unless alone: float64[C] and the sum of all, before, then after each failure without what is dead.
        self.loads = [(load, hops)]
        self.load_before, self.hops_before = int(load.max(initial=0)), int(hops)
        self.load, self.hops = self.load_before, self.hops_before

    def _load(self, taken: NDArray[np.int64]) -> tuple[NDArray[np.float64], float]:
        """Return how many pairs pass each channel, float64[C], and the channels on the paths of all together."""
        changed = np.flatnonzero(taken != self.home)
        new, old = taken[changed], self.home[changed]
        load = self.home_load + self.tours.load[new[new >= 0]].sum(axis=0) - self.tours.load[old[old >= 0]].sum(axis=0)
        return load, float(load.sum())

    def _connected(self, part: Part) -> NDArray[np.bool_]:
        """Return the ordered pairs of hosts of one network that are alive and connected, bool[H, H]."""
        link, switch = part
        label = components(self.fabric, part) if link in self.bridges or switch in self.joints else self.label
        near = label[self.fabric.host_switch]
        near[self.fabric.host_switch == switch] = -1
        together: NDArray[np.bool_] = (near[:, None] == near[None, :]) & (near >= 0)[:, None] & self.pairs
        return together

    def _passing(self, part: Part) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return the tours and hosts whose frames pass a part, int32[R] each."""
        link, _ = part
        order, start = self.by_link if link >= 0 else self.by_switch
        rows = order[start[max(part)] : start[max(part) + 1]]
        return self.tours.tour[rows], self.tours.host[rows]

    def lose(self, part: Part, moves: dict[int, int] | None) -> None:
        """Remove a part, move hosts by `moves` or, with None, to serve most pairs, and count."""
        connected, broken, passing = self._connected(part), self.broken, self._passing(part)
        broken[passing] = True
        before = broken[self.home] & connected
        taken = self.home.copy()
        if moves is not None:
            for h, vlan in moves.items():
                taken[h] = self.tours.of_host.get((h, vlan), -1)
        else:
            for h in np.flatnonzero(before.any(axis=1)).tolist():
                options = np.array(self.options.get(h, []), np.int64)
                left = (broken[options] & connected[h]).sum(axis=1)
                for i in np.argsort(left, kind="stable").tolist():
                    if left[i] >= before[h].sum() or self.legal.fits(int(options[i])):
                        taken[h] = options[i] if left[i] < before[h].sum() else taken[h]
                        break
        after = broken[taken] & connected
        broken[passing] = ~self.tours.arrives[passing]
        unprotected, total = int(after.sum()), int(connected.sum())
        cut, saved = self.pairs.sum() - total, int((before & ~after).sum())
        self.protected += total - unprotected
        self.unprotected += unprotected
        self.saved += saved
        self.cut, self.worst = max(self.cut, int(cut)), max(self.worst, unprotected)
        changed = np.flatnonzero((taken != self.home) & (taken >= 0))
        self.moved.update(zip(changed.tolist(), taken[changed].tolist(), strict=True))
        self.pvids = max(self.pvids, int((taken != self.home).sum()))
        load, hops = self._load(taken)
        dead = dead_channels(self.fabric, len(load), part)
        self.load, self.hops = max(self.load, int(load[~dead].max(initial=0))), max(self.hops, int(hops))
        if not self.alone:
            self.loads.append((np.where(dead, 0.0, load), hops))
        self.each.append((int(cut), saved, unprotected, int((taken != self.home).sum())))
        if unprotected:
            names = [self.fabric.hosts[h].name for h in range(len(self.fabric.hosts))]
            pairs = tuple(f"{names[a]} -> {names[b]}" for a, b in np.argwhere(after)[:WITNESSES].tolist())
            self.losses.append(Loss(named(self.fabric, part), int(cut), saved, unprotected, pairs))

    def answer(self, kind: str, failures: int) -> WhatIf:
        """Return the effects of all failures together."""
        cycle = self.legal.cycle()
        return WhatIf(
            kind=kind,
            failures=failures,
            protected=self.protected,
            unprotected=self.unprotected,
            saved=self.saved,
            cut_pairs_max=self.cut,
            unprotected_pairs_max=self.worst,
            pvids_max=self.pvids,
            deadlock_free=not cycle,
            deadlock_cycle=tuple(channel_name(self.fabric, c) for c in cycle),
            broadcast_exactly_once=self.legal.once,
            storm_free=self.legal.storm_free,
            load_before=self.load_before,
            load_max=self.load,
            hops_before=self.hops_before,
            hops_max=self.hops,
            losses=tuple(self.losses),
            dependencies=np.divmod(self.legal.keys, self.legal.channels),
        )


def _sorted(of: NDArray[np.int32], count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sort rows by their number, below `count`: (rows int64[R], where those of each begin int64[count + 1])."""
    small = of.astype(np.uint16) if count < 1 << 16 else of  # 16 bits are sorted by counting
    starts = np.zeros(count + 1, np.int64)
    np.cumsum(np.bincount(of, minlength=count), out=starts[1:])
    return np.argsort(small, kind="stable"), starts
