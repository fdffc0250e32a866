"""Run a command of the operator's for each event, with the event as JSON on its standard input."""

from __future__ import annotations

import contextlib
import json
import shlex
import shutil
import subprocess
import tempfile
import time
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST_SECONDS = 60.0  # after which a command that still runs is ended


class EventHook:
    """Begin the command for each event and wait for none. Raises InputError where there is no such command."""

    def __init__(self, command: str) -> None:
        try:
            self._words = shlex.split(command)
        except ValueError:
            self._words = []
        if not self._words or shutil.which(self._words[0]) is None:
            raise InputError([Finding("--on-event", "a command that there is, and its arguments", repr(command))])
        self._running: list[tuple[subprocess.Popen[bytes], float]] = []

    def __call__(self, event: Mapping[str, Any]) -> None:
        """Begin the command with an event, no shell between; what it prints goes nowhere."""
        self._reap()
        with contextlib.suppress(OSError), tempfile.TemporaryFile() as text:  # a pipe is full where nobody reads it
            text.write(json.dumps(event).encode() + b"\n")
            text.seek(0)
            began = subprocess.Popen(self._words, stdin=text, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self._running.append((began, time.monotonic()))

    def close(self) -> None:
        """Wait a moment for what still runs, and end what does not end."""
        for began, _ in self._running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                began.wait(1.0)
        self._reap(0.0)

    def _reap(self, longest: float = LONGEST_SECONDS) -> None:
        for began, at in self._running:
            if began.poll() is None and time.monotonic() - at > longest:
                began.kill()
                began.wait()
        self._running = [(began, at) for began, at in self._running if began.poll() is None]
