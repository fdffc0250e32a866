"""Know a switch's model from what its SNMP agent says of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom import platforms
from tagloom.observe.objects import COLUMNS, SCALARS
from tagloom.plain_text import printable
from tagloom.platforms.detect import by_object_id, by_text
from tagloom.platforms.port_names import port_number

if TYPE_CHECKING:
    from tagloom.records.snmp import Raw

_TEXT_OCTETS = 255  # of a DisplayString
_NOT_PRESENT = 6  # ifOperStatus, RFC 2863


def model_of(raw: Raw, model: str | None = None) -> tuple[str, str]:
    """Return the model that an agent says its switch is, and "", or "" and why none is known.

    `model` is taken if the switch may be that, or says nothing that any model answers to. Where the agent names ports
    that the model's page lacks, of a stack or a module, the model stands with them.
    """
    object_id, words = raw.scalars.get(SCALARS["sysObjectID"]), raw.scalars.get(SCALARS["sysDescr"])
    dotted = ".".join(map(str, object_id)) if isinstance(object_id, tuple) else ""
    described = printable(words[:_TEXT_OCTETS].decode("utf-8", "replace")) if isinstance(words, bytes) else ""
    words_of = by_text(described)
    seen = by_object_id(dotted).told_apart(words_of).models if dotted else ()
    seen = seen or words_of.models
    pages = {platforms.page_of(each) for each in seen}
    is_a = model if not seen or (model and platforms.page_of(model) in pages) else seen[0]
    if is_a is None:
        return "", f"no model answers with sysObjectID {dotted or 'missing'}, {described!r}; --model names one for all"
    return (is_a if ":" in (model or "") else _with_its_ports(raw, is_a)), ""


def _with_its_ports(raw: Raw, model: str) -> str:
    """Return a model with the ports that its agent names, where these are others than the page has.

    Relatives of ROS name the ports of all units that a stack may have, and say of those of missing units that they are
    not present. Port-channels are not counted: agents name all that there may be. Ports that no page lists count
    where they are spelt as the family's are.
    """
    wide = platforms.of_all_ports(platforms.load(model))
    states = raw.columns.get(COLUMNS["ifOperStatus"], {})
    names = dict[str, None]()
    for column in (COLUMNS["ifName"], COLUMNS["ifDescr"]):
        for index, text in raw.columns.get(column, {}).items():
            if isinstance(text, bytes) and states.get(index, _NOT_PRESENT) != _NOT_PRESENT:
                name = printable(text[:_TEXT_OCTETS].decode("utf-8", "replace").strip("\0 \r\n\t"))
                number = port_number(wide, name)
                if number is not None and number <= wide.physical_ports:
                    names[wide.port_name(number)] = None
                elif number is None and platforms.is_spelt_as_a_port(model, name):  # of a relative that no page lists
                    names[name] = None
    return platforms.with_ports(model, tuple(names))
