"""Move trees and hosts off links in compiled loops, without overloaded channels or dependency cycles."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.graph.kernel import kernel

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEW = 3
SLACK = 1 + 1e-12  # loads are whole bytes in float64; only the scaling to 1 Gb/s rounds


class Net(NamedTuple):
    """The constant part: N switches, C channels, H hosts.

    The channels that leave switch v are out[start[v] : start[v + 1]], and channel c is the slot[c]-th of them.

    flow    float64[H, N], bytes from each host to the hosts of each switch, 0 for its own and for what is flooded
    total   float64[H], its sums
    flood   float64[H], bytes to uplinks without an address, which cross every channel of the host's tree
    target  int64[N], 1 if a switch has hosts
    reach   the most channels that a path between two hosts of one network may have
    network  int32[H], each host's network; at  bool[networks, N], the switches with hosts of each
    """

    tail: NDArray[np.int32]
    head: NDArray[np.int32]
    start: NDArray[np.int32]
    out: NDArray[np.int32]
    slot: NDArray[np.int32]
    host_switch: NDArray[np.int32]
    flow: NDArray[np.float64]
    total: NDArray[np.float64]
    flood: NDArray[np.float64]
    target: NDArray[np.int64]
    reach: int
    network: NDArray[np.int32]
    at: NDArray[np.bool_]


class Trees(NamedTuple):
    """The variable part: up to K trees, `used[0]` of them in use, every host sending over one of them.

    on       bool[L], the links that may be used; scale float64[C], a channel's load at 1 Gb/s per byte it carries
    tree_of  int32[H]; root int32[K], each tree's root switch; row int32[K, N], the channel into each switch from its
             parent, -1 at the root and outside the tree
    down     float64[K, N], what the tree's hosts send over row[k, v], and `up` over its opposite
    load     float64[C], the sum over all trees
    turn     int32[C, slots], how many trees send from channel c into the slot-th channel that leaves its head
    place    int64[C], an order of the channels in which all turns ascend
    """

    on: NDArray[np.bool_]
    scale: NDArray[np.float64]
    used: NDArray[np.int64]
    tree_of: NDArray[np.int32]
    root: NDArray[np.int32]
    row: NDArray[np.int32]
    down: NDArray[np.float64]
    up: NDArray[np.float64]
    load: NDArray[np.float64]
    turn: NDArray[np.int32]
    place: NDArray[np.int64]


@kernel
def _breadth_first(net: Net, row: NDArray[np.int32], root: int, order: NDArray[np.int32]) -> int:
    """Write the tree's switches in breadth-first order to `order`; return how many they are."""
    order[0] = root
    begin, end = 0, 1
    while begin < end:
        u = order[begin]
        begin += 1
        for i in range(net.start[u], net.start[u + 1]):
            c = net.out[i]
            v = net.head[c]
            if row[v] == c and v != root:
                order[end] = v
                end += 1
    return end


@kernel
def _weigh(
    net: Net,
    tree_of: NDArray[np.int32],
    k: int,
    row: NDArray[np.int32],
    order: NDArray[np.int32],
    n: int,
    down: NDArray[np.float64],
    up: NDArray[np.float64],
) -> None:
    """Write what the hosts of tree k send over each of its channels, away from the root and towards it.

    The load away from the root is what all hosts send beyond a switch, summed from the leaves, less the part of hosts
    that are beyond it themselves. What hosts flood is added to each channel that leads to hosts of their network.
    """
    root = order[0]
    down[:] = 0
    up[:] = 0
    own = np.zeros(len(row))
    beyond = np.empty(len(row))
    for h in range(len(tree_of)):
        if tree_of[h] != k or net.total[h] == 0:
            continue
        down += net.flow[h]
        v = net.host_switch[h]
        if v == root:
            continue
        beyond[:] = net.flow[h]
        for i in range(n - 1, 0, -1):
            beyond[net.tail[row[order[i]]]] += beyond[order[i]]
        while v != root:
            up[v] += net.total[h] - beyond[v]
            own[v] += beyond[v]
            v = net.tail[row[v]]
    for i in range(n - 1, 0, -1):
        v = order[i]
        down[net.tail[row[v]]] += down[v]
        down[v] -= own[v]
    down[root] = 0
    for h in range(len(tree_of)):
        if tree_of[h] == k and net.flood[h] > 0:
            _flood(net, h, row, order, n, down, up)


