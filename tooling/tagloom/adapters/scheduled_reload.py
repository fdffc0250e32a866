"""Make a switch reload from its saved configuration at a set time, and call that off, seeing that it is so.

Firmware of one family differs in whether it knows these words, so a switch is asked by `?` before they are typed, and
shows the schedule after each.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from tagloom.errors import DeviceError
from tagloom.platforms.secrets import shown

if TYPE_CHECKING:
    from tagloom.platforms.grammar import ScheduledReload

_SHOWN = 200  # characters of an answer, in a reason
_OFFERED = re.compile(r"(?m)^[ \t]*(\S+)")


class Console(Protocol):
    """What is asked of a connection; every method raises DeviceError."""

    name: str

    def ask(self, line: str) -> str:
        """Return the answer to a line, an error among them."""
        ...

    def agree(self, command: str) -> str:
        """Type a command, say yes where the switch asks, and return what it answers."""
        ...

    def erases(self) -> bool:
        """Return whether what was typed can be taken back."""
        ...

    def help(self, typed: str) -> str:
        """Return what a `?` says behind a line begun, which is taken back."""
        ...

    def is_error(self, text: str) -> bool:
        """Return whether an answer reports an error."""
        ...


def why_not(console: Console, words: ScheduledReload) -> str:
    """Return why a reload is not scheduled, "" where it can be.

    A reload that somebody else has scheduled stays: to call off ours would call off theirs.
    """
    if not console.erases():
        return "its console does not take back what was typed, so it cannot be asked by ?"
    offered = {found.lower() for found in _OFFERED.findall(console.help(words.question))}
    if missing := [word for word in words.offers if word not in offered]:
        return f"{words.question}? does not offer {', '.join(missing)}"
    said = console.ask(words.show)
    if console.is_error(said):
        return f"{words.show} is refused"
    return f"somebody else has scheduled one: {shown(said, _SHOWN)}" if words.pending(said) else ""


def schedule(console: Console, words: ScheduledReload, minutes: int) -> str:
    """Schedule a reload in so many minutes; return why there is none, "" where the switch shows it.

    Raises DeviceError where nobody can tell whether there is one.
    """
    answer = console.agree(words.arm.format(minutes=minutes))
    said = console.ask(words.show)
    if not console.is_error(said) and words.pending(said):
        return ""
    call_off(console, words)
    return f"{words.show} shows none: {shown(answer if console.is_error(answer) else said, _SHOWN)}"


def call_off(console: Console, words: ScheduledReload) -> None:
    """Call a reload off if one is scheduled. Raises DeviceError where it may be scheduled still."""
    said = console.ask(words.show)
    if console.is_error(said) or words.pending(said):
        console.agree(words.call_off)
        said = console.ask(words.show)
    if console.is_error(said) or words.pending(said):
        raise DeviceError(console.name, words.call_off, f"a reload may be scheduled still: {shown(said, _SHOWN)}")
