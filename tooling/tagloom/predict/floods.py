"""What forecasts count of frames that are flooded to uplinks, and what they do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import flood_along_trees, flooded_bytes, unknown_uplinks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.simulation import Program
    from tagloom.records.traffic import Traffic

MOST_FOLLOWED = 20_000_000  # channels that copies of a run's messages cross at most: two numbers each in memory


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
    return True, (f"{said}: copies fill channels and hosts' ports here, and wake those that sleep; {fewer}",)


def followed_floods(fabric: Fabric, program: Program | None) -> tuple[bool, tuple[str, ...]]:
    """Return whether copies of a run's flooded messages can be followed when it is replayed, and what is said if not.

    Of random orders (without a program) a part stands for the whole, so they can.
    """
    if program is None:
        return True, ()
    flooded = np.isin(program.host[program.destination], unknown_uplinks(fabric)).sum()
    if flooded * (len(fabric.hosts) + len(fabric.switches)) <= MOST_FOLLOWED:
        return True, ()
    return False, (f"{flooded:,} flooded messages are too many to be replayed with their copies: seconds lack those",)