@kernel
def _flood(
    net: Net,
    h: int,
    row: NDArray[np.int32],
    order: NDArray[np.int32],
    n: int,
    down: NDArray[np.float64],
    up: NDArray[np.float64],
) -> None:
    """Add what host h floods to every channel of a tree that leads away from it, to hosts of its network."""
    root = order[0]
    inside = np.zeros(len(row), np.int64)
    for i in range(n):
        inside[order[i]] = net.at[net.network[h], order[i]]
    for i in range(n - 1, 0, -1):
        inside[net.tail[row[order[i]]]] += inside[order[i]]
    sends = np.zeros(len(row), np.bool_)
    v = net.host_switch[h]
    while v != root:
        sends[v] = True
        v = net.tail[row[v]]
    for i in range(1, n):
        v = order[i]
        if sends[v]:
            if inside[root] > inside[v]:
                up[v] += net.flood[h]
        elif inside[v] > 0:
            down[v] += net.flood[h]


@kernel
def _turns(
    net: Net,
    tree_of: NDArray[np.int32],
    k: int,
    row: NDArray[np.int32],
    order: NDArray[np.int32],
    n: int,
    sign: int,
    turn: NDArray[np.int32],
) -> None:
    """Add (sign 1) or subtract (-1) the turns that tree k makes: those from some host of it to some switch."""
    senders = np.zeros(len(row), np.int64)
    targets = net.target.copy()
    for h in range(len(tree_of)):
        if tree_of[h] == k:
            senders[net.host_switch[h]] += 1
    for i in range(n - 1, 0, -1):
        v = order[i]
        w = net.tail[row[v]]
        senders[w] += senders[v]
        targets[w] += targets[v]
    root = order[0]
    for i in range(n):
        u = order[i]
        for a in range(net.start[u] - 1, net.start[u + 1]):  # -1 stands for the channel to the root
            if a < net.start[u]:
                if u == root or senders[root] == senders[u]:
                    continue
                entering = row[u]
            else:
                v = net.head[net.out[a]]
                if row[v] != net.out[a] or senders[v] == 0:
                    continue
                entering = net.out[a] ^ 1
            for b in range(net.start[u] - 1, net.start[u + 1]):
                if a == b:
                    continue
                if b < net.start[u]:
                    if u == root or targets[root] == targets[u]:
                        continue
                    leaving = row[u] ^ 1
                else:
                    leaving = net.out[b]
                    v = net.head[leaving]
                    if row[v] != leaving or targets[v] == 0:
                        continue
                turn[entering, net.slot[leaving]] += sign


@kernel
def _too_long(
    net: Net, tree_of: NDArray[np.int32], k: int, row: NDArray[np.int32], order: NDArray[np.int32], n: int
) -> bool:
    """Return whether a path over tree k, from some host of it to another of its network, has over `reach` channels."""
    if net.reach >= n - 1:
        return False
    for i in range(len(net.at)):  # noqa: SIM110 - compiled: Numba has no generators in `any`
        if _too_long_for(net, tree_of, k, row, order, n, i):
            return True
    return False


@kernel
def _too_long_for(
    net: Net, tree_of: NDArray[np.int32], k: int, row: NDArray[np.int32], order: NDArray[np.int32], n: int, one: int
) -> bool:
    """Return for one network what `_too_long` does.

    The farthest switch with hosts is beyond a child or beyond the parent: one pass up the tree, one down.
    """
    size, target = len(row), net.at[one]
    far, second = np.full(size, -size), np.full(size, -size)  # below a switch: by the best child, by the next
    by = np.full(size, -1)
    sends = np.zeros(size, np.bool_)
    for h in range(len(tree_of)):
        if tree_of[h] == k and net.network[h] == one:
            sends[net.host_switch[h]] = True
    for i in range(n - 1, -1, -1):
        v = order[i]
        if target[v] and far[v] < 0:
            far[v] = 0
        if i == 0:
            break
        w = net.tail[row[v]]
        if far[v] + 1 > far[w]:
            far[w], second[w], by[w] = far[v] + 1, far[w], v
        elif far[v] + 1 > second[w]:
            second[w] = far[v] + 1
    above = np.full(size, -size)
    for i in range(n):
        v = order[i]
        if i > 0:
            w = net.tail[row[v]]
            other = second[w] if by[w] == v else far[w]
            above[v] = 1 + max(above[w], other, 0 if target[w] else -size)
        if sends[v] and max(far[v], above[v]) > net.reach:
            return True
    return False


