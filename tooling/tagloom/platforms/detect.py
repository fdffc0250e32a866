"""Detect a switch's model from its SNMP object id or from what it says of itself in `show system` or `show version`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.errors import Finding

if TYPE_CHECKING:
    from collections.abc import Iterator

# Objects below Dell's product tree (DELL-REF-MIB); others are read too, where a page names them.
_OBJECT_ID = re.compile(r"\b1\.3\.6\.1\.4\.1(?:\.\d+)+")
# Lines in which a switch speaks of itself; a MAC address table or a description may name other models.
_OF_ITSELF = re.compile(
    r"^!?[ \t]*(?:System Description|Type|Machine Type|Machine Model|System Model ID|Model Name)[ \t.:]+(\S.*)$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Sighting:
    """What a switch may be: models, sorted, () where nothing is known of it; `said` is the word it went by.

    A model whose page has layouts stands with its own, as ``n-series:N4032``.
    """

    models: tuple[str, ...]
    said: str = ""

    def told_apart(self, words: Sighting) -> Sighting:
        """Return the models with the layouts that words tell, of those pages whose id several layouts answer with."""
        pages = {platforms.page_of(model) for model in self.models}
        if words.models and {platforms.page_of(model) for model in words.models} == pages:
            return Sighting(words.models, self.said)
        return self


def _known() -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Yield models, with their layouts, by what they answer and call themselves."""
    for model in platforms.models():
        platform = platforms.load(model)
        yield model, platform.sys_object_id, platform.calls_itself
        for name, layout in platform.layouts.items():
            yield f"{model}:{name}", layout.sys_object_id, layout.calls_itself


def _may_be(model: str, seen: str) -> bool:
    """Return whether a model may be one that was seen: of its page, and of its layout where both have one."""
    page, _, described = model.partition(":")
    of, _, layout = seen.partition(":")
    if page != of or not layout:
        return page == of
    layouts = [part for part in described.split(",") if part in platforms.load(page).layouts]
    return not layouts or layout in layouts


def by_object_id(object_id: str) -> Sighting:
    """Return the model from sysObjectID.

    >>> by_object_id("1.3.6.1.4.1.674.10895.3004").models
    ('powerconnect-5324',)
    """
    bare = object_id.strip().lstrip(".")
    return Sighting(tuple(model for model, ids, _ in _known() if bare in ids), bare)


def by_text(text: str) -> Sighting:
    """Return the model from a page of the command line, or from sysDescr: its object id first, which is exact.

    A 5324 calls itself "Neyland 24T", so the brand is no help; "Powerconnect" is another spelling of it. Where several
    things are said, the first that any model answers to counts.
    """
    said = [match.strip(' \t\r"') for match in _OF_ITSELF.findall(text)] or [text.strip()]
    named = Sighting((), said[0].splitlines()[0] if said[0] else "")
    for words in said:
        if found := tuple(
            m for m, _, patterns in _known() if any(re.search(p, words, re.IGNORECASE) for p in patterns)
        ):
            named = Sighting(found, words)
            break
    for object_id in _OBJECT_ID.findall(text):
        if (seen := by_object_id(object_id)).models:
            return seen.told_apart(named)
    return named


def model_named(words: str) -> str:
    """Return the model that words mean, in any case and with blanks for hyphens or as it calls itself; else the words.

    >>> model_named("PowerConnect 8024F"), model_named("SG300-28P"), model_named("none of ours")
    ('powerconnect-8024f', 'cisco-sg300-28', 'none of ours')
    """
    page, colon, own = words.partition(":")
    spelt = "-".join(page.casefold().replace("_", " ").split())
    if spelt in platforms.models():
        return f"{spelt}{colon}{own}"
    seen = by_text(words).models if not colon else ()
    return seen[0] if len(seen) == 1 else words


def mistaken(model: str, text: str, where: str) -> tuple[Finding, ...]:
    """Find that the switch that printed `text` is not of `model`; what cannot be told is no finding."""
    seen = by_text(text)
    if not seen.models or any(_may_be(model, each) for each in seen.models):
        return ()
    return (Finding(f"{where}: model", model, f"{' or '.join(seen.models)} ({seen.said})"),)
