"""Judge the loss of each link or switch where one VLAN holds all paths: entries and floods change, and no PVID."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import find_cycle
from tagloom.graph.entry_channels import NO_CHANNEL, NO_LINK, entry_channels
from tagloom.platforms.port_names import channel_name
from tagloom.records.detours import Detour, taken
from tagloom.records.switch_state import dead_states
from tagloom.records.tagged_ports import without_tags
from tagloom.records.what_if import Loss, WhatIf
from tagloom.verify.broadcast import flood
from tagloom.verify.forwarding import forwarding
from tagloom.verify.interrupted import working_pairs
from tagloom.verify.isolation import leaks
from tagloom.verify.prove import dependencies
from tagloom.verify.single_failures import components, named, single_failures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.leak import Leak
    from tagloom.records.switch_state import FabricState
    from tagloom.verify.single_failures import Part

    Turns = tuple[NDArray[np.int64], NDArray[np.int64]]

WITNESSES = 3  # pairs named per failure


@dataclass(frozen=True, eq=False)
class _Effect:
    """The effect of one failure: bool[H, H] of ordered pairs, and what is wrong.

    joined   the pairs that are alive and connected; before, after  those that work, without and with the detour
    cycle    the channels of a dependency cycle, [] if there is none
    storm, repeated  whether a flood never ends, or comes twice to some host
    load     float64[C], the pairs that pass each channel; hops  their sum
    """

    joined: NDArray[np.bool_]
    before: NDArray[np.bool_]
    after: NDArray[np.bool_]
    cycle: list[int]
    storm: bool
    repeated: bool
    load: NDArray[np.float64]
    hops: int
    leaks: tuple[Leak, ...]


def moved_entries(fabric: Fabric, state: FabricState, kind: str, detours: Sequence[Detour]) -> WhatIf:
    """Return the effects of losing every link, or switch, alone, with entries and floods changed by `detours`.

    The lines of a detour may take effect in any order. So of every switch and destination both the entry before and the
    one after count at once: dependencies are those of all mixtures, beside those of floods before and after. They are
    judged failure by failure, as only one detour is ever taken. Channels of what is dead count for nothing before: no
    frame holds one. A dead link may come back once the detour is taken: then floods must not go round over it. A pair
    works if entries lead its frames and floods join it.
    """
    known = {each.dead: each for each in detours}
    calm = working_pairs(fabric, state)
    load, hops = _load(fabric, entry_channels(fabric, state), calm)
    effects = [(part, _effect(fabric, state, part, known)) for part in single_failures(fabric, kind)]
    losses: list[Loss] = []
    for part, one in effects:
        if (left := one.joined & ~one.after).any():
            names = [host.name for host in fabric.hosts]
            pairs = tuple(f"{names[a]} -> {names[b]}" for a, b in np.argwhere(left)[:WITNESSES].tolist())
            cut, saved = int((fabric.same_network & ~one.joined).sum()), int((one.after & ~one.before).sum())
            losses.append(Loss(named(fabric, part), cut, saved, int(left.sum()), pairs))
    cycle = next((one.cycle for _, one in effects if one.cycle), [])
    several = len(fabric.networks) > 1
    leaking = tuple(dict.fromkeys(leak for _, one in effects for leak in one.leaks))
    changed = [sum(map(len, each.entries.values())) for each in known.values()]
    return WhatIf(
        kind=kind,
        failures=len(effects),
        protected=sum(int((one.joined & one.after).sum()) for _, one in effects),
        unprotected=sum(loss.unprotected for loss in losses),
        saved=sum(int((one.joined & one.after & ~one.before).sum()) for _, one in effects),
        cut_pairs_max=max((int((fabric.same_network & ~one.joined).sum()) for _, one in effects), default=0),
        unprotected_pairs_max=max((loss.unprotected for loss in losses), default=0),
        pvids_max=0,
        deadlock_free=not cycle,
        deadlock_cycle=tuple(channel_name(fabric, c) for c in cycle),
        broadcast_exactly_once=not any(one.repeated for _, one in effects),
        storm_free=not any(one.storm for _, one in effects),
        load_before=int(load.max(initial=0)),
        load_max=max((int(one.load.max(initial=0)) for _, one in effects), default=0),
        hops_before=hops,
        hops_max=max((one.hops for _, one in effects), default=0),
        losses=tuple(losses),
        isolated=not leaking if several else None,
        leaks=leaking,
        entries_max=max(changed, default=0),
    )


def _effect(fabric: Fabric, state: FabricState, part: Part, known: Mapping[tuple[str, ...], Detour]) -> _Effect:
    """Return the effect of one failure, with the detour for it taken if there is one."""
    link, switch = part
    less = fabric.with_links_dead({link}) if link >= 0 else fabric.with_switches_down({switch})
    detour = known.get(named(fabric, part), Detour(named(fabric, part), {}))
    before = {**state, **dead_states(less)}
    after = {**taken(state, fabric, detour), **dead_states(less)}
    label = components(fabric, part)[fabric.host_switch]
    label[fabric.host_switch == switch] = -1
    joined = fabric.same_network & (label[:, None] == label[None, :]) & (label >= 0)[:, None]
    works = _working(less, after)
    turns = [dependencies(less, before), dependencies(less, after), _mixed(less, (before, after))]
    flooded = _floods(less, after)
    back = _floods(fabric, after) if link >= 0 else (False, False)  # what a link that is back does, once it is taken
    load, hops = _load(less, entry_channels(less, after), works)
    return _Effect(
        joined,
        _whole(fabric, less, _working(less, before)),
        _whole(fabric, less, works),
        _cycle(less, turns),
        flooded[0] or back[0],
        flooded[1] or back[1],
        load,
        hops,
        tuple(leaks(forwarding(less, after), after)) if len(fabric.networks) > 1 else (),
    )


def _whole(fabric: Fabric, less: Fabric, pairs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return pairs of the hosts of `less` as pairs of those of `fabric`, bool[H, H]."""
    names = {host.name for host in less.hosts}
    kept = np.array([h for h, host in enumerate(fabric.hosts) if host.name in names], np.int64)
    whole = np.zeros(fabric.same_network.shape, np.bool_)
    whole[np.ix_(kept, kept)] = pairs
    return whole


