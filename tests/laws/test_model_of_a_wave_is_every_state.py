"""Law: the model of a wave holds, at each position of each switch, the state in which its lines leave the switch."""

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from fabrics import random_mixed
from sending import stops
from tagloom.errors import PlanError
from tagloom.records.carrier import Carrier, carriers
from tagloom.records.change import Cell, Change
from tagloom.records.lines import BOUNCES, Lines
from tagloom.records.switch_state import BROADCAST, Frames, Membership, SwitchEditor
from tagloom.route import route
from tagloom.verify.interleaving import interleaving, reachable
from tagloom.weave import weave
from thinned import examples

NEW, EMPTY = 3000, 3001  # a VLAN that no switch has at first, and one without members
LINES = 5


def a_line(chance, fabric, s, held):
    """Return the changes of one line on switch s: one cell of any kind, at times two of one port."""
    vlans = [v for v in held.vlans.tolist() if v != EMPTY]
    used = [*fabric.used_ports[s], *{lag for lag in held.lag.tolist() if lag}]
    port, vlan = chance.choice(used), chance.choice(vlans)
    lags = sorted({0, *held.lag.tolist(), held.ports})
    of_port = {
        Cell.PVID: [0, *vlans],
        Cell.INGRESS_FILTER: [False, True],
        Cell.FRAMES: list(Frames),
        Cell.ENABLED: [False, True],
        Cell.NEGOTIATION: [False, True],
        Cell.SPEED: [0, 10, 100],
        Cell.LAG: [lag for lag in lags if lag != port],
        Cell.FLOODING: [False, True],
    }
    kind = chance.choice([Cell.VLAN, Cell.MEMBER, Cell.ENTRY, *of_port, *of_port])
    if kind is Cell.VLAN:
        return [chance.choice([Change(kind, 0, 1, vlan=NEW), Change(kind, 1, 0, vlan=EMPTY)])]
    if kind is Cell.MEMBER:
        return [Change(kind, Membership.NONE, chance.choice(list(Membership)), port=port, vlan=vlan)]
    if kind is Cell.ENTRY:
        mac = chance.choice([BROADCAST, *fabric.host_mac.tolist()])
        return [Change(kind, (), tuple(sorted(chance.sample(used, chance.randint(0, 2)))), vlan=vlan, mac=int(mac))]
    kinds = [kind, *chance.sample(sorted(of_port), chance.randint(0, 1))]
    return [Change(each, 0, chance.choice(of_port[each]), port=port) for each in dict.fromkeys(kinds)]


def a_wave(seed):
    """Return a fabric, its states, and some lines of each switch, as lists of changes; None if it cannot be planned."""
    chance = random.Random(seed)
    fabric = random_mixed(chance)
    try:
        state = dict(weave(fabric, route(fabric, "auto", "fixed"), "fixed").state)
    except PlanError:
        return None
    for name, held in state.items():
        editor = SwitchEditor.of(held)
        editor.create_vlan(EMPTY)
        state[name] = editor.freeze()
    lines = {}
    for s, (name, held) in enumerate(state.items()):
        mine, gone = [], False
        for _ in range(chance.randint(0, LINES)):
            changes = a_line(chance, fabric, s, held)
            deletes = changes[0].cell is Cell.VLAN and not changes[0].after
            if not (deletes and gone):
                mine.append(changes)
            gone |= deletes
        lines[name] = mine
    return fabric, state, lines


def states_at(held, lines):
    """Return a switch at each doubled position: after line i at 2 i, with what it takes down at the one before."""
    found, at = [held], 0
    every = iter(stops(held, lines)[1:])
    for changes in lines:
        down = next(every) if any(change.cell in BOUNCES for change in changes) else found[at]
        found += [down, next(every)]
        at += 2
    assert next(every, None) is None
    return found


def columns(lo, pos, at, k):
    """Return the row in which epochs of k hold position `at`."""
    return int(lo[k]) + int(np.searchsorted(pos[lo[k] : lo[k + 1]], at, side="right")) - 1


def members(held, vlan, how):
    row = held.vlan_index.get(vlan)
    ports = np.flatnonzero(held.membership[row] == how).tolist() if row is not None else []
    return sum(1 << port for port in ports)


def entries_at(net, d, at):
    """Return the ports of host d's entries at a position of all switches, as bits, by node."""
    found = {}
    for i in range(net.entry_lo[d], net.entry_lo[d + 1]):
        node = int(net.entry_node[i])
        found[node] = found.get(node, 0) | int(net.entry_ports[i])
    for i in range(net.event_lo[d], net.event_lo[d + 1]):
        if net.event_pos[i] <= at:
            found[int(net.event_node[i])] = int(net.event_ports[i])
    return {node: ports for node, ports in found.items() if ports}


