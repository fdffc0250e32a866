"""Waves under other assumptions, no PAUSE or switches that learn: the proof agrees with enumeration."""

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from mixtures import Oracle, bridges_of
from test_wave_proof import MODEL, a_fabric, a_state, a_tree, a_wave, damaged, effects, positions, trees

from fabrics import make_fabric, make_irregular
from tagloom import platforms
from tagloom.graph.cycles import find_cycle
from tagloom.graph.numbering import renumbered
from tagloom.lab.dataplane import Dataplane
from tagloom.records.change import difference
from tagloom.records.switch_state import SwitchEditor
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.render import line_changes
from tagloom.rollout.steps import Change, through
from tagloom.rollout.trees import tree_state
from tagloom.route import route
from tagloom.verify import prove_wave
from tagloom.weave import weave
from thinned import few

pytestmark = pytest.mark.kernel


def a_flip_on_a_ring(chance):
    """Hosts' PVIDs from one set of cut rings to another, a cut for each source: mostly a cyclic union."""
    fabric = make_fabric("ring", 4, model=MODEL)
    before, after = (trees(fabric, {s: chance.sample(range(4), 3) for s in range(4)}) for _ in range(2))
    after = renumbered(before, after, 100)
    change = Change(fabric, before, after, 5.0, 10.0, lambda _one, _other: True)
    steps = through(change, [after])
    if [step.name for step in steps[:2]] != ["add", "flip"]:
        return a_flip_on_a_ring(chance)
    start, goal = (step.state for step in steps[:2])
    lines = {
        s.name: [c for _, c in line_changes(platforms.load(MODEL), difference(start[s.name], goal[s.name]))]
        for s in fabric.switches
    }
    return fabric, start, lines


@pytest.mark.slow
def test_without_pause_a_wave_is_judged_by_delivery_and_loops_alone():
    chance = random.Random(11)
    good = bad = cyclic = stricter = 0
    for number in range(200):
        fabric, before, lines = a_wave(chance) if number % 4 else a_flip_on_a_ring(chance)
        proof = prove_wave(fabric, before, effects(lines), assumptions=ProofAssumptions(lossy=True))
        oracle = Oracle(fabric, [bridges_of(before[s.name], lines.get(s.name, [])) for s in fabric.switches])
        drawn = positions(oracle, chance)
        verdicts = [oracle.frozen(at) for at in drawn]
        holds = all(reach and once and not storm for reach, once, storm, _ in verdicts)
        if proof.proven:
            good += 1
            assert holds
            cyclic += bool(find_cycle(len(fabric.tail), proof.held, proof.wanted))
        else:
            bad += 1
            stricter += holds and len(drawn) == oracle.mixtures
    assert min(good, bad) > 25
    assert cyclic > 0, "a dependency cycle that nothing can lock"
    assert stricter <= bad // 10


@pytest.mark.slow
@pytest.mark.parametrize("broken", few([False, True], 1))
def test_where_switches_learn_every_frame_comes_once_flooded_or_not(broken):
    chance = random.Random(12)
    proven = refused = 0
    for _ in range(25):
        fabric = a_fabric(chance)
        before, after = a_state(fabric, chance), a_state(fabric, chance)
        after = renumbered(before, after, 100)
        tree = np.isin(np.arange(len(fabric.links)), a_tree(fabric, chance))
        bare = tree_state(fabric, tree, 999, pinned=False)
        change = Change(fabric, before, after, 5.0, 10.0, lambda _one, _other: True)
        states = [before, *(step.state for step in through(change, [bare, after]))]
        for here, there in pairwise(states):
            start = damaged(here, fabric, chance) if broken else here
            lines = {
                s.name: [c for _, c in line_changes(platforms.load(MODEL), difference(start[s.name], there[s.name]))]
                for s in fabric.switches
            }
            assumptions = ProofAssumptions(learning=frozenset({999}), lossy=chance.random() < 0.5)
            proof = prove_wave(fabric, start, effects(lines), assumptions=assumptions)
            refused += not proof.proven
            if not proof.proven:
                continue
            proven += 1
            oracle = Oracle(fabric, [bridges_of(start[s.name], lines[s.name]) for s in fabric.switches])
            for at in chance.sample(drawn := positions(oracle, chance), min(40, len(drawn))):
                for a in range(len(fabric.hosts)):
                    storm, copies, _ = oracle.broadcast(a, at.__getitem__)
                    assert not storm
                    assert copies == [int(b != a) for b in range(len(fabric.hosts))]
                    for b, host in enumerate(fabric.hosts):
                        storm, copies, _ = oracle.broadcast(a, at.__getitem__, mac=host.mac)
                        assert not storm
                        assert a == b or copies[b] == 1
    assert proven > 20
    assert (refused > 5) is broken


def test_a_frame_that_is_flooded_and_then_led_astray_is_lost_with_pause_or_without():
    """An entry on the way leads to a switch that has nowhere to flood; broadcasts go past it and arrive."""
    fabric = make_irregular([1, 0, 0, 1], [(0, 1), (1, 2), (1, 3)], model=MODEL)
    bare = tree_state(fabric, np.ones(3, bool), 999, pinned=False)
    bare = {name: replace(held, spanning_tree=False, frames=held.frames * 0) for name, held in bare.items()}
    away = SwitchEditor.of(bare["s1"])
    away.set_entry(999, fabric.hosts[1].mac, [fabric.links[1].a_port])
    astray = bare | {"s1": away.freeze()}
    for lossy in (False, True):
        assumptions = ProofAssumptions(learning=frozenset({999}), lossy=lossy)
        assert prove_wave(fabric, bare, {}, assumptions=assumptions).proven
        (found,) = prove_wave(fabric, astray, {}, assumptions=assumptions).findings
        assert str(found) == "frames to h1: expected delivery at every line, actual h0's may be lost"
    plane = Dataplane(fabric, astray)
    assert not plane.unicast("h0", "h1").copies
    assert plane.broadcast("h0").delivered_to == {"h1": 1}


@pytest.mark.parametrize("assumptions", [ProofAssumptions(), ProofAssumptions(lossy=True)], ids=["whole", "lossy"])
def test_frames_that_entries_lead_round_for_ever_are_found_where_some_may_be_lost_too(assumptions):
    """Every entry for h0 leads on round the ring of one pinned VLAN, its own switch's too."""
    fabric = make_fabric("ring", 4, model="linux-bridge")
    state = dict(weave(fabric, route(fabric, "auto", "pinned"), "pinned").state)
    assert prove_wave(fabric, state, {}, assumptions=assumptions).proven
    (vlan,) = state["s0"].owned_vlans
    for s in range(4):
        channel = next(c for c in range(len(fabric.tail)) if (fabric.tail[c], fabric.head[c]) == (s, (s + 1) % 4))
        editor = SwitchEditor.of(state[f"s{s}"])
        editor.set_entry(vlan, fabric.hosts[0].mac, (int(fabric.tail_port[channel]),))
        state[f"s{s}"] = editor.freeze()
    proof = prove_wave(fabric, state, {}, assumptions=assumptions)
    assert not proof.proven
    if assumptions.lossy:
        assert any("round" in f"{each.expected} {each.actual}" for each in proof.findings)
