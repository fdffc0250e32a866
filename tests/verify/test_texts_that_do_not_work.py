"""`verify` rejects texts that do not work, and names the lines it does not know."""

import json
from dataclasses import replace
from functools import cache, partial

import pytest

from fabrics import ROOT
from tagloom import pipeline, platforms
from tagloom.cli import main
from tagloom.lab.device import Device, UnmanagedConfig
from tagloom.read import read_fabric
from tagloom.records.fabric import Management
from tagloom.render import parse_configuration, read_text, render_configuration
from tagloom.report.terminal import proof_lines

TEMPLATES = ROOT / "templates"
DATA = ROOT / "tests" / "data" / "texts"
FAMILIES = ("ros", "fastpath", "os6", "linux")
G1 = {"ros": "interface ethernet g1", "fastpath": "interface ethernet 1/g1", "os6": "interface gigabitethernet 1/0/1"}
G20 = {each: text.removesuffix("1") + "20" for each, text in G1.items()}
LINK = {"ros": ("g1", "g1"), "fastpath": ("1/g1", "1/g1"), "os6": ("Gi1/0/1", "Gi1/0/1"), "linux": ("swp1", "swp1")}


@cache
def planned(family):
    """Return a planned ring of three switches and its texts."""
    fabric = read_fabric(DATA / f"{family}.yml")
    return fabric, pipeline.plan(fabric, TEMPLATES)[2]


def proof_of(family, *, trust_foreign=False, **edits):
    """Prove the texts with those of some switches edited: by a function, or by lines put before the end."""
    fabric, texts = planned(family)
    texts = {**texts}
    for name, edit in edits.items():
        texts[name] = edit(texts[name]) if callable(edit) else behind(family, texts[name], edit)
    return pipeline.prove(fabric, texts, None, whole=True, trust_foreign=trust_foreign)[1]


def behind(family, text, lines):
    """Put lines at the end of a text, before the `exit` that ends FASTPATH's."""
    if family in ("ros", "linux"):
        return f"{text}{lines}\n"
    return text.rstrip().removesuffix("exit") + f"{lines}\nexit\n"


def in_block(block, *lines):
    return "\n".join([block, *lines, "exit"])


def replaced(was, now):
    def edit(text):
        assert was in text
        return text.replace(was, now, 1)

    return edit


@pytest.mark.parametrize("family", FAMILIES)
def test_a_plan_is_an_unqualified_yes_and_can_be_pasted(family):
    proof = proof_of(family)
    assert proof.proven
    assert proof.unknown_lines == ()
    assert proof.paste_order is True


