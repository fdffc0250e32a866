"""Choose the routing that a fabric's shape allows, and give the reason."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding, InputError, PlanError, one_of
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import departures, dependencies
from tagloom.records.routes import Routes
from tagloom.route.backwards import by_destination
from tagloom.route.cost import cost
from tagloom.route.detour import detour
from tagloom.route.dimension_order import dimension_order, is_grid, refusal
from tagloom.route.each_network import routes_of_shares
from tagloom.route.in_port import up_down_by_in_port
from tagloom.route.indirect import direct, double_star, fat_tree
from tagloom.route.turn_model import MODELS, by_local_turns, by_turn_model
from tagloom.route.up_down import shared_tree, up_down

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tagloom.records.fabric import Fabric

# Switches; up to here up*/down* is nearly as good, and the search's kernels take half a minute to compile once.
SEARCHED_ABOVE = 8
# Channels times destinations up to which all detours around what is down are compared, in about a second; above, the
# first one is taken.
WEIGHED = 500_000

METHODS: dict[str, str] = {
    "auto": "what the shape allows",
    "dor": "dimension order, on a mesh, torus, ring or hypercube",
    "dor-r1": "dimension order by the short way round rings of two links, more VLANs",
    "dor-r7": "dimension order by two lines per ring of two links, longer paths",
    "north-last": "dimension order, and the north-last turn model near what is down, on a mesh or hypercube",
    "west-first": "dimension order, and the west-first turn model near what is down, on a mesh or hypercube",
    "negative-first": "the negative-first turn model, on a mesh or hypercube",
    "fat-tree": "up by the source's digits, then down",
    "direct": "the direct link, on a complete graph",
    "double-star": "two centres per tree, on a Clos network",
    "any": "paths climbing one order of all channels, searched for short and evenly loaded ones, on any fabric",
    "up-down": "up*/down* from the best root or a chosen one, on any fabric",
    "tree": "one spanning tree, on any fabric",
}


def unknown_method(method: str) -> list[Finding]:
    """Return a finding if there is no such routing."""
    return [] if method in METHODS else [Finding("--routing", one_of(METHODS, method), repr(method))]


def refuse_ways(fabric: Fabric, assignment: str = "fixed", prefer: str = "vlans") -> None:
    """Raise InputError for networks' own routings that are none, and for what own routings and links exclude."""
    whole, fabric = fabric, routed_alike(fabric, assignment)
    findings = [
        Finding(f"networks.{name}.routing", one_of(METHODS, method), repr(method))
        for name, method in whole.routings
        if method not in METHODS
    ]
    for option, said, only in (("--assignment", assignment, "fixed"), ("--prefer", prefer, "vlans")):
        if fabric.own_ways and said != only:
            rule = f"{only}, where networks have routings or links of their own"
            if option == "--assignment" and not routed_alike(fabric, "pinned").own_ways:
                rule = "fixed or pinned, where networks have a VLAN of their own"
            findings.append(Finding(option, rule, said))
    for name, links in fabric.barred.items():
        mine = tuple(fabric.hosts[h] for h in fabric.networks[name].tolist())
        seen = replace(fabric, hosts=mine).with_links_down(np.flatnonzero(links).tolist())
        if apart := [fabric.switches[s].name for s in seen.apart]:
            findings.append(Finding(f"networks.{name}.links", "links to connect its hosts", f"no way to {apart[0]}"))
    if findings:
        raise InputError(findings)


def routed_alike(fabric: Fabric, assignment: str) -> Fabric:
    """Return the fabric with networks in a given VLAN routed as all others, where one VLAN holds any of their paths.

    That is with pinned assignment. With others such a network has one tree.
    """
    if assignment != "pinned" or not fabric.tags:
        return fabric
    given = dict(fabric.tags)
    return replace(fabric, routings=tuple(each for each in fabric.routings if each[0] not in given))


def chosen_root(fabric: Fabric, method: str, root: str | None) -> int | None:
    """Return the switch named `root`, to root up*/down* at, or None to search for the best root ("best" or None).

    Raises InputError if the method has no root to choose or no such switch is up.
    """
    if root is None:
        return None
    findings = unknown_method(method)
    if method != "up-down" and not findings:
        findings.append(Finding("--root", "--routing up-down, which has a root to choose", f"--routing {method}"))
    top = fabric.index.get(root)
    if root != "best" and (top is None or not fabric.switches[top].up):
        findings.append(Finding("--root", "best, or a switch of the fabric that is up", repr(root)))
    if findings:
        raise InputError(findings)
    return None if root == "best" else top


