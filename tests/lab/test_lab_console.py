import re

import pytest

from tagloom import platforms
from tagloom.errors import InputError
from tagloom.lab.console import LOCKED, Console
from tagloom.lab.device import Device, Quirks, UnmanagedConfig
from tagloom.platforms.grammar import Grammar
from tagloom.records.switch_state import Membership

ROS, FASTPATH = "powerconnect-5324", "powerconnect-6224"


def device(model=ROS, lines=60, **quirks):
    platform = platforms.load(model)
    return Device(
        "s0",
        platform,
        render=lambda _: "\n".join(f"line {n}" for n in range(1, lines + 1)),
        foreign=UnmanagedConfig.born("s0", 0, platform, [1, 2]),
        quirks=Quirks(**quirks),
    )


def login(made):
    """Give a console at the privileged prompt."""
    console = Console(made)
    console.start()
    if console.family.login_in_shell:
        console.feed("lab\nlab\n")
    console.feed("enable\n")
    return console


def configure(made, *lines):
    console = login(made)
    console.feed("configure\n")
    return [console.feed(line + "\n") for line in lines]


def test_ros_asks_for_user_and_password_and_hides_it():
    console = Console(device())
    assert console.start() == "\r\nUser Name:"
    assert console.feed("lab\n") == "lab\r\nPassword:"
    assert console.feed("lab\n") == "***\r\n\r\ns0> "


def test_ros_hangs_up_after_three_wrong_passwords():
    console = Console(device())
    console.start()
    for _ in range(2):
        assert console.feed("lab\nwrong\n").endswith("User Name:")
    assert "authentication failed" in console.feed("lab\nwrong\n")
    assert console.closed
    assert console.feed("lab\n") == ""


def test_a_switch_that_refuses_logins_refuses_the_right_password():
    console = Console(device(refuse_login=True))
    console.start()
    assert "authentication failed" in console.feed("lab\nlab\n")


def test_fastpath_begins_at_its_prompt():
    assert Console(device(FASTPATH)).start() == "\r\ns0>"


def test_ros_modes_and_prompts():
    console = login(device())
    steps = {
        "": "\r\ns0# ",
        "config": "config\r\ns0(config)# ",
        "vlan database": "vlan database\r\ns0(config-vlan)# ",
        "vlan 10": "vlan 10\r\ns0(config-vlan)# ",
        "exit": "exit\r\ns0(config)# ",
        "interface ethernet g1": "interface ethernet g1\r\ns0(config-if)# ",
        "end": "end\r\ns0# ",
        "conf t": "conf t\r\ns0(config)# ",
        "interface vlan 10": "interface vlan 10\r\ns0(config-if)# ",
        "\x1a": "\r\ns0# ",
        "disable": "disable\r\ns0> ",
    }
    for typed, shown in steps.items():
        assert console.feed(typed + ("" if typed == "\x1a" else "\r")) == shown
    console.feed("exit\n")
    assert console.closed


def test_fastpath_modes_prompts_and_blank_lines():
    console = login(device(FASTPATH))
    for typed, prompt in (
        ("configure", "s0(config)#"),
        ("vlan database", "s0(config-vlan)#"),
        ("exit", "s0(config)#"),
        ("interface ethernet 1/g1", "s0(config-if-1/g1)#"),
        ("shutdown", "s0(config-if-1/g1)#"),
        ("end", "s0#"),
        ("exit", "s0>"),
    ):
        assert console.feed(typed + "\n") == f"{typed}\r\n\r\n{prompt}"
    console.feed("quit\n")
    assert console.closed


def test_fastpath_warns_at_vlan_commands():
    shown = configure(device(FASTPATH), "vlan database", "vlan 10")[-1]
    assert shown.startswith("vlan 10\r\n\r\nWarning: The use of large numbers of VLANs or interfaces may cause")
    assert shown.endswith("\r\n\r\ns0(config-vlan)#")


def test_raw_prompts_have_the_bytes_of_a_5500():
    console = login(device(raw=True))
    assert console.feed("\n") == "\r\n\r\n\r\r\x1b[Ks0# "


@pytest.mark.parametrize(
    ("model", "line", "text"),
    [
        (ROS, "terminal length 0", "% Unrecognized command"),
        (ROS, "show", "% missing mandatory parameter"),
        (FASTPATH, "terminal datadump", "   ^\r\n% Invalid input detected at '^' marker."),
        (FASTPATH, "show", "Command not found / Incomplete command. Use ? to list commands."),
        (FASTPATH, "show interfaces switchport 9/g9", "ERROR: Invalid input!"),
    ],
)
def test_errors_of_commands(model, line, text):
    made = device(model)
    shown = login(made).feed(line + "\n")
    assert text in shown
    assert shown.endswith("# " if model == ROS else "\r\n\r\ns0#")
    assert Grammar.of(made.platform).is_error(shown.replace("\r", ""))


