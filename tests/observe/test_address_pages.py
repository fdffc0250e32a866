"""Pages of learnt addresses, as switches of each family print them, against the second reader that tests have."""

import json

import pytest

from fabrics import ROOT, make_fabric
from judges.shows import read_addresses
from tagloom.observe.address_pages import NO_VLAN, address_page
from tagloom.observe.addresses import learn
from tagloom.observe.objects import COLUMNS
from tagloom.platforms import load
from tagloom.records.snmp import Raw

SHOWS = ROOT / "tests" / "data" / "shows"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("powerconnect-5448", "dell_powerconnect_addresses"),
        ("powerconnect-6248", "62xx_addresses"),
        ("n-series", "dell_os6_addresses"),
    ],
)
def test_learnt_rows_of_real_pages_are_those_of_the_second_reader(model, name):
    platform, text = load(model), (SHOWS / f"{name}.txt").read_text("utf-8")
    theirs = {
        (row.vlan, row.mac): platform.port_number(row.port)
        for row in read_addresses(text)
        if row.kind == "dynamic" and platform.port_number(row.port)
    }
    assert theirs
    assert address_page(platform, text).learned == theirs


def test_static_and_management_rows_are_passed_over_and_another_page_is_none():
    page = (
        "Aging time is 300 sec\n\n  Vlan        Mac Address       Port     Type\n-------- ------------- ------ ------\n"
        "  100      02:00:00:00:00:01    g3    static\n  100      00:1e:c9:00:00:05    g4    dynamic\n"
        "  1        00:1e:c9:00:00:06    0     self\n  1        00:1e:c9:00:00:07    g99    dynamic\n"
    )
    platform = load("powerconnect-5324")
    assert address_page(platform, page).learned == {(100, 0x001E_C900_0005): 4}
    assert address_page(platform, "% Unrecognized command\n") is None


def test_a_bridge_shows_what_nobody_pinned():
    rows = [
        {"mac": "00:1e:c9:00:00:05", "ifname": "swp4", "vlan": 100, "flags": [], "master": "br0", "state": ""},
        {"mac": "00:1e:c9:00:00:06", "ifname": "swp4", "vlan": 100, "flags": [], "master": "br0", "state": "static"},
        {"mac": "33:33:00:00:00:01", "ifname": "eth0", "flags": ["self"], "state": "permanent"},
        "odd",
    ]
    assert address_page(load("linux-bridge"), json.dumps(rows)).learned == {(100, 0x001E_C900_0005): 4}
    assert address_page(load("linux-bridge"), "not JSON") is None


