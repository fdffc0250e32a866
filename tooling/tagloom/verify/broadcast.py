"""Follow every copy of every host's broadcast: no storm, each other host once, and the channel dependencies."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.cycles import find_cycle, ranks
from tagloom.verify.looked_up import flooding_alike

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.verify.forwarding import Forwarding

KEPT = 1000  # wrong copies listed; their number is complete
SLICE = 2048  # hosts whose copies are followed at once; bounds memory to steps x SLICE bits
ROWS = 256  # sources whose copies are counted at once, if counting is needed


@dataclass(slots=True)
class Broadcast:
    """The outcome of one broadcast from every host.

    storm       the egresses of a cycle that copies follow, [] if there is none
    once        whether each host's broadcast reaches every other host once, and never returns to it
    wrong       (source, destination, copies) if copies is not 1; the sender itself must get none; the first KEPT
    wrongs      their number, if they were counted
    down        egresses by which copies enter links that the fabric declares down
    held, wanted  channel dependencies of all copies, each once
    """

    storm: list[int] = field(default_factory=list)
    once: bool = False
    wrong: list[tuple[int, int, int]] = field(default_factory=list)
    wrongs: int = 0
    down: list[int] = field(default_factory=list)
    held: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    wanted: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))


def flood(
    model: Forwarding, *, group_entries: bool = True, repeats: bool = True, everywhere: bool = False
) -> Broadcast:
    """Return the outcome of a flood from every host; entries for the broadcast address narrow a node's flood.

    Copies are counted on the graph of egresses: it has no cycle that a frame can reach exactly if there is no storm
    (IEEE 802.1Q forwarding has no hop limit). With `group_entries` off the flood is that of every other group address
    and of unicasts no switch knows; only its storm and dependencies are found, no copies are counted. Without `repeats`
    only broadcasts that miss a host are counted, not those that arrive several times. With `everywhere` ports that
    flood nothing are taken to flood as well, which covers whatever entries the model does not know.
    """
    result, fabric = Broadcast(), model.fabric
    egresses, hosts = len(model.egress_node), len(fabric.hosts)
    allowed = np.ones(egresses, np.bool_) if everywhere else model.egress_floods.copy()
    if group_entries:
        allowed = narrowed(model, allowed)
    host, first = model.injections(allowed)
    if not egresses:
        result.wrongs, result.once = hosts * (hosts - 1), hosts < 2
        result.wrong = [(a, b, 0) for a in range(hosts) for b in range(hosts) if a != b][:KEPT]
        return result
    before, after = _follow(model, allowed, np.unique(first), result)
    if result.down:  # frames sent there arrive nowhere
        arrives = ~model.egress_down[before]
        before, after = before[arrives], after[arrives]
    if group_entries and not result.storm:
        once, heard = _heard(model, egresses, (before, after), (host, first))
        result.once = bool(once.all())
        _count(model, (before, after), (host, first), np.flatnonzero(~(once if repeats else heard)), result)
    return result


def without_dropped(model: Forwarding, flooded: Broadcast, strange: Collection[int], *, repeats: bool) -> Broadcast:
    """Return the outcome of broadcasts where some switch may drop frames of the hosts `strange` for their sender.

    `flooded` is the outcome without such drops; its storms and dependencies are kept, though fewer may be left.
    """
    if not strange or flooded.storm:
        return flooded
    kept = [each for each in flooded.wrong if each[0] not in strange]
    result = replace(flooded, wrong=kept, wrongs=flooded.wrongs - len(flooded.wrong) + len(kept))
    hosts, reported = len(model.fabric.hosts), set[int]()
    for senders, allowed in flooding_alike(model, narrowed(model, model.egress_floods), strange):
        if len(senders) != 1 or int(senders[0]) not in strange:
            continue
        host, first = model.injections(allowed)
        mine = host == senders[0]
        before, after, _ = model.followed(allowed, np.unique(first[mine]))
        arrives = ~model.egress_down[before]
        found = Broadcast()
        _count(model, (before[arrives], after[arrives]), (host[mine], first[mine]), senders, found)
        reported.add(int(senders[0]))
        if repeats or any(copies == 0 for _, _, copies in found.wrong):
            result.wrong, result.wrongs = result.wrong + found.wrong, result.wrongs + found.wrongs
    deaf = [(a, b, 0) for a in sorted(set(strange) - reported) for b in range(hosts) if a != b]
    result.wrong, result.wrongs = sorted(result.wrong + deaf)[:KEPT], result.wrongs + len(deaf)
    result.once = flooded.once and not result.wrong
    return result


def narrowed(model: Forwarding, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the egresses of a broadcast, of those `allowed`: entries for the broadcast address narrow a node's."""
    if not len(model.group_node):
        return allowed
    named = np.zeros((model.nodes, max(model.fabric.ports) + 1), np.bool_)
    named[model.group_node, model.group_port] = True
    led = np.isin(model.egress_node, model.group_node)
    return np.where(led, named[model.egress_node, model.egress_port], allowed)


