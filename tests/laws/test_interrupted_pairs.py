"""Law: a pair not reported as interrupted is never cut, wherever the lines of a change sent at once stop.

The judge is the data plane, frame by frame, with what its switches learn meanwhile; it shares nothing with the proof.
"""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from fabrics import make_irregular
from sending import stops
from tagloom import platforms
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.interrupting import interrupted_at_once
from tagloom.platforms.factory import factory_state
from tagloom.records.change import difference
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import line_changes, line_effects
from tagloom.route import route
from tagloom.verify import broadcasts_once, kept_pairs, working_pairs
from tagloom.weave import weave

MODEL = "powerconnect-5324"
BEHIND, ELSEWHERE = 0x02_00_00_00_99_01, 0x02_00_00_00_99_02  # two addresses behind an uplink


def a_fabric(chance):
    switches = chance.randint(2, 5)
    links = [(chance.randrange(s), s) for s in range(1, switches)]
    links += [chance.sample(range(switches), 2) for _ in range(chance.randint(0, 3))]
    return make_irregular([1] * switches, links, model=MODEL)


def planned(fabric, assignment="fixed"):
    once = partial(broadcasts_once, fabric)
    return weave(fabric, route(fabric, "auto", assignment), assignment, broadcasts_once=once).state


def slipped(fabric, state, chance):
    """Change some cells by hand: a port shut, a PVID, an entry or a VLAN gone, a switch back at the factory."""
    found = dict(state)
    for switch in chance.sample(fabric.switches, chance.randint(1, min(2, len(fabric.switches)))):
        editor = SwitchEditor.of(state[switch.name])
        held = state[switch.name]
        kind = chance.choice(["shut", "pvid", "entry", "vlan", "factory"])
        port = chance.choice(fabric.used_ports[fabric.index[switch.name]])
        if kind == "shut":
            editor.enabled[port - 1] = False
        elif kind == "pvid":
            editor.set_pvid(port, chance.choice([0, *held.owned_vlans]))
        elif kind == "entry" and len(held.entry_vlan):
            at = chance.randrange(len(held.entry_vlan))
            editor.set_entry(int(held.entry_vlan[at]), int(held.entry_mac[at]), [])
        elif kind == "vlan":
            editor.delete_vlan(chance.choice(held.owned_vlans))
        found[switch.name] = editor.freeze() if kind != "factory" else factory_state(platforms.of(switch))
    return found


def lines_of(before, after):
    return [changes for _, changes in line_changes(platforms.load(MODEL), difference(before, after), before)]


def with_an_uplink(fabric):
    """Make the first host an uplink: frames to it are to an address that nobody knows."""
    return replace(fabric, hosts=(replace(fabric.hosts[0], uplink=True, mac=0), *fabric.hosts[1:]))


def copies_of(plane, fabric, a, b):
    """Count the copies that reach host `b` of a frame from host `a`, or from or to somebody behind an uplink."""
    a, b = fabric.hosts[a], fabric.hosts[b]
    return plane.unicast(a.name, b.name, mac=BEHIND if b.uplink else 0, sender=ELSEWHERE if a.uplink else 0).copies


def judged(seed, count, walks, *, uplinks=False):
    """Try changes at once: (hitless, partly interrupted, wholly interrupted, pairs seen cut, such to an uplink)."""
    chance = random.Random(seed)
    figures = np.zeros(5, int)
    for _ in range(count):
        fabric = with_an_uplink(a_fabric(chance)) if uplinks else a_fabric(chance)
        plan = planned(fabric, "fixed" if uplinks else chance.choice(["fixed", "renamed"]))
        before = slipped(fabric, plan, chance)
        if chance.random() < 0.3:
            plan, before = before, plan
        works = working_pairs(fabric, before)
        sent = {name: line_effects(platforms.load(MODEL), before[name], plan[name]) for name in plan}
        kept, _ = kept_pairs(fabric, before, sent)
        kept &= works
        said = interrupted_at_once(fabric, before, plan)
        assert said.interrupted in {0, int((works & ~kept).sum())}
        assert said.cut_now == said.pairs - int(works.sum())
        promised = works if said.hitless else kept
        figures += [said.hitless, bool(kept.any()) and not said.hitless, not kept.any() and not said.hitless, 0, 0]
        every = {name: stops(before[name], lines_of(before[name], plan[name])) for name in plan}
        for _ in range(walks):
            plane = Dataplane(fabric, before)
            at = dict.fromkeys(every, 0)
            while True:
                for a, b in np.argwhere(works).tolist():
                    copies = copies_of(plane, fabric, a, b)
                    figures[3] += not copies
                    assert copies or not promised[a, b], (seed, a, b, at)
                    figures[4] += fabric.hosts[b].uplink and not copies
                left = [name for name in every if at[name] + 1 < len(every[name])]
                if not left:
                    break
                for _ in range(chance.randint(1, 4)):
                    name = chance.choice(left)
                    at[name] = min(at[name] + 1, len(every[name]) - 1)
                    plane.change(name, every[name][at[name]])
    return figures.tolist()


def test_pairs_that_are_not_announced_are_never_cut():
    hitless, partly, wholly, cut, _ = judged(1, 25, 2)
    assert min(hitless, partly, wholly) > 1
    assert cut > 20, "and those that are announced often are"


def test_pairs_of_uplinks_that_are_not_announced_are_never_cut():
    hitless, _, wholly, _, cut = judged(5, 25, 2, uplinks=True)
    assert min(hitless, wholly) > 1
    assert cut > 20, "and those that are announced often are"


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 10))
def test_pairs_that_are_not_announced_are_never_cut_on_many_fabrics(seed):
    judged(seed, 60, 4)