FORCED = {
    "ros": lambda mbps: in_block(G1["ros"], "no negotiation", f"speed {mbps}", "duplex full"),
    "fastpath": lambda mbps: in_block(G1["fastpath"], "no negotiation", f"speed {mbps}", "duplex full"),
    "os6": lambda mbps: in_block(G1["os6"], "no negotiation", f"speed {mbps}", "duplex full"),
    "linux": lambda mbps: f"ethtool -s swp1 autoneg off speed {mbps} duplex full",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_ends_of_a_link_that_run_at_different_speeds_are_no_link(family):
    assert proof_of(family, s0=FORCED[family](100), s1=FORCED[family](100)).proven
    proof = proof_of(family, s0=FORCED[family](100), s1=FORCED[family](10))
    assert proof.unreachable_pairs == 2
    a, b = LINK[family]
    expected = f"as at s1:{b}: 10 Mb/s without negotiation"
    assert (f"s0:{a}", expected, "100 Mb/s without negotiation") in {
        (f.where, f.expected, f.actual) for f in proof.findings
    }


@pytest.mark.parametrize("family", FAMILIES)
def test_a_link_that_negotiates_at_one_end_alone_is_no_link(family):
    assert proof_of(family, s0=FORCED[family](100)).unreachable_pairs == 2


@pytest.mark.parametrize("family", ["ros", "fastpath", "os6"])
def test_a_port_takes_no_speed_beyond_its_best(family):
    proof = proof_of(family, s0=FORCED[family](10000), s1=FORCED[family](10000))
    assert not proof.proven
    assert any("'speed 10000'" in each.actual for each in proof.findings)


@pytest.mark.parametrize("shut", ["s0", "s1"])
def test_the_speed_of_a_cable_that_is_shut_is_no_matter(shut):
    other = {"s0": "s1", "s1": "s0"}[shut]
    proof = proof_of("ros", **{shut: in_block(G1["ros"], "shutdown"), other: FORCED["ros"](100)})
    assert proof.unreachable_pairs == 2
    assert not [finding for finding in proof.findings if finding.expected.startswith("as at")]


@pytest.mark.parametrize("family", ["ros", "fastpath", "os6"])
@pytest.mark.parametrize(
    "lines",
    [("duplex half",), ("no negotiation", "speed 100", "duplex half"), ("no negotiation", "speed 100")],
    ids=" ".join,
)
def test_a_port_that_is_or_may_be_half_duplex_has_no_pause(family, lines):
    block = in_block(G1[family], *lines)
    proof = proof_of(family, s0=block, s1=block)
    assert [finding.where for finding in proof.findings] == [f"{s}:{LINK[family][0]}" for s in ("s0", "s1")]
    assert all("PAUSE" in finding.expected for finding in proof.findings)
    assert proof_of(family, s0=in_block(G20[family], *lines)).proven, "a port of others"


def test_a_linux_port_without_negotiation_says_its_duplex():
    lines = "ethtool -s swp1 autoneg off"
    assert [f.where for f in proof_of("linux", s0=lines, s1=lines).findings] == ["s0:swp1", "s1:swp1"]


def test_a_linux_bridge_that_never_comes_up_forwards_nothing():
    assert proof_of("linux", s0=replaced("ip link set dev tagloom up\n", "")).unreachable_pairs == 4


@pytest.mark.parametrize("line", ["exit 0", "exit", "exit 1"])
def test_what_stands_behind_an_exit_is_never_run(line):
    proof = proof_of("linux", s0=replaced("ip link set dev tagloom up", f"{line}\nip link set dev tagloom up"))
    assert proof.unreachable_pairs == 4
    assert proof_of("linux", s0="exit 0").proven, "at the end it harms nobody"


@pytest.mark.parametrize("family", ["ros", "fastpath"])
@pytest.mark.parametrize("keyword", ["secure", "delete-on-reset", "delete-on-timeout"])
def test_an_entry_that_ages_or_is_lost_pins_nothing(family, keyword):
    was = {
        "ros": "bridge address 02:00:00:00:00:01 ethernet g1",
        "fastpath": "bridge address 0200.0000.0001 ethernet 1/g1 permanent",
    }[family]
    proof = proof_of(family, s0=replaced(was, f"{was.removesuffix(' permanent')} {keyword}"))
    assert proof.off_path_pairs == 1
    assert ("s0 VLAN 100", "a permanent entry", "one that ages or is lost, for 02:00:00:00:00:01") in {
        (f.where, f.expected, f.actual) for f in proof.findings
    }
    both = proof_of(family, s0=replaced(was, f"{was.removesuffix(' permanent')} {keyword}\n{was}"))
    assert both.proven, "the later line counts"


GROUP_ENTRY = {
    "ros": in_block("interface vlan {vlan}", "bridge address 01:00:5e:00:00:fb ethernet g1"),
    "fastpath": in_block("interface vlan {vlan}", "bridge address 0100.5e00.00fb permanent ethernet 1/g1"),
    "os6": "mac address-table static 0100.5e00.00fb vlan {vlan} interface gigabitethernet 1/0/1",
}


@pytest.mark.parametrize("family", GROUP_ENTRY)
def test_an_entry_that_keeps_a_group_from_flooding_is_found_in_vlans_of_the_fabric(family):
    proof = proof_of(family, s0=GROUP_ENTRY[family].format(vlan=100))
    assert [str(finding) for finding in proof.findings] == [
        "s0 VLAN 100: expected multicast that floods, actual an entry for the group 01:00:5e:00:00:fb"
    ]
    elsewhere = {"os6": "vlan 300\nexit"}.get(family, in_block("vlan database", "vlan 300"))
    assert proof_of(family, s0=f"{elsewhere}\n{GROUP_ENTRY[family].format(vlan=300)}").proven


@pytest.mark.parametrize("family", ["ros", "fastpath", "os6"])
def test_a_comment_does_not_end_a_block(family):
    """A running-config of the Eltex form ends blocks with "!"; pasted, a "!" is a comment and the block goes on."""
    proof = proof_of(family, s0=in_block(G1[family], "!", "shutdown"))
    assert proof.unreachable_pairs == 2


@pytest.mark.parametrize("family", ["ros", "fastpath", "os6"])
def test_a_line_put_off_does_not_win_over_a_later_one(family):
    """Refused before the port's mode is set, and tried again at the end, it would hide the later line."""
    early = in_block(f"{G1[family]}0", "switchport general pvid 100") + "\n"
    later = replaced("switchport general pvid 100", "switchport general pvid 102")

    def both(text):
        opening, configure, rest = text.rpartition("configure\n") if family != "ros" else ("", "", text)
        return opening + configure + early + later(rest)

    alone = proof_of(family, s0=later)
    assert alone.off_path_pairs == 2
    proof = proof_of(family, s0=both)
    assert (proof.off_path_pairs, proof.paste_order) == (2, False)


@pytest.mark.parametrize("strict", ["set -e", "set -eu", "set -o errexit", "#!/bin/sh -e"])
def test_a_command_that_may_fail_is_named_where_a_failure_ends_what_follows(strict):
    def before(*lines):
        return lambda text: "\n".join([strict, *lines, *text.splitlines()]) + "\n"

    proof = proof_of("linux", s0=before("sysctl -w net.ipv4.no_such_thing=1"))
    assert not proof.proven
    assert [line.text for line in proof.unknown_lines] == ["sysctl -w net.ipv4.no_such_thing=1"]
    assert proof_of("linux", s0=before("echo up")).proven
    assert proof_of("linux", s0=lambda text: f"{text}{strict}\nsysctl -w net.ipv4.no_such_thing=1\n").proven


FOREIGN = {
    "ros": [
        in_block("vlan database", "map mac 02:00:00:00:00:00 48 macs-group 1"),
        in_block(G1["ros"], "ip access-group office in"),
        in_block(G1["ros"], "service-acl input office"),
        in_block(G1["ros"], "storm-control broadcast level 0"),
        in_block(G1["ros"], "port storm-control broadcast enable"),
        in_block(G1["ros"], "rate-limit 64"),
        in_block(G1["ros"], "gvrp enable"),
        in_block(G1["ros"], "dot1x port-control auto"),
        "ip arp inspection",
        "ip dhcp snooping",
        "gvrp enable",
        "dot1x system-auth-control",
        "monitor session 1 destination interface g1",
        "shut",
        "int eth g1",
        "no vlan 100",
        "wonder # of the world",
        "office console> vlan association 5",
        'banner motd "hello',
        "crypto certificate 1 import",
        "management access-list plant\nwonder\nexit",
    ],
    "fastpath": [
        in_block("vlan database", "vlan association mac 0200.0000.0000 101"),
        in_block("vlan database", "vlan protocol group 1"),
        in_block("vlan database", "vlan makestatic 100"),
        in_block(G1["fastpath"], "ip access-group office in"),
        in_block(G1["fastpath"], "mac access-group office in"),
        in_block(G1["fastpath"], "storm-control broadcast level 0"),
        in_block(G1["fastpath"], "traffic-shape 64 kbps"),
        in_block(G1["fastpath"], "dot1x port-control force-unauthorized"),
        in_block("interface vlan 100", "protocol group 1"),
        in_block("interface vlan 100", "bridge multicast address 0100.5e01.0101"),
        "ip arp inspection vlan 100",
        "ip access-group office vlan 100 in",
        "dot1x system-auth-control",
        "gvrp enable",
        "monitor session 1 mode",
        "storm-control broadcast",
    ],
    "os6": [
        in_block(G1["os6"], "storm-control broadcast level 0"),
        in_block(G1["os6"], "ip arp inspection limit rate 1"),
        in_block(G1["os6"], "service-policy in office"),
        "ip arp inspection vlan 100",
        "monitor session 1 source interface Gi1/0/1",
        "dot1x system-auth-control",
    ],
    "linux": [
        "ip l set dev swp1 down",
        "ip li set swp1 nomaster",
        "ebtables -P FORWARD DROP",
        "nft add rule bridge filter forward drop",
        "echo 0 > /sys/class/net/tagloom/bridge/vlan_filtering",
        "echo 'a' | tee /sys/class/net/swp1/brport/learning",
        "hostname leaf; ip link set dev swp1 down",
        "hostname leaf && reboot",
        "hostname $(reboot)",
        "hostname 'leaf",
        "echo leaf \\",
        "sysctl -w net.bridge.bridge-nf-call-iptables=1",
        "if true; then exit 0; fi",
        "alias ip=true",
        "exec true",
        "set -n",
        "ifconfig swp1 down",
    ],
}


@pytest.mark.parametrize(("family", "lines"), [(f, each) for f, some in FOREIGN.items() for each in some])
def test_a_line_nobody_knows_is_named_and_makes_the_yes_a_qualified_one(family, lines):
    proof = proof_of(family, s0=lines)
    assert not proof.proven
    named = [line.text for line in proof.unknown_lines]
    assert named
    assert set(named) <= set(lines.split("\n"))
    assert {line.switch for line in proof.unknown_lines} == {"s0"}
    text = behind(family, planned(family)[1]["s0"], lines).splitlines()
    assert all(text[line.line - 1] == line.text for line in proof.unknown_lines)
    assert proof.proven_but_for_unknown_lines
    trusted = proof_of(family, s0=lines, trust_foreign=True)
    assert trusted.proven
    assert trusted.unknown_lines == proof.unknown_lines


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("hostname leaf", "shutdown\rhostname leaf"),
        ("hostname leaf", "hostname\u00a0leaf"),
        ("switchport mode general", "switchport\u00a0mode general"),
        ("exit", "exit\x0b"),
    ],
)
@pytest.mark.parametrize("family", ["ros", "fastpath"])
def test_a_line_that_a_terminal_shows_otherwise_is_named(family, was, now):
    fabric, texts = planned(family)
    text = behind(family, texts["s0"], "hostname leaf")
    assert was in text
    spoilt = text.replace(was, now, 1)
    proof = pipeline.prove(fabric, {**texts, "s0": spoilt}, None, whole=True)[1]
    assert [line.text for line in proof.unknown_lines] == [repr(now)]


