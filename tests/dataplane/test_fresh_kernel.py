"""A kernel that ends under a case is no verdict: the case is shown once more on a new one, and only once."""

import os
import signal
from functools import partial
from queue import Queue

import pytest

from cases import planned
from run import Worker
from tagloom.errors import DeviceError
from tagloom.lab.kernel import choice

pytestmark = [pytest.mark.slow, pytest.mark.needs("a kernel with bridges")]


def kill(machine):
    os.killpg(machine._process.pid, signal.SIGKILL)
    machine._process.wait()


@pytest.fixture
def case():
    return min(planned(), key=lambda case: len(case.texts))


@pytest.mark.daily
def test_a_case_whose_kernel_ends_is_shown_on_a_new_one(tmp_path, capsys, case):
    worker = Worker(partial(choice.start, tmp_path / "log"), tmp_path)
    first = worker.machine
    kill(first)
    rows, lost, queue = [], [], Queue()
    queue.put(case)
    worker.work(queue, rows, lost)
    worker.end()
    assert worker.machine is not first
    assert (rows, lost) == ([(case, [])], [])
    assert "; once more, on a new kernel\n" in capsys.readouterr().out


def test_a_case_that_ends_two_kernels_is_lost_and_said_so(tmp_path, case):
    def start():
        machine = choice.start(tmp_path / "log")
        kill(machine)
        return machine

    worker = Worker(start, tmp_path)
    rows, lost, queue = [], [], Queue()
    queue.put(case)
    worker.work(queue, rows, lost)
    worker.end()
    assert rows == []
    (why,) = lost
    assert DeviceError.__name__ in why
