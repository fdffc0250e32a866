"""How far a push is: outcomes counted as they come, also those of waves that are found on the way."""

import contextlib
import os
import pty
import re
import sys

import pytest

from tagloom.apply.outcomes import Outcome
from tagloom.cli import screen
from tagloom.cli.inputs import counting
from tagloom.cli.screen import Progress, Screen

GOOD, BAD = Outcome("s0"), Outcome("s0", error="unreachable")


def told(of, outcomes):
    said = []
    tell = counting(Progress(lambda done, of: said.append((done, of))), of)
    for _ in range(outcomes):
        tell(GOOD)
    return said


def test_what_was_expected_is_counted_to_its_end():
    assert told(3, 3) == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_more_than_was_expected_is_another_round_and_never_6_of_5():
    assert told(2, 5) == [(0, 2), (1, 2), (2, 2), (3, 4), (4, 4), (5, 6)]


def test_where_nobody_knows_how_many_there_will_be_it_is_those_that_came():
    assert told(None, 2) == [(0, 1), (1, 1), (2, 2)]


def run(outcomes, of, error=None):
    """Count outcomes of a push on a screen, and raise an error at its end."""
    with Screen(as_json=False).progress("pushes") as note:
        tell = counting(note, of)
        for outcome in outcomes:
            tell(outcome)
        if error is not None:
            raise error


@pytest.fixture
def on_a_terminal(monkeypatch):
    """Run a push with a terminal as standard error, and return the states that its bar showed."""

    def shown(*how):
        master, slave = pty.openpty()
        monkeypatch.setenv("TERM", "xterm")
        with os.fdopen(slave, "w") as stream:
            monkeypatch.setattr(sys, "stderr", stream)
            try:
                run(*how)
            except KeyboardInterrupt:
                pass
            finally:
                monkeypatch.undo()
        said = b""
        with os.fdopen(master, "rb", 0) as terminal, contextlib.suppress(OSError):  # which comes in pieces, then EIO
            while piece := terminal.read(65536):
                said += piece
        return re.findall(r"(\d+)/(\d+)", re.sub(r"\x1b\[[\d;?]*[a-zA-Z]", "", said.decode()))

    return shown


ENDS = {
    "as many as were expected": (([GOOD] * 3, 3), "pushes: 3 of 3", ("3", "3")),
    "fewer, since a wave changes some switches alone": (([GOOD] * 33, 48), "pushes: 33 of 33", ("33", "33")),
    "switches that were unchanged": (([GOOD] * 2, None), "pushes: 2 of 2", ("2", "2")),
    "one failed": (([GOOD, BAD], 48), "pushes: 2 of 48, ended early", ("2", "48")),
    "cancelled": (([GOOD] * 2, 48, KeyboardInterrupt()), "pushes: 2 of 48, ended early", ("2", "48")),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_bar_and_a_log_reach_their_end_unless_the_push_ended_early(case, on_a_terminal, monkeypatch, capsys):
    how, last, bar = ENDS[case]
    assert on_a_terminal(*how)[-1] == bar
    monkeypatch.setattr(screen, "REMARK_SECONDS", -1.0)
    try:
        run(*how)
    except KeyboardInterrupt:
        assert case == "cancelled"
    assert capsys.readouterr().err.splitlines()[-1] == last


def test_a_log_that_nothing_was_written_to_has_no_end_either(capsys):
    run([GOOD], 1)
    assert capsys.readouterr().err == ""
