"""What forecasts count of frames that are flooded to uplinks, and what they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.graph.floods import flood_along_trees, flooded_bytes, unknown_uplinks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic


def counted_floods(
    fabric: Fabric, traffic: Traffic, routes: Iterable[Routes], assignment: str
) -> tuple[bool, tuple[str, ...]]:
    """Return whether the copies of flooded frames are counted as bytes on channels, and what is to be said of them."""
    if not (amount := flooded_bytes(fabric, traffic.volume_bytes)):
        return False, ()
    names = ", ".join(fabric.hosts[u].name for u in unknown_uplinks(fabric).tolist())
    said = f"{amount:,.0f} bytes go to addresses behind {names}, which nobody knows, and are flooded"
    if not all(flood_along_trees(fabric, each, assignment) for each in routes):
        return False, (f"{said}: their copies are not counted, as they take no tree of the paths",)
    fewer = "switches that have learnt an address flood less"
    return True, (f"{said}: copies fill channels and hosts' ports here, but wake no port that sleeps; {fewer}",)
