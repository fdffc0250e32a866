"""While a day's settings change, whichever hosts have moved, no channel exceeds what was promised for the traffic."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import PlanError
from tagloom.pipeline.timetabling import planner
from tagloom.read.timetable_file import format_timetable, read_timetable
from tagloom.records.timetable import History
from tagloom.regulate.day import BYTES_PER_SECOND, TimetableOptions, lead_seconds, timetable
from tagloom.regulate.day_changes import EARLY, LATE, NONE, VIA, Change, ChangeRule
from tagloom.regulate.day_figures import files_of, names_of, times_of, to_json
from tagloom.regulate.settings_file import settings_routes
from tagloom.route import own_routes
from thinned import few

pytestmark = pytest.mark.kernel

HEADROOM, HOUR = 0.5, 3600.0
RING = make_fabric("ring", 4, parallel=2, model="powerconnect-5324")
MESH = make_fabric("mesh", 3, 2, parallel=2, model="powerconnect-5324")


def a_day(fabric, seed, intervals=8):
    """Return a random day of few busy pairs that change from interval to interval; hosts keep within the headroom."""
    chance = np.random.default_rng(seed)
    hosts = len(fabric.hosts)
    rate = chance.random((intervals, hosts, hosts)) * (chance.random((intervals, hosts, hosts)) < 0.35)
    rate[:, np.arange(hosts), np.arange(hosts)] = 0.0
    most = np.maximum(rate.sum(axis=1), rate.sum(axis=2)).max(axis=1)
    rate *= (chance.choice([0.001, 0.2, 0.49], intervals) * BYTES_PER_SECOND / np.maximum(most, 1e-9))[:, None, None]
    seconds = np.full(intervals, 24 * HOUR / intervals)
    known = np.ones(intervals, np.bool_)
    return History(np.arange(intervals) * seconds, seconds, rate.astype(np.float32), known)


def channel_of_pairs(fabric, routes):
    """Return the channels between each two hosts, walked back from the destination along the source's tree."""
    found = {}
    for a, source in enumerate(routes.source_of_host.tolist()):
        for b, target in enumerate(fabric.host_switch.tolist()):
            here, found[a, b] = target, []
            while routes.parent[source, here] >= 0 and here != routes.root[source]:
                found[a, b].append(int(routes.parent[source, here]))
                here = int(fabric.tail[routes.parent[source, here]])
    return found


def busiest(one, other, moved, rate):
    """Return the bytes per second on the busiest channel: `moved` hosts send over `other`'s paths, the rest `one`'s."""
    load = {}
    for (a, b), channels in one.items():
        for c in other[a, b] if moved[a] else channels:
            load[c] = load.get(c, 0.0) + float(rate[a, b])
    return max(load.values(), default=0.0)


