"""Assign VLANs that a frame keeps all the way: one per tree of paths (Koibuchi et al. 2011, Sect. 3.2.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.switch_state import Membership
from tagloom.weave.draft import Draft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes


def trees(fabric: Fabric, routes: Routes) -> tuple[list[frozenset[int]], NDArray[np.int64]]:
    """Find the trees that need a VLAN each, and the tree of every source (Steps 1 and 2).

    Sources with equal trees share one. Different trees share one, first fit, where their union is still a tree: then
    the path between two switches is the same in all three, so the static entries agree too.
    """
    distinct: dict[frozenset[int], int] = {}
    tree_of = np.empty(routes.sources, np.int64)
    for source, row in enumerate(routes.trees):
        links = frozenset((row[row >= 0] // 2).tolist())
        tree_of[source] = distinct.setdefault(links, len(distinct))
    merged: list[frozenset[int]] = []
    place = np.empty(len(distinct), np.int64)
    for links, number in distinct.items():
        for m, tree in enumerate(merged):
            if _is_tree(fabric, tree | links):
                merged[m] = tree | links
                place[number] = m
                break
        else:
            place[number] = len(merged)
            merged.append(links)
    return merged, place[tree_of]


def _is_tree(fabric: Fabric, links: frozenset[int]) -> bool:
    ends = {s for i in links for s in (fabric.links[i].a, fabric.links[i].b)}
    if len(links) >= len(ends) > 0:
        return False  # as many links as switches: a cycle, without looking further
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


def fixed(fabric: Fabric, routes: Routes, vlan_of_tree: list[int]) -> Draft:
    """Give every switch its part of every tree (Steps 3 to 6).

    Ports of links are tagged members of the VLANs whose tree uses the link, host ports untagged members of all; a
    host's PVID is the VLAN of its source. A static entry stands at every switch of a path and nowhere else.
    """
    draft = Draft(fabric)
    links_of, tree_of = trees(fabric, routes)
    for tree, links in enumerate(links_of):
        vlan = vlan_of_tree[tree]
        on_tree = {int(root) for root in routes.root[tree_of == tree]}
        for i in links:
            link = fabric.links[i]
            draft.join(link.a, vlan, link.a_port, Membership.TAGGED)
            draft.join(link.b, vlan, link.b_port, Membership.TAGGED)
            on_tree |= {link.a, link.b}
        for host in fabric.hosts:
            if host.switch in on_tree:
                draft.join(host.switch, vlan, host.port, Membership.UNTAGGED)
        sources = np.flatnonzero(tree_of == tree)
        switch, target = np.nonzero(port := _ports(fabric, routes, sources))
        draft.entries.append((switch, np.full(len(switch), vlan), fabric.host_mac[target], port[switch, target]))
    for host, source in zip(fabric.hosts, routes.source_of_host.tolist(), strict=True):
        draft.pvid[host.switch, host.port] = vlan_of_tree[int(tree_of[source])]
    return draft


def _ports(fabric: Fabric, routes: Routes, sources: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give the port towards each host where a path of one of the sources needs it, int[N, H], 0 elsewhere."""
    hosts = np.arange(len(fabric.hosts))
    port = np.zeros((len(fabric.switches), len(hosts)), np.int64)
    for source in sources.tolist():
        mine = np.flatnonzero(routes.source_of_host == source)
        wanted = hosts if len(mine) > 1 else hosts[hosts != mine[0]]  # a lone host sends nothing to itself
        here, out = fabric.host_switch[wanted], fabric.host_port[wanted].astype(np.int64)
        while len(wanted):  # walk back from every host at once
            port[here, wanted] = out
            channel = routes.trees[source, here]
            going = channel >= 0
            wanted, channel = wanted[going], channel[going]
            here, out = fabric.tail[channel], fabric.tail_port[channel].astype(np.int64)
    return port
