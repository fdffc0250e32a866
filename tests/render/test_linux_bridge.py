"""A Linux bridge: the exact commands and their order, what a kernel refuses, and its own JSON read back."""

from __future__ import annotations

import json

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.platforms import load
from tagloom.platforms.family import family
from tagloom.platforms.iproute2 import Shell, commands
from tagloom.records.change import difference
from tagloom.records.switch_state import DISCARD_PVID, FlowControl, Frames, Membership, PortMode, SwitchEditor
from tagloom.render import (
    parse_configuration,
    read_bridge,
    read_state,
    read_text,
    render_commands,
    render_configuration,
)

LINUX, TEMPLATES = load("linux-bridge"), ROOT / "templates"
TRANSCRIPTS = ROOT / "tests" / "render" / "transcripts"
KERNEL = {
    name: (TRANSCRIPTS / f"linux-bridge-{name}.json").read_text("utf-8") for name in ("links", "vlans", "entries")
}
CREATE = (
    "ip link add name tagloom type bridge vlan_filtering 1 vlan_default_pvid 0 mcast_snooping 0 stp_state 0 "
    "ageing_time 30000"
)


def editor_of(members, pvids=(), entries=()):
    """Make a bridge of ports {port: {VLAN: how}}, with PVIDs {port: VLAN} and entries {(VLAN, MAC): port}."""
    editor = SwitchEditor.blank(LINUX.ports)
    editor.spanning_tree = False
    for port, vlans in members.items():
        editor.mode[port - 1], editor.pvid[port - 1] = PortMode.GENERAL, dict(pvids).get(port, DISCARD_PVID)
        editor.set_member(1, port, Membership.NONE)
        for vlan, how in vlans.items():
            editor.create_vlan(vlan)
            editor.name_vlan(vlan, "" if vlan == 1 else "tagloom")
            editor.set_member(vlan, port, how)
    for key, port in dict(entries).items():
        editor.set_entry(*key, (port,))  # type: ignore[call-arg]
    return editor


T, U = Membership.TAGGED, Membership.UNTAGGED


def lines_between(before, after):
    states = before.freeze(), after.freeze()
    return render_commands(LINUX, difference(*states), states[0])


def test_the_whole_order_of_a_text():
    state = editor_of({1: {100: T, 101: T}, 2: {100: U, 101: U}}, {2: 101}, {(100, 0x020000000001): 1})
    state.enabled[0] = False
    state.eee[1] = True
    assert render_configuration(LINUX, state.freeze(), TEMPLATES).splitlines() == [
        "#!/bin/sh",
        "# Linux bridge",
        CREATE,
        "ip link set dev swp1 master tagloom",
        "ip link set dev swp2 master tagloom",
        "bridge vlan add dev swp1 vid 100-101",
        "bridge vlan add dev swp2 vid 100-101 untagged",
        "bridge fdb replace 02:00:00:00:00:01 dev swp1 vlan 100 master static sticky",
        "bridge vlan add dev swp2 vid 101 pvid untagged",
        "ip link set dev tagloom up",
        "ip link set dev swp1 down",
        "ip link set dev swp2 up",
        "ethtool --set-eee swp2 eee on",
    ]


def test_a_host_is_switched_over_after_its_new_vlan_and_entry_and_before_the_old_ones_go():
    before = editor_of({1: {100: U}, 2: {100: T}}, {1: 100}, {(100, 2): 2})
    after = editor_of({1: {200: U}, 2: {200: T}}, {1: 200}, {(200, 2): 2})
    assert lines_between(before, after) == (
        "bridge vlan add dev swp1 vid 200 untagged",
        "bridge vlan add dev swp2 vid 200",
        "bridge fdb replace 00:00:00:00:00:02 dev swp2 vlan 200 master static sticky",
        "bridge vlan add dev swp1 vid 200 pvid untagged",
        "bridge fdb del 00:00:00:00:00:02 dev swp2 vlan 100 master",
        "bridge vlan del dev swp1 vid 100",
        "bridge vlan del dev swp2 vid 100",
    )


