"""The classes of benign lines: what is passed over by class and family, and what beside it is named."""

import pytest

from tagloom.platforms import load
from tagloom.platforms.configuration_texts import what_is_missing
from tagloom.platforms.grammar import Grammar
from tagloom.platforms.harmless import harmless
from tagloom.render import read_text

BENIGN = {  # by family and place
    ("ros", "config"): [
        *("no ip igmp snooping", "ip igmp snooping", "ip igmp snooping vlan 10", "no gvrp enable", "no iscsi enable"),
        *(
            "iscsi target port 860 address 0.0.0.0",
            "iscsi cos vpt 5",
            "voice vlan oui-table add 0001e3 Siemens_AG_phone",
        ),
        *("voice vlan state disabled", "macro auto disabled", "qos", "qos trust dscp", "wrr-queue cos-map 1 0"),
        *("port jumbo-frame", "errdisable recovery cause loopback-detection", "no dot1x system-auth-control"),
    ],
    ("ros", "interface"): [
        *("no gvrp enable", "no port storm-control broadcast enable", "storm-control broadcast level 10"),
        *("ip dhcp snooping trust", "qos cos 0", "no service-acl input", "macro description switch"),
    ],
    ("sg300", "config"): [
        *("config-file-header", "v1.4.11.5 / R800_NIK_1_4_220_026", "CLI v1.0", "set system mode switch queues-mode 4"),
        *("file SSD indicator encrypted", "@", "ssd-control-start", "ssd config", "no ssd file integrity control"),
        *("ssd-control-end cb0a3fdb1f3a1af4e4430033719968c0", "unit-type unit 1 network gi uplink none"),
    ],
    ("os6", "config"): [
        *(
            "no iscsi enable",
            "iscsi cos vpt 5",
            "classofservice trust ip-dscp",
            "ip igmp snooping vlan 10",
            "voice vlan",
        ),
        *("errdisable recovery cause all", "ip routing", "ip route 0.0.0.0 0.0.0.0 192.0.2.1", "no ip dhcp snooping"),
        "access-list office permit every",
    ],
    ("os6", "interface"): ["storm-control broadcast", "storm-control multicast level 5", "no voice vlan", "no udld"],
    ("eos", "config"): [
        "no ip routing vrf MGMT",
        "queue-monitor length",
        "errdisable recovery interval 300",
        "qos map cos 1",
    ],
    ("eos", "interface"): ["storm-control broadcast level 10", "no service-policy input office", "qos trust cos"],
    ("comware", "config"): ["undo igmp-snooping", "undo dot1x", "qos map-table dot1p-lp", "dhcp enable"],
    ("comware", "interface"): ["jumboframe enable 9216", "broadcast-suppression 10", "undo packet-filter 3000 inbound"],
    ("huawei", "config"): [
        "undo smart-link",
        "igmp-snooping enable",
        "error-down auto-recovery cause link-flap interval 50",
    ],
    ("huawei", "interface"): ["trust dscp", "multicast-suppression 5", "undo traffic-policy office inbound"],
}
DEFAULTS = """
Default settings:
Service tag: 1J2K3L4

SW version 2.0.1.4 (date 01-Aug-2010 time 17:00:12)

Gigabit Ethernet Ports
=============================
no shutdown
speed 1000
duplex full
negotiation
flow-control off
mdix auto
no back-pressure

interface vlan 1
interface port-channel 1 - 8

spanning-tree
spanning-tree mode STP

qos basic
qos trust cos
"""  # what a PowerConnect 3548 prints behind its configuration
OTHERS = {  # more of them, as configurations print them
    "ros": ["spanning-tree mst 0 priority 4096", "no cbd enable", "ip redirects", "pnp discovery timeout 60"],
    "sg300": ["encrypted snmp-server user ops tagloom v3 auth sha x", "spanning-tree mst configuration"],
    "os6": [
        "spanning-tree configuration name office",
        "power inline detection dot3at",
        "no cut-through mode",
        "hiveagent",
    ],
    "eos": [
        "alias sh show",
        "environment fan-speed auto",
        "role office",
        "dhcp relay",
        "spanning-tree mst configuration",
    ],
    "comware": ["mdc Admin id 1", "ftth", "irf member 1 description leaf", "stp region-configuration", "nqa entry a b"],
    "huawei": [
        *("smart-upgrade web-prompt disable", "bfd", "remote-unit", "mac-address flapping detection"),
        *("wlan ac", "wlan", "web", "ddr isolation disable", "capwap unknown-unicast cir 0"),
        "undo mac-address learning self-healing enable",
    ],
    "routeros": ["/system routerboard settings set cpu-frequency=auto"],
}
BESIDE = {
    "ros": ["spanning-tree mst 0", "cbd enable", "instance 1 vlan 10", "encrypted snmp-server set x"],
    "os6": ["spanning-tree mst instance 1", "port-channel min-links 1", "hardware profile portmode 4x10g Fo1/1/1"],
    "eos": ["event-handler a", "schedule a interval 5 command reload", "hardware tcam"],
    "comware": ["irf member 1 renumber 2", "track 1 nqa entry a b", "openflow instance 1"],
    "huawei": [
        *("mac-address flapping action error-down", "bpdu enable", "stack slot 0 renumber 1"),
        *("mac-address learning disable", "undo mac-address learning", "wlan ac-global", "mpls"),
    ],
    "routeros": ["/system routerboard settings set auto-upgrade=yes"],
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_services_and_the_one_tree_say_is_passed_over_and_what_stands_beside_is_named(name):
    known = harmless(name)
    passed = {line: known.covers(line, "config") or known.opens(line) for line in OTHERS[name]}
    named = {line: not (known.covers(line, "config") or known.opens(line)) for line in BESIDE.get(name, ())}
    assert [line for line, is_right in (passed | named).items() if not is_right] == []


def test_default_profiles_of_a_controller_of_radios_are_passed_over_and_others_are_named():
    block = "wlan ac\n vap-profile name default\n {}\n ap-group name default\n#\n"
    texts = (block.format(line) for line in ("ssid-profile name default", "service-vlan vlan-id 10"))
    plain, bound = (read_text(load("huawei-s5731-s24t4x"), text, "s0", [1]) for text in texts)
    assert (plain.unknown_lines, plain.findings) == ((), ())
    assert "service-vlan vlan-id 10" in [line.text for line in bound.unknown_lines]


REGIONS = {
    "n-series": "spanning-tree mst configuration\nname office\nrevision 1\n{}\nexit\n",
    "cisco-cbs350-24t-4g": "spanning-tree mst configuration\nname office\nrevision 1\n{}\nexit\n",
    "arista-7050tx-64": "spanning-tree mst configuration\n   name office\n   revision 1\n   {}\n!\n",
    "hpe-5130-24g-4sfp": "stp region-configuration\n region-name office\n {}\n active region-configuration\n#\n",
}


@pytest.mark.parametrize("model", REGIONS)
def test_a_region_of_spanning_tree_is_passed_over_and_an_instance_in_it_is_named(model):
    texts = (REGIONS[model].format(line) for line in ("", "instance 1 vlan 10"))
    plain, trees = (read_text(load(model), text, "s0", [1]) for text in texts)
    assert (plain.unknown_lines, plain.findings) == ((), ())
    assert "instance 1 vlan 10" in [line.text for line in trees.unknown_lines]


NAMED = {  # what stands beside a class, and may take a frame away from a port or put a port into a VLAN
    ("ros", "config"): [
        *(
            "gvrp enable",
            "iscsi enable",
            "voice vlan state auto-enabled",
            "voice vlan id 10",
            "macro auto",
            "ip dhcp snooping",
        ),
        *("ip arp inspection", "dot1x system-auth-control", "ip igmp snooping vlan 10 static 239.0.0.1 interface g1"),
        *(
            "ipv6 mld snooping",
            "ipv6 nd inspection",
            "loopback-detection enable",
            "monitor session 1 destination interface g1",
        ),
        *(
            "no bridge multicast",
            "qos wrr-queue wrtd",
            "cdp pdu flooding",
            "storm-control broadcast level 10",
            "no macro",
            "no macro auto",  # as from the factory: it runs once a voice VLAN does
        ),
    ],
    ("ros", "interface"): [
        *("storm-control broadcast level 4", "port storm-control enable broadcast", "storm-control broadcast shutdown"),
        *(
            "storm-control broadcast level 10 shutdown",
            "rate-limit 64",
            "voice vlan enable",
            "macro auto",
            "gvrp enable",
        ),
        *("dot1x port-control auto", "service-acl input office", "no switchport mode", "no channel-group"),
    ],
    ("fastpath", "config"): [
        "ip igmp snooping vlan 10 static 0100.5e01.0101 interface 1/g1",
        "ipv6 nd raguard policy x",
    ],
    ("fastpath", "interface"): ["ipv6 nd raguard attach-policy x", "ip dhcp snooping limit rate 1"],
    ("os6", "config"): [
        *(
            "iscsi enable",
            "gvrp enable",
            "storm-control broadcast",
            "traffic-shape 64 kbps",
            "voice vlan 10",
            "udld enable",
        ),
        *(
            "service-policy in office",
            "ip access-group office vlan 100 in",
            "link-dependency group 1",
            "copy x running-config",
        ),
        *("cos-queue random-detect 1", "no spanning-tree", "authentication enable", "switchport protected 1"),
    ],
    ("os6", "interface"): [
        *(
            "voice vlan 10",
            "storm-control broadcast level 4",
            "storm-control broadcast rate 10",
            "cos-queue random-detect 1",
        ),
        *(
            "priority-flow-control mode on",
            "ip access-group office in",
            "authentication port-control auto",
            "udld enable",
        ),
    ],
    ("eos", "config"): [
        "ip arp inspection vlan 10",
        "errdisable detect cause x",
        "agent Stp shutdown",
        "mlag configuration",
        "monitor session 1 source Et1",
    ],
    ("eos", "interface"): [
        "storm-control broadcast level 4.5",
        "service-policy input office",
        "priority-flow-control on",
    ],
    ("comware", "config"): ["mvrp global enable", "undo stp global enable", "qos apply policy office global inbound"],
    ("comware", "interface"): [
        "jumboframe enable 1500",
        "broadcast-suppression 4",
        "broadcast-suppression pps 100",
        "undo jumboframe enable",
    ],
    ("huawei", "config"): [
        "gvrp",
        "traffic-policy office global inbound",
        "set stack reserved-vlan 4093",
        "undo stp disable",
    ],
    ("huawei", "interface"): [
        "traffic-policy office inbound",
        "voice-vlan 10 enable",
        "undo portswitch",
        "undo port link-type",
    ],
}


def rows(table):
    return [pytest.param(*where, line, id=f"{where[0]}: {line}") for where, lines in table.items() for line in lines]


@pytest.mark.parametrize(("name", "place", "line"), rows(BENIGN))
def test_a_line_of_a_benign_class_is_passed_over(name, place, line):
    assert harmless(name).covers(line, place) or harmless(name).opens(line)


@pytest.mark.parametrize(
    "text", ["interface  vlan  1\nip  address  192.0.2.1  255.255.255.0\nexit\n", "ip\tssh  server\n"]
)
def test_blanks_between_the_words_of_a_benign_line_do_not_count(text):
    reading = read_text(load("n-series"), text, "s0", [1])
    assert (reading.unknown_lines, reading.findings) == ((), ())


@pytest.mark.parametrize(("name", "place", "line"), rows(NAMED))
def test_a_line_beside_a_benign_class_is_named(name, place, line):
    assert not harmless(name).covers(line, place)


WIRES = {  # halves of a port that has two: what turns the copper one off, what leaves it, a port of others
    "hpe-5130-24g-4sfp": ("combo enable fiber", "combo enable copper", "GigabitEthernet1/0/20"),
    "huawei-s5731-s24t4x": ("combo-port fiber", "combo-port auto", "GigabitEthernet0/0/20"),
}


@pytest.mark.parametrize("model", WIRES)
def test_a_line_that_turns_off_the_copper_half_of_a_fabric_s_port_is_named(model):
    off, on, other = WIRES[model]
    first = other.removesuffix("20") + "1"
    text = f"interface {first}\n{{}}\nquit\ninterface {other}\n{off}\nquit\n"
    named = [read_text(load(model), text.format(line), "s0", [1]).unknown_lines for line in (off, on)]
    assert [[line.text for line in lines] for lines in named] == [[off], []]


BLOCKS = {
    "fastpath": {"ip access-list office": "permit every", "class-map match-all voice ipv4": "match any"},
    "os6": {"interface vlan 1": "ip address 192.0.2.1 255.255.255.0", "policy-map office in": "assign-queue 3"},
    "eos": {"ip access-list office": "10 permit ip any any", "router bgp 65001": "neighbor 192.0.2.1 remote-as 65000"},
    "comware": {"acl number 3000": "rule 0 permit ip", "traffic classifier office operator and": "if-match acl 3000"},
    "huawei": {"acl number 3000": "rule 5 permit ip", "traffic behavior office": "permit"},
    "sg300": {"ip access-list extended office": "permit ip any any ace-priority 20"},
}


@pytest.mark.parametrize("name", BLOCKS)
def test_rules_that_no_port_is_bound_to_are_passed_over_and_lines_of_ports_within_them_are_not(name):
    for opener, line in BLOCKS[name].items():
        assert harmless(name).opens(opener)
        assert harmless(name).inside(opener, line)
        assert not any(
            harmless(name).inside(opener, each) for each in ("shutdown", "no vlan 100", "switchport mode trunk")
        )


@pytest.mark.parametrize(
    ("name", "opener", "line"),
    [
        ("os6", "interface vlan 100", "ip local-proxy-arp"),
        ("os6", "interface vlan 100", "ip access-group office in"),
        ("os6", "interface vlan 100", "ip policy route-map office"),
        ("comware", "interface Vlan-interface100", "local-proxy-arp enable"),
        ("eos", "interface Vlan100", "ip local-proxy-arp"),
        ("comware", "stp region-configuration", "vlan-mapping modulo 8"),
        ("eos", "router ospf 1", "vlan 7"),
        ("huawei", "web-auth-server office", "port link-type trunk"),
    ],
)
def test_a_line_that_may_touch_forwarding_is_harmless_in_no_block(name, opener, line):
    assert harmless(name).opens(opener)
    assert not harmless(name).inside(opener, line)


SEVERAL = {  # contexts within contexts: what stands behind them is of the whole switch again
    "n-series": (
        "policy-map office in\nclass voice\nassign-queue 3\nexit\nexit\nno vlan 10\n",
        "router bgp 65001\ntemplate peer a\nremote-as 65000\nexit\naddress-family ipv6\nexit\nexit\nno vlan 10\n",
        "crypto key pubkey-chain ssh\nuser-key bob rsa\nkey-string row AAAA\nexit\nexit\nno vlan 10\n",
        "interface vlan 1\nip address dhcp\nexit\nno passwords min-length\nno vlan 10\n",
    ),
    "cisco-cbs350-24t-4g": (
        "policy-map office\nclass voice\nset dscp 46\nexit\nexit\nvlan database\nno vlan 10\nexit\n",
    ),
}


@pytest.mark.parametrize(("model", "text"), [(model, text) for model, texts in SEVERAL.items() for text in texts])
def test_a_context_within_another_ends_where_the_switch_leaves_it(model, text):
    platform = load(model)
    made = "vlan 10\nexit\n" if platform.grammar == "os6" else "vlan database\nvlan 10\nexit\n"
    reading = read_text(platform, made + text, "s0", [1])
    assert (reading.unknown_lines, reading.findings, reading.state.vlans.tolist()) == ((), (), [1])


@pytest.mark.parametrize("router", ["ospf 1", "isis underlay", "bfd", "multicast"])
def test_a_vlan_behind_a_router_that_has_none_of_its_own_is_one_of_the_switch(router):
    reading = read_text(load("arista-7050tx-64"), f"router {router}\n!\nvlan 7\n!\nend\n", "s0", [1])
    assert (reading.findings, reading.unknown_lines, reading.state.vlans.tolist()) == ((), (), [1, 7])


def test_a_vlan_behind_bgp_that_the_switch_lacks_is_a_finding_unless_a_line_of_an_instance_follows():
    """A console in that block makes an EVPN instance of a line that makes a VLAN anywhere else."""
    block = "router bgp 65001\n   router-id 192.0.2.1\n!\nvlan 7\n!\n"
    texts = (block, f"vlan 7\n!\n{block}", block.replace("vlan 7\n", "vlan 7\nrd 192.0.2.1:7\n"))
    alone, *others = (read_text(load("arista-7050tx-64"), text, "s0", [1]) for text in texts)
    assert ["'vlan 7'" in found.actual for found in alone.findings] == [True]
    assert [(other.findings, other.unknown_lines) for other in others] == [((), ()), ((), ())]


@pytest.mark.parametrize("said", ["no spanning-tree\n", "Empty configuration\n", ""])
def test_what_a_switch_prints_of_its_defaults_behind_a_configuration_is_none_of_it(said):
    model = load("powerconnect-5324")
    bare = read_text(model, said.replace("Empty configuration", ""), "s", [1, 2])
    found = read_text(model, said + DEFAULTS, "s", [1, 2])
    assert (found.findings, found.unknown_lines, found.refused) == ((), (), ())
    assert found.state == bare.state
    assert not what_is_missing(said + DEFAULTS, Grammar.of(model))


@pytest.mark.parametrize("more", ["switchport mode trunk", "hostname s0", "no spanning-tree", "Empty configuration"])
def test_lines_behind_those_defaults_are_read(more):
    found = read_text(load("powerconnect-5324"), f"{DEFAULTS}{more}\n", "s", [1, 2])
    assert found.unknown_lines[0].text == "Default settings:"
    assert len(found.unknown_lines) > 10
