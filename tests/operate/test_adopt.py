"""tagloom adopt on a running rack under spanning tree: a fabric file, and the proof of what runs there today."""

import json

import pytest

from command_line.terminal import Terminal
from tagloom.lab import process
from tagloom.pipeline import parse
from tagloom.platforms.port_names import port_name
from tagloom.read import read_fabric
from tagloom.read.active_tree import read_active_tree

GATEWAY = ", ".join(f'"00:1e:c9:00:01:{n:02x}"' for n in range(12))
RING = f"""name: rack
model: powerconnect-5324
shape: {{family: ring, dims: [4], parallel: 2}}
switches: {{s1: {{model: powerconnect-6224}}}}
hosts:
  h0: {{mac: "00:1e:c9:00:00:00"}}
  h1: {{mac: ["00:1e:c9:00:00:01", "00:1e:c9:00:00:11"]}}
  h2: {{mac: "00:1e:c9:00:00:02"}}
  h3: {{mac: "00:1e:c9:00:00:03"}}
  gateway: {{switch: s2, port: g24, mac: [{GATEWAY}]}}
"""
ACCESS = ["switchport mode access", "switchport access vlan 10", "exit"]
TAGGED = ["switchport mode general", "switchport general allowed vlan add 10 tagged", "exit"]
INVENTORY = "ours/hosts.yml"


