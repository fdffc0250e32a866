"""The local-union proof of a wave agrees with enumeration of every interleaving of line positions."""

import os
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from mixtures import Oracle, bridges_of

from fabrics import make_irregular
from tagloom import platforms
from tagloom.graph.cycles import find_cycle
from tagloom.graph.numbering import renumbered
from tagloom.graph.trees import rooted
from tagloom.records.change import Cell, apply_changes, difference
from tagloom.records.change import Change as SpeedChange
from tagloom.records.lines import Lines
from tagloom.records.routes import Routes
from tagloom.records.switch_state import Membership, SwitchEditor, SwitchState
from tagloom.render import line_changes, line_effects, render_commands
from tagloom.rollout.steps import Change, through
from tagloom.rollout.trees import tree_state
from tagloom.route import route
from tagloom.verify import broadcasts_once, dependencies, prove_wave, verify
from tagloom.weave import weave
from thinned import daily, few

pytestmark = pytest.mark.kernel

MODEL = "powerconnect-5324"
MIXTURES = 1200  # enumerated of one wave; of larger ones as many are drawn
WAVES = int(os.environ.get("TAGLOOM_WAVES", "3000"))


def a_fabric(chance, model=MODEL):
    """A connected graph of 2 to 6 switches, some links parallel, with 2 to 4 hosts, some on one switch."""
    switches = chance.randint(2, 6)
    links = [(chance.randrange(s), s) for s in range(1, switches)]
    for _ in range(chance.randint(1, 3)):
        a, b = chance.sample(range(switches), 2)
        links.append((a, b))
    hosts = [0] * switches
    for _ in range(chance.randint(2, min(4, switches + 1))):
        hosts[chance.randrange(switches)] += 1
    return make_irregular(hosts, links, model=model)


def a_tree(fabric, chance):
    links = list(range(len(fabric.links)))
    chance.shuffle(links)
    part = list(range(len(fabric.switches)))
    chosen = []
    for i in links:
        a, b = part[fabric.links[i].a], part[fabric.links[i].b]
        if a != b:
            part = [b if p == a else p for p in part]
            chosen.append(i)
    return chosen


def a_state(fabric, chance):
    """A path set: a random tree of its own for every source, or one for all; often with a cyclic CDG."""
    root, source = np.unique(fabric.host_switch, return_inverse=True)
    shared = a_tree(fabric, chance) if chance.random() < 0.4 else None
    parent = [rooted(fabric, shared or a_tree(fabric, chance), int(r)) for r in root]
    routes = Routes("random", "", source.astype(np.int32), root.astype(np.int32), np.array(parent))
    if shared is not None and chance.random() < 0.5:
        return weave(fabric, routes, "renamed", broadcasts_once=partial(broadcasts_once, fabric)).state
    return weave(fabric, routes, "fixed").state


def damaged(state, fabric, chance):
    """Change one to four cells anywhere, as a slip of the hand would."""
    state = dict(state)
    for _ in range(chance.randint(1, 4)):
        switch = chance.choice(fabric.switches)
        editor = SwitchEditor.of(state[switch.name])
        port = chance.choice(fabric.used_ports[fabric.index[switch.name]])
        vlans = sorted(editor.vlans)
        what = chance.randrange(6)
        if what == 0:
            editor.set_pvid(port, chance.choice(vlans))
        elif what == 1:
            editor.set_member(chance.choice(vlans), port, chance.choice(list(Membership)))
        elif what == 2:
            editor.enabled[port - 1] = not editor.enabled[port - 1]
        elif what == 3:
            editor.ingress_filter[port - 1] = not editor.ingress_filter[port - 1]
        elif what == 4 and editor.entries:
            editor.set_entry(*chance.choice(sorted(editor.entries)), chance.choice([(), (port,)]))  # type: ignore[call-arg]
        else:
            host = chance.choice(fabric.hosts)
            editor.set_entry(chance.choice(vlans), host.mac, (port,))
        state[switch.name] = editor.freeze()
    return state


