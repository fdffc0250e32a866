"""Follow the static entries towards every host: by destination if all is well, pair by pair otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import COMPILED_FROM, paths_to
from tagloom.graph.search import reached
from tagloom.platforms.port_names import own_name, port_name
from tagloom.verify.climb import climb
from tagloom.verify.forwarding import NOWHERE

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from tagloom.records.routes import Routes
    from tagloom.verify.forwarding import Forwarding

BLOCK = 64  # destinations walked together; bounds memory to hosts x BLOCK
NO_ENTRY = 0


@dataclass(slots=True)
class Trouble:
    """The pairs that failed in one way at one step: sources, destinations, and how to describe them."""

    step: int
    source: NDArray[np.int64]
    destination: NDArray[np.int64]
    why: Callable[..., str]
    details: tuple[NDArray[np.integer], ...] = ()

    def say(self, at: int) -> tuple[int, int, str]:
        """Return source, destination and reason of one of the pairs."""
        reason = self.why(*(int(detail[at]) for detail in self.details))
        return int(self.source[at]), int(self.destination[at]), reason


@dataclass(slots=True)
class Unicast:
    """The outcome of every ordered pair.

    lost, off_path  the pairs that failed
    floods          (source, destination) of frames that some switch floods
    storm           the egresses of a cycle that frames go round, if some port floods nothing; else a flood's cycle
                    contains any such
    held, wanted    channel dependencies of all frames, each once
    """

    lost: list[Trouble] = field(default_factory=list)
    off_path: list[Trouble] = field(default_factory=list)
    floods: list[tuple[int, int]] = field(default_factory=list)
    storm: list[int] = field(default_factory=list)
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def count(troubles: list[Trouble], hosts: int) -> int:
    """Return the number of different pairs in trouble."""
    return len(np.unique(np.concatenate([t.source * hosts + t.destination for t in troubles]))) if troubles else 0


def walk(model: Forwarding, routes: Routes | None) -> Unicast:
    """Return the outcome of following the static entries from every host to every other that has an address.

    A frame whose switch has no entry for it is flooded: its pair counts as reachable if a copy arrives, and never as on
    its path. A switch that looks up senders drops a frame whose sender it has pinned at another port. With `routes`,
    each frame must cross exactly the channels planned for it. A frame forwarded more often than there are nodes is in a
    loop and is lost.
    """
    fabric, result = model.fabric, Unicast()
    channels, ports = max(1, len(fabric.tail)), max(fabric.ports, default=0) + 1
    table = model.egress_table()
    # A small fabric is walked pair by pair, as loading compiled loops would take longer.
    named = fabric.host_mac > 0
    bad, held, wanted = np.flatnonzero(named).tolist(), np.empty(0, np.int64), np.empty(0, np.int64)
    pin = _pinned(model, np.uint8 if ports <= np.iinfo(np.uint8).max else np.uint16)
    senders = _looked_up(model, pin)
    if len(fabric.hosts) ** 2 >= COMPILED_FROM and len(fabric.tail) and senders is None:
        good, turns = _climbed(model, table, pin, routes)
        bad = np.flatnonzero(~good & named).tolist()
        held, out = np.nonzero(turns)
        wanted = fabric.port_channel[fabric.head[held], out].astype(np.int64)
        held, wanted = held[wanted >= 0], wanted[wanted >= 0]  # a frame that leaves to a host waits for no channel
    keys = [held * channels + wanted]
    for first in range(0, len(bad), BLOCK):
        block = np.array(bad[first : first + BLOCK], np.int64)
        pinned = pin[block].T.astype(np.int32)
        planned = paths_to(fabric, routes, fabric.host_switch[block]) if routes is not None else None
        floods = len(result.floods)
        endless = _walk_block(model, table, pinned, senders, block, planned, routes, result, keys)
        if len(result.floods) > floods:
            _settle_floods(model, pinned, senders, block, result)
        if not model.egress_floods.all():
            flooded = [int(np.flatnonzero(block == d)[0]) for _, d in result.floods[floods:]]
            _follow_copies(model, pinned, block, sorted({*flooded, *endless}), result, keys)
    unique = np.unique(np.concatenate(keys))
    result.held, result.wanted = unique // channels, unique % channels
    for troubles in (result.lost, result.off_path):
        troubles.sort(key=lambda trouble: trouble.step)  # the shortest witness first
    return result


def _pinned(model: Forwarding, kind: type[np.unsignedinteger]) -> NDArray[np.unsignedinteger]:
    """Return the port that [destination, node] is pinned to, uint[H, K], NO_ENTRY if frames flood."""
    pin = np.zeros((len(model.fabric.hosts), model.nodes), kind)
    pin[model.entry_host, model.entry_node] = model.entry_port
    return pin


def _looked_up(model: Forwarding, pin: NDArray[np.unsignedinteger]) -> NDArray[np.unsignedinteger] | None:
    """Return `pin` for the nodes that look up senders too, NO_ENTRY elsewhere; None where no switch does."""
    looking = np.array([switch.up and platforms.of(switch).drops_strange_senders for switch in model.fabric.switches])
    if not looking.any():
        return None
    return np.where(looking[model.node_switch], pin, NO_ENTRY).astype(pin.dtype)


def _climbed(
    model: Forwarding, table: NDArray[np.int32], pin: NDArray[np.unsignedinteger], routes: Routes | None
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which destinations all frames reach, on planned paths if these are trees, and the turns taken."""
    fabric = model.fabric
    good = np.zeros(len(fabric.hosts), np.bool_)
    turns = np.zeros((len(fabric.tail), table.shape[1]), np.bool_)
    if routes is not None and routes.parent is None:
        return good, turns
    host_at = np.full(len(fabric.switches), NOWHERE, np.int32)  # one host of each switch
    host_at[fabric.host_switch] = np.arange(len(fabric.hosts))
    parent = routes.trees if routes is not None else np.empty((0, 0), np.int32)
    source = routes.source_of_host if routes is not None else np.empty(0, np.int32)
    egresses = table, model.egress_to, model.egress_channel, model.egress_host
    hosts = model.inject, fabric.host_port, fabric.host_switch, host_at[fabric.tail]
    trusted = np.ones(len(fabric.hosts), np.bool_)
    while True:
        climb(pin, *egresses, *hosts, fabric.head_port, parent, source, trusted, good, turns)
        if routes is None or np.array_equal(good, trusted):
            return good, turns
        trusted = good.copy()


