"""A switch dies, is avoided, and comes back with an old configuration: what works goes on working.

The judge is the data plane, frame by frame, with what its switches learn, wherever the lines of each wave stop.
"""

import random
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from fabrics import make_fabric, make_irregular
from sending import stops
from tagloom import pipeline, platforms
from tagloom.errors import PlanError
from tagloom.lab.dataplane import UNTAGGED, Dataplane
from tagloom.operate.interrupting import interrupted_by_waves
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.factory import factory_state
from tagloom.records.change import difference
from tagloom.records.fabric import Host, Management
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor, dead_states
from tagloom.render import line_changes
from tagloom.rollout import keeping, readmission
from tagloom.rollout.readmit import isolation, managed_state
from tagloom.route import route
from tagloom.verify import broadcasts_once, verify, working_pairs
from tagloom.weave import weave

pytestmark = pytest.mark.kernel

MODEL = "powerconnect-5324"
STRANGER = (1 << 41) + 7  # an address of nobody


def with_model(fabric, model):
    """Return a fabric of switches of another model."""
    switches = tuple(replace(switch, model=model) for switch in fabric.switches)
    return replace(fabric, switches=switches, ports=(platforms.load(model).ports,) * len(switches), shape=None)


def a_fabric(chance, model=MODEL):
    """Draw a fabric and a switch without which the others stay connected."""
    while True:
        switches = chance.randint(3, 6)
        links = [(chance.randrange(s), s) for s in range(1, switches)]
        links += [chance.sample(range(switches), 2) for _ in range(chance.randint(1, 4))]
        fabric = make_irregular([1] * switches, links, model=model)
        s = chance.randrange(switches)
        if not fabric.with_switches_down({s}).apart:
            return fabric, s


def planned(fabric, previous=None):
    once = partial(broadcasts_once, fabric)
    return weave(fabric, route(fabric, "auto", "fixed"), "fixed", previous, broadcasts_once=once).state


def lines_of(before, after, model=MODEL):
    return [changes for _, changes in line_changes(platforms.load(model), difference(before, after), before)]


def walk(chance, fabric, change, *, dead=()):
    """Send the lines of all waves in some order; no pair that works before and after a wave is ever cut."""
    hosts = [host.name for host in fabric.hosts]
    for wave in change.waves:
        held = working_pairs(fabric.with_links_up(), wave.before) & working_pairs(fabric.with_links_up(), wave.state)
        every = {
            switch.name: stops(wave.before[switch.name], lines_of(wave.before[switch.name], wave.state[switch.name]))
            for switch in fabric.live
        }
        plane = Dataplane(fabric, wave.before)
        at = dict.fromkeys(every, 0)
        left = list(every)
        while left:
            for a, b in np.argwhere(held).tolist():
                sent = plane.unicast(hosts[a], hosts[b])
                assert sent.copies == 1, (wave.name, hosts[a], hosts[b], at, dead)
                assert not sent.storm
            left = [name for name in every if at[name] + 1 < len(every[name])]
            for name in chance.sample(left, min(len(left), chance.randint(1, 3))):
                at[name] = min(at[name] + chance.randint(1, 3), len(every[name]) - 1)
                plane.change(name, every[name][at[name]])


def story(seed):
    """Kill a switch, avoid it, and readmit it as it comes; return the pairs that were cut, and how it came."""
    chance = random.Random(seed)
    fabric, s = a_fabric(chance)
    name, platform = fabric.switches[s].name, platforms.load(MODEL)
    whole = planned(fabric)

    less = fabric.with_switches_down({s})
    dead = dead_states(less)
    running = {**whole, **dead}
    around = {**planned(less, whole), **dead}
    services = proof_services(less)
    cut = int((~working_pairs(less, running)).sum()) - len(less.hosts)
    if verify(less.with_links_up(), running).proven:
        around = running
    else:
        change = keeping(less, running, around, services)
        assert change is not None, f"story {seed}: no waves around {name}"
        said = interrupted_by_waves(less, running, around, between=[wave.state for wave in change.waves[:-1]])
        assert (said.hitless, said.cut_now, said.restored) == (True, cut, cut)
        walk(chance, less, change, dead=(name,))

    came = chance.choice(["factory", "as it went"])
    running = {**around, name: factory_state(platform) if came == "factory" else whole[name]}
    again = planned(fabric, around)
    change = readmission(fabric, running, again, proof_services(fabric), name)
    assert {wave.name for wave in change.waves[:2]} & {"isolate", "bring"}
    walk(chance, less, change_of(change, dead, {"isolate", "bring"}))
    walk(chance, fabric, change_of(change, {}, {wave.name for wave in change.waves} - {"isolate", "bring"}))
    assert change.after == again
    assert verify(fabric, again).proven
    return cut, came


