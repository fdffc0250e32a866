"""Maintenance windows: when changes may begin, by a calendar that has summer and winter."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagloom.errors import InputError, PlanError
from tagloom.read.windows import read_windows

TEXT = 'timezone: Europe/Berlin\nwindows:\n- {when: "0 2 * * 6", hours: 4.0}\n- {when: "30 22 1 * *", hours: 1.5}\n'


@pytest.fixture(scope="module")
def windows(tmp_path_factory):
    home = tmp_path_factory.mktemp("windows")
    (home / "windows.yml").write_text(TEXT)
    return read_windows(home)


def at(*when):
    return datetime(*when, tzinfo=UTC).timestamp()


def test_without_a_file_every_time_is_allowed(tmp_path):
    assert read_windows(tmp_path).is_open(0.0)
    assert read_windows(tmp_path).next_begin(0.0) is None


def test_a_window_is_open_from_its_beginning_for_its_hours(windows):
    saturday = at(2026, 11, 21, 1, 0)  # 02:00 in Berlin
    seen = [windows.is_open(saturday + seconds) for seconds in (-1, 0, 1, 4 * 3600 - 1, 4 * 3600 + 1)]
    assert seen == [False, True, True, True, False]
    assert windows.is_open(at(2026, 12, 1, 22, 59))
    assert not windows.is_open(at(2026, 12, 1, 23, 1))


def test_outside_it_is_refused_with_the_time_of_the_next(windows):
    with pytest.raises(PlanError) as raised:
        windows.refuse_outside(at(2026, 11, 20, 12, 0))
    assert raised.value.witness == "it is 2026-11-20 13:00 CET"
    assert "2026-11-21 02:00 CET" in raised.value.next_step
    assert raised.value.advice == ("--outside-window",)


def test_a_window_in_the_hour_that_comes_twice_is_open_once_for_its_hours(tmp_path):
    text = 'timezone: Europe/Berlin\nwindows:\n- {when: "30 2 * * *", hours: 1.0}\n- {when: "40 2 * * 1", hours: 0.5}\n'
    (tmp_path / "windows.yml").write_text(text)
    windows = read_windows(tmp_path)
    first = at(2026, 10, 25, 0, 30)  # 02:30 in summer; 02:30 in winter is an hour later
    opened = [windows.is_open(first + minutes * 60) for minutes in (-1, 0, 59, 61, 90, 119, 121)]
    assert opened == [False, True, True, False, False, False, False]
    assert windows.next_begin(first + 45 * 60).timestamp() == at(2026, 10, 26, 1, 30)


@given(st.integers(int(at(2026, 1, 1)), int(at(2028, 1, 1))))
def test_the_next_window_is_open_when_it_begins_and_shut_a_moment_before_unless_another_is_open(windows, now):
    begin = windows.next_begin(now)
    assert windows.is_open(begin.timestamp())
    before = (begin - timedelta(seconds=1)).timestamp()
    assert not windows.is_open(before) or windows.is_open(before - 1)


@pytest.mark.parametrize(
    ("text", "wheres"),
    [
        ("windows: []\n", ["windows"]),
        (
            'windows:\n- {when: "0 25 * * *", hours: 1.0}\n- {when: x, hours: 2.0}\n',
            ["windows[0].when", "windows[1].when"],
        ),
        ('windows:\n- {when: "0 2 * * *", hours: 1000.0}\n', ["windows.0.hours"]),
        (
            'windows:\n- {when: "0 2 * * *", hours: 1.0, hours: 9.0}\nwindows: []\n',
            ["2  windows[0].hours", "3  windows"],
        ),
        ('timezone: Nowhere\nwindows:\n- {when: "0 2 * * *", hours: 1.0}\n', ["timezone"]),
    ],
)
def test_what_is_wrong_is_told_at_once(tmp_path, text, wheres):
    (tmp_path / "windows.yml").write_text(text)
    with pytest.raises(InputError) as raised:
        read_windows(tmp_path)
    found = [finding.where for finding in raised.value.findings]
    assert len(found) == len(wheres)
    assert all(where.replace(".", "") in place.replace(".", "") for where, place in zip(wheres, found, strict=True))
