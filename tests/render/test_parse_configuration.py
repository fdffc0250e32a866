"""Real running-configs, and everything a console puts between their lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tagloom.errors import PlanError
from tagloom.platforms import load
from tagloom.platforms.factory import factory
from tagloom.records.change import difference
from tagloom.records.switch_state import Membership, PortMode
from tagloom.render import parse_configuration, read_state, read_text, render_commands

TRANSCRIPTS = Path(__file__).parent / "transcripts"
ROS, FASTPATH, CBS350 = load("powerconnect-5324"), load("powerconnect-6224"), load("cisco-cbs350-24t-4g")


def transcript(name):
    return (TRANSCRIPTS / name).read_text("utf-8")


def test_a_real_running_config_with_g_ports():
    """From NCM-Backup-Configuration-Managment, network_doc/dell.txt: the port ranges cut short."""
    parsed = parse_configuration(ROS, transcript("g_ports.cfg"))
    assert parsed.unknown == ()
    state = parsed.state
    assert state.vlans.tolist() == [1, 4, 5, 6, 8, 9, 10, 11, 12]
    assert state.vlan_names[1] == "BOD"
    assert [p for p in range(1, 25) if state.port(p).mode is PortMode.TRUNK] == [
        1,
        2,
        3,
        6,
        8,
        9,
        10,
        11,
        12,
        13,
        22,
        23,
        24,
    ]
    assert [p for p in range(1, 25) if state.member(6, p) is Membership.TAGGED] == [22, 23, 24]


def test_a_real_running_config_of_a_5324():
    parsed = parse_configuration(ROS, transcript("5324.cfg"))
    assert parsed.unknown == ()
    assert parsed.state.port(17).untagged == (2,)
    assert parsed.state.pvid[:24].tolist() == [1] * 16 + [2] * 4 + [1] * 4


def test_a_real_running_config_of_a_cbs350():
    """After one of firmware 3.2.1.1 that a parser's test has (public GitHub file 13367031994), cut short."""
    parsed = parse_configuration(CBS350, transcript("cbs350.cfg"))
    assert parsed.unknown == ()
    access, trunk = parsed.state.port(1), parsed.state.port(15)
    assert (access.mode, access.untagged) == (PortMode.ACCESS, (1500,))
    assert (trunk.mode, trunk.untagged, trunk.tagged) == (PortMode.TRUNK, (1503,), (1500, 1501))
    assert parsed.state.vlan_names[1:3] == ("license", "R1 SW0 TP0")
    assert read_text(CBS350, transcript("cbs350.cfg"), "s0", [2, 3]).unknown_lines == ()
    assert not parsed.state.port(7).enabled


@pytest.mark.parametrize("told", ["", "switchport trunk allowed vlan all\n", "switchport trunk native vlan 5\n"])
def test_a_trunk_of_a_cbs350_that_nobody_told_its_vlans_is_named_whatever_ports_the_fabric_has(told):
    text = f"vlan database\nvlan 5-6\nexit\ninterface GigabitEthernet9\nswitchport mode trunk\n{told}exit\n"
    parsed = parse_configuration(CBS350, text)
    assert [line.text for line in parsed.unknown] == ["switchport mode trunk"]
    assert parsed.unknown[0].touches([1, 2], [100])
    assert set(parsed.state.port(9).tagged) >= {6}
    (finding,) = read_state(CBS350, text, "s0", [1, 2])[1]
    assert "carries every VLAN" in str(finding)


def test_a_trunk_of_a_cbs350_carries_what_its_list_says_and_no_list_opens_it_again():
    lines = "vlan database\nvlan 5-7\nexit\ninterface GigabitEthernet9\nswitchport mode trunk\n{}exit\n"
    listed = parse_configuration(CBS350, lines.format("switchport trunk allowed vlan 1,5\n"))
    assert (listed.unknown, listed.state.port(9).tagged) == ((), (5,))
    more = "switchport trunk allowed vlan 1,5\nswitchport trunk allowed vlan add 7\n"
    assert parse_configuration(CBS350, lines.format(more)).state.port(9).tagged == (5, 7)
    back = "switchport trunk allowed vlan 5\nswitchport mode access\n"
    assert parse_configuration(CBS350, lines.format(back)).state.port(9).tagged == ()
    opened = "switchport trunk allowed vlan 5\nno switchport trunk allowed vlan\n"
    assert len(parse_configuration(CBS350, lines.format(opened)).unknown) == 1


