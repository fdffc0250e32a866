"""Do something on many switches side by side: a process for each processor, in it a thread for each switch."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from threading import BoundedSemaphore, Event, Lock
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import FileIO
    from multiprocessing.connection import Connection

# What a push first needs in its threads, by tests/apply/test_imports.py. It is imported before any of them begins: in
# Python 3.11, a second thread that asks numpy for `ma` while the first imports it recurses until its stack ends.
NEEDED_BY_THREADS = ("numpy.ma",)
for _name in NEEDED_BY_THREADS:
    import_module(_name)

AT_ONCE = 64  # sessions: a login is computed for at both ends, and all of them wait for the slowest
_GO, _NO = b"g", b"n"

T = TypeVar("T")


class Turn:
    """One name's turn among all: called, it waits for the word to begin, and tells what that is."""

    def __init__(self, pool: _WorkerPool) -> None:
        self._pool, self._voted = pool, False

    def __call__(self) -> bool:
        """Wait for the word, and return it: whether to begin."""
        self._pool.begun.wait()
        return self._pool.begins

    def agree(self, good: bool) -> bool:
        """Wait until all have said how they stand or have ended, and return whether nobody said that it is not good.

        Meanwhile another may begin. Raises InterruptedError where the caller was killed before.
        """
        self._vote(good)
        self._pool.decided.wait()
        if self._pool.verdict not in {_GO, _NO}:
            raise InterruptedError("the process that asks all switches of the wave is gone")
        return self._pool.verdict == _GO

    def _vote(self, good: bool) -> None:
        if not self._voted:
            self._voted = True
            self._pool.vote(good)

    def end(self) -> None:
        """Stand in nobody's way."""
        self._vote(True)


def run_parallel(
    prepare: Callable[[str], Callable[[Turn], T]],
    names: Sequence[str],
    release: Callable[[], bool] = lambda: True,
) -> dict[str, T]:
    """Prepare something for each name in turn, do side by side what `prepare` gave, and give what that returned.

    A session mostly waits, so that threads do; a process for each would take more than the session itself. The few
    processes are forks: they hold what was imported and read before. Neither function may raise. What was begun in a
    process that did not live to its end is missing. Where the caller is killed, they go on to their own end.
    `release` is called once all have begun. What each does is given its `Turn`, by which it waits until that has
    returned, and learns what it returned; False too where the caller was killed before. By it all can agree, too:
    AT_ONCE of them are under way at once, beside those that wait for that.
    """
    count = min(len(os.sched_getaffinity(0)), len(names))
    forks = multiprocessing.get_context("fork")
    gates = os.pipe(), os.pipe()
    crews = []
    for first in range(count):
        ours, theirs = forks.Pipe(duplex=False)
        process = forks.Process(target=_work, args=(prepare, names[first::count], AT_ONCE // count, theirs, gates))
        process.start()
        theirs.close()
        crews.append((process, ours))
    (_, opens), (_, decides) = gates
    for reads, _ in gates:
        os.close(reads)
    with os.fdopen(opens, "wb", buffering=0) as gate, os.fdopen(decides, "wb", buffering=0) as verdict:
        if release():
            _tell(gate, _GO * count)
        gate.close()
        votes = [_heard(wire, otherwise=True) for _, wire in crews]
        _tell(verdict, (_GO if all(votes) else _NO) * count)
    done: dict[str, T] = {}
    for process, wire in crews:
        done |= _heard(wire, otherwise={})
        process.join()
    return done


def _tell(gate: FileIO, words: bytes) -> None:
    with contextlib.suppress(BrokenPipeError):  # all were killed
        gate.write(words)


def _heard(wire: Connection, otherwise: Any) -> Any:
    """Return what a process says, or something else where it was killed."""
    try:
        return wire.recv()
    except EOFError:
        return otherwise


class _WorkerPool:
    """What the threads of one process know of the word to begin, and of how all stand."""

    def __init__(self, count: int, at_once: int) -> None:
        self.begun, self.begins = Event(), False
        self.decided, self.verdict = Event(), b""
        self.voted, self.good = Event(), True
        self._left, self._counting = count, Lock()
        self._places = BoundedSemaphore(at_once)

    def vote(self, good: bool) -> None:
        """Count one that stands well or not, whose place is another's from now on."""
        self._places.release()
        with self._counting:
            self.good &= good
            self._left -= 1
            if not self._left:
                self.voted.set()

    def do(self, work: Callable[[Turn], T]) -> T:
        """Do one's work when there is a place for it."""
        self._places.acquire()
        turn = Turn(self)
        try:
            return work(turn)
        finally:
            turn.end()


def _work(
    prepare: Callable[[str], Callable[[Turn], T]],
    names: Sequence[str],
    at_once: int,
    wire: Connection,
    gates: tuple[tuple[int, int], tuple[int, int]],
) -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # what the caller does at these is not for its forks to do
        signal.signal(number, signal.SIG_DFL)
    (gate, opens), (verdict, decides) = gates
    for written in (opens, decides):  # so that the end of either is heard where the caller is killed
        os.close(written)
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # a session for each that waits
    pool = _WorkerPool(len(names), max(1, at_once))
    with ThreadPoolExecutor(max(1, len(names))) as threads, contextlib.suppress(BrokenPipeError):  # nobody hears it
        begun = {name: threads.submit(pool.do, prepare(name)) for name in names}
        pool.begins = os.read(gate, 1) == _GO
        pool.begun.set()
        pool.voted.wait()
        try:
            wire.send(pool.good)
        finally:
            pool.verdict = os.read(verdict, 1)
            pool.decided.set()
        wire.send({name: future.result() for name, future in begun.items()})
