"""No line that can touch forwarding passes as known, in the texts of the newer families; harmless ones pass."""

import re
from functools import cache

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.first_contact import FirstContact, first_contact_lines
from tagloom.platforms.grammar import Context, ContextKind, Grammar
from tagloom.records.snmp import Credentials
from tagloom.render import parse_configuration

pytestmark = pytest.mark.kernel

MODELS = {
    "routeros": "mikrotik-crs326-24g-2s",
    "huawei": "huawei-s5731-s24t4x",
    "comware": "hpe-5130-24g-4sfp",
    "eos": "arista-7010t-48",
    "cbs350": "cisco-cbs350-24t-4g",
}
PORT = {
    "huawei": "interface GigabitEthernet0/0/1",
    "comware": "interface GigabitEthernet1/0/1",
    "eos": "interface Ethernet1",
    "cbs350": "interface GigabitEthernet1",
}


@cache
def planned(family):
    """Return a planned ring of three switches and its texts."""
    fabric = make_fabric("ring", 3, model=OWN[family])
    pinned = family in ("routeros", "eos")
    options = {"assignment": "pinned", "routing": "tree"} if pinned else {}
    return fabric, pipeline.plan(fabric, ROOT / "templates", **options)[2]


def proof_of(family, lines):
    """Prove the texts with lines at the end of the first switch's, and inside its first port for a tuple."""
    fabric, texts = planned(family)
    if isinstance(lines, tuple):
        lines = "\n".join([PORT[family], *lines])
    texts = {**texts, "s0": with_lines(family, texts["s0"], lines)}
    return pipeline.prove(fabric, texts, None, whole=True)[1]


def with_lines(family, text, lines):
    """Return a text with lines at its end, before the word that ends it."""
    end = {"eos": "\nend", "huawei": "\nreturn", "comware": "\nreturn", "fastpath": "\nexit", "os6": "\nexit"}
    return f"{text.rstrip().removesuffix(end.get(family, ''))}\n{lines}\n"


@pytest.mark.parametrize("family", MODELS)
def test_a_plan_is_an_unqualified_yes(family):
    proof = proof_of(family, "")
    assert (proof.proven, proof.unknown_lines) == (True, ())


