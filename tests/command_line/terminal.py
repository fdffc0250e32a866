"""Run tagloom's commands as an operator does: separate processes in a directory of their own."""

import json
import os
import shutil
from contextlib import contextmanager
from dataclasses import asdict

from command_line import commands
from command_line.aftermath import remove_runs
from tagloom import platforms
from tagloom.adapters.connect import connect
from tagloom.adapters.ssh import Access
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.read.fabric_file import read_fabric

# Put before a command that a test interrupts: SIGINT is ignored where the tests themselves run in the background.
HEARS_INTERRUPTS = ("env", "--default-signal=INT")


def without_waits(rollout):
    """Let waves follow one another at once: a frame of the rack is never old, and its spanning tree settles at once."""
    path = rollout / "rollout.json"
    page = json.loads(path.read_text())
    for wave in page["waves"]:
        wave["drain_seconds"] = 0.0
    path.write_text(json.dumps(page))


class Terminal:
    """Run commands in a directory of their own, as separate processes."""

    def __init__(self, home):
        self.home = home

    def __call__(self, *words, expect=0):
        done = commands.run(words, self.home, os.environ | {"NO_COLOR": "1"})
        assert expect in {None, done.returncode}, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def answer(self, *words, expect=0):
        return json.loads(self(*words, "--json", expect=expect))

    @property
    def rack(self):
        return self.home / "inventory" / "lab"

    @property
    def runs(self):
        return self.rack / "runs"

    @contextmanager
    def lab(self, fabric, *before):
        """Let the rack of a fabric run, as it is after some commands: what `fresh` goes back to."""
        self("lab", "up", fabric)
        for words in before:
            self(*words)
        process.keep(self.rack)
        if self.runs.exists():
            shutil.copytree(self.runs, self.home / "runs-kept")
        try:
            yield self
        finally:
            self("lab", "down")

    @contextmanager
    def double_ring(self, switches):
        """Let a ring with two links between neighbours run a build, b; plan one with half of them off, night.

        Neither has detours, so a repair replans.
        """
        self("new", "ring", "--dims", switches, "--parallel", 2, "-o", "f.yml")
        self("plan", "f.yml", "-o", "b", "--protect", "none")
        off = [f"s{n}:g2" for n in range(switches)]
        self("plan", "f.yml", "--off", *off, "--previous", "b", "-o", "night", "--protect", "none")
        with self.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
            yield self

    def fresh(self):
        """Return the rack to what it was kept as, with the runs of then, no quirks and nothing dead."""
        process.mend(self.rack)
        process.quirks(self.rack, {"*": asdict(Quirks())})
        remove_runs(self.rack)
        process.restore(self.rack)
        if (self.home / "runs-kept").exists():
            shutil.copytree(self.home / "runs-kept", self.runs)
        return self

    def type(self, switch, *lines):
        """Type lines at a switch as its operator does."""
        info, fabric = process.read_info(self.rack), read_fabric(self.rack / "fabric.yml")
        access = Access(
            "127.0.0.1", info.ports[switch], "lab", "lab", known_hosts=str(self.rack / "known_hosts"), fast_cli=True
        )
        with connect(switch, platforms.of(fabric.switches[fabric.index[switch]]), access) as connection:
            connection.send(lines)
            connection.save("")
