"""Check that processes that read, write and are killed at any moment lose no run of a journal."""

import random
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest

from tagloom.apply.journal import Journal

OTHER = """
import random, sys
from pathlib import Path
from tagloom.apply.journal import Journal

path, name, chance = Path(sys.argv[1]), sys.argv[2], random.Random(sys.argv[3])
while True:
    if chance.random() < 0.5:
        Journal(path).runs()
    else:
        name += "+"
        with Journal(path) as journal:
            journal.begin(name=name, kind="apply", fabric="f", source="s", command="c", operator="o", waves=1,
                          proven=True, order=path.parent / "order")
        print(name, flush=True)
"""
AT_ONCE = 3


def written(process):
    """Kill a process at whatever it does, and return the runs that it had begun."""
    process.send_signal(signal.SIGKILL)
    lines = process.communicate()[0].split("\n")
    return lines[:-1]  # the last was not told whole


def look_and_write(journal, path, name):
    """Do in this process, which holds the journal open, what its commands do: look by another object, and write."""
    Journal(path).runs()
    journal.begin(
        name=name, kind="apply", fabric="f", source="s", command="c", operator="o", waves=1, proven=True,
        order=path.parent / "order",
    )  # fmt: skip
    return name


@pytest.mark.parametrize(("journals", "rounds"), [(1, 6), pytest.param(40, 25, marks=pytest.mark.long)])
def test_nothing_that_was_written_is_lost(tmp_path, journals, rounds):
    for number in range(journals):
        home = tmp_path / str(number)
        (home / "order").mkdir(parents=True)
        (home / "order/x").write_text("x" * 100)
        live_through(home / "journal.db", rounds, random.Random(number))


def live_through(path, rounds, chance):
    """Let processes look, write and be killed on one journal; fail where a run that was begun is missing then."""
    told = []

    def other(number):
        words = [sys.executable, "-c", OTHER, str(path), f"r{number}", str(chance.random())]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    with Journal(path) as journal:
        told.append(look_and_write(journal, path, "first"))
        others = [other(number) for number in range(AT_ONCE)]
        for number in range(AT_ONCE, rounds + AT_ONCE):
            told.append(look_and_write(journal, path, f"here{number}"))
            told.append(others[0].stdout.readline().strip())  # it has begun: it is killed at any moment from here on
            for _ in range(chance.randrange(20)):
                look_and_write(journal, path, "beside")
            told += written(others.pop(0))
            others.append(other(number))
        for each in others:
            told += written(each)
    assert set(told) <= {run.name for run in Journal(path).runs()}
    assert len(told) >= 2 * rounds
    with closing(sqlite3.connect(path)) as wire:
        assert wire.execute("PRAGMA integrity_check").fetchone() == ("ok",)
