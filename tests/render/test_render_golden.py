"""Whole texts of small hand-made states, to be reviewed as differences, and the order of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagloom.errors import PlanError
from tagloom.platforms import load
from tagloom.platforms.factory import factory, factory_state
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.interpreter import Interpreter
from tagloom.records.change import Cell, Change, Patch, difference
from tagloom.records.switch_state import (
    DISCARD_PVID,
    FlowControl,
    Frames,
    Membership,
    PortMode,
    SwitchEditor,
    SwitchState,
)
from tagloom.render import parse_configuration, render_commands, render_configuration

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"
MODELS = ("powerconnect-5324", "powerconnect-5548", "cisco-cbs350-24t-4g", "powerconnect-6224", "powerconnect-7024")


def woven(ports):
    """Two links and two hosts of a fabric: hosts send by PVID, every VLAN leaves to hosts untagged."""
    editor = SwitchEditor.blank(ports)
    for vlan in (100, 101, 102, 103):
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, "tagloom")
    for port in (1, 2, 3, 4):
        editor.mode[port - 1] = PortMode.GENERAL
        editor.set_member(1, port, Membership.NONE)
        editor.port_spanning_tree[port - 1] = port > 2
        for vlan in (100, 101, 102, 103):
            editor.set_member(vlan, port, Membership.TAGGED if port < 3 else Membership.UNTAGGED)
        editor.pvid[port - 1] = 97 + port if port > 2 else DISCARD_PVID
        editor.frames[port - 1] = Frames.TAGGED_ONLY if port < 3 else Frames.ALL
    editor.ingress_filter[2:4] = [False, False]
    for mac, port in ((0x02_00_00_00_00_00, 3), (0x02_00_00_00_00_01, 4), (0x02_00_00_00_00_02, 1)):
        for vlan in (100, 101):
            editor.set_entry(vlan, mac, [port])
    editor.spanning_tree = False
    return editor.freeze()


def odd(ports):
    """What an office left behind: access and trunk ports, a slow one, a shut one, a group entry."""
    editor = SwitchEditor.blank(ports)
    for vlan, name in ((7, "office"), (8, "two words"), (9, "")):
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, name)
    for port in (5, 6):
        editor.set_member(1, port, Membership.NONE)
        editor.set_member(7, port, Membership.UNTAGGED)
        editor.pvid[port - 1] = 7
    editor.mode[7], editor.pvid[7] = PortMode.TRUNK, 8
    editor.set_member(1, 8, Membership.NONE)
    editor.set_member(8, 8, Membership.UNTAGGED)
    editor.set_member(9, 8, Membership.TAGGED)
    editor.negotiation[9], editor.speed_mbps[9] = False, 100
    editor.enabled[10] = False
    editor.flow_control = [FlowControl.ON] * ports
    editor.set_entry(7, 0x01_00_5E_00_00_01, [5, 6, 8])
    editor.aging_seconds = 600
    return editor.freeze()


def aggregated(platform):
    """One link of two cables in a port-channel, one host: the members are in no VLAN of their own."""
    editor = factory(platform)
    channel = platform.physical_ports + 1
    editor.create_vlan(100)
    editor.name_vlan(100, "tagloom")
    for port in (1, 2, 3, channel):
        editor.mode[port - 1] = PortMode.GENERAL
        editor.set_member(1, port, Membership.NONE)
    editor.set_member(100, channel, Membership.TAGGED)
    editor.set_member(100, 3, Membership.UNTAGGED)
    editor.pvid[2], editor.frames[channel - 1] = 100, Frames.TAGGED_ONLY
    editor.lag[0:2] = [channel, channel]
    editor.set_entry(100, 0x02_00_00_00_00_00, [3])
    editor.set_entry(100, 0x02_00_00_00_00_01, [channel])
    editor.spanning_tree = False
    return editor.freeze()


STATES = {"woven": lambda platform: woven(platform.ports), "odd": lambda platform: odd(platform.ports)}
STATES["aggregated"] = aggregated


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", STATES)
def test_a_whole_configuration_reads_as_reviewed(model, name, golden):
    platform = load(model)
    text = render_configuration(platform, STATES[name](platform), TEMPLATES)
    golden.check(f"render/{model}-{name}.cfg", text)


def test_no_reviewed_text_is_one_that_nothing_makes(golden):
    names = [*STATES, "woven-commands"]
    golden.check_names("render", [f"{model}-{name}.cfg" for model in MODELS for name in names])


@pytest.mark.parametrize("model", MODELS)
def test_the_commands_from_factory_to_fabric_and_back_read_as_reviewed(model, golden):
    platform = load(model)
    changes = difference(SwitchState.factory(platform.ports), woven(platform.ports))
    there = render_commands(platform, changes)
    back = render_commands(platform, Patch("s0", changes).inverse.changes)
    text = "\n".join(["! there", *there, "! and back", *back, ""])
    golden.check(f"render/{model}-woven-commands.cfg", text)


@pytest.mark.parametrize("model", MODELS)
def test_a_factory_switch_needs_no_commands_and_prints_no_setting(model):
    platform = load(model)
    born = factory_state(platform)
    assert render_commands(platform, ()) == ()
    assert parse_configuration(platform, render_configuration(platform, born, TEMPLATES)).state == born
    assert "interface" not in render_configuration(platform, born, TEMPLATES)


@pytest.mark.parametrize("model", MODELS)
def test_no_port_is_in_vlan_1_when_spanning_tree_is_off_at_any_line(model):
    """There and back, a loop of VLAN 1 is never closed without spanning tree guarding it."""
    platform = load(model)
    used = (1, 2, 3, 4)
    changes = difference(SwitchState.factory(platform.ports), woven(platform.ports))
    switch = Interpreter(platform, SwitchEditor.blank(platform.ports))
    for step in (changes, Patch("s0", changes).inverse.changes):
        for line in render_commands(platform, step):
            assert switch.feed(line).accepted
            assert switch.editor.spanning_tree or not any(port in switch.editor.members[1] for port in used)


@pytest.mark.parametrize("model", MODELS)
def test_a_pvid_names_at_every_line_a_vlan_the_port_is_in(model):
    platform = load(model)
    before, changes = woven(platform.ports), []
    for port, vlan in ((3, 101), (4, 100)):  # two hosts swap their VLANs
        changes.append(Change(Cell.PVID, 97 + port, vlan, port=port))
    for vlan, ports in ((100, (4,)), (101, (3,))):
        changes.extend(
            Change(Cell.ENTRY, (port,), ports, vlan=vlan, mac=mac) for mac, port in ((2**41, 3), (2**41 + 1, 4))
        )
    switch = Interpreter(platform, SwitchEditor.of(before))
    for line in render_commands(platform, tuple(changes)):
        assert switch.feed(line).accepted
        for port in (3, 4):
            assert switch.editor.members[switch.editor.pvid[port - 1]][port] is Membership.UNTAGGED


def test_a_moved_entry_and_a_retagged_member_are_one_line_each():
    changes = (
        Change(Cell.ENTRY, (1,), (2,), vlan=100, mac=5),
        Change(Cell.MEMBER, Membership.TAGGED, Membership.UNTAGGED, vlan=100, port=1),
    )
    lines = render_commands(load("powerconnect-5324"), changes)
    assert [line for line in lines if line.startswith(("bridge", "switchport"))] == [
        "switchport general allowed vlan add 100 untagged",
        "bridge address 00:00:00:00:00:05 permanent ethernet g2",
    ]


def test_deleting_a_vlan_takes_members_entries_and_name_along_without_a_line_for_each():
    platform = load("powerconnect-5324")
    editor = SwitchEditor.of(woven(platform.ports))
    editor.delete_vlan(103)
    changes = difference(woven(platform.ports), editor.freeze())
    assert render_commands(platform, changes) == ("vlan database", "no vlan 103", "exit")


def test_a_port_on_its_way_to_trunk_mode_keeps_the_tagged_vlan_that_was_its_pvid():
    platform = load("powerconnect-5324")
    editor = SwitchEditor.blank(platform.ports)
    editor.create_vlan(2)
    editor.mode[0] = PortMode.GENERAL
    editor.set_member(1, 1, Membership.TAGGED)
    before = editor.freeze()
    editor.mode[0], editor.pvid[0] = PortMode.TRUNK, 2
    editor.set_member(2, 1, Membership.UNTAGGED)
    switch = Interpreter(platform, SwitchEditor.of(before))
    lines = render_commands(platform, difference(before, editor.freeze()))
    assert all(switch.feed(line).accepted for line in lines)
    assert switch.editor.freeze() == editor.freeze()


def test_long_lists_of_vlans_and_ports_are_split():
    platform = load("powerconnect-6248")
    vlans = range(2, 4000, 2)
    changes = [Change(Cell.VLAN, 0, 1, vlan=vlan) for vlan in vlans]
    changes += [Change(Cell.ENABLED, 1, 0, port=port) for port in range(1, 49, 2)]
    lines = render_commands(platform, tuple(changes))
    assert max(map(len, lines)) < 150
    switch = Interpreter(platform, SwitchEditor.blank(platform.ports))
    assert all(switch.feed(line).accepted for line in lines)
    assert sorted(switch.editor.vlans) == [1, *vlans]
    assert switch.editor.enabled[:48] == [False, True] * 24


@pytest.mark.parametrize(
    ("model", "change", "rule"),
    [
        ("powerconnect-5324", Change(Cell.EEE, 0, 1, port=1), "no line for eee_on"),
        ("powerconnect-6224", Change(Cell.FRAMES, 0, Frames.UNTAGGED_ONLY, port=1), "no line for frames_untagged"),
        ("powerconnect-6224", Change(Cell.FLOW_CONTROL, 0, 1, port=1), "for all its ports at once"),
        ("powerconnect-6224", Change(Cell.VLAN_NAME, "", 'say "x"', vlan=2), "printable characters without quotes"),
    ],
)
def test_what_a_model_has_no_words_for_is_an_error_of_the_plan(model, change, rule):
    with pytest.raises(PlanError, match=rule):
        render_commands(load(model), (change,))


def test_an_access_port_that_is_tagged_somewhere_cannot_be_rendered():
    platform = load("powerconnect-5324")
    editor = SwitchEditor.blank(platform.ports)
    editor.create_vlan(2)
    editor.set_member(2, 1, Membership.TAGGED)
    with pytest.raises(PlanError, match="general mode"):
        render_configuration(platform, editor.freeze(), TEMPLATES)


def test_what_one_line_sets_on_all_ports_is_a_matter_of_the_data_file():
    assert Grammar.of(load("powerconnect-6224")).switchwide == {Cell.FLOW_CONTROL}
    assert Grammar.of(load("powerconnect-6224", (("flow_control", "port"),))).switchwide == set()
    assert Grammar.of(load("powerconnect-5548")).switchwide == set()
    assert Grammar.of(load("powerconnect-5548", (("eee", "global"),))).switchwide == {Cell.EEE}


@pytest.mark.parametrize(
    ("model", "firmware", "slept", "lines"),
    [
        ("powerconnect-5548", (), True, ["interface range gigabitethernet1/0/1-3", "no eee enable", "exit"]),
        (
            "powerconnect-5548",
            (("eee_at_factory", "off"),),
            False,
            ["interface range gigabitethernet1/0/1-3", "eee enable", "exit"],
        ),
        ("n-series", (), False, [f"interface gigabitethernet 1/0/{n}" for n in (1, 2, 3)]),
    ],
)
def test_only_what_differs_from_a_models_own_default_of_eee_is_printed(model, firmware, slept, lines):
    platform = load(model, firmware)
    editor = factory(platform)
    assert set(editor.eee) == {slept}
    editor.eee[0:3] = [not slept] * 3
    text = render_configuration(platform, editor.freeze(), TEMPLATES)
    assert [line for line in text.splitlines() if line in lines] == lines
    assert parse_configuration(platform, text).state == editor.freeze()


@pytest.mark.parametrize(
    ("model", "lines", "sleeping"),
    [
        ("powerconnect-5548", ["no eee enable"], 0),
        ("powerconnect-5548", ["eee enable"], 58),
        ("powerconnect-5548", ["interface gi1/0/7", "no eee enable", "exit", "eee enable"], 57),
    ],
)
def test_the_global_switch_of_eee_puts_no_port_to_sleep_that_its_own_line_keeps_awake(model, lines, sleeping):
    platform = load(model)
    parsed = parse_configuration(platform, "\n".join(lines))
    assert parsed.unknown == ()
    assert parsed.state.eee.sum() == sleeping


@pytest.mark.parametrize("mode", [PortMode.ACCESS, PortMode.TRUNK])
@pytest.mark.parametrize(("untagged", "pvid"), [((), 1), ((1, 7), 1), ((1, 7), 7), ((7,), 1), ((1,), 7)], ids=str)
def test_a_port_outside_general_mode_is_untagged_in_its_pvid_alone(mode, untagged, pvid):
    platform = load("powerconnect-5324")
    editor = factory(platform)
    editor.create_vlan(7)
    editor.mode[0] = mode
    for vlan in (1, 7):
        editor.set_member(vlan, 1, Membership.UNTAGGED if vlan in untagged else Membership.NONE)
    editor.set_pvid(1, pvid)
    with pytest.raises(PlanError, match="untagged in its PVID alone"):
        render_configuration(platform, editor.freeze(), TEMPLATES)
