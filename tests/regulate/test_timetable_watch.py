"""What should hold: by the clock, by jobs together, up at once with load, down late, seldom, and only with all seen."""

import pytest

from tagloom.records.timetable import TimetableProgress, Watch
from tagloom.regulate.timetable_watch import changed, decide

OFF = {"all-on": {}, "night": {1, 2, 3}, "day": {1}, "job": {2, 3}}
WATCH = Watch(0.7, 0.3, hold_seconds=600, dwell_seconds=900, changes_a_day=2)


def off(names):
    return frozenset.intersection(*(frozenset(OFF[name]) for name in names))


def look(now, scheduled, standing, load=(0.0, True), asked=()):
    return decide(now, scheduled, asked, load, standing, WATCH, off)


def test_what_is_scheduled_holds_and_what_is_unknown_is_set_at_once():
    first = look(0, "night", TimetableProgress())
    assert (first.settings, first.change) == (("night",), True)
    held = TimetableProgress(("night",), changed_at=0)
    assert not look(10, "night", held).change


def test_links_come_up_at_once_and_go_off_only_after_the_dwell():
    held = TimetableProgress(("night",), changed_at=0)
    assert look(10, "day", held).change
    day = changed(10, ("day",), held, lowered=False)
    assert not look(900, "night", day).change
    assert look(911, "night", day).change


def test_load_raises_at_once_and_lets_go_after_the_hold_below_the_lower_share():
    held = TimetableProgress(("night",), changed_at=0)
    up = look(10, "night", held, (0.7, True))
    assert (up.settings, up.change) == (("all-on",), True)
    raised = changed(10, up.settings, up.standing, lowered=False)
    between = look(2000, "night", raised, (0.5, True))
    assert (between.settings, between.standing.busy_at) == (("all-on",), 2000)
    blind = look(2100, "night", between.standing, (None, False))
    assert (blind.settings, blind.standing.busy_at) == (("all-on",), 2100)
    assert look(2699, "night", blind.standing, (0.1, True)).settings == ("all-on",)
    down = look(2700, "night", blind.standing, (0.1, True))
    assert (down.settings, down.change, down.standing.raised) == (("night",), True, False)


@pytest.mark.parametrize(("load", "change"), [((0.29, True), True), ((0.3, True), False), ((0.1, False), False)])
def test_links_go_off_only_while_all_load_is_seen_and_low(load, change):
    assert look(1000, "night", TimetableProgress(("all-on",)), load).change is change
    assert look(1000, "all-on", TimetableProgress(("night",)), load).change  # up needs no reading


def test_links_go_off_only_so_often_a_day():
    standing = TimetableProgress(("all-on",))
    for at in (1000, 2000):
        standing = changed(at, ("night",), standing, lowered=True)
        standing = changed(at + 1, ("all-on",), standing, lowered=False)
    assert not look(5000, "night", standing).change
    assert look(1001 + 86_400, "night", standing).change


def test_jobs_get_the_links_of_all_of_them_and_of_the_timetable():
    both = look(10, "night", TimetableProgress(("night",)), asked={"day", "job"})
    assert (both.settings, both.change, off(both.settings)) == (("day", "job", "night"), True, frozenset())
    assert look(10, "night", TimetableProgress(("night",)), asked={"all-on", "job"}).settings == ("all-on",)
