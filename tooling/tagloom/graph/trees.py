"""Spanning trees rooted at switches, and their part that leads to hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


def rooted(fabric: Fabric, links: Iterable[int], root: int) -> NDArray[np.int32]:
    """Return a tree of links rooted at `root`: the channel into each switch, int32[N], -1 if it has none."""
    around: dict[int, list[int]] = {}
    for i in links:
        link = fabric.links[i]
        around.setdefault(link.a, []).append(2 * i)
        around.setdefault(link.b, []).append(2 * i + 1)
    parent = np.full(len(fabric.switches), -1, np.int32)
    seen, stack = {root}, [root]
    while stack:
        for channel in around.get(stack.pop(), ()):
            head = int(fabric.head[channel])
            if head not in seen:
                seen.add(head)
                parent[head] = channel
                stack.append(head)
    return parent


def rooted_at(fabric: Fabric, links: Iterable[int], roots: NDArray[np.integer]) -> NDArray[np.int32]:
    """Return a tree of links rooted at each of `roots`, int32[R, N]; all roots must lie on it.

    Two rows differ only on the path between their roots, where the channels are reversed.
    """
    first = rooted(fabric, links, int(roots[0]))
    parent = np.tile(first, (len(roots), 1))
    for row, root in zip(parent, roots.tolist(), strict=True):
        here, channel = root, int(first[root])
        row[root] = -1
        while channel >= 0:
            here = int(fabric.tail[channel])
            row[here] = channel ^ 1
            channel = int(first[here])
    return parent


def flooding_links(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return the links whose ports flood at both ends, bool[L], whatever VLANs they are in."""
    floods = np.array(
        [
            bool(state[fabric.switches[s].name].flooding[p - 1])
            for s, p in zip(fabric.tail, fabric.tail_port, strict=True)
        ],
        np.bool_,
    )
    return np.asarray(floods.reshape(-1, 2).all(axis=1), np.bool_)


def per_switch(fabric: Fabric) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return one source per switch that has hosts: (source of each host int32[H], root of each source int32[S])."""
    root, source_of_host = np.unique(fabric.host_switch, return_inverse=True)
    return source_of_host.astype(np.int32), root.astype(np.int32)


def pruned(fabric: Fabric, parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return trees without the branches that lead to no host, int32[S, N]."""
    needed = np.zeros(parent.shape, np.bool_)
    needed[:, fabric.host_switch] = True
    here = np.arange(parent.shape[1])
    up = np.where(parent >= 0, fabric.tail[parent] if len(fabric.tail) else here, here)
    rows = np.arange(parent.shape[0])[:, None]
    while True:
        grown = needed.copy()
        grown[np.broadcast_to(rows, up.shape)[needed], up[needed]] = True
        if np.array_equal(grown, needed):
            return np.where(needed, parent, -1).astype(np.int32)
        needed = grown
