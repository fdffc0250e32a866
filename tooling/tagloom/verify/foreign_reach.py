"""Compare which ports foreign VLANs connect before and after a change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tagloom.errors import Finding
from tagloom.platforms.port_names import port_name
from tagloom.records.switch_state import DEFAULT_VLAN, Membership
from tagloom.units import format_mac
from tagloom.verify.foreign import outside_ports

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState

    Port = tuple[int, int]


@dataclass(frozen=True)
class CutVlan:
    """Two ports that a foreign VLAN connects before a change but not after it; `lost` of all its ports are cut off.

    vlan    the id
    a, b    (switch index, port number)
    taken   the one of them that is no longer in the VLAN, None if no path is left between them
    lost    how many ports no longer reach every port that they reached
    """

    vlan: int
    a: Port
    b: Port
    taken: Port | None
    lost: int


def cut_vlans(fabric: Fabric, before: FabricState, after: FabricState) -> list[CutVlan]:
    """Return the foreign VLANs that a change cuts, ascending, each with a pair of ports that it connected.

    A VLAN connects two ports if both are members and a path of links does whose ends are members: spanning tree blocks
    links of a ring and disconnects nothing. Ports are those outside the fabric, and those of its hosts. VLAN 1 and the
    VLANs that tagloom made are not foreign.
    """
    return [cut for vlan in _foreign(before) for cut in _cut(fabric, vlan, before, after)]


def cut_findings(fabric: Fabric, before: FabricState, after: FabricState) -> list[Finding]:
    """Return a finding for each foreign VLAN that a change cuts."""
    return [
        Finding(
            f"VLAN {cut.vlan}, of others",
            f"{port_name(fabric, *cut.a)} and {port_name(fabric, *cut.b)} joined by it, as now",
            f"{port_name(fabric, *cut.taken)} is taken out of it" if cut.taken else "no link between them carries it",
        )
        for cut in cut_vlans(fabric, before, after)
    ]


def astray_findings(fabric: Fabric, before: FabricState, after: FabricState) -> list[Finding]:
    """Return a finding for each end of a link that a foreign VLAN leaves while static entries keep frames there.

    They lead nowhere then, whatever other links carry the VLAN.
    """
    return [finding for vlan in _foreign(before) for finding in _pinned_astray(fabric, vlan, before, after)]


def _foreign(state: FabricState) -> list[int]:
    """Return the VLANs that are neither VLAN 1 nor made by tagloom, ascending."""
    ours = {vlan for held in state.values() for vlan in held.owned_vlans} | {DEFAULT_VLAN}
    return sorted({vlan for held in state.values() for vlan in held.vlans.tolist()} - ours)


def _pinned_astray(fabric: Fabric, vlan: int, before: FabricState, after: FabricState) -> Iterator[Finding]:
    """Yield what `astray_findings` returns of one VLAN."""
    now, then = (_carrying(fabric, vlan, state) for state in (before, after))
    for i in sorted(now - then):
        link = fabric.links[i]
        for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
            held = after[fabric.switches[s].name]
            macs = held.entry_mac[(held.entry_vlan == vlan) & (held.entry_port == port)].tolist()
            if macs:
                more = f" and {len(macs) - 1} more" if len(macs) > 1 else ""
                yield Finding(
                    f"VLAN {vlan}, of others",
                    "static entries at links that carry it",
                    f"{format_mac(macs[0])}{more} pinned at {port_name(fabric, s, port)}, whose link no longer does",
                )


def _carrying(fabric: Fabric, vlan: int, state: FabricState) -> set[int]:
    """Return the links that are up and whose ends are both open and in a VLAN, by their numbers."""
    inside = [_members(state[x.name], vlan) if x.up else None for x in fabric.switches]

    def joined(s: int, port: int) -> bool:
        members = inside[s]
        return members is not None and bool(members[port - 1])

    return {
        i
        for i, link in enumerate(fabric.links)
        if link.up and joined(link.a, link.a_port) and joined(link.b, link.b_port)
    }


def unguarded_vlans(fabric: Fabric, state: FabricState, vlans: Iterable[int]) -> tuple[str, ...]:
    """Return foreign VLANs whose loops outside the fabric no spanning tree sees, each with two ports that it connects.

    Spanning tree on ports outside the fabric blocks loops that lie outside entirely. No BPDU passes links without
    spanning tree. So a VLAN that crosses such links between outside ports of two switches closes a ring with any
    outside connection between the two, and nothing blocks it.
    """
    runs = [_spans(state[switch.name]) if switch.up else None for switch in fabric.switches]
    named = []
    for vlan in vlans:
        first: dict[int, Port] = {}
        for (s, port), part in sorted(_parts(fabric, vlan, state, _without_bpdus(fabric, state)).items()):
            spans = runs[s]
            if spans is None or not spans[port - 1] or fabric.port_host[s, port] >= 0:
                continue
            a = first.setdefault(part, (s, port))
            if a[0] != s:
                named.append(f"VLAN {vlan}: {port_name(fabric, *a)} and {port_name(fabric, s, port)}")
                break
    return tuple(named)


def _spans(held: SwitchState) -> NDArray[np.bool_]:
    """Return which ports take part in a spanning tree, bool[P]."""
    runs: NDArray[np.bool_] = held.port_spanning_tree & held.spanning_tree
    return runs


def _without_bpdus(fabric: Fabric, state: FabricState) -> NDArray[np.bool_]:
    """Return which links pass no BPDU, as an end takes no part in spanning tree, bool[L]."""
    runs = {switch.name: _spans(state[switch.name]) for switch in fabric.live}

    def seen(s: int, port: int) -> bool:
        return fabric.switches[s].up and bool(runs[fabric.switches[s].name][port - 1])

    return np.array([not (seen(x.a, x.a_port) and seen(x.b, x.b_port)) for x in fabric.links], np.bool_)


def _cut(fabric: Fabric, vlan: int, before: FabricState, after: FabricState) -> Iterator[CutVlan]:
    now, then = _parts(fabric, vlan, before), _parts(fabric, vlan, after)
    groups: dict[int, list[Port]] = {}
    for port, part in now.items():
        groups.setdefault(part, []).append(port)
    pairs: list[tuple[Port, Port]] = []
    lost = 0
    for group in groups.values():
        parts = [then.get(port, -1 - i) for i, port in enumerate(group)]
        sizes = {part: parts.count(part) for part in parts}
        if len(group) > 1 and len(sizes) > 1:
            lost += len(group)
            a = next((port for port in group if port not in then), group[0])
            b = next(port for port, part in zip(group, parts, strict=True) if port != a and part != then.get(a, -1))
            pairs.append((a, b))
    if pairs:
        a, b = pairs[0]
        yield CutVlan(vlan, a, b, next((port for port in (a, b) if port not in then), None), lost)


def _parts(fabric: Fabric, vlan: int, state: FabricState, links: NDArray[np.bool_] | None = None) -> dict[Port, int]:
    """Return the component of the fabric that each port of a VLAN, outside the fabric or a host's, is connected to.

    The components are those of all links, or of `links` alone, bool[L].
    """
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - a third of a second that most changes need not wait for
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415 - as above

    count = len(fabric.switches)
    held = [state[switch.name] for switch in fabric.switches]
    inside = [_members(each, vlan) if fabric.switches[s].up else None for s, each in enumerate(held)]

    carrying = sorted(_carrying(fabric, vlan, state))
    ways = [(fabric.links[i].a, fabric.links[i].b) for i in carrying if links is None or links[i]]
    ends = np.array(ways, np.int64).reshape(-1, 2).T
    _, part = connected_components(csr_matrix((np.ones(len(ways)), (ends[0], ends[1])), (count, count)), directed=False)
    found: dict[Port, int] = {}
    for s, members in enumerate(inside):
        if members is None or not members.any():
            continue
        theirs = outside_ports(fabric, s, held[s])
        theirs[[host.port - 1 for host in fabric.hosts if host.switch == s]] = True
        for at in np.flatnonzero(theirs & members).tolist():
            found[s, at + 1] = int(part[s])
    return found


def _members(held: SwitchState, vlan: int) -> NDArray[np.bool_] | None:
    """Return which ports are open and in a VLAN, bool[P]; None if the switch does not have it."""
    row = held.vlan_index.get(vlan)
    return None if row is None else held.enabled & (held.membership[row] != Membership.NONE)
