"""Prove a wave: in every interleaving of its command lines no pair is lost, nothing storms, nothing can deadlock.

A wave gives each switch a list of lines. Each switch may have executed any number of its own, and a frame may meet each
switch at another moment. All of that is judged by one fixpoint over frame states (switch, in-port, tag, destination) in
which each switch contributes the union over its own line positions (theorem 1 of the rollout research beside the
design). In every execution each frame moves along an edge of that union, because a hop is decided by one position of
one switch. A path in the union that meets no switch twice is a frame's path in one frozen state, because switches are
independent. So no interleaving is ever enumerated. What is checked of the union U:

1. the channel dependencies of U, of unicasts and floods together, are acyclic: no deadlock (Dally and Seitz 1987),
   and no frame loops, since a loop or a storm in any interleaving crosses channels that depend on one another in a
   cycle;
2. a unicast has, at every frame state and every position, exactly one egress, by a static entry, which is another
   frame state or its host untagged: with (1) it is delivered, once, and never flooded;
3. a broadcast reaches every host: without entries for the broadcast address, and if all ports flood, that follows
   from (2), since a flood includes the path of each unicast (lemma 3); else each host must be reached whatever
   positions are met;
4. unless the plan allows duplicates, no choice of positions delivers more copies than there are other hosts;
5. no switch that looks up senders drops a frame for its sender (see `strange_senders`);
6. with several networks, 2 to 4 hold among the hosts of each, and networks that were isolated stay so (see
   `isolation_wave`);
7. the channel dependencies of U and of foreign frames, followed likewise, have no cycle whose channels all end at ports
   that send PAUSE (see `foreign_waits`).

`ProofAssumptions` weakens two of these. Without PAUSE nothing can deadlock; instead of (1) the frame states of each
destination, and those of floods, must each be acyclic, so that still no frame loops. If switches learn, a unicast that
no entry pins is flooded; instead of (2) every choice must deliver it to its host, once. Its copies are among those of a
broadcast, so (4) bounds them.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle, ranks
from tagloom.graph.kernel import kernel
from tagloom.platforms.port_names import channel_name, port_name
from tagloom.records.switch_state import Frames
from tagloom.records.tagged_ports import lines_without_tags, without_tags
from tagloom.records.wave_proof import AS_PLANNED, ProofAssumptions, WaveProof
from tagloom.units import number_of
from tagloom.verify.foreign_waits import waiting_in_state, waiting_in_wave
from tagloom.verify.guard import guard
from tagloom.verify.interleaving import NOWHERE, InterleavingModel, interleaving, reachable, without_blocked
from tagloom.verify.isolation_wave import leaks_of_wave
from tagloom.verify.strange_senders import dropped_as_strange
from tagloom.verify.transient_ports import transient_hosts, with_transient_tags

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.lines import Lines
    from tagloom.records.switch_state import FabricState

WITNESSES = 5
NOBODY = -1  # an address that no entry names
_TAGGED_ONLY, _UNTAGGED_ONLY = int(Frames.TAGGED_ONLY), int(Frames.UNTAGGED_ONLY)
_DROPPED, _FLOODED, _SPLIT, _ASTRAY, _LOST = range(5)
_WHY = (
    "dropped at {} at some line",
    "flooded at {} at some line",
    "not sent out of exactly one port at {} at some line",
    "led to another host at {} at some line",
    "lost before {} at some line, where the ends of the link differ",
)


def prove_wave(
    fabric: Fabric,
    before: FabricState,
    lines: Mapping[str, Lines],
    *,
    duplicates_allowed: bool = False,
    assumptions: ProofAssumptions = AS_PLANNED,
) -> WaveProof:
    """Prove every state that `lines` (by switch name) can lead through from `before`, and every frame in transit.

    `assumptions` say what else is known; the lines of switches that are stuck must be among `lines`. Frames sent before
    the wave are covered if they look like those of the wave; otherwise they must have been drained. What the model does
    not follow must not affect any frame: see `guard`.
    """
    proof = prove_frames(fabric, before, lines, duplicates_allowed=duplicates_allowed, assumptions=assumptions)
    leaks = leaks_of_wave(with_transient_tags(fabric, assumptions.transient_tags), before, lines)
    dropped = dropped_as_strange(fabric, before, lines, follow_frames)
    waiting = _waiting(fabric, before, lines, proof, assumptions) if proof.proven else []
    guarded = guard(fabric, before, lines, assumptions)
    return replace(proof, findings=(*proof.findings, *dropped, *waiting, *leaks, *guarded))


def _waiting(
    fabric: Fabric,
    before: FabricState,
    lines: Mapping[str, Lines],
    proof: WaveProof,
    assumptions: ProofAssumptions,
) -> list[Finding]:
    """Return a finding if the fabric's own frames and foreign ones may wait for one another in a cycle."""
    own, own_before = (proof.held, proof.wanted), partial(own_dependencies, fabric, before, assumptions=assumptions)
    return waiting_in_wave(fabric, before, lines, own, assumptions, follow_foreign, own_before)


