"""A switch dies, is avoided, and comes back with an old configuration: what works goes on working.

The judge is the data plane, frame by frame, with what its switches learn, wherever the lines of each wave stop.
"""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fabrics import make_irregular
from mixed_fabrics import stops
from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.interrupting import interrupted_by_waves
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.factory import factory_state
from tagloom.records.change import difference
from tagloom.records.switch_state import dead_states
from tagloom.render import line_changes
from tagloom.rollout import keeping, readmission
from tagloom.route import route
from tagloom.verify import broadcasts_once, verify, working_pairs
from tagloom.weave import weave

MODEL = "powerconnect-5324"


def a_fabric(chance):
    """Draw a fabric and a switch without which the others stay connected."""
    while True:
        switches = chance.randint(3, 6)
        links = [(chance.randrange(s), s) for s in range(1, switches)]
        links += [chance.sample(range(switches), 2) for _ in range(chance.randint(1, 4))]
        fabric = make_irregular([1] * switches, links, model=MODEL)
        s = chance.randrange(switches)
        if not fabric.with_switches_down({s}).apart:
            return fabric, s


def planned(fabric, previous=None):
    once = partial(broadcasts_once, fabric)
    return weave(fabric, route(fabric, "auto", "fixed"), "fixed", previous, broadcasts_once=once).state


def lines_of(before, after):
    return [changes for _, changes in line_changes(platforms.load(MODEL), difference(before, after), before)]


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


def test_a_switch_that_is_managed_over_the_fabric_is_not_isolated():
    fabric, s = a_fabric(random.Random(1))
    held = planned(fabric)
    name = fabric.switches[s].name
    with pytest.raises(PlanError, match="is isolated only where it is reached by a way that is not the fabric's"):
        readmission(replace(fabric, management=object()), held, held, proof_services(fabric), name)
