"""Spanning tree stays on for ports outside the fabric: it blocks there, and no port of the fabric."""

import random
from dataclasses import replace
from functools import partial

import pytest
from test_greenfield import FABRICS, blocked_words, build_of
from test_pruning import walk

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.errors import InputError, PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.proving import proof_services
from tagloom.pipeline.rollouts import greenfield
from tagloom.platforms.factory import factory_state
from tagloom.platforms.interpreter import Interpreter
from tagloom.platforms.spanning import spanning_outside
from tagloom.records.change import difference
from tagloom.records.fabric import Host, Link, Switch
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.render import render_commands
from tagloom.rollout.pruning import laid_over, pruned_first
from tagloom.verify import verify
from thinned import few

pytestmark = pytest.mark.kernel

MODEL = "powerconnect-5324"
TEMPLATES = ROOT / "templates"
OUTSIDE = (20, 21)  # ports of VLAN 10 at every switch


def with_vlan_10(fabric, state, links=()):
    """Return states with a foreign VLAN 10, on two ports outside and tagged on some links."""
    found = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        editor.create_vlan(10)
        editor.name_vlan(10, "theirs")
        for port in OUTSIDE:
            editor.set_member(1, port, Membership.NONE)
            editor.set_member(10, port, Membership.UNTAGGED)
            editor.set_pvid(port, 10)
        for link in (fabric.links[i] for i in links):
            for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if end == s:
                    editor.set_member(10, port, Membership.TAGGED)
                    editor.mode[port - 1] = PortMode.GENERAL
        found[switch.name] = editor.freeze()
    return found


def cabled(fabric, cables):
    """Return a fabric with foreign switches, factory-like but for a host each, cabled to ports outside it."""
    count = 1 + max(x for x, _, _ in cables)
    model = fabric.switches[0].model
    names = [f"x{x}" for x in range(count)]
    first, used = len(fabric.switches), [0] * count
    links = []
    for x, s, port in cables:
        used[x] += 1
        links.append(Link(s, port, first + x, used[x]))
    whole = replace(
        fabric.with_links_up(),
        switches=(*fabric.switches, *(Switch(name, model) for name in names)),
        links=(*fabric.with_links_up().links, *links),
        hosts=(*fabric.hosts, *(Host(f"h{n}", first + x, 24, 0x02AA_0000_0000 + x) for x, n in enumerate(names))),
        ports=(*fabric.ports, *[platforms.load(model).ports] * count),
        shape=None,
    )
    return whole, {name: factory_state(platforms.load(model)) for name in names}


def storms(fabric, state, cables):
    """Return whether a broadcast from a switch outside loops, and whether one from a host of the fabric does."""
    whole, theirs = cabled(fabric, cables)
    plane = Dataplane(whole, {**state, **theirs})
    outer = [host.name for host in whole.hosts[len(fabric.hosts) :]]
    return any(plane.broadcast(name).storm for name in outer), plane


def some_cables(chance, fabric, count):
    free = [(s, port) for s in range(len(fabric.switches)) for port in OUTSIDE]
    return [(chance.randrange(2), *place) for place in chance.sample(free, count)]


@pytest.mark.parametrize("seed", few(range(40), 10))
def test_what_is_cabled_outside_storms_only_where_the_proof_names_the_vlan(seed):
    chance = random.Random(seed)
    family = chance.choice([("ring", (4,)), ("mesh", (3, 2)), ("complete", (4,))])
    fabric = spanning_outside(make_fabric(family[0], *family[1], model=MODEL))
    build, proof, _ = pipeline.plan(fabric, TEMPLATES, texts=False)
    assert proof.proven
    links = [i for i in range(len(fabric.links)) if chance.random() < chance.choice([0.0, 0.3, 0.7])]
    state = with_vlan_10(fabric, build.state, links)
    proof = verify(fabric, state)
    stormed, plane = storms(fabric, state, some_cables(chance, fabric, chance.randint(2, 6)))
    assert not (stormed and proof.storm_free and not proof.foreign_unguarded)
    if not links:
        assert not stormed
        assert proof.proven
        assert proof.foreign_unguarded == ()
        ping = plane.ping_all()
        kept = {host.name for host in fabric.hosts}
        assert not {pair for pair in ping.lost if set(pair) <= kept}


def test_two_cables_to_one_switch_outside_loop_where_spanning_tree_is_off_and_not_where_it_stays_on():
    fabric = make_fabric("ring", 3, model=MODEL)
    for choice, loops in (("off", True), ("outside", False)):
        chosen = replace(fabric, spanning_tree=choice)
        state = with_vlan_10(chosen, build_of(chosen).state)
        assert verify(chosen, state).proven
        assert storms(chosen, state, [(0, 0, 20), (0, 0, 21)])[0] == loops


def test_a_vlan_that_leads_over_the_fabric_between_two_cables_to_one_switch_outside_is_named():
    fabric = spanning_outside(make_fabric("ring", 3, model=MODEL))
    state = with_vlan_10(fabric, build_of(fabric).state, [0])
    proof = verify(fabric, state)
    link = fabric.links[0]
    ends = [(0, link.a, 20), (0, link.b, 20)]
    assert storms(fabric, state, ends)[0]
    assert proof.foreign_unguarded == (f"VLAN 10: s{link.a}:g20 and s{link.b}:g20",)
    assert proof.to_json()["foreign_unguarded"] == list(proof.foreign_unguarded)


