"""Detect a switch's model from its SNMP object id or from what it says of itself in `show system` or `show version`."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tagloom import platforms
from tagloom.errors import Finding

# Objects below Dell's product tree (DELL-REF-MIB); others are read too, where a page names them.
_OBJECT_ID = re.compile(r"\b1\.3\.6\.1\.4\.1(?:\.\d+)+")
# Lines in which a switch speaks of itself; a MAC address table or a description may name other models.
_OF_ITSELF = re.compile(
    r"^!?[ \t]*(?:System Description|Type|Machine Type|Machine Model|System Model ID|Model Name)[ \t.:]+(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a switch may be: models, sorted, () where nothing is known of it; `said` is the word it went by."""

    models: tuple[str, ...]
    said: str = ""


def by_object_id(object_id: str) -> Sighting:
    """Return the model from sysObjectID.

    >>> by_object_id("1.3.6.1.4.1.674.10895.3004").models
    ('powerconnect-5324',)
    """
    bare = object_id.strip().lstrip(".")
    return Sighting(tuple(m for m in platforms.models() if bare in platforms.load(m).sys_object_id), bare)


def by_text(text: str) -> Sighting:
    """Return the model from a page of the command line, or from sysDescr: its object id first, which is exact.

    A 5324 calls itself "Neyland 24T", so the brand is no help. Where several things are said, the first that any
    model answers to counts.
    """
    said = [match.strip(' \t\r"') for match in _OF_ITSELF.findall(text)] or [text.strip()]
    for object_id in _OBJECT_ID.findall(text):
        if (seen := by_object_id(object_id)).models:
            return seen
    for words in said:
        calls = {m: platforms.load(m).calls_itself for m in platforms.models()}
        if found := tuple(m for m, patterns in calls.items() if any(re.search(p, words) for p in patterns)):
            return Sighting(found, words)
    return Sighting((), said[0].splitlines()[0] if said[0] else "")


def mistaken(model: str, text: str, where: str) -> tuple[Finding, ...]:
    """Find that the switch that printed `text` is not of `model`; what cannot be told is no finding."""
    seen = by_text(text)
    if not seen.models or platforms.page_of(model) in seen.models:
        return ()
    return (Finding(f"{where}: model", model, f"{' or '.join(seen.models)} ({seen.said})"),)
