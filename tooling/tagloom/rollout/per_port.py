"""Lead one renamed path set to another with three new VLANs per in-port: multipath throughout, no tree needed.

If frames travel untagged, nothing distinguishes old from new, and a frame may meet an old switch after a new one. So
every in-port p is led through VLANs of its own. M(p) sends a destination along the old paths if they bring it to p, and
along the new ones otherwise; N(p) the other way round; then come the new plan's own. In any interleaving of two
neighbours in that sequence, each hop of a frame is one of the old paths or one of the new, and the next switch has an
entry for it (lemma 4 of the rollout research beside the design). M(p) and N(p) hold every destination that either path
set brings to p, and no smaller set suffices: leaving out M or N fails in five pairs of six. Broadcasts may arrive
several times meanwhile, unless the proof says otherwise.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tagloom.records.carrier import links_on
from tagloom.records.host_entries import with_all_addresses
from tagloom.records.lines import port_bits
from tagloom.records.switch_state import BROADCAST, OWNED_VLAN_NAME, Membership
from tagloom.rollout.layers import beside, link_ports, taking_all, with_cells
from tagloom.rollout.steps import WHY, Step, raised, rising, worth

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState, SwitchState
    from tagloom.rollout.steps import Change


class _InPorts(NamedTuple):
    """Where frames enter switches: the head of each channel, then the port of each host; R = C + H rows."""

    switch: NDArray[np.int64]
    port: NDArray[np.int64]


class _Relation(NamedTuple):
    """The forwarding of a path set: uint64[R, H + 1] egress ports as bits, bool[R, H + 1] what arrives at all.

    Column H is for broadcasts; `grouped` says whether entries narrow them.
    """

    out: NDArray[np.uint64]
    reached: NDArray[np.bool_]
    grouped: bool


def per_port(change: Change) -> list[Step] | None:
    """Return the steps of the five waves, or None if a switch has too few VLAN ids or there are uplinks.

    Both ends must be untagged. The switch's PVIDs go from the old VLANs to M, from M to N, and from N to the new ones.
    Frames under M are within the interleaving of M and N, so only N must be drained before the new plan's own VLANs,
    which have its paths alone.
    """
    fabric = change.fabric
    if len(fabric.uplinks):
        return None  # what switches learn from uplinks is not followed here
    ports = _InPorts(
        np.concatenate([fabric.head, fabric.host_switch]).astype(np.int64),
        np.concatenate([fabric.head_port, fabric.host_port]).astype(np.int64),
    )
    old, new = (_relation(fabric, ports, state) for state in (change.before, change.after))
    used = np.flatnonzero((old.reached | new.reached).any(axis=1))
    start, wait = (raised(change), change.up_seconds) if rising(change).any() else (change.before, 0.0)
    grouped = old.grouped or new.grouped
    layers = [_layer(one, other, grouped=grouped) for one, other in ((old, new), (new, old))]
    added: FabricState = dict(start)
    by_m: FabricState = {}
    by_n: FabricState = {}
    by_f: FabricState = {}
    for s, switch in enumerate(fabric.switches):
        name = switch.name
        mine = used[ports.switch[used] == s]
        held, after = start[name], change.after[name]
        links = link_ports(fabric, s)
        held = beside(taking_all(held, links), after, after.owned_vlans)
        taken = {*held.vlans.tolist(), *change.before[name].vlans.tolist()}
        free = (v for v in range(fabric.first_vlan, change.vlan_limit(s) + 1) if v not in taken)
        ids = [v for v, _ in zip(free, range(2 * len(mine)), strict=False)]
        if len(ids) < 2 * len(mine):
            return None
        at = ports.port[mine]
        for number, layer in enumerate(layers):
            chosen = np.array(ids[number::2], np.int32)
            made = _layer_state(fabric, held, chosen, at, layer[mine], grouped=grouped)
            held = beside(held, with_all_addresses(fabric, {name: made})[name], chosen.tolist())
        added[name] = held
        by_m[name], by_n[name] = (_named(held, at, ids[number::2]) for number in range(2))
        by_f[name] = with_cells(by_n[name], after, at[new.reached[mine].any(axis=1)] - 1, ("pvid",))
    steps = [
        Step("add", WHY["add"], added, wait, until_up=wait > 0),
        Step("flip", "in-ports' PVIDs, to VLANs that send the old way, and the new way what the old never had", by_m),
        Step(
            "flip", "to VLANs that send the new way, and the old way what the new has not", by_n, change.drain_seconds
        ),
        Step("flip", "to the new plan's own VLANs, once nothing of the old is under way", by_f),
        Step("remove", WHY["end"], change.after),
    ]
    return worth(change.before, steps)


def _relation(fabric: Fabric, ports: _InPorts, state: FabricState) -> _Relation:
    """Return the forwarding by the switches' static entries and members, followed from every host."""
    hosts, channels = len(fabric.hosts), len(fabric.tail)
    by_mac = np.argsort(fabric.host_mac)
    macs = fabric.host_mac[by_mac]
    out = np.zeros((len(ports.switch), hosts + 1), np.uint64)
    grouped = False
    rows_of: dict[int, list[int]] = {}
    for row, s in enumerate(ports.switch.tolist()):
        rows_of.setdefault(s, []).append(row)
    for s, rows in rows_of.items():
        held = state[fabric.switches[s].name]
        on = np.uint64(port_bits((np.flatnonzero(held.enabled) + 1).tolist()))
        for row in rows:
            own = int(ports.port[row])
            vlan = int(held.pvid[own - 1])
            if vlan not in held.vlan_index:
                continue
            members = np.flatnonzero(held.membership[held.vlan_index[vlan]]) + 1
            allowed = np.uint64(port_bits(q for q in members.tolist() if q != own)) & on
            low, high = np.searchsorted(held.entry_vlan, [vlan, vlan + 1])
            mac, bit = held.entry_mac[low:high], np.uint64(1) << (held.entry_port[low:high] - 1).astype(np.uint64)
            at = np.minimum(np.searchsorted(macs, mac), hosts - 1)
            known = macs[at] == mac
            np.bitwise_or.at(out[row], by_mac[at[known]], bit[known] & allowed)
            group = np.bitwise_or.reduce(bit[mac == np.uint64(BROADCAST)], initial=np.uint64(0))
            grouped |= bool(group)
            out[row, hosts] = (group or allowed) & allowed
    reached = np.zeros(out.shape, np.bool_)
    reached[channels:] = True
    reached[channels + np.arange(hosts), np.arange(hosts)] = False
    on_links = np.repeat(links_on(fabric, state), 2)
    frontier = reached.copy()
    while frontier.any():
        come, d = np.nonzero(frontier)
        frontier[:] = False
        for q in range(1, max(fabric.ports) + 1):
            taken = (out[come, d] >> np.uint64(q - 1)) & np.uint64(1) > 0
            channel = fabric.port_channel[ports.switch[come[taken]], q]
            carried = (channel >= 0) & on_links[channel]
            frontier[channel[carried], d[taken][carried]] = True
        frontier &= ~reached
        reached |= frontier
    return _Relation(out, reached, grouped)