def flood_tagged(model: Forwarding) -> Broadcast:
    """Return the outcome of frames that hosts tag themselves, in every VLAN in which their ports accept them.

    Only the storm and the dependencies are found. Group entries and static entries are ignored: a host may send to any
    address, and a frame that an entry pins takes one of the egresses that a flood takes.
    """
    result = Broadcast()
    if len(model.tag_node):
        allowed = np.ones(len(model.egress_node), np.bool_)
        _follow(model, allowed, np.flatnonzero(model.tagged_injections()), result)
    return result


def flood_from(
    model: Forwarding, nodes: NDArray[np.int64], allowed: NDArray[np.bool_]
) -> tuple[Broadcast, NDArray[np.int64]]:
    """Return the storm and dependencies of floods by hosts that enter at `nodes`, by any port, and copies int64[K].

    Copies take the egresses that `allowed` masks, bool[R]. They are counted at each port of a host, the sender's own
    too; group entries are ignored.
    """
    result = Broadcast()
    who, first = model.leaving(nodes)
    who, first = who[allowed[first]], first[allowed[first]]
    before, after = _follow(model, allowed, np.unique(first), result)
    copies = np.zeros(len(nodes), np.int64)
    if not result.storm:
        below = copies_below(len(allowed), before, after, model.egress_host >= 0)
        np.add.at(copies, who, below[first])
    return result, copies