def change_of(change, dead, names):
    """Return some waves of a change, as a fabric without the dead switches sees them."""
    waves = [wave for wave in change.waves if wave.name in names]
    return replace(
        change,
        waves=tuple(replace(wave, before={**wave.before, **dead}, state={**wave.state, **dead}) for wave in waves),
    )


@pytest.mark.parametrize("seed", range(10))
def test_a_switch_dies_is_gone_round_and_comes_back(seed):
    story(seed)


@pytest.mark.long
def test_two_hundred_stories():
    found = [story(seed) for seed in range(10, 200)]
    assert sum(cut > 0 for cut, _ in found) > 20
    assert {came for _, came in found} == {"factory", "as it went"}


# --- under pinned, where static entries alone choose the paths --------------------------------------------------------


def everything_sent(plane, fabric, apart, kept):
    """Send each unicast, also to the hosts of the switch that is set apart, each broadcast, and to nobody's address."""
    for a in fabric.hosts:
        if a.switch == apart:
            continue
        assert not plane.broadcast(a.name).storm
        assert not plane.broadcast(a.name, mac=STRANGER).storm
        for b in fabric.hosts:
            if a is not b:
                sent = plane.unicast(a.name, b.name)
                assert not sent.storm
                if (a.name, b.name) in kept:
                    assert sent.delivered_to == {b.name: 1}, (a.name, b.name)


@pytest.mark.parametrize("model", ["mikrotik-crs326-24g-2s", "linux-bridge"])
@pytest.mark.parametrize("seed", [*range(6), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(6, 60))])
def test_a_new_box_takes_its_place_under_pinned_and_no_pair_of_others_is_cut(model, seed):
    """RouterOS and Linux: where the switch is apart its hosts' entries stay, and lead frames to ports that are shut."""
    chance = random.Random(seed)
    fabric, s = a_fabric(chance, model)
    name = fabric.switches[s].name
    whole = pipeline.plan(fabric, Path(), texts=False, assignment="pinned")[0].state
    running = {**whole, name: factory_state(platforms.load(model))}
    services = proof_services(fabric)
    change = readmission(fabric, running, whole, services, name)
    assert [wave.name for wave in change.waves] == ["isolate", "bring", "join"]
    assert all(wave.proof.proven and wave.assumptions.keeping for wave in change.waves)
    assert change.after == whole
    less = fabric.with_switches_down({s}).with_links_up()
    works = working_pairs(less, {**whole, **dead_states(less)})
    names = [host.name for host in less.hosts]
    kept = {(names[a], names[b]) for a, b in np.argwhere(works).tolist() if a != b}
    for wave in change.waves:
        every = {
            n: stops(wave.before[n], lines_of(wave.before[n], wave.state[n], model))
            for n in fabric.index
            if n in wave.before
        }
        plane = Dataplane(fabric, wave.before)
        at = dict.fromkeys(every, 0)
        while left := [n for n in every if at[n] + 1 < len(every[n])]:
            if wave.name != "isolate":  # of frames over the box before it is apart nothing is promised
                everything_sent(plane, fabric, s, kept)
            for n in chance.sample(left, min(len(left), chance.randint(1, 3))):
                at[n] = min(at[n] + chance.randint(1, 3), len(every[n]) - 1)
                plane.change(n, every[n][at[n]])
        everything_sent(plane, fabric, s, kept)
    assert verify(fabric, whole).proven


