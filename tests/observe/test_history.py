"""Readings are kept exactly, counters beyond 2^63 too; another program's file is left alone."""

import sqlite3

import pytest

from tagloom.adapters.history import History
from tagloom.errors import InputError
from tagloom.records.observation import Counters, Neighbour, Observation, Vlans
from tagloom.records.switch_state import Membership

SEEN = {
    "s0": Observation(
        "s0",
        1_700_000_000.123456,
        name="s0",
        description="Neyland 24T",
        uptime_seconds=12.34,
        complaints=("ifHighSpeed: missing",),
        ports=(
            Counters(1, "g1", True, False, 10**9, 3.5, 2**64 - 1, 0, 1, 2, 3, 4),
            Counters(2, "g2", bits=32),
        ),
        neighbours=(Neighbour(1, "mac 02:10:00:00:00:01", "g1", "s1"),),
        vlans=Vlans({100: {1: Membership.TAGGED}}, {1: 100}, {(100, 2): (1,)}),
    ),
    "s1": Observation("s1", 1_700_000_000.5, error="no answer in 1 s, 3 times: no agent there"),
}


def test_a_snapshot_comes_back_as_rates_need_it(tmp_path):
    history = History(tmp_path / "h.db")
    assert history.last("ring") == {}
    assert history.append("ring", 1_700_000_001.25, SEEN) == 1
    history.close()
    again = History(tmp_path / "h.db")
    back = again.last("ring")
    assert back["s0"].ports == SEEN["s0"].ports
    assert (back["s0"].at, back["s0"].uptime_seconds) == (1_700_000_000.123456, 12.34)
    assert back["s1"].error == SEEN["s1"].error
    assert again.last("another") == {}
    assert again.append("ring", 1_700_000_002.0, {}) == 2
    assert again.last("ring") == {}
    again.close()


def test_the_file_is_plain_sqlite_with_exact_numbers(tmp_path):
    history = History(tmp_path / "h.db")
    history.append("ring", 1_700_000_001.25, SEEN)
    history.close()
    with sqlite3.connect(tmp_path / "h.db") as plain:
        assert plain.execute("SELECT in_octets FROM port WHERE number = 1").fetchone() == (str(2**64 - 1),)
        assert plain.execute("SELECT at, fabric FROM snapshot").fetchone() == (1_700_000_001.25, "ring")
        assert plain.execute("SELECT vlans, pvid, entries FROM reading WHERE switch = 's0'").fetchone() == (
            '{"100": {"1": 2}}',
            '{"1": 100}',
            "[[100, 2, [1]]]",
        )
        assert plain.execute("PRAGMA user_version").fetchone() == (1,)


def test_another_programs_file_is_a_finding_and_left_as_it_is(tmp_path):
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE mine (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="another program's file"):
        History(path)
    assert path.read_bytes() == before
    (tmp_path / "text").write_text("this is no database, though it is long enough to be looked at " * 20)
    with pytest.raises(InputError, match="a history of tagloom's"):
        History(tmp_path / "text")
    with pytest.raises(InputError, match="No such file"):
        History(tmp_path / "no" / "such" / "folder")


def test_a_history_of_another_version_is_a_finding(tmp_path):
    path = tmp_path / "h.db"
    History(path).close()
    with sqlite3.connect(path) as later:
        later.execute("PRAGMA user_version = 2")
    with pytest.raises(InputError, match="expected a history of tagloom's of version 1, actual version 2"):
        History(path)
