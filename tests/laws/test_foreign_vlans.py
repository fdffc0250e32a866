"""Law: the verifier's findings on frames in foreign VLANs agree with what such frames do, one by one."""

import random
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.lab.dataplane import Dataplane
from tagloom.records.fabric import Host
from tagloom.records.switch_state import FlowControl, Membership, SwitchEditor
from tagloom.verify import verify
from tagloom.verify.foreign import foreign_frames
from tagloom.verify.forwarding import forwarding
from thinned import examples

FABRICS = [
    ("ring", (3,), {}),
    ("ring", (3,), {"parallel": 2}),
    ("ring", (3,), {"parallel": 2, "lag": True}),
    ("mesh", (2, 2), {}),
    ("clos", (2, 2), {"hosts": 2}),
    ("tree", (2, 2), {}),
    ("complete", (4,), {}),
]
OUTSIDE = (20, 21)  # ports that no fabric of these uses
VLANS = (10, 20)
NOBODY = 0x33_33_00_00_00_01


def woven(family, dims, options, model="powerconnect-5324"):
    fabric = make_fabric(family, *dims, model=model, **options)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates")
    return fabric, build.state


def with_foreign(draw, fabric, state):
    """Return states with foreign VLANs on links, hosts' ports and two ports outside each switch, and spanning tree."""
    rarely = st.sampled_from([True, False, False, False])
    held = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        hosts = {host.port for host in fabric.hosts if host.switch == s}
        for vlan in VLANS:
            editor.create_vlan(vlan)
            for port in fabric.used_ports[s]:
                if port in hosts:
                    how = Membership.UNTAGGED if draw(rarely) and draw(rarely) else Membership.NONE
                else:
                    how = draw(st.sampled_from([Membership.TAGGED, Membership.TAGGED, Membership.NONE]))
                editor.set_member(vlan, port, how)
        for port in OUTSIDE:
            vlan = draw(st.sampled_from(VLANS))
            editor.set_member(vlan, port, draw(st.sampled_from(list(Membership))))
            editor.set_member(1, port, Membership.NONE)
            editor.set_pvid(port, vlan)
        for port in (*OUTSIDE, *fabric.used_ports[s]):
            editor.ingress_filter[port - 1] = not draw(rarely)
        editor.spanning_tree = draw(st.booleans())
        for port in fabric.used_ports[s]:
            editor.port_spanning_tree[port - 1] = not draw(rarely)
        held[switch.name] = editor.freeze()
    return held


def sent_from_outside(fabric, state):
    """Send from every port outside, untagged and with each tag; return whether one storms, and who hears what."""
    ends = [
        Host(f"x{s}-{p}", s, p, 0x02AA_0000_0000 + 100 * s + p) for s in range(len(fabric.switches)) for p in OUTSIDE
    ]
    plane = Dataplane(replace(fabric, hosts=(*fabric.hosts, *ends)), state)
    storms, heard = False, set()
    for end in ends:
        for tag in (0, *VLANS):
            sent = plane.broadcast(end.name, tag, NOBODY)
            storms |= bool(sent.storm)
            heard |= {host for host in sent.delivered_to if not host.startswith("x")}
    return storms, heard


@examples(60)
@given(st.data())
def test_the_verdict_on_frames_of_others_is_what_they_do(data):
    fabric, state = woven(*data.draw(st.sampled_from(FABRICS)))
    state = with_foreign(data.draw, fabric, state)
    proof = verify(fabric, state)
    told = [finding for finding in proof.findings if finding.where.endswith("from ports outside the fabric")]
    storms, heard = sent_from_outside(fabric, state)
    assert proof.foreign_vlans == VLANS
    if storms:
        assert told, "a storm that was not told"
        assert not proof.storm_free
    if not any(held.spanning_tree for held in state.values()):
        assert bool(told) == storms  # where nothing blocks, nothing is told that does not happen
        reached = foreign_frames(forwarding(fabric, state), state).heard
        assert {fabric.hosts[host].name for host, _ in reached} == heard
        assert bool(heard) == any(f.expected == "no frames of a VLAN of others" for f in proof.findings)


def ring_with_vlan_10(*, links, spanning_tree):
    """Return a ring of three switches with a foreign VLAN, on a port outside each and on `links`."""
    fabric, state = woven("ring", (3,), {})
    held = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        editor.create_vlan(10)
        editor.set_member(10, 20, Membership.UNTAGGED)
        editor.set_pvid(20, 10)
        for port in (
            p
            for n, link in enumerate(fabric.links)
            if n in links
            for p in (*((link.a_port,) if link.a == s else ()), *((link.b_port,) if link.b == s else ()))
        ):
            editor.set_member(10, port, Membership.TAGGED)
        editor.spanning_tree = spanning_tree
        held[switch.name] = editor.freeze()
    return fabric, held


