"""A parallel link that is off takes the place of a dead one: line by line, frame by frame, even if that is back."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fabrics import ROOT
from sending import delivered, line_by_line
from tagloom import pipeline
from tagloom.graph.paths import path_lengths
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.repair_spare import Spare, spare_for, spare_wave, spares
from tagloom.operate.repair_target import target
from tagloom.platforms.port_names import link_ends
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.dead_parts import DeadParts
from tagloom.records.switch_state import Membership
from tagloom.render import render
from tagloom.verify import Plan, verify
from thinned import few

pytestmark = pytest.mark.kernel

TEMPLATES = ROOT / "templates"
MIXED = "switches: {s1: {model: cisco-sg350-28}, s2: {model: powerconnect-6224}}\n"
NETWORKS = "networks: {a: [h0, h2, h4, h6], b: [h1, h3, h5, h7]}\n"
SHAPES = [
    ("fixed", "ring, dims: [4], parallel: 2, hosts: 2", "model: powerconnect-5324\n" + MIXED),
    ("renamed", "mesh, dims: [2, 3], parallel: 2, hosts: 1", "model: powerconnect-5324\n"),
    ("pinned", "mesh, dims: [3, 2], parallel: 2, hosts: 1", "model: linux-bridge\n"),
    ("fixed", "torus, dims: [3, 3], parallel: 3, hosts: 1", "model: powerconnect-5548\n"),
    ("fixed", "complete, dims: [4], parallel: 2, hosts: 2", "model: powerconnect-5324\n" + NETWORKS),
    ("renamed", "torus, dims: [3, 3], parallel: 2, hosts: 1", "model: powerconnect-6248\n"),
]
CASE = ("assignment", "shape", "extra")


def planned(assignment, shape, extra, seed=0, routing="auto"):
    """Plan a fabric with one link of each neighbour pair on, drawn by `seed`; return the whole one, and what runs."""
    whole = parse_fabric("name: lab\n" + (f"shape: {{family: {shape}}}\n" if shape else "") + extra, "test")
    chance, beside = random.Random(seed), {}
    for i, link in enumerate(whole.links):
        beside.setdefault(frozenset((link.a, link.b)), []).append(i)
    on = {chance.choice(links) for links in beside.values()}
    fabric = whole.with_links_down(set(range(len(whole.links))) - on)
    build, proof, texts = pipeline.plan(fabric, TEMPLATES, assignment=assignment, routing=routing)
    assert proof.proven
    return whole, SimpleNamespace(home=build, state=build.state, texts=texts)


def around(runs, whole, link):
    """Return what shall run where a link is dead, and the spare for it."""
    home = runs.home.fabric
    wanted = target(home, home, whole, DeadParts(frozenset({link})))
    return wanted.fabric, spare_for(home, whole, frozenset({link}), wanted)


def with_pulled(fabric, state, pulled=None):
    """Return what is heard, where a cable is pulled or none is."""
    plane = Dataplane(fabric, state)
    if pulled is not None:
        plane.break_off({}, {(fabric.links[pulled].a, fabric.links[pulled].a_port): "pulled"})
    return delivered(fabric, plane)


@pytest.mark.parametrize(CASE, few(SHAPES, 0, 1, 2))
def test_pairs_go_on_working_at_every_line_and_all_work_at_the_end_even_if_the_dead_link_is_back(
    assignment, shape, extra
):
    whole, runs = planned(assignment, shape, extra, seed=len(shape))
    chance, home = random.Random(5), runs.home.fabric
    mates = {(a.name, b.name) for a in home.hosts for b in home.hosts if a is not b and a.network == b.network}
    on = [i for i, link in enumerate(home.links) if link.up]
    assert {each.link for each in spares(home, whole)} == {*on}
    for link in on:
        fabric, spare = around(runs, whole, link)
        ready = spare_wave(runs, fabric, spare, TEMPLATES)
        (wave,) = ready.change.waves
        assert (wave.until_up, wave.drain_seconds > 0.0) == (True, True)  # a look before it is up would find it dead
        ends = {fabric.switches[s].name for s in (fabric.links[link].a, fabric.links[link].b)}
        assert {patch.switch for patch in wave.patches} == ends
        works, here = with_pulled(whole, wave.before, link)[0], dict(wave.before)
        for _ in line_by_line(whole, wave, here, chance, 1):
            assert with_pulled(whole, here, link)[0] >= works
            with_pulled(whole, here)  # it is back: nothing storms
        assert here == wave.state
        for back in (link, None):
            frames, broadcasts = with_pulled(whole, wave.state, back)
            assert frames == mates
            assert {pair: broadcasts.get(pair) for pair in mates} == dict.fromkeys(mates, 1)
        assert verify(whole, wave.state, Plan(None, shares=True)).deadlock_free
        for s, port in (
            (whole.links[link].a, whole.links[link].a_port),
            (whole.links[link].b, whole.links[link].b_port),
        ):
            dead, old = (state[whole.switches[s].name].port(port) for state in (wave.state, wave.before))
            assert (dead.enabled, dead.tagged, dead.untagged) == (True, (), ())  # so that its return is noticed
            assert (dead.speed_mbps, dead.negotiation, dead.eee) == (old.speed_mbps, old.negotiation, old.eee)
        assert {name: ready.texts[id(held)] for name, held in wave.state.items()} == render(
            fabric, wave.state, TEMPLATES
        )


CROSSED = """
model: powerconnect-5324
switches: {s0: {}, s1: {}, s2: {}}
links:
  - [s0:g1, s1:g1]
  - [s1:g2, s0:g2]
  - [s2:g1, s1:g3]
  - [s2:g2, s1:g4]
