"""Route a grid around dead links and switches by turn models, as trees or as a relation."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import path_lengths, relation
from tagloom.graph.rows import places
from tagloom.graph.trees import pruned
from tagloom.records.routes import DELIVERED, UNUSED, Relation, Routes
from tagloom.route.dimension_order import directions, travelled

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric

MODELS = ("north-last", "west-first", "negative-first")
TRIES = 8  # orders of local turns to try; most dead links need one or two
FAR = np.iinfo(np.int16).max


def by_turn_model(fabric: Fabric, straight: Routes, assignment: str, models: tuple[str, ...]) -> Iterator[Routes]:
    """Yield the routes around what is down by each mirror image of each of `models`, if they reach every host.

    A turn model (Glass and Ni, ISCA 1992) orders the directions into phases that a path never leaves backwards. A phase
    holds both directions of one dimension at most. A cycle would stay in one phase, where all other dimensions go one
    way only, so it would have to turn back on a line, which no path does: no dependency cycle. In the order o of
    dimension order, with the two directions of each dimension in either order,
    - north-last   o0 o0 o1 | o1 o2 o2 o3 | ..., in two dimensions everything but north, then north,
    - west-first   o0 | o0 o1 o1 o2 | ..., in two dimensions west, then everything else,
    contain all turns of dimension order, so paths that cross nothing dead stay unchanged. negative-first (one direction
    of every dimension, then the others) does not, and routes every path anew.

    Fixed assignment gets trees, renamed a relation. A grid with rings has none: there a straight line leads back.
    """
    if fabric.shape is not None and fabric.shape.family in {"torus", "ring"} and max(fabric.shape.dims) > 2:
        return
    dim, sign = directions(fabric)
    order = travelled(fabric)
    for model in models:
        for phase in _phases(model, order):
            of_channel = np.where(dim >= 0, phase[dim, sign], -1)
            keep = model != "negative-first"
            if assignment == "fixed":
                found = _trees(fabric, straight, of_channel, _rank(order, dim), keep=keep)
            else:
                found = _relation(fabric, straight, _turns(fabric, of_channel, dim), _rank(order, dim), keep=keep)
            if found is not None:
                parent, rel = found
                reason = f"{straight.reason}; {model} turns around what is down"
                yield Routes(model, reason, straight.source_of_host, straight.root, parent, rel)


def by_local_turns(fabric: Fabric, straight: Routes) -> Routes | None:
    """Return a relation that differs from `straight` only by turns near what is down; None if a host stays unreached.

    Turns are added one by one if the dependencies stay acyclic, nearest first, then in seeded random order. Works on
    rings too.
    """
    dim, _ = directions(fabric)
    rel = relation(fabric, straight)
    if rel is None:
        return None
    alive, _ = _arriving(fabric, rel)
    channel, target = np.nonzero(alive & (rel.following >= 0))
    channels = len(fabric.tail)
    keys = np.unique(channel * channels + rel.following[channel, target])
    near = np.zeros(len(fabric.switches), np.bool_)
    near[fabric.tail[~fabric.channel_up]] = True
    near_too = near.copy()
    near_too[fabric.head[near[fabric.tail]]] = True
    extra = [
        (int(near[[fabric.tail[a], fabric.head[a], fabric.head[b]]].sum()), int(a), int(b))
        for a in np.flatnonzero(fabric.channel_up & near_too[fabric.head])
        for b in np.flatnonzero(fabric.channel_up & (fabric.tail == fabric.head[a]))
        if fabric.head[b] != fabric.tail[a]
    ]
    known = set(keys.tolist())
    rank = _rank(travelled(fabric), dim)
    for attempt in range(TRIES):
        chance = np.random.default_rng(attempt).random(len(extra))
        tried = [turn for _, _, turn in sorted(zip([-near for near, *_ in extra], chance, extra, strict=True))]
        held, wanted = keys // channels, keys % channels
        for _, a, b in tried:
            if a * channels + b not in known and not find_cycle(channels, np.append(held, a), np.append(wanted, b)):
                held, wanted = np.append(held, a), np.append(wanted, b)
        found = _relation(fabric, straight, (held, wanted), rank, keep=True)
        if found is not None:
            reason = f"{straight.reason}; turns beside what is down that leave the dependencies acyclic"
            return Routes("dor", reason, straight.source_of_host, straight.root, None, found[1])
    return None


def _phases(model: str, order: list[int]) -> Iterator[NDArray[np.int64]]:
    """Yield a model's mirror images, each as the phase of every [dimension, direction], int[n, 2]."""
    for firsts in product((0, 1), repeat=len(order)):
        phase = np.zeros((len(order), 2), np.int64)
        for place, (d, first) in enumerate(zip(order, firsts, strict=True)):
            if model == "negative-first":
                phase[d, [first, 1 - first]] = 0, 1
                continue
            head = 3 if model == "north-last" else 1  # directions in the first phase; every later phase has four
            for sign, position in ((first, 2 * place), (1 - first, 2 * place + 1)):
                phase[d, sign] = 0 if position < head else 1 + (position - head) // 4
        yield phase


