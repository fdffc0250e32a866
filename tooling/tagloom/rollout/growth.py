"""Compose the states between two fabrics: what goes leaves first, then what both have changes, what is new comes last.

Between what runs and what is planned there are four states; the last state is the plan's:
leave    the ports of hosts that go are closed; ports that are taken for something new are shut and in no VLAN
add      everything that only adds: VLANs, members and entries of what comes, on ports that are shut, on new switches
         too; entries for a host's new address beside those for its old one
change   what both have is as planned, the links that come are open and those that go are shut; in between are the
         waves of an ordinary rollout, on the fabric of all switches and links of both (`FabricPair.united`)
clear    entries and members of what went are gone, its ports still shut: left out if no link goes
end      as planned: ports of what went are given back, hosts that come are let in

A VLAN of the plan that is one of the old ones, grown or shrunk, keeps its id: wherever both have a member port or an
entry for the same host, they agree. Such a VLAN is changed in place, which adds to or removes from a tree. The proof of
the wave decides whether that is safe at every line; if not, `stages` is called without `keep`. A VLAN whose id the
fabric file gives keeps it always, since hosts send with it: it is changed in place, or not at all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from tagloom import platforms
from tagloom.errors import AT_ONCE, PlanError
from tagloom.graph.numbering import owned, with_numbers
from tagloom.platforms.factory import factory_state
from tagloom.platforms.grammar import switchwide
from tagloom.records.change import PORT_CELLS
from tagloom.records.host_entries import with_copied_entries
from tagloom.records.switch_state import (
    BROADCAST,
    DEFAULT_VLAN,
    DISCARD_PVID,
    MAX_VLAN,
    OWNED_VLAN_NAME,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    dead_states,
)
from tagloom.rollout.layers import with_cells, without

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from tagloom.platforms import Platform
    from tagloom.records.fabric import Fabric, Host, Switch
    from tagloom.records.fabric_pair import FabricPair, Member
    from tagloom.records.switch_state import FabricState, SwitchState

    Ports = NDArray[np.int64]  # indices from 0
    Content = tuple[NDArray[np.uint8], NDArray[np.uint64], NDArray[np.int32]]  # members, addresses, ports of entries


@dataclass(frozen=True)
class Stages:
    """The state of every switch before, after each of `leave`, `add`, `change` and `clear`, and in the end.

    `before` .. `change` contain the switches of both fabrics, `clear` and `end` those of the new one alone. Dead ones
    of either, which are sent nothing, are in all of them.
    """

    before: FabricState
    leave: FabricState
    add: FabricState
    change: FabricState
    clear: FabricState
    end: FabricState


def stages(
    fabrics: FabricPair, before: FabricState, after: FabricState, *, keep: bool = True, own_ids: bool = False
) -> Stages:
    """Return the states between `before`, of the old fabric, and `after`, of the new one.

    Without `keep`, only VLANs whose ids are given are changed in place: what comes has unused ids. With `own_ids`, a
    VLAN is changed in place only if the plan gives it the id that it has. Raises PlanError if too few are left, or if a
    given id is that of something else.
    """
    keeps = _matches(fabrics, before, after, own_ids=own_ids) if keep else _given(fabrics, before, after)
    after = _numbered(fabrics.new, before, after, keeps)
    both = _StatesOfBoth(fabrics, before, after, frozenset(keeps.values()))
    parts: list[FabricState] = [{}, {}, {}, {}, {}, {}]
    for switch in (*fabrics.new.live, *(s for s in fabrics.old.live if s.name in fabrics.gone)):
        held: tuple[SwitchState, ...]
        if switch.name in fabrics.gone:
            was = before[switch.name]  # it gets lines only if a host with a new address is reached over it
            held = was, was, both.renewed(was), both.renewed(was)
        elif switch.name in fabrics.switches:
            held = both.kept(switch)
        else:
            held = both.coming(switch)
        for part, state in zip(parts, held, strict=False):
            part[switch.name] = state
    for name, dead in (dead_states(fabrics.old) | dead_states(fabrics.new)).items():
        for part in parts:
            part.setdefault(name, dead)
    return Stages(*parts)


def numbered_as(fabrics: FabricPair, before: FabricState, after: FabricState, *, own_ids: bool = False) -> FabricState:
    """Return `after`, of the new fabric, with the VLAN ids of `before` for VLANs that grew or shrank from old ones.

    With `own_ids`, those are only the ones to which the plan gives the same id. Any other VLAN has an id that `before`
    uses nowhere. Raises PlanError if too few are left.
    """
    return _numbered(fabrics.new, before, after, _matches(fabrics, before, after, own_ids=own_ids))


def not_carrying(fabric: Fabric, state: FabricState, members: Collection[Member]) -> FabricState:
    """Return states in which ports leave the networks of `members`: their frames get neither in nor out there.

    Entries stay: one that leads to a port outside its VLAN leads nowhere.
    """
    found = dict(state)
    for name, port, tag in sorted(members):
        held, switch = found[name], fabric.switches[fabric.index[name]]
        rows, pvid = held.vlans == tag, held.pvid.copy()
        if not tag:
            carried = fabric.tagged_hosts.get((fabric.index[name], port), {})
            rows = np.isin(held.vlans, held.owned_vlans) & ~np.isin(held.vlans, list(carried))
            pvid[port - 1] = _dead_pvid(platforms.of(switch))
        membership = held.membership.copy()
        membership[rows, port - 1] = Membership.NONE
        found[name] = replace(held, membership=membership, pvid=pvid)
    return found


class _StatesOfBoth:
    """Both fabrics' states, with final VLAN ids in `after`, and which of those ids are old ones."""

    def __init__(self, fabrics: FabricPair, before: FabricState, after: FabricState, same: frozenset[int]) -> None:
        self.fabrics, self.before, self.after, self.same = fabrics, before, after, same

    @cached_property
    def stays(self) -> NDArray[np.uint64]:
        """Return the addresses, as the old fabric has them, of hosts that stay, and the broadcast address."""
        return np.array([*(mac for was, _ in self.fabrics.hosts.values() for mac in was.macs), BROADCAST], np.uint64)

    def kept(self, switch: Switch) -> tuple[SwitchState, ...]:
        """Return the six states of a switch that both fabrics have."""
        fabrics, name, platform = self.fabrics, switch.name, platforms.of(switch)
        old, new = self.before[name], _elsewhere(fabrics, switch, self.before[name], self.after[name])
        going, coming = (_ports(fabrics.ports_of_links(fabric), name) for fabric in (fabrics.old, fabrics.new))
        leaving, arriving = (_ports(fabrics.ports_of_hosts(fabric), name) for fabric in (fabrics.old, fabrics.new))
        how = fabrics.new.returned_ports
        taken = np.setdiff1d(np.union1d(coming, arriving), going)
        left = np.setdiff1d(leaving, taken)
        leave = _closed(platform, _without_entries_at(old, leaving), left, enabled=how == "isolated")
        if len(taken):
            leave = _closed(platform, leave, taken, enabled=False)
        later = np.intersect1d(going, arriving) if platform.hosts_on_access else going[:0]
        content = {v: self._contents_meanwhile(old, new, v, leaving, later) for v in self.same}
        add = _with_contents(self.renewed(leave), content)
        add = _prepared(platform, add, new, taken)
        change = _with_contents(new, content)
        change = _shut(_without_members(change, left, content), arriving)
        change = _closed(platform, change, left, enabled=how == "isolated")
        lost = np.setdiff1d(going, np.union1d(coming, arriving))
        wide = _wide_columns(platform)
        cells = [column for column, _ in PORT_CELLS.values() if column not in wide]
        change = with_cells(change, old, going, cells)
        change = _dead_pvids(platform, _shut(change, going), going)
        # other modes may have no command for it
        change = _with_columns(platform, change, going, {"frames": Frames.ALL})
        change = _without_members(change, going, content)
        end = _given_back(platform, new, np.union1d(lost, left), how)
        clear = _closed(platform, new, lost, enabled=False)
        clear = _closed(platform, clear, left, enabled=how == "isolated")
        return old, leave, add, change, _shut(clear, np.union1d(going, arriving)), end

    def renewed(self, state: SwitchState) -> SwitchState:
        """Return `state` with entries for the new addresses of a host wherever there is one for its old one.

        An address that another host had keeps its entries until the hosts change places.
        """
        had = self.fabrics.old.host_of_mac
        changed = {
            was.mac: new
            for was, known in self.fabrics.hosts.values()
            if (new := tuple(mac for mac in _new_addresses(was, known) if mac not in had))
        }
        rows = np.isin(state.entry_mac, np.array(list(changed), np.uint64)) & np.isin(
            state.entry_vlan, state.owned_vlans
        )
        return with_copied_entries(state, np.flatnonzero(rows), changed)

    def coming(self, switch: Switch) -> tuple[SwitchState, ...]:
        """Return the six states of a switch that only the new fabric has: its ports are shut until others are ready."""
        platform, new = platforms.of(switch), self.after[switch.name]
        s = self.fabrics.new.index[switch.name]
        used = np.array(self.fabrics.new.used_ports[s], np.int64) - 1
        add = without(new, set(new.owned_vlans) - self.same)
        add = _dead_pvids(platform, _shut(add, used), np.arange(new.ports))
        factory = factory_state(platform)
        arriving = _ports(self.fabrics.ports_of_hosts(self.fabrics.new), switch.name)
        return factory, factory, add, _shut(new, arriving), _shut(new, arriving), new

    def _contents_meanwhile(
        self, old: SwitchState, new: SwitchState, vlan: int, leaving: Ports, later: Ports
    ) -> Content | None:
        """Return what a VLAN that keeps its id holds on a switch meanwhile: all that it had and will have.

        Entries of hosts that go are gone at once; members stay, on links that are in use until they are shut. Ports
        that are links before and hosts' `later` hold what they had: they have a link's mode until it is gone.
        """
        if vlan not in old.vlan_index and vlan not in new.vlan_index:
            return None
        was, will = _members(old, vlan), _members(new, vlan)
        members = np.where(was > 0, was, will)
        members[leaving] = np.where(was[leaving] > 0, will[leaving], members[leaving])
        rows = (old.entry_vlan == vlan) & np.isin(old.entry_mac, self.stays) & ~np.isin(old.entry_port - 1, leaving)
        members[later] = was[later]
        mac, port = _entries(new, vlan)
        there = ~np.isin(port - 1, later) | (members[port - 1] > 0)
        mac, port = mac[there], port[there]
        rows &= ~np.isin(old.entry_mac, mac)
        mac = np.concatenate([old.entry_mac[rows], mac])
        port = np.concatenate([old.entry_port[rows], port])
        order = np.lexsort((port, mac))
        return members, mac[order], port[order]


