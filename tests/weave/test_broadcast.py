"""Broadcasts under renamed assignment: one tree beside the paths, each copy counted frame by frame."""

import itertools
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import make_fabric, make_irregular
from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import average_hops, dependencies, relation
from tagloom.lab.dataplane import Dataplane
from tagloom.records.routes import DELIVERED, UNUSED, Relation, Routes
from tagloom.records.switch_state import BROADCAST, Membership, SwitchEditor
from tagloom.route import route
from tagloom.route.in_port import up_down_by_in_port
from tagloom.route.up_down import up_down
from tagloom.verify import Plan, broadcasts_once, verify
from tagloom.weave import weave
from tagloom.weave.broadcast import broadcast_tree, turns
from thinned import examples


def woven(fabric, routes, **options):
    return weave(fabric, routes, "renamed", broadcasts_once=partial(broadcasts_once, fabric), **options)


def shouts(fabric, state):
    """Send every host's broadcast frame by frame: (copies of host a's at host b, copies sent between switches)."""
    plane = Dataplane(fabric, state)
    names = [host.name for host in fabric.hosts]
    ends = {(fabric.switches[s].name, port) for s in range(len(fabric.switches)) for port in fabric.used_ports[s]}
    ends -= {(fabric.switches[h.switch].name, h.port) for h in fabric.hosts}
    copies, crossings = np.zeros((len(names), len(names)), int), []
    for i, name in enumerate(names):
        plane.configure(state)
        sent = plane.broadcast(name)
        assert not sent.storm
        for other, count in sent.delivered_to.items():
            copies[i, names.index(other)] = count
        crossings.append(sum((hop.switch, hop.out_port) in ends for hop in sent.path))
    return copies, crossings


def without_group_entries(state):
    bare = {}
    for name, held in state.items():
        editor = SwitchEditor.of(held)
        editor.entries = {key: ports for key, ports in editor.entries.items() if key[1] != BROADCAST}
        bare[name] = editor.freeze()
    return bare


@st.composite
def irregular(draw, most=16):
    """Draw a connected multigraph: parallel links, bridges, switches without hosts and with several."""
    switches = draw(st.integers(2, most))
    links = [(draw(st.integers(0, s - 1)), s) for s in range(1, switches)]
    pairs = st.tuples(st.integers(0, switches - 1), st.integers(0, switches - 1)).filter(lambda ab: ab[0] != ab[1])
    links += draw(st.lists(pairs, max_size=2 * switches))
    hosts = draw(st.lists(st.sampled_from([1, 1, 1, 0, 2, 3]), min_size=switches, max_size=switches))
    hosts[0] = max(hosts[0], 2)
    return make_irregular(hosts, draw(st.permutations(links)))


@examples(120)
@given(irregular())
def test_up_down_on_any_graph_proves_under_renamed_assignment(fabric):
    routes = route(fabric, "up-down", "renamed")
    plan = woven(fabric, routes)
    proof = verify(fabric, plan.state, Plan(routes))
    assert proof.proven, [str(finding) for finding in proof.findings]
    copies, _ = shouts(fabric, plan.state)
    assert np.array_equal(copies, np.ones_like(copies) - np.eye(len(copies), dtype=int))


@pytest.mark.kernel
@examples(60)
@given(irregular(most=12), st.sampled_from(["fixed", "renamed"]))
def test_one_order_of_all_channels_proves_under_both_assignments(fabric, assignment):
    routes = route(fabric, "any", assignment)
    plan = weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric))
    proof = verify(fabric, plan.state, Plan(routes))
    assert proof.proven, [str(finding) for finding in proof.findings]


@examples(60)
@given(irregular())
def test_paths_chosen_by_in_port_prove_too_and_are_no_longer_than_those_of_trees(fabric):
    routes = up_down_by_in_port(fabric)
    plan = woven(fabric, routes)
    proof = verify(fabric, plan.state, Plan(routes))
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert average_hops(fabric, routes) <= average_hops(fabric, up_down(fabric)) + 1e-9


def test_a_graph_too_large_for_trees_by_in_port_still_gets_many_paths():
    chance = np.random.default_rng(1)
    links = [(int(chance.integers(s)), s) for s in range(1, 96)]
    links += [tuple(map(int, chance.choice(96, 2, replace=False))) for _ in range(96)]
    fabric = make_irregular([1] * 96, links)
    assert relation(fabric, up_down(fabric)) is None
    routes = route(fabric, "up-down", "renamed")
    plan = woven(fabric, routes)
    assert plan.broadcast == "tree"
    assert verify(fabric, plan.state, Plan(routes)).proven


@examples(40)
@given(irregular(10))
def test_the_tree_fits_the_paths_and_no_flood_storms_even_without_its_entries(fabric):
    """Other group addresses and unicasts to hosts that are gone flood past the group entries."""
    routes = route(fabric, "up-down", "renamed")
    plan = woven(fabric, routes)
    if plan.broadcast != "tree":
        return
    both = zip(dependencies(fabric, routes), turns(fabric, broadcast_tree(fabric, routes)), strict=True)
    assert not find_cycle(len(fabric.tail), *map(np.concatenate, both))
    bare = verify(fabric, without_group_entries(plan.state), Plan(routes, duplicates_allowed=True))
    assert bare.proven


@pytest.mark.parametrize("link", range(24))
def test_a_mesh_without_any_one_of_its_links_proves(link):
    fabric = make_fabric("mesh", 4, 4, model="powerconnect-6248").with_links_down({link})
    routes = route(fabric, "auto", "renamed")
    plan = woven(fabric, routes)
    assert verify(fabric, plan.state, Plan(routes)).proven
    assert plan.vlans <= weave(fabric, routes, "renamed").vlans


