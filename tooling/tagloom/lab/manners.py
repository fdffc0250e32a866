"""Have a console behave as real ones do: slow, wrapped, paged, with banners and questions, losing characters."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError, one_of
from tagloom.lab.returns import Returns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tagloom.lab.console import Console
    from tagloom.lab.faults import Fault
    from tagloom.lab.routeros_console import RouterOsConsole
    from tagloom.lab.shell_console import ShellConsole

_RETURN = "\r\n"
_WIDTH = 40  # columns of a narrow terminal
_LOG = "01-Jan-2000 00:00:01 %LINK-I-Up:  g1"
_BANNER = ("*" * 60, "*  Property of the plant. Every word typed here is kept.  *", "*" * 60)
_LIKE_PROMPTS = ("==>", "Read the rules, then go on ->", "welcome to s0#", "ticket #", "########", "s0>")
_LIKE_QUESTIONS = (
    "Never tell anybody your Password:",
    "User Name:",
    "login:",
    "Do you agree (Y/N)[N] ?",
    "Press any key",
)
_NAME, _PASSWORD, _YES_OR_NO, _KEY = "name", "password", "yes or no", "key"
_UART_KEEPS = 16  # characters
_LOST_SHARE = 1 / 150
_LOST_RETURNS = 1 / 8
_PIECE, _PIECE_SECONDS = 48, 0.025  # of a line of 19,200 baud
_PAUSE_SECONDS = 0.4
_LATE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Manner:
    """One way of behaving; what a field does not name is as without it.

    greeting   lines shown before the first prompt or question
    motd       lines shown after a login, before the prompt, a moment later
    asks       what is asked before the console begins, and which answer goes on
    answer     what an answer becomes, from it, its prompt apart, and that prompt
    echo       what the echo of a line's last key becomes, from the line so far and its prompt
    typed      what arrives of the keys that came at once
    pieces     the seconds before each piece of what is shown, and the piece
    family     what the family prints otherwise
    of_shells  whether a Linux machine's shell can have it
    """

    about: str
    greeting: tuple[str, ...] = ()
    motd: tuple[str, ...] = ()
    asks: tuple[tuple[str, str], ...] = ()
    asks_to_enable: bool = False
    answer: Callable[[str, str], str] | None = None
    echo: Callable[[str, str], str] | None = None
    typed: Callable[[str, random.Random], str] | None = None
    pieces: Callable[[str, str], Iterator[tuple[float, str]]] | None = None
    family: tuple[tuple[str, Any], ...] = ()
    of_shells: bool = False


def _slowly(text: str, _prompt: str) -> Iterator[tuple[float, str]]:
    for at in range(0, len(text), _PIECE):
        yield _PIECE_SECONDS, text[at : at + _PIECE]


def _bytewise(text: str, _prompt: str) -> Iterator[tuple[float, str]]:
    for key in text:
        yield 0.0, key


def _with_a_pause(text: str, _prompt: str) -> Iterator[tuple[float, str]]:
    half = len(text) // 2 if len(text) > _WIDTH else 0
    if half:
        yield 0.0, text[:half]
    yield _PAUSE_SECONDS if half else 0.0, text[half:]


def _prompt_late(text: str, prompt: str) -> Iterator[tuple[float, str]]:
    body = text.removesuffix(prompt)
    late = body != text and "\n" in body
    yield 0.0, body if late else text
    if late:
        yield _LATE_SECONDS, prompt


def _coloured(body: str, prompt: str) -> str:
    return f"{body}\x1b]0;{prompt}\x07\x1b[1;32m{prompt}\x1b[0m" if prompt else body


def _behind_a_log(body: str, prompt: str) -> str:
    return f"{body}{prompt}{_LOG}{_RETURN}" if prompt else body


def _among_logs(body: str, prompt: str) -> str:
    head, newline, tail = body.partition(_RETURN)
    return f"{head}{newline}{_LOG}{_RETURN}{tail}{_LOG}{_RETURN}{prompt}" if prompt and newline else body + prompt


def _wrapped(blank: str) -> Callable[[str, str], str]:
    def echo(line: str, prompt: str) -> str:
        full = (len(prompt) + len(line)) % _WIDTH == 0
        return line[-1] + (blank if full else "")

    return echo


def _scrolled(line: str, prompt: str) -> str:
    room = _WIDTH - len(prompt)
    if len(line) <= room:
        return line[-1]
    return f"\r{prompt}${line[-room // 2 :]}\x1b[K" if len(line) % (room // 2) == 0 else line[-1]


def _redrawn(line: str, prompt: str) -> str:
    return f"\r{prompt}{line}\x1b[K"


def _ahead_lost(keys: str, _chance: random.Random) -> str:
    line, end, _ = re.split(r"(\r\n|\r|\n)", keys, maxsplit=1) if re.search(r"[\r\n]", keys) else (keys, "", "")
    return line + end


def _some_lost(keys: str, chance: random.Random) -> str:
    return "".join(key for key in keys if not key.isprintable() or chance.random() > _LOST_SHARE)


def _returns_lost(keys: str, chance: random.Random) -> str:
    kept = keys[:_UART_KEEPS]
    line = kept.rstrip("\r\n")
    return line if line.endswith("q") and chance.random() < _LOST_RETURNS else kept


def _pager(text: str, wipe: str = "") -> tuple[tuple[str, Any], ...]:
    """Return a family whose pages end so and cannot be had whole."""
    return (
        ("paging_off", ""),
        ("paging_on", ""),
        *((("pager", text), ("pager_wipe", wipe or "\r" + " " * len(text) + "\r")) if text else ()),
    )


MANNERS = {
    "slow": Manner("shows 2,000 characters a second", pieces=_slowly, of_shells=True),
    "byte-by-byte": Manner("shows each character by itself", pieces=_bytewise, of_shells=True),
    "pauses": Manner("stops for a moment in the middle of an answer", pieces=_with_a_pause, of_shells=True),
    "late-prompt": Manner("shows its prompt a moment after each answer", pieces=_prompt_late),
    "coloured": Manner("colours its prompt, and sets the terminal's title", answer=_coloured),
    "clears": Manner(
        "steers the cursor before each prompt", answer=lambda b, p: f"{b}\r\n\r\r\x1b[K\x1b[6n{p}" if p else b
    ),
    "two-prompts": Manner("shows its prompt twice", answer=lambda b, p: f"{b}{p}{_RETURN}{p}" if p else b),
    "blank-lines": Manner(
        "puts blank lines around answers", answer=lambda b, p: f"\r\n \r\n{b}\r\n  \r\n{p}" if p else b
    ),
    "nuls": Manner("sends a NUL behind each carriage return", answer=lambda b, p: (b + p).replace("\r", "\r\0")),
    "carriage-returns": Manner(
        "ends lines with two carriage returns", answer=lambda b, p: (b + p).replace("\r\n", "\r\r\n")
    ),
    "bells": Manner("rings before each answer", answer=lambda b, p: f"\a{b}\a{p}" if p else b),
    "log-lines": Manner("writes its log into answers", answer=_among_logs),
    "log-behind-prompt": Manner("writes its log over its prompt, and shows none again", answer=_behind_a_log),
    "wrapped": Manner("breaks what is typed at 40 columns", echo=_wrapped(_RETURN)),
    "wrapped-by-blank": Manner("breaks what is typed at 40 columns with a blank", echo=_wrapped(" \r")),
    "scrolled": Manner("shows the end of a long line alone, behind a $", echo=_scrolled),
    "redrawn": Manner("draws the whole line again at each key", echo=_redrawn),
    "paged": Manner("shows page after page, and cannot be told not to", family=_pager("")),
    "paged-by-cr": Manner(
        "shows pages, in newer words", family=_pager("More: <space>,  Quit: q or CTRL+Z, One line: <CR> ")
    ),
    "paged-by-more": Manner(
        "shows pages that end with --More--", family=_pager("--More--", "\b" * 8 + " " * 8 + "\b" * 8)
    ),
    "paged-by-key": Manner("shows pages that wait for any key", family=_pager("Press any key to continue (Q to quit)")),
    "banner": Manner("greets with a banner", greeting=_BANNER, of_shells=True),
    "banner-like-prompts": Manner("greets with lines like prompts", greeting=_LIKE_PROMPTS, of_shells=True),
    "banner-like-questions": Manner("greets with lines like questions", greeting=_LIKE_QUESTIONS, of_shells=True),
    "message-of-the-day": Manner(
        "shows a message a moment after the login",
        motd=(*_BANNER, *_LIKE_PROMPTS),
        pieces=_with_a_pause,
        of_shells=True,
    ),
    "asks-name": Manner(
        "asks who it is inside the session too", asks=(("User Name:", _NAME), ("Password:", _PASSWORD))
    ),
    "asks-name-twice": Manner(
        "asks for the name, and again, inside the session",
        asks=(("User Name:", _NAME), ("User Name:", _NAME), ("Password:", _PASSWORD)),
    ),
    "asks-small": Manner("asks in small letters", asks=(("login: ", _NAME), ("password: ", _PASSWORD))),
    "any-key": Manner("waits for a key before all else", asks=(("Press any key to continue", _KEY),)),
    "new-password": Manner(
        "offers to change the password", asks=(("Do you want to change the password (Y/N)[N] ?", _YES_OR_NO),)
    ),
    "wizard": Manner(
        "offers its set-up wizard",
        asks=(("Would you like to enter the Setup Wizard (you must answer within 60 seconds)? (Y/N)[Y] ", _YES_OR_NO),),
    ),
    "asks-to-enable": Manner("wants the password again for enable", asks_to_enable=True),
    "loses-typed-ahead": Manner("loses what is typed before it has answered", typed=_ahead_lost),
    "loses-of-bursts": Manner("loses what comes at once, but 16 characters", typed=lambda keys, _: keys[:_UART_KEEPS]),
    "loses-returns": Manner(
        "loses what comes at once, but 16 characters, and sometimes the Return after an unknown word",
        typed=_returns_lost,
    ),
    "loses-some-typed": Manner("loses a typed character now and then", typed=_some_lost),
    "loses-some-shown": Manner(
        "shows a part of what is typed", echo=lambda line, _: "" if len(line) % 6 == 4 else line[-1]
    ),
}


def manner(name: str, *, shell: bool) -> Manner:
    """Return a manner. Raises InputError where there is none of that name, or none that a shell can have."""
    names = [each for each, found in MANNERS.items() if found.of_shells or not shell]
    if name not in names:
        raise InputError([Finding("manner", one_of(names, name), name)])
    return MANNERS[name]


class Mannered:
    """A console that has a manner; all else is the console's own."""

    def __init__(self, console: Console | ShellConsole | RouterOsConsole, own: Manner) -> None:
        from tagloom.lab.console import Console  # noqa: PLC0415 - the help lists manners, and needs no console

        self._console, self._manner = console, own
        self._chance = random.Random(1)  # noqa: S311 - replays, guards nothing
        self._asks = list(own.asks)
        self._began = False
        self._line = ""  # what is typed since the last Return
        self._returns = Returns()
        self._asked_to_enable = False
        if isinstance(console, Console) and own.family:
            console.family = replace(console.family, **dict(own.family))

    @property
    def closed(self) -> bool:
        """Return whether the switch has hung up."""
        return self._console.closed

    @property
    def pause_seconds(self) -> float:
        """Return how long the switch thinks before it takes the next line."""
        return self._console.pause_seconds

    def due(self, typed: str) -> Fault | None:
        """Return which fault strikes at the line that `typed` completes."""
        return self._console.due(typed) if self._began else None

    def instead(self, kind: str) -> None:
        """Answer the next line with the family's error, or as if it were done."""
        self._console.instead(kind)

    def close(self) -> None:
        """Hang up."""
        self._console.close()

    def arrives(self, keys: str) -> str:
        """Return what arrives of the keys that came at once."""
        return self._manner.typed(keys, self._chance) if self._manner.typed else keys

    def pieces(self, text: str) -> Iterator[tuple[float, str]]:
        """Return what is shown, piece by piece, and how long each takes to come."""
        if self._manner.pieces is None:
            yield 0.0, text
        else:
            yield from self._manner.pieces(text, self._console.waits_with)

    def start(self) -> str:
        """Greet."""
        shown = "".join(f"{line}{_RETURN}" for line in self._manner.greeting)
        if shown and not self._manner.of_shells:
            shown = _RETURN + shown
        return shown + (_RETURN + self._asks[0][0] if self._asks else self._begin())

    def _begin(self) -> str:
        self._began = True
        text = "".join(f"{line}{_RETURN}" for line in self._manner.motd)
        shown = self._console.start()
        if any(kind == _PASSWORD for _, kind in self._manner.asks) and not self._console.at_prompt:
            (user, password), *_ = self._console.device.users.items()  # one dialog is enough
            self._console.feed(f"{user}\n")
            shown = self._console.feed(f"{password}\n").lstrip("*")
        return text + self._answered(shown)

    def feed(self, keys: str) -> str:
        """Take keys, and return what the screen shows for them."""
        return "".join(self._key(key) for key in keys if not self.closed)

    def _key(self, key: str) -> str:
        if self._returns.is_second(key):
            return ""
        if self._asks:
            return self._asked(key)
        if self._asked_to_enable or (
            (self._manner.asks_to_enable or self._console.device.enable_password)
            and key in "\r\n"
            and self._line == "enable"
            and self._console.waits_with[-2:] != "# "
        ):
            return self._enable(key)
        waits = self._console.waits_with
        shown = self._console.feed(key)
        if shown == key and key.isprintable():
            self._line += key
            return self._manner.echo(self._line, waits) if self._manner.echo else shown
        if key in "\b\x7f":
            self._line = self._line[:-1]
            return shown
        if key in "\r\n" and shown:
            self._line = ""
        return self._answered(shown)

    def _answered(self, shown: str) -> str:
        prompt = self._console.waits_with
        if self._manner.answer is None or not shown or not self._console.at_prompt:
            return shown
        if not prompt or not shown.endswith(prompt):
            return self._manner.answer(shown, "")
        return self._manner.answer(shown.removesuffix(prompt), prompt)

    def _asked(self, key: str) -> str:
        """Take a key of an answer that is given before the console begins; a wrong one ends the session."""
        question, kind = self._asks[0]
        if key not in "\r\n" and kind != _KEY:
            if key.isprintable():
                self._line += key
                return "*" if kind == _PASSWORD else key
            return ""
        said, self._line = self._line, ""
        device = self._console.device
        wanted = {_NAME: device.users, _PASSWORD: device.users.values(), _YES_OR_NO: ("n", "N"), _KEY: ("",)}[kind]
        if said not in wanted:
            if said and kind != _YES_OR_NO:
                self.close()
                return f"{_RETURN}authentication failed{_RETURN}"
            return _RETURN + question
        del self._asks[0]
        return _RETURN + (self._asks[0][0] if self._asks else self._begin())

    def _enable(self, key: str) -> str:
        if not self._asked_to_enable:
            self._asked_to_enable, self._line = True, ""
            return f"{_RETURN}Password:"
        if key not in "\r\n":
            self._line += key
            return "*"
        self._asked_to_enable, said, self._line = False, self._line, ""
        device = self._console.device
        if said in ([device.enable_password] if device.enable_password else device.users.values()):
            return self._answered(self._console.feed("\r"))
        self._console.feed("\b" * len("enable"))
        return f"{_RETURN}Incorrect Password!{self._console.feed(chr(13))}"
