"""RouterOS: the exact lines and their order, what its console refuses, and exports as they are printed read back."""

from __future__ import annotations

import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import PlanError
from tagloom.platforms import load
from tagloom.platforms.routeros import Menus, parse_line, read_time, write_time
from tagloom.records.change import difference
from tagloom.records.switch_state import DISCARD_PVID, FlowControl, Frames, Membership, PortMode, SwitchEditor
from tagloom.render import parse_configuration, read_state, read_text, render_commands, render_configuration
from tagloom.route import route
from tagloom.weave import weave

CRS, TEMPLATES = load("mikrotik-crs326-24g-2s"), ROOT / "templates"
T, U = Membership.TAGGED, Membership.UNTAGGED
# In the shape of public exports of RouterOS 7.5 and 7.18, terse and not: properties by name, defaults left out.
TERSE = """\
# 2025-05-15 16:21:55 by RouterOS 7.18
# software id = 0000-0000
#
/interface bridge add comment="two words" frame-types=admit-only-vlan-tagged name=tagloom protocol-mode=none vlan-filtering=yes
/interface ethernet set [ find default-name=ether2 ] auto-negotiation=no rx-flow-control=on speed=100M-baseT-full tx-flow-control=on
/interface ethernet set [ find default-name=ether9 ] disabled=yes
/interface bridge port add bridge=tagloom frame-types=admit-only-vlan-tagged interface=ether1 learn=no
/interface bridge port add bridge=tagloom broadcast-flood=no frame-types=admit-only-vlan-tagged interface=ether2 learn=no unknown-multicast-flood=no unknown-unicast-flood=no
/interface bridge port add bridge=tagloom frame-types=admit-only-untagged-and-priority-tagged interface=ether3 pvid=100
/interface bridge host add bridge=tagloom interface=ether1 mac-address=02:00:00:00:00:0A vid=100
/interface bridge vlan add bridge=tagloom tagged=ether1,ether2 vlan-ids=100
/ip address add address=192.168.88.1/24 interface=ether24 network=192.168.88.0
/system identity set name=sw1
"""  # noqa: E501 - as printed


def editor_of(members, pvids=(), entries=()):
    """Make a bridge of ports {port: {VLAN: how}}, with PVIDs {port: VLAN} and entries {(VLAN, MAC): port}."""
    editor = SwitchEditor.blank(CRS.ports)
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


def lines_between(before, after):
    states = before.freeze(), after.freeze()
    return render_commands(CRS, difference(*states), states[0])


def test_the_whole_order_of_a_text():
    state = editor_of({1: {100: T}, 2: {100: T}, 3: {100: U}}, {3: 100}, {(100, 0x020000000001): 1})
    state.flooding[1], state.learning[:3] = False, [False] * 3
    state.enabled[1] = False
    state.frames[2] = Frames.UNTAGGED_ONLY
    port, cable = "/interface bridge port", "/interface ethernet set"
    create = "/interface bridge add name=tagloom protocol-mode=none ageing-time=5m vlan-filtering=yes"
    assert render_configuration(CRS, state.freeze(), TEMPLATES).splitlines() == [
        "# RouterOS CRS326-24G-2S+",
        f"{create} igmp-snooping=no frame-types=admit-only-vlan-tagged",
        f"{cable} [ find default-name=ether2 ] disabled=yes",
        *(
            f"{port} add bridge=tagloom interface=ether{n} frame-types=admit-only-vlan-tagged ingress-filtering=yes"
            for n in (1, 2, 3)
        ),
        *(
            f"{port} set [ find interface=ether{n} ] learn=no unknown-unicast-flood={flood} "
            f"unknown-multicast-flood={flood} broadcast-flood={flood}"
            for n, flood in ((1, "yes"), (2, "no"), (3, "yes"))
        ),
        "/interface bridge vlan add bridge=tagloom vlan-ids=100 tagged=ether1,ether2 untagged=ether3",
        "/interface bridge host add bridge=tagloom interface=ether1 mac-address=02:00:00:00:00:01 vid=100",
        f"{port} set [ find interface=ether3 ] pvid=100 frame-types=admit-only-untagged-and-priority-tagged",
        *(f"{cable} [ find default-name=ether{n} ] auto-negotiation=yes" for n in (1, 2, 3)),
        *(f"{cable} [ find default-name=ether{n} ] rx-flow-control=off tx-flow-control=off" for n in (1, 2, 3)),
        *(f"{cable} [ find default-name=ether{n} ] disabled=no" for n in (1, 3)),
    ]


