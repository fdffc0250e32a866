"""What a switch's console was asked and answered, without anything of its owner's: evidence that can be sent on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
SHOW, HELP, TRIED = "show", "help", "tried"


@dataclass(frozen=True, slots=True)
class Page:
    """One answer: `kind` show, help or tried; what was typed, and where ("" privileged exec); the time it took."""

    kind: str
    context: str
    typed: str
    answer: str
    seconds: float


@dataclass(frozen=True)
class Transcript:
    """All that was asked of a switch of a model; `manners` are how its console behaves around answers.

    `manners` has `login` (the questions of a login), `pager` (what it shows at the end of a screen, "" for none),
    `escapes` and `log_lines` (true or false), `erases` (whether Backspace takes a line back), `prompts` (by context).
    """

    model: str
    family: str
    firmware: str
    tagloom: str
    pages: tuple[Page, ...] = ()
    manners: Mapping[str, Any] = field(default_factory=dict)

    def answer(self, kind: str, context: str, typed: str) -> str | None:
        """Return an answer, None where that was not asked."""
        found = (p.answer for p in self.pages if (p.kind, p.context, p.typed) == (kind, context, typed))
        return next(found, None)

    def to_json(self) -> dict[str, Any]:
        """Return it as it is kept."""
        pages = [
            {
                "kind": p.kind,
                "context": p.context,
                "typed": p.typed,
                "seconds": p.seconds,
                "answer": p.answer.split("\n"),
            }
            for p in self.pages
        ]
        head = {"format": FORMAT, "model": self.model, "family": self.family, "firmware": self.firmware}
        return {**head, "tagloom": self.tagloom, "manners": dict(self.manners), "pages": pages}
