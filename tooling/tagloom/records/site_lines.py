"""The operator's own lines for a switch, beside those that tagloom plans; secrets stand in them as marks."""

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
    """One line that a switch's running configuration is to show, and where it stands.

    text   the line; a secret stands as a mark, ``<secret:NAME>``
    where  file and line of the template that says it
    block  the line that opens its block, "" outside of any; `ports` or `vlan` are what that is about
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
        """Return how the lines begin that must not be shown, "" for a line that must be."""
        return self.text.removeprefix("no ") if self.text.startswith("no ") else ""

    @property
    def secrets(self) -> tuple[str, ...]:
        """List the names of the secrets in it."""
        return tuple(SECRET.findall(self.text) + SECRET.findall(self.block))

    @property
    def title(self) -> str:
        """Return the line with its block, as people are shown it."""
        return masked(f"{self.block}: {self.text}" if self.block else self.text)

    def filled(self, secrets: Mapping[str, str]) -> Self:
        """Return it with the secrets themselves; whoever holds it must not show it. Raises KeyError without one."""
        text, block = (SECRET.sub(lambda found: secrets[found[1]], each) for each in (self.text, self.block))
        return replace(self, text=text, block=block)

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values; `from_json` reads them back."""
        return asdict(self)

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Self:
        """Read what `to_json` gave."""
        return cls(**{**plain, "ports": tuple(plain["ports"])})


def masked(text: str) -> str:
    """Return a text with a mask in the place of each secret's mark.

    >>> masked("snmp-server community <secret:community> ro")
    'snmp-server community ******** ro'
    """
    return SECRET.sub(MASK, text)


def plain_line(text: str) -> str:
    """Return a line as two spellings of it are compared: single blanks, and no quotes around values.

    >>> plain_line('description  "to s1"') == plain_line("description to s1")
    True
    """
    return " ".join(_QUOTED.sub(lambda found: found[1] or found[2] or "", text).split())
