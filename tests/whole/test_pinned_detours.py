"""A cable is pulled under one VLAN for all hosts: entries move to the detours that the plan knows, and home again."""

import pytest

from tagloom.lab import process
from terminal import Terminal

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: linux-bridge
shape: {family: complete, dims: [4], hosts: 1}
"""
PAIRS = 4 * 3


def test_pairs_are_led_round_any_pulled_cable_by_entries_that_the_plan_knows(tmp_path):
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(FABRIC)
    page = terminal.answer("plan", "f.yml", "--assignment", "pinned", "--protect", "link", "-o", "b")
    assert (page["protect"], page["protected"], page["unprotected"], page["detour_vlans"]) == ("link", 6 * 12, 0, 0)
    found = terminal.answer("verify", "b", "--what-if", "links")["what_if"]
    assert (found["protected"], found["deadlock_free"], found["storm_free"]) == (6 * 12, True, True)
    assert (found["pvids_max"], found["entries_max"]) == (0, 2)
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        for port, moved in (("swp2", 1), ("swp1", 2)):  # floods do not pass the first; the second is on their tree
            process.fault(terminal.rack, "s1", "cable", port=port)
            page = terminal.answer("repair")
            assert (page["means"], page["hitless"], page["failed"], page["waves"]) == ("detour", True, [], moved)
            assert page["pairs_cut"] == page["pairs_restored"] > 0
            ping = terminal.answer("lab", "ping")
            assert (ping["reached"], ping["duplicated"], ping["storm"]) == (PAIRS, [], "")
            process.mend(terminal.rack)
            page = terminal.answer("repair", "--hold", "0s")
            assert (page["hitless"], page["failed"]) == (True, [])
            ping = terminal.answer("lab", "ping")
            assert (ping["reached"], ping["duplicated"], ping["storm"]) == (PAIRS, [], "")
