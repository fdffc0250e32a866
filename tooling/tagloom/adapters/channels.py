"""Carry the bytes of a conversation by netmiko's channels: SSH, telnet, a serial line."""

from __future__ import annotations

import contextlib
import select
from typing import TYPE_CHECKING, Any, Protocol

import serial
from netmiko import ConnectHandler
from netmiko.channel import SerialChannel, SSHChannel, TelnetChannel

if TYPE_CHECKING:
    from collections.abc import Callable

BAUD = 9600  # confirmed for 5324, 54xx and 62xx: their console ports as they leave the factory
_TELNET_PORT = 23
_PIECE_BYTES = 65536
_UTF_8 = "utf-8"
# RFC 854: what the far end offers, and is asked for; RFC 857, 858: echo, go-ahead.
_WILL, _WONT, _DO, _DONT, _IAC = b"\xfb", b"\xfc", b"\xfd", b"\xfe", b"\xff"
_TAKEN = (b"\x01", b"\x03")


class Channel(Protocol):
    """What carries a conversation's bytes."""

    heard: Callable[[bytes], object]

    def read_bytes(self) -> bytes:
        """Return what has come, b"" for nothing yet. Raises EOFError, OSError where nothing more can come."""
        ...

    def write_channel(self, out_data: str) -> None:
        """Send characters."""
        ...

    def wait(self, seconds: float) -> None:
        """Wait so long at most until there is something to read."""
        ...

    @property
    def is_open(self) -> bool:
        """Return whether nobody has hung up, as far as this end knows."""
        ...


class ConsoleChannel(Channel, Protocol):
    """What carries the bytes of a console, which takes a carriage return for the end of a line."""

    def close(self) -> None:
        """Hang up."""
        ...


class OnePiece(SSHChannel):
    """netmiko's channel, read one piece at a time: its own reads on for as long as the switch goes on to send."""

    heard: Callable[[bytes], object] = staticmethod(len)

    def read_bytes(self) -> bytes:
        """Return what has come, b"" for nothing yet. Raises EOFError where nothing more can come."""
        channel = self.remote_conn
        hung_up = channel is None or channel.closed or channel.eof_received
        if channel is not None and channel.recv_ready():
            data = bytes(channel.recv(_PIECE_BYTES))
            self.heard(data)
            return data
        if hung_up:
            raise EOFError("the session was dropped")
        return b""

    def read_channel(self) -> str:
        """Return what has come, as characters."""
        return self.read_bytes().decode(self.encoding, "ignore")

    def wait(self, seconds: float) -> None:
        """Wait until the switch has said more or hung up: to receive no bytes waits as to receive some does."""
        channel = self.remote_conn
        if channel is None:
            return
        before = channel.gettimeout()
        channel.settimeout(max(seconds, 0.001))
        with contextlib.suppress(TimeoutError):
            channel.recv(0)
        channel.settimeout(before)

    @property
    def is_open(self) -> bool:
        """Return whether nobody has hung up, as far as this end knows."""
        channel = self.remote_conn
        return channel is not None and not (channel.closed or channel.eof_received)


class TelnetLine(TelnetChannel):
    """netmiko's telnet channel, read one piece at a time; nobody keeps secret what goes over it.

    The switch may echo, which netmiko's driver declines: a console server that keeps to the standard would then show
    nothing of what is typed. All else that is offered or asked for is declined.
    """

    def __init__(self, host: str, port: int, seconds: float) -> None:
        """Connect, within so many seconds. Raises OSError."""
        driver: Any = ConnectHandler(
            device_type="generic_telnet", host=host, port=port or _TELNET_PORT, conn_timeout=seconds, auto_connect=False
        )
        driver.telnet_login = lambda *_, **__: ""  # it says yes to a set-up wizard, and takes banners for prompts
        driver.establish_connection()
        super().__init__(driver.remote_conn, _UTF_8)
        self._telnet: Any = driver.remote_conn
        self._telnet.set_option_negotiation_callback(_negotiate)
        self.heard: Callable[[bytes], object] = len

    def read_bytes(self) -> bytes:
        """Return what has come, b"" for nothing yet. Raises EOFError, OSError where nothing more can come."""
        telnet = self._telnet
        if telnet.get_socket() is None:
            raise EOFError("the session was dropped")
        if telnet.sock_avail():
            telnet.fill_rawq()
            telnet.process_rawq()
            telnet.read_sb_data()  # what is said of options, and kept by nobody
        data = bytes(telnet.read_very_lazy())
        self.heard(data)
        return data

    def read_channel(self) -> str:
        """Return what has come, as characters."""
        return self.read_bytes().decode(self.encoding, "ignore")

    def write_channel(self, out_data: str) -> None:
        """Send characters, a carriage return for the end of a line."""
        super().write_channel(_returns(out_data))

    def wait(self, seconds: float) -> None:
        """Wait until there is something to read."""
        if self.is_open:
            _is_gone(self._telnet.fileno(), seconds)

    @property
    def is_open(self) -> bool:
        """Return whether nobody has hung up, as far as this end knows."""
        return self._telnet.get_socket() is not None and not self._telnet.eof

    def close(self) -> None:
        """Hang up."""
        self._telnet.close()


class SerialLine(SerialChannel):
    """netmiko's channel over a serial line, read one piece at a time.

    netmiko's own drivers of serial lines refuse one that the system does not list, such as a pseudo-terminal of a
    console server, and there are none but Cisco's.
    """

    def __init__(self, path: str, baud: int = BAUD) -> None:
        """Open the line. Raises OSError where there is none."""
        self._line = serial.Serial(path, baud, timeout=0.0)
        super().__init__(self._line, _UTF_8)
        self._gone = False
        self.heard: Callable[[bytes], object] = len

    def read_bytes(self) -> bytes:
        """Return what has come, b"" for nothing yet. Raises EOFError, OSError where nothing more can come."""
        waiting = self._line.in_waiting
        if not waiting and self._gone:
            raise EOFError("the line is gone")
        data = bytes(self._line.read(min(waiting, _PIECE_BYTES))) if waiting else b""
        self.heard(data)
        return data

    def read_channel(self) -> str:
        """Return what has come, as characters."""
        return self.read_bytes().decode(self.encoding, "ignore")

    def write_channel(self, out_data: str) -> None:
        """Send characters, a carriage return for the end of a line."""
        super().write_channel(_returns(out_data))

    def wait(self, seconds: float) -> None:
        """Wait until there is something to read, or nobody is there any more."""
        self._gone = _is_gone(self._line.fileno(), seconds)

    @property
    def is_open(self) -> bool:
        """Return whether nobody has hung up, as far as this end knows."""
        return bool(self._line.is_open) and not self._gone

    def close(self) -> None:
        """Hang up."""
        self._line.close()


def _returns(text: str) -> str:
    return text.replace("\r\n", "\r").replace("\n", "\r")


def _negotiate(wire: Any, said: bytes, option: bytes) -> None:
    """Answer an offer, or a wish."""
    if said == _WILL:
        wire.sendall(_IAC + (_DO if option in _TAKEN else _DONT) + option)
    elif said == _DO:
        wire.sendall(_IAC + _WONT + option)


def _is_gone(number: int, seconds: float) -> bool:
    """Wait so long at most until a file can be read; return whether it never will be."""
    waiting = select.poll()
    waiting.register(number, select.POLLIN)
    events = waiting.poll(max(seconds, 0.001) * 1000)
    return any(event & (select.POLLHUP | select.POLLERR) and not event & select.POLLIN for _, event in events)
