"""Solve integer programs within seconds of a given clock."""

from __future__ import annotations

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
    from scipy.optimize import Bounds, LinearConstraint  # noqa: PLC0415 - a third of a second to load
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    row, column, value = rows
    matrix = csr_matrix((value, (row, column)), (len(low), len(cost)))
    seconds = max(seconds, LEAST_SECONDS)
    wall = seconds
    for _ in range(AGAIN):
        began = clock()
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
        wall *= MORE * seconds / used
    return answer
