"""Simulate frame by frame a run whose messages are known by pair: some order of them, drawn here once more."""

from __future__ import annotations

import csv
import itertools
import random
from typing import TYPE_CHECKING

import numpy as np

from judges.networks import exchange, network
from judges.simulate import simulate
from tagloom.records.simulation import NEVER

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.simulation import Network, Program
    from tagloom.records.sleep import Eee

    Messages = dict[tuple[int, int], tuple[float, int]]

SWITCH_SECONDS = 2.75e-6  # of a PowerConnect 5324, whatever the model
KINDS = "random", "even", "bursty", "pipelined"
NEAR = 1e-3  # a run is as long as asked for if it is off by less


def read_matrix(path: Path) -> Messages:
    """Read bytes and messages by pair of ranks, those to oneself left out."""
    with path.open() as file:
        rows = [[int(row[key]) for key in ("src", "dst", "wire_bytes", "wire_msgs")] for row in csv.DictReader(file)]
    return {(a, b): (size, count) for a, b, size, count in rows if a != b and count}


def links_of(fabric: Fabric, routes: Routes, eee: Eee | None) -> Network:
    """Walk the planned path of every pair, channel by channel; links of hosts sleep, those between switches do not.

    Host h sends on channel 2h and receives on 2h + 1; the fabric's channel c is 2H + c.
    """
    hosts = len(fabric.hosts)
    paths: list[list[list[int]]] = []
    for a in range(hosts):
        paths.append([])
        for b in range(hosts):
            between = _between(fabric, routes, a, b) if a != b else []
            paths[a].append([] if a == b else [2 * a, *(2 * hosts + c for c in between), 2 * b + 1])
    made = network(hosts + len(fabric.links), paths, 1e9, eee)
    for i, link in enumerate(fabric.links):
        made.rate_bps[2 * (hosts + i) : 2 * (hosts + i) + 2] = 1e6 * (link.speed_mbps or 1000)
    for c in range(2 * hosts + 2 * len(fabric.links)):
        to_a_host = c < 2 * hosts and c % 2 == 1
        made.latency_seconds[c] = 0.0 if to_a_host else SWITCH_SECONDS
    made.timeout_seconds[2 * hosts :] = NEVER
    return made


def _between(fabric: Fabric, routes: Routes, a: int, b: int) -> list[int]:
    source, target = int(routes.source_of_host[a]), fabric.hosts[b].switch
    if routes.relation is not None:
        channel, found = int(routes.relation.first[source, target]), list[int]()
        while channel >= 0:
            found.append(channel)
            channel = int(routes.relation.following[channel, target])
        return found
    assert routes.parent is not None
    found, at = [], target
    while (channel := int(routes.parent[source, at])) >= 0:
        found.insert(0, channel)
        at = int(fabric.tail[channel])
    return found


def order(messages: Messages, ranks: int, seed: int, *, kind: str = "random", uneven: float = 0.1) -> Program:
    """Draw in which steps each pair sends, and in which order a rank does; a step has at most one message of a pair.

    The steps are as many as the busiest pair's messages. "random": in any of them; "even": at distances that differ by
    one at most, from a step drawn; "bursty": in as many in a row. "pipelined": a rank sends one message in a step, to
    each of those it still has messages for in turn, and some ranks begin later than others, as in a wave front.
    Computing times are gamma-distributed, `uneven` their deviation over their mean, which is 1 s.
    """
    chance = random.Random(seed)
    steps = max(count for _, count in messages.values())
    at: dict[tuple[int, int], list[int]] = {}
    if kind == "pipelined":
        at = _in_turn(messages, ranks, chance)
        steps = 1 + max(step for each in at.values() for step in each)
    for pair, (_, count) in messages.items():
        if kind == "random":
            at[pair] = chance.sample(range(steps), count)
        elif kind == "even":
            first = chance.randrange(steps)
            at[pair] = sorted((first + j * steps // count) % steps for j in range(count))
        elif kind == "bursty":
            first = chance.randint(0, steps - count)
            at[pair] = [*range(first, first + count)]
    volume = np.full((steps, ranks, ranks), np.nan)
    for (a, b), (size, count) in messages.items():
        volume[at[a, b], a, b] = size / count
    shape = uneven**-2
    compute = np.array([[chance.gammavariate(shape, 1 / shape) for _ in range(ranks)] for _ in range(steps)])
    program = exchange(list(range(ranks)), compute, volume)
    turn = [at for a, b in itertools.pairwise(program.first_message) for at in chance.sample(range(a, b), b - a)]
    return program._replace(destination=program.destination[turn], volume_bytes=program.volume_bytes[turn])


def _in_turn(messages: Messages, ranks: int, chance: random.Random) -> dict[tuple[int, int], list[int]]:
    at: dict[tuple[int, int], list[int]] = {pair: [] for pair in messages}
    for a in range(ranks):
        left = {pair: count for pair, (_, count) in messages.items() if pair[0] == a}
        step = chance.randrange(ranks)
        while left:
            for pair in chance.sample(sorted(left), len(left)):
                at[pair].append(step)
                step += 1
                left[pair] -= 1
            left = {pair: count for pair, count in left.items() if count}
    return at


def lasting(program: Program, awake: Network, seconds: float) -> Program:
    """Scale a program's computing times such that it takes `seconds` on links that do not sleep, frame by frame."""
    scale, low, high = 0.0, 0.0, np.inf
    slope = float(program.compute_seconds.sum(axis=0).mean())
    scaled = program
    for _ in range(60):
        scaled = program._replace(compute_seconds=scale * program.compute_seconds)
        short = seconds - simulate(awake, scaled).seconds
        if abs(short) < NEAR * seconds or (short < 0 and scale == 0):
            break
        low, high = (scale, high) if short > 0 else (low, scale)
        scale += short / slope
        if not low < scale < high:
            scale = (low + high) / 2
    return scaled


def slowdown(program: Program, before: Network, after: Network) -> float:
    """Return how much longer a program takes on other links, as a share."""
    return simulate(after, program).seconds / simulate(before, program).seconds - 1


def interval_score(low: float, high: float, found: NDArray[np.float64], held: float = 0.9) -> float:
    """Return Winkler's score of an interval that ought to hold a share `held`: its width, and 2/(1 - held) for a miss.

    The mean over what was found; less is better, and vagueness costs. R. L. Winkler, JASA 67 (1972), 187-191; T.
    Gneiting and A. E. Raftery, JASA 102 (2007), Sect. 6.2.
    """
    missed = np.maximum(low - found, 0.0) + np.maximum(found - high, 0.0)
    return float(high - low + 2.0 / (1.0 - held) * missed.mean())
