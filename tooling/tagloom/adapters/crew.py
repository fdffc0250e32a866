"""Do something on many switches side by side: a process for each processor, in it a thread for each switch."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from multiprocessing.connection import Connection

AT_ONCE = 64  # sessions: a login is computed for at both ends, and all of them wait for the slowest

T = TypeVar("T")


def side_by_side(prepare: Callable[[str], Callable[[], T]], names: Sequence[str]) -> dict[str, T]:
    """Prepare something for each name in turn, do side by side what `prepare` gave, and give what that returned.

    A session mostly waits, so that threads do; a process for each would take more than the session itself. The few
    processes are forks: they hold what was imported and read before. Neither function may raise. What was begun in a
    process that did not live to its end is missing. Where the caller is killed, they go on to their own end.
    """
    count = min(len(os.sched_getaffinity(0)), len(names))
    forks = multiprocessing.get_context("fork")
    crews = []
    for first in range(count):
        ours, theirs = forks.Pipe(duplex=False)
        process = forks.Process(target=_crew, args=(prepare, names[first::count], AT_ONCE // count, theirs))
        process.start()
        theirs.close()
        crews.append((process, ours))
    done: dict[str, T] = {}
    for process, wire in crews:
        with contextlib.suppress(EOFError):
            done |= wire.recv()
        process.join()
    return done


def _crew(prepare: Callable[[str], Callable[[], T]], names: Sequence[str], at_once: int, wire: Connection) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # what the caller does at these is not for its forks to do
        signal.signal(number, signal.SIG_DFL)
    with ThreadPoolExecutor(max(1, at_once)) as threads:
        begun = {name: threads.submit(prepare(name)) for name in names}
    with contextlib.suppress(BrokenPipeError):  # nobody is left to hear it
        wire.send({name: future.result() for name, future in begun.items()})
