"""A fabric of three command lines and aggregated links: planned, pushed over SSH, read back, pinged."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from judges.shows import read_addresses, read_status, read_switchport, read_vlans
from tagloom import platforms
from tagloom.adapters.ssh import Access, SshSwitch
from tagloom.lab import process
from tagloom.lab.directory import Order
from tagloom.platforms.detect import by_text
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.change import Patch, difference
from tagloom.records.ownership import overlay
from tagloom.render import parse_configuration, render_commands
from tagloom.route import route
from tagloom.verify import broadcasts_once, verify
from tagloom.weave import weave

TEMPLATES = Path(__file__).parents[2] / "templates"
FABRIC = """\
name: mixed
eee: "on"
switches:
  s0: {model: powerconnect-5324, firmware: {entry_order: port-first}}
  s1: {model: powerconnect-5548}
  s2: {model: powerconnect-7024}
links:
  - {ends: [["s0:g1", "s0:g2"], ["s1:gi1/0/1", "s1:gi1/0/2"]], lag: true}
  - {ends: [["s1:gi1/0/3", "s1:gi1/0/4"], ["s2:Gi1/0/1", "s2:Gi1/0/2"]], lag: [5, 2]}
  - ["s2:Gi1/0/3", "s0:g3"]
hosts:
  h0: {switch: s0, port: g4}
  h1: {switch: s0, port: g5}
  h2: {switch: s1, port: g5}
  h3: {switch: s1, port: g6}
  h4: {switch: s2, port: g4}
  h5: {switch: s2, port: g5}
"""


@pytest.fixture(scope="module")
def fabric():
    return parse_fabric(FABRIC, "mixed.yml")


@pytest.fixture(scope="module")
def rack(tmp_path_factory, fabric):
    directory = tmp_path_factory.mktemp("mixed")
    process.up(Order(fabric, TEMPLATES), directory)
    yield directory
    process.down(directory)


@pytest.fixture(scope="module")
def log_in(rack, fabric):
    def make(name):
        port = process.read_info(rack).ports[name]
        access = Access("127.0.0.1", port, "lab", "lab", known_hosts=str(rack / "known_hosts"), fast_cli=True)
        return SshSwitch(name, platforms.of(fabric.switches[fabric.index[name]]), access)

    return make


@pytest.fixture(scope="module")
def pushed_once(rack, log_in, fabric):
    """Push a plan; gives each switch's state before and after, as the texts of its console say."""
    woven = weave(
        fabric, route(fabric, "up-down", "renamed"), "renamed", broadcasts_once=partial(broadcasts_once, fabric)
    )
    assert verify(fabric, woven.state).proven
    states = {}
    for switch, ports in zip(fabric.switches, fabric.used_ports, strict=True):
        platform = platforms.of(switch)
        with log_in(switch.name) as console:
            before = parse_configuration(platform, console.running_configuration())
            wanted = overlay(before.state, woven.state[switch.name], ports)
            console.send(render_commands(platform, difference(before.state, wanted)))
            after = parse_configuration(platform, console.running_configuration())
        assert before.unknown == after.unknown == ()
        assert after.state == wanted
        states[switch.name] = before.state, after.state
    process.keep(rack)
    return states


@pytest.fixture
def pushed(pushed_once, rack):
    """Return the rack to the plan, whatever a test before has done to it."""
    process.restore(rack)
    return pushed_once


def test_a_mixed_fabric_of_aggregated_links_carries_every_frame(rack, pushed, fabric):
    assert {name: sorted(set(after.lag.tolist())) for name, (_, after) in pushed.items()} == {
        "s0": [0, 25],
        "s1": [0, 51, 55],
        "s2": [0, 26],
    }
    assert process.ping(rack)["reached"] == 30
    answer = process.ask(rack, "counters")["frames"]
    assert all(answer["s0"][port] != [0, 0] for port in ("g1", "g2")), "flows take both cables"
    assert fabric.links[0].capacity_mbps() == 2000


def test_a_cable_that_is_shut_costs_capacity_alone_and_one_that_is_not_bound_costs_flows(rack, pushed, log_in):
    del pushed
    with log_in("s1") as console:
        console.send(["interface gigabitethernet1/0/1", "shutdown", "exit"])
        assert process.ping(rack)["lost"] == 0
        console.send(["interface gi1/0/1", "no shutdown", "no channel-group", "exit"])
        assert process.ping(rack)["lost"] > 0
        console.send(["interface gi1/0/1", "channel-group 1 mode on", "exit"])
    assert process.ping(rack)["lost"] == 0


def test_each_says_what_it_is(log_in, fabric):
    for switch in fabric.switches:
        with log_in(switch.name) as console:
            assert by_text(console.identity()).models == (switch.model,)


def test_the_shown_pages_say_what_the_switch_holds(pushed, log_in, fabric):
    for switch in fabric.switches:
        platform, (_, state) = platforms.of(switch), pushed[switch.name]
        table = "show bridge address-table" if switch.model == "powerconnect-5324" else "show mac address-table"
        with log_in(switch.name) as console:
            vlans = read_vlans(console._exchange("show vlan"))
            entries = read_addresses(console._exchange(table))
            status = read_status(console._exchange("show interfaces status"))
            port = read_switchport(console._exchange(f"show interfaces switchport {platform.port_name(5)}"))
        assert [row.vlan for row in vlans] == state.vlans.tolist()
        members = {row.vlan: {platform.port_number(name) for name in row.ports} for row in vlans}
        for vlan in state.vlans.tolist():
            assert members[vlan] == {p for p in range(1, platform.ports + 1) if state.member(vlan, p)}
        static = {(row.vlan, row.mac, platform.port_number(row.port)) for row in entries if row.kind == "static"}
        rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
        assert static == set(rows)
        assert {row.port for row in status if row.up} >= {platform.port_name(1), platform.port_name(3)}
        view = state.port(5)
        assert (port.mode, port.pvid, port.untagged, port.tagged) == (view.mode, view.pvid, view.untagged, view.tagged)


def test_the_way_back_is_the_inverse(pushed, log_in, fabric):
    for switch in fabric.switches:
        platform, (before, after) = platforms.of(switch), pushed[switch.name]
        changes = Patch(switch.name, difference(before, after)).inverse.changes
        with log_in(switch.name) as console:
            console.send(render_commands(platform, changes, after))
            assert parse_configuration(platform, console.running_configuration()).state == before
