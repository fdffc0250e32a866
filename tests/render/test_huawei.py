"""The command line of Huawei's campus switches: what its lines mean, its configuration, and what is refused."""

import pytest

from fabrics import ROOT, make_fabric
from tagloom.cli import main
from tagloom.errors import InputError, PlanError
from tagloom.observe.address_pages import address_page
from tagloom.pipeline import plan
from tagloom.platforms import load
from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.platforms.interpreter import Interpreter, OutcomeKind
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.change import difference
from tagloom.records.switch_state import DISCARD_PVID, Membership, PortMode, SwitchEditor, SwitchState
from tagloom.render import parse_configuration, read_state, read_text, render_commands

MODEL = "huawei-s5731-s24t4x"
HUAWEI = load(MODEL)
TEMPLATES = ROOT / "templates"
TRANSCRIPT = (ROOT / "tests/render/transcripts/huawei.cfg").read_text()
NONE, TAGGED, UNTAGGED = Membership.NONE, Membership.TAGGED, Membership.UNTAGGED


def member(state, vlan, port):
    return Membership(state.membership[state.vlan_index[vlan], port - 1])


def fed(*lines):
    editor = SwitchEditor.blank(HUAWEI.ports)
    switch = Interpreter(HUAWEI, editor)
    for line in lines:
        outcome = switch.feed(line)
        assert outcome.accepted, (line, outcome)
    return switch


def planned(**options):
    found = plan(make_fabric("ring", 4, model=MODEL), TEMPLATES, **options)
    return {name: parse_configuration(HUAWEI, text).state for name, text in found[2].items()}, found[2]


@pytest.mark.kernel
@pytest.mark.parametrize("name", ["s0", "s1"])
def test_a_planned_configuration_and_the_lines_there_and_back_read_as_reviewed(name, golden):
    text = planned()[1][name]
    golden.check(f"huawei/{name}.cfg", text)
    born = SwitchState.factory(HUAWEI.ports)
    state = parse_configuration(HUAWEI, text).state
    there, back = (render_commands(HUAWEI, difference(a, b), a) for a, b in ((born, state), (state, born)))
    golden.check(f"huawei/{name}-commands.cfg", "\n".join(["# there", *there, "# and back", *back, ""]))


def test_a_configuration_in_the_form_of_public_ones_is_read_line_by_line():
    state = parse_configuration(HUAWEI, TRANSCRIPT).state
    assert (state.vlans.tolist(), state.vlan_names) == ([1, 10, 150, 151], ("", "", "plant", ""))
    modes = [PortMode.GENERAL, PortMode.TRUNK, *[PortMode.ACCESS] * 3]
    assert [PortMode(mode) for mode in state.mode[:5]] == modes
    assert [member(state, vlan, 1) for vlan in (1, 10, 150, 151)] == [NONE, UNTAGGED, TAGGED, TAGGED]
    assert [member(state, vlan, 2) for vlan in (1, 10, 150, 151)] == [NONE, TAGGED, TAGGED, NONE]
    assert state.pvid[:4].tolist() == [10, 1, 10, 1]
    assert (state.enabled[3], state.negotiation[4], state.speed_mbps[4]) == (False, False, 100)
    assert (state.spanning_tree, state.port_spanning_tree[1]) == (True, False)
    assert state.entry_mac.tolist() == [0x00E0FC123456]
    # ports of others: only what bears on the fabric's ports is named
    assert read_text(HUAWEI, TRANSCRIPT, "s0", [20, 21]).findings == ()
    unknown = read_text(HUAWEI, TRANSCRIPT, "s0", [20, 21]).unknown_lines
    assert [line.text for line in unknown] == ["vcmp role client"], "another switch may change its VLANs"
    assert read_text(HUAWEI, TRANSCRIPT.replace("role client", "role silent"), "s0", [20, 21]).unknown_lines == ()


def test_spanning_tree_runs_unless_a_configuration_says_otherwise():
    assert not parse_configuration(HUAWEI, TRANSCRIPT.replace("vcmp role client", "stp disable")).state.spanning_tree