@kernel
def _climbs(net: Net, turn: NDArray[np.int32], place: NDArray[np.int64]) -> bool:
    """Return whether the turns are acyclic, and if so write a topological order of the channels to `place`."""
    channels = len(net.tail)
    waits = np.zeros(channels, np.int32)
    easy = True
    for c in range(channels):
        first = net.start[net.head[c]]
        for s in range(net.start[net.head[c] + 1] - first):
            if turn[c, s] > 0:
                wanted = net.out[first + s]
                waits[wanted] += 1
                easy = easy and place[c] < place[wanted]
    if easy:
        return True
    ready = np.empty(channels, np.int64)
    end = 0
    for c in range(channels):
        if waits[c] == 0:
            ready[end] = c
            end += 1
    begin = 0
    while begin < end:
        c = ready[begin]
        begin += 1
        first = net.start[net.head[c]]
        for s in range(net.start[net.head[c] + 1] - first):
            if turn[c, s] > 0:
                wanted = net.out[first + s]
                waits[wanted] -= 1
                if waits[wanted] == 0:
                    ready[end] = wanted
                    end += 1
    if end < channels:
        return False
    for i in range(channels):
        place[ready[i]] = i
    return True


@kernel
def _add(
    row: NDArray[np.int32],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    sign: float,
    load: NDArray[np.float64],
) -> None:
    """Add a tree's loads to all channels', or subtract them."""
    for v in range(len(row)):
        c = row[v]
        if c >= 0:
            load[c] += sign * down[v]
            load[c ^ 1] += sign * up[v]


@kernel
def _eighth(x: float) -> float:
    x *= x
    x *= x
    return x * x


@kernel
def _cost(
    row: NDArray[np.int32],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
    load: NDArray[np.float64],
    scale: NDArray[np.float64],
    limit: float,
) -> float:
    """Return the increase of the sum of (load / limit)^8 by a tree, plus a little per channel it uses."""
    cost = 0.0
    for v in range(len(row)):
        c = row[v]
        if c < 0:
            continue
        for direction in range(2):
            amount = up[v] if direction else down[v]
            if amount > 0:
                unit = scale[c ^ direction] / limit if limit > 0 else 1e3
                here = load[c ^ direction] * unit
                cost += _eighth(here + amount * unit) - _eighth(here) + 1e-6 * amount * unit
    return cost


