"""Detours beside given trees: an order that all their paths ascend, and trees along it around each failure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np

from tagloom import platforms
from tagloom.graph.cycles import ranks
from tagloom.graph.trees import rooted_at
from tagloom.records.routes import DetourTrees
from tagloom.records.switch_state import MAX_VLAN
from tagloom.route.any_order.detours import (
    OUTSIDE,
    along,
    ascending,
    chosen,
    fitting,
    needed,
    rerooted,
    shared_trees,
)
from tagloom.route.any_order.orders import ordered
from tagloom.route.any_order.own_detours import own_detours
from tagloom.route.any_order.plan import trees_along
from tagloom.route.any_order.protect import failures, no_failure, protect
from tagloom.route.any_order.relieve import relieved
from tagloom.route.net import lay_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes
    from tagloom.records.switch_state import FabricState
    from tagloom.route.any_order.detours import Along
    from tagloom.route.net import Net

# Roots of each shared tree: MOST_TRIED by the switches and channels that each is grown over, but LEAST_ROOTS
LEAST_ROOTS, MOST_TRIED = 4, 1 << 25
PARTS = (4, 2, 1)  # trees over which one source's detours around equally distant links are distributed, if they fit
ENOUGH = 1.3  # times the largest load without a failure: after each failure, where `--prefer load` finds it
STARTS = 16  # orders that a search begins from


@dataclass(frozen=True, slots=True, eq=False)
class DetourLimits:
    """The number of detours, and for whom they are.

    most    trees that may be added
    parts   0: sources and failures share trees; else each source has its own, in so many for links equally far from it
    enough  where not infinite: trees for one source and failure are added while some failure leaves a load of more than
            so many times that without a failure
    table   the entries that each switch holds, int64[N]: only detours that surely fit are kept, the most used first
    kept    whether frames keep a VLAN along the sources' trees, so that these serve as detours of other sources, too
    broadcasts  the links of a tree that all broadcasts take without a failure; none if they go the sources' ways
    """

    most: int
    parts: int = 0
    enough: float = np.inf
    table: NDArray[np.int64] | None = None
    kept: bool = True
    broadcasts: frozenset[int] = frozenset()


def detour_limits(
    fabric: Fabric, routes: Routes, vlans: int, *, own: bool, renamed: FabricState | None = None
) -> list[DetourLimits]:
    """Return the numbers of detours to try beside so many VLANs, until one fits the models; the last adds none.

    A VLAN that all sources share takes an entry for every host at each switch. Where an eighth of the sources' VLANs
    would fill a table so, only as many are tried as surely fit. `renamed` is the state of VLANs that are renamed at
    each switch, beside which no detour shares a VLAN or an entry. Where paths are no trees, all sources share detours.
    """
    most, several = _room(fabric, vlans), max(1, len(fabric.networks))
    table = np.array([platforms.of(switch).mac_table for switch in fabric.switches], np.int64)
    if renamed is not None:
        table -= [len(renamed[switch.name].entry_vlan) for switch in fabric.switches]
    few = [DetourLimits(most, table=table // several), DetourLimits(0, table=0 * table)]
    attempts: list[DetourLimits] = []
    if 8 * int(table.min()) >= vlans * len(fabric.hosts):
        if own and routes.parent is not None:
            attempts += [DetourLimits(most, parts, enough=ENOUGH) for parts in PARTS]
            attempts += [DetourLimits(limit, enough=ENOUGH) for limit in (most, most // 2, most // 4)]
        attempts += [DetourLimits(limit) for limit in (most, most // 2, most // 8)]
    return [replace(limits, kept=renamed is None) for limits in attempts + few]


def _room(fabric: Fabric, vlans: int) -> int:
    """Return how many more VLANs every switch can hold; VLAN 1 counts."""
    models = [platforms.of(switch) for switch in fabric.live]
    ids = min(min(model.max_vlan_id, MAX_VLAN) for model in models) - fabric.first_vlan + 1
    return max(0, min(ids, min(model.max_vlans for model in models) - 1) - vlans)


def order_beside(
    fabric: Fabric,
    dependencies: tuple[NDArray[np.int64], NDArray[np.int64]],
    kind: str,
    effort: int = 1,
    seed: int = 0,
) -> tuple[NDArray[np.int32], int]:
    """Return the channels in an order that ascends along given dependencies and leaves room for detours, int32[m].

    Also return how many pairs of switches it leaves unprotected, over all failures. `dependencies` are (held, wanted)
    and stay allowed. Raises ValueError if they close a cycle.
    """
    net = lay_out(fabric)
    order, locked = ascended(fabric, net, dependencies)
    turned, left = protect(net, order, failures(net, kind), effort, seed, locked)
    return net.channel[turned], left


def trees_beside(
    fabric: Fabric, dependencies: tuple[NDArray[np.int64], NDArray[np.int64]], effort: int = 1, seed: int = 0
) -> Routes | None:
    """Return trees of paths along an order that the (held, wanted) `dependencies` of other paths ascend, too.

    So frames on those and frames on these cannot wait for each other in a cycle. Dependencies of channels that are down
    count for nothing: no frame holds one. None where no such order is found, or where the dependencies close a cycle.
    Raises PlanError if two hosts are not connected.
    """
    net = lay_out(fabric)
    alive = np.isin(dependencies, net.channel).all(axis=0)
    held, wanted = dependencies[0][alive], dependencies[1][alive]
    try:
        order, locked = ascended(fabric, net, (held, wanted))
    except ValueError:
        return None
    what = no_failure(net)
    for start in chain([order], _other_orders(net, held, wanted, seed)):
        turned, left = protect(net, start, what, effort, seed, locked)
        if not left:
            return trees_along(fabric, net.channel[turned], "beside the paths that run", effort, seed)
    return None


def _other_orders(
    net: Net, held: NDArray[np.int64], wanted: NDArray[np.int64], seed: int
) -> Iterator[NDArray[np.int32]]:
    """Yield orders that dependencies ascend, drawn at random."""
    rng = np.random.default_rng(seed)
    graph = nx.DiGraph()
    graph.add_nodes_from(range(len(net.channel)))
    graph.add_edges_from(np.searchsorted(net.channel, np.stack([held, wanted], axis=1)).tolist())
    for _ in range(STARTS):
        drawn = rng.random(len(net.channel))
        yield np.array(list(nx.lexicographical_topological_sort(graph, key=drawn.__getitem__)), np.int32)


def ascended(
    fabric: Fabric, net: Net, dependencies: tuple[NDArray[np.int64], NDArray[np.int64]]
) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return an order of a net's channels that dependencies ascend, and their turns as `protect` locks them.

    Raises ValueError if they close a cycle.
    """
    held, wanted = dependencies
    rank = ranks(len(fabric.tail), held, wanted)[net.channel]
    order = np.argsort(rank, kind="stable").astype(np.int32)
    number = np.full(len(fabric.tail), -1, np.int64)
    number[net.channel] = np.arange(len(net.channel))
    slot = np.empty(len(net.channel), np.int64)
    slot[net.out] = np.arange(len(net.out)) - net.out_start[net.tail[net.out]]
    locked = np.zeros((len(net.channel), int(np.diff(net.out_start).max(initial=0))), np.bool_)
    before, after = number[held], number[wanted]
    inside = (before >= 0) & (after >= 0)
    locked[before[inside], slot[after[inside]]] = True
    return order, locked