@pytest.mark.parametrize(
    ("before", "after", "lines"),
    [
        # the PVID's own membership is said with its mark, or the line would take it away
        ((({1: {7: U}}), {1: 7}), (({1: {7: T}}), {1: 7}), ["bridge vlan add dev swp1 vid 7 pvid"]),
        ((({1: {7: U}}), {1: 7}), (({1: {7: U}}), {}), ["bridge vlan add dev swp1 vid 7 untagged"]),
        (
            (({1: {7: U, 8: U}}), {1: 7}),
            (({1: {7: T, 8: U}}), {1: 8}),
            ["bridge vlan add dev swp1 vid 8 pvid untagged", "bridge vlan add dev swp1 vid 7"],
        ),
        ((({1: {7: U}}), {1: 7}), (({1: {}}), {}), ["bridge vlan del dev swp1 vid 7"]),
        ((({1: {1: U}}), {1: 1}), (({1: {}}), {}), ["bridge vlan del dev swp1 vid 1"]),
        ((({1: {7: U}}), {}), (({1: {7: U}, 2: {7: T}}), {}), [
            "ip link set dev swp2 master tagloom", "bridge vlan add dev swp2 vid 7", "ip link set dev swp2 up",
        ]),
        ((({1: {7: U}, 2: {7: T}}), {}), (({1: {7: U}}), {}), ["ip link set dev swp2 nomaster"]),
    ],
)  # fmt: skip
def test_a_line_says_all_of_a_membership(before, after, lines):
    assert list(lines_between(editor_of(*before), editor_of(*after))) == lines


def test_the_last_port_takes_the_bridge_with_it_and_an_empty_machine_has_an_empty_text():
    assert lines_between(editor_of({1: {7: U}}), SwitchEditor.blank(LINUX.ports)) == ("ip link del dev tagloom",)
    text = render_configuration(LINUX, SwitchEditor.blank(LINUX.ports).freeze(), TEMPLATES)
    assert text.splitlines() == ["#!/bin/sh", "# Linux bridge"]


def fed(*lines):
    shell = Shell(LINUX, SwitchEditor.blank(LINUX.ports))
    for line in lines:
        assert shell.feed(line).accepted, (line, shell.feed(line))
    return shell


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        (CREATE, "File exists"),
        ("bridge vlan add dev swp2 vid 7", "not a port of tagloom"),
        ("bridge vlan add dev swp1 vid 4095", "Vlan id is invalid"),
        ("bridge vlan add dev swp1 vid 9-7", "Invalid VLAN range"),
        ("bridge fdb replace 02:00:00:00:00:01 dev swp1 vlan 9 master static sticky", "Invalid argument"),
        ("bridge fdb replace 00:00:00:00:00:00 dev swp1 vlan 7 master static sticky", "Invalid argument"),
        ("bridge fdb replace ff:ff:ff:ff:ff:ff dev swp1 vlan 7 master static sticky", "flooded all the same"),
        ("bridge fdb del 02:00:00:00:00:01 dev swp1 vlan 7 master", "No such file"),
        ("ip link set dev swp99 master tagloom", "Cannot find device"),
        ("ip link set dev tagloom type bridge ageing_time 30001", "whole seconds"),
        ("ethtool -s swp1 autoneg off speed 100", "bad command line"),
    ],
)
def test_what_a_kernel_refuses_is_refused_and_changes_nothing(line, answer):
    shell = fed(CREATE, "ip link set dev swp1 master tagloom", "bridge vlan add dev swp1 vid 7 pvid untagged")
    before = shell.editor.freeze()
    outcome = shell.feed(line)
    assert not outcome.accepted
    assert answer in outcome.text
    assert shell.editor.freeze() == before


