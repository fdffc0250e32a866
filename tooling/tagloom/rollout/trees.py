"""Find spanning trees whose turns close no cycle with paths in use, and chains of trees from one to another.

Two trees that differ by one link are acyclic together if and only if the removed and the added link share a switch: of
the cycle that both close, one tree lacks the turns at the ends of the one link, the other those at the ends of the
other. Beside an acyclic path set there nearly always is such a tree, but not always: finding none is a valid result.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.search import hops_from
from tagloom.records.host_entries import with_all_addresses
from tagloom.records.switch_state import OWNED_VLAN_NAME, Frames, Membership, SwitchState
from tagloom.rollout.acyclic import Acyclic, acyclic, together, tree_turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState
    from tagloom.rollout.acyclic import Edges

    Tree = NDArray[np.bool_]

RANDOM_ORDERS = 32  # tried after the breadth-first ones; the research found a tree in these whenever there was one
ROOTS = 64  # tried at most, evenly spread
TURNING = 4  # tried before them, for each path set
LONGEST_CHAIN = 200  # most trees of a chain of slides that are compared with one another


def trees_beside(fabric: Fabric, usable: NDArray[np.bool_], *bases: Edges) -> Iterator[Tree]:
    """Yield trees of `usable` links that connect all hosts, each acyclic together with every one of `bases` by itself.

    Greedy, along breadth-first orders of the links and then random ones: a link is taken unless its turns close a
    cycle. Finding none does not prove that there is none.
    """
    wanted = np.zeros(len(fabric.switches), np.bool_)
    wanted[fabric.host_switch] = True
    degree = np.bincount(fabric.tail[np.repeat(usable, 2)], minlength=len(wanted)).astype(np.int64)
    room = int((degree * (degree - 1)).sum())
    for links in _orders(fabric, usable, np.flatnonzero(wanted), bases):
        tree = Acyclic(len(fabric.tail), bases, room).grow_tree(fabric, links, wanted)
        if _joins(fabric, tree, wanted):
            yield tree


def chain(
    fabric: Fabric, usable: NDArray[np.bool_], old: Edges, new: Edges, foreign: Edges | None = None
) -> list[Tree] | None:
    """Return few trees, of a chain of slides, that lead from paths `old` to paths `new`; None if none is found.

    A chain goes from a tree beside `old` to one beside `new`, one link at a time, each to a neighbouring place on its
    cycle. Then trees are left out wherever each stays acyclic with the one before it and the one after, and with
    `foreign` frames at each step.
    """
    best: list[Tree] | None = None
    if foreign is not None:
        old, new = together(old, foreign), together(new, foreign)
    for first, last in _few_pairs(fabric, usable, old, new):
        trees = [first, *_slides(fabric, first, last)]
        if len(trees) > LONGEST_CHAIN:
            continue
        kept = _shortened(fabric, trees, old, new, foreign)
        if kept is not None and (best is None or len(kept) < len(best)):
            best = kept
        if best is not None and len(best) <= 2:
            break
    return best


def tree_state(fabric: Fabric, tree: Tree, vlan: int, *, pinned: bool = True) -> FabricState:
    """Return the states for a tree: one VLAN, tagged between switches, an entry for every address if `pinned`.

    They hold nothing else: VLAN 1 without members, and the hosts' PVIDs. Frames to an uplink without an address flood.
    """
    parent, order = _rooted(fabric, tree, int(fabric.host_switch[0]))
    switches = len(fabric.switches)
    up = np.where(parent >= 0, fabric.head_port[parent], 0)  # towards the root, seen from the child
    towards = np.repeat(up[:, None], switches, axis=1)  # [switch, target switch] -> port
    below, here = order, order
    while len(below := below[going := parent[here] >= 0]):
        channel = parent[here[going]]
        here = fabric.tail[channel].astype(np.int64)
        towards[here, below] = fabric.tail_port[channel]
    by_mac = np.argsort(fabric.host_mac)
    by_mac = by_mac[fabric.host_mac[by_mac] > 0]
    state: FabricState = {}
    on_tree = np.zeros(switches, np.bool_)
    on_tree[order] = True
    for s, switch in enumerate(fabric.switches):
        ports = fabric.ports[s]
        row = np.zeros((1, ports), np.uint8)
        links = fabric.port_channel[s, 1 : ports + 1]
        row[0, (links >= 0) & np.append(tree, False)[np.where(links >= 0, links // 2, -1)]] = Membership.TAGGED
        mine = fabric.host_port[fabric.host_switch == s] - 1
        row[0, mine] = Membership.UNTAGGED
        pvid = np.ones(ports, np.int32)
        pvid[mine] = vlan
        exists = bool(on_tree[s])
        out = towards[s, fabric.host_switch[by_mac]]
        out[fabric.host_switch[by_mac] == s] = fabric.host_port[by_mac[fabric.host_switch[by_mac] == s]]
        rows = np.arange(len(by_mac)) if exists and pinned else np.empty(0, np.int64)
        state[switch.name] = SwitchState(
            vlans=np.array([1, vlan] if exists else [1], np.int32),
            vlan_names=("", OWNED_VLAN_NAME) if exists else ("",),
            membership=np.concatenate([np.zeros((1, ports), np.uint8), row])
            if exists
            else np.zeros((1, ports), np.uint8),
            mode=np.zeros(ports, np.uint8),
            pvid=pvid,
            ingress_filter=np.ones(ports, np.bool_),
            frames=np.full(ports, Frames.TAGGED_ONLY, np.uint8),
            enabled=np.ones(ports, np.bool_),
            negotiation=np.ones(ports, np.bool_),
            speed_mbps=np.zeros(ports, np.int32),
            flow_control=np.zeros(ports, np.uint8),
            eee=np.zeros(ports, np.bool_),
            port_spanning_tree=np.ones(ports, np.bool_),
            lag=np.zeros(ports, np.int32),
            flooding=np.ones(ports, np.bool_),
            learning=np.ones(ports, np.bool_),
            entry_vlan=np.full(len(rows), vlan, np.int32),
            entry_mac=fabric.host_mac[by_mac][rows],
            entry_port=out[rows].astype(np.int32),
        )
    return with_all_addresses(fabric, state)


def _orders(
    fabric: Fabric, usable: NDArray[np.bool_], roots: NDArray[np.int64], bases: Sequence[Edges]
) -> Iterator[NDArray[np.int64]]:
    """Yield orders of the links: breadth first, then random.

    Among many roots those come first at which the paths turn in most ways: a tree fits beside up*/down* paths if it is
    rooted where they are (lemma 8), and only there are all turns legal.
    """
    links = np.flatnonzero(usable)
    chosen = roots[np.linspace(0, len(roots) - 1, min(ROOTS, len(roots))).astype(np.int64)]
    first: list[int] = []
    if len(roots) > ROOTS:
        for held, _ in bases:
            turns = np.bincount(fabric.head[held], minlength=len(fabric.switches))[roots]
            first += roots[np.argsort(-turns, kind="stable")[:TURNING]].tolist()
    for root in dict.fromkeys([*first, *np.unique(chosen).tolist()]):
        depth = _hops(fabric, usable, root)
        ends = depth[fabric.tail[2 * links]], depth[fabric.head[2 * links]]
        yield links[np.lexsort((np.maximum(*ends), np.minimum(*ends)))]
    chance = np.random.default_rng(0)  # the same orders in every run: a rollout must come out the same
    for _ in range(RANDOM_ORDERS):
        yield chance.permutation(links)


def _hops(fabric: Fabric, usable: NDArray[np.bool_], root: int) -> NDArray[np.int64]:
    channels = np.repeat(usable, 2)
    return hops_from(len(fabric.switches), fabric.tail[channels], fabric.head[channels], root)


def _joins(fabric: Fabric, tree: Tree, wanted: NDArray[np.bool_]) -> bool:
    root = int(np.flatnonzero(wanted)[0])
    return bool(np.all(_hops(fabric, tree, root)[wanted] < len(fabric.switches)))


def _rooted(fabric: Fabric, tree: Tree, root: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a tree rooted at `root`: the channel into each switch, -1 if none, and the switches it reaches."""
    depth = _hops(fabric, tree, root)
    parent = np.full(len(fabric.switches), -1, np.int64)
    channels = np.flatnonzero(np.repeat(tree, 2))
    down = channels[depth[fabric.tail[channels]] < depth[fabric.head[channels]]]
    parent[fabric.head[down]] = down
    return parent, np.flatnonzero(depth < len(fabric.switches))


