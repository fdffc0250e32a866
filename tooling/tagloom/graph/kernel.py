"""Compile loops to machine code, once per installation."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager
from functools import update_wrapper
from hashlib import sha256
from numbers import Number
from pathlib import Path
from pickle import UnpicklingError
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

WORTH_COMPILING = 1 << 13  # cells, some microseconds each in Python
_PATIENCE_SECONDS = 300.0  # for another process that compiles the same file, on a busy machine; then both do
_TICK_SECONDS = 0.05
F = TypeVar("F", bound="Callable[..., Any]")


def kernel(function: F) -> F:
    """Compile `function` with numba at its first call, and cache the result on disk if a folder can be written.

    A division by zero gives inf, as in numpy: a test for zero would prevent vectorisation. No fastmath: sums are the
    same on every processor, so a seed gives the same routes everywhere. A change of a kernel's own file is noticed, but
    not of the kernels it calls, so kernels call only kernels of their own file. The fields of records and the numbers
    that come from other files are part of the cache's key.
    """
    return cast("F", _Kernel(function))


def kernel_for(function: F, cells: int) -> F:
    """Return a kernel, or for few `cells` the Python function that it was compiled from, with the same results.

    Loading numba takes as long as Python takes for a few thousand cells.
    """
    return function if cells > WORTH_COMPILING else cast("F", getattr(function, "py_func"))  # noqa: B009 - F has none


class _Kernel:
    """A function that numba compiles; numba itself takes a third of a second and is loaded at the first call of any."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.py_func = function
        self.compiled: Callable[..., Any] = self._first_call
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled(*arguments)

    def _first_call(self, *arguments: Any) -> Any:
        """Compile all kernels of the function's file, since they can call only compiled ones, and call this one."""
        names = self.py_func.__globals__
        for name, value in list(names.items()):
            if isinstance(value, _Kernel) and value.py_func.__globals__ is names:
                names[name] = value.compiled = _compile(value.py_func)
        return self.compiled(*arguments)


def _compile(function: Callable[..., Any]) -> Callable[..., Any]:
    import numba  # noqa: PLC0415 - see _Kernel

    try:
        compiled: Any = numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:  # neither the package's folder nor the user's cache is writable
        return cast("Callable[..., Any]", numba.njit(error_model="numpy")(function))
    compile_one = compiled.compile
    _key_by_contents(function, compiled._cache)  # noqa: SLF001 - numba has no public way to its cache

    def compile_or_load(signature: Any) -> Any:
        with _alone(function.__code__.co_filename):
            return compile_one(signature)

    compiled.compile = compile_or_load
    return cast("Callable[..., Any]", compiled)


def _key_by_contents(function: Callable[..., Any], cache: Any) -> None:
    """Key numba's cache of a kernel by its file's contents, and by the definitions that it takes from other files.

    numba compares the file's modification time, which differs in every clone. If an entry cannot be loaded, because it
    is damaged or a record's class no longer exists, compile the kernel again.
    """
    contents = Path(function.__code__.co_filename).read_bytes()
    cache._cache_file._source_stamp = sha256(contents).hexdigest()  # noqa: SLF001
    own_key, own_load = cache._index_key, cache.load_overload  # noqa: SLF001

    def key(signature: Any, codegen: Any) -> tuple[Any, ...]:
        return (*own_key(signature, codegen), _of_other_files(function, signature))

    def load(signature: Any, target: Any) -> Any:
        try:
            return own_load(signature, target)
        except (AttributeError, EOFError, ImportError, UnpicklingError):
            cache.flush()
            return None

    cache._index_key, cache.load_overload = key, load  # noqa: SLF001


def _of_other_files(function: Callable[..., Any], types: Iterable[Any]) -> tuple[Any, ...]:
    """Return the definitions that compiled code takes from other files: fields of records, values of numbers.

    The numbers are those named by any kernel of the function's file, because LLVM may inline one kernel into another.
    """
    names = function.__globals__
    kernels = [found for value in names.values() if (found := getattr(value, "py_func", None)) is not None]
    named = {name for each in kernels if each.__globals__ is names for name in each.__code__.co_names}
    numbers = [(name, repr(names[name])) for name in sorted(named) if isinstance(names.get(name), Number)]
    return _fields(types), tuple(numbers)


def _fields(types: Iterable[Any]) -> tuple[Any, ...]:
    """Return the field names of every record among numba's types, nested records included, in their order."""
    return tuple((getattr(each, "fields", ()), _fields(each.types)) for each in types if hasattr(each, "types"))


_held: set[str] = set()


@contextmanager
def _alone(path: str) -> Iterator[None]:
    """Keep other processes from compiling the kernels of a file meanwhile: they find them in numba's cache."""
    file = None if path in _held else _locked(path)  # held by a kernel that calls this one, or by another thread
    if file is None:
        yield
        return
    _held.add(path)
    try:
        yield
    finally:
        _held.discard(path)
        fcntl.flock(file, fcntl.LOCK_UN)  # a process forked meanwhile has the file open, too
        os.close(file)


def _locked(path: str) -> int | None:
    """Return a file, opened and locked, or None without locks or where a process has held it for too long."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    end = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < end:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(_TICK_SECONDS)
        except OSError:
            break
        else:
            return file
    os.close(file)
    return None
