"""What tests start ends: a command that hangs shows where, and fails its test."""

import os
import threading
from pathlib import Path

from command_line.loaded import Started


def hang():
    if os.fork() == 0:
        hang_deeper()
    threading.Event().wait()


def hang_deeper():
    threading.Event().wait()


def test_a_command_that_hangs_shows_its_stacks_and_those_of_its_forks_and_is_killed(tmp_path):
    printed = tmp_path / "printed"
    with Path(os.devnull).open() as nothing, printed.open("a") as stream:
        streams = [nothing.fileno(), stream.fileno(), stream.fileno()]
        begun = Started("tagloom.cli", ["--help"], streams=streams, environment=os.environ, first=hang, patience=1)
    assert begun.wait() == -9
    text = printed.read_text()
    assert "in hang\n" in text
    assert "in hang_deeper\n" in text
