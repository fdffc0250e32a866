"""Ping-pong between two ranks of an MPI job, by mpi4py."""

from __future__ import annotations

from array import array
from itertools import repeat
from time import perf_counter_ns
from typing import Any

import numpy as np

from tagloom.errors import Finding, InputError
from tagloom.measure.loops import undisturbed
from tagloom.measure.peer import pattern

TAG_ORDER, TAG_MESSAGE = 1, 2
CONTENT, TRIAL, BYE = 0, 1, 2


def _world() -> Any:
    try:
        from mpi4py import MPI  # noqa: PLC0415 - the import starts MPI, which may not be installed
    except (ImportError, RuntimeError) as error:
        words = "mpi4py and an MPI (pip install mpi4py), and two ranks (mpirun -np 2 tagloom measure pingpong ...)"
        raise InputError([Finding("--protocol mpi", words, str(error))]) from None
    world = MPI.COMM_WORLD
    if world.size != 2:
        raise InputError([Finding("--protocol mpi", "two ranks: mpirun -np 2 tagloom ...", str(world.size))])
    return world


class Pair:
    """Rank 0's side, which sends first."""

    def __init__(self, world: Any) -> None:
        self._world, self._buffer = world, np.zeros(1, np.uint8)
        self.name = f"rank 1 of {world.size}"

    def _begin(self, what: int, size: int, repeats: int) -> Any:
        if len(self._buffer) < size:
            self._buffer = np.zeros(size, np.uint8)
        self._world.send((what, size, repeats), dest=1, tag=TAG_ORDER)
        self._world.Barrier()
        return self._buffer[:size]

    def trial(self, size: int, repeats: int) -> int:
        """Return the nanoseconds of `repeats` round trips."""
        message, send, receive = self._begin(TRIAL, size, repeats), self._world.Send, self._world.Recv
        with undisturbed():
            began = perf_counter_ns()
            for _ in repeat(None, repeats):
                send(message, 1, TAG_MESSAGE)
                receive(message, 1, TAG_MESSAGE)
            return perf_counter_ns() - began

    def stamped(self, size: int, repeats: int) -> array[int]:
        """Return the nanoseconds of each of `repeats` round trips."""
        message, stamps = self._begin(TRIAL, size, repeats), array("q", bytes(8 * repeats))
        with undisturbed():
            for i in range(repeats):
                began = perf_counter_ns()
                self._world.Send(message, 1, TAG_MESSAGE)
                self._world.Recv(message, 1, TAG_MESSAGE)
                stamps[i] = perf_counter_ns() - began
        return stamps

    def content(self, size: int, seed: str) -> bool | None:
        """Return whether bytes arrive unchanged both ways; MPI loses none."""
        message = self._begin(CONTENT, size, 1)
        message[:] = np.frombuffer(pattern(seed, size), np.uint8)
        self._world.Send(message, 1, TAG_MESSAGE)
        self._world.Recv(message, 1, TAG_MESSAGE)
        there = bool(self._world.recv(source=1, tag=TAG_ORDER))
        return there and message.tobytes() == pattern(f"{seed} back", size)

    def bye(self) -> None:
        """End rank 1."""
        self._world.send((BYE, 0, 0), dest=1, tag=TAG_ORDER)


def pair() -> Pair | None:
    """Return the pair in rank 0, None in rank 1. Raises InputError without MPI or two ranks."""
    world = _world()
    return Pair(world) if world.rank == 0 else None


def answer() -> None:
    """Run rank 1, which answers until rank 0 ends it."""
    world = _world()
    buffer = np.zeros(1, np.uint8)
    while True:
        what, size, repeats = world.recv(source=0, tag=TAG_ORDER)
        if what == BYE:
            return
        if len(buffer) < size:
            buffer = np.zeros(size, np.uint8)
        message = buffer[:size]
        world.Barrier()
        if what == CONTENT:
            world.Recv(message, 0, TAG_MESSAGE)
            good = message.tobytes() == pattern(str(size), size)
            message[:] = np.frombuffer(pattern(f"{size} back", size), np.uint8)
            world.Send(message, 0, TAG_MESSAGE)
            world.send(good, dest=0, tag=TAG_ORDER)
            continue
        with undisturbed():
            for _ in repeat(None, repeats):
                world.Recv(message, 0, TAG_MESSAGE)
                world.Send(message, 0, TAG_MESSAGE)
