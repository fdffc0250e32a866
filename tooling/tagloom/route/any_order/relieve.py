"""Lower the load after the worst failures: detours of one source for one failure, and branches that move."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel
from tagloom.route.any_order.own_detours import flows_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.any_order.detours import Along

    Needs = tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.int32], NDArray[np.bool_]]

BUSY = 0.93  # the share of the largest load from which a channel is relieved
SQUARINGS = 4  # branches move to lower the sum of load^16
PASSES = 6  # over all trees at first, half of them after each round of new ones
ROUNDS = 40
GAIN = 0.005  # a round that lowers the largest load by less is undone, and is the last


def relieved(
    net: Along,
    needs: Needs,
    detours: tuple[NDArray[np.int32], NDArray[np.int32]],
    shared: int,
    room: int,
    enough: float,
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """Return detours with less load after the worst failure: trees int32[T, n], and the choice of one, int32[S, F].

    Where a channel carries most after a failure, each source across it gets a tree for this failure alone, whether or
    not its own tree is broken; then branches move. `detours` are those so far, each tree from one source, and the
    choice; the first `shared` trees stay as they are. At most `room` trees are added, and none once the load is at most
    `enough` times that without a failure. `needs` are the sources, the pairs of hosts between each and each switch
    (float64[S, n]), their own trees, and for which (source, failure) one is wanted.
    """
    (sources, weight, trees, wanted), (grown, choice) = needs, detours
    grown, choice = grown.copy(), choice.copy()
    flows = np.zeros((len(sources), len(net.tail)), np.float32)
    for k in range(len(sources)):
        flows_of(net, trees[k], weight[k], flows[k])
    alive = np.ones(wanted.shape, np.bool_)
    for k, s in enumerate(sources.tolist()):  # a dead switch sends nothing
        alive[k, net.links + s : net.links + s + 1] = False
    load = alive.T.astype(np.float32) @ flows
    mine = np.argwhere(choice >= 0)
    flow = np.empty(len(net.tail), np.float32)
    for k, f in mine.tolist():
        flows_of(net, grown[choice[k, f]], weight[k], flow)
        load[f] += flow - flows[k]
    limit = enough * float(flows.sum(axis=0).max(initial=0.0))
    _even_out_all(net, weight, choice, grown, shared, load, PASSES)
    for _ in range(ROUNDS):
        worst = float(load.max(initial=0.0))
        cases = _across_busy(net, weight, (trees, grown), (choice, wanted), alive, load, max(limit, BUSY * worst))
        cases = cases[: max(0, room)]
        if worst <= limit or not len(cases):
            break
        before = grown, choice
        more = [grown[choice[k, f]] if choice[k, f] >= 0 else trees[k] for k, f in cases]
        grown, choice, load = np.concatenate([grown, np.array(more, np.int32)]), choice.copy(), load.copy()
        choice[cases[:, 0], cases[:, 1]] = np.arange(len(grown) - len(cases), len(grown))
        _even_out_all(net, weight, choice, grown, shared, load, PASSES // 2)
        if float(load.max()) > worst * (1.0 - GAIN):
            grown, choice = before
            break
        room -= len(cases)
    for k, f in np.argwhere((choice >= 0) & ~wanted).tolist():
        if np.array_equal(grown[choice[k, f]], trees[k]):
            choice[k, f] = -1  # it did not move
    return grown, choice


def _across_busy(
    net: Along,
    weight: NDArray[np.float64],
    tables: tuple[NDArray[np.int32], NDArray[np.int32]],
    cases: tuple[NDArray[np.int32], NDArray[np.bool_]],
    alive: NDArray[np.bool_],
    load: NDArray[np.float32],
    limit: float,
) -> NDArray[np.int64]:
    """Return (source, failure) whose paths cross a channel of more load than `limit`, int64[K, 2].

    Left out are those with a tree of their own already, and those that nothing serves. The worst failures come first.
    """
    (trees, grown), (choice, wanted) = tables, cases
    times = np.bincount(choice[choice >= 0], minlength=len(grown))
    flow = np.empty(len(net.tail), np.float32)
    found: list[tuple[int, int]] = []
    peak = load.max(axis=1)
    for f in np.argsort(-peak, kind="stable").tolist():
        if peak[f] <= limit:
            break
        busy = load[f] > limit
        for k in np.flatnonzero(alive[:, f]).tolist():
            t = choice[k, f]
            if (t < 0 and wanted[k, f]) or (t >= 0 and times[t] == 1):
                continue
            flows_of(net, grown[t] if t >= 0 else trees[k], weight[k], flow)
            if flow[busy].any():
                found.append((k, f))
                times[t] -= t >= 0
    return np.array(found, np.int64).reshape(len(found), 2)


def _even_out_all(
    net: Along,
    weight: NDArray[np.float64],
    choice: NDArray[np.int32],
    grown: NDArray[np.int32],
    shared: int,
    load: NDArray[np.float32],
    passes: int,
) -> None:
    """Move branches of all trees but the shared ones, in place, until none moves or after so many passes."""
    source, case = np.nonzero(choice >= shared)
    tree = choice[source, case] - shared
    order = np.argsort(tree, kind="stable")
    start = np.searchsorted(tree[order], np.arange(len(grown) - shared + 1))
    made_for = np.zeros(len(grown) - shared, np.int64)
    made_for[tree] = source
    for _ in range(passes):
        if not _even_out(net, made_for, start, case[order], weight, grown[shared:], load):
            break


@kernel
def _avoids(net: Along, c: int, avoided: NDArray[np.bool_]) -> bool:
    """Return whether a channel's link, or the switch it leaves, is to be avoided."""
    return bool(avoided[net.first[c]]) or (net.second[c] >= 0 and bool(avoided[net.second[c]]))


