"""What went wrong, where, and whose fault it is: the input's, the plan's, or the device's."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.plain_text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """One thing that is not as it must be, in the form "where: expected X, actual Y".

    >>> print(Finding("hosts.h2.mac", "six hex pairs", '"zz"'))
    hosts.h2.mac: expected six hex pairs, actual "zz"

    A line feed within it, as of a key in a file, is an escape.
    """

    where: str
    expected: str
    actual: str

    def __str__(self) -> str:
        return f"{self.where}: expected {self.expected}, actual {self.actual}".replace("\n", "\\x0a")

    def to_json(self) -> dict[str, str]:
        """Return the finding as JSON keys."""
        return {"where": self.where, "expected": self.expected, "actual": self.actual}


def one_line(error: Exception) -> str:
    """Return an error's text on one line."""
    return str(error).replace("\n", "; ")


def nearest(word: str, known: Iterable[str]) -> str:
    """Return a suggestion for the end of what is expected, or nothing where no known word is near.

    Capitals, blanks, hyphens and underscores make no difference.

    >>> nearest("pln", ["plan", "apply"]), nearest("UpDown", ["tree", "up-down"])
    (' (did you mean plan?)', ' (did you mean up-down?)')
    """
    spelt = {_letters(each): each for each in known}
    return "".join(f" (did you mean {spelt[each]}?)" for each in difflib.get_close_matches(_letters(word), spelt, n=1))


def one_of(known: Iterable[str], word: object) -> str:
    """Return what a finding expects where `word` is none of the known words: all of them, and the nearest.

    >>> one_of(["ring", "mesh"], "rnig")
    'one of ring, mesh (did you mean ring?)'
    """
    words = list(known)
    return f"one of {', '.join(words)}{nearest(word, words) if isinstance(word, str) else ''}"


def _letters(word: str) -> str:
    return re.sub(r"[-_\s]+", "", word.casefold()) or word


class TagloomError(Exception):
    """Carry an exit status with every error this package raises on purpose."""

    exit_status = 1


class InputError(TagloomError):
    """The input is wrong: all findings at once; `done` says what had been done all the same, mostly nothing."""

    exit_status = 2

    def __init__(self, findings: Iterable[Finding], done: str = "nothing was changed") -> None:
        self.findings, self.done = tuple(findings), done
        super().__init__("\n".join(map(str, self.findings)))


AT_ONCE = "apply BUILD --allow interrupt"  # a build goes to all switches at the same time, whatever they hold


class PlanError(TagloomError):
    """The answer is no: what was asked cannot be planned or proven; says the rule, the witness and a way out.

    `advice` is that way for programs: options to add, or commands, any one of which leads on; none where only hands do.
    `pending` says whether lines are known to be left that would be sent if it were allowed.
    """

    exit_status = 1

    def __init__(
        self, rule: str, witness: str = "", next_step: str = "", advice: tuple[str, ...] = (), *, pending: bool = False
    ) -> None:
        self.rule, self.witness, self.next_step, self.advice = rule, witness, next_step, advice
        self.pending = pending
        super().__init__("; ".join(part for part in (rule, witness, next_step) if part))

    def to_json(self) -> dict[str, str | list[str]]:
        """Return the refusal with the keys of every command."""
        return {
            "refused": self.rule,
            "witness": self.witness,
            "next": self.next_step,
            "advice": list(self.advice),
        }


class UnwritableError(PlanError):
    """A state that a switch cannot be told, though it could be planned: a rollout may lead another way."""


class DeviceError(TagloomError):
    """A switch failed: which one, at which command, and the text it answered, which steers no terminal."""

    exit_status = 3

    def __init__(self, switch: str, command: str, text: str) -> None:
        self.switch, self.command, self.text = switch, command, printable(text)
        at = f" at {command!r}" if command else ""
        super().__init__(f"{switch}{at}: {self.text}")
