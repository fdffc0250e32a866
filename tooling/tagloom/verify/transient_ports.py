"""Model ports whose hosts are leaving or have not arrived yet as hosts, to follow the frames they send."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.records.fabric import Host

if TYPE_CHECKING:
    from collections.abc import Collection

    from tagloom.records.fabric import Fabric

_ADDRESSES = 1 << 40  # addresses from here on belong to no entry and no host


def transient_ports_of(fabric: Fabric, places: Collection[tuple[str, int]]) -> tuple[Host, ...]:
    """Return a host at each of `places`, (switch name, port number), on a live switch of the fabric."""
    here = [
        place for place in sorted(places) if (s := fabric.index.get(place[0])) is not None and fabric.switches[s].up
    ]
    return tuple(Host("a guest", fabric.index[name], port, _ADDRESSES + i) for i, (name, port) in enumerate(here))
