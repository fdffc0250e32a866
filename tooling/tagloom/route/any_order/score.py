"""Score orders by path lengths and loads, and improve them by moving one channel at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.breadth_first import distances
from tagloom.graph.kernel import kernel
from tagloom.graph.rows import places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.route.net import Net, Ordered

FAR = 30_000  # no path; FAR + 1 still fits int16
BATCH = 64  # destinations handled at once: fewer waste a processor's vector units, more exceed its cache
LOAD_SHARE = 0.1  # in the search: one lower bound more of load, relative to paths twice as long


class Ground(NamedTuple):
    """What all orders of a net are scored against.

    distance    int16[D, n], channels on a shortest path from each switch to each switch with hosts
    shortest    the sum of the distances over all ordered pairs of hosts
    after_start int32[m + 1], after int32[T]: channels that may follow a channel if the order allows; no U-turns
    before_start int32[m + 1], before int32[T]: the same turns by their second channel
    """

    distance: NDArray[np.int16]
    shortest: float
    after_start: NDArray[np.int32]
    after: NDArray[np.int32]
    before_start: NDArray[np.int32]
    before: NDArray[np.int32]


def ground(net: Net) -> Ground:
    """Return the shortest paths of a net and its turns."""
    near = net.head[net.out]
    distance = distances(net.out_start, near, net.target)
    weight = net.weight[net.target]
    shortest = float(weight @ distance.astype(np.float64) @ net.weight)
    m = len(net.tail)
    count = np.diff(net.out_start)[net.head]
    first = np.repeat(np.arange(m), count)
    second = net.out[places(net.out_start[net.head], count)]
    real = net.head[second] != net.tail[first]
    first, second = first[real].astype(np.int32), second[real].astype(np.int32)
    back = np.argsort(second, kind="stable")
    return Ground(distance, shortest, _starts(m, first), second, _starts(m, second), first[back])


def _starts(m: int, where: NDArray[np.int32]) -> NDArray[np.int32]:
    start = np.zeros(m + 1, np.int32)
    np.cumsum(np.bincount(where, minlength=m), out=start[1:])
    return start


class Score(NamedTuple):
    """The score of an order: host pairs' hops, the largest channel load, a cost.

    All shortest ascending paths are used equally. cost = hops / shortest + LOAD_SHARE * (mean of (load / lower
    bound)^8)^(1/8): a smooth largest load.
    """

    hops: float
    load: float
    cost: float


@kernel
def climbing_hops(order: Ordered) -> float:  # noqa: C901 - one compiled loop: split, each part would take all of its arrays
    """Return the total length of shortest ascending paths over all ordered host pairs.

    These are the hops of `judged`, in a fifth of its time.
    """
    head, out_start, out, turn_start, turn = order.head, order.out_start, order.out, order.turn_start, order.turn
    weight, target = order.weight, order.target
    m, n = len(head), len(out_start) - 1
    far = np.empty((m, BATCH), np.int16)  # at most FAR + 1, as minima are at most FAR
    best = np.empty(BATCH, np.int16)
    hops = np.empty(BATCH, np.float32)
    slot_of = np.full(n, -1, np.int32)
    total = 0.0
    for begin in range(0, len(target), BATCH):
        some = target[begin : begin + BATCH]
        for i in range(len(some)):
            slot_of[some[i]] = i
        # two indices and no rows: a row is an object, and counting its references takes as long as its numbers
        for c in range(m - 1, -1, -1):
            for i in range(BATCH):
                far[c, i] = FAR
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                for i in range(BATCH):
                    far[c, i] = min(far[c, i], far[e, i])
            for i in range(BATCH):
                far[c, i] += np.int16(1)
            if slot_of[head[c]] >= 0:
                far[c, slot_of[head[c]]] = 1
        hops[:] = 0.0  # sums of whole numbers, exact up to 16 million
        for s in target:
            for i in range(BATCH):
                best[i] = FAR
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(BATCH):
                    best[i] = min(best[i], far[e, i])
            if slot_of[s] >= 0:
                best[slot_of[s]] = 0
            sent = np.float32(weight[s])
            for i in range(BATCH):
                hops[i] += sent * np.float32(best[i])
        for i in range(len(some)):
            total += weight[some[i]] * hops[i]
            slot_of[some[i]] = -1
    return total


def judged(shortest: float, order: Ordered) -> Score:
    """Return the score of an order without its paths; `shortest` sums the shortest paths over all pairs of hosts."""
    hops, load = _judged(order)
    bound = shortest / len(load)
    return Score(hops, float(load.max()), hops / shortest + LOAD_SHARE * _smooth_largest(load, bound))


@kernel
def _judged(order: Ordered) -> tuple[float, NDArray[np.float64]]:  # noqa: C901, PLR0912 - one compiled loop: split, each part would take all of its arrays
    tail, head, out_start = order.tail, order.head, order.out_start
    out, turn_start, turn = order.out, order.turn_start, order.turn
    weight, target = order.weight, order.target
    m, n = len(tail), len(out_start) - 1
    far = np.empty((m, BATCH), np.int32)
    flow = np.empty((m, BATCH), np.float32)
    load = np.zeros((m, BATCH), np.float32)
    best = np.empty(BATCH, np.int32)
    choices = np.empty(BATCH, np.float32)
    there = np.empty(BATCH, np.float32)
    slot_of = np.full(n, -1, np.int32)
    hops = 0.0
    for begin in range(0, len(target), BATCH):
        some = target[begin : begin + BATCH]
        there[:] = 0.0
        for i in range(len(some)):
            slot_of[some[i]] = i
            there[i] = weight[some[i]]
        for c in range(m - 1, -1, -1):
            for i in range(BATCH):
                far[c, i] = FAR
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                for i in range(BATCH):
                    far[c, i] = min(far[c, i], far[e, i])
            for i in range(BATCH):
                far[c, i] += 1
            if slot_of[head[c]] >= 0:
                far[c, slot_of[head[c]]] = 1
        flow[:] = 0.0
        for s in target:
            best[:] = FAR
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(BATCH):
                    best[i] = min(best[i], far[e, i])
            choices[:] = 0.0
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(BATCH):
                    choices[i] += np.float32(1.0) if far[e, i] == best[i] else np.float32(0.0)
            pairs = np.float32(weight[s])
            for i in range(BATCH):
                choices[i] = pairs * there[i] / max(choices[i], np.float32(1.0))
            if slot_of[s] >= 0:
                choices[slot_of[s]] = 0.0
                best[slot_of[s]] = 0
            for i in range(len(some)):
                hops += weight[s] * weight[some[i]] * best[i]
            for j in range(out_start[s], out_start[s + 1]):
                e = out[j]
                for i in range(BATCH):
                    flow[e, i] += choices[i] if far[e, i] == best[i] else np.float32(0.0)
        for c in range(m):
            for i in range(BATCH):
                load[c, i] += flow[c, i]
            choices[:] = 0.0
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                for i in range(BATCH):
                    choices[i] += np.float32(1.0) if far[e, i] + 1 == far[c, i] else np.float32(0.0)
            for i in range(BATCH):
                choices[i] = flow[c, i] / max(choices[i], np.float32(1.0))
            for j in range(turn_start[c], turn_start[c + 1]):
                e = turn[j]
                for i in range(BATCH):
                    flow[e, i] += choices[i] if far[e, i] + 1 == far[c, i] else np.float32(0.0)
        for i in range(len(some)):
            slot_of[some[i]] = -1
    return hops, load.astype(np.float64).sum(axis=1)


class State(NamedTuple):
    """An order with its path lengths and flows, for the search to change in place.

    position, order  int32[m], inverse to each other
    far     int16[D, m], channels from the start of channel c to the destination, c included; FAR if no path ascends
    start   int16[D, n], channels from each switch to the destination
    flow    float32[D, m], host pairs over each channel to the destination, paths of equal length used equally
    load    float64[m], the sum of the flows
    """

    position: NDArray[np.int32]
    order: NDArray[np.int32]
    far: NDArray[np.int16]
    start: NDArray[np.int16]
    flow: NDArray[np.float32]
    load: NDArray[np.float64]


def state_of(net: Net, ground: Ground, order: NDArray[np.int32]) -> tuple[State, Score]:
    """Return path lengths and flows of an order, computed from scratch, and its score."""
    n, m, d = len(net.switch), len(net.tail), len(net.target)
    position = np.empty(m, np.int32)
    position[order] = np.arange(m, dtype=np.int32)
    state = State(
        position,
        order.copy(),
        np.empty((d, m), np.int16),
        np.empty((d, n), np.int16),
        np.empty((d, m), np.float32),
        np.zeros(m),
    )
    hops = _fill(net, ground, state)
    bound = ground.shortest / m
    cost = hops / ground.shortest + LOAD_SHARE * _smooth_largest(state.load, bound)
    return state, Score(hops, float(state.load.max()), cost)


@kernel
def _smooth_largest(load: NDArray[np.float64], bound: float) -> float:
    total = 0.0
    for x in load:
        y = (x / bound) * (x / bound)
        y *= y
        total += y * y
    # square roots and no powers: these round alike on every processor
    return np.sqrt(np.sqrt(np.sqrt(total / len(load))))  # type: ignore[no-any-return]


@kernel
def _fill(net: Net, ground: Ground, state: State) -> float:
    tail, head, weight, target, out_start, out = net.tail, net.head, net.weight, net.target, net.out_start, net.out
    after_start, after = ground.after_start, ground.after
    position, order, far, start, flow, load = state
    m, n = len(tail), len(out_start) - 1
    hops = 0.0
    load[:] = 0.0
    for k in range(len(target)):
        d = target[k]
        row, first = far[k], start[k]
        for i in range(m - 1, -1, -1):
            c = order[i]
            best = np.int16(FAR)
            if head[c] == d:
                best = np.int16(0)
            else:
                for j in range(after_start[c], after_start[c + 1]):
                    e = after[j]
                    if position[e] > i and row[e] < best:
                        best = row[e]
            row[c] = best + 1 if best < FAR else FAR
        for s in range(n):
            best = np.int16(FAR)
            for j in range(out_start[s], out_start[s + 1]):
                best = min(best, row[out[j]])
            first[s] = best if s != d else 0
            if s != d:
                hops += weight[s] * weight[d] * best
        _spread(net, ground, state, k, flow[k])
        for c in range(m):
            load[c] += flow[k, c]
    return hops


@kernel
def _spread(net: Net, ground: Ground, state: State, k: int, flow: NDArray[np.float32]) -> None:
    """Send what goes to the k-th target over all shortest ascending paths, in equal parts at every fork."""
    head, weight, out_start, out = net.head, net.weight, net.out_start, net.out
    after_start, after = ground.after_start, ground.after
    position, order = state.position, state.order
    d, far, start = net.target[k], state.far[k], state.start[k]
    flow[:] = 0.0
    for s in range(len(start)):
        if s == d or weight[s] == 0.0:
            continue
        choices = 0
        for j in range(out_start[s], out_start[s + 1]):
            choices += far[out[j]] == start[s]
        part = np.float32(weight[s] * weight[d] / choices)
        for j in range(out_start[s], out_start[s + 1]):
            if far[out[j]] == start[s]:
                flow[out[j]] += part
    for i in range(len(order)):
        c = order[i]
        if flow[c] == 0.0 or head[c] == d:
            continue
        rest, choices = far[c] - 1, 0
        for j in range(after_start[c], after_start[c + 1]):
            e = after[j]
            choices += far[e] == rest and position[e] > i
        part = flow[c] / np.float32(choices)
        for j in range(after_start[c], after_start[c + 1]):
            e = after[j]
            if far[e] == rest and position[e] > i:
                flow[e] += part


def improve(
    net: Net,
    ground: Ground,
    state: State,
    score: Score,
    tree: NDArray[np.bool_],
    draws: NDArray[np.int64],
) -> Score:
    """Move channels in the order if that lowers the cost, in place; return the score reached.

    Every row of `draws`, int64[moves, 4] of numbers from 0, picks one prohibited turn x -> y to allow, by moving x
    before y or y after x. All turns of the escape tree `tree` (bool[m]) stay allowed, so all pairs stay connected. Only
    destinations whose shortest ascending paths change are examined again, and of those only the channels that change.
    """
    return Score(*_improve(net, ground, state, tree, draws, score.hops, score.cost))


@kernel
def _place(position: NDArray[np.int32], order: NDArray[np.int32], c: int, to: int) -> None:
    at = position[c]
    step = 1 if to > at else -1
    while at != to:
        e = order[at + step]
        order[at] = e
        position[e] = at
        at += step
    order[to] = c
    position[c] = to


@kernel
def _nearest(
    c: int,
    i: int,
    after_start: NDArray[np.int32],
    after: NDArray[np.int32],
    position: NDArray[np.int32],
    far: NDArray[np.int16],
) -> int:
    """Return the value of far[c] that follows from its next channels."""
    best = FAR
    for j in range(after_start[c], after_start[c + 1]):
        e = after[j]
        if position[e] > i and far[e] < best:
            best = far[e]
    return best + 1 if best < FAR else FAR


@kernel
def _wanted(net: Net, ground: Ground, state: State, draw: NDArray[np.int64]) -> tuple[int, int]:
    """Return a prohibited turn on a shortest path between switches whose ascending path is longer, or (-1, -1)."""
    out_start, out, head, target = net.out_start, net.out, net.head, net.target
    distance, start, position = ground.distance, state.start, state.position
    k = draw[0] % len(target)
    n = len(out_start) - 1
    s = draw[1] % n
    for _ in range(n):
        if start[k, s] > distance[k, s]:
            break
        s = s + 1 if s + 1 < n else 0
    if start[k, s] <= distance[k, s]:
        return -1, -1
    last = -1
    u = s
    dice = draw[2]
    while u != target[k]:
        choices = 0
        for j in range(out_start[u], out_start[u + 1]):
            choices += distance[k, head[out[j]]] < distance[k, u]
        pick = dice % choices
        dice = dice // choices + draw[3] % 97
        c = -1
        for j in range(out_start[u], out_start[u + 1]):
            if distance[k, head[out[j]]] < distance[k, u]:
                if pick == 0:
                    c = out[j]
                pick -= 1
        if last >= 0 and position[c] < position[last]:
            return last, c
        last = c
        u = head[c]
    return -1, -1


@kernel
def _improve(  # noqa: C901, PLR0912, PLR0915 - one compiled loop: split, each part would take all of its arrays
    net: Net,
    ground: Ground,
    state: State,
    tree: NDArray[np.bool_],
    draws: NDArray[np.int64],
    hops: float,
    cost: float,
) -> tuple[float, float, float]:
    tail, head, weight, target, out_start, out = net.tail, net.head, net.weight, net.target, net.out_start, net.out
    after_start, after, before_start, before = ground.after_start, ground.after, ground.before_start, ground.before
    shortest = ground.shortest
    position, order, far, start, flow, load = state
    m = len(tail)
    bound = shortest / m
    turns = len(after)
    widest = 0
    for c in range(m):
        widest = max(widest, after_start[c + 1] - after_start[c], before_start[c + 1] - before_start[c])
    gained, lost = np.empty(2 * widest, np.int32), np.empty(2 * widest, np.int32)
    listed = np.zeros(m, np.bool_)
    todo = np.empty(m, np.int32)
    # values to restore: (destination, channel c or switch s as -1 - s, value before)
    log_size = 1 << 16
    log_at = np.empty((log_size, 3), np.int32)
    dirty = np.empty(len(target), np.int32)
    new_flow = np.empty((16, m), np.float32)
    trial = np.empty(m)
    first_of = np.empty(turns, np.int32)
    for c in range(m):
        first_of[after_start[c] : after_start[c + 1]] = c
    # Moves that lengthen paths by more seldom pay off in load (random graphs of 64 and 256 switches).
    slack = 0.012 / np.sqrt(m) * shortest
    # destinations in an order whose every prefix is spread over all of them
    stride = max(1, int(0.618 * len(target)))
    while np.gcd(stride, len(target)) > 1:
        stride += 1
    for move in range(len(draws)):
        draw = draws[move]
        x, y = -1, -1
        if draw[3] & 1:
            x, y = _wanted(net, ground, state, draw)
        if x < 0:
            t = draw[0] % turns
            for _ in range(turns):
                if position[first_of[t]] > position[after[t]]:
                    break
                t = t + 1 if t + 1 < turns else 0
            x, y = first_of[t], after[t]
            if position[x] < position[y]:
                break  # no turn is prohibited
        # x before y: x takes y's place; or y after x: y takes x's
        if draw[3] & 2:
            c, was, to = x, position[x], position[y]
        else:
            c, was, to = y, position[y], position[x]
        if tree[c]:
            broken = False
            for j in range(after_start[c], after_start[c + 1]):
                broken |= tree[after[j]] and was < position[after[j]] <= to
            for j in range(before_start[c], before_start[c + 1]):
                broken |= tree[before[j]] and to <= position[before[j]] < was
            if broken:
                continue
        # the turns that flip: those between c and the channels it passes
        low, high = min(was, to), max(was, to)
        flips_after, flips_before = 0, 0
        for j in range(after_start[c], after_start[c + 1]):
            e = after[j]
            if low <= position[e] <= high:
                gained[flips_after] = e
                flips_after += 1
        for j in range(before_start[c], before_start[c + 1]):
            e = before[j]
            if low <= position[e] <= high:
                lost[flips_before] = e
                flips_before += 1
        up = to > was  # then c's next channels in between are lost, and its previous ones gained
        _place(position, order, c, to)
        logged, dirties = 0, 0
        new_hops = hops
        failed = False
        for i in range(len(target)):
            k = i * stride % len(target)
            if (new_hops - hops) > 1.5 * slack:
                failed = True
                break
            d = target[k]
            row = far[k]
            was_far = row[c]
            # does any flipped turn lie, or come to lie, on a shortest path?
            touched = False
            if head[c] != d:
                for j in range(flips_after):
                    rest = row[gained[j]] + 1
                    touched |= rest == was_far if up else rest <= was_far
            now_far = was_far
            if touched:
                now_far = _nearest(c, to, after_start, after, position, row)
            for j in range(flips_before):
                z = lost[j]
                if head[z] == d:
                    continue
                if (now_far + 1 <= row[z]) if up else (was_far + 1 == row[z]):
                    touched = True
            if not touched:
                continue
            size = 0
            todo[0] = c
            listed[c] = True
            size = 1
            for j in range(flips_before):
                z = lost[j]
                if head[z] != d and not listed[z]:
                    todo[size] = z
                    listed[z] = True
                    size += 1
            spread = False
            while size:
                # the last in the order first: all that it depends on is final
                at = 0
                for j in range(1, size):
                    if position[todo[j]] > position[todo[at]]:
                        at = j
                e = todo[at]
                size -= 1
                todo[at] = todo[size]
                listed[e] = False
                spread |= flow[k, e] > 0.0
                if head[e] == d:
                    continue
                old = row[e]
                new = _nearest(e, position[e], after_start, after, position, row)
                if new == old:
                    continue
                if logged + 2 > log_size:
                    failed = True
                    break
                log_at[logged, 0], log_at[logged, 1], log_at[logged, 2] = k, e, old
                logged += 1
                row[e] = new
                for j in range(before_start[e], before_start[e + 1]):
                    z = before[j]
                    if (
                        position[z] < position[e]
                        and not listed[z]
                        and head[z] != d
                        and (new + 1 <= row[z] or old + 1 == row[z])
                    ):
                        todo[size] = z
                        listed[z] = True
                        size += 1
                s = tail[e]
                if s != d and (old == start[k, s] or new <= start[k, s]):
                    best = FAR
                    for j in range(out_start[s], out_start[s + 1]):
                        best = min(best, row[out[j]])
                    spread = True
                    if best != start[k, s]:
                        new_hops += weight[s] * weight[d] * (best - start[k, s])
                        log_at[logged, 0], log_at[logged, 1], log_at[logged, 2] = k, -1 - s, start[k, s]
                        logged += 1
                        start[k, s] = best
            while size:
                size -= 1
                listed[todo[size]] = False
            if failed:
                break
            if spread:
                dirty[dirties] = k
                dirties += 1
        accepted, new_cost = False, cost
        if not failed and new_hops - hops <= slack:
            trial[:] = load
            if len(new_flow) < dirties:
                new_flow = np.empty((min(len(target), 2 * dirties), m), np.float32)
            for i in range(dirties):
                k = dirty[i]
                _spread(net, ground, state, k, new_flow[i])
                for e in range(m):
                    trial[e] += np.float64(new_flow[i, e]) - np.float64(flow[k, e])
                if i == dirties // 8 or i == dirties // 3:
                    # a part of the destinations shows the trend of the load; the rest seldom reverses it
                    part = LOAD_SHARE * _smooth_largest(trial, bound) - (cost - hops / shortest)
                    if part * (4 if i == dirties // 8 else 2) + (new_hops - hops) / shortest > 0.0:
                        failed = True
                        break
            if not failed:
                new_cost = new_hops / shortest + LOAD_SHARE * _smooth_largest(trial, bound)
                accepted = new_cost <= cost
        if accepted:
            hops, cost = new_hops, new_cost
            load[:] = trial
            for i in range(dirties):
                flow[dirty[i]] = new_flow[i]
            continue
        _place(position, order, c, was)
        for i in range(logged - 1, -1, -1):
            k, e = log_at[i, 0], log_at[i, 1]
            if e >= 0:
                far[k, e] = log_at[i, 2]
            else:
                start[k, -1 - e] = log_at[i, 2]
    return hops, load.max(), cost