@pytest.mark.kernel
def test_ports_of_links_drop_untagged_frames_by_a_pvid_that_no_vlan_has_and_are_not_in_vlan_1():
    states, texts = planned()
    assert set(states["s0"].pvid[:2].tolist()) == {DISCARD_PVID}
    assert [member(states["s0"], 1, port) for port in (1, 2, 3)] == [NONE] * 3
    assert texts["s0"].count("port hybrid pvid vlan 4094") == 2
    assert fed().feed("vlan batch 4094").kind is OutcomeKind.REJECTED  # so that it never is one
    text = "interface GigabitEthernet0/0/1\n port link-type hybrid\n port hybrid pvid vlan 4094\n#\n"
    reading = read_text(HUAWEI, text, "s0", [1])
    assert "into VLAN 1" in str((*reading.findings, *reading.unknown_lines))
    text = text.replace("#", " undo port hybrid vlan 1\n#")
    reading = read_text(HUAWEI, text, "s0", [1])
    assert "into VLAN 1" not in str((*reading.findings, *reading.unknown_lines))


def test_vlans_are_listed_by_ten_ranges_a_line():
    grammar = Grammar.of(HUAWEI)
    assert grammar.line("vlan_create", vlans=[2, 3, 4, 9]) == "vlan batch 2 to 4 9"
    assert grammar.line("join_tagged", vlans=[2, 3, 4, 9]) == "port hybrid tagged vlan 2 to 4 9"
    state = SwitchEditor.blank(HUAWEI.ports)
    for vlan in range(3, 63, 2):
        state.create_vlan(vlan)
    lines = render_commands(HUAWEI, difference(SwitchState.factory(HUAWEI.ports), state.freeze()), None)
    assert [len(line.split()) - 2 for line in lines if line.startswith("vlan batch")] == [10, 10, 10]
    switch = fed("vlan batch 2 to 4 9", "vlan 11")
    assert switch.context == Context(ContextKind.INTERFACE_VLAN, vlan=11)
    assert sorted(switch.editor.vlans) == [1, 2, 3, 4, 9, 11]


@pytest.mark.parametrize(
    "line", ["port trunk allow-pass vlan all", "port trunk allow-pass vlan 2 to 4094", "port trunk allow-pass vlan 300"]
)
def test_a_trunk_that_carries_vlans_that_are_not_there_is_named_whatever_ports_the_fabric_has(line):
    text = TRANSCRIPT.replace("port trunk allow-pass vlan 10 150", line)
    assert line in str(read_state(HUAWEI, text, "s0", [20])[1]), "nothing is sent to such a switch"
    reading = read_text(HUAWEI, text, "s0", [20])
    named = line in str((*reading.findings, *reading.unknown_lines))
    assert named is line.endswith("all"), "a list of VLANs that are not there carries nothing that runs"


def test_a_port_changes_what_it_is_in_vlan_1_alone():
    there = ["vlan batch 9", "interface GE0/0/1", "port link-type hybrid", "port hybrid tagged vlan 9"]
    switch = fed(*there)
    assert "renew the default" in switch.feed("port link-type access").text
    for line in ("undo port hybrid vlan 9", "port hybrid pvid vlan 9"):
        assert switch.feed(line).accepted
    assert switch.feed("port link-type access").kind is OutcomeKind.REJECTED
    for line in ("undo port hybrid pvid vlan", "port link-type access", "port default vlan 9"):
        assert switch.feed(line).accepted
    assert switch.feed("port link-type hybrid").kind is OutcomeKind.REJECTED


def test_an_access_port_of_another_vlan_is_made_the_fabrics_by_hand_alone():
    access = fed("vlan batch 9", "interface GE0/0/1", "port link-type access", "port default vlan 9").editor.freeze()
    hybrid = fed("vlan batch 9", "interface GE0/0/1", "port link-type hybrid").editor.freeze()
    for before, after in ((access, hybrid), (hybrid, access)):
        with pytest.raises(PlanError, match="in VLAN 1 alone"):
            render_commands(HUAWEI, difference(before, after), before)
    trunk = fed("interface GE0/0/1", "port link-type trunk").editor.freeze()
    with pytest.raises(PlanError, match="by way of access mode"):
        render_commands(
            HUAWEI, difference(trunk, fed("interface GE0/0/1", "port link-type hybrid").editor.freeze()), trunk
        )


def test_a_static_entry_may_stand_at_its_port():
    here = fed("vlan batch 9", "interface GE0/0/3", "port link-type access", "port default vlan 9")
    assert here.feed("mac-address static 00e0-fc12-3456 vlan 9").accepted
    assert here.editor.entries == {(9, 0x00E0FC123456): (3,)}
    for line in ("quit", "undo mac-address static 00e0-fc12-3456 GigabitEthernet 0/0/3 vlan 9"):
        assert here.feed(line).accepted
    assert here.editor.entries == {}


