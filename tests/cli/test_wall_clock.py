"""What tagloom run waits by ends its wait where it is woken, and where it was told to end."""

import time

import pytest

from tagloom.cli.keeping import _WallClock


def test_a_wait_ends_though_the_interrupt_that_told_it_to_was_swallowed():
    wall = _WallClock()
    wall.told_to_end = True
    with pytest.raises(KeyboardInterrupt):
        wall.sleep(3600.0)


def test_a_wait_that_is_woken_ends_at_once_and_one_that_is_not_lasts():
    wall = _WallClock()
    wall.wake("a trap")
    wall.sleep(3600.0)
    began = time.monotonic()
    wall.sleep(0.05)
    assert time.monotonic() - began >= 0.05