@pytest.mark.parametrize(
    ("model", "block", "line", "text"),
    [
        (ROS, "interface ethernet g1", "switchport general pvid 77", "Port is not in Layer-2 mode"),
        (ROS, "vlan database", "vlan 5000", "% Wrong number of parameters or invalid range"),
        (ROS, "interface ethernet g1", "swichport mode general", "% Unrecognized command"),
        (FASTPATH, "interface ethernet 1/g1", "switchport general pvid 77", "Port is not general port."),
        (FASTPATH, "vlan database", "vlan 4094", "VLAN range - separate non-consecutive IDs"),
    ],
)
def test_errors_of_configuration_lines_change_nothing(model, block, line, text):
    made = device(model)
    before = made.editor.freeze()
    assert text in configure(made, block, line)[-1]
    assert made.editor.freeze() == before


def test_a_caret_stands_under_the_word_it_means():
    shown = configure(device(FASTPATH), "interface ethernet 1/g1", "switchport mood general")[-1]
    _, caret, error, *_ = shown.split("\r\n")
    assert caret.index("^") == len("s0(config-if-1/g1)#switchport ")
    assert error == "% Invalid input detected at '^' marker."


def test_configuration_lines_do_what_they_say():
    made = device()
    configure(
        made,
        "vlan database",
        "vlan 10-11",
        "exit",
        "interface range ethernet g(1-2)",
        "switchport mode general",
        "switchport general allowed vlan add 10,11 untagged",
        "switchport general pvid 11",
    )
    assert made.editor.members[11] == {1: Membership.UNTAGGED, 2: Membership.UNTAGGED}
    assert made.editor.pvid[:3] == [11, 11, 1]


@pytest.mark.parametrize(("model", "size"), [(ROS, 24), (FASTPATH, 23)])
def test_the_pager_stops_pages_and_quits(model, size):
    console = login(device(model))
    first = console.feed("show running-config\n")
    pager = "More: <space>,  Quit: q, One line: <return>" if model == ROS else "--More-- or (q)uit"
    head = first.count("!Current Configuration:")  # of FASTPATH, one line
    assert first.endswith(f"line {size - head}\r\n{pager}")
    second = console.feed(" ")
    assert second.startswith("\r" + " " * len(pager) + "\r")
    assert f"line {size - head + 1}\r\n" in second
    assert second.endswith(f"line {2 * size - head}\r\n{pager}")
    assert re.findall(r"line \d+", console.feed("\r")) == [f"line {2 * size - head + 1}"]
    assert console.feed("x") == ""
    last = console.feed("q")
    assert last.endswith(("\rs0#", "\x1b[Ks0# "))


@pytest.mark.parametrize(("model", "off"), [(ROS, "terminal datadump"), (FASTPATH, "terminal length 0")])
def test_paging_can_be_turned_off(model, off):
    console = login(device(model))
    console.feed(off + "\n")
    shown = console.feed("show running-config\n")
    assert "line 60" in shown
    assert shown.endswith("#" + console.family.after_prompt)


def test_fastpath_repeats_the_table_header_on_every_page():
    made = device(FASTPATH)
    for vlan in range(2, 60):
        made.editor.create_vlan(vlan)
    console = login(made)
    shown = console.feed("show vlan\n") + console.feed("  ")
    assert shown.count("VLAN       Name") == 3
    assert len(re.findall(r"(?m)^\d+ ", shown)) == 59


def test_ros_lists_ports_as_a_5324_does():
    made = device()
    made.editor.create_vlan(10)
    shown = login(made).feed("show vlan\n")
    assert " 1           1               g(1-24),ch(1-8)          other       Required    " in shown
    assert re.search(r"(?m)^ 10 +10 +permanent +Required +\r$", shown)


def test_the_address_table_is_written_in_the_familys_way():
    for model, row in ((ROS, "10      02:00:00:00:00:0a     g5     static"), (FASTPATH, "0200.0000.000A         1/g5")):
        made = device(model)
        made.editor.create_vlan(10)
        made.editor.set_entry(10, 0x02000000000A, [5])
        assert row in login(made).feed("show bridge address-table\n")


def test_switchport_tells_tagged_from_untagged():
    for model, port in ((ROS, "g1"), (FASTPATH, "1/g1")):
        made = device(model)
        made.editor.create_vlan(10)
        made.editor.set_member(10, 1, Membership.TAGGED)
        shown = login(made).feed(f"show interfaces switchport {port}\n")
        assert re.search(r"10 +10 +Tagged|General Mode Tagged VLANs: 10", shown)


@pytest.mark.parametrize("model", [ROS, FASTPATH])
@pytest.mark.parametrize("command", ["show version", "show system", "show interfaces status"])
def test_every_show_answers(model, command):
    shown = login(device(model)).feed(command + "\n ")
    assert not Grammar.of(platforms.load(model)).is_error(shown.replace("\r", ""))
    assert len(shown.splitlines()) > 3


