"""HiGHS counts seconds on the wall, tagloom those of a clock: what a busy machine takes away is given again."""

from time import perf_counter

import numpy as np
import pytest

from tagloom.regulate.highs import INFEASIBLE, MORE, MOST_MORE, TIME_OUT, USED, next_limit, solve

ITEMS, SUMS = 40, 5


def market_split(seconds, clock):
    """Ask which items halve five sums at once: small, and out of reach of any branch and bound for hours."""
    size = np.random.default_rng(1).integers(0, 100, (SUMS, ITEMS))
    half = (size.sum(axis=1) // 2).tolist()
    row, column = (at.ravel().tolist() for at in np.indices(size.shape))
    rows = row, column, size.ravel().astype(float).tolist()
    return solve(np.zeros(ITEMS), np.ones(ITEMS), 1.0, rows, half, half, seconds, clock)


@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_program_has_its_seconds_whatever_share_of_the_machine_it_gets(share):
    def clock():
        return share * perf_counter()

    began = clock()
    assert market_split(0.4, clock).status == TIME_OUT
    assert clock() - began >= USED * 0.4


@pytest.mark.parametrize(
    ("used", "lasted", "times"),
    [
        (2.0, 4.0, MORE * 2),  # half of the machine
        (0.001, 4.0, MOST_MORE),  # a machine that was paused: no hours of work for a moment
        (0.001, 0.002, 1.0),  # HiGHS thought that its time was over, since the computer's clock was set forward
    ],
)
def test_the_next_run_has_what_a_busy_machine_took_and_no_more(used, lasted, times):
    assert next_limit(4.0, 4.0, used, lasted) == pytest.approx(4.0 * times)


def test_a_clock_that_stands_still_asks_once_and_answers_keep_their_status():
    assert market_split(0.2, lambda: 0.0).status == TIME_OUT
    none = solve(np.zeros(1), np.ones(1), 1.0, ([0], [0], [1.0]), [2.0], [2.0], 5.0, perf_counter)
    assert none.status == INFEASIBLE


def test_what_highs_prints_is_not_on_standard_output(capfd):
    market_split(0.2, perf_counter)
    assert not capfd.readouterr().out
