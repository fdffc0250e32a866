"""A push shows how far it is, on a terminal as in a log, up to its end."""

import os
import pty
import re
import subprocess
import sys
import threading

import pytest

from command_line import commands
from command_line.terminal import Terminal
from tagloom.cli import screen
from tagloom.lab import process

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a ring of three and another way through it, and start its rack."""
    terminal = Terminal(tmp_path_factory.mktemp("progress"))
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("plan", "f.yml", "-o", "other", "--off", "s0:g1", "--previous", "b")
    with terminal.lab("f.yml"):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal with a rack that runs the build."""
    running.fresh()("apply", "b", "--allow", "interrupt")
    return running


def always_speaking():
    screen.REMARK_SECONDS = -1.0


def logged(terminal, *words, expect=0):
    """Return the last line of each progress that a command writes into a log."""
    done = commands.run(words, terminal.home, first=always_speaking)
    assert done.returncode == expect, done.stderr
    said = re.findall(r"^([a-z ]+): (\d+ of \d+.*)$", done.stderr, re.MULTILINE)
    return dict(said)


def drawn(terminal, *words, expect=0):
    """Return the last state of each bar that a command draws on a terminal."""
    master, slave = pty.openpty()
    pieces = []

    def read():
        try:
            while piece := os.read(master, 65536):
                pieces.append(piece)
        except OSError:  # the other side is closed
            pass

    reader = threading.Thread(target=read)
    reader.start()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "120"}
    command = [sys.executable, "-m", "tagloom.cli", *words]
    nowhere = subprocess.DEVNULL
    done = subprocess.run(
        command, cwd=terminal.home, stdin=nowhere, stdout=nowhere, stderr=slave, env=environment, check=False
    )
    os.close(slave)
    reader.join()
    os.close(master)
    assert done.returncode == expect, b"".join(pieces).decode()
    said = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", b"".join(pieces).decode())
    return {what.strip(): tuple(map(int, at)) for what, *at in re.findall(r"([a-z][a-z ]+?) +\S* *(\d+)/(\d+)", said)}


@pytest.mark.daily
def test_bars_and_logs_of_a_change_reach_their_ends(terminal):
    assert logged(terminal, "apply", "other")["pushes"] in {"9 of 9", "8 of 8", "7 of 7", "6 of 6"}
    ends = drawn(terminal, "rollback")
    assert {what: done == of > 0 for what, (done, of) in ends.items()} == {"pushes": True}
    ends = drawn(terminal, "apply", "b", "--check")
    assert {what: done == of > 0 for what, (done, of) in ends.items()} == {"switches read": True}


def test_a_push_that_failed_ended_early(terminal):
    process.quirks(terminal.rack, {"s1": {"drop_after": 20}})
    assert logged(terminal, "apply", "other", expect=3)["pushes"].endswith(", ended early")
