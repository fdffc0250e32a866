"""A rack with changes that must be confirmed, and the end of their watchdog, as of a computer that loses its power."""

import json
import os
import signal
import sqlite3
from contextlib import closing, suppress

from command_line import commands
from tagloom.apply.journal import Journal
from tagloom.apply.lock import alive
from tagloom.operate.watchdog import read_watchdog
from waiting import until

WAITS = "select 1 from confirmations join runs on run = id where runs.state = 'done' and source like '%change'"


class ConfirmedRack:
    """The commands on a rack in `home`, whose directory `change` has the rollout that must be confirmed."""

    def __init__(self, home):
        self.home, self.rack = home, home / "rack"
        self.runs = self.rack / "runs"

    @property
    def journal(self):
        return Journal(self.runs / "journal.db")

    def start(self, *words):
        return commands.Begun([*words, "-i", self.rack, "--json"], self.home)

    def answer(self, *words, expect=0):
        done = commands.run([*words, "-i", self.rack, "--json"], self.home)
        assert done.returncode == expect, (done.returncode, done.stdout, done.stderr)
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout) | {"said": done.stderr}

    def until_it_waits(self, begun):
        """Wait until the change was sent and waits for its confirmation."""

        def row():
            with suppress(sqlite3.Error), closing(sqlite3.connect(f"file:{self.journal.path}?mode=ro", uri=True)) as db:
                return db.execute(WAITS).fetchone()

        until(row, begun)


def end_watchdog(runs):
    """Kill the watchdog of an inventory's runs, which has to be there."""
    dog = until(lambda: read_watchdog(runs))
    os.kill(dog.pid, signal.SIGKILL)
    until(lambda: not alive(dog.pid))
