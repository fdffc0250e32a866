"""What a switch answers: each family's exact words, and that a refused line changes nothing."""

from __future__ import annotations

import pytest

from tagloom.errors import PlanError
from tagloom.platforms import load
from tagloom.platforms.grammar import CONFIG, Context, ContextKind, Grammar
from tagloom.platforms.interpreter import Interpreter, OutcomeKind
from tagloom.records.switch_state import Frames, Membership, PortMode, SwitchEditor

ROS, FASTPATH, CBS350 = "powerconnect-5324", "powerconnect-6248", "cisco-cbs350-24t-4g"
COMWARE = "hpe-5130-24g-4sfp"
HUAWEI = "huawei-s5731-s24t4x"
EOS = "arista-7050tx-64"
G = {ROS: "g", FASTPATH: "1/g"}


def fed(model, *lines, platform=None):
    platform = platform or load(model)
    interpreter = Interpreter(platform, SwitchEditor.blank(platform.ports))
    for line in lines:
        outcome = interpreter.feed(line)
        assert outcome.accepted, (line, outcome)
    return interpreter


REJECTED, DONE = OutcomeKind.REJECTED, OutcomeKind.DONE
UNKNOWN, INCOMPLETE = OutcomeKind.UNKNOWN, OutcomeKind.INCOMPLETE
CREATED = ("vlan database", "vlan 10,20-22", "exit")
CARET = "% Invalid input detected at '^' marker."
WARNING = (
    "Warning: The use of large numbers of VLANs or interfaces may cause significant\n"
    "delays in applying the configuration."
)
FAILURE = """          Failure Information
---------------------------------------
   VLANs failed to be configured : 2
---------------------------------------
   VLAN             Error
---------------------------------------
VLAN        30 ERROR: This VLAN does not exist.
VLAN      1000 ERROR: This VLAN does not exist."""


@pytest.mark.parametrize(
    ("model", "mode", "line", "kind", "text"),
    [
        (ROS, "general", "switchport general pvid 30", REJECTED, "VLAN was not created by user."),
        (
            ROS,
            "general",
            "switchport general allowed vlan add 10,30 untagged",
            REJECTED,
            "VLAN was not created by user.",
        ),
        (ROS, "access", "switchport general pvid 10", REJECTED, "Port is not in Layer-2 mode"),
        (ROS, "general", "switchport general pvid", INCOMPLETE, "% missing mandatory parameter"),
        (ROS, "general", "switchport generous", UNKNOWN, "% Unrecognized command"),
        (ROS, "general", "eee enable", UNKNOWN, "% Unrecognized command"),
        (ROS, "general", "speed 11", REJECTED, "% bad parameter value"),
        (
            ROS,
            "general",
            "switchport general allowed vlan add 5000 tagged",
            REJECTED,
            "% Wrong number of parameters or invalid range, size or characters entered",
        ),
        (FASTPATH, "general", "switchport general pvid 30", REJECTED, "Could not configure pvid."),
        (FASTPATH, "access", "switchport general pvid 10", REJECTED, "Port is not general port."),
        (FASTPATH, "access", "switchport general allowed vlan add 10", REJECTED, "Interface not in General Mode."),
        (FASTPATH, "access", "switchport trunk allowed vlan add 10", REJECTED, "Interface not in Trunk Mode."),
        (FASTPATH, "trunk", "switchport access vlan 10", REJECTED, "Interface not in Access Mode."),
        (FASTPATH, "access", "switchport access vlan 30", REJECTED, f"{WARNING}\n\nVLAN ID not found."),
        (FASTPATH, "general", "switchport general allowed vlan add 10,30,1000", REJECTED, f"{WARNING}\n\n{FAILURE}"),
        (FASTPATH, "general", "switchport general allowed vlan add 10", DONE, WARNING),
        (
            FASTPATH,
            "general",
            "switchport general allowed vlan add 10-",
            REJECTED,
            "VLAN range - separate non-consecutive IDs with ',' and no spaces.  Use '-' for range.",
        ),
        (
            FASTPATH,
            "general",
            "switchport general pvid 4094",
            REJECTED,
            "Invalid input. Please specify an integer in the range 1 to 4093.",
        ),
        (FASTPATH, "general", "switchport generous", UNKNOWN, f"{' ' * 11}^\n{CARET}"),
        (
            FASTPATH,
            "general",
            "switchport",
            INCOMPLETE,
            "Command not found / Incomplete command. Use ? to list commands.",
        ),
    ],
)
def test_each_family_answers_in_its_own_words_and_a_refused_line_changes_nothing(model, mode, line, kind, text):
    switch = fed(model, *CREATED, f"interface ethernet {G[model]}5", f"switchport mode {mode}")
    before = switch.editor.freeze()
    outcome = switch.feed(line)
    assert (outcome.kind, outcome.text) == (kind, text)
    assert switch.grammar.is_error(text) is not outcome.accepted
    if not outcome.accepted:
        assert switch.editor.freeze() == before


