"""LLDP discovery: from one seed the whole cabling, and where it is not as planned."""

from dataclasses import replace

import pytest

from fabrics import ROOT, make_fabric
from loopback import V3, served, snmp, switch
from tagloom import platforms
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.device import Quirks
from tagloom.lab.directory import Order
from tagloom.lab.mib import Neighbour as FarEnd
from tagloom.lab.mib import switch_mac
from tagloom.observe import cabling_of, differences, next_agents
from tagloom.observe.addresses import learn
from tagloom.observe.chassis import with_one_id_each
from tagloom.observe.discover import discover
from tagloom.observe.interpret import no_switch
from tagloom.observe.network import active_tree, edge_ports, read_switches
from tagloom.observe.objects import COLUMNS, LINKS
from tagloom.observe.stations import kind_of
from tagloom.read import format_fabric, read_fabric
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.fabric import Link, Switch
from tagloom.records.observation import Neighbour, Observation, SpanningTree, Vlans
from tagloom.records.switch_state import SwitchEditor
from tagloom.report.terminal import discovery_lines
from tagloom.units import format_mac


def cables(fabric):
    """Give a fabric's switches with their models, and its links, in no order."""
    names = [s.name for s in fabric.switches]
    ends = {frozenset(((names[k.a], k.a_port), (names[k.b], k.b_port))) for k in fabric.links}
    return {(s.name, s.model) for s in fabric.switches}, ends


def test_a_rack_of_sixty_four_switches_is_reproduced_from_one_seed(rack64, tmp_path, answer):
    """Same switches, models, links and ports; hosts do not speak LLDP in the rack, and so are not seen."""
    fabric, lab = rack64
    info = process.read_info(lab)
    seed = f"{info.agents['s27']}:{info.snmp_port}"
    status, page = answer(
        "discover", "--seed", seed, "-i", lab, "-o", tmp_path / "found.yml", "--against", lab.parent / "plan.yml"
    )
    assert (status, page["missing"], page["unexpected"], page["unreached"]) == (0, [], [], [])
    assert (page["switches"], page["links"], page["hosts"]) == (64, 256, 0)
    found = read_fabric(tmp_path / "found.yml")
    assert cables(found) == cables(fabric)
    assert [s.name for s in found.switches] == [s.name for s in fabric.switches]
    assert {s.name: s.address for s in found.switches} == info.agents
    assert page["fabric"] == (tmp_path / "found.yml").read_text() == format_fabric(found)


def test_what_is_cabled_otherwise_is_named(rack64, tmp_path, answer):
    """In the plan s0's third and fourth cables are swapped, one link is down, and one switch more is wanted."""
    fabric, lab = rack64
    info = process.read_info(lab)
    links = list(fabric.links)
    mine = [i for i, link in enumerate(links) if link.a == 0]
    one, two = links[mine[0]], links[mine[2]]
    links[mine[0]] = replace(one, b=two.b, b_port=two.b_port)
    links[mine[2]] = replace(two, b=one.b, b_port=one.b_port)
    plan = replace(
        fabric,
        shape=None,
        switches=(*fabric.switches, Switch("s64", "powerconnect-5324")),
        ports=(*fabric.ports, 24),
        links=(*links, Link(64, 1, 0, 24)),
    ).with_links_down({mine[1]})
    path = tmp_path / "plan.yml"
    path.write_text(format_fabric(plan))
    status, page = answer("discover", "--seed", f"{info.agents['s0']}:{info.snmp_port}", "-i", lab, "--against", path)
    assert status == 1

    def name(switch, port):
        return f"s{switch}:g{port}"

    def cable(*ends):
        return {tuple(sorted(ends))}

    planned = cable(name(0, one.a_port), name(two.b, two.b_port)) | cable(name(0, two.a_port), name(one.b, one.b_port))
    actual = cable(name(0, one.a_port), name(one.b, one.b_port)) | cable(name(0, two.a_port), name(two.b, two.b_port))
    assert {tuple(sorted(each.split(" - "))) for each in page["missing"][1:]} == planned | cable("s64:g1", "s0:g24")
    assert page["missing"][0] == "s64"
    assert {tuple(sorted(each.split(" - "))) for each in page["unexpected"]} == actual