@pytest.mark.parametrize(
    "line",
    [
        "mac-address blackhole 00e0-fc12-3456 vlan 10",
        "mac-address learning disable action discard",
        "mac-limit maximum 6",
        "port-security enable",
        "port-isolate enable group 1",
        "port vlan-stacking vlan 100 stack-vlan 10",
        "port vlan-mapping vlan 100 map-vlan 10",
        "port discard tagged-packet",
        "eth-trunk 1",
        "traffic-policy x inbound",
        "unicast-suppression block outbound",
        "loopback-detect enable",
    ],
)
def test_a_line_that_could_change_what_a_fabric_port_does_is_named(line):
    text = TRANSCRIPT.replace(" port hybrid pvid vlan 10\n", f" port hybrid pvid vlan 10\n {line}\n", 1)
    reading = read_text(HUAWEI, text, "s0", [1])
    assert line in str((*reading.findings, *reading.unknown_lines))


def test_forced_speed_ends_negotiation_at_full_duplex_and_half_duplex_is_a_finding():
    switch = fed("interface GE0/0/1", "undo negotiation auto", "speed 100")
    assert (switch.editor.negotiation[0], switch.editor.speed_mbps[0]) == (False, 100)
    forced = "interface GE0/0/1\nundo negotiation auto\nspeed 100\n{}quit\n"
    assert read_text(HUAWEI, forced.format(""), "s0", [1]).findings == ()
    assert read_text(HUAWEI, forced.format("duplex half\n"), "s0", [1]).findings != ()


def test_a_link_of_several_cables_is_refused():
    text = f"name: t\nmodel: {MODEL}\nshape: {{family: ring, dims: [3], parallel: 2, hosts: 1, lag: true}}\n"
    with pytest.raises(InputError):
        parse_fabric(text, "f.yml")


def test_the_words_of_a_session_that_was_pasted_are_no_lines():
    session = f"<edge>display current-configuration\n{TRANSCRIPT}<edge>quit\n"
    assert parse_configuration(HUAWEI, session).state == parse_configuration(HUAWEI, TRANSCRIPT).state
    assert [line.text for line in read_text(HUAWEI, session, "s0", [20]).unknown_lines] == ["vcmp role client"]


def test_the_page_of_addresses_is_read_for_what_was_learned_alone():
    page = (
        "MAC Address    VLAN/VSI/BD                       Learned-From        Type\n"
        "b8d6-f6ff-7390 10/-/-                            XGE0/0/1            dynamic\n"
        " b8d6-f6ff-739b 10/-/-                            GE0/0/1             dynamic\n"
        "b8d6-f6ff-739c 10/-/-                            GE0/0/1             static\n"
        "b8d6-f6ff-739d 10/-/-                            GE9/9/9             dynamic\n"
    )
    assert address_page(HUAWEI, page).learned == {(10, 0xB8D6F6FF7390): 25, (10, 0xB8D6F6FF739B): 1}
    assert address_page(HUAWEI, page.replace("/-/-", "/-  ").replace("/BD", "   ")).learned != {}
    assert address_page(HUAWEI, "no table") is None


@pytest.mark.kernel
@pytest.mark.parametrize(
    ("shape", "assignment", "status", "says"),
    [
        ("mesh, dims: [3, 2]", "pinned", 1, "no line that keeps floods off one port"),
        ("dragonfly, dims: [3, 2]", "renamed", 1, "drops frames of such senders (use --assignment fixed"),
        ("dragonfly, dims: [3, 2]", "fixed", 0, ""),
        ("mesh, dims: [3, 2]", "pinned --routing tree", 0, ""),
    ],
)
def test_what_it_cannot_carry_is_refused_with_the_reason_and_the_way_out(
    shape, assignment, status, says, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(f"name: t\nmodel: {MODEL}\nshape: {{family: {shape}, hosts: 1}}\n")
    assert main(["plan", "f.yml", "-o", "b", "--assignment", *assignment.split()]) == status
    assert says in "".join(capsys.readouterr())
    assert (tmp_path / "b").exists() is (status == 0)


def test_site_lines_are_refused_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(f"name: t\nmodel: {MODEL}\nshape: {{family: ring, dims: [3]}}\n")
    (tmp_path / "templates/site").mkdir(parents=True)
    (tmp_path / "templates/site/all.j2").write_text("ntp-service unicast-server 192.0.2.1\n")
    assert main(["plan", "f.yml", "-o", "b"]) == 2
    assert "undo" in capsys.readouterr().err