@pytest.mark.parametrize(
    "line",
    [
        "ip link add name tagloom type bridge",  # another bridge than ours: VLAN 1 on every port
        "bridge fdb replace 02:00:00:00:00:01 dev swp1 vlan 7 master static",  # moves
        "bridge fdb replace 02:00:00:00:00:01 dev swp1 master static sticky",  # in every VLAN
        "bridge fdb add 02:00:00:00:00:01 dev swp1 vlan 7 master static sticky",
        "bridge vlan add dev swp1 vid 100-103 pvid",
        "bridge vlan add dev swp1 vid 103None",  # iproute2 takes it as 103
        "bridge link set dev swp1 learning off",
        "ip link set dev swp1 master tagloom up",
        "tc qdisc add dev swp1 ingress",
    ],
)
def test_a_line_of_ours_that_is_not_known_is_a_finding(line):
    text = f"{CREATE}\nip link set dev swp1 master tagloom\nbridge vlan add dev swp1 vid 7 pvid untagged\n{line}"
    _, findings = read_state(LINUX, text, "s0", [1])
    assert len(findings) == 1
    assert line in findings[0].actual


def test_lines_of_others_and_other_spellings_are_read():
    text = f"""#!/bin/sh
sysctl -w net.ipv4.ip_forward=0
{CREATE}
ip   link set  swp1	master tagloom
bridge vlan add vid 7 dev swp1
bridge vlan add dev swp1 vid 8 untagged pvid
ip link set tagloom up
ip link set swp1 up
hostname leaf"""
    parsed = parse_configuration(LINUX, text)
    assert parsed.unknown == ()
    assert parsed.state == editor_of({1: {7: T, 8: U}}, {1: 8}).freeze()


def test_an_entry_stays_behind_when_its_port_leaves_the_vlan():
    """As in the kernel, where no line can take it away any more."""
    shell = fed(
        CREATE, "ip link set dev swp1 master tagloom", "bridge vlan add dev swp1 vid 7",
        "bridge fdb replace 02:00:00:00:00:01 dev swp1 vlan 7 master static sticky", "bridge vlan del dev swp1 vid 7",
    )  # fmt: skip
    assert shell.editor.entries == {(7, 0x020000000001): (1,)}
    assert not shell.feed("bridge fdb del 02:00:00:00:00:01 dev swp1 vlan 7 master").accepted


def spoilt(**cells):
    editor = editor_of({1: {7: U}, 2: {7: U}}, {1: 7})
    for name, value in cells.items():
        getattr(editor, name)[0] = value
    return editor


def with_entry(mac, ports, vlan=7):
    editor = spoilt()
    editor.set_entry(vlan, mac, ports)
    return editor


def renamed_vlan():
    editor = spoilt()
    editor.name_vlan(7, "office")
    return editor


def memberless():
    editor = spoilt()
    editor.create_vlan(9)
    editor.name_vlan(9, "tagloom")
    return editor


@pytest.mark.parametrize(
    ("editor", "why"),
    [
        (spoilt(frames=Frames.TAGGED_ONLY), "tagged and untagged"),
        (spoilt(ingress_filter=False), "tagged and untagged"),
        (spoilt(mode=PortMode.TRUNK), "tagged and untagged"),
        (spoilt(mode=PortMode.ACCESS), "not tagloom's to set"),
        (spoilt(pvid=9), "one of the port's VLANs"),
        (spoilt(port_spanning_tree=False), "on all of its ports or on none"),
        (with_entry(0x020000000001, (1, 2)), "one host to one port"),
        (with_entry(0xFFFFFFFFFFFF, (1,)), "--static-arp"),
        (with_entry(0, (1,)), "one host to one port"),
        (with_entry(0x020000000001, (1,), vlan=1), "its port in its VLAN"),
        (renamed_vlan(), "are tagloom's"),
        (memberless(), "while a port is in it"),
    ],
)
def test_what_a_bridge_cannot_hold_is_refused(editor, why):
    with pytest.raises(PlanError, match=why):
        render_configuration(LINUX, editor.freeze(), TEMPLATES)