@pytest.mark.parametrize(
    "text",
    [
        "% Unrecognized command",
        "          ^\n% Invalid input detected at '^' marker.",
        "% missing mandatory parameter",
        "% Wrong number of parameters or invalid range, size or characters entered",
        "% Incomplete command",
        "% Ambiguous command:",
        "Port is not in Layer-2 mode",
        "Configuration Database locked by another application - try later",
        "Invalid input. Please specify an integer in the range 1 to 4093.",
        "ERROR: This VLAN does not exist.",
        "An invalid interface has been used for this function",
        "Value is out of range. The valid range is 1518 to 9216.",
        FAILURE,
    ],
)
@pytest.mark.parametrize("model", [ROS, FASTPATH])
def test_the_error_texts_of_both_families_are_known_as_errors_to_each(model, text):
    assert Grammar.of(load(model)).is_error(f"echoed line\n{text}\nconsole(config)#")


@pytest.mark.parametrize("text", ["", "\n", WARNING, "console(config-if)#switchport mode general\n\n"])
def test_what_is_no_error_is_none(text):
    assert not Grammar.of(load(FASTPATH)).is_error(text)


def test_a_range_is_refused_as_a_whole_where_one_port_is_not_in_general_mode():
    switch = fed(
        ROS, *CREATED, "interface ethernet g1", "switchport mode general", "exit", "interface range ethernet g(1-2)"
    )
    before = switch.editor.freeze()
    assert switch.feed("switchport general allowed vlan add 10 untagged").kind is OutcomeKind.REJECTED
    assert switch.editor.freeze() == before


def test_a_missing_vlan_is_not_deleted_and_neither_are_its_neighbours():
    switch = fed(FASTPATH, *CREATED, "vlan database")
    outcome = switch.feed("no vlan 21,30")
    assert outcome.text == f"{WARNING}\n\nThese VLANs do not exist:  30."
    assert 21 in switch.editor.vlans
    assert switch.feed("no vlan 21").text.startswith(
        f"{WARNING}\nIf any of the VLANs being deleted are for access ports"
    )


def test_deleting_a_vlan_moves_pvids_to_1_and_takes_members_and_entries():
    """Deleting the PVID's VLAN sets PVID back to 1 (5548P user guide p. 471)."""
    switch = fed(
        ROS, *CREATED, "interface ethernet g1", "switchport mode general", "switchport general pvid 10",
        "switchport general allowed vlan add 10 untagged", "exit", "interface ethernet g2", "switchport access vlan 10",
        "exit", "interface vlan 10", "bridge address 00:11:22:33:44:55 ethernet g1", "exit",
        "vlan database", "no vlan 10",
    )  # fmt: skip
    state = switch.editor.freeze()
    assert state.pvid[:2].tolist() == [1, 1]
    assert len(state.entry_mac) == 0
    assert state.member(1, 2) is Membership.UNTAGGED


def test_memberships_add_up_and_vlan_1_stays_until_removed():
    switch = fed(
        ROS, *CREATED, "interface ethernet g1", "switchport mode general",
        "switchport general allowed vlan add 10,20 untagged", "switchport general allowed vlan add 21 tagged",
    )  # fmt: skip
    assert switch.editor.freeze().port(1).untagged == (1, 10, 20)
    switch.feed("switchport forbidden default-vlan")
    assert switch.editor.freeze().port(1).untagged == (10, 20)