def _walk_block(  # noqa: PLR0913 - what is walked, by what, and where it is noted
    model: Forwarding,
    table: NDArray[np.int32],
    pin: NDArray[np.int32],
    senders: NDArray[np.unsignedinteger] | None,
    block: NDArray[np.int64],
    planned: NDArray[np.int32] | None,
    routes: Routes | None,
    result: Unicast,
    keys: list[NDArray[np.int64]],
) -> list[int]:
    """Follow the frames to the hosts of a block; return the columns of those to which some go round for ever."""
    fabric = model.fabric
    hosts = len(fabric.hosts)
    channels = max(1, len(fabric.tail))
    source, column = (g.ravel() for g in np.meshgrid(np.arange(hosts), np.arange(len(block)), indexing="ij"))
    apart = source != block[column]
    source, column = source[apart], column[apart]
    node = model.inject[source]
    in_port = fabric.host_port[source]
    held = np.full(len(source), -1, np.int64)
    off_path = np.zeros(len(source), np.bool_)
    for step in range(model.nodes + 2):
        if not len(source):
            break
        pairs = source, block[column]
        dropped = node == NOWHERE
        _note(result.lost, step, pairs, dropped, partial(_dropped, model), source, held)
        if senders is not None:
            own = senders[source, node]
            strange = ~dropped & (own != NO_ENTRY) & (own != in_port)
            _note(result.lost, step, pairs, strange, partial(_strange, model), node, own)
            dropped |= strange
        port = pin[node, column]
        flooded = ~dropped & (port == NO_ENTRY)
        result.floods += zip(pairs[0][flooded].tolist(), pairs[1][flooded].tolist(), strict=True)
        _note(result.off_path, step, pairs, flooded, partial(_flooded, model), node)
        egress = table[node, port]
        stuck = ~dropped & ~flooded & ((egress == NOWHERE) | (port == in_port))
        _note(result.lost, step, pairs, stuck, partial(_stuck, model), node, port)
        on = ~dropped & ~flooded & ~stuck
        source, column, egress, held, off_path = source[on], column[on], egress[on], held[on], off_path[on]
        pairs = source, block[column]
        channel, host = model.egress_channel[egress], model.egress_host[egress]
        at_end = channel < 0
        if planned is not None and routes is not None:
            want = planned[routes.source_of_host[source], column, min(step, planned.shape[2] - 1)]
            if step >= planned.shape[2]:
                want = np.full_like(want, -1)
            off_path |= want != np.where(at_end, -1, channel)
        wrong = at_end & (host != pairs[1])
        _note(result.lost, step, pairs, wrong, partial(_wrong_end, model), egress)
        _note(result.off_path, step, pairs, at_end & ~wrong & off_path, _other_path)
        on = ~at_end
        turn = on & (held >= 0)
        if turn.any():
            keys.append(np.unique(held[turn] * channels + channel[turn]))
        source, column, off_path = source[on], column[on], off_path[on]
        held, in_port, node = channel[on].astype(np.int64), fabric.head_port[channel[on]], model.egress_to[egress[on]]
    _note(result.lost, model.nodes, (source, block[column]), source >= 0, partial(_endless, model), node)
    return sorted(set(column.tolist()))


def _note(
    kept: list[Trouble],
    step: int,
    pairs: tuple[NDArray[np.int64], NDArray[np.int64]],
    which: NDArray[np.bool_],
    why: Callable[..., str],
    *details: NDArray[np.integer],
) -> None:
    """Record the pairs that `which` masks, with `details` as the arguments of `why` for each."""
    if which.any():
        kept.append(Trouble(step, pairs[0][which], pairs[1][which], why, tuple(detail[which] for detail in details)))