def test_changes_alone_are_not_enough():
    with pytest.raises(PlanError, match="all of a membership"):
        render_commands(LINUX, difference(spoilt().freeze(), spoilt(enabled=False).freeze()))


def test_flow_control_and_speed():
    after = spoilt(flow_control=FlowControl.ON, speed_mbps=100, negotiation=False)
    assert lines_between(spoilt(), after) == (
        "ethtool -s swp1 autoneg off speed 100 duplex full",
        "ethtool --pause swp1 autoneg off rx on tx on",
    )


def test_what_a_real_kernel_answers_is_the_state_it_was_given():
    """Recorded in Linux 6.1: s0 of the golden 2x2 mesh, and one static entry that is not sticky, which is none."""
    text = (ROOT / "tests" / "golden" / "mesh-2x2-renamed-linux-bridge" / "s0.cfg").read_text("utf-8")
    assert read_bridge(LINUX, **KERNEL) == parse_configuration(LINUX, text).state


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [
        ("vlan_filtering", 0, "vlan_filtering"),
        ("mcast_snooping", 1, "mcast_snooping"),
        ("vlan_default_pvid", 1, "pvid"),
        ("vlan_protocol", "802.1ad", "802.1Q"),
        ("mst_enabled", 1, "mst_enabled"),
        ("nf_call_iptables", 1, "nf_call_iptables"),
        ("nf_call_ip6tables", 1, "nf_call_ip6tables"),
        ("nf_call_arptables", 1, "nf_call_arptables"),
    ],
)
def test_a_bridge_of_other_rules_is_a_finding(key, value, why):
    links = json.loads(KERNEL["links"])
    next(link for link in links if link["ifname"] == "tagloom")["linkinfo"]["info_data"][key] = value
    with pytest.raises(InputError, match=why):
        read_bridge(LINUX, json.dumps(links), KERNEL["vlans"], KERNEL["entries"])


@pytest.mark.parametrize(
    "flag",
    [
        *("isolated", "locked", "hairpin", "vlan_tunnel", "proxy_arp", "proxy_arp_wifi", "neigh_suppress"),
        *("neigh_vlan_suppress", "backup_port", "backup_nhid"),
    ],
)
def test_a_flag_of_a_port_by_which_frames_go_otherwise_is_a_finding(flag):
    links = json.loads(KERNEL["links"])
    port = next(link for link in links if link.get("master") == "tagloom")
    port["linkinfo"]["info_slave_data"][flag] = True
    with pytest.raises(InputError, match=rf"{port['ifname']} {flag}: expected off"):
        read_bridge(LINUX, json.dumps(links), KERNEL["vlans"], KERNEL["entries"])


@pytest.mark.parametrize(
    ("key", "value", "why"),
    [("mtu", 1400, "mtu: expected 1500"), ("xdp", {"mode": 1}, "xdp: expected no"), ("qdisc", "netem", "actual netem")],
)
def test_what_a_card_does_to_frames_is_a_finding(key, value, why):
    links = json.loads(KERNEL["links"])
    next(link for link in links if link.get("master") == "tagloom")[key] = value
    with pytest.raises(InputError, match=why):
        read_bridge(LINUX, json.dumps(links), KERNEL["vlans"], KERNEL["entries"])


def test_a_port_that_a_program_holds_down_is_not_enabled():
    links = json.loads(KERNEL["links"])
    port = next(link for link in links if link.get("master") == "tagloom")
    port["protodown"] = True
    state = read_bridge(LINUX, json.dumps(links), KERNEL["vlans"], KERNEL["entries"])
    number = LINUX.port_number(port["ifname"])
    assert not state.port(number).enabled
    assert read_bridge(LINUX, **KERNEL).port(number).enabled


@pytest.mark.parametrize("text", ["", "Error: something", '{"a": 1}', "[1]"])
def test_an_answer_that_is_no_json_of_rows_is_a_finding(text):
    with pytest.raises(InputError, match="ip -j"):
        read_bridge(LINUX, text, "[]", "[]")