def _new_addresses(was: Host, known: Host) -> tuple[int, ...]:
    return tuple(mac for mac in known.macs if mac not in was.macs)


def _one_address(was: Host, known: Host) -> tuple[int, int]:
    """Return an address of a host in the old fabric and one in the new, the same one if possible.

    All addresses of a host have the same entries, so one stands for all.
    """
    both = next((mac for mac in was.macs if mac in known.macs), 0)
    return (both, both) if both else (was.macs[0], known.macs[0])


def _ports(by_switch: Mapping[str, set[int]], name: str) -> Ports:
    return np.array(sorted(by_switch.get(name, ())), np.int64) - 1


def _elsewhere(fabrics: FabricPair, switch: Switch, old: SwitchState, new: SwitchState) -> SwitchState:
    """Return `new` with ports that neither fabric uses as they are in `old`: they must not change."""
    theirs = np.ones(old.ports, np.bool_)
    for fabric in (fabrics.old, fabrics.new):
        theirs[np.array(fabric.used_ports[fabric.index[switch.name]], np.int64) - 1] = False
    wide = _wide_columns(platforms.of(switch))
    cells = [column for column, _ in PORT_CELLS.values() if column not in wide]
    at = np.flatnonzero(theirs)
    members = new.membership.copy()
    for row, vlan in enumerate(new.vlans.tolist()):
        if vlan in old.vlan_index:
            members[row, at] = old.membership[old.vlan_index[vlan], at]
    return replace(with_cells(new, old, at, cells), membership=members)


