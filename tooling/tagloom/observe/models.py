"""Know a switch's model from what its SNMP agent says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.observe.objects import SCALARS
from tagloom.plain_text import printable
from tagloom.platforms.detect import by_object_id, by_text

if TYPE_CHECKING:
    from tagloom.records.snmp import Raw

_TEXT_OCTETS = 255  # of a DisplayString


def model_of(raw: Raw, model: str | None = None) -> tuple[str, str]:
    """Return the model that an agent says its switch is, and "", or "" and why none is known.

    `model` is taken if the switch may be that, or says nothing that any model answers to.
    """
    object_id, words = raw.scalars.get(SCALARS["sysObjectID"]), raw.scalars.get(SCALARS["sysDescr"])
    dotted = ".".join(map(str, object_id)) if isinstance(object_id, tuple) else ""
    described = printable(words[:_TEXT_OCTETS].decode("utf-8", "replace")) if isinstance(words, bytes) else ""
    seen = (by_object_id(dotted) if dotted else by_text(described)).models or by_text(described).models
    is_a = model if model in seen or not seen else seen[0]
    if is_a is None:
        return "", f"no model answers with sysObjectID {dotted or 'missing'}, {described!r}; --model names one for all"
    return is_a, ""
