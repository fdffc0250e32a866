"""A cable is pulled and a switch dies where ports carry several networks: pairs are restored, or the repair refuses."""

import pytest

from tagloom.lab import process

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: powerconnect-5324
shape: {family: ring, dims: [4], hosts: 2, parallel: 2}
networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4, h7], vlan: 20}}
"""
PAIRS = 4 * 3 + 5 * 4


@pytest.mark.daily
def test_pairs_are_restored_after_a_pulled_cable_and_go_home(terminal):
    """The cable carries no network that ports carry tagged: those keep their tree."""
    process.fault(terminal.rack, "s0", "cable", port="g4")
    left, crossed = terminal.heard(expect=1)
    assert crossed == []
    page = terminal.answer("repair")
    assert (page["means"], page["hitless"], page["failed"]) == ("replan", True, [])
    assert page["pairs_cut"] == page["pairs_restored"] == PAIRS - left > 0
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["hitless"]) == ([], True)
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()


def test_a_repair_that_must_move_a_tagged_networks_tree_is_refused_and_sends_nothing(terminal):
    """Its one VLAN is the one that hosts are set to: there is none beside it to lead them over."""
    process.fault(terminal.rack, "s0", "cable", port="g3")
    before = process.configurations(terminal.rack)
    page = terminal.answer("repair", expect=1)
    assert page["changed"] == []
    assert page["pairs_restored"] == 0
    assert any(words in str(page) for words in ("VLAN 20", "tagged"))
    assert process.configurations(terminal.rack) == before


@pytest.mark.long
def test_a_detour_serves_the_networks_beside_a_tagged_one_whose_tree_is_cut(terminal):
    """The tagged network has no other VLAN to go by, and its pairs wait for the cable; all others do not."""
    terminal("plan", "f.yml", "--protect", "link", "--previous", "b", "-o", "guarded")
    assert terminal.answer("apply", "guarded")["hitless"]
    process.fault(terminal.rack, "s0", "cable", port="g3")
    left, crossed = terminal.heard(expect=1)
    page = terminal.answer("repair", expect=1)
    assert (page["means"], page["failed"]) == ("detour", [])
    assert 0 < page["pairs_restored"] < page["pairs_cut"] == PAIRS - left
    reached, crossed_after = terminal.heard(expect=1)
    assert reached == left + page["pairs_restored"]
    assert crossed == crossed_after == []
    assert terminal.kept_apart()
    again = terminal.answer("repair", expect=1)
    assert (again["changed"], again["pairs_restored"]) == ([], 0)
    process.mend(terminal.rack)
    assert terminal.answer("repair", "--hold", "0s")["hitless"]
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()


@pytest.mark.long
def test_a_switch_dies_and_the_others_find_each_other(terminal):
    process.fault(terminal.rack, "s3", "reboot", lasts=3600.0)
    page = terminal.answer("repair")
    assert (page["dead_switches"], page["hosts_apart"], page["failed"]) == (["s3"], ["h6", "h7"], [])
    assert page["pairs_cut"] - page["pairs_restored"] - page["pairs_apart"] == 0
    assert terminal.heard(expect=1) == (3 * 2 + 4 * 3, [])
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_switches"], page["failed"]) == ([], [])
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()
