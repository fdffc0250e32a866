"""A cable is pulled under one VLAN for all hosts: entries move to the detours that the plan knows, and home again."""

import pytest

from command_line.terminal import Terminal
from tagloom.lab import process

pytestmark = pytest.mark.slow

FABRIC = """name: lab
model: linux-bridge
shape: {family: complete, dims: [4], hosts: 1}
"""
PAIRS = 4 * 3


@pytest.mark.daily
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


MIXED = """name: lab
model: linux-bridge
shape: {family: clos, dims: [2, 3], hosts: 1}
switches: {s2: {model: mikrotik-crs326-24g-2s}, s4: {model: mikrotik-crs326-24g-2s}}
"""
HOSTS = [f"h{n}" for n in range(5)]


@pytest.mark.long
def test_the_others_are_led_round_a_switch_that_died_and_it_joins_again_when_it_is_back(tmp_path):
    """Linux and RouterOS: s0, which pairs of others and floods pass; frames are counted from its death on."""
    terminal = Terminal(tmp_path)
    (terminal.home / "f.yml").write_text(MIXED)
    page = terminal.answer("plan", "f.yml", "--assignment", "pinned", "--protect", "switch", "-o", "b")
    assert (page["protect"], page["detour_vlans"]) == ("switch", 0)
    found = terminal.answer("verify", "b", "--what-if", "switches")["what_if"]
    assert (found["protected"], found["unprotected"], found["storm_free"]) == (5 * 4 * 3, 0, True)
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        process.fault(terminal.rack, "s0", "reboot", lasts=3600.0)
        ping = terminal.answer("lab", "ping", expect=1)
        apart = [[a, b] for a in HOSTS for b in HOSTS if a != b and "h0" in (a, b)]
        assert ping["lost"] > len(apart)
        process.traffic(terminal.rack, "start")
        cut = process.traffic(terminal.rack, "report")["unreached"]
        shown = terminal.answer("repair", "--check", expect=1)
        assert (shown["means"], shown["waves"], shown["hitless"]) == ("detour", 2, True)
        page = terminal.answer("repair")
        assert shown["changed"] == page["changed"]
        seen = process.traffic(terminal.rack, "stop")
        assert (page["means"], page["waves"], page["hitless"], page["failed"]) == ("detour", 2, True, [])
        assert (page["dead_switches"], page["hosts_apart"]) == (["s0"], ["h0"])
        assert (page["pairs_cut"], page["pairs_restored"]) == (ping["lost"], ping["lost"] - len(apart))
        assert (seen["unreached"], seen["duplicated"], seen["flooded"], seen["storms"]) == (cut, 0, 0, 0)
        whole(terminal, HOSTS[1:], lost=len(apart))
        process.mend(terminal.rack)
        entry = "02:00:00:00:00:02 dev swp1 vlan 100 master"
        terminal.type("s0", f"bridge fdb del {entry}")  # no line of the way home is for that entry
        before = texts(terminal)
        page = terminal.answer("repair", "--hold", "0s", expect=1)
        assert (page["hitless"], page["interrupted_pairs"], page["changed"]) == (False, len(apart), [])
        assert page["next"] == "tagloom repair --hold 0s --allow interrupt"
        assert texts(terminal) == before
        terminal.type("s0", f"bridge fdb replace {entry} static sticky")
        process.traffic(terminal.rack, "start")
        shown = terminal.answer("repair", "--hold", "0s", "--check", expect=1)
        page = terminal.answer("repair", "--hold", "0s")
        assert (page["hitless"], page["failed"], page["interrupted_pairs"]) == (True, [], 0)
        assert (shown["changed"], shown["hitless"]) == (page["changed"], True)
        whole(terminal, HOSTS, lost=0)
        seen = process.traffic(terminal.rack, "stop")
        assert (seen["unreached"]["frames"], seen["flooded"], seen["storms"]) == ([], 0, 0)
        assert terminal.answer("repair")["means"] is None


def texts(terminal):
    return process.configurations(terminal.rack)


def whole(terminal, hosts, lost):
    """Check that each of these hosts reaches each other once, by a frame and by a broadcast, and nobody else."""
    ping = terminal.answer("lab", "ping", expect=1 if lost else 0)
    assert (ping["lost"], ping["duplicated"], ping["overheard"], ping["storm"]) == (lost, [], [], "")
    for host in hosts:
        assert process.broadcast(terminal.rack, host)["delivered"][host] == dict.fromkeys(set(hosts) - {host}, 1)
