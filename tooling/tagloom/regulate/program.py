"""Bound the watts of every possible choice from below, by a mixed-integer program of links and flow (HiGHS)."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.search import all_hops
from tagloom.regulate.chains import least_links
from tagloom.regulate.highs import INFEASIBLE, TIME_OUT, solve
from tagloom.regulate.packing import heaviest, weighed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.traffic import Traffic
    from tagloom.regulate.greedy import Rules

FLOW_TERMS = 60_000  # flow variables; beyond, flow is bounded per switch and in total, not along paths
MIP_GAP = 1e-6
ROUND_UP = 1e-6  # watts that HiGHS' tolerances may add to a bound
BEATEN = 1e-4  # watts below a bound, or as a share of it, that no rounding explains
STEP_SLACK = 1e-4  # links that they may add, before the bound is rounded up to whole links
MOST_WEIGHED = 300  # hosts: up to here flows count for what is left of a link beside them, too
CUT_SWITCHES = 10  # switches: up to here every set of them gets a cut
CUT_SLACK = 1e-9  # of a link: loads are whole bytes, only the division rounds


@dataclass(frozen=True, eq=False)
class Bound:
    """A lower bound of the links' watts, its source, and the links of the program's best solution.

    `out` tells whether the time ran out before the program was solved; the bound holds all the same. `holds_for` is the
    assignment for which it was raised by whole trees, "any" for one over every routing.
    """

    watts: float
    source: str
    out: bool
    on: dict[int, int]  # Mb/s by link, {} if the program found no solution
    holds_for: str = "any"


@dataclass(frozen=True, eq=False)
class _Bundles:
    """Groups of interchangeable links: same ends, same speed, as many cables, same watts.

    ends     int[B, 2]; links: the indices of each
    cables   of each link of a group, all of which are at its speed
    level    the (Mb/s, watts) each link of a group may have besides off, cheapest last
    """

    ends: NDArray[np.int64]
    links: list[list[int]]
    cables: list[int]
    level: list[list[tuple[int, float]]]


class Program:
    """The program of a fabric, traffic and rules; it grows by the cuts that its solutions call for.

    The integer variables count the links of each bundle at each level. The traffic from each switch is a fractional
    flow over any paths, at most `rules.limit` bytes per Gb/s on a channel. Every routing is such a flow, so no choice
    draws less. Where all links have one capacity, flows may count for more than their bytes (`weighed`).

    Every switch keeps a link, two under the two-connected rule (if it has two). So does every set of switches that a
    solution cuts off, while time is left. The links around a set of switches must also carry what leaves or enters it,
    in whole links: every set of at most CUT_SWITCHES switches, else single switches and neighbours. Under the
    two-connected rule, chains of switches with two links bound how many links there are in all (`least_links`).

    If flow would need more than FLOW_TERMS variables, those cuts replace it, and the sum of bytes times minimum hops,
    which all links together must carry.
    """

    def __init__(
        self, fabric: Fabric, traffic: Traffic, rules: Rules, *, flow: bool = True, at_least: float = 0.0
    ) -> None:
        """Build the program; `flow` adds the flow, and solutions below `at_least` watts are excluded."""
        self._fabric, self._rules = fabric, rules
        self._bundles = bundles = _bundles(fabric, rules)
        self._alive = np.flatnonzero(fabric.joined).tolist()
        self._at = [(b, j) for b, levels in enumerate(bundles.level) for j in range(len(levels))]
        self._of_bundle: dict[int, list[int]] = defaultdict(list)
        for x, (b, _) in enumerate(self._at):
            self._of_bundle[b].append(x)
        self._rows = rows = _Rows(len(self._at))
        for b, links in enumerate(bundles.links):
            rows.add(dict.fromkeys(self._of_bundle[b], 1.0), 0.0 if rules.off else len(links), len(links))
        self._least = 2 if rules.two_connected else 1
        width = len(self._at)
        capacity = {
            x: rules.limit * bundles.cables[b] * bundles.level[b][j][0] / 1000.0 for x, (b, j) in enumerate(self._at)
        }
        greatest = max(capacity.values(), default=0.0)
        uniform = greatest > 0 and min(capacity.values()) == greatest and len(fabric.hosts) <= MOST_WEIGHED
        counted = [_demand(fabric, each) for each in weighed(traffic.volume_bytes, greatest if uniform else 0.0)]
        most = heaviest(counted, _hops(fabric)) if len(counted) > 1 else 0
        self.small = len(self._alive) <= CUT_SWITCHES
        if len(self._alive) > 1:
            for cut in _sets(self._alive, bundles.ends):
                filled = max(_filled(each, cut, greatest) for each in counted)
                if filled > self._least or len(cut) == 1:
                    _cut(rows, cut, bundles, self._of_bundle, max(self._least, filled))
        if rules.two_connected and rules.limit > 0:
            alive = np.array(self._alive)
            least = max(least_links(counted[k][np.ix_(alive, alive)], greatest) for k in {0, most})
            rows.add(dict.fromkeys(range(width), 1.0), least, np.inf)
        sources = np.flatnonzero(counted[0].sum(axis=1) > 0)
        exact = 2 * len(bundles.ends) * len(sources) <= FLOW_TERMS
        if at_least > 0:
            rows.add({x: bundles.level[b][j][1] for x, (b, j) in enumerate(self._at)}, at_least, np.inf)
        if flow and rules.limit > 0 and len(sources):
            (_flow if exact else _degrees)(rows, counted[most], bundles, self._of_bundle, capacity, sources)
        self._whole = set(range(width))
        self._above: dict[tuple[int, int, int], int] = {}
        self._source = "flow in fractions" if exact else "what enters and leaves every switch, and hops in all"
        self._best = at_least

    def solve(self, time_limit_seconds: float, clock: Callable[[], float]) -> Bound:
        """Return a bound on the watts of all links that are on, over every routing, tree and move of any method.

        The program is solved again with more cuts while its solution cuts off some switches and time is left.
        """
        rows, bundles, left = self._rows, self._bundles, time_limit_seconds
        if not rows.columns:
            return Bound(0.0, self._source, False, {})  # no link is up: nothing to choose
        on, out = dict[int, int](), False
        while True:
            began = clock()
            cost, top = np.zeros(rows.columns), np.full(rows.columns, np.inf)
            cost[: len(self._at)] = [bundles.level[b][j][1] for b, j in self._at]
            top[: len(self._at)] = [len(bundles.links[b]) for b, _ in self._at]
            top[list(self._above.values())] = 1
            whole = np.zeros(rows.columns)
            whole[list(self._whole)] = 1
            matrix = rows.row, rows.column, rows.value
            answer = solve(cost, whole, top, matrix, rows.low, rows.high, left, clock, mip_rel_gap=MIP_GAP)
            left -= clock() - began
            if answer.status == INFEASIBLE:
                return Bound(np.inf, "no flow fits", False, {})
            self._best = max(self._best, float(answer.mip_dual_bound or 0.0))
            out = answer.status == TIME_OUT
            on = {}
            if answer.x is None:
                break
            taken = np.rint(answer.x[: len(self._at)]).astype(int)
            for b, links in enumerate(bundles.links):
                rest = iter(links)
                for x in self._of_bundle[b]:
                    for _ in range(taken[x]):
                        on[next(rest)] = bundles.level[b][self._at[x][1]][0]
            loose = _loose(self._fabric, self._alive, on, two=self._rules.two_connected)
            out = out or (left <= 0 and bool(loose))
            if out or not loose:
                break
            for cut in loose:
                _cut(rows, cut, bundles, self._of_bundle, self._least)
        return Bound(self._stepped(self._best) - ROUND_UP, self._source, out, on)

    def forbid(self, on: Mapping[int, int]) -> None:
        """Demand more or faster links of some bundle than in `on`, Mb/s by link, which were shown to be too few."""
        more: dict[int, float] = {}
        for b, links in enumerate(self._bundles.links):
            for mbps, _ in self._bundles.level[b]:
                count = sum(on.get(i, 0) >= mbps for i in links) + 1
                if count > len(links):
                    continue
                if (b, mbps, count) not in self._above:
                    self._above[b, mbps, count] = column = self._rows.columns
                    self._rows.columns += 1
                    self._whole.add(column)
                    fast = {x: 1.0 for x in self._of_bundle[b] if self._bundles.level[b][self._at[x][1]][0] >= mbps}
                    self._rows.add(fast | {column: -float(count)}, 0.0, np.inf)
                more[self._above[b, mbps, count]] = 1.0
        self._rows.add(more, 1.0, np.inf)

    def _stepped(self, watts: float) -> float:
        """Return a bound raised to the next possible sum of watts, if all links draw the same."""
        kinds = {w for levels in self._bundles.level for _, w in levels}
        each = kinds.pop() if len(kinds) == 1 else 0.0
        return float(np.ceil(watts / each - STEP_SLACK)) * each if each > 0 else watts


def checked_bound(bound: float, least: float) -> float:
    """Return a lower bound, cut to `least` where rounding put it above. Raises AssertionError if it was beaten."""
    if least < bound - BEATEN * max(1.0, abs(bound) * 1e-3):
        raise AssertionError(f"a choice of {least:.6f} beats the lower bound of {bound:.6f}")
    return min(bound, least)


class _Rows:
    """The rows of a sparse program."""

    def __init__(self, columns: int) -> None:
        self.columns = columns
        self.row: list[int] = []
        self.column: list[int] = []
        self.value: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, terms: dict[int, float], low: float, high: float) -> None:
        self.row += [len(self.low)] * len(terms)
        self.column += terms.keys()
        self.value += terms.values()
        self.low.append(low)
        self.high.append(high)


def _bundles(fabric: Fabric, rules: Rules) -> _Bundles:
    groups: dict[tuple[int, int, int, int, tuple[tuple[int, float], ...]], list[int]] = defaultdict(list)
    for i, link in enumerate(fabric.links):
        if not link.up:
            continue
        full = link.speed_mbps or 1000
        speeds = [full, *sorted((s for s in rules.levels if s < full), reverse=True)]
        levels = tuple((s, rules.watts(i, s)) for s in speeds)
        groups[min(link.a, link.b), max(link.a, link.b), full, len(link.cables), levels].append(i)
    keys = list(groups)
    return _Bundles(
        np.array([key[:2] for key in keys]).reshape(-1, 2),
        list(groups.values()),
        [key[3] for key in keys],
        [list(key[4]) for key in keys],
    )


def _demand(fabric: Fabric, volume: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the bytes between switches, float64[N, N], 0 on the diagonal."""
    n = len(fabric.switches)
    demand = np.zeros((n, n))
    np.add.at(demand, (fabric.host_switch[:, None], fabric.host_switch[None, :]), volume)
    np.fill_diagonal(demand, 0.0)
    return demand


