"""What tagloom run waits by ends its wait where it is woken, and where it was told to end."""

import contextlib
import os
import signal
import time
from types import SimpleNamespace

import pytest

from tagloom.cli import keeping


@pytest.fixture
def wall(monkeypatch):
    monkeypatch.setattr(keeping, "LISTENING_SECONDS", 0.01)
    return keeping._WallClock()


def test_a_wait_ends_though_the_interrupt_that_told_it_to_was_swallowed(wall):
    told = []

    def run(**_how):
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
        wall.sleep(3600.0)

    controller = SimpleNamespace(ending=False, run=run, tell=lambda _at, text: told.append(text))
    keeping._run_until_told(controller, wall, once=False)
    assert controller.ending
    assert told == ["told to end: ended"]


def test_a_wait_that_nobody_ends_lasts_and_one_that_is_woken_does_not(wall):
    began = time.monotonic()
    wall.sleep(0.05)
    assert time.monotonic() - began >= 0.05
    wall.wake("a trap")
    wall.sleep(3600.0)