@pytest.mark.parametrize(
    ("family", "lines"),
    [
        ("ros", in_block(G1["ros"], "switchport protected-port")),
        ("ros", in_block("interface vlan 100", "nome tagloom")),
        ("ros", in_block(G1["ros"], "switchport general pvid 300")),
        ("fastpath", in_block(G1["fastpath"], "channel-group 1 mode auto")),
        ("os6", in_block("vlan 100", "private-vlan isolated")),
        ("linux", "bridge link set dev swp1 isolated on"),
        ("linux", "bridge vlan del dev swp99 vid 100"),
        ("linux", "tc qdisc add dev swp1 root tbf rate 1kbit burst 1 latency 1s"),
    ],
)
def test_a_line_of_tagloom_s_own_words_or_vlans_is_never_trusted(family, lines):
    assert not proof_of(family, s0=lines, trust_foreign=True).proven


OUTSIDE = {
    "ros": [
        in_block(G20["ros"], "switchport mode general", "switchport general allowed vlan add 100 tagged"),
        in_block(G20["ros"], "switchport mode access", "switchport access vlan 100"),
        in_block(G20["ros"], "switchport mode general", "switchport general ingress-filtering disable"),
    ],
    "fastpath": [
        in_block(G20["fastpath"], "switchport mode trunk", "switchport trunk allowed vlan add 100"),
        in_block(G20["fastpath"], "switchport mode access", "switchport access vlan 100"),
    ],
    "os6": [in_block(G20["os6"], "switchport mode general", "switchport general allowed vlan add 100-102")],
    "linux": ["ip link set dev swp20 master tagloom\nbridge vlan add dev swp20 vid 100\nip link set dev swp20 up"],
}
SHUT = {
    **{family: in_block(G20[family], "shutdown") for family in G20},
    "linux": "ip link set dev swp20 down",
}


