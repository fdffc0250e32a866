"""Every single failure under pinned, frame by frame: entries change in any order, floods take another tree."""

import random
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric, make_irregular
from failing import alive, note
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import link_at
from tagloom.records.detours import Detour
from tagloom.records.switch_state import SwitchEditor
from tagloom.verify import what_if
from thinned import examples

TREELESS = "broadcasts need one tree"


def changed(fabric, state, vlan, switch, line):
    """Return the states after one line at a switch: an entry to another port, or a port that floods or does not."""
    what, port = line
    editor = SwitchEditor.of(state[switch])
    if isinstance(what, bool):
        editor.flooding[port - 1] = what
    else:
        mac = next(host.mac for host in fabric.hosts if host.name == what)
        assert (vlan, mac) in editor.entries  # no frame comes to a switch before its entry does
        editor.entries[vlan, mac] = (port,)
    return {**state, switch: editor.freeze()}


def sent(fabric, plane, waits):
    """Send every unicast and every broadcast; return the pairs that each joins, and note the dependencies."""
    unicasts, floods = set(), set()
    for a in fabric.hosts:
        heard = plane.broadcast(a.name)
        assert not heard.storm
        assert set(heard.delivered_to.values()) <= {1}
        note(fabric, heard, waits)
        floods |= {(a.name, b) for b in heard.delivered_to}
        for b in fabric.hosts:
            if b is not a:
                frame = plane.unicast(a.name, b.name)
                assert not frame.storm
                note(fabric, frame, waits)
                if frame.delivered_to == {b.name: 1} and not frame.flooded:
                    unicasts.add((a.name, b.name))
    return unicasts, floods


def broken(fabric, state, link, switch):
    plane = Dataplane(fabric, state)
    pulled = {(x.a, p): "pulled" for i, x in enumerate(fabric.links) if i == link for p, _ in x.cables}
    plane.break_off({switch: "dead"} if switch >= 0 else {}, pulled)
    return plane


def holds(fabric, kind, seed, **options):
    """Plan with detours; follow frames after each failure, line by line to its detour, and when a link is back."""
    chance = random.Random(seed)
    build, proof, _ = pipeline.plan(
        fabric, ROOT / "templates", assignment="pinned", protect=kind, texts=False, **options
    )
    assert proof.proven, [str(finding) for finding in proof.findings]
    (vlan,) = {v for held in build.state.values() for v in held.owned_vlans}
    protected = unprotected = 0
    for detour in build.detours:
        assert detour == Detour.from_json(detour.to_json())
        assert not detour.pvids
        link = link_at(fabric, detour.dead[0]) if len(detour.dead) > 1 else -1
        switch = -1 if link >= 0 else fabric.index[detour.dead[0]]
        there, waits = alive(fabric, link, switch), nx.DiGraph()
        works, _ = sent(fabric, broken(fabric, build.state, link, switch), waits)
        lines = [(s, line) for s, entries in detour.entries.items() for line in entries.items()]
        floods = [(s, (on, port)) for s, ports in detour.floods.items() for port, on in ports.items()]
        first = lines + [each for each in floods if not each[1][0]]
        chance.shuffle(first)
        state = build.state
        for number, (s, line) in enumerate(first + [each for each in floods if each[1][0]]):
            state = changed(fabric, state, vlan, s, line)
            if number % 3 == 0:
                assert sent(fabric, broken(fabric, state, link, switch), waits)[0] >= works & there
        unicasts, heard = sent(fabric, broken(fabric, state, link, switch), waits)
        assert nx.is_directed_acyclic_graph(waits)
        protected += len(unicasts & heard & there)
        unprotected += len(there - (unicasts & heard))
        if link >= 0:
            sent(fabric, Dataplane(fabric, state), nx.DiGraph())  # it comes back: no storm, no second copy
    assert (build.protection.protected, build.protection.unprotected) == (protected, unprotected)
    return build


@pytest.mark.kernel
@pytest.mark.slow
@examples(12)
@given(st.integers(3, 7), st.sampled_from([0, 1, 2]), st.integers(0, 2**16), st.sampled_from(["link", "switch"]))
def test_entries_that_change_in_any_order_close_no_cycle_and_cut_no_pair(switches, degree, seed, kind):
    graph = nx.gnm_random_graph(switches, degree * switches, seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    hosts = [(seed >> v) % 3 for v in range(switches)]
    hosts[0], hosts[-1] = 1, 2
    fabric = make_irregular(hosts, sorted(graph.edges), "linux-bridge")
    try:
        build = holds(fabric, kind, seed, routing=("auto", "any")[seed % 2])
    except PlanError as refused:
        if TREELESS not in str(refused):
            raise
        event("no tree for floods")
        return
    event(f"detours: {any(each.entries for each in build.detours)}")


@pytest.mark.parametrize("switches", [4, 5])
def test_a_full_mesh_is_protected_wholly_and_nothing_more_is_installed(switches):
    build = holds(make_fabric("complete", switches), "switch", 1)
    assert (build.protection.unprotected, build.vlans, build.protection.detour_vlans) == (0, 1, 0)
    assert build.protection.detour_entries == 0


def test_hosts_of_two_networks_are_led_around_in_the_vlan_of_each():
    fabric = make_fabric("complete", 4, hosts=2, extra="networks: {a: [h0, h2, h4, h6], b: [h1, h3, h5, h7]}\n")
    build, proof, _ = pipeline.plan(fabric, ROOT / "templates", assignment="pinned", protect="link", texts=False)
    assert (proof.isolated, build.protection.unprotected, build.vlans) == (True, 0, 2)
    found = what_if(fabric, build.state, "links", build.detours)
    assert (found.safe, found.isolated) == (True, True)
    assert found.saved == 2 * (3 * 6 + 3 * 2)  # floods join three links: each parts one switch from the others


def test_a_detour_that_closes_a_cycle_is_found():
    fabric = make_fabric("torus", 3, 3, model="linux-bridge")
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", assignment="pinned", protect="link", texts=False)
    good = build.detours[0]
    assert what_if(fabric, build.state, "links", build.detours).safe
    ends = {host.name: fabric.switches[host.switch].name for host in fabric.hosts}
    around = {  # each switch sends on to the one before it in its row, whoever the frame is for
        switch.name: {host: fabric.tail_port[c] for host in ends if ends[host] != switch.name}
        for s, switch in enumerate(fabric.switches)
        for c in range(len(fabric.tail))
        if fabric.tail[c] == s and fabric.head[c] == 3 * (s // 3) + (s + 1) % 3
    }
    bad = what_if(fabric, build.state, "links", [Detour(good.dead, {}, around)])
    assert not bad.deadlock_free
    assert bad.deadlock_cycle


def test_what_cannot_be_protected_is_refused_with_the_reason():
    def plan(fabric):
        pipeline.plan(fabric, ROOT / "templates", assignment="pinned", protect="link", texts=False)

    with pytest.raises(InputError, match="told by which ports to flood"):
        plan(make_fabric("ring", 4, model="powerconnect-5324"))
    fabric = make_fabric("ring", 4)
    uplink = replace(fabric.hosts[0], mac=0, uplink=True)
    with pytest.raises(InputError, match="the uplink h0"):
        plan(replace(fabric, hosts=(uplink, *fabric.hosts[1:])))
