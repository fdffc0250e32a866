"""Solve linear and integer programs with HiGHS, and keep its messages off standard output."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike


def solve_program(cost: ArrayLike, **options: Any) -> Any:
    """Return the result of `scipy.optimize.milp`, which takes the same arguments.

    HiGHS writes some messages to the descriptor of standard output, whatever it is asked; they go to standard error.
    """
    from scipy.optimize import milp  # noqa: PLC0415 - a third of a second that most commands need not wait for

    with _aside():
        return milp(cost, **options)


def solve_linear(cost: ArrayLike, rows: ArrayLike, top: ArrayLike) -> Any:
    """Return the result of `scipy.optimize.linprog`: the least cost of x >= 0 with rows @ x <= top, and its prices."""
    from scipy.optimize import linprog  # noqa: PLC0415 - as above
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - as above

    with _aside():
        return linprog(cost, A_ub=csr_matrix(rows), b_ub=top, method="highs")


@contextmanager
def _aside() -> Iterator[None]:
    """Send what is written to descriptor 1 to standard error: standard output is for results alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    try:
        os.dup2(2, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
