"""Turn links off or slow them down one at a time; an external routing recomputes all paths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.regulate.greedy import CHANCE, Choice
from tagloom.regulate.moves import SLACK
from tagloom.regulate.static import keeps_together, two_connected

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic
    from tagloom.regulate.greedy import Rules

TRIES = 4
SMALL = 100  # links: up to here there are TRIES descents, not one
PATIENCE = 50  # consecutive refusals that end the descent on a large fabric


def rerouted(
    fabric: Fabric,
    traffic: Traffic,
    reroute: Callable[[Fabric], Routes | None],
    rules: Rules,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
    going_on: Callable[[float, int], bool] = lambda _watts, _tries: False,
    seed: int = 1,
    descents: int = 0,
) -> Choice | None:
    """Return the best of several descents, each link tried once in the order of watts saved per load it carries.

    A link is turned off if the remaining links connect the fabric as `rules` demand, `reroute` finds deadlock-free
    paths over them and no channel exceeds the limit; loads are recomputed after each. The first descent follows that
    order, later ones perturb it at random; beyond `descents` (0: TRIES) there are as many as `going_on(best watts,
    descents)` requests. Then links are slowed, the least loaded first. The trees are the routing's own, so `forest` is
    empty. Returns None if the traffic does not fit with all links on.
    """
    routes = reroute(fabric)
    if routes is None or rules.load_of(fabric, routes, traffic.volume_bytes).max(initial=0.0) > rules.limit * SLACK:
        return None
    chance = np.random.default_rng(seed)
    best: Choice | None = None
    tries = descents or (TRIES if len(fabric.links) <= SMALL else 1)
    n = 0
    while best is None or n < tries or going_on(best.watts, n):
        price = np.exp(chance.normal(0.0, CHANCE, len(fabric.links))) if n else np.ones(len(fabric.links))

        def note(done: int, of: int, at: int = n) -> None:
            progress(done + at * of, of * max(tries, at + 1))

        found = _descent(fabric, traffic, reroute, routes, rules, price.tolist(), note)
        if best is None or found.watts < best.watts:
            best = found
        n += 1
    return best


def _descent(
    fabric: Fabric,
    traffic: Traffic,
    reroute: Callable[[Fabric], Routes | None],
    routes: Routes,
    rules: Rules,
    price: list[float],
    progress: Callable[[int, int], None],
) -> Choice:
    current, load = fabric, rules.load_of(fabric, routes, traffic.volume_bytes)
    allowed = rules.limit * SLACK
    speed = {i: link.speed_mbps or 1000 for i, link in enumerate(fabric.links) if link.up}
    saves = {i: rules.watts(i, s) for i, s in speed.items()}
    left = {i for i, watts in saves.items() if watts > 0} if rules.off else set()
    of, off, refused = len(left), list[int](), 0
    patience = len(left) if len(fabric.links) <= SMALL else PATIENCE
    unit = rules.limit or 1.0
    while left and refused < patience:
        busy = {i: max(load[2 * i], load[2 * i + 1]) / unit + 1e-3 for i in left}
        i = min(left, key=lambda i: (busy[i] * price[i] / saves[i] * speed[i], i))
        left.remove(i)
        progress(of - len(left), of)
        refused += 1
        smaller = current.with_links_down({i})
        if not keeps_together(fabric, smaller) or (rules.two_connected and not two_connected(smaller)):
            continue
        if (moved := reroute(smaller)) is None:
            continue
        after = rules.load_of(smaller, moved, traffic.volume_bytes)
        if after.max(initial=0.0) <= allowed:
            current, routes, load, refused = smaller, moved, after, 0
            off.append(i)
    slowed: dict[int, int] = {}
    for i in sorted(speed.keys() - set(off), key=lambda i: (max(load[2 * i], load[2 * i + 1]), i)):
        slower = sorted((rules.watts(i, s), s) for s in rules.levels if s < speed[i] and rules.watts(i, s) < saves[i])
        for _, s in slower:
            changed = current.with_speeds({i: s})
            if (moved := reroute(changed)) is None:
                continue
            after = rules.load_of(changed, moved, traffic.volume_bytes)
            if after.max(initial=0.0) <= allowed:
                current, load = changed, after
                slowed[i] = s
                break
    watts = sum(rules.watts(i, slowed.get(i, s)) for i, s in speed.items() if i not in set(off))
    return Choice(tuple(sorted(off)), slowed, [], np.zeros(0, np.int64), watts, float(load.max(initial=0.0)))
