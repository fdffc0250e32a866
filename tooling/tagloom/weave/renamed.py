"""Assign VLANs that every switch names anew by in-port (Koibuchi et al. 2011, Sect. 3.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.routes import DELIVERED, relation
from tagloom.records.switch_state import BROADCAST, Membership
from tagloom.weave.draft import Draft
from tagloom.weave.merge import fewest

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes


def renamed(fabric: Fabric, routes: Routes, first_vlan: int, tree: Collection[int] = ()) -> Draft:
    """Give every in-port a VLAN of its own whose members are the ports its frames leave by (Steps 1 to 4).

    Frames travel untagged between switches; the PVID of the in-port names the VLAN at each switch. In-ports share a
    VLAN where their member ports are the same AND their static entries agree: with equal members alone two in-ports
    may send one destination to different ports, which one entry cannot say (the paper's Step 4 merges them). Of the
    ways to share, one with the fewest VLANs is taken.

    With `tree`, the links of a broadcast tree, the VLANs of its in-ports and of host ports hold the tree's ports and
    the hosts' too, and a group entry there sends broadcasts to those alone. In-ports share VLANs only after that: so
    whatever a switch floods, its turns are turns of the paths or of the tree, and other group addresses and unknown
    unicasts come several times but never storm.
    Raises PlanError where the next channel depends on more than the in-port.
    """
    rel = relation(fabric, routes)
    if rel is None:
        raise PlanError(
            "renamed assignment needs the next channel to follow from the in-port alone, and these paths part ways",
            way_out="use --assignment fixed",
        )
    draft = Draft(fabric)
    on_tree = _tree_ports(fabric, tree)
    for s in range(len(fabric.switches)):
        spread = on_tree[s] | set(fabric.host_port[fabric.host_switch == s].tolist()) if tree else frozenset[int]()
        rules = _rules(fabric, routes, rel.first, rel.following, s)
        nowhere = np.zeros(len(fabric.hosts), np.int32)
        rules += [(port, nowhere) for port in sorted(on_tree[s] - {in_port for in_port, _ in rules})]
        shared = [_members(in_port, out, fabric.ports[s], spread) for in_port, out in rules]
        conflict = np.array([[_differ(rules, shared, i, j) for j in range(len(rules))] for i in range(len(rules))])
        place = fewest(conflict.reshape(len(rules), len(rules))).tolist()
        # members, port by host (0: none), in-ports
        vlans: list[tuple[frozenset[int], NDArray[np.int32], list[int]]] = []
        for known, (in_port, out), members in zip(place, rules, shared, strict=True):
            if known == len(vlans):
                vlans.append((members, nowhere.copy(), []))
            np.maximum(vlans[known][1], out, out=vlans[known][1])
            vlans[known][2].append(in_port)
        for number, (members, entries, ports) in enumerate(vlans):
            vlan = first_vlan + number
            for port in members:
                draft.join(s, vlan, port, Membership.UNTAGGED)
            for port in ports:
                draft.pvid[s, port] = vlan
            hosts = np.flatnonzero(entries)
            columns = np.full(len(hosts), s), np.full(len(hosts), vlan), fabric.host_mac[hosts]
            draft.entries.append((*columns, entries[hosts].astype(np.int64)))
            if spread.intersection(ports):
                here = np.array(sorted(spread), np.int64)
                columns = np.full(len(here), s), np.full(len(here), vlan), np.full(len(here), BROADCAST, np.uint64)
                draft.entries.append((*columns, here))
    return draft


def _members(in_port: int, out: NDArray[np.int32], ports: int, spread: Collection[int]) -> frozenset[int]:
    """Give the ports an in-port's VLAN needs: its own, those its frames leave by, and the broadcast tree's."""
    used = np.zeros(ports + 1, np.bool_)
    used[out] = True
    return frozenset((in_port, *(np.flatnonzero(used[1:]) + 1).tolist(), *(spread if in_port in spread else ())))


def _differ(rules: list[tuple[int, NDArray[np.int32]]], shared: list[frozenset[int]], i: int, j: int) -> bool:
    """Tell whether two in-ports need VLANs of their own.

    Entries that agree two by two agree all together, so nothing else needs to be asked of a larger set.
    """
    entries, others = rules[i][1], rules[j][1]
    return shared[i] != shared[j] or bool(np.any((entries != others) & (entries > 0) & (others > 0)))


def _tree_ports(fabric: Fabric, tree: Collection[int]) -> list[set[int]]:
    """Give each switch's ports on a tree of links."""
    ports: list[set[int]] = [set() for _ in fabric.switches]
    for i in tree:
        ports[fabric.links[i].a].add(fabric.links[i].a_port)
        ports[fabric.links[i].b].add(fabric.links[i].b_port)
    return ports


def _rules(
    fabric: Fabric, routes: Routes, first: NDArray[np.int32], following: NDArray[np.int32], s: int
) -> list[tuple[int, NDArray[np.int32]]]:
    """List the in-ports of a switch that frames come in by, each with the out-port to every host, 0 for none."""
    rules: list[tuple[int, NDArray[np.int32]]] = []
    here = np.flatnonzero(fabric.host_switch == s)
    port_of = np.append(fabric.tail_port, np.zeros(2, np.int32))  # DELIVERED and UNUSED, -1 and -2, find 0
    for h in here.tolist():
        out = _out_ports(fabric, first[routes.source_of_host[h]], port_of, here)
        out[h] = 0
        rules.append((int(fabric.host_port[h]), out))
    for channel in np.flatnonzero(fabric.head == s).tolist():
        out = _out_ports(fabric, following[channel], port_of, here)
        if out.any():
            rules.append((int(fabric.head_port[channel]), out))
    return rules


def _out_ports(
    fabric: Fabric, towards: NDArray[np.int32], port_of: NDArray[np.int32], here: NDArray[np.int64]
) -> NDArray[np.int32]:
    """Give the port by which each host is left for that `towards` (a channel per switch) leads to, int32[H]."""
    channel = towards[fabric.host_switch]
    out = port_of[channel]
    delivered = here[channel[here] == DELIVERED]
    out[delivered] = fabric.host_port[delivered]
    return out
