"""Every model's page is whole, and says what is not known."""

from __future__ import annotations

import pytest

from tagloom import platforms
from tagloom.errors import InputError
from tagloom.platforms.grammar import Grammar
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric

MODELS = platforms.models()


def test_the_models_are_those_of_the_contract_and_the_numbers_on_the_boxes():
    assert set(MODELS) >= {
        *(f"powerconnect-{n}" for n in (5324, 5424, 5448, 5524, 5548, 6224, 6248, 7024, 7048, 8024)),
        *("powerconnect-8024f", "n-series", "sf-0420g", "linux-bridge"),
    }


@pytest.mark.parametrize(
    ("model", "count", "first", "last"),
    [
        ("powerconnect-5324", 24, "g1", "ch8"),
        ("powerconnect-5448", 48, "g1", "ch8"),
        ("powerconnect-5548", 50, "gi1/0/1", "po8"),
        ("cisco-cbs350-24t-4g", 28, "gi1", "Po8"),
        ("cisco-cbs350-24t-4x", 28, "gi1/0/1", "Po8"),
        ("powerconnect-6248", 48, "1/g1", "ch8"),
        ("powerconnect-7048", 48, "Gi1/0/1", "Po8"),
        ("powerconnect-8024", 24, "Te1/0/1", "Po8"),
        ("hpe-5130-24g-4sfp", 28, "GE1/0/1", "XGE1/0/28"),
        ("hpe-5130-48g-4sfp", 52, "GE1/0/1", "XGE1/0/52"),
        ("hpe-5700-48g-4xg", 54, "GE1/0/1", "FGE1/0/54"),
        ("huawei-s5731-s24t4x", 28, "GE0/0/1", "XGE0/0/4"),
        ("huawei-s5720-52x-ei", 52, "GE0/0/1", "XGE0/0/4"),
        ("arista-7010t-48", 52, "Et1", "Et52"),
        ("arista-7050tx-64", 64, "Et1", "Et52/4"),
        ("sf-0420g", 24, "g1", "g24"),
    ],
)
def test_ports_are_named_in_the_models_own_words(model, count, first, last):
    platform = platforms.load(model)
    assert (platform.physical_ports, platform.port_names[0], platform.port_names[-1]) == (count, first, last)
    assert platform.port_number("g2") == 2
    assert all(platform.port_number(name) == number for number, name in enumerate(platform.port_names, start=1))


@pytest.mark.parametrize("model", [model for model in MODELS if platforms.load(model).grammar])
def test_every_choice_of_firmware_makes_a_whole_grammar(model):
    for variable, choices in platforms.firmware_choices(model).items():
        for choice in choices:
            grammar = Grammar.of(platforms.load(model, ((variable, choice),)))
            assert grammar.lldp["lines"]
            assert grammar.has("vlan_create")
            assert grammar.has("entry")


@pytest.mark.parametrize(
    ("model", "firmware", "line"),
    [
        ("powerconnect-5324", {}, "bridge address 02:00:00:00:00:01 permanent ethernet g2"),
        ("powerconnect-5324", {"entry_order": "port-first"}, "bridge address 02:00:00:00:00:01 ethernet g2 permanent"),
        (
            "powerconnect-5548",
            {},
            "mac address-table static 02:00:00:00:00:01 vlan 7 interface gigabitethernet1/0/2 permanent",
        ),
        ("cisco-sg300-28", {}, "mac address-table static 02:00:00:00:00:01 vlan 7 interface gi2 permanent"),
        (
            "cisco-cbs350-24t-4g",
            {},
            "mac address-table static 02:00:00:00:00:01 vlan 7 interface GigabitEthernet2 permanent",
        ),
        ("powerconnect-6248", {}, "bridge address 0200.0000.0001 ethernet 1/g2 permanent"),
        ("hpe-5130-24g-4sfp", {}, "mac-address static 0200-0000-0001 interface GigabitEthernet1/0/2 vlan 7"),
        ("huawei-s5731-s24t4x", {}, "mac-address static 0200-0000-0001 GigabitEthernet0/0/2 vlan 7"),
        ("arista-7050tx-64", {}, "mac address-table static 0200.0000.0001 vlan 7 interface Ethernet2"),
        ("n-series", {}, "mac address-table static 0200.0000.0001 vlan 7 interface gigabitethernet 1/0/2"),
    ],
)
def test_the_word_order_of_a_static_entry_is_a_variable_of_the_firmware(model, firmware, line):
    grammar = Grammar.of(platforms.load(model, tuple(sorted(firmware.items()))))
    assert grammar.entry_line(7, 0x020000000001, [2]) == line


FABRIC = """\
name: t
switches:
  s0: {firmware: {entry_order: port-first}}
  s1: {model: powerconnect-6224}
firmware: {lldp: enable}
hosts: {h0: {switch: s0, port: g2}, h1: {switch: s1, port: g2}}
links: [["s0:g1", "s1:g1"]]
"""


def test_firmware_is_said_per_switch_or_for_all_that_can_differ():
    fabric = parse_fabric(FABRIC, "t.yml")
    assert fabric.switches[0].firmware == (("entry_order", "port-first"), ("lldp", "enable"))
    assert fabric.switches[1].firmware == (("lldp", "enable"),)
    assert platforms.of(fabric.switches[0]).firmware == fabric.switches[0].firmware
    assert parse_fabric(format_fabric(fabric), "again").switches == fabric.switches


@pytest.mark.parametrize(
    ("old", "new", "finding"),
    [
        (
            "port-first",
            "backwards",
            "t.yml:3  switches.s0.firmware.entry_order: expected one of keyword-first, port-first",
        ),
        (
            "entry_order",
            "mood",
            "t.yml:3  switches.s0.firmware.mood: expected one of entry_order, flow_control, flow_control_change, lldp",
        ),
        ("lldp: enable", "lldp: loud", "t.yml:5  firmware.lldp: expected one of enable, run, transmit, actual 'loud'"),
        (
            "lldp: enable",
            "mood: good",
            "t.yml:5  firmware.mood: expected one of entry_order, flow_control, flow_control_change, lldp",
        ),
    ],
)
def test_a_variable_or_choice_there_is_not_is_a_finding(old, new, finding):
    with pytest.raises(InputError) as caught:
        parse_fabric(FABRIC.replace(old, new), "t.yml")
    assert str(caught.value.findings[0]).startswith(finding)


def test_the_seconds_of_every_change_of_speed_are_found():
    """Koibuchi et al. 2011, table 6; unquoted, YAML reads 1000_100 as the number 1000100."""
    seconds = platforms.load("powerconnect-5324").toggle_seconds
    assert (seconds["on_off"], seconds["1000_100"], seconds["10_1000"]) == (3.2, 4.1, 2.4)
    assert all(isinstance(what, str) for model in MODELS for what in platforms.load(model).toggle_seconds)
