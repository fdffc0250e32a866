"""Lay out the commands that take a Linux bridge from one state to another, in an order that is safe at every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms.iproute2 import GROUP_BIT, commands, flow_words
from tagloom.records.switch_state import (
    DEFAULT_AGING_SECONDS,
    DEFAULT_VLAN,
    DISCARD_PVID,
    OWNED_VLAN_NAME,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
)
from tagloom.units import format_mac, format_ranges

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import PortView, SwitchState

Step = tuple[str, str]  # the step of the family's order that a line belongs to, and the line


def shell_lines(platform: Platform, before: SwitchState, after: SwitchState) -> list[str]:
    """Write the commands from one state to another; a machine without a port on the bridge has no bridge.

    Whole states and not single changes, because a line says all of a membership. Raises PlanError where a kernel's
    bridge cannot hold `after`.
    """
    _check(platform, after)
    order = commands(platform.templates).order
    place = {step: at for at, phase in enumerate(order) for step in phase}
    steps = list(_steps(platform, SwitchEditor.of(before), SwitchEditor.of(after)))
    return [line for _, line in sorted(steps, key=lambda step: place[step[0]])]


def _steps(platform: Platform, old: SwitchEditor, new: SwitchEditor) -> Iterator[Step]:
    write = commands(platform.templates).write
    had, has = (any(mode is PortMode.GENERAL for mode in editor.mode) for editor in (old, new))
    if not has:
        if had:
            yield "delete", write("delete")
        return
    switch, centiseconds = int(new.spanning_tree), 100 * new.aging_seconds
    if not had:
        yield "create", write("create", switch=switch, centiseconds=centiseconds)
    else:
        if old.spanning_tree != new.spanning_tree:
            step = "spanning_tree_on" if new.spanning_tree else "spanning_tree_off"
            yield step, write("spanning_tree", switch=switch)
        if old.aging_seconds != new.aging_seconds:
            yield "aging", write("aging", centiseconds=centiseconds)
    if any(_carries(new)) and not any(_carries(old)):  # also where the bridge was there, but down
        yield "bridge_up", write("bridge_up")
    for port in range(1, platform.ports + 1):
        yield from _port_steps(write, platform.port_name(port), port, old, new)
    yield from _entry_steps(platform, old, new)


def _carries(editor: SwitchEditor) -> Iterator[bool]:
    """Return of every port whether it is an open port of the bridge."""
    return (mode is PortMode.GENERAL and up for mode, up in zip(editor.mode, editor.enabled, strict=True))


def _port_steps(
    write: Callable[..., str], name: str, port: int, old: SwitchEditor, new: SwitchEditor
) -> Iterator[Step]:
    at = port - 1
    was, now = (editor.mode[at] is PortMode.GENERAL for editor in (old, new))
    if not now:
        if was:
            yield "leave_bridge", write("leave_bridge", port=name)
        return
    if not was:
        yield "join_bridge", write("join_bridge", port=name)
        old, up = SwitchEditor.blank(old.ports), False  # a port joins without VLANs, and may be down
        old.set_member(DEFAULT_VLAN, port, Membership.NONE)
        old.pvid[at] = DISCARD_PVID
    else:
        up = old.enabled[at]
    if (old.flooding[at], old.learning[at]) != (new.flooding[at], new.learning[at]):
        on = "on" if new.learning[at] else "off"
        step = "floods" if new.flooding[at] else "floods_nothing"
        yield step, write(step, port=name, on=on)
    yield from _membership_steps(write, name, port, old, new)
    if up != new.enabled[at] or not was:
        step = "port_up" if new.enabled[at] else "port_down"
        yield step, write(step, port=name)
    if (old.negotiation[at], old.speed_mbps[at]) != (new.negotiation[at], new.speed_mbps[at]):
        on = "on" if new.negotiation[at] else "off"
        yield (
            "speed",
            write("speed" if new.speed_mbps[at] else "negotiation", port=name, on=on, mbps=new.speed_mbps[at]),
        )
    if old.flow_control[at] != new.flow_control[at]:
        negotiated, both = flow_words(FlowControl(new.flow_control[at]))
        yield "pause", write("pause", port=name, autoneg=negotiated, rx=both, tx=both)
    if old.eee[at] != new.eee[at]:
        yield "eee", write("eee", port=name, on="on" if new.eee[at] else "off")


def _membership_steps(
    write: Callable[..., str], name: str, port: int, old: SwitchEditor, new: SwitchEditor
) -> Iterator[Step]:
    """Write the lines of a port's VLANs; those of its PVIDs, old and new, carry or take the mark at the switch-over."""
    pvid_was, pvid = old.pvid[port - 1], new.pvid[port - 1]
    joins: dict[Membership, list[int]] = {Membership.UNTAGGED: [], Membership.TAGGED: []}
    leaves: list[int] = []
    for vlan in sorted(old.members.keys() | new.members.keys()):
        how_was, how = _member(old, vlan, port), _member(new, vlan, port)
        if how is Membership.NONE and how_was is not Membership.NONE:
            leaves.append(vlan)
        elif how != how_was and vlan != pvid_was:
            joins[how].append(vlan)
    for how, vlans in joins.items():
        for run in _runs(vlans):
            yield "member", write(f"member{_tagging(how)}", port=name, vlans=run)
    kept = pvid_was != DISCARD_PVID and _member(new, pvid_was, port) is not Membership.NONE
    retagged = kept and _member(new, pvid_was, port) != _member(old, pvid_was, port)
    if pvid != DISCARD_PVID and (pvid != pvid_was or retagged):
        yield "pvid", write(f"pvid{_tagging(_member(new, pvid, port))}", port=name, vlan=pvid)
    if kept and pvid != pvid_was and (retagged or pvid == DISCARD_PVID):
        yield "pvid", write(f"member{_tagging(_member(new, pvid_was, port))}", port=name, vlans=pvid_was)
    for run in _runs(leaves):
        yield "leave", write("leave", port=name, vlans=run)


