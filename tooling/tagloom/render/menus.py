"""Lay out the lines that take a RouterOS bridge from one state to another, in an order that is safe at every line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tagloom.errors import PlanError
from tagloom.platforms.routeros import GROUP_BIT, SPEEDS, TAGGED_ONLY, frame_types, lines, write_list, write_time, yes
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
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tagloom.platforms import Platform
    from tagloom.records.switch_state import PortView, SwitchState

Step = tuple[str, str]  # the step of the family's order that a line belongs to, and the line
_FLOW = {FlowControl.OFF: "off", FlowControl.ON: "on", FlowControl.AUTO: "auto"}


def menu_lines(platform: Platform, before: SwitchState, after: SwitchState) -> list[str]:
    """Write the lines from one state to another; a machine without a port on the bridge has no bridge.

    Whole states and not single changes, because a line of the VLAN table says all ports of a VLAN. Raises PlanError
    where RouterOS cannot hold `after`.
    """
    _check(platform, after)
    order = lines(platform.templates).order
    place = {step: at for at, phase in enumerate(order) for step in phase}
    steps = list(_steps(platform, SwitchEditor.of(before), SwitchEditor.of(after)))
    return [line for _, line in sorted(steps, key=lambda step: place[step[0]])]


def _steps(platform: Platform, old: SwitchEditor, new: SwitchEditor) -> Iterator[Step]:
    write = lines(platform.templates).write
    had, has = (any(mode is PortMode.GENERAL for mode in editor.mode) for editor in (old, new))
    protocol, aging = "rstp" if new.spanning_tree else "none", write_time(new.aging_seconds)
    if has and not had:
        yield "create", write("create", protocol=protocol, aging=aging)
    elif has:
        if old.spanning_tree != new.spanning_tree:
            step = "spanning_tree_on" if new.spanning_tree else "spanning_tree_off"
            yield step, write("spanning_tree", protocol=protocol)
        if old.aging_seconds != new.aging_seconds:
            yield "aging", write("aging", aging=aging)
    for port in range(1, platform.ports + 1):
        yield from _port_steps(write, platform.port_name(port), port, old, new)
    yield from _vlan_steps(platform, old, new)
    yield from _entry_steps(platform, old, new)
    if had and not has:
        yield "delete", write("delete")


def _port_steps(
    write: Callable[..., str], name: str, port: int, old: SwitchEditor, new: SwitchEditor
) -> Iterator[Step]:
    at = port - 1
    was, now = (editor.mode[at] is PortMode.GENERAL for editor in (old, new))
    if not now:
        if was:
            yield "leave_bridge", write("leave_bridge", port=name)
        return
    pvid_was, types_was = old.pvid[at], frame_types(old.pvid[at], old.frames[at])
    flooding_was, learning_was = old.flooding[at], old.learning[at]
    if not was:  # a port joins without VLANs, and what was set of its cable while it stood outside is not known
        yield "join_bridge", write("join_bridge", port=name)
        pvid_was, types_was, flooding_was, learning_was = DISCARD_PVID, TAGGED_ONLY, True, True
    if (flooding_was, learning_was) != (new.flooding[at], new.learning[at]):
        key = "floods" if new.flooding[at] else "floods_nothing"
        silenced = not new.flooding[at] or (
            flooding_was and not new.learning[at]
        )  # before there is what it could learn
        yield "floods_nothing" if silenced else "floods", write(key, port=name, learn=yes(on=new.learning[at]))
    pvid, types = new.pvid[at], frame_types(new.pvid[at], new.frames[at])
    if (pvid, types) != (pvid_was, types_was):
        key = {TAGGED_ONLY: "no_pvid"}.get(types, "frames_untagged" if new.frames[at] is not Frames.ALL else "pvid")
        yield "pvid", write(key, port=name, vlan=pvid)
    if not was or old.enabled[at] != new.enabled[at]:
        step = "port_up" if new.enabled[at] else "port_down"
        yield step, write(step, port=name)
    speed = new.negotiation[at], new.speed_mbps[at]
    if not was or (old.negotiation[at], old.speed_mbps[at]) != speed:
        yield (
            "speed",
            write("negotiation" if speed[0] else "speed", port=name, speed=SPEEDS.get(new.speed_mbps[at], "")),
        )
    if not was or old.flow_control[at] != new.flow_control[at]:
        flow = _FLOW[FlowControl(new.flow_control[at])]
        yield "pause", write("pause", port=name, rx=flow, tx=flow)


def _vlan_steps(platform: Platform, old: SwitchEditor, new: SwitchEditor) -> Iterator[Step]:
    """Write the rows of the VLAN table: first with the ports of both states, then with those of the new one.

    A port whose untagged frames the old state takes to a VLAN becomes a tagged member of it only with the second.
    """
    write = lines(platform.templates).write
    for vlan in sorted(old.members.keys() | new.members.keys()):
        was, now = _members(old, vlan), _members(new, vlan)
        both = {**was, **now}
        both.update({port: was[port] for port in was if old.pvid[port - 1] == vlan})
        if both and both != was:
            yield "member", _row(write, platform, "member" if was else "vlan_new", vlan, both)
        if now and now != both:
            yield "leave", _row(write, platform, "member", vlan, now)
        if was and not now:
            yield "leave", write("no_vlan", vlan=vlan)


def _members(editor: SwitchEditor, vlan: int) -> dict[int, Membership]:
    """Return a VLAN's ports on the bridge: what stands outside is an untagged member of VLAN 1, and none of ours."""
    held = editor.members.get(vlan, {})
    return {p: how for p, how in held.items() if how is not Membership.NONE and editor.mode[p - 1] is PortMode.GENERAL}