@kernel
def _rejoin(  # noqa: C901, PLR0912, PLR0913, PLR0915 - one compiled loop: split, each part would take all of its arrays
    net: Net,
    trees: Trees,
    k: int,
    link: int,
    limit: float,
    most: int,
    load: NDArray[np.float64],
    turn: NDArray[np.int32],
    place: NDArray[np.int64],
    row: NDArray[np.int32],
    down: NDArray[np.float64],
    up: NDArray[np.float64],
) -> float:
    """Write to `row` the best tree k without `link` that closes no cycle; return its cost, inf if there is none.

    `load` and `turn` are those of all other trees; on return `turn` and `place` include the new tree's turns, and
    `down` and `up` are its loads. Candidates are the links that join the two halves, also by switches outside the tree.
    At most `most` are evaluated, those near the gap and little loaded first; if `most` is at most FEW, the first
    without a cycle is taken.
    """
    n_all = len(trees.row[k])
    old = trees.row[k]
    root = trees.root[k]
    order = np.empty(n_all, np.int32)
    n = _breadth_first(net, old, root, order)
    below = -1
    for direction in range(2):
        v = net.head[2 * link + direction]
        if old[v] == 2 * link + direction:
            below = v
    side = np.zeros(n_all, np.int8)
    gap = np.full(n_all, 1 << 20, np.int64)  # channels along the tree to the end of the gap on the same side
    side[root] = 1
    v = net.tail[old[below]]
    away = 0
    while True:
        gap[v] = away
        away += 1
        if v == root:
            break
        v = net.tail[old[v]]
    for i in range(1, n):
        v = order[i]
        w = net.tail[old[v]]
        side[v] = 2 if v == below or side[w] == 2 else 1
        if v == below:
            gap[v] = 0
        elif gap[v] == 1 << 20:
            gap[v] = gap[w] + 1
    # switches outside the tree may lie between the halves
    onward = np.full(n_all, -1, np.int32)
    if n < n_all:
        queue = np.empty(n_all, np.int32)
        begin, end = 0, 0
        for i in range(n):
            if side[order[i]] == 2:
                for j in range(net.start[order[i]], net.start[order[i] + 1]):
                    c = net.out[j]
                    v = net.head[c]
                    if side[v] == 0 and onward[v] < 0 and trees.on[c >> 1]:
                        onward[v] = c ^ 1
                        gap[v] = gap[order[i]] + 1
                        queue[end] = v
                        end += 1
        while begin < end:
            u = queue[begin]
            begin += 1
            for j in range(net.start[u], net.start[u + 1]):
                c = net.out[j]
                v = net.head[c]
                if side[v] == 0 and onward[v] < 0 and trees.on[c >> 1]:
                    onward[v] = c ^ 1
                    gap[v] = gap[u] + 1
                    queue[end] = v
                    end += 1
    joins = np.empty(len(net.tail), np.int32)
    price = np.empty(len(net.tail))
    found = 0
    for i in range(n):
        a = order[i]
        if side[a] != 1:
            continue
        for j in range(net.start[a], net.start[a + 1]):
            c = net.out[j]
            v = net.head[c]
            if trees.on[c >> 1] and c >> 1 != link and (side[v] == 2 or (side[v] == 0 and onward[v] >= 0)):
                busy = max(load[c] * trees.scale[c], load[c ^ 1] * trees.scale[c ^ 1])
                joins[found] = c
                price[found] = gap[a] + gap[v] + (4 * busy / limit if limit > 0 else 0.0)
                found += 1
    best = np.inf
    tried = np.empty(n_all, np.int32)
    d, u_, t, p = np.empty(n_all), np.empty(n_all), np.empty_like(turn), np.empty_like(place)
    best_turn, best_place = np.empty_like(turn), np.empty_like(place)
    for _ in range(min(most, found)):
        j = int(np.argmin(price[:found]))
        price[j] = np.inf
        tried[:] = old
        c = joins[j]
        while side[net.head[c]] == 0:
            tried[net.head[c]] = c
            c = onward[net.head[c]]
        v = net.head[c]
        while True:  # reverse the path from there to the gap
            before = tried[v]
            tried[v] = c
            if v == below:
                break
            c = before ^ 1
            v = net.tail[before]
        m = _breadth_first(net, tried, root, order)
        hosts = net.target.copy()
        for i in range(m - 1, 0, -1):  # branches without hosts carry nothing
            v = order[i]
            hosts[net.tail[tried[v]]] += hosts[v]
            if hosts[v] == 0:
                tried[v] = -1
        m = _breadth_first(net, tried, root, order)
        if _too_long(net, trees.tree_of, k, tried, order, m):
            continue
        _weigh(net, trees.tree_of, k, tried, order, m, d, u_)
        cost = _cost(tried, d, u_, load, trees.scale, limit)
        if cost >= best:
            continue
        t[:] = turn
        p[:] = place
        _turns(net, trees.tree_of, k, tried, order, m, 1, t)
        if _climbs(net, t, p):
            best = cost
            row[:], down[:], up[:] = tried, d, u_
            best_turn[:], best_place[:] = t, p
            if most <= FEW:
                break
    if best < np.inf:
        turn[:], place[:] = best_turn, best_place
    return best