SETS = [  # any object of the switch, in the spellings that a console takes
    "snmp-server set ifAdminStatus ifIndex 1 ifAdminStatus down",
    "snmp-server SET x",
    "snmp-server  set x",
    "snmp-server   Set x",
    "snmp-server se x",
    "snmp-server S x",
    'snmp-server "set" x',
    "no snmp-server SET x",
]
NO_KEY = "interface ethernet g1\nshutdown\nexit\n."  # no body of a key has such lines
SHUT_AND_NOT_OPENED = """/interface ethernet
set [ find default-name=ether1 ] disabled=yes
set [ find default-name=ether1 comment=nope ] disabled=no"""
TOUCHING = {
    "routeros": [
        "/interface bridge remove tagloom",
        "/interface/bridge/remove tagloom",
        "/interface bridge disable tagloom",
        "/interface ethernet disable ether1",
        "/interface disable ether1",
        "/interface/disable ether1",
        "/interface disable [ find ]",
        "/interface bridge port disable 0",
        "/interface bridge port remove numbers=0",
        "/interface bridge port set [ find interface=ether1 ] bridge=bridge",
        "/interface bridge port set [ find interface=ether20 ] bridge=tagloom pvid=100",
        "/interface bridge port add bridge=tagloom interface=ether20 pvid=100",
        "/interface bridge port add bridge=bridge interface=ether1",
        "/interface ethernet reset ether1",
        "/interface ethernet poe power-cycle ether1",
        "/interface\nbridge remove tagloom",
        "/interface ethernet\ndisable ether1",
        "/system\nreboot",
        "/system reboot",
        "/system shutdown",
        "/system reset-configuration",
        "/system backup load",
        "/system package update install",
        "/system routerboard upgrade",
        '/system scheduler add interval=1m name=x on-event="/interface disable ether1"',
        "/system scheduler\nadd interval=1m name=x on-event=x",
        '/tool netwatch add host=10.0.0.1 down-script="/interface disable ether1"',
        "/tool netwatch\nadd host=10.0.0.1 down-script=x",
        "/ip dhcp-client add interface=ether24 script=x",
        "/ip hotspot user profile add name=x on-login=x",
        "/system watchdog set watch-address=10.0.0.1",
        "/import x.rsc",
        "/undo",
        "/quit",
        "/interface ethernet set [ find default-name=ether1 ] mtu=100 l2mtu=100",
        "/interface ethernet set [ find default-name=ether1 ] l2mtu=1500",
        "/interface ethernet set [ find default-name=ether1 ] auto-negotiation=no speed=100Mbps full-duplex=no",
        '/interface ethernet switch rule add ports=ether1 switch=switch1 new-dst-ports=""',
        "/interface bridge filter add action=drop chain=forward",
        "/interface bridge set [ find name=tagloom ] ether-type=0x88a8",
        "/interface bridge set [ find name=tagloom ] mtu=68",
        "/interface bridge settings set use-ip-firewall=yes",
        "/interface bonding add mode=802.3ad name=bond1 slaves=ether1,ether2",
        "/interface vlan add interface=tagloom name=v100 vlan-id=100",
        "/ip address add address=10.0.0.1/24 interface=ether24; /interface disable ether1",
        ":execute x",
        ":put [/interface disable ether1]",
        ":log info [/interface disable ether1]",
        ':put "$[/interface disable ether1]"',
        "/ip address add address=10.0.0.1/24 interface=ether24 comment=[/interface disable ether1]",
        "/interface list add name=[/interface disable ether1]",
        '/interface ethernet set [ find default-name=ether1 ] comment="$[/interface disable ether1]"',
        "/interface ethernet set [ find default-name=ether1 ] comment=a;/system/reboot",
        "/interface ethernet set [ find default-name=ether1 ] comment=$x",
        "/interface ethernet set [ find default-name=ether1 ] comment=(1+1)",
        "/interface\n/ip address print\ndisable ether1",
        "/system\n/ip address print\nreboot",
        "/system\n/log print\nreboot",
        "/interface ethernet\n/ip address print\nset [ find default-name=ether1 ] disabled=yes",
        "/ip\n.. interface disable ether1",
        "/ip/../interface/disable ether1",
        "/ip address\n..\n..\ninterface disable ether1",
        "# note \\\n/interface disable ether1",
        SHUT_AND_NOT_OPENED,
        "/ip dhcp-client add interface=ether24 scrip=x",
        "/ip dhcp-client add interface=ether24 sc=x",
        "/ip dhcp-client add interface=ether24 s=x",
        "/ip dhcp-client add interface=ether24 SCRIPT=x",
        '/interface bridge add nam="tagloom"',
        "/ip dhcp-server add interface=ether24 lease-scrip=x",
        '/ip dhcp-client add interface=ether24 script "x"',
        "/system routerboard settings set boot-os=swos",
        "/system health settings set cpu-overtemp-check=yes cpu-overtemp-threshold=0",
        "/interface ethernet set [ find default-name=ether1 ] sfp-shutdown-temperature=1",
        "/container start x",
        "/queue tree enable x",
        ":global x 1",
    ],
    "huawei": [
        "qos queue 0 wred x",
        "qos queue 1 shaping cir 64 pir 64",
        ("undo portswitch",),
        ("port link-type access",),
        ("traffic-policy office inbound",),
        ("mac-limit maximum 1",),
        ("port-security enable",),
        ("broadcast-suppression 0",),
        ("loopback internal",),
        ("port-isolate enable group 1",),
        ("eth-trunk 1",),
        ("undo jumboframe enable", "shutdown"),
        "aaa\nundo vlan 100",
        "aaa\nundo mac-address",
        "header login information %",
        "header login information %hello% undo vlan 100 %",
        "header login information %a%b%",
        "header shell information xhellox y x",
        "header login information \u00a7hello\u00a7",
        "smart-upgrade x",
        "vcmp role client",
        "vcmp role server",
        "undo vcmp role silent",
        "undo vlan 100",
        "traffic-policy office global inbound",
        "mac-address blackhole 0200-0000-0000 vlan 100",
        "undo mac-address static",
        "observe-port 1 interface GigabitEthernet0/0/1",
        "dot1x enable",
        "reset saved-configuration",
        "reboot",
        "stack slot 0 renumber 1",
    ],
    "comware": [
        ("port link-mode route",),
        ("undo port link-mode bridge",),
        ("packet-filter 3000 inbound",),
        ("qos apply policy office inbound",),
        ("mac-address max-mac-count 1",),
        ("port-isolate enable group 1",),
        ("broadcast-suppression 0",),
        ("loopback internal",),
        ("service-instance 1",),
        ("undo port link-type",),
        "mac-address blackhole 0200-0000-0000 vlan 100",
        "undo mac-address static",
        "irf member 1 renumber 2",
        "header motd %",
        "header motd %a%b%",
        "header motd \u00a7a\u00a7",
        "mirroring-group 1 local",
        "undo vlan 100",
        "qos vlan-policy office vlan 100 inbound",
        "dot1x",
        "reboot",
    ],
    "eos": [
        ("no switchport",),
        ("mac access-group office in",),
        ("service-policy input office",),
        ("storm-control broadcast level 0",),
        ("mtu 100",),
        ("switchport port-security",),
        ("traffic-loopback source system device mac",),
        ("channel-group 1 mode active",),
        ("error-correction encoding none", "shutdown"),
        "daemon x\n   exec /mnt/flash/x\n   no shutdown",
        "daemon TerminAttr\n   exec /mnt/flash/x",
        "event-handler x\n   trigger on-boot\n   action bash reboot",
        "no vlan 100",
        "mac address-table static 0200.0000.0000 vlan 100 drop",
        "monitor session 1 source Ethernet1",
        "vlan 100\n   state suspend",
        "bash reboot",
        "write erase now",
        "no service unsupported-transceiver",
        "vlan internal order ascending range 100 199",
        "vlan internal order ascending   range  100  199",
        "vlan internal order descending range 1 4094",
        "vlan internal allocation policy ascending range 100 100",
        "boot system flash:x.swi",
        "reload",
    ],
    "cbs350": [
        ("switchport protected-port",),
        ("service-acl input office",),
        ("storm-control broadcast level 1",),
        ("dot1x port-control auto",),
        ("port security",),
        ("rate-limit 64",),
        ("macro auto",),
        "no vlan 100",
        "dot1x system-auth-control",
        "monitor session 1 destination interface GigabitEthernet1",
        "ip arp inspection",
        "gvrp enable",
        "reload",
        "no lldp run\nlldp lldpdu flooding",
        "no cdp run\ncdp pdu flooding",
        "no cdp run\ncdp  PDU flooding",
        *SETS,
    ],
    "ros": [
        "no lldp run\nlldp lldpdu flooding",
        "no lldp run\nlldp LLDPDU flooding",
        *SETS,
        f"ip ssh-client key rsa generate\n{NO_KEY}",
        f"crypto key import rsa\n{NO_KEY}",
        f"crypto certificate 1 import\n{NO_KEY}",
    ],
    "os6": [*SETS, "system jumbo mtu 1510", "banner motd #\nno vlan 100\n#"],
    "fastpath": [
        *SETS,
        "stack\nstack-port 1/xg1 stack\nexit",
        "stack\nno member 1\nexit",
        "no slot 1/0",
        "banner motd *\ninterface ethernet 1/g1\nshutdown\nexit\nbanner exec *",
        "interface ethernet 1/g1\nmtu 1510\nexit",
    ],
}
HARMLESS = {
    "routeros": [
        "/system identity set name=leaf",
        "/system identity\nset name=leaf",
        "/system/clock/set time-zone-name=UTC",
        "/system ntp client set enabled=yes",
        "/system logging\nadd topics=info",
        "/ip service\nset telnet disabled=yes\nset ssh port=22",
        "/ip address add address=10.0.0.1/24 interface=ether24",
        "/user add group=read name=u",
        "/snmp set enabled=yes",
        "/tool mac-server set allowed-interface-list=none",
        "/tool\nromon set enabled=no",
        "/interface list add name=LAN",
        "/interface ethernet set [ find default-name=ether1 ] comment=uplink l2mtu=1592 mtu=9000",
        "/interface bridge set [ find name=tagloom ] ether-type=0x8100",
    ],
    "huawei": [
        ("description up",),
        ("portswitch",),
        "sysname leaf",
        "vcmp role silent",
        "undo telnet server enable",
        "header login information %hello all%",
    ],
    "comware": [("description up",), "sysname leaf", "header motd %hello%"],
    "eos": [
        ("description up",),
        "hostname leaf",
        "vlan internal order ascending range 1006 1199",
        "no vlan internal order",
        "daemon TerminAttr\n   exec /usr/bin/TerminAttr -x\n   no shutdown",
    ],
    "cbs350": [("description up",), "hostname leaf", "snmp-server server", "snmp-server location set", "lldp run"],
    "ros": ["snmp-server location set", "no lldp run"],
    "fastpath": ["snmp-server location set"],
}


