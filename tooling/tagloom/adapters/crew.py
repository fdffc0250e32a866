"""Do something on many switches side by side: a process for each processor, in it a thread for each switch."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import Event
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

    Released = Callable[[], bool]

# What a push first needs in its threads, by tests/apply/test_imports.py. It is imported before any of them begins: in
# Python 3.11, a second thread that asks numpy for `ma` while the first imports it recurses until its stack ends.
NEEDED_BY_THREADS = ("numpy.ma",)
for _name in NEEDED_BY_THREADS:
    import_module(_name)

AT_ONCE = 64  # sessions: a login is computed for at both ends, and all of them wait for the slowest
_GO = b"g"

T = TypeVar("T")


def side_by_side(
    prepare: Callable[[str], Callable[[Released], T]],
    names: Sequence[str],
    release: Callable[[], bool] = lambda: True,
) -> dict[str, T]:
    """Prepare something for each name in turn, do side by side what `prepare` gave, and give what that returned.

    A session mostly waits, so that threads do; a process for each would take more than the session itself. The few
    processes are forks: they hold what was imported and read before. Neither function may raise. What was begun in a
    process that did not live to its end is missing. Where the caller is killed, they go on to their own end.
    `release` is called once all have begun. What each does is given a function that waits until that has returned and
    gives what it returned; False too where the caller was killed before.
    """
    count = min(len(os.sched_getaffinity(0)), len(names))
    forks = multiprocessing.get_context("fork")
    gate = os.pipe()
    crews = []
    for first in range(count):
        ours, theirs = forks.Pipe(duplex=False)
        process = forks.Process(target=_crew, args=(prepare, names[first::count], AT_ONCE // count, theirs, gate))
        process.start()
        theirs.close()
        crews.append((process, ours))
    os.close(gate[0])
    with os.fdopen(gate[1], "wb", buffering=0) as opens:
        if release():
            with contextlib.suppress(BrokenPipeError):  # all were killed
                opens.write(_GO * count)
    done: dict[str, T] = {}
    for process, wire in crews:
        with contextlib.suppress(EOFError):
            done |= wire.recv()
        process.join()
    return done


def _crew(
    prepare: Callable[[str], Callable[[Released], T]],
    names: Sequence[str],
    at_once: int,
    wire: Connection,
    gate: tuple[int, int],
) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # what the caller does at these is not for its forks to do
        signal.signal(number, signal.SIG_DFL)
    os.close(gate[1])  # so that the gate's end is heard where the caller is killed
    decided, decision = Event(), [False]

    def released() -> bool:
        decided.wait()
        return decision[0]

    with ThreadPoolExecutor(max(1, at_once)) as threads:
        begun = {name: threads.submit(prepare(name), released) for name in names}
        decision[0] = os.read(gate[0], 1) == _GO
        decided.set()
    with contextlib.suppress(BrokenPipeError):  # nobody is left to hear it
        wire.send({name: future.result() for name, future in begun.items()})
