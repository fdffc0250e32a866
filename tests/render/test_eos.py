"""The command line of Arista's switches: what its lines mean, its configuration, and what is refused."""

import pytest

from fabrics import ROOT, make_fabric
from tagloom.cli import main
from tagloom.errors import InputError, PlanError, UnwritableError
from tagloom.observe.address_pages import address_page
from tagloom.pipeline import plan
from tagloom.platforms import load
from tagloom.platforms.detect import by_text
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.interpreter import Interpreter
from tagloom.platforms.port_names import port_number
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.change import difference
from tagloom.records.switch_state import DISCARD_PVID, Membership, PortMode, SwitchEditor, SwitchState
from tagloom.render import parse_configuration, read_text, render_commands, render_configuration

pytestmark = pytest.mark.kernel

MODEL = "arista-7050tx-64"
EOS = load(MODEL)
TEMPLATES = ROOT / "templates"
TRANSCRIPT = (ROOT / "tests/render/transcripts/eos.cfg").read_text()
NONE, TAGGED, UNTAGGED = Membership.NONE, Membership.TAGGED, Membership.UNTAGGED
TREE = {"assignment": "pinned", "routing": "tree"}


def fed(*lines):
    switch = Interpreter(EOS, SwitchEditor.blank(EOS.ports))
    for line in lines:
        outcome = switch.feed(line)
        assert outcome.accepted, (line, outcome)
    return switch


def membership(state, port):
    return {vlan: state.member(vlan, port) for vlan in state.vlans.tolist() if state.member(vlan, port)}


def planned():
    texts = plan(make_fabric("ring", 4, model=MODEL), TEMPLATES, **TREE)[2]
    return {name: parse_configuration(EOS, text).state for name, text in texts.items()}, texts


@pytest.mark.parametrize("name", ["s0", "s1"])
def test_a_planned_configuration_and_the_lines_there_and_back_read_as_reviewed(name, golden):
    text = planned()[1][name]
    golden.check(f"eos/{name}.cfg", text)
    born = SwitchState.factory(EOS.ports)
    state = parse_configuration(EOS, text).state
    there, back = (render_commands(EOS, difference(a, b), a) for a, b in ((born, state), (state, born)))
    golden.check(f"eos/{name}-commands.cfg", "\n".join(["# there", *there, "# and back", *back, ""]))


def test_a_configuration_in_the_form_of_public_ones_is_read_line_by_line():
    state = parse_configuration(EOS, TRANSCRIPT).state
    assert state.vlans.tolist() == [1, 10, 20, 30, 31, 32, 40]
    assert state.vlan_names == ("", "MGMT", "", "", "", "", "plant")
    assert membership(state, 1) == {20: TAGGED, 30: TAGGED, 31: TAGGED}
    assert membership(state, 2) == {10: TAGGED, 40: UNTAGGED}
    others = [{10: UNTAGGED}, {40: UNTAGGED}, {1: UNTAGGED}, {20: TAGGED}]
    assert [membership(state, port) for port in (3, 4, 5, 49)] == others
    assert state.pvid[:5].tolist() == [DISCARD_PVID, 40, 10, 40, 1]
    assert state.pvid[48] == DISCARD_PVID, "native VLAN 1 is not on its list"
    assert state.enabled[:5].tolist() == [True, True, True, False, True]
    assert (state.aging_seconds, state.spanning_tree) == (600, True)
    assert state.entry(10, 0x001C73000001) == (3,)
    assert parse_configuration(EOS, TRANSCRIPT.replace("mode mstp", "mode none")).state.spanning_tree is False
    assert state.entry(40, 0x001C73000002) == (49,)
    reading = read_text(EOS, TRANSCRIPT, "s0", [5, 6])
    assert reading.findings == ()
    named = [line.text for line in reading.unknown_lines]
    assert named == ["interface Port-Channel3", "description of others"], "a group may be in any VLAN"


