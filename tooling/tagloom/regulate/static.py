"""Turn links off while no channel gets busier than the busiest was (Koibuchi et al. 2011, Sect. 5.4.2)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from tagloom.graph.floods import load_with_copies
from tagloom.records.settings import LinkSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.graph.floods import LoadOf
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic


def static(  # noqa: PLR0913 - the paper's rule, and what was added to it
    fabric: Fabric,
    traffic: Traffic,
    reroute: Callable[[Fabric], Routes | None],
    watts: Callable[[Fabric], float],
    progress: Callable[[int, int], None] = lambda _done, _of: None,
    *,
    limit: float = inf,
    keep_two: bool = False,
    survives: Callable[[Fabric], bool] = lambda _smaller: True,
    load_of: LoadOf = load_with_copies,
) -> LinkSettings:
    """Return settings with links off, the least loaded tried first, each with all paths moved away before the next.

    A link is turned off if all connected switches stay connected, `reroute` finds deadlock-free paths without it (None
    if there are none), and every channel carries at most the former maximum. (The paper demands strictly less, which
    the busiest channel itself would fail.) Host links stay. `limit` lowers that maximum, and `keep_two` forbids that a
    link becomes a bridge if there was none before, and `survives` has the last word on what is left: none of these is
    in the paper. `load_of` returns the bytes on each channel by a fabric, its routes and bytes from host to host.
    """
    routes = reroute(fabric)
    if routes is None:
        raise ValueError("the fabric has no paths to begin with")
    load = load_of(fabric, routes, traffic.volume_bytes)
    before = float(load.max(initial=0.0))
    allowed, keep_two = min(before, limit), keep_two and two_connected(fabric)
    current, off = fabric, []
    candidates = [i for i, link in enumerate(fabric.links) if link.up]
    tried: set[int] = set()
    while left := [i for i in candidates if i not in tried]:
        busy = {i: float(max(load[2 * i], load[2 * i + 1])) for i in left}
        i = min(left, key=lambda i: (busy[i], i))
        tried.add(i)
        progress(len(tried), len(candidates))
        smaller = current.with_links_down({i})
        if not keeps_together(fabric, smaller) or (keep_two and not two_connected(smaller)):
            continue
        moved = reroute(smaller)
        if moved is None or not survives(smaller):
            continue
        new_load = load_of(smaller, moved, traffic.volume_bytes)
        if float(new_load.max(initial=0.0)) <= allowed * (1 + 1e-12):
            current, load = smaller, new_load
            off.append(i)
    return LinkSettings(
        method="static",
        links_off=tuple(sorted(off)),
        max_channel_load_before=before,
        max_channel_load_after=float(load.max(initial=0.0)),
        watts_before=watts(fabric),
        watts_after=watts(current),
        two_connected=two_connected(current),
    )


def connected(fabric: Fabric) -> bool:
    """Return whether links that are up connect all hosts; a switch without hosts may be cut off."""
    return not fabric.apart


def keeps_together(fabric: Fabric, smaller: Fabric) -> bool:
    """Return whether `smaller` still connects every switch that is connected in `fabric`."""
    return bool(smaller.joined[fabric.joined].all())


def two_connected(fabric: Fabric) -> bool:
    """Return whether any one link may fail without cutting the fabric (no bridges among the links that are up)."""
    import networkx as nx  # noqa: PLC0415 - a third of a second that most commands need not spend

    graph = fabric.graph
    graph.remove_edges_from([(a, b, key) for a, b, key, up in graph.edges(keys=True, data="up") if not up])
    return connected(fabric) and not nx.has_bridges(graph)
