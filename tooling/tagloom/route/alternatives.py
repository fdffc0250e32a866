"""Compare the ways to route one fabric: VLANs, switches on a path, load."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.graph.paths import channel_load, departures
from tagloom.route.choose import METHODS, route
from tagloom.route.cost import cost

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


@dataclass(frozen=True, slots=True)
class Alternative:
    """The costs of a method: VLANs as counted by route.cost, Avg.H, host pairs on the busiest channel."""

    method: str
    vlans: int
    average_hops: float
    max_channel_load: int


def alternatives(fabric: Fabric, assignment: str = "fixed") -> list[Alternative]:
    """Return the costs of every method that can route the fabric, fewest VLANs first, then shortest paths."""
    rows: list[Alternative] = []
    for method in METHODS:
        if method == "auto":
            continue
        try:
            routes = route(fabric, method, assignment)
        except PlanError:
            continue
        if assignment != "fixed" and departures(fabric, routes) is None:
            continue
        load = int(channel_load(fabric, routes).max(initial=0))
        rows.append(Alternative(method, *cost(fabric, routes, assignment), load))
    return sorted(rows, key=lambda row: (row.vlans, row.average_hops))