def a_wave(chance):
    """A fabric, the states before, and the lines of a few switches: good waves and, mostly, bad ones."""
    fabric = a_fabric(chance)
    before, after = a_state(fabric, chance), a_state(fabric, chance)
    kind = chance.choice(["as it is", "renumbered", "step", "step", "step", "parked", "damaged", "back and forth"])
    if kind == "renumbered":
        after = renumbered(before, after, 100)
    elif kind == "damaged":
        after = damaged(before, fabric, chance)
    elif kind in {"step", "parked"}:
        after = renumbered(before, after, 100)
        change = Change(fabric, before, after, 5.0, 10.0, lambda _one, _other: True)
        tree = np.isin(np.arange(len(fabric.links)), a_tree(fabric, chance))
        layers = [tree_state(fabric, tree, 999), after] if kind == "parked" else [after]
        states = [before, *(step.state for step in through(change, layers))]
        if len(states) > 1:
            at = chance.randrange(len(states) - 1)
            before, after = states[at], states[min(len(states) - 1, at + chance.choice([1, 1, 1, 2]))]
    movers = chance.sample([switch.name for switch in fabric.switches], chance.randint(1, min(3, len(before))))
    here = {name: before[name] if name in movers else chance.choice([before, after])[name] for name in before}
    lines = {}
    for name in movers:
        changes = difference(here[name], after[name])
        sent = [line for _, line in line_changes(platforms.load(MODEL), changes)]
        if kind == "back and forth":
            back = tuple(change.inverse for change in reversed(changes))
            sent += [line for _, line in line_changes(platforms.load(MODEL), back)]
        if chance.random() < 0.15:
            chance.shuffle(sent)  # no longer what render would send: the proof must say so of any order
        lines[name] = valid(here[name], sent)
    return fabric, here, lines


def a_pinned_wave(chance):
    """Two plans of one VLAN each, or one of them with slips, ports that cease to flood or begin to among them."""
    fabric = a_fabric(chance, "linux-bridge")
    routings = [chance.choice(["any", "up-down", "tree"]) for _ in range(2)]
    before = weave(fabric, route(fabric, routings[0], "pinned", effort=0), "pinned").state
    after = weave(fabric, route(fabric, routings[1], "pinned", effort=0), "pinned", before).state
    kind = chance.choice(["in place", "beside", "step", "step", "damaged", "damaged"])
    if kind == "in place":  # one id for both: entries move while frames are under way
        after = weave(fabric, route(fabric, routings[1], "pinned", effort=0), "pinned").state
    elif kind == "step":
        change = Change(fabric, before, after, 5.0, 10.0, lambda _one, _other: True)
        states = [before, *(step.state for step in through(change, [after]))]
        at = chance.randrange(max(1, len(states) - 1))
        before, after = states[at], states[min(len(states) - 1, at + 1)]
    elif kind == "damaged":
        after = damaged(before, fabric, chance)
        switch = chance.choice(fabric.switches)
        flooding = after[switch.name].flooding.copy()
        port = chance.choice(fabric.used_ports[fabric.index[switch.name]])
        flooding[port - 1] = not flooding[port - 1]
        after[switch.name] = replace(after[switch.name], flooding=flooding)
    differing = [name for name in before if before[name] != after[name]]
    if not differing:
        return a_pinned_wave(chance)
    movers = chance.sample(differing, chance.randint(1, min(3, len(differing))))
    here = {name: before[name] if name in movers else chance.choice([before, after])[name] for name in before}
    lines = {}
    for name in movers:
        sent = [(change,) for change in difference(here[name], after[name]) if change.cell is not Cell.LEARNING]
        if chance.random() < 0.3:
            chance.shuffle(sent)
        lines[name] = valid(here[name], sent)
    return fabric, here, lines


def valid(state, sent):
    """Return the lines a switch would accept: a shuffled one may name a VLAN that does not exist yet."""
    kept = []
    for changes in sent:
        try:
            state = apply_changes(state, tuple(changes))
        except KeyError:
            continue
        if any(state.pvid[state.pvid > 1][:, None] == 0) or not np.isin(state.pvid, [0, *state.vlans]).all():
            return kept  # a deleted VLAN's PVIDs fall to 1 unasked: another change than the line says
        kept.append(changes)
    return kept


def effects(lines):
    return {name: Lines.of(list(enumerate(sent, start=1))) for name, sent in lines.items()}


def anywhere(oracle, chance, s):
    """Return the position a frame meets at a switch: any, whatever it met before."""
    return chance.randrange(len(oracle.bridges[s]))


