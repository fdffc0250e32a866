"""tagloom hosts import: every kind of list is told by its text, and its addresses go into the fabric file."""

import json

import pytest

from tagloom.cli.addressing import FORMATS
from tagloom.errors import InputError
from tagloom.read import read_fabric
from tagloom.read.host_lists import READERS, read_host_list

HEAD = "# ours\nname: three\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3]}\n"
A, B, C, D = (f"00:1e:c9:00:00:0{n}" for n in "abcd")
QUADS = "001e-c900-000a"  # A, as Comware and Huawei write it
NUMBER = {mac: int(mac.replace(":", ""), 16) for mac in (A, B, C, D)}

ETHERS = f"# ours\n{A} h0\n0:1e:c9:0:0:b\th1.rack.example  # left\n\n{C} h2\n"
LEASES = (
    f"1763800000 {A} 192.0.2.10 h0 01:00:1e:c9:00:00:0a\n1763800001 06-{B} 192.0.2.11 h1 *\n"
    f"0 {C} 192.0.2.12 h2 *\n1763800002 {D} 192.0.2.13 * *\n"
    "duid 00:01:00:01:2a\n1763800000 12345 2001:db8::1 h0 00:01\n"
)
DNSMASQ = (
    f"interface=eth0\n# a\ndhcp-host={A},192.0.2.10,h0,12h\ndhcp-host={B},set:nodes,h1,[2001:db8::2],infinite # b\n"
    f"dhcp-host=h2,{C},id:*\ndhcp-host=lost,192.0.2.99\ndhcp-host={D},ignore\ndhcp-range=192.0.2.10,192.0.2.20\n"
)
HOSTSFILE = f"{A},h0,192.0.2.10\n{B},set:x,h1\n{C},h2,1d\n"
DHCPD = (
    'option domain-name "a;b}c"; # } in a comment\n'
    "subnet 192.0.2.0 netmask 255.255.255.0 {\n  pool { range 192.0.2.9; }\n"
    f"  group {{\n    host h0 {{ hardware ethernet {A}; fixed-address 192.0.2.10; }}\n"
    f"    host h1 {{\n      hardware ethernet 0:1e:c9:0:0:b;\n    }}\n  }}\n}}\nhost h2 {{ hardware ethernet {C}; }}\n"
)
DHCPD_LEASES = "".join(
    f'lease 192.0.2.{n} {{\n  starts 4 2026/11/19 10:00:00;\n  binding state {state};\n  next binding state free;\n'
    f'  hardware ethernet {mac};\n  uid "\\001\\000\\";";\n  client-hostname "{name}";\n}}\n'
    for n, mac, name, state in (
        (1, D, "h0", "active"), (1, D, "h0", "free"), (2, A, "h0", "active"), (3, B, "h1", "active"),
        (4, D, "h2", "active"), (4, C, "h2", "active"),
    )
)  # fmt: skip
KEA = (
    '// ours\n{"Dhcp4": { # all\n  "subnet4": [{"id": 1, "reservations": [\n'
    f'    {{"hw-address": "{A}", "hostname": "h0"}}, /* "x": {{ */ {{"hw-address": "{B}", "hostname": "h1.a//b"}},\n'
    '    {"client-id": "01:02", "hostname": "other"},\n  ]}],\n  "shared-networks": [{"subnet4": [{"reservations": '
    f'[{{"hw-address": "{C}", "hostname": "h2"}}]}}]}}],\n}}}}\n'
)
KEA_LEASES = (
    "address,hwaddr,client_id,valid_lifetime,expire,subnet_id,fqdn_fwd,fqdn_rev,hostname,state,user_context,pool_id\n"
    f"192.0.2.1,{D},,3600,1763800000,1,0,0,h0,0,,0\n192.0.2.1,{D},,0,1763800000,1,0,0,h0,0,,0\n"
    f"192.0.2.2,{A},,3600,1763800000,1,0,0,h0.rack.example.,0,,0\n192.0.2.3,{B},,3600,1763800000,1,0,0,h1,0,,0\n"
    f"192.0.2.4,{C},,3600,1763800000,1,0,0,h2,0,,0\n192.0.2.5,{D},,3600,1763800000,1,0,0,h1,2,,0\n"
)
ANSIBLE = (
    f'all:\n  vars: {{x: 1}}\n  hosts:\n    h0: {{mac: "{A}"}}\n    s0: {{}}\n  children:\n    nodes:\n      hosts:\n'
    f'        h1: {{ansible_default_ipv4: {{macaddress: "{B}"}}}}\n        h2: {{mac_address: "{C}"}}\n'
)
INI = f'[nodes]\nh0 mac={A} ansible_host=192.0.2.1\nh1.x macaddress="{B}" # b\n'
INI += f"[nodes:vars]\nmac={D}\n[more]\nh2 mac={C}\n"
FLOW = f"all: {{hosts: {{h0: {{mac: '{A}'}}, h1: {{mac: '{B}'}}, h2: {{hwaddr: '{C}'}}}}}}\n"
LISTED = json.dumps(
    {"_meta": {"hostvars": {"h0": {"mac": A}, "h1": {"mac": B}, "h2": {"mac": C}}}, "all": {}}, indent=4
)