def _row(write: Callable[..., str], platform: Platform, key: str, vlan: int, members: dict[int, Membership]) -> str:
    tagged, untagged = (
        write_list([platform.port_name(port) for port in sorted(members) if members[port] is how])
        for how in (Membership.TAGGED, Membership.UNTAGGED)
    )
    return write(key, vlan=vlan, tagged=tagged, untagged=untagged)


def _entry_steps(platform: Platform, old: SwitchEditor, new: SwitchEditor) -> Iterator[Step]:
    write = lines(platform.templates).write
    for (vlan, mac), ports in sorted(new.entries.items()):
        if old.entries.get((vlan, mac)) != ports:
            key = "entry_moved" if (vlan, mac) in old.entries else "entry"
            yield "entry", write(key, mac=format_mac(mac), port=platform.port_name(ports[0]), vlan=vlan)
    for vlan, mac in sorted(old.entries.keys() - new.entries.keys()):
        yield "no_entry", write("no_entry", mac=format_mac(mac), vlan=vlan)


def _check(platform: Platform, state: SwitchState) -> None:
    """Raise PlanError for what RouterOS cannot hold, or what tagloom does not write for it."""
    blank = SwitchEditor.blank(1).freeze().port(1)
    for port in range(1, platform.ports + 1):
        view = state.port(port)
        name = platform.port_name(port)
        if problem := _outside(view, blank) if view.mode is PortMode.ACCESS else _inside(view, name):
            raise PlanError(problem, f"port {name}")
    for row, (vlan, name) in enumerate(zip(state.vlans.tolist(), state.vlan_names, strict=True)):
        if vlan != DEFAULT_VLAN and not state.membership[row].any():
            raise PlanError("a VLAN of a bridge is there while a port is in it", f"VLAN {vlan}")
        if name != ("" if vlan == DEFAULT_VLAN else OWNED_VLAN_NAME):
            raise PlanError(f"all VLANs on the bridge {lines().bridge} are tagloom's", f"VLAN {vlan}, named {name!r}")
    seen: set[tuple[int, int]] = set()
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    for vlan, mac, port in rows:
        where = f"VLAN {vlan}, {format_mac(mac)}"
        if mac & GROUP_BIT or mac == 0 or (vlan, mac) in seen:
            raise PlanError("a static host of RouterOS is one host at one port", where, "plan with --static-arp")
        if state.mode[port - 1] != PortMode.GENERAL or state.member(vlan, port) is Membership.NONE:
            raise PlanError("a static host needs its port in its VLAN", f"{where}, {platform.port_name(port)}")
        seen.add((vlan, mac))
    if not (state.mode == PortMode.GENERAL).any() and (
        not state.spanning_tree or state.aging_seconds != DEFAULT_AGING_SECONDS
    ):
        raise PlanError("a machine without a port on the bridge has none to set", "spanning tree or aging time")


def _outside(view: PortView, blank: PortView) -> str:
    same = all(getattr(view, field) == getattr(blank, field) for field in blank.__slots__ if field != "number")
    return "" if same else "a port outside the bridge (access mode) is not tagloom's to set"


def _inside(view: PortView, name: str) -> str:
    if view.mode is not PortMode.GENERAL or not view.ingress_filter:
        return "a bridge's port takes frames of its own VLANs, and no others"
    if view.frames is Frames.TAGGED_ONLY or (view.frames is not Frames.ALL and view.pvid == DISCARD_PVID):
        return "a bridge's port without a PVID takes tagged frames only, and there is no other way to say it"
    if view.learning and not view.flooding:
        return "a bridge's port that floods nothing learns nothing"
    if view.pvid != DISCARD_PVID and view.pvid not in view.untagged:
        return "RouterOS makes a port an untagged member of its PVID's VLAN"
    if view.negotiation and view.speed_mbps:
        return "a port of RouterOS that negotiates has no speed of its own"
    if not view.negotiation and (view.speed_mbps not in SPEEDS or not name.startswith("ether")):
        return "a speed is set on copper ports alone (10, 100, 1000): what an SFP+ port takes depends on its module"
    return "" if view.spanning_tree else "a bridge has spanning tree on all of its ports or on none"
