"""The choice of settings over a day is the cheapest there is, and no link rests for less than its changes cost."""

import itertools

import numpy as np
import pytest

from tagloom.records.timetable import Offer
from tagloom.regulate import timetable
from tagloom.regulate.timetable import covering, groups, schedules


def cheapest(offer, settings, dwell, most):
    """Try every sequence of settings."""
    best = np.inf
    count, intervals = offer.joules.shape
    for day in itertools.product(range(count), repeat=intervals):
        stretches = [len(list(same)) for _, same in itertools.groupby(day)]
        begins = itertools.accumulate([0, *stretches])
        lasting = [offer.seconds[b : b + n].sum() for b, n in zip(begins, stretches, strict=False)]
        pairs = [(a, b) for a, b in zip(day, day[1:] + day[:1], strict=True) if a != b]
        short = len(stretches) > 1 and min(lasting) < dwell
        if len(set(day)) <= settings and len(pairs) <= most and not short:
            best = min(best, joules_of(offer, day))
    return best


def joules_of(offer, day):
    pairs = zip(day, np.roll(day, -1), strict=True)
    return sum(offer.joules[k, t] for t, k in enumerate(day)) + sum(
        offer.change_joules[(t + 1) % len(day), a, b] for t, (a, b) in enumerate(pairs) if a != b
    )


@pytest.mark.parametrize("seed", range(60))
def test_it_is_as_cheap_as_the_cheapest_of_all_sequences(seed):
    chance = np.random.default_rng(seed)
    count, intervals = chance.integers(1, 5), chance.integers(1, 7)
    joules = chance.random((count, intervals)) * 10
    joules[chance.random(joules.shape) < 0.2] = np.inf
    joules[0] = 12.0
    offer = Offer(chance.choice([1.0, 2.0, 3.0], intervals), joules, chance.random((intervals, count, count)) * 3)
    dwell, most = float(chance.choice([0, 2, 4])), int(chance.integers(0, 5))
    found = schedules(offer, 3, dwell, most)
    assert len(found) == min(3, count)
    for n, each in enumerate(found, start=1):
        assert each.exact
        assert each.joules == pytest.approx(cheapest(offer, n, dwell, most))
        assert joules_of(offer, each.setting) == pytest.approx(each.joules)
        assert each.changes == np.count_nonzero(each.setting != np.roll(each.setting, -1)) <= most
        assert len(each.used) <= n


@pytest.mark.parametrize("seed", range(10))
def test_where_sets_are_too_many_it_says_so_and_is_no_worse_than_with_fewer(seed, monkeypatch):
    chance = np.random.default_rng(seed)
    joules = chance.random((6, 8)) * 10
    offer = Offer(np.ones(8), joules, chance.random((8, 6, 6)))
    exact = schedules(offer, 3, 0.0, 6)
    monkeypatch.setattr(timetable, "SETS", 6)
    for ranked in (0, 100):
        monkeypatch.setattr(timetable, "RANKED", ranked)
        found = schedules(offer, 3, 0.0, 6)
        assert found[0].exact
        assert ranked or not (found[1].exact or found[2].exact)
        assert found[0].joules >= found[1].joules >= found[2].joules >= exact[2].joules - 1e-9
        assert joules_of(offer, found[2].setting) == pytest.approx(found[2].joules)
        for each, best in zip(found, exact, strict=True):
            assert not each.exact or each.joules == pytest.approx(best.joules)


def test_sets_left_out_are_known_to_be_worse_where_free_changes_say_so(monkeypatch):
    """Two settings are cheap and carry half the day each; all others cost more however often they change."""
    joules = np.full((8, 8), 10.0) + np.arange(8)[:, None]
    joules[0, :4] = joules[1, 4:] = 1.0
    monkeypatch.setattr(timetable, "SETS", 3)
    found = schedules(Offer(np.ones(8), joules, np.full((8, 8, 8), 0.5)), 2, 0.0, 6)
    assert (found[1].exact, found[1].joules, found[1].used) == (True, 9.0, (0, 1))


@pytest.mark.parametrize(("rest_seconds", "pays"), [(120, False), (128, True)])
def test_a_link_off_for_less_than_its_changes_cost_stays_on(rest_seconds, pays):
    """Off it saves 2.4 W; going off and coming on again takes 63.2 s each, all the while drawing them."""
    seconds = np.array([3600.0, rest_seconds, 3600.0])
    joules = np.array([100.0 * seconds, 97.6 * seconds])
    joules[1, [0, 2]] = np.inf
    change = np.broadcast_to(2.4 * 63.2 * (1 - np.eye(2)), (len(seconds), 2, 2))
    best = schedules(Offer(seconds, joules, change), 2, 0.0, 12)[-1]
    assert (best.changes == 2) is pays


def test_the_dwell_and_the_cap_are_kept():
    joules = np.array([np.full(12, 10.0), np.tile([5.0, np.inf], 6)])
    offer = Offer(np.full(12, 300.0), joules, np.zeros((12, 2, 2)))
    assert schedules(offer, 2, 300.0, 12)[-1].changes == 12
    assert schedules(offer, 2, 300.0, 5)[-1].changes == 4
    assert schedules(offer, 2, 600.0, 12)[-1].changes == 0


def test_groups_hold_all_in_one_and_the_leaves_part_the_known_intervals():
    chance = np.random.default_rng(1)
    rate = chance.random((20, 3, 3)).astype(np.float32)
    rate[10:] *= 100
    known = np.arange(20) != 7
    found, leaves = groups(rate, known, 4)
    assert found[0].tolist() == np.flatnonzero(known).tolist()
    assert sorted(np.concatenate(leaves).tolist()) == np.flatnonzero(known).tolist()
    assert any(set(each.tolist()) == set(range(10, 20)) for each in found)
    assert np.all(covering(rate, found[0]) >= rate[known])
