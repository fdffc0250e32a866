"""LLDP discovery: from one seed the whole cabling, and where it is not as planned."""

from dataclasses import replace

import pytest

from fabrics import ROOT
from loopback import V3, served, snmp, switch
from tagloom.errors import DeviceError
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.lab.mib import Neighbour as FarEnd
from tagloom.observe import cabling_of, differences, next_agents
from tagloom.observe.discover import discover
from tagloom.read import format_fabric, read_fabric
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.fabric import Link, Switch
from tagloom.records.observation import Neighbour, Observation


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
        ("x08", 8, 0x0200_0000_0009),
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
        "s0:g2: more than one neighbour; only the first is kept",
    )


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