def vlan_10(*tagged):
    links = [line for port in tagged for line in (f"interface ethernet {port}", *TAGGED)]
    return ["vlan database", "vlan 10", "exit", *links, "interface ethernet g20", *ACCESS]


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Give a terminal beside a rack of which nobody but its operators knows anything: spanning tree, VLAN 10."""
    terminal = Terminal(tmp_path_factory.mktemp("adopt"))
    (terminal.home / "rack.yml").write_text(RING)
    with terminal.lab("rack.yml"):
        terminal.type("s0", *vlan_10("g1", "g2"))
        terminal.type("s3", *vlan_10("g3", "g4"))
        terminal.type("s2", "interface ethernet g5", "description node07", "exit")
        terminal.type("s3", "interface ethernet g5", "description to the window", "exit")
        info = process.read_info(terminal.rack)
        hosts = {name: {"ansible_host": "127.0.0.1", "ansible_port": port} for name, port in info.ports.items()}
        login = {
            "ansible_user": "lab",
            "ansible_password": "lab",
            "tagloom_known_hosts": str(terminal.rack / "known_hosts"),
        }
        ours = terminal.home / "ours"
        ours.mkdir()
        (ours / "hosts.yml").write_text(json.dumps({"all": {"hosts": hosts, "vars": login}}))
        (ours / "snmp.yml").write_text((terminal.rack / "snmp.yml").read_text())
        terminal("lab", "ping")
        yield terminal


def cables_of(fabric):
    return {frozenset({(x.a, x.a_port), (x.b, x.b_port)}) for x in fabric.links}


@pytest.fixture(scope="module")
def adopted(running):
    words = ("adopt", "-i", INVENTORY, "-o", "f.yml", "--running", "now", "--replace")
    return running.answer(*words), read_fabric(running.home / "f.yml")


def test_a_live_network_becomes_a_fabric_file_that_plans(running, adopted):
    page, fabric = adopted
    rack = read_fabric(running.home / "rack.yml")
    assert {s.name: s.model for s in fabric.switches} == {s.name: s.model for s in rack.switches}
    assert cables_of(fabric) == cables_of(rack)
    assert len(fabric.links) == len(rack.links) == page["links"]
    at = {(h.switch, h.port): h.macs for h in rack.hosts if h.name != "gateway"}
    assert {(h.switch, h.port): h.macs for h in fabric.hosts} == at
    assert {h.name for h in fabric.hosts} == {"s0-g5", "s1-1-g5", "node07", "s3-g5"}
    assert [each["where"] for each in page["proposed_uplinks"]] == ["s2:g24"]
    assert 'uplink-s2: {switch: "s2", port: "g24", uplink: true}' in page["fabric"]
    assert fabric.reserved == ((0, 20), (3, 20))
    assert running.answer("plan", "f.yml", "-o", "build")["deadlock_free"]


def test_the_proof_of_what_runs_is_what_the_rack_does(adopted):
    page, fabric = adopted
    pairs = len(fabric.hosts) * (len(fabric.hosts) - 1)
    assert (page["proven"], page["reachable_pairs"], page["unreachable_pairs"]) == (True, pairs, 0)
    assert (page["storm_free"], page["broadcast_exactly_once"], page["deadlock_free"]) == (True, True, True)
    assert (page["off_path_pairs"], page["findings"], page["failed"]) == (0, [], [])
    (vlan,) = page["foreign"]
    assert (page["foreign_vlans"], vlan["vlan"], vlan["ports"], vlan["links"]) == ([10], 10, ["s0:g20", "s3:g20"], 2)
    assert page["root"] == "s0"
    assert page["assumed"] == ""
    ends = [{port_name(fabric, x.a, x.a_port), port_name(fabric, x.b, x.b_port)} for x in fabric.links]
    assert sum(not each & set(page["blocked"]) for each in ends) == len(fabric.switches) - 1


def test_what_runs_is_kept_without_secrets_beside_the_active_tree(running, adopted):
    page, fabric = adopted
    tree = read_active_tree(running.home / "now")
    assert (tree.root, tree.blocked) == (page["root"], page["blocked"])
    texts = {name: (running.home / "now" / f"{name}.cfg").read_text() for name in fabric.index}
    state, unknown = parse(fabric, texts)
    assert unknown == []
    assert state == parse(fabric, process.configurations(running.rack))[0]


def test_nothing_is_written_to_switches_or_over_a_file(running):
    before = process.configurations(running.rack)
    (running.home / "mine.yml").write_text("mine\n")
    page = running.answer("adopt", "-i", INVENTORY, "-o", "mine.yml", expect=2)
    assert page["findings"][0]["where"] == "mine.yml"
    assert (running.home / "mine.yml").read_text() == "mine\n"
    assert process.configurations(running.rack) == before


def test_names_of_hosts_come_from_lists(running):
    (running.home / "ethers").write_text("00:1e:c9:00:00:11 alpha\n00:1e:c9:00:00:02 beta\n")
    page = running.answer("adopt", "-i", INVENTORY, "--names", "ethers")
    assert "  alpha: {switch: s1" in page["fabric"]
    assert "  beta: {switch: s2" in page["fabric"]
    assert page["wrote"] == []


def test_a_switch_that_does_not_answer_is_named_and_no_file_is_written(running):
    words = ("adopt", "-i", INVENTORY, "-o", "none.yml", "--timeout", 0.5, "--retries", 0)
    process.quirks(running.rack, {"s3": {"mute": True}})
    try:
        page = running.answer(*words, expect=3)
    finally:
        process.quirks(running.rack, {"s3": {"mute": False}})
    assert (page["failed"], page["switches"], page["wrote"]) == (["s3"], 3, [])
    assert page["unread"]["s3"]
    assert not (running.home / "none.yml").exists()


def test_all_that_is_wrong_with_its_words_is_told_at_once(running):
    page = running.answer("adopt", "-i", "nowhere", "--model", "x", "--name", "/", "--names", "no-list", expect=2)
    assert len(page["findings"]) == 4


@pytest.mark.parametrize("assignment", ["fixed", "renamed", "pinned"])
def test_a_fabric_file_that_was_lost_is_read_back_from_the_switches_that_it_configured(tmp_path, assignment):
    terminal = Terminal(tmp_path)
    gate = assignment != "renamed"  # which takes no uplink
    uplink = "  gate: {switch: s2, port: g9, uplink: true}\n" if gate else ""
    (terminal.home / "f.yml").write_text(
        "name: rack\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4]}\n"
        f'hosts:\n  h1: {{mac: ["00:1e:c9:00:00:01", "00:1e:c9:00:00:11"]}}\n{uplink}'
    )
    routing = ["--routing", "tree"] if assignment == "pinned" else []
    terminal("plan", "f.yml", "-o", "b", "--assignment", assignment, *routing)
    with terminal.lab("f.yml"):
        terminal("apply", "b", "--allow", "interrupt")
        page = terminal.answer("adopt", "-o", "g.yml")
        lost, found = read_fabric(terminal.home / "f.yml"), read_fabric(terminal.home / "g.yml")
        named = {(h.switch, h.port): h.macs for h in lost.hosts if not h.uplink}
        assert {(h.switch, h.port): h.macs for h in found.hosts} == named
        assert found.reserved == ()
        pairs = len(named) * (len(named) - 1)
        assert (page["proven"], page["reachable_pairs"], page["unreachable_pairs"]) == (True, pairs, 0)
        assert page["silent"] == (["s2:g9"] if gate else [])


def test_networks_that_are_isolated_are_read_back_by_whom_switches_name(tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(
        "name: rack\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4], hosts: 2}\n"
        "networks: {lab: [h0, h5], bmc: {hosts: [h2, h7], routing: tree}}\n"
    )
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml"):
        terminal("apply", "b", "--allow", "interrupt")
        page = terminal.answer("adopt", "-o", "g.yml")
    lost, found = read_fabric(terminal.home / "f.yml"), read_fabric(terminal.home / "g.yml")
    assert (page["proven"], page["unreachable_pairs"]) == (True, 0)
    at = [
        {frozenset((each.hosts[h].switch, each.hosts[h].port) for h in hosts) for hosts in each.networks.values()}
        for each in (lost, found)
    ]
    assert at[0] == at[1]
    assert {name for name in found.networks if name.startswith("network-")} == {"network-1", "network-2"}


def test_ports_that_carry_several_networks_are_read_back_with_their_tags(tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(
        "name: rack\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4], hosts: 2}\n"
        "networks:\n  lab: [h0, h4, h5]\n  storage: {hosts: [h2, h7], tagged: [h0, h1, h3], vlan: 20}\n"
        "  voice: {tagged: [h0, h6], vlan: 30}\n"
    )
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml"):
        terminal("apply", "b", "--allow", "interrupt")
        page = terminal.answer("adopt", "-o", "g.yml")
    lost, found = read_fabric(terminal.home / "f.yml"), read_fabric(terminal.home / "g.yml")
    assert (page["proven"], page["unreachable_pairs"], page["pairs"]) == (True, 0, lost.pairs)
    at = [
        {
            frozenset((each.hosts[h].switch, each.hosts[h].port, each.hosts[h].tag) for h in hosts)
            for hosts in each.networks.values()
        }
        for each in (lost, found)
    ]
    assert at[0] == at[1]
    assert sorted(vlan for _, vlan in found.tags) == [20, 30]
    assert terminal.answer("plan", "g.yml", "-o", "c")["isolated"]