def interface(device, mac, **more):
    return {"name": "eth0", "device": {"id": 1, "name": device}, "mac_address": mac, **more}


NETBOX = json.dumps(
    {
        "count": 5,
        "next": None,
        "results": [
            interface("h0", A.upper(), mac_addresses=[{"mac_address": D}, {"mac_address": A.upper()}]),
            interface("h0", D, mgmt_only=True),
            interface("h1", None, primary_mac_address={"mac_address": B}),
            interface("h2", None, mac_addresses=[{"id": 3, "mac_address": C}]),  # none of them was made primary
            interface("s0", None, mac_addresses=[]),
        ],
    }
)
OPENWRT = (
    "config dhcp 'lan'\n\toption interface 'lan'\n\nconfig host\n\toption name 'h0'\n"
    f"\toption mac '{A}'\n\toption ip '192.0.2.10'\n\nconfig host 'two'\n\toption name h1\n\tlist mac \"{B}\"\n"
    f"config host\n\toption name 'h2'\n\toption mac '{C}'\nconfig domain\n\toption name 'x'\n\toption mac '{D}'\n"
)
UCI = "dhcp.@dnsmasq[0]=dnsmasq\ndhcp.lan=dhcp\n" + "".join(
    f"dhcp.{section}={kind}\ndhcp.{section}.name='{name}'\ndhcp.{section}.mac='{mac}'\ndhcp.{section}.ip='192.0.2.1'\n"
    for section, kind, name, mac in (
        ("@host[0]", "host", "h0", A), ("@host[1]", "host", "h1", B),
        ("h2", "'host'", "h2", C), ("x", "domain", "x", D),
    )
)  # fmt: skip
ARP = (
    f"h0 (192.0.2.10) at {A} [ether] on eth0\n? (192.0.2.99) at <incomplete> on eth0\n"
    f"h1.rack (192.0.2.11) at 0:1e:c9:0:0:b on en0 ifscope [ethernet]\nh2 (192.0.2.12) at {C} [ether] PERM on eth0\n"
    "? (224.0.0.251) at 1:0:5e:0:0:fb on en0 ifscope permanent [ethernet]\n"
)
ARP_TABLE = "Address                  HWtype  HWaddress           Flags Mask            Iface\n" + "".join(
    f"{name:24} ether   {mac}   C                     eth0\n" for name, mac in (("h0", A), ("h1", B), ("h2", C))
)
NEIGH = (
    f"h0 dev eth0 lladdr {A} REACHABLE\n192.0.2.99 dev eth0  FAILED\nh1 lladdr {B} STALE\n"
    f"h2 dev eth0 lladdr {C} router PERMANENT\n"
)
NEIGH_JSON = json.dumps(
    [{"dst": name, "dev": "eth0", "lladdr": mac, "state": ["STALE"]} for name, mac in (("h0", A), ("h1", B), ("h2", C))]
    + [{"dst": "192.0.2.9", "dev": "eth0", "state": ["FAILED"]}]
)
PROC_ARP = "IP address       HW type     Flags       HW address            Mask     Device\n"
PROC_ARP += f"192.0.2.10       0x1         0x2         {A}     *        eth0\n"
WINDOWS_ARP = (
    "\nInterface: 192.0.2.5 --- 0x7\n  Internet Address      Physical Address      Type\n"
    "  192.0.2.10            00-1e-c9-00-00-0a     dynamic\n  192.0.2.255  ff-ff-ff-ff-ff-ff  static\n"
)
SHOW_IP_ARP = "Protocol  Address          Age (min)  Hardware Addr   Type   Interface\n"
SHOW_IP_ARP += "Internet  192.0.2.10              5   001e.c900.000a  ARPA   Vlan1\n"
DOTS = "001e.c900.000a"  # A, as Cisco and Dell write it
ROUTERS = [  # a heading and a row of the tables of EOS, NX-OS, Comware, Huawei, OS6, FASTPATH, Junos, ASA
    ("Address         Age (sec)  Hardware Addr   Interface", f"192.0.2.10       0:00:05  {DOTS}  Vlan1, Ethernet1"),
    ("Address         Age       MAC Address     Interface       Flags", f"192.0.2.10   00:00:05  {DOTS}  Vlan1"),
    ("  IP address      MAC address    VLAN/VSI name Interface", f"  192.0.2.10  {QUADS} 1  GE1/0/1  1200  D"),
    (
        "IP ADDRESS      MAC ADDRESS     EXPIRE(M) TYPE        INTERFACE",
        f"192.0.2.10      {QUADS}  18        D-0  GE0/0/1",
    ),
    (" IP Address        MAC Address      Interface", f"192.0.2.10    {DOTS.upper()}    Vl1    Dynamic    0h 0m 5s"),
    ("No.   IP Address       MAC Address     Type", f"1     192.0.2.10     {DOTS}  Dynamic  0   1/1/1 Valid"),
    ("MAC Address       Address         Name", f"{A} 192.0.2.10        h0.lab   ge-0/0/1.0  none"),
    ("", f"\tinside 192.0.2.10 {DOTS} 5"),
    ("", f" 0 DC address=192.0.2.10 mac-address={A.upper()} interface=bridge published=no"),
]
WAREWULF = (
    "nodeprofiles:\n  default: {comment: x}\nnodes:\n  h0:\n    profiles: [default]\n    network devices:\n"
    f'      default: {{hwaddr: "{A}", ipaddr: 192.0.2.10}}\n      ib0: {{type: infiniband, hwaddr: "{D}"}}\n'
    f'  h1:\n    network devices:\n      a: {{hwaddr: "{D}"}}\n      b: {{hwaddr: "{B}", primary: "true"}}\n'
)
WAREWULF += (
    f'  h2:\n    primary network: b\n    network devices: {{a: {{hwaddr: "{D}"}}, b: {{hwaddr: "{C}"}}}}\n  h9: {{}}\n'
)
XCAT = (
    f'#node,interface,mac,comments,disable\n"h0","eth0","{A}!h0",,\n"h1",,"{B}!*NOIP*",,\n"h2","eth0","{C}",,\n'
    f'"h0","eth1","{D}",,"1"\n'
)
LSDEF = "".join(
    f"Object name: {name}\n    arch=x86_64\n    mac={mac}\n" for name, mac in (("h0", A), ("h1", B), ("h2", C))
)
LISTS = {
    "openwrt": [OPENWRT, UCI],
    "arp": [ARP, ARP_TABLE, NEIGH, NEIGH_JSON],
    "warewulf": [WAREWULF, WAREWULF.partition("nodes:\n")[2]],
    "xcat": [
        XCAT,
        LSDEF,
        LSDEF.replace("Object name: ", "").replace("\n    arch", ":\n    arch"),
        f"h0: mac={A}\nh1: mac={B}\nh2: mac={C}\n",
    ],
    "ethers": [ETHERS],
    "dnsmasq": [LEASES, DNSMASQ, HOSTSFILE],
    "isc": [DHCPD, DHCPD_LEASES],
    "kea": [KEA, KEA_LEASES],
    "ansible": [ANSIBLE, INI, LISTED, FLOW],
    "netbox": [NETBOX, json.dumps(json.loads(NETBOX)["results"])],
}
KINDS = [(kind, text) for kind, texts in LISTS.items() for text in texts]


