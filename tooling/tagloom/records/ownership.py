"""Separate what tagloom owns on a switch from what it never changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import Finding
from tagloom.records.change import PORT_CELLS, Cell
from tagloom.records.switch_state import DEFAULT_VLAN, OWNED_VLAN_NAME, Membership, SwitchEditor, SwitchState

if TYPE_CHECKING:
    from collections.abc import Callable, Collection


def overlay(
    running: SwitchState,
    target: SwitchState,
    ports: Collection[int],
    switchwide: Collection[Cell] = (),
    leftovers: Collection[int] = (),
    pruned: Collection[tuple[int, int]] = (),
) -> SwitchState:
    """Return what a switch must hold after an apply: `running`, with what tagloom owns replaced by `target`'s.

    tagloom owns:
    - the VLANs that either state names "tagloom...", with their static entries, and `leftovers`, VLANs that an
      interrupted push left without a name (see `left_unnamed`)
    - on the fabric's `ports`, every field and the membership in owned VLANs and in VLAN 1
    - the spanning-tree switch, BPDU filtering and the aging time
    - on all ports, the cells in `switchwide`, which the model sets by one line for all
    - the memberships of other VLANs in `pruned`, as (VLAN, port), which the operator allows to change, if both states
      have the VLAN

    Everything else stays: other VLANs (names, members on every port, static entries, also VLAN 1's entries) and ports
    outside the fabric, VLAN 1 included. Raises ValueError if the states differ in port count.
    """
    if running.ports != target.ports:
        raise ValueError(f"states of {running.ports} and {target.ports} ports cannot be of one switch")
    wanted, model = SwitchEditor.of(running), SwitchEditor.of(target)
    mine = {*running.owned_vlans, *target.owned_vlans, *leftovers} - {DEFAULT_VLAN}
    kept = mine.intersection(target.owned_vlans)

    for vlan in mine - kept:
        if vlan in wanted.vlans:
            wanted.delete_vlan(vlan)
    for vlan in kept:
        wanted.create_vlan(vlan)
        wanted.name_vlan(vlan, model.vlans[vlan])
    for vlan in (DEFAULT_VLAN, *kept):
        for port in ports:
            wanted.set_member(vlan, port, model.members[vlan].get(port, Membership.NONE))

    for vlan, port in pruned:
        if vlan in wanted.vlans and vlan in model.vlans:
            wanted.set_member(vlan, port, model.members[vlan].get(port, Membership.NONE))

    wanted.pvid = running.pvid.tolist()  # deleting a VLAN reset the PVIDs that named it, also on foreign ports
    for cell, (name, _) in PORT_CELLS.items():
        values, theirs = getattr(wanted, name), getattr(model, name)
        for port in range(1, running.ports + 1) if cell in switchwide else ports:
            values[port - 1] = theirs[port - 1]

    foreign = {key: at for key, at in wanted.entries.items() if key[0] not in mine}
    wanted.entries = foreign | {key: at for key, at in model.entries.items() if key[0] in kept}
    wanted.spanning_tree, wanted.aging_seconds = target.spanning_tree, target.aging_seconds
    wanted.bpdu_filtering = target.bpdu_filtering
    return wanted.freeze()


def left_unnamed(running: SwitchState, vlans: Collection[int], ports: Collection[int]) -> tuple[int, ...]:
    """Return those of `vlans` left between ``vlan 100`` and ``name``: without name, entries or foreign members."""
    unnamed = {v for v, name in zip(running.vlans.tolist(), running.vlan_names, strict=True) if not name}
    unnamed = unnamed.intersection(vlans) - {DEFAULT_VLAN, *running.entry_vlan.tolist()}
    if unnamed:
        for port in set(range(1, running.ports + 1)).difference(ports):
            view = running.port(port)
            unnamed -= {*view.untagged, *view.tagged, view.pvid}
    return tuple(sorted(unnamed))


def _short(port: int) -> str:
    return f"g{port}"


def conflicts(
    running: SwitchState,
    target: SwitchState,
    ports: Collection[int],
    where: str,
    name_of: Callable[[int], str] = _short,
) -> tuple[Finding, ...]:
    """Return the conflicts of `target` with the switch's configuration; while there is any, nothing may be sent.

    An unnamed VLAN that holds nothing outside the fabric's `ports` may be adopted: a push interrupted between
    ``vlan 100`` and ``name`` leaves one. `where` is the switch's name; `name_of` names a port in the model's words.
    """
    found: list[Finding] = []
    names = dict(zip(running.vlans.tolist(), running.vlan_names, strict=True))
    with_entries = set(running.entry_vlan.tolist())
    for vlan in target.owned_vlans:
        name = names.get(vlan, OWNED_VLAN_NAME)
        if name and not name.startswith(OWNED_VLAN_NAME):
            found.append(Finding(f"{where}: VLAN {vlan}", "a free VLAN id", f"a VLAN of others, named {name!r}"))
        elif not name and vlan in with_entries:
            found.append(Finding(f"{where}: VLAN {vlan}", "a free VLAN id", "an unnamed VLAN with static entries"))

    owned = {*running.owned_vlans, *target.owned_vlans} - {DEFAULT_VLAN}
    for port in sorted(set(range(1, running.ports + 1)).difference(ports)):
        for state, whose in ((running, "running"), (target, "target")):
            view = state.port(port)
            member_of = sorted(owned.intersection(view.untagged + view.tagged))
            if member_of:
                listed = ", ".join(map(str, member_of))
                actual = f"a {whose} port outside the fabric in VLAN {listed}"
                found.append(Finding(f"{where}: {name_of(port)}", "no member of tagloom's VLANs", actual))
            if view.pvid in owned:
                actual = f"a {whose} port outside the fabric with PVID {view.pvid}"
                found.append(Finding(f"{where}: {name_of(port)}", "no PVID of tagloom's VLANs", actual))
        if (channel := int(running.lag[port - 1])) in ports:
            actual = f"a running port outside the fabric in {name_of(channel)}"
            found.append(Finding(f"{where}: {name_of(port)}", "no member of the fabric's port-channels", actual))
    return tuple(found)


def leaves_vlan_1(running: SwitchState, wanted: SwitchState, ports: Collection[int]) -> bool:
    """Return whether one of the fabric's `ports` would leave VLAN 1, by which a switch is managed by default."""
    none = Membership.NONE
    return any(running.member(DEFAULT_VLAN, p) is not none and wanted.member(DEFAULT_VLAN, p) is none for p in ports)


def lockout(
    wanted: SwitchState, ports: Collection[int], where: str, physical: int | None = None
) -> tuple[Finding, ...]:
    """Return a finding if no enabled port outside the fabric's `ports` would remain in VLAN 1.

    By default a switch is managed through VLAN 1, which the fabric's ports leave. Without another port in it, the
    session that sends the lines is the last one possible. Of the ports after the first `physical`, the port-channels,
    those with a member count.
    """
    bound = set(wanted.lag.tolist())
    for port in set(range(1, wanted.ports + 1)).difference(ports):
        if wanted.lag[port - 1] or (port > (physical or wanted.ports) and port not in bound):
            continue
        if wanted.enabled[port - 1] and wanted.member(DEFAULT_VLAN, port) is not Membership.NONE:
            return ()
    expected = "an enabled port outside the fabric in VLAN 1, to reach the switch by (or tagloom_out_of_band: true)"
    return (Finding(f"{where}: management", expected, "none would be left"),)