def _hops(fabric: Fabric) -> NDArray[np.float64]:
    """Return the fewest channels between switches, float64[N, N], 0 where there is no path."""
    up, switches = fabric.channel_up, np.arange(len(fabric.switches))
    hops = all_hops(len(switches), fabric.tail[up], fabric.head[up], switches)
    return np.where(np.isfinite(hops), hops, 0.0)


def _cut(rows: _Rows, cut: set[int], bundles: _Bundles, of_bundle: dict[int, list[int]], least: int) -> None:
    """Require `least` links between a set of switches and the rest, or all if there are fewer."""
    across = [b for b, (u, v) in enumerate(bundles.ends.tolist()) if (u in cut) != (v in cut)]
    there = sum(len(bundles.links[b]) for b in across)
    rows.add({x: 1.0 for b in across for x in of_bundle[b]}, min(least, there), np.inf)


def _sets(alive: list[int], ends: NDArray[np.int64]) -> Iterable[set[int]]:
    """Return the sets of switches for cuts, one of each complementary pair; few sets for large fabrics."""
    if len(alive) > CUT_SWITCHES:
        return [*({s} for s in alive), *({u, v} for u, v in sorted(set(map(tuple, ends.tolist()))))]
    first, *rest = alive
    return [{first}, *(set(some) for size in range(1, len(rest)) for some in combinations(rest, size))]


