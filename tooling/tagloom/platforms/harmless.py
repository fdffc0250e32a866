"""Know the lines of others that cannot change what frames do, from the families' data files."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Any

from tagloom.platforms.family import family

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# One shell command: no pipe, redirection, substitution, continuation or open quote that would reach beyond the line.
_ONE_COMMAND = re.compile(r"""(?:[^'"\\;&|`$<>(){}]|'[^']*'|"[^"\\`$]*")*""")


class Harmless:
    """The lines of a family that a proof may pass over, by the place they stand in.

    `places` are config, vlan-database, interface and interface-vlan, and outside-interface and outside-vlan for what
    holds besides on ports and in VLANs that are not the fabric's.
    """

    def __init__(self, data: Mapping[str, Any]) -> None:
        places = {place: rows for place, rows in data.items() if place != "blocks"}
        self._places = {place: _beginnings(row["lines"] for row in rows) for place, rows in places.items()}
        blocks = data.get("blocks", ())
        self._blocks = [(re.compile(rf"(?:{row['opens']})(?:[ \d].*)?"), _beginnings([row["lines"]])) for row in blocks]
        self._whole = re.compile("|".join(f"(?:{each})" for row in places["config"] for each in row["lines"]))

    def covers(self, line: str, *places: str) -> bool:
        """Return whether a line is harmless in one of these places."""
        return any(place in self._places and self._places[place].fullmatch(line) for place in places)

    def opens(self, line: str) -> bool:
        """Return whether a line opens a context of its own in which nothing touches forwarding."""
        return any(opener.fullmatch(line) for opener, _ in self._blocks)

    def inside(self, opener: str, line: str) -> bool:
        """Return whether a line is harmless in the context that `opener` opens."""
        return any(opens.fullmatch(opener) and lines.fullmatch(line) for opens, lines in self._blocks)

    def covers_command(self, line: str) -> bool:
        """Return whether a shell's line is one harmless command and nothing else."""
        return bool(_ONE_COMMAND.fullmatch(line) and self._whole.fullmatch(line))


def _beginnings(groups: Iterable[list[str]]) -> re.Pattern[str]:
    """Compile expressions for how a line begins, behind an optional "no", each up to the end of a word."""
    return re.compile(rf"(?:no )?(?:{'|'.join(f'(?:{each})' for group in groups for each in group)})(?: .*)?")


@cache
def harmless(name: str) -> Harmless:
    """Return the harmless lines of a family."""
    return Harmless(family(name)["harmless"])
