"""Every single failure, frame by frame from the rendered texts: hosts change VLANs, and the pairs are back."""

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import pipeline
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import link_at
from tagloom.read import read_fabric
from tagloom.records.switch_state import SwitchEditor
from tagloom.verify import what_if
from thinned import examples

GADGETS = sorted((Path(__file__).parents[1] / "gadgets").glob("*.yml"))
FAMILIES = [("complete", 4), ("complete", 5), ("clos", 3, 3), ("torus", 3, 3), ("hypercube", 3), ("mesh", 3, 2)]


def alive(fabric, link, switch):
    """Return the ordered pairs of hosts' names that are connected without a link and a switch."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(s for s in range(len(fabric.switches)) if s != switch)
    graph.add_edges_from(
        (x.a, x.b) for i, x in enumerate(fabric.links) if x.up and i != link and switch not in {x.a, x.b}
    )
    part = {s: i for i, nodes in enumerate(nx.connected_components(graph)) for s in nodes}
    return {
        (a.name, b.name)
        for a in fabric.hosts
        for b in fabric.hosts
        if a is not b and part.get(a.switch, -1) == part.get(b.switch, -2)
    }


def moved(fabric, state, pvids):
    """Return the states with other PVIDs at the ports of some hosts, and nothing else changed."""
    changed = dict(state)
    for host in fabric.hosts:
        if host.name in pvids:
            name = fabric.switches[host.switch].name
            editor = SwitchEditor.of(changed[name])
            editor.pvid[host.port - 1] = pvids[host.name]
            changed[name] = editor.freeze()
    return changed


def sent_everywhere(fabric, plane, waits):
    """Send every unicast and every broadcast; note the dependencies, and return the pairs that arrive."""
    arrived = set()
    for a in fabric.hosts:
        shout = plane.broadcast(a.name)
        assert not shout.storm
        assert set(shout.delivered_to.values()) <= {1}
        for b in fabric.hosts:
            if a is b:
                continue
            sent = plane.unicast(a.name, b.name)
            assert not sent.storm
            note(fabric, sent, waits)
            if sent.copies and not sent.flooded:
                assert sent.delivered_to == {b.name: 1}
                arrived.add((a.name, b.name))
        assert {(a.name, name) for name in shout.delivered_to} == {pair for pair in arrived if pair[0] == a.name}
        note(fabric, shout, waits)
    return arrived


def note(fabric, sent, waits):
    """Add the dependencies of one frame's copies: each switch it enters by a channel, and leaves by another."""
    for hop in sent.path:
        s = fabric.index[hop.switch]
        before, after = fabric.port_channel[s, hop.in_port], fabric.port_channel[s, hop.out_port]
        if before >= 0 and after >= 0:
            waits.add_edge(int(before) ^ 1, int(after))


def holds(fabric, kind, prefer="vlans"):
    build, proof, texts = pipeline.plan(fabric, ROOT / "templates", protect=kind, prefer=prefer)
    assert proof.proven, [str(finding) for finding in proof.findings]
    state, unknown = pipeline.parse(fabric, texts)
    assert not unknown
    waits = nx.DiGraph()
    assert len(sent_everywhere(fabric, Dataplane(fabric, state), waits)) == proof.pairs
    protected = unprotected = 0
    for detour in build.detours:
        link = link_at(fabric, detour.dead[0]) if len(detour.dead) > 1 else -1
        switch = -1 if len(detour.dead) > 1 else fabric.index[detour.dead[0]]
        there = alive(fabric, link, switch)
        after = moved(fabric, state, detour.pvids)
        sent_everywhere(fabric, Dataplane(fabric, after), waits)  # the wave may come when the link is back
        plane = Dataplane(fabric, after)
        pulled = {(x.a, p): "pulled" for i, x in enumerate(fabric.links) if i == link for p, _ in x.cables}
        plane.break_off({switch: "dead"} if switch >= 0 else {}, pulled)
        reached = sent_everywhere(fabric, plane, waits)
        assert reached <= there | {pair for pair in reached if switch >= 0}
        protected += len(reached & there)
        unprotected += len(there - reached)
    assert nx.is_directed_acyclic_graph(waits)
    assert (build.protection.protected, build.protection.unprotected) == (protected, unprotected)
    assert sum(x.up for x in fabric.links) + (kind == "switch") * len(fabric.live) == len(build.detours)
    return build


@pytest.mark.parametrize("kind", ["link", "switch"])
@pytest.mark.parametrize("path", GADGETS, ids=lambda path: path.stem)
def test_each_failure_of_a_gadget_is_what_was_proven(path, kind):
    holds(read_fabric(path), kind)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: "-".join(map(str, family)))
def test_regular_fabrics_of_more_than_one_ring_are_protected(family):
    build = holds(make_fabric(*family), "switch")
    assert build.protection.unprotected == 0 or family[0] in {"mesh", "hypercube"}


@examples(20)
@given(
    st.integers(4, 9), st.integers(0, 2**16), st.sampled_from(["link", "switch"]), st.sampled_from(["vlans", "load"])
)
def test_each_failure_of_a_two_connected_fabric_is_what_was_proven(switches, seed, kind, prefer):
    graph = nx.gnm_random_graph(switches, 2 * switches, seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    hosts = [(seed >> v) % 3 for v in range(switches)]
    hosts[0], hosts[-1] = 1, 2
    holds(make_irregular(hosts, sorted(graph.edges), "linux-bridge"), kind, prefer)


@pytest.mark.parametrize("family", FAMILIES[1:4], ids=lambda family: "-".join(map(str, family)))
def test_short_detours_of_each_source_are_as_good(family):
    fabric = make_fabric(*family)
    short, shared = holds(fabric, "link", "load"), holds(fabric, "link")
    assert short.protection.unprotected == 0
    assert short.protection.load_after_failure_max <= shared.protection.load_after_failure_max
    assert short.protection.detour_vlans > shared.protection.detour_vlans


def test_what_if_without_a_plan_finds_what_the_vlans_of_the_texts_can_do():
    fabric = make_fabric("torus", 3, 3)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", protect="link")
    planned = what_if(fabric, build.state, "links", build.detours)
    found = what_if(fabric, build.state, "links")
    assert (planned.unprotected, found.unprotected) == (0, 0)
    assert found.safe
    bare, _, _ = pipeline.plan(fabric, ROOT / "templates")
    alone = what_if(fabric, bare.state, "links")
    assert alone.safe
    assert alone.unprotected == sum(loss.unprotected for loss in alone.losses) > 0
    assert alone.protected + alone.unprotected == 18 * 72
