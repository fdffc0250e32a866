"""Choose the routing a fabric's shape allows, and say why."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tagloom.errors import Finding, InputError, PlanError
from tagloom.records.channels import find_cycle
from tagloom.records.routes import Routes, dependencies, relation
from tagloom.route.detour import detour
from tagloom.route.dimension_order import dimension_order, is_grid, refusal
from tagloom.route.in_port import up_down_by_in_port
from tagloom.route.indirect import direct, double_star, fat_tree
from tagloom.route.up_down import shared_tree, up_down

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric

METHODS: dict[str, str] = {
    "auto": "what the shape allows",
    "dor": "dimension order, on a mesh, torus, ring or hypercube",
    "fat-tree": "up by the source's digits, then down",
    "direct": "the direct link, on a complete graph",
    "double-star": "two centres per tree, on a Clos network",
    "up-down": "up*/down* from the best root, on any fabric",
    "tree": "one spanning tree, on any fabric",
}


def route(fabric: Fabric, method: str = "auto", assignment: str = "fixed") -> Routes:
    """Give all paths of a fabric over the links that are up.

    `auto` takes the closed form of the shape, moved off links that are down where that stays deadlock-free, and
    up*/down* otherwise. Renamed assignment needs the next channel to follow from the in-port alone; where up*/down*
    trees do not give that, their paths are chosen by in-port.
    Raises InputError for a method there is not and PlanError where the method cannot be deadlock-free.
    """
    if method not in METHODS:
        raise InputError([Finding("--routing", "one of " + ", ".join(METHODS), repr(method))])
    general = up_down if assignment == "fixed" else _by_in_port
    if method == "auto":
        routes, why_not = _closed_form(fabric)
        if routes is not None and assignment != "fixed" and relation(fabric, routes) is None:
            routes, why_not = None, "around the links that are down the next channel would depend on the source"
        if routes is not None:
            return routes
        chosen = general(fabric)
        return replace(chosen, reason=f"{chosen.reason} ({why_not})" if why_not else chosen.reason)
    if method == "tree":
        return shared_tree(fabric)
    if method == "up-down":
        return general(fabric)
    makers: dict[str, Callable[[Fabric], Routes]] = {
        "direct": direct,
        "dor": dimension_order,
        "fat-tree": fat_tree,
        "double-star": double_star,
    }
    families = {"direct": "complete", "fat-tree": "fat-tree", "double-star": "clos"}
    if method in families and (fabric.shape is None or fabric.shape.family != families[method]):
        raise PlanError(f"{method} routing needs a {families[method]} fabric", way_out="use --routing auto")
    moved = _moved(fabric, makers[method](fabric))
    if moved is None:
        raise PlanError(
            f"{method} routing cannot be led around the links that are down without a dependency cycle",
            way_out="use --routing up-down",
        )
    return moved


def _by_in_port(fabric: Fabric) -> Routes:
    routes = up_down(fabric)
    return routes if relation(fabric, routes) is not None else up_down_by_in_port(fabric)


def _closed_form(fabric: Fabric) -> tuple[Routes | None, str]:
    """Give the closed form of the fabric's shape, or None and why there is none."""
    family = fabric.shape.family if fabric.shape is not None else ""
    try:
        if is_grid(fabric):
            if no := refusal(fabric):
                return None, no
            routes = dimension_order(fabric)
        elif family == "fat-tree":
            routes = fat_tree(fabric)
        elif family == "clos":
            routes = double_star(fabric)
        elif family == "complete":
            routes = direct(fabric)
        else:
            return None, ""
    except PlanError as error:
        return None, error.rule
    moved = _moved(fabric, routes)
    return moved, "" if moved is not None else "the links that are down leave no deadlock-free way around for it"


def _moved(fabric: Fabric, routes: Routes) -> Routes | None:
    moved = detour(fabric, routes)
    if moved is not None and find_cycle(len(fabric.tail), *dependencies(fabric, moved)):
        return None
    return moved
