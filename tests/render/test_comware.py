"""The command line of Comware: what its lines mean, how it lays its configuration out, and what is refused."""

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
from tagloom.render import parse_configuration, read_text, render_commands, render_configuration
from tagloom.render.parse import read_state

MODEL = "hpe-5130-24g-4sfp"
COMWARE = load(MODEL)
TEMPLATES = ROOT / "templates"
TRANSCRIPT = (ROOT / "tests/render/transcripts/comware.cfg").read_text()
NONE, TAGGED, UNTAGGED = Membership.NONE, Membership.TAGGED, Membership.UNTAGGED
CHECK = "undo mac-address static source-check enable"


def member(state, vlan, port):
    return Membership(state.membership[state.vlan_index[vlan], port - 1])


def fed(*lines):
    editor = SwitchEditor.blank(COMWARE.ports)
    switch = Interpreter(COMWARE, editor)
    for line in lines:
        outcome = switch.feed(line)
        assert outcome.accepted, (line, outcome)
    return switch


def planned(**options):
    found = plan(make_fabric("ring", 4, model=MODEL), TEMPLATES, **options)
    return {name: parse_configuration(COMWARE, text).state for name, text in found[2].items()}, found[2]


@pytest.mark.parametrize("name", ["s0", "s1"])
def test_a_planned_configuration_and_the_lines_there_and_back_read_as_reviewed(name, golden):
    text = planned()[1][name]
    golden.check(f"comware/{name}.cfg", text)
    born = SwitchState.factory(COMWARE.ports)
    state = parse_configuration(COMWARE, text).state
    there, back = (render_commands(COMWARE, difference(a, b), a) for a, b in ((born, state), (state, born)))
    golden.check(f"comware/{name}-commands.cfg", "\n".join(["# there", *there, "# and back", *back, ""]))


def test_a_configuration_in_the_form_of_public_ones_is_read_line_by_line():
    parsed = parse_configuration(COMWARE, TRANSCRIPT)
    state = parsed.state
    assert (state.vlans.tolist(), state.vlan_names) == ([1, 10, 201, 202], ("", "office", "", ""))
    assert [PortMode(mode) for mode in state.mode[:5]] == [
        *[PortMode.GENERAL] * 2,
        PortMode.ACCESS,
        PortMode.TRUNK,
        PortMode.ACCESS,
    ]
    assert [member(state, vlan, 1) for vlan in (1, 10, 201, 202)] == [NONE, UNTAGGED, UNTAGGED, UNTAGGED]
    assert [member(state, vlan, 2) for vlan in (1, 10, 201, 202)] == [NONE, UNTAGGED, TAGGED, NONE]
    assert [member(state, vlan, 4) for vlan in (1, 10, 201, 202)] == [NONE, UNTAGGED, TAGGED, NONE]
    assert state.pvid[:5].tolist() == [10, 10, 10, 10, 1]
    assert state.entry_mac.tolist() == [0x000FE235DC71]
    assert state.spanning_tree
    # ports of others: only what bears on the fabric's ports is named
    assert read_text(COMWARE, TRANSCRIPT, "s0", [20, 21]).findings == ()
    assert read_text(COMWARE, TRANSCRIPT, "s0", [20, 21]).unknown_lines == ()


def test_a_configuration_that_says_nothing_of_spanning_tree_has_none():
    assert not parse_configuration(COMWARE, TRANSCRIPT.replace(" stp global enable\n", "")).state.spanning_tree
    assert not parse_configuration(COMWARE, "undo stp global enable\n").state.spanning_tree
    assert parse_configuration(COMWARE, "stp global enable\n").state.spanning_tree


def test_a_hybrid_port_of_the_fabric_that_looks_at_senders_is_a_finding():
    (where,) = read_text(COMWARE, TRANSCRIPT, "s0", [1]).findings
    assert "port link-type hybrid" in str(where)
    assert CHECK in str(where)
    assert read_state(COMWARE, TRANSCRIPT, "s0", [1])[1]
    said = TRANSCRIPT.replace(" port hybrid pvid vlan 10\n", f" port hybrid pvid vlan 10\n {CHECK}\n")
    assert read_text(COMWARE, said, "s0", [1, 2]).unknown_lines != ()  # of port 2, which suppresses broadcasts
    assert read_text(COMWARE, said, "s0", [1]).findings == ()
    everywhere = TRANSCRIPT.replace(" scheduler logfile", f" {CHECK}\n scheduler logfile")
    assert read_text(COMWARE, everywhere, "s0", [1]).findings == ()
    again = everywhere.replace("return", "mac-address static source-check enable\nreturn")
    assert len(read_text(COMWARE, again, "s0", [1]).findings) == 1
    free = load(MODEL, (("source_check", "none"),))
    assert read_text(free, TRANSCRIPT, "s0", [1]).findings == ()