def same_vlans(net, s, every):
    """See that members of all VLANs are those of the states."""
    there = {int(v) for held in every for v in held.vlans}
    assert there == set(net.node_vlan[net.node_switch == s].tolist())
    for vlan in there:
        k = int(net.node_of[s, vlan])
        for at, held in enumerate(every):
            row = columns(net.row_lo, net.row_pos, at, k)
            assert bool(net.row_exists[row]) == (vlan in held.vlan_index)
            assert int(net.row_tagged[row]) == members(held, vlan, Membership.TAGGED)
            assert int(net.row_untagged[row]) == members(held, vlan, Membership.UNTAGGED)


def same_ports(net, s, every, passing):
    """See that ports are as in the states; those of links are on while frames may pass."""
    seen = []
    for port in range(1, every[0].ports + 1):
        for at, held in enumerate(every):
            row = columns(net.port_lo, net.port_pos, at, s * net.width + port)
            assert int(net.port_pvid[row]) == held.pvid[port - 1]
            assert int(net.port_frames[row]) == held.frames[port - 1]
            assert bool(net.port_filter[row]) == held.ingress_filter[port - 1]
            assert bool(net.port_floods[row]) == held.flooding[port - 1]
            own = bool(held.enabled[port - 1]) and not held.lag[port - 1]
            assert bool(net.port_on[row]) == (own and passing.get((s, port), {}).get(at, True)), (port, at)
            seen.append((bool(net.port_on[row]), bool(net.port_floods[row])))
    on, floods = np.array(seen).T.reshape(2, every[0].ports, len(every))
    bits = 1 << np.arange(every[0].ports, dtype=np.uint64)
    assert int(net.on_at_first[s]) == int(bits[on[:, 0]].sum())
    assert int(net.floods_at_first[s]) == int(bits[floods[:, 0]].sum())
    assert bool(net.on_varies[s]) == bool((on != on[:, :1]).any() or (floods != floods[:, :1]).any())


def links_of(fabric, every):
    """Return when frames may pass each end of each link, and whether they ever may and may be lost, by brute force."""
    passing, usable, doubtful = {}, [], []
    for i, link in enumerate(fabric.links):
        table = np.zeros((len(every[link.a]), len(every[link.b])), np.uint8)
        for p, one in enumerate(every[link.a]):
            for q, other in enumerate(every[link.b]):
                held = [one if s == link.a else other if s == link.b else each[0] for s, each in enumerate(every)]
                table[p, q] = carriers(fabric, held)[i]
        may = table != Carrier.NONE
        passing[link.a, link.a_port] = dict(enumerate(may.any(axis=1).tolist()))
        passing[link.b, link.b_port] = dict(enumerate(may.any(axis=0).tolist()))
        usable.append(bool(may.any()))
        seen = np.outer(may.any(axis=1), may.any(axis=0))
        doubtful.append(bool((seen & (table != Carrier.WHOLE)).any()))
    return passing, usable, doubtful


@examples(200)
@given(st.integers(0, 2**32))
def test_every_position_is_the_state_after_its_lines(seed):
    wave = a_wave(seed)
    if wave is None:
        return
    fabric, state, lines = wave
    sent = {name: Lines.of(list(enumerate(mine, start=1))) for name, mine in lines.items()}
    net = interleaving(fabric, state, sent)
    every = [states_at(state[switch.name], lines[switch.name]) for switch in fabric.switches]
    passing, usable, doubtful = links_of(fabric, every)
    assert net.usable[0::2].tolist() == net.usable[1::2].tolist() == usable
    assert net.doubtful[0::2].tolist() == net.doubtful[1::2].tolist() == doubtful
    for s, mine in enumerate(every):
        same_vlans(net, s, mine)
        same_ports(net, s, mine, passing)
    live, addresses = reachable(net), [*fabric.host_mac.tolist(), BROADCAST]
    for at in range(2 * LINES + 1):
        held = [mine[min(at, len(mine) - 1)] for mine in every]
        for d, mac in enumerate(addresses):
            expected = {}
            for s, each in enumerate(held):
                for row in np.flatnonzero(each.entry_mac == mac).tolist():
                    node = int(net.node_of[s, each.entry_vlan[row]])
                    expected[node] = expected.get(node, 0) | 1 << int(each.entry_port[row] - 1)
            assert entries_at(net, d, at) == {node: ports for node, ports in expected.items() if live[node]}