def said(changes=(), **ethtool):
    """Give the recorded pages as a connection reads them, pieces of text replaced, and ethtool's answers on swp1."""
    commands_of = {"links": "ip -j -d link show", "vlans": "bridge -j vlan show", "entries": "bridge -j fdb show"}
    pages = {command: KERNEL[name].strip() for name, command in commands_of.items()}
    for old, new in changes:
        assert any(old in page for page in pages.values())
        pages = {command: page.replace(old, new) for command, page in pages.items()}
    words = {"settings": "ethtool swp1", "pause": "ethtool --show-pause swp1", "eee": "ethtool --show-eee swp1"}
    pages |= {words[name]: text for name, text in ethtool.items()}
    return "".join(f"$ {command}\n{page}\n" for command, page in pages.items())


SETTINGS = """Settings for swp1:
	Supported link modes:   10baseT/Half 10baseT/Full
				100baseT/Half 100baseT/Full
	Supports auto-negotiation: Yes
	Advertised link modes:  100baseT/Full
	Speed: 100Mb/s
	Duplex: Full
	Auto-negotiation: off
	Link detected: yes"""
VIRTUAL = """Settings for swp1:
	Supported link modes:   Not reported
	Supports auto-negotiation: No
	Speed: 10000Mb/s
	Auto-negotiation: off
	Link detected: no"""
PAUSE = "Pause parameters for swp1:\nAutonegotiate:\t{}\nRX:\t\t{}\nTX:\t\t{}\nRX negotiated: on\nTX negotiated: on\n"
NONE = "netlink error: Operation not supported"


def test_pages_of_a_machine_are_its_state_and_what_ethtool_does_not_know_is_as_it_was_born():
    """The answers of a virtual cable are recorded (ethtool 6.1); those of a real port follow its manual page."""
    bridge = read_bridge(LINUX, **KERNEL)
    assert parse_configuration(LINUX, said()).state == bridge
    assert parse_configuration(LINUX, said(settings=VIRTUAL, pause=NONE, eee=NONE)).state == bridge
    text = said(
        settings=SETTINGS,
        pause=PAUSE.format("off", "on", "on"),
        eee="EEE settings for swp1:\n\tEEE status: enabled - active\n\tTx LPI: 17 (us)",
    )
    port = parse_configuration(LINUX, text).state.port(1)
    assert (port.negotiation, port.speed_mbps, port.flow_control, port.eee) == (False, 100, FlowControl.ON, True)
    assert parse_configuration(LINUX, text).state.port(2) == bridge.port(2)
    port = parse_configuration(
        LINUX, said(pause=PAUSE.format("on", "on", "on"), eee="\tEEE status: disabled")
    ).state.port(1)
    assert (port.flow_control, port.eee) == (FlowControl.AUTO, False)


@pytest.mark.parametrize(("duplex", "found"), [("Full", []), ("Half", ["s0:swp1"]), ("Unknown! (255)", [])])
def test_a_port_that_says_it_is_half_duplex_is_found(duplex, found):
    reading = read_text(LINUX, said(settings=SETTINGS.replace("Duplex: Full", f"Duplex: {duplex}")), "s0", [1])
    assert [finding.where for finding in reading.findings] == found
    assert reading.refused is None, "pages are no lines to paste"


def test_a_bridge_that_is_down_has_no_open_port_and_is_brought_up_again():
    wanted = read_bridge(LINUX, **KERNEL)
    links = json.loads(KERNEL["links"])
    next(link for link in links if link["ifname"] == "tagloom")["flags"] = ["BROADCAST", "MULTICAST"]
    running = read_bridge(LINUX, json.dumps(links), KERNEL["vlans"], KERNEL["entries"])
    assert not any(running.port(port).enabled for port in (1, 2, 3))
    lines = render_commands(LINUX, difference(running, wanted), running)
    assert lines == ("ip link set dev tagloom up", *(f"ip link set dev swp{port} up" for port in (1, 2, 3)))