def _working(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return the ordered pairs that entries lead to each other and that floods join, bool[H, H]."""
    return working_pairs(fabric, state) & _joined_by_floods(fabric, state)


def _joined_by_floods(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return the ordered pairs of one network between whose switches floods pass both ways, bool[H, H]."""
    from scipy.sparse import coo_array  # noqa: PLC0415 - a third of a second few commands need
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415

    joined = np.zeros(fabric.same_network.shape, np.bool_)
    for part, hosts in zip(fabric.by_network, fabric.networks.values(), strict=True):
        model = forwarding(*without_tags(part, state), unicast=False)
        on = np.flatnonzero(model.egress_floods & ~model.egress_down & (model.egress_to >= 0))
        near = coo_array(
            (np.ones(len(on), np.int8), (model.egress_node[on], model.egress_to[on])), (model.nodes, model.nodes)
        )
        label = connected_components(near, directed=True, connection="strong")[1]
        mine = np.where(model.inject >= 0, label[model.inject], -1 - np.arange(len(hosts)))
        joined[np.ix_(hosts, hosts)] = mine[:, None] == mine[None, :]
    return joined & fabric.same_network


def _floods(fabric: Fabric, state: FabricState) -> tuple[bool, bool]:
    """Return whether a flood storms, and whether some comes to a host twice or back to its sender."""
    storm = repeated = False
    for part in fabric.by_network:
        found = flood(forwarding(*without_tags(part, state), unicast=False), repeats=True)
        missed = int((part.same_network & ~_joined_by_floods(part, state)).sum()) if found.wrongs else 0
        storm |= bool(found.storm)
        repeated |= not found.storm and found.wrongs != missed
    return storm, repeated


def _mixed(fabric: Fabric, states: Sequence[FabricState]) -> Turns:
    """Return the dependencies of frames where each entry is that of either state, as (held, wanted).

    Where a frame may come to a switch before the entry for it does, it floods by all ports that flood in either.
    """
    held, wanted = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    entries = [entry_channels(fabric, state) for state in states]
    column = np.arange(len(fabric.hosts))[None, :]
    floods = np.zeros(len(fabric.tail), np.bool_)
    for state in states:
        floods |= [
            bool(state[fabric.switches[s].name].flooding[p - 1])
            for s, p in zip(fabric.tail, fabric.tail_port, strict=True)
        ]
    for first in entries:
        for then in entries:
            at = fabric.head[first] if len(fabric.head) else np.zeros_like(first)
            following = np.where(first >= 0, then[at, column], NO_LINK)
            on = (first >= 0) & (following >= 0) & (following != first ^ 1)  # no frame leaves by its port of arrival
            held.append(first[on])
            wanted.append(following[on])
            astray = np.unique(first[(first >= 0) & (following == NO_CHANNEL)])
            for c in astray.tolist():
                out = np.flatnonzero((fabric.tail == fabric.head[c]) & floods)
                out = out[out != c ^ 1]
                held.append(np.full(len(out), c))
                wanted.append(out)
    return np.concatenate(held), np.concatenate(wanted)


def _cycle(fabric: Fabric, turns: Iterable[Turns]) -> list[int]:
    """Return the channels of a cycle in dependencies together, without those of channels that are down; [] for none."""
    held, wanted = (np.concatenate(column) for column in zip(*turns, strict=True))
    alive = fabric.channel_up[held] & fabric.channel_up[wanted] if len(held) else np.empty(0, np.bool_)
    return find_cycle(max(1, len(fabric.tail)), held[alive], wanted[alive])


def _load(fabric: Fabric, egress: NDArray[np.int64], pairs: NDArray[np.bool_]) -> tuple[NDArray[np.float64], int]:
    """Return how many of the `pairs` pass each channel, float64[C], and the channels on the paths of all together."""
    load = np.zeros(max(1, len(fabric.tail)))
    source, target = np.nonzero(pairs)
    here = fabric.host_switch[source]
    for _ in range(len(fabric.switches)):
        channel = egress[here, target]
        on = channel >= 0
        if not on.any():
            break
        channel, target = channel[on], target[on]
        load += np.bincount(channel, minlength=len(load))
        here = fabric.head[channel]
    return load, int(load.sum())