def test_a_switch_that_does_not_answer_costs_its_own_row(rack64, answer):
    fabric, lab = rack64
    info = process.read_info(lab)
    process.quirks(lab, {"s9": {"mute": True}})
    try:
        seed = f"{info.agents['s0']}:{info.snmp_port}"
        status, page = answer("discover", "--seed", seed, "-i", lab, "--timeout", 4, "--retries", 0)
    finally:
        process.quirks(lab, {"s9": {"mute": False}})
    assert status == 3
    assert (page["switches"], page["links"]) == (63, 256 - 8)
    [lost] = page["unreached"]
    assert lost["name"] == "s9"
    assert "no answer in 4 s" in lost["why"]
    assert lost["told_by"] in {fabric.switches[n].name for n in (1, 8, 10, 17)}


def test_a_seed_that_does_not_answer_is_the_end(answer, rack64):
    status, page = answer("discover", "--seed", "127.0.0.1:9", "-i", rack64[1], "--timeout", 0.1, "--retries", 0)
    assert status == 3
    assert page["failed"] == ["127.0.0.1:9"]


def observed(name, *neighbours):
    return Observation(name, 0.0, name=name, neighbours=neighbours)


def model(*chassis):
    return dict.fromkeys(chassis, "powerconnect-5324")


def test_a_host_that_speaks_lldp_is_a_host_and_a_bridge_is_asked():
    host = Neighbour(7, "mac 02:00:00:00:00:01", "eth1", "node1", bridge=False, port_mac=0x0200_0000_0002)
    phone = Neighbour(8, "mac 02:00:00:00:00:09", "x", "", bridge=False)
    far = Neighbour(1, "mac 02:10:00:00:00:02", "g3", "s2", addresses=("192.0.2.2", "2001:db8::2"))
    seen = observed("s1", host, phone, far)
    assert next_agents([seen], {"one"}, 161) == {
        "mac 02:10:00:00:00:02": ((("192.0.2.2", 161), ("2001:db8::2", 161)), "s1")
    }
    found = cabling_of("x", {"one": seen}, model("one"), {}).fabric
    assert [(h.name, h.port, h.mac) for h in found.hosts] == [
        ("node1", 7, 0x0200_0000_0002),
        ("s1-g8", 8, 0x0200_0000_0009),
    ]


def test_switches_of_one_name_or_none_are_named_by_their_chassis():
    seen = {
        "mac 02:00:00:00:00:0a": observed("same"),
        "mac 02:00:00:00:00:0b": observed("same"),
        "local x y": observed(""),
    }
    found = cabling_of("x", seen, model(*seen), {}).fabric
    assert {s.name for s in found.switches} == {"x02000000000a", "x02000000000b", "xlocalxy"}


def test_one_end_is_enough_and_two_neighbours_at_one_port_are_named():
    seen = {
        "a": observed("s0", Neighbour(1, "b", "g1"), Neighbour(2, "b", "g2"), Neighbour(2, "c", "g2")),
        "b": observed("s1"),
        "c": observed("s2", Neighbour(3, "a", "not a port"), Neighbour(4, "c", "g5")),
    }
    found = cabling_of("x", seen, model(*seen), {})
    assert cables(found.fabric)[1] == {
        frozenset({("s0", 1), ("s1", 1)}),
        frozenset({("s0", 2), ("s1", 2)}),
    }
    assert found.complaints == (
        "s2:g3: s0 calls its end 'not a port'",
        "s2:g4: leads back to the same switch",
        (
            "s0:g2: more than one neighbour, s1:g2 and s2:g2; only the first is kept, and links in the fabric "
            "file settles it (discover --against)"
        ),
    )


PLANNED = """
name: pair
model: mikrotik-crs326-24g-2s
switches: {s1: {}, s2: {}}
hosts: {n1: {switch: s1, port: ether5, mac: ["02:1e:c9:00:00:01", "02:1e:c9:00:00:07"]}}
links: [["s1:ether2", "s2:ether1"]]
"""
PVE = "Debian GNU/Linux 12 (bookworm) Linux 6.5.11-pve #1 SMP x86_64"


def station(port, number, far_port="eno1", name="", **more):
    mac = 0x021E_C900_0000 + number
    host = Neighbour(port, f"mac 02:1e:c9:00:00:{number:02x}", far_port, name, bridge=False, port_mac=mac)
    return replace(host, **more)


