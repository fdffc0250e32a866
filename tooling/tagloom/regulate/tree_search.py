"""Search a tree for every sender over given links by a constraint solver (CP-SAT), or prove that there is none."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from tagloom.regulate.moves import SLACK

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.regulate.moves import Net

MOST_CHANNELS = 30_000  # senders times channels; beyond, the question is left open
UNITS = 2.0**40  # of bytes that are not whole: the units that the greatest sender's sum is counted in
SYMMETRY_LEVEL = 4  # CP-SAT's: symmetries are also broken during the search

# its switch, the bytes to each switch, its network, and the bytes that it floods over its tree
Sender = tuple[int, "NDArray[np.float64]", int, float]


def available() -> bool:
    """Return whether OR-Tools is installed: it has no wheels for some platforms."""
    from importlib.util import find_spec  # noqa: PLC0415 - most commands ask no such question

    return find_spec("ortools") is not None


def search(
    fabric: Fabric, net: Net, senders: Sequence[Sender], on: Collection[int], limit: float, effort: float
) -> list[list[int]] | None:
    """Return for each sender the channels of its tree over the links `on`; [] if there are none, None if it is open.

    No channel carries more than `limit` bytes at 1 Gb/s, no path has more than `net.reach` channels, and all turns from
    channel to channel follow one order of the channels, so that no cycle of waiting closes. `effort` is CP-SAT's
    deterministic time, about a processor second each: what is open does not depend on how busy the machine is.
    """
    channels = [c for i in sorted(on) for c in (2 * i, 2 * i + 1)]
    if len(senders) * len(channels) > MOST_CHANNELS:
        return None
    model = _Model(fabric, net, senders, channels, limit)
    while effort > 0:
        found, spent = model.solve(effort)
        if not found or not model.overloaded(found):
            return found
        effort -= spent
    return None


@dataclass(frozen=True, eq=False)
class _Sent:
    """One sender's variables by channel: whether its tree has the channel, and the units it sends over it.

    `flood` are units besides that every channel of the tree carries.
    """

    taken: dict[int, Any]
    units: dict[int, Any]
    flood: int

    def on(self, c: int) -> list[Any]:
        """Return the terms of what the sender has on a channel."""
        flooded = [self.flood * self.taken[c]] if self.flood and c in self.taken else []
        return flooded + ([self.units[c]] if c in self.units else [])


class _Model:
    """The constraints: a tree for each sender, the loads of channels, and an order that all turns follow.

    Bytes are counted in units: their greatest common divisor where they are whole, else so fine that only a choice that
    breaks the limit by rounding alone has to be refused afterwards. Each variable is an integer, so "none" is exact.
    """

    def __init__(
        self, fabric: Fabric, net: Net, senders: Sequence[Sender], channels: Sequence[int], limit: float
    ) -> None:
        from ortools.sat.python import cp_model  # noqa: PLC0415 - a third of a second to load

        self._cp, self._model = cp_model, cp_model.CpModel()
        self._net, self._senders, self._channels = net, senders, channels
        self._out, self._into = defaultdict[int, list[int]](list), defaultdict[int, list[int]](list)
        for c in channels:
            self._out[int(net.tail[c])].append(c)
            self._into[int(net.head[c])].append(c)
        self._most = {c: limit * SLACK * fabric.links[c >> 1].capacity_mbps() / 1000.0 for c in channels}
        self._unit, self._whole = _unit(senders)
        self._turns()
        self._sent = [self._tree(*sender) for sender in senders]
        self._loads(fabric)

    def solve(self, effort: float) -> tuple[list[list[int]] | None, float]:
        """Return what `search` does, and the effort spent."""
        solver = self._cp.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.symmetry_level = SYMMETRY_LEVEL
        solver.parameters.max_deterministic_time = effort
        status = solver.solve(self._model)
        spent = solver.response_proto.deterministic_time
        if status == self._cp.INFEASIBLE:
            return [], spent
        if status not in {self._cp.OPTIMAL, self._cp.FEASIBLE}:
            return None, spent
        return [[c for c, var in sent.taken.items() if solver.boolean_value(var)] for sent in self._sent], spent

    def overloaded(self, trees: Sequence[Sequence[int]]) -> bool:
        """Forbid trees that exceed the limit by the rounding to units; return whether they did."""
        if self._whole:
            return False
        load = dict.fromkeys(self._channels, 0.0)
        for (root, flow, _, flood), tree in zip(self._senders, trees, strict=True):
            for c, amount in _amounts(self._net, root, flow, tree).items():
                load[c] += amount + flood
        if all(amount <= self._most[c] for c, amount in load.items()):
            return False
        chosen = [sent.taken[c] for sent, tree in zip(self._sent, trees, strict=True) for c in tree]
        self._model.add_bool_or([var.negated() for var in chosen])
        return True

    def _turns(self) -> None:
        """Add a variable for each turn, which puts its second channel after its first."""
        model, last = self._model, len(self._channels) - 1
        place = {c: model.new_int_var(0, last, f"place {c}") for c in self._channels}
        self._turn: dict[tuple[int, int], Any] = {}
        for c in self._channels:
            for d in self._out[int(self._net.head[c])]:
                if d != c ^ 1:
                    self._turn[c, d] = turn = model.new_bool_var(f"turn {c} {d}")
                    model.add(place[c] + 1 <= place[d]).only_enforce_if(turn)

    def _tree(self, root: int, flow: NDArray[np.float64], network: int, flood: float) -> _Sent:
        """Add one sender's tree: a channel into every switch with hosts of its network, one at most into others."""
        model, net = self._model, self._net
        here = [c for c in self._channels if net.head[c] != root]
        taken = {c: model.new_bool_var(f"tree {c}") for c in here}
        half = 0.5 if self._whole else 0.0
        wanted = np.floor(flow / self._unit + half).astype(np.int64)
        total = int(wanted.sum())
        units = {c: model.new_int_var(0, total, f"units {c}") for c in here} if total else {}
        for v in range(len(net.target)):
            into = [c for c in self._into[v] if c in taken]
            if v == root:
                continue
            if net.at[network][v]:
                model.add_exactly_one([taken[c] for c in into])
            else:
                model.add_at_most_one([taken[c] for c in into])
            for d in (d for d in self._out[v] if d in taken):
                if not net.at[network][v]:
                    model.add_bool_or([*(taken[c] for c in into), taken[d].negated()])
                for c in into:
                    follows = [] if d == c ^ 1 else [self._turn[c, d]]
                    model.add_bool_or([taken[c].negated(), taken[d].negated(), *follows])
            if total:
                leaves = [units[d] for d in self._out[v] if d in units]
                model.add(sum(units[c] for c in into) == int(wanted[v]) + sum(leaves))
                for c in into:
                    model.add(units[c] <= total * taken[c])
                    model.add(units[c] >= int(wanted[v]) * taken[c])
        self._reach(root, network, taken)
        return _Sent(taken, units, int(np.floor(flood / self._unit + half)))

    def _reach(self, root: int, network: int, taken: dict[int, Any]) -> None:
        """Limit the channels from a root to every switch with hosts of its network to `net.reach`."""
        net, model = self._net, self._model
        size = len(net.target)
        if net.reach >= size - 1:
            return
        most = [net.reach if net.at[network][v] else size for v in range(size)]
        depth = [model.new_int_var(0, 0 if v == root else most[v], f"depth {v}") for v in range(size)]
        for c, var in taken.items():
            model.add(depth[int(net.head[c])] >= depth[int(net.tail[c])] + 1).only_enforce_if(var)

    def _loads(self, fabric: Fabric) -> None:
        """Limit the channels' loads; of interchangeable links, the first carries most."""
        model, load = self._model, dict[int, Any]()
        for c in self._channels:
            room = int(np.floor(self._most[c] / self._unit)) + (0 if self._whole else 1)
            load[c] = model.new_int_var(0, room, f"load {c}")
            model.add(load[c] == sum(term for sent in self._sent for term in sent.on(c)))
        alike: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        for c in self._channels:
            a, b = int(self._net.tail[c]), int(self._net.head[c])
            if a < b:
                alike[a, b, fabric.links[c >> 1].capacity_mbps()].append(c)
        for some in alike.values():
            for c, d in pairwise(some):
                model.add(load[c] >= load[d])


def _unit(senders: Sequence[Sender]) -> tuple[float, bool]:
    """Return the bytes that are one unit, and whether all bytes are whole multiples of it."""
    flows = np.array([[*flow, flood] for _, flow, _, flood in senders])
    if not flows.any():
        return 1.0, True
    if flows.sum() < UNITS * 2**10 and np.array_equal(flows, np.rint(flows)):
        return float(np.gcd.reduce(flows.astype(np.int64).ravel())), True
    return float(flows.sum(axis=1).max()) / UNITS, False


def _amounts(net: Net, root: int, flow: NDArray[np.float64], tree: Sequence[int]) -> dict[int, float]:
    """Return the bytes on each channel of a sender's tree."""
    into = {int(net.head[c]): c for c in tree}
    amounts = dict.fromkeys(tree, 0.0)
    for v in np.flatnonzero(flow).tolist():
        at = v
        while at != root:
            amounts[into[at]] += float(flow[v])
            at = int(net.tail[into[at]])
    return amounts