def test_a_host_is_switched_over_after_its_new_vlan_and_entry_and_before_the_old_ones_go():
    before = editor_of({1: {100: U}, 2: {100: T}}, {1: 100}, {(100, 2): 2})
    after = editor_of({1: {200: U}, 2: {200: T}}, {1: 200}, {(200, 2): 2})
    assert lines_between(before, after) == (
        "/interface bridge vlan add bridge=tagloom vlan-ids=200 tagged=ether2 untagged=ether1",
        "/interface bridge host add bridge=tagloom interface=ether2 mac-address=00:00:00:00:00:02 vid=200",
        "/interface bridge port set [ find interface=ether1 ] pvid=200 frame-types=admit-all",
        "/interface bridge host remove [ find bridge=tagloom mac-address=00:00:00:00:00:02 vid=100 dynamic=no ]",
        "/interface bridge vlan remove [ find bridge=tagloom vlan-ids=100 ]",
    )


def test_an_entry_is_moved_by_one_line_and_a_vlan_gains_ports_before_it_loses_any():
    before = editor_of({1: {7: T}, 2: {7: T}, 3: {}}, {}, {(7, 2): 2})
    after = editor_of({1: {7: T}, 2: {}, 3: {7: T}}, {}, {(7, 2): 3})
    entry = "[ find bridge=tagloom mac-address=00:00:00:00:00:02 vid=7 dynamic=no ]"
    assert lines_between(before, after) == (
        '/interface bridge vlan set [ find bridge=tagloom vlan-ids=7 ] tagged=ether1,ether2,ether3 untagged=""',
        f"/interface bridge host set {entry} interface=ether3",
        '/interface bridge vlan set [ find bridge=tagloom vlan-ids=7 ] tagged=ether1,ether3 untagged=""',
    )


def test_a_terse_export_is_read_and_what_stands_outside_the_bridge_is_none_of_ours():
    parsed = parse_configuration(CRS, TERSE)
    state = parsed.state
    assert parsed.unknown == ()
    assert [line.text.split()[0] for line in parsed.foreign] == ["/ip", "/system"]
    assert (state.spanning_tree, state.aging_seconds) == (False, 300)
    assert state.port(1).tagged == state.port(2).tagged == (100,)
    assert (state.port(1).pvid, state.port(1).flooding, state.port(1).learning) == (DISCARD_PVID, True, False)
    assert (state.port(2).flooding, state.port(2).learning) == (False, False)
    assert (state.port(2).negotiation, state.port(2).speed_mbps) == (False, 100)
    assert state.port(2).flow_control is FlowControl.ON
    # an access port is in its PVID's VLAN by that alone
    assert (state.port(3).pvid, state.port(3).untagged, state.port(3).frames) == (100, (100,), Frames.UNTAGGED_ONLY)
    assert state.port(3).learning
    assert state.enabled[8], "a port outside the bridge"
    assert (state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist()) == (
        [100],
        [0x02000000000A],
        [1],
    )


def test_an_export_that_is_not_terse_and_broken_by_backslashes_says_the_same():
    long = []
    for line in TERSE.splitlines():
        if line.startswith("/"):
            menu, verb, rest = line.partition(" add ") if " add " in line else line.partition(" set ")
            half = len(rest) // 2 if " " in rest else len(rest)
            cut = rest.find(" ", half)
            rest = rest if cut < 0 else f"{rest[:cut]} \\\n    {rest[cut + 1 :]}"
            long += [menu, f"{verb.strip()} {rest}"]
        else:
            long.append(line)
    parsed = parse_configuration(CRS, "\r\n".join("\n".join(long).split("\n")))
    assert parsed.unknown == ()
    assert parsed.state == parse_configuration(CRS, TERSE).state


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ("/interface bridge port add bridge=tagloom interface=ether1", "failure: device already added as bridge port"),
        ("/interface bridge port add bridge=tagloom interface=ether99", "input does not match any value of interface"),
        ("/interface bridge port set [ find interface=ether1 ] pvid=5000", "value of vid out of range (1..4094)"),
        (
            "/interface bridge port set [ find interface=ether1 ] broadcast-flood=no",
            "floods some frames and not others",
        ),
        ("/interface bridge port set interface=ether1 pvid=7", "missing value(s) of argument(s) numbers"),
        ("/interface bridge vlan add bridge=tagloom vlan-ids=100 tagged=ether5", "failure: vlan already added"),
        ("/interface bridge vlan add bridge=tagloom vlan-ids=7 tagged=ether1 untagged=ether1", "tagged and untagged"),
        ("/interface bridge vlan remove [ find bridge=tagloom vlan-ids=9 ]", "no such item"),
        ("/interface bridge host remove [ find bridge=tagloom mac-address=02:00:00:00:00:01 vid=1 ]", "no such item"),
        (
            "/interface bridge host add bridge=tagloom interface=ether1 mac-address=ff:ff:ff:ff:ff:ff vid=100",
            "one host",
        ),
        ("/interface bridge set [ find name=tagloom ] vlan-filtering=no", "vlan-filtering=no"),
        ("/interface bridge set [ find name=tagloom ] vlan-filtering=no comment=ether9", "vlan-filtering=no"),
        (
            "/interface bridge vlan set [ find bridge=tagloom vlan-ids=100 ] disabled=yes tagged=ether9",
            "only the ports",
        ),
        ("/interface bridge set [ find name=tagloom ] igmp-snooping=yes", "igmp-snooping=yes"),
        ("/interface ethernet set [ find default-name=ether1 ] rx-flow-control=on", "PAUSE in one direction only"),
    ],
)
def test_what_would_be_refused_or_breaks_the_proof_is_a_finding_and_changes_nothing(line, answer):
    closer = line.replace("[ ", "[").replace(" ]", "]")
    assert [each.expected for each in read_text(CRS, f"{TERSE}{closer}\n", "s0", (1, 2, 3)).findings]
    parsed = parse_configuration(CRS, TERSE + line + "\n")
    assert [line] == [each.text for each in parsed.unknown]
    assert answer in parsed.unknown[0].answer
    assert parsed.state == parse_configuration(CRS, TERSE).state