def test_ros_saves_after_a_yes_and_a_return():
    made = device()
    console = login(made)
    made.editor.create_vlan(10)
    question = "copy running-config startup-config\r\nOverwrite file [startup-config].... (Y/N)[N] ?"
    assert console.feed("copy running-config startup-config\n") == question
    assert console.feed("\n") == "\r\ns0# "
    made.reboot()
    assert 10 not in made.editor.vlans
    made.editor.create_vlan(10)
    console.feed("copy running-config startup-config\n")
    assert console.feed("Y\n") == "Y\r\nCopy succeeded\r\ns0# "
    made.reboot()
    assert 10 in made.editor.vlans


def test_fastpath_saves_at_one_key_and_the_return_behind_it_is_an_empty_command():
    made = device(FASTPATH)
    console = login(made)
    assert console.feed("copy running-config startup-config\n").endswith("Are you sure you want to save? (y/n) ")
    assert console.feed("n").endswith("Configuration Not Saved!\r\n\r\ns0#")
    console.feed("copy running-config startup-config\n")
    assert console.feed("y") == "y\r\n\r\nConfiguration Saved!\r\n\r\ns0#"
    assert console.feed("\n") == "\r\ns0#"


def test_one_byte_at_a_time_shows_the_same():
    script = (
        "lab\r\nlab\r\nenable\r\nshow running-config\r\n \rqterminal datadump\r\n"
        "conf\r\nhostnam\x7fme x\r\nend\r\nexit\r\n"
    )
    whole, single = Console(device()), Console(device())
    assert whole.feed(script) == "".join(single.feed(key) for key in script)
    assert whole.closed
    assert single.closed


def test_erase_and_control_c_edit_the_line():
    console = login(device())
    assert console.feed("shox\x7fw\b\b") == "shox\b \bw\b \b\b \b"
    assert console.feed("\x03") == "\r\ns0# "
    assert console.feed("\b") == ""


@pytest.mark.parametrize("model", [ROS, FASTPATH])
def test_a_switch_is_born_with_other_peoples_lines(model):
    text = device(model, lines=1).running_config()
    for line in ("hostname s0", "username plant password", "snmp-server community watchtower ro", "description spare"):
        assert line in text
    assert text.count("ip address 192.0.2.1 255.255.255.0") == 1


def test_foreign_lines_are_kept_replaced_and_removed():
    made = device(lines=1)
    configure(
        made,
        "hostname tower",
        "snmp-server community two ro",
        "no snmp-server community watchtower",
        "no logging",
        "interface ethernet g24",
        "description uplink to the  plant",
        "exit",
        "interface vlan 1",
        "ip address 192.0.2.77 255.255.255.0",
    )
    text = made.running_config()
    assert "interface ethernet g24\ndescription uplink to the plant\nexit\n" in text
    assert "interface vlan 1\nip address 192.0.2.77 255.255.255.0\nexit\n" in text
    assert "snmp-server community two ro" in text
    assert "watchtower" not in text
    assert "logging" not in text
    assert made.hostname == "tower"
    assert login(made).feed("\n") == "\r\ntower# "


def test_quirks_reject_and_ignore_lines():
    made = device(reject_line="vlan 66", ignore_line="vlan 77")
    _, rejected, ignored, _ = configure(made, "vlan database", "vlan 66", "vlan 77", "vlan 88")
    assert "% bad parameter value" in rejected
    assert ignored == "vlan 77\r\ns0(config-vlan)# "
    assert list(made.editor.vlans) == [1, 88]


def test_the_configuration_can_be_locked():
    assert LOCKED in login(device(locked=True)).feed("configure\n")


def test_one_session_at_a_time_may_configure():
    made = device(exclusive=True)
    first, second = login(made), login(made)
    first.feed("configure\n")
    assert LOCKED in second.feed("configure\n")
    first.close()
    assert second.feed("configure\n").endswith("(config)# ")
    second.feed("end\n")
    assert login(made).feed("configure\n").endswith("(config)# ")


def test_a_session_is_cut_once_before_its_answer():
    made = device(drop_after=3)
    console = login(made)
    console.feed("configure\n")
    assert console.feed("vlan database\n") == "vlan database\r\n"
    assert console.closed
    console = login(made)
    console.feed("configure\nvlan database\nexit\n")
    assert not console.closed


def test_quirks_that_do_not_exist_are_findings():
    with pytest.raises(InputError) as caught:
        Quirks.of({"dealy": 1, "raw": 1, "reject_line": "(", "delay_seconds": True}, "quirks.s0")
    assert [f.where for f in caught.value.findings] == [
        "quirks.s0.dealy",
        "quirks.s0.raw",
        "quirks.s0.reject_line",
        "quirks.s0.delay_seconds",
    ]
    assert Quirks.of({"delay_seconds": 1}) == Quirks(delay_seconds=1)