def _wide_columns(platform: Platform) -> frozenset[str]:
    """Return the columns of a state that one line of the model sets on all of its ports."""
    return frozenset(PORT_CELLS[cell][0] for cell in switchwide(platform) if cell in PORT_CELLS)


# --- matching VLANs -------------------------------------------------------------------------------------------------


def _matches(fabrics: FabricPair, before: FabricState, after: FabricState, *, own_ids: bool = False) -> dict[int, int]:
    """Return the VLAN of `before` that each VLAN of `after` grew or shrank from, if any.

    The hosts that send in it determine the candidates; if none sends, it must be equal on all that both fabrics have.
    With `own_ids`, the only candidate is the VLAN of the same id.
    """
    named: dict[int, dict[int, int]] = {}  # VLAN after -> VLAN before -> hosts that name both
    found = _given(fabrics, before, after)
    fixed = {vlan for fabric in (fabrics.old, fabrics.new) for _, vlan in fabric.tags}
    mine, theirs = owned(after) - fixed, owned(before) - fixed
    for name, port, tag in fabrics.hosts:
        w, v = int(after[name].pvid[port - 1]), int(before[name].pvid[port - 1])
        if w in mine and v in theirs and not tag and (w == v or not own_ids):
            named.setdefault(w, {})[v] = named.get(w, {}).get(v, 0) + 1
    look = _VlanComparison(fabrics, before, after)
    free = set(theirs)
    wishes = sorted((-count, w != v, w, v) for w, ways in named.items() for v, count in ways.items())
    for _, _, w, v in wishes:
        if w not in found and v in free and look.agree(v, w):
            found[w] = v
            free.discard(v)
    for w in sorted(mine - found.keys()):
        candidates = (w, *sorted(free)) if not own_ids else (w,)
        same = next((v for v in candidates if v in free and look.equal(v, w)), None)
        if same is not None:
            found[w] = same
            free.discard(same)
    return found