def seen_by(*neighbours, plan=None, far=()):
    """Give the cabling of two RouterOS switches, s1 with these neighbours."""
    seen = {"a": observed("s1", *neighbours), "b": observed("s2", *far)}
    return cabling_of("x", seen, dict.fromkeys(seen, "mikrotik-crs326-24g-2s"), {}, plan)


@pytest.mark.parametrize(
    ("port", "description", "found"),
    [
        ("ether1", "", (1, ())),
        ("bridge/ether1", "", (1, ())),
        ("bridge1/bond1/ether1", "", (1, ())),
        ("bridge/sfp-sfpplus2", "", (26, ())),
        (
            "port-0001",
            "ether1",
            (1, ("s1:ether2: s2 calls its end 'port-0001', described as 'ether1': taken to be ether1",)),
        ),
        (
            "49",
            "bridge/ether1",
            (1, ("s1:ether2: s2 calls its end '49', described as 'bridge/ether1': taken to be ether1",)),
        ),
        (
            "ether1",
            "ether7",
            (
                1,
                (
                    (
                        "s1:ether2: s2 calls its end 'ether1', described as 'ether7': ether1 or ether7; the first is "
                        "taken, and links in the fabric file settles it (discover --against)"
                    ),
                ),
            ),
        ),
        ("bridge/5", "to rack 7", (None, ("s1:ether2: s2 calls its end 'bridge/5', described as 'to rack 7'",))),
    ],
)
def test_a_far_port_is_known_by_its_id_its_path_or_its_description(port, description, found):
    cabling = seen_by(Neighbour(2, "b", port, "s2", far_description=description))
    assert ([link.b_port for link in cabling.fabric.links] or [None], cabling.complaints) == ([found[0]], found[1])


def test_what_the_far_switch_sees_settles_how_its_port_is_called():
    """s2 sees s1's ether2 at its ether7: that is certain, whatever s2 calls the port."""
    for called in ({"far_port": "49"}, {"far_port": "ether1", "far_description": "ether7"}):
        cabling = seen_by(Neighbour(2, "b", **called), far=(Neighbour(7, "a", "bridge/ether2"),))
        assert [(x.a_port, x.b_port) for x in cabling.fabric.links] == [(2, 7)]
        assert cabling.complaints == ()
    cabling = seen_by(Neighbour(2, "b", "49"), far=(Neighbour(7, "a", "uplink"),))
    assert [(x.a_port, x.b_port) for x in cabling.fabric.links] == [(2, 7)]
    assert cabling.complaints == (
        (
            "s1:ether2: s2 calls its end '49'; taken to be s2:ether7, which is the only other port of the two switches "
            "that is not named ('uplink')"
        ),
    )
    cabling = seen_by(
        Neighbour(2, "b", "49"), Neighbour(3, "b", "50"), far=(Neighbour(7, "a", "x"), Neighbour(8, "a", "y"))
    )
    assert (cabling.fabric.links, len(cabling.complaints)) == ((), 4)


def test_cables_that_cross_are_known_by_their_ids_where_descriptions_name_the_far_end():
    one, other = Neighbour(1, "b", "ether2", "s2", far_description="ether1"), Neighbour(2, "b", "ether1", "s2")
    far = Neighbour(2, "a", "ether1", "s1", far_description="ether2"), Neighbour(1, "a", "ether2", "s1")
    named = replace(other, far_description="ether2"), replace(far[1], far_description="ether1")
    for own, theirs in (((one, other), far), ((one, named[0]), (far[0], named[1]))):
        cabling = seen_by(*own, far=theirs)
        assert [(x.a_port, x.b_port) for x in cabling.fabric.links] == [(1, 2), (2, 1)]
        assert cabling.complaints == ()


def test_an_address_at_two_ports_is_one_host_and_named_unless_the_fabric_file_says_where():
    """A station that was moved a minute ago stands at both; a fabric file with both could not be read."""
    here, there = station(3, 7, name="n7"), station(5, 7, name="n7")
    cabling = seen_by(here, far=(there,))
    assert [(host.switch, host.port) for host in cabling.fabric.hosts] == [(0, 3)]
    (said,) = cabling.complaints
    assert said.startswith("s1:ether3 and s2:ether5: 02:1e:c9:00:00:07 is announced at each")
    assert "hosts.n7.mac in the fabric file settles it" in said
    moved = seen_by(station(4, 4, name="n4"), far=(station(5, 7, name="n7"),)).fabric
    settled = seen_by(here, plan=moved, far=(there,))
    assert [(host.switch, host.port) for host in settled.fabric.hosts] == [(1, 5)]
    assert settled.complaints == ()
    beside = seen_by(replace(station(3, 9), name="bmc"), here, far=(there,), plan=moved)
    assert [(host.port, host.mac & 0xFF, host.also) for host in beside.fabric.hosts] == [(3, 9, ()), (5, 7, ())]


