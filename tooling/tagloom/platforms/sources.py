"""Know of every number in a model's page what it is and where it is from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS = {
    "measured": "somebody measured it, and published that",
    "at least": "the least that somebody measured: what it is at most is not known",
    "documented": "a manual, a data sheet or a standard says so",
    "seen": "a switch printed it",
    "assumed": "nobody is known to have said it of this model",
}
LIMITS = ("vlans", "vlan_id", "mac_table")
SAID = (
    "ports",
    "units",
    "modules",
    "layouts",
    "port_channels",
    *LIMITS,
    "eee",
    "watts",
    "toggle_seconds",
    "latency_seconds",
)


@dataclass(frozen=True, slots=True)
class Source:
    """What a number is, one of KINDS, and where it is from."""

    kind: str
    text: str


def sources_of(page: Mapping[str, Any]) -> dict[str, Source]:
    """Return the source of each number in a model's page. Raises ValueError where one has none, or a kind is unknown.

    >>> sources_of({"eee": True, "sources": {"eee": "seen: show eee"}})
    {'eee': Source(kind='seen', text='show eee')}
    """
    numbers = {name for name in SAID if name in page or (name in LIMITS and name in page.get("limits", {}))}
    return parse_sources(page.get("sources", {}), numbers, str(page.get("title", "")))


def parse_sources(lines: Mapping[str, str], numbers: set[str], where: str) -> dict[str, Source]:
    """Return the source of each of `numbers` from its line, "KIND: TEXT". Raises ValueError as `sources_of` does."""
    given = {name: line.partition(": ") for name, line in lines.items()}
    wrong = sorted(numbers ^ set(given)) + [
        name for name, (kind, _, text) in given.items() if kind not in KINDS or not text
    ]
    if wrong:
        raise ValueError(f"{where}: sources: {', '.join(wrong)}")
    return {name: Source(kind, text) for name, (kind, _, text) in given.items()}