OWN = {**MODELS, "ros": "powerconnect-5324", "fastpath": "powerconnect-6248", "os6": "n-series"}
UNDO = {"huawei": "undo ", "comware": "undo "}


def undone(family):
    """Yield every line of a planned text with a "no" or "undo" before it, behind the line that opens its block."""
    opener = ""
    for line in map(str.strip, planned(family)[1]["s0"].splitlines()):
        if line.startswith(("interface ", "vlan ")) and "batch" not in line:
            opener = line
        elif line in ("exit", "quit", "#", "!", "return", "end"):
            opener = ""
            continue
        words = UNDO.get(family, "no ")
        bare = line.removeprefix(words)
        inside = [opener] if opener and opener != line else []
        yield from ("\n".join([*inside, each]) for each in ({f"{words}{bare}", bare} - {line}))


@pytest.mark.parametrize("family", [family for family in OWN if family != "routeros"])
def test_a_line_of_a_plan_that_is_undone_is_no_yes_unless_frames_arrive(family):
    fabric, texts = planned(family)
    states = {s.name: parse_configuration(platforms.of(s), texts[s.name]).state for s in fabric.switches}
    refused = 0
    for lines in undone(family):
        proof = proof_of(family, lines)
        refused += not proof.proven
        if proof.proven:
            text = with_lines(family, texts["s0"], lines)
            held = parse_configuration(platforms.of(fabric.switches[0]), text).state
            found = Dataplane(fabric, {**states, "s0": held}).ping_all()
            assert (found.lost, found.duplicated, found.storm) == ((), (), ""), lines
    assert refused >= 5


