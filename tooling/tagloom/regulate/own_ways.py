"""Paths over fewer links where networks have a routing or links of their own: the tree of a tagged network stays."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.paths import channel_load, max_hops
from tagloom.records.settings import speeds_mbps

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes


KEPT = 256  # routes of a fabric with some links off that are remembered, of the last ones asked for


def rerouting(
    fabric: Fabric, everything: Routes, route_of: Callable[[Fabric], Routes], most: int | None
) -> Callable[[Fabric], Routes | None]:
    """Return the function from the fabric with fewer or slower links to the planner's routes.

    It returns None where there are none, where a path has more than `most` switches, and where the tree of a network in
    a given VLAN would be another than that of `everything`, the routes with all links on.
    """
    return partial(routes_or_none, partial(keeping_given, route_of, fabric, everything), most)


def remembered(reroute: Callable[[Fabric], Routes | None]) -> Callable[[Fabric], Routes | None]:
    """Return the same function, which computes what it was asked before only once; the fabrics are of one cabling."""
    known: dict[tuple[int, ...], Routes | None] = {}

    def found(smaller: Fabric) -> Routes | None:
        key = tuple(speeds_mbps(smaller))
        routes = known[key] = known.pop(key) if key in known else reroute(smaller)
        if len(known) > KEPT:
            known.pop(next(iter(known)))
        return routes

    return found


def keeps_ways(fabric: Fabric, smaller: Fabric, route_of: Callable[[Fabric], Routes]) -> bool:
    """Return whether networks with ways of their own have paths with fewer links on, tagged ones over their trees."""
    if not fabric.own_ways:
        return True
    try:
        keeping_given(route_of, fabric, route_of(fabric), smaller)
    except PlanError:
        return False
    return True


def routes_or_none(route_of: Callable[[Fabric], Routes], most: int | None, smaller: Fabric) -> Routes | None:
    """Return the planner's routes; None if there are none, or a path has more than `most` switches."""
    try:
        routes = route_of(smaller)
    except PlanError:
        return None
    return None if most is not None and max_hops(smaller, routes) > most else routes


def keeping_given(route_of: Callable[[Fabric], Routes], fabric: Fabric, everything: Routes, smaller: Fabric) -> Routes:
    """Return the planner's routes; raise PlanError if the tree of a network in a given VLAN is another, or slower.

    Its hosts send with that id, so no rollout could lead them to another tree.
    """
    routes = route_of(smaller)
    for network, vlan in fabric.tags:
        hosts = fabric.networks[network]
        links = [_links_of(each, found, hosts) for each, found in ((fabric, everything), (smaller, routes))]
        if links[0] != links[1] or any(fabric.links[i].speed_mbps != smaller.links[i].speed_mbps for i in links[0]):
            raise PlanError("hosts send with the id of a tagged network: its tree stays", f"VLAN {vlan} of {network}")
    return routes


def _links_of(fabric: Fabric, routes: Routes, hosts: NDArray[np.int64]) -> set[int]:
    """Return the links that paths between some hosts take."""
    part = replace(fabric, hosts=tuple(fabric.hosts[h] for h in hosts.tolist()))
    used = channel_load(part, routes.of_hosts(hosts), np.ones((len(hosts), len(hosts))))
    return {c // 2 for c in np.flatnonzero(used).tolist()}
