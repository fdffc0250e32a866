"""Route fat trees, Clos networks and complete graphs so that the paths of every source form a tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.trees import per_switch, pruned, rooted
from tagloom.records.routes import Routes

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric


def fat_tree(fabric: Fabric) -> Routes:
    """Return routes of a fat tree: up by the source's digits, then down.

    Digit 1 is the host's number on its leaf, digit l + 1 the number of its branch at level l. A tree is every leaf's
    path up by the same digits (w_1 .. w_r), so all sources with equal digits share it: u^r VLANs for fixed assignment.
    The choice at a switch depends only on the in-port, hence u VLANs per switch for renamed (Koibuchi et al. 2011,
    Table 3; a destination-based choice is not a tree). Up, then down: no cycle.
    """
    assert fabric.shape is not None  # noqa: S101 - the chooser asked for this family
    up, down, levels = fabric.shape.dims
    above: dict[int, list[int]] = {}
    for i, link in enumerate(fabric.links):
        low, high = sorted((link.a, link.b), key=lambda s: fabric.switches[s].at)
        adjacent = fabric.switches[high].at[0] == fabric.switches[low].at[0] + 1
        if adjacent and link.parallel_link % _parallel(fabric) == 0:
            above.setdefault(low, []).append(i)
    for low, ups in above.items():
        ups.sort(key=lambda i, low=low: (fabric.links[i].a + fabric.links[i].b - low, i))  # type: ignore[misc]  # low is bound
    leaves = [s for s, switch in enumerate(fabric.switches) if switch.at[0] == 0]
    if any(len(above.get(s, ())) != up for s, switch in enumerate(fabric.switches) if switch.at[0] < levels):
        raise PlanError("fat-tree routing needs every link of the family", next_step="use --routing up-down")
    turn: dict[int, int] = {}
    key_of_host: list[tuple[int, int]] = []
    for host in fabric.hosts:
        key_of_host.append((host.switch, turn.get(host.switch, 0) % up))
        turn[host.switch] = turn.get(host.switch, 0) + 1
    keys = sorted(set(key_of_host))
    trees: dict[tuple[int, ...], set[int]] = {}
    parent = np.full((len(keys), len(fabric.switches)), -1, np.int32)
    for source, (leaf, number) in enumerate(keys):
        branch = [leaves.index(leaf) // down**level % down for level in range(levels - 1)]
        digits = (number, *(x % up for x in branch))
        if digits not in trees:
            trees[digits] = set()
            for start in leaves:
                here = start
                for digit in digits:
                    i = above[here][digit]
                    trees[digits].add(i)
                    here = fabric.links[i].a + fabric.links[i].b - here
        parent[source] = rooted(fabric, trees[digits], leaf)
    number_of = {key: n for n, key in enumerate(keys)}
    source_of_host = np.array([number_of[key] for key in key_of_host], np.int32)
    root = np.array([leaf for leaf, _ in keys], np.int32)
    reason = "up by the source's own digits, then down"
    return Routes("fat-tree", reason, source_of_host, root, pruned(fabric, parent))


def double_star(fabric: Fabric) -> Routes:
    """Return double-star routes of a complete bipartite graph: A_i reaches A_k over B_i, B_j reaches B_l over A_j.

    A_i and B_i share a tree, so K(n,n) needs n VLANs fixed. Paths are minimal. The longest chain of dependencies is B_j
    -> A_j -> B_l; it ends there, since A_j forwards only frames from B_j itself. (Myri-clos; the paper's Sect. 5.2
    takes any minimal routing there for deadlock-free, which is wrong for (s + d) mod n.)
    """
    assert fabric.shape is not None  # noqa: S101 - the chooser asked for this family
    a, b = fabric.shape.dims
    between = {
        (link.a, link.b - a): i
        for i, link in enumerate(fabric.links)
        if link.parallel_link == 0 and link.a < a <= link.b < a + b
    }
    if len(between) != a * b:
        raise PlanError("double-star routing needs every link of the family", next_step="use --routing up-down")
    source_of_host, root = per_switch(fabric)
    parent = np.full((len(root), len(fabric.switches)), -1, np.int32)
    for source, s in enumerate(root.tolist()):
        side = s if s < a else s - a
        centre_a, centre_b = (s, side % b) if s < a else (side % a, side)
        star = {between[centre_a, j] for j in range(b)} | {between[i, centre_b] for i in range(a)}
        parent[source] = rooted(fabric, star, s)
    return Routes(
        "double-star", "one switch of each side as the two centres", source_of_host, root, pruned(fabric, parent)
    )


def direct(fabric: Fabric) -> Routes:
    """Return routes of a complete graph over its direct links.

    One direction takes parallel link 0, the other the last parallel link. No path passes a third switch, so there is no
    dependency.
    """
    parallel_links: dict[tuple[int, int], list[int]] = {}
    for i, link in enumerate(fabric.links):
        if link.up:
            parallel_links.setdefault((link.a, link.b), []).append(2 * i)
            parallel_links.setdefault((link.b, link.a), []).append(2 * i + 1)
    source_of_host, root = per_switch(fabric)
    parent = np.full((len(root), len(fabric.switches)), -1, np.int32)
    for source, s in enumerate(root.tolist()):
        for other in range(len(fabric.switches)):
            if other != s:
                if (s, other) not in parallel_links:
                    raise PlanError(
                        "direct routing needs a link between every two switches", next_step="use --routing up-down"
                    )
                parent[source, other] = parallel_links[s, other][0 if s < other else -1]
    return Routes("direct", "every switch is a neighbour", source_of_host, root, pruned(fabric, parent))


def _parallel(fabric: Fabric) -> int:
    assert fabric.shape is not None  # noqa: S101 - the chooser asked for this family
    return fabric.shape.parallel_links