def _rank(order: list[int], dim: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of each channel's dimension in the order of travel, int[C]; links outside the grid come last."""
    place = np.empty(len(order) + 1, np.int64)
    place[order] = np.arange(len(order))
    place[-1] = len(order)  # dimension -1
    return place[dim]


Found = tuple["NDArray[np.int32] | None", "Relation | None"]


def _trees(
    fabric: Fabric, straight: Routes, phase: NDArray[np.int64], rank: NDArray[np.int64], *, keep: bool
) -> Found | None:
    """Return the intact part of each tree, and the rest grown phase by phase, shortest first within a phase."""
    parent = straight.trees.copy()
    switches = np.arange(len(fabric.switches))
    whole = (parent < 0) | fabric.channel_up[parent]
    up = np.where(parent >= 0, fabric.tail[parent], switches)
    rows = np.arange(len(parent))[:, None]
    for _ in range(len(switches).bit_length()):  # intact up to the root, by pointer doubling
        whole &= whole[rows, up]
        up = up[rows, up]
    depth = np.where(whole if keep else straight.root[:, None] == switches, path_lengths(fabric, straight), -1)
    last = np.where((depth > 0) & (parent >= 0), phase[parent], -1)
    broken = np.flatnonzero((depth[:, fabric.host_switch] < 0).any(axis=1))
    depth, last = depth[broken], last[broken]
    grown = np.where(depth >= 0, parent[broken], -1)
    for p in range(int(phase.max(initial=0)) + 1):
        # among equal choices the last one written remains: the dimension travelled last, on the first parallel link
        group = np.flatnonzero(fabric.channel_up & (phase == p))[::-1]
        group = group[np.argsort(rank[group], kind="stable")]
        tail, head = fabric.tail[group], fabric.head[group]
        d = 0
        while d <= depth.max(initial=-1):
            source, c = np.nonzero((depth[:, tail] == d) & (last[:, tail] <= p) & (depth[:, head] < 0))
            grown[source, head[c]] = group[c]
            depth[source, head[c]] = d + 1
            last[source, head[c]] = p
            d += 1
    if np.any(depth[:, fabric.host_switch] < 0):
        return None
    parent[broken] = grown
    return pruned(fabric, parent), None


def _turns(
    fabric: Fabric, phase: NDArray[np.int64], dim: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the turns (channel, next channel) that go back to no earlier phase and make no U-turn."""
    good = np.flatnonzero(fabric.channel_up & (phase >= 0))
    good = good[np.argsort(fabric.tail[good], kind="stable")]
    start = np.searchsorted(fabric.tail[good], np.arange(len(fabric.switches) + 1))
    count = (start[1:] - start[:-1])[fabric.head[good]]
    held = np.repeat(good, count)
    wanted = good[places(start[fabric.head[good]], count)]
    keep = (phase[held] <= phase[wanted]) & (fabric.head[wanted] != fabric.tail[held])
    assert np.all(dim[held] >= 0)  # noqa: S101 - a phase is for channels of the grid
    return held[keep], wanted[keep]


def _arriving(fabric: Fabric, rel: Relation) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Return which [channel, destination] still arrives, and after how many more channels, (bool[C, N], int[C, N])."""
    switches = rel.following.shape[1]
    going = (rel.following >= 0).ravel()
    alive = ((rel.following != UNUSED) & fabric.channel_up[:, None]).ravel()
    steps = going.astype(np.int64)
    here = np.arange(len(going))
    onward = np.where(going, rel.following.ravel().astype(np.int64) * switches + here % switches, here)
    for _ in range(len(fabric.tail).bit_length()):  # pointer doubling: no path has more channels than there are
        alive &= alive[onward]
        steps += np.where(onward != here, steps[onward], 0)
        if np.array_equal(after := onward[onward], onward):
            break
        onward = after
    return alive.reshape(rel.following.shape), steps.reshape(rel.following.shape)


def _relation(
    fabric: Fabric,
    straight: Routes,
    turns: tuple[NDArray[np.int64], NDArray[np.int64]],
    rank: NDArray[np.int64],
    *,
    keep: bool,
) -> Found | None:
    """Return the straight path onward for every in-channel and destination if intact, else the shortest by `turns`.

    Ties go to the dimension travelled first. Entries that no path uses are left out: they would add needless members to
    in-ports.
    """
    channels, switches = len(fabric.tail), len(fabric.switches)
    targets = np.unique(fabric.host_switch)
    distance = np.full((channels, switches), FAR, np.int64)
    following = np.full((channels, switches), UNUSED, np.int32)
    first = np.full((straight.sources, switches), UNUSED, np.int32)
    straight_on = relation(fabric, straight) if keep else None
    if straight_on is not None:
        alive, steps = _arriving(fabric, straight_on)
        following = np.where(alive, straight_on.following, UNUSED)
        distance[alive] = steps[alive]
        begun = straight_on.first >= 0
        good = begun & alive[straight_on.first, np.arange(switches)[None, :]]
        first = np.where(good | (straight_on.first == DELIVERED), straight_on.first, UNUSED)
    usable = fabric.channel_up & (rank < len(travelled(fabric)))
    arrived = np.flatnonzero(usable & np.isin(fabric.head, targets))
    distance[arrived, fabric.head[arrived]] = 0
    following[arrived, fabric.head[arrived]] = DELIVERED
    _search_back(turns, rank, distance, following)
    _fill_first(fabric, straight, distance, np.where(usable, rank, -1), first, targets)
    if np.any(first[:, targets] == UNUSED):
        return None
    used = np.full(following.shape, UNUSED, np.int32)
    source, target = np.nonzero(first >= 0)
    keys = _distinct(first[source, target].astype(np.int64) * switches + target)
    while len(keys):
        channel, target = keys // switches, keys % switches
        used[channel, target] = following[channel, target]
        onward = used[channel, target] >= 0
        keys = _distinct(used[channel, target][onward].astype(np.int64) * switches + target[onward])
    return None, Relation(first.astype(np.int32), used)


def _search_back(
    turns: tuple[NDArray[np.int64], NDArray[np.int64]],
    rank: NDArray[np.int64],
    distance: NDArray[np.int64],
    following: NDArray[np.int32],
) -> None:
    """Search back from all destinations at once; fill `distance` and `following` where they are unknown."""
    channels, switches = distance.shape
    held, wanted = turns
    by_wanted = np.argsort(wanted, kind="stable")
    held, wanted = held[by_wanted], wanted[by_wanted]
    start = np.searchsorted(wanted, np.arange(channels + 1))
    known = np.flatnonzero(distance.ravel() < FAR)
    known = known[np.argsort(distance.ravel()[known], kind="stable")]
    bounds = np.searchsorted(distance.ravel()[known], np.arange(FAR + 1))
    frontier = np.empty(0, np.int64)
    level = 0
    while len(frontier) or bounds[level] < len(known):
        keys = np.concatenate([known[bounds[level] : bounds[level + 1]], frontier])
        channel, target = keys // switches, keys % switches
        count = start[channel + 1] - start[channel]
        index = np.repeat(np.arange(len(keys)), count)
        before, after, target = held[places(start[channel], count)], channel[index], target[index]
        new = distance[before, target] == FAR
        before, after, target = before[new], after[new], target[new]

        # among equal choices the last one written remains: the lowest rank
        order = np.lexsort((after, rank[after]))[::-1]
        before, after, target = before[order], after[order], target[order]
        following[before, target] = after
        distance[before, target] = level + 1
        frontier = _distinct(before * switches + target)
        level += 1


def _distinct(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return each key once, by sorting: numpy's hash table takes minutes for keys as regular as these."""
    keys = np.sort(keys)
    new = np.ones(len(keys), np.bool_)
    new[1:] = keys[1:] != keys[:-1]
    distinct: NDArray[np.int64] = keys[new]
    return distinct


def _fill_first(
    fabric: Fabric,
    straight: Routes,
    distance: NDArray[np.int64],
    rank: NDArray[np.int64],
    first: NDArray[np.int32],
    targets: NDArray[np.int32],
) -> None:
    """Fill UNUSED entries of `first` with the first channel (rank >= 0) of a shortest path, of the lowest rank."""
    for source, root in enumerate(straight.root.tolist()):
        out = np.flatnonzero((rank >= 0) & (fabric.tail == root))
        out = out[np.argsort(rank[out], kind="stable")]
        first[source, root] = DELIVERED
        missing = targets[first[source, targets] == UNUSED]
        if not len(out) or not len(missing):
            continue
        best = distance[out][:, missing].argmin(axis=0)
        reached = distance[out[best], missing] < FAR
        first[source, missing[reached]] = out[best][reached]
