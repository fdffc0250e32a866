"""Interrupts while a push is followed: counted, however quickly one comes after another."""

import os
import signal
import threading

import pytest

from tagloom.apply.interrupts import counted


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