def test_ports_on_a_bridge_of_others_and_a_bridge_without_ports_are_named():
    parsed = parse_configuration(
        CRS, "/interface bridge add name=bridge\n/interface bridge port add bridge=bridge interface=ether4\n"
    )
    (port,) = [each for each in parsed.unknown if each.ports]
    assert (port.ports, port.answer) == ((4,), "")
    begun = "/interface bridge add name=tagloom vlan-filtering=yes\n"
    assert "has no port" in parse_configuration(CRS, begun).unknown[0].answer
    assert "knows no VLANs" in parse_configuration(CRS, "/interface bridge add name=tagloom\n").unknown[0].answer


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda e: e.pvid.__setitem__(0, 100), "untagged member of its PVID's VLAN"),
        (lambda e: e.frames.__setitem__(0, Frames.TAGGED_ONLY), "without a PVID takes tagged frames only"),
        (lambda e: (e.negotiation.__setitem__(0, False), e.speed_mbps.__setitem__(0, 10000)), "speed is set on copper"),
        (lambda e: e.flooding.__setitem__(0, False), "floods nothing learns nothing"),
        (lambda e: e.set_entry(100, 0xFFFFFFFFFFFF, (1,)), "one host at one port"),
        (lambda e: e.enabled.__setitem__(8, False), "outside the bridge"),
    ],
)
def test_what_routeros_cannot_hold_is_refused_with_the_reason(change, rule):
    editor = editor_of({1: {100: T}, 2: {100: T}})
    change(editor)
    with pytest.raises(PlanError, match=rule):
        render_configuration(CRS, editor.freeze(), TEMPLATES)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_other_assignments_are_refused_with_the_reason_and_the_way_out(assignment):
    fabric = make_fabric("ring", 4, model=CRS.model)
    with pytest.raises(PlanError, match="whether a static host stays put") as refused:
        weave(fabric, route(fabric, "up-down"), assignment)
    assert refused.value.next_step == "use --assignment pinned"


def test_a_machine_shows_what_it_was_set_to_while_the_port_stood_outside():
    menus = Menus(CRS, SwitchEditor.blank(CRS.ports))
    for line in (
        "/interface bridge add name=tagloom vlan-filtering=yes",
        "/interface ethernet set [ find default-name=ether1 ] disabled=yes",
    ):
        assert menus.feed(line).accepted
    assert menus.editor.enabled[0]
    assert menus.feed(
        "/interface bridge port add bridge=tagloom interface=ether1 frame-types=admit-only-vlan-tagged"
    ).accepted
    assert not menus.editor.enabled[0]


@pytest.mark.parametrize("seconds", [0, 10, 59, 60, 300, 3_661, 90_061, 1_000_000, 604_800])
def test_times_are_written_as_they_are_read(seconds):
    assert read_time(write_time(seconds)) == seconds