@pytest.mark.parametrize(
    ("old", "new", "where"),
    [
        ('"vlan_filtering":1', '"vlan_filtering":0', "bridge tagloom vlan_filtering"),
        ('"swp1"', '"eth1"', "bridge tagloom eth1"),
        ('"master":"tagloom"', '"master":"other"', "bridge tagloom"),
    ],
)
def test_a_machine_that_cannot_be_understood_is_a_finding_and_no_traceback(old, new, where):
    _, findings = read_state(LINUX, said([(old, new)]), "s0", [1])
    assert [finding.where for finding in findings] == [f"s0: {where}"]


def test_a_page_that_is_missing_is_a_finding():
    _, findings = read_state(LINUX, "$ ip -j -d link show\n[]\n", "s0", [1])
    assert [finding.where for finding in findings] == ["s0: bridge -j vlan show", "s0: bridge -j fdb show"]


def test_a_machine_without_the_bridge_holds_nothing():
    assert read_bridge(LINUX, "[]", "[]", "[]") == SwitchEditor.blank(LINUX.ports).freeze()


FAMILIES = [("mesh", (3, 3), {}), ("torus", (4, 4), {"parallel": 2}), ("fat-tree", (2, 4, 2), {}), ("clos", (3, 2), {})]


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize(
    ("family", "dims", "options"), [*FAMILIES, ("dragonfly", (3, 2), {"hosts": 2}), ("ring", (5,), {})]
)
def test_every_plan_can_be_said_to_bridges(family, dims, options, assignment):
    fabric = make_fabric(family, *dims, model="linux-bridge", **options)
    _, proof, _ = pipeline.plan(fabric, TEMPLATES, assignment=assignment)  # which reads back what it wrote
    assert proof.proven


@pytest.mark.kernel
@pytest.mark.parametrize(("family", "dims", "options"), FAMILIES)
def test_every_wave_of_a_rollout_can_be_said_to_bridges(family, dims, options):
    fabric = make_fabric(family, *dims, model="linux-bridge", **options)
    build, _, _ = pipeline.plan(fabric, TEMPLATES)
    less, _, _ = pipeline.plan(fabric.with_links_down({0}), TEMPLATES, routing="tree", previous=build)
    held = dict(build.state)
    waves = pipeline.rollout_between(build, less).waves
    assert len(waves) == 3
    for wave in waves:
        for patch in wave.patches:
            shell = Shell(LINUX, SwitchEditor.of(held[patch.switch]))
            for line in render_commands(LINUX, patch.changes, held[patch.switch]):
                assert shell.feed(line).accepted, line
            held[patch.switch] = shell.editor.freeze()
        assert held == wave.state


def test_texts_alone_are_proven_and_a_spoilt_one_is_not():
    fabric = make_fabric("mesh", 2, 2, model="linux-bridge")
    _, _, texts = pipeline.plan(fabric, TEMPLATES)
    assert pipeline.prove(fabric, texts, None)[1].proven
    s0 = texts["s0"].replace("master static sticky", "master static", 1)
    _, proof = pipeline.prove(fabric, {**texts, "s0": s0}, None)
    assert not proof.proven
    assert "s0:" in str(proof.findings[0])
    assert proof.off_path_pairs > 0


def test_every_line_has_a_mark_and_every_step_a_place():
    lines = family("linux-bridge")["lines"]
    assert {line["mark"] for line in lines.values()} <= {"kernel", "manual"}
    placed = [step for phase in commands().order for step in phase]
    assert len(placed) == len(set(placed))
    split = {"spanning_tree"}  # on early, off late
    spellings = {"member_untagged", "pvid_untagged", "negotiation", "speed_alone"}  # of member, pvid and speed
    assert set(lines) - split - spellings <= set(placed)
