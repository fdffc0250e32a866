"""Choose a tree for every sender among all spanning trees of given links by an integer program (HiGHS)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.regulate.highs import INFEASIBLE, solve
from tagloom.regulate.moves import SLACK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.regulate.moves import Net
    from tagloom.regulate.tree_search import Sender

MOST_TREES = 3_000  # spanning trees; beyond, the question is left open
MOST_COLUMNS = 60_000  # senders times trees


@dataclass(frozen=True, eq=False)
class _Path:
    """One tree for one sender: its links, the bytes on each channel, and the turns between channels."""

    sender: int
    tree: tuple[int, ...]
    load: dict[int, float]
    turns: frozenset[tuple[int, int]]


def choose_trees(
    fabric: Fabric,
    net: Net,
    senders: Sequence[Sender],
    links: list[int],
    limit: float,
    seconds: float,
    clock: Callable[[], float],
) -> list[list[int]] | None:
    """Return the links of each sender's tree; [] if there are none, None if time or size leaves it open.

    Rules are those of `tree_search.search`. Each cycle of turns that a solution closes is forbidden, and so is each set
    of trees that overloads a channel within the solver's tolerances. This repeats until a solution is valid or none is
    left.
    """
    began = clock()
    alive = np.flatnonzero(fabric.joined).tolist()
    count = _spanning(fabric, alive, links)
    if count < 0.5:
        return []
    if count > MOST_TREES or count * len(senders) > MOST_COLUMNS:
        return None
    trees = list(_trees(fabric, alive, links))
    every = (_paths(fabric, net, s, who, trees) for s, who in enumerate(senders))
    paths = [path for some in every for path in some if _fits(fabric, path, limit)]
    alike = {(path.sender, *sorted(path.load.items())): path for path in paths}
    if (left := seconds - (clock() - began)) > 0:  # far fewer trees if turns are ignored
        if (chosen := _Program(fabric, list(alike.values()), len(senders), limit, clock).solve(left)) is None:
            return None
        if not chosen:
            return []
    program = _Program(fabric, paths, len(senders), limit, clock)
    while (left := seconds - (clock() - began)) > 0:
        if (chosen := program.solve(left)) is None:
            return None
        if not chosen:
            return []
        if not program.cut(chosen):
            tree_of = {paths[j].sender: paths[j].tree for j in chosen}
            return [list(tree_of[s]) for s in range(len(senders))]
    return None


class _Program:
    """The integer program that chooses one tree for each sender."""

    def __init__(
        self, fabric: Fabric, paths: list[_Path], senders: int, limit: float, clock: Callable[[], float]
    ) -> None:
        self._paths, self._clock = paths, clock
        self._scale = [1000.0 / fabric.links[c >> 1].capacity_mbps() for c in range(len(fabric.tail))]
        self._limit = limit
        self._of_sender: list[list[int]] = [[] for _ in range(senders)]
        self._on_channel: dict[int, dict[int, float]] = {}
        for j, path in enumerate(paths):
            self._of_sender[path.sender].append(j)
            for c, amount in path.load.items():
                self._on_channel.setdefault(c, {})[j] = amount * self._scale[c] / limit
        self._cycles: list[list[tuple[int, int]]] = []
        self._overloads: list[list[int]] = []

    def solve(self, seconds: float) -> list[int] | None:
        """Return the chosen trees of all senders; [] if there is no solution, None if the time runs out first."""
        if not all(self._of_sender):
            return []
        turns = sorted({turn for cycle in self._cycles for turn in cycle})
        column = {turn: len(self._paths) + i for i, turn in enumerate(turns)}
        rows: list[tuple[dict[int, float], float, float]] = []
        rows += [(dict.fromkeys(some, 1.0), 1.0, 1.0) for some in self._of_sender]
        rows += [(terms, -np.inf, 1.0) for terms in self._on_channel.values()]
        for turn in turns:
            for some in self._of_sender:
                if terms := {j: 1.0 for j in some if turn in self._paths[j].turns}:
                    rows.append((terms | {column[turn]: -1.0}, -np.inf, 0.0))
        rows += [({column[t]: 1.0 for t in cycle}, -np.inf, len(cycle) - 1.0) for cycle in self._cycles]
        rows += [(dict.fromkeys(some, 1.0), -np.inf, len(some) - 1.0) for some in self._overloads]
        width = len(self._paths) + len(turns)
        at = np.repeat(np.arange(len(rows)), [len(terms) for terms, _, _ in rows]).tolist()
        matrix = (
            at,
            [x for terms, _, _ in rows for x in terms],
            [value for terms, _, _ in rows for value in terms.values()],
        )
        whole = np.r_[np.ones(len(self._paths)), np.zeros(len(turns))]
        low, high = [row[1] for row in rows], [row[2] for row in rows]
        answer = solve(np.zeros(width), whole, 1.0, matrix, low, high, seconds, self._clock)
        if answer.status == INFEASIBLE:
            return []
        return None if answer.x is None else np.flatnonzero(answer.x[: len(self._paths)] > 0.5).tolist()

    def cut(self, chosen: list[int]) -> bool:
        """Forbid what makes a solution invalid, overloaded channels and cycles of turns; return whether any did."""
        import networkx as nx  # noqa: PLC0415 - a third of a second that most commands need not spend

        found = False
        for c, terms in self._on_channel.items():
            here = [j for j in chosen if j in terms]
            if sum(self._paths[j].load[c] for j in here) * self._scale[c] > self._limit * SLACK:
                self._overloads.append(here)
                found = True
        graph: nx.DiGraph[int] = nx.DiGraph(sorted({turn for j in chosen for turn in self._paths[j].turns}))
        while True:
            try:
                cycle = [(a, b) for a, b, *_ in nx.find_cycle(graph)]
            except nx.NetworkXNoCycle:
                return found
            self._cycles.append(cycle)
            graph.remove_edge(*cycle[0])
            found = True


def _spanning(fabric: Fabric, alive: list[int], links: list[int]) -> float:
    """Return the number of spanning trees of links (Kirchhoff's theorem: a cofactor of the Laplacian)."""
    at = {v: k for k, v in enumerate(alive)}
    laplacian = np.zeros((len(alive), len(alive)))
    for i in links:
        a, b = at[fabric.links[i].a], at[fabric.links[i].b]
        laplacian[[a, b], [a, b]] += 1
        laplacian[[a, b], [b, a]] -= 1
    return float(np.linalg.det(laplacian[1:, 1:])) if len(alive) > 1 else 1.0


def _trees(fabric: Fabric, alive: list[int], links: list[int]) -> Iterator[tuple[int, ...]]:
    """Yield all spanning trees of links, by taking or leaving one link after another."""
    stack: list[tuple[int, dict[int, int], tuple[int, ...]]] = [(0, {v: v for v in alive}, ())]
    while stack:
        k, part, taken = stack.pop()
        if len(taken) == len(alive) - 1:
            yield taken
        elif len(links) - k >= len(alive) - 1 - len(taken):
            stack.append((k + 1, part, taken))
            a, b = part[fabric.links[links[k]].a], part[fabric.links[links[k]].b]
            if a != b:
                stack.append((k + 1, {v: a if p == b else p for v, p in part.items()}, (*taken, links[k])))


def _paths(fabric: Fabric, net: Net, sender: int, who: Sender, trees: list[tuple[int, ...]]) -> Iterator[_Path]:
    """Yield the load and turns of a sender on each tree; those that differ in nothing that leads to hosts, once.

    Branches without hosts of the sender's network are pruned. With several networks the tree itself stays whole, since
    hosts of others may send over it as well. Trees with a path of more than `net.reach` channels are left out.
    """
    root, flow, network, flood = who
    seen: set[tuple[int, ...]] = set()
    for tree in trees:
        around: dict[int, list[int]] = {}
        for i in tree:
            around.setdefault(fabric.links[i].a, []).append(2 * i)
            around.setdefault(fabric.links[i].b, []).append(2 * i + 1)
        order, into = [root], {root: -1}
        for u in order:
            for c in around.get(u, ()):
                if c ^ 1 != into[u]:
                    into[int(net.head[c])] = c
                    order.append(int(net.head[c]))
        if len(order) - 1 > net.reach and _farthest(net, order, into, net.at[network]) > net.reach:
            continue
        beyond, hosts = flow.tolist(), net.at[network].astype(int).tolist()
        load: dict[int, float] = {}
        turns: set[tuple[int, int]] = set()
        kept: list[int] = []
        for v in reversed(order[1:]):
            if hosts[v]:
                c, u = into[v], int(net.tail[into[v]])
                beyond[u] += beyond[v]
                hosts[u] += hosts[v]
                kept.append(c >> 1)
                if beyond[v] + flood > 0:
                    load[c] = beyond[v] + flood
                if u != root:
                    turns.add((into[u], c))
        if (pruned := tuple(sorted(kept))) not in seen:
            seen.add(pruned)
            yield _Path(sender, pruned if len(net.at) == 1 else tree, load, frozenset(turns))


def _farthest(net: Net, order: list[int], into: dict[int, int], at: NDArray[np.bool_]) -> int:
    """Return the channels to the farthest switch of those that `at` masks, from the first of `order`."""
    depth = {order[0]: 0}
    for v in order[1:]:
        depth[v] = depth[int(net.tail[into[v]])] + 1
    return max(depth[v] for v in order if at[v] or v == order[0])


def _fits(fabric: Fabric, path: _Path, limit: float) -> bool:
    capacity = {c: fabric.links[c >> 1].capacity_mbps() for c in path.load}
    return all(amount * 1000.0 / capacity[c] <= limit * SLACK for c, amount in path.load.items())