@pytest.mark.parametrize(("family", "lines"), [(f, each) for f, some in OUTSIDE.items() for each in some])
def test_a_port_outside_the_fabric_in_its_vlans_is_found_unless_it_is_shut(family, lines):
    proof = proof_of(family, s0=lines)
    port = {"ros": "g20", "fastpath": "1/g20", "os6": "Gi1/0/20", "linux": "swp20"}[family]
    assert [(f.where, f.expected) for f in proof.findings] == [
        (f"s0:{port}", "no port outside the fabric in the fabric's VLANs")
    ]
    assert proof_of(family, s0=f"{lines}\n{SHUT[family]}").proven


def test_a_port_channel_counts_while_a_port_is_bound_to_it():
    channel = in_block("interface port-channel 3", "switchport mode general", "switchport general allowed vlan add 100")
    bound = in_block(G20["fastpath"], "channel-group 3 mode on")
    assert proof_of("fastpath", s0=channel).proven
    assert [f.where for f in proof_of("fastpath", s0=f"{channel}\n{bound}").findings] == ["s0:ch3"]


@pytest.mark.parametrize("name", ["tagloom", ""])
def test_the_vlans_that_hosts_send_in_are_the_fabric_s_whatever_they_are_called(name):
    def edit(text):
        text = text.replace("name tagloom\n", f"name {name}\n" if name else "")
        return text + in_block(G20["ros"], "switchport access vlan 100") + "\n"

    assert [f.where for f in proof_of("ros", s0=edit).findings] == ["s0:g20"]