@pytest.fixture
def files(tmp_path):
    """Give a function that writes a list and a fabric file."""

    def write(text, hosts=""):
        (tmp_path / "list").write_text(text)
        (tmp_path / "f.yml").write_text(HEAD + hosts)
        return tmp_path / "list", tmp_path / "f.yml"

    return write


def macs_of(path):
    return {host.name: host.mac for host in read_fabric(path).hosts}


ALL = {"h0": NUMBER[A], "h1": NUMBER[B], "h2": NUMBER[C]}


@pytest.mark.parametrize(("kind", "text"), KINDS)
def test_every_kind_of_list_fills_the_fabric_file(files, answer, kind, text):
    listed, fabric = files(text)
    assert read_host_list(listed).kind == kind
    status, page = answer("hosts", "import", listed, fabric)
    assert (status, page["findings"], page["unknown"], page["changed"]) == (0, [], [], [])
    assert [each["host"] for each in page["learned"]] == ["h0", "h1", "h2"]
    assert macs_of(fabric) == ALL
    assert fabric.read_text().startswith(HEAD)
    assert answer("hosts", "import", listed, fabric, "--format", kind)[0] == 0


def test_a_cache_of_facts_is_a_directory(files, answer, tmp_path):
    _, fabric = files("")
    (tmp_path / "facts").mkdir()
    for name, mac in (("h0", A), ("h1.rack.example", B)):
        (tmp_path / "facts" / name).write_text(json.dumps({"ansible_default_ipv4": {"macaddress": mac}}))
    (tmp_path / "facts" / "h2").write_text(json.dumps({"ansible_facts": {"default_ipv4": {"macaddress": C}}}))
    assert answer("hosts", "import", tmp_path / "facts", fabric)[0] == 0
    assert macs_of(fabric) == ALL


