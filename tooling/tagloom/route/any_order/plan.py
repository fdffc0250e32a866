"""Choose an order of the channels by its score, and route along it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from tagloom.graph.breadth_first import ranks_as_met
from tagloom.graph.trees import per_switch
from tagloom.records.routes import DELIVERED, UNUSED, Relation, Routes
from tagloom.route.any_order.fixed import respread_trees, tree_rows, trees
from tagloom.route.any_order.orders import by_rank, depth_first, eliminated, escape_tree, layered, ordered
from tagloom.route.any_order.protect import LONGER, failures, protect
from tagloom.route.any_order.renamed import pointers, relation_rows, respread
from tagloom.route.any_order.score import climbing_hops, ground, improve, judged, state_of
from tagloom.route.any_order.swift import swift_rows
from tagloom.route.net import lay_out
from tagloom.route.ranked_trees import grown_rows, total_distance

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.route.net import Net, Ordered, Tables

T = TypeVar("T")

# The passes of spreading: how often the load is squared; the load, as a share of the largest one, whose relief pays
# for one more channel on a path (0: never longer); the part of the channels that counts as busy. Paths without a busy
# channel are not changed.
PASSES = ((3, 0.0, 0.2), (4, 0.9, 0.2), (4, 0.9, 0.2), (4, 0.9, 0.2))
QUICK = ((4, 0.8, 0.06), (5, 0.9, 0.03))
QUICK_ABOVE = 200  # switches above which effort 1 moves no channels: it must take a third of the time of OpenSM's nue
WORTH = 0.01  # a pass that lowers the price by less is the last
LOAD_PRICE = 0.03  # in the final price: one lower bound more of largest load, relative to paths twice as long

Candidate = tuple[str, "NDArray[np.int32]"]  # the kind of order, and the channel at each position


@dataclass(frozen=True, slots=True)
class Effort:
    """Bounds on the work, as counts and never as time, so that an effort gives the same paths everywhere.

    eliminations, roots   orders made: by elimination, and up*/down* breadth- and depth-first from so many roots
    judged                orders of each kind, those of fewest hops, that are scored by their loads too
    starts, moves         orders improved, and channels moved in each
    finalists             orders routed in full besides the improved ones
    passes                the passes of spreading, as PASSES
    """

    eliminations: int
    roots: int
    judged: int
    starts: int
    moves: int
    finalists: int
    passes: tuple[tuple[int, float, float], ...]


def any_trees(fabric: Fabric, effort: int = 1, seed: int = 0) -> Routes:
    """Return a tree of paths for every source, for fixed assignment, on any fabric.

    All paths ascend one order of the channels, so the dependencies cannot close a cycle (Dally and Seitz, 1987): no
    deadlock without virtual channels. `effort` 0 takes one order. 1 compares many, spreads the load, and on up to
    QUICK_ABOVE switches improves the best orders, all in a fraction of a second. 2 does more of it, also on more
    switches; higher values take proportionally longer. The same effort and seed give the same paths. Raises PlanError
    if two hosts are not connected.
    """
    source_of_host, root = per_switch(fabric)
    net = lay_out(fabric)
    n = len(fabric.switches)
    if not len(net.channel):
        return Routes("any", "one switch", source_of_host, root, np.full((len(root), n), -1, np.int32))
    if effort <= 0 and not net.parallel_link.any():
        rank = eliminated(net, np.random.default_rng(seed).permutation(len(net.switch)))
        parent = grown_rows(net, rank, n, spread=True)
        return Routes("any", "one order of the channels: elimination", source_of_host, root, parent)

    what, order, tables = _best(net, effort, seed, trees, respread_trees)
    parent, _ = tree_rows(order, tables[0], n)
    return Routes("any", what, source_of_host, root, parent)


def any_protected(
    fabric: Fabric, kind: str, effort: int = 1, seed: int = 0, longer: tuple[float, ...] = LONGER
) -> tuple[Routes, NDArray[np.int32], int]:
    """Return trees as `any_trees` does, along an order that leaves few pairs without a path after a single failure.

    Return (routes, the fabric's channels in their order, the pairs left without a path over all failures). `kind` is
    "link" or "switch". Mean path lengths may grow by the factors `longer`; the next one is tried while pairs are left.
    Raises PlanError if two hosts are not connected.
    """
    net = lay_out(fabric)
    if not len(net.channel):
        return any_trees(fabric, effort, seed), net.channel, 0
    _, order, _ = _best(net, max(1, effort), seed, trees, respread_trees)
    start = np.searchsorted(net.channel, order.channel).astype(np.int32)
    channels, left = start, -1
    for room in longer:
        if left != 0:
            channels, left = protect(net, channels, failures(net, kind), effort, seed, room=room)
    what = "every single failure leaves paths along it" if left == 0 else f"{left} pairs and failures left without one"
    moved = net.channel[channels]
    return trees_along(fabric, moved, f"moved for detours: {what}", max(1, effort), seed), moved, left


def trees_along(fabric: Fabric, order: NDArray[np.int32], why: str, effort: int = 1, seed: int = 0) -> Routes:
    """Return a tree of paths for every source along a given order of the channels that are up, int32[m].

    The order must leave a path from each switch with hosts to every switch. `why` tells the reason of it.
    """
    source_of_host, root = per_switch(fabric)
    net = lay_out(fabric)
    along = ordered(net, np.searchsorted(net.channel, order).astype(np.int32))
    rng = np.random.default_rng(seed)
    shortest = float(net.weight @ total_distance(net))
    _, tables = _route_along(
        along, _bounds(net, effort), shortest, lambda: rng.permutation(len(net.target)), trees, respread_trees
    )
    parent, _ = tree_rows(along, tables[0], len(fabric.switches))
    return Routes("any", f"one order of the channels, {why}", source_of_host, root, parent)


def any_relation(
    fabric: Fabric, effort: int = 1, seed: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int32], Relation]:
    """Return the next channel of every channel by destination, for renamed assignment, on any fabric.

    Return (source_of_host int32[H], root int32[S], the relation). As `any_trees`, but paths that need not form trees
    spread the load a little better.
    """
    source_of_host, root = per_switch(fabric)
    net = lay_out(fabric)
    n, channels = len(fabric.switches), len(fabric.tail)
    if not len(net.channel):
        first = np.full((len(root), n), UNUSED, np.int32)
        first[np.arange(len(root)), root] = DELIVERED
        return source_of_host, root, Relation(first, np.full((max(1, channels), n), UNUSED, np.int32))

    if effort <= 0:
        _, channels_in_order = _candidates(net, _bounds(net, 0), np.random.default_rng(seed))[0]
        first, following, _ = swift_rows(ordered(net, channels_in_order), channels, n)
        return source_of_host, root, Relation(first, following)

    _, order, tables = _best(net, effort, seed, pointers, respread)
    first, following, _ = relation_rows(order, tables, channels, n)
    return source_of_host, root, Relation(first, following)


def relation_along(fabric: Fabric, order: NDArray[np.int32], why: str, effort: int = 1, seed: int = 0) -> Routes:
    """Return paths for renamed assignment along a given order of the channels that are up, int32[m].

    The order must leave a path from each switch with hosts to every switch. `why` tells the reason of it.
    """
    net = lay_out(fabric)
    along = ordered(net, np.searchsorted(net.channel, order).astype(np.int32))
    rng = np.random.default_rng(seed)
    shortest = float(net.weight @ total_distance(net))
    _, tables = _route_along(
        along, _bounds(net, effort), shortest, lambda: rng.permutation(len(net.target)), pointers, respread
    )
    first, following, _ = relation_rows(along, tables, len(fabric.tail), len(fabric.switches))
    source_of_host, root = per_switch(fabric)
    return Routes("any", why, source_of_host, root, relation=Relation(first, following))


def busiest(load: NDArray[np.float64], share: float) -> float:
    """Return the load above which a channel is among the `share` of all channels that carry most."""
    return float(np.quantile(load, 1 - share))


def _detour_penalty(load: NDArray[np.float64], squarings: int, share: float) -> float:
    """Return the decrease of the sum of load^(2^squarings) per host pair off a channel at `share` of the largest."""
    power = 1 << squarings
    return power * (share * float(load.max())) ** (power - 1) if share else np.inf


def _bounds(net: Net, effort: int) -> Effort:
    n, d, m = len(net.switch), len(net.target), len(net.channel)
    if effort <= 0 or d < 2:
        return Effort(1, 0, 1, 0, 0, 1, ())
    # Measured on one core of 2022: scoring an order takes 2.5 ns per destination and channel, a move some 0.4 ns per
    # destination and turn. More than some hundred orders do not pay, nor do fewer than a thousand moves.
    judged = max(6, min(48 if n <= 300 else 24, 100_000_000 // (d * m)))
    if effort == 1 and n > QUICK_ABOVE:
        return Effort(min(16, judged), 0, 3, 0, 0, 1, QUICK)
    degree = np.diff(net.out_start).astype(np.int64)
    moves = min(20_000, 2_400_000_000 // max(1, d * int((degree * (degree - 1)).sum()))) * effort
    starts = (4 if n <= 100 else 2 if n <= 300 else 1) if moves >= 1000 else 0
    roots = n if n <= 64 else max(1, judged // 6)
    return Effort(
        judged * effort, roots, judged * effort + roots, starts, moves // max(1, starts), 2 if n <= 300 else 1, PASSES
    )


def _candidates(net: Net, effort: Effort, rng: np.random.Generator) -> list[Candidate]:
    """Return orders to score, all from ranks of the switches."""
    n, parallel_links = len(net.switch), min(4, int(net.parallel_link.max()) + 1)
    ranks = [eliminated(net, rng.permutation(n)) for _ in range(max(parallel_links, effort.eliminations))]
    found = [("elimination", by_rank(net, rank)) for rank in ranks]
    if parallel_links > 1:
        turned = [ranks[i:] + ranks[:i] for i in range(len(ranks))]
        by_parallel_link = [
            ("elimination by parallel links", layered(net, several[:parallel_links])) for several in turned
        ]
        found = by_parallel_link + found
    found = found if effort.finalists > 1 or effort.passes else found[:1]
    for root in rng.permutation(n)[: effort.roots].tolist():
        found.append(("breadth-first up*/down*", by_rank(net, ranks_as_met(net.out_start, net.head[net.out], root))))
        found.append(("depth-first up*/down*", by_rank(net, depth_first(net, root))))
    return found


def _shortest_of_each_kind(net: Net, candidates: list[Candidate], count: int) -> list[tuple[Candidate, Ordered]]:
    """Return the `count` orders of each kind with the fewest hops, in their order.

    Hops cost a fifth of loads to count.
    """
    orders = [ordered(net, channels) for _, channels in candidates]
    kept: list[int] = []
    for kind in {what: None for what, _ in candidates}:
        found = [i for i, (what, _) in enumerate(candidates) if what == kind]
        if len(found) > count:
            hops = [climbing_hops(orders[i]) for i in found]
            found = [found[i] for i in np.argsort(hops, kind="stable")[:count]]
        kept += found
    return [(candidates[i], orders[i]) for i in sorted(kept)]


def _best(
    net: Net,
    effort: int,
    seed: int,
    make: Callable[[Ordered, NDArray[np.int64]], Tables],
    spread: Callable[..., int],
) -> tuple[str, Ordered, Tables]:
    """Score orders by an even split of the load, improve the best, route along the finalists; return the best paths."""
    bounds = _bounds(net, effort)
    rng = np.random.default_rng(seed)

    def sequence() -> NDArray[np.int64]:
        return rng.permutation(len(net.target))

    candidates = _candidates(net, bounds, rng)
    if not bounds.passes:
        what, channels = candidates[0]
        order = ordered(net, channels)
        return "one order of the channels: " + what, order, make(order, sequence())

    shortest = float(net.weight @ total_distance(net))
    kept = _shortest_of_each_kind(net, candidates, bounds.judged)
    candidates = [candidate for candidate, _ in kept]
    costs = [judged(shortest, order).cost for _, order in kept]
    ranking = np.argsort(costs, kind="stable")
    finalists: list[Candidate] = []
    for i in ranking:
        if len(finalists) < bounds.finalists and candidates[i][0] not in [what for what, _ in finalists]:
            finalists.append(candidates[i])
    known = ground(net) if bounds.starts else None
    if known is not None and len(known.after):
        for i in ranking[: bounds.starts]:
            what, channels = candidates[i]
            state, score = state_of(net, known, channels)
            draws = rng.integers(0, 1 << 40, (bounds.moves, 4))
            improve(net, known, state, score, escape_tree(net, channels), draws)
            finalists.append((what + ", improved", state.order))
    best: tuple[float, str, Ordered, Tables] | None = None
    for what, channels in finalists:
        order = ordered(net, channels)
        price, tables = _route_along(order, bounds, shortest, sequence, make, spread)
        if best is None or price < best[0]:
            best = (price, what, order, tables)
    assert best is not None  # noqa: S101 - some order always is a finalist
    return "one order of the channels: " + best[1], best[2], best[3]


def _route_along(
    order: Ordered,
    bounds: Effort,
    shortest: float,
    sequence: Callable[[], NDArray[np.int64]],
    make: Callable[[Ordered, NDArray[np.int64]], Tables],
    spread: Callable[..., int],
) -> tuple[float, Tables]:
    """Return (price, tables) of paths along an order, after spreading their load."""
    tables = make(order, sequence())
    price = _price(tables[2], shortest)
    for squarings, share, busy in bounds.passes:
        trial = (tables[0].copy(), tables[1].copy(), tables[2].copy())
        spread(
            order,
            sequence(),
            trial,
            squarings,
            _detour_penalty(trial[2], squarings, share),
            busiest(trial[2], busy),
        )
        before, now = price, _price(trial[2], shortest)
        if now < price:
            price, tables = now, trial
        elif share:  # longer paths did not pay: only even out the largest loads
            spread(order, sequence(), tables, squarings, np.inf, busiest(tables[2], busy))
            price = _price(tables[2], shortest)
        if share and now > before - WORTH:
            break
    return price, tables


def _price(load: NDArray[np.float64], shortest: float) -> float:
    """Return hops plus weighted largest load, relative to lower bounds: shortest paths, evenly spread over channels."""
    return float(load.sum()) / shortest + LOAD_PRICE * float(load.max()) * len(load) / shortest