ORDINARY = {
    "ros": """\
hostname leaf-0
username admin password 0123456789abcdef level 15 encrypted
enable password level 15 secret encrypted
aaa authentication login default local
ip ssh server
no ip http server
ip default-gateway 192.0.2.254
snmp-server community public ro
snmp-server location "row 3"
sntp unicast client enable
clock timezone 1
logging 192.0.2.254
banner motd "no entry"
management access-list plant
permit ip-source 192.0.2.0
exit
radius-server host 192.0.2.253
lldp enable
spanning-tree mode rstp
spanning-tree priority 4096
line console
exec-timeout 0
exit
line ssh
login authentication default
exit
interface vlan 1
ip address 192.0.2.1 255.255.255.0
exit
interface ethernet g1
description "to s1 # uplink"
lldp optional-tlv sys-name
spanning-tree portfast
exit
interface ethernet g20
switchport access vlan 1
storm-control broadcast level 5
dot1x port-control auto
ip dhcp snooping trust
exit
end
copy running-config startup-config""",
    "fastpath": """\
hostname "leaf-0"
stack
member 1 1
exit
ip address 192.0.2.1 255.255.255.0
ip default-gateway 192.0.2.254
no ip telnet server
snmp-server community public ro
sntp server 192.0.2.254
radius-server host auth 192.0.2.253
name "Default-RADIUS-Server"
exit
line telnet
exec-timeout 30
exit
username "admin" password 0123456789abcdef level 15 encrypted
!
interface out-of-band
ip address 198.51.100.1 255.255.255.0
exit
!
interface ethernet 1/g1
description 'to s1'
mtu 9216
lldp transmit-tlv port-desc sys-name
exit
interface ethernet 1/g20
ip access-group office in
exit""",
    "os6": """\
hostname "leaf-0"
stack
member 1 1    ! N2048
exit
interface out-of-band
ip address 198.51.100.1 255.255.255.0
exit
ip ssh server
isdp enable
interface gigabitethernet 1/0/1
description "to s1"
power inline never
green-mode energy-detect
exit""",
    "linux": """\
set -eu
hostname leaf-0
echo "bridge is up"
sysctl -w net.ipv4.ip_forward=0
ip addr add 192.0.2.1/24 dev eth0
ip link set dev eth0 up
ip route add default via 192.0.2.254
logger -t tagloom done
sleep 1""",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_ordinary_lines_of_operators_leave_the_yes_unqualified(family):
    proof = proof_of(family, s0=ORDINARY[family])
    assert [str(finding) for finding in proof.findings] == []
    assert proof.unknown_lines == ()
    assert proof.paste_order is True


def moved_to_the_end(part):
    def edit(text):
        assert part in text
        return text.replace(part, "", 1) + part

    return edit


@pytest.mark.parametrize("family", FAMILIES)
def test_what_a_switch_prints_of_itself_leaves_the_yes_unqualified(family):
    """With the lines that a plant's people had on it: users, SNMP, logging, an address, a description."""
    fabric, texts = planned(family)
    printed = {}
    for number, switch in enumerate(fabric.switches):
        platform = platforms.of(switch)
        foreign = UnmanagedConfig.born(switch.name, number, platform, fabric.used_ports[number])
        device = Device(switch.name, platform, partial(render_configuration, platform, templates=TEMPLATES), foreign)
        device.configure(replace(device.configuration(), state=parse_configuration(platform, texts[switch.name]).state))
        printed[switch.name] = device.running_config()
    proof = pipeline.prove(fabric, printed, None, whole=True)[1]
    assert proof.proven, proof.findings
    assert proof.unknown_lines == ()
    assert proof.paste_order is (None if family == "linux" else True)


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("powerconnect-5324", "5324.cfg"),
        ("powerconnect-5324", "g_ports.cfg"),
        ("powerconnect-5324", "eltex_order.cfg"),
        ("powerconnect-6224", "6224.cfg"),
    ],
)
def test_of_real_running_configurations_every_line_is_known(model, name):
    text = (ROOT / "tests" / "render" / "transcripts" / name).read_text("utf-8")
    assert read_text(platforms.load(model), text, "s0", [1, 2, 3]).unknown_lines == ()