@kernel
def _height(x: float) -> float:
    for _ in range(SQUARINGS):
        x *= x
    return x


@kernel
def _paths_apart(
    net: Along, time: NDArray[np.int32], c: int, less: NDArray[np.int64], more: NDArray[np.int64]
) -> tuple[int, int]:
    """Write the channels that a path loses and gains if it arrives by c, back to where both meet; return how many."""
    less[0], more[0], fewer, further = time[net.head[c]], c, 1, 1
    a, b = net.tail[time[net.head[c]]], net.tail[c]
    while a != b:
        if time[a] > time[b]:
            less[fewer] = time[a]
            fewer += 1
            a = net.tail[time[a]]
        else:
            more[further] = time[b]
            further += 1
            b = net.tail[time[b]]
    return fewer, further


@kernel
def _gain(
    load: NDArray[np.float32],
    cases: NDArray[np.int64],
    flow: float,
    less: NDArray[np.int64],
    more: NDArray[np.int64],
) -> float:
    """Return by how much the sum of heights changes if `flow` leaves some channels and takes others."""
    total = 0.0
    for f in cases:
        for c in less:
            total += _height(load[f, c] - flow) - _height(np.float64(load[f, c]))
        for c in more:
            total += _height(load[f, c] + flow) - _height(np.float64(load[f, c]))
    return total


@kernel
def _even_out(  # noqa: C901, PLR0912 - one compiled loop: split, each part would take all of its arrays
    net: Along,
    made_for: NDArray[np.int64],
    case_start: NDArray[np.int64],
    case: NDArray[np.int64],
    weight: NDArray[np.float64],
    grown: NDArray[np.int32],
    load: NDArray[np.float32],
) -> int:
    """Move branches of trees where that lowers the sum of heights of the loads after their failures, in place.

    Tree t is of source `made_for[t]` and for the failures ``case[case_start[t] : case_start[t + 1]]``. A branch moves
    to a channel that is later than the one into its tail and earlier than those that leave it: so times ascend along
    the tree, and it stays one. Neither dies after one of the failures. Return the number of moves.
    """
    n, m = grown.shape[1], len(net.tail)
    avoided = np.zeros(len(load), np.bool_)
    below, lost = np.empty(n), np.empty(n, np.bool_)
    less, more = np.empty(n, np.int64), np.empty(n, np.int64)
    moves = 0
    for t in range(len(grown)):
        time, k, cases = grown[t], made_for[t], case[case_start[t] : case_start[t + 1]]
        for f in cases:
            avoided[f] = True
        for v in range(n):
            below[v], lost[v] = weight[k, v], time[v] != -1  # what no path from the root leads to stays lost
        for c in range(m):
            if time[net.head[c]] == c:
                lost[net.head[c]] = lost[net.tail[c]] or _avoids(net, c, avoided)
        for c in range(m - 1, -1, -1):
            if time[net.head[c]] == c:
                below[net.tail[c]] += below[net.head[c]]
        for v in range(n):
            flow = below[v]
            if time[v] < 0 or flow == 0.0 or lost[v]:
                continue
            latest = m
            for j in range(net.out_start[v], net.out_start[v + 1]):
                if time[net.head[net.out[j]]] == net.out[j]:
                    latest = net.out[j]  # ascending: the first is the earliest
                    break
            best, choice = 0.0, -1
            for j in range(net.in_start[v], net.in_start[v + 1]):
                c, u = net.into[j], net.tail[net.into[j]]
                legal = c != time[v] and c < latest and time[u] != -2 and time[u] < c
                if not legal or lost[u] or _avoids(net, c, avoided):
                    continue
                fewer, further = _paths_apart(net, time, c, less, more)
                gain = _gain(load, cases, flow, less[:fewer], more[:further])
                if gain < best:
                    best, choice = gain, c
            if choice < 0:
                continue
            moves += 1
            fewer, further = _paths_apart(net, time, choice, less, more)
            for i in range(fewer):
                below[net.tail[less[i]]] -= flow
                for f in cases:
                    load[f, less[i]] -= flow
            for i in range(further):
                below[net.tail[more[i]]] += flow
                for f in cases:
                    load[f, more[i]] += flow
            time[v] = choice
        for f in cases:
            avoided[f] = False
    return moves
