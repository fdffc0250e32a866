"""Law: a wave is refused iff own frames and those of others close a cycle in some mixture of its lines."""

import random
from dataclasses import replace
from itertools import chain, pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mixtures import Oracle, bridges_of
from test_wave_proof import a_state, a_tree, effects, valid

from fabrics import make_irregular
from tagloom import pipeline, platforms
from tagloom.errors import PlanError
from tagloom.graph.numbering import renumbered
from tagloom.pipeline.proving import proof_services
from tagloom.records.change import Cell, Change, apply_changes, difference
from tagloom.records.lines import Lines
from tagloom.records.switch_state import FlowControl, Membership, SwitchEditor
from tagloom.render import line_changes
from tagloom.rollout.acyclic import acyclic, tree_turns
from tagloom.rollout.steps import Change as Steps
from tagloom.rollout.steps import through
from tagloom.rollout.trees import chain as chain_of_trees
from tagloom.verify import foreign_waiting, prove_foreign, prove_kept, prove_wave
from thinned import examples

pytestmark = pytest.mark.kernel

MODEL = "powerconnect-5324"
QUIET = (("flow_control_change", "quiet"),)
OUTSIDE = {10: 20, 30: 21}  # VLANs of others, and the port outside the fabric that each is untagged at
MIXTURES = 600


def a_fabric(chance):
    """Return a ring of 3 to 5 switches with up to two chords, and a host at each."""
    switches = chance.randint(3, 5)
    links = [(s, (s + 1) % switches) for s in range(switches)]
    links += [tuple(chance.sample(range(switches), 2)) for _ in range(chance.randint(0, 2))]
    return make_irregular([1] * switches, links, model=MODEL)


def shared(fabric, state, links, pausing):
    """Return states with VLANs of others on `links` of each, and flow control on `pausing` switches."""
    found = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        for vlan in links:
            editor.create_vlan(vlan)
            editor.set_member(1, OUTSIDE[vlan], Membership.NONE)
            editor.set_member(vlan, OUTSIDE[vlan], Membership.UNTAGGED)
            editor.set_pvid(OUTSIDE[vlan], vlan)
            for link in (fabric.links[i] for i in links[vlan]):
                for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
                    if end == s:
                        editor.set_member(vlan, port, Membership.TAGGED)
        editor.flow_control = [FlowControl.ON if switch.name in pausing else FlowControl.OFF] * editor.ports
        found[switch.name] = editor.freeze()
    return found


def two_plans(seed):
    """Return a fabric with a host at each switch, and two plans of it beside VLANs of others on trees; all pause."""
    chance = random.Random(seed)
    fabric = a_fabric(chance)
    before, after = a_state(fabric, chance), a_state(fabric, chance)
    links = {vlan: a_tree(fabric, chance) for vlan in list(OUTSIDE)[: chance.randint(1, 2)]}
    names = [switch.name for switch in fabric.switches]
    return fabric, *(shared(fabric, state, links, names) for state in (before, renumbered(before, after, 100)))


def toggled(fabric, chance, state, vlans):
    """Return lines, by switch, of others or of a slip: members at links, a port that is shut, a filter that goes."""
    found = {}
    for _ in range(chance.randint(1, 3)):
        link = chance.choice(fabric.links)
        s, port = chance.choice([(link.a, link.a_port), (link.b, link.b_port)])
        name, vlan = fabric.switches[s].name, chance.choice(vlans)
        held = state[name].membership[state[name].vlan_index[vlan], port - 1]
        ways = [Membership.NONE, chance.choice([Membership.TAGGED, Membership.TAGGED, Membership.UNTAGGED])]
        line = Change(Cell.MEMBER, *(ways if held == Membership.NONE else ways[::-1]), port=port, vlan=vlan)
        if chance.random() < 0.1:
            line = Change(Cell.ENABLED, True, False, port=port)
        elif chance.random() < 0.1:
            line = Change(Cell.INGRESS_FILTER, True, False, port=OUTSIDE[vlan])
        found.setdefault(name, {})[line.cell, line.vlan, line.port] = (line,)
    return {name: list(lines.values()) for name, lines in found.items()}