def test_ports_of_hosts_are_access_ports_and_those_of_links_trunks_that_take_nothing_untagged():
    states, texts = planned()
    s0 = states["s0"]
    assert [PortMode(mode) for mode in s0.mode[:3]] == [PortMode.GENERAL, PortMode.GENERAL, PortMode.ACCESS]
    assert [membership(s0, port) for port in (1, 3)] == [{100: TAGGED}, {100: UNTAGGED}]
    assert s0.pvid[:3].tolist() == [DISCARD_PVID, DISCARD_PVID, 100]
    assert texts["s0"].count("switchport trunk native vlan tag") == 2
    assert "spanning-tree mode none" in texts["s0"]


def test_a_trunk_carries_every_vlan_until_it_has_a_list_and_is_named_while_it_has_none():
    switch = fed("vlan 10", "interface Ethernet1", "switchport mode trunk")
    assert membership(switch.editor.freeze(), 1) == {1: UNTAGGED, 10: TAGGED}
    for line in ("vlan 11", "interface Ethernet1"):
        assert switch.feed(line).accepted
    assert 11 in membership(switch.editor.freeze(), 1)
    assert switch.feed("switchport trunk allowed vlan remove 1,11").accepted
    assert membership(switch.editor.freeze(), 1) == {10: TAGGED}
    open_trunk = "interface Ethernet7\n   switchport mode trunk\n!\n"
    reading = read_text(EOS, open_trunk, "s0", [1])
    assert "switchport trunk allowed vlan LIST" in str((*reading.findings, *reading.unknown_lines))
    closed = open_trunk.replace("mode trunk", "trunk allowed vlan none\n   switchport mode trunk")
    assert read_text(EOS, closed, "s0", [1]).unknown_lines == ()


def test_what_is_said_of_the_other_mode_is_kept_until_a_port_is_in_it():
    switch = fed("vlan 10,20", "interface Ethernet1", "switchport trunk allowed vlan 20", "switchport access vlan 10")
    assert membership(switch.editor.freeze(), 1) == {10: UNTAGGED}
    assert switch.feed("switchport mode trunk").accepted
    assert membership(switch.editor.freeze(), 1) == {20: TAGGED}
    for line in ("switchport trunk native vlan 20", "switchport mode access", "no switchport access vlan"):
        assert switch.feed(line).accepted
    assert membership(switch.editor.freeze(), 1) == {1: UNTAGGED}
    for line in ("switchport mode trunk", "exit", "no vlan 20"):
        assert switch.feed(line).accepted
    assert (membership(switch.editor.freeze(), 1), switch.editor.pvid[0]) == ({}, DISCARD_PVID)
    assert switch.feed("vlan 20").accepted
    assert membership(switch.editor.freeze(), 1) == {20: UNTAGGED}


def test_a_new_trunk_carries_no_vlan_before_it_is_told_which():
    """Law of the order: line by line, no port of the fabric is a trunk in a VLAN that the plan has not put it in."""
    text = planned()[1]["s0"]
    born, state = SwitchState.factory(EOS.ports), parse_configuration(EOS, text).state
    switch = fed()
    for line in render_commands(EOS, difference(born, state), born):
        assert switch.feed(line).accepted
        now = switch.editor.freeze()
        for port in (1, 2):
            trunk = now.mode[port - 1] == PortMode.GENERAL
            assert set(membership(now, port)) <= ({100} if trunk else {1}), line
        assert now.spanning_tree or not set(membership(now, 1)) & {1}, line
    assert switch.editor.freeze() == state


def test_the_way_back_leaves_nothing_of_a_trunk_behind():
    text = planned()[1]["s0"]
    born, state = SwitchState.factory(EOS.ports), parse_configuration(EOS, text).state
    lines = render_commands(EOS, difference(state, born), state)
    assert lines.index("switchport mode access") < lines.index("no switchport trunk allowed vlan")
    assert "no switchport trunk native vlan" in lines
    assert lines.index("switchport access vlan 1") < lines.index("switchport mode access")