@pytest.mark.parametrize(
    ("name", "seed"), few([(name, seed) for seed in range(12) for name in ("ring", "mesh")], 4, 15)
)
def test_at_every_moment_of_a_change_the_load_is_within_the_headroom_of_the_traffic_in_force(name, seed):
    fabric = {"ring": RING, "mesh": MESH}[name]
    shift, history, options = 45.0 * (seed % 2), a_day(fabric, seed), TimetableOptions(3, HEADROOM)
    history = replace(history, start_seconds=history.start_seconds + shift)  # readings don't begin with a minute
    work = planner(fabric, ROOT / "templates")
    try:
        day = timetable(fabric, history, work, options, lambda *_: None, lambda: 0.0)
    except PlanError:
        pytest.fail("the day fits with everything on")
    schedule = day.schedules[-1]
    page = to_json(fabric, day, options, schedule)
    names = {name: k for k, name in names_of(schedule).items()}
    paths = {
        k: channel_of_pairs(
            fabric,
            settings_routes(day.candidates[k].fabric, day.candidates[k].settings)
            or own_routes(fabric, "auto", "fixed"),
        )
        for k in names.values()
    }
    chance, still = np.random.default_rng(seed), np.zeros(len(fabric.hosts), np.bool_)
    lead, worst = lead_seconds(fabric, options), 0.0
    times = [(int(at[:2]) * HOUR + int(at[3:]) * 60, names[name]) for at, name in times_of(day, schedule, options)]
    for n, (begin, after) in enumerate(times):
        before = times[n - 1][1]
        for moment in (begin, begin + lead - 1):
            t = int((moment - shift) % (24 * HOUR) // history.seconds[0])
            own = [busiest(paths[k], paths[k], still, history.rate[t]) for k in (before, after)]
            allowed = max((1 - HEADROOM) * BYTES_PER_SECOND, own[0] if before == 0 else 0, own[1] if after == 0 else 0)
            for _ in range(20):
                moved = chance.random(len(still)) < chance.random()
                load = busiest(paths[before], paths[after], moved, history.rate[t])
                assert load <= allowed * (1 + 1e-5)
                worst = max(worst, load) if before != after else worst
    assert worst <= (page["max_channel_share_in_changes"] * (1 + 1e-5) + 1e-6) * BYTES_PER_SECOND


def rule(history, worst=lambda _one, _other, _t: 0.0):
    return ChangeRule(history, 50.0, 120.0, worst)


def test_a_change_is_late_where_the_former_settings_carry_both_early_where_the_new_do_and_else_by_everything():
    """Settings 1 carry interval 0, 2 interval 1, 3 both: 1 to 2 goes by everything on, to 3 early, from 3 late."""
    history = replace(a_day(RING, 1, 2), seconds=np.full(2, 12 * HOUR))
    load = np.array([[10.0, 40.0], [20.0, 90.0], [90.0, 20.0], [45.0, 45.0]])
    gains = np.ones((4, 4), np.bool_)
    gains[0] = False
    names = list("abcd")
    modes = rule(history).modes(load, gains, names)
    assert modes[1][[1, 1, 3, 0, 1], [2, 3, 2, 2, 0]].tolist() == [VIA, EARLY, LATE, LATE, EARLY]
    gains[1, 3] = False  # nothing comes up: the clock may wait for a low load, which is the new interval's
    assert rule(history).modes(load, gains, names)[1, 1, 3] == VIA
    barred = rule(history)
    barred.barred = {(1, "b", "c", VIA), (1, "d", "c", LATE), (0, "b", "c", VIA), (1, "x", "c", VIA)}
    assert barred.modes(load, gains, names)[1][[1, 3], [2, 2]].tolist() == [NONE, VIA]
    unknown = rule(replace(history, known=np.array([True, False])))
    load[:, 1] = 0.0
    modes = unknown.modes(load, np.ones((4, 4), np.bool_), names)
    assert modes[1][[1, 0], [0, 2]].tolist() == [EARLY, LATE]


def test_a_change_that_overloads_a_channel_half_way_is_not_held_to_be_good():
    history = replace(a_day(RING, 1, 2), seconds=np.full(2, 12 * HOUR))
    load = np.array([[10.0, 40.0], [20.0, 90.0], [90.0, 20.0]])
    modes = np.full((2, 3, 3), VIA)
    day = type("Schedule", (), {"setting": np.array([1, 2])})
    for worst, holds in ((50.0, True), (51.0, False)):
        made = rule(history, lambda _one, other, t, worst=worst: worst if (other, t) == (2, 1) else 0.0)
        changes = made.changes(day, modes)
        assert [(c.t, c.before, c.after, c.worst) for c in changes] == [(0, 2, 1, 0.0), (1, 1, 2, worst)]
        assert [made.holds(c, load) for c in changes] == [True, holds]


@pytest.mark.parametrize("shift", [0.0, 45.0])
def test_settings_that_follow_everything_on_are_weighed_by_the_traffic_of_that_time(shift):
    """Everything is on from 0:48 to 1:01 or 1:02, so they carry the intervals of five minutes up to 1:03."""
    history = a_day(RING, 1, 288)
    history = replace(history, start_seconds=history.start_seconds + shift)
    made = ChangeRule(history, 50.0, 120.0, lambda *_: 0.0, settled=660.0)
    touched = made.touched(Change(10, 1, 2, VIA, 0.0))
    assert [row[:3] for row in touched] == [(1, 0, 9), (0, 2, 10), (0, 2, 11), (0, 2, 12)]
    load = np.full((3, 288), 20.0)
    load[1, 10], load[2, 9] = 90.0, 90.0
    gains = np.ones((3, 3), np.bool_)
    assert made.modes(load, gains, list("abc"))[10, 1, 2] == VIA
    load[2, 12], load[0, 12] = 40.0, 60.0  # everything on is too busy by then, beside settings that are not
    assert made.modes(load, gains, list("abc"))[10, 1, 2] == NONE


@pytest.mark.parametrize(
    ("modes", "times", "dwell"),
    [
        ({32: EARLY, 56: VIA, 88: LATE}, ["07:58", "13:58", "14:11", "22:00"], 780),
        ({32: EARLY, 56: VIA, 57: LATE, 88: LATE}, ["07:58", "13:58", "14:00", "14:15", "22:00"], 120),
        ({0: VIA, 48: LATE}, ["00:11", "12:00", "23:58"], 780),
    ],
)
def test_every_timetable_written_is_accepted_and_explains_its_dwell_time(modes, times, dwell, tmp_path):
    """By everything on, the new settings wait for the dwell time; where the next change is too near, the file says."""
    history = replace(a_day(RING, 1, 96), rate=np.zeros((96, 4, 4), np.float32))
    options = TimetableOptions(3, HEADROOM)
    work = planner(RING, ROOT / "templates")
    day = timetable(RING, a_day(RING, 1, 2), work, options, lambda *_: None, lambda: 0.0)
    other = replace(day.candidates[1], settings=replace(day.candidates[1].settings, remarks=("another",)))
    starts, setting = sorted(modes), np.zeros(96, np.int64)
    for n, t in enumerate(starts):
        setting[t:] = 1 + n % 2
    setting[: starts[0]] = setting[-1]
    changes = [Change(t, int(setting[t - 1]), int(setting[t]), modes[t], 0.0) for t in starts]
    schedule = replace(day.schedules[-1], setting=setting, changes=len(changes))
    day = replace(day, history=history, candidates=(*day.candidates[:2], other), changes=tuple(changes))
    for name, text in files_of(RING, day, options, schedule, "UTC", "t", format_timetable).items():
        (tmp_path / name).write_text(text)
    table = read_timetable(tmp_path / "t.yml")
    assert table.dwell_seconds == dwell
    assert sorted("{1:0>2}:{0:0>2}".format(*rule.when.split()) for rule in table.rules) == times
    said = "# dwell_seconds: --dwell 900 s, less 120 s: links that come up begin that much before their interval"
    assert (tmp_path / "t.yml").read_text().startswith(said + ("" if dwell == 780 else "; of two of these rules"))


def test_settings_that_could_not_carry_an_interval_more_are_left_before_it_by_everything_on():
    """Setting 1 would fill channels to 134 % in interval 1, if the clock were an interval late: no change is made."""
    history = replace(a_day(RING, 1, 2), seconds=np.full(2, 12 * HOUR))
    load = np.array([[10.0, 40.0], [20.0, 134.0], [20.0, 20.0]])
    gains = np.ones((3, 3), np.bool_)
    for most, mode in ((100.0, NONE), (140.0, EARLY)):
        modes = ChangeRule(history, 50.0, 120.0, lambda *_: 0.0, most).modes(load, gains, list("abc"))
        assert modes[1][[1, 2, 0], [2, 1, 2]].tolist() == [mode, LATE, LATE]
