"""What tests start ends: a command that hangs shows where, and fails its test."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from command_line.loaded import Started

PATIENCE_SECONDS = 5  # until it hangs, on a busy machine

# What a fork of a process whose standard output is a file does where its own is a pipe.
WRITES_TO_A_PIPE = """
import os, sys
from command_line import loaded
ours, theirs = os.pipe()
os.dup2(theirs, 1)
loaded.open_streams()
sys.stdout.reconfigure(errors="backslashreplace")
print("heard", flush=True)
print(os.read(ours, 100).decode(), file=sys.stderr)
"""


def hang():
    """Wait forever, and let a fork in a session of its own do so too."""
    if os.fork() == 0:
        os.setsid()
        hang_elsewhere()
    threading.Event().wait()


def hang_elsewhere():
    threading.Event().wait()


def test_a_command_that_hangs_shows_its_stacks_and_those_of_its_forks_and_all_are_killed(tmp_path):
    ours, theirs = os.pipe()
    with Path(os.devnull).open() as nothing, (tmp_path / "stacks").open("a") as stacks:
        begun = Started(
            "tagloom.cli",
            ["--help"],
            streams=[nothing.fileno(), theirs, theirs],
            environment=os.environ,
            first=hang,
            patience=PATIENCE_SECONDS,
            shown=stacks.fileno(),
        )
    os.close(theirs)
    assert begun.wait() == -signal.SIGKILL
    with os.fdopen(ours) as printed:
        assert printed.read() == ""  # it ends, since nobody is left who could write
    text = (tmp_path / "stacks").read_text()
    assert text.count("in hang\n") == 2
    assert text.count("in hang_elsewhere\n") == 1


def test_a_fork_writes_to_its_own_streams_whatever_those_of_the_loaded_process_are(tmp_path):
    with (tmp_path / "out").open("w") as file:
        done = subprocess.run(
            [sys.executable, "-c", WRITES_TO_A_PIPE],
            stdout=file,
            stderr=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parent)},
            text=True,
            check=True,
        )
    assert done.stderr == "heard\n\n"
    assert (tmp_path / "out").read_text() == ""
