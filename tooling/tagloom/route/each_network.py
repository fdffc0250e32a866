"""Route networks that have a routing or links of their own, so that all paths together follow one order."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies
from tagloom.graph.trees import per_switch, pruned, rooted_at
from tagloom.platforms.port_names import channel_name
from tagloom.records.routes import Routes
from tagloom.route.gather import gather
from tagloom.route.up_down import central, up_down

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

    Maker = Callable[[Fabric, str], Routes]

TRIED = 64  # roots of trees, and of up*/down*, the most central first
FIXED_FIRST = {"tree": 2, "auto": 1, "up-down": 1}  # routings with more choices wait for those with fewer


class Share(NamedTuple):
    """Networks that are routed together: their names, their hosts, the fabric they see, the routing."""

    names: tuple[str, ...]
    hosts: NDArray[np.int64]
    fabric: Fabric
    routing: str


def routes_of_shares(fabric: Fabric, routing: str, make: Maker) -> Routes:
    """Return the routes of all hosts where networks have routings or links of their own.

    `make` routes a fabric without such networks by a routing; `routing` is that of networks with none of their own.
    Each share may be deadlock-free by itself and close a dependency cycle with another. So shares are routed one after
    the other, those with fewer choices first, and of a share's choices (roots of its trees) the first is taken whose
    dependencies are acyclic together with all before (Dally and Seitz 1987). Raises PlanError, with a cycle, if there
    is none, or if a share's links do not connect its hosts.
    """
    shares = sorted(_shares(fabric, routing), key=lambda share: FIXED_FIRST.get(share.routing, 0))
    channels = max(1, len(fabric.tail))
    keys, chosen = np.empty(0, np.int64), list[tuple[Share, Routes]]()
    for share in shares:
        witness: list[int] = []
        for routes in _choices(share, make):
            held, wanted = dependencies(share.fabric, routes)
            together = np.unique(np.concatenate([keys, held * channels + wanted]))
            cycle = find_cycle(len(fabric.tail), together // channels, together % channels)
            if not cycle:
                keys = together
                chosen.append((share, routes))
                break
            witness = witness or cycle
        else:
            _refuse(fabric, share, chosen, witness)
    return _joined(fabric, chosen)


def _shares(fabric: Fabric, routing: str) -> list[Share]:
    """Return the networks by what they have of their own; those with nothing are routed together."""
    own = dict(fabric.routings)
    groups: dict[tuple[str, frozenset[int]], list[str]] = {}
    for name in fabric.networks:
        barred = frozenset(np.flatnonzero(fabric.barred.get(name, np.empty(0))).tolist())
        groups.setdefault((own.get(name, routing), barred), []).append(name)
    shares = []
    for (method, barred), names in groups.items():
        mine = np.sort(np.concatenate([fabric.networks[name] for name in names]))
        links = tuple(replace(link, barred=()) for link in fabric.links)
        seen = replace(fabric, links=links, routings=(), hosts=tuple(fabric.hosts[h] for h in mine.tolist()))
        shares.append(Share(tuple(names), mine, seen.with_links_down(barred), method))
    return shares


def _choices(share: Share, make: Maker) -> Iterator[Routes]:
    """Yield routes of a share by its routing: as without other networks, then from other roots."""
    if share.fabric.apart:
        rule = f"the links that network {', '.join(share.names)} may use connect its hosts"
        apart = ", ".join(share.fabric.switches[s].name for s in share.fabric.apart)
        raise PlanError(rule, f"no way to {apart}", "name more links for it, or none")
    first = make(share.fabric, share.routing)
    if (gathered := gather(share.fabric, first)) is not first:
        yield gathered
    yield first
    if share.routing == "tree":
        yield from _trees(share.fabric)
    for top in central(share.fabric)[:TRIED] if share.routing in {"auto", "up-down"} else []:
        yield up_down(share.fabric, top)


def _trees(fabric: Fabric) -> Iterator[Routes]:
    """Yield the routes over one spanning tree, from each root, by preference of low links, then of high ones."""
    source_of_host, root = per_switch(fabric)
    for top in central(fabric)[:TRIED]:
        for preferred in (1, -1):
            links = _breadth_first(fabric, top, preferred)
            parent = pruned(fabric, rooted_at(fabric, links, root))
            reason = f"one tree from {fabric.switches[top].name}, in the order of the other networks"
            yield Routes("tree", reason, source_of_host, root, parent)


def _breadth_first(fabric: Fabric, top: int, preferred: int) -> set[int]:
    """Return the links of a tree of shortest paths; where several lead on, the lowest (1) or highest (-1) is taken."""
    level, found = {top: 0}, set[int]()
    around: dict[int, list[int]] = {}
    for channel in np.flatnonzero(fabric.channel_up).tolist()[::preferred]:
        around.setdefault(int(fabric.tail[channel]), []).append(channel)
    here = [top]
    while here:
        onward: dict[int, int] = {}
        for channel in sorted((c for s in here for c in around.get(s, ())), reverse=preferred < 0):
            head = int(fabric.head[channel])
            if head not in level:
                onward.setdefault(head, channel)
        for head, channel in onward.items():
            level[head] = level[int(fabric.tail[channel])] + 1
            found.add(channel // 2)
        here = list(onward)
    return found


def _refuse(fabric: Fabric, share: Share, chosen: list[tuple[Share, Routes]], cycle: list[int]) -> None:
    own, others = ", ".join(share.names), ", ".join(f"{', '.join(s.names)} ({s.routing})" for s, _ in chosen)
    raise PlanError(
        "the paths of all networks together follow one order of channels, without a dependency cycle",
        f"{own} ({share.routing}) with {others}: {'; '.join(channel_name(fabric, c) for c in cycle)}",
        "routing: up-down or tree for one of them, or links of its own",
    )


def _joined(fabric: Fabric, chosen: list[tuple[Share, Routes]]) -> Routes:
    source_of_host, first = np.empty(len(fabric.hosts), np.int32), 0
    for share, routes in chosen:
        source_of_host[share.hosts] = routes.source_of_host + first
        first += routes.sources
    named = sorted((", ".join(share.names), routes) for share, routes in chosen)
    return Routes(
        "+".join(sorted({routes.method for _, routes in chosen})),
        "; ".join(f"{names}: {routes.method}, {routes.reason}" for names, routes in named),
        source_of_host,
        np.concatenate([routes.root for _, routes in chosen]),
        np.concatenate([routes.trees for _, routes in chosen]),
    )
