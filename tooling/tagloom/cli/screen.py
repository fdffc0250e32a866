"""Print answers, remarks and progress: the only file that prints."""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any

from tagloom.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


GOOD, NO, BAD_INPUT, DEVICE_FAILED = 0, 1, 2, 3
REMARK_SECONDS = 5.0  # between two lines of progress where standard error is no terminal


def open_streams() -> None:
    """Open what the shell closed (``>&-``), so that no file that is opened later takes the place of a stream.

    Characters that a stream's encoding lacks are written escaped.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest number that is free: this one
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(descriptor, "w" if descriptor else "r", encoding="utf-8", closefd=False))
        stream = getattr(sys, name)
        if descriptor and isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def close_streams() -> None:
    """Flush the streams before Python does, which would change the exit status where it fails."""
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except (OSError, ValueError):
            silence(name)


def silence(name: str) -> None:
    """Redirect a stream that failed to nowhere, with what it still holds."""
    with suppress(OSError, ValueError):
        descriptor = getattr(sys, name).fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)
        return
    setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - until the process ends


class Progress:
    """How far something is: `done` of as many as there seem to be, `of`, and whether it `failed` at some of them."""

    def __init__(self, show: Callable[[int, int], None]) -> None:
        self._show = show
        self.done, self.of, self.failed = 0, 0, False

    def __call__(self, done: int, of: int) -> None:
        """Note how far it is."""
        self.done, self.of = done, of
        self._show(done, of)


class Screen:
    """Print answers on standard output, remarks and progress on standard error."""

    def __init__(self, *, as_json: bool, verbose: int = 0) -> None:
        self.as_json, self.verbose = as_json, verbose
        self._spoken = 0.0
        self.unheard = False  # nobody reads standard output any more, or it was lost
        self.plain = False  # no bars: the terminal may go while they are drawn

    def _print(self, name: str, text: str) -> None:
        """Print a line on a stream; a stream that fails is silent from then on, and never changes an exit status.

        Control characters of switches, files and hosts are shown and have no effect (`printable`).
        """
        stream = getattr(sys, name)
        try:
            print(printable(text), file=stream, flush=True)
        except (OSError, ValueError) as error:  # ValueError: it was closed
            silence(name)
            if name == "stdout":
                self.unheard = True
                if not isinstance(error, BrokenPipeError):
                    self.remark(f"standard output: expected a place that can be written, actual {error}")

    def say(self, *lines: str) -> None:
        """Print lines of the answer; with --json the answer is the one object of `answer` instead."""
        if not self.as_json:
            for line in lines:
                self._print("stdout", line)

    def answer(self, payload: Mapping[str, Any]) -> None:
        """Print the answer as one JSON object where that was asked for."""
        if self.as_json:
            self._print("stdout", json.dumps(payload, indent=2))

    def remark(self, *lines: str) -> None:
        """Print lines that are not the answer."""
        for line in lines:
            self._print("stderr", line)

    def can_ask(self) -> bool:
        """Return whether somebody sits at a terminal who can be asked: never with --json."""
        return not self.as_json and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty()

    def ask(self, question: str) -> str | None:
        """Return the line that is typed as the answer to a question; None at the end of the input."""
        with suppress(OSError, ValueError):  # ValueError: no text in the terminal's encoding, or a closed stream
            print(printable(question), end=" ", file=sys.stderr, flush=True)
            line = sys.stdin.readline()
            return line.strip() if line else None
        return None

    @contextmanager
    def progress(self, what: str) -> Iterator[Progress]:
        """Show how far something is: a bar on a terminal, a line now and then elsewhere, and one at its end.

        How many there will be is an estimate, such as of switches that waves change: a good end is as many as came.
        """
        if self.plain or not sys.stderr.isatty():
            self._spoken = time.monotonic()
            shown = -1

            def show(done: int, of: int) -> None:
                nonlocal shown
                if time.monotonic() - self._spoken > REMARK_SECONDS:
                    self._spoken, shown = time.monotonic(), done
                    self.remark(f"{what}: {done} of {of}")

            note = Progress(show)
            try:
                yield note
            except BaseException:
                note.failed = True
                raise
            finally:
                if shown >= 0 and note.failed:
                    self.remark(f"{what}: {note.done} of {note.of}, ended early")
                elif 0 <= shown < note.done or 0 <= shown < note.of:
                    self.remark(f"{what}: {note.done} of {note.done}")
            return
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bar

        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(printable(what), total=None)
            note = Progress(lambda done, of: bar.update(task, completed=done, total=of))
            yield note
            if note.done and not note.failed:
                bar.update(task, completed=note.done, total=note.done, refresh=True)

    @contextmanager
    def waiting(self, what: str) -> Iterator[None]:
        """Return what is being waited for, on a terminal, while it lasts."""
        if self.plain or not sys.stderr.isatty():
            yield
            return
        from rich.console import Console

        with Console(stderr=True).status(printable(what)):
            yield
