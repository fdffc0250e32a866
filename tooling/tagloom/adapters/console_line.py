"""Type lines at a switch's own console, over a serial line or telnet: for switches that have no SSH yet."""

from __future__ import annotations

import math
import re
import socket
import time
from typing import TYPE_CHECKING, Protocol, Self

import serial

from tagloom.errors import DeviceError
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.secrets import shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tagloom.platforms import Platform

BAUD = 9600  # confirmed for 5324, 54xx and 62xx: their console ports as they leave the factory
LINE_SECONDS = 120.0  # to make an RSA key takes an old switch a minute
_POLL_SECONDS = 0.2
_GREETING_SECONDS = 1.0
_QUIET_SECONDS = 3.0  # after which a prompt that a line of the switch's log has buried is asked for again
_PIECE_BYTES = 4096
_MOST_CHARACTERS = 1 << 20
_TELNET_PORT = 23
# RFC 854: options offered and asked for, what stands between SB and SE, other commands.
_TELNET = re.compile(rb"\xff(?:([\xfb-\xfe])(.)|\xfa.*?\xff\xf0|[\xf0-\xf9])", re.DOTALL)
_WILL, _WONT, _DO, _DONT = b"\xfb", b"\xfc", b"\xfd", b"\xfe"
_ECHO, _GO_AHEAD = b"\x01", b"\x03"  # RFC 857, 858: the switch may do both
_VIEWS = r"<[\w.-]{1,64}>|\[(?![yn]/)[\w./-]{1,128}\]"  # of Comware
_AT_PROMPT = rf"\n[^\S\n]*(?:[\w][\w .-]{{0,63}}(?:\([^)\n]{{0,64}}\))?[>#]|{_VIEWS}) ?"
_PROMPT, _BURIED = re.compile(_AT_PROMPT + "$", re.IGNORECASE), re.compile(_AT_PROMPT + r"\n", re.IGNORECASE)
_USER = re.compile(r"(?:user ?name|user|login) ?: ?$", re.IGNORECASE)
_PASSWORD = re.compile(r"password ?: ?$", re.IGNORECASE)
# A first login that is asked for other credentials than the factory's, in this order.
_OLD, _NEW_USER = re.compile(r"old password ?: ?$", re.IGNORECASE), re.compile(r"new user ?name ?: ?$", re.IGNORECASE)
_NEW = re.compile(r"(?:enter|confirm|re-?enter) (?:the )?(?:new )?password ?: ?$", re.IGNORECASE)
_YES_OR_NO = re.compile(r"[(\[]y/n[)\]](?:\s?\[[yn]\])?\s?[?:]?\s*$", re.IGNORECASE)
_MORE = re.compile(r"(?:More: <space>.{0,80}<return> ?|--More-- or \(q\)uit|---- More ----)$")
_LENGTH = re.compile(r"modulus length \[default ?= ?\d+:?\] ?:? ?$")  # of an RSA key, Comware
_BITS = "2048"
_QUESTIONS = (_PROMPT, _YES_OR_NO, _MORE, _NEW_USER, _USER, _OLD, _NEW, _PASSWORD, _LENGTH)
_STEERING = re.compile(r"\x1b\[[0-9;]{0,16}[A-Za-z]|[\x00\r]")