def test_stations_of_one_name_are_hosts_of_their_own_and_their_ports_name_them():
    """Every machine as it was installed is localhost; one calls itself as another's port would be called."""
    alike = [station(port, port, name="localhost") for port in (3, 13)]
    cabling = seen_by(*alike, station(4, 4, name="s1-ether13"))
    assert [(h.name, h.port) for h in cabling.fabric.hosts] == [
        ("s1-ether3", 3),
        ("s1-ether13", 4),
        ("s1-ether13-2", 13),
    ]
    assert cabling.complaints == ("2 stations call themselves localhost: each is named by its port",)
    ids = ("local sw-1", "local sw1")
    found = cabling_of("x", {each: Observation("s", 0.0, chassis=each) for each in ids}, model(*ids), {}).fabric
    assert [s.name for s in found.switches] == ["xlocalsw1", "xlocalsw1-2"]


def test_adopt_names_what_is_in_doubt_of_a_single_station():
    plan = {"a": observed("s1", station(5, 1, name="n1", doubt="it announces no capabilities"))}
    found = cabling_of("x", plan, model("a"), {}, with_hosts=False)
    assert found.fabric.hosts == ()
    assert "n1 (02:1e:c9:00:00:01) is read as a host, and may be a switch: it announces no capab" in found.complaints[0]
    silent = {"a": observed("s1", Neighbour(5, "local n2", "x", "n2", bridge=False))}
    assert cabling_of("x", silent, model("a"), {}, with_hosts=False).complaints == ()


def test_two_stations_at_one_port_are_one_host_with_both_addresses_and_named():
    """A management controller on the host's own port, whose chassis id is the higher one or the lower one."""
    for numbers in ((1, 7), (7, 1)):
        one, other = station(5, numbers[0], name="n1"), station(5, numbers[1], "NIC", "bmc1")
        cabling = seen_by(one, other)
        assert [(h.name, h.port, len(h.macs)) for h in cabling.fabric.hosts] == [("n1", 5, 2)]
        [words] = cabling.complaints
        assert "2 stations at one port, n1 (02:1e:c9" in words
        assert "bmc1 (02:1e:c9" in words
        assert "hosts.n1.mac" in words
        settled = seen_by(one, other, plan=parse_fabric(PLANNED, "plan"))
        assert (settled.complaints, settled.fabric.hosts[0].name) == ((), "n1")
    [words] = seen_by(station(5, 1, name="n1"), station(5, 9, name="n9"), plan=parse_fabric(PLANNED, "plan")).complaints
    assert "n9 (02:1e:c9:00:00:09)" in words
    card = replace(station(5, 1, "x"), chassis="mac 02:1e:c9:00:00:01", name="")
    assert [h.macs for h in seen_by(station(5, 1, name="n1"), card).fabric.hosts] == [(0x021E_C900_0001,)]
    [words] = seen_by(Neighbour(2, "b", "ether1"), station(2, 1, name="n1")).complaints
    assert words == "s1:ether2: a switch and the host n1 02:1e:c9:00:00:01 at one port; only the link is kept"


def test_a_host_without_an_address_of_its_port_is_named():
    cabling = seen_by(
        station(5, 1, name="n1", port_mac=None), station(6, 2, name="n2", port_mac=None, chassis="local x")
    )
    assert [h.name for h in cabling.fabric.hosts] == ["n1"]
    assert cabling.complaints == (
        (
            "s1:ether5: n1 (02:1e:c9:00:00:01) announces no MAC address of its port: its chassis id, "
            "02:1e:c9:00:00:01, is taken"
        ),
        "s1:ether6: n2 announces no MAC address: add it to hosts, with its mac",
    )


