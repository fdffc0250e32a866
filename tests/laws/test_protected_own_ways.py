"""Law: beside tagged networks and ways of their own, detours bring back what was proven, and nothing crosses meanwhile.

Every single failure is followed by frames at every line of the wave that takes the detour, hostile tags included.
"""

import random
from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric
from failing import alive, moved, note
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import link_at
from tagloom.verify import Plan, verify
from test_networks import NOBODY, planned, with_networks
from test_own_ways_of_networks import with_own_ways
from test_protected_networks import two_connected
from test_tagged_networks import heard_across, tags_of, with_tagged
from thinned import examples

TRUNK = "networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4, h7], vlan: 20}}\n"


def sent(fabric, plane, waits):
    """Send each network's unicasts, broadcasts and frames to nobody; return the pairs that arrive, flooded nowhere."""
    arrived = set()
    for a in fabric.hosts:
        mates = [b.name for b in fabric.hosts if b.network == a.network and b is not a]
        for frames in (plane.broadcast(a.name), plane.broadcast(a.name, mac=NOBODY)):
            assert frames.storm == ""
            assert set(frames.delivered_to.items()) <= {(name, 1) for name in mates}
            note(fabric, frames, waits)
        for b in mates:
            frames = plane.unicast(a.name, b)
            assert frames.storm == ""
            note(fabric, frames, waits)
            if frames.copies and not frames.flooded:
                assert frames.delivered_to == {b: 1}
                arrived.add((a.name, b))
    return arrived


def on_barred_links(fabric, state):
    """Send all that hosts may, with every tag: list the hops onto links that the network may not use."""
    plane, wrong = Dataplane(fabric, state), []
    barred = {(s, p): x.barred for x in fabric.links for s, p in ((x.a, x.a_port), (x.b, x.b_port)) if x.barred}
    for a in fabric.hosts if barred and not fabric.tagged_hosts else ():
        for tag in tags_of(state):
            hops = [*plane.broadcast(a.name, tag).path, *plane.broadcast(a.name, tag, NOBODY).path]
            hops += [hop for b in fabric.hosts[:4] for hop in plane.unicast(a.name, b.name, tag).path]
            wrong += [hop for hop in hops if a.network in barred.get((fabric.index[hop.switch], hop.out_port), ())]
    return wrong


def pulled(fabric, detour):
    """Return what a failure breaks in the data plane, (switches, places), and its link and switch, -1 for none."""
    link = link_at(fabric, detour.dead[0]) if len(detour.dead) > 1 else -1
    switch = -1 if len(detour.dead) > 1 else fabric.index[detour.dead[0]]
    places = {(x.a, p): "pulled" for i, x in enumerate(fabric.links) if i == link for p, _ in x.cables}
    return ({switch: "dead"} if switch >= 0 else {}, places), link, switch


def each_failure_holds(fabric, kind, chance):
    """Plan with detours; fail each part, and take its detour line by line. Return the build."""
    build, proof, _ = planned(fabric, protect=kind)
    assert proof.proven, [str(finding) for finding in proof.findings]
    waits, state = nx.DiGraph(), build.state
    assert len(sent(fabric, Dataplane(fabric, state), waits)) == proof.pairs == fabric.pairs
    protected = unprotected = 0
    for detour in build.detours:
        broken, link, switch = pulled(fabric, detour)
        there, names = alive(fabric, link, switch), list(detour.pvids)
        chance.shuffle(names)
        assert not [h for h in fabric.hosts if h.name in names and (h.tag or h.network in dict(fabric.tags))]

        def followed(here, broken=broken):
            dead = Dataplane(fabric, here)
            dead.break_off(*broken)
            return sent(fabric, dead, waits)

        first, last = followed(state), followed(moved(fabric, state, detour.pvids))
        for lines in range(len(names) + 1):
            here = moved(fabric, state, {name: detour.pvids[name] for name in names[:lines]})
            if lines in {0, len(names)} or chance.random() < 0.3:
                assert followed(here) >= first & last, "a pair that works before and after is cut off"
                sent(fabric, Dataplane(fabric, here), waits)  # the part is back
            if lines == len(names) or chance.random() < 0.1:
                assert heard_across(fabric, here) == set()
                assert on_barred_links(fabric, here) == []
                again = verify(fabric, here, Plan(None, shares=True))
                assert (again.isolated, again.storm_free, again.deadlock_free) == (True, True, True)
                # A detour round a switch does not lead to its hosts, one on links of its own to no part that these cut.
                assert again.proven or kind == "switch" or there - last
        protected += len(last & there)
        unprotected += len(there - last)
    assert nx.is_directed_acyclic_graph(waits), "one order for all, before, during and after each failure"
    assert (build.protection.protected, build.protection.unprotected) == (protected, unprotected)
    return build


@pytest.mark.slow
@examples(10)
@given(
    st.integers(4, 7),
    st.integers(0, 2**16),
    st.sampled_from(["link", "switch"]),
    st.sampled_from(["tagged", "own ways"]),
    st.data(),
)
def test_each_failure_is_what_was_proven_at_every_line(switches, seed, kind, ways, data):
    fabric = with_networks(data.draw, two_connected(seed, switches))
    fabric = with_tagged(data.draw, fabric) if ways == "tagged" else with_own_ways(data.draw, fabric)
    try:
        build = each_failure_holds(fabric, kind, random.Random(seed))
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        if "one order of channels" not in refused.rule:
            raise
        return
    event(f"{ways}: {build.protection.unprotected} of {build.protection.protected} unprotected")


def test_hosts_with_a_tagged_network_beside_theirs_have_detours_and_the_tagged_network_none():
    fabric = make_fabric("ring", 4, parallel=2, hosts=2, extra=TRUNK, model="powerconnect-5324")
    build = each_failure_holds(fabric, "link", random.Random(1))
    moving = {name for detour in build.detours for name in detour.pvids}
    assert "h0" in moving
    assert moving.isdisjoint({"h1", "h3", "h7"})
    assert build.protection.unprotected > 0
    assert all(20 in held.owned_vlans for held in build.state.values())


def test_detours_of_a_network_with_links_of_its_own_take_those_alone():
    fabric = make_fabric("complete", 4, hosts=2, model="powerconnect-5324")
    links = tuple(replace(x, barred=("a",) if i % 3 == 2 else ()) for i, x in enumerate(fabric.links))
    hosts = tuple(replace(h, network="a" if i % 2 else "b") for i, h in enumerate(fabric.hosts))
    fabric = replace(fabric, links=links, hosts=hosts)
    build = each_failure_holds(fabric, "link", random.Random(2))
    moving = {name for detour in build.detours for name in detour.pvids}
    assert {h.network for h in hosts if h.name in moving} == {"a", "b"}
    assert len(build.detours) == len(links)


@pytest.mark.parametrize("routing", ["tree", "up-down", "any"])
def test_a_routing_of_one_network_stays_beside_detours(routing):
    extra = f"networks: {{a: {{hosts: [h0, h2, h3], routing: {routing}}}, b: [h1, h4, h5]}}\n"
    fabric = make_fabric("torus", 3, 3, extra=extra, model="powerconnect-5324")
    build = each_failure_holds(fabric, "link", random.Random(3))
    assert routing in build.routes.method
    assert build.protection.protected > 0