def _few_pairs(fabric: Fabric, usable: NDArray[np.bool_], old: Edges, new: Edges) -> Iterator[tuple[Tree, Tree]]:
    """Yield a few pairs of a tree beside `old` and one beside `new`, those from the same order first."""
    starts, ends = ([*_first(trees_beside(fabric, usable, base), 4)] for base in (old, new))
    for far in range(len(starts) + len(ends) - 1):
        for i in range(len(starts)):
            if 0 <= far - i < len(ends):
                yield starts[i], ends[far - i]


def _first(trees: Iterator[Tree], most: int) -> list[Tree]:
    found: list[Tree] = []
    for tree in trees:
        if not any(np.array_equal(tree, other) for other in found):
            found.append(tree)
        if len(found) == most:
            break
    return found


def _slides(fabric: Fabric, first: Tree, last: Tree) -> Iterator[Tree]:
    """Yield trees from one to another, each step one link removed and a neighbouring one of its cycle added.

    A missing link of `last` closes a cycle with the tree, which has a link that `last` lacks: the gap moves along the
    cycle from one to the other, the shorter way round. Trees need not reach switches without hosts. A link to a switch
    outside the tree closes no cycle and is added alone; links to switches that `last` leaves out are removed at the
    end.
    """
    tree = first.copy()
    for e in np.flatnonzero(last & ~first).tolist():
        cycle = _cycle(fabric, tree, e)  # the links in order around the cycle, beginning with e
        if not cycle:
            tree = tree.copy()
            tree[e] = True
            yield tree
            continue
        foreign = [i for i, link in enumerate(cycle) if i and not last[link]]
        forth, back = min(foreign), len(cycle) - max(foreign)
        path = cycle[: forth + 1] if forth <= back else [cycle[0], *reversed(cycle[-back:])]
        for put, take in pairwise(path):
            tree = tree.copy()
            tree[put], tree[take] = True, False
            yield tree
    if (tree & ~last).any():
        yield last


