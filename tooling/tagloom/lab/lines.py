"""Put a switch's console on a telnet port of the loopback interface and on a pseudo-terminal, as a serial line is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import socket
import tty
from typing import TYPE_CHECKING

from tagloom.lab.directory import LOOPBACK
from tagloom.lab.manners import Mannered
from tagloom.lab.server import mannered, new_console

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.lab.console import Console
    from tagloom.lab.device import Device
    from tagloom.lab.routeros_console import RouterOsConsole
    from tagloom.lab.server import Wire
    from tagloom.lab.shell_console import ShellConsole

_PIECE_BYTES = 4096
_TICK_SECONDS = 1e-5  # between two pieces: a loop does not keep the order of what is due at once
# RFC 854: commands of two bytes, of three, and what stands between SB and SE. RFC 857, 858: I echo, nobody goes ahead.
_TELNET = re.compile(rb"\xff(?:[\xfb-\xfe].|\xfa.*?\xff\xf0|[\xf0-\xf9])", re.DOTALL)
_GREETING = b"\xff\xfb\x01\xff\xfb\x03"


def _arrived(console: Console | ShellConsole | RouterOsConsole | Mannered, keys: str) -> str:
    return console.arrives(keys) if isinstance(console, Mannered) else keys


class _Screen:
    """What a session shows, piece by piece as its manner has it."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write, self._free = write, 0.0

    def show(self, console: Console | ShellConsole | RouterOsConsole | Mannered, text: str) -> None:
        """Show a text behind all that is still to be shown."""
        if not isinstance(console, Mannered):
            self._write(text.encode())
            return
        loop = asyncio.get_running_loop()
        for seconds, piece in console.pieces(text):
            self._free = max(loop.time(), self._free) + max(seconds, _TICK_SECONDS)
            loop.call_at(self._free, self._write, piece.encode())


class _Telnet(asyncio.Protocol):
    """One telnet session; options are taken and not answered."""

    def __init__(self, device: Device, wires: set[Wire]) -> None:
        self._console, self._wires, self._device = mannered(device, new_console(device, serial=True)), wires, device
        self._screen = _Screen(self._write)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Greet, unless the switch is down."""
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - of a connection
        self._transport = transport
        if self._device.down:
            transport.abort()
            return
        self._wires.add(transport)
        transport.write(_GREETING)
        self._screen.show(self._console, self._console.start())

    def _write(self, data: bytes) -> None:
        if not self._transport.is_closing():
            self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        """Answer keys; Return comes with a NUL or a line feed behind it (RFC 854)."""
        keys = _TELNET.sub(b"", data).replace(b"\r\0", b"\r")
        arrived = _arrived(self._console, keys.decode("utf-8", "replace"))
        self._screen.show(self._console, self._console.feed(arrived))
        if self._console.closed:
            self._transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Hang up."""
        del exc
        self._console.close()
        self._wires.discard(self._transport)


class Lines:
    """A switch's telnet port and its serial line, which always has a session: one that ends, or a reboot, begins anew.

    Raises OSError where the system has no more of either.
    """

    def __init__(self, device: Device, wires: set[Wire]) -> None:
        self._device, self._wires, loop = device, wires, asyncio.get_running_loop()
        self._ours, self._theirs = os.openpty()
        tty.setraw(self._theirs)
        self.path = os.ttyname(self._theirs)
        os.set_blocking(self._ours, False)  # what nobody reads is lost, as on a real line
        self._screen = _Screen(self._write)
        self._begin()
        loop.add_reader(self._ours, self._keys)
        self._wires.add(self)
        listening = socket.create_server((LOOPBACK, 0))
        self.port = int(listening.getsockname()[1])
        self._server = loop.create_task(loop.create_server(lambda: _Telnet(device, wires), sock=listening))

    def _keys(self) -> None:
        with contextlib.suppress(OSError):
            keys = os.read(self._ours, _PIECE_BYTES).decode("utf-8", "replace")
            if self._device.down:
                return
            self._screen.show(self._console, self._console.feed(_arrived(self._console, keys)))
            if self._console.closed:
                self._begin()

    def abort(self) -> None:
        """Begin a new session: the switch has booted, or the last one was left."""
        self._console.close()
        self._begin()

    def _begin(self) -> None:
        self._console = mannered(self._device, new_console(self._device, serial=True))
        self._screen.show(self._console, self._console.start())

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._ours, data)

    def close(self) -> None:
        """Close both."""
        asyncio.get_running_loop().remove_reader(self._ours)
        os.close(self._ours)
        os.close(self._theirs)
        if self._server.done():
            self._server.result().close()
        self._wires.discard(self)
