"""Bound what one switch may cost: the bytes and seconds of its connection, and of each of its answers."""

from __future__ import annotations

import codecs
import errno
import re
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

# Control sequences of ECMA-48 (CSI), its strings (OSC, DCS, SOS, PM, APC) and shorter ones, in 7 and in 8 bits. All are
# bounded, so that to look for the end of one costs no more than so many characters.
_CSI = r"(?:\x1b\[|\x9b)[0-?]{0,64}[ -/]{0,8}"
_STRING = r"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]{0,256}"
_SHORT = r"\x1b[ -/]{0,8}"
_SEQUENCES = re.compile(rf"{_CSI}[@-~]|{_STRING}(?:\x07|\x1b\\|\x9c)|{_SHORT}[0-Z\\^-~]")
_BEGUN = re.compile(rf"(?:{_CSI}|{_STRING}\x1b?|{_SHORT}|\r{{1,3}})\Z")
_BEGUN_CHARACTERS = 260  # no longer is what `_BEGUN` may find
_INTRODUCERS = re.compile(r"[\x1b\x90\x98\x9b\x9d-\x9f\r]")
_LINE_ENDS = re.compile(r"\r{1,3}\n|\n\r|\r")  # as netmiko reads them


class MeteredSocket:
    """A TCP connection that ends itself where the far end sends more, or takes longer, than it may.

    `seconds` and `limit` bound the login; `allow` gives what follows it another number of bytes and no deadline, since
    every answer has its own. `why` says what ended the connection, "" where nothing did. paramiko uses this as the
    socket it would open itself; its own reads know no bound for a version line, a packet or a request that nobody
    answers.
    """

    def __init__(
        self, address: tuple[str, int], seconds: float, limit: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.why = ""
        self._clock, self._seconds = clock, seconds
        self._deadline: float | None = clock() + seconds
        self._limit = self._left = limit
        self._socket = socket.create_connection(address, timeout=seconds)

    def allow(self, limit: int) -> None:
        """End the deadline, and count `limit` bytes from here on."""
        self._deadline = None
        self._limit = self._left = limit

    def recv(self, size: int) -> bytes:
        """Return what has come, as socket.recv. Raises ConnectionAbortedError beyond what is allowed."""
        if self._deadline is not None and self._clock() > self._deadline:
            self._end(f"the login took more than {self._seconds:.0f} s")
        data = self._socket.recv(size)
        self._left -= len(data)
        if self._left < 0:
            self._end(f"it sent more than {self._limit:,} bytes")
        return data

    def _end(self, why: str) -> None:
        self.why = self.why or why
        raise ConnectionAbortedError(errno.ECONNABORTED, self.why)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)


@dataclass(slots=True)
class Allowance:
    """What one answer may cost: `seconds` until `deadline`, on the monotonic clock, and `left` bytes of `limit`.

    `over` says that the deadline has passed and what had come by then was taken.
    """

    seconds: float
    limit: int
    deadline: float = field(init=False)
    left: int = field(init=False)
    over: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self.deadline, self.left = time.monotonic() + self.seconds, self.limit


class TerminalText:
    """Text from the bytes of a terminal, piece by piece: line ends as line feeds, control sequences and NULs left out.

    What may be the beginning of a sequence or a line end stays behind until the next piece.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._kept = ""

    def feed(self, data: bytes) -> str:
        """Return the text of the next bytes."""
        text = self._kept + self._decode(data)
        self._kept = ""
        if not _INTRODUCERS.search(text) and "\0" not in text:
            return text
        text = _SEQUENCES.sub("", text.replace("\0", ""))
        if begun := _BEGUN.search(text, max(0, len(text) - _BEGUN_CHARACTERS)):
            text, self._kept = text[: begun.start()], begun[0]
        return _LINE_ENDS.sub("\n", text)