X = 0x021E_C900_0000  # 02:1e:c9:00:00:00
EOS_PAGE = (
    "          Mac Address Table\n\nVlan    Mac Address       Type        Ports      Moves   Last Move\n"
    "   1    021e.c900.0001    DYNAMIC     Et3        1       0:08:16 ago\n"
    "   1    021e.c900.0002    DYNAMIC     Et4        1       9 days, 15:57:28 ago\n"
    "   1    021e.c900.0003    DYNAMIC     Et5        1       1 day, 0:00:01 ago\n"
    "   2    021e.c900.0004    DYNAMIC     Po2        1       1 day, 0:00:01 ago\n"
    "   2    021e.c900.0005    STATIC      Cpu\n   2    021e.c900.0006    DYNAMIC     Et1\n"
    "Total Mac Addresses for this criterion: 6\n\n          Multicast Mac Address Table\n"
    "Vlan    Mac Address       Type        Ports\n   4    0100.5e00.0001    STATIC      Et3 Et4\n"
    "Total Mac Addresses for this criterion: 1\n"
)
COMWARE_5 = (
    "MAC ADDR       VLAN ID  STATE          PORT INDEX               AGING TIME(s)\n"
    "021e-c900-0001 1        Learned        Bridge-Aggregation1      AGING\n"
    "021e-c900-0002 10       Learned        GigabitEthernet1/0/20    NOAGED\n"
    "021e-c900-0003 10       Learned        Ten-GigabitEthernet1/0/25 AGING\n"
    "021e-c900-0004 10       Config static  GigabitEthernet1/0/4     NOAGED\n"
    "\n  ---  4 mac address(es) found  ---\n"
)
HUAWEI_LONG = (
    "MAC Address    VLAN/VSI/BD                       Learned-From        Type\n"
    "021e-c900-0001 10/-/-                            GigabitEthernet0/0/1 dynamic\n"
    "021e-c900-0002 -/-/-                             XGigabitEthernet0/0/2 dynamic\n"
    "021e-c900-0003 10/-                              Eth-Trunk1          dynamic\n"
    "021e-c900-0004 10/-                              GE0/0/3             sticky\n"
    "Total items displayed = 4\n"
)
ROS_PAGE = (
    "Aging time is 300 sec\n\n  Vlan        Mac Address       Port     Type\n"
    "   5       02-1E-C9-00-00-01    g48    dynamic\n   6       02:1e:c9:00:00:02    ch1    Dynamic\n"
)
FASTPATH_OLD = (
    "Mac Address                Interface   IfIndex    Status      Vlan\n"
    "00:07:02:1E:C9:00:00:01    1/g22       22         Learned\n"
    "00:01:02:1E:C9:00:00:02    0/3/1       65         Management\n"
)
OS6_PAGE = (
    "Aging time is 300 Sec\n\nVlan     Mac Address           Type        Port\n"
    "1        021E.C900.0001        Dynamic     Gi1/0/1\n1        021E.C900.0002        Management  Vl1\n"
    "2        021E.C900.0003        Dynamic     Po1\n\nTotal MAC Addresses in use: 3\n"
)
ROUTEROS_PAGE = (
    "0 D   mac-address=02:1E:C9:00:00:01 interface=ether4 bridge=bridge on-interface=ether4\n"
    "1 D E mac-address=02:1E:C9:00:00:02 vid=1 interface=ether5 bridge=bridge on-interface=ether5\n"
    "2 DLE mac-address=02:1E:C9:00:00:03 interface=bridge bridge=bridge on-interface=bridge\n"
    "3 DL  mac-address=02:1E:C9:00:00:04 interface=ether4 bridge=bridge on-interface=ether4\n"
    "4     mac-address=02:1E:C9:00:00:05 vid=9 interface=ether6 bridge=bridge on-interface=ether6\n"
    "5 D   mac-address=02:1E:C9:00:00:06 vid=9 interface=bond1 bridge=bridge on-interface=bond1\n"
)
BRIDGE_ROWS = [
    {"mac": "02:1e:c9:00:00:01", "ifname": "lan1", "flags": [], "master": "br0", "state": ""},
    {"mac": "02:1e:c9:00:00:02", "ifname": "lan2", "vlan": 1, "flags": ["offload"], "master": "br0", "state": "stale"},
    {"mac": "02:1e:c9:00:00:02", "ifname": "lan2", "vlan": 1, "flags": ["self"], "state": ""},
    {"mac": "02:1e:c9:00:00:03", "ifname": "vxlan7", "dst": "192.0.2.1", "master": "br0", "state": ""},
]


@pytest.mark.parametrize(
    ("model", "page", "learned"),
    [
        ("arista-7050tx-64", EOS_PAGE, {(1, X + 1): 3, (1, X + 2): 4, (1, X + 3): 5, (2, X + 6): 1}),
        ("hpe-5130-24g-4sfp", COMWARE_5, {(10, X + 2): 20, (10, X + 3): 25}),
        ("huawei-s5731-s24t4x", HUAWEI_LONG, {(10, X + 1): 1, (NO_VLAN, X + 2): 26}),
        ("powerconnect-5448", ROS_PAGE, {(5, X + 1): 48, (6, X + 2): 49}),
        ("powerconnect-6248", FASTPATH_OLD, {(7, X + 1): 22}),
        ("n-series", OS6_PAGE, {(1, X + 1): 1, (2, X + 3): 51}),
        ("huawei-s5731-s24t4x", HUAWEI_LONG.replace("displayed =", ":"), {(10, X + 1): 1, (NO_VLAN, X + 2): 26}),
        ("mikrotik-crs326-24g-2s", ROUTEROS_PAGE, {(NO_VLAN, X + 1): 4, (1, X + 2): 5}),
        ("linux-bridge:lan1-4", json.dumps(BRIDGE_ROWS), {(NO_VLAN, X + 1): 1, (1, X + 2): 2}),
        ("hpe-5130-24g-4sfp", "  ---  0 mac address(es) found  ---\n", {}),
        ("huawei-s5731-s24t4x", "Total items displayed = 0\n", {}),
        ("mikrotik-crs326-24g-2s", "", {}),
        ("linux-bridge:lan1-4", "[]", {}),
    ],
)
def test_every_row_of_a_table_is_read_or_is_of_another_kind(model, page, learned):
    assert address_page(load(model), page) == (learned, ())


