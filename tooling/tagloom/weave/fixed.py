"""Assign VLANs that a frame keeps on its whole path: one per tree of paths (Koibuchi et al. 2011, Sect. 3.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.switch_state import Membership
from tagloom.weave.draft import Draft
from tagloom.weave.merge import fewest, first_fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import DetourTrees, Routes


def trees(
    fabric: Fabric, routes: Routes, detours: DetourTrees | None = None
) -> tuple[list[frozenset[int]], NDArray[np.int64], NDArray[np.int64]]:
    """Return the trees that need a VLAN each, as sets of links, and those of every source and detour (Steps 1 and 2).

    Branches that lead to no host are cut first, so that sources which differ only there share a tree. Different trees
    share a VLAN if their union is still a tree: then the path between two switches is the same in all of them, so the
    static entries agree too. Two different trees that both reach every switch with hosts never do. Partial trees are
    merged into as few classes as `merge.fewest` finds. A detour shares a VLAN only with an identical tree, so that
    flooding in it makes no other turns.
    """
    distinct, tree_of, conflict = _candidates(fabric, routes)
    place = fewest(conflict, lambda which: _is_tree(fabric, frozenset().union(*(distinct[t] for t in which))))
    merged = [frozenset().union(*(distinct[t] for t in np.flatnonzero(place == m))) for m in range(_classes(place))]
    number = {links: m for m, links in enumerate(merged)}
    of_detour = [
        number.setdefault(frozenset((row[row >= 0] // 2).tolist()), len(number))
        for row in (() if detours is None else _needed(fabric, detours.root, detours.parent))
    ]
    return list(number), place[tree_of], np.array(of_detour, np.int64)


def first_fit_count(fabric: Fabric, routes: Routes) -> int:
    """Return the number of VLANs of the paper's Step 2: whole trees, each merged with the first one it fits."""
    distinct, _, conflict = _candidates(fabric, routes, routes.trees)
    place = first_fit(conflict, lambda which: _is_tree(fabric, frozenset().union(*(distinct[t] for t in which))))
    return _classes(place)


def _classes(place: NDArray[np.int64]) -> int:
    return int(place.max(initial=-1)) + 1


