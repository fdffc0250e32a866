"""Rules in cron words say what holds at any time, through both changes of clocks, and are checked whole."""

from datetime import datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.read.calendar import due, upcoming
from tagloom.read.timetable_file import format_timetable, read_timetable
from tagloom.records.reweave import ReweaveLimits
from tagloom.records.timetable import Rule, Timetable
from tagloom.regulate.settings_file import read_settings

BERLIN = ZoneInfo("Europe/Berlin")


def at(*when, fold=0):
    return datetime(*when, tzinfo=BERLIN, fold=fold).timestamp()


@pytest.fixture
def table(tmp_path):
    """Give a table of rules of Berlin; every settings file is there."""

    def table(*rules):
        for _, name in rules:
            (tmp_path / name).touch()
        rows = "\n".join(f'- {{when: "{when}", settings: {name}}}' for when, name in rules)
        (tmp_path / "t.yml").write_text(rows + "\n")
        return read_timetable(tmp_path / "t.yml", "Europe/Berlin")

    return table


def test_nights_and_week_ends(table):
    week = table(("0 20 * * 1-5", "night.json"), ("0 7 * * 1-5", "all-on"))
    assert due(week, at(2026, 11, 20, 19, 59, 59)) == "all-on"
    assert due(week, at(2026, 11, 20, 20)) == "night.json"  # a Friday
    assert due(week, at(2026, 11, 22, 12)) == "night.json"
    assert due(week, at(2026, 11, 23, 7)) == "all-on"
    assert upcoming(week, at(2026, 11, 20, 20), 3) == [
        (at(2026, 11, 23, 7), "all-on"),
        (at(2026, 11, 23, 20), "night.json"),
    ]


@pytest.mark.parametrize("when", [(2026, 3, 29, 3), (2026, 3, 29, 3, 30), (2026, 3, 29, 12)])
def test_what_is_due_in_the_hour_left_out_is_due_when_clocks_are_put_on(table, when):
    spring = table(("30 2 * * *", "night.json"), ("0 20 * * *", "all-on"))
    assert due(spring, at(2026, 3, 29, 1, 59)) == "all-on"
    assert due(spring, at(*when)) == "night.json"


def test_what_is_due_in_the_hour_that_comes_twice_is_due_once(table):
    autumn = table(("30 2 * * *", "night.json"), ("45 2 * * *", "all-on"))
    times = upcoming(autumn, at(2026, 10, 25, 1), 0.25)
    assert [name for _, name in times] == ["night.json", "all-on"]
    assert due(autumn, at(2026, 10, 25, 2, 40, fold=1)) == "all-on"


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"])
def test_what_begins_next_never_began_before_also_in_the_hour_that_comes_twice(zone):
    rules = (Rule("15 1-3 * * *", "a"), Rule("30 2 * * *", "b"), Rule("50 1 * * *", "all-on"))
    table = Timetable(rules, zone)
    for day in ((2026, 10, 25), (2026, 11, 1), (2027, 4, 4)):
        begin = datetime(*day, tzinfo=ZoneInfo(zone)).timestamp()
        listed = upcoming(table, begin, 1)
        for now in range(int(begin), int(begin) + 6 * 3600, 600):
            rest = upcoming(table, now, (begin + 86_400 - now) / 86_400)
            assert rest == [each for each in listed if each[0] > now]


def test_at_any_time_what_holds_is_what_began_last(table):
    rules = table(("*/45 6-9 * * *", "a.json"), ("20 8 * * 2", "b.json"), ("30 22 1 * *", "all-on"))
    begin = at(2026, 10, 23, 0)
    rows = upcoming(rules, begin, 10)
    for (one, name), (other, _) in pairwise(rows):
        assert due(rules, one) == due(rules, (one + other) / 2) == due(rules, other - 1) == name


def test_everything_wrong_is_said_at_once(tmp_path):
    (tmp_path / "night.json").touch()
    page = """timezone: UTC
dwell_seconds: -1
color: blue
rules:
- {when: "61 20 * * *", settings: night.json}
- {when: "0 20 * * *", settings: none.json}
- {when: "0 20 * * *"}
- {when: "5 20 * * *", settings: night.json}
"""
    (tmp_path / "t.yml").write_text(page)
    with pytest.raises(InputError) as caught:
        read_timetable(tmp_path / "t.yml")
    assert [each.where.rpartition("t.yml: ")[2] for each in caught.value.findings] == [
        "color",
        "dwell_seconds",
        "none.json and night.json",
        "rules[0].when",
        "rules[1].settings",
        "rules[2]",
    ]


