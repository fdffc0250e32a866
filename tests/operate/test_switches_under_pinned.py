"""A switch dies and comes back under pinned: what runs goes round it and home, line by line, frame by frame."""

import random
from dataclasses import replace
from types import SimpleNamespace

import pytest

from fabrics import ROOT
from sending import delivered, line_by_line
from tagloom import pipeline
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.repair_detour import detour_for, detour_wave, rejoin_waves
from tagloom.operate.repair_target import target
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.dead_parts import DeadParts
from tagloom.render import render
from thinned import few

pytestmark = pytest.mark.kernel

TEMPLATES = ROOT / "templates"
MIXED = "switches: {s2: {model: mikrotik-crs326-24g-2s}, s4: {model: mikrotik-crs326-24g-2s}}\n"
SHAPES = [
    ("clos, dims: [2, 3], hosts: 1", MIXED),
    ("ring, dims: [4], hosts: 2", "networks: {a: [h0, h2, h4, h6], b: [h1, h3, h5, h7]}\n"),
    ("mesh, dims: [3, 2], hosts: 1", ""),
    ("torus, dims: [3, 3], hosts: 1", ""),
]


def planned(shape, extra):
    text = f"name: lab\nmodel: linux-bridge\nshape: {{family: {shape}}}\n{extra}"
    fabric = parse_fabric(text, "test")
    build, _, texts = pipeline.plan(fabric, TEMPLATES, assignment="pinned", protect="switch")
    return fabric, build, texts


def dies(fabric, s):
    dead = DeadParts(frozenset(i for i, link in enumerate(fabric.links) if s in (link.a, link.b)), frozenset([s]))
    return dead, target(fabric, fabric, fabric, dead).fabric


def with_dead(fabric, state, dead=""):
    """Return what is heard, where a switch is dead or none is; a frame that is flooded is none that arrives."""
    plane = Dataplane(fabric, state)
    plane.break_off({dead: "dead"} if dead else {}, {})
    return delivered(fabric, plane, flooded=False)


def led(fabric, waves, chance, dead=""):
    """Send every line of every wave; every pair that works goes on working. Return what is heard at the end."""
    works = with_dead(fabric, waves[0].before, dead)[0]
    for wave in waves:
        here = dict(wave.before)
        for _ in line_by_line(fabric, wave, here, chance, 1):
            assert with_dead(fabric, here, dead)[0] >= works
        assert all(here[name] == held for name, held in wave.state.items() if name != dead)
    return with_dead(fabric, waves[-1].state, dead)


@pytest.mark.slow
@pytest.mark.parametrize(("shape", "extra"), few(SHAPES, 0, 1))
def test_pairs_go_on_working_at_every_line_and_floods_reach_everybody_once_again(shape, extra):
    fabric, build, texts = planned(shape, extra)
    chance = random.Random(3)
    mates = {(a.name, b.name) for a in fabric.hosts for b in fabric.hosts if a is not b and a.network == b.network}
    rounds = 0
    for s, switch in enumerate(fabric.switches):
        dead, around = dies(fabric, s)
        runs = SimpleNamespace(home=build, state=build.state, texts=texts)
        wave = detour_wave(runs, around, detour_for(build, dead), TEMPLATES)
        living = {(a, b) for a, b in mates if {a, b} <= {host.name for host in around.hosts}}
        if wave is None:
            continue
        rounds += 1
        own = {switch.name: build.state[switch.name]}  # what it held as it died
        steps = [replace(w, before={**w.before, **own}, state={**w.state, **own}) for w in wave.change.waves]
        frames, broadcasts = led(fabric, steps, chance, dead=switch.name)
        assert frames >= living
        assert {pair: broadcasts.get(pair) for pair in living} == dict.fromkeys(living, 1)
        back = rejoin_waves(SimpleNamespace(home=build, fabric=around, state=wave.change.after), TEMPLATES)
        frames, broadcasts = led(fabric, back.change.waves, chance)
        assert frames == mates
        assert broadcasts == dict.fromkeys(mates, 1)
        assert render(fabric, back.change.after, TEMPLATES).keys() == texts.keys()
    assert rounds >= len(fabric.switches) - 1


def test_what_was_changed_since_the_detour_is_not_led_home_so():
    fabric, build, texts = planned(*SHAPES[0])
    dead, around = dies(fabric, 0)
    wave = detour_wave(
        SimpleNamespace(home=build, state=build.state, texts=texts), around, detour_for(build, dead), TEMPLATES
    )
    there = wave.change.after
    quiet = replace(there["s1"], flooding=there["s1"].flooding & False)
    assert rejoin_waves(SimpleNamespace(home=build, fabric=around, state={**there, "s1": quiet}), TEMPLATES) is None
    assert rejoin_waves(SimpleNamespace(home=build, fabric=around, state=there), TEMPLATES) is not None