def test_a_loop_of_entries_to_the_hosts_of_a_switch_that_is_apart_is_found():
    """They are followed: frames to those hosts must not go round among the others."""
    fabric = with_model(make_fabric("torus", 3, 3), "linux-bridge")
    whole = pipeline.plan(fabric, Path(), texts=False, assignment="pinned")[0].state
    ring, far = ("s0", "s1", "s2"), fabric.hosts[8]
    vlan = int(whole["s0"].owned_vlans[0])
    spoilt = dict(whole)
    for here, there in zip(ring, (*ring[1:], ring[0]), strict=True):
        link = next(x for x in fabric.links if {fabric.switches[x.a].name, fabric.switches[x.b].name} == {here, there})
        editor = SwitchEditor.of(spoilt[here])
        editor.entries[vlan, far.mac] = (link.a_port if fabric.switches[link.a].name == here else link.b_port,)
        spoilt[here] = editor.freeze()
    services, box = proof_services(fabric), {"s8": factory_state(platforms.load("linux-bridge"))}
    assert isolation(fabric, {**whole, **box}, services, "s8").waves[0].proof.proven
    with pytest.raises(PlanError, match="every pair that works goes on working"):
        isolation(fabric, {**spoilt, **box}, services, "s8")


# --- managed over the fabric's own links ------------------------------------------------------------------------------

VLAN, CPU, CONTROLLER = 40, 23, 24  # each switch's own address is a host at a port that the fabric has not


def managed(chance, model):
    """Draw a fabric with a tree of management links, and a switch that ends it."""
    while True:
        fabric, _ = a_fabric(chance, model)
        links = list(range(len(fabric.links)))
        chance.shuffle(links)
        tree, joined = [], {chance.randrange(len(fabric.switches))}
        root = min(joined)
        while len(joined) < len(fabric.switches):
            i = next(i for i in links if len({fabric.links[i].a, fabric.links[i].b} & joined) == 1)
            tree.append(i)
            joined |= {fabric.links[i].a, fabric.links[i].b}
        ends = [s for i in tree for s in (fabric.links[i].a, fabric.links[i].b)]
        leaves = [s for s in range(len(fabric.switches)) if ends.count(s) == 1 and s != root]
        s = chance.choice(leaves)
        if not fabric.with_switches_down({s}).apart:
            return replace(fabric, management=Management(VLAN, root, CONTROLLER, tuple(tree))), s


def as_managed(fabric, states):
    """Return states with the VLAN as its owner set it, and each switch's own address as a host behind a port."""
    found = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(states[switch.name])
        if VLAN not in editor.vlans:
            editor.create_vlan(VLAN)
        for i in fabric.management.links:
            link = fabric.links[i]
            for t, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if t == s:
                    editor.set_member(VLAN, port, Membership.TAGGED)
        for port in [CPU, *([CONTROLLER] if s == fabric.management.switch else [])]:
            editor.mode[port - 1] = PortMode.GENERAL
            editor.set_member(1, port, Membership.NONE)
            editor.set_member(VLAN, port, Membership.UNTAGGED)
            editor.set_pvid(port, VLAN)
        found[switch.name] = editor.freeze()
    return found


