"""Route for a plan: for few VLANs, for low load, or along the paths of another build."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.graph.trees import pruned
from tagloom.route.choose import route
from tagloom.route.gather import gather
from tagloom.route.keep import keep
from tagloom.route.spread import CLOSE_ENOUGH, busiest, distance_bound, spread

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tagloom.records.build import Build
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

SEARCHED_UP_TO = 1_500  # switches up to which orders of all channels are searched for a lower load


def own_routes(fabric: Fabric, routing: str, assignment: str, top: int | None = None) -> Routes:
    """Return routes with few VLANs: with fixed assignment, sources share trees if no path gets longer."""
    routes = route(fabric, routing, assignment, top=top)
    return gather(fabric, routes, top) if assignment == "fixed" else routes


def balanced(
    fabric: Fabric,
    plain: Routes,
    assignment: str,
    volume: NDArray[np.float64] | None,
    effort: int,
    *,
    free: bool,
    floods: bool = False,
) -> list[tuple[Routes, Routes, float | None]]:
    """Return (routes, spread routes, bound) with load spread over parallel links and trees, the least loaded first.

    If the routing is `free` to choose and the load of the shape's own routing exceeds what distances require, an order
    of all channels is tried too: it uses paths that a closed form for few VLANs does not. With `floods`, copies of what
    is flooded to uplinks count, and only paths that are trees are compared.
    """
    chosen = spread(fabric, plain, assignment, volume, floods=floods)
    choices: list[tuple[Routes, Routes, float | None]] = [(plain, chosen.routes, chosen.bound)]
    load = busiest(fabric, chosen.routes, volume, floods=floods)
    searchable = free and plain.method != "any" and len(fabric.switches) <= SEARCHED_UP_TO
    if searchable and load > CLOSE_ENOUGH * distance_bound(fabric, volume):
        searched = route(fabric, "any", assignment, effort)
        other = spread(fabric, searched, assignment, volume, floods=floods)
        less = busiest(fabric, other.routes, volume, floods=floods)
        alike = not floods or (plain.parent is not None) == (searched.parent is not None)
        if alike and less * CLOSE_ENOUGH < load:
            unit = "host pairs" if volume is None else "bytes"
            why = f"the busiest channel carries {less:,.0f} {unit} where {plain.method} has {load:,.0f}"
            better = replace(other.routes, reason=f"{other.routes.reason}; {why}")
            choices.insert(0, (searched, better, other.bound))
    return choices


def kept_routes(old: Build, fabric: Fabric, assignment: str) -> tuple[Routes | None, str]:
    """Return the paths of a build as paths of another fabric, or None and the reason why that is impossible."""
    if old.assignment != assignment:
        return None, f"the paths of {old.fabric.name} are not kept: they are for --assignment {old.assignment}"
    before, after = old.fabric, fabric
    if assignment == "pinned":  # a network in a given VLAN needs no tree of its own
        before, after = replace(before, tags=()), replace(after, tags=())
    try:
        kept = keep(before, old.routes, after)
    except PlanError as error:
        return None, f"the paths of {old.fabric.name} are not kept: {error.witness}"
    if fabric.routings != old.fabric.routings or _barred(fabric, kept):
        return None, f"the paths of {old.fabric.name} are not kept: networks have others of their own"
    return kept, ""


def _barred(fabric: Fabric, routes: Routes) -> bool:
    """Return whether some network's paths take a link that it may not use."""
    for name, links in fabric.barred.items():
        parent = routes.of_hosts(fabric.networks[name]).trees
        used = pruned(replace(fabric, hosts=tuple(fabric.hosts[h] for h in fabric.networks[name].tolist())), parent)
        if links[used[used >= 0] // 2].any():
            return True
    return False