def test_every_hybrid_port_of_a_plan_is_told_not_to_look_at_senders_before_it_is_in_any_vlan():
    states, texts = planned()
    lines = texts["s0"].splitlines()
    assert lines.count("port link-type hybrid") == lines.count(CHECK) == 3
    assert all(lines[at + 1] == CHECK for at, line in enumerate(lines) if line == "port link-type hybrid")
    free = load(MODEL, (("source_check", "none"),))
    text = render_configuration(free, states["s0"], TEMPLATES)
    assert "source-check" not in text


def test_ports_of_links_drop_untagged_frames_by_a_pvid_that_no_vlan_has():
    states, texts = planned()
    assert set(states["s0"].pvid[:2].tolist()) == {DISCARD_PVID}
    assert texts["s0"].count("port hybrid pvid vlan 4094") == 2
    switch = fed()
    assert switch.feed("vlan 4094").kind is OutcomeKind.REJECTED  # so that it never is one


def test_vlans_are_listed_by_ten_ranges_a_line_and_made_by_one():
    grammar = Grammar.of(COMWARE)
    odd = list(range(3, 63, 2))
    state = SwitchEditor.blank(COMWARE.ports)
    state.mode[0] = PortMode.GENERAL
    for vlan in odd:
        state.create_vlan(vlan)
        state.set_member(vlan, 1, TAGGED)
    text = render_configuration(COMWARE, state.freeze(), TEMPLATES)
    joins = [line for line in text.splitlines() if line.startswith("port hybrid vlan")]
    assert [len(line.split()) - 4 for line in joins] == [10, 10, 10]
    assert parse_configuration(COMWARE, text).state == state.freeze()
    assert grammar.line("join_tagged", vlans=[2, 3, 4, 9]) == "port hybrid vlan 2 to 4 9 tagged"
    switch = fed("vlan 2 to 4", "vlan 9")
    assert switch.context == Context(ContextKind.INTERFACE_VLAN, vlan=9)
    assert sorted(switch.editor.vlans) == [1, 2, 3, 4, 9]


def test_a_trunk_that_carries_vlans_that_are_not_there_is_named_whatever_ports_the_fabric_has():
    text = TRANSCRIPT.replace("port trunk permit vlan 10 201", "port trunk permit vlan all")
    reading = read_text(COMWARE, text, "s0", [20])
    assert "port trunk permit vlan all" in str((*reading.findings, *reading.unknown_lines))
    for before, line in (
        ("port trunk permit vlan 10 201", "port trunk permit vlan 2 to 4094"),
        ("port trunk permit vlan 10 201", "port trunk permit vlan 300"),
        ("port hybrid vlan 201 tagged", "port hybrid vlan 2 to 4094 tagged"),
    ):
        text = TRANSCRIPT.replace(before, line)
        assert line in str(read_state(COMWARE, text, "s0", [20])[1]), "nothing is sent to such a switch"
        reading = read_text(COMWARE, text, "s0", [20])
        assert line not in str((*reading.findings, *reading.unknown_lines)), "what runs carries none of them"
    reading = read_text(COMWARE, TRANSCRIPT.replace("vlan 201 to 202\n#", "vlan 201 to 4094\n#"), "s0", [20])
    assert "vlan 201 to 4094" in str((*reading.findings, *reading.unknown_lines))


def test_a_trunk_takes_up_a_vlan_that_it_was_permitted_before_and_no_other():
    switch = fed("interface GE1/0/1", "port link-type trunk", "port trunk permit vlan 300 to 302", "quit")
    for line in ("interface GE1/0/1", "undo port trunk permit vlan 301", "quit", "vlan 300 to 303"):
        assert switch.feed(line).accepted
    assert [vlan for vlan, members in sorted(switch.editor.members.items()) if 1 in members] == [1, 300, 302]


