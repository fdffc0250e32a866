"""Networks that others share: `apply` leaves their VLANs alone, and refuses what would loop or cut them off."""

from dataclasses import replace

import pytest

from command_line.terminal import Terminal
from tagloom import platforms
from tagloom.lab import process
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import parse
from tagloom.platforms.factory import factory_state
from tagloom.read import read_fabric
from tagloom.records.fabric import Host, Link, Switch
from tagloom.records.switch_state import FlowControl

pytestmark = pytest.mark.slow

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


@pytest.mark.daily
def test_a_link_that_a_vlan_of_others_needs_is_shut_only_where_that_is_allowed(terminal):
    chain = {"s0": vlan_10(2), "s1": vlan_10(1), "s2": vlan_10()}
    type_lines(terminal, chain)
    terminal("apply", "b", "--allow", "interrupt")
    terminal("plan", "f.yml", "-o", "off", "--off", "s0:g2", "--previous", "b")
    running = process.configurations(terminal.rack)
    for words in (["--check"], []):
        page = terminal.answer("apply", "off", *words, expect=1)
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


def states(terminal):
    return parse(read_fabric(terminal.home / "f.yml"), process.configurations(terminal.rack))[0]


def joined(terminal):
    """Return which ports of others hear which, by frames over what runs on the rack."""
    fabric = read_fabric(terminal.home / "f.yml")
    state = states(terminal)
    ends = [Host(f"x{s}", s, 20, (0x02AA << 32) + s) for s in range(3) if state[f"s{s}"].port(20).pvid == 10]
    plane = Dataplane(replace(fabric, hosts=tuple(ends), shape=None), state)
    sent = {end.name: plane.broadcast(end.name) for end in ends}
    assert not any(each.storm for each in sent.values())
    return {(a, b) for a, each in sent.items() for b in each.delivered_to}


@pytest.mark.daily
def test_a_vlan_of_others_on_a_loop_is_pruned_first_where_that_is_allowed(terminal):
    type_lines(terminal, dict.fromkeys(NAMES, vlan_10(1, 2)))
    before, first = process.configurations(terminal.rack), joined(terminal)
    assert len(first) == 6
    hitless = terminal.answer("apply", "b", "--foreign", "prune", "--check")
    assert (hitless["strategy"], hitless["hitless"]) == ("greenfield", True)
    page = terminal.answer("apply", "b", "--foreign", "prune", "--allow", "interrupt", "--check")
    assert page["pruned"] == hitless["pruned"]
    named = [(each["switch"], each["port"], each["vlan"]) for each in page["pruned"]]
    assert named == [("s1", 2, 10), ("s2", 1, 10)], "what spanning tree blocks now"
    assert (page["changed"], page["hitless"]) == (list(NAMES), False)
    assert "VLAN 10, of others, is taken from s1:g2, s2:g1" in " ".join(page["remarks"])
    assert "spanning tree blocks s2:g1 now; where it blocks others, a VLAN of others may be cut" in " ".join(
        page["remarks"]
    )
    assert process.configurations(terminal.rack) == before
    pushed = terminal.answer("apply", "b", "--foreign", "prune", "--allow", "interrupt")
    assert (pushed["changed"], pushed["failed"], pushed["pruned"]) == (list(NAMES), [], page["pruned"])
    assert joined(terminal) == first
    assert terminal.answer("lab", "ping")["reached"] == 6
    assert terminal.answer("apply", "b")["unchanged"] == list(NAMES)


@pytest.mark.long  # a minute: waves, each with a wait for old frames
def test_what_was_changed_by_hand_is_kept_while_a_vlan_of_others_is_pruned(terminal):
    terminal("apply", "b", "--allow", "interrupt")
    by_hand = ["interface ethernet g1", "flowcontrol on", "exit"]
    type_lines(terminal, dict.fromkeys(NAMES, vlan_10(1, 2)) | {"s0": [*vlan_10(1, 2), *by_hand]})
    words = ["apply", "b", "--foreign", "prune", "--allow", "interrupt"]
    assert [each["where"] for each in terminal.answer(*words, expect=1)["drift"]] == ["s0: g1 flow-control"]
    looked = terminal.answer(*words, "--drift", "keep", "--check")
    assert len(looked["pruned"]) == 2
    page = terminal.answer(*words, "--drift", "keep")
    assert (page["failed"], page["pruned"]) == ([], looked["pruned"])
    held = states(terminal)
    assert held["s0"].flow_control[0] == FlowControl.ON
    assert len(joined(terminal)) == 6
    assert terminal.answer("lab", "ping")["reached"] == 6
    assert [each["where"] for each in terminal.answer("apply", "b", expect=1)["drift"]] == ["s0: g1 flow-control"]
    terminal("apply", "b", "--drift", "overwrite")
    assert states(terminal)["s0"].flow_control[0] == FlowControl.OFF