def test_times_and_lines_in_other_spellings():
    assert [read_time(text) for text in ("00:05:00", "1d00:00:01", "300", "5m")] == [300, 86401, 300, 300]
    for wrong in ("", "m5", "5x", "5m 3s", "1:2"):
        with pytest.raises(ValueError, match="not a time"):
            read_time(wrong)
    slashes = parse_line('/interface/bridge/port/set [ find where interface="ether1" ] comment="a \\"b\\" ]"')
    assert slashes is not None
    assert (slashes.menu, slashes.found, slashes.values) == (
        "interface bridge port",
        {"interface": "ether1"},
        {"comment": 'a "b" ]'},
    )
    for wrong in (
        "/interface bridge port set [ find interface=ether1",
        "/interface bridge add name",
        "add name=x name=y",
    ):
        assert parse_line(wrong) is None


DEFCONF = """\
/interface bridge add admin-mac=02:00:00:00:00:01 auto-mac=no comment=defconf name=bridge
/interface bridge port add bridge=bridge comment=defconf interface=ether23
"""


@pytest.mark.parametrize(("ports", "named"), [((1, 2, 3), []), ((1, 2, 23), ["interface=ether23"])])
def test_another_bridge_is_passed_over_unless_it_holds_a_port_of_the_fabric(ports, named):
    _, findings = read_state(CRS, TERSE + DEFCONF, "s0", ports)
    assert [word for each in findings for word in named if word in each.actual] == named
    assert len(findings) == len(named)


FACTORY_BRIDGE = """\
/interface bridge add admin-mac=48:8F:5A:00:00:01 auto-mac=no comment=defconf name=bridge
/interface bridge port add bridge=bridge comment=defconf interface=ether20
/interface bridge port add bridge=bridge interface=ether21 pvid=20
/interface bridge port set [ find interface=ether21 ] horizon=1
/interface bridge vlan add bridge=bridge tagged=bridge,ether20 vlan-ids=20
/interface vlan add interface=bridge name=vlan20 vlan-id=20
/interface ethernet set [ find default-name=ether20 ] name=office
"""


def named(lines, ports=(1, 2, 3)):
    reading = read_text(CRS, TERSE + lines, "s0", ports)
    return [str(each) for each in (*reading.findings, *reading.unknown_lines)]


def test_bridges_of_others_and_their_ports_are_passed_over():
    assert named(FACTORY_BRIDGE) == []
    assert read_state(CRS, TERSE + FACTORY_BRIDGE, "s0", (1, 2, 3))[1] == ()


@pytest.mark.parametrize("line", FACTORY_BRIDGE.splitlines()[1:4] + FACTORY_BRIDGE.splitlines()[6:])
@pytest.mark.parametrize(("spelling", "instead"), [("[ find ", "[ find "), ("[ find ", "[find "), (" ]", "]")])
def test_a_port_of_the_fabric_on_a_bridge_of_others_is_named(line, spelling, instead):
    assert named(f"{line.replace(spelling, instead)}\n", (1, 2, 3, 20, 21))


@pytest.mark.parametrize(
    "line",
    [
        "/interface bridge port add bridge=bridge interface=LAN",
        "/interface bridge port set [ find bridge=bridge ] bridge=tagloom",
        "/interface bridge port set [ find interface=ether1 ] interface=ether9",
        "/interface bridge port set [ find ] interface=ether9",
        "/interface bridge port set numbers=0 interface=ether9",
        "/interface bridge port set [ find interface=ether1 ] bridge=bridge",
        "/interface bridge vlan set [ find vlan-ids=100 ] bridge=bridge",
        "/interface bridge host set [ find vid=100 ] bridge=bridge",
        "/interface vlan set [ find name=v100 ] interface=bridge",
        "/interface vlan add interface=tagloom name=v100 vlan-id=100",
        "/interface bridge port set [ find interface=ether1 ] horizon=1",
        "/interface ethernet set [ find default-name=ether1 ] name=uplink",
        "/interface ethernet set [ find default-name=ether1 ] combo-mode=sfp",
        "/interface ethernet set [ find default-name=ether1 ] fec-mode=fec91",
    ],
)
def test_what_may_touch_the_bridge_is_named_and_never_called_refused(line):
    assert named(f"{line.replace('[ ', '[').replace(' ]', ']')}\n") != []
    (said,) = named(f"{line}\n")
    assert "a line the switch takes" not in said


