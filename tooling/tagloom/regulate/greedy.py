"""Turn links off or slow them down one at a time, by saving per lost capacity, and move paths away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import load_with_copies
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.regulate.forest import links_of, net_of, trees_of
from tagloom.regulate.moves import SLACK, Trees, bridges, ease, gather, lower, overfull

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.graph.floods import LoadOf
    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic
    from tagloom.regulate.moves import Net

JOINS = 2_000_000  # joins tried per tree and link, times hosts and switches: many on small fabrics, few on large
ROUNDS = 40  # moves off an overloaded channel before a link is kept on
PACKED = 16  # trees tried as the one that most hosts share
CHANCE = 1.0  # standard deviation of the log of the factor on each price after the first two descents
EVEN = 1e-9  # share of the watts that only rounding explains
FIRST = 1e-6  # price factor of the links to turn off first
EXCHANGES = 72_000_000  # links tried off during the exchange, times hosts and switches
MOST_EXCHANGES = 6_000, 200  # links tried off at most: in all, or for each switch, whichever is more
LEVELS = 2  # as many times fewer links are tried once links may also be slowed: most are off by then
PAIRS = 0.5  # share of exchanges that turn two links on
THOROUGH = 32  # switches: beyond, exchanges try few joins and moves for a link, and stop early: many are worth more
FEW_JOINS, FEW_MOVES = 4, 8  # as JOINS and ROUNDS there
REFUSALS = 8  # consecutive links that cannot go end an exchange there: those that can are among the first few
SMALL = 100  # switches: up to here there are TRIES descents, not one
TRIES = 12
FEW_ROUNDS = 1  # as ROUNDS, on large fabrics
PATIENCE = 50  # consecutive refusals that end the descent on a large fabric


@dataclass(frozen=True)
class Rules:
    """The constraints of a choice.

    limit    bytes that no channel may exceed, scaled to 1 Gb/s
    two_connected  whether no link may become the only path between two switches
    levels   Mb/s that links may be slowed to; `off` whether they may be turned off
    watts    (link, Mb/s) -> watts of its two ports; 0 Mb/s is off
    most_trees  maximum number of distinct trees, which are VLANs before merging
    max_hops  the most switches on a path between two hosts, None for no limit
    load_of  (fabric, routes, bytes from host to host) -> bytes on each channel, scaled to 1 Gb/s
    """

    limit: float
    two_connected: bool
    off: bool
    levels: tuple[int, ...]
    watts: Callable[[int, int], float]
    most_trees: int
    max_hops: int | None = None
    load_of: LoadOf = load_with_copies


@dataclass(frozen=True, eq=False)
class Choice:
    """A choice: links off, links slowed (Mb/s by link), and the trees hosts send over, as lists of links."""

    off: tuple[int, ...]
    slowed: dict[int, int]
    forest: list[list[int]]
    tree_of_host: NDArray[np.int64]
    watts: float  # of the links alone
    max_load: float


def greedy(
    fabric: Fabric,
    traffic: Traffic,
    starts: Sequence[tuple[Fabric, Routes]],
    rules: Rules,
    progress: Callable[[int, int], None] = lambda _done, _of: None,
    seed: int = 1,
    first: Collection[int] = (),
    *,
    descents: int = 0,
) -> Choice | None:
    """Return the best of the choices reached from each start (a fabric with some links down, and routes over the rest).

    A link is turned off if every tree on it can be rejoined by another link without a dependency cycle, and moves of
    trees and single hosts bring all channels to at most `rules.limit`. Links go in the order of watts saved per load
    moved, which is recomputed after each; those of `first` go before all others. Small fabrics get several descents:
    every other one packs most hosts onto one tree, later ones perturb the order at random. Exchanges of links then
    improve the best; where links may be slowed, they are, and exchanges go on with all that a link may become. Returns
    None if no start fits the limit. `descents` sets the number of descents from each start,
    without exchanges: it takes seconds instead of a minute. Deterministic for a seed.
    """
    net = net_of(fabric, traffic, rules.max_hops)
    work = max(1, len(fabric.hosts) * len(fabric.switches))
    most = max(3, min(32, JOINS // work))
    tries = descents or (TRIES if len(fabric.switches) <= SMALL else 1)
    links, alive = _links(fabric, rules), fabric.joined
    chance = np.random.default_rng(seed)
    best: _State | None = None
    for n in range(tries):
        for i, (smaller, routes) in enumerate(starts):
            price = np.exp(chance.normal(0.0, CHANCE, len(links.full))) if n > 1 else np.ones(len(links.full))
            price[list(first)] *= FIRST
            trees = _packed(smaller, net, routes, rules) if n % 2 else trees_of(smaller, net, routes, rules.most_trees)
            if trees is None or not ease(net, trees, rules.limit, most, 10 * ROUNDS):
                continue
            at = n * len(starts) + i

            def note(done: int, of: int, at: int = at) -> None:
                progress(done + at * of, of * len(starts) * tries)

            state = _State(trees, np.where(trees.on, links.full, 0.0))
            if rules.off:
                _turn_off(net, state, alive, links, price, rules, most, note)
            if best is None or state.watts < best.watts:
                best = state
    if best is None:
        return None
    trials = min(max(MOST_EXCHANGES[0], MOST_EXCHANGES[1] * len(fabric.switches)), EXCHANGES // work)
    trials = 0 if descents or len(fabric.switches) > SMALL else trials
    if rules.off:
        best = _exchange(net, best, alive, links.only(off=True), rules, most, chance, trials)
    if rules.levels:
        _slow(net, best, alive, links.only(off=False), rules, most)
        best = _exchange(net, best, alive, links, rules, most, chance, trials // LEVELS)
    _, tree_of_host = np.unique(best.trees.tree_of, return_inverse=True)
    return Choice(
        tuple(np.flatnonzero(~best.trees.on & fabric.channel_up[::2]).tolist()),
        links.slowed(best.trees),
        links_of(best.trees),
        tree_of_host.astype(np.int64),
        best.watts,
        float((best.trees.load * best.trees.scale).max(initial=0.0)),
    )


@dataclass(frozen=True, eq=False)
class _Links:
    """The settings that links may have.

    usable  bool[L], whether a link is up
    full    float64[L], its watts at full speed; `capacity` then, in Gb/s; `cables` how many it has
    below   the (watts, scale) of what it may have instead, least watts first; the scale of off is inf
    """

    usable: NDArray[np.bool_]
    full: NDArray[np.float64]
    capacity: NDArray[np.float64]
    cables: NDArray[np.float64]
    below: list[list[tuple[float, float]]]

    def only(self, *, off: bool) -> _Links:
        """Return links that may only be turned off, or only be slowed."""
        return replace(self, below=[[way for way in ways if (way[1] == np.inf) == off] for ways in self.below])

    def slowed(self, trees: Trees) -> dict[int, int]:
        """Return the Mb/s of the links that are slowed."""
        slow = np.flatnonzero(trees.on & (trees.scale[::2] * self.capacity > SLACK))
        mbps = np.rint(1000.0 / (trees.scale[2 * slow] * self.cables[slow])).astype(int)
        return dict(zip(slow.tolist(), mbps.tolist(), strict=True))


def _links(fabric: Fabric, rules: Rules) -> _Links:
    below = []
    for i, link in enumerate(fabric.links):
        speed = link.speed_mbps or DEFAULT_SPEED_MBPS
        speeds = [s for s in ((0,) if rules.off else ()) + rules.levels if s < speed]
        cheaper = [s for s in speeds if rules.watts(i, s) < rules.watts(i, speed)]
        below.append(sorted((rules.watts(i, s), 1000.0 / (s * len(link.cables)) if s else np.inf) for s in cheaper))
    return _Links(
        np.array([link.up for link in fabric.links], np.bool_),
        np.array([rules.watts(i, link.speed_mbps or DEFAULT_SPEED_MBPS) for i, link in enumerate(fabric.links)]),
        np.array([link.capacity_mbps() for link in fabric.links]) / 1000.0,
        np.array([len(link.cables) for link in fabric.links], np.float64),
        below,
    )


@dataclass(frozen=True, eq=False)
class _State:
    """Trees, and the watts of each link: float64[L], 0 where it is off."""

    trees: Trees
    drawn: NDArray[np.float64]

    @property
    def watts(self) -> float:
        return float(self.drawn.sum())

    def raised(self, some: list[int], links: _Links) -> _State:
        """Return a copy with some links on, at full speed."""
        trees, drawn = Trees._make(part.copy() for part in self.trees), self.drawn.copy()
        trees.on[some], drawn[some] = True, links.full[some]
        for i in some:
            trees.scale[2 * i : 2 * i + 2] = 1 / links.capacity[i]
        return _State(trees, drawn)

    def busy(self) -> NDArray[np.float64]:
        """Return the load of each link's busier channel."""
        busy: NDArray[np.float64] = (self.trees.load * self.trees.scale).reshape(-1, 2).max(axis=1)
        return busy


