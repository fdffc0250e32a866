"""Prove a wave that only changes where foreign VLANs lead.

No line of it storms, cuts a VLAN, reaches a host or closes a dependency cycle.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding
from tagloom.graph.cycles import find_cycle
from tagloom.platforms.port_names import port_name
from tagloom.records.change import Cell, difference
from tagloom.records.switch_state import Membership
from tagloom.records.wave_proof import AS_PLANNED, WaveProof
from tagloom.verify.foreign import foreign_frames
from tagloom.verify.foreign_reach import astray_findings, cut_findings
from tagloom.verify.foreign_waits import waiting_in_wave
from tagloom.verify.forwarding import forwarding
from tagloom.verify.prove import dependencies, foreign_findings
from tagloom.verify.wave import follow_foreign, foreign_dependencies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState


def prove_foreign(fabric: Fabric, before: FabricState, after: FabricState) -> WaveProof:
    """Prove every state between two that differ only in memberships of foreign VLANs on ports of links.

    Whichever lines are in force, a VLAN has at least the links that it has in both states, and at most those that it
    has in either. So nothing storms and no host hears it at any line if that holds for all links of either, or if lines
    only remove links: an existing storm is judged with the final state. Ports that a VLAN connects in both states alike
    are connected at every line. No frame of the fabric's hosts is in such a VLAN, hence no line affects them. What
    foreign frames may hold and wait for at any line, or in transit, they may with all links of either; with them the
    fabric's own close no cycle where ports send PAUSE, unless they do before the wave.
    """
    either = {
        name: replace(held, membership=np.maximum(held.membership, after[name].membership))
        if after[name] is not held and np.array_equal(held.vlans, after[name].vlans)
        else held
        for name, held in before.items()
    }
    found = [*_unproven_changes(fabric, before, after, either)]
    if not found:
        shrinks = all(np.array_equal(either[name].membership, held.membership) for name, held in before.items())
        found += [] if shrinks else [*foreign_findings(fabric, either), *_waiting(fabric, before, either)]
        found += cut_findings(fabric, before, after) + cut_findings(fabric, after, before)
        found += astray_findings(fabric, before, after)
    none = np.empty(0, np.int64)
    return WaveProof(0, none, none, (), tuple(found))


def _waiting(fabric: Fabric, before: FabricState, either: FabricState) -> list[Finding]:
    """Return a finding if foreign frames close a dependency cycle with the fabric's own over the links of `either`.

    A cycle of the former alone is a storm or broken by spanning tree, and one of the latter alone is not the wave's.
    """
    channels, own = len(fabric.tail), dependencies(fabric, before)  # no line affects the fabric's own
    if find_cycle(channels, *own) or find_cycle(channels, *foreign_dependencies(fabric, either)):
        return []
    earlier, found = (
        waiting_in_wave(fabric, state, {}, own, AS_PLANNED, follow_foreign, lambda: own) for state in (before, either)
    )
    return [] if earlier else found


def _unproven_changes(
    fabric: Fabric, before: FabricState, after: FabricState, either: FabricState
) -> Iterator[Finding]:
    """Yield findings for changes other than foreign memberships on links' ports, and for VLANs that hosts send in."""
    model = forwarding(fabric, either, unicast=False)
    theirs = set(foreign_frames(model, either).vlans)
    ends = {(s, int(port)) for s in range(len(fabric.switches)) for port in np.flatnonzero(fabric.port_channel[s] >= 0)}
    changed: set[int] = set()
    for s, switch in enumerate(fabric.switches):
        for each in difference(before[switch.name], after[switch.name]):
            member = each.cell is Cell.MEMBER and Membership.NONE in {each.before, each.after}
            if not member or each.vlan not in theirs or (s, each.port) not in ends:
                where = port_name(fabric, s, each.port) if each.port else switch.name
                yield Finding(where, "only members of VLANs of others come or go, at links", f"its {each.cell.value}")
            changed.add(each.vlan)
    sent = np.flatnonzero(np.isin(model.egress_node, model.inject[model.inject >= 0]))
    _, _, live = model.followed(np.ones(len(model.egress_node), np.bool_), sent)
    met = np.unique(model.node_vlan[np.union1d(model.egress_node[live], model.inject[model.inject >= 0])])
    for vlan in sorted(changed.intersection(met.tolist())):
        yield Finding(f"VLAN {vlan}, of others", "no frames of the fabric's hosts", "some are in it")
