"""Keep the paths of a fabric in one that has grown or shrunk: new switches are attached to the existing trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies
from tagloom.graph.trees import rooted
from tagloom.records.fabric_pair import FabricPair, link_ends
from tagloom.records.routes import Routes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.fabric_pair import Member


def keep(old: Fabric, routes: Routes, new: Fabric) -> Routes:
    """Return the paths of `old` as paths of `new`, the same between all hosts that both have.

    A new switch is attached to all trees by the same one of its links. Its hosts, and the first host of a switch, send
    along an existing tree, so no tree is added. Raises PlanError if a tree loses a link that it needs, if the paths are
    not trees, or if the additions would close a dependency cycle.
    """
    if routes.parent is None:
        raise _refusal(f"those of {routes.method} are none")
    fabrics = FabricPair(old, new)
    channel, switch = _links(old, new), _switches(old, new)
    sources = [s for s in range(routes.sources) if switch[routes.root[s]] >= 0]
    trees = [_tree(old, routes.parent[s], new, channel) for s in sources]
    root = [int(switch[routes.root[s]]) for s in sources]
    place = {source: i for i, source in enumerate(sources)}
    of_host = {
        (old.switches[host.switch].name, host.port, host.tag): place.get(int(source))
        for host, source in zip(old.hosts, routes.source_of_host.tolist(), strict=True)
    }
    needed = np.unique(new.host_switch)
    source_of_host = np.full(len(new.hosts), -1, np.int32)
    one_tree = _trees_of_networks(new, fabrics, of_host)
    for h, host in enumerate(new.hosts):
        at = new.switches[host.switch].name, host.port, host.tag
        known = of_host.get(at) if at in fabrics.hosts else None
        if (model := one_tree.get(host.network)) is not None:
            trees[model] = _with_needed_switches(new, trees[model], needed, root[model])
            known = next((i for i, r in enumerate(root) if r == host.switch and trees[i] == trees[model]), None)
            if known is None:
                trees.append(trees[model])
                root.append(host.switch)
                known = len(root) - 1
        if known is None:
            known = next((i for i, r in enumerate(root) if r == host.switch), None)
        if known is None:
            links = _tree_of_neighbour(new, trees, root, host.switch)
            trees.append(links)
            root.append(host.switch)
            known = len(root) - 1
        source_of_host[h] = known
        if host.network in dict(new.tags):
            one_tree.setdefault(host.network, known)
    parent = np.stack(
        [rooted(new, _with_needed_switches(new, links, needed, r), r) for links, r in zip(trees, root, strict=True)]
    )
    used, numbered = np.unique(source_of_host, return_inverse=True)
    found = Routes(
        routes.method,
        f"the paths of {old.name} are kept",
        numbered.astype(np.int32),
        np.array(root, np.int32)[used],
        parent[used],
    )
    _check(new, found, needed)
    return found


def _trees_of_networks(fabric: Fabric, fabrics: FabricPair, of_host: Mapping[Member, int | None]) -> dict[str, int]:
    """Return the tree of a host that stays, for each network that has one VLAN, and so one tree."""
    given, found = dict(fabric.tags), dict[str, int]()
    for at, (was, known) in fabrics.hosts.items():
        tree = of_host.get(at)
        if known.network in given and was.network == known.network and tree is not None:
            found.setdefault(known.network, tree)
    return found


def _check(fabric: Fabric, routes: Routes, needed: NDArray[np.int32]) -> None:
    missing = (routes.trees[:, needed] < 0) & (routes.root[:, None] != needed[None, :])
    if missing.any():
        s, t = np.argwhere(missing)[0]
        names = [fabric.switches[i].name for i in (routes.root[s], needed[t])]
        raise _refusal(f"the way from {names[0]} to {names[1]} has lost a link")
    if find_cycle(len(fabric.tail), *dependencies(fabric, routes)):
        raise _refusal("with what comes they close a dependency cycle")


def _refusal(why: str) -> PlanError:
    return PlanError("the paths of the old build can be kept where they are trees and all their links stay", why)


def _switches(old: Fabric, new: Fabric) -> NDArray[np.int64]:
    return np.array([new.index.get(switch.name, -1) for switch in old.switches], np.int64)


def _links(old: Fabric, new: Fabric) -> NDArray[np.int64]:
    """Return the link of `new` for each link of `old`, -1 if it has gone or is wanted down, int64[L]."""
    there = {ends: i for i, ends in enumerate(link_ends(new)) if new.links[i].up}
    return np.array([there.get(ends, -1) for ends in link_ends(old)], np.int64)


def _tree(old: Fabric, parent: NDArray[np.int32], new: Fabric, link: NDArray[np.int64]) -> frozenset[int]:
    """Return the links of `new` that remain of a tree, on its paths to switches with hosts that stay."""
    stay = {new.switches[s].name for s in np.unique(new.host_switch).tolist()}
    taken: set[int] = set()
    for s, each in enumerate(old.switches):
        here = s
        while each.name in stay and parent[here] >= 0:
            i = int(parent[here]) // 2
            if link[i] < 0:
                raise _refusal(f"one goes over a link that goes, to {each.name}")
            taken.add(int(link[i]))
            here = int(old.tail[parent[here]])
    return frozenset(taken)


def _tree_of_neighbour(fabric: Fabric, trees: list[frozenset[int]], root: list[int], switch: int) -> frozenset[int]:
    """Return the tree for the hosts of a switch without a source: that of a neighbour, else the first."""
    for link in fabric.links:
        if link.up and switch in (link.a, link.b):
            other = link.b if link.a == switch else link.a
            if other in root:
                return trees[root.index(other)]
    return trees[0]


def _with_needed_switches(
    fabric: Fabric, links: frozenset[int], needed: NDArray[np.int32], root: int
) -> frozenset[int]:
    """Return the tree with every needed switch attached that is not on it, by the first link that reaches it."""
    on = {s for i in links for s in (fabric.links[i].a, fabric.links[i].b)} | ({root} if not links else set())
    taken, grown = set(links), True
    while grown and not on.issuperset(needed.tolist()):
        grown = False
        for i, link in enumerate(fabric.links):
            if link.up and (link.a in on) != (link.b in on):
                on |= {link.a, link.b}
                taken.add(i)
                grown = True
    return frozenset(taken)