def route(
    fabric: Fabric, method: str = "auto", assignment: str = "fixed", effort: int = 1, top: int | None = None
) -> Routes:
    """Return all paths of a fabric over the links that are up; `effort` is how long `any` searches, 0 = not at all.

    `top` is the root of up*/down*, the best one if None; other methods have none.

    `auto` takes the closed form of the shape, moved off links that are down if that stays deadlock-free. Otherwise it
    searches for an order of all channels (`any`), or takes up*/down* on up to SEARCHED_ABOVE switches. Renamed
    assignment needs the next channel to follow from the in-port alone. If up*/down* trees do not satisfy that, their
    paths are chosen by in-port. Pinned assignment needs it to follow from the destination alone: trees are turned
    around (`by_destination`).

    Where networks have a routing or links of their own, `method` is that of the others (`each_network`).

    Raises InputError for an unknown method and PlanError if the method cannot be deadlock-free.
    """
    if unknown := unknown_method(method):
        raise InputError(unknown)
    fabric = routed_alike(fabric, assignment)
    if fabric.own_ways:
        return routes_of_shares(fabric, method, lambda part, own: route(part, own, assignment, effort, top))
    if assignment == "pinned":
        return by_destination(fabric, route(fabric, method, "fixed", effort, top))
    general = partial(up_down if assignment == "fixed" else _by_in_port, top=top)
    if method == "auto":
        routes, why_not = _closed_form(fabric, assignment)
        if routes is not None:
            return routes
        small = len(fabric.switches) <= SEARCHED_ABOVE
        chosen = general(fabric) if small else _by_order(fabric, assignment, effort)
        return replace(chosen, reason=f"{chosen.reason} ({why_not})" if why_not else chosen.reason)
    if method in {"tree", "up-down"}:
        return shared_tree(fabric) if method == "tree" else general(fabric)
    if method == "any":
        return _by_order(fabric, assignment, effort)
    makers: dict[str, Callable[[Fabric], Routes]] = {
        "direct": direct,
        "dor": partial(dimension_order, assignment=assignment),
        "dor-r1": partial(dimension_order, rule="r1"),
        "dor-r7": partial(dimension_order, rule="r7"),
        "fat-tree": fat_tree,
        "double-star": double_star,
    }
    families = {"direct": "complete", "fat-tree": "fat-tree", "double-star": "clos"}
    if method in MODELS:
        return _best(fabric, by_turn_model(fabric, dimension_order(fabric), assignment, (method,)), assignment, method)
    if method in families and (fabric.shape is None or fabric.shape.family != families[method]):
        raise PlanError(f"{method} routing needs a {families[method]} fabric", next_step="use --routing auto")
    moved = _moved(fabric, makers[method](fabric))
    if moved is None:
        raise PlanError(
            f"{method} routing cannot be led around the links that are down without a dependency cycle",
            next_step="use --routing up-down",
        )
    return moved


def _by_order(fabric: Fabric, assignment: str, effort: int) -> Routes:
    from tagloom.route.any_order import any_relation, any_trees  # noqa: PLC0415 - its kernels take a second to load

    if assignment == "fixed":
        return any_trees(fabric, effort)
    source_of_host, root, rel = any_relation(fabric, effort)
    return Routes("any", f"one order of all channels, effort {effort}", source_of_host, root, relation=rel)


def _by_in_port(fabric: Fabric, top: int | None = None) -> Routes:
    routes = up_down(fabric, top)
    return routes if departures(fabric, routes) is not None else up_down_by_in_port(fabric, top)


def _closed_form(fabric: Fabric, assignment: str) -> tuple[Routes | None, str]:
    """Return the closed form of the fabric's shape, moved off links that are down, or None and the reason."""
    family = fabric.shape.family if fabric.shape is not None else ""
    grid = is_grid(fabric)
    try:
        if grid:
            if no := refusal(fabric):
                return None, no
            routes = dimension_order(fabric, assignment=assignment)
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
    if fabric.channel_up.all():
        return routes, ""
    candidates = [moved] if (moved := _moved(fabric, routes)) is not None else []
    if assignment != "fixed":
        candidates = [candidate for candidate in candidates if departures(fabric, candidate) is not None]
    if grid and len(fabric.tail) * len(fabric.switches) <= WEIGHED:
        candidates += by_turn_model(fabric, routes, assignment, ("north-last", "west-first"))
    elif grid and not candidates:
        candidates += islice(by_turn_model(fabric, routes, assignment, ("north-last", "west-first")), 1)
    if grid and not candidates and assignment != "fixed" and (local := by_local_turns(fabric, routes)) is not None:
        candidates = [local]
    if not candidates:
        return None, "the links that are down leave no deadlock-free way around for it"
    return _cheapest(fabric, candidates, assignment), ""


def _best(fabric: Fabric, candidates: Iterable[Routes], assignment: str, method: str) -> Routes:
    found = list(candidates if len(fabric.tail) * len(fabric.switches) <= WEIGHED else islice(candidates, 1))
    if not found:
        raise PlanError(
            f"{method} turns do not reach every host past what is down, or the grid has rings",
            next_step="use --routing auto",
        )
    return _cheapest(fabric, found, assignment)


def _cheapest(fabric: Fabric, candidates: list[Routes], assignment: str) -> Routes:
    return (
        candidates[0]
        if len(candidates) == 1
        else min(candidates, key=lambda candidate: cost(fabric, candidate, assignment))
    )


def _moved(fabric: Fabric, routes: Routes) -> Routes | None:
    moved = detour(fabric, routes)
    if moved is not None and moved is not routes and find_cycle(len(fabric.tail), *dependencies(fabric, moved)):
        return None
    return moved
