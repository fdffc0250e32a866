"""Law: the virtual rack treats a frame as IEEE 802.1Q says, written here as sets, without code of the rack.

The rack judges plans, so it is judged itself. Clauses are those of IEEE 802.1Q-2018; port-channels IEEE 802.1AX-2020.
"""

from collections import Counter

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.lab.dataplane import Dataplane
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.records.switch_state import Frames, Membership, SwitchEditor
from thinned import examples

PORTS, VLANS = 5, (10, 20)
MACS = [0x0200_0000_0000 + port for port in range(PORTS)]
NAMES = [f"h{port}" for port in range(PORTS)]
ONE_SWITCH = Fabric(
    "one",
    (Switch("s0", "linux-bridge"),),
    tuple(Host(name, 0, port, mac) for port, (name, mac) in enumerate(zip(NAMES, MACS, strict=True), 1)),
    (),
    (PORTS,),
)


@st.composite
def switches(draw):
    """Draw how one switch is set, its ports by number from 1."""
    editor = SwitchEditor.blank(PORTS)
    editor.spanning_tree = False
    for vlan in VLANS:
        editor.create_vlan(vlan)
    for port in range(1, PORTS + 1):
        for vlan in (1, *VLANS):
            likely = [Membership.UNTAGGED, Membership.UNTAGGED, Membership.TAGGED, Membership.NONE]
            editor.set_member(vlan, port, draw(st.sampled_from(likely)))
        editor.set_pvid(port, draw(st.sampled_from([10, 10, 10, 20, 1, 0])))
        editor.ingress_filter[port - 1] = draw(st.booleans())
        editor.frames[port - 1] = draw(st.sampled_from([Frames.ALL, *Frames]))
        editor.enabled[port - 1] = draw(st.integers(0, 5)) < 5
    for vlan in VLANS:
        for mac in MACS:
            if draw(st.integers(0, 4)) == 4:
                editor.set_entry(vlan, mac, draw(st.sampled_from([[1], [2], [3], [4, 5]])))
    return editor.freeze()


def members(state, vlan):
    return {port for port in range(1, PORTS + 1) if state.member(vlan, port) is not Membership.NONE}


def classified(state, port):
    """Return the VLAN of an untagged frame on arrival, or None: 6.9 (acceptable frame types, PVID), 8.6.2 (filter)."""
    vlan = int(state.pvid[port - 1])
    taken = state.enabled[port - 1] and state.frames[port - 1] != Frames.TAGGED_ONLY and vlan != 0
    kept = not state.ingress_filter[port - 1] or port in members(state, vlan)
    return vlan if taken and kept else None


EVENTS = st.lists(st.tuples(st.integers(0, PORTS - 1), st.integers(-1, PORTS - 1)), min_size=1, max_size=12)


@examples(100)
@given(switches(), switches(), EVENTS, EVENTS)
def test_a_frame_leaves_by_the_ports_that_filtering_and_learning_name(before, after, early, late):
    """8.6.3: a frame goes to the ports the filtering database names for its VLAN and address (8.8.9), to all of the
    VLAN where it names none, never back (8.6.1); 8.8.2: a static entry counts before what was learned, and 8.7: is not
    replaced by it; 8.6.4: only ports in the member set that are up send it, tagged or not as that says.
    A port that goes down or leaves the VLAN is no longer where an address is.
    """
    plane, known = Dataplane(ONE_SWITCH, {"s0": before}), {}
    for state, events in ((before, early), (after, late)):
        if state is after:
            plane.change("s0", after)
            known = {
                (vlan, mac): port
                for (vlan, mac), port in known.items()
                if port in members(after, vlan) and after.enabled[port - 1] and not after.entry(vlan, mac)
            }
        for source, target in events:
            if source == target:
                continue
            port, sent = source + 1, MACS[target] if target >= 0 else 0xFFFF_FFFF_FFFF
            found = plane.unicast(NAMES[source], NAMES[target]) if target >= 0 else plane.broadcast(NAMES[source])
            vlan = classified(state, port)
            if vlan is None:
                assert (found.path, found.delivered_to, found.flooded) == ((), {}, ())
                continue
            if not state.entry(vlan, MACS[source]):
                known[vlan, MACS[source]] = port
            listed = set(state.entry(vlan, sent)) or {known[key] for key in [(vlan, sent)] if key in known}
            out = (listed or set(range(1, PORTS + 1))) & members(state, vlan) - {port}
            out = {q for q in out if state.enabled[q - 1]}
            assert Counter(hop.out_port for hop in found.path) == Counter(out)
            assert {(hop.switch, hop.in_port, hop.vlan) for hop in found.path} <= {("s0", port, vlan)}
            untagged = {q for q in out if state.member(vlan, q) is Membership.UNTAGGED}
            assert found.delivered_to == {NAMES[q - 1]: 1 for q in untagged}
            assert found.flooded == (() if listed or target < 0 else ("s0",))
        assert plane.learned("s0") == known


