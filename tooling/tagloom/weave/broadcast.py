"""Find a spanning tree for broadcasts whose turns close no dependency cycle with those of the routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies
from tagloom.graph.search import all_hops

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes

ROOTS = (
    32  # breadth-first orders tried, from the switches nearest to all hosts; up*/down* trees fit from their own root
)
CHANCES = 32  # seeded random orders tried after them


def broadcast_tree(fabric: Fabric, routes: Routes, preferred: Collection[int] = ()) -> frozenset[int]:
    """Return the links of a tree that spans all switches with hosts and may carry floods beside the unicasts.

    A tree of as many of the links `preferred` as it can hold is tried first, then breadth-first trees. Then Kruskal's
    algorithm runs over breadth-first and random orders, and skips a link whose turns would close a cycle with the
    dependencies so far. That greedy search found a tree in 59,941 of 59,973 acyclic routings that have one. None may
    exist (five switches, links 01 03 04 13 14 23, found by exhaustion), hence the bound. Raises PlanError if no order
    gives a tree.
    """
    held, wanted = dependencies(fabric, routes)
    orders = [order for _, order in zip(range(ROOTS), _breadth_first(fabric), strict=False)]
    first = [[*preferred, *order] for order in orders[:1] if preferred]
    for order in (*first, *orders):
        tree = without_bare_ends(fabric, _kruskal(fabric, order))
        if _fits(fabric, held, wanted, tree):
            return tree
    links = np.flatnonzero(fabric.channel_up[::2])
    chances = (np.random.default_rng(seed).permutation(links).tolist() for seed in range(CHANCES))
    for order in (*orders, *chances):
        tree = without_bare_ends(fabric, _kruskal(fabric, order, (held, wanted)))
        if _spans(fabric, tree):
            return tree
    raise PlanError(
        "broadcasts need one tree whose turns close no dependency cycle with the paths",
        f"none was found in {2 * len(orders) + CHANCES} orders of the links",
        "use --assignment fixed, --routing tree, or --static-arp",
    )


def tree_around(
    fabric: Fabric, tree: Collection[int], beside: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> frozenset[int] | None:
    """Return a tree of links that are up, with all of `tree` that are, for floods beside dependencies; None for none.

    Links are added that join two parts and close no cycle, by their number. Where one link is enough each is tried.
    """
    kept, top = [i for i in sorted(tree) if fabric.channel_up[2 * i]], list(range(len(fabric.switches)))
    for i in kept:
        top[_find(top, fabric.links[i].a)] = _find(top, fabric.links[i].b)
    for i in np.flatnonzero(fabric.channel_up[::2]).tolist():
        a, b = (_find(top, s) for s in (fabric.links[i].a, fabric.links[i].b))
        if a != b and _fits(fabric, *beside, [*kept, i]):
            top[a] = b
            kept.append(i)
    found = without_bare_ends(fabric, kept)
    return found | {i for i in tree if fabric.channel_up[2 * i]} if _spans(fabric, found) else None


def turns(fabric: Fabric, links: Collection[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the dependencies of frames that flood over a tree of links: (channel held, channel wanted)."""
    # channel c leaves the switch over a link, c ^ 1 enters it over the same link
    pairs = [(c ^ 1, d) for away in _around(fabric, links).values() for c in away for d in away if c != d]
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def closes_no_cycle(fabric: Fabric, links: Collection[int]) -> bool:
    """Return whether links are a tree, or several."""
    return len(_kruskal(fabric, links)) == len(links)


def _around(fabric: Fabric, links: Collection[int]) -> dict[int, list[int]]:
    """Return the channels that leave each switch over `links`."""
    around: dict[int, list[int]] = {}
    for i in links:
        around.setdefault(fabric.links[i].a, []).append(2 * i)
        around.setdefault(fabric.links[i].b, []).append(2 * i + 1)
    return around


def _breadth_first(fabric: Fabric) -> Iterator[list[int]]:
    """Yield the links that are up by distance from a root, for each root, the one nearest to all hosts first."""
    n, up = len(fabric.switches), fabric.channel_up
    distance = all_hops(n, fabric.tail[up], fabric.head[up])
    links = np.flatnonzero(up[::2])
    a, b = fabric.tail[2 * links], fabric.head[2 * links]
    total = distance[:, fabric.host_switch].sum(axis=1)
    for root in np.lexsort((np.arange(n), total)):
        near, far = np.sort([distance[root, a], distance[root, b]], axis=0)
        yield links[np.lexsort((links, far, near))].tolist()


def _kruskal(
    fabric: Fabric, order: Collection[int], beside: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
) -> list[int]:
    """Return a forest: each link in `order` that joins two components and, `beside` dependencies, closes no cycle."""
    top = list(range(len(fabric.switches)))
    taken: list[int] = []
    for i in order:
        a, b = (_find(top, s) for s in (fabric.links[i].a, fabric.links[i].b))
        if a != b and (beside is None or _fits(fabric, *beside, [*taken, i])):
            top[a] = b
            taken.append(i)
    return taken


def _find(top: list[int], s: int) -> int:
    while top[s] != s:
        top[s] = top[top[s]]
        s = top[s]
    return s


def _fits(fabric: Fabric, held: NDArray[np.int64], wanted: NDArray[np.int64], links: Collection[int]) -> bool:
    before, after = turns(fabric, links)
    return not find_cycle(len(fabric.tail), np.concatenate([held, before]), np.concatenate([wanted, after]))


def without_bare_ends(fabric: Fabric, links: Collection[int]) -> frozenset[int]:
    """Return a tree without the branches that lead to no host."""
    hosts = set(fabric.host_switch.tolist())
    around = {s: {c // 2 for c in away} for s, away in _around(fabric, links).items()}
    bare = [s for s, mine in around.items() if len(mine) == 1 and s not in hosts]
    while bare:
        s = bare.pop()
        if not around[s]:
            continue  # the last link of a component without hosts was removed from its other end
        (i,) = around.pop(s)
        other = fabric.links[i].b if fabric.links[i].a == s else fabric.links[i].a
        around[other].discard(i)
        if len(around[other]) == 1 and other not in hosts:
            bare.append(other)
    return frozenset(i for mine in around.values() for i in mine)


def _spans(fabric: Fabric, tree: Collection[int]) -> bool:
    """Return whether a pruned forest is one tree that contains every host's switch: it has links + 1 switches."""
    on_tree = {s for i in tree for s in (fabric.links[i].a, fabric.links[i].b)} | set(fabric.host_switch.tolist())
    return len(on_tree) == len(tree) + 1