def _given(fabrics: FabricPair, before: FabricState, after: FabricState) -> dict[int, int]:
    """Return the VLANs whose id the new fabric file gives, and that both have: each keeps it.

    Raises PlanError for an id that was not given before, and is of something else.
    """
    known = {vlan for _, vlan in fabrics.old.tags}
    found: dict[int, int] = {}
    for network, vlan in fabrics.new.tags:
        if vlan not in owned(after) or not any(vlan in held.vlan_index for held in before.values()):
            continue
        if vlan not in known:
            rule = "a VLAN id that hosts are to use, used by nothing before"
            next_step = f"another id (networks: {network}: vlan), or tagloom {AT_ONCE} sets it up in one go"
            raise PlanError(rule, f"VLAN {vlan} of network {network} is in use", next_step, (AT_ONCE,))
        found[vlan] = vlan
    return found


def moved_trees(fabrics: FabricPair, before: FabricState, after: FabricState) -> list[int]:
    """Return the VLANs whose id both fabric files give, and whose tree does neither only grow nor only shrink."""
    given = {vlan for _, vlan in fabrics.old.tags} & {vlan for _, vlan in fabrics.new.tags}
    look = _VlanComparison(fabrics, before, after)
    return sorted(vlan for vlan in given if not look.agree(vlan, vlan))


class _VlanComparison:
    """Compares a VLAN of one fabric with a VLAN of the other, on the ports and for the hosts that both have."""

    def __init__(self, fabrics: FabricPair, before: FabricState, after: FabricState) -> None:
        self.before, self.after = before, after
        known = (_one_address(was, now) for was, now in fabrics.hosts.values() if was.macs and now.macs)
        self.address = dict(known) | {BROADCAST: BROADCAST}
        self.known = np.array(sorted(self.address.values()), np.uint64)
        self.was = np.array(sorted(self.address), np.uint64)
        self.will = np.array([self.address[mac] for mac in sorted(self.address)], np.uint64)
        self.names = sorted(fabrics.switches)
        self.shared: dict[str, NDArray[np.bool_]] = {}
        single = [
            find(fabric)
            for fabric in (fabrics.old, fabrics.new)
            for find in (fabrics.ports_of_links, fabrics.ports_of_hosts)
        ]
        for name in self.names:
            mask = np.ones(before[name].ports, np.bool_)
            for ports in single:
                mask[_ports(ports, name)] = False
            self.shared[name] = mask

    def agree(self, v: int, w: int) -> bool:
        """Return whether `w` equals `v`, or only adds to it or only removes from it."""
        more = less = False
        for name in self.names:
            old, new = self.before[name], self.after[name]
            if v not in old.vlan_index and w not in new.vlan_index:
                continue
            was, will = (each[self.shared[name]] for each in (_members(old, v), _members(new, w)))
            if ((was != will) & (was > 0) & (will > 0)).any():
                return False
            more, less = more | bool((will > was).any()), less | bool((was > will).any())
            one, other = self._entries(name, v, w)
            common, i, j = np.intersect1d(one[0], other[0], return_indices=True)
            if not np.array_equal(one[1][i], other[1][j]) or (BROADCAST in common) != (
                BROADCAST in np.union1d(one[0], other[0])
            ):
                return False
        return not (more and less)

    def equal(self, v: int, w: int) -> bool:
        """Return whether both are the same."""
        for name in self.names:
            was, will = (
                each[self.shared[name]] for each in (_members(self.before[name], v), _members(self.after[name], w))
            )
            one, other = self._entries(name, v, w)
            if not (np.array_equal(was, will) and all(map(np.array_equal, one, other))):
                return False
        return True

    def _entries(self, name: str, v: int, w: int) -> tuple[tuple[NDArray[np.uint64], NDArray[np.uint64]], ...]:
        """Return (addresses as in the new fabric, sets of ports as bits) of hosts that both have, for each VLAN."""
        mac, port = _entries(self.before[name], v)
        known = np.isin(mac, self.was)
        mac, port = self.will[np.searchsorted(self.was, mac[known])], port[known]
        other, other_port = _entries(self.after[name], w)
        known = np.isin(other, self.known)
        return _as_sets(mac, port), _as_sets(other[known], other_port[known])


