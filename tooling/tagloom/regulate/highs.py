"""Solve integer programs within seconds of a given clock."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.graph.integer_programs import solve_program

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

TIME_OUT, INFEASIBLE = 1, 2  # status of scipy.optimize.milp
LEAST_SECONDS = 0.1
USED = 0.9  # of the seconds allowed: less was taken away by other programs
MORE = 1.1  # times the seconds that would have been enough
MOST_MORE = 4.0  # times the seconds of the run before: a machine that stood still for a while is no busy one
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
    that was out of time is repeated with more, so that the answer depends on the work and hardly on the load. HiGHS
    goes by the computer's clock: a run that ended early because that was set forward is repeated. If it is set back
    meanwhile, the run lasts as much longer. A run lasts at most MOST_MORE times as long as the one before.
    """
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 - a third of a second to load
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    row, column, value = rows
    matrix = csr_matrix((value, (row, column)), (len(low), len(cost)))
    seconds = max(seconds, LEAST_SECONDS)
    wall = seconds
    for _ in range(AGAIN):
        began, steady = clock(), time.monotonic()
        answer = solve_program(
            cost,
            integrality=whole,
            bounds=Bounds(np.zeros(len(cost)), top),
            constraints=LinearConstraint(matrix, low, high),
            options={"time_limit": wall, **options},
        )
        used = clock() - began
        if answer.status != TIME_OUT or not 0 < used < USED * seconds:
            break
        wall = next_limit(wall, seconds, used, time.monotonic() - steady)
    return answer


def next_limit(wall: float, seconds: float, used: float, lasted: float) -> float:
    """Return the seconds on the wall of the next run, if the last was out of time.

    It was allowed `wall`, lasted `lasted` seconds, and used `used` of the `seconds` of the caller's clock.
    """
    return wall * min(MORE * seconds / used, MOST_MORE) if lasted > USED * wall else wall