@pytest.mark.long  # a minute: waves both ways, each with a wait for old frames
def test_a_greenfield_prunes_by_its_first_wave_and_a_rollback_puts_all_back(terminal):
    type_lines(terminal, dict.fromkeys(NAMES, vlan_10(1, 2)))
    before, first = states(terminal), joined(terminal)
    (terminal.home / "running").mkdir()
    for name, text in process.configurations(terminal.rack).items():
        (terminal.home / "running" / f"{name}.cfg").write_text(text)
    words = ["rollout", "--greenfield", "b", "--running", "running", "-o", "r"]
    assert "--foreign prune" in terminal.answer(*words, expect=1)["next"]
    page = terminal.answer(*words, "--foreign", "prune")
    assert page["wave_names"][0] == "prune"
    assert len(page["pruned"]) == 2
    looked = terminal.answer("apply", "r", "--check")
    assert (looked["hitless"], looked["pruned"]) == (True, page["pruned"])
    assert terminal.answer("apply", "r")["changed"] == list(NAMES)
    assert joined(terminal) == first
    assert terminal.answer("lab", "ping")["reached"] == 6
    assert terminal.answer("rollback", "--allow", "drain")["failed"] == []
    assert joined(terminal) == first
    assert states(terminal) == before


def with_a_switch_outside(terminal):
    """Return frames' ways over the rack and a switch of somebody else on two cables of s0's, a host on each."""
    fabric, there = read_fabric(terminal.home / "f.yml"), len(NAMES)
    ends = (Host("near", 0, 22, 0x02AA << 32), Host("far", there, 3, (0x02AA << 32) + 1))
    whole = replace(
        fabric,
        switches=(*fabric.switches, Switch("x", fabric.switches[0].model)),
        ports=(*fabric.ports, fabric.ports[0]),
        links=(*fabric.links, Link(0, 20, there, 1), Link(0, 21, there, 2)),
        hosts=(*fabric.hosts, *ends),
        shape=None,
    )
    return Dataplane(whole, {**states(terminal), "x": factory_state(platforms.of(whole.switches[there]))})


@pytest.mark.daily
def test_spanning_tree_stays_on_where_others_are_cabled_if_the_plan_says_so(terminal):
    terminal("plan", "f.yml", "--foreign", "spanning-tree", "-o", "outside")
    assert not with_a_switch_outside(terminal).broadcast("far").storm
    page = terminal.answer("apply", "outside", "--allow", "interrupt")
    assert (page["changed"], page["failed"]) == (list(NAMES), [])
    text = process.configurations(terminal.rack)["s0"]
    assert "\nno spanning-tree\n" not in text
    assert "spanning-tree disable" in text
    now = with_a_switch_outside(terminal)
    assert not now.broadcast("far").storm
    assert now.unicast("far", "near").copies == now.unicast("near", "far").copies == 1
    assert terminal.answer("lab", "ping")["reached"] == 6
    assert terminal.answer("apply", "outside")["unchanged"] == list(NAMES)


@pytest.mark.long  # half a minute until ports outside forward
def test_spanning_tree_comes_on_outside_by_a_rollout_that_keeps_every_pair_and_a_rollback_takes_it_off(terminal):
    terminal("apply", "b", "--allow", "interrupt")
    before = process.configurations(terminal.rack)
    assert with_a_switch_outside(terminal).broadcast("far").storm, "what a plan that turns it off altogether does"
    terminal("plan", "f.yml", "--foreign", "spanning-tree", "--previous", "b", "-o", "on")
    page = terminal.answer("rollout", "b", "on", "-o", "later")
    assert (page["wave_names"], page["hitless"]) == (["apart", "spanning tree"], True)
    assert terminal.answer("apply", "later")["hitless"]
    assert not with_a_switch_outside(terminal).broadcast("far").storm
    terminal("rollback")
    assert process.configurations(terminal.rack) == before
