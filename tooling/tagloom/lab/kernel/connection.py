"""Start a kernel's prober, and ask it one thing at a time."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from abc import ABC, abstractmethod
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Self

from tagloom.errors import DeviceError

START_SECONDS = 60.0
ANSWER_SECONDS = 120.0
QUIT_SECONDS = 10.0
PATH = os.pathsep.join(["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"])


class Connection(ABC):
    """A prober that runs; enter it as a context. `request` asks it, one thing at a time.

    Everything raises DeviceError with the end of the kernel's own log.
    """

    name: ClassVar[str]
    parts: ClassVar[tuple[str, ...]] = ("prober.py",)  # the files of this package that it runs

    def __init__(self, log: Path) -> None:
        self._log = log
        self._number = 0

    @abstractmethod
    def _words(self, folder: Path, wire: int) -> list[str]:
        """Return the command that starts the prober; `folder` has `parts` and a link to Python."""

    def __enter__(self) -> Self:
        """Start, and wait for the prober."""
        self._exchange = tempfile.TemporaryDirectory(prefix="tagloom-")
        ours, theirs = socket.socketpair()
        self._wire = ours
        folder = Path(self._exchange.name)
        for name in self.parts:
            (folder / name).write_bytes(files("tagloom.lab.kernel").joinpath(name).read_bytes())
        (folder / "python").symlink_to(Path(getattr(sys, "_base_executable", sys.executable)).resolve())
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._words(folder, theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        theirs.close()
        try:
            self._listen(START_SECONDS, "start")
        except DeviceError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """End it; a kernel that does not end is killed, with what it started and nothing else."""
        with contextlib.suppress(OSError):
            self._say("quit", {})
        try:
            self._process.wait(QUIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._wire.close()
        self._exchange.cleanup()

    def request(self, do: str, seconds: float = ANSWER_SECONDS, **order: Any) -> dict[str, Any]:
        """Ask the prober, and return its answer. Raises DeviceError where it has none within `seconds`."""
        try:
            number = self._say(do, order)
        except OSError as error:
            raise self._lost(do, str(error)) from error
        self._listen(seconds, do)
        answer: dict[str, Any] = json.loads(Path(self._exchange.name, f"{number}.answer").read_text("utf-8"))
        if not answer["ok"]:
            raise self._lost(do, answer["error"])
        return answer

    def _say(self, do: str, order: dict[str, Any]) -> int:
        self._number += 1
        request = Path(self._exchange.name, f"{self._number}.request")
        request.write_text(json.dumps({"do": do, **order}), "utf-8")
        self._wire.sendall(f"{self._number}\n".encode())
        return self._number

    def _listen(self, seconds: float, what: str) -> None:
        """Wait for one line: the prober says nothing but that it is ready, and which request it has answered."""
        deadline, heard = time.monotonic() + seconds, b""
        while not heard.endswith(b"\n"):
            self._wire.settimeout(max(0.01, deadline - time.monotonic()))
            try:
                piece = self._wire.recv(1)
            except TimeoutError as error:
                raise self._lost(what, f"no answer in {seconds:.0f} s") from error
            except OSError as error:
                raise self._lost(what, str(error)) from error
            if not piece:
                raise self._lost(what, "the kernel ended")
            heard += piece

    def _lost(self, what: str, why: str) -> DeviceError:
        tail = self._log.read_text("utf-8", errors="replace").strip().splitlines()[-3:] if self._log.exists() else []
        return DeviceError(self.name, what, "; ".join([why, *tail]))
