"""Print answers, remarks and progress: the only file that prints."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3

GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3
REMARK_SECONDS = 5.0  # between two lines of progress where standard error is no terminal


class Screen:
    """Print answers on standard output, remarks and progress on standard error."""

    def __init__(self, *, as_json: bool, verbose: int = 0) -> None:
        self.as_json, self.verbose = as_json, verbose
        self._spoken = 0.0

    def say(self, *lines: str) -> None:
        """Print lines of the answer; with --json the answer is the one object of `answer` instead."""
        if not self.as_json:
            for line in lines:
                print(line, flush=True)

    def answer(self, page: Mapping[str, Any]) -> None:
        """Print the answer as one JSON object where that was asked for."""
        if self.as_json:
            print(json.dumps(page, indent=2))

    def remark(self, *lines: str) -> None:
        """Print lines that are not the answer."""
        for line in lines:
            print(line, file=sys.stderr, flush=True)

    @contextmanager
    def progress(self, what: str) -> Iterator[Callable[[int, int], None]]:
        """Show how far something is: a bar on a terminal, a line now and then elsewhere."""
        if not sys.stderr.isatty():
            self._spoken = time.monotonic()

            def note(done: int, of: int) -> None:
                if time.monotonic() - self._spoken > REMARK_SECONDS:
                    self._spoken = time.monotonic()
                    self.remark(f"{what}: {done} of {of}")

            yield note
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Say what is being waited for, on a terminal, while it lasts."""
        if not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(what):
            yield
