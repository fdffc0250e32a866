"""Hear interrupts: none is lost, or ends the command, while another is answered."""

from __future__ import annotations

import contextlib
import signal
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

HEARD = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Interrupts:
    """How many interrupts came, and how many of them were answered."""

    came: int = 0
    answered: int = 0

    def next(self) -> int:
        """Return the number of the next one that is to be answered, from 1; 0 where there is none."""
        if self.answered == self.came:
            return 0
        self.answered += 1
        return self.answered


@contextlib.contextmanager
def unwrapped() -> Iterator[None]:
    """Raise KeyboardInterrupt if an interrupt came while a compiled loop was called.

    numba goes on with the call, and Python reports a SystemError, or several, each the cause of the next.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from error
        raise


@contextlib.contextmanager
def counted() -> Iterator[Interrupts]:
    """Count signals that would raise KeyboardInterrupt; what else their handlers do is done.

    Only a process's first thread hears signals: in others nothing is counted.
    """
    found = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield found
        return
    before = {number: handler for number in HEARD if callable(handler := signal.getsignal(number))}

    def count(number: int, frame: FrameType | None) -> None:
        try:
            before[signal.Signals(number)](number, frame)
        except KeyboardInterrupt:
            found.came += 1

    for number in before:
        signal.signal(number, count)
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