def cases(table):
    return [pytest.param(family, each, id=f"{family}: {each}"[:60]) for family, some in table.items() for each in some]


@pytest.mark.parametrize(("family", "lines"), cases(TOUCHING))
def test_a_line_that_may_touch_forwarding_makes_no_unqualified_yes(family, lines):
    assert not proof_of(family, lines).proven


@pytest.mark.parametrize(("family", "lines"), cases(HARMLESS))
def test_a_harmless_line_leaves_the_yes_as_it_is(family, lines):
    proof = proof_of(family, lines)
    assert (proof.unknown_lines, proof.paste_refused) == ((), ())
    assert proof.proven, [str(each) for each in proof.findings]


FREE = {
    "huawei": ("interface GigabitEthernet0/0/20", "port hybrid tagged vlan 100"),
    "comware": ("interface GigabitEthernet1/0/20", "port hybrid vlan 100 tagged"),
    "ros": ("interface ethernet g20", "switchport general allowed vlan add 200"),
    "cbs350": ("interface GigabitEthernet20", "switchport general allowed vlan add 200"),
}


@pytest.mark.parametrize("family", FREE)
def test_a_line_that_a_switch_refuses_at_a_port_of_others_is_told_of_the_text(family):
    opener, line = FREE[family]
    proof = proof_of(family, f"{opener}\n{line}")
    assert (proof.proven, proof.paste_order) == (True, False), [str(each) for each in proof.findings]
    assert any(repr(line)[1:-1] in each.actual for each in proof.paste_refused)


