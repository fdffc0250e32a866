"""Assign VLANs that every switch renames by in-port (Koibuchi et al. 2011, Sect. 3.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.graph.paths import departures
from tagloom.records.switch_state import BROADCAST, Membership
from tagloom.weave.draft import Draft
from tagloom.weave.merge import fewest

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Departures, Routes


def renamed(fabric: Fabric, routes: Routes, first_vlan: int, tree: Collection[int] = ()) -> Draft:
    """Return a draft in which every in-port has a VLAN whose members are its egress ports (Steps 1 to 4).

    Frames travel untagged between switches; the PVID of the in-port selects the VLAN at each switch. In-ports share a
    VLAN if their member ports are equal AND their static entries agree: with equal members alone two in-ports may send
    one destination to different ports, which one entry cannot express (the paper's Step 4 merges them). The in-ports
    are grouped into the fewest VLANs found.

    With `tree`, the links of a broadcast tree, the VLANs of its in-ports and of host ports also contain the ports of
    the tree and of hosts, and a group entry there sends broadcasts to those alone. In-ports share VLANs only after
    that. So all turns of flooding are turns of the paths or of the tree: other group addresses and unknown unicasts may
    arrive several times but never flood endlessly.

    Raises PlanError if the next channel depends on more than the in-port.
    """
    leaving = departures(fabric, routes)
    if leaving is None:
        raise PlanError(
            "renamed assignment needs the next channel to follow from the in-port alone, and these paths part ways",
            next_step="use --assignment fixed",
        )
    draft = Draft(fabric)
    on_tree = _tree_ports(fabric, tree)
    column = np.searchsorted(leaving.targets, fabric.host_switch)
    by_mac = np.argsort(fabric.host_mac)  # so that entries are in the order of a switch's state
    places: dict[bytes, NDArray[np.int64]] = {}  # many switches of a regular fabric have the same conflicts
    hosts_of, channels_of = _grouped(fabric.host_switch, len(on_tree)), _grouped(fabric.head, len(on_tree))
    for s, mine in enumerate(hosts_of):
        spread = on_tree[s] | set(fabric.host_port[mine].tolist()) if tree else frozenset[int]()
        in_port, out = _rules(fabric, routes, leaving, column, mine, channels_of[s])
        if more := sorted(on_tree[s].difference(in_port.tolist())):
            in_port = np.append(in_port, more)
            out = np.append(out, np.zeros((len(more), out.shape[1]), out.dtype), axis=0)
        members = _members(in_port, out, fabric.ports[s], spread)
        conflict = _conflicts(members, out)
        if (place := places.get(conflict.tobytes())) is None:
            place = places[conflict.tobytes()] = fewest(conflict)
        vlans = int(place.max(initial=-1)) + 1
        entries = out if vlans == len(out) else np.zeros((vlans, out.shape[1]), out.dtype)
        shared = np.zeros((vlans, members.shape[1]), np.bool_)
        shared[place] = members  # in-ports that share a VLAN have the same members
        for i, number in enumerate(place.tolist() if entries is not out else ()):
            np.maximum(entries[number], out[i], out=entries[number])
        number, port = np.nonzero(shared)
        draft.join(s, first_vlan + number, port, Membership.UNTAGGED)
        draft.pvid[s, in_port] = first_vlan + place
        entries = entries[:, by_mac]
        number, host = np.nonzero(entries != 0)
        draft.enter(s, first_vlan + number, fabric.host_mac[by_mac[host]], entries[number, host])
        if spread:
            vlan = np.unique(draft.pvid[s, sorted(spread.intersection(in_port.tolist()))])
            here = np.array(sorted(spread), np.int64)
            group = np.full(len(vlan) * len(here), BROADCAST, np.uint64)
            draft.enter(s, np.repeat(vlan, len(here)), group, np.tile(here, len(vlan)))
    return draft


def _grouped(switch: NDArray[np.int32], switches: int) -> list[NDArray[np.int64]]:
    """Return the indices of the items at each switch, ascending."""
    order = np.argsort(switch, kind="stable")
    return np.split(order, np.searchsorted(switch[order], np.arange(1, switches)))


def _members(
    in_port: NDArray[np.int64], out: NDArray[np.unsignedinteger], ports: int, spread: Collection[int]
) -> NDArray[np.bool_]:
    """Return the ports that each in-port's VLAN needs, bool[rules, ports + 1]: its own, its egresses, the tree's."""
    rule = np.arange(len(in_port))
    members = np.zeros((len(in_port), ports + 1), np.bool_)
    members[rule[:, None], out] = True
    members[:, 0] = False
    members[rule, in_port] = True
    if spread:
        also = np.array(sorted(spread), np.int64)
        members[np.ix_(np.isin(in_port, also), also)] = True
    return members


def _conflicts(members: NDArray[np.bool_], out: NDArray[np.unsignedinteger]) -> NDArray[np.bool_]:
    """Return which two in-ports need separate VLANs, bool[rules, rules].

    Entries that agree pairwise agree as a whole, so larger sets need no check.
    """
    conflict: NDArray[np.bool_] = (members[:, None, :] != members[None, :, :]).any(axis=2)
    for i, j in np.argwhere(np.triu(~conflict, 1)).tolist():
        conflict[i, j] = conflict[j, i] = np.any((out[i] != out[j]) & (out[i] > 0) & (out[j] > 0))
    return conflict


def _tree_ports(fabric: Fabric, tree: Collection[int]) -> list[set[int]]:
    """Return each switch's ports on a tree of links."""
    ports: list[set[int]] = [set() for _ in fabric.switches]
    for i in tree:
        ports[fabric.links[i].a].add(fabric.links[i].a_port)
        ports[fabric.links[i].b].add(fabric.links[i].b_port)
    return ports


def _rules(
    fabric: Fabric,
    routes: Routes,
    leaving: Departures,
    column: NDArray[np.int64],
    hosts: NDArray[np.int64],
    channels: NDArray[np.int64],
) -> tuple[NDArray[np.int64], NDArray[np.unsignedinteger]]:
    """Return the in-ports of a switch that receive frames, and the egress port of each towards every host, 0 for none.

    column           int64[H], the column of `leaving` for each host
    hosts, channels  those that end at the switch
    """
    rows = np.concatenate([leaving.first[routes.source_of_host[hosts]], leaving.following[channels]])
    out = rows if len(column) == len(leaving.targets) and np.all(np.diff(column) > 0) else rows[:, column]
    out[:, hosts] = np.where(out[:, hosts] == leaving.here, fabric.host_port[hosts], out[:, hosts])
    out[np.arange(len(hosts)), hosts] = 0
    used = np.append(np.ones(len(hosts), np.bool_), out[len(hosts) :].any(axis=1))
    in_port = np.concatenate([fabric.host_port[hosts], fabric.head_port[channels]]).astype(np.int64)
    return in_port[used], out[used]


def table_3_remarks(fabric: Fabric, routes: Routes, vlans: int) -> tuple[str, ...]:
    """Return why a renamed plan takes another number of VLANs than Koibuchi et al. 2011, Table 3, count, if it does.

    The table has k-ary n-cubes, all links on or one off: n VLANs for a mesh, 3n for a torus with two links between
    neighbours. It counts dimension order, and the north-last turn model near a link that is off.
    """
    shape, off = fabric.shape, sum(not link.up for link in fabric.links)
    torus = shape is not None and shape.family in {"torus", "ring"}
    if shape is None or not (torus or shape.family == "mesh") or len(set(shape.dims)) > 1 or off > 1:
        return ()
    if shape.dims[0] < 3 or (torus and not fabric.parallel_link.any()):
        return ()
    n = len(shape.dims)
    counted, formula = (3 * n, f"3n = {3 * n}") if torus else (n, f"n = {n}")
    if vlans == counted:
        return ()
    if torus and "rule R7" in routes.reason:
        why = (
            "its paths change to the other parallel link at a dateline; these keep to one of two trees of each ring "
            f"(rule R7), which takes fewer VLANs{'' if shape.dims[0] == 4 else ' and, from some sources, longer paths'}"
        )
    elif not torus and off and vlans > counted:
        why = (
            "its members are all turns of the turn model, by which a broadcast may come many times; these are only the "
            "ports that a path takes"
        )
    else:
        why = f"its paths are of dimension order; these are of {routes.method}"
    return (f"Koibuchi et al. 2011 (Table 3) count {formula} VLANs here, this plan takes {vlans}: {why}",)
