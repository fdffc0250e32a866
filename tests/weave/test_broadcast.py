"""Broadcasts under renamed assignment: one tree beside the paths, each copy counted frame by frame."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrics import make_fabric, make_irregular
from tagloom.lab.dataplane import Dataplane
from tagloom.records.channels import find_cycle
from tagloom.records.routes import dependencies
from tagloom.records.switch_state import BROADCAST, SwitchEditor
from tagloom.route import route
from tagloom.verify import Plan, broadcasts_once, verify
from tagloom.weave import weave
from tagloom.weave.broadcast import broadcast_tree, turns


def woven(fabric, routes, **options):
    return weave(fabric, routes, "renamed", None, partial(broadcasts_once, fabric), **options)


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


@settings(max_examples=120)
@given(irregular())
def test_up_down_on_any_graph_proves_under_renamed_assignment(fabric):
    routes = route(fabric, "auto", "renamed")
    assert routes.method == "up-down"
    plan = woven(fabric, routes)
    proof = verify(fabric, plan.state, Plan(routes))
    assert proof.proven, [str(finding) for finding in proof.findings]
    copies, _ = shouts(fabric, plan.state)
    assert np.array_equal(copies, np.ones_like(copies) - np.eye(len(copies), dtype=int))


@settings(max_examples=40)
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
    routes = route(fabric, "auto", "renamed")
    assert routes.method == "dor"
    copies, crossings = shouts(fabric, weave(fabric, routes, "renamed").state)
    apart = copies[~np.eye(16, dtype=bool)]
    assert (int((apart > 1).sum()), int(apart.max()), int((np.diag(copies) > 0).sum())) == (60, 2, 4)
    assert max(crossings) == 19
    plan = woven(fabric, routes)
    assert plan.broadcast == "tree"
    copies, crossings = shouts(fabric, plan.state)
    assert np.array_equal(copies, np.ones_like(copies) - np.eye(16, dtype=int))
    assert set(crossings) == {15}