@pytest.mark.parametrize("text", ["", "[]", "{}", "rules: 5", "- 5", "{"])
def test_what_is_no_timetable_is_said(tmp_path, text):
    (tmp_path / "t.yml").write_text(text)
    with pytest.raises(InputError):
        read_timetable(tmp_path / "t.yml")


def test_rules_that_begin_all_the_time_or_at_once_are_refused(tmp_path):
    (tmp_path / "a.json").touch()
    for when in ("* * * * *", "0 7 * * *"):
        (tmp_path / "t.yml").write_text(
            f'- {{when: "{when}", settings: a.json}}\n- {{when: "0 7 * * *", settings: all-on}}\n'
        )
        with pytest.raises(InputError) as caught:
            read_timetable(tmp_path / "t.yml")
        assert len(caught.value.findings) == 1


def test_a_name_that_no_file_can_have_is_a_finding(tmp_path):
    path = tmp_path / "t.yml"
    path.write_text(f"- {{when: '0 8 * * *', settings: {'a' * 5000}}}\n")
    with pytest.raises(InputError) as raised:
        read_timetable(path)
    (found,) = raised.value.findings
    assert found.expected == "a settings file, or all-on"
    assert len(str(found)) < 500


@pytest.mark.parametrize(("said", "repair"), [("", "propose"), ("repair: auto\n", "auto"), ("repair: off\n", "off")])
def test_what_becomes_of_what_dies_stands_in_the_timetable(tmp_path, said, repair):
    path = tmp_path / "t.yml"
    path.write_text(f'{said}rules: [{{when: "0 0 * * *", settings: all-on}}]\n')
    assert read_timetable(path).repair == repair
    path.write_text(path.read_text() + "repair_hold_seconds: -1\n" + ("" if said else "repair: always\n"))
    with pytest.raises(InputError) as caught:
        read_timetable(path)
    wrong = [str(each.where).rpartition(" ")[2] for each in caught.value.findings]
    assert wrong == (["repair_hold_seconds"] if said else ["repair", "repair_hold_seconds"])


def test_whether_paths_follow_the_traffic_stands_in_the_timetable(tmp_path):
    path = tmp_path / "t.yml"
    rules = 'rules: [{when: "0 0 * * *", settings: all-on}]\n'
    path.write_text(rules)
    assert (read_timetable(path).reweave, read_timetable(path).reweave_limits) == ("off", ReweaveLimits())
    path.write_text(f"{rules}reweave: propose\nreweave_seconds: 1800\nreweave_gain: 1\n")
    assert read_timetable(path).reweave_limits == ReweaveLimits(1800, 2, 1, 6)
    path.write_text(
        f"{rules}reweave: always\nreweave_seconds: 30\nreweave_intervals: 1.5\nreweave_gain: 20 %\n"
        "reweave_changes_a_day: true\n"
    )
    with pytest.raises(InputError) as caught:
        read_timetable(path)
    assert [str(each).partition(": ")[2] for each in caught.value.findings] == [
        "reweave: expected one of auto, propose, off, actual 'always'",
        "reweave_changes_a_day: expected a whole number from 0 to 1000, actual True",
        "reweave_gain: expected a number from 0.01 to 1, actual '20 %'",
        "reweave_intervals: expected a whole number from 1 to 100, actual 1.5",
        "reweave_seconds: expected a number from 60 to 86400, actual 30",
    ]