def _filled(demand: NDArray[np.float64], cut: set[int], capacity: float) -> int:
    """Return how many links, of `capacity` bytes each way, are needed for what leaves or enters a set of switches."""
    inside = np.zeros(len(demand), np.bool_)
    inside[list(cut)] = True
    amount = max(demand[inside][:, ~inside].sum(), demand[~inside][:, inside].sum())
    return int(np.ceil(amount / capacity - CUT_SLACK)) if capacity > 0 else 0


def _flow(
    rows: _Rows,
    demand: NDArray[np.float64],
    bundles: _Bundles,
    of_bundle: dict[int, list[int]],
    capacity: dict[int, float],
    sources: NDArray[np.int64],
) -> None:
    """Add the flow of every source over both channels of every bundle, conserved and within capacity."""
    first, width = rows.columns, 2 * len(bundles.ends)
    rows.columns += width * len(sources)
    unit = max(capacity.values())
    for k, s in enumerate(sources.tolist()):
        base = first + k * width
        balance: list[dict[int, float]] = [{} for _ in range(len(demand))]
        for b, (u, v) in enumerate(bundles.ends.tolist()):
            for direction, (tail, head) in enumerate(((u, v), (v, u))):
                balance[head][base + 2 * b + direction] = 1.0
                balance[tail][base + 2 * b + direction] = -1.0
        for v, terms in enumerate(balance):
            if v != s and terms:
                rows.add(terms, demand[s, v] / unit, demand[s, v] / unit)
    for b in range(len(bundles.ends)):
        for direction in range(2):
            terms = {first + k * width + 2 * b + direction: 1.0 for k in range(len(sources))}
            rows.add(terms | {x: -capacity[x] / unit for x in of_bundle[b]}, -np.inf, 0.0)


