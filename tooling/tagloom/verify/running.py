"""Prove what a network under spanning tree does today: switches learn, blocked ports forward nothing."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np

from tagloom.records.switch_state import Membership
from tagloom.verify.prove import Plan, verify

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from tagloom.records.fabric import Fabric
    from tagloom.records.findings import Findings
    from tagloom.records.switch_state import FabricState

    Port = tuple[int, int]


def prove_running(
    fabric: Fabric,
    state: FabricState,
    blocked: Collection[Port],
    treeless: Mapping[str, Collection[int]] = MappingProxyType({}),
    addresses: Collection[tuple[str, int]] = (),
) -> Findings:
    """Return what a settled network does: `blocked` lists (switch index, port number) that forward nothing.

    `treeless` are by switch name the VLANs that its spanning tree leaves out, whose frames a blocked port forwards;
    `addresses` the (switch name, VLAN id) of the switches' own addresses.

    On what is left every VLAN must be without loops, each broadcast must arrive once, and frames to each host, flooded
    or where they were learnt. Where floods do not loop, an address is learnt only on the way that a flood to it takes.
    Frames of foreign VLANs must neither storm nor reach a host. After a storm no pair counts as reached.
    """
    proof = verify(
        fabric, as_settled(fabric, state, blocked, treeless), Plan(learning=True, addresses=frozenset(addresses))
    )
    return proof if proof.storm_free else replace(proof, reachable_pairs=0)


def as_settled(
    fabric: Fabric,
    state: FabricState,
    blocked: Collection[Port],
    treeless: Mapping[str, Collection[int]] = MappingProxyType({}),
) -> FabricState:
    """Return states that forward as `state` does under a spanning tree that blocks ports, without one.

    A blocked port takes no frame and sends none (IEEE 802.1D-2004, 7.5): as if it were in no VLAN, and filtered; but in
    the VLANs that the switch leaves out of its tree (`treeless`) it forwards.
    """
    found = dict(state)
    for s, switch in enumerate(fabric.switches):
        held = found[switch.name]
        at = np.array([port - 1 for t, port in blocked if t == s], np.int64)
        members, filtering = held.membership.copy(), held.ingress_filter.copy()
        spanned = ~np.isin(held.vlans, [*treeless.get(switch.name, ())])
        members[np.ix_(np.flatnonzero(spanned), at)] = Membership.NONE
        filtering[at] = True
        found[switch.name] = replace(held, membership=members, ingress_filter=filtering, spanning_tree=False)
    return found