def test_no_line_is_sent_that_would_make_a_trunk_of_a_cbs350():
    """Between the mode and the list it would carry every VLAN."""
    trunk = parse_configuration(CBS350, "interface gi9\nswitchport mode trunk\nswitchport trunk allowed vlan 1\n").state
    with pytest.raises(PlanError, match="has no line for mode_trunk"):
        render_commands(CBS350, difference(factory(CBS350).freeze(), trunk))


def test_a_real_running_config_of_a_6224():
    parsed = parse_configuration(FASTPATH, transcript("6224.cfg"))
    assert parsed.unknown == ()
    first, last = parsed.state.port(1), parsed.state.port(21)
    assert (first.mode, first.pvid) == (PortMode.GENERAL, 2093)
    assert first.untagged == (1, 2093)  # nothing took the port out of VLAN 1
    assert first.tagged == (12, 13, 2012, 2013)
    assert (last.mode, last.tagged) == (PortMode.TRUNK, (12, 13, 30, 31, 103, 2012, 2013, 2093))


def test_settings_printed_before_the_mode_they_need_still_hold():
    """Eltex, of the same code as ROS, prints ingress filtering first and ends blocks with "!" alone."""
    parsed = parse_configuration(ROS, transcript("eltex_order.cfg"))
    assert parsed.unknown == ()
    port = parsed.state.port(3)
    assert (port.ingress_filter, port.untagged, port.tagged) == (False, (4021,), (700, 711, 800, 801, 802))
    assert parsed.state.port(4).mode is PortMode.ACCESS


NOISE = (
    "\r\n\r\r\x1b[Kconsole# show running-config\r\r\n"
    "vlan database\r\r\nvlan 100\r\r\nexit\r\n"
    "interface ethernet g1\r\n\r\n"
    "More: <space>,  Quit: q or CTRL+Z, One line: <return> \r                                          \r"
    "switchport mode general\r\n"
    "01-Jan-2026 10:11:12 %AAA-W-REJECT: New ssh connection REJECTED\r\n"
    "\x1b[0mswitchport general pvid 100\r\n"
    '--More-- or (q)uit\r                  \rdescription "to s1 # uplink"\r\n'
    "exit\r\ninterface vlan 100\r\nname tagloom\r\nexit\r\nconsole# "
)


def test_console_noise_is_passed_over():
    parsed = parse_configuration(ROS, NOISE)
    assert parsed.unknown == ()
    assert (parsed.state.port(1).pvid, parsed.state.owned_vlans) == (100, (100,))


@pytest.mark.parametrize(
    ("text", "number", "block"),
    [
        ("interface ethernet g1/switchport wonder/exit", 2, "interface ethernet g1"),
        ("vlan database/vlan 2/fabric 7/exit", 3, "vlan database"),
        ("vlan database/vlan 2/exit/interface vlan 2/bridge wonder/exit", 5, "interface vlan 2"),
        ("interface ethernet g1/switchport mode general/switchport general pvid 9", 3, "interface ethernet g1"),
        ("interface ethernet g1/switchport general pvid 1/exit", 2, "interface ethernet g1"),
        ("interface ethernet g1/channel-group 1 mode auto/exit", 2, "interface ethernet g1"),
        ("interface ethernet g99/shutdown/switchport mode trunk/exit", 3, "interface ethernet g99"),
        ("interface vlan 7/name x/exit", 1, ""),
        ("hostname a/switchport mode trunk", 2, ""),
        ("interface ethernet g1/shutdown/exit/switchport mode trunk", 4, ""),
        ("bridge aging-time soon", 1, ""),
    ],
)
def test_a_line_not_understood_in_a_block_of_ours_is_reported(text, number, block):
    lines = text.split("/")
    (unknown,) = parse_configuration(ROS, "\n".join(lines)).unknown
    assert (unknown.number, unknown.block, unknown.text) == (number, block, lines[number - 1])


@pytest.mark.parametrize(
    "text",
    [
        "hostname s0\nsnmp-server community public ro\nline ssh\nexit\nwhatever else",
        "interface port-channel 1\nswitchport mode trunk\nexit",
        "stack\nmember 1 1\nexit",
        "interface vlan 1\nip address 192.0.2.1 255.255.255.0\nexit",
        "interface ethernet g1\ndescription x\nlldp enable rx\nspanning-tree portfast\nexit",
    ],
)
def test_business_of_others_is_passed_over(text):
    assert parse_configuration(ROS, text).unknown == ()


def test_a_block_of_others_does_not_leak_into_the_port_before_it():
    lines = ["interface ethernet g1", "switchport mode general", "!", "interface port-channel 1", "shutdown", "!"]
    port = parse_configuration(ROS, "\n".join(lines)).state.port(1)
    assert (port.mode, port.enabled) == (PortMode.GENERAL, True)