VLAN_7 = {  # the lines that make VLAN 7, those that put a port into it, and the block of the switch's own address there
    "eos": ("vlan 7\nexit", "interface Ethernet{}\nswitchport trunk allowed vlan add 7\nexit", "interface Vlan7"),
    "comware": (
        "vlan 7\nquit",
        "interface GigabitEthernet1/0/{}\nport hybrid vlan 7 tagged\nquit",
        "interface Vlan-interface7",
    ),
    "huawei": ("vlan batch 7", "interface GigabitEthernet0/0/{}\nport hybrid tagged vlan 7\nquit", "interface Vlanif7"),
    "cbs350": (
        "vlan database\nvlan 7\nexit",
        "interface GigabitEthernet{}\nswitchport general allowed vlan add 7 tagged\nexit",
        "interface vlan 7",
    ),
}


@pytest.mark.parametrize("family", VLAN_7)
def test_a_ring_of_an_unmanaged_vlan_is_latent_until_a_switch_has_an_address_there(family):
    fabric, texts = planned(family)
    vlan, member, block = VLAN_7[family]
    ring = "\n".join([vlan, member.format(1), member.format(2)])
    found = [
        pipeline.prove(
            fabric,
            {name: with_lines(family, text, "\n".join([ring, *own])) for name, text in texts.items()},
            None,
            whole=True,
        )[1]
        for own in ((), (block, "ip address 192.0.2.1 24"))
    ]
    assert [(proof.proven, proof.storm_free) for proof in found] == [(True, True), (False, False)]
    assert [[each.vlan for each in proof.latent] for proof in found] == [[7], []]


SENT = {  # lines by which a switch sends into VLAN 7, and lines that look so
    "eos": (
        [
            "ip igmp snooping vlan 7 querier",
            "ip igmp snooping querier address 192.0.2.1",
            "interface Vlan6 - 8\nipv6 enable",
        ],
        ["ip igmp snooping vlan 7", "ip igmp snooping vlan 8 querier", "interface Vlan8\nip address 192.0.2.1/24"],
    ),
    "comware": (["vlan 7\nigmp-snooping querier\nquit"], ["vlan 8\nigmp-snooping querier\nquit"]),
    "huawei": (["vlan 7\nigmp-snooping querier enable\nquit"], ["vlan 7\nigmp-snooping enable\nquit"]),
    "cbs350": (
        ["ip igmp snooping vlan 7 querier version 2", "interface  vlan  7\nip  address dhcp\nexit"],
        ["ip igmp snooping vlan 7", "ip igmp snooping querier"],
    ),
}


@pytest.mark.parametrize("family", SENT)
def test_a_ring_of_a_vlan_storms_where_a_switch_itself_sends_into_it(family):
    fabric, texts = planned(family)
    vlan, member, _ = VLAN_7[family]
    ring = "\n".join([vlan, member.format(1), member.format(2)])

    def storm_free(line):
        """Return whether a ring in VLAN 7 is but latent, with a line more at the first switch."""
        whole = {name: with_lines(family, text, ring) for name, text in texts.items()}
        return pipeline.prove(fabric, whole | {"s0": f"{whole['s0']}{line}\n"}, None, whole=True)[1].storm_free

    sent, beside = SENT[family]
    assert [line for line in sent if storm_free(line)] == []
    assert [line for line in beside if not storm_free(line)] == []