def test_a_mesh_around_an_inner_link_repeats_broadcasts_until_they_take_one_tree():
    """Brute force over all copies: 60 of 240 pairs hear some twice, 4 of 16 senders hear themselves."""
    fabric = make_fabric("mesh", 4, 4, model="powerconnect-6248")
    off = next(
        i
        for i, link in enumerate(fabric.links)
        if (fabric.switches[link.a].at, fabric.switches[link.b].at) == ((2, 1), (2, 2))
    )
    fabric = fabric.with_links_down({off})
    routes = route(fabric, "dor", "renamed")
    copies, crossings = shouts(fabric, weave(fabric, routes, "renamed").state)
    apart = copies[~np.eye(16, dtype=bool)]
    assert (int((apart > 1).sum()), int(apart.max()), int((np.diag(copies) > 0).sum())) == (60, 2, 4)
    assert max(crossings) == 19
    plan = woven(fabric, routes)
    assert plan.broadcast == "tree"
    copies, crossings = shouts(fabric, plan.state)
    assert np.array_equal(copies, np.ones_like(copies) - np.eye(16, dtype=int))
    assert set(crossings) == {15}


# The smallest acyclic routing found that no tree fits (all 8 spanning trees tried), as the switches of each path.
NO_TREE = "01:041 02:04132 03:03 04:04 10:130 12:132 13:103 14:14 20:230 21:2301 23:23 24:23014"
NO_TREE += " 30:310 31:301 32:32 34:3104 40:40 41:401 42:4132 43:413"


def test_where_no_tree_fits_the_plan_says_so():
    fabric = make_irregular([1] * 5, [(0, 1), (0, 3), (0, 4), (1, 3), (1, 4), (2, 3)])
    channel = {(int(a), int(b)): c for c, (a, b) in enumerate(zip(fabric.tail, fabric.head, strict=True))}
    first, following = np.full((5, 5), UNUSED, np.int32), np.full((12, 5), UNUSED, np.int32)
    first[range(5), range(5)] = DELIVERED
    for word in NO_TREE.split():
        path = [int(switch) for switch in word.split(":")[1]]
        steps = [channel[hop] for hop in itertools.pairwise(path)]
        first[path[0], path[-1]] = steps[0]
        for held, wanted in itertools.pairwise([*steps, DELIVERED]):
            assert following[held, path[-1]] in {UNUSED, wanted}, "one rule per in-port and destination"
            following[held, path[-1]] = wanted
    each = np.arange(5, dtype=np.int32)
    routes = Routes("by hand", "", each, each, None, Relation(first, following))
    assert not find_cycle(12, *dependencies(fabric, routes))
    with pytest.raises(PlanError, match="one tree"):
        broadcast_tree(fabric, routes)
    with pytest.raises(PlanError, match="one tree"):
        woven(fabric, routes)
    assert woven(fabric, routes, static_arp=True).broadcast == "static-arp"


def test_a_model_without_group_entries_gets_static_arp_and_the_plan_allows_repeats():
    """A Linux bridge floods every broadcast, whatever its forwarding database holds."""
    fabric = make_irregular([1] * 5, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)], model="linux-bridge")
    routes = route(fabric, "up-down", "renamed")
    plan = woven(fabric, routes)
    assert plan.broadcast == "static-arp"
    assert "tagloom_static_arp" in plan.remarks[0]
    assert not any(BROADCAST in held.entry_mac.tolist() for held in plan.state.values())
    assert not verify(fabric, plan.state, Plan(routes)).proven
    proof = verify(fabric, plan.state, Plan(routes, duplicates_allowed=True))
    assert proof.proven
    assert not proof.broadcast_exactly_once
    editor = SwitchEditor.of(plan.state["s0"])
    editor.enabled[fabric.hosts[0].port - 1] = False
    lost = verify(fabric, {**plan.state, "s0": editor.freeze()}, Plan(routes, duplicates_allowed=True))
    assert any("broadcast" in finding.where for finding in lost.findings), "a broadcast that does not come is no repeat"


def test_a_closed_loop_behind_group_entries_storms():
    """The broadcast takes the tree, every other group address goes round."""
    fabric = make_irregular([1] * 3, [(0, 1), (1, 2), (2, 0)])
    state = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.blank(48)
        editor.create_vlan(100)
        for port in fabric.used_ports[s]:
            editor.set_member(100, port, Membership.UNTAGGED)
            editor.set_pvid(port, 100)
        on_tree = {link.a_port if link.a == s else link.b_port for link in fabric.links[:2] if s in {link.a, link.b}}
        editor.set_entry(100, BROADCAST, {fabric.hosts[s].port, *on_tree})
        for host in fabric.hosts:
            way = {0: {1: 0, 2: 0}, 1: {0: 0, 2: 1}, 2: {0: 1, 1: 1}}[s].get(host.switch)
            link = None if way is None else fabric.links[way]
            editor.set_entry(
                100, host.mac, [host.port if link is None else link.a_port if link.a == s else link.b_port]
            )
        editor.spanning_tree = False
        state[switch.name] = editor.freeze()
    copies, _ = shouts(fabric, state)
    assert np.array_equal(copies, np.ones((3, 3), int) - np.eye(3, dtype=int))
    proof = verify(fabric, state)
    assert not proof.storm_free
    assert not proof.deadlock_free