def _cycle(fabric: Fabric, tree: Tree, link: int) -> list[int]:
    """Return the links of the cycle that `link` closes with a tree, in order, `link` first; [] if it closes none."""
    start, goal = int(fabric.head[2 * link]), int(fabric.tail[2 * link])
    parent, reached = _rooted(fabric, tree, start)
    if goal not in reached:
        return []
    path = []
    while goal != start:
        channel = int(parent[goal])
        path.append(channel // 2)
        goal = int(fabric.tail[channel])
    return [link, *reversed(path)]


def _shortened(
    fabric: Fabric, trees: Sequence[Tree], old: Edges, new: Edges, foreign: Edges | None
) -> list[Tree] | None:
    """Return few trees of a chain, each acyclic with its neighbours: from each, the farthest that is."""
    channels = len(fabric.tail)
    turns = [old, *(tree_turns(fabric, tree) for tree in trees), new]
    if foreign is not None:
        turns = [together(each, foreign) for each in turns]
    kept: list[Tree] = []
    here = 0
    while here < len(turns) - 1:
        onward = (there for there in range(len(turns) - 1, here, -1) if acyclic(channels, turns[here], turns[there]))
        here = next(onward, -1)
        if here < 0:
            return None
        kept += [trees[here - 1]] if here < len(turns) - 1 else []
    return kept