@pytest.mark.parametrize(
    ("family", "edit", "refused"),
    [
        ("ros", moved_to_the_end("vlan database\nvlan 100-102\nexit\n"), "allowed vlan add"),
        (
            "ros",
            moved_to_the_end("interface range ethernet g(1,3,10)\nswitchport mode general\nexit\n"),
            "allowed vlan add",
        ),
        ("fastpath", replaced("exit\n!\ninterface vlan 101", "!\ninterface vlan 101"), "interface vlan 101"),
        ("fastpath", replaced("remove 1\nexit\n!\nno spanning", "remove 1\n!\nno spanning"), "no spanning-tree"),
        ("fastpath", replaced("!\nno spanning-tree", "exit\nno spanning-tree"), "no spanning-tree"),
        ("os6", replaced("exit\n!\ninterface", "end\n!\ninterface"), "interface gigabitethernet 1/0/1"),
    ],
)
def test_a_text_that_proves_may_still_not_work_when_pasted(family, edit, refused):
    proof = proof_of(family, s0=edit)
    assert proof.paste_order is False
    assert any(refused in finding.actual for finding in proof.paste_refused), proof.paste_refused


def test_a_line_that_is_global_or_the_port_s_by_where_it_stands_is_no_paste_order():
    """Behind a "!" a running-config means the switch; pasted, the port's block goes on."""
    text = "interface gi1/0/1\nswitchport mode general\n{}\nno eee enable\n"
    assert read_text(platforms.load("powerconnect-5548"), text.format("exit"), "s0", [1]).refused == ()
    (refused,) = read_text(platforms.load("powerconnect-5548"), text.format("!"), "s0", [1]).refused
    assert "a block above lacks its exit" in refused.actual


def test_a_block_that_ends_with_a_comment_works_on_a_family_that_falls_through():
    """As Eltex prints it, of ROS's code."""
    proof = proof_of("ros", s0=lambda text: text.replace("\nexit\n", "\n!\n"))
    assert proof.proven
    assert proof.paste_order is True


def test_a_block_that_nobody_knows_leaves_the_order_of_the_rest_alone():
    proof = proof_of("fastpath", s0=in_block("access-map office", "match any any"))
    assert [line.text for line in proof.unknown_lines] == ["access-map office", "match any any"]
    assert proof.paste_order is True


