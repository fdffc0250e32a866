"""Detours around single links in VLANs of their own, beside paths that stay as they are, without compiled loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.routes import DetourTrees
from tagloom.route.any_order.sets_of_failures import OUTSIDE, ROOT, Growth, Sweep, protecting_order
from tagloom.route.detours import ascended
from tagloom.route.net import lay_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.route.net import Net

# Bits of the sets that a search holds: those of 100 switches with four links each, which take two seconds.
MOST_BITS = 1 << 28


def too_large(fabric: Fabric) -> bool:
    """Return whether a fabric is too large for a search without compiled loops."""
    links = sum(link.up for link in fabric.links)
    return len(fabric.switches) ** 3 * links > MOST_BITS


def detours_beside(
    fabric: Fabric, routes: Routes, dependencies: tuple[NDArray[np.int64], NDArray[np.int64]], most: int
) -> DetourTrees:
    """Return at most `most` trees around single links, which no source's own tree is, for the sources that they serve.

    All paths and detours ascend one order of the channels, so the (held, wanted) `dependencies` of the paths and those
    of the detours close no cycle together, whatever hosts have moved. Sources share the trees. Cases that no tree
    serves stay without a detour. Raises PlanError if the dependencies close a cycle.
    """
    net = lay_out(fabric)
    try:
        first, locked = ascended(fabric, net, dependencies)
    except ValueError as error:
        raise PlanError("paths whose dependencies close no cycle", str(error)) from None
    held, slot = np.nonzero(locked)
    turns = list(zip(held.tolist(), net.out[net.out_start[net.head[held]] + slot].tolist(), strict=True))
    sweep = Sweep(net)
    order, _ = protecting_order(sweep, first.tolist(), turns)
    number = np.full(len(fabric.switches), -1)
    number[net.switch] = np.arange(len(net.switch))
    growth = Growth(sweep, order, number[routes.root].tolist())
    trees = [growth.ascending(tree) for tree in _trees_of(fabric, net, routes, growth)]
    wanted = {k: lost for k, tree in enumerate(trees) if (lost := growth.needed(k, tree))}
    chosen = growth.chosen(wanted, growth.shared(wanted, most))
    place: dict[tuple[int, tuple[int, ...]], int] = {}
    choice = np.full((sweep.links, routes.sources), -1, np.int32)
    for (source, failure), tree in chosen.items():
        choice[failure, source] = place.setdefault((source, tuple(tree)), len(place))
    parent = np.full((len(place), len(fabric.switches)), -1, np.int32)
    channel = net.channel[np.array(order, np.int64)]
    for row, (_, tree_of) in enumerate(place):
        into = np.array(tree_of)
        parent[row, net.switch] = np.where(into >= 0, channel[into], -1)
    return DetourTrees(
        links=np.unique(net.channel // 2).astype(np.int32),
        switches=net.switch[:0],
        root=routes.root[[source for source, _ in place]],
        parent=parent,
        choice=choice,
        unserved=sum(lost.bit_count() for lost in wanted.values()) - len(chosen),
    )


def _trees_of(fabric: Fabric, net: Net, routes: Routes, growth: Growth) -> list[list[int]]:
    """Return the sources' trees by positions of channels in the order."""
    position = np.full(len(fabric.tail) + 1, OUTSIDE)
    position[net.channel[np.array(growth.order, np.int64)]] = np.arange(len(growth.order))
    trees = position[np.where(routes.trees >= 0, routes.trees, len(fabric.tail))][:, net.switch]
    trees[np.arange(len(trees)), growth.roots] = ROOT
    found: list[list[int]] = trees.tolist()
    return found