RINGS = {  # rings of VLANs that count as tagloom's by their names, or since all of a bridge do
    "cbs350": "vlan database\nvlan 7\nexit\ninterface vlan 7\nname tagloom\nexit\ninterface range GigabitEthernet1-2\n"
    "switchport general allowed vlan add 7 tagged\nexit",
    "routeros": "/interface bridge vlan add bridge=tagloom vlan-ids=7 tagged=ether1,ether2",
    "linux": "bridge vlan add dev swp1 vid 7\nbridge vlan add dev swp2 vid 7",
}


@pytest.mark.parametrize("family", RINGS)
def test_a_ring_is_latent_whatever_its_vlan_is_called(family):
    fabric = make_fabric("ring", 3, model=(OWN | {"linux": "linux-bridge"})[family])
    options = {"assignment": "pinned", "routing": "tree"} if family == "routeros" else {}
    texts = pipeline.plan(fabric, ROOT / "templates", **options)[2]
    texts = {name: with_lines(family, text, RINGS[family]) for name, text in texts.items()}
    proof = pipeline.prove(fabric, texts, None, whole=True)[1]
    assert [each.vlan for each in proof.latent] == [7]


# Lines of a first login that are typed outside of configuration, or that a console evaluates: no text has them.
NOT_SHOWN = ("enable", "configure", "system-view", "copy ", "save", ":", "/user set", "/password", "y", "n")
CONTACT = FirstContact(
    "192.0.2.7", "255.255.255.0", "operator", "secret", "192.0.2.1", "AAAA" * 30, Credentials("2c", community="office")
)


def first_login(family):
    """Return the lines that tagloom types at a console of the first switch, as its configuration shows them."""
    fabric, _ = planned(family)
    lines = first_contact_lines(fabric.switches[0], fabric.used_ports[0], CONTACT, ROOT / "templates")
    shown = [line for line in lines if not line.startswith(NOT_SHOWN)]
    return shown[:-1] if shown[-1:] in (["exit"], ["quit"], ["return"]) else shown


@pytest.mark.parametrize("family", OWN)
def test_what_tagloom_types_at_a_first_login_leaves_the_yes_as_it_is(family):
    proof = proof_of(family, "\n".join(first_login(family)))
    assert proof.unknown_lines == ()
    assert proof.proven, [str(each) for each in proof.findings]


ADVISED = {"cbs350": "Cisco's 350 and CBS350", "huawei": "Huawei"}  # the sections of docs/platforms.md
ADVICE = re.compile(r"Before the first push turn off [^:]*: ([^.;]*)[.;]")


@pytest.mark.parametrize("family", ADVISED)
def test_what_the_documentation_tells_to_turn_off_first_leaves_the_yes_as_it_is(family):
    page = (ROOT / "docs/platforms.md").read_text("utf-8")
    section = page.partition(f"## {ADVISED[family]}\n")[2].partition("\n## ")[0]
    (advice,) = ADVICE.findall(section)
    lines = re.findall(r"`([^`]+)`", advice)
    assert lines
    proof = proof_of(family, "\n".join(lines))
    assert (proof.proven, proof.unknown_lines) == (True, ()), [str(each) for each in proof.findings]


@pytest.mark.parametrize("family", [family for family in OWN if family != "routeros"])
def test_the_lines_by_which_neighbours_are_seen_leave_the_yes_as_it_is(family):
    lldp = Grammar.of(platforms.load(OWN[family])).lldp
    opener = "" if lldp["in"] == "config" else f"{planned_port(family)}\n"
    proof = proof_of(family, opener + "\n".join(lldp["lines"]))
    assert (proof.proven, proof.unknown_lines) == (True, ()), [str(each) for each in proof.findings]


def planned_port(family):
    fabric, _ = planned(family)
    return Grammar.of(platforms.of(fabric.switches[0])).enter(Context(ContextKind.INTERFACE, fabric.used_ports[0][:1]))