def test_the_command_says_it_on_the_screen_in_json_and_by_its_exit_status(tmp_path, capsys):
    texts = planned("ros")[1]
    for name, text in texts.items():
        (tmp_path / f"{name}.cfg").write_text(text + ("gvrp enable\n" if name == "s1" else ""))
    words = ["verify", "--fabric", str(DATA / "ros.yml"), "--configs", str(tmp_path)]
    number = len(texts["s1"].splitlines()) + 1
    assert main(words) == 1
    shown = capsys.readouterr().out
    assert f"s1:{number}  configuration: expected a line tagloom knows, actual 'gvrp enable'" in shown
    assert f"yes, except for lines I do not know: s1:{number}\n" in shown
    assert "--trust-foreign" in shown
    assert main([*words, "--json"]) == 1
    page = json.loads(capsys.readouterr().out)
    line = {"switch": "s1", "line": number, "block": "", "text": "gvrp enable"}
    assert (page["unknown_lines"], page["paste_order"], page["proven"]) == ([line], True, False)
    assert len(page["findings"]) == 1
    assert main([*words, "--trust-foreign", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["unknown_lines"], page["proven"], page["findings"]) == ([line], True, [])
    assert main([*words, "--trust-foreign"]) == 0
    shown = capsys.readouterr().out
    assert "'gvrp enable'" in shown
    assert f"yes, except for lines I do not know: s1:{number}\n" in shown


VLAN_200 = {"os6": "vlan 200\nexit"}
RING_OF_OTHERS = {
    family: "\n".join(
        [
            VLAN_200.get(family, in_block("vlan database", "vlan 200")),
            *(in_block(f"{G1[family][:-1]}{n}", "switchport general allowed vlan add 200 tagged") for n in (1, 2, 3)),
        ]
    )
    for family in ("ros", "fastpath", "os6")
}


def ring_of_others(family, **more):
    """Prove texts with VLAN 200 on all links of the ring, spanning tree off, and some lines more at some switches."""
    lines = {f"s{s}": RING_OF_OTHERS[family] for s in range(3)}
    return proof_of(family, **{name: "\n".join([each, more.get(name, "")]) for name, each in lines.items()})


@pytest.mark.parametrize("family", ["ros", "fastpath", "os6"])
def test_a_ring_of_an_unmanaged_vlan_into_which_no_port_leads_is_a_warning(family):
    proof = ring_of_others(family)
    assert proof.proven, [str(each) for each in proof.findings]
    assert [ring.vlan for ring in proof.latent] == [200]
    ring = proof.to_json()["latent"][0]
    assert ring["vlan"] == 200
    assert len(ring["channels"]) == 3
    ends = {end for channel in ring["channels"] for end in channel.split(" -> ")}
    assert {f"s0:{LINK[family][0]}", f"s1:{LINK[family][1]}"} <= ends
    said = " ".join(" ".join(proof_lines(proof, 3)).split())
    assert "latent no spanning tree breaks these rings" in said
    cut = proof_of(family, **{f"s{s}": RING_OF_OTHERS[family] for s in range(2)})
    assert (cut.proven, cut.latent) == (True, ())


@pytest.mark.parametrize("family", ["ros", "fastpath", "os6"])
@pytest.mark.parametrize("line", ["ip address 192.0.2.1 255.255.255.0", "ip address dhcp"])
def test_a_switch_s_own_address_in_a_ring_of_an_unmanaged_vlan_is_a_storm(family, line):
    proof = ring_of_others(family, s1=in_block("interface vlan 200", line))
    assert not proof.storm_free
    assert not proof.foreign_safe
    assert proof.findings[-1].where == "VLAN 200, from a switch's own address"
    other = ring_of_others(family, s1=in_block("interface vlan 1", line))
    assert other.storm_free, "an address in another VLAN"


@pytest.mark.parametrize("opener", ["interface vlan 200 1", "interface  vlan  200"])
def test_a_switch_s_own_address_counts_however_its_block_is_printed(opener):
    """Firmware 5 of FASTPATH prints the number of the interface behind its VLAN."""
    assert not ring_of_others("os6", s1=in_block(opener, "ip address  192.0.2.1  255.255.255.0")).storm_free


@pytest.mark.parametrize("lines", ["ip igmp snooping querier vlan 200", "ip igmp snooping vlan 200 querier"])
def test_a_querier_in_a_ring_of_an_unmanaged_vlan_is_a_storm(lines):
    for family in ("fastpath", "os6"):
        assert not ring_of_others(family, s1=lines).storm_free
        assert not ring_of_others(family, s1=lines.replace("200", "199-201")).storm_free
        assert ring_of_others(family, s1=lines.replace("200", "201")).storm_free


@pytest.mark.parametrize("family", ["ros", "fastpath"])
def test_an_in_band_management_vlan_that_is_a_ring_is_a_storm(family):
    fabric, texts = planned(family)
    texts = {name: behind(family, text, RING_OF_OTHERS[family]) for name, text in texts.items()}
    for vlan, storm_free in ((200, False), (201, True)):
        managed = replace(fabric, management=Management(vlan, 0, 20, (0, 1)))
        assert pipeline.prove(managed, texts, None, whole=True)[1].storm_free is storm_free


LAST_PORT_UP = "ip link set dev swp2 up\n"


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(lambda text: text.replace("\n", "\r\n"), id="line ends of Windows"),
        pytest.param(lambda text: text.replace("\n", "\r"), id="line ends of old Macs"),
        pytest.param(replaced(LAST_PORT_UP, LAST_PORT_UP.replace("\n", "\r\n")), id="one line end"),
        pytest.param(replaced("\n" + LAST_PORT_UP, "\r" + LAST_PORT_UP), id="one return in a line"),
        pytest.param(replaced("\n" + LAST_PORT_UP, "\n\u00a0" + LAST_PORT_UP), id="a no-break space before"),
        pytest.param(replaced("dev swp2 up", "dev swp2\u00a0up"), id="a no-break space inside"),
        pytest.param(replaced("dev swp2 up", "dev swp2 up\u2003"), id="an em space behind"),
        pytest.param(replaced("dev swp2 up", "dev swp2 up\x0b"), id="a vertical tab behind"),
        pytest.param(replaced("dev swp2 up", "dev swp2 up\x0c"), id="a form feed behind"),
        pytest.param(replaced("dev swp2 up", "dev swp2 up\x85"), id="a next-line mark behind"),
        pytest.param(replaced("dev swp2 up", "dev \x1b[1mswp2\x1b[0m up"), id="a colour"),
        pytest.param(replaced("dev swp2 up", "dev swp22\x08 up"), id="a backspace"),
        pytest.param(replaced("dev swp2 up", "dev swp2\u200b up"), id="a space of no width"),
        pytest.param(lambda text: "\ufeff" + text[text.index("ip link add") :], id="a byte order mark"),
    ],
)
def test_what_a_shell_would_not_run_is_not_read(spoil):
    proof = proof_of("linux", s1=spoil)
    assert not proof.proven
    assert proof.findings or proof.unknown_lines
    assert proof.reachable_pairs < proof.pairs


