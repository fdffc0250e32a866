"""Choose what a fabric shall be around its dead parts: which links sleep no longer, which switches are left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from tagloom.records.dead_parts import DeadParts

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

WAKING = 1.001  # hops that a link which must be woken counts for: of two ways alike, the one that is awake


@dataclass(frozen=True)
class Target:
    """A fabric around its dead parts.

    fabric   dead links are marked so, switches that are dead or that no cable joins with most hosts are down
    woken    links that are up in it and were off before
    apart    switches with hosts that are down in it: dead, or cut off physically
    """

    fabric: Fabric
    woken: frozenset[int]
    apart: tuple[int, ...]


def target(home: Fabric, runs: Fabric, whole: Fabric, dead: DeadParts) -> Target:
    """Return what shall run where `dead` is dead, of a fabric that is `home` where nothing is, and `runs` now.

    Links that `whole` has up and `home` has not are asleep: those that ways around the dead parts need are woken;
    what a repair before this one woke stays awake while anything is dead.
    """
    asleep = {i for i, (a, b) in enumerate(zip(whole.links, home.links, strict=True)) if a.up and not b.up}
    awake = {i for i in asleep - dead.links if runs.links[i].up}
    if not dead.links and not dead.switches:
        return Target(home, frozenset(), ())
    gone = dead.switches
    wanted = {i for i, link in enumerate(home.links) if link.up}
    living = {i for i in wanted | asleep if i not in dead.links and not {home.links[i].a, home.links[i].b} & gone}
    cost = {i: 1.0 if i in wanted | awake else WAKING for i in living}
    for a, b in _broken_apart(home, wanted - living, gone):
        awake |= {i for i in _cheapest_path(home, cost, a, b) if i in asleep}
    links = (replace(link, up=link.up or i in awake) for i, link in enumerate(home.links))
    marked = dead.links & (wanted | {i for i in asleep if runs.links[i].up or runs.links[i].dead})
    fabric = replace(home, links=tuple(links)).with_links_dead(marked)
    beyond = gone | _beyond_the_most_hosts(fabric, gone)
    apart = sorted({host.switch for host in home.hosts} & beyond)
    woken = frozenset(i for i in awake if not runs.links[i].up)
    return Target(fabric.with_switches_down(beyond), woken, tuple(apart))


def failures_left(home: Fabric, whole: Fabric) -> list[int]:
    """Return the links of `home` whose death a repair does not mend by waking one link of `whole`'s at most.

    Not so where it takes more, or where hosts stay apart that cables still join: what no cable joins is nobody's fault.
    """
    left = []
    for i in (i for i, link in enumerate(home.links) if link.up):
        dead = DeadParts(frozenset({i}))
        around = target(home, home, whole, dead)
        if len(around.woken) > 1 or (around.apart and around.apart != target(whole, whole, whole, dead).apart):
            left.append(i)
    return left


def same_target(a: Fabric, b: Fabric) -> bool:
    """Return whether two fabrics of one cabling have the same links and switches up and dead."""
    return [(x.up, x.dead) for x in a.links] == [(x.up, x.dead) for x in b.links] and [s.up for s in a.switches] == [
        s.up for s in b.switches
    ]


def joined_pairs(fabric: Fabric, whole: Fabric, dead: DeadParts) -> NDArray[np.bool_]:
    """Return the ordered pairs of hosts of one network that cables join, over links that are asleep too, bool[H, H]."""
    up = [i not in dead.links and (x.up or whole.links[i].up) for i, x in enumerate(fabric.links)]
    part = _parts(replace(fabric, links=tuple(replace(x, up=u) for x, u in zip(fabric.links, up, strict=True))))
    part[list(dead.switches)] = -1
    mine = part[fabric.host_switch]
    joined: NDArray[np.bool_] = (mine[:, None] == mine[None, :]) & (mine >= 0)[:, None]
    return joined & fabric.same_network


def island_pairs(fabric: Fabric, back: Collection[int], waiting: Collection[int]) -> list[tuple[int, int]]:
    """Return ordered pairs of hosts, by index, that may work over switches which are back and not all readmitted yet.

    `back` are readmitted next and `waiting` later, each set apart from its neighbours meanwhile: what goes over one of
    `back` from or to one of `waiting` is cut off until the last of them is readmitted. Pairs of one of `waiting` may
    be while that one is configured; those of one of `back` are for its own readmission to count. Those of two networks
    never work.
    """
    beyond = {*range(len(fabric.switches))} - {*back, *waiting}
    part = _parts(fabric.with_links_down({i for i, link in enumerate(fabric.links) if {link.a, link.b} & beyond}))
    near = {int(part[s]) for s in back}
    at = [(h, host.switch) for h, host in enumerate(fabric.hosts) if host.switch not in beyond]
    at = [(h, s) for h, s in at if int(part[s]) in near]
    return [(a, b) for a, s in at for b, t in at if a != b and (s != t or s in waiting) and fabric.same_network[a, b]]


def _broken_apart(fabric: Fabric, lost: Collection[int], gone: Collection[int]) -> list[tuple[int, int]]:
    """List switches, two by two, that lost links joined: their ends, or the neighbours of a switch that is gone."""
    pairs: list[tuple[int, int]] = []
    near: dict[int, list[int]] = {}
    for i in sorted(lost):
        a, b = fabric.links[i].a, fabric.links[i].b
        if a not in gone and b not in gone:
            pairs.append((a, b))
        for s, t in ((a, b), (b, a)):
            if s in gone and t not in gone:
                near.setdefault(s, []).append(t)
    return pairs + [(those[0], other) for those in near.values() for other in those[1:]]


def _cheapest_path(fabric: Fabric, cost: Mapping[int, float], start: int, goal: int) -> list[int]:
    """Return the links of a cheapest path between two switches, [] where there is none."""
    graph = nx.Graph()
    for i in sorted(cost, key=lambda i: (-cost[i], -i)):  # of parallel links the cheapest, which comes last
        graph.add_edge(fabric.links[i].a, fabric.links[i].b, link=i, weight=cost[i])
    try:
        path = nx.dijkstra_path(graph, start, goal)
    except (nx.NetworkXNoPath, nx.NodeNotFound):
        return []
    return [graph.edges[ends]["link"] for ends in pairwise(path)]


def _parts(fabric: Fabric) -> NDArray[np.int64]:
    """Return for each switch the first one of the part that links which are up leave it in, int64[N]."""
    part = np.full(len(fabric.switches), -1, np.int64)
    for s in range(len(part)):
        if part[s] < 0:
            part[fabric.reached(s)] = s
    return part


def _beyond_the_most_hosts(fabric: Fabric, gone: Collection[int]) -> set[int]:
    """Return the switches of parts of a fabric that have hosts, but not the most.

    Those without hosts are among them: what goes from host to host within such a part may go over them.
    """
    part = _parts(fabric)
    count = np.bincount(part[fabric.host_switch], minlength=len(part))
    count[list(gone)] = 0
    most = int(np.argmax(count))
    others = np.setdiff1d(part[fabric.host_switch], [most])
    return set(np.flatnonzero(np.isin(part, others)).tolist())