@pytest.mark.parametrize(("said", "backup"), [("", "off"), ("backup: daily\n", "daily"), ("backup: off\n", "off")])
def test_how_often_configurations_are_kept_stands_in_the_timetable(tmp_path, said, backup):
    path = tmp_path / "day.yml"
    path.write_text('rules: [{when: "0 7 * * *", settings: all-on}]\n' + said)
    assert read_timetable(path).backup == backup
    path.write_text('rules: [{when: "0 7 * * *", settings: all-on}]\nbackup: [hourly]\n')
    with pytest.raises(InputError) as wrong:
        read_timetable(path)
    assert [each.expected for each in wrong.value.findings] == ["one of daily, off"]


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"repair": "off", "repair_hold_seconds": 60.0, "backup": "daily", "protect": "link"},
        {"traps": ("::1", 162)},
        {"reweave": "auto", "reweave_limits": ReweaveLimits(600.0, 3, 0.5, 0)},
    ],
)
def test_a_timetable_that_is_written_reads_back(tmp_path, more):
    (tmp_path / "night.json").touch()
    rules = Rule("0 20 * * 1-5", "night.json"), Rule("0 6 * * *", "all-on")
    table = Timetable(rules, "Europe/Berlin", 600.0, 4, {"night.json": tmp_path / "night.json"}, **more)
    (tmp_path / "t.yml").write_text(format_timetable(table))
    assert read_timetable(tmp_path / "t.yml") == table


def test_of_two_rules_in_the_hour_left_out_the_later_one_on_the_wall_holds(table):
    spring = table(("30 2 * * *", "all-on"), ("10 2 * * *", "night.json"))  # in the file in the other order
    begin = at(2027, 3, 28, 3)
    assert upcoming(spring, at(2027, 3, 28, 1), 0.25) == [(begin, "night.json"), (begin, "all-on")]
    assert due(spring, begin) == "all-on"
    both = table(("0 3 * * *", "all-on"), ("40 2 * * *", "night.json"), ("0 2 27 * *", "all-on"))
    assert due(both, begin) == "all-on"  # 3:00 is on the clock that day


def listed(tmp_path, *rows, fabric=None):
    path = tmp_path / "t.yml"
    path.write_text("".join(f"- {row}\n" for row in rows))
    return read_timetable(path, fabric=fabric)


def test_rules_list_links_that_are_off_without_any_settings_file(tmp_path):
    fabric = make_fabric("torus", 4, 4, parallel=2, model="powerconnect-5324")
    rows = ('{when: "0 20 * * 1-5", off: [s0:g2, "s3:1/g4", s1:g4]}', '{when: "0 7 * * 1-5", off: []}')
    with pytest.raises(InputError) as caught:  # a 5324 spells its ports g1 to g24
        listed(tmp_path, *rows, fabric=fabric)
    assert [each.where.rpartition(": ")[2] for each in caught.value.findings] == ["rules[0].off[1]"]
    table = listed(tmp_path, rows[0].replace("1/g4", "g4"), rows[1], fabric=fabric)
    night = "off s0:g2, s3:g4, s1:g4"
    assert [rule.settings for rule in table.rules] == [night, "all-on"]
    assert (table.files, table.names) == ({}, (night,))
    smaller, regulated = read_settings(fabric, table, night)
    assert sum(not link.up for link in smaller.links) == 2  # both ends of one link name it once
    assert regulated.routes is None
    (tmp_path / "t.yml").write_text(format_timetable(table))
    assert read_timetable(tmp_path / "t.yml", fabric=fabric) == table


def test_everything_wrong_with_lists_of_links_is_said_at_once(tmp_path):
    fabric = make_fabric("ring", 3, parallel=2, model="powerconnect-5324")
    rows = (
        '{when: "0 20 * * 1-8", off: [s0:g1, s9:g1, s0:g99, s0, s0:g9]}',
        '{when: "0 7 * * *", off: [s0:g1, s0:g2, s0:g3, s0:g4]}',
        '{when: "0 8 * * *", off: s0:g1}',
        '{when: "0 9 * * *", off: [7]}',
        '{when: "0 10 * * *", off: [], settings: all-on}',
        '{when: "0 7 * * *", off: [s0:g1]}',
    )
    with pytest.raises(InputError) as caught:
        listed(tmp_path, *rows, fabric=fabric)
    found = {each.where.partition("t.yml: ")[2]: each for each in caught.value.findings}
    assert set(found) == {
        "off s0:g1, s0:g2, s0:g3, s0:g4 and off s0:g1",
        *(f"rules[0].off[{n}]" for n in (1, 2, 3, 4)),
        *("rules[0].when", "rules[1].off", "rules[2].off", "rules[3].off", "rules[4]"),
    }
    assert found["rules[1].off"].actual == "no way to s1, s2"
    assert found["off s0:g1, s0:g2, s0:g3, s0:g4 and off s0:g1"].actual == "both on Mon at 07:00"
    assert "(of s0: s0:g" in found["rules[0].off[2]"].expected