def find_detours_of_networks(
    fabric: Fabric, routes: Routes, order: NDArray[np.int32], kind: str, limits: DetourLimits
) -> list[DetourTrees]:
    """Return what `find_detours` does for each network, along one order that the paths of all of them ascend.

    The limit of added trees is that of all: small networks choose first, and leave what they do not need to the others.
    Detours of a network with links of its own take those alone. A network in a given VLAN has none: its hosts send with
    that id, and no switch gives their frames another.
    """
    several, left = list(zip(fabric.by_network, fabric.networks.items(), strict=True)), limits.most
    found: dict[int, DetourTrees] = {}
    for waiting, i in zip(
        range(len(several), 0, -1),
        np.argsort([len(hosts) for _, (_, hosts) in several], kind="stable").tolist(),
        strict=True,
    ):
        part, (name, hosts) = several[i]
        barred = np.flatnonzero(fabric.barred.get(name, np.zeros(0)))
        mine, most_here = routes.of_hosts(hosts), 0 if name in dict(fabric.tags) else left // waiting
        own = _of_network(part, mine, order, (kind, replace(limits, most=most_here)), barred)
        found[i] = _kept(own) if name in dict(fabric.tags) else own
        left -= found[i].added
    return [found[i] for i in range(len(several))]


def _of_network(
    fabric: Fabric, routes: Routes, order: NDArray[np.int32], what: tuple[str, DetourLimits], barred: NDArray[np.int64]
) -> DetourTrees:
    """Return the detours of one network that may not use the links `barred`, around every failure of the fabric."""
    if not len(barred):
        return find_detours(fabric, routes, order, *what)
    less, net = fabric.with_links_down(barred.tolist()), lay_out(fabric)
    own = find_detours(less, routes, order[np.isin(order, lay_out(less).channel)], *what)
    links = np.unique(net.channel // 2).astype(np.int32)
    switches = net.switch if what[0] == "switch" else net.switch[:0]
    choice = np.full((len(links) + len(switches), routes.sources), -1, np.int32)
    rows = np.searchsorted(links, own.links), len(links) + np.searchsorted(switches, own.switches)
    choice[np.concatenate(rows)] = own.choice
    return replace(own, links=links, switches=switches, choice=choice)


def _kept(trees: DetourTrees) -> DetourTrees:
    """Return no detours around the same failures."""
    return replace(
        trees,
        root=trees.root[:0],
        parent=trees.parent[:0],
        choice=np.full_like(trees.choice, -1),
        unserved=0,
        added=0,
    )


def find_detours(
    fabric: Fabric, routes: Routes, order: NDArray[np.int32], kind: str, limits: DetourLimits
) -> DetourTrees:
    """Return detours for each source whose tree breaks at a single failure, along an order that all its paths ascend.

    `order` lists the channels that are up; `kind` is "link" or "switch". Own trees of a source have short paths: more
    parts mean more trees and less load after a failure. Raises PlanError if the routes are not trees and each source
    is to have its own.
    """
    net = lay_out(fabric)
    what = failures(net, kind)
    local = np.searchsorted(net.channel, order).astype(np.int32)
    climbing = ordered(net, local)
    paths = along(climbing, local, what)
    number = np.full(len(fabric.switches), -1, np.int32)
    number[net.switch] = np.arange(len(net.switch))
    place = np.full(len(fabric.tail) + 1, OUTSIDE, np.int32)
    place[order] = np.arange(len(order))
    sources = number[routes.root]

    def trees_of(parent: NDArray[np.int32]) -> NDArray[np.int32]:
        trees = place[np.where(parent >= 0, parent, len(fabric.tail))][:, net.switch]
        trees[np.arange(len(sources)), sources] = -1
        return ascending(paths, trees)

    if routes.parent is None and not limits.parts and np.isinf(limits.enough):
        trees = np.empty((0, len(net.switch)), np.int32)
        wanted = _needed_by_relation(net, paths, routes, place, number)
    else:
        trees = trees_of(routes.trees)
        wanted = needed(paths, sources, trees)
    if limits.broadcasts:
        wanted |= needed(paths, sources, trees_of(rooted_at(fabric, limits.broadcasts, routes.root)))
    weight = np.outer(np.bincount(routes.source_of_host, minlength=len(sources)), net.weight)
    weight[np.arange(len(sources)), sources] = 0.0
    if limits.parts:
        grown, taken = own_detours(paths, sources, weight, trees, wanted, limits.most, limits.parts)
        added, shared = len(grown), 0
    else:
        pool, choice, own = _shared(paths, net, (sources, trees, wanted), limits)
        rows = np.where(choice >= 0, np.arange(len(sources))[:, None] * len(pool) + choice, -1)
        different = np.unique(rows[rows >= 0])
        taken = np.where(rows >= 0, np.searchsorted(different, rows), -1).astype(np.int32)
        k, t = np.divmod(different, max(1, len(pool)))
        grown = np.array([rerooted(paths, pool[b], sources[a]) for a, b in zip(k, t, strict=True)], np.int32)
        grown = grown.reshape(len(different), len(net.switch))
        added, shared = len(np.unique(choice[choice >= own])), len(grown)
    if np.isfinite(limits.enough) and added < limits.most:
        first = len(grown)
        grown, taken = relieved(
            paths, (sources, weight, trees, wanted), (grown, taken), shared, limits.most - added, limits.enough
        )
        used = np.unique(taken[taken >= 0])
        added += int(np.count_nonzero(used >= first))
        grown, taken = grown[used], np.where(taken >= 0, np.searchsorted(used, taken), -1).astype(np.int32)
    if limits.table is not None and len(grown):
        uses = np.bincount(taken[taken >= 0], minlength=len(grown))
        kept = fitting(paths, trees if limits.kept else trees[:0], grown, net.weight, uses, limits.table[net.switch])
        taken = np.where((taken >= 0) & kept[taken], np.cumsum(kept)[taken] - 1, -1).astype(np.int32)
        grown = grown[kept]
    made_for = np.zeros(len(grown), np.int64)
    k, f = np.nonzero(taken >= 0)
    made_for[taken[k, f]] = k
    parent = np.full((len(grown), len(fabric.switches)), -1, np.int32)
    parent[:, net.switch] = np.where(grown >= 0, order[grown], -1)
    return DetourTrees(
        links=np.unique(net.channel // 2).astype(np.int32),
        switches=net.switch if kind == "switch" else net.switch[:0],
        root=routes.root[made_for],
        parent=parent,
        choice=np.ascontiguousarray(taken.T),
        unserved=int((wanted & (taken < 0)).sum()),
        added=added,
    )


def _needed_by_relation(
    net: Net, paths: Along, routes: Routes, place: NDArray[np.int32], number: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return what `needed` does for paths that follow from in-channel and destination, bool[S, F].

    `place` and `number` give the position of each of the fabric's channels in the order, and the net's switches.
    """
    relation, count = routes.relation, len(paths.reach)
    assert relation is not None  # noqa: S101 - routes without trees have one
    lost = np.zeros((routes.sources, count), np.bool_)
    source, target = np.repeat(np.arange(routes.sources), len(net.target)), np.tile(net.target, routes.sources)
    root, channel = number[routes.root], relation.first[source, net.switch[target]]
    bit = np.uint64(1) << (np.arange(len(net.switch), dtype=np.uint64) & np.uint64(63))

    def lose(failure: NDArray[np.int32], where: NDArray[np.bool_]) -> None:
        f, k, t = failure[where], source[where], target[where]
        connected = (paths.reach[f, root[k], t >> 6] & bit[t]) > 0
        lost[k[connected], f[connected]] = True

    while (on := channel >= 0).any():
        source, target, channel = source[on], target[on], channel[on]
        position = place[channel]
        lose(paths.first[position], np.ones(len(position), np.bool_))
        through = paths.links + paths.head[position]
        lose(through, (through < count) & (paths.head[position] != target))
        channel = relation.following[channel, net.switch[target]]
    return lost


def _shared(
    paths: Along,
    net: Net,
    needs: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.bool_]],
    limits: DetourLimits,
) -> tuple[NDArray[np.int32], NDArray[np.int32], int]:
    """Return shared trees int32[T, n], the one of each (source, failure) int32[S, F], and how many are the sources'.

    `needs` are the sources, their trees, and for which (source, failure) a detour is wanted.
    """
    sources, trees, wanted = needs
    base = np.unique(trees if limits.kept else trees[:0], axis=0)
    left = wanted & (chosen(paths, sources, net.weight, wanted, base) < 0)
    roots = max(LEAST_ROOTS, MOST_TRIED // max(1, len(net.switch) * len(net.channel)))
    pool = np.concatenate([base, shared_trees(paths, sources, left, limits.most, roots)])
    return pool, chosen(paths, sources, net.weight, wanted, pool), len(base)
