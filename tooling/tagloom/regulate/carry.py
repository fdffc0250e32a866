"""Decide whether some links can carry the traffic: a spanning tree for every host, and no dependency cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.regulate.all_trees import choose_trees
from tagloom.regulate.tree_search import available, search

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.regulate.moves import Net
    from tagloom.regulate.tree_search import Sender


@dataclass(frozen=True, eq=False)
class Verdict:
    """An answer: `can`, None if time or size left it open; and the trees, with the tree of each host."""

    can: bool | None
    forest: list[list[int]]
    tree_of_host: NDArray[np.int64]


OPEN = Verdict(None, [], np.zeros(0, np.int64))
NO = Verdict(False, [], np.zeros(0, np.int64))


def carry(
    fabric: Fabric, net: Net, on: Collection[int], limit: float, seconds: float, clock: Callable[[], float]
) -> Verdict:
    """Return a spanning tree of the links `on` for every host, no channel over `limit` bytes at 1 Gb/s, or NO.

    Each host that sends has a tree of its own, and so has each switch whose hosts do not send, since they all take the
    same turns. Every fixed assignment is such a choice (a host's port has one PVID, a VLAN is a tree), so "no" is a
    proof. CP-SAT searches the trees; where OR-Tools is not installed, HiGHS chooses among all of them, if they are few.
    """
    links = [i for i in sorted(on) if fabric.joined[fabric.links[i].a]]
    senders, sender_of_host = senders_of(net)
    if np.any(fabric.joined & ~fabric.with_links_down(set(range(len(fabric.links))) - set(links)).joined):
        return NO
    if available():
        found = search(fabric, net, senders, links, limit, seconds)
        whole = found
        if found:
            whole = [_whole_tree(fabric, net, s, tree, links) for s, tree in zip(senders, found, strict=True)]
    else:
        whole = choose_trees(fabric, net, senders, links, limit, seconds, clock)
    if not whole:
        return OPEN if whole is None else NO
    forest = [list(tree) for tree in sorted(set(map(tuple, whole)))]
    place = [forest.index(tree) for tree in whole]
    return Verdict(True, forest, np.array([place[s] for s in sender_of_host.tolist()]))


def _whole_tree(fabric: Fabric, net: Net, sender: Sender, tree: Sequence[int], links: Sequence[int]) -> list[int]:
    """Return the links of a sender's tree without branches that lead to no hosts.

    With several networks the tree grows to all switches, since hosts of others may send over it as well.
    """
    into = {int(net.head[c]): c for c in tree}
    kept: set[int] = set()
    for v in np.flatnonzero(net.at[sender[2]]).tolist():
        at = v
        while at != sender[0]:
            kept.add(into[at] >> 1)
            at = int(net.tail[into[at]])
    if len(net.at) > 1:
        part = list(range(len(net.target)))
        for i in [*sorted(kept), *(i for i in links if i not in kept)]:
            a, b = part[fabric.links[i].a], part[fabric.links[i].b]
            if a != b:
                part = [a if p == b else p for p in part]
                kept.add(i)
    return sorted(kept)


def senders_of(net: Net) -> tuple[list[Sender], NDArray[np.int64]]:
    """Return (switch, bytes to each switch, network, bytes flooded) of each sender, and each host's sender.

    Senders are the hosts that send, and one host of each switch and network without any. Hosts that do not send share
    the tree of the first sender of their switch and network.
    """
    senders: list[Sender] = []
    of_host = np.full(len(net.total), -1, np.int64)
    first: dict[tuple[int, int], int] = {}
    sends = net.total + net.flood > 0
    for h in [*np.flatnonzero(sends).tolist(), *np.flatnonzero(~sends).tolist()]:
        v, i = int(net.host_switch[h]), int(net.network[h])
        if sends[h] or (v, i) not in first:
            of_host[h] = len(senders)
            first.setdefault((v, i), len(senders))
            senders.append((v, net.flow[h], i, float(net.flood[h])))
        else:
            of_host[h] = first[v, i]
    return senders, of_host
