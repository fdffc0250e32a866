"""A time that is named is one that calendars and timers have, and one that is shown has its date where it needs one."""

import time

import pytest

from tagloom.report.status import confirmation_words
from tagloom.units import clock_time

COMMANDS = {
    "--confirm": ("apply", "b"),
    "--every": ("run", "day.yml"),
    "--repair-every": ("run", "day.yml"),
    "--hold": ("repair",),
}
DAY = 86400.0


@pytest.mark.parametrize("option", COMMANDS)
@pytest.mark.parametrize("long", ["999999999h", "8785h", "1e300"])
def test_a_time_of_more_than_a_year_is_a_finding(option, long, answer, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, page = answer(*COMMANDS[option], option, long)
    (finding,) = (each for each in page["findings"] if each["where"] == option)
    assert (status, finding["expected"]) == (2, "a time such as 30s, 5m or 1h, of a year at most")
    _, page = answer(*COMMANDS[option], option, "8784h")
    assert option not in [each["where"] for each in page["findings"]]


def test_a_time_of_another_day_has_its_date():
    noon = time.mktime((2026, 11, 22, 12, 0, 0, 0, 0, 0))
    assert clock_time(noon, noon - 3 * 3600) == "12:00:00"
    assert clock_time(noon, noon - DAY) == clock_time(noon, noon + DAY) == "2026-11-22 12:00:00"
    armed = {"run": "r1", "source": "b", "seconds": DAY, "state": "waiting", "by": ""}
    armed["until"] = "2026-11-22T12:00:00+00:00"
    words = confirmation_words(armed, noon - 3 * DAY)
    assert "taken back at 2026-11-22 " in words
