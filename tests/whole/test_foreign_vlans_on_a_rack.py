"""Networks that others share: `apply` leaves their VLANs alone, and refuses what would loop or cut them off."""

import pytest

from tagloom.lab import process
from terminal import Terminal

NAMES = ("s0", "s1", "s2")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a ring of three switches, each with a link to both others, and start its rack."""
    terminal = Terminal(tmp_path_factory.mktemp("foreign"))
    terminal("new", "ring", "--dims", 3, "-o", "f.yml")
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml"):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack is in factory state."""
    return running.fresh()


def type_lines(terminal, lines_of):
    for name, lines in lines_of.items():
        terminal.type(name, *lines)


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


def test_a_link_that_a_vlan_of_others_needs_is_shut_only_where_that_is_allowed(terminal):
    chain = {"s0": vlan_10(2), "s1": vlan_10(1), "s2": vlan_10()}
    type_lines(terminal, chain)
    terminal("apply", "b", "--allow", "interrupt")
    terminal("plan", "f.yml", "-o", "off", "--off", "s0:g2", "--previous", "b")
    running = process.configurations(terminal.rack)
    for words in (["--check"], []):
        page = terminal.answer("apply", "off", *words, expect=0 if words else 1)
        assert (page["hitless"], page["interrupted_pairs"]) == (False, 0)
        (cut,) = page["cut_vlans"]
        assert (cut["where"], cut["actual"]) == ("VLAN 10, of others", "no link between them carries it")
    assert page["refused"] == "VLANs of others are cut off only with --allow interrupt"
    assert "s0:g20 and s1:g20 joined by it" in page["witness"]
    assert process.configurations(terminal.rack) == running
    assert terminal.answer("apply", "off", "--allow", "interrupt")["changed"]
    assert terminal.answer("apply", "off", "--check")["cut_vlans"] == []


def test_a_host_s_access_port_in_somebody_s_vlan_is_named_and_nothing_is_sent(terminal):
    access = ["interface ethernet g3", "switchport mode access", "switchport access vlan 10", "exit"]
    type_lines(terminal, {"s0": [*vlan_10(2), *access], "s1": vlan_10(1), "s2": vlan_10()})
    running = process.configurations(terminal.rack)
    page = terminal.answer("apply", "b", "--allow", "interrupt", expect=1)
    assert page["witness"] == "host h0: expected no frames of a VLAN of others, actual VLAN 10 reaches it untagged"
    assert process.configurations(terminal.rack) == running