def test_a_vlan_of_others_on_a_triangle_without_spanning_tree_storms_and_the_ring_is_named():
    fabric, state = ring_with_vlan_10(links={0, 1, 2}, spanning_tree=False)
    proof = verify(fabric, state)
    (found,) = proof.findings
    assert not proof.proven
    assert not proof.storm_free
    assert found.where == "VLAN 10, from ports outside the fabric"
    assert found.actual.startswith("copies go round s0:g")
    assert found.actual.count("(VLAN 10)") == 3


@pytest.mark.parametrize("links", [{0, 1}, {0}, set()])
def test_a_vlan_of_others_on_a_tree_is_left_alone(links):
    fabric, state = ring_with_vlan_10(links=links, spanning_tree=False)
    proof = verify(fabric, state)
    assert proof.proven
    assert proof.foreign_vlans == (10,)


def test_spanning_tree_on_all_of_a_ring_breaks_it():
    fabric, state = ring_with_vlan_10(links={0, 1, 2}, spanning_tree=True)
    proof = verify(fabric, state)
    assert proof.storm_free
    assert not proof.proven  # it may block what the fabric's paths need


def waits_for(plane, ends, fabric):
    """Follow frames of hosts and from outside; return which channels a frame holds while it waits for which others."""
    names = [switch.name for switch in fabric.switches]
    out = {(names[fabric.tail[c]], int(fabric.tail_port[c])): c for c in range(len(fabric.tail))}
    into = {(names[fabric.head[c]], int(fabric.head_port[c])): c for c in range(len(fabric.tail))}
    own, others = set(), set()
    hosts = [host.name for host in fabric.hosts]
    sent = [(own, plane.unicast(a, b)) for a in hosts for b in hosts if a != b]
    sent += [(own, plane.broadcast(a)) for a in hosts]
    sent += [(others, plane.broadcast(end.name, tag, NOBODY)) for end in ends for tag in (0, *VLANS)]
    for where, each in sent:
        steps = {(into.get((hop.switch, hop.in_port)), out.get((hop.switch, hop.out_port))) for hop in each.path}
        where |= {step for step in steps if None not in step}
    return own, others


@examples(25)
@given(st.integers(0, 10_000), st.booleans())
def test_a_cycle_that_arises_only_with_frames_of_others_is_told_and_is_a_no_where_all_of_it_pauses(seed, pausing):
    """A VLAN of others on a random tree of links, beside the fabric's own paths; PAUSE everywhere or nowhere."""
    chance = random.Random(seed)
    fabric, state = woven(*chance.choice([("ring", (4,), {}), ("mesh", (3, 3), {}), ("torus", (3, 3), {})]))
    tree, joined = [], {0}
    for i in chance.sample(range(len(fabric.links)), len(fabric.links)) * 2:
        link = fabric.links[i]
        if len({link.a, link.b} & joined) == 1:
            tree.append(i)
            joined |= {link.a, link.b}
    held = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        editor.create_vlan(10)
        editor.set_member(10, OUTSIDE[0], Membership.UNTAGGED)
        editor.set_member(1, OUTSIDE[0], Membership.NONE)
        editor.set_pvid(OUTSIDE[0], 10)
        for link in (fabric.links[i] for i in tree):
            for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if end == s:
                    editor.set_member(10, port, Membership.TAGGED)
        editor.flow_control = [FlowControl.ON if pausing else FlowControl.OFF] * editor.ports
        held[switch.name] = editor.freeze()
    ends = [Host(f"x{s}", s, OUTSIDE[0], 0x02AA_0000_0000 + s) for s in range(len(fabric.switches))]
    own, others = waits_for(Dataplane(replace(fabric, hosts=(*fabric.hosts, *ends)), held), ends, fabric)
    proof = verify(fabric, held)
    assert nx.is_directed_acyclic_graph(nx.DiGraph(list(own)))
    closed = not nx.is_directed_acyclic_graph(nx.DiGraph(list(own | others)))
    assert bool(proof.foreign_cycle) == closed
    assert proof.deadlock_free == (not closed or not pausing)
    assert proof.proven == proof.deadlock_free
    told = [each for each in proof.findings if each.expected == "no dependency cycle with frames of VLANs of others"]
    assert bool(told) == (closed and pausing)
    named = {each["name"] for each in pipeline.assumptions(fabric, held, proof)}
    assert ("a port whose flow control is off sends no PAUSE" in named) == (closed and not pausing)