class Stream(Protocol):
    """Bytes to and from a console."""

    def read(self, seconds: float) -> bytes:
        """Return what has come, b"" where nothing comes in that time. Raises OSError, EOFError."""
        ...

    def write(self, data: bytes) -> None:
        """Send bytes. Raises OSError."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class SerialStream:
    """A serial line. Raises OSError where there is none."""

    def __init__(self, path: str, baud: int = BAUD) -> None:
        self._line = serial.Serial(path, baud, timeout=_POLL_SECONDS)

    def read(self, seconds: float) -> bytes:
        """Return what has come, b"" where nothing comes in that time."""
        self._line.timeout = seconds
        return bytes(self._line.read(max(1, self._line.in_waiting)))

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._line.write(data)

    def close(self) -> None:
        """Hang up."""
        self._line.close()


class TelnetStream:
    """A telnet session, which nobody keeps secret: the switch may echo, all else that it offers is declined."""

    def __init__(self, host: str, port: int, seconds: float) -> None:
        self._wire = socket.create_connection((host, port or _TELNET_PORT), seconds)
        self._unread = b""

    def read(self, seconds: float) -> bytes:
        """Return what has come, b"" where nothing comes in that time."""
        self._wire.settimeout(seconds)
        try:
            data = self._wire.recv(_PIECE_BYTES)
        except TimeoutError:
            return b""
        if not data:
            raise EOFError("the session was dropped")
        data, self._unread = self._unread + data, b""
        cut = data.rfind(b"\xff", -2)
        if cut >= 0 and not _TELNET.match(data, cut):  # a command that has not come whole
            data, self._unread = data[:cut], data[cut:]
        for said, option in _TELNET.findall(data):
            if said == _WILL:
                self.write(b"\xff" + (_DO if option in (_ECHO, _GO_AHEAD) else _DONT) + option)
            elif said == _DO:
                self.write(b"\xff" + _WONT + option)
        return _TELNET.sub(b"", data)

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._wire.sendall(data)

    def close(self) -> None:
        """Hang up."""
        self._wire.close()


def _question_of(text: str, begin: int = 0) -> re.Pattern[str] | None:
    """Return which of the patterns ends a text, looked for from `begin` on at the earliest."""
    begin = max(0, begin, len(text) - 256)
    return next((each for each in _QUESTIONS if each.search(text, begin)), None)


class ConsoleLine:
    """One conversation at a console; enter it to reach a prompt, logging in where the switch asks for that.

    Every method raises DeviceError, without secrets.
    """

    def __init__(self, name: str, platform: Platform, stream: Stream, user: str, password: str) -> None:
        self._name, self._stream, self._user, self._password = name, stream, user, password
        self._is_error = Grammar.of(platform).is_error
        self._factory_login = platform.factory_login
        self.renewed = False  # whether the first login made the inventory's user

    def __enter__(self) -> Self:
        """Reach a prompt: a set-up wizard is declined, a login is the inventory's, else the factory's, each given once.

        Where a switch wants other credentials than the factory's, they become the inventory's.
        """
        greeting = self._until_quiet("greeting", _GREETING_SECONDS)  # all of it, or it would be answered twice
        self._answer("n" if _YES_OR_NO.search(greeting) else "")
        given, user, password = 0, self._user, self._password
        while True:
            said, _ = self._until_question("login")
            said += self._until_quiet("login", _POLL_SECONDS)  # a Return typed before may have it asked once more
            question = _question_of(said)
            if question is None:
                continue
            if question is _PROMPT:
                return self
            if question is _YES_OR_NO:
                self._answer("n")
            elif question is _MORE:
                self._send(b"q", "login")
            elif question is _OLD:
                self._answer(password)
            elif question in (_NEW_USER, _NEW):
                self.renewed = True
                self._answer(self._user if question is _NEW_USER else self._password)
            elif question is _USER:
                if given and self._factory_login and (user, password) != self._factory_login:
                    user, password = self._factory_login
                elif given:
                    raise DeviceError(self._name, "login", "the console knows neither no login nor the inventory's")
                self._answer(user)
            else:
                given += 1
                self._answer(password)

    def __exit__(self, *_: object) -> None:
        """Hang up."""
        self._stream.close()

    def type(self, lines: Sequence[str]) -> None:
        """Type lines, say yes to what the switch asks, and end at the first that is refused."""
        for line in lines:
            self.ask(line)

    def ask(self, line: str) -> str:
        """Type a line, say yes to what the switch asks, and return its answer without pagers."""
        self._write(line)
        text, question = self._until_question(shown(line), line)
        said = text
        while question is not _PROMPT:
            if question is _MORE:
                said = _MORE.sub("", said)
                self._send(b" ", shown(line))
            elif question in (_YES_OR_NO, _LENGTH):
                self._write("y" if question is _YES_OR_NO else _BITS)
                said += "\n"
            else:
                raise DeviceError(self._name, shown(line), "asks for a login")
            text, question = self._until_question(shown(line))
            said += text.lstrip(" ")  # with which a pager writes over itself
        answer = said.partition("\n")[2].rpartition("\n")[0]
        if self._is_error(answer):
            raise DeviceError(self._name, shown(line), shown(answer))
        self._until_quiet(shown(line), _POLL_SECONDS / 2)  # the prompt of a Return that answered a single key
        return answer

    def _answer(self, word: str) -> None:
        """Answer a question of the login, such as for a password, which no error names."""
        self._send(word.encode() + b"\r", "login")

    def _write(self, line: str) -> None:
        self._send(line.encode() + b"\r", shown(line))

    def _send(self, data: bytes, what: str) -> None:
        try:
            self._stream.write(data)
        except OSError as error:
            raise DeviceError(self._name, what, f"the console is gone ({error})") from None

    def _read(self, what: str, seconds: float) -> str:
        try:
            return _STEERING.sub("", self._stream.read(seconds).decode("utf-8", "replace"))
        except (OSError, EOFError) as error:
            raise DeviceError(self._name, what, f"the console is gone ({error})") from None

    def _until_quiet(self, what: str, seconds: float) -> str:
        """Read until nothing comes for so long, and return it."""
        text, end = "", time.monotonic() + LINE_SECONDS
        while more := self._read(what, seconds):
            text += more
            if time.monotonic() > end or len(text) > _MOST_CHARACTERS:
                raise DeviceError(self._name, what, "the console is never quiet")
        return text

    def _until_question(self, what: str, echo: str = "") -> tuple[str, re.Pattern[str]]:
        """Read until the switch waits for something, and return what it said, and which of the patterns that is.

        A prompt begins a line: the echo of what was typed does not.
        """
        text, nudged, end, quiet_since = "", False, time.monotonic() + LINE_SECONDS, math.inf
        while time.monotonic() < end and len(text) < _MOST_CHARACTERS:
            more = self._read(what, _POLL_SECONDS)
            text += more
            if more:
                quiet_since = time.monotonic()
            elif not nudged and time.monotonic() - quiet_since > _QUIET_SECONDS and _BURIED.search(text):
                nudged = True
                self._write("")
            # What stands before the echo answers what was typed before; a console that garbles it is taken as it is.
            quiet = not more and time.monotonic() - quiet_since > _QUIET_SECONDS
            begun = text.find(echo)
            if begun < 0 and not quiet:
                continue
            if (question := _question_of(text, begun)) is not None:
                return text, question
        raise DeviceError(self._name, what, f"no prompt in {LINE_SECONDS:.0f} s: {shown(text)}")
