"""Law: what a wave is proven to keep, frames keep wherever its lines stop, over aggregated, parallel and single links.

The judge is the data plane, frame by frame; it shares nothing with the proof. Interleavings of the switches' lines are
all tried if they are few and drawn if they are many, with the links down that a line takes down for a moment.
"""

import random
from functools import partial

import pytest

from fabrics import MIXED_MODEL, make_mixed, random_mixed, with_link_speeds
from sending import everything_arrives, mixtures, stops
from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.pipeline import rollout
from tagloom.records.change import Cell, Change, difference
from tagloom.records.lines import Lines
from tagloom.render import line_changes
from tagloom.route import route
from tagloom.verify import broadcasts_once, prove_wave, verify
from tagloom.weave import weave

CELLS = ((Cell.ENABLED,), (Cell.ENABLED, Cell.ENABLED, Cell.LAG, Cell.SPEED, Cell.NEGOTIATION))


def planned(fabric, method="auto", assignment="fixed"):
    once = partial(broadcasts_once, fabric)
    return weave(fabric, route(fabric, method, assignment), assignment, broadcasts_once=once).state


def a_plan(fabric, chance):
    """Plan with some links off and some slow, in any way that there is; None where the rest is not connected."""
    off = {i for i in range(len(fabric.links)) if chance.random() < 0.3}
    less = with_link_speeds(fabric.with_links_down(off), [chance.choice([0, 0, 0, 100]) for _ in fabric.links])
    if not less.reached(0).all():
        return None
    try:
        return planned(less, chance.choice(["auto", "any", "tree", "up-down"]), chance.choice(["fixed", "renamed"]))
    except PlanError:
        return None


def a_cable_line(fabric, chance, s, cells):
    """Change one cell of a port at the end of a link of switch s, as one line."""
    mine = [x for x in fabric.links if s in (x.a, x.b)]
    link = chance.choice([x for x in mine if x.members] or mine)
    end = link.b == s
    speaker = link.b_port if end else link.a_port
    port = chance.choice([speaker, *(pair[end] for pair in link.members)])
    cell = chance.choice(cells)
    if cell is Cell.LAG and port == speaker:
        cell = Cell.ENABLED
    if cell is Cell.ENABLED:
        return Change(cell, not (on := chance.random() < 0.4), on, port=port)
    if cell is Cell.LAG:
        return Change(cell, speaker, chance.choice([0, speaker, speaker + 1]), port=port)
    if cell is Cell.SPEED:
        return Change(cell, 0, chance.choice([0, 10, 100]), port=port)
    return Change(cell, True, chance.random() < 0.5, port=port)


def arbitrary_waves(seed, count, most):
    """Try waves of a few lines on the cables of links, most of them bad: (proven, refused, judged, idly refused).

    Of a group that is bound amiss the proof promises nothing, where flows may be lucky in the cable they fall on: only
    waves of lines that shut and open ports can be refused for no frame.
    """
    chance = random.Random(seed)
    good = bad = judged = idly = 0
    while good + bad < count:
        fabric = random_mixed(chance)
        before = a_plan(fabric, chance)
        if before is None:
            continue
        assert verify(fabric, before).proven
        movers = chance.sample(range(len(fabric.switches)), chance.randint(1, 2))
        cells = chance.choice(CELLS)
        sent = {s: [(a_cable_line(fabric, chance, s, cells),) for _ in range(chance.randint(1, 3))] for s in movers}
        quiet = chance.choice([(), (Cell.SPEED, Cell.NEGOTIATION, Cell.LAG)])
        lines = {fabric.switches[s].name: Lines.of(list(enumerate(each, 1)), quiet) for s, each in sent.items()}
        proof = prove_wave(fabric, before, lines)
        every = {x.name: stops(before[x.name], sent.get(s, ()), quiet) for s, x in enumerate(fabric.switches)}
        fine = all(everything_arrives(fabric, states) for states in mixtures(every, chance, most))
        if proof.proven:
            good += 1
            assert fine, (seed, good + bad, sent)
        else:
            bad += 1
            plain = all(line.cell is Cell.ENABLED for each in sent.values() for (line,) in each)
            judged += plain
            idly += plain and fine
    return good, bad, judged, idly


def some_rollouts(seed, count, most):
    """Lead between random plans: (rollouts, waves in which a member's cells change, refused)."""
    chance = random.Random(seed)
    made = cabled = refused = 0
    while made + refused < count:
        fabric = random_mixed(chance, most=4)
        before, after = a_plan(fabric, chance), a_plan(fabric, chance)
        if before is None or after is None:
            continue
        try:
            change = rollout(fabric, before, after, duplicates_allowed=True)
        except PlanError:
            refused += 1
            continue
        made += 1
        for number, wave in enumerate(change.waves, 1):
            every = {name: stops(held, sent(held, wave.state[name]), ()) for name, held in wave.before.items()}
            members = [(x.a, a) for x in fabric.links for a, _ in x.members]
            cabled += any(
                wave.before[fabric.switches[s].name].port(p) != wave.state[fabric.switches[s].name].port(p)
                for s, p in members
            )
            for states in mixtures(every, chance, most):
                assert everything_arrives(fabric, states, once=False), (seed, made + refused, number)
    return made, cabled, refused


def sent(held, wanted):
    return [changes for _, changes in line_changes(platforms.load(MIXED_MODEL), difference(held, wanted), held)]


def test_a_wave_of_lines_on_cables_is_proven_only_where_frames_arrive_in_every_mixture():
    good, bad, judged, idly = arbitrary_waves(1, 80, 40)
    assert min(good, bad) > 20
    assert judged > 5
    assert idly == 0


def test_a_rollout_loses_no_frame_wherever_its_lines_stop():
    made, cabled, refused = some_rollouts(1, 12, 12)
    assert made > refused
    assert cabled > 2


@pytest.mark.long
@pytest.mark.parametrize("seed", range(8))
def test_many_waves_and_rollouts(seed):
    good, bad, judged, idly = arbitrary_waves(100 + seed, 400, 150)
    assert min(good, bad) > 60
    assert idly <= judged / 20, "a mixture that loses frames may not be among those drawn"
    made, cabled, _ = some_rollouts(200 + seed, 40, 60)
    assert made > 20
    assert cabled > 5


def test_two_ends_that_each_shut_another_member_cut_the_link_between_them():
    """Each end alone, at any line, leaves one cable; both together leave none."""
    fabric = make_mixed([1, 1], [(0, 1, 2)])
    before = planned(fabric)
    shut = {s: Change(Cell.ENABLED, True, False, port=fabric.links[0].members[s][s]) for s in range(2)}
    one = {"s0": Lines.of([(1, (shut[0],))])}
    both = {f"s{s}": Lines.of([(1, (line,))]) for s, line in shut.items()}
    assert prove_wave(fabric, before, one).proven
    found = prove_wave(fabric, before, both).findings
    assert "the ends of the link differ" in "; ".join(map(str, found))