def test_slurm_knows_names_alone_which_are_compared(files, answer):
    listed, fabric = files("ClusterName=x\nNodeName=DEFAULT CPUs=4\nNodeName=h[0-1],login CPUs=8 \\\n State=UP\n")
    status, page = answer("hosts", "import", listed, fabric)
    assert (status, page["learned"], page["silent"], page["wrote"]) == (1, [], ["h2"], "")
    assert [(each["name"], each["mac"]) for each in page["unknown"]] == [("login", "")]
    assert ["names alone" in page["findings"][0]["actual"], page["findings"][1]["actual"]] == [True, "login"]


def test_strangers_and_conflicts_are_named_and_the_rest_is_written(files, answer):
    listed, fabric = files(f"{A} h0\n{B} h1\n{D} printer\n{C} h1\n{A} h2\n", f'hosts:\n  h1: {{mac: "{C}"}}\n')
    status, page = answer("hosts", "import", listed, fabric)
    assert status == 1
    assert page["learned"] == page["changed"] == []
    assert [(each["name"], each["mac"]) for each in page["unknown"]] == [("printer", D), ("", B)]
    assert [(each["where"], each["actual"]) for each in page["findings"]] == [
        (f"{listed}:3", f"printer, {D}"),
        (A, "hosts.h0 and hosts.h2"),
    ]
    listed, fabric = files(f"{A} h0\n{B} h1\n", f'hosts:\n  h1: {{mac: "{C}"}}\n')
    status, page = answer("hosts", "import", listed, fabric)
    assert (status, [each["host"] for each in page["changed"]]) == (1, ["h1"])
    assert [each["where"] for each in page["findings"]] == ["hosts.h2", "hosts.h1"]
    assert macs_of(fabric)["h0"] == NUMBER[A]
    answer("hosts", "import", listed, fabric, "--replace")
    assert macs_of(fabric)["h1"] == NUMBER[B]


def test_two_addresses_of_a_host_are_named_and_none_is_chosen(files, answer):
    listed, fabric = files(f"{A} h0\n{B} h0\n")
    status, page = answer("hosts", "import", listed, fabric)
    assert (status, page["wrote"]) == (1, "")
    assert [(each["host"], each["mac"]) for each in page["unknown"]] == [("h0", A), ("h0", B)]