def _settle_floods(
    model: Forwarding,
    pin: NDArray[np.int32],
    senders: NDArray[np.unsignedinteger] | None,
    block: NDArray[np.int64],
    result: Unicast,
) -> None:
    """Record flooded frames that do not arrive as lost, by following every copy."""
    usable = ~model.egress_down
    flooded: dict[int, list[int]] = {}
    column = {d: at for at, d in enumerate(block.tolist())}
    for s, d in result.floods:
        if d in column:
            flooded.setdefault(d, []).append(s)
    for d, sources in sorted(flooded.items()):
        pinned = pin[:, column[d]][model.egress_node]
        allowed = usable & np.where(pinned == NO_ENTRY, model.egress_floods, pinned == model.egress_port)
        alike = [np.array(sources, np.int64)] if senders is None else [np.array([s], np.int64) for s in sources]
        unheard = [_unheard_of(model, allowed & ~_into_strange(model, senders, some[0]), d, some) for some in alike]
        lost = np.concatenate(unheard)
        pairs = lost, np.full(len(lost), d)
        _note(result.lost, model.nodes, pairs, lost >= 0, _unheard)


def _unheard_of(model: Forwarding, allowed: NDArray[np.bool_], d: int, sources: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sources of whose flooded frames no copy arrives at host `d` over the egresses `allowed`, bool[R]."""
    before, after = model.steps(allowed)
    arrivals = np.flatnonzero(allowed & (model.egress_host == d))
    good = reached(len(model.egress_node), after, before, arrivals)  # backwards from the egresses to the host
    host, first = model.injections(allowed)
    return np.setdiff1d(sources, host[good[first]])


def _into_strange(
    model: Forwarding, senders: NDArray[np.unsignedinteger] | None, source: np.int64
) -> NDArray[np.bool_]:
    """Return which egresses lead to a switch that drops the frames of `source` there, bool[R]."""
    if senders is None:
        return np.zeros(len(model.egress_node), np.bool_)
    own = np.where(model.egress_to == NOWHERE, NO_ENTRY, senders[source][model.egress_to])
    strange: NDArray[np.bool_] = (own != NO_ENTRY) & (own != model.fabric.head_port[model.egress_channel])
    return strange


def _follow_copies(
    model: Forwarding,
    pin: NDArray[np.int32],
    block: NDArray[np.int64],
    columns: list[int],
    result: Unicast,
    keys: list[NDArray[np.int64]],
) -> None:
    """Add the turns of all copies of frames to some hosts of a block, and a cycle that they go round.

    Where all ports flood, the turns of entries are among those of a flood; where some do not, they must be followed.
    """
    channels = max(1, len(model.fabric.tail))
    for column in columns:
        pinned = pin[:, column][model.egress_node]
        allowed = np.where(pinned == NO_ENTRY, model.egress_floods, pinned == model.egress_port)
        host, first = model.injections(allowed)
        before, after, _ = model.followed(allowed, np.unique(first[host != block[column]]))
        result.storm = result.storm or find_cycle(len(allowed), before, after)
        held, wanted = model.egress_channel[before].astype(np.int64), model.egress_channel[after].astype(np.int64)
        links = (held >= 0) & (wanted >= 0)
        keys.append(np.unique(held[links] * channels + wanted[links]))


def _node(model: Forwarding, node: int) -> str:
    return f"{model.fabric.switches[model.node_switch[node]].name} in VLAN {model.node_vlan[node]}"


def _unheard() -> str:
    return "flooded, and no copy arrives"


def _strange(model: Forwarding, node: int, port: int) -> str:
    name = own_name(model.fabric, int(model.node_switch[node]), port)
    return f"dropped at {_node(model, node)}: the sender is pinned at port {name} there"


def _flooded(model: Forwarding, node: int) -> str:
    return f"flooded at {_node(model, node)}"


def _stuck(model: Forwarding, node: int, port: int) -> str:
    fabric, switch = model.fabric, int(model.node_switch[node])
    channel = int(fabric.port_channel[switch, port])
    link = "" if channel < 0 or fabric.channel_up[channel] else ": the link there is declared down"
    return f"dropped at {_node(model, node)}: the entry's port {own_name(fabric, switch, port)} leads nowhere{link}"


def _wrong_end(model: Forwarding, egress: int) -> str:
    node = int(model.egress_node[egress])
    name = own_name(model.fabric, int(model.node_switch[node]), int(model.egress_port[egress]))
    return f"led out of port {name} of {_node(model, node)}, where that host is not"


def _other_path() -> str:
    return "another path than planned"


def _endless(model: Forwarding, node: int) -> str:
    return f"goes round for ever by {_node(model, node)}"


def _dropped(model: Forwarding, source: int, channel: int) -> str:
    fabric = model.fabric
    if channel < 0:
        host = fabric.hosts[source]
        return f"dropped on entering {port_name(fabric, host.switch, host.port)}"
    return f"dropped on entering {port_name(fabric, int(fabric.head[channel]), int(fabric.head_port[channel]))}"