def _candidates(
    fabric: Fabric, routes: Routes, parent: NDArray[np.int32] | None = None
) -> tuple[list[frozenset[int]], NDArray[np.int64], NDArray[np.bool_]]:
    """Return the different trees, the tree of each source int64[S], and which two close a cycle bool[T, T]."""
    number: dict[frozenset[int], int] = {}
    tree_of = np.empty(routes.sources, np.int64)
    for source, row in enumerate(_needed(fabric, routes.root, routes.trees) if parent is None else parent):
        links = frozenset((row[row >= 0] // 2).tolist())
        tree_of[source] = number.setdefault(links, len(number))
    distinct = list(number)
    if parent is None and _all_reached(fabric, routes):
        return distinct, tree_of, ~np.eye(len(distinct), dtype=np.bool_)
    uses = np.zeros((len(distinct), len(fabric.links)), np.float32)
    touches = np.zeros((len(distinct), len(fabric.switches)), np.float32)
    for t, chosen in enumerate(distinct):
        links_of = np.fromiter(chosen, np.int64, len(chosen))
        uses[t, links_of] = 1
        touches[t, fabric.tail[2 * links_of]] = touches[t, fabric.head[2 * links_of]] = 1
    # As many links as switches, or more, close a cycle; only the other pairs need a check.
    conflict = _union_sizes(uses) >= np.maximum(_union_sizes(touches), 1)
    for i, j in np.argwhere(np.triu(~conflict, 1)).tolist():
        conflict[i, j] = conflict[j, i] = not _is_tree(fabric, distinct[i] | distinct[j])
    np.fill_diagonal(conflict, val=False)
    return distinct, tree_of, conflict


def _all_reached(fabric: Fabric, routes: Routes) -> bool:
    """Return whether every tree reaches every switch with hosts; two such trees are equal or close a cycle."""
    targets = np.unique(fabric.host_switch)
    reached = (routes.trees[:, targets] >= 0) | (routes.root[:, None] == targets[None, :])
    return bool(reached.all())


def _union_sizes(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the size of the union of every two sets, given as rows of zeros and ones."""
    size = rows.sum(axis=1)
    return np.asarray(size[:, None] + size[None, :] - rows @ rows.T, np.float32)


def _needed(fabric: Fabric, root: NDArray[np.int32], parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return trees without the branches that lead to no host, int32[S, N]."""
    needed = np.zeros(parent.shape, np.bool_)
    here = np.tile(np.unique(fabric.host_switch), (len(root), 1))
    rows = np.broadcast_to(np.arange(len(root))[:, None], here.shape).ravel()
    here = here.ravel()
    while len(here):  # walk back from all switches with hosts at once, along each branch only while it is new
        unvisited = ~needed[rows, here]
        needed[rows, here] = True
        channel = parent[rows, here]
        on = unvisited & (channel >= 0)
        rows, here = rows[on], fabric.tail[channel[on]]
    return np.where(needed, parent, -1).astype(np.int32)


def _is_tree(fabric: Fabric, links: frozenset[int]) -> bool:
    ends = {s for i in links for s in (fabric.links[i].a, fabric.links[i].b)}
    if len(links) >= len(ends) > 0:
        return False  # as many links as switches close a cycle
    top: dict[int, int] = {s: s for s in ends}
    for i in links:
        a, b = (_find(top, s) for s in (fabric.links[i].a, fabric.links[i].b))
        if a == b:
            return False
        top[a] = b
    return True


def _find(top: dict[int, int], s: int) -> int:
    while top[s] != s:
        top[s] = top[top[s]]
        s = top[s]
    return s


def fixed(
    fabric: Fabric, routes: Routes, first_vlan: int, detours: Sequence[DetourTrees] = ()
) -> tuple[Draft, int, list[NDArray[np.int64]]]:
    """Return the draft of all switches (Steps 3 to 6), the number of VLANs, and each network's VLANs of its `detours`.

    Ports of links are tagged members of the VLANs whose tree uses the link, host ports untagged members of all; a
    host's PVID is the VLAN of its source. A static entry exists at every switch of a path and nowhere else. Trees are
    numbered from `first_vlan`. Every host network has VLANs and detours of its own, whose trees reach its hosts alone.
    A network whose VLAN is given has one tree; ports of hosts that tag its frames are tagged members.
    """
    draft, vlans = Draft(fabric), 0
    vlan_of_detour: list[NDArray[np.int64]] = []
    given = dict(fabric.tags)
    for i, (part, (name, hosts)) in enumerate(zip(fabric.by_network, fabric.networks.items(), strict=True)):
        around, first = detours[i] if detours else None, given.get(name, first_vlan + vlans)
        added, vlan_of = _join_network(draft, part, routes.of_hosts(hosts), first, around)
        vlan_of_detour.append(vlan_of)
        vlans += 0 if name in given else added
    return draft, vlans + len(given), vlan_of_detour


def _join_network(
    draft: Draft, fabric: Fabric, routes: Routes, first_vlan: int, detours: DetourTrees | None
) -> tuple[int, NDArray[np.int64]]:
    """Add the VLANs of one network, numbered from `first_vlan`; return their number and the VLAN of each detour."""
    blocks: list[tuple[NDArray[np.integer], ...]] = []
    links_of, tree_of, of_detour = trees(fabric, routes, detours)
    at_switch = [np.flatnonzero(fabric.host_switch == s) for s in range(len(fabric.switches))] if len(of_detour) else []
    for tree, links in enumerate(links_of):
        vlan = first_vlan + tree
        channels = 2 * np.fromiter(links, np.int64, len(links))
        channels = np.concatenate([channels, channels + 1])
        draft.join(fabric.tail[channels], vlan, fabric.tail_port[channels], Membership.TAGGED)
        on_tree = np.zeros(len(fabric.switches), np.bool_)
        on_tree[routes.root[tree_of == tree]] = True
        on_tree[fabric.tail[channels]] = True
        here = np.flatnonzero(on_tree[fabric.host_switch])
        how = np.where(fabric.host_tag[here] > 0, int(Membership.TAGGED), int(Membership.UNTAGGED))
        draft.join(fabric.host_switch[here], vlan, fabric.host_port[here], how)
        rows = [
            (np.flatnonzero(routes.source_of_host == source), routes.trees[source])
            for source in np.flatnonzero(tree_of == tree).tolist()
        ]
        if detours is not None:
            taking = np.flatnonzero(of_detour == tree).tolist()
            rows += [(at_switch[detours.root[each]], detours.parent[each]) for each in taking]
        switch, target = np.nonzero(port := _ports(fabric, rows))
        blocks.append((switch, np.full(len(switch), vlan), target, port[switch, target]))
    for host, source in zip(fabric.hosts, routes.source_of_host.tolist(), strict=True):
        if not host.tag:
            draft.pvid[host.switch, host.port] = first_vlan + int(tree_of[source])
    switch, vlan_of, target, port = (np.concatenate(column) for column in zip(*blocks, strict=True))
    mac = fabric.host_mac[target]
    order = np.lexsort((port, mac, vlan_of, switch))
    bounds = np.searchsorted(switch[order], np.arange(len(fabric.switches) + 1))
    for s in range(len(fabric.switches)):
        rows_here = order[bounds[s] : bounds[s + 1]]
        draft.enter(s, vlan_of[rows_here], mac[rows_here], port[rows_here])
    return len(links_of), first_vlan + of_detour


def _ports(fabric: Fabric, rows: list[tuple[NDArray[np.int64], NDArray[np.int32]]]) -> NDArray[np.int64]:
    """Return the port towards each host wherever a path of one of the sources needs it, int[N, H], 0 elsewhere.

    `rows` are the sources: the hosts of each, and its tree.
    """
    hosts = np.arange(len(fabric.hosts))
    port = np.zeros((len(fabric.switches), len(hosts)), np.int64)
    for mine, parent in rows:
        reached = parent[fabric.host_switch] >= 0
        reached[fabric.host_switch == fabric.host_switch[mine[0]]] = True
        # a single host sends nothing to itself
        wanted = hosts[reached] if len(mine) > 1 else hosts[reached & (hosts != mine[0])]
        here, out = fabric.host_switch[wanted], fabric.host_port[wanted].astype(np.int64)
        while len(wanted):  # walk back from all hosts at once
            port[here, wanted] = out
            channel = parent[here]
            going = channel >= 0
            wanted, channel = wanted[going], channel[going]
            here, out = fabric.tail[channel], fabric.tail_port[channel].astype(np.int64)
    return port
