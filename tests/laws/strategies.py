"""Generate the states that switches can hold, unusual ones included."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import strategies as st

from tagloom.platforms import iproute2
from tagloom.platforms.factory import factory
from tagloom.platforms.grammar import Grammar
from tagloom.records.change import Cell
from tagloom.records.switch_state import (
    DEFAULT_VLAN,
    DISCARD_PVID,
    OWNED_VLAN_NAME,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
)

if TYPE_CHECKING:
    from tagloom.platforms import Platform
    from tagloom.records.switch_state import SwitchState

NAMES = st.sampled_from(["", OWNED_VLAN_NAME, OWNED_VLAN_NAME, "office", "VOICE-1", "two words", "x" * 32, "a#b"])


@st.composite
def switch_states(draw: st.DrawFn, platform: Platform) -> SwitchState:
    """Draw a state the platform can express, with few VLANs, MACs and odd ports, so that examples shrink well."""
    if not platform.has_modes:
        return draw(bridge_states(platform))
    grammar = Grammar.of(platform)
    editor = factory(platform)
    vlan_ids = st.one_of(st.integers(2, 9), st.integers(2, platform.max_vlan_id))
    for vlan in draw(st.lists(vlan_ids, unique=True, max_size=8)):
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, draw(NAMES)[: grammar.name_length])
    vlans = sorted(editor.vlans)
    flows = [
        flow for flow, key in zip(FlowControl, ("flow_off", "flow_on", "flow_auto"), strict=True) if grammar.has(key)
    ] or [FlowControl.OFF]
    for cell, column, values in ((Cell.FLOW_CONTROL, "flow_control", flows), (Cell.EEE, "eee", [False, True])):
        if cell in grammar.switchwide:
            setattr(editor, column, [draw(st.sampled_from(values))] * platform.ports)
    for port in draw(st.lists(st.integers(1, platform.ports), unique=True, max_size=6)):
        _draw_vlans(draw, editor, grammar, port, vlans)
        at = port - 1
        editor.enabled[at] = draw(st.booleans())
        if grammar.has("speed"):
            editor.negotiation[at] = draw(st.booleans())
            editor.speed_mbps[at] = draw(st.sampled_from([0, 10, 100, 1000]))
        if grammar.has("port_spanning_tree_off"):
            editor.port_spanning_tree[at] = draw(st.booleans())
        if platform.eee and Cell.EEE not in grammar.switchwide:
            editor.eee[at] = draw(st.booleans())
        if platform.physical_ports < platform.ports and port <= platform.physical_ports:
            editor.lag[at] = draw(st.just(0) | st.integers(platform.physical_ports + 1, platform.ports))
        if Cell.FLOW_CONTROL not in grammar.switchwide:
            editor.flow_control[at] = draw(st.sampled_from(flows))
    macs = st.one_of(st.integers(0x02_00_00_00_00_00, 0x02_00_00_00_00_03), st.integers(0, 2**48 - 1))
    one = st.integers(1, platform.ports).map(lambda port: (port,))
    several = st.lists(st.integers(1, platform.ports), min_size=2, max_size=5, unique=True)  # group entries
    ports = one if platform.group_entries == "none" else st.one_of(one, several)
    for vlan, mac, where in draw(st.lists(st.tuples(st.sampled_from(vlans), macs, ports), max_size=10)):
        editor.set_entry(vlan, mac, where)
    editor.spanning_tree = draw(st.booleans())
    editor.aging_seconds = draw(st.one_of(st.just(300), st.integers(10, 1_000_000)))
    return editor.freeze()


def _draw_vlans(draw: st.DrawFn, editor: SwitchEditor, grammar: Grammar, port: int, vlans: list[int]) -> None:
    at = port - 1
    editor.mode[at] = mode = draw(
        st.sampled_from(
            [PortMode.GENERAL, PortMode.GENERAL, PortMode.ACCESS, *([PortMode.TRUNK] * grammar.has("mode_trunk"))]
        )
    )
    tied = grammar.changes_from_defaults and mode is not PortMode.GENERAL  # what a port is changes in VLAN 1 alone
    editor.pvid[at] = draw(st.sampled_from(vlans[:1] if tied else vlans))
    hows = {
        PortMode.GENERAL: list(Membership),
        PortMode.ACCESS: [Membership.NONE],
        PortMode.TRUNK: [Membership.NONE, Membership.TAGGED],
    }[mode]
    for vlan in vlans:
        editor.set_member(vlan, port, draw(st.sampled_from(hows)))
    if mode is not PortMode.GENERAL:
        editor.set_member(editor.pvid[at], port, Membership.UNTAGGED)
        return
    if grammar.keeps_other_mode:  # untagged in its native VLAN, or nowhere
        editor.pvid[at] = draw(st.sampled_from([DISCARD_PVID, *vlans]))
        for vlan in vlans:
            inside = editor.members[vlan].get(port) is not None or vlan == editor.pvid[at]
            how = Membership.UNTAGGED if vlan == editor.pvid[at] else Membership.TAGGED
            editor.set_member(vlan, port, how if inside else Membership.NONE)
        return
    if draw(st.booleans()):
        editor.pvid[at] = DISCARD_PVID
        if grammar.discards_into_vlan_1:
            editor.set_member(DEFAULT_VLAN, port, Membership.NONE)
    if grammar.has("ingress_off"):
        editor.ingress_filter[at] = draw(st.booleans())
    keys = zip(Frames, ("frames_all", "frames_tagged", "frames_untagged"), strict=True)
    said = [frames for frames, key in keys if grammar.has(key)] or [Frames.ALL]
    editor.frames[at] = draw(st.sampled_from(said))


@st.composite
def bridge_states(draw: st.DrawFn, platform: Platform) -> SwitchState:
    """Draw a state that a bridge can hold: a PVID is a membership, an entry points where its VLAN goes.

    A kernel has no port that refuses tagged frames. RouterOS has an untagged member of its PVID's VLAN in every port
    that has one, no sleep, and speeds at copper ports that do not negotiate.
    """
    kernel = platform.grammar == iproute2.FAMILY
    editor = SwitchEditor.blank(platform.ports)
    vlan_ids = st.one_of(st.integers(1, 9), st.integers(1, platform.max_vlan_id))
    for port in draw(st.lists(st.integers(1, platform.ports), unique=True, max_size=6)):
        at = port - 1
        editor.mode[at] = PortMode.GENERAL
        members = draw(st.dictionaries(vlan_ids, st.sampled_from([Membership.UNTAGGED, Membership.TAGGED]), max_size=6))
        editor.set_member(DEFAULT_VLAN, port, Membership.NONE)
        editor.flooding[at] = draw(st.booleans())
        editor.learning[at] = editor.flooding[at] and draw(st.booleans())
        for vlan, how in members.items():
            if vlan not in editor.vlans:
                editor.create_vlan(vlan)
                editor.name_vlan(vlan, OWNED_VLAN_NAME)
            editor.set_member(vlan, port, how)
        untagged = [vlan for vlan, how in members.items() if kernel or how is Membership.UNTAGGED]
        editor.pvid[at] = draw(st.sampled_from([DISCARD_PVID, *untagged]))
        editor.enabled[at] = draw(st.booleans())
        editor.flow_control[at] = draw(st.sampled_from(FlowControl))
        if kernel:
            editor.negotiation[at] = draw(st.booleans())
            editor.speed_mbps[at] = draw(st.sampled_from([0, 10, 100, 1000]))
            editor.eee[at] = draw(st.booleans())
        else:
            copper = platform.port_name(port).startswith("ether")
            editor.speed_mbps[at] = draw(st.sampled_from([0, 10, 100, 1000] if copper else [0]))
            editor.negotiation[at] = editor.speed_mbps[at] == 0
            if editor.pvid[at] != DISCARD_PVID:
                editor.frames[at] = draw(st.sampled_from([Frames.ALL, Frames.UNTAGGED_ONLY]))
        macs = st.integers(0x02_00_00_00_00_00, 0x02_00_00_00_00_03)
        if members:
            for vlan, mac in draw(st.lists(st.tuples(st.sampled_from(sorted(members)), macs), max_size=4)):
                editor.set_entry(vlan, mac, (port,))
    if any(mode is PortMode.GENERAL for mode in editor.mode):
        editor.spanning_tree = draw(st.booleans())
        editor.aging_seconds = draw(st.one_of(st.just(300), st.integers(10, 1_000_000)))
    return editor.freeze()
