"""Assign VLANs that every switch names anew by in-port (Koibuchi et al. 2011, Sect. 3.2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import PlanError
from tagloom.records.routes import DELIVERED, relation
from tagloom.records.switch_state import Membership
from tagloom.weave.draft import Draft

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.routes import Routes


def renamed(fabric: Fabric, routes: Routes, first_vlan: int) -> Draft:
    """Give every in-port a VLAN of its own whose members are the ports its frames leave by (Steps 1 to 4).

    Frames travel untagged between switches; the PVID of the in-port names the VLAN at each switch. In-ports share a
    VLAN where their member ports are the same AND their static entries agree: with equal members alone two in-ports
    may send one destination to different ports, which one entry cannot say (the paper's Step 4 merges them).
    Raises PlanError where the next channel depends on more than the in-port.
    """
    rel = relation(fabric, routes)
    if rel is None:
        raise PlanError(
            "renamed assignment needs the next channel to follow from the in-port alone, and these paths part ways",
            way_out="use --assignment fixed",
        )
    draft = Draft(fabric)
    for s in range(len(fabric.switches)):
        vlans: list[tuple[frozenset[int], NDArray[np.int32]]] = []  # members, port by host (0: none)
        in_ports: list[list[int]] = []
        for in_port, out in _rules(fabric, routes, rel.first, rel.following, s):
            used = np.zeros(fabric.ports[s] + 1, np.bool_)
            used[out] = True
            members = frozenset((in_port, *(np.flatnonzero(used[1:]) + 1).tolist()))
            for known, (others, entries) in enumerate(vlans):
                if others == members and np.all((entries == out) | (entries == 0) | (out == 0)):
                    np.maximum(entries, out, out=entries)
                    in_ports[known].append(in_port)
                    break
            else:
                vlans.append((members, out.copy()))
                in_ports.append([in_port])
        for number, ((members, entries), ports) in enumerate(zip(vlans, in_ports, strict=True)):
            vlan = first_vlan + number
            for port in members:
                draft.join(s, vlan, port, Membership.UNTAGGED)
            for port in ports:
                draft.pvid[s, port] = vlan
            hosts = np.flatnonzero(entries)
            columns = np.full(len(hosts), s), np.full(len(hosts), vlan), fabric.host_mac[hosts]
            draft.entries.append((*columns, entries[hosts].astype(np.int64)))
    return draft


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