@pytest.mark.parametrize(
    ("mode", "held", "pvid"),
    [
        (PortMode.GENERAL, {10: UNTAGGED, 20: UNTAGGED}, 10),
        (PortMode.GENERAL, {10: UNTAGGED}, 20),
        (PortMode.GENERAL, {10: TAGGED}, 20),
        (PortMode.ACCESS, {10: UNTAGGED, 20: TAGGED}, 10),
        (PortMode.ACCESS, {10: UNTAGGED, 20: UNTAGGED}, 10),
    ],
)
def test_a_port_that_would_be_untagged_elsewhere_than_in_its_pvid_is_refused(mode, held, pvid):
    editor = fed("vlan 10,20").editor
    before = editor.freeze()
    editor.set_member(1, 1, NONE)
    editor.mode[0] = mode
    for vlan, how in held.items():
        editor.set_member(vlan, 1, how)
    editor.set_pvid(1, pvid)
    after = editor.freeze()
    with pytest.raises(UnwritableError, match="port Et1"):
        render_commands(EOS, difference(before, after), before)
    with pytest.raises(PlanError):
        render_configuration(EOS, after, TEMPLATES)


def test_a_list_that_is_too_long_for_one_line_is_said_in_several_that_add_up():
    editor = SwitchEditor.blank(EOS.ports)
    editor.mode[0], editor.pvid[0] = PortMode.GENERAL, DISCARD_PVID
    editor.set_member(1, 1, NONE)
    for vlan in range(100, 400, 2):
        editor.create_vlan(vlan)
        editor.set_member(vlan, 1, TAGGED)
    state = editor.freeze()
    text = render_configuration(EOS, state, TEMPLATES)
    assert text.count("switchport trunk allowed vlan add") > 1
    assert parse_configuration(EOS, text).state == state


@pytest.mark.parametrize(
    "line",
    [
        "no switchport mac address learning",
        "switchport trunk group plant",
        "switchport mode dot1q-tunnel",
        "switchport vlan translation in 23 50",
        "channel-group 3 mode active",
        "flowcontrol receive on",
        "speed forced 100full",
        "storm-control broadcast level 1",
        "spanning-tree bpdufilter enable",
    ],
)
def test_a_line_that_could_change_what_a_fabric_port_does_is_named(line):
    text = TRANSCRIPT.replace("   switchport access vlan 10\n", f"   {line}\n   switchport access vlan 10\n", 1)
    reading = read_text(EOS, text, "s0", [3])
    assert line in str((*reading.findings, *reading.unknown_lines))


@pytest.mark.parametrize(
    "line",
    ["mac address-table static 001c.7300.0001 vlan 10 drop", "vlan 10 reserved", "switchport access vlan 10"],
)
def test_a_line_of_tagloom_that_is_not_understood_is_named_wherever_it_stands(line):
    assert line in str(read_text(EOS, f"{TRANSCRIPT}{line}\n", "s0", [60]).findings)


def test_a_switch_is_known_by_what_it_says_of_itself():
    said = "Arista Networks EOS version 4.28.3M running on an Arista Networks DCS-7050TX-64"
    assert by_text(said).models == (MODEL,)
    assert by_text("Arista DCS-7010T-48-R\nHardware version:    21.12\n").models == ("arista-7010t-48",)
    assert by_text(said.replace("64", "72")).models == ()
    assert (port_number(EOS, "Ethernet2"), port_number(EOS, "Ethernet52/4"), port_number(EOS, "et49/1")) == (2, 64, 49)
    assert port_number(EOS, "Ethernet1/1") is None