def test_an_access_port_keeps_only_its_pvid():
    switch = fed(
        FASTPATH, *CREATED, "interface ethernet 1/g1", "switchport mode general", "switchport general pvid 20",
        "switchport general allowed vlan add 10,20", "switchport general acceptable-frame-type tagged-only",
        "switchport mode access",
    )  # fmt: skip
    port = switch.editor.freeze().port(1)
    assert (port.mode, port.pvid, port.untagged, port.frames) == (PortMode.ACCESS, 20, (20,), Frames.ALL)


@pytest.mark.parametrize(
    "line",
    [
        "bridge address 00:11:22:33:44:55 permanent ethernet g5",
        "bridge address 00:11:22:33:44:55 ethernet g5 permanent",
        "bridge address 00:11:22:33:44:55 ethernet g5",
        "bridge address 0011.2233.4455 ethernet G5",
    ],
)
def test_both_word_orders_of_an_entry_are_read(line):
    switch = fed(ROS, *CREATED, "interface vlan 10", line)
    assert switch.editor.entries == {(10, 0x001122334455): (5,)}


@pytest.mark.parametrize("keyword", ["secure", "delete-on-reset", "delete-on-timeout"])
@pytest.mark.parametrize(
    ("model", "enter", "entry"),
    [
        ("powerconnect-5324", "interface vlan 10", "bridge address 00:11:22:33:44:55 ethernet g5"),
        ("powerconnect-5324", "interface vlan 10", "bridge address 00:11:22:33:44:55 port-channel 1"),
        ("powerconnect-6224", "interface vlan 10", "bridge address 0011.2233.4455 ethernet 1/g5"),
        ("powerconnect-5548", "", "mac address-table static 00:11:22:33:44:55 vlan 10 interface gi1/0/5"),
        ("powerconnect-5548", "", "mac address-table static 00:11:22:33:44:55 vlan 10 interface port-channel 1"),
    ],
)
def test_an_entry_that_does_not_last_takes_the_place_of_one_that_does(model, enter, entry, keyword):
    switch = fed(model, *CREATED, *([enter] if enter else []), entry)
    assert (10, 0x001122334455) in switch.editor.entries
    assert switch.feed(f"{entry} {keyword}").accepted
    assert (switch.editor.entries, switch.unpinned) == ({}, {(10, 0x001122334455)})
    assert switch.feed(entry).accepted
    assert ((10, 0x001122334455) in switch.editor.entries, switch.unpinned) == (True, set())


def test_an_entry_in_use_is_moved_by_one_line():
    switch = fed(ROS, *CREATED, "interface vlan 10", "bridge address 00:11:22:33:44:55 ethernet g5")
    switch.feed("bridge address 00:11:22:33:44:55 ethernet g6")
    assert switch.editor.entries == {(10, 0x001122334455): (6,)}


@pytest.mark.parametrize("mac", ["0x1122334455", "00:11:22:33:44", "-0112233445", "00:11:22:33:4_:55", "zz"])
def test_what_is_no_mac_address_is_refused(mac):
    switch = fed(ROS, *CREATED, "interface vlan 10")
    assert switch.feed(f"bridge address {mac} ethernet g5").kind is OutcomeKind.REJECTED


@pytest.mark.parametrize(
    ("model", "text", "ports"),
    [
        (ROS, "g5", (5,)),
        (ROS, "g(1-3,5)", (1, 2, 3, 5)),
        (ROS, "g(1-3),g7", (1, 2, 3, 7)),
        (ROS, "g1-g24", tuple(range(1, 25))),
        (FASTPATH, "1/g1-1/g3,1/g9", (1, 2, 3, 9)),
        (FASTPATH, "1/g1-3", (1, 2, 3)),
    ],
)
def test_lists_of_ports_are_read(model, text, ports):
    grammar = Grammar.of(load(model))
    assert grammar.read_ports(text) == ports
    assert grammar.read_ports(grammar.write_ports(ports)) == ports


