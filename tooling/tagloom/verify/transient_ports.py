"""Make hosts of the ports at which some are leaving or have not come yet, to follow what they send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.records.fabric import Host

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.records.fabric import Fabric

_ADDRESSES = 1 << 40  # no entry names them, and no host has them


def transient_ports_of(fabric: Fabric, places: Collection[tuple[str, int]]) -> tuple[Host, ...]:
    """Return a host at each of `places`, (switch name, port number), that are on live switches of a fabric."""
    here = [
        place for place in sorted(places) if (s := fabric.index.get(place[0])) is not None and fabric.switches[s].up
    ]
    return tuple(Host("a guest", fabric.index[name], port, _ADDRESSES + i) for i, (name, port) in enumerate(here))
