"""Real running-configs, and everything a console puts between their lines."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tagloom.errors import PlanError
from tagloom.platforms import load
from tagloom.platforms.factory import factory
from tagloom.records.change import difference
from tagloom.records.switch_state import DISCARD_PVID, Membership, PortMode
from tagloom.render import parse_configuration, read_state, read_text, render_commands
from tagloom.render.console_text import clean_lines, concealing_lines

TRANSCRIPTS = Path(__file__).parent / "transcripts"
ROS, FASTPATH, CBS350 = load("powerconnect-5324"), load("powerconnect-6224"), load("cisco-cbs350-24t-4g")
OS6, SG300 = load("n-series"), load("cisco-sg300-28")


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


def tagged_and_untagged(state, number):
    port = state.port(number)
    return port.tagged, port.untagged, port.pvid


PRINTED = {  # (model, lines of port 1 behind VLANs 10, 20 and 30): VLANs tagged, untagged, PVID
    "list without add": (OS6, "switchport mode trunk/switchport trunk allowed vlan 10,20", (10, 20), (1,), 1),
    "list before the mode": (OS6, "switchport trunk allowed vlan 10/switchport mode trunk", (10,), (1,), 1),
    "list that names a VLAN that is not there": (
        OS6,
        "switchport mode trunk/switchport trunk allowed vlan 10,99",
        (10,),
        (1,),
        1,
    ),
    "lines that add up": (
        OS6,
        "switchport mode trunk/switchport trunk allowed vlan add 10/switchport trunk allowed vlan add 30,99",
        (10, 30),
        (1,),
        1,
    ),
    "list of a trunk that is none": (
        OS6,
        "switchport trunk allowed vlan 10,20/switchport access vlan 30",
        (),
        (30,),
        30,
    ),
    "lines of all modes at an access port": (
        CBS350,
        (
            "switchport access vlan 30/switchport general allowed vlan add 20 tagged/switchport general pvid 20"
            "/switchport trunk native vlan 20"
        ),
        (),
        (30,),
        30,
    ),
    "lines of all modes at a general port": (
        ROS,
        (
            "switchport mode general/switchport access vlan 30/switchport trunk allowed vlan add 30"
            "/switchport general allowed vlan add 20 tagged"
        ),
        (20,),
        (1,),
        1,
    ),
    "a trunk by default": (
        SG300,
        "switchport trunk allowed vlan add 10,30/switchport trunk native vlan 20",
        (10, 30),
        (20,),
        20,
    ),
    "an access VLAN of a trunk by default": (SG300, "switchport access vlan 10", (), (1,), 1),
    "an access port that says so": (SG300, "switchport mode access/switchport access vlan 10", (), (10,), 10),
    "an access port that says so behind its VLAN": (
        SG300,
        "switchport access vlan 10/switchport mode access",
        (),
        (10,),
        10,
    ),
    "a trunk without a native VLAN": (
        CBS350,
        "switchport mode trunk/switchport trunk native vlan none/switchport trunk allowed vlan 10",
        (10,),
        (),
        DISCARD_PVID,
    ),
    "a port without a VLAN": (CBS350, "switchport access vlan none", (), (), DISCARD_PVID),
    "a trunk without a VLAN": (CBS350, "switchport mode trunk/switchport trunk allowed vlan none", (), (1,), 1),
}


@pytest.mark.parametrize(
    ("mode", "line", "taken"),
    [
        ("trunk", "switchport access vlan 30", True),
        ("access", "switchport trunk native vlan none", True),
        ("access", "switchport trunk allowed vlan add 20", True),
        ("access", "switchport general pvid 20", False),
    ],
)
def test_a_line_of_another_mode_that_350_series_print_is_taken_when_pasted(mode, line, taken):
    text = f"vlan database\nvlan 10,20,30\nexit\ninterface GigabitEthernet1\nswitchport mode {mode}\n{line}\nexit\n"
    assert bool(read_text(CBS350, text, "s0", [2]).refused) is not taken


@pytest.mark.parametrize("case", PRINTED)
def test_what_a_switch_prints_of_modes_and_lists_is_read_and_never_called_refused(case):
    model, said, *expected = PRINTED[case]
    database = ["vlan 10,20,30"] if model is OS6 else ["vlan database", "vlan 10,20,30"]
    opener = "interface ethernet g1" if model is ROS else f"interface {model.port_name(1)}"
    text = "\n".join([*database, "exit", opener, *said.split("/"), "exit", ""])
    reading = read_text(model, text, "s0", range(1, model.physical_ports + 1))
    assert (reading.findings, reading.unknown_lines) == ((), ())
    assert tagged_and_untagged(reading.state, 1) == tuple(expected)


OLD_7048 = replace(load("powerconnect-7048"), firmware=(("vlan_lines", "database"),))
TRUNKS = {  # (model, lines of port 1 behind VLANs 10, 20 and 30): VLANs tagged, untagged, and whether it is a finding
    "OS6": (OS6, "switchport mode trunk", (10, 20, 30), (1,), True),
    "OS6, its own native VLAN": (
        OS6,
        "switchport mode trunk/switchport trunk native vlan 20",
        (1, 10, 30),
        (20,),
        True,
    ),
    "OS6, native VLAN before the mode": (
        OS6,
        "switchport trunk native vlan 20/switchport mode trunk",
        (1, 10, 30),
        (20,),
        True,
    ),
    "OS6, all but one": (OS6, "switchport mode trunk/switchport trunk allowed vlan except 20", (10, 30), (1,), False),
    "OS6, one taken away": (
        OS6,
        "switchport mode trunk/switchport trunk allowed vlan remove 20",
        (10, 30),
        (1,),
        False,
    ),
    "OS6, a list": (OS6, "switchport trunk allowed vlan 10/switchport mode trunk", (10,), (1,), False),
    "OS6, a list that is added to": (
        OS6,
        "switchport mode trunk/switchport trunk allowed vlan add 10",
        (10,),
        (1,),
        False,
    ),
    "firmware 4": (OLD_7048, "switchport mode trunk", (), (1,), False),
    "firmware 4, with VLANs": (
        OLD_7048,
        "switchport mode trunk/switchport trunk allowed vlan add 10",
        (10,),
        (1,),
        False,
    ),
    "CBS350": (CBS350, "switchport mode trunk/switchport trunk native vlan 20", (1, 10, 30), (20,), True),
    "CBS350, a list before the mode": (
        CBS350,
        "switchport trunk allowed vlan 10/switchport mode trunk",
        (10,),
        (1,),
        False,
    ),
    "CBS350, added to all": (
        CBS350,
        "switchport mode trunk/switchport trunk allowed vlan add 10",
        (10, 20, 30),
        (1,),
        True,
    ),
}


@pytest.mark.parametrize("case", TRUNKS)
def test_a_trunk_without_a_list_is_in_every_vlan_where_its_firmware_has_it_so(case):
    model, said, tagged, untagged, named = TRUNKS[case]
    database = ["vlan 10,20,30"] if model is OS6 else ["vlan database", "vlan 10,20,30"]
    text = "\n".join([*database, "exit", f"interface {model.port_name(1)}", *said.split("/"), "exit", ""])
    reading = read_text(model, text, "s0", [1])
    assert [finding.expected for finding in reading.findings] == ["a trunk with a list of its VLANs"] * named
    assert tagged_and_untagged(reading.state, 1)[:2] == (tagged, untagged)


@pytest.mark.parametrize(
    ("model", "said", "named"),
    [
        ("hpe-5130-24g-4sfp", "port hybrid vlan 10 tagged", True),
        ("hpe-5130-24g-4sfp", "port trunk permit vlan 10", True),
        ("hpe-5130-24g-4sfp", "port trunk permit vlan 10\nport link-type trunk", False),
        ("huawei-s5731-s24t4x", "port hybrid tagged vlan 10", True),  # firmware before V200R005: hybrid by default
        ("huawei-s5731-s24t4x", "port link-type hybrid\nport hybrid tagged vlan 10", False),
        ("powerconnect-5548", "switchport general allowed vlan add 10", False),  # kept for when the mode is that
    ],
)
def test_lines_of_another_link_type_are_named_where_a_port_keeps_none(model, said, named):
    platform = load(model)
    vlans = "vlan database\nvlan 10\nexit" if model.startswith("power") else "vlan 10\n#"
    reading = read_text(platform, f"{vlans}\ninterface {platform.port_name(1)}\n{said}\n", "s0", [1])
    assert [each.expected for each in reading.findings if "link type" in each.expected] == (
        ["a port that says its link type"] * named
    )


@pytest.mark.parametrize(
    ("model", "lines"),
    [
        ("hpe-5130-24g-4sfp", ["vlan 2 to 4094", "port access vlan 4094", "port trunk pvid vlan 4094"]),
        ("huawei-s5731-s24t4x", ["vlan batch 10 4094", "port default vlan 4094"]),
    ],
)
def test_the_vlan_that_tagloom_keeps_for_ports_that_drop_frames_is_named_as_that(model, lines):
    platform = load(model)
    for line in lines:
        text = line if line.startswith("vlan") else f"interface {platform.port_name(1)}\n{line}"
        (finding,) = read_text(platform, f"{text}\n#\n", "s0", [1]).findings
        assert finding.expected == "VLANs of other ids"
        assert "4094 is the PVID" in finding.actual


def test_lines_for_general_mode_wait_at_a_port_that_is_sent_nothing_until_they_are_gone():
    said = "switchport general allowed vlan add 20 tagged"
    text = f"vlan database\nvlan 20\nexit\ninterface GigabitEthernet1\n{said}\nexit\n"
    (finding,) = read_state(CBS350, text, "s0", [1])[1]
    assert "general mode" in finding.actual
    assert read_state(CBS350, text, "s0", [2])[1] == ()
    assert (
        read_state(CBS350, text.replace("general allowed", "trunk allowed").replace(" tagged", ""), "s0", [1])[1] == ()
    )


LONG = "vlan 2,5,11-13,18,24,35-36,38,201-203,207,230"
CUT = [LONG[:at] + "\n" + LONG[at:] for at in range(7, len(LONG))]


@pytest.mark.parametrize(
    "text",
    [*CUT, "vlan 2,5,11-13,18,24,35-36,38\nvlan 201-203\nvlan 207,230", f"{LONG[:20]}\n{LONG[20:33]}\n{LONG[33:]}"],
)
def test_a_list_of_vlans_over_several_lines_is_one_list(text):
    whole = parse_configuration(OS6, f"{LONG}\nexit\n").state
    parsed = parse_configuration(OS6, f"{text}\nexit\n")
    assert (parsed.state, parsed.unknown, parsed.foreign) == (whole, (), ())
    database = parse_configuration(ROS, f"vlan database\n{text}\nexit\n")
    assert (database.state.vlans.tolist(), database.unknown) == (whole.vlans.tolist(), ())


@pytest.mark.parametrize("rest", ["20,3", "300,5", "5,6 tagged"])
def test_a_line_of_numbers_that_no_list_goes_on_with_is_named(rest):
    parsed = parse_configuration(ROS, f"vlan database\nvlan 10-20\n{rest}\nexit\n")
    assert rest in [line.text for line in (*parsed.unknown, *parsed.foreign)]
    assert parsed.state.vlans.tolist() == [1, *range(10, 21)]


def test_a_list_that_a_terminal_cut_does_not_work_when_pasted():
    (refused,) = parse_configuration(ROS, "vlan database\nvlan 10-12,\n20\nexit\n").refused
    assert (refused.number, refused.text) == (3, "20")


EOS, COMWARE, HUAWEI = load("arista-7050tx-64"), load("hpe-5130-24g-4sfp"), load("huawei-s5731-s24t4x")
BANNERS = {  # text for people over several lines, in which words of the switch's own may stand
    "quoted": (OS6, 'banner motd "only\n!\nno vlan 10\nfriends"'),
    "up to a character": (SG300, "banner login @\nonly\nno vlan 10\n@"),
    "up to two characters": (CBS350, "banner login ^C\nno vlan 10\nfriends^C"),
    "up to a line": (EOS, "banner login\nno vlan 10\nfriends\nEOF"),
    "of HPE": (COMWARE, "header motd %only\nundo vlan 10\n%"),
    "of Huawei": (HUAWEI, 'header login information "only\nundo vlan 10\nfriends"'),
}


def banner_of(case):
    model, banner = BANNERS[case]
    blocks = {
        OS6: "vlan 10\nexit\n",
        EOS: "vlan 10\n",
        COMWARE: "undo stp global enable\nvlan 10\n",
        HUAWEI: "vlan batch 10\n",
    }
    return model, blocks.get(model, "vlan database\nvlan 10\nexit\n"), banner


@pytest.mark.parametrize("case", BANNERS)
def test_text_for_people_over_several_lines_is_passed_over_up_to_its_end(case):
    model, before, banner = banner_of(case)
    reading = read_text(model, f"{before}{banner}\n", "s0", [1])
    assert (reading.findings, reading.unknown_lines) == ((), ())
    assert reading.refused == read_text(model, before, "s0", [1]).refused
    assert reading.state.vlans.tolist() == [1, 10]


@pytest.mark.parametrize("case", BANNERS)
def test_text_for_people_without_an_end_is_named_line_by_line(case):
    model, before, banner = banner_of(case)
    lines = banner.split("\n")
    ends = "^C" if case == "up to two characters" else lines[-1][-1]
    cut = [*lines[:-1], "" if case == "up to a line" else lines[-1].removesuffix(ends)]
    named = [line.text for line in read_text(model, before + "\n".join(cut) + "\n", "s0", [1]).unknown_lines]
    assert set(filter(None, cut)) - {"!"} <= set(named)


def test_what_stands_behind_the_end_of_text_for_people_is_named():
    text = "banner login @\nonly\n@ no vlan 10\n"
    assert "@ no vlan 10" in [line.text for line in read_text(SG300, text, "s0", [1]).unknown_lines]


def test_text_for_people_begins_in_no_block_of_a_switch_that_takes_none_there():
    text = "interface Gi1/0/1\nbanner motd @\nshutdown\n@\nexit\n"
    reading = read_text(OS6, text, "s0", [1])
    assert (reading.state.enabled[0], bool(reading.unknown_lines)) == (False, True)


@pytest.mark.parametrize(
    "spelling", ["port-channel 1", "Port-channel1", "Port-Channel1", "port-channel1", "Port-Channel 1"]
)
@pytest.mark.parametrize("model", [SG300, CBS350, OS6])
def test_a_port_channel_is_one_in_every_spelling(model, spelling):
    text = f"interface {spelling}\ndescription up\nswitchport mode access\nshutdown\nexit\n"
    reading = read_text(model, text, "s0", [1])
    assert (reading.unknown_lines, reading.findings) == ((), ())
    assert reading.state.enabled.tolist().count(False) == 1
    assert not reading.state.enabled[model.physical_ports]


HEADS = {
    "sw1\nhostname sw1": True,
    "switch0a1b2c": True,
    "sw1": True,
    "reload": False,
    "sw1\nhostname sw2": False,
    "no vlan 1": False,
}


@pytest.mark.parametrize("name", HEADS)
def test_the_name_at_the_head_of_a_file_is_passed_over_where_it_is_one(name):
    own, _, rest = name.partition("\n")
    reading = read_text(SG300, f"config-file-header\n{own}\nv1.4.11.5 / R800_NIK\nCLI v1.0\n@\n!\n{rest}\n", "s0", [1])
    assert (reading.unknown_lines == ()) is HEADS[name]


@pytest.mark.parametrize(
    "line",
    [
        "  ---- More ----\x1b[16D                \x1b[16Dvlan 7",
        "  ---- More ----\x1b[42D                                          \x1b[42Dvlan 7",
        "--More-- or (q)uit\r                  \rvlan 7",
        f"{'--More-- or (q)uit'}{chr(8) * 18}{' ' * 18}{chr(8) * 18}vlan 7",
        "\x1b[0mMore: <space>,  Quit: q, One line: <return>\r" + " " * 43 + "\r\x1b[Kvlan 7",
        "\x1b[24;1H\x1b[0mvlan 7\x1b[K",
        "vlan 7\r\r",
    ],
    ids=ascii,
)
def test_what_a_pager_writes_and_wipes_conceals_nothing(line):
    assert [each.strip() for each in clean_lines(line)] == ["vlan 7"]
    assert concealing_lines(line) == []


@pytest.mark.parametrize(
    "line", ["vlan\x1b[D 7", "\x1b[Avlan 7", "vlan 77\x08", "description a\x15vlan 7", "vlan\u00a07"], ids=ascii
)
def test_what_a_console_would_take_as_keys_is_named(line):
    assert concealing_lines(f"vlan 1\n{line}") == [(2, line)]


@pytest.mark.parametrize(
    ("said", "carried", "waits"),
    [
        ("switchport trunk allowed vlan remove 2-9,11-4094", (10,), False),
        ("switchport trunk allowed vlan remove 2-9/switchport trunk allowed vlan remove 11-4094", (10,), False),
        ("switchport trunk allowed vlan remove 20", (10, 30), True),
        ("switchport trunk allowed vlan except 20", (10, 30), True),
        ("switchport trunk allowed vlan except 2-9,11-4094", (10,), False),
    ],
)
def test_a_trunk_carries_all_but_the_vlans_of_a_list(said, carried, waits):
    """As an SG350X prints it."""
    lines = ["interface GigabitEthernet1", "switchport mode trunk", *said.split("/")]
    text = "\n".join(["vlan database", "vlan 10,20,30", "exit", *lines, "exit", ""])
    reading = read_text(CBS350, text, "s0", range(1, 25))
    assert (reading.findings, reading.unknown_lines, reading.state.port(1).tagged) == ((), (), carried)
    assert bool(read_state(CBS350, text, "s0", [9])[1]) is waits, "it would carry what tagloom makes"


def test_what_another_line_of_the_text_switches_off_is_passed_over_with_it():
    text = "voice vlan state disabled\nmacro auto disabled\nvoice vlan id 7\ninterface GigabitEthernet1\n"
    idle = f"{text}macro auto smartport dynamic_type switch\nexit\n"
    assert read_text(CBS350, idle, "s0", [1]).unknown_lines == ()
    for line, other in (("voice vlan state disabled", "voice vlan id 7"), ("macro auto disabled", "dynamic_type")):
        named = read_text(CBS350, idle.replace(f"{line}\n", ""), "s0", [1]).unknown_lines
        assert any(other in each.text for each in named)


def test_a_key_is_passed_over_up_to_the_line_that_ends_it():
    key = "encrypted ip ssh-client key rsa key-pair\n---- BEGIN SSH2 PUBLIC KEY ----\nAAAA+a==\n.\nhostname core\n"
    assert read_text(CBS350, key, "s0", [1]).unknown_lines == ()
    assert len(read_text(CBS350, key.replace("\n.\n", "\n"), "s0", [1]).unknown_lines) == 3


BGP = """\
router bgp 65001
   router-id 192.0.2.1
   no bgp default ipv4-unicast
   neighbor 192.0.2.2 remote-as 65000
   !
   vlan 110
      rd 192.0.2.1:110
      redistribute learned
   !
   vrf T1
      rd 192.0.2.1:10
!
ip routing
vlan 20
"""


def test_the_vlans_of_a_routing_protocol_are_none_of_the_switch():
    reading = read_text(EOS, f"vlan 10\n!\n{BGP}", "s0", [1])
    assert (reading.unknown_lines, reading.findings) == ((), ())
    assert reading.state.vlans.tolist() == [1, 10, 20]
