"""The verdict of a transcript on one line: confirmed, refuted or open, and why."""

from __future__ import annotations

from dataclasses import dataclass

from tagloom.platforms.family import LIKELY

CONFIRMED, REFUTED, OPEN = "confirmed", "refuted", "open"
NOT_ASKED = "not_asked"  # of a transcript's manners: context -> why no help was asked for there


@dataclass(frozen=True, slots=True)
class Evidence:
    """What a transcript says of a line: `verdict` confirmed, refuted or open, and `why`; `mark` was its mark before."""

    key: str
    words: str
    verdict: str
    why: str
    mark: str = LIKELY

    def to_json(self) -> dict[str, str]:
        """Return it with the keys of the command line."""
        return {
            "line": self.key,
            "words": self.words,
            "mark": self.mark,
            "verdict": self.verdict,
            "why": self.why,
        }
