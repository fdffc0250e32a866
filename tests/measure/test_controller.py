"""The controller: both ends started over real SSH, by keys."""

import json
import sqlite3
import sys

import pytest

from tagloom.cli import main
from tagloom.measure.ends import over_ssh

pytestmark = pytest.mark.needs("ssh")
PEER = f"{sys.executable} -m tagloom.cli"


def test_both_ends_are_started_over_ssh_and_their_clocks_checked(key_login, capsys, tmp_path):
    words = ["measure", "pingpong", "--hosts", "127.0.0.1", "127.0.0.1", "--ssh", key_login.ssh(), "--remote", PEER]
    store = tmp_path / "k.db"
    status = main([*words, "--max-bytes", "16", "--target", "0.002", "--trials", "2", "--keep", str(store), "--json"])
    page = json.loads(capsys.readouterr().out)
    assert (status, page["complete"]) == (0, True)
    assert [p["bytes"] for p in page["points"]] == [1, 2, 3, 4, 6, 8, 12, 13, 16, 19]
    assert page["clock"]["uncertainty_seconds"] < 1
    with sqlite3.connect(store) as kept:
        assert kept.execute("SELECT count(*) FROM measurement").fetchone() == (20,)
    assert ["--serve" in c for c in key_login.commands] == [True, False]
    assert not any("assword" in c for c in key_login.commands)


def test_a_host_that_does_not_let_us_in_is_a_device_that_failed(key_login, capsys):
    (key_login.folder / "key").unlink()
    words = ["measure", "pingpong", "--hosts", "127.0.0.1", "127.0.0.1", "--ssh", key_login.ssh(), "--remote", PEER]
    status = main([*words, "--json"])
    assert status == 3
    assert "denied" in json.loads(capsys.readouterr().out)["error"]["text"].lower()


def test_nobody_is_asked_for_a_password():
    assert "BatchMode=yes" in over_ssh("n1", ["true"])