def _as_sets(mac: NDArray[np.uint64], port: NDArray[np.int32]) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    keys, at = np.unique(mac, return_inverse=True)
    bits = np.zeros(len(keys), np.uint64)
    np.bitwise_or.at(bits, at, np.uint64(1) << (port - 1).astype(np.uint64))
    return keys, bits


def _numbered(fabric: Fabric, before: FabricState, after: FabricState, keeps: Mapping[int, int]) -> FabricState:
    """Return `after` with the ids of VLANs that are kept, and ids that `before` uses nowhere for all others."""
    used = {v for state in before.values() for v in state.vlans.tolist()}
    mine = sorted(owned(after))
    number = dict(keeps)
    taken = used | {v for v in mine if v not in number}
    unused = fabric.first_vlan
    for v in mine:
        if v in number or v not in used:
            continue
        while unused in taken:
            unused += 1
        if unused > MAX_VLAN:
            rule = "a VLAN id that no switch uses for each tree that is not an old one"
            next_step = f"a plan with fewer VLANs, or tagloom {AT_ONCE} sets it up in one go"
            raise PlanError(rule, "none is left", next_step, (AT_ONCE,))
        number[v] = unused
        taken.add(unused)
    return {name: with_numbers(name, state, number) for name, state in after.items()}


# --- states of a switch -----------------------------------------------------------------------------------------------


def _members(state: SwitchState, vlan: int) -> NDArray[np.uint8]:
    row = state.vlan_index.get(vlan)
    return np.zeros(state.ports, np.uint8) if row is None else state.membership[row].copy()


def _entries(state: SwitchState, vlan: int) -> tuple[NDArray[np.uint64], NDArray[np.int32]]:
    low, high = np.searchsorted(state.entry_vlan, [vlan, vlan + 1])
    return state.entry_mac[low:high], state.entry_port[low:high]


def _with_contents(state: SwitchState, contents: Mapping[int, Content | None]) -> SwitchState:
    """Return a state in which each VLAN of `contents` holds just that, and is absent if it is None."""
    state = without(state, set(contents))
    mine = {v: content for v, content in contents.items() if content is not None}
    if not mine:
        return state
    ids = np.concatenate([state.vlans, np.array(sorted(mine), np.int32)])
    order = np.argsort(ids)
    rows = np.concatenate([state.membership, *(mine[v][0][None] for v in sorted(mine))])
    names = [*state.vlan_names, *[OWNED_VLAN_NAME] * len(mine)]
    vlan = np.concatenate([state.entry_vlan, *(np.full(len(mine[v][1]), v, np.int32) for v in sorted(mine))])
    mac = np.concatenate([state.entry_mac, *(mine[v][1] for v in sorted(mine))])
    port = np.concatenate([state.entry_port, *(mine[v][2] for v in sorted(mine))])
    by = np.lexsort((port, mac, vlan))
    return replace(
        state,
        vlans=ids[order],
        vlan_names=tuple(names[i] for i in order.tolist()),
        membership=rows[order],
        entry_vlan=vlan[by],
        entry_mac=mac[by],
        entry_port=port[by],
    )


