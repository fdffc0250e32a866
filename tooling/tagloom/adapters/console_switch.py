"""Talk to one switch at its own console, over a serial line or telnet, as over SSH."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.adapters.greeting import TAIL, WAITS
from tagloom.adapters.ssh import SshSwitch

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.adapters.console_line import Stream
    from tagloom.adapters.ssh import Access
    from tagloom.platforms import Platform

_NOW_SECONDS = 0.001  # a telnet socket that may not wait at all raises another error
_GREETING_SECONDS = 1.0


class _StreamChannel:
    """A console's stream as the channel of a conversation; it takes a carriage return for the end of a line."""

    def __init__(self, stream: Stream, heard: Callable[[bytes], object]) -> None:
        self._stream, self._heard = stream, heard
        self._come = b""
        self.is_open = True

    def read_bytes(self) -> bytes:
        """Return what has come. Raises EOFError, OSError where nothing more can."""
        self._take(_NOW_SECONDS)
        data, self._come = self._come, b""
        self._heard(data)
        return data

    def write_channel(self, out_data: str) -> None:
        """Send characters."""
        self._stream.write(out_data.replace("\n", "\r").encode())

    def wait(self, seconds: float) -> None:
        """Wait so long at most until there is something to read."""
        self._take(max(seconds, _NOW_SECONDS))

    def _take(self, seconds: float) -> None:
        try:
            self._come += b"" if self._come else self._stream.read(seconds)
        except (OSError, EOFError):
            self.is_open = False
            raise


class ConsoleSwitch(SshSwitch):
    """Speak to a switch at its console; every line is looked at before Return, since a serial line loses characters.

    `stream` opens the line, and raises what it raises where there is none.
    """

    def __init__(self, name: str, platform: Platform, access: Access, stream: Callable[[], Stream]) -> None:
        super().__init__(name, platform, replace(access, careful=True))
        self._open_stream = stream
        self._stream: Stream | None = None

    def _open(self) -> None:
        self._stream = self._open_stream()
        self._channel = _StreamChannel(self._stream, self.heard)

    def _log_in(self) -> None:
        """Wake the console where it does not greet: a serial line says nothing of itself."""
        allowance = self._allowance(self._access.login_seconds)
        said = self._until_quiet("login", allowance, _GREETING_SECONDS)
        if WAITS.search(said, max(0, len(said) - TAIL)):
            self._unread = said
        else:
            self._write("\n", "login")
        super()._log_in()

    def _hang_up(self) -> None:
        super()._hang_up()
        if self._stream is not None:
            self._stream.close()
            self._stream = None