def test_everything_wrong_with_both_files_is_told_and_nothing_changes(files, answer):
    listed, fabric = files(f"{A}\nxx h0\n01:00:5e:00:00:01 h1\n00:00:00:00:00:00 h2\n{A} h0\n", "hosts:\n  h9: {}\n")
    before = fabric.read_bytes()
    status, page = answer("hosts", "import", listed, fabric, "--format", "ethers")
    assert status == 2
    lines = [each["where"].rpartition(":")[2] for each in page["findings"] if each["where"].startswith(str(listed))]
    assert lines == ["1", "2", "3", "4"]
    assert any("h9" in each["where"] for each in page["findings"])
    assert fabric.read_bytes() == before


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("isc", "host a {"), ("isc", "}"), ("kea", "{"), ("kea", "x"), ("netbox", "[1]"), ("netbox", "3"),
        ("ansible", "[a\nb c='"), ("ansible", "{}"), ("slurm", "NodeName=a[1-999999999]"), ("slurm", "NodeName=a["),
        ("dnsmasq", f"dhcp-host={A},a,b"), ("ethers", ""),
        ("slurm", "NodeName=a[1-2]]"), ("slurm", "NodeName=a[2-1]"), ("slurm", "NodeName=a[[1-2]]"),
        ("slurm", "NodeName=a[1-400]b[1-400]"), ("slurm", "NodeName=bgl[000x733]"), ("arp", "router lladdr"),
        ("arp", f"{A} h0"), ("openwrt", "config host\n option name 'h0"), ("xcat", "#node,interface,mac\n"),
        ("warewulf", "nodes: [h0]"),
        ("warewulf", "nodes: {h0: {network devices: eth0}}"), ("warewulf", "nodes: {h0: {network devices: {a: 1}}}"),
         ("arp", "[1"), ("netbox", '[{"device": {"name": 3}, "mac_address": "x"}]'),
    ],
)  # fmt: skip
def test_what_is_no_list_is_bad_input(files, kind, text):
    listed, _ = files(text)
    with pytest.raises(InputError):
        read_host_list(listed, kind)


@pytest.mark.parametrize(
    "text",
    [
        *('"\\' * 50_000, "/*" * 50_000, "\n" * 100_000, "lease 1 {" * 50_000, "," * 100_000, "[" * 50_000),
        *(
            "NodeName=" + "a," * 50_000 + "[",
            "NodeName=" + "a[" * 50_000,
            "NodeName=" + "a[1]" * 50_000,
            "h0 (" * 50_000,
        ),
    ],
)
def test_no_text_takes_long_to_be_told(files, text):
    """Texts that make a pattern begin again at each of their characters; a minute's work, were it so."""
    for kind in READERS:
        listed, _ = files(text)
        with pytest.raises(InputError):
            read_host_list(listed, kind)
    with pytest.raises(InputError):
        read_host_list(listed)


def test_the_command_knows_every_reader():
    assert ("auto", *READERS) == FORMATS


