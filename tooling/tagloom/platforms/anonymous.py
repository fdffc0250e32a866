"""Take from a console's text what is its owner's: secrets, names, addresses and serial numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tagloom.platforms.secrets import scrub

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

HIDDEN = "<hidden>"
_LEAST = 3  # characters of a word that is hidden wherever it stands; shorter ones are hidden in their own line alone
_LONG = 6  # characters of a secret that is hidden inside other words too
_MAC = re.compile(
    r"\b(?:[0-9a-f]{2}([:-])(?:[0-9a-f]{2}\1){4}[0-9a-f]{2}|(?:[0-9a-f]{4}[.-]){2}[0-9a-f]{4})\b", re.IGNORECASE
)
_IPV4 = re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}\b(?!\.\d)")
_IPV6 = re.compile(r"(?<![\w:])(?=[0-9a-f:]*::|(?:[0-9a-f]{1,4}:){7})[0-9a-f:]{3,45}(?![\w:])", re.IGNORECASE)
_MASKS = ("0.", "255.")
_OF_VERSIONS = re.compile(r"description|version|image|firmware|boot", re.IGNORECASE)  # which look like addresses
# What a page says of one box, its place or its people, behind a colon or a row of dots.
_OWN = re.compile(
    r"(?im)^([ \t]*[^\n:]{0,60}?\b(?:serial|service tag|asset|system name|sysname|host ?name|location|contact|"
    r"up ?time|burned in|express service)\b[^\n:.]{0,40}(?::|\.{2,})[ \t]*)(\S[^\n]*)$"
)


@dataclass
class Scrubber:
    """Replace what is the owner's in one switch's texts, the same by the same, so that pages still agree.

    `private` are secrets and names that are known, `public` words that are never hidden for being among them.
    """

    private: Iterable[str] = ()
    public: frozenset[str] = frozenset()
    _known: dict[str, str] = field(default_factory=dict)
    _macs: dict[str, int] = field(default_factory=dict)
    _addresses: dict[str, int] = field(default_factory=dict)
    _words: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        self.learn(self.private)

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide further secrets from now on, wherever they stand."""
        self._learn(secrets, whole=False)

    def learn_names(self, names: Iterable[str]) -> None:
        """Hide further names from now on, where they are words of their own."""
        self._learn(names, whole=True)

    def _learn(self, words: Iterable[str], *, whole: bool) -> None:
        for word in (each.strip("\"'") for each in words):
            if len(word) >= _LEAST and word.lower() not in self.public:
                alone = rf"(?<![\w-]){re.escape(word)}(?![\w-])"
                self._known[word] = (
                    alone if (whole and word not in self._known) or len(word) < _LONG else re.escape(word)
                )
        longest = sorted(self._known, key=lambda word: (-len(word), word))
        patterns = "|".join(self._known[word] for word in longest)
        self._words = re.compile(patterns, re.IGNORECASE) if patterns else None

    def clean(self, text: str, *, addresses: bool = True) -> str:
        """Return a text without what is the owner's; `addresses` says whether those of IPv4 are replaced."""
        text = self._words.sub(HIDDEN, text) if self._words else text
        text = _OWN.sub(rf"\1{HIDDEN}", scrub(text))
        text = _MAC.sub(self._mac, text)
        text = _IPV4.sub(self._address, text) if addresses else text
        return _IPV6.sub(self._of(self._addresses, "2001:db8::{:x}".format), text)

    def _mac(self, found: re.Match[str]) -> str:
        digits = re.sub(r"[^0-9a-f]", "", found[0].lower())
        if digits in ("0" * 12, "f" * 12):
            return found[0]
        number = self._macs.setdefault(digits, len(self._macs) + 1)
        fresh = iter(f"{0x02_00_00_00_00_00 + number:012x}")
        return "".join(next(fresh) if key.isalnum() else key for key in found[0])

    def _address(self, found: re.Match[str]) -> str:
        line = found.string[found.string.rfind("\n", 0, found.start()) + 1 : found.start()]
        if found[0].startswith(_MASKS) or _OF_VERSIONS.search(line):
            return found[0]
        return self._of(self._addresses, lambda n: f"192.0.2.{n % 254 + 1}")(found)

    @staticmethod
    def _of(known: dict[str, int], write: Callable[[int], str]) -> Callable[[re.Match[str]], str]:
        return lambda found: write(known.setdefault(found[0], len(known) + 1))