# enabled and supported capabilities, system, port; whether it is read as a switch, and what the doubt says
ANNOUNCED = [
    (b"\x28\0", None, "", "Gi1/0/12", True, ""),
    (b"\x01\0", b"\x29\0", "", "Gi1/0/12", False, ""),
    (None, None, "", "Gi1/0/12", True, "no capabilities"),
    (b"", None, "", "Gi1/0/12", True, "no capabilities"),
    (b"\0\0", b"\0\0", "", "", True, "no capabilities"),
    (b"\0\0", None, "", "eno1", False, "no capabilities"),
    (None, None, PVE, "lan1", False, "no capabilities"),
    (b"\x20\0", None, PVE, "eno1", False, "announces Bridge, but describes itself as 'Debian GNU/Linux"),
    (b"\x28\0", b"\x39\0", "Ubuntu 22.04.4 LTS Linux 5.15.0-101-generic", "ens18", False, "announces Bridge"),
    (b"\x20\0", None, "Debian GNU/Linux 12 Linux 6.1", "swp5", True, "announces Bridge"),
    (b"\x20\0", None, "VMware ESXi 7.0.3 Releasebuild-1", "vmnic0", False, "announces Bridge"),
    *((b"\x28\0", None, "", name, False, f"calls its port '{name}'") for name in ("enp3s0f1", "vmbr0", "docker0")),
    (b"\x28\0", None, "Dell Networking N2048, 6.3.3.7, Linux 3.7.10", "Gi1/0/1", True, ""),
    (b"\x28\0", None, "Cumulus Linux version 3.7.6 running on Dell S4048", "swp1", True, ""),
    (b"\x24\0", None, "IP Phone", "PC port", False, "announces Telephone beside Bridge"),
    (b"\x08\0", b"\x28\0", "", "Gi1/0/12", True, "it can bridge, but announces Router alone"),
    (b"\x08\0", b"\x28\0", PVE, "eno1", False, ""),
    # the TLV as it comes (Bridge and Router), a C-VLAN component, a port relay
    *((octets, octets, "", "port 3", True, "are none of LLDP-MIB") for octets in (b"\0\x14", b"\0\x80", b"\0\x20")),
    (b"\0\x80", None, PVE, "eno1", False, "its capabilities (00 80) are none"),
    (b"\x40", None, "TL-SG108E", "port 3", True, "announces Repeater alone"),
    (b"\x80\0", None, "", "eno1", False, "announces Other alone"),
    (b"\x01\0", b"\x29\0", "Cumulus Linux version 4.2", "swp3", True, "announces Station, not Bridge, but describes"),
    (b"\x90\0", None, "PowerConnect 5448", "g3", True, "announces Other and access point, not Bridge"),
    (b"\x04\0", b"\x24\0", "PowerConnect 5448", "g3", False, ""),
    (b"\x10\0", b"\x30\0", "Aruba AP", "x", False, ""),
    *((b"\x01\0", b"\x29\0", words, "swp3", False, "") for words in (PVE, "Linux test switch", "OpenWrt 23.05")),
]


@pytest.mark.parametrize(("enabled", "supported", "system", "port", "bridge", "doubt"), ANNOUNCED)
def test_a_neighbour_is_a_switch_or_a_host_by_what_it_announces_or_in_doubt(
    enabled, supported, system, port, bridge, doubt
):
    station = Neighbour(5, "mac 02:1e:c9:00:00:09", port, "x", system)
    assert kind_of(station, enabled, supported)[0] is bridge
    assert doubt in kind_of(station, enabled, supported)[1]
    assert bool(doubt) is bool(kind_of(station, enabled, supported)[1])


@pytest.mark.parametrize("enabled", [b"\x28\0", b"\0\0"])
def test_a_station_of_one_address_is_a_host_in_doubt(enabled):
    """The chassis id of a host with one card is the address of its port; a switch has another for each port."""
    assert kind_of(station(5, 9, "02:1e:c9:00:00:09"), enabled, None)[0] is False
    assert kind_of(station(5, 9, "", port_mac=0x021E_C900_0019), enabled, None)[0] is True
    assert kind_of(station(5, 9, "gi5"), enabled, None)[0] is True