def positions(oracle, chance):
    if oracle.mixtures <= MIXTURES:
        return list(oracle.all_positions())
    last = [len(each) - 1 for each in oracle.bridges]
    drawn = [tuple(chance.randint(0, n) for n in last) for _ in range(MIXTURES // 4)]
    return [tuple(0 for _ in last), tuple(last), *drawn]


@pytest.mark.slow
@pytest.mark.parametrize("part", few(range(24), 1))
@pytest.mark.parametrize("draw", daily([a_wave, a_pinned_wave], 1))
def test_the_verdict_on_a_wave_is_that_of_all_its_mixtures(draw, part):
    chance = random.Random(part)
    good = bad = states = enumerated = stricter = 0
    waves = WAVES // 24
    for number in range(waves):
        fabric, before, lines = draw(chance)
        proof = prove_wave(fabric, before, effects(lines))
        oracle = Oracle(fabric, [bridges_of(before[s.name], lines.get(s.name, [])) for s in fabric.switches])
        drawn = positions(oracle, chance)
        whole = oracle.mixtures <= MIXTURES
        states += len(drawn)
        verdicts = [oracle.frozen(at) for at in drawn]
        turns = set().union(*(v[3] for v in verdicts))
        reaches = all(v[0] for v in verdicts)
        quiet = all(v[1] and not v[2] for v in verdicts)
        held = np.array([t[0] for t in turns], np.int64), np.array([t[1] for t in turns], np.int64)
        free = not find_cycle(len(fabric.tail), *held)
        mine = set(zip(proof.held.tolist(), proof.wanted.tolist(), strict=True))
        where = (part, number, proof.findings[:2])
        # a frame in trouble is followed no further; its turns are those of a flood only where all ports flood
        assert turns <= mine or (draw is a_pinned_wave and not proof.proven), where
        if proof.proven:
            good += 1
            assert reaches, where
            assert quiet, where
            assert free, where
            assert not whole or turns == mine, where
            for _ in range(30):  # lines landing between the hops of one frame, forwards and backwards
                a, b = chance.sample(range(len(fabric.hosts)), 2)
                assert oracle.unicast(a, b, partial(anywhere, oracle, chance))[0], where
        else:
            bad += 1
            if whole:
                enumerated += 1
                if not proof.cycle and any(f.where.startswith("frames") for f in proof.findings):
                    assert not reaches, where
                learned = any("learning" in f.where for f in proof.findings)  # what was learned is not enumerated
                stricter += reaches and quiet and free and not learned
    assert good > waves // 10
    assert bad > waves // 10
    assert states > (20 if draw is a_wave else 4) * waves
    assert stricter <= enumerated // 20, "stricter than the truth only where frames in flight see two states"


def test_one_state_alone_has_the_dependencies_the_verifier_finds():
    chance = random.Random(7)
    for _ in range(60):
        fabric = a_fabric(chance)
        state = a_state(fabric, chance)
        alone = prove_wave(fabric, state, {}, duplicates_allowed=True)
        held, wanted = dependencies(fabric, state)
        assert set(zip(alone.held.tolist(), alone.wanted.tolist(), strict=True)) == set(
            zip(held.tolist(), wanted.tolist(), strict=True)
        )


@pytest.mark.parametrize("model", [MODEL, "powerconnect-6248"])
def test_the_lines_are_those_that_are_sent_and_do_what_is_said(model):
    """Text by text and state by state, with entries placed as arrays where `line_changes` places objects."""
    chance = random.Random(3)
    platform = platforms.load(model)
    for _ in range(40):
        fabric = a_fabric(chance, model)
        before, after = a_state(fabric, chance), a_state(fabric, chance)
        if chance.random() < 0.5:
            after = renumbered(before, after, 100)
        for switch in fabric.switches:
            old, new = before[switch.name], after[switch.name]
            changes = difference(old, new)
            lines = line_changes(platform, changes, old)
            sent = render_commands(platform, changes, old)
            moves = ("interface", "vlan database", "exit")
            assert [text for text, _ in lines] == [line.strip() for line in sent if not line.strip().startswith(moves)]
            state = old
            for _, part in lines:
                state = apply_changes(state, part)
            assert state == new
            felt = [(n, c) for n, (_, c) in enumerate(lines, start=1)]
            listed, placed = Lines.of(felt), line_effects(platform, old, new)
            assert listed.count == placed.count
            for name in ("cell", "port", "vlan", "mac", "value"):
                assert sorted(grouped(listed, name)) == sorted(grouped(placed, name))
            assert ranks(listed) == ranks(placed)


def one_wave(fabric, before, after):
    """Prove all of a change as one wave, every line of every switch in any interleaving."""
    model = platforms.load(MODEL)
    return prove_wave(fabric, before, {name: line_effects(model, before[name], after[name]) for name in before})


def trees(fabric, links_by_source):
    root, source = np.unique(fabric.host_switch, return_inverse=True)
    parent = np.array([rooted(fabric, links_by_source[r], r) for r in root.tolist()])
    routes = Routes("given", "", source.astype(np.int32), root.astype(np.int32), parent)
    return weave(fabric, routes, "fixed").state


def test_frames_in_flight_close_a_cycle_that_no_frozen_state_has():
    """The smallest case there is (row 9 of the research's counter-examples): source 3 changes its tree."""
    links = {"01": 0, "02": 1, "12": 2, "13": 3, "23": 4}
    fabric = make_irregular([1, 1, 1, 1], [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], model=MODEL)
    rest = {0: ("01", "12", "23"), 1: ("02", "13", "23"), 2: ("02", "12", "23")}
    before, after = (
        trees(fabric, {s: [links[i] for i in tree] for s, tree in {**rest, 3: last}.items()})
        for last in (("02", "12", "13"), ("01", "02", "23"))
    )
    after = renumbered(before, after, 100)
    assert verify(fabric, before).proven
    assert verify(fabric, after).proven
    change = Change(fabric, before, after, 5.0, 10.0, lambda _one, _other: True)
    add, flip, _ = through(change, [after])
    assert one_wave(fabric, before, add.state).proven
    proof = one_wave(fabric, add.state, flip.state)
    assert len(proof.cycle) > 1
    assert "no dependency cycle" in str(proof.findings[0])


def two_switches():
    """Two switches, two links, a host each: the path over one link, then over the other."""
    fabric = make_irregular([1, 1], [(0, 1), (0, 1)], model=MODEL)
    return fabric, trees(fabric, {0: [0], 1: [0]}), trees(fabric, {0: [1], 1: [1]})


def test_shortcuts_that_hurt_are_refused_with_a_witness():
    fabric, before, after = two_switches()
    assert any("frames to" in f.where for f in one_wave(fabric, before, after).findings), (
        "an id reused for another tree"
    )
    fresh = renumbered(before, after, 100)
    change = Change(fabric, before, fresh, 5.0, 10.0, lambda _one, _other: True)
    add, flip, remove = through(change, [fresh])
    assert not one_wave(fabric, before, flip.state).proven, "a flip in the wave of the add that it needs"
    assert not one_wave(fabric, add.state, remove.state).proven, "a removal in the wave of the flip"
    for old, new in ((before, add), (add.state, flip), (flip.state, remove)):
        assert one_wave(fabric, old, new.state).proven


def test_an_entry_taken_out_and_put_back_floods_in_between():
    """Both ends of the wave are the same state, and only the line between them is wrong."""
    fabric, before, _ = two_switches()
    entry = next(c for c in difference(SwitchState.factory(32), before["s0"]) if c.cell is Cell.ENTRY)
    lines = {"s0": Lines.of([(1, (entry.inverse,)), (2, (entry,))])}
    found = prove_wave(fabric, before, lines).findings
    assert "flooded at s0" in str(found[0])


def test_a_link_that_is_retrained_is_down_for_a_moment():
    fabric, before, _ = two_switches()
    for link, proven in ((0, False), (1, True)):
        port = fabric.links[link].a_port
        speed = Lines.of([(1, (SpeedChange(Cell.SPEED, 0, 100, port=port),))])
        assert prove_wave(fabric, before, {"s0": speed}).proven is proven


def grouped(lines, name):
    return getattr(lines, name).tolist()


def ranks(lines):
    """Return the effects line by line, each line's in some order."""
    rows = list(zip(*(getattr(lines, name).tolist() for name in lines.__dataclass_fields__), strict=True))
    by_line = {}
    for position, *rest in rows:
        by_line.setdefault(position, []).append(tuple(rest))
    return [sorted(by_line[position]) for position in sorted(by_line)]
