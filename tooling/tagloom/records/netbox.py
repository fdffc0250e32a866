"""What tagloom and a NetBox say of a device to each other: one key of its local config context."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "tagloom"


def context_of(device: Mapping[str, Any]) -> dict[str, Any]:
    """Return a device's local config context as NetBox answered it."""
    said = device.get("local_context_data")
    return dict(said) if isinstance(said, dict) else {}


def with_context(device: Mapping[str, Any], said: Mapping[str, Any]) -> dict[str, Any]:
    """Return a device as it is to be sent back: what others keep in its context stays, tagloom's key is new."""
    own = context_of(device).get(KEY)
    uplink = {"uplink": own["uplink"]} if isinstance(own, dict) and "uplink" in own else {}
    return {
        "id": device["id"],
        "name": device["name"],
        "local_context_data": {**context_of(device), KEY: {**uplink, **said}},
    }
