"""Start the ends of a measurement as processes: here, in a network namespace, or on hosts over SSH."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Self

from tagloom.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType

HERE = (sys.executable, "-P", "-m", "tagloom.cli")
END_SECONDS = 10.0
# BatchMode: keys only, never a password prompt. ServerAlive: a dead host is noticed.
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3")


def over_ssh(host: str, words: Sequence[str], ssh: Sequence[str] = SSH) -> list[str]:
    """Return the command line that runs a command on a host.

    >>> over_ssh("n1", ["tagloom", "measure", "--listen", "[::1]:0"], ["ssh"])
    ['ssh', '--', 'n1', "tagloom measure --listen '[::1]:0'"]
    """
    return [*ssh, "--", host, shlex.join(words)]


def in_namespace(namespace: str, words: Sequence[str]) -> list[str]:
    """Return the command line that runs a command in a network namespace."""
    return ["ip", "netns", "exec", namespace, *words]


class Listening:
    """The listening side of one measurement, as a process for the context's duration; `place` is where it listens.

    Raises DeviceError with the process's output if it does not start.
    """

    def __init__(self, name: str, words: Sequence[str]) -> None:
        self._name, self._words = name, list(words)
        self.place: tuple[str, int] = ("", 0)

    def __enter__(self) -> Self:
        try:
            self._process = subprocess.Popen(
                self._words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                encoding="utf-8",
            )
        except OSError as error:
            raise DeviceError(self._name, shlex.join(self._words), str(error)) from None
        text = ""
        assert self._process.stdout is not None  # noqa: S101 - it is a pipe
        for line in self._process.stdout:
            text += line
            try:
                payload = json.loads(text)
                self.place = str(payload["listening"][0]), int(payload["listening"][1])
            except (ValueError, LookupError, TypeError):
                continue
            return self
        said = self._end()
        raise DeviceError(self._name, shlex.join(self._words), said.strip() or text.strip() or "it said nothing")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _end(self) -> str:
        self._process.terminate()
        try:
            _, said = self._process.communicate(timeout=END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, said = self._process.communicate()
        return str(said)


def answer_of(name: str, words: Sequence[str]) -> dict[str, Any]:
    """Return the JSON output of a connecting side run elsewhere. Raises DeviceError if there is none."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", check=False
        )
        payload: dict[str, Any] = json.loads(done.stdout)
    except OSError as error:
        raise DeviceError(name, shlex.join(words), str(error)) from None
    except ValueError:
        said = done.stderr.strip() or f"exit status {done.returncode} and no answer"
        raise DeviceError(name, shlex.join(words), said) from None
    return payload
