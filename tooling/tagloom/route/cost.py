"""Estimate the cost of routes before they are woven: VLANs, then switches on a path."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.paths import average_hops, dependencies, relation

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes


def cost(fabric: Fabric, routes: Routes, assignment: str) -> tuple[int, float]:
    """Return (VLANs, Avg.H); sources with equal trees, or in-ports with equal members, count as one VLAN.

    Weaving may merge more trees (those of few links) and fewer in-ports (if their entries disagree). Pinned assignment
    has one VLAN.
    """
    if assignment == "pinned":
        return 1, average_hops(fabric, routes)
    return (_trees(routes) if assignment == "fixed" else _members(fabric, routes)), average_hops(fabric, routes)


def _trees(routes: Routes) -> int:
    return len({frozenset((row[row >= 0] // 2).tolist()) for row in routes.trees})


def _members(fabric: Fabric, routes: Routes) -> int:
    """Return the most different sets of in-port and egress links at any one switch."""
    rel = relation(fabric, routes)
    assert rel is not None  # noqa: S101 - callers pass routes that renamed assignment can realise
    leaves: dict[int, set[int]] = {}
    for held, wanted in zip(*(side.tolist() for side in dependencies(fabric, routes)), strict=True):
        leaves.setdefault(held, {held // 2}).add(wanted // 2)
    kinds = {(int(fabric.head[held]), frozenset(links)) for held, links in leaves.items()}
    kinds |= {
        (int(root), frozenset((np.unique(row[row >= 0]) // 2).tolist()))
        for root, row in zip(routes.root, rel.first, strict=True)
    }
    return max(Counter(switch for switch, _ in kinds).values(), default=0)