@kernel
def _lift(net: Net, trees: Trees, k: int, load: NDArray[np.float64], turn: NDArray[np.int32]) -> None:
    """Subtract tree k's loads and turns."""
    order = np.empty(len(net.target), np.int32)
    n = _breadth_first(net, trees.row[k], trees.root[k], order)
    _add(trees.row[k], trees.down[k], trees.up[k], -1.0, load)
    _turns(net, trees.tree_of, k, trees.row[k], order, n, -1, turn)


@kernel
def start(net: Net, trees: Trees) -> bool:
    """Compute loads, turns and order from the trees and their hosts; return whether no cycle, no path is too long."""
    order = np.empty(len(net.target), np.int32)
    trees.load[:] = 0
    trees.turn[:] = 0
    for k in range(trees.used[0]):
        n = _breadth_first(net, trees.row[k], trees.root[k], order)
        if _too_long(net, trees.tree_of, k, trees.row[k], order, n):
            return False
        _weigh(net, trees.tree_of, k, trees.row[k], order, n, trees.down[k], trees.up[k])
        _add(trees.row[k], trees.down[k], trees.up[k], 1.0, trees.load)
        _turns(net, trees.tree_of, k, trees.row[k], order, n, 1, trees.turn)
    return _climbs(net, trees.turn, trees.place)


@kernel
def _holds(trees: Trees, k: int, link: int, head: NDArray[np.int32]) -> bool:
    return bool(trees.row[k, head[2 * link]] == 2 * link or trees.row[k, head[2 * link + 1]] == 2 * link + 1)


@kernel
def bridges(net: Net, on: NDArray[np.bool_], up: NDArray[np.bool_]) -> int:
    """Return the number of bridges among the links that are on; -1 if they do not connect the `up` switches."""
    n = len(net.target)
    seen = np.zeros(n, np.int64)
    low = np.zeros(n, np.int64)
    at = net.start[:-1].copy()
    came = np.full(n, -1, np.int32)
    clock, found, live, first = 0, 0, 0, -1
    for v in range(n):
        if up[v]:
            live += 1
            first = v if first < 0 else first
    if first < 0:
        return 0
    stack = np.empty(n, np.int32)
    stack[0], depth = first, 1
    clock += 1
    seen[first] = low[first] = clock
    while depth:
        v = stack[depth - 1]
        if at[v] < net.start[v + 1]:
            c = net.out[at[v]]
            at[v] += 1
            if not on[c >> 1] or (came[v] >= 0 and c >> 1 == came[v] >> 1):
                continue
            w = net.head[c]
            if seen[w]:
                low[v] = min(low[v], seen[w])
            else:
                clock += 1
                seen[w] = low[w] = clock
                came[w] = c
                stack[depth] = w
                depth += 1
        else:
            depth -= 1
            if depth:
                parent = stack[depth - 1]
                low[parent] = min(low[parent], low[v])
                if low[v] > seen[parent]:
                    found += 1
    return found if clock == live else -1


@kernel
def overfull(net: Net, trees: Trees, link: int, limit: float) -> bool:
    """Return whether turning a link off leaves a chain of switches with two links each that two cannot serve.

    What leaves or enters consecutive switches that have no other links crosses the first or the last: no path helps.
    """
    trees.on[link] = False
    found = _overfull_at(net, trees, net.tail[2 * link], limit) or _overfull_at(net, trees, net.head[2 * link], limit)
    trees.on[link] = True
    return bool(found)


@kernel
def _overfull_at(net: Net, trees: Trees, v: int, limit: float) -> bool:
    """Return whether the chain around a switch is overfull; False if the switch has not two links."""
    inside = np.zeros(len(net.target), np.bool_)
    ways = np.empty(2, np.int32)
    if _two_ways(net, trees, v, ways) != 2:
        return False
    inside[v] = True
    ends = ways.copy()
    out, into = 0.0, 0.0  # bytes that the first and the last link carry
    for side in range(2):
        c = ends[side]
        while True:
            w = net.head[c]
            if inside[w]:
                return False
            if _two_ways(net, trees, w, ways) != 2:
                break
            inside[w] = True
            c = ways[1] if ways[0] == c ^ 1 else ways[0]
        out += limit / trees.scale[c]
        into += limit / trees.scale[c ^ 1]
    leaves, enters = 0.0, 0.0
    for h in range(len(net.total)):
        if net.total[h] + net.flood[h] > 0:
            here, beyond = inside[net.host_switch[h]], False
            for w in range(len(inside)):
                beyond = beyond or (here != inside[w] and net.at[net.network[h], w])
                if here and not inside[w]:
                    leaves += net.flow[h, w]
                elif inside[w] and not here:
                    enters += net.flow[h, w]
            if beyond and here:
                leaves += net.flood[h]
            elif beyond:
                enters += net.flood[h]
    return bool(leaves > out * SLACK or enters > into * SLACK)