def own_dependencies(
    fabric: Fabric,
    state: FabricState,
    sources: NDArray[np.bool_] | None = None,
    *,
    assumptions: ProofAssumptions = AS_PLANNED,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the dependencies of frames from hosts, all or those of `sources`, in a state, as (held, wanted)."""
    alone = prove_frames(fabric, state, {}, duplicates_allowed=True, sources=sources, assumptions=assumptions)
    return alone.held, alone.wanted


def foreign_dependencies(
    fabric: Fabric, state: FabricState, assumptions: ProofAssumptions = AS_PLANNED
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the dependencies of foreign frames between channels that pause in a state, as (held, wanted)."""
    return waiting_in_state(fabric, state, assumptions, follow_foreign)


def follow_foreign(
    net: InterleavingModel, switch: NDArray[np.int32], port: NDArray[np.int32], tag_node: NDArray[np.int32]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the dependencies of frames that enter by ports outside the fabric, as (held, wanted).

    `tag_node` is the node that the tag of each names, NOWHERE if it has none.
    """
    turns = turns_of(net)
    entering = net._replace(host_switch=switch, host_port=port)
    _broadcasts(entering, np.ones(len(switch), np.bool_), tag_node, turns, NOBODY, 0)
    held, out = np.nonzero(turns[:-1])
    return held.astype(np.int64), net.port_channel[net.head[held], out].astype(np.int64)


def prove_frames(
    fabric: Fabric,
    before: FabricState,
    lines: Mapping[str, Lines],
    *,
    duplicates_allowed: bool = False,
    sources: NDArray[np.bool_] | None = None,
    assumptions: ProofAssumptions = AS_PLANNED,
) -> WaveProof:
    """Prove what `prove_wave` does for the cells in the model alone, for frames from the hosts that `sources` masks."""
    seen = [(*without_tags(part, before), lines_without_tags(part, lines)) for part in fabric.by_network]
    parts = [part for part, _, _ in seen]
    nets = [without_blocked(part, interleaving(part, held, sent), assumptions.blocked) for part, held, sent in seen]
    channels, turns, states = len(fabric.tail), turns_of(nets[0]), 0
    sending = np.ones(len(fabric.hosts), np.bool_) if sources is None else sources
    senders = [sending[hosts] for hosts in fabric.networks.values()]
    findings = _unbound_findings(fabric, nets[0])
    floods: list[list[Records]] = []
    for (part, held_there, sent), net, mine in zip(seen, nets, senders, strict=True):
        found, records, more = _frames_of(part, net, mine, turns, held_there, sent, assumptions)
        findings += found
        floods.append(records)
        states += more
    findings += _transient_turns(fabric, before, lines, turns, assumptions)
    held, out = np.nonzero(turns[:channels])
    wanted = fabric.port_channel[fabric.head[held], out].astype(np.int64)
    held = held.astype(np.int64)
    cycle = () if assumptions.lossy else tuple(find_cycle(channels, held, wanted))
    for part, net, both in zip(parts, nets, floods, strict=True) if assumptions.lossy else ():
        findings += [found for records in both for found in goes_round(part, net, records, "a broadcast")]
    if cycle:
        named = "; ".join(channel_name(fabric, c) for c in cycle)
        findings.append(Finding("channels", "no dependency cycle in any interleaving of the wave's lines", named))
    elif not findings:
        rank = None if assumptions.lossy else ranks(channels, held, wanted)
        for part, net, mine, both in zip(parts, nets, senders, floods, strict=True):
            findings += _arrivals(part, net, both, mine, rank, paused=assumptions.paused, once=not duplicates_allowed)
    return WaveProof(states, held, wanted, cycle, tuple(findings))


def _frames_of(
    fabric: Fabric,
    net: InterleavingModel,
    sending: NDArray[np.bool_],
    turns: NDArray[np.bool_],
    before: FabricState,
    lines: Mapping[str, Lines],
    assumptions: ProofAssumptions,
) -> tuple[list[Finding], list[Records], int]:
    """Follow the frames of one network's hosts and add their turns.

    Return findings for unicasts, the records of broadcasts and of frames that no entry names, and the states met.
    """
    findings: list[Finding] = []
    learns = np.isin(net.node_vlan, list(assumptions.learning))
    addressed = [(fabric, net), *_by_further_addresses(fabric, before, lines, assumptions)]
    states = 0
    for known, each in addressed:
        trouble, count, more = _unicasts(each, sending, turns, learns, assumptions.paused)
        findings += _pair_findings(known, each, trouble, count)
        states += more
    for known, each in addressed if (assumptions.learning or assumptions.lossy) and not findings else ():
        findings += _each_destination(known, each, sending, turns, paused=assumptions.paused)
    floods: list[Records] = [follow_frames(net, sending, turns, address) for address in (len(fabric.hosts), NOBODY)]
    return findings, floods, states + sum(len(np.unique(records[0])) for records in floods)


def _arrivals(
    fabric: Fabric,
    net: InterleavingModel,
    floods: list[Records],
    sending: NDArray[np.bool_],
    rank: NDArray[np.int32] | None,
    *,
    paused: bool,
    once: bool,
) -> list[Finding]:
    """Return findings for the copies of one network's floods, which are acyclic by the `rank` of channels, if given."""
    hosts = len(fabric.hosts)
    if rank is None:
        height = _heights(net, floods[0])
    else:
        height = np.append(rank, -1)[np.append(net.arrival_channel, np.full(hosts, -1, np.int32))]
    # At least one copy follows from the unicasts, flooded ones too, unless an entry narrows broadcasts, or a port that
    # floods nothing (lemma 3).
    named = net.entry_lo[hosts + 1] > net.entry_lo[hosts] or net.event_lo[hosts + 1] > net.event_lo[hosts]
    requested = bool(named) or _confined(net)
    broadcasts, unnamed = (_without_entry_drops(net, each) if paused else each for each in floods)
    return _to_uplinks(fabric, net, unnamed, sending) + _copy_findings(
        fabric, net, broadcasts, height, sending, requested=requested, once=once
    )


def _by_further_addresses(
    fabric: Fabric, before: FabricState, lines: Mapping[str, Lines], assumptions: ProofAssumptions
) -> Iterator[tuple[Fabric, InterleavingModel]]:
    """Yield the fabric as known by its hosts' further addresses, with the model of entries for those."""
    for known in fabric.by_further_addresses:
        yield known, without_blocked(known, interleaving(known, before, lines), assumptions.blocked)


def _transient_turns(
    fabric: Fabric,
    before: FabricState,
    lines: Mapping[str, Lines],
    turns: NDArray[np.bool_],
    assumptions: ProofAssumptions,
) -> list[Finding]:
    """Add the turns of floods from transient ports and with transient tags: their copies include all that entries lead.

    An entry only leads out of members of its VLAN, so a unicast from or to such a host takes no turn that a flood does
    not take. Frames of other hosts to it are covered likewise, by those hosts' floods. Neither holds if some port
    floods nothing; then both floods are followed as if all ports did.
    """
    visited = transient_hosts(fabric, assumptions.transient_ports, assumptions.transient_tags)
    found: list[Finding] = []
    parts = [*((seen, True) for seen in visited), *((part, False) for part in fabric.by_network if visited)]
    for part, comes in parts:
        seen, held = without_tags(part, before)
        net = without_blocked(fabric, interleaving(seen, held, lines_without_tags(part, lines)), assumptions.blocked)
        if not comes and not _confined(net):
            continue
        what = "a guest's broadcast" if comes else "frames to a guest"
        everywhere = np.full(len(net.floods_at_first), ~np.uint64(0))
        net = net._replace(floods_at_first=everywhere, port_floods=np.ones_like(net.port_floods))
        records = follow_frames(net, np.ones(len(seen.hosts), np.bool_), turns, NOBODY)
        found += goes_round(seen, net, records, what) if assumptions.lossy else []
    return found


def _confined(net: InterleavingModel) -> bool:
    """Return whether some open port floods nothing at some line."""
    return bool((net.port_on & ~net.port_floods).any())


def live_vlans(fabric: Fabric, before: FabricState, lines: Mapping[str, Lines]) -> set[tuple[int, int]]:
    """Return every (switch index, VLAN) that a frame may be classified to at some line; perhaps more, never fewer.

    Any line may add, change or remove all others at any time (lemma 1).
    """
    found = set[tuple[int, int]]()
    for part in fabric.by_network if fabric.tagged_hosts else (fabric,):
        net = interleaving(*without_tags(part, before), lines_without_tags(part, lines))
        rows = np.flatnonzero(reachable(net)[:-1])
        found |= set(zip(net.node_switch[rows].tolist(), net.node_vlan[rows].tolist(), strict=True))
    return found


def _unbound_findings(fabric: Fabric, net: InterleavingModel) -> list[Finding]:
    """Return findings for cables that have carrier but are unbound at some line: flows leave by them."""
    found = []
    for s, port, channel in net.loose[:WITNESSES].tolist():
        switch = fabric.switches[s]
        name = platforms.of(switch).port_name
        expected = f"a member of {name(channel)} at every line"
        found.append(Finding(f"{switch.name}:{name(port)} lag", expected, "up and not bound at some line"))
    return found


def _pair_findings(fabric: Fabric, net: InterleavingModel, trouble: NDArray[np.int64], count: int) -> list[Finding]:
    found = []
    for why, d, node, s, p in trouble[: min(count, WITNESSES)].tolist():
        vlan = f" in VLAN {net.node_vlan[node]}" if node >= 0 else ""
        where = f"{port_name(fabric, s, p)}{vlan}"
        expected = "one way out at every line, pinned by a static entry"
        found.append(Finding(f"frames to {fabric.hosts[d].name}", expected, _WHY[why].format(where)))
    if count > WITNESSES:
        found.append(Finding("frames", "one way out at every line", f"{count - WITNESSES} more frame states without"))
    return found


Records = tuple["NDArray[np.int64]", "NDArray[np.int64]", "NDArray[np.int64]"]


def turns_of(net: InterleavingModel) -> NDArray[np.bool_]:
    """Return an empty table of turns (channel held, port wanted), bool[C + 1, W]; the last row is for hosts."""
    return np.zeros((len(net.head) + 1, net.width), np.bool_)


def _each_destination(
    fabric: Fabric, net: InterleavingModel, sending: NDArray[np.bool_], turns: NDArray[np.bool_], *, paused: bool
) -> list[Finding]:
    """Prove that frames to each host, flooded or not, never loop, and that every choice delivers exactly one."""
    found: list[Finding] = []
    for d in np.flatnonzero(net.host_named).tolist():
        others = sending.copy()
        others[d] = False
        records = follow_frames(net, others, turns, d)
        name = fabric.hosts[d].name
        circling = goes_round(fabric, net, records, f"frames to {name}")
        if circling:
            found += circling
            continue
        heard, copies = copies_at(net, _without_entry_drops(net, records) if paused else records, d)
        for a in np.flatnonzero(others & ~heard)[:1].tolist():
            found.append(
                Finding(f"frames to {name}", "delivery at every line", f"{fabric.hosts[a].name}'s may be lost")
            )
        for a in np.flatnonzero(others & (copies > 1))[:1].tolist():
            found.append(Finding(f"frames to {name}", "one copy at every line", f"{fabric.hosts[a].name}'s come twice"))
    return found[:WITNESSES]


def _to_uplinks(fabric: Fabric, net: InterleavingModel, records: Records, sending: NDArray[np.bool_]) -> list[Finding]:
    """Prove that every choice delivers one copy of frames to addresses behind each uplink; `records` must be acyclic.

    If frames keep their VLAN, each VLAN is a tree at every line, and a port where a switch has learned an address stays
    the one that leads there. If frames are retagged by in-port, what was learned at one line is not followed to the
    next.
    """
    found: list[Finding] = []
    if not len(fabric.uplinks):
        return found
    onto_links = np.flatnonzero(fabric.port_channel.ravel() >= 0)
    s, port = np.divmod(onto_links, fabric.port_channel.shape[1])
    untagged = np.zeros(len(fabric.switches), np.uint64)
    np.bitwise_or.at(untagged, net.node_switch, net.ever_untagged)
    if ((untagged[s] >> (port - 1).astype(np.uint64)) & np.uint64(1)).any():
        expected = "frames that keep their VLAN all the way (--assignment fixed), or no uplink"
        found.append(
            Finding("uplinks", expected, "VLANs of in-ports, where what is learnt at one line may mislead at the next")
        )
    for u in fabric.uplinks.tolist():
        heard, copies = copies_at(net, records, u)
        others = sending & (np.arange(len(sending)) != u)
        where = f"frames to addresses behind {fabric.hosts[u].name}"
        for which, what in ((others & ~heard, "be lost"), (others & (copies > 1), "come twice")):
            names = (fabric.hosts[a].name for a in np.flatnonzero(which)[:1].tolist())
            found += [Finding(where, "one copy at every line", f"{name}'s may {what}") for name in names]
    return found[:WITNESSES]


def copies_at(net: InterleavingModel, records: Records, d: int) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return whose frames reach host `d` whatever is chosen, bool[H], and the most copies, int64[H].

    `records` must be acyclic.
    """
    hosts, arrivals = len(net.host_switch), len(net.arrival_channel)
    order = _in_order(_heights(net, records), records[0], records[1])
    state, choice, to = (column[order] for column in records)
    aside = np.where((to >= arrivals) & (to != arrivals + d), NOWHERE, to)
    heard = _surely_heard(state, choice, to, arrivals, hosts, d)[arrivals:] & np.uint64(1) > 0
    return heard, _most_copies(state, choice, aside, arrivals, hosts)[arrivals:]


def goes_round(fabric: Fabric, net: InterleavingModel, records: Records, what: str) -> list[Finding]:
    """Return a finding for a cycle of frame states, with the channels along it."""
    onward = (records[2] >= 0) & (records[2] < len(net.arrival_channel))
    cycle = find_cycle(len(net.arrival_channel) + len(fabric.hosts), records[0][onward], records[2][onward])
    if not cycle:
        return []
    named = "; ".join(channel_name(fabric, int(net.arrival_channel[x])) for x in cycle)
    return [Finding(what, "no way round at any line", named)]


def _heights(net: InterleavingModel, records: Records) -> NDArray[np.int32]:
    """Rank frame states so that every step ascends; they must be acyclic."""
    onward = (records[2] >= 0) & (records[2] < len(net.arrival_channel))
    return ranks(len(net.arrival_channel) + len(net.host_switch), records[0][onward], records[2][onward])


def _in_order(height: NDArray[np.int32], state: NDArray[np.int64], choice: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return an order of the records in which the successors of a state come before it."""
    return np.lexsort((choice, state, -height[state].astype(np.int64)))


def _without_entry_drops(net: InterleavingModel, records: Records) -> Records:
    """Return the records without drops at entry: if hosts are paused, these are no choice of a switch on the path."""
    state, choice, to = records
    kept = (state < len(net.arrival_channel)) | (to != NOWHERE)
    return state[kept], choice[kept], to[kept]


def follow_frames(
    net: InterleavingModel, sending: NDArray[np.bool_], turns: NDArray[np.bool_], address: int
) -> Records:
    """Follow every copy of frames to host `address`, to the broadcast address (H), or to one no entry names (NOBODY).

    Return rows (frame state, choice, successor). States are arrivals, then hosts' injections. Each choice is one set of
    egresses that some position offers. An egress leads to an arrival, to host b as A + b, or nowhere (-1).
    """
    untagged = np.full(len(net.host_switch), NOWHERE, np.int32)
    room = 4 * len(net.arrival_channel) + 1024
    while True:
        state, choice, to, size = _broadcasts(net, sending, untagged, turns, address, room)
        if size <= room:
            return state[:size], choice[:size], to[:size]
        room = 2 * size


def _copy_findings(
    fabric: Fabric,
    net: InterleavingModel,
    records: Records,
    height: NDArray[np.int32],
    sending: NDArray[np.bool_],
    *,
    requested: bool,
    once: bool,
) -> list[Finding]:
    state, choice, to = records
    arrivals, hosts = len(net.arrival_channel), len(fabric.hosts)
    order = _in_order(height, state, choice)
    state, choice, to = state[order], choice[order], to[order]
    found: list[Finding] = []
    if once:
        copies = _most_copies(state, choice, to, arrivals, hosts)[arrivals:]
        for a in np.flatnonzero(sending & (copies > hosts - 1))[:WITNESSES].tolist():
            expected = "at most one copy at each other host, at every line"
            found.append(Finding(f"broadcast of {fabric.hosts[a].name}", expected, f"{number_of(copies[a], 'copy')}"))
    for first in range(0, hosts, 64) if requested else ():
        heard = _surely_heard(state, choice, to, arrivals, hosts, first)[arrivals:]
        for b in range(first, min(first + 64, hosts)):
            deaf = sending & ((heard >> np.uint64(b - first)) & np.uint64(1) == 0)
            deaf[b] = False
            for a in np.flatnonzero(deaf)[: max(0, WITNESSES - len(found))].tolist():
                where = f"broadcast of {fabric.hosts[a].name} at {fabric.hosts[b].name}"
                found.append(Finding(where, "a copy at every line", "none at some line"))
    return found


@kernel
def _epoch_at(position: NDArray[np.int64], lo: int, hi: int, now: int) -> int:
    """Return the last epoch of lo .. hi that has begun at `now`."""
    e = lo
    while e + 1 < hi and position[e + 1] <= now:
        e += 1
    return e


@kernel
def _of_pvid(net: InterleavingModel, s: int, e: int) -> int:
    """Return the node of the PVID of a port's epoch."""
    if net.port_pvid[e] == 0:
        return NOWHERE
    return net.node_of[s, net.port_pvid[e]]  # type: ignore[no-any-return]  # an element of an array of integers


@kernel
def _classified(net: InterleavingModel, s: int, p: int, tagged: bool, tag_node: int, now: int) -> int:
    """Return the node a frame arriving at port p of switch s is classified to at position `now`, NOWHERE if dropped."""
    place = s * net.width + p
    e = _epoch_at(net.port_pos, net.port_lo[place], net.port_lo[place + 1], now)
    if not net.port_on[e] or net.port_frames[e] == (_UNTAGGED_ONLY if tagged else _TAGGED_ONLY):
        return NOWHERE
    node = tag_node if tagged else _of_pvid(net, s, e)
    if node < 0:
        return NOWHERE
    r = _epoch_at(net.row_pos, net.row_lo[node], net.row_lo[node + 1], now)
    members = net.row_tagged[r] | net.row_untagged[r]
    if not net.row_exists[r] or (net.port_filter[e] and not (members >> np.uint64(p - 1)) & np.uint64(1)):
        return NOWHERE
    return node


@kernel
def _insert_sorted(found: NDArray[np.int64], size: int, position: int) -> int:
    """Insert a position into `size` ascending ones unless present; return the new size."""
    at = size
    while at > 0 and found[at - 1] > position:
        at -= 1
    if at > 0 and found[at - 1] == position:
        return size
    for i in range(size, at, -1):
        found[i] = found[i - 1]
    found[at] = position
    return size + 1


@kernel
def _positions(
    net: InterleavingModel,
    s: int,
    p: int,
    tagged: bool,
    tag_node: int,
    event_lo: NDArray[np.int64],
    event_hi: NDArray[np.int64],
    found: NDArray[np.int64],
) -> int:
    """Write to `found` the positions at which anything changes for frames arriving at port p of switch s."""
    place = s * net.width + p
    lo, hi = net.port_lo[place], net.port_lo[place + 1]
    found[0] = 0
    size = 1
    for e in range(lo, hi):
        size = _insert_sorted(found, size, net.port_pos[e])
        node = tag_node if tagged else _of_pvid(net, s, e)
        if node >= 0:
            for r in range(net.row_lo[node], net.row_lo[node + 1]):
                size = _insert_sorted(found, size, net.row_pos[r])
            for v in range(event_lo[node], event_hi[node]):
                size = _insert_sorted(found, size, net.event_pos[v])
    if net.on_varies[s]:
        for e in range(net.port_lo[s * net.width], net.port_lo[(s + 1) * net.width]):
            size = _insert_sorted(found, size, net.port_pos[e])
    return size


@kernel
def _most_positions(net: InterleavingModel) -> int:
    """Return an upper bound on the positions that `_positions` may find."""
    most = np.zeros(len(net.on_varies), np.int64)
    for k in range(len(net.node_switch)):
        most[net.node_switch[k]] += net.row_lo[k + 1] - net.row_lo[k]
    for s in range(len(most)):
        most[s] += net.port_lo[(s + 1) * net.width] - net.port_lo[s * net.width]
    events = 0
    for d in range(len(net.event_lo) - 1):
        events = max(events, net.event_lo[d + 1] - net.event_lo[d])
    return most.max() + events + 2  # type: ignore[no-any-return]  # as above


@kernel
def _steady(
    net: InterleavingModel,
    s: int,
    p: int,
    tagged: bool,
    tag_node: int,
    event_lo: NDArray[np.int64],
    event_hi: NDArray[np.int64],
) -> bool:
    """Return whether nothing changes for frames arriving at port p of switch s."""
    place = s * net.width + p
    lo = net.port_lo[place]
    if net.port_lo[place + 1] > lo + 1 or net.on_varies[s]:
        return False
    node = tag_node if tagged else _of_pvid(net, s, lo)
    return node < 0 or (net.row_lo[node + 1] == net.row_lo[node] + 1 and event_hi[node] == event_lo[node])


@kernel
def _egresses(
    net: InterleavingModel,
    s: int,
    p: int,
    node: int,
    now: int,
    pin: NDArray[np.uint64],
    event_lo: NDArray[np.int64],
    event_hi: NDArray[np.int64],
) -> tuple[bool, np.uint64, np.uint64]:
    """Return the egresses at position `now`: whether an entry gives them, and the tagged and untagged ports."""
    ports = pin[node]
    for v in range(event_lo[node], event_hi[node]):
        if net.event_pos[v] <= now:
            ports = net.event_ports[v]
    r = _epoch_at(net.row_pos, net.row_lo[node], net.row_lo[node + 1], now)
    on, floods = net.on_at_first[s], net.floods_at_first[s]
    if net.on_varies[s]:
        on, floods = np.uint64(0), np.uint64(0)
        for q in range(1, net.width):
            place = s * net.width + q
            e = _epoch_at(net.port_pos, net.port_lo[place], net.port_lo[place + 1], now)
            if net.port_on[e]:
                on |= np.uint64(1) << np.uint64(q - 1)
            if net.port_floods[e]:
                floods |= np.uint64(1) << np.uint64(q - 1)
    pinned = ports != np.uint64(0)
    allowed = on & ~(np.uint64(1) << np.uint64(p - 1))
    if pinned:
        allowed &= ports
    else:
        allowed &= floods
    return pinned, net.row_tagged[r] & allowed, net.row_untagged[r] & allowed


@kernel
def _arrival(net: InterleavingModel, node: int, port: int, channel: int, tagged: bool) -> int:
    """Return the number of the arrival of a frame that leaves `node` by `port`."""
    if not tagged:
        return channel
    below = net.ever_tagged[node] & ((np.uint64(1) << np.uint64(port - 1)) - np.uint64(1))
    at = net.arrival_lo[node]
    while below:
        below &= below - np.uint64(1)
        at += 1
    return at  # type: ignore[no-any-return]  # as above


@kernel
def _lowest_port(bits: np.uint64) -> int:
    """Return the lowest port of a non-empty set."""
    port = 1
    for width in (32, 16, 8, 4, 2, 1):
        below = (np.uint64(1) << np.uint64(width)) - np.uint64(1)
        if not bits & below:
            bits >>= np.uint64(width)
            port += width
    return port


@kernel
def _steady_nodes(net: InterleavingModel, last: int) -> NDArray[np.int64]:
    """Return the node of each arrival, and of each host's frames, at which nothing changes; -1 if something may.

    Static entries are ignored. Nearly all frame states of a wave are such, and are classified only once.
    """
    arrivals, hosts = len(net.arrival_channel), len(net.host_switch)
    none = np.zeros(len(net.node_vlan), np.int64)
    plain = np.full(arrivals + hosts, NOWHERE, np.int64)
    for x in range(arrivals + hosts):
        if x < arrivals:
            c = net.arrival_channel[x]
            if c < 0:
                continue
            s, p, tag_node = net.head[c], net.head_port[c], net.arrival_node[x]
        else:
            s, p, tag_node = net.host_switch[x - arrivals], net.host_port[x - arrivals], NOWHERE
        tagged = last <= x < arrivals
        if x < arrivals and net.doubtful[c]:
            continue
        if _steady(net, s, p, tagged, tag_node, none, none):
            plain[x] = _classified(net, s, p, tagged, tag_node, 0)
    return plain


@kernel
def _unicasts(  # noqa: C901, PLR0912, PLR0915 - one compiled loop: split, each part would take all of its arrays
    net: InterleavingModel,
    sending: NDArray[np.bool_],
    turns: NDArray[np.bool_],
    learns: NDArray[np.bool_],
    paused: bool,
) -> tuple[NDArray[np.int64], int, int]:
    """Follow unicasts to every host over all positions; mark the turns taken (channel held, port wanted).

    Return the first frame states in trouble as (why, destination, node, switch, in-port), their number, and the number
    of all frame states.
    """
    hosts, nodes, arrivals = len(net.host_switch), len(net.node_vlan), len(net.arrival_channel)
    last = turns.shape[0] - 1
    trouble = np.empty((WITNESSES, 5), np.int64)
    count = states = 0
    pin = np.zeros(nodes, np.uint64)
    event_lo, event_hi = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    seen = np.full(arrivals, -1, np.int64)
    stack = np.empty(arrivals + hosts, np.int64)
    found = np.empty(_most_positions(net), np.int64)
    plain = _steady_nodes(net, last)
    for d in range(hosts):
        if not net.host_named[d]:
            continue
        for i in range(net.entry_lo[d], net.entry_lo[d + 1]):
            pin[net.entry_node[i]] |= net.entry_ports[i]
        for i in range(net.event_lo[d], net.event_lo[d + 1]):
            node = net.event_node[i]
            if event_hi[node] == event_lo[node]:
                event_lo[node] = i
            event_hi[node] = i + 1
        size = 0
        for a in range(hosts):
            if a != d and sending[a]:
                stack[size] = arrivals + a
                size += 1
        while size:
            size -= 1
            x = stack[size]
            states += 1
            if x < arrivals:
                held = net.arrival_channel[x]
                s, p = net.head[held], net.head_port[held]
                tagged = x >= last
                tag_node = net.arrival_node[x]
            else:
                held = last
                s, p = net.host_switch[x - arrivals], net.host_port[x - arrivals]
                tagged = False
                tag_node = NOWHERE
            node = plain[x]
            if node >= 0 and event_hi[node] == event_lo[node]:
                r = net.row_lo[node]
                ports = pin[node] & net.on_at_first[s] & ~(np.uint64(1) << np.uint64(p - 1))
                tags = net.row_tagged[r] & ports
                ports &= net.row_tagged[r] | net.row_untagged[r]
                if ports and not ports & (ports - np.uint64(1)):
                    q = _lowest_port(ports)
                    c = net.port_channel[s, q]
                    if c >= 0 and net.usable[c]:
                        turns[held, q] = True
                        to = _arrival(net, node, q, c, tags != 0)
                        if seen[to] != d:
                            seen[to] = d
                            stack[size] = to
                            size += 1
                        continue
                    if c < 0 and not tags and net.port_host[s, q] == d:
                        continue
            steps = 1
            if not _steady(net, s, p, tagged, tag_node, event_lo, event_hi):
                steps = _positions(net, s, p, tagged, tag_node, event_lo, event_hi, found)
            for k in range(steps):
                now = found[k] if k else 0
                why = _LOST if x < arrivals and net.doubtful[held] else -1
                node = _classified(net, s, p, tagged, tag_node, now)
                if node < 0:
                    why = _DROPPED if x < arrivals or not paused else why
                else:
                    pinned, with_tag, without = _egresses(net, s, p, node, now, pin, event_lo, event_hi)
                    free = not pinned and learns[node]
                    if not pinned and not free:
                        why = _FLOODED
                    egresses = 0
                    rest = with_tag | without
                    while rest:
                        q = _lowest_port(rest)
                        bit = np.uint64(1) << np.uint64(q - 1)
                        rest &= ~bit
                        c = net.port_channel[s, q]
                        if c >= 0 and net.usable[c]:
                            egresses += 1
                            turns[held, q] = True
                            to = _arrival(net, node, q, c, with_tag & bit != 0)
                            if seen[to] != d:
                                seen[to] = d
                                stack[size] = to
                                size += 1
                        elif net.port_host[s, q] >= 0:
                            egresses += 1
                            if not free and (net.port_host[s, q] != d or with_tag & bit):
                                why = max(why, _ASTRAY) if why != _FLOODED else why
                    if why < 0 and egresses != 1 and not free:
                        why = _SPLIT
                if why >= 0:
                    if count < WITNESSES:
                        trouble[count, 0], trouble[count, 1], trouble[count, 2] = why, d, node
                        trouble[count, 3], trouble[count, 4] = s, p
                    count += 1
                    break
        for i in range(net.entry_lo[d], net.entry_lo[d + 1]):
            pin[net.entry_node[i]] = 0
        for i in range(net.event_lo[d], net.event_lo[d + 1]):
            event_lo[net.event_node[i]] = event_hi[net.event_node[i]] = 0
    return trouble, count, states


@kernel
def _broadcasts(  # noqa: C901, PLR0912, PLR0915 - one compiled loop: split, each part would take all of its arrays
    net: InterleavingModel,
    sending: NDArray[np.bool_],
    tag_nodes: NDArray[np.int32],
    turns: NDArray[np.bool_],
    address: int,
    room: int,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]:
    """Follow copies over all positions; return the rows and the size they need, more than `room` if it was short.

    `tag_nodes` are the nodes that the tags of hosts' frames name, NOWHERE if they have none.
    """
    hosts, nodes, arrivals = len(net.host_switch), len(net.node_vlan), len(net.arrival_channel)
    last = turns.shape[0] - 1
    out_state, out_choice, out_to = np.empty(room, np.int64), np.empty(room, np.int64), np.empty(room, np.int64)
    rows = choices = 0
    pin = np.zeros(nodes, np.uint64)
    event_lo, event_hi = np.zeros(nodes, np.int64), np.zeros(nodes, np.int64)
    if address >= 0:
        for i in range(net.entry_lo[address], net.entry_lo[address + 1]):
            pin[net.entry_node[i]] |= net.entry_ports[i]
        for i in range(net.event_lo[address], net.event_lo[address + 1]):
            node = net.event_node[i]
            if event_hi[node] == event_lo[node]:
                event_lo[node] = i
            event_hi[node] = i + 1
    seen = np.zeros(arrivals, np.bool_)
    stack = np.empty(arrivals + hosts, np.int64)
    found = np.empty(_most_positions(net), np.int64)
    size = 0
    for a in range(hosts):
        if sending[a]:
            stack[size] = arrivals + a
            size += 1
    while size:
        size -= 1
        x = stack[size]
        if x < arrivals:
            held = net.arrival_channel[x]
            s, p = net.head[held], net.head_port[held]
            tagged = x >= last
            tag_node = net.arrival_node[x]
        else:
            held = last
            s, p = net.host_switch[x - arrivals], net.host_port[x - arrivals]
            tag_node = tag_nodes[x - arrivals]
            tagged = tag_node >= 0
        if x < arrivals and net.doubtful[held]:  # a separate choice: lost on the link
            if rows < room:
                out_state[rows], out_choice[rows], out_to[rows] = x, choices, -1
            rows += 1
            choices += 1
        steps = 1
        if not _steady(net, s, p, tagged, tag_node, event_lo, event_hi):
            steps = _positions(net, s, p, tagged, tag_node, event_lo, event_hi, found)
        for k in range(steps):
            now = found[k] if k else 0
            egresses = 0
            node = _classified(net, s, p, tagged, tag_node, now)
            if node >= 0:
                _, with_tag, without = _egresses(net, s, p, node, now, pin, event_lo, event_hi)
                rest = with_tag | without
                while rest:
                    q = _lowest_port(rest)
                    bit = np.uint64(1) << np.uint64(q - 1)
                    rest &= ~bit
                    c = net.port_channel[s, q]
                    to = -1
                    if c >= 0 and net.usable[c]:
                        turns[held, q] = True
                        to = _arrival(net, node, q, c, with_tag & bit != 0)
                        if not seen[to]:
                            seen[to] = True
                            stack[size] = to
                            size += 1
                    elif net.port_host[s, q] >= 0 and not with_tag & bit:
                        to = arrivals + net.port_host[s, q]
                    if to >= 0:
                        if rows < room:
                            out_state[rows], out_choice[rows], out_to[rows] = x, choices, to
                        rows += 1
                        egresses += 1
            if not egresses:
                if rows < room:
                    out_state[rows], out_choice[rows], out_to[rows] = x, choices, -1
                rows += 1
            choices += 1
    return out_state, out_choice, out_to, rows


@kernel
def _most_copies(
    state: NDArray[np.int64], choice: NDArray[np.int64], to: NDArray[np.int64], arrivals: int, hosts: int
) -> NDArray[np.int64]:
    """Return a bound on the copies that reach hosts from each frame state: the most of any choice, at most `hosts`."""
    most = np.zeros(arrivals + hosts, np.int64)
    i = 0
    while i < len(state):
        x, c, total = state[i], choice[i], 0
        while i < len(state) and choice[i] == c:
            if to[i] >= arrivals:
                total += 1
            elif to[i] >= 0:
                total += most[to[i]]
            i += 1
        most[x] = max(most[x], min(total, hosts))
    return most


@kernel
def _surely_heard(
    state: NDArray[np.int64], choice: NDArray[np.int64], to: NDArray[np.int64], arrivals: int, hosts: int, first: int
) -> NDArray[np.uint64]:
    """Return the hosts from `first` on, as bits, that hear a broadcast from each frame state whatever is chosen."""
    heard = np.full(arrivals + hosts, ~np.uint64(0))
    i = 0
    while i < len(state):
        x, c, some = state[i], choice[i], np.uint64(0)
        while i < len(state) and choice[i] == c:
            if to[i] >= arrivals:
                b = to[i] - arrivals - first
                if 0 <= b < 64:
                    some |= np.uint64(1) << np.uint64(b)
            elif to[i] >= 0:
                some |= heard[to[i]]
            i += 1
        heard[x] &= some
    return heard
