"""One VLAN for all hosts: texts, what floods where, what is refused, and rollouts between such plans."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.errors import InputError, PlanError
from tagloom.graph.trees import flooding_links
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import channel_name
from tagloom.records.switch_state import OWNED_VLAN_NAME, Membership, SwitchEditor
from tagloom.render import parse_configuration
from tagloom.route import route
from tagloom.verify import Plan, verify
from tagloom.weave import weave

LINUX = platforms.load("linux-bridge")
NOBODYS = 0x02_77_00_00_00_00


def planned(fabric, **options):
    return pipeline.plan(fabric, ROOT / "templates", **{"assignment": "pinned", **options})


def off_tree(build):
    return np.flatnonzero(~flooding_links(build.fabric, build.state)).tolist()


def test_all_hosts_are_in_one_vlan_that_uses_all_links_of_the_routing_and_floods_over_a_tree():
    fabric = make_fabric("mesh", 3, 3)
    build, proof, texts = planned(fabric)
    assert (proof.proven, proof.storm_free, proof.broadcast_exactly_once, build.vlans) == (True, True, True, 1)
    assert {v for held in build.state.values() for v in held.vlans.tolist()} == {1, 100}
    assert len(fabric.links) - len(off_tree(build)) == len(fabric.switches) - 1
    for i in off_tree(build):
        link = fabric.links[i]
        for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
            quiet = f"bridge link set dev swp{port} learning off flood off mcast_flood off bcast_flood off"
            assert quiet in texts[fabric.switches[s].name].splitlines()
    assert {len(held.entry_mac) for held in build.state.values()} == {9}


def test_frames_to_nobody_and_broadcasts_come_to_each_other_host_once_whatever_was_sent_before():
    fabric = make_fabric("torus", 3, 3, hosts=2)
    build, _, _ = planned(fabric)
    plane = Dataplane(fabric, build.state)
    names = [host.name for host in fabric.hosts]
    for a in names:
        assert plane.broadcast(a, mac=NOBODYS, sender=NOBODYS + 1).delivered_to == dict.fromkeys(set(names) - {a}, 1)
        assert plane.broadcast(a, mac=NOBODYS + 1).delivered_to == dict.fromkeys(set(names) - {a}, 1)  # learned nowhere
        assert plane.broadcast(a).delivered_to == dict.fromkeys(set(names) - {a}, 1)


def test_a_text_without_the_lines_that_confine_floods_is_judged_as_flooding():
    fabric = make_fabric("ring", 4)
    build, _, texts = planned(fabric)
    plain = {name: "\n".join(line for line in text.splitlines() if "flood" not in line) for name, text in texts.items()}
    _, proof = pipeline.prove(fabric, plain, build.routes)
    assert not proof.storm_free
    assert pipeline.prove(fabric, texts, build.routes)[1].proven


def test_a_link_that_learns_beside_ports_that_flood_nothing_is_a_finding():
    fabric = make_fabric("ring", 4)
    build, _, _ = planned(fabric)
    port = next(
        p for i in range(4) if i not in off_tree(build) for p in [fabric.links[i].a_port] if fabric.links[i].a == 1
    )
    editor = SwitchEditor.of(build.state["s1"])
    editor.learning[port - 1] = True
    proof = verify(fabric, build.state | {"s1": editor.freeze()}, Plan(build.routes))
    assert [finding.where for finding in proof.findings] == [f"s1:swp{port} learning"]


def test_an_entry_for_the_address_of_no_host_at_a_port_that_floods_nothing_is_a_finding():
    fabric = make_fabric("ring", 4)
    build, _, _ = planned(fabric)
    link = fabric.links[off_tree(build)[0]]
    name = fabric.switches[link.a].name
    editor = SwitchEditor.of(build.state[name])
    editor.set_entry(100, NOBODYS, (link.a_port,))
    proof = verify(fabric, build.state | {name: editor.freeze()}, Plan(build.routes))
    (finding,) = proof.findings
    assert "expected the address of a host" in str(finding)


def test_entries_that_lead_round_a_ring_beside_its_flood_tree_are_a_storm():
    """No flood goes round, but frames to one host do: they are followed as well."""
    fabric = make_fabric("ring", 4)
    build, _, _ = planned(fabric)
    state = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(build.state[switch.name])
        c = next(c for c in range(8) if fabric.tail[c] == s and fabric.head[c] == (s + 1) % 4)
        editor.set_entry(100, fabric.hosts[0].mac, (int(fabric.tail_port[c]),))
        state[switch.name] = editor.freeze()
    proof = verify(fabric, state)
    assert Dataplane(fabric, state).unicast("h1", "h0").storm
    assert (proof.storm_free, proof.deadlock_free) == (False, False)


@pytest.mark.parametrize("model", ["powerconnect-5324", "powerconnect-6248"])
def test_a_switch_that_floods_by_all_ports_is_refused_unless_all_links_are_on_the_tree(model):
    fabric = make_fabric("mesh", 3, 2, model=model)
    with pytest.raises(PlanError, match=r"no line that keeps floods off one port.*--routing tree"):
        planned(fabric)
    build, proof, _ = planned(fabric, routing="tree")
    assert (proof.proven, build.vlans) == (True, 1)
    assert all(held.flooding.all() and held.learning.all() for held in build.state.values())
    assert planned(make_fabric("tree", 2, 2, model=model))[1].proven


def test_paths_that_part_ways_at_a_switch_are_refused_with_the_pair_and_the_switch():
    fabric = make_fabric("fat-tree", 2, 4, 1, hosts=2)
    with pytest.raises(PlanError, match=r"frames for h\d+ leave s\d+ two ways, h\d+'s by .* and h\d+'s by "):
        weave(fabric, route(fabric, "fat-tree", "fixed"), "pinned")


def test_what_pinned_does_not_do_is_refused_with_the_reason():
    fabric = make_fabric("mesh", 2, 2)
    with pytest.raises(InputError, match="share one tree"):
        planned(fabric, prefer="load")


def test_the_lines_are_read_back_as_they_were_written():
    build, _, texts = planned(make_fabric("ring", 4))
    name = build.fabric.switches[build.fabric.links[off_tree(build)[0]].a].name
    assert parse_configuration(LINUX, texts[name]).unknown == ()
    half = texts[name].replace(" bcast_flood off", "")
    assert parse_configuration(LINUX, half).unknown  # a port told half of it is not understood, never guessed


@pytest.mark.kernel
def test_a_rollout_to_other_paths_beside_the_same_flood_tree_is_hitless():
    fabric = make_fabric("mesh", 4, 3)
    before, _, _ = planned(fabric, routing="dor")
    after, _, _ = planned(fabric, routing="up-down", previous=before)
    assert off_tree(after) == off_tree(before)
    found = pipeline.rollout_between(before, after)
    assert (found.strategy, len(found.waves)) == ("direct", 3)
    assert pipeline.rollout_between(after, planned(fabric, routing="dor", previous=after)[0]).strategy == "direct"


@pytest.mark.kernel
def test_a_link_off_the_flood_tree_is_shut_without_a_lost_frame():
    fabric = make_fabric("mesh", 3, 3)
    before, _, _ = planned(fabric, routing="up-down", root="s0")
    less = fabric.with_links_down({off_tree(before)[0]})
    after, proof, _ = planned(less, routing="up-down", root="s0", previous=before)
    assert proof.proven
    assert off_tree(after) == off_tree(before)
    assert pipeline.rollout_between(before, after).strategy == "direct"


@pytest.mark.kernel
def test_a_rollout_that_would_move_the_flood_tree_or_learning_is_refused_with_the_link():
    fabric = make_fabric("ring", 4)
    before, _, _ = planned(fabric)
    on_tree = next(i for i in range(4) if i not in off_tree(before))
    after, _, _ = planned(fabric.with_links_down({on_tree}), previous=before)
    moved = np.flatnonzero(flooding_links(fabric, before.state) != flooding_links(fabric, after.state))
    where = channel_name(fabric, 2 * int(moved[0]))
    with pytest.raises(PlanError, match=f"floods would change their tree while they run, at {where}"):
        pipeline.rollout_between(before, after)
    fixed, _, _ = planned(fabric, assignment="fixed", previous=before)
    with pytest.raises(PlanError, match="floods would change their tree while they run"):
        pipeline.rollout_between(before, fixed)


@pytest.mark.kernel
def test_hosts_that_come_are_no_proven_rollout_yet():
    fabric, more = make_fabric("mesh", 2, 2), make_fabric("mesh", 2, 2, hosts=2)
    before, _, _ = planned(fabric)
    with pytest.raises(PlanError):
        pipeline.rollout_between(before, planned(more, previous=before)[0])


def test_a_member_more_closes_no_loop_where_its_ports_flood_nothing():
    """A loop of members is no loop of floods: the port's flags are judged, not its memberships."""
    fabric = make_fabric("ring", 4)
    build, _, _ = planned(fabric, routing="tree")
    (i,) = off_tree(build)
    state, link = dict(build.state), fabric.links[i]
    for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
        editor = SwitchEditor.of(state[fabric.switches[s].name])
        editor.name_vlan(100, OWNED_VLAN_NAME)
        editor.set_member(100, port, Membership.TAGGED)
        state[fabric.switches[s].name] = editor.freeze()
    assert verify(fabric, state, Plan(build.routes)).proven
    loud = {name: replace(held, flooding=np.ones_like(held.flooding)) for name, held in state.items()}
    assert not verify(fabric, loud).storm_free