def copies_below(
    egresses: int, before: NDArray[np.int64], after: NDArray[np.int64], takers: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """Return the number of hosts' ports reached from each egress, itself included, int64[R]; steps are acyclic."""
    height = ranks(egresses, after, before)
    total = takers.astype(np.int64)
    order = np.argsort(height[before], kind="stable")
    bounds = np.searchsorted(height[before][order], np.arange(1, int(height.max(initial=0)) + 2))
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        some = order[low:high]
        np.add.at(total, before[some], total[after[some]])
    return total


def _follow(
    model: Forwarding, allowed: NDArray[np.bool_], start: NDArray[np.int64], result: Broadcast
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Follow copies from the egresses `start`; write storm, dependencies and links that are down to `result`.

    Return the steps taken, as (egress, next egress).
    """
    egresses, channels = len(model.egress_node), max(1, len(model.fabric.tail))
    before, after, live = model.followed(allowed, start)
    result.storm = find_cycle(egresses, before, after)
    result.down = np.flatnonzero(live & model.egress_down).tolist()
    held, wanted = model.egress_channel[before].astype(np.int64), model.egress_channel[after].astype(np.int64)
    links = (held >= 0) & (wanted >= 0)
    keys = np.unique(held[links] * channels + wanted[links])
    result.held, result.wanted = keys // channels, keys % channels
    return before, after


def _heard(
    model: Forwarding,
    egresses: int,
    steps: tuple[NDArray[np.int64], NDArray[np.int64]],
    injections: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whose broadcast reaches each other host exactly once, and whose at least once, without counting pairs.

    H - 1 copies in all, of which each of the H - 1 other hosts gets at least one, are one for each. Both are computed
    for every egress from the next ones: the number of copies, and the set of hosts as bits, SLICE hosts at a time.
    """
    before, after = steps
    hosts = len(model.fabric.hosts)
    height = ranks(egresses, after, before)  # the longest path from each; the next egresses are lower
    order = np.lexsort((before, height[before]))
    before, after = before[order], after[order]
    group = np.flatnonzero(np.diff(before, prepend=-1))  # the first step from each egress that leads on
    parents = before[group]
    ends = np.append(group[1:], len(before))
    levels = np.searchsorted(height[parents], np.arange(1, int(height.max(initial=0)) + 2))
    takers = np.flatnonzero(model.egress_host >= 0)
    taken = model.egress_host[takers]
    host, first = injections
    by_host = np.argsort(host, kind="stable")
    host, first = host[by_host], first[by_host]
    heads = np.flatnonzero(np.diff(host, prepend=-1))

    total = np.zeros(egresses, np.int64)
    total[takers] = 1
    for low, high in pairwise(levels.tolist()):
        part = slice(group[low], ends[high - 1])
        more = total[parents[low:high]] + np.add.reduceat(total[after[part]], group[low:high] - group[low])
        total[parents[low:high]] = np.minimum(more, hosts)  # `hosts` is already one too many; the cap prevents overflow
    enough = np.bincount(host, total[first], hosts) == hosts - 1
    all_heard = np.ones(hosts, np.bool_)
    for start in range(0, hosts, SLICE):
        width = min(SLICE, hosts - start)
        mine = (taken >= start) & (taken < start + width)
        seen = np.zeros((egresses, -(-width // 64)), np.uint64)
        at = taken[mine] - start
        seen[takers[mine], at // 64] = np.uint64(1) << (at % 64).astype(np.uint64)
        for low, high in pairwise(levels.tolist()):
            part = slice(group[low], ends[high - 1])
            seen[parents[low:high]] |= np.bitwise_or.reduceat(seen[after[part]], group[low:high] - group[low], axis=0)
        heard = np.zeros((hosts, seen.shape[1]), np.uint64)
        if len(heads):
            heard[host[heads]] = np.bitwise_or.reduceat(seen[first], heads, axis=0)
        # a host's own copy reaches no other host, so it counts only in the sum
        itself = np.arange(start, start + width)
        heard[itself, (itself - start) // 64] |= np.uint64(1) << ((itself - start) % 64).astype(np.uint64)
        full = np.full(seen.shape[1], ~np.uint64(0))
        full[-1] >>= np.uint64(-width % 64)
        all_heard &= (heard == full).all(axis=1)
    return enough & all_heard, all_heard


def _count(
    model: Forwarding,
    steps: tuple[NDArray[np.int64], NDArray[np.int64]],
    injections: tuple[NDArray[np.int64], NDArray[np.int64]],
    sources: NDArray[np.int64],
    result: Broadcast,
) -> None:
    """Count the copies of these hosts' broadcasts at every host, ROWS sources at a time."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most commands need not wait for

    egresses, hosts = len(model.egress_node), len(model.fabric.hosts)
    # int64, as a renamed plan can deliver millions of copies without a storm
    step = csr_matrix((np.ones(len(steps[0]), np.int64), steps), (egresses, egresses))
    enter = csr_matrix((np.ones(len(injections[0]), np.int64), injections), (hosts, egresses))
    takers = np.flatnonzero(model.egress_host >= 0)
    give = csr_matrix((np.ones(len(takers), np.int64), (takers, model.egress_host[takers])), (egresses, hosts))
    for low in range(0, len(sources), ROWS):
        rows = sources[low : low + ROWS]
        here = enter[rows]
        copies = csr_matrix((len(rows), hosts), dtype=np.int64)
        while here.nnz:
            copies = copies + here @ give
            here = here @ step
        counted = copies.toarray()
        wrong = np.argwhere(counted != (rows[:, None] != np.arange(hosts)))
        result.wrongs += len(wrong)
        room = max(0, KEPT - len(result.wrong))
        result.wrong += [(int(rows[a]), int(b), int(counted[a, b])) for a, b in wrong[:room]]
