"""Assign VLANs that a frame keeps on its whole path: one per tree of paths (Koibuchi et al. 2011, Sect. 3.2.1)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.graph.kernel import kernel_for
from tagloom.records.switch_state import Membership
from tagloom.weave.draft import Draft
from tagloom.weave.entries import PathEntries, needed_channels, note_links
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
    number = {_key(fabric, links): m for m, links in enumerate(merged)}
    of_detour: list[int] = []
    for row, key in zip(*_keyed(fabric, detours), strict=True) if detours is not None else ():
        if key not in number:
            merged.append(frozenset((row[row >= 0] // 2).tolist()))
        of_detour.append(number.setdefault(key, len(number)))
    return merged, place[tree_of], np.array(of_detour, np.int64)


def _key(fabric: Fabric, links: frozenset[int]) -> bytes:
    """Return a set of links as bits."""
    marked = np.zeros(len(fabric.links), np.bool_)
    marked[list(links)] = True
    return np.packbits(marked, bitorder="little").tobytes()


def _keyed(fabric: Fabric, detours: DetourTrees) -> tuple[NDArray[np.int32], list[bytes]]:
    """Return the trees of detours, cut to branches that lead to hosts, and their links as `_key` writes them."""
    parent = _needed(fabric, detours.parent)
    marks = np.zeros((len(parent), -(-len(fabric.links) // 8)), np.uint8)
    kernel_for(note_links, parent.size)(parent, marks)
    return parent, [row.tobytes() for row in marks]


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
    for source, row in enumerate(_needed(fabric, routes.trees) if parent is None else parent):
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


def _needed(fabric: Fabric, parent: NDArray[np.int32]) -> NDArray[np.int32]:
    """Return trees without the branches that lead to no host, int32[S, N]."""
    found = np.empty(parent.shape, np.int32)
    kernel_for(needed_channels, parent.size)(parent, fabric.tail, np.unique(fabric.host_switch), found)
    return found


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
    links_of, tree_of, of_detour = trees(fabric, routes, detours)
    _join_trees(draft, fabric, routes, first_vlan, (links_of, tree_of, of_detour), detours)
    for host, source in zip(fabric.hosts, routes.source_of_host.tolist(), strict=True):
        if not host.tag:
            draft.pvid[host.switch, host.port] = first_vlan + int(tree_of[source])
    return len(links_of), first_vlan + of_detour


def join_detours(
    draft: Draft, fabric: Fabric, routes: Routes, first_vlan: int, detours: DetourTrees
) -> NDArray[np.int64]:
    """Add VLANs that no host's PVID names, one for each different tree of `detours`; return that of each, int64[X].

    They are numbered from `first_vlan`. Frames keep them on the whole path, with tags between switches, also where
    other VLANs of the draft are renamed at each switch.
    """
    nobody = replace(
        routes,
        source_of_host=routes.source_of_host[:0],
        root=routes.root[:0],
        parent=np.empty((0, len(fabric.switches)), np.int32),
        relation=None,
    )
    found = trees(fabric, nobody, detours)
    _join_trees(draft, fabric, nobody, first_vlan, found, detours)
    return first_vlan + found[2]


def _join_trees(
    draft: Draft,
    fabric: Fabric,
    routes: Routes,
    first_vlan: int,
    found: tuple[list[frozenset[int]], NDArray[np.int64], NDArray[np.int64]],
    detours: DetourTrees | None,
) -> None:
    """Add a VLAN for each tree that `trees` found, with its members and static entries."""
    links_of, tree_of, of_detour = found
    entries = PathEntries(fabric, routes.sources + len(of_detour))
    of_source = _lone(routes.source_of_host, routes.sources)
    at_switch = _lone(fabric.host_switch, len(fabric.switches))
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
        mine = tree_of == tree
        parent, home, alone = routes.trees[mine], routes.root[mine], of_source[mine]
        if detours is not None and len(taking := np.flatnonzero(of_detour == tree)):
            parent = np.concatenate([parent, detours.parent[taking]])
            home = np.concatenate([home, root := detours.root[taking]])
            alone = np.concatenate([alone, at_switch[root]])
        entries.add(vlan, parent, home, alone)
        if len(of_detour):  # the caller tries fewer detours at once, before all are counted
            entries.refuse_overflow()
    for s, columns in enumerate(entries.by_switch()):
        draft.enter(s, *columns)


def _lone(place: NDArray[np.int32], places: int) -> NDArray[np.int64]:
    """Return the one host of each place, of those that `place` names by host, int64[places]; -1 of none or several."""
    lone = np.full(places, -1, np.int64)
    at, first, several = np.unique(place, return_index=True, return_counts=True)
    lone[at] = np.where(several == 1, first, -1)
    return lone