hosts: {h0: {switch: s0, port: g9}, h1: {switch: s1, port: g9}, h2: {switch: s2, port: g9}}
"""


@pytest.mark.parametrize(("assignment", "routing"), [("fixed", "auto"), ("renamed", "any")])  # trees, and a relation
@pytest.mark.parametrize("seed", range(4))
def test_the_build_has_the_paths_of_the_one_that_ran_with_one_link_for_the_other(assignment, routing, seed):
    whole, runs = planned(assignment, None, CROSSED, seed, routing)
    for spare in spares(runs.home.fabric, whole):
        fabric, found = around(runs, whole, spare.link)
        assert found == spare
        ready = spare_wave(runs, fabric, spare, TEMPLATES)
        before, after = runs.home.routes, ready.build.routes
        assert (after.parent is None, after.relation is None) == (assignment == "renamed", assignment == "fixed")
        assert verify(fabric, ready.build.state, Plan(after, shares=True)).proven
        assert (path_lengths(runs.home.fabric, before) == path_lengths(fabric, after)).all()
        assert followed(fabric, after) == followed(runs.home.fabric, before)
        assert ready.build.vlans == runs.home.vlans
        assert fabric.links[spare.link].dead


def followed(fabric, routes):
    """Return the switches on the path from every source to every host's switch, as both forms of routes say."""
    paths = {}
    for source, root in enumerate(routes.root.tolist()):
        for end in {host.switch for host in fabric.hosts} - {root}:
            if routes.parent is not None:
                at, back = end, [end]
                while at != root:
                    at = int(fabric.tail[routes.parent[source, at]])
                    back.append(at)
                paths[source, end, "tree"] = back[::-1]
            if routes.relation is not None:
                channel, path = int(routes.relation.first[source, end]), [root]
                while channel >= 0:
                    assert fabric.channel_up[channel]
                    path.append(int(fabric.head[channel]))
                    channel = int(routes.relation.following[channel, end])
                paths[source, end, "relation"] = path
    return paths


def test_a_build_with_a_spare_has_no_detours_which_were_planned_for_the_other_link():
    whole, runs = planned(*SHAPES[0])
    build = pipeline.plan(runs.home.fabric, TEMPLATES, protect="link")[0]
    assert build.detours
    assert build.protection
    runs = SimpleNamespace(home=build, state=build.state, texts=render(build.fabric, build.state, TEMPLATES))
    (spare, *_) = spares(build.fabric, whole)
    ready = spare_wave(runs, around(runs, whole, spare.link)[0], spare, TEMPLATES)
    assert (ready.build.detours, ready.build.protection) == ((), None)


def test_a_link_has_no_spare_where_none_beside_it_is_off_or_not_of_its_kind():
    whole, runs = planned(*SHAPES[0])
    home = runs.home.fabric
    (first, *_) = spares(home, whole)
    assert first == Spare(first.link, first.spare, link_ends(home, first.link))
    assert spares(whole, whole) == []  # nothing sleeps
    asleep = home.links[first.spare]
    for other in (
        replace(asleep, speed_mbps=100),
        replace(asleep, barred=("a",)),
        replace(asleep, members=((1, 1), (2, 2))),
    ):
        links = (*home.links[: first.spare], other, *home.links[first.spare + 1 :])
        assert first.link not in {each.link for each in spares(replace(home, links=links), whole)}


def test_two_dead_links_or_a_part_that_is_cut_off_are_for_a_plan():
    whole, runs = planned(*SHAPES[0])
    home, (first, second, *_) = runs.home.fabric, spares(runs.home.fabric, whole)
    both = frozenset({first.link, second.link})
    wanted = target(home, home, whole, DeadParts(both))
    assert len(wanted.woken) == 2
    assert spare_for(home, whole, both, wanted) is None
    alone = target(home, home, whole, DeadParts(frozenset({first.link})))
    assert spare_for(home, whole, frozenset({first.link}), alone) == first
    assert spare_for(home, whole, frozenset({first.link}), replace(alone, apart=(1,))) is None
    assert spare_for(home, whole, frozenset({second.link}), alone) is None


@pytest.mark.parametrize("spoilt", ["taken out", "both in", "open"])
def test_a_wave_that_does_not_prove_is_none(spoilt):
    whole, runs = planned(*SHAPES[0])
    (spare, *_) = spares(runs.home.fabric, whole)
    fabric, _ = around(runs, whole, spare.link)
    state, link, beside = dict(runs.state), whole.links[spare.link], whole.links[spare.spare]
    for s, port, other in ((link.a, link.a_port, beside.a_port), (link.b, link.b_port, beside.b_port)):
        held = state[fabric.switches[s].name]
        members, enabled = held.membership.copy(), held.enabled.copy()
        if spoilt == "taken out":  # of the VLANs of the link that died: pairs would stay cut off
            members[:, port - 1] = Membership.NONE
        elif spoilt == "both in":  # VLANs would go round for good once the dead link is back
            members[:, other - 1] = members[:, port - 1]
        else:  # and so from the line that has the spare join until the one that has the dead link leave
            enabled[other - 1] = True
        state[fabric.switches[s].name] = replace(held, membership=members, enabled=enabled)
    texts = render(runs.home.fabric, state, TEMPLATES)
    assert spare_wave(SimpleNamespace(home=runs.home, state=state, texts=texts), fabric, spare, TEMPLATES) is None