def _layer(first: _Relation, then: _Relation, *, grouped: bool) -> NDArray[np.uint64]:
    """Return the forwarding of `first` for what arrives there, and that of `then` for what only arrives in `then`."""
    layer = np.where(first.reached, first.out, np.where(then.reached, then.out, np.uint64(0)))
    if not grouped:
        layer[:, -1] = 0  # without entries broadcasts flood to all members
    return layer


def _layer_state(
    fabric: Fabric,
    held: SwitchState,
    vlans: NDArray[np.int32],
    at: NDArray[np.int64],
    layer: NDArray[np.uint64],
    *,
    grouped: bool,
) -> SwitchState:
    """Return a switch's state of one layer: a VLAN for each of its in-ports `at`, members and static entries."""
    every = np.bitwise_or.reduce(layer, axis=1) | (np.uint64(1) << (at - 1).astype(np.uint64))
    bits = np.uint64(1) << np.arange(held.ports, dtype=np.uint64)
    membership = np.where(every[:, None] & bits > 0, np.uint8(Membership.UNTAGGED), np.uint8(Membership.NONE))
    macs = np.append(fabric.host_mac, np.uint64(BROADCAST))
    which, d, p = np.nonzero((layer[:, : len(macs) if grouped else -1, None] & bits) > 0)
    order = np.lexsort((p, macs[d], vlans[which]))
    return replace(
        held,
        vlans=np.append(np.int32(1), vlans),
        vlan_names=("", *[OWNED_VLAN_NAME] * len(vlans)),
        membership=np.concatenate([np.zeros((1, held.ports), np.uint8), membership]),
        entry_vlan=vlans[which][order].astype(np.int32),
        entry_mac=macs[d][order],
        entry_port=(p[order] + 1).astype(np.int32),
    )


def _named(held: SwitchState, at: NDArray[np.int64], vlans: list[int]) -> SwitchState:
    pvid = held.pvid.copy()
    pvid[at - 1] = vlans
    return replace(held, pvid=pvid)
