"""A cable that is pulled and a switch that dies under several networks: each heals, and nothing crosses meanwhile."""

import pytest

from tagloom.lab import process

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: powerconnect-5324
shape: {family: ring, dims: [4], hosts: 2, parallel: 2}
networks: {compute: [h0, h2, h4], storage: [h1, h3, h5, h7]}
"""
PAIRS = 3 * 2 + 4 * 3  # h6 is alone in `default`, at s3


@pytest.mark.daily
def test_pairs_of_each_network_are_restored_after_a_pulled_cable_and_go_home(terminal):
    process.fault(terminal.rack, "s0", "cable", port="g2")
    reached, crossed = terminal.heard(expect=1)
    assert crossed == []
    proposed = terminal.answer("repair", "--propose", expect=1)
    assert (proposed["pairs_cut"], proposed["hitless"]) == (PAIRS - reached, True)
    page = terminal.answer("repair")
    assert (page["pairs_cut"], page["pairs_restored"], page["means"]) == (PAIRS - reached, PAIRS - reached, "replan")
    assert (page["hitless"], page["failed"]) == (True, [])
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["hitless"]) == ([], True)
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()
    assert terminal.answer("apply", "b")["changed"] == []


@pytest.mark.long
def test_a_detour_of_each_network_is_taken_and_given_back(terminal):
    terminal("plan", "f.yml", "--protect", "switch", "--previous", "b", "-o", "guarded")
    assert terminal.answer("apply", "guarded")["hitless"]
    process.fault(terminal.rack, "s0", "cable", port="g2")
    reached, _ = terminal.heard(expect=1)
    page = terminal.answer("repair")
    assert (page["means"], page["pairs_restored"]) == ("detour", PAIRS - reached)
    assert page["pairs_cut"] == PAIRS - reached > 0
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()
    process.mend(terminal.rack)
    assert terminal.answer("repair", "--hold", "0s")["hitless"]
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()


@pytest.mark.long
def test_a_switch_dies_with_the_only_host_of_a_network(terminal):
    process.fault(terminal.rack, "s3", "reboot", lasts=3600.0)
    reached, crossed = terminal.heard(expect=1)
    page = terminal.answer("repair")
    assert page["dead_switches"] == ["s3"]
    assert page["hosts_apart"] == ["h6", "h7"]
    assert page["pairs_apart"] == 2 * 3  # h7 and the other hosts of its network
    assert page["pairs_cut"] - page["pairs_restored"] - page["pairs_apart"] == 0
    assert terminal.heard(expect=1) == (PAIRS - 6, [])
    assert crossed == []
    assert reached <= PAIRS - 6
    assert terminal.kept_apart()
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_switches"], page["pairs_restored"], page["failed"]) == ([], 6, [])
    assert terminal.heard() == (PAIRS, [])
    assert terminal.kept_apart()