def _prepared(platform: Platform, state: SwitchState, new: SwitchState, at: Ports) -> SwitchState:
    """Return `state` with ports set as in `new`, but shut; a PVID whose VLAN does not exist yet names none."""
    if not len(at):
        return state
    wide = _wide_columns(platform)
    cells = [column for column, _ in PORT_CELLS.values() if column not in wide]
    return _dead_pvids(platform, _shut(with_cells(state, new, at, cells), at), at)


def _shut(state: SwitchState, at: Ports) -> SwitchState:
    if not len(at) or not state.enabled[at].any():
        return state
    enabled = state.enabled.copy()
    enabled[at] = False
    return replace(state, enabled=enabled)


def _dead_pvids(platform: Platform, state: SwitchState, at: Ports) -> SwitchState:
    """Return `state` with PVIDs that name no VLAN of the switch set to a dead one."""
    stale = at[~np.isin(state.pvid[at], [*state.vlans.tolist(), DISCARD_PVID])]
    if not len(stale):
        return state
    pvid = state.pvid.copy()
    pvid[stale] = _dead_pvid(platform)
    return replace(state, pvid=pvid)


def _dead_pvid(platform: Platform) -> int:
    """Return a PVID that lets no frame in, on a port that is in no VLAN."""
    return DISCARD_PVID if platform.pvid_is_membership else DEFAULT_VLAN


def _without_members(state: SwitchState, at: Ports, but: Collection[int]) -> SwitchState:
    """Return `state` with ports in no VLAN, except those of `but`."""
    if not len(at):
        return state
    rows = np.array([v not in but for v in state.vlans.tolist()], np.bool_)
    members = state.membership.copy()
    members[np.ix_(rows, at)] = Membership.NONE
    return replace(state, membership=members)


def _without_entries_at(state: SwitchState, at: Ports) -> SwitchState:
    """Return `state` without entries of tagloom's VLANs that point at some ports, which are about to leave them."""
    rows = ~(np.isin(state.entry_port - 1, at) & np.isin(state.entry_vlan, state.owned_vlans))
    if rows.all():
        return state
    return replace(
        state, entry_vlan=state.entry_vlan[rows], entry_mac=state.entry_mac[rows], entry_port=state.entry_port[rows]
    )


def _closed(platform: Platform, state: SwitchState, at: Ports, *, enabled: bool) -> SwitchState:
    """Return `state` with ports in no VLAN: nothing goes in or out. Cells that one line sets on all ports stay."""
    if not len(at):
        return state
    columns = {
        "mode": PortMode.GENERAL,
        "pvid": _dead_pvid(platform),
        "ingress_filter": True,
        "frames": Frames.ALL,
        "enabled": enabled,
        "negotiation": True,
        "speed_mbps": 0,
        "flow_control": FlowControl.OFF,
        "eee": platform.eee_at_factory,
        "port_spanning_tree": True,
        "lag": 0,
        "flooding": True,
        "learning": True,
    }
    return _without_members(_with_columns(platform, state, at, columns), at, ())


def _with_columns(platform: Platform, state: SwitchState, at: Ports, columns: Mapping[str, int]) -> SwitchState:
    wide = _wide_columns(platform)
    given = {}
    for column, value in columns.items():
        if column not in wide:
            given[column] = getattr(state, column).copy()
            given[column][at] = value
    return replace(state, **given)


def given_back(fabric: Fabric, state: FabricState, ports: Mapping[str, Collection[int]]) -> FabricState:
    """Return `state` with ports of some switches, numbered from 1, as `returned_ports` of the fabric says."""
    found = dict(state)
    for switch in fabric.live:
        at = np.array(sorted(ports.get(switch.name, ())), np.int64) - 1
        found[switch.name] = _given_back(platforms.of(switch), state[switch.name], at, fabric.returned_ports)
    return found


def _given_back(platform: Platform, state: SwitchState, at: Ports, how: str) -> SwitchState:
    """Return `state` with unused ports as the operator says: isolated, shut, or as the factory's."""
    if not len(at):
        return state
    closed = _closed(platform, state, at, enabled=how != "shut")
    if how != "factory":
        return closed
    members = closed.membership.copy()
    members[closed.vlan_index[DEFAULT_VLAN], at] = Membership.UNTAGGED
    plain = {"mode": PortMode.ACCESS, "pvid": DEFAULT_VLAN}
    return replace(_with_columns(platform, closed, at, plain), membership=members)