def _member(editor: SwitchEditor, vlan: int, port: int) -> Membership:
    return editor.members.get(vlan, {}).get(port, Membership.NONE)


def _tagging(how: Membership) -> str:
    return "_untagged" if how is Membership.UNTAGGED else ""


def _entry_steps(platform: Platform, old: SwitchEditor, new: SwitchEditor) -> Iterator[Step]:
    write = commands(platform.templates).write
    for (vlan, mac), ports in sorted(new.entries.items()):
        if old.entries.get((vlan, mac)) != ports:
            yield "entry", write("entry", mac=format_mac(mac), port=platform.port_name(ports[0]), vlan=vlan)
    for (vlan, mac), ports in sorted(old.entries.items()):
        if (vlan, mac) not in new.entries and new.mode[ports[0] - 1] is PortMode.GENERAL:  # else it went with its port
            yield "no_entry", write("no_entry", mac=format_mac(mac), port=platform.port_name(ports[0]), vlan=vlan)


def _runs(vlans: list[int]) -> list[str]:
    return format_ranges(vlans).split(",") if vlans else []


def _check(platform: Platform, state: SwitchState) -> None:
    """Raise PlanError for what a kernel's bridge cannot hold."""
    blank = SwitchEditor.blank(1).freeze().port(1)
    for port in range(1, platform.ports + 1):
        view = state.port(port)
        if problem := _outside(view, blank) if view.mode is PortMode.ACCESS else _inside(view):
            raise PlanError(problem, f"port {platform.port_name(port)}")
    for row, (vlan, name) in enumerate(zip(state.vlans.tolist(), state.vlan_names, strict=True)):
        if vlan != DEFAULT_VLAN and not state.membership[row].any():
            raise PlanError("a VLAN of a bridge is there while a port is in it", f"VLAN {vlan}")
        if name != ("" if vlan == DEFAULT_VLAN else OWNED_VLAN_NAME):
            raise PlanError(
                f"all VLANs on the bridge {commands().bridge} are tagloom's", f"VLAN {vlan}, named {name!r}"
            )
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    seen: set[tuple[int, int]] = set()
    for vlan, mac, port in rows:
        where = f"VLAN {vlan}, {format_mac(mac)}"
        if mac & GROUP_BIT or mac == 0 or (vlan, mac) in seen:
            raise PlanError("a bridge's entry pins one host to one port", where, "plan with --static-arp")
        if state.mode[port - 1] != PortMode.GENERAL or state.member(vlan, port) is Membership.NONE:
            raise PlanError("a bridge's entry needs its port in its VLAN", f"{where}, {platform.port_name(port)}")
        seen.add((vlan, mac))
    if not (state.mode == PortMode.GENERAL).any() and (
        not state.spanning_tree or state.aging_seconds != DEFAULT_AGING_SECONDS
    ):
        raise PlanError("a machine without a port on the bridge has none to set", "spanning tree or aging time")


def _outside(view: PortView, blank: PortView) -> str:
    same = all(getattr(view, field) == getattr(blank, field) for field in blank.__slots__ if field != "number")
    return "" if same else "a port outside the bridge (access mode) is not tagloom's to set"


def _inside(view: PortView) -> str:
    if view.mode is not PortMode.GENERAL or view.frames is not Frames.ALL or not view.ingress_filter:
        return "a bridge's port takes tagged and untagged frames of its own VLANs, and no others"
    if view.learning and not view.flooding:
        return "a bridge's port that floods nothing learns nothing"
    if view.pvid != DISCARD_PVID and view.pvid not in view.untagged + view.tagged:
        return "a bridge's PVID is one of the port's VLANs"
    return "" if view.spanning_tree else "a bridge has spanning tree on all of its ports or on none"
