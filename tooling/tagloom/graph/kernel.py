"""Compile loops to machine code, once per installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Compile `function` with numba at its first call, and keep the result on disk where there is a place for it.

    A division by zero gives inf, as in numpy: a test for it would keep loops from being done several numbers at once.
    No fastmath: sums come out alike on every processor, so a seed gives the same routes everywhere. numba notices a
    change of the file a kernel stands in, not of the kernels it calls, so kernels call only kernels of their own file.
    """
    try:
        return cast("F", numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast("F", numba.njit(error_model="numpy")(function))