@pytest.mark.parametrize(
    ("speeds", "known"),
    [
        ("10M-half,10M-full,100M-half,100M-full,1000M-half,1000M-full", True),
        ('"10M-baseT-half,10M-baseT-full,100M\\\n    -baseT-half,100M-baseT-full,1G-baseT-half,1G-baseT-full"', True),
        ("10M-full,100M-full,1000M-full,2500M-full", True),
        ("1G-baseT-full,2.5G-baseT,10G-baseCR", True),
        ('""', True),
        ("100M-half,1000M-half", False),
        ("10M-half,100M-full", False),
        ("10M-baseT-half", False),
        ("10M-baseT-full", False),
        ("100M-baseT-half,100M-baseT-full", False),
    ],
)
def test_speeds_that_a_port_offers_are_passed_over_unless_it_may_end_half_duplex_or_without_a_link(speeds, known):
    """Of lists that all have 1 Gb/s, two ends have a speed in common."""
    line = f"/interface ethernet set [ find default-name=ether1 ] advertise={speeds} loop-protect=off\n"
    assert (named(line) == []) is known


BRIDGE_LINE = "/interface bridge add name=tagloom protocol-mode=none vlan-filtering=yes {}"
PORT_LINE = "/interface bridge port add bridge=tagloom interface=ether1 {}"
CABLE_LINE = "/interface ethernet set [ find default-name=ether1 ] {}"
AS_WITHOUT = {  # what `export verbose` says of what nobody has changed
    BRIDGE_LINE: [
        *("arp=enabled", "arp=reply-only", "dhcp-snooping=no", "igmp-snooping=no", "add-dhcp-option82=no"),
        *("mvrp=no", "multicast-querier=no", "max-learned-entries=auto", 'region-name=""', "max-hops=20"),
        "forward-reserved-addresses=no",
    ],
    PORT_LINE: ["horizon=none", "tag-stacking=no", "mvrp-registrar-state=normal", "learn=auto hw=yes trusted=no"],
    CABLE_LINE: [
        "arp=enabled !power-cycle-ping-address !power-cycle-ping-timeout power-cycle-ping-enabled=no",
        "loop-protect=default loop-protect-disable-time=5m loop-protect-send-interval=5s",
    ],
    "{}": [
        "/interface bridge settings set allow-fast-path=yes use-ip-firewall=no use-ip-firewall-for-vlan=no",
        "/interface ethernet switch set 0 cpu-flow-control=yes mirror-egress-target=none name=switch1",
        "/interface ethernet switch port set 0 !egress-rate !ingress-rate mirror-egress=no storm-rate=100",
        "/interface detect-internet set detect-interface-list=none wan-interface-list=none",
        "/queue interface set ether1 queue=only-hardware-queue",
        '#error exporting "/system/routerboard/mode-button"',
        "#error exporting /interface bridge calea",
    ],
}
NOT_AS_WITHOUT = {  # and what bears on frames, beside it
    BRIDGE_LINE: [
        "arp=proxy-arp",
        "arp=local-proxy-arp",
        "dhcp-snooping=yes",
        "mvrp=yes",
        "!vlan-filtering",
        "horizon=1",
    ],
    PORT_LINE: ["horizon=1", "tag-stacking=yes", "!pvid"],
    CABLE_LINE: ["arp=local-proxy-arp", "loop-protect=on", "!advertise"],
    "{}": [
        "/interface bridge settings set use-ip-firewall=yes",
        "/interface ethernet switch set 0 mirror-egress-target=ether2",
        "/interface ethernet switch port set 0 storm-rate=1",
        "/interface ethernet switch port set 0 egress-rate=1M",
        "/queue interface set ether1 queue=slow",
        '#error exporting "/interface/bridge/vlan" (timeout)',
        "#error exporting /interface bridge port",
        '#error exporting "/system/scheduler" (timeout)',
        '#error exporting "/ip/address" (timeout)',
        "#interrupted",
    ],
}


def named_of(line):
    """Return the text of a small bridge with a line, and what is named of it."""
    bare = [each.format("").rstrip() for each in (BRIDGE_LINE, PORT_LINE)]
    text = "\n".join([*(each for each in bare if not line.startswith(each)), ""])
    lines = [line, text] if line.startswith(bare[0]) else [text, line]
    reading = read_text(load("mikrotik-crs326-24g-2s"), "\n".join([*lines, ""]), "s0", [1, 2])
    return [*reading.findings, *reading.unknown_lines]


@pytest.mark.parametrize("whole", AS_WITHOUT)
def test_what_a_verbose_export_says_of_what_is_as_without_the_line_is_passed_over(whole):
    assert {said: named_of(whole.format(said)) for said in AS_WITHOUT[whole]} == {
        said: [] for said in AS_WITHOUT[whole]
    }


@pytest.mark.parametrize("whole", NOT_AS_WITHOUT)
def test_other_values_of_the_same_words_are_named(whole):
    assert [said for said in NOT_AS_WITHOUT[whole] if not named_of(whole.format(said))] == []