def a_wave(seed):
    """Return a fabric, the states before a wave, and its lines: a wave of a rollout, at times with lines of others."""
    chance = random.Random(seed)
    fabric = a_fabric(chance)
    before, after = a_state(fabric, chance), a_state(fabric, chance)
    after = renumbered(before, after, 100)
    names = [switch.name for switch in fabric.switches]
    vlans = list(OUTSIDE)[: chance.randint(1, 2)]
    links = {vlan: a_tree(fabric, chance) for vlan in vlans}
    pausing = names if chance.random() < 0.8 else chance.sample(names, len(names) - 1)
    before, after = (shared(fabric, state, links, pausing) for state in (before, after))
    change = Steps(fabric, before, after, 5.0, 10.0, lambda _one, _other: True)
    states = [before, *(step.state for step in through(change, [after]))]
    if len(states) < 3:
        return a_wave(seed + 1_000_000)
    at = min(chance.choice([0, 1, 1, 1, 2]), len(states) - 2)
    before, after = states[at], states[at + 1]
    more = toggled(fabric, chance, before, vlans) if chance.random() < 0.5 else {}
    lines = {}
    for name in names:
        sent = [part for _, part in line_changes(platforms.load(MODEL), difference(before[name], after[name]))]
        for line in more.get(name, ()):
            sent.insert(chance.randint(0, len(sent)), line)
        lines[name] = valid(before[name], sent)
    return fabric, before, lines


def followed(oracle, at):
    """Return the turns of frames that enter by the ports outside, untagged or with any tag, at some positions."""
    turns, met = set(), set()
    bridges = [each[at(s)] for s, each in enumerate(oracle.bridges)]
    open_ = [(s, p, tag, None) for s, one in enumerate(bridges) for p in OUTSIDE.values() for tag in (0, *one.members)]
    while open_:
        s, port, tag, held = open_.pop()
        if (s, port, tag) in met:
            continue
        met.add((s, port, tag))
        out, _ = bridges[s].step(port, tag, None)
        for (_, out_tag), link in oracle._ways(s, out, at) if out is not None else ():
            if link is not None:
                turns |= {(held, link[0])} - {(None, link[0])}
                open_.append((link[1], link[2], out_tag, link[0]))
    return turns


def circle(fabric, turns, pausing):
    """Return whether turns close a cycle of channels that all end at switches that send PAUSE."""
    ends = [fabric.switches[s].name in pausing for s in fabric.head.tolist()]
    return not nx.is_directed_acyclic_graph(nx.DiGraph([(a, b) for a, b in turns if ends[b]]))


