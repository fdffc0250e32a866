"""Turn links off or slow them down one at a time, by saving per lost capacity, and move all paths away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.floods import load_with_copies
from tagloom.regulate.forest import links_of, net_of, trees_of
from tagloom.regulate.moves import Trees, bridges, ease, gather, overfull, slower, without

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
FIRST = 1e-6  # price factor of the links to turn off first
EXCHANGES = 72_000_000  # links tried off during the exchange, times hosts and switches
MOST_EXCHANGES = 6_000, 200  # links tried off at most: in all, or for each switch, whichever is more
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
    improve the best. Returns None if no start fits the limit. `descents` sets the number of descents from each start,
    without exchanges: it takes seconds instead of a minute. Deterministic for a seed.
    """
    net = net_of(fabric, traffic, rules.max_hops)
    links, work = len(fabric.links), max(1, len(fabric.hosts) * len(fabric.switches))
    most = max(3, min(32, JOINS // work))
    tries = descents or (TRIES if len(fabric.switches) <= SMALL else 1)
    speed = np.array([link.speed_mbps or 1000 for link in fabric.links], np.float64)
    cables = np.array([len(link.cables) for link in fabric.links], np.float64)
    saves = np.array([rules.watts(i, int(s)) - rules.watts(i, 0) for i, s in enumerate(speed)])
    alive = fabric.joined
    chance = np.random.default_rng(seed)
    best: Trees | None = None
    for n in range(tries):
        for i, (smaller, routes) in enumerate(starts):
            price = np.exp(chance.normal(0.0, CHANCE, links)) if n > 1 else np.ones(links)
            price[list(first)] *= FIRST
            trees = _packed(smaller, net, routes, rules) if n % 2 else trees_of(smaller, net, routes, rules.most_trees)
            if trees is None or not ease(net, trees, rules.limit, most, 10 * ROUNDS):
                continue
            at = n * len(starts) + i

            def note(done: int, of: int, at: int = at) -> None:
                progress(done + at * of, of * len(starts) * tries)

            if rules.off:
                _turn_off(net, trees, alive, saves * 1000.0 / (speed * cables) / price, rules, most, note)
            if best is None or saves[trees.on].sum() < saves[best.on].sum():
                best = trees
    if best is None:
        return None
    if rules.off and len(fabric.switches) <= SMALL and not descents:
        usable = np.array([link.up for link in fabric.links], np.bool_)
        trials = min(max(MOST_EXCHANGES[0], MOST_EXCHANGES[1] * len(fabric.switches)), EXCHANGES // work)
        best = _exchange(net, best, alive, usable, saves, rules, most, chance, trials)
    slowed = _slow(net, best, speed.astype(int).tolist(), cables.tolist(), rules, most)
    _, tree_of_host = np.unique(best.tree_of, return_inverse=True)
    off = np.flatnonzero(~best.on & fabric.channel_up[::2])
    return Choice(
        tuple(off.tolist()),
        slowed,
        links_of(best),
        tree_of_host.astype(np.int64),
        sum(rules.watts(i, slowed.get(i, int(speed[i]))) for i in np.flatnonzero(best.on).tolist()),
        float((best.load * best.scale).max(initial=0.0)),
    )


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
    trees: Trees,
    alive: NDArray[np.bool_],
    worth: NDArray[np.float64],
    rules: Rules,
    most: int,
    progress: Callable[[int, int], None],
) -> None:
    left = trees.on & (worth > 0)
    links = len(left)
    allowed = bridges(net, trees.on, alive)
    patience, rounds = (links, ROUNDS) if len(alive) <= SMALL else (PATIENCE, FEW_ROUNDS)
    unit = rules.limit if rules.limit > 0 else 1.0
    refused = 0
    while left.any() and refused < patience:
        busy = (trees.load * trees.scale).reshape(links, 2).max(axis=1)
        price = np.where(left, (busy / unit + 1e-3) / np.maximum(worth, 1e-12), np.inf)
        i = int(np.argmin(price))
        left[i] = False
        progress(links - int(left.sum()), links)
        trees.on[i] = False
        after = bridges(net, trees.on, alive)
        trees.on[i] = True
        if after < 0 or (rules.two_connected and after > allowed):
            continue
        gone = without(net, trees, i, rules.limit, most, rounds)
        refused = 0 if gone else refused + 1


def _exchange(  # noqa: PLR0913 - what one descent works on
    net: Net,
    trees: Trees,
    alive: NDArray[np.bool_],
    usable: NDArray[np.bool_],
    saves: NDArray[np.float64],
    rules: Rules,
    most: int,
    chance: np.random.Generator,
    trials: int,
) -> Trees:
    """Return trees after exchanges: one link or two on again, and more off for them, or as many, to walk on.

    A link of a chain of switches can only go if its switches are led elsewhere, which takes two. Those that carry least
    are tried first; on large fabrics others are turned on instead after REFUSALS in a row. At most `trials` links are
    tried in all; neither number nor watts of the links that are on ever grows.
    """
    links, many = len(trees.on), len(alive) > THOROUGH
    most, rounds, patience = (min(most, FEW_JOINS), FEW_MOVES, REFUSALS) if many else (most, ROUNDS, links)
    while trials > 0 and len(candidates := np.flatnonzero(usable & ~trees.on)):
        added = _reopened(net, candidates, chance)
        base, spent = bridges(net, trees.on, alive), saves[added].sum()
        changed = Trees._make(part.copy() for part in trees)
        changed.on[added] = True
        count, gone, refused = 0, 0.0, 0
        busy = (trees.load * trees.scale).reshape(links, 2).max(axis=1) * np.exp(chance.normal(0, CHANCE, links))
        for j in np.argsort(busy, kind="stable").tolist():
            if not changed.on[j] or j in added or saves[j] <= 0 or overfull(net, changed, j, rules.limit):
                continue
            changed.on[j] = False
            after = bridges(net, changed.on, alive)
            changed.on[j] = True
            if after < 0 or (rules.two_connected and after > base):
                continue
            trials -= 1
            if without(net, changed, j, rules.limit, most, rounds):
                count, gone, refused = count + 1, gone + saves[j], 0
                if count > len(added) and gone > spent * (1 + 1e-9):
                    break
            elif (refused := refused + 1) >= patience:
                break
        if count >= len(added) and gone >= spent * (1 - 1e-9):
            trees = changed
        trials -= 1
    return trees


def _reopened(net: Net, candidates: NDArray[np.int64], chance: np.random.Generator) -> list[int]:
    """Return a link that is off, at random, and every other time one more at one of its ends that leads elsewhere."""
    i = int(chance.choice(candidates))
    ends = {int(net.tail[2 * i]), int(net.head[2 * i])}
    near = [j for j in candidates.tolist() if len(ends & {int(net.tail[2 * j]), int(net.head[2 * j])}) == 1]
    return [i, int(chance.choice(near))] if near and chance.random() < PAIRS else [i]


def _slow(net: Net, trees: Trees, speed: list[int], cables: list[float], rules: Rules, most: int) -> dict[int, int]:
    """Slow the links that are on, the least loaded first, each as far as its load allows; return Mb/s by link."""
    slowed: dict[int, int] = {}
    if not rules.levels:
        return slowed
    busy = (trees.load * trees.scale).reshape(len(speed), 2).max(axis=1)
    for i in np.argsort(busy, kind="stable").tolist():
        speeds = [s for s in rules.levels if s < speed[i] and rules.watts(i, s) < rules.watts(i, speed[i])]
        for _, s in sorted((rules.watts(i, s), s) for s in speeds) if trees.on[i] else ():
            if slower(net, trees, i, 1000.0 / (s * cables[i]), rules.limit, most, ROUNDS):
                slowed[i] = s
                break
    return slowed
