"""Many switches at once: all side by side, each its own result, and nothing of a process that was killed."""

import multiprocessing
import os
import signal

import pytest

from tagloom.adapters.crew import AT_ONCE, side_by_side

NAMES = [f"s{number}" for number in range(AT_ONCE)]


def test_everybody_is_at_work_at_the_same_time():
    everybody = multiprocessing.get_context("fork").Barrier(len(NAMES))

    def prepare(name):
        return lambda: (everybody.wait(30), name.upper())[1]

    assert side_by_side(prepare, NAMES) == {name: name.upper() for name in NAMES}


def test_more_than_may_be_at_work_at_once_and_none_at_all():
    names = [f"s{number}" for number in range(3 * AT_ONCE)]
    assert side_by_side(lambda name: lambda: len(name), names) == {name: len(name) for name in names}
    assert side_by_side(lambda name: lambda: name, []) == {}


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one process for all")
def test_what_was_done_by_a_process_that_was_killed_is_missing():
    def prepare(name):
        return lambda: os.kill(os.getpid(), signal.SIGKILL) if name == "s1" else os.getpid()

    done = side_by_side(prepare, NAMES)
    assert 0 < len(done) < len(NAMES)
    assert "s1" not in done
    assert os.getpid() not in done.values()