@pytest.mark.parametrize(
    "text",
    [
        "network:\n  ethernets:\n    eth0: {match: {macaddress: 'x'}}\n",
        "127.0.0.1 localhost\n192.0.2.10 h0\n",
        "hostname,mac\nh0,1\n",
        '[{"name": "h0"}]',
        '{"nodes": 3}',
        "machines:\n- name: h0\n",
        "all:\n  hosts:\n    h0: {}\n",
        "<network>\n<host mac='00:1e:c9:00:00:0a' name='h0' ip='192.0.2.10'/>\n</network>\n",
        "h0,00:1e:c9:00:00:0a\n",
        "System: h0\nInterface: eth0\nMAC Address: 00:1e:c9:00:00:0a\n",
        "192.0.2.10 h0 00:1e:c9:00:00:0a\n",
        "IP Address   MAC Address         Hostname\n192.0.2.10   00:1e:c9:00:00:0a   h0\n",
        "",
        "What is this?\n",
    ],
)
def test_a_list_of_unknown_kind_names_the_kinds_there_are(files, run, text):
    listed, fabric = files(text)
    status, _, error = run("hosts", "import", listed, fabric)
    assert status == 2
    for kind in ("ethers", "dnsmasq", "ISC dhcpd", "Kea", "OpenWrt", "arp", "Slurm", "Warewulf", "xCAT", "NetBox"):
        assert kind in error
    assert "expected hosts with MAC addresses" not in error


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ("node[1-2]x[1-3]", "node1x1 node1x2 node1x3 node2x1 node2x2 node2x3"),
        ("rack[0-1]n[01-02]", "rack0n01 rack0n02 rack1n01 rack1n02"),
        ("n[8-10]", "n8 n9 n10"),
        ("n[08-10]-ib", "n08-ib n09-ib n10-ib"),
        ("n[1,3-4,010],login,gpu[0]", "n1 n3 n4 n010 login gpu0"),
        ("a[1,2]b[3]c[4-5]", "a1b3c4 a1b3c5 a2b3c4 a2b3c5"),
        ('"n[1-2]"', "n1 n2"),
        ("n[1-2],", "n1 n2"),
    ],
)
def test_slurms_host_lists_stand_for_their_nodes(files, words, names):
    for text in (
        f"nodename = {words} CPUs=4\n",
        f"NodeName={words[:3]}\\\n{words[3:]} State=UP # x\n",
        "".join(f"NodeName={each} Arch=x86_64 CoresPerSocket=8 \n   CPUAlloc=0\n\n" for each in names.split()),
    ):
        listed, _ = files(text)
        found = read_host_list(listed)
        assert (found.kind, [name for name, _ in found.names]) == ("slurm", names.split())


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"192.0.2.10 dev eth0 lladdr {A} REACHABLE\n", "192.0.2.10"),
        (f"fe80::1 dev eth0 lladdr {A} router STALE\n", "fe80::1"),
        (f"? (192.0.2.10) at {A} [ether] on eth0\n", "192.0.2.10"),
        (PROC_ARP, "192.0.2.10"),
        (WINDOWS_ARP, "192.0.2.10"),
        (SHOW_IP_ARP, "192.0.2.10"),
        (f"192.0.2.10       eth0             {A} \n", "192.0.2.10"),
        *((f"{heading}\n{row}\n", "192.0.2.10") for heading, row in ROUTERS),
        (f"192.0.2.9 dev eth0 lladdr {B} FAILED\n192.0.2.10 dev eth0 lladdr {A} REACHABLE\n", "192.0.2.10"),
    ],
)
def test_neighbors_without_a_name_are_named_by_their_ip_address(files, text, name):
    found = read_host_list(files(text)[0])
    assert (found.kind, [(each.name, each.mac) for each in found.addresses]) == ("arp", [(name, NUMBER[A])])


@pytest.mark.parametrize("row", ["inside h0 001e.c900.000a 5", f"net0  h0  255.255.255.255  SPLA  {A}", f"eth0 {A}"])
def test_an_interface_is_no_name_of_a_neighbor(files, row):
    """ASA and Solaris write the interface first, and may write the neighbor's name where others have its address."""
    with pytest.raises(InputError, match=r"list:1: expected a name or an IP address beside a MAC address \(arp\)"):
        read_host_list(files(row)[0], "arp")
    named = (
        f"h0.lab (192.0.2.10) at {A} on em0\n",
        f"Internet  h0.lab  5  {DOTS}  ARPA  Vlan1\n",
        f"h0.lab  ether  {A}  C  eth0\n",
    )
    for text in named:
        assert read_host_list(files(text)[0], "arp").addresses[0].name == "h0.lab"


@pytest.mark.parametrize("line", [f"192.0.2.10  {QUADS}  20  D-0  GE1/0/1", f" 0 DC  192.0.2.10  {A}  bridge"])
def test_a_routers_table_is_read_where_its_kind_is_named(files, line):
    found = read_host_list(files(line)[0], "arp")
    assert [(each.name, each.mac) for each in found.addresses] == [("192.0.2.10", NUMBER[A])]


def test_what_a_list_leaves_out_of_its_hosts_is_remarked(files):
    for text, words in (
        (f"config host\n\toption mac '{A}'\nconfig host\n\toption name h1\n\toption mac '{B}'\n", "a host with a name"),
        ("NodeName=h0\nInclude more.conf\n", "all nodes in one file"),
    ):
        assert words in " ".join(each.expected for each in read_host_list(files(text)[0]).remarks)


def test_facts_of_one_host_are_told_by_their_text(files):
    for facts in (
        {"ansible_hostname": "h0", "ansible_default_ipv4": {"macaddress": A}},
        {"hostname": "h0", "default_ipv4": {"macaddress": A}},
    ):
        found = read_host_list(files(json.dumps(facts))[0])
        assert (found.kind, [(each.name, each.mac) for each in found.addresses]) == ("ansible", [("h0", NUMBER[A])])