def test_trunks_and_hybrid_ports_become_each_other_by_way_of_access_mode_alone():
    switch = fed("interface GigabitEthernet1/0/1", "port link-type trunk")
    assert switch.feed("port link-type hybrid").kind is OutcomeKind.REJECTED
    for line in ("port link-type access", "port link-type hybrid"):
        assert switch.feed(line).accepted
    before = fed("interface GE1/0/1", "port link-type trunk").editor.freeze()
    after = fed("interface GE1/0/1", "port link-type hybrid").editor.freeze()
    with pytest.raises(PlanError, match="by way of access mode"):
        render_commands(COMWARE, difference(before, after), before)


def test_a_static_entry_may_stand_at_its_port_and_one_that_ages_pins_nothing():
    here = fed("vlan 9", "quit", "interface GE1/0/3", "port access vlan 9", "quit")
    for line in ("interface GE1/0/3", "mac-address static 000f-00e2-0001 vlan 9"):
        assert here.feed(line).accepted
    assert here.editor.entries == {(9, 0x000F00E20001): (3,)}
    for line in ("quit", "undo mac-address static 000f-00e2-0001 interface GigabitEthernet1/0/3 vlan 9"):
        assert here.feed(line).accepted
    assert here.editor.entries == {}
    aging = "vlan 9\n#\nmac-address dynamic 000f-00e2-0001 interface GigabitEthernet1/0/3 vlan 9\n"
    assert parse_configuration(COMWARE, aging).unpinned == {(9, 0x000F00E20001)}


@pytest.mark.parametrize(
    "line",
    [
        "mac-address blackhole 000f-00e2-0001 vlan 10",
        "mac-address multiport 000f-00e2-0001 interface GigabitEthernet1/0/1 vlan 10",
        "undo mac-address mac-learning enable",
        "port-isolate group 1",
        "port link-aggregation group 1",
        "port hybrid protocol-vlan vlan 10 1",
        "mac-vlan enable",
        "qinq enable",
        "bpdu-drop any",
        "vlan mapping 10 translated-vlan 20",
    ],
)
def test_a_line_that_could_change_what_a_fabric_port_does_is_named(line):
    text = TRANSCRIPT.replace(" port hybrid pvid vlan 10\n", f" port hybrid pvid vlan 10\n {CHECK}\n {line}\n", 1)
    reading = read_text(COMWARE, text, "s0", [1])
    assert line in str((*reading.findings, *reading.unknown_lines))


def test_forced_duplex_and_speed_end_negotiation_and_half_duplex_is_a_finding():
    switch = fed("interface GE1/0/1", "duplex full", "speed 100")
    assert (switch.editor.negotiation[0], switch.editor.speed_mbps[0]) == (False, 100)
    assert switch.duplex == {1: "full"}
    assert read_text(COMWARE, "interface GE1/0/1\nduplex half\nspeed 100\nquit\n", "s0", [1]).findings != ()
    assert read_text(COMWARE, "interface GE1/0/1\nduplex full\nspeed 100\nquit\n", "s0", [1]).findings == ()


def test_a_link_of_several_cables_is_refused():
    text = f"name: t\nmodel: {MODEL}\nshape: {{family: ring, dims: [3], parallel: 2, hosts: 1}}\n"
    text = text.replace("hosts: 1}", "hosts: 1, lag: true}")
    with pytest.raises(InputError):
        parse_fabric(text, "f.yml")


def test_the_words_of_a_session_that_was_pasted_are_no_lines():
    session = f"<edge>display current-configuration\n{TRANSCRIPT}<edge>quit\n"
    assert parse_configuration(COMWARE, session).state == parse_configuration(COMWARE, TRANSCRIPT).state
    assert read_text(COMWARE, session, "s0", [20]).unknown_lines == ()


def test_the_page_of_addresses_is_read_for_what_was_learned_alone():
    page = (
        "MAC Address      VLAN ID    State            Port/Nickname            Aging\n"
        "000f-e235-dc71   1          Learned          XGE1/0/25                Y\n"
        "000f-e235-abcd   10         Static           GE1/0/3                  N\n"
        "000f-e235-abce   10         Learned          GE9/9/9                  Y\n"
    )
    assert address_page(COMWARE, page).learned == {(1, 0x000FE235DC71): 25}
    assert address_page(COMWARE, "no table") is None


def test_site_lines_are_refused_with_the_reason(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yml").write_text(f"name: t\nmodel: {MODEL}\nshape: {{family: ring, dims: [3]}}\n")
    (tmp_path / "templates/site").mkdir(parents=True)
    (tmp_path / "templates/site/all.j2").write_text("ntp-service unicast-server 192.0.2.1\n")
    assert main(["plan", "f.yml", "-o", "b"]) == 2
    assert "undo" in capsys.readouterr().err
