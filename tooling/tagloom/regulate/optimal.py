"""Search for the choice a bound allows: greedy descents led by the program's own links, until none can be better."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.regulate.greedy import greedy

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.traffic import Traffic
    from tagloom.regulate.greedy import Choice, Rules
    from tagloom.regulate.program import Bound

CLOSED = 1e-4  # watts
DESCENTS = 500  # however long the time


def optimal(
    fabric: Fabric,
    traffic: Traffic,
    starts: Sequence[tuple[Fabric, Routes]],
    rules: Rules,
    progress: Callable[[int, int], None],
    bound: Bound,
    clock: Callable[[], float],
    until: float,
) -> Choice | None:
    """Give the best choice found before `clock` reaches `until`, or one that draws no more than the bound.

    The first descent is greedy's own, so the answer is never worse; then links that the program's solution leaves off
    go first. Whether it is the optimum is for the bound to say.
    """
    best = greedy(fabric, traffic, starts, rules, progress)
    unused = [i for i, link in enumerate(fabric.links) if link.up and i not in bound.on]
    seed = 1
    while best is not None and best.watts > bound.watts + CLOSED and clock() < until and seed < DESCENTS:
        seed += 1
        found = greedy(fabric, traffic, starts, rules, progress, seed, unused if bound.on and seed % 2 == 0 else ())
        if found is not None and found.watts < best.watts:
            best = found
    return best
