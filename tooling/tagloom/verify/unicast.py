"""Walk every ordered host pair's frame through the model, all sources at once, a block of destinations at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom.verify.forwarding import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from tagloom.records.routes import Routes
    from tagloom.verify.forwarding import Forwarding

BLOCK = 64  # destinations walked together; bounds memory at hosts x BLOCK
NO_ENTRY = 0


@dataclass(slots=True)
class Unicast:
    """Hold what became of every ordered pair.

    lost, off_path, flooded  lists of (source, destination, why) for the pairs that went wrong
    held, wanted             channel dependencies of all frames, each once
    """

    lost: list[tuple[int, int, str]] = field(default_factory=list)
    off_path: list[tuple[int, int, str]] = field(default_factory=list)
    floods: list[tuple[int, int]] = field(default_factory=list)
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def walk(model: Forwarding, routes: Routes | None) -> Unicast:
    """Follow the static entries from every host to every other.

    A frame whose switch has no entry for it is flooded: its pair counts as reachable if a copy arrives, and never as
    on its path. With `routes`, each frame must cross exactly the channels planned for it. A frame that is sent on
    more often than there are nodes goes round for ever and is lost.
    """
    fabric, result = model.fabric, Unicast()
    channels = max(1, len(fabric.tail))
    table = model.way_table()
    keys: list[NDArray[np.int64]] = []
    for block in _blocks(len(fabric.hosts)):
        pin = _pins(model, block)
        planned = routes.paths(fabric, fabric.host_switch[block.start : block.stop]) if routes is not None else None
        _walk_block(model, table, pin, block, planned, routes, result, keys)
        if any(d in block for _, d in result.floods):
            _settle_floods(model, pin, block, result)
    if keys:
        unique = np.unique(np.concatenate(keys))
        result.held, result.wanted = unique // channels, unique % channels
    return result


def _blocks(hosts: int) -> Iterator[range]:
    for first in range(0, hosts, BLOCK):
        yield range(first, min(first + BLOCK, hosts))


def _pins(model: Forwarding, block: range) -> NDArray[np.int32]:
    """Give the port that [node, destination of the block] is pinned to, NO_ENTRY where frames flood."""
    pin = np.full((model.nodes, len(block)), NO_ENTRY, np.int32)
    mine = (model.entry_host >= block.start) & (model.entry_host < block.stop)
    pin[model.entry_node[mine], model.entry_host[mine] - block.start] = model.entry_port[mine]
    return pin


def _walk_block(
    model: Forwarding,
    table: NDArray[np.int32],
    pin: NDArray[np.int32],
    block: range,
    planned: NDArray[np.int32] | None,
    routes: Routes | None,
    result: Unicast,
    keys: list[NDArray[np.int64]],
) -> None:
    fabric = model.fabric
    hosts = len(fabric.hosts)
    channels = max(1, len(fabric.tail))
    source, column = (g.ravel() for g in np.meshgrid(np.arange(hosts), np.arange(len(block)), indexing="ij"))
    apart = source != column + block.start
    source, column = source[apart], column[apart]
    node = model.inject[source]
    in_port = fabric.host_port[source]
    held = np.full(len(source), -1, np.int64)
    strayed = np.zeros(len(source), np.bool_)
    for step in range(model.nodes + 2):
        if not len(source):
            break
        pairs = source, column + block.start
        dropped = node == NOWHERE
        _note(result.lost, pairs, dropped, partial(_dropped, model), source, held)
        port = pin[node, column]
        flooded = ~dropped & (port == NO_ENTRY)
        result.floods += zip(pairs[0][flooded].tolist(), pairs[1][flooded].tolist(), strict=True)
        _note(result.off_path, pairs, flooded, partial(_flooded, model), node)
        way = table[node, port]
        stuck = ~dropped & ~flooded & ((way == NOWHERE) | (port == in_port))
        _note(result.lost, pairs, stuck, partial(_stuck, model), node, port)
        on = ~dropped & ~flooded & ~stuck
        source, column, way, held, strayed = source[on], column[on], way[on], held[on], strayed[on]
        pairs = source, column + block.start
        channel, host = model.way_channel[way], model.way_host[way]
        at_end = channel < 0
        if planned is not None and routes is not None:
            want = planned[routes.source_of_host[source], column, min(step, planned.shape[2] - 1)]
            if step >= planned.shape[2]:
                want = np.full_like(want, -1)
            strayed |= want != np.where(at_end, -1, channel)
        wrong = at_end & (host != pairs[1])
        _note(result.lost, pairs, wrong, partial(_wrong_end, model), way)
        _note(result.off_path, pairs, at_end & ~wrong & strayed, _strayed)
        on = ~at_end
        turn = on & (held >= 0)
        if turn.any():
            keys.append(np.unique(held[turn] * channels + channel[turn]))
        source, column, strayed = source[on], column[on], strayed[on]
        held, in_port, node = channel[on].astype(np.int64), fabric.head_port[channel[on]], model.way_to[way[on]]
    _note(result.lost, (source, column + block.start), source >= 0, partial(_endless, model), node)


def _note(
    kept: list[tuple[int, int, str]],
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    which: NDArray[np.bool_],
    why: Callable[..., str],
    *details: NDArray[np.integer],
) -> None:
    """Keep the pairs that `which` masks, with `why` said of the details of each."""
    kept += [
        (int(pairs[0][i]), int(pairs[1][i]), why(*(int(detail[i]) for detail in details)))
        for i in np.flatnonzero(which).tolist()
    ]


def _settle_floods(model: Forwarding, pin: NDArray[np.int32], block: range, result: Unicast) -> None:
    """Find which flooded frames arrive all the same, by following every copy."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for
    from scipy.sparse.csgraph import breadth_first_order  # noqa: PLC0415 - as above

    ways = len(model.way_node)
    for d in sorted({d for _, d in result.floods if d in block}):
        pinned = pin[:, d - block.start][model.way_node]
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
        arrives = set(host[good[first]].tolist())
        for s, dd in result.floods:
            if dd == d and s not in arrives:
                result.lost.append((s, d, "flooded, and no copy arrives"))


def _node(model: Forwarding, node: int) -> str:
    return f"{model.fabric.switches[model.node_switch[node]].name} in VLAN {model.node_vlan[node]}"


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