@pytest.mark.parametrize("model", ["powerconnect-5324", "n-series", "cisco-cbs350-24t-4g", "hpe-5130-24g-4sfp"])
@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.long) for seed in range(4, 40))])
def test_a_new_box_that_is_managed_over_the_fabric_is_joined_and_everybody_else_is_reached_at_every_line(model, seed):
    """Frames of hosts with tags of any kind, those of the box included, and tagloom's own to each switch."""
    chance = random.Random(seed)
    fabric, s = managed(chance, model)
    name, root = fabric.switches[s].name, fabric.management.switch
    plan = pipeline.plan(fabric, Path(), texts=False)[0].state
    whole = as_managed(fabric, plan)
    services = proof_services(fabric)
    factory = {**whole, name: factory_state(platforms.load(model))}
    apart = isolation(fabric, factory, services, name)
    first = as_managed(fabric, {**whole, name: managed_state(fabric, plan[name], name)})[name]
    change = readmission(fabric, {**apart.after, name: first}, whole, services, name)
    assert [wave.name for wave in change.waves][:1] == ["bring"]
    assert change.after == whole

    up = fabric.with_links_up()
    cpus = [Host(f"switch {switch.name}", t, CPU, (1 << 42) + t) for t, switch in enumerate(up.switches)]
    everybody = replace(up, hosts=(*up.hosts, *cpus, Host("tagloom", root, CONTROLLER, (1 << 42) + 99)))
    less = fabric.with_switches_down({s}).with_links_up()
    works = working_pairs(less, {**whole, **dead_states(less)})
    names = [host.name for host in less.hosts]
    kept = [(names[a], names[b]) for a, b in np.argwhere(works).tolist() if a != b]
    vlans = [1, VLAN, *whole[name].owned_vlans, 77]
    for wave in (*apart.waves, *change.waves):
        alone = wave.name == "isolate"
        before = {**wave.before, **({name: first} if alone else {})}
        here = dead_states(less) if alone and chance.random() < 0.5 else {}
        every = {
            n: stops(before[n], lines_of(before[n], wave.state[n], model))
            for n in fabric.index
            if n != name or not alone
        }
        plane = Dataplane(everybody, {**before, **here})
        at = dict.fromkeys(every, 0)
        left = list(every)
        while left:
            for a, b in kept:
                sent = plane.unicast(a, b)
                assert sent.delivered_to == {b: 1}, (wave.name, a, b, at)
            for switch in fabric.switches:
                if switch.name != name or not alone:
                    for a, b in (("tagloom", f"switch {switch.name}"), (f"switch {switch.name}", "tagloom")):
                        assert plane.unicast(a, b).copies == 1, (wave.name, a, b, at)  # this VLAN learns, and floods
            for host in fabric.hosts:
                assert not plane.broadcast(host.name, tag=chance.choice([UNTAGGED, *vlans])).storm
            left = [n for n in every if at[n] + 1 < len(every[n])]
            for n in chance.sample(left, min(len(left), chance.randint(1, 3))):
                at[n] = min(at[n] + chance.randint(1, 3), len(every[n]) - 1)
                plane.change(n, every[n][at[n]])


def test_a_line_that_cuts_the_way_to_a_box_managed_over_the_fabric_is_not_proven():
    chance = random.Random(1)
    fabric, s = managed(chance, MODEL)
    name, services = fabric.switches[s].name, proof_services(fabric)
    plan = pipeline.plan(fabric, Path(), texts=False)[0].state
    whole = as_managed(fabric, plan)
    apart = isolation(fabric, {**whole, name: factory_state(platforms.load(MODEL))}, services, name).after
    first = as_managed(fabric, {**whole, name: managed_state(fabric, plan[name], name)})[name]
    editor = SwitchEditor.of(whole[name])
    link = next(fabric.links[i] for i in fabric.management.links if s in (fabric.links[i].a, fabric.links[i].b))
    editor.set_member(VLAN, link.a_port if link.a == s else link.b_port, Membership.NONE)
    assert readmission(fabric, {**apart, name: first}, whole, services, name).waves
    with pytest.raises(PlanError, match=r"switch|tagloom"):
        readmission(fabric, {**apart, name: first}, {**whole, name: editor.freeze()}, services, name)


@pytest.mark.parametrize("which", ["root", "inner"])
def test_a_switch_that_others_are_managed_over_is_not_isolated(which):
    chance = random.Random(1)
    while True:
        fabric, _ = managed(chance, MODEL)
        ends = [s for i in fabric.management.links for s in (fabric.links[i].a, fabric.links[i].b)]
        inner = [s for s in set(ends) if ends.count(s) > 1 and s != fabric.management.switch]
        if inner:
            break
    name = fabric.switches[inner[0] if which == "inner" else fabric.management.switch].name
    held = planned(fabric)
    with pytest.raises(
        PlanError, match="is isolated only where it is reached by a way that is not the fabric's"
    ) as refused:
        readmission(fabric, held, held, proof_services(fabric), name)
    assert ("plugged in" if which == "root" else "goes over") in refused.value.witness