@pytest.mark.parametrize("model", ["powerconnect-5324", "powerconnect-5548", "powerconnect-6248", "n-series"])
def test_the_texts_say_so_and_read_back_as_they_were(model):
    fabric = make_fabric("ring", 4, model=model, extra="spanning_tree: outside\n")
    build, proof, texts = pipeline.plan(fabric, TEMPLATES)
    assert proof.proven
    assert pipeline.parse(fabric, texts)[0] == build.state
    for s, switch in enumerate(fabric.switches):
        held = build.state[switch.name]
        used = {port - 1 for port in fabric.used_ports[s]}
        assert held.spanning_tree
        assert [bool(on) for on in held.port_spanning_tree] == [p not in used for p in range(held.ports)]


def test_a_model_that_runs_it_on_all_ports_or_none_is_refused_with_the_reason():
    expected = "spanning_tree: expected off, where a model runs spanning tree on all ports or none, actual outside"
    with pytest.raises(InputError) as refused:
        make_fabric("ring", 3, model="linux-bridge", extra="spanning_tree: outside\n")
    assert expected in str(refused.value.findings[0])
    with pytest.raises(InputError) as refused:
        spanning_outside(make_fabric("ring", 3, model="linux-bridge"))
    assert expected in str(refused.value.findings[0])


def test_a_vlan_that_goes_round_over_the_fabric_is_a_finding_and_pruned_where_that_is_allowed():
    fabric = spanning_outside(make_fabric("ring", 4, model=MODEL))
    build = build_of(fabric)
    factory = {s.name: factory_state(platforms.of(s)) for s in fabric.switches}
    running = with_vlan_10(fabric, factory, range(4))
    wish = {"before": running, "blocked": blocked_words(fabric)}
    with pytest.raises(PlanError, match="copies go round"):
        greenfield(build, **wish)
    change = greenfield(build, **wish, foreign="prune")
    assert change.waves[0].name == "prune"
    chance = random.Random(5)
    for state in walk(fabric, change, chance):
        stormed, plane = storms(fabric, state, [(0, 0, 20), (0, 0, 21), (1, 2, 20), (1, 2, 21)])
        assert not stormed
        assert not any(plane.broadcast(host.name).storm for host in fabric.hosts)
    assert all(held.spanning_tree for held in change.after.values())


@pytest.mark.parametrize("name", [name for name in FABRICS if name != "complete with a link off"])
def test_from_factory_no_frame_is_lost_and_no_cable_outside_loops_at_any_line(name):
    fabric = spanning_outside(FABRICS[name]().fabric)
    build = build_of(fabric, "renamed" if name == "mesh renamed" else "fixed")
    change = greenfield(build, blocked=blocked_words(fabric))
    assert all(wave.proof.proven for wave in change.waves)
    assert change.after == build.state
    up = fabric.with_links_up()
    for state in walk(fabric, change, random.Random(7), every=20):
        found = Dataplane(up, state).ping_all()
        assert found.reached == found.pairs
        assert not storms(fabric, state, [(0, 0, 20), (0, 0, 21)])[0]


@pytest.mark.parametrize("model", ["powerconnect-5324", "powerconnect-6248"])
@pytest.mark.parametrize("ways", [("off", "outside"), ("outside", "off"), ("outside", "outside")])
def test_a_rollout_turns_it_on_and_off_and_it_never_runs_on_a_port_of_the_fabric(model, ways):
    fabric = make_fabric("ring", 4, model=model)
    one, other = (replace(fabric, spanning_tree=way) for way in ways)
    old = build_of(one)
    new, _, _ = pipeline.plan(other.with_links_down({0}), TEMPLATES, previous=old, texts=False)
    before = with_vlan_10(one, old.state, [1])
    order = partial(pipeline.rollout, other.with_links_down({0}))
    change = pruned_first(other, proof_services(other), before, laid_over(other, before, new.state), order)
    names = [wave.name for wave in change.waves]
    assert (names[:2] == ["apart", "spanning tree"]) == (ways[0] != ways[1])
    assert all(wave.proof.proven for wave in change.waves)
    for state in walk(fabric, change, random.Random(3)):
        for s, switch in enumerate(fabric.switches):
            held = state[switch.name]
            assert not (held.spanning_tree and held.port_spanning_tree[[p - 1 for p in fabric.used_ports[s]]].any())
        found = Dataplane(fabric, state).ping_all()
        assert found.reached == found.pairs
        if ways == ("outside", "outside"):
            assert not storms(fabric, state, [(0, 0, 20), (0, 0, 21)])[0]


@pytest.mark.parametrize("model", ["powerconnect-5324", "powerconnect-6248"])
@pytest.mark.parametrize("ways", [("off", "outside"), ("outside", "off")])
def test_lines_of_one_push_keep_it_off_the_ports_of_the_fabric_too(model, ways):
    fabric = make_fabric("ring", 4, model=model)
    before, after = (build_of(replace(fabric, spanning_tree=way)).state["s0"] for way in ways)
    platform = platforms.load(model)
    editor = SwitchEditor.of(before)
    interpreter = Interpreter(platform, editor)
    used = [port - 1 for port in fabric.used_ports[0]]
    for line in render_commands(platform, difference(before, after), before):
        assert interpreter.feed(line).accepted
        held = editor.freeze()
        assert not (held.spanning_tree and held.port_spanning_tree[used].any())
    assert editor.freeze() == after
