"""Follow the static entries towards every host: by destination where all is well, pair by pair where it is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.channels import find_cycle
from tagloom.verify.forwarding import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.routes import Routes
    from tagloom.verify.forwarding import Forwarding

BLOCK = 64  # destinations walked together; bounds memory at hosts x BLOCK
NO_ENTRY = 0


@dataclass(slots=True)
class Trouble:
    """Hold the pairs that went wrong in one way at one step: sources, destinations, and what to say of them."""

    step: int
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    why: Callable[..., str]
    details: tuple[NDArray[np.integer], ...] = ()

    def say(self, at: int) -> tuple[int, int, str]:
        """Give source, destination and reason of one of the pairs."""
        reason = self.why(*(int(detail[at]) for detail in self.details))
        return int(self.source[at]), int(self.destination[at]), reason


@dataclass(slots=True)
class Unicast:
    """Hold what became of every ordered pair.

    lost, off_path  the pairs that went wrong
    floods          (source, destination) of frames that some switch floods
    held, wanted    channel dependencies of all frames, each once
    """

    lost: list[Trouble] = field(default_factory=list)
    off_path: list[Trouble] = field(default_factory=list)
    floods: list[tuple[int, int]] = field(default_factory=list)
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def count(troubles: list[Trouble], hosts: int) -> int:
    """Count the different pairs in trouble."""
    return len(np.unique(np.concatenate([t.source * hosts + t.destination for t in troubles]))) if troubles else 0


def walk(model: Forwarding, routes: Routes | None) -> Unicast:
    """Follow the static entries from every host to every other.

    A frame whose switch has no entry for it is flooded: its pair counts as reachable if a copy arrives, and never as
    on its path. With `routes`, each frame must cross exactly the channels planned for it. A frame that is sent on
    more often than there are nodes goes round for ever and is lost.
    """
    fabric, result = model.fabric, Unicast()
    channels, ports = max(1, len(fabric.tail)), max(fabric.ports, default=0) + 1
    trees = _Trees(model, routes)
    bad = [d for d in range(len(fabric.hosts)) if not trees.climb(d)]
    held, out = np.divmod(np.flatnonzero(trees.turns), ports)
    wanted = fabric.port_channel[fabric.head[held], out].astype(np.int64) if len(fabric.tail) else held
    links = wanted >= 0
    if find_cycle(channels, held[links], wanted[links]):
        bad, links = list(range(len(fabric.hosts))), np.zeros(len(held), np.bool_)
    keys = [held[links] * channels + wanted[links]]
    table = model.way_table()
    for first in range(0, len(bad), BLOCK):
        block = np.array(bad[first : first + BLOCK], np.int64)
        pin = trees.pin[block].T.astype(np.int32)
        planned = routes.paths(fabric, fabric.host_switch[block]) if routes is not None else None
        floods = len(result.floods)
        _walk_block(model, table, pin, block, planned, routes, result, keys)
        if len(result.floods) > floods:
            _settle_floods(model, pin, block, result)
    unique = np.unique(np.concatenate(keys))
    result.held, result.wanted = unique // channels, unique % channels
    for troubles in (result.lost, result.off_path):
        troubles.sort(key=lambda trouble: trouble.step)  # the shortest witness first
    return result


class _Trees:
    """Follow all entries of one destination at once, as the tree they must form.

    pin    uint8 or uint16[H, K], the port that [destination, node] is pinned to, NO_ENTRY where frames flood
    turns  bool[C x ports], whether a frame that entered by a channel leaves by a port

    A destination passes only if every node that a frame for it may reach sends it on, never back, and in the end only
    to that host. Then frames can fail to arrive only by going round, which is a cycle among the turns. The cost is
    one look at each entry; a pair-by-pair walk looks at each entry once per frame that uses it.
    """

    def __init__(self, model: Forwarding, routes: Routes | None) -> None:
        fabric = model.fabric
        self.model, self.routes = model, routes
        self.width = max(fabric.ports, default=0) + 1
        kind = np.uint8 if self.width <= np.iinfo(np.uint8).max else np.uint16
        self.pin = np.zeros((len(fabric.hosts), model.nodes), kind)
        self.pin[model.entry_host, model.entry_node] = model.entry_port
        self.table = model.way_table().ravel()
        self.base = np.arange(model.nodes, dtype=np.int64) * self.width
        self.turns = np.zeros(len(fabric.tail) * self.width, np.bool_)
        self.way_to = model.way_to.astype(np.int64)
        self.way_channel = model.way_channel.astype(np.int64)
        self.head_port = fabric.head_port.astype(np.int64)
        self.turn_base = np.arange(len(fabric.tail), dtype=np.int64) * self.width
        self.inject = model.inject.astype(np.int64)
        self.live = np.zeros(model.nodes, np.bool_)
        self.jump = np.arange(model.nodes)
        self.last = np.full(model.nodes, -1, np.int64)
        self.host_at = np.full(len(fabric.switches), -1, np.int64)  # one host of each switch
        self.host_at[fabric.host_switch] = np.arange(len(fabric.hosts))

    def climb(self, d: int) -> bool:
        """Tell whether every frame to host `d` is pinned and on its planned path, unless it goes round."""
        fabric, row = self.model.fabric, self.pin[d]
        start = np.delete(self.inject, d)
        if not len(start):
            return True
        if start.min() < 0:
            return False
        first = row[start]
        if not first.all() or np.any(first == np.delete(fabric.host_port, d)):
            return False
        at = np.flatnonzero(row)
        followed = self._follow(d, row, at, start)
        if followed is None:  # an entry that no frame may meet must not decide: look at those that some frame meets
            at = self._reached(row, start)
            followed = self._follow(d, row, at, start)
        if followed is None:
            return False
        on, to, channel = followed
        self.turns[self.turn_base[channel] + row[to]] = True
        return self.routes is None or self._as_planned(d, row, at, start, on, to, channel)

    def _follow(
        self, d: int, row: NDArray[np.integer], at: NDArray[np.int64], start: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]] | None:
        """Give the nodes that send on, to which nodes, by which channels; None where an entry is wrong or unmet."""
        way = self.table[self.base[at] + row[at]]
        if way.min(initial=0) < 0:
            return None
        channel = self.way_channel[way]
        sends = channel >= 0
        if np.any(self.model.way_host[way[~sends]] != d):
            return None
        on, channel, to = at[sends], channel[sends], self.way_to[way[sends]]
        if to.min(initial=0) < 0:
            return None
        then = row[to]
        if not then.all() or np.any(then == self.head_port[channel]):
            return None
        self.live[:] = False
        self.live[to] = True
        self.live[start] = True
        return (on, to, channel) if self.live[at].all() else None

    def _reached(self, row: NDArray[np.integer], start: NDArray[np.int64]) -> NDArray[np.int64]:
        """Give the nodes with an entry that frames from `start` meet, ascending."""
        met = np.zeros(self.model.nodes, np.bool_)
        front = np.unique(start)
        while len(front):
            met[front] = True
            way = self.table[self.base[front] + row[front]]
            to = self.way_to[way[way >= 0]]
            to = np.unique(to[to >= 0])
            front = to[~met[to] & (row[to] > 0)]
        return np.flatnonzero(met)

    def _as_planned(
        self,
        d: int,
        row: NDArray[np.integer],
        at: NDArray[np.int64],
        start: NDArray[np.int64],
        on: NDArray[np.int64],
        to: NDArray[np.int64],
        channel: NDArray[np.int64],
    ) -> bool:
        """Tell whether every frame to `d` crosses its planned channels, by comparing only the last channel of each.

        Sufficient, by induction over the length of planned paths, which form a tree from each source: the last channel
        is the planned one, from a switch u; and until then every node sends frames to `d` the way it sends those to a
        host of u, whose paths are as planned. Where a u has no host this says no, and the pairs are walked.
        """
        fabric, routes = self.model.fabric, self.routes
        if routes is None:
            return True
        if routes.parent is None:
            return False
        target = int(fabric.host_switch[d])
        ends = np.zeros(self.model.nodes, np.bool_)
        ends[at] = True
        ends[on] = False
        final = ends[to]  # the channel leads to the destination's switch, and the next port is the host's
        self.jump[at] = at
        self.jump[on[~final]] = to[~final]
        self.last[at] = -1
        self.last[on[final]] = channel[final]
        for _ in range(len(at).bit_length()):
            further = self.jump[self.jump[on]]
            if np.array_equal(further, self.jump[on]):
                break
            self.jump[on] = further
        last = self.last[self.jump]
        source = np.delete(routes.source_of_host, d)
        if np.any(last[start] != routes.parent[source, target]):
            return False
        before = on[~final]
        if not len(before):
            return True
        via = self.host_at[fabric.tail[last[before]]]
        return bool(via.min() >= 0 and np.all(self.pin[via, before] == row[before]))


def _walk_block(
    model: Forwarding,
    table: NDArray[np.int32],
    pin: NDArray[np.int32],
    block: NDArray[np.int64],
    planned: NDArray[np.int32] | None,
    routes: Routes | None,
    result: Unicast,
    keys: list[NDArray[np.int64]],
) -> None:
    fabric = model.fabric
    hosts = len(fabric.hosts)
    channels = max(1, len(fabric.tail))
    source, column = (g.ravel() for g in np.meshgrid(np.arange(hosts), np.arange(len(block)), indexing="ij"))
    apart = source != block[column]
    source, column = source[apart], column[apart]
    node = model.inject[source]
    in_port = fabric.host_port[source]
    held = np.full(len(source), -1, np.int64)
    strayed = np.zeros(len(source), np.bool_)
    for step in range(model.nodes + 2):
        if not len(source):
            break
        pairs = source, block[column]
        dropped = node == NOWHERE
        _note(result.lost, step, pairs, dropped, partial(_dropped, model), source, held)
        port = pin[node, column]
        flooded = ~dropped & (port == NO_ENTRY)
        result.floods += zip(pairs[0][flooded].tolist(), pairs[1][flooded].tolist(), strict=True)
        _note(result.off_path, step, pairs, flooded, partial(_flooded, model), node)
        way = table[node, port]
        stuck = ~dropped & ~flooded & ((way == NOWHERE) | (port == in_port))
        _note(result.lost, step, pairs, stuck, partial(_stuck, model), node, port)
        on = ~dropped & ~flooded & ~stuck
        source, column, way, held, strayed = source[on], column[on], way[on], held[on], strayed[on]
        pairs = source, block[column]
        channel, host = model.way_channel[way], model.way_host[way]
        at_end = channel < 0
        if planned is not None and routes is not None:
            want = planned[routes.source_of_host[source], column, min(step, planned.shape[2] - 1)]
            if step >= planned.shape[2]:
                want = np.full_like(want, -1)
            strayed |= want != np.where(at_end, -1, channel)
        wrong = at_end & (host != pairs[1])
        _note(result.lost, step, pairs, wrong, partial(_wrong_end, model), way)
        _note(result.off_path, step, pairs, at_end & ~wrong & strayed, _strayed)
        on = ~at_end
        turn = on & (held >= 0)
        if turn.any():
            keys.append(np.unique(held[turn] * channels + channel[turn]))
        source, column, strayed = source[on], column[on], strayed[on]
        held, in_port, node = channel[on].astype(np.int64), fabric.head_port[channel[on]], model.way_to[way[on]]
    _note(result.lost, model.nodes, (source, block[column]), source >= 0, partial(_endless, model), node)


def _note(
    kept: list[Trouble],
    step: int,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    which: NDArray[np.bool_],
    why: Callable[..., str],
    *details: NDArray[np.integer],
) -> None:
    """Keep the pairs that `which` masks, with what `why` says of the details of each."""
    if which.any():
        kept.append(Trouble(step, pairs[0][which], pairs[1][which], why, tuple(detail[which] for detail in details)))


def _settle_floods(model: Forwarding, pin: NDArray[np.int32], block: NDArray[np.int64], result: Unicast) -> None:
    """Find which flooded frames arrive all the same, by following every copy."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - as above

    ways = len(model.way_node)
    flooded: dict[int, list[int]] = {}
    column = {d: at for at, d in enumerate(block.tolist())}
    for s, d in result.floods:
        if d in column:
            flooded.setdefault(d, []).append(s)
    for d, sources in sorted(flooded.items()):
        pinned = pin[:, column[d]][model.way_node]
        allowed = (pinned == NO_ENTRY) | (pinned == model.way_port)
        before, after = model.steps(allowed)
        arrivals = np.flatnonzero(allowed & (model.way_host == d))
        end = ways  # one more vertex that every arrival leads to; search backwards from it
        rows = np.concatenate([after, np.full(len(arrivals), end)])
        cols = np.concatenate([before, arrivals])
        graph = csr_matrix((np.ones(len(rows), np.int8), (rows, cols)), (ways + 1, ways + 1))
        good = np.zeros(ways + 1, np.bool_)
        good[breadth_first_order(graph, end, return_predecessors=False)] = True
        host, first = model.injections(allowed)
        lost = np.setdiff1d(np.array(sources, np.int64), host[good[first]])
        pairs = lost, np.full(len(lost), d)
        _note(result.lost, model.nodes, pairs, lost >= 0, _unheard)


def _node(model: Forwarding, node: int) -> str:
    return f"{model.fabric.switches[model.node_switch[node]].name} in VLAN {model.node_vlan[node]}"


def _unheard() -> str:
    return "flooded, and no copy arrives"


def _flooded(model: Forwarding, node: int) -> str:
    return f"flooded at {_node(model, node)}"


def _stuck(model: Forwarding, node: int, port: int) -> str:
    return f"dropped at {_node(model, node)}: the entry's port {port} leads nowhere"


def _wrong_end(model: Forwarding, way: int) -> str:
    node = _node(model, int(model.way_node[way]))
    return f"led out of port {model.way_port[way]} of {node}, where that host is not"


def _strayed() -> str:
    return "another path than planned"


def _endless(model: Forwarding, node: int) -> str:
    return f"goes round for ever by {_node(model, node)}"


def _dropped(model: Forwarding, source: int, channel: int) -> str:
    fabric = model.fabric
    if channel < 0:
        host = fabric.hosts[source]
        return f"dropped on entering {fabric.switches[host.switch].name} port {host.port}"
    return f"dropped on entering {fabric.switches[fabric.head[channel]].name} port {fabric.head_port[channel]}"
