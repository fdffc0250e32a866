"""A running rack takes the switches, cables and hosts that a grown fabric file has beside it."""

import json

import pytest

from command_line.terminal import Terminal
from tagloom.errors import InputError
from tagloom.lab import process
from tagloom.lab.directory import Order, read_order
from tagloom.lab.growing import merge
from tagloom.read.fabric_file import parse_fabric
from tagloom.share import share_directory

TEMPLATES = share_directory() / "templates"
SMALL = """
name: grow
model: powerconnect-5324
switches: {s0: {}, s1: {}, s2: {}}
links: [["s0:g1", "s1:g1"], ["s1:g2", "s2:g1"], ["s2:g2", "s0:g2"]]
hosts: {h0: {switch: s0, port: g10}, h1: {switch: s1, port: g10}, h2: {switch: s2, port: g10}}
"""
GROWN = """
name: grow
model: powerconnect-5324
switches: {s3: {model: powerconnect-6224}, s0: {}, s1: {}, s2: {}}
links:
  - ["s0:g3", "s3:1/g1"]
  - ["s2:g3", "s3:1/g2"]
  - ["s0:g1", "s1:g1"]
  - ["s1:g2", "s2:g1"]
  - ["s2:g2", "s0:g2"]
hosts:
  h0: {switch: s0, port: g10}
  h1: {switch: s1, port: g10}
  h2: {switch: s2, port: g10}
  h3: {switch: s3, port: 1/g10}
"""


def fabric(text):
    return parse_fabric(text, "test")


def findings(old, new):
    with pytest.raises(InputError) as found:
        merge(fabric(old), fabric(new))
    return [str(each) for each in found.value.findings]


def test_switches_of_the_rack_keep_their_places_and_new_ones_come_behind():
    growth = merge(fabric(SMALL), fabric(GROWN))
    assert [switch.name for switch in growth.fabric.switches] == ["s0", "s1", "s2", "s3"]
    assert (growth.switches, growth.hosts, growth.cables) == (("s3",), ("h3",), 2)
    assert growth.fabric.ports == tuple(fabric(GROWN).ports[i] for i in (1, 2, 3, 0))
    ends = {(growth.fabric.switches[x.a].name, growth.fabric.switches[x.b].name) for x in growth.fabric.links}
    assert ends == {("s0", "s3"), ("s2", "s3"), ("s0", "s1"), ("s1", "s2"), ("s2", "s0")}
    again = merge(growth.fabric, fabric(GROWN))
    assert (again.switches, again.hosts, again.cables) == ((), (), 0)


def test_hosts_with_other_addresses_in_the_file_are_named():
    other = GROWN.replace("h1: {switch: s1, port: g10}", 'h1: {switch: s1, port: g10, mac: "02:00:00:00:07:07"}')
    growth = merge(fabric(SMALL), fabric(other))
    assert (growth.readdressed, growth.hosts) == (("h1",), ("h3",))


def test_what_a_grown_file_has_no_longer_stays_plugged_in():
    less = GROWN.replace('  - ["s2:g2", "s0:g2"]\n', "").replace("  h2: {switch: s2, port: g10}\n", "")
    growth = merge(fabric(SMALL), fabric(less))
    assert len(growth.fabric.links) == 5
    assert {host.name for host in growth.fabric.hosts} == {"h0", "h1", "h2", "h3"}


def test_all_that_would_have_to_be_unplugged_is_found_at_once():
    assert findings(
        SMALL,
        GROWN.replace("s0:g3", "s0:g10")
        .replace("h0: {switch: s0, port: g10}", "h0: {switch: s0, port: g2}")
        .replace('  - ["s2:g2", "s0:g2"]\n', "")
        .replace("s1: {}", "s1: {model: powerconnect-5548}"),
    ) == [
        "switches.s1.model: expected powerconnect-5324, as in the rack, actual powerconnect-5548",
        "s0:g2: expected a cable to s2:g2, which is plugged in there, actual h0",
        "s0:g10: expected h0, which is plugged in there, actual a cable to s3:1/g1",
        "hosts.h0: expected s0:g10, where it is plugged in, actual s0:g2",
    ]
    assert findings(GROWN, SMALL) == [
        "switches.s3: expected every switch of the rack: lab add takes none away, actual none of that name"
    ]