@pytest.mark.parametrize(
    ("model", "page", "old", "new"),
    [
        ("arista-7050tx-64", EOS_PAGE, "DYNAMIC     Et4", "DYN         Et4"),
        ("arista-7050tx-64", EOS_PAGE, "Et4", "Et4/9"),
        ("arista-7050tx-64", EOS_PAGE, "criterion: 6", "criterion: 9"),
        ("hpe-5130-24g-4sfp", COMWARE_5, "GigabitEthernet1/0/20 ", "GigabitEthernet3/0/20 "),
        ("hpe-5130-24g-4sfp", COMWARE_5, "10       Learned        G", "10       Lernt          G"),
        ("huawei-s5731-s24t4x", HUAWEI_LONG, "GigabitEthernet0/0/1 dynamic", "GigabitEthernet0/0/1 dynamik"),
        ("huawei-s5731-s24t4x", HUAWEI_LONG, "displayed = 4", "displayed = 40"),
        ("huawei-s5731-s24t4x", HUAWEI_LONG, " displayed = 4", ": 5"),
        ("n-series", OS6_PAGE, "in use: 3", "in use:206"),
        ("n-series", OS6_PAGE, "Gi1/0/1", "Gi2/0/1"),
        ("powerconnect-5448", ROS_PAGE, "g48", "g99"),
        ("mikrotik-crs326-24g-2s", ROUTEROS_PAGE, "on-interface=ether5", "on-interface=wlan1"),
        ("mikrotik-crs326-24g-2s", ROUTEROS_PAGE, "vid=1 ", "vid=a "),
        ("mikrotik-crs326-24g-2s", ROUTEROS_PAGE, "1 D E mac", "* D E mac"),
        ("linux-bridge:lan1-4", json.dumps(BRIDGE_ROWS), '"lan1"', '"lan9"'),
        ("linux-bridge:lan1-4", json.dumps(BRIDGE_ROWS), '"vlan": 1, "flags": ["offload"]', '"vlan": "1"'),
        ("linux-bridge:lan1-4", json.dumps(BRIDGE_ROWS), "[{", '["odd", {'),
    ],
)
def test_a_row_that_is_not_understood_is_counted_and_named(model, page, old, new):
    assert old in page
    found = address_page(load(model), page.replace(old, new))
    assert len(found.unread) == 1


def test_hosts_learn_names_the_rows_that_it_could_not_read():
    fabric = make_fabric("ring", 3)
    rows = [*BRIDGE_ROWS, *({**BRIDGE_ROWS[0], "ifname": f"eth{n}"} for n in (70, 71, 72))]
    changes = learn(fabric, {}, None, pages=lambda models: (dict.fromkeys(models, json.dumps(rows)), {}))
    named = [each for each in changes.findings if each.expected == "rows of its address table that can be read"]
    assert [each.where for each in named] == [switch.name for switch in fabric.switches]
    assert all("that cannot, the first: " in each.actual for each in named)


def test_hosts_learn_names_what_it_could_not_read_over_snmp():
    """A walk that did not end, and a table none of whose rows can be read."""
    fabric = make_fabric("ring", 3)
    at_port_1 = {"dot1dBasePortIfIndex": 1, "dot1qTpFdbPort": 1, "dot1qTpFdbStatus": 3, "ifName": b"swp1"}
    index = {"dot1dBasePortIfIndex": (1,), "ifName": (1,)}
    rows = {COLUMNS[name]: {index.get(name, (1, 2, 30, 201, 0, 0, 1)): value} for name, value in at_port_1.items()}
    rows[COLUMNS["dot1qPvid"]] = {}
    other = rows | {COLUMNS["dot1qTpFdbStatus"]: {}}
    walk = f"its walk of {'.'.join(map(str, COLUMNS['dot1dTpFdbPort']))} takes too long"
    raws = {
        "s0": Raw(1.0, columns=rows),
        "s1": Raw(1.0, columns=rows, complaints=(walk,)),
        "s2": Raw(1.0, columns=other),
    }
    findings = learn(fabric, dict.fromkeys(raws, ("", 0)), lambda _agents, _wanted: raws).findings
    named = [(each.where, each.actual) for each in findings if "whose rows can all be read" in each.expected]
    assert named == [("s1", walk), ("s2", "dot1qTpFdbTable: a row without its status")]


@pytest.mark.parametrize(
    "mac", ["001ec9000005", "001ec9-000005", "001e:c900:0005", "0:1e:c9:0:0:5", "00.1e.c9.00.00.05", "001122334455"]
)
def test_a_row_whose_address_is_written_as_no_family_does_is_named(mac):
    rows = f"100  0000.5e00.5301  1/g1  Dynamic\n100  {mac}  1/g2  Dynamic\n100  {mac}  1/g3  Static\n"
    page = address_page(load("powerconnect-6224"), f"Vlan  Mac Address  Port  Type\n{rows}")
    assert (len(page.learned), page.unread) == (1, (f"100  {mac}  1/g2  Dynamic",))
