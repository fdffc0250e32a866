"""Talk to one switch at its own console, over a serial line or telnet, as over SSH."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.adapters.greeting import TAIL, WAITS
from tagloom.adapters.routeros import GREETED, RouterOsGreeting, RouterOsSwitch
from tagloom.adapters.ssh import Session, SshSwitch
from tagloom.errors import DeviceError
from tagloom.platforms.secrets import shown

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Sequence

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
        self._stream.write(out_data.replace("\r\n", "\r").replace("\n", "\r").encode())

    def wait(self, seconds: float) -> None:
        """Wait so long at most until there is something to read."""
        self._take(max(seconds, _NOW_SECONDS))

    def _take(self, seconds: float) -> None:
        try:
            self._come += b"" if self._come else self._stream.read(seconds)
        except (OSError, EOFError):
            self.is_open = False
            raise


class _AtConsole(Session):
    """A session over a console's stream, which it wakes: a serial line says nothing of itself."""

    _open_stream: Callable[[], Stream]
    _stream: Stream | None = None

    def _open(self) -> None:
        self._stream = self._open_stream()
        self._channel = _StreamChannel(self._stream, self.heard)

    def _wake(self, waits: re.Pattern[str], keys: str) -> None:
        allowance = self._allowance(self._access.login_seconds)
        said = self._until_quiet("login", allowance, _GREETING_SECONDS)
        if waits.search(said, max(0, len(said) - TAIL)):
            self._unread = said
        else:
            self._write(keys, "login")

    def _hang_up(self) -> None:
        super()._hang_up()
        if self._stream is not None:
            self._stream.close()
            self._stream = None


class ConsoleSwitch(_AtConsole, SshSwitch):
    """Speak to a switch at its console; every line is looked at before Return, since a serial line loses characters.

    `stream` opens the line, and raises what it raises where there is none.
    """

    def __init__(self, name: str, platform: Platform, access: Access, stream: Callable[[], Stream]) -> None:
        super().__init__(name, platform, replace(access, careful=True))
        self._open_stream = stream

    def _log_in(self) -> None:
        self._wake(WAITS, "\n")
        super()._log_in()


class RouterOsConsole(_AtConsole, RouterOsSwitch):
    """Speak to a RouterOS switch at its console, as the inventory's user, or as the factory's where it knows none.

    `factory` is the user and password that it has from its factory. Whose password it wants to be another then gets the
    inventory's: `renewed`.
    """

    def __init__(
        self, name: str, platform: Platform, access: Access, stream: Callable[[], Stream], factory: tuple[str, str]
    ) -> None:
        super().__init__(name, platform, access)
        self._open_stream, self._factory = stream, factory
        self.renewed = False

    def type(self, lines: Sequence[str]) -> None:
        """Type lines, and end at the first that is refused. Raises DeviceError, without secrets."""
        for line in lines:
            try:
                self.send([line])
            except DeviceError as error:
                raise DeviceError(self.name, shown(line), error.text) from None

    def _log_in(self) -> None:
        self._wake(GREETED, "\r\n")
        own = self._access.user, self._access.password
        logins = dict.fromkeys((own, self._factory, (self._factory[0], self._access.password)))
        greeting = RouterOsGreeting(self.name, tuple(logins), self._access.password)
        self._greet(greeting)
        self.renewed = greeting.renewed
