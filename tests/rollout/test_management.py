"""Management over the fabric's own links: declared, left alone, and never cut by any line of any wave."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.errors import InputError, PlanError
from tagloom.pipeline import rollout
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.interpreter import Interpreter
from tagloom.read import format_fabric
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.change import Cell, difference
from tagloom.records.ownership import overlay
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.regulate.settings_file import with_links_off
from tagloom.render import render_commands
from tagloom.route import route
from tagloom.verify import broadcasts_once
from tagloom.weave import weave

pytestmark = pytest.mark.kernel

MODEL = "powerconnect-5324"
WAY = 'management: {vlan: 40, controller: "s0:g24", links: ["s0:g1", "s1:g1", "s4:g1"]}\n'


def ring():
    """Five switches; the link between s2 and s3 does not carry the management VLAN."""
    plain = make_fabric("ring", 5, model=MODEL)
    ends = [f"{plain.switches[x.a].name}:g{x.a_port}" for x in plain.links if {x.a, x.b} != {2, 3}]
    said = ", ".join(f'"{end}"' for end in ends)
    return make_fabric(
        "ring", 5, model=MODEL, extra=f'management: {{vlan: 40, controller: "s0:g24", links: [{said}]}}\n'
    )


def free_link(fabric):
    return next(i for i in range(len(fabric.links)) if i not in fabric.management.links)


def planned(fabric, assignment="fixed", method="auto"):
    routes = route(fabric, method, assignment)
    return weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric)).state


def test_the_way_is_declared_and_written_back():
    fabric = ring()
    again = parse_fabric(format_fabric(fabric), "again")
    assert again.management == fabric.management
    assert len(fabric.management.links) == 4
    aggregated = make_fabric("ring", 3, parallel=2, lag=True, model=MODEL, extra=WAY.replace(', "s4:g1"', ""))
    assert parse_fabric(format_fabric(aggregated), "again").management == aggregated.management


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        ("vlan: 40", "vlan: 100", "management.vlan: expected a VLAN below vlans.first (100)"),
        ("vlan: 40", "vlan: 1", "management.vlan"),
        ('"s0:g24"', '"s0:g1"', "management.controller: expected a port without a host or link"),
        ('"s0:g24"', '"s9:g1"', "management.controller"),
        ('"s1:g1"', '"s1:g9"', "management.links[1]: expected an end of a link that is up"),
        (', "s4:g1"', "", "management.links: expected a tree of all 5 switches"),
    ],
)
def test_a_way_that_is_none_is_a_finding(old, new, finding):
    extra = WAY.replace('"s4:g1"', '"s4:g1", "s3:g2"')
    extra = extra.replace('"s4:g1", "s3:g2"', '"s4:g1"') if not new and old.startswith(",") else extra
    with pytest.raises(InputError) as caught:
        make_fabric("ring", 5, model=MODEL, extra=extra.replace(old, new))
    assert any(finding in str(each) for each in caught.value.findings), caught.value.findings


def test_no_link_of_the_way_can_be_turned_off():
    fabric = ring()
    first = fabric.links[fabric.management.links[0]]
    with pytest.raises(InputError, match="management VLAN"):
        with_links_off(fabric, [f"{fabric.switches[first.a].name}:g{first.a_port}"], None)
    other = fabric.links[free_link(fabric)]
    assert with_links_off(fabric, [f"{fabric.switches[other.a].name}:g{other.a_port}"], None)


def test_a_wave_that_would_cut_it_is_refused_with_the_switch_that_is_lost():
    fabric = ring()
    before = planned(fabric)
    cut = fabric.with_links_down({fabric.management.links[0]})
    with pytest.raises(PlanError) as caught:
        rollout(fabric, before, planned(cut))
    assert "frames to switch s" in caught.value.witness or "frames to tagloom" in caught.value.witness
    slow = [replace(x, speed_mbps=100 if i == fabric.management.links[0] else 0) for i, x in enumerate(fabric.links)]
    with pytest.raises(PlanError) as caught:
        rollout(fabric, before, planned(replace(fabric, links=tuple(slow))), allow_drain=True)
    assert "frames to switch s" in caught.value.witness or "frames to tagloom" in caught.value.witness
    alone = replace(fabric, management=None)
    assert rollout(alone, before, planned(cut)).waves


def cut(fabric, link):
    """The tree a ring is without one link, that link staying on."""
    state = planned(fabric.with_links_down({link}), method="tree")
    return {name: replace(held, enabled=np.ones(held.ports, bool)) for name, held in state.items()}


@pytest.mark.parametrize("pausing", [True, False])
def test_under_pause_management_frames_close_no_dependency_cycle_with_the_hosts(pausing):
    """Two cut rings have all turns of one direction together where the cuts share no switch."""
    fabric = replace(ring(), flow_control=pausing)
    free = fabric.links[free_link(fabric)]
    services = proof_services(fabric)
    refused = 0
    for i, link in enumerate(fabric.links):
        state = cut(fabric, i)
        assert any(held.flow_control.any() for held in state.values()) is pausing
        proof, _ = services.wave(state, state)
        closes = pausing and not {link.a, link.b} & {free.a, free.b}
        assert ["management" in finding.where for finding in proof.findings] == [True] * closes
        refused += closes
    assert refused == (2 if pausing else 0)


def with_management(fabric, state):
    """Return states with the VLAN as its owner set it: tagged on the declared links, untagged at the controller."""
    held = {}
    for name, each in state.items():
        editor = SwitchEditor.of(each)
        editor.create_vlan(40)
        editor.name_vlan(40, "switches")
        held[name] = editor
    for i in fabric.management.links:
        link = fabric.links[i]
        for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
            held[fabric.switches[s].name].set_member(40, port, Membership.TAGGED)
    held["s0"].mode[23] = PortMode.GENERAL
    held["s0"].set_member(40, 24, Membership.UNTAGGED)
    held["s0"].set_pvid(24, 40)
    return {name: editor.freeze() for name, editor in held.items()}


def test_a_ring_of_the_management_vlan_is_refused_though_the_controller_s_port_is_shut():
    fabric = ring()
    whole = replace(fabric, management=replace(fabric.management, links=tuple(range(len(fabric.links)))))
    shut = {}
    for name, held in with_management(whole, planned(fabric)).items():
        editor = SwitchEditor.of(held)
        editor.enabled[23] = False
        shut[name] = editor.freeze()
    (harm,) = proof_services(fabric).foreign_harm(shut)
    assert (harm.where, harm.expected) == ("VLAN 40, from a switch's own address", "no storm")
    assert proof_services(fabric).foreign_harm(with_management(fabric, planned(fabric))) == []
    assert proof_services(replace(fabric, management=None)).foreign_harm(shut) == []


def managed(fabric, states):
    """Return the switches that the VLAN reaches from the controller's, over links that are on at both ends."""

    def carries(s, port):
        held = states[fabric.switches[s].name]
        return held.enabled[port - 1] and held.member(40, port) is Membership.TAGGED

    seen, stack = {0}, [0]
    while stack:
        s = stack.pop()
        for x in fabric.links:
            for a, p, b, q in ((x.a, x.a_port, x.b, x.b_port), (x.b, x.b_port, x.a, x.a_port)):
                if a == s and b not in seen and carries(a, p) and carries(b, q):
                    seen.add(b)
                    stack.append(b)
    return len(seen)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_every_line_of_every_wave_leaves_every_switch_reachable(assignment):
    fabric = ring()
    less = fabric.with_links_down({free_link(fabric)})
    before = with_management(fabric, planned(fabric, assignment))
    goal = planned(less, assignment)
    after = {s.name: overlay(before[s.name], goal[s.name], fabric.used_ports[i]) for i, s in enumerate(fabric.switches)}
    assert all(40 in held.vlan_index for held in after.values())
    for name, held in after.items():
        assert not any(c.vlan == 40 for c in difference(before[name], held) if c.cell in {Cell.VLAN, Cell.MEMBER})
    change = rollout(fabric, before, after)
    chance = random.Random(1)
    platform = platforms.load(MODEL)
    editors = {name: SwitchEditor.of(held) for name, held in before.items()}
    lines = 0
    for wave in change.waves:
        queues = {
            p.switch: (
                Interpreter(platform, editors[p.switch]),
                list(render_commands(platform, p.changes, wave.before[p.switch])),
            )
            for p in wave.patches
        }
        while queues:
            switch = chance.choice(sorted(queues))
            interpreter, waiting = queues[switch]
            assert interpreter.feed(waiting.pop(0)).accepted
            lines += 1
            if not waiting:
                del queues[switch]
            assert managed(fabric, {name: editor.freeze() for name, editor in editors.items()}) == 5
        assert {name: editor.freeze() for name, editor in editors.items()} == wave.state
    assert lines > 30


WITHOUT_MODES = [
    name for name in platforms.models() if platforms.load(name).grammar and not platforms.load(name).has_modes
]


@pytest.mark.parametrize("model", WITHOUT_MODES)
def test_no_machine_whose_bridge_is_taglooms_own_is_managed_over_it(model):
    """Every VLAN of that bridge is tagloom's: its own address has none there, before or after it is replaced."""
    port = platforms.load(model).port_name
    text = f"name: f\nmodel: {model}\nshape: {{family: ring, dims: [3]}}\n"
    text += f'management: {{vlan: 40, controller: "s0:{port(9)}", links: ["s0:{port(1)}", "s0:{port(2)}"]}}\n'
    with pytest.raises(InputError) as refused:
        parse_fabric(text, "f.yml")
    (finding,) = refused.value.findings
    assert (finding.expected, finding.actual) == ("models whose other VLANs tagloom leaves alone", model)
