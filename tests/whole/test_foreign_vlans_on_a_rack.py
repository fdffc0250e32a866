"""Networks that others share: `apply` leaves their VLANs alone, and refuses what would loop or cut them off."""

import pytest
from netmiko import ConnectHandler

from tagloom.lab import process
from terminal import Terminal

NAMES = ("s0", "s1", "s2")


@pytest.fixture
def terminal(tmp_path):
    """A planned ring of three switches, each with a link to both others, and its rack in factory state."""
    terminal = Terminal(tmp_path)
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    terminal("lab", "up", "f.yml")
    yield terminal
    terminal("lab", "down")


def type_lines(terminal, lines_of):
    """Type lines at switches as their operator does."""
    status = process.status(terminal.rack)
    for name, lines in lines_of.items():
        host, port = status["switches"][name]["address"].rsplit(":", 1)
        with ConnectHandler(
            device_type="dell_powerconnect", host=host, port=int(port), username="lab", password="lab"
        ) as session:
            session.enable()
            session.send_config_set([*lines, "exit"])


def vlan_10(*links):
    """Lines for a VLAN 10 of others: an access port 20, and tagged on some ports."""
    join = ["switchport mode general", "switchport general allowed vlan add 10 tagged", "exit"]
    tagged = [line for port in links for line in (f"interface ethernet g{port}", *join)]
    access = ["interface ethernet g20", "switchport mode access", "switchport access vlan 10", "exit"]
    return ["vlan database", "vlan 10", "exit", *tagged, *access]


def test_a_vlan_of_others_on_a_loop_is_refused_with_the_ring_and_nothing_is_sent(terminal):
    type_lines(terminal, dict.fromkeys(NAMES, vlan_10(1, 2)))
    before = process.configurations(terminal.rack)
    for words in (["--check"], []):
        page = terminal.answer("apply", "b", *words, expect=1)
        assert "VLANs of others neither loop" in page["refused"]
        assert "VLAN 10, from ports outside the fabric: expected no storm" in page["witness"]
    assert process.configurations(terminal.rack) == before


def test_a_vlan_of_others_on_a_tree_is_left_as_it_is_and_no_wave_begins_once_it_is_a_ring(terminal):
    type_lines(terminal, {"s0": vlan_10(1), "s1": vlan_10(1), "s2": vlan_10()})
    page = terminal.answer("apply", "b", "--allow", "interrupt")
    assert (page["changed"], page["failed"]) == (list(NAMES), [])
    assert terminal.answer("lab", "ping")["reached"] == 6
    running = process.configurations(terminal.rack)
    assert "switchport access vlan 10" in running["s0"]
    assert terminal.answer("apply", "b")["unchanged"] == list(NAMES)
    type_lines(terminal, {"s2": vlan_10(1, 2), "s0": vlan_10(1, 2), "s1": vlan_10(1, 2)})  # somebody closes the ring
    terminal("plan", "f.yml", "-o", "off", "--off", "s0:g1", "--previous", "b")
    terminal("rollout", "b", "off", "-o", "r")
    running = process.configurations(terminal.rack)
    for words in (["--check"], []):
        assert "VLANs of others neither loop" in terminal.answer("apply", "r", *words, expect=1)["refused"]
    assert process.configurations(terminal.rack) == running


def test_a_host_s_access_port_is_taken_out_of_somebody_s_vlan_only_where_that_is_allowed(terminal):
    host = "g3"  # of s0, by the fabric file
    chain = {"s0": vlan_10(1), "s1": vlan_10(1), "s2": vlan_10()}
    type_lines(terminal, chain)
    terminal("apply", "b", "--allow", "interrupt")
    access = [f"interface ethernet {host}", "switchport mode access", "switchport access vlan 10", "exit"]
    type_lines(terminal, {"s0": access})  # somebody needs the host elsewhere
    running = process.configurations(terminal.rack)
    for words in (["--check"], []):
        page = terminal.answer("apply", "b", "--drift", "overwrite", *words, expect=0 if words else 1)
        assert page["hitless"] is False
        assert page["interrupted_pairs"] == 0
        (cut,) = page["cut_vlans"]
        assert (cut["where"], cut["actual"]) == ("VLAN 10, of others", f"s0:{host} is taken out of it")
    assert page["refused"] == "VLANs of others are cut off only with --allow interrupt"
    assert process.configurations(terminal.rack) == running
    page = terminal.answer("apply", "b", "--drift", "overwrite", "--allow", "interrupt")
    assert page["changed"] == ["s0"]
    assert terminal.answer("apply", "b", "--check")["cut_vlans"] == []