def test_a_host_that_bridges_is_a_host_until_it_is_read_as_a_switch_and_the_file_settles_it():
    doubted = station(5, 1, name="n1", doubt="it announces Bridge, but describes itself as 'Debian'")
    assert list(next_agents([observed("s1", doubted)], (), 161)) == ["mac 02:1e:c9:00:00:01"]
    cabling = seen_by(doubted)
    assert [h.name for h in cabling.fabric.hosts] == ["n1"]
    [words] = cabling.complaints
    assert words.startswith(
        "s1:ether5: n1 (02:1e:c9:00:00:01) is read as a host, and may be a switch: it announces Bridge"
    )
    assert "hosts.n1 (switch, port) or links in the fabric file settles it" in words
    plan = parse_fabric(PLANNED, "plan")
    assert seen_by(doubted, plan=plan).complaints == ()
    for read_as_switch in (True, False):
        other = replace(doubted, port=2, bridge=read_as_switch)
        found = seen_by(other, plan=plan)
        assert (found.fabric.hosts, found.complaints) == ((), ())
        assert bool(seen_by(other).fabric.hosts) is not read_as_switch


def test_a_host_that_bridges_is_adopted_as_a_host_and_named_as_the_host_beside_its_controller():
    plan = replace(parse_fabric(PLANNED, "plan"), hosts=())
    state = {s.name: SwitchEditor.blank(26).freeze() for s in plan.switches}
    bridging = station(5, 1, name="pve1", doubt="it announces Bridge, but describes itself as 'Debian'")
    learned = Vlans(learned={(1, bridging.port_mac): 5, (1, 0x021E_C900_0007): 5})
    seen = {"s1": replace(observed("s1", station(5, 7, "NIC", "bmc1"), bridging), vlans=learned), "s2": observed("s2")}
    edge = edge_ports(plan, state, seen, {}, {"s1": {}, "s2": {}})
    assert [(name, port, macs) for name, _, port, macs in edge.hosts] == [
        ("pve1", 5, (0x021E_C900_0001, 0x021E_C900_0007))
    ]
    assert edge.uplinks == ()


def test_a_link_of_the_file_is_kept_where_two_switches_are_seen():
    both = Neighbour(2, "b", "ether1"), Neighbour(2, "b", "ether9")
    assert len(seen_by(*both).complaints) == 1
    found = seen_by(*both[::-1], plan=parse_fabric(PLANNED, "plan"))
    assert ([x.b_port for x in found.fabric.links], found.complaints) == ([1], ())


def test_a_neighbour_with_the_id_of_one_switch_and_the_name_of_another_is_named():
    one, two, three = (
        Observation(name, 0.0, name=name, chassis=f"mac 02:10:00:00:00:0{number}")
        for number, name in enumerate(("s1", "s2", "s3"), start=1)
    )
    said = {}
    for name in ("s2", "s3", "s9", ""):
        sees = replace(one, neighbours=(Neighbour(4, three.chassis, "g3", name),))
        said[name] = with_one_id_each({"a": sees, "b": two, "c": three})["a"].complaints
    reading = "port 4: a neighbour announces the chassis id of s3 and the name of s2: taken to be s3"
    assert said == {"s2": (reading,), "s3": (), "s9": (), "": ()}


def test_a_switch_without_a_chassis_id_is_known_by_its_neighbours():
    far = "mac 02:10:00:00:00:02"
    one = Observation("a", 0.0, name="s1", chassis="mac 02:10:00:00:00:01", neighbours=(Neighbour(1, far, "g3", "s2"),))
    two = Observation("b", 0.0, name="s2", neighbours=(Neighbour(3, one.chassis, "g1", "s1"),))
    found = with_one_id_each({"a": one, "b": two})
    assert found["b"].chassis == far
    assert "taken to be this switch by its name" in found["b"].complaints[0]
    named = replace(two, chassis="local other")
    again = with_one_id_each({"a": one, "b": named})
    assert again["a"].neighbours[0].chassis == again["b"].chassis == "local other"
    alone = with_one_id_each({"b": two})
    assert (alone["b"].chassis, len(alone["b"].complaints)) == ("name s2", 1)
    # two ids by one name, and a name of a switch that others see by its own id, join nothing
    twice = replace(one, neighbours=(*one.neighbours, Neighbour(2, "mac 02:10:00:00:00:03", "g3", "s2")))
    found = with_one_id_each({"a": twice, "b": two})
    assert found["b"].chassis == "name s2"
    assert "2 ids are reported by its name" in found["b"].complaints[0]
    own = replace(two, chassis="mac 02:10:00:00:00:03")
    assert with_one_id_each({"a": twice, "b": own}) == {"a": twice, "b": own}


