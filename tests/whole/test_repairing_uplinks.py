"""A cable that is pulled and a switch that dies beside an uplink: hosts and those behind it find each other again."""

import pytest

from tagloom.lab import process
from thinned import few

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: powerconnect-5324
shape: {family: ring, dims: [4], hosts: 2, parallel: 2}
hosts: {h5: {uplink: true}}
networks: {compute: [h0, h2, h4, h5, h6], storage: [h1, h3, h7]}
"""
PAIRS = 5 * 4 + 3 * 2


@pytest.mark.parametrize("means", few(["replan", "detour"], 0))
def test_pairs_with_an_uplink_are_restored_after_a_pulled_cable_and_go_home(terminal, means):
    if means == "detour":
        terminal("plan", "f.yml", "--protect", "switch", "--previous", "b", "-o", "guarded")
        assert terminal.answer("apply", "guarded")["hitless"]
    process.fault(terminal.rack, "s2", "cable", port="g1")
    left, crossed = terminal.heard(expect=1)
    assert crossed == []
    page = terminal.answer("repair")
    assert (page["means"], page["hitless"], page["failed"]) == (means, True, [])
    assert page["pairs_cut"] == page["pairs_restored"] == PAIRS - left > 0
    assert terminal.heard() == (PAIRS, [])
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_links"], page["hitless"]) == ([], True)
    assert terminal.heard() == (PAIRS, [])


@pytest.mark.long
def test_a_switch_dies_and_the_others_still_find_the_uplink(terminal):
    process.fault(terminal.rack, "s0", "reboot", lasts=3600.0)
    page = terminal.answer("repair")
    assert (page["dead_switches"], page["hosts_apart"]) == (["s0"], ["h0", "h1"])
    assert terminal.heard(expect=1) == (4 * 3 + 2, [])
    process.mend(terminal.rack)
    page = terminal.answer("repair", "--hold", "0s")
    assert (page["dead_switches"], page["failed"]) == ([], [])
    assert terminal.heard() == (PAIRS, [])
