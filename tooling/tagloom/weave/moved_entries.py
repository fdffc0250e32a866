"""Find which entries to change when a link or switch is dead, so that every mixture of old and new is deadlock-free."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.entry_channels import NO_CHANNEL, entry_channels
from tagloom.graph.trees import flooding_links
from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour
from tagloom.weave.broadcast import tree_around, turns

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

    Turns = tuple[NDArray[np.int64], NDArray[np.int64]]

ORDERS = 12  # orders of the channels tried after each failure, by effort
SWEEPS = 3  # times each switch chooses its channel along one order
FREE = 1 << 30  # instead of a position: after every channel
BUSY = 0.5  # the cost of crossing the most loaded channel, relative to a hop


@dataclass(frozen=True, eq=False)
class _Paths:
    """The next channels to T destinations, int64[N, T], of entries before a failure and after its detour.

    A destination is a switch with hosts of one network. At itself `root` is True, bool[N, T]. NO_CHANNEL says that
    there is no entry, or before a failure that it leads to what is dead, where no frame holds anything.
    """

    old: NDArray[np.int64]
    new: NDArray[np.int64]
    root: NDArray[np.bool_]

    def reaches(self, fabric: Fabric) -> NDArray[np.bool_]:
        """Return from where the new entries lead to their destination, bool[N, T]."""
        found, column = self.root.copy(), np.arange(self.root.shape[1])[None, :]
        for _ in range(len(fabric.switches)):
            grown = found | ((self.new >= 0) & found[fabric.head[self.new], column])
            if np.array_equal(grown, found):
                break
            found = grown
        return found

    def mixed(self, fabric: Fabric) -> Turns:
        """Return the dependencies of frames where each entry is the old or the new one, each once."""
        channels, column, keys = len(fabric.tail), np.arange(self.root.shape[1])[None, :], []
        for first in (self.old, self.new):
            for then in (self.old, self.new):
                following = np.where(first >= 0, then[fabric.head[first], column], NO_CHANNEL)
                on = (first >= 0) & (following >= 0)
                keys.append(np.unique(first[on] * channels + following[on]))
        held, wanted = np.divmod(np.unique(np.concatenate(keys)), max(1, channels))
        return held, wanted


def moved_entries(
    fabric: Fabric, state: FabricState, dependencies: Turns, kind: str, effort: int = 1
) -> tuple[Detour, ...]:
    """Return the detour after every single failure: the entries that change, and the ports that flood no more or anew.

    `state` has one VLAN for each network, whose floods keep to a tree, and `dependencies` (held, wanted).
    `kind` is "link" or "switch", which includes links. Only entries change that lead to what is dead, or to switches
    that it cuts off; so pairs that work are not touched. Lines take effect in any order: of every entry both the old
    and the new lead on, and along an order of the channels all of them ascend, beside the dependencies that are there.
    Each failure has an order of its own, as only one detour is ever taken. Pairs that no order serves keep their
    entries.
    """
    if not len(fabric.tail):
        return ()
    tree = np.flatnonzero(flooding_links(fabric, state) & fabric.channel_up[::2]).tolist()
    entries, load = entry_channels(fabric, state), np.zeros(len(fabric.tail))
    network = np.zeros(len(fabric.hosts), np.int64)
    for i, hosts in enumerate(fabric.networks.values()):
        network[hosts] = i
    place = network * len(fabric.switches) + fabric.host_switch
    _, first, column = np.unique(place, return_index=True, return_inverse=True)
    root = np.arange(len(fabric.switches))[:, None] == fabric.host_switch[first][None, :]
    for c, times in zip(*np.unique(entries[entries >= 0], return_counts=True), strict=True):
        load[c] = times
    load = (load / max(1.0, load.max(initial=0.0))) ** 4
    cases = [(i, -1) for i, link in enumerate(fabric.links) if link.up]
    cases += [(-1, s) for s, switch in enumerate(fabric.switches) if switch.up] if kind == "switch" else []
    found = []
    for link, switch in cases:
        less = fabric.with_links_dead({link}) if link >= 0 else fabric.with_switches_down({switch})
        alive = less.channel_up
        inside = alive[dependencies[0]] & alive[dependencies[1]]
        beside = dependencies[0][inside], dependencies[1][inside]
        around = _flood_around(less, tree, beside)
        if around is not None:
            beside = _joined(beside, turns(less, around))
        running = entries[:, first]
        running = np.where((running >= 0) & alive[running], running, NO_CHANNEL)
        has_entry = (entries[:, first] >= 0) | root
        there = root & (np.arange(len(fabric.switches)) != switch)[:, None]
        paths = _around(less, _Paths(running, running, there), has_entry, beside, load, ORDERS * max(1, effort))
        parts = link_ends(fabric, link) if link >= 0 else (fabric.switches[switch].name,)
        found.append(Detour(parts, {}, _moved(fabric, paths, column), _floods(less, tree, around)))
    return tuple(found)


def _flood_around(less: Fabric, tree: Collection[int], beside: Turns) -> frozenset[int] | None:
    """Return the tree of floods after a failure: the same if it is whole, None if none was found."""
    if all(less.channel_up[2 * i] for i in tree):
        return frozenset(tree)
    return tree_around(less, tree, beside)


def _joined(one: Turns, other: Turns) -> Turns:
    return np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])


def _around(
    less: Fabric, paths: _Paths, has_entry: NDArray[np.bool_], beside: Turns, load: NDArray[np.float64], tries: int
) -> _Paths:
    """Return the paths around a failure, along one order after another until all are served or `tries` are over."""
    alive = np.array([switch.up for switch in less.switches])[:, None]
    for seed in range(tries):
        left = has_entry & alive & paths.root.any(axis=0) & ~paths.reaches(less)
        if not left.any():
            break
        order = _ascending(less, _joined(beside, paths.mixed(less)), seed)
        if order is None:
            break
        paths = _along(less, paths, left, order, load)
    return paths


def _ascending(less: Fabric, beside: Turns, seed: int) -> list[int] | None:
    """Return the channels that are up in an order drawn at random that dependencies ascend; None if they cannot."""
    draw = np.random.default_rng(seed).random(len(less.tail)).tolist()
    up = np.flatnonzero(less.channel_up).tolist()
    after: dict[int, list[int]] = {c: [] for c in up}
    before = dict.fromkeys(up, 0)
    for held, wanted in set(zip(beside[0].tolist(), beside[1].tolist(), strict=True)):
        after[held].append(wanted)
        before[wanted] += 1
    ready, order = [(draw[c], c) for c in up if not before[c]], list[int]()
    heapq.heapify(ready)
    while ready:
        _, c = heapq.heappop(ready)
        order.append(c)
        for following in after[c]:
            before[following] -= 1
            if not before[following]:
                heapq.heappush(ready, (draw[following], following))
    return order if len(order) == len(up) else None


def _along(less: Fabric, paths: _Paths, left: NDArray[np.bool_], order: list[int], load: NDArray[np.float64]) -> _Paths:
    """Return the paths with entries of the cells `left`, bool[N, T], changed where the order leads on from there.

    From the last channel on: a switch takes one that all channels into it come before, and that comes before those
    by which its head leads on, before and after. The latest is taken first, which leaves most room; then each takes
    the one of least hops and load that it may, its old one if that serves.
    """
    place = np.full(len(less.tail) + 1, -1, np.int64)
    place[order] = np.arange(len(order))
    old_place = np.where(paths.old >= 0, place[paths.old], FREE)
    into = np.full(left.shape, -1, np.int64)
    for each in (paths.old, paths.new):
        v, t = np.nonzero(each >= 0)
        np.maximum.at(into, (less.head[each[v, t]], t), place[each[v, t]])
    new = np.where(left, NO_CHANNEL, paths.new)
    until = np.minimum(old_place, np.where(new >= 0, place[new], FREE))  # channels into a switch come before it
    until = np.where(paths.root, FREE, np.where(new >= 0, until, -1))
    for p in range(len(order) - 1, -1, -1):
        c = order[p]
        v, w = less.tail[c], less.head[c]
        can = left[v] & (new[v] < 0) & (into[v] < p) & (until[w] > p)
        new[v, can], until[v, can] = c, np.minimum(old_place[v, can], p)
    moved = left & (new >= 0)
    leaving = [np.flatnonzero((less.tail == v) & less.channel_up) for v in range(len(less.switches))]
    for _ in range(SWEEPS):
        cost = _costs(less, _Paths(paths.old, new, paths.root), load)
        latest = into.copy()
        v, t = np.nonzero(moved)
        np.maximum.at(latest, (less.head[new[v, t]], t), place[new[v, t]])
        before = new.copy()
        for c in order:
            v = less.tail[c]
            mine = np.flatnonzero(moved[v] & (before[v] == c))
            if not len(mine):
                continue
            least, best = np.full(len(mine), np.inf), new[v, mine]
            for other in leaving[v].tolist():
                w, p = less.head[other], place[other]
                price = cost[w, mine] + 1 + BUSY * load[other] - 1e-3 * (paths.old[v, mine] == other)
                can = (latest[v, mine] < p) | (paths.old[v, mine] == other)
                can &= (until[w, mine] > p) & (price < least)
                least, best = np.where(can, price, least), np.where(can, other, best)
            new[v, mine] = best
            until[v, mine] = np.minimum(old_place[v, mine], place[best])
            np.maximum.at(latest, (less.head[best], mine), place[best])
    new = np.where(left & (new < 0), paths.new, new)
    return _Paths(paths.old, new, paths.root)


def _costs(less: Fabric, paths: _Paths, load: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the hops and the cost of loaded channels from each switch to each destination, float64[N, T]."""
    cost = np.where(paths.root, 0.0, np.inf)
    column = np.arange(cost.shape[1])[None, :]
    for _ in range(len(less.switches)):
        onward = cost[less.head[paths.new], column] + 1 + BUSY * load[paths.new]
        grown = np.where(paths.root, 0.0, np.where(paths.new >= 0, onward, np.inf))
        if np.array_equal(grown, cost):
            break
        cost = grown
    return cost


def _moved(fabric: Fabric, paths: _Paths, column: NDArray[np.int64]) -> dict[str, dict[str, int]]:
    """Return the new ports of the entries that change, by switch and host; `column` is the destination of each host."""
    entries: dict[str, dict[str, int]] = {}
    moved = (paths.new != paths.old) & (paths.new >= 0)
    for s, h in np.argwhere(moved[:, column]).tolist():
        port = int(fabric.tail_port[paths.new[s, column[h]]])
        entries.setdefault(fabric.switches[s].name, {})[fabric.hosts[h].name] = port
    return entries


def _floods(less: Fabric, tree: Collection[int], around: frozenset[int] | None) -> dict[str, dict[int, bool]]:
    """Return the ports of live switches that flood anew or no more where floods keep to the tree `around`."""
    floods: dict[str, dict[int, bool]] = {}
    if around is None:
        return floods
    for i in sorted(around.symmetric_difference(tree)):
        for c in (2 * i, 2 * i + 1):
            s = int(less.tail[c])
            if less.switches[s].up:
                floods.setdefault(less.switches[s].name, {})[int(less.tail_port[c])] = i in around
    return floods