def test_a_link_that_is_wanted_down_is_not_missed(rack64):
    fabric, _ = rack64
    less = replace(fabric, links=fabric.links[1:])
    assert differences(fabric.with_links_down({0}), less) == ((), ())
    assert len(differences(fabric, less)[0]) == 1
    assert differences(fabric.with_links_down({0}), fabric) == ((), ())


def test_a_switch_of_no_known_model_is_named_and_model_says_what_it_is():
    device, agent = switch()
    other, far = switch(number=1)
    agent.tree.neighbours = lambda: {5: FarEnd(other, 1, 6, "127.0.0.1")}
    device.platform = replace(device.platform, sys_object_id=("1.3.6.1.4.1.9.1.1",), model="strange", title="Strange")
    with served(agent, far) as [seed, _], snmp(V3) as wire:
        with pytest.raises(
            DeviceError, match=r"no model answers with sysObjectID 1\.3\.6\.1\.4\.1\.9\.1\.1, 'Strange'"
        ):
            discover("x", [seed], wire.ask)
        found = discover("x", [seed], wire.ask, "powerconnect-5324")
    assert [s.model for s in found.fabric.switches] == ["powerconnect-5324"]
    assert [each.why for each in found.unreached] == ["the agent at 127.0.0.1 is s0, not this switch"]


def test_a_seed_without_a_chassis_id_is_known_by_its_bridge_address():
    device, agent = switch()
    other, far = switch(number=1)
    agent.tree.neighbours = lambda: {5: FarEnd(other, 1, 6, "127.0.0.1")}
    far.tree.neighbours = lambda: {6: FarEnd(device, 0, 5, "127.0.0.1")}
    device.quirks = Quirks(hide=r"^1\.0\.8802\.1\.1\.2\.1\.3\.[12]$")
    with served(agent, far) as [seed, second], snmp(V3) as wire:
        found = discover("x", [seed, second], wire.ask)
    assert [(x.a_port, x.b_port) for x in found.fabric.links] == [(5, 6)]
    assert [s.name for s in found.fabric.switches] == ["s0", "s1"]
    assert [words for words in found.complaints if "lldpLocChassisId" in words] == [
        "s0: lldpLocChassisId: missing; taken to be the bridge's address, " + format_mac(switch_mac(0))
    ]


def test_an_agent_that_calls_itself_as_another_of_the_inventory_is_named():
    (_, one), (_, two) = switch("powerconnect-6224"), switch("powerconnect-6224", number=1)
    with served(one, two) as [a, b], snmp(V3) as wire:
        raw = wire.ask({"s1": a, "s0": b}, LINKS)
        swapped, _, _ = read_switches(raw)
        other, _, _ = read_switches({"x": raw["s1"], "y": raw["s0"]})
        fabric = make_fabric("mesh", 2, model="powerconnect-6224")
        learned = {
            order: learn(fabric, dict(zip(order, (a, b), strict=True)), wire.ask)
            for order in (("s0", "s1"), ("s1", "s0"))
        }
    assert [set(changes.failed) for changes in learned.values()] == [set(), {"s0", "s1"}]
    assert "tagloom_own_name" in learned["s1", "s0"].failed["s1"]
    said = {name: [words for words in shown.complaints if "calls itself" in words] for name, shown in swapped.items()}
    assert [len(words) for words in said.values()] == [1, 1]
    assert "calls itself s0, the name of another switch" in said["s1"][0]
    assert not [words for shown in other.values() for words in shown.complaints if "calls itself" in words]


@pytest.mark.parametrize("runs", [True, False])
def test_a_port_that_is_blocked_though_it_runs_no_spanning_tree_is_a_finding(runs):
    two_links = PLANNED.replace('"s2:ether1"]', '"s2:ether1"], ["s1:ether3", "s2:ether3"]')
    plan = parse_fabric(two_links, "plan")
    editor = SwitchEditor.blank(26)
    editor.port_spanning_tree[1] = runs
    tree = SpanningTree("02" * 6, "02" * 6, 0, frozenset({1, 2}), frozenset())
    seen = {name: replace(observed(name), spanning=tree) for name in ("s1", "s2")}
    found = active_tree(plan, dict.fromkeys(seen, editor.freeze()), seen)
    assert found.blocked == ((0, 2), (1, 1))
    why = "s1:ether2: expected spanning tree at a port that its agent calls blocked, actual off, in its text"
    assert [str(finding) for finding in found.findings] == ([] if runs else [why])