@pytest.mark.parametrize("text", ["g25", "g0", "ch9", "g(1-3", "g(3-1)", "g(1-999999999)", "g1-", "", "1/g1,ch2"])
def test_ports_the_model_lacks_are_refused(text):
    with pytest.raises(ValueError, match=r"no such port|backwards|not a number|invalid literal"):
        Grammar.of(load(ROS)).read_ports(text)


@pytest.mark.parametrize(
    ("model", "context", "prompt"),
    [
        (ROS, CONFIG, "s0(config)# "),
        (ROS, Context(ContextKind.INTERFACE, (1, 2)), "s0(config-if)# "),
        (FASTPATH, CONFIG, "s0(config)#"),
        (FASTPATH, Context(ContextKind.VLAN_DATABASE), "s0(config-vlan)#"),
        (FASTPATH, Context(ContextKind.INTERFACE, (7,)), "s0(config-if-1/g7)#"),
        (FASTPATH, Context(ContextKind.INTERFACE_VLAN, vlan=1000), "s0(config-if-vlan1000)#"),
    ],
)
def test_prompts(model, context, prompt):
    assert Grammar.of(load(model)).prompt("s0", context) == prompt


def test_exit_leaves_one_context_and_end_leaves_all():
    switch = fed(ROS, "interface ethernet g1")
    assert switch.feed("exit").kind is OutcomeKind.CONTEXT
    assert switch.feed("exit").kind is OutcomeKind.LEFT
    switch.feed("interface ethernet g1")
    assert switch.feed("end").kind is OutcomeKind.LEFT
    assert switch.context == CONFIG


def test_pvid_4095_drops_untagged_frames():
    switch = fed(ROS, "interface ethernet g1", "switchport mode general", "switchport general pvid 4095")
    assert switch.editor.pvid[0] == 0
    assert switch.grammar.line("pvid", vlan=0) == "switchport general pvid 4095"


def test_flow_control_of_the_62xx_is_one_line_for_all_ports():
    switch = fed(FASTPATH, "flowcontrol")
    assert set(switch.editor.flow_control) == {1}


def test_an_operators_template_overrides_a_line_and_the_familys_spelling_is_still_read():
    words = (
        "{% macro entry(mac, ports) %}bridge address {{ mac | mac }} ethernet {{ ports | ports }} forever{% endmacro %}"
    )
    platform = load(ROS, (), (("ros/lines.j2", words),))
    grammar = Grammar.of(platform)
    assert grammar.line("entry", mac=1, ports=(2,)) == "bridge address 00:00:00:00:00:01 ethernet g2 forever"
    assert grammar.line("entry", printed=True, mac=1, ports=(2,)).endswith("forever")
    switch = fed(ROS, "interface vlan 1", "bridge address 00:00:00:00:00:01 permanent ethernet g2", platform=platform)
    assert switch.editor.entries == {(1, 1): (2,)}


def test_a_model_with_eee_takes_its_lines():
    switch = fed("powerconnect-7024", "interface gigabitethernet 1/0/1", "green-mode eee")
    assert switch.editor.eee[0] is True


def test_a_model_without_a_command_line_is_told_so():
    with pytest.raises(PlanError, match="no command line is known for SF-0420G"):
        Grammar.of(load("sf-0420g"))


@pytest.mark.parametrize(
    "model", [ROS, "powerconnect-5548", "cisco-sg300-28", CBS350, FASTPATH, "n-series", COMWARE, HUAWEI, EOS]
)
def test_every_line_has_a_mark_and_every_step_a_place_and_a_reason(model):
    grammar = Grammar.of(load(model))
    assert {line.mark for line in grammar.lines.values()} <= {"confirmed", "confirmed-kin", "likely"}
    placed = [step for phase in grammar.order for step in phase]
    assert len(placed) == len(set(placed))
    ways_in = {
        "vlan_database",
        "interface",
        "interface_range",
        "interface_vlan",
        "vlan_view",
        "channel",
        "channel_range",
    }
    never_sent = {"no_access_vlan", "entry_channel", "trunk_open", "trunk_only"}
    never_sent |= {"trunk_link", "trunk_permit", "trunk_forbid", "trunk_pvid", "list_only"}
    written = {key for key in grammar.lines if grammar.has(key)} - never_sent - ways_in
    assert written <= set(placed)