def _degrees(
    rows: _Rows,
    demand: NDArray[np.float64],
    bundles: _Bundles,
    of_bundle: dict[int, list[int]],
    capacity: dict[int, float],
    sources: NDArray[np.int64],
) -> None:
    """Add bounds by what leaves and enters every switch, and by the total of bytes times minimum hops."""
    n, unit = len(demand), max(capacity.values())
    touching: list[list[int]] = [[] for _ in range(n)]
    for b, (u, v) in enumerate(bundles.ends.tolist()):
        touching[u] += of_bundle[b]
        touching[v] += of_bundle[b]
    most = np.maximum(demand.sum(axis=0), demand.sum(axis=1))
    for v in np.flatnonzero(most).tolist():
        rows.add({x: capacity[x] / unit for x in touching[v]}, most[v] / unit, np.inf)
    u, v = bundles.ends.T
    hops = all_hops(n, np.r_[u, v], np.r_[v, u], sources)
    work = float((demand[sources] * np.where(np.isfinite(hops), hops, 0.0)).sum())
    rows.add({x: 2 * amount / unit for x, amount in capacity.items()}, work / unit, np.inf)


def _loose(fabric: Fabric, alive: list[int], on: dict[int, int], *, two: bool) -> list[set[int]]:
    """Return the sets of switches that the links in `on` leave cut off, or with `two` attached by a single link."""
    import networkx as nx  # noqa: PLC0415 - a third of a second that most commands need not spend

    graph: nx.Graph[int] = nx.Graph()
    graph.add_nodes_from(alive)
    times = Counter(tuple(sorted((fabric.links[i].a, fabric.links[i].b))) for i in on)
    graph.add_edges_from(times)
    parts = list(nx.connected_components(graph))
    if len(parts) > 1:
        return [set(part) for part in parts]
    if not two:
        return []
    loose: list[set[int]] = []
    for a, b in list(nx.bridges(graph)):
        if times[min(a, b), max(a, b)] == 1:
            graph.remove_edge(a, b)
            part = set(nx.node_connected_component(graph, a))
            graph.add_edge(a, b)
            across = sum(link.up and (link.a in part) != (link.b in part) for link in fabric.links)
            if across > 1:
                loose.append(part)
    return loose