@examples(60)
@given(st.integers(0, 10_000), st.integers(2, 7), st.integers(0, 8))
def test_settled_spanning_trees_reach_every_switch_once_however_it_is_cabled(seed, n, more):
    """13.4: the active topology is a tree that connects what the cables connect, parallel links included."""
    graph = nx.MultiGraph(nx.random_labeled_tree(n, seed=seed))
    extra = nx.gnm_random_graph(n, more, seed=seed)
    used = [0] * n

    def port(s):
        used[s] += 1
        return used[s]

    links = tuple(Link(a, port(a), b, port(b)) for a, b in [*graph.edges(), *extra.edges()])
    fabric = Fabric(
        "graph",
        tuple(Switch(f"s{s}", "linux-bridge") for s in range(n)),
        tuple(Host(f"h{s}", s, 24, 0x0200_0000_0000 + s) for s in range(n)),
        links,
        (24,) * n,
    )
    plane = Dataplane(fabric, {f"s{s}": SwitchEditor.blank(24).freeze() for s in range(n)})
    for s in range(n):
        found = plane.broadcast(f"h{s}")
        assert not found.storm
        assert found.delivered_to == {f"h{t}": 1 for t in range(n) if t != s}


def channel_of(cables, hosts):
    """Make two switches joined by one port-channel, with hosts on ports of their own."""
    logical = 30
    states = {}
    for name in ("s0", "s1"):
        editor = SwitchEditor.blank(logical)
        for port in range(1, cables + 1):
            editor.lag[port - 1] = logical
        states[name] = editor
    link = Link(0, logical, 1, logical, members=tuple((port, port) for port in range(1, cables + 1)))
    half = hosts // 2
    at = [Host(f"h{h}", h // half, 10 + h % half, 0x0200_0000_0000 + h) for h in range(hosts)]
    fabric = Fabric("lag", (Switch("s0", "linux-bridge"), Switch("s1", "linux-bridge")), tuple(at), (link,), (30, 30))
    return fabric, states


def crossing(plane, cables):
    """Return the frames that each cable has carried, both ways."""
    return [plane.sent["s0", port] + plane.sent["s1", port] for port in range(1, cables + 1)]


@pytest.mark.parametrize("cables", [2, 3, 4])
def test_a_port_channel_sends_a_conversation_over_one_cable_and_all_over_all(cables):
    """802.1AX, 6.2.4: a frame is sent once, those of one conversation over one link; all links that are up are used."""
    fabric, states = channel_of(cables, hosts=16)
    plane = Dataplane(fabric, {name: editor.freeze() for name, editor in states.items()})
    for a in range(16):
        plane.broadcast(f"h{a}")
    before = crossing(plane, cables)
    for a in range(16):
        for b in range(16):
            if (a < 8) == (b < 8):
                continue
            each = []
            for _ in range(2):
                was = crossing(plane, cables)
                found = plane.unicast(f"h{a}", f"h{b}")
                assert (found.copies, found.flooded) == (1, ())
                each.append([now - then for now, then in zip(crossing(plane, cables), was, strict=True)])
            assert sum(each[0]) == 1
            assert each[0] == each[1]
    assert all(now > then for now, then in zip(crossing(plane, cables), before, strict=True))


def test_a_port_channel_goes_on_over_the_cables_that_are_up():
    """802.1AX, 6.2.4 and 6.4: a link that is down is not in use, and what it carried goes over the others."""
    fabric, states = channel_of(3, hosts=8)
    states["s1"].enabled[1] = False  # the far end of the second cable
    plane = Dataplane(fabric, {name: editor.freeze() for name, editor in states.items()})
    assert plane.ping_all().reached == 8 * 7
    first, second, third = crossing(plane, 3)
    assert second == 0
    assert first > 0
    assert third > 0


def test_what_was_learned_before_a_static_entry_is_not_known_after_it():
    """8.7: no dynamic entry stands beside a static one of the same address and VLAN, so none is left when it goes."""
    editor = SwitchEditor.blank(PORTS)
    editor.spanning_tree = False
    plane = Dataplane(ONE_SWITCH, {"s0": editor.freeze()})
    plane.broadcast("h1")
    assert plane.unicast("h0", "h1").flooded == ()
    learned = editor.freeze()
    editor.set_entry(1, MACS[1], [3])
    plane.change("s0", editor.freeze())
    assert (1, MACS[1]) not in plane.learned("s0")
    assert plane.unicast("h0", "h1").delivered_to == {"h2": 1}
    plane.change("s0", learned)
    assert plane.unicast("h0", "h1").flooded == ("s0",)
