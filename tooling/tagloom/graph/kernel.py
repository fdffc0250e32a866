"""Compile loops to machine code, once per installation."""

from __future__ import annotations

from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Compile `function` with numba at its first call, and keep the result on disk where there is a place for it.

    A division by zero gives inf, as in numpy: a test for it would keep loops from being done several numbers at once.
    No fastmath: sums come out alike on every processor, so a seed gives the same routes everywhere. numba notices a
    change of the file a kernel stands in, not of the kernels it calls, so kernels call only kernels of their own file.
    """
    return cast("F", _Kernel(function))


class _Kernel:
    """A function that numba compiles; numba itself, a third of a second, is loaded when the first of them is called."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.compiled: Callable[..., Any] = self._first_call
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)

    def _first_call(self, *arguments: Any) -> Any:
        """Replace the kernels of its file by what numba makes of them, which can call nothing else, and call it."""
        names = self.py_func.__globals__
        for name, value in list(names.items()):
            if isinstance(value, _Kernel) and value.py_func.__globals__ is names:
                names[name] = value.compiled = _compile(value.py_func)
        return self.compiled(*arguments)


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba  # noqa: PLC0415 - see _Kernel

    try:
        return cast("Callable[..., Any]", numba.njit(cache=True, error_model="numpy")(function))
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return cast("Callable[..., Any]", numba.njit(error_model="numpy")(function))