def mixtures(fabric, before, lines):
    """Return the turns of own frames and of others' in each mixture of a wave's lines, the first and last as such."""
    oracle = Oracle(fabric, [bridges_of(before[s.name], lines[s.name]) for s in fabric.switches])
    if oracle.mixtures <= MIXTURES:
        drawn = list(oracle.all_positions())
    else:
        chance, last = random.Random(0), [len(each) - 1 for each in oracle.bridges]
        more = [tuple(chance.randint(0, n) for n in last) for _ in range(MIXTURES // 10)]
        drawn = [tuple(0 for _ in last), *more, tuple(last)]
    found = [(oracle.frozen(at)[3], followed(oracle, at.__getitem__)) for at in drawn]
    return found, oracle.mixtures <= MIXTURES


def judged(fabric, before, lines):
    """Return by brute force whether frames close a waiting cycle: before the wave, after it, over all of its mixtures.

    Own frames alone do not; also whether all mixtures were tried.
    """
    found, whole = mixtures(fabric, before, lines)
    pausing = {name for name, held in before.items() if held.flow_control.any()}
    before_it, after_it = (circle(fabric, own | others, pausing) for own, others in (found[0], found[-1]))
    own = set().union(*(own for own, _ in found))
    together = own.union(*(others for _, others in found))
    alone = circle(fabric, own, {switch.name for switch in fabric.switches})
    return before_it, after_it, circle(fabric, together, pausing) and not alone, whole


def refused(proof):
    """Return whether a proof finds frames of others in a cycle."""
    return any(found.where.endswith(", of others") for found in proof.findings)


@examples(120)
@given(st.integers(0, 100_000))
def test_a_wave_is_refused_iff_frames_of_others_close_a_cycle_in_some_mixture_of_its_lines(seed):
    """A cycle that is there before the wave is not held against it; the state after it is judged by itself."""
    fabric, before, lines = a_wave(seed)
    proof = prove_wave(fabric, before, effects(lines), duplicates_allowed=True)
    already, _, closed, whole = judged(fabric, before, lines)
    if proof.proven or refused(proof):
        assert refused(proof) == (closed and not already) or (refused(proof) and not whole)


# Between states in which nothing waits in a circle: what the states' own proofs cannot find.
BETWEEN = (4, 85, 89)


@pytest.mark.parametrize("seed", BETWEEN)
def test_a_cycle_that_neither_end_of_a_wave_has_is_named_with_the_vlan(seed):
    fabric, before, lines = a_wave(seed)
    after = {name: apply_changes(held, tuple(chain(*lines[name]))) for name, held in before.items()}
    assert judged(fabric, before, lines) == (False, False, True, True)
    assert not foreign_waiting(fabric, before)
    assert not foreign_waiting(fabric, after)
    (found,) = prove_wave(fabric, before, effects(lines)).findings
    assert found.where in {"VLAN 10, of others", "VLAN 30, of others"}
    assert "in any interleaving" in found.expected
    assert " -> " in found.actual
    (harm,) = prove_kept(fabric, before, after, effects(lines)).findings
    assert ", of others: expected no dependency cycle" in harm.actual, "where pairs that work are to go on working, too"


def lines_of_wave(fabric, wave):
    platform = platforms.load(MODEL)
    return {
        s.name: [part for _, part in line_changes(platform, difference(wave.before[s.name], wave.state[s.name]))]
        for s in fabric.switches
    }


@pytest.mark.parametrize(("seed", "strategy"), [(1662, "park"), (4, "batches")])
def test_a_rollout_takes_other_waves_where_its_flip_would_close_a_cycle_with_frames_of_others(seed, strategy):
    fabric, before, after = two_plans(seed)
    change = pipeline.rollout(fabric, before, after)
    assert change.strategy == strategy
    assert "direct, wave 2 (flip): VLAN " in change.reason
    for wave in change.waves:
        assert judged(fabric, wave.before, lines_of_wave(fabric, wave))[:3] == (False, False, False)
    with pytest.raises(PlanError, match="nor with frames of VLANs of others where ports send PAUSE") as stuck:
        pipeline.rollout(fabric, before, after, strategy="direct")
    assert ", of others: expected no dependency cycle" in stuck.value.witness
    assert "--strategy auto" in stuck.value.advice
    drained = pipeline.rollout(fabric, before, after, strategy="drain", allow_drain=True)
    assert drained.downtime_seconds > 0, "while hosts pause, old frames and new never meet"


def test_flow_control_goes_off_first_where_that_helps_and_cuts_nothing():
    fabric, before, after = two_plans(4)
    quiet = replace(fabric, switches=tuple(replace(s, firmware=QUIET) for s in fabric.switches))
    change = pipeline.rollout(quiet, before, after, strategy="pause-off")
    assert [wave.name for wave in change.waves] == ["flow control off", "add", "flip", "remove", "flow control on"]
    silent = {name: replace(held, flow_control=held.flow_control * 0) for name, held in before.items()}
    goal = {name: replace(held, flow_control=held.flow_control * 0) for name, held in after.items()}
    assert pipeline.rollout(fabric, silent, goal).strategy == "direct", "nothing waits where no port sends PAUSE"


def waiting(fabric, before, lines):
    return [str(found) for found in prove_wave(fabric, before, effects(lines)).findings]


def test_flow_control_comes_on_only_where_no_cycle_would_wait():
    """A flip that closes a cycle is proven where one switch sends no PAUSE, and not where its last lines turn it on."""
    fabric, before, lines = a_wave(BETWEEN[0])
    assert "of others" in waiting(fabric, before, lines)[0]
    switches = list(before)
    for name in switches:
        held = {**before, name: replace(before[name], flow_control=before[name].flow_control * 0)}
        assert waiting(fabric, held, lines) == [], "the cycle goes round all three switches"
        ports = [link.a_port if fabric.switches[link.a].name == name else link.b_port for link in fabric.links]
        on = [(Change(Cell.FLOW_CONTROL, FlowControl.OFF, FlowControl.ON, port=port),) for port in sorted(set(ports))]
        effects_on = {n: Lines.of(list(enumerate(sent, 1)), {Cell.FLOW_CONTROL}) for n, sent in lines.items()}
        effects_on[name] = Lines.of(list(enumerate([*lines[name], *on], 1)), {Cell.FLOW_CONTROL})
        assert "of others" in str(prove_wave(fabric, held, effects_on).findings[:1])


def over(fabric, state, vlan, links):
    """Return states with a VLAN of others on `links`, by their numbers, and on no other."""
    found = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        for i, link in enumerate(fabric.links):
            for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if end == s:
                    editor.set_member(vlan, port, Membership.TAGGED if i in links else Membership.NONE)
        found[switch.name] = editor.freeze()
    return found


def test_a_wave_of_others_that_leads_their_frames_on_into_a_cycle_is_refused_and_its_inverse_is_not():
    """On a ring of four, VLAN 10 comes to a third link, at whose far end nobody hears it: nothing is joined or cut."""
    fabric, state, _ = two_plans(7)
    assert len(fabric.links) == 4
    state = over(fabric, state, 30, ()) if 30 in state["s0"].vlan_index else state
    editor = SwitchEditor.of(state["s2"])
    editor.set_member(10, OUTSIDE[10], Membership.NONE)
    before, after = (over(fabric, {**state, "s2": editor.freeze()}, 10, links) for links in ((0, 3), (0, 1, 3)))
    (found,) = prove_foreign(fabric, before, after).findings
    assert found.where == "VLAN 10, of others"
    assert found.actual == "s0:g1 -> s1:g1; s1:g2 -> s2:g1; s2:g2 -> s3:g1; s3:g2 -> s0:g2"
    assert prove_foreign(fabric, after, before).proven, "it ends what waits before it"
    silent = (
        {name: replace(held, flow_control=held.flow_control * 0) for name, held in each.items()}
        for each in (before, after)
    )
    assert prove_foreign(fabric, *silent).proven


def test_each_tree_of_a_chain_closes_no_cycle_with_the_next_and_frames_of_others():
    chains = differing = 0
    for seed in range(40):
        fabric, before, after = two_plans(seed)
        services = proof_services(fabric)
        old, new = services.dependencies(before), services.dependencies(after)
        others = services.foreign_dependencies(before)
        channels, usable = len(fabric.tail), np.ones(len(fabric.links), np.bool_)
        if not (acyclic(channels, old, others) and acyclic(channels, new, others)):
            continue
        trees = chain_of_trees(fabric, usable, old, new, others)
        if trees is not None:
            steps = [old, *(tree_turns(fabric, tree) for tree in trees), new]
            assert all(acyclic(channels, one, other, others) for one, other in pairwise(steps)), seed
            chains += 1
        plain = chain_of_trees(fabric, usable, old, new) or []
        steps = [old, *(tree_turns(fabric, tree) for tree in plain), new]
        differing += not all(acyclic(channels, one, other, others) for one, other in pairwise(steps))
    assert chains > 5
    assert differing, "a chain that would not do beside these VLANs"


def test_batches_that_frames_of_others_leave_no_way_are_tried_without_them_and_the_proof_decides():
    fabric, before, after = two_plans(833)
    with pytest.raises(PlanError) as refused:
        pipeline.rollout(fabric, before, after, strategy="batches", duplicates_allowed=True)
    assert "batches, wave 2 (flip): VLAN 10, of others: expected no dependency cycle" in refused.value.witness
    assert "get stuck" not in refused.value.witness
    fabric, before, after = two_plans(2823)
    with pytest.raises(PlanError, match="dependency cycle") as refused:
        pipeline.rollout(fabric, before, after, strategy="batches", duplicates_allowed=True)
    assert refused.value.witness.endswith("source batches get stuck with 2 of 4 hosts left")
