"""The operator's own lines for a switch, beside those that tagloom plans; marks stand for secrets."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

SECRET = re.compile(r"<secret:([A-Za-z_]\w*)>")
MASK = "********"
_QUOTED = re.compile(r""""([^"]*)"|'([^']*)'""")


@dataclass(frozen=True, slots=True)
class SiteLine:
    """One line that a switch's running configuration must show, and its place.

    text   the line; a secret is a mark, ``<secret:NAME>``
    where  file and line of the template with it
    block  the line that opens its block, "" outside of any; `ports` or `vlan` are the block's
    opens  whether the line opens a block of its own
    """

    text: str
    where: str = ""
    block: str = ""
    ports: tuple[int, ...] = ()
    vlan: int = 0
    opens: bool = False

    @property
    def removed(self) -> str:
        """Return the prefix that no line may have, for a "no ..." line; "" for a line that must be there."""
        return self.text.removeprefix("no ") if self.text.startswith("no ") else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """Return the names of the secrets in it."""
        return tuple(SECRET.findall(self.text) + SECRET.findall(self.block))

    @property
    def title(self) -> str:
        """Return the line with its block, secrets masked, for display."""
        return masked(f"{self.block}: {self.text}" if self.block else self.text)

    def filled(self, secrets: Mapping[str, str]) -> Self:
        """Return it with the secrets filled in; it must then not be shown. Raises KeyError if one is missing."""
        text, block = (SECRET.sub(lambda found: secrets[found[1]], each) for each in (self.text, self.block))
        return replace(self, text=text, block=block)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values; `from_json` reads them."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Return a line from the output of `to_json`."""
        return cls(**{**plain, "ports": tuple(plain["ports"])})


def masked(text: str) -> str:
    """Return a text with `MASK` in place of each secret's mark.

    >>> masked("snmp-server community <secret:community> ro")
    'snmp-server community ******** ro'
    """
    return SECRET.sub(MASK, text)


def plain_line(text: str) -> str:
    """Return a line normalised for comparison: single blanks, and no quotes around values.

    >>> plain_line('description  "to s1"') == plain_line("description to s1")
    True
    """
    return " ".join(_QUOTED.sub(lambda found: found[1] or found[2] or "", text).split())