@pytest.mark.parametrize("comment", ["# b\u00fcro", "# a\rip link set dev swp2 down", "#\u00a0note\x1b[1m"])
def test_a_shell_s_comment_may_say_anything(comment):
    assert proof_of("linux", s1=comment).proven


@pytest.mark.parametrize(
    "escape",
    ["\x1b[A", "\x1b[D", "\x1b[3~", "\x08", "\x1bOP", "\x7f", "\x15", "\x17", "\x03", "\x1a", "\x16", "\x9b"],
    ids=ascii,
)
def test_an_escape_by_which_a_console_would_take_another_line_is_named(escape):
    proof = proof_of("ros", s0=f"hostname lea{escape}f")
    assert not proof.proven
    assert [line.text for line in proof.unknown_lines] == [repr(f"hostname lea{escape}f")]


def read_back(family, tmp_path, *, edit):
    """Prove the texts of a fabric that were written as bytes and read again, the first switch's edited."""
    fabric, texts = planned(family)
    for name, text in texts.items():
        content = text.encode()
        (tmp_path / f"{name}.cfg").write_bytes(edit(content) if name == "s0" else content)
    return pipeline.prove(fabric, pipeline.read_texts(fabric, tmp_path), None, whole=True)[1]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("ends", [b"\r\n", b"\r"])
def test_a_console_ends_a_line_at_a_carriage_return_and_a_shell_does_not(family, ends, tmp_path):
    proof = read_back(family, tmp_path, edit=lambda content: content.replace(b"\n", ends))
    assert proof.proven is (family != "linux")


REMARKS = {
    "ros": b"interface ethernet g1\ndescription B\xfcro\nexit\n",
    "fastpath": b"!B\xfcro \xa71\ninterface ethernet 1/g1\ndescription B\xfcro\nexit\n",
    "os6": b"interface gigabitethernet 1/0/1\ndescription B\xfcro\nexit\n",
    "linux": b"# B\xfcro\necho Gr\xfc\xdfe\n",
}
MATTERS = {
    "ros": b"interface ethernet g1\nswitchport\xa0mode access\nexit\n",
    "fastpath": b"interface ethernet 1/g1\nsh\xfctdown\nexit\n",
    "os6": b"interface gigabitethernet 1/0/1\nno switchp\xf6rt\nexit\n",
    "linux": b"ip link set dev sw\xfc2 down\n",
}


@pytest.mark.parametrize("family", FAMILIES)
def test_bytes_that_are_not_utf_8_are_read_where_they_do_not_matter(family, tmp_path):
    def with_lines(lines):
        return lambda content: behind(family, content.decode(), "@@").encode().replace(b"@@", lines.rstrip(b"\n"))

    proof = read_back(family, tmp_path, edit=with_lines(REMARKS[family]))
    assert proof.proven, [str(each) for each in proof.findings]
    proof = read_back(family, tmp_path, edit=with_lines(MATTERS[family]))
    assert not proof.proven
    assert any("\ufffd" in each.actual for each in proof.findings)
