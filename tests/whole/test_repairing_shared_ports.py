"""A cable is pulled and a switch dies where ports carry several networks: pairs are restored, or the repair refuses."""

import pytest

from tagloom import pipeline
from tagloom.lab import process
from tagloom.read import read_fabric
from tagloom.verify import verify
from terminal import Terminal

FABRIC = """name: lab
model: powerconnect-5324
shape: {family: ring, dims: [4], hosts: 2, parallel: 2}
networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4, h7], vlan: 20}}
"""
PAIRS = 4 * 3 + 5 * 4


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    terminal = Terminal(tmp_path_factory.mktemp("trunks"))
    (terminal.home / "f.yml").write_text(FABRIC)
    terminal("plan", "f.yml", "-o", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose rack runs the build, with nothing dead."""
    return running.fresh()


def heard(terminal, **how):
    ping = terminal.answer("lab", "ping", **how)
    network = {host.name: host.network for host in read_fabric(terminal.home / "f.yml").hosts}
    assert [(a, b) for a, b in ping["overheard"] if network[a] != network[b]] == []
    return ping["reached"]


def kept_apart(terminal):
    fabric = read_fabric(terminal.home / "f.yml")
    return verify(fabric, pipeline.parse(fabric, process.configurations(terminal.rack))[0]).isolated


def test_pairs_are_restored_after_a_pulled_cable_and_go_home(terminal):
    """The cable carries no network that ports carry tagged: those keep their tree."""
    process.fault(terminal.rack, "s0", "cable", port="g4")
    left = heard(terminal, expect=1)
    page = terminal.answer("repair")
    assert (page["means"], page["hitless"], page["failed"]) == ("replan", True, [])
    assert page["pairs_cut"] == page["pairs_restored"] == PAIRS - left > 0
    assert heard(terminal) == PAIRS
    assert kept_apart(terminal)
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["hitless"]) == ([], True)
    assert heard(terminal) == PAIRS
    assert kept_apart(terminal)


def test_a_repair_that_must_move_a_tagged_networks_tree_is_refused_and_sends_nothing(terminal):
    """Its one VLAN is the one that hosts are set to: there is none beside it to lead them over."""
    process.fault(terminal.rack, "s0", "cable", port="g3")
    before = process.configurations(terminal.rack)
    page = terminal.answer("repair", expect=1)
    assert page["changed"] == []
    assert page["pairs_restored"] == 0
    assert any(words in str(page) for words in ("VLAN 20", "tagged"))
    assert process.configurations(terminal.rack) == before


def test_a_switch_dies_and_the_others_find_each_other(terminal):
    process.fault(terminal.rack, "s3", "reboot", lasts=3600.0)
    page = terminal.answer("repair")
    assert (page["dead_switches"], page["hosts_apart"], page["failed"]) == (["s3"], ["h6", "h7"], [])
    assert page["pairs_cut"] - page["pairs_restored"] - page["pairs_apart"] == 0
    assert heard(terminal, expect=1) == 3 * 2 + 4 * 3
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0.1s")
    assert (page["dead_switches"], page["failed"]) == ([], [])
    assert heard(terminal) == PAIRS
    assert kept_apart(terminal)
