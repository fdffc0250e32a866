"""Single failures of a fabric: each link, or each switch, with what stays connected without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from tagloom.graph.search import matrix
from tagloom.platforms.port_names import link_ends

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

Part = tuple[int, int]  # (link, -1) or (-1, switch)


def single_failures(fabric: Fabric, kind: str) -> list[Part]:
    """Return the failure of each link, or of each switch, that is up; `kind` is "links" or "switches"."""
    if kind == "links":
        return [(i, -1) for i, link in enumerate(fabric.links) if link.up]
    return [(-1, s) for s, switch in enumerate(fabric.switches) if switch.up]


def dead_channels(fabric: Fabric, channels: int, part: Part) -> NDArray[np.bool_]:
    """Return the channels of a link, or those that leave a switch, bool[C]."""
    link, switch = part
    dead: NDArray[np.bool_] = (np.arange(channels) // 2 == link) | (np.append(fabric.tail, -1)[:channels] == switch)
    return dead


def components(fabric: Fabric, part: Part) -> NDArray[np.int32]:
    """Return the number of each switch's component without a part, int32[N]."""
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - a third of a second few commands need

    link, switch = part
    up = np.flatnonzero(fabric.channel_up[::2])
    a, b = fabric.tail[2 * up], fabric.head[2 * up]
    kept = (up != link) & (a != switch) & (b != switch)
    near = matrix(len(fabric.switches), a[kept].astype(np.int64), b[kept].astype(np.int64))
    label: NDArray[np.int32] = connected_components(near, directed=False)[1]
    return label


def cutting_parts(fabric: Fabric) -> tuple[set[int], set[int]]:
    """Return the links, and the switches, whose loss alone parts others that are up."""
    graph = nx.Graph()
    between: dict[tuple[int, int], list[int]] = {}
    for i in np.flatnonzero(fabric.channel_up[::2]).tolist():
        ends = sorted((int(fabric.tail[2 * i]), int(fabric.head[2 * i])))
        between.setdefault((ends[0], ends[1]), []).append(i)
    graph.add_edges_from(between)
    alone = (between[min(a, b), max(a, b)] for a, b in nx.bridges(graph))
    return {links[0] for links in alone if len(links) == 1}, set(nx.articulation_points(graph))


def named(fabric: Fabric, part: Part) -> tuple[str, ...]:
    """Return a link by its two ends, or a switch by its name."""
    link, switch = part
    return link_ends(fabric, link) if link >= 0 else (fabric.switches[switch].name,)