@pytest.fixture
def terminal(tmp_path):
    made = Terminal(tmp_path)
    (tmp_path / "small.yml").write_text(SMALL)
    (tmp_path / "grown.yml").write_text(GROWN)
    made.answer("lab", "up", "small.yml")
    yield made
    process.down(made.rack)


def keys_of(terminal):
    return (terminal.rack / "known_hosts").read_text()


@pytest.mark.daily
@pytest.mark.slow
def test_a_rack_that_runs_a_build_grows_by_a_switch_while_its_hosts_send(terminal):
    terminal.answer("plan", "small.yml", "-o", "build")
    terminal.answer("apply", "build")
    before, keys = process.status(terminal.rack), keys_of(terminal)
    process.traffic(terminal.rack, "start")
    page = terminal.answer("lab", "add", "grown.yml")
    assert page["added"] == {"switches": ["s3"], "cables": 2, "hosts": ["h3"], "readdressed": []}
    after = process.status(terminal.rack)["switches"]
    assert {name: (each["address"], each["logins"]) for name, each in before["switches"].items()} == {
        name: (after[name]["address"], after[name]["logins"]) for name in ("s0", "s1", "s2")
    }
    assert keys_of(terminal).startswith(keys)
    assert len(keys_of(terminal)) > len(keys)
    assert terminal.answer("lab", "ping", expect=1)["lost"] == 6  # of the new host
    assert terminal.answer("status")["dead_switches"] == []  # its agent answers

    page = terminal.answer("plan", "grown.yml", "-o", "grown")
    assert page["previous"].endswith("build")
    assert terminal.answer("apply", "grown", "--check")["hitless"] is True
    page = terminal.answer("apply", "grown")
    assert (page["failed"], page["hitless"]) == ([], True)
    assert terminal.answer("lab", "ping")["lost"] == 0
    report = process.traffic(terminal.rack, "stop")
    assert (report["lost"], report["storms"]) == (0, 0)
    assert not any(terminal.answer("lab", "add", "grown.yml")["added"].values())


def test_a_rack_that_grew_starts_again_with_all_of_it(terminal):
    terminal.answer("lab", "add", "grown.yml")
    order = read_order(terminal.rack)
    assert [switch.name for switch in order.fabric.switches] == ["s0", "s1", "s2", "s3"]
    assert terminal.answer("lab", "ping")["lost"] == 0  # over spanning tree, which the new switch joins
    process.reboot(terminal.rack, "s3")
    assert terminal.answer("lab", "ping")["lost"] == 0
    terminal.answer("lab", "down")
    terminal.answer("lab", "up", "inventory/lab/fabric.yml")
    assert terminal.answer("lab", "ping")["lost"] == 0


def test_an_inventory_that_somebody_changed_is_not_overwritten_and_nothing_is_added(terminal):
    settings = terminal.rack / "snmp.yml"
    settings.write_text(settings.read_text() + "# mine\n")
    page = terminal.answer("lab", "add", "grown.yml", expect=2)
    assert [each["where"] for each in page["findings"]] == ["inventory/lab/snmp.yml"]
    assert len(process.status(terminal.rack)["switches"]) == 3
    assert json.loads((terminal.rack / "fabric.json").read_text())["fabric"]["switches"][-1]["name"] == "s2"
    assert len(terminal.answer("lab", "add", "grown.yml", "--force")["ports"]) == 4


def test_where_no_rack_runs_nothing_is_added(tmp_path):
    with pytest.raises(InputError, match="a running rack"):
        process.add(tmp_path, fabric(GROWN))


@pytest.mark.needs("a kernel with bridges")
def test_a_rack_whose_frames_a_kernel_carries_does_not_grow(tmp_path):
    process.up(Order(fabric(SMALL), TEMPLATES, dataplane="kernel"), tmp_path)
    try:
        with pytest.raises(InputError, match="the rack's own data plane"):
            process.add(tmp_path, fabric(GROWN))
        assert not (tmp_path / "fabric.json.new").exists()
    finally:
        process.down(tmp_path)