def _packed(fabric: Fabric, net: Net, routes: Routes, rules: Rules) -> Trees | None:
    """Return the trees with as many hosts as fit on one tree, the one of the first few that takes most."""
    best: tuple[int, Trees] | None = None
    for k in range(PACKED):
        trees = trees_of(fabric, net, routes, rules.most_trees)
        if trees is None or k >= trees.used[0]:
            break
        stay = gather(net, trees, k * int(trees.used[0]) // min(PACKED, int(trees.used[0])), rules.limit)
        if best is None or stay < best[0]:
            best = stay, trees
    return best[1] if best is not None else None


def _turn_off(
    net: Net,
    state: _State,
    alive: NDArray[np.bool_],
    links: _Links,
    price: NDArray[np.float64],
    rules: Rules,
    most: int,
    progress: Callable[[int, int], None],
) -> None:
    trees, count = state.trees, len(price)
    worth = links.full / links.capacity / price
    left = trees.on & (worth > 0)
    allowed = bridges(net, trees.on, alive)
    patience, rounds = (count, ROUNDS) if len(alive) <= SMALL else (PATIENCE, FEW_ROUNDS)
    unit = rules.limit if rules.limit > 0 else 1.0
    refused = 0
    while left.any() and refused < patience:
        cost = np.where(left, (state.busy() / unit + 1e-3) / np.maximum(worth, 1e-12), np.inf)
        i = int(np.argmin(cost))
        left[i] = False
        progress(count - int(left.sum()), count)
        if not _may_go(net, trees, i, alive, allowed, rules):
            continue
        if lower(net, trees, i, np.inf, rules.limit, most, rounds):
            refused, state.drawn[i] = 0, 0.0
        else:
            refused += 1


def _may_go(net: Net, trees: Trees, i: int, alive: NDArray[np.bool_], allowed: int, rules: Rules) -> bool:
    """Return whether links connect all switches without link i, with at most `allowed` bridges where that counts."""
    trees.on[i] = False
    after = bridges(net, trees.on, alive)
    trees.on[i] = True
    return after >= 0 and not (rules.two_connected and after > allowed)


def _slow(net: Net, state: _State, alive: NDArray[np.bool_], links: _Links, rules: Rules, most: int) -> None:
    """Slow the links that are on, the least loaded first, each as far as its load allows."""
    for i in np.argsort(state.busy(), kind="stable").tolist():
        for watts, scale in _ways(net, state, i, alive, 0, links, rules):
            if lower(net, state.trees, i, scale, rules.limit, most, ROUNDS):
                state.drawn[i] = watts
                break


def _ways(
    net: Net, state: _State, i: int, alive: NDArray[np.bool_], allowed: int, links: _Links, rules: Rules
) -> list[tuple[float, float]]:
    """Return what a link that is on may be lowered to, as (watts, scale): not to off where links would not connect."""
    ways = [way for way in links.below[i] if way[0] < state.drawn[i]] if state.trees.on[i] else []
    if ways and ways[0][1] == np.inf:
        stays = overfull(net, state.trees, i, rules.limit) or not _may_go(net, state.trees, i, alive, allowed, rules)
        return ways[1:] if stays else ways
    return ways


def _exchange(
    net: Net,
    state: _State,
    alive: NDArray[np.bool_],
    links: _Links,
    rules: Rules,
    most: int,
    chance: np.random.Generator,
    trials: int,
) -> _State:
    """Return a choice after exchanges: one link or two at full speed again, and others lower that save as much or more.

    A link of a chain of switches can only go if its switches are led elsewhere, which takes two. Those that carry least
    are tried first; on large fabrics others are raised instead after REFUSALS in a row. At most `trials` links are
    tried in all; the watts of the links never grow.
    """
    many = len(alive) > THOROUGH
    most, rounds, patience = (min(most, FEW_JOINS), FEW_MOVES, REFUSALS) if many else (most, ROUNDS, len(links.full))
    lowest = np.array([ways[0][0] if ways else np.inf for ways in links.below])
    while trials > 0 and len(candidates := np.flatnonzero(links.usable & (state.drawn < links.full))):
        added = _reopened(net, candidates, chance)
        base, changed, refused = bridges(net, state.trees.on, alive), state.raised(added, links), 0
        busy = state.busy() * np.exp(chance.normal(0, CHANCE, len(links.full)))
        busy[added] = np.inf
        for j in np.argsort(busy, kind="stable").tolist():
            better = changed.watts < state.watts * (1 - EVEN)
            if lowest[j] >= changed.drawn[j] or (better and j not in added):
                continue
            ways = _ways(net, changed, j, alive, base, links, rules)
            ways = [way for way in ways if way[1] < np.inf] if j in added else ways
            refused += 1 if ways else 0
            for watts, scale in ways:
                trials -= 1
                if lower(net, changed.trees, j, scale, rules.limit, most, rounds):
                    changed.drawn[j], refused = watts, 0
                    break
            if refused >= patience:
                break
        if changed.watts <= state.watts * (1 + EVEN):
            state = changed
        trials -= 1
    return state


def _reopened(net: Net, candidates: NDArray[np.int64], chance: np.random.Generator) -> list[int]:
    """Return a link that is off, at random, and every other time one more at one of its ends that leads elsewhere."""
    i = int(chance.choice(candidates))
    ends = {int(net.tail[2 * i]), int(net.head[2 * i])}
    near = [j for j in candidates.tolist() if len(ends & {int(net.tail[2 * j]), int(net.head[2 * j])}) == 1]
    return [i, int(chance.choice(near))] if near and chance.random() < PAIRS else [i]
