"""Laws of the border between tagloom's VLANs and ports and those of others."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.records.change import PORT_CELLS, Cell, Change, apply_changes, difference
from tagloom.records.ownership import conflicts, lockout, overlay
from tagloom.records.switch_state import (
    DEFAULT_VLAN,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
    SwitchState,
)
from tagloom.render import render_commands
from tagloom.share import share_directory
from tagloom.units import parse_ranges

ROS, TEMPLATES = platforms.load("powerconnect-5324"), share_directory() / "templates"
PORTS = 4
IDS = st.integers(2, 8)
PORT = st.integers(1, PORTS)
FABRIC_PORTS = st.frozensets(PORT)


def states(names):
    """Draw SwitchStates of four ports with VLAN ids in 2..8, named from `names`."""

    @st.composite
    def draw_state(draw):
        editor = SwitchEditor.blank(PORTS)
        for vlan in draw(st.frozensets(IDS, max_size=5)):
            editor.create_vlan(vlan)
            editor.name_vlan(vlan, draw(names))
        vlans = st.sampled_from(sorted(editor.vlans))
        for vlan, port, how in draw(st.lists(st.tuples(vlans, PORT, st.sampled_from(Membership)), max_size=8)):
            editor.set_member(vlan, port, how)
        for vlan, mac, ports in draw(
            st.lists(st.tuples(vlans, st.integers(1, 3), st.frozensets(PORT, max_size=2)), max_size=5)
        ):
            editor.set_entry(vlan, mac, ports)
        for port in range(1, PORTS + 1):
            editor.set_pvid(port, draw(vlans | st.just(0)))
        editor.mode = draw(_each(st.sampled_from(PortMode)))
        editor.frames = draw(_each(st.sampled_from(Frames)))
        editor.flow_control = draw(_each(st.sampled_from(FlowControl)))
        editor.enabled = draw(_each(st.booleans()))
        editor.speed_mbps = draw(_each(st.sampled_from([0, 10, 100, 1000])))
        editor.spanning_tree = draw(st.booleans())
        editor.aging_seconds = draw(st.sampled_from([300, 600]))
        return editor.freeze()

    return draw_state()


def _each(strategy):
    return st.lists(strategy, min_size=PORTS, max_size=PORTS)


ANY = states(st.sampled_from(["", "tagloom", "tagloom-7", "office", "backup"]))
PLANNED = states(st.just("tagloom"))


def owns(change: Change, running: SwitchState, target: SwitchState, ports) -> bool:
    """Return by one sentence per cell what the design says tagloom owns."""
    vlans = {*running.owned_vlans, *target.owned_vlans}
    if change.cell in PORT_CELLS:
        return change.port in ports
    if change.cell is Cell.MEMBER:
        deleted = change.vlan in set(running.owned_vlans) - set(target.owned_vlans)
        return deleted or (change.port in ports and change.vlan in vlans | {DEFAULT_VLAN})
    if change.cell in {Cell.VLAN, Cell.VLAN_NAME, Cell.ENTRY}:
        return change.vlan in vlans
    return change.cell in {Cell.SPANNING_TREE, Cell.AGING}


@given(ANY, ANY, FABRIC_PORTS)
def test_a_second_overlay_changes_nothing(running, target, ports):
    once = overlay(running, target, ports)
    assert overlay(once, target, ports) == once


@given(ANY, ANY, FABRIC_PORTS)
def test_every_changed_cell_is_owned(running, target, ports):
    changes = difference(running, overlay(running, target, ports))
    assert [change for change in changes if not owns(change, running, target, ports)] == []


@given(ANY, PLANNED, FABRIC_PORTS)
def test_every_owned_cell_reaches_the_target(running, target, ports):
    left = difference(overlay(running, target, ports), target)
    foreign_port_members = {change for change in left if change.cell is Cell.MEMBER and change.port not in ports}
    assert [c for c in left if c not in foreign_port_members and owns(c, running, target, ports)] == []


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # as below
@given(ANY, PLANNED)
def test_with_every_port_and_no_foreign_vlan_overlay_is_the_target(running, target):
    vlan_1_entries = [key for key in SwitchEditor.of(running).entries | SwitchEditor.of(target).entries if key[0] == 1]
    foreign = set(running.vlans.tolist()) - set(running.owned_vlans) - set(target.owned_vlans) - {DEFAULT_VLAN}
    assume(not vlan_1_entries and not foreign)
    assert overlay(running, target, range(1, PORTS + 1)) == target


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most drawn switches are in somebody's way
@given(ANY, PLANNED, FABRIC_PORTS)
def test_without_conflicts_no_change_names_a_foreign_vlan_or_port(running, target, ports):
    assume(not conflicts(running, target, ports, "s0"))
    foreign = {
        v for v, name in zip(running.vlans.tolist(), running.vlan_names, strict=True) if name in {"office", "backup"}
    }
    for change in difference(running, overlay(running, target, ports)):
        assert change.vlan not in foreign
        assert change.port == 0 or change.port in ports
        pvids = {change.before, change.after} if change.cell is Cell.PVID else set()
        assert change.after not in pvids or change.after not in foreign


@settings(suppress_health_check=[HealthCheck.filter_too_much])  # most drawn switches are in somebody's way
@given(ANY, PLANNED, FABRIC_PORTS)
def test_without_conflicts_no_line_sent_names_a_foreign_vlan_or_port(running, target, ports):
    assume(not conflicts(running, target, ports, "s0"))
    try:
        lines = render_commands(ROS, difference(running, overlay(running, target, ports)))
    except PlanError:
        assume(False)  # a change the family has no words for is never sent
    owned = {*running.owned_vlans, *target.owned_vlans, *unnamed(running), DEFAULT_VLAN, 4095}
    for line in lines:
        for ids in re.findall(r"(?:vlan|add|remove|pvid) (\d[\d,-]*)", line):
            assert owned.issuperset(parse_ranges(ids)), line
        for numbers in re.findall(r"\bg\(?(\d[\d,-]*)", line):
            entry = line.startswith("bridge address")
            assert entry or set(ports).issuperset(parse_ranges(numbers)), line


def unnamed(state):
    return {vlan for vlan, name in zip(state.vlans.tolist(), state.vlan_names, strict=True) if not name}


@given(ANY, PLANNED, FABRIC_PORTS)
def test_without_conflicts_the_switch_arrives_where_the_overlay_says(running, target, ports):
    assume(not conflicts(running, target, ports, "s0"))
    wanted = overlay(running, target, ports)
    assert apply_changes(running, difference(running, wanted)) == wanted


@given(PLANNED, FABRIC_PORTS)
def test_a_factory_switch_has_no_conflicts_of_its_own(target, ports):
    found = conflicts(SwitchState.factory(PORTS), target, ports, "s0")
    assert all("target port" in finding.actual for finding in found)


def planned(vlan: int = 5, port: int = 1) -> SwitchEditor:
    editor = SwitchEditor.blank(PORTS)
    editor.create_vlan(vlan)
    editor.name_vlan(vlan, "tagloom")
    editor.set_member(vlan, port, Membership.TAGGED)
    return editor


def taken(name: str = "", member: int = 0, entry: bool = False, pvid: int = 0) -> SwitchState:
    editor = SwitchEditor.blank(PORTS)
    editor.create_vlan(5)
    editor.name_vlan(5, name)
    if member:
        editor.set_member(5, member, Membership.TAGGED)
    if entry:
        editor.set_entry(5, 1, [1])
    if pvid:
        editor.set_pvid(pvid, 5)
    return editor.freeze()


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        (taken(), []),
        (taken(member=1), []),
        (taken("tagloom-9", member=2), []),
        (taken("office"), ["s0: VLAN 5: expected a free VLAN id, actual a VLAN of others, named 'office'"]),
        (taken(entry=True), ["s0: VLAN 5: expected a free VLAN id, actual an unnamed VLAN with static entries"]),
        (
            taken(member=4),
            ["s0: g4: expected no member of tagloom's VLANs, actual a running port outside the fabric in VLAN 5"],
        ),
        (
            taken("tagloom", pvid=4),
            ["s0: g4: expected no PVID of tagloom's VLANs, actual a running port outside the fabric with PVID 5"],
        ),
    ],
    ids=["unnamed", "unnamed, own member", "ours", "foreign name", "static entries", "foreign member", "foreign PVID"],
)
def test_a_conflict_names_the_switch_the_place_and_the_witness(running, expected):
    assert [str(finding) for finding in conflicts(running, planned().freeze(), {1, 2}, "s0")] == expected


def test_a_foreign_pvid_on_a_vlan_to_be_deleted_is_a_conflict():
    found = conflicts(taken("tagloom", pvid=4), SwitchState.factory(PORTS), {1, 2}, "s0")
    assert [finding.where for finding in found] == ["s0: g4"]


def test_a_target_of_another_fabric_is_a_conflict():
    found = conflicts(SwitchState.factory(PORTS), planned(port=4).freeze(), {1, 2}, "s0")
    assert [finding.actual for finding in found] == ["a target port outside the fabric in VLAN 5"]


def test_the_last_way_to_a_switch_is_never_taken():
    """All ports in the fabric, or those outside it shut or out of VLAN 1: nothing would be left to manage it by."""
    factory = SwitchState.factory(4)
    assert lockout(factory, [1, 2, 3], "s0") == ()
    (finding,) = lockout(factory, [1, 2, 3, 4], "s0")
    assert "tagloom_out_of_band" in finding.expected
    shut = replace(factory, enabled=np.array([True, True, True, False]))
    assert lockout(shut, [1, 2, 3], "s0")


def test_a_stranger_in_a_port_channel_of_the_fabric_is_a_conflict():
    """Four ports, the last a port-channel: port 1 is ours and in it, port 2 is not ours and in it, too."""
    editor = SwitchEditor.blank(PORTS)
    editor.lag[0:2] = [4, 4]
    (finding,) = conflicts(editor.freeze(), SwitchState.factory(PORTS), {1, 4}, "s0", "p{}".format)
    assert (
        str(finding)
        == "s0: p2: expected no member of the fabric's port-channels, actual a running port outside the fabric in p4"
    )


def test_a_port_channel_without_members_is_no_way_to_a_switch():
    editor = SwitchEditor.blank(PORTS)
    assert lockout(editor.freeze(), [1, 2, 3], "s0", physical=3) != ()
    editor.lag[2] = 4
    assert lockout(editor.freeze(), [1, 2], "s0", physical=3) == ()
    editor.enabled[3] = False
    assert lockout(editor.freeze(), [1, 2], "s0", physical=3) != ()


def test_what_one_line_sets_on_all_ports_is_owned_on_all_ports_and_nothing_else_is():
    running, target = SwitchEditor.blank(PORTS), SwitchEditor.blank(PORTS)
    running.flow_control = [FlowControl.ON] * PORTS
    running.eee = [True] * PORTS
    wanted = overlay(running.freeze(), target.freeze(), {1}, {Cell.FLOW_CONTROL})
    assert set(wanted.flow_control.tolist()) == {FlowControl.OFF}
    assert wanted.eee.tolist() == [False, True, True, True]