@kernel
def _two_ways(net: Net, trees: Trees, v: int, ways: NDArray[np.int32]) -> int:
    """Write the first two channels that leave a switch over links that are on; return how many there are."""
    found = 0
    for i in range(net.start[v], net.start[v + 1]):
        if trees.on[net.out[i] >> 1]:
            if found < 2:
                ways[found] = net.out[i]
            found += 1
    return found


@kernel
def _reroute(net: Net, trees: Trees, link: int, limit: float, most: int) -> bool:
    """Rejoin every tree that holds a link without it; return False at the first that cannot be."""
    n = len(net.target)
    row, down, up = np.empty(n, np.int32), np.empty(n), np.empty(n)
    for k in range(trees.used[0]):
        if not _holds(trees, k, link, net.head):
            continue
        _lift(net, trees, k, trees.load, trees.turn)
        if _rejoin(net, trees, k, link, limit, most, trees.load, trees.turn, trees.place, row, down, up) == np.inf:
            return False
        trees.row[k], trees.down[k], trees.up[k] = row, down, up
        _add(row, down, up, 1.0, trees.load)
    return True


@kernel
def lower(net: Net, trees: Trees, link: int, scale: float, limit: float, most: int, rounds: int) -> bool:
    """Slow a link down, or turn it off, and move off it what it can't carry then; return whether that succeeded.

    `scale` is that of its loads, inf for off. If a channel overloads or a cycle closes, everything is restored.
    """
    saved = _copied(trees)
    _set_level(trees, link, scale)
    moved = scale < np.inf or _reroute(net, trees, link, limit, most)
    if moved and ease(net, trees, limit, most, rounds):
        drop_empty(trees)
        return True
    _restore(trees, saved)
    return False


@kernel
def _set_level(trees: Trees, link: int, scale: float) -> None:
    if scale < np.inf:
        trees.scale[2 * link : 2 * link + 2] = scale
    else:
        trees.on[link] = False


@kernel
def _copied(trees: Trees) -> Trees:
    return Trees(
        trees.on.copy(),
        trees.scale.copy(),
        trees.used.copy(),
        trees.tree_of.copy(),
        trees.root.copy(),
        trees.row.copy(),
        trees.down.copy(),
        trees.up.copy(),
        trees.load.copy(),
        trees.turn.copy(),
        trees.place.copy(),
    )


@kernel
def _restore(trees: Trees, saved: Trees) -> None:
    trees.on[:], trees.scale[:], trees.used[:] = saved.on, saved.scale, saved.used
    trees.tree_of[:], trees.root[:] = saved.tree_of, saved.root
    trees.row[:], trees.down[:], trees.up[:] = saved.row, saved.down, saved.up
    trees.load[:], trees.turn[:], trees.place[:] = saved.load, saved.turn, saved.place


@kernel
def drop_empty(trees: Trees) -> None:
    """Forget the trees that no host sends over: they carry nothing, but would have to be moved off links as well."""
    hosts = np.zeros(trees.used[0], np.int64)
    for h in range(len(trees.tree_of)):
        hosts[trees.tree_of[h]] += 1
    renamed = np.empty(trees.used[0], np.int32)
    kept = 0
    for k in range(trees.used[0]):
        if hosts[k] == 0:
            continue
        renamed[k] = kept
        if kept < k:
            trees.row[kept], trees.root[kept] = trees.row[k], trees.root[k]
            trees.down[kept], trees.up[kept] = trees.down[k], trees.up[k]
        kept += 1
    for h in range(len(trees.tree_of)):
        trees.tree_of[h] = renamed[trees.tree_of[h]]
    trees.used[0] = kept


