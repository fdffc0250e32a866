"""Judge a dashboard by Grafana's own records of it (grafana-foundation-sdk, generated from Grafana's schemas)."""

from __future__ import annotations

import enum
import json
import typing

import pydantic

STRICT = pydantic.ConfigDict(arbitrary_types_allowed=True, strict=True)


def faults(page):
    """List where a dashboard has keys that Grafana does not know, or values of other types, by their paths."""
    from grafana_foundation_sdk.cog import encoder, plugins  # noqa: PLC0415 - heavy, and not everywhere
    from grafana_foundation_sdk.models import dashboard  # noqa: PLC0415 - as above

    plugins.register_default_plugins()
    read = dashboard.Dashboard.from_json(page)
    again = json.loads(encoder.JSONEncoder().encode(read))
    return [*_lost(page, again, ""), *_of_other_types(read, "")]


def _lost(given, written, at):
    """Yield the paths of what was given and is not written again as it was."""
    if isinstance(given, dict) and isinstance(written, dict):
        for key, value in given.items():
            yield from _lost(value, written.get(key), f"{at}.{key}" if at else key)
    elif isinstance(given, list) and isinstance(written, list) and len(given) == len(written):
        for n, (one, other) in enumerate(zip(given, written, strict=True)):
            yield from _lost(one, other, f"{at}.{n}")
    elif given != written:
        yield at


def _of_other_types(value, at):
    """Yield the paths of attributes, below a record, whose values are not of the type that the record gives them."""
    if isinstance(value, list | dict):
        parts = value.items() if isinstance(value, dict) else enumerate(value)
        for key, part in parts:
            yield from _of_other_types(part, f"{at}.{key}" if at else str(key))
    elif type(value).__module__.startswith("grafana_foundation_sdk") and not isinstance(value, enum.Enum):
        for name, kind in typing.get_type_hints(type(value)).items():
            path, part = f"{at}.{name}" if at else name, getattr(value, name)
            try:
                if isinstance(kind, enum.EnumType):
                    kind(part)  # the records keep its word
                    continue
                pydantic.TypeAdapter(kind, config=STRICT).validate_python(part)
            except ValueError:  # pydantic's too
                yield path
            yield from _of_other_types(part, path)
