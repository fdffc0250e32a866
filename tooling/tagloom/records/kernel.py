"""Compile loops over arrays to machine code, once per installation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numba

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Compile `function` with numba at its first call, and keep the result on disk where there is a place for it.

    numba notices a change of the file a kernel stands in, not of the kernels it calls, so kernels call only kernels of
    their own file.
    """
    try:
        return cast("F", numba.njit(cache=True)(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast("F", numba.njit(function))
