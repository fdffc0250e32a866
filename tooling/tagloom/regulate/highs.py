"""Solve integer programs with HiGHS, within seconds of a given clock, and keep its messages off standard output."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

TIME_OUT, INFEASIBLE = 1, 2  # status of scipy.optimize.milp
LEAST_SECONDS = 0.1
USED = 0.9  # of the seconds allowed: less was taken away by other programs
MORE = 1.1  # times the seconds that would have been enough
AGAIN = 4  # runs at most


def solve(
    cost: NDArray[np.float64],
    whole: NDArray[np.float64],
    top: NDArray[np.float64] | float,
    rows: tuple[Sequence[int], Sequence[int], Sequence[float]],
    low: Sequence[float],
    high: Sequence[float],
    seconds: float,
    clock: Callable[[], float],
    **options: float,
) -> Any:
    """Return the result of `scipy.optimize.milp` for variables from 0 to `top`; `rows` are (row, column, value).

    HiGHS counts the seconds on the wall. Where `clock` counts fewer, as processor time does on a busy machine, a run
    that was out of time is repeated with more, so that the answer depends on the work and hardly on the load.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp  # noqa: PLC0415 - a third of a second to load
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    row, column, value = rows
    matrix = csr_matrix((value, (row, column)), (len(low), len(cost)))
    seconds = max(seconds, LEAST_SECONDS)
    wall = seconds
    for _ in range(AGAIN):
        began = clock()
        with _aside():
            answer = milp(
                cost,
                integrality=whole,
                bounds=Bounds(np.zeros(len(cost)), top),
                constraints=LinearConstraint(matrix, low, high),
                options={"time_limit": wall, **options},
            )
        used = clock() - began
        if answer.status != TIME_OUT or not 0 < used < USED * seconds:
            break
        wall *= MORE * seconds / used
    return answer


@contextmanager
def _aside() -> Iterator[None]:
    """Send HiGHS's debug output to standard error: standard output is for results alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
