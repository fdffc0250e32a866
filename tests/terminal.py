"""Run tagloom's commands as an operator does: separate processes in a directory of their own."""

import json
import os
import subprocess
import sys

# Put before a command that a test interrupts: SIGINT is ignored where the tests themselves run in the background.
HEARS_INTERRUPTS = ("env", "--default-signal=INT")


class Terminal:
    """Run commands in a directory of their own, as separate processes."""

    def __init__(self, home):
        self.home = home

    def __call__(self, *words, expect=0):
        done = subprocess.run(
            [sys.executable, "-m", "tagloom.cli", *map(str, words)],
            capture_output=True, text=True, cwd=self.home, check=False, env=os.environ | {"NO_COLOR": "1"},
        )  # fmt: skip
        assert done.returncode == expect, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout

    def answer(self, *words, expect=0):
        return json.loads(self(*words, "--json", expect=expect))

    @property
    def rack(self):
        return self.home / "inventory" / "lab"
