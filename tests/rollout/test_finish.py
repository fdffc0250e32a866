"""Finish without a switch that stopped: further lines are proven for every line that switch may have stopped at."""

import random
from dataclasses import replace
from itertools import groupby

import pytest
from mixtures import Oracle, bridges_of
from test_wave_proof import a_fabric, a_state

from fabrics import make_fabric
from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.graph.numbering import owned
from tagloom.pipeline import rollout
from tagloom.pipeline.proving import proof_services
from tagloom.records.change import difference
from tagloom.render import line_changes
from tagloom.rollout import finish
from tagloom.route import route
from tagloom.verify import verify
from tagloom.weave import weave

pytestmark = pytest.mark.kernel

MODEL = platforms.load("powerconnect-5324")


def lines_between(old, new):
    return [changes for _, changes in line_changes(MODEL, difference(old, new))]


def some_rollouts(chance, count):
    while count:
        fabric = a_fabric(chance)
        before, after = a_state(fabric, chance), a_state(fabric, chance)
        if len(fabric.switches) < 3 or not (verify(fabric, before).proven and verify(fabric, after).proven):
            continue
        try:
            change = rollout(fabric, before, after)
        except PlanError:
            continue
        if change.waves:
            count -= 1
            yield fabric, change


def all_reach(oracle, chance, tries):
    """Freeze the fabric in some interleavings of positions: every pair reached, every broadcast once, no storm."""
    last = [len(each) - 1 for each in oracle.bridges]
    drawn = [[chance.randint(0, n) for n in last] for _ in range(tries)]
    return all(good and once and not storms for good, once, storms, _ in map(oracle.frozen, [last, *drawn]))


@pytest.mark.parametrize("seed", range(2))
def test_the_others_finish_whatever_line_the_stuck_switch_stands_at(seed):
    chance = random.Random(seed)
    finished = kept = hurt = refused = 0
    for fabric, change in some_rollouts(chance, 12):
        states = [change.before, *(wave.state for wave in change.waves)]
        number = chance.randint(1, len(change.waves))
        stuck = chance.choice(fabric.switches).name
        positions = bridges_of(
            states[number - 1][stuck], lines_between(states[number - 1][stuck], states[number][stuck])
        )
        try:
            ends = list(finish([(fabric, proof_services(fabric))] * len(change.waves), states, number, [stuck]))
        except PlanError:
            refused += 1
            continue
        assert len(ends) == len(states) - number
        finished += 1
        here = states[number - 1]
        for end in ends:
            bridges = [
                positions if s.name == stuck else bridges_of(here[s.name], lines_between(here[s.name], end[s.name]))
                for s in fabric.switches
            ]
            assert all_reach(Oracle(fabric, bridges), chance, 30)
            here = end
        kept += owned({n: held for n, held in here.items() if n != stuck}) != owned(change.after)
        bridges = [positions if s.name == stuck else bridges_of(states[-1][s.name], []) for s in fabric.switches]
        oracle = Oracle(fabric, bridges)
        hurt += not all(
            oracle.frozen([at if each is positions else 0 for each in bridges])[0] for at in range(len(positions))
        )
    assert finished > refused
    assert kept, "something had to stay because of the stuck switch"
    assert hurt, "to take away all that is old would have lost pairs"


def as_far_as_proven(ends):
    """Take ends one by one until one is not proven; return their number, and the error text."""
    count = 0
    try:
        for _ in ends:
            count += 1
    except PlanError as error:
        return count, str(error)
    return count, ""


# By the wave in which s0 stopped: how many the others may take, and how many without the assumptions. Where s0 stopped
# before hosts resume, some are silent until the end, so that the last wave, in which nobody is paused, is not proven.
# Without the assumptions none is paused at all.
TAKEN = {1: (3, 4), 2: (2, 0), 3: (1, 0), 4: (1, 1)}


@pytest.mark.parametrize("number", TAKEN)
def test_each_wave_is_proven_under_its_own_terms(number):
    """Hosts are paused in the second and the third wave alone."""
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    before, after = (weave(fabric, route(fabric, method), "fixed").state for method in ("auto", "tree"))
    change = rollout(fabric, before, after, strategy="drain", allow_drain=True)
    states, assumptions = (
        [change.before, *(wave.state for wave in change.waves)],
        [wave.assumptions for wave in change.waves],
    )
    assert [each.paused for each in assumptions] == [False, True, True, False]
    services, asked = proof_services(fabric), []

    def heard(before, after, under):
        asked.append(under)
        return services.wave(before, after, under)

    listening, plain = ([(fabric, each)] * len(assumptions) for each in (replace(services, wave=heard), services))
    count, said = as_far_as_proven(finish(listening, states, number, ["s0"], assumptions))
    bare, _ = as_far_as_proven(finish(plain, states, number, ["s0"]))
    assert (count, bare) == TAKEN[number]
    met = assumptions[number - 1 : number - 1 + count + bool(said)]
    assert [key for key, _ in groupby(each.paused for each in asked)] == [
        key for key, _ in groupby(each.paused for each in met)
    ]
    assert all(each.stuck == {"s0": (states[number - 1]["s0"], states[number]["s0"])} for each in asked)
    assert ("wave 4" in said) is (count < 5 - number)
