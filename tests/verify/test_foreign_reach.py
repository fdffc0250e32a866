"""A change that cuts a foreign VLAN names two ports that it connected; what stays connected is no finding."""

import random
from dataclasses import replace

import networkx as nx
import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.lab.dataplane import Dataplane
from tagloom.records.fabric import Host
from tagloom.records.switch_state import Membership, SwitchEditor, SwitchState
from tagloom.verify.foreign_reach import astray_findings, cut_findings, cut_vlans
from tagloom.verify.foreign_wave import prove_foreign

OUTSIDE = 20


def changed(states, change):
    """Return states after `change(name, editor)` of each switch."""
    found = {}
    for name, state in states.items():
        editor = SwitchEditor.of(state)
        change(name, editor)
        found[name] = editor.freeze()
    return found


def join(editor, vlan, port, how):
    if vlan not in editor.vlans:
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, "theirs")
    editor.set_member(vlan, port, how)


@pytest.fixture(scope="module")
def ring():
    """Return a ring of three switches, and their states with a foreign VLAN 10 over a chain of its links."""
    fabric = make_fabric("ring", 3, model="powerconnect-5324")

    def chain(name, editor):
        join(editor, 10, OUTSIDE, Membership.UNTAGGED)
        for link in fabric.links[:2]:
            for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if fabric.switches[s].name == name:
                    join(editor, 10, port, Membership.TAGGED)

    factory = SwitchState.factory(fabric.ports[0])
    return fabric, changed({switch.name: factory for switch in fabric.switches}, chain)


def named(fabric, before, after):
    return [str(each) for each in cut_findings(fabric, before, after)]


def test_what_stays_joined_is_no_finding(ring):
    fabric, before = ring
    assert named(fabric, before, before) == []
    build, _, _ = pipeline.plan(fabric, ROOT / "templates")
    assert named(fabric, build.state, before) == [], "tagloom's own VLANs are its own"


def test_a_port_that_is_taken_out_is_named_with_one_it_reached(ring):
    fabric, before = ring
    after = changed(before, lambda name, e: name == "s1" and e.set_member(10, OUTSIDE, Membership.NONE))
    assert named(fabric, before, after) == [
        "VLAN 10, of others: expected s1:g20 and s0:g20 joined by it, as now, actual s1:g20 is taken out of it"
    ]
    assert [cut.lost for cut in cut_vlans(fabric, before, after)] == [3]


def test_a_link_that_no_longer_carries_it_is_found(ring):
    fabric, before = ring
    link = fabric.links[0]
    name = fabric.switches[link.a].name
    after = changed(before, lambda at, e: at == name and e.set_member(10, link.a_port, Membership.NONE))
    (found,) = named(fabric, before, after)
    assert found.endswith("actual no link between them carries it")


def test_a_host_s_access_port_that_loses_somebody_s_vlan_is_found(ring):
    fabric, before = ring
    host = fabric.hosts[1]
    name = fabric.switches[host.switch].name
    before = changed(before, lambda at, e: at == name and join(e, 10, host.port, Membership.UNTAGGED))
    after = changed(before, lambda at, e: at == name and e.set_member(10, host.port, Membership.NONE))
    (found,) = named(fabric, before, after)
    assert f"{name}:g{host.port} is taken out of it" in found
    assert named(fabric, after, before) == []


def reach(fabric, state, ports):
    """Return which of the ports outside hear a broadcast from which, by frames sent one by one."""
    hosts = tuple(Host(f"x{s}", s, OUTSIDE, 0x02_00_00_00_99_00 + s) for s in ports)
    plane = Dataplane(
        replace(fabric, hosts=hosts, shape=None), {switch.name: state[switch.name] for switch in fabric.switches}
    )
    return {(f"x{s}", to) for s in ports for to in plane.broadcast(f"x{s}").delivered_to}


@pytest.mark.parametrize("seed", range(12))
def test_the_answer_is_what_frames_do(seed):
    """Random members of one VLAN on a tree of links, before and after: cut where some frame no longer arrives."""
    rng = random.Random(seed)
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    tree = fabric.links[: len(fabric.switches) - 1]  # without a ring, no spanning tree has to be followed
    assert nx.is_forest(nx.Graph((link.a, link.b) for link in tree))

    def draw(name, editor):
        editor.spanning_tree = False
        s = fabric.index[name]
        join(editor, 10, OUTSIDE, Membership.UNTAGGED)
        editor.set_pvid(OUTSIDE, 10)
        for link in tree:
            for at, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if at == s and rng.random() < 0.8:
                    join(editor, 10, port, Membership.TAGGED)
        if rng.random() < 0.2:
            editor.set_member(10, OUTSIDE, Membership.NONE)

    factory = SwitchState.factory(fabric.ports[0])
    blank = {switch.name: factory for switch in fabric.switches}
    before, after = changed(blank, draw), changed(blank, draw)
    everyone = range(len(fabric.switches))
    heard, later = reach(fabric, before, everyone), reach(fabric, after, everyone)
    assert bool(cut_vlans(fabric, before, after)) == bool(heard - later)


def test_an_entry_at_a_link_that_a_foreign_vlan_leaves_is_named():
    """On a ring whose three links carry the VLAN, a link away parts no ports; an entry that points there does."""
    fabric = make_fabric("ring", 3, model="powerconnect-5324")
    mac, link = 0x0A00_0000_0007, fabric.links[0]
    name, far = fabric.switches[link.a].name, fabric.switches[link.b].name

    def around(at, editor):
        join(editor, 10, OUTSIDE, Membership.UNTAGGED)
        for each in fabric.links:
            for s, port in ((each.a, each.a_port), (each.b, each.b_port)):
                if fabric.switches[s].name == at:
                    join(editor, 10, port, Membership.TAGGED)
        if at == name:
            editor.set_entry(10, mac, (link.a_port,))

    factory = SwitchState.factory(fabric.ports[0])
    before = changed({switch.name: factory for switch in fabric.switches}, around)
    after = changed(before, lambda at, e: at == far and e.set_member(10, link.b_port, Membership.NONE))
    assert cut_findings(fabric, before, after) == []
    guests = (Host("a", link.a, OUTSIDE, 1), Host("b", link.b, OUTSIDE, mac))
    plane = Dataplane(replace(fabric, hosts=guests), before)
    assert plane.unicast("a", "b", tag=10).copies == 1
    plane.configure(after)
    assert plane.unicast("a", "b", tag=10).copies == 0
    (found,) = map(str, astray_findings(fabric, before, after))
    assert found == (
        "VLAN 10, of others: expected static entries at links that carry it, actual "
        f"0a:00:00:00:00:07 pinned at {name}:g{link.a_port}, whose link no longer does"
    )
    assert found in map(str, prove_foreign(fabric, before, after).findings)
    assert astray_findings(fabric, after, before) == []
