"""Whether paths are changed for measured traffic: gain, cost, dwell and a cap, and nothing else."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tagloom.records.reweave import ReweaveForecast, ReweaveLimits
from tagloom.records.timetable import TimetableProgress
from tagloom.regulate.reweave import decide_reweave, rewoven

NOW = 1e6
LIMITS = ReweaveLimits(interval_seconds=900.0, intervals=2, gain=0.2, changes_a_day=2)
GOOD = ReweaveForecast((0.6, 0.5), (0.3, 0.3), 20.0, 3, 40)
RESTED = TimetableProgress(("all-on",), changed_at=NOW - 3600)
shares = st.floats(0.0, 2.0)


def decide(forecast=GOOD, standing=RESTED, limits=LIMITS, dwell=900.0):
    return decide_reweave(NOW, forecast, standing, limits, dwell)


def test_a_change_says_what_it_gains_and_costs():
    found = decide()
    assert found.change
    assert found.why == "the busiest channel's load would fall by 40 to 50 %, for 20 s in 3 waves, 40 lines"


def test_each_reason_to_stay_is_said():
    assert decide(ReweaveForecast((0.6,), (0.1,))).why == "1 of 2 intervals are measured"
    assert decide(ReweaveForecast((0.6, 0.5), (0.3, 0.45))).why == (
        "the busiest channel's load would fall by 10 to 50 %; 20 % is asked for"
    )
    assert decide(ReweaveForecast((0.5, 0.5), (0.25, 0.6))).why == (
        "the busiest channel's load would fall by 50 % at best, and rise by 20 % at worst; 20 % is asked for"
    )
    assert decide(ReweaveForecast((0.6, 0.5), (0.6, 0.9))).why == "no channel's load would fall; 20 % is asked for"
    assert decide(standing=replace(RESTED, changed_at=NOW - 100)).why == "waits 800 s: 900 s between two changes"
    often = replace(RESTED, woven_at=(NOW - 80_000, NOW - 4_000))
    assert decide(standing=often).why == "waits: paths were changed 2 times in 24 hours"
    assert decide(standing=replace(often, woven_at=(NOW - 87_000, NOW - 4_000))).change
    idle = ReweaveForecast((0.001, 0.001), (0.0005, 0.0005), 20.0, 1, 40)
    assert decide(idle).why == (
        "the busiest channel would be busy 0.9 s less in 1800 s; a change takes 20 s in 1 wave, 40 lines"
    )


@given(st.lists(st.tuples(shares, shares), min_size=2, max_size=5), st.floats(0, 100), st.floats(0, 5_000))
def test_a_change_gains_in_each_interval_and_saves_more_than_it_takes(both, seconds, dwell):
    forecast = ReweaveForecast(tuple(b for b, _ in both), tuple(a for _, a in both), seconds, 1, 1)
    found = decide(forecast, dwell=dwell)
    last = both[-LIMITS.intervals :]
    gains = all(b > 0 and 1 - a / b >= LIMITS.gain for b, a in last)
    lasts = max(dwell, LIMITS.intervals * LIMITS.interval_seconds)
    pays = all(lasts * (b - a) >= seconds for b, a in last)
    assert found.change == (gains and pays and dwell <= 3600)


@given(st.lists(st.tuples(shares, shares, st.floats(0, 1)), min_size=2, max_size=2), st.floats(0, 100))
def test_what_the_bound_of_all_paths_rules_out_no_paths_would_bring(three, seconds):
    """Planning is left out only where no plan could have been worth its change."""
    before = tuple(b for b, _, _ in three)
    bound = tuple(min(b, a) * part for b, a, part in three)
    after = tuple(max(low, a) for low, (_, a, _) in zip(bound, three, strict=True))
    if decide(ReweaveForecast(before, after, seconds, 1, 1)).change:
        assert decide(ReweaveForecast(before, bound)).change


@given(st.lists(st.floats(0, 86_400 * 2), max_size=60))
def test_paths_change_no_more_often_than_allowed_however_good_others_are(steps):
    standing, changed, now = TimetableProgress(("all-on",)), [], 1e6
    for step in steps:
        now += step
        if decide_reweave(now, GOOD, standing, LIMITS, 900.0).change:
            standing = rewoven(now, "woven-1", standing)
            changed.append(now)
    assert all(b - a >= 900 for a, b in pairwise(changed))
    assert all(sum(at - 86_400 < other <= at for other in changed) <= 2 for at in changed)
