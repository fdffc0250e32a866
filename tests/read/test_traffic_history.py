"""A day of traffic is read whole, in order, by the clock on the wall, and everything wrong with it is said at once."""

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.read.history import read_history


@pytest.fixture
def ring():
    return make_fabric("ring", 3)


def matrix(path, start, seconds, *rows):
    path.write_text(f"# seconds: {seconds}\n# start: {start}\nsource,destination,bytes\n" + "\n".join(rows) + "\n")
    return path


def findings(paths, fabric, timezone="UTC"):
    with pytest.raises(InputError) as caught:
        read_history(paths, fabric, timezone)
    return [(each.where.rpartition("/")[2], each.expected, each.actual) for each in caught.value.findings]


def test_files_become_intervals_in_order_and_what_is_missing_is_said(ring, tmp_path):
    matrix(tmp_path / "b.csv", "2026-11-20T09:00", 3600, "h0,h1,7200", "h1,h1,5")
    matrix(tmp_path / "a.csv", "2026-11-20T07:30", 3600, "h2,h1,3600")
    matrix(tmp_path / "c.csv", "2026-11-20T12:00+01:00", 3600, "h0,h2,3600")
    found = read_history([tmp_path], ring, "UTC")
    assert found.start_seconds.tolist() == [27000, 30600, 32400, 36000, 39600, 43200]
    assert found.seconds.tolist() == [3600, 1800, 3600, 3600, 3600, 24 * 3600 - 16200]
    assert [row.sum() for row in found.rate] == [1, 3, 2, 3, 1, 0]  # half an hour missing is as busy as both its sides
    assert found.known.tolist() == [True, True, True, True, True, False]
    assert found.seconds.sum() == 86_400
    assert found.remarks == (
        "a matrix does not say when in its time bytes were sent",
        "1 message stays on its host, to oneself or to a neighbour, 5 bytes: no link",
        "90 minutes missing between intervals count as busy as those around them",
        "19.5 hours of the day were not measured: everything is on then",
    )


def test_one_file_with_a_time_column_is_the_same_day(ring, tmp_path):
    rows = ["1763625600,h0,h1,3000", "2025-11-20T09:05+01:00,h0,h1,600", "1763626200,h2,h1,300"]
    (tmp_path / "day.csv").write_text("time,source,destination,bytes\n" + "\n".join(rows) + "\n")
    found = read_history([tmp_path / "day.csv"], ring, "Europe/Berlin")
    assert found.start_seconds[:3].tolist() == [9 * 3600, 9 * 3600 + 300, 9 * 3600 + 600]
    assert found.seconds[:3].tolist() == [300] * 3
    assert found.rate[:3, 0, 1].tolist() == [10, 2, 0]
    assert np.isclose(found.rate[2, 2, 1], 1)


def test_everything_wrong_is_said_at_once(ring, tmp_path):
    matrix(tmp_path / "a.csv", "soon", 60, "h0,h9,1", "h0,h1,-5")
    (tmp_path / "b.csv").write_text("source,destination,bytes\nh0,h1,5\n")
    (tmp_path / "c.csv").write_text("time,source,destination,bytes\nnoon,h0,hx,1e99\n")
    assert findings([tmp_path], ring) == [
        ("a.csv:2  start", "YYYY-MM-DDTHH:MM, HH:MM or seconds since the epoch", "'soon'"),
        ("a.csv:4", "a host of the fabric", "'h9'"),
        ("a.csv:5  bytes", "a number from 0 to 1e+18", "'-5'"),
        ("b.csv", "one line '# start: TIME'", "0 of them"),
        ("b.csv", "a line '# seconds: N'", "none"),
        ("c.csv:2", "YYYY-MM-DDTHH:MM, HH:MM or seconds since the epoch", "'noon'"),
        ("c.csv:2", "a host of the fabric", "'hx'"),
        ("c.csv:2  bytes", "a number from 0 to 1e+18", "'1e99'"),
        ("c.csv", "a line '# seconds: N', or two times and more", "0 times"),
    ]


def test_overlaps_more_than_a_day_and_silence_are_findings(ring, tmp_path):
    a = matrix(tmp_path / "a.csv", "2026-11-20T08:00", 3600, "h0,h1,0")
    b = matrix(tmp_path / "b.csv", "2026-11-20T08:30", 3600, "h0,h1,0")
    c = matrix(tmp_path / "c.csv", "2026-11-21T08:00", 3600, "h0,h1,0")
    assert [(where, actual) for where, _, actual in findings([a, b, c], ring)] == [
        ("b.csv", "2026-11-20 08:30:00: they overlap"),
        ("history", "25.0 hours"),
        ("history", "none: nothing to choose by"),
    ]
    (tmp_path / "empty").mkdir()
    assert findings([tmp_path / "empty"], ring)[0][2] == "none"
    assert findings([a], ring, "Mars/Olympus")[0][2] == "'Mars/Olympus'"