@kernel
def ease(net: Net, trees: Trees, limit: float, most: int, rounds: int) -> bool:
    """Move trees and single hosts off the busiest channel until none exceeds `limit`; return whether that succeeded.

    There are at most `rounds` moves.
    """
    if len(net.tail) == 0:
        return True
    for _ in range(rounds):
        worst = int(np.argmax(trees.load * trees.scale))
        if trees.load[worst] * trees.scale[worst] <= limit * SLACK:
            return True
        if not _relieve(net, trees, worst, limit, most):
            return False
    return bool(np.max(trees.load * trees.scale) <= limit * SLACK)


@kernel
def _relieve(net: Net, trees: Trees, channel: int, limit: float, most: int) -> bool:
    """Make the first move, of a tree or a host, that unloads a channel and lowers the cost; return whether any did."""
    n = len(net.target)
    row, down, up = np.empty(n, np.int32), np.empty(n), np.empty(n)
    v = net.head[channel]
    w = net.tail[channel]
    count = trees.used[0]
    share = np.zeros(count)
    for k in range(count):
        if trees.row[k, v] == channel:
            share[k] = trees.down[k, v]
        elif trees.row[k, w] == channel ^ 1:
            share[k] = trees.up[k, w]
    for _ in range(count):
        k = int(np.argmax(share))
        if share[k] <= 0:
            return False
        share[k] = 0
        load, turn, place = trees.load.copy(), trees.turn.copy(), trees.place.copy()
        _lift(net, trees, k, load, turn)
        now = _cost(trees.row[k], trees.down[k], trees.up[k], load, trees.scale, limit)
        cost = _rejoin(net, trees, k, channel >> 1, limit, most, load, turn, place, row, down, up)
        if cost < now * (1 - 1e-9):
            trees.row[k], trees.down[k], trees.up[k] = row, down, up
            _add(row, down, up, 1.0, load)
            trees.load[:], trees.turn[:], trees.place[:] = load, turn, place
            return True
        for h in range(len(trees.tree_of)):
            if trees.tree_of[h] == k and net.total[h] + net.flood[h] > 0 and _move(net, trees, h, channel, limit, most):
                return True
    return False


@kernel
def _place_of(net: Net, trees: Trees, h: int, k: int, down: NDArray[np.float64], up: NDArray[np.float64]) -> None:
    """Write what host h alone would send over tree k to `down` and `up`."""
    alone = np.full(len(trees.tree_of), -1, np.int32)
    alone[h] = k
    order = np.empty(len(net.target), np.int32)
    n = _breadth_first(net, trees.row[k], trees.root[k], order)
    _weigh(net, alone, k, trees.row[k], order, n, down, up)


