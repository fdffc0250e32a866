"""Search for the optimum from both sides: greedy's choice from above, the program's bound from below."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.regulate.carry import carry, senders_of
from tagloom.regulate.forest import net_of, routes_of
from tagloom.regulate.greedy import Choice, greedy
from tagloom.regulate.program import Program
from tagloom.regulate.tree_search import available

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic
    from tagloom.regulate.carry import Verdict
    from tagloom.regulate.greedy import Rules
    from tagloom.regulate.program import Bound

CLOSED = 1e-4  # watts
DESCENTS = 500  # however long the time
DESCENDING = 1 / 3  # of the time, that is left for descents where a question stays open
QUICK = 500  # hosts that send times channels: up to here greedy asks `carry`, too
QUICK_QUESTIONS, QUICK_EFFORT = 10, 0.5  # how often at most, and CP-SAT's deterministic seconds each time
SOURCE = "flow in fractions, and whole trees over the links it chose"


def optimal(  # noqa: PLR0913 - what the program is made of
    fabric: Fabric,
    traffic: Traffic,
    starts: Sequence[tuple[Fabric, Routes]],
    rules: Rules,
    progress: Callable[[int, int], None],
    program: Program,
    bound: Bound,
    clock: Callable[[], float],
    until: float,
    survives: Callable[[Fabric], bool] | None = None,
    *,
    quick: bool = False,
) -> tuple[Choice | None, Bound]:
    """Return the best choice found before `clock` reaches `until`, and a bound, raised as far as was proven.

    The first descent is greedy's own, so the result is never worse. Then `carry` decides whether the program's cheapest
    links can carry the traffic. If they can, they are the optimum; if not, they are forbidden and the program returns
    the next. If that question is too large, or open after two thirds of the time, greedy descends until it is over;
    every other descent first turns off links that the program leaves off. With `survives`, only links that survive are
    taken, and the bound is over those. With `quick` there are but a few short questions, counted in steps, and one
    descent.
    """

    def kept(found: Choice | None) -> Choice | None:
        return found if found is None or survives is None else surviving(fabric, found, rules, survives)

    best = kept(greedy(fabric, traffic, starts, rules, progress))
    if (rules.off or rules.levels) and rules.limit > 0:
        last = until if quick else until - (until - clock()) * DESCENDING
        best, bound, requested = _questioned(
            fabric, traffic, rules, program, bound, best, clock, last, survives, quick=quick
        )
        if requested:
            return best, bound
    if quick:
        return best, bound
    unused = [i for i in _up(fabric) if i not in bound.on]
    seed = 1
    while best is not None and best.watts > bound.watts + CLOSED and clock() < until and seed < DESCENTS:
        seed += 1
        first = unused if bound.on and seed % 2 == 0 else ()
        found = kept(greedy(fabric, traffic, starts, rules, progress, seed, first))
        if found is not None and found.watts < best.watts:
            best = found
    return best, bound


def _questioned(  # noqa: PLR0913 - what the program is made of
    fabric: Fabric,
    traffic: Traffic,
    rules: Rules,
    program: Program,
    bound: Bound,
    best: Choice | None,
    clock: Callable[[], float],
    until: float,
    survives: Callable[[Fabric], bool] | None,
    *,
    quick: bool,
) -> tuple[Choice | None, Bound, bool]:
    """Return the best choice, the bound, and whether all questions to `carry` were answered.

    The program's sets of links are checked, the cheapest first. It ends at the first that carries the traffic, or if
    none is cheaper than `best`, which then is the optimum.
    """
    net = net_of(fabric, traffic, rules.max_hops)
    # Where all sets of switches have cuts, these bound nearly as well as flow, in a tenth of the time.
    if program.small and not rules.levels:
        program = Program(fabric, traffic, rules, flow=False, at_least=bound.watts)
    top = best.watts if best is not None else np.inf
    questions = QUICK_QUESTIONS if quick else np.inf
    while not bound.out and bound.on and bound.watts + CLOSED < top and clock() < until and questions > 0:
        if survives is not None and (dark := _too_dark(fabric, bound.on, survives)):
            program.forbid({i: _speed(fabric, i) for i in _up(fabric) if i not in dark})
            bound = replace(program.solve(until - clock(), clock), source=SOURCE, holds_for="fixed")
            continue
        questions -= 1
        verdict = carry(
            fabric.with_speeds(bound.on), net, bound.on, rules.limit, QUICK_EFFORT if quick else until - clock(), clock
        )
        if verdict.can is None or len(verdict.forest) > rules.most_trees:
            return best, bound, False
        if verdict.can:
            return _choice(fabric, traffic, rules, verdict, bound), bound, True
        program.forbid(bound.on)
        bound = replace(program.solve(until - clock(), clock), source=SOURCE, holds_for="fixed")
    return best, bound, bound.watts + CLOSED >= top


def is_quick(fabric: Fabric, traffic: Traffic, rules: Rules) -> bool:
    """Return whether the fabric is so small that questions to `carry` take no longer than greedy's own search."""
    if not available():
        return False
    senders, _ = senders_of(net_of(fabric, traffic, rules.max_hops))
    return len(senders) * 2 * len(_up(fabric)) <= QUICK


def surviving(fabric: Fabric, choice: Choice, rules: Rules, survives: Callable[[Fabric], bool]) -> Choice:
    """Return a choice with those of its links off, most watts first, without which what is left survives.

    Trees of the choice stay where they are: a link more is used by none of them.
    """
    saves = {i: rules.watts(i, _speed(fabric, i)) for i in choice.off}
    off: set[int] = set()
    for i in sorted(choice.off, key=lambda i: (-saves[i], i)):
        off |= {i} if survives(fabric.with_links_down(off | {i})) else set()
    watts = choice.watts + sum(saves[i] for i in choice.off if i not in off)
    return replace(choice, off=tuple(sorted(off)), watts=watts)


def _too_dark(fabric: Fabric, on: Collection[int], survives: Callable[[Fabric], bool]) -> set[int]:
    """Return a smallest set of links of which one must be on, so that links survive; empty if those in `on` do.

    What survives does so with more links, too: links come on one by one as long as what is on does not survive.
    """
    off = {i for i in _up(fabric) if i not in on}
    if survives(fabric.with_links_down(off)):
        return set()
    for i in sorted(off):
        if not survives(fabric.with_links_down(off - {i})):
            off -= {i}
    return off


def _up(fabric: Fabric) -> list[int]:
    return [i for i, link in enumerate(fabric.links) if link.up]


def _speed(fabric: Fabric, i: int) -> int:
    return fabric.links[i].speed_mbps or DEFAULT_SPEED_MBPS


def _choice(fabric: Fabric, traffic: Traffic, rules: Rules, verdict: Verdict, bound: Bound) -> Choice:
    """Return the choice whose links and trees carry the traffic."""
    off = tuple(i for i in _up(fabric) if i not in bound.on)
    slowed = {i: mbps for i, mbps in bound.on.items() if mbps < _speed(fabric, i)}
    smaller = fabric.with_links_down(off).with_speeds(slowed)
    routes = routes_of(smaller, verdict.forest, verdict.tree_of_host, "regulated", "")
    load = rules.load_of(smaller, routes, traffic.volume_bytes)
    watts = sum(rules.watts(i, mbps) for i, mbps in bound.on.items())
    return Choice(off, slowed, verdict.forest, verdict.tree_of_host, watts, float(load.max(initial=0.0)))
