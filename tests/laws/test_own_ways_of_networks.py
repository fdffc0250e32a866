"""Law: networks with a routing or links of their own reach their hosts by these alone, in one order of all channels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.verify import Plan, verify
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_networks import NOBODY, planned, sent_across, with_networks
from thinned import examples

OWN = ["auto", "up-down", "tree", "any"]


def with_own_ways(draw, fabric):
    """Give some networks a routing, and some a set of links that still connects their hosts."""
    names = list(fabric.networks)
    routings = {name: draw(st.sampled_from(OWN)) for name in names if draw(st.booleans())}
    links = list(fabric.links)
    for name in names:
        for i in draw(st.lists(st.integers(0, len(links) - 1), max_size=6)) if links else []:
            less = replace(links[i], barred=tuple(sorted({*links[i].barred, name})))
            tried = replace(fabric, links=(*links[:i], less, *links[i + 1 :]))
            mine = tuple(fabric.hosts[h] for h in fabric.networks[name].tolist())
            seen = replace(tried, hosts=mine).with_links_down(np.flatnonzero(tried.barred[name]).tolist())
            links[i] = less if not seen.apart else links[i]
    return replace(fabric, links=tuple(links), routings=tuple(sorted(routings.items())))


def waits(fabric, plane):
    """Follow a frame of every pair, and of each host to all: which channel may wait for which, by the frames alone."""
    found, crossed = set(), {name: set() for name in fabric.networks}
    network = {host.name: host.network for host in fabric.hosts}
    ends = [((x.a, x.a_port), (x.b, x.b_port)) for x in fabric.links]
    far = dict(ends) | {b: a for a, b in ends}
    number = {place: n for n, place in enumerate(sorted(far))}
    for a, name in network.items():
        sent = [plane.broadcast(a), plane.broadcast(a, mac=NOBODY)]
        sent += [plane.unicast(a, b) for b in network if b != a and name == network[b]]
        for hop in (hop for each in sent for hop in each.path):
            s = fabric.index[hop.switch]
            out = number.get((s, hop.out_port))
            came = number.get(far.get((s, hop.in_port)))
            if out is not None:
                crossed[name].add(frozenset({(s, hop.out_port), far[s, hop.out_port]}))
            if out is not None and came is not None:
                found.add((came, out))
    held, wanted = (np.array(sorted(found), np.int64).reshape(-1, 2)).T
    return find_cycle(len(number), held, wanted), crossed


@examples(25)
@given(st.one_of(graphs(least=3), families()), st.data())
def test_frames_stay_on_their_own_links_and_wait_in_no_circle(fabric, data):
    fabric = with_own_ways(data.draw, with_networks(data.draw, damaged(data.draw, fabric)))
    method = data.draw(st.sampled_from(OWN))
    try:
        build, proof, _ = planned(fabric, routing=method)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        if "one order of channels" not in refused.rule or not refused.witness:
            raise
        return
    event("planned")
    assert proof.proven, [str(finding) for finding in proof.findings]
    plane = Dataplane(fabric, build.state)
    for a in fabric.hosts:
        mine = {b.name for b in fabric.hosts if b.network == a.network and b != a}
        assert plane.broadcast(a.name).delivered_to == dict.fromkeys(mine, 1)
        for b in mine:
            assert plane.unicast(a.name, b).delivered_to == {b: 1}
    cycle, crossed = waits(fabric, plane)
    assert not cycle
    for name, used in crossed.items():
        barred = {frozenset({(x.a, x.a_port), (x.b, x.b_port)}) for x in fabric.links if name in x.barred}
        assert not used & barred
    assert not sent_across(fabric, build.state)
    again = parse_fabric(format_fabric(fabric), "again")
    assert (again.links, again.routings) == (fabric.links, fabric.routings)


def the_share():
    """Return a ring of six in which storage has every link but one, and compute the short way over that."""
    own = "{hosts: [h0, h3], links: ['s0:g2', 's1:g2', 's2:g2'], routing: tree}"
    own = f"networks:\n  storage: {own}\n  rest: [h1, h2, h4, h5]\n"
    return make_fabric("ring", 6, extra=own, model="powerconnect-5324")


def test_a_frame_on_a_link_that_its_network_may_not_use_is_found_with_its_way():
    fabric = the_share()
    build, proof, _ = planned(fabric)
    assert proof.proven
    link = next(x for x in fabric.links if "storage" in x.barred and 0 in (x.a, x.b))
    state = build.state
    vlan = int(state["s0"].pvid[fabric.hosts[0].port - 1])
    for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
        held = SwitchEditor.of(state[fabric.switches[s].name])
        held.create_vlan(vlan)
        held.set_member(vlan, port, Membership.TAGGED)
        state = {**state, fabric.switches[s].name: held.freeze()}
    found = [str(f) for f in verify(fabric, state, Plan(build.routes, shares=True)).findings]
    assert any(
        f.startswith("network storage: expected its frames on the links that it may use alone") for f in found
    ), found
    assert not any("may use alone" in str(f) for f in verify(fabric, state, Plan(build.routes)).findings)


def on_lanes(parallel, *, lanes):
    """Return a ring of four with two networks, each on the parallel links that `lanes` give it."""
    links = make_fabric("ring", 4, parallel=parallel, model="powerconnect-5324").links
    words = [[f"'s{x.a}:g{x.a_port}'" for x in links if x.parallel_link == lane] for lane in lanes]
    parts = zip("ab", ("h0, h2", "h1, h3"), words, strict=True)
    said = "".join(f"  {name}: {{hosts: [{hosts}], links: [{', '.join(own)}]}}\n" for name, hosts, own in parts)
    return make_fabric("ring", 4, parallel=parallel, extra=f"networks:\n{said}", model="powerconnect-5324")


def test_networks_on_links_of_their_own_share_none():
    fabric = on_lanes(2, lanes=(0, 1))
    build, proof, _ = planned(fabric)
    assert proof.proven
    _, crossed = waits(fabric, Dataplane(fabric, build.state))
    assert crossed["a"]
    assert crossed["b"]
    assert not crossed["a"] & crossed["b"]


def test_links_that_do_not_connect_a_network_are_refused():
    with pytest.raises(
        InputError, match=r"networks\.b\.links: expected links to connect its hosts, actual no way to s"
    ):
        planned(on_lanes(1, lanes=(0, 1)))


def test_what_own_ways_exclude_is_refused_at_once():
    with pytest.raises(InputError) as caught:
        planned(
            make_fabric("ring", 4, extra="networks: {a: {hosts: [h0, h2], routing: fast}}\n"),
            prefer="load",
            assignment="renamed",
        )
    assert [finding.where for finding in caught.value.findings] == ["networks.a.routing", "--assignment", "--prefer"]


def test_a_running_fabric_is_led_to_links_of_its_own_and_back():
    fabric = the_share()
    plain = replace(fabric, links=tuple(replace(link, barred=()) for link in fabric.links), routings=())
    one, two = planned(plain)[0], planned(fabric)[0]
    there = rollout_between(one, pipeline.plan(fabric, ROOT / "templates", effort=0, texts=False, previous=one)[0])
    assert there.waves
    assert all(wave.proof.proven for wave in there.waves)
    back = rollout_between(two, pipeline.plan(plain, ROOT / "templates", effort=0, texts=False, previous=two)[0])
    assert all(wave.proof.proven for wave in back.waves)
