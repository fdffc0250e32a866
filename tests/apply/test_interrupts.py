"""Interrupts while a push is followed: counted, however quickly one comes after another."""

import os
import random
import signal
import threading
from collections import Counter
from typing import NamedTuple

import numpy as np
import pytest

from tagloom.apply.interrupts import counted, unwrapped
from tagloom.graph.kernel import kernel


@pytest.fixture
def heard():
    """Let SIGINT raise, as in a terminal, whatever the tests themselves run under."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("heard")
def test_an_interrupt_that_comes_while_another_is_answered_is_not_lost():
    with counted() as interrupts:
        answered = []
        os.kill(os.getpid(), signal.SIGINT)
        while number := interrupts.next():
            answered.append(number)
            if number < 3:
                os.kill(os.getpid(), signal.SIGINT)
    assert answered == [1, 2, 3]
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)


def test_what_a_handler_does_besides_is_done():
    told = []

    def end(number, _frame):
        told.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        with counted() as interrupts:
            os.kill(os.getpid(), signal.SIGTERM)
            assert (interrupts.next(), interrupts.next()) == (1, 0)
        assert signal.getsignal(signal.SIGTERM) is end
    finally:
        signal.signal(signal.SIGTERM, before)
    assert told == [signal.SIGTERM]


def test_threads_other_than_the_first_count_nothing():
    found = []

    def follow():
        with counted() as interrupts:
            found.append(interrupts.next())

    thread = threading.Thread(target=follow)
    thread.start()
    thread.join()
    assert found == [0]


class Cells(NamedTuple):
    numbers: np.ndarray


@kernel
def doubled(cells):
    numbers = 2 * cells.numbers
    return numbers, len(numbers)


def loop_until_interrupted(after_seconds):
    """Call a compiled loop again and again, and be interrupted at any instruction of that."""
    cells = Cells(np.arange(3))
    signal.setitimer(signal.ITIMER_REAL, after_seconds)
    for _ in range(1_000_000):
        doubled(cells)


@pytest.mark.kernel
def test_an_interrupt_in_the_call_of_a_compiled_loop_is_one():
    def interrupt(*_):
        raise KeyboardInterrupt

    before, chance, raised = signal.signal(signal.SIGALRM, interrupt), random.Random(1), Counter()
    try:
        assert doubled(Cells(np.arange(3)))[0].tolist() == [0, 2, 4]
        for _ in range(1000):  # of ten, numba makes errors of Python of eight
            try:
                loop_until_interrupted(chance.uniform(2e-6, 2e-4))
            except (KeyboardInterrupt, SystemError) as error:
                raised[type(error)] += 1
        assert raised[SystemError] > 0
        for _ in range(1000):
            with pytest.raises(KeyboardInterrupt), unwrapped():
                loop_until_interrupted(chance.uniform(2e-6, 2e-4))
    finally:
        signal.signal(signal.SIGALRM, before)


def test_other_errors_of_python_stay_what_they_are():
    with pytest.raises(SystemError, match="another"), unwrapped():
        raise SystemError("another")