def test_a_linux_machine_without_a_port_of_the_model_is_no_switch():
    """A host with snmpd answers as Linux, too."""
    _, agent = switch("linux-bridge")
    with served(agent) as [seed], snmp(V3) as wire:
        raw = wire.ask({"x": seed}, LINKS)["x"]
    assert no_switch(raw, platforms.load("linux-bridge")) == ""
    for column in ("ifName", "ifDescr"):
        raw.columns[COLUMNS[column]] = {(1,): b"lo", (2,): b"eno1", (3,): b"vmbr0"}
    seen, models, failed = read_switches({"x": raw})
    assert (seen, models) == ({}, {})
    assert "a Linux machine without a port of linux-bridge (swp1 to swp64)" in failed["x"]


def test_remarks_beyond_those_shown_are_counted():
    payload = {"switches": 1, "links": 0, "hosts": 0, "unreached": [], "complaints": [f"r{n}" for n in range(50)]}
    text = "\n".join(discovery_lines(payload, ""))
    shown = text.count("remark    r")
    assert 0 < shown < 50
    assert f"and {50 - shown} more remarks (all with --json)" in text


LAGS = """
name: pair
model: powerconnect-5324
switches: {s0: {}, s1: {}}
hosts:
  h0: {switch: s0, port: g24, mac: "02:00:00:00:00:01"}
  h1: {switch: s1, port: g24, mac: "02:00:00:00:00:02"}
links:
  - {ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: [1, 3]}
  - ["s0:g5", "s1:g5"]
"""


@pytest.fixture(scope="module")
def aggregated(tmp_path_factory):
    """Yield the home of a running rack of two blank switches, cabled for an aggregated link."""
    home = tmp_path_factory.mktemp("aggregated")
    (home / "plan.yml").write_text(LAGS)
    process.up(Order(read_fabric(home / "plan.yml"), ROOT / "templates"), home / "lab")
    yield home
    process.down(home / "lab")


def test_aggregated_links_are_found_and_compared(aggregated, answer, tmp_path):
    info = process.read_info(aggregated / "lab")
    words = ["discover", "--seed", f"{info.agents['s0']}:{info.snmp_port}", "-i", aggregated / "lab"]
    words += ["--against", aggregated / "plan.yml", "-o", tmp_path / "found.yml"]
    status, page = answer(*words)
    assert (status, page["unexpected"], page["links"]) == (1, [], 3)
    assert page["missing"] == ["aggregated: s0:g1 - s1:g1, s0:g2 - s1:g2"]
    assert answer("plan", aggregated / "plan.yml", "-o", aggregated / "build")[0] == 0
    assert answer("apply", aggregated / "build", "-i", aggregated / "lab", "--allow", "interrupt")[0] == 0
    status, page = answer(*words)
    assert (status, page["missing"], page["unexpected"], page["links"]) == (0, [], [], 2)
    plan, found = read_fabric(aggregated / "plan.yml"), read_fabric(tmp_path / "found.yml")
    assert set(found.links) == set(plan.links)
    single = tmp_path / "single.yml"
    single.write_text(
        LAGS.replace('{ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: [1, 3]}', '["s0:g1", "s1:g1"]')
    )
    words[words.index("--against") + 1] = single
    status, page = answer(*words)
    assert (status, page["missing"], page["unexpected"]) == (1, [], ["s0:g2 - s1:g2"])


def test_a_switch_that_does_not_tell_its_port_channels_is_not_blamed_for_them():
    plan = parse_fabric(LAGS, "plan")
    cables = tuple(Link(0, port, 1, port, parallel_link=i) for i, port in enumerate((1, 2, 5)))
    found = replace(plan, links=cables)
    assert differences(plan, found) == (("aggregated: s0:g1 - s1:g1, s0:g2 - s1:g2",), ())
    assert differences(plan, found, silent=("s1",)) == ((), ())
    assert differences(found, plan) == ((), ("aggregated: s0:g1 - s1:g1, s0:g2 - s1:g2",))