@kernel
def _move(net: Net, trees: Trees, h: int, channel: int, limit: float, most: int) -> bool:  # noqa: PLR0915 - one compiled loop: split, each part would take all of its arrays
    """Move a host off `channel` to another tree or one of its own, the cheaper; return whether any is better.

    A host's tree is its port's PVID, which is free to choose for every host.
    """
    n = len(net.target)
    k = trees.tree_of[h]
    down, up = np.empty(n), np.empty(n)
    _place_of(net, trees, h, k, down, up)
    v, w = net.head[channel], net.tail[channel]
    if not ((trees.row[k, v] == channel and down[v] > 0) or (trees.row[k, w] == channel ^ 1 and up[w] > 0)):
        return False
    load, turn = trees.load.copy(), trees.turn.copy()
    order = np.empty(n, np.int32)
    m = _breadth_first(net, trees.row[k], trees.root[k], order)
    _turns(net, trees.tree_of, k, trees.row[k], order, m, -1, turn)
    trees.tree_of[h] = -1
    _turns(net, trees.tree_of, k, trees.row[k], order, m, 1, turn)
    _add(trees.row[k], down, up, -1.0, load)
    now = _cost(trees.row[k], down, up, load, trees.scale, limit)
    place = trees.place.copy()
    best, chosen = now * (1 - 1e-9), -1
    d, u = np.empty(n), np.empty(n)
    for j in range(trees.used[0]):
        if j == k:
            continue
        trees.tree_of[h] = j
        _place_of(net, trees, h, j, d, u)
        cost = _cost(trees.row[j], d, u, load, trees.scale, limit)
        if cost >= best:
            continue
        t = turn.copy()
        p = trees.place.copy()
        m = _breadth_first(net, trees.row[j], trees.root[j], order)
        if _too_long(net, trees.tree_of, j, trees.row[j], order, m):
            continue
        trees.tree_of[h] = -1
        _turns(net, trees.tree_of, j, trees.row[j], order, m, -1, t)
        trees.tree_of[h] = j
        _turns(net, trees.tree_of, j, trees.row[j], order, m, 1, t)
        if _climbs(net, t, p):
            best, chosen = cost, j
    new_tree = trees.used[0]
    row, own_turn = np.empty(n, np.int32), turn.copy()
    if new_tree < len(trees.row):
        trees.tree_of[h] = new_tree
        trees.row[new_tree], trees.root[new_tree] = trees.row[k], trees.root[k]
        cost = _rejoin(net, trees, new_tree, channel >> 1, limit, most, load, own_turn, place, row, d, u)
        if cost < best:
            best, chosen = cost, new_tree
            trees.row[new_tree], trees.down[new_tree], trees.up[new_tree] = row, d, u
            trees.used[0] += 1
            _add(row, d, u, 1.0, load)
            trees.turn[:], trees.place[:] = own_turn, place
    if chosen < 0:
        trees.tree_of[h] = k
        return False
    trees.tree_of[h] = chosen
    trees.down[k] -= down
    trees.up[k] -= up
    if chosen != new_tree:
        _place_of(net, trees, h, chosen, d, u)
        _add(trees.row[chosen], d, u, 1.0, load)
        trees.down[chosen] += d
        trees.up[chosen] += u
        m = _breadth_first(net, trees.row[chosen], trees.root[chosen], order)
        trees.tree_of[h] = -1
        _turns(net, trees.tree_of, chosen, trees.row[chosen], order, m, -1, turn)
        trees.tree_of[h] = chosen
        _turns(net, trees.tree_of, chosen, trees.row[chosen], order, m, 1, turn)
        trees.turn[:] = turn
        _climbs(net, trees.turn, trees.place)
    trees.load[:] = load
    return True


@kernel
def gather(net: Net, trees: Trees, k: int, limit: float) -> int:
    """Move hosts to tree k, the smallest senders first, while no channel overloads; return how many others stay.

    Fewer trees make fewer turns, which leaves more paths to hosts that must move later.
    """
    n = len(net.target)
    order = np.empty(n, np.int32)
    down, up, d, u = np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    stay = 0
    for h in np.argsort(net.total + net.flood):
        old = trees.tree_of[h]
        if old == k:
            continue
        load, turn = trees.load.copy(), trees.turn.copy()
        _place_of(net, trees, h, old, down, up)
        _place_of(net, trees, h, k, d, u)
        _add(trees.row[old], down, up, -1.0, load)
        _add(trees.row[k], d, u, 1.0, load)
        good = True
        for v in range(n):
            c = trees.row[k, v]
            if c >= 0 and (d[v] > 0 or u[v] > 0):
                good = good and load[c] * trees.scale[c] <= limit * SLACK
                good = good and load[c ^ 1] * trees.scale[c ^ 1] <= limit * SLACK
        if good:
            for direction in range(2):
                tree = k if direction else old
                m = _breadth_first(net, trees.row[tree], trees.root[tree], order)
                trees.tree_of[h] = old
                _turns(net, trees.tree_of, tree, trees.row[tree], order, m, -1, turn)
                trees.tree_of[h] = k
                _turns(net, trees.tree_of, tree, trees.row[tree], order, m, 1, turn)
            good = not _too_long(net, trees.tree_of, k, trees.row[k], order, m) and _climbs(net, turn, trees.place)
        if not good:
            trees.tree_of[h] = old
            stay += 1
            continue
        trees.load[:], trees.turn[:] = load, turn
        trees.down[old] -= down
        trees.up[old] -= up
        trees.down[k] += d
        trees.up[k] += u
    return stay