def test_the_page_of_addresses_is_read_for_what_was_learned_alone():
    page = (
        "          Mac Address Table\n"
        "Vlan    Mac Address       Type        Ports      Moves   Last Move\n"
        "----    -----------       ----        -----      -----   ---------\n"
        " 112    001c.73c0.c616    DYNAMIC     Et5        1       0:00:41 ago\n"
        " 112    001c.73c0.c617    DYNAMIC     Vx1        1       0:00:41 ago\n"
        "1199    001c.73c6.b4da    STATIC      Et7\n"
        "1199    021c.7317.766b    DYNAMIC     Et52/4     2       3:27:53 ago\n"
        "Total Mac Addresses for this criterion: 4\n"
    )
    assert address_page(EOS, page).learned == {(112, 0x001C73C0C616): 5, (1199, 0x021C7317766B): 64}


@pytest.mark.parametrize(
    ("shape", "options", "says"),
    [
        ("family: mesh, dims: [3, 2]", "--assignment fixed", "its ports are access ports and trunks"),
        ("family: mesh, dims: [3, 2]", "--assignment renamed", "use --assignment pinned"),
        (
            "family: mesh, dims: [3, 2]",
            "--assignment pinned",
            "use --routing tree, whose links are all on the tree, or",
        ),
        ("family: mesh, dims: [3, 2]", "--assignment pinned --routing tree", ""),
        ("family: tree, dims: [2, 2]", "--assignment pinned", ""),
    ],
)
def test_what_it_cannot_carry_is_refused_with_the_reason_and_the_way_out(
    shape, options, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(f"name: t\nmodel: {MODEL}\nshape: {{{shape}, hosts: 1}}\n")
    status = main(["plan", "f.yml", "-o", "b", *options.split()])
    assert says in " ".join("".join(capsys.readouterr()).split())
    assert (status, (tmp_path / "b").exists()) == ((1, False) if says else (0, True))


@pytest.mark.parametrize(
    ("words", "says"),
    [("speed: 100", "no line for no_negotiation"), ("flow_control: true", "no line for flow_on")],
)
def test_what_no_line_is_known_for_is_refused(words, says):
    of_link, of_fabric = (words, "") if words.startswith("speed") else ("state: up", f"{words}\n")
    links = f"[{{ends: ['s0:Et1', 's1:Et1'], {of_link}}}]"
    text = (
        f"name: t\nmodel: {MODEL}\n{of_fabric}switches: {{s0: {{}}, s1: {{}}}}\nlinks: {links}\n"
        "hosts: {h0: {switch: s0, port: Et5}, h1: {switch: s1, port: Et5}}\n"
    )
    with pytest.raises(PlanError, match=says):
        plan(parse_fabric(text, "f.yml"), TEMPLATES, **TREE)


def test_a_link_of_several_cables_is_refused():
    text = f"name: t\nmodel: {MODEL}\nshape: {{family: ring, dims: [3], parallel: 2, hosts: 1, lag: true}}\n"
    with pytest.raises(InputError):
        parse_fabric(text, "f.yml")


def test_several_networks_share_the_trunks_and_a_port_of_several_is_a_trunk_with_a_native_vlan():
    text = (
        f"name: t\nmodel: {MODEL}\nshape: {{family: tree, dims: [2, 1], hosts: 1}}\n"
        "networks: {a: [h0, h1], b: [h2]}\n"
    )
    fabric = parse_fabric(text, "f.yml")
    build, proof, texts = plan(fabric, TEMPLATES, **TREE)
    assert proof.proven
    assert "switchport access vlan 101" in "".join(texts.values())
    assert membership(build.state["s0"], 1) == {100: TAGGED}
    assert membership(build.state["s0"], 3) == {100: UNTAGGED}


def test_grammar_writes_addresses_in_lower_case_as_a_configuration_prints_them():
    line = Grammar.of(EOS).entry_line(7, 0x02ABCDEF0001, [50])
    assert line == "mac address-table static 02ab.cdef.0001 vlan 7 interface Ethernet49/2"
