"""What a reading of all switches says is dead."""

from fabrics import make_fabric
from tagloom.observe import dead_parts
from tagloom.platforms.port_names import link_ends
from tagloom.records.dead_parts import DeadParts
from tagloom.records.observation import Counters, Observation

NOBODY = DeadParts()
FABRIC = make_fabric("ring", 4, model="powerconnect-5324", parallel=2)


def reading(fabric=FABRIC, down=(), silent=(), since=0.0, uptime=1000.0):
    """Return what all switches show where the links `down` are, and some do not answer."""
    seen = {}
    for s, switch in enumerate(fabric.switches):
        ports = []
        for link, a, a_port, b, b_port in fabric.cables.tolist():
            for end, port, far in ((a, a_port, b), (b, b_port, a)):
                up = link not in down and fabric.switches[far].name not in silent
                if end == s:
                    ports.append(Counters(port, "", admin_up=True, oper_up=up, last_change_seconds=since))
        error = "no answer" if switch.name in silent else ""
        seen[switch.name] = Observation(
            switch.name, 0.0, error, uptime_seconds=uptime, ports=() if error else tuple(ports)
        )
    return seen


def at(switch):
    return {i for i, link in enumerate(FABRIC.links) if FABRIC.index[switch] in (link.a, link.b)}


def test_a_link_is_dead_where_a_port_at_an_end_is_down_and_only_if_it_is_wanted_up():
    assert dead_parts(FABRIC, reading(), NOBODY) == NOBODY
    assert dead_parts(FABRIC, reading(down={3}), NOBODY).links == {3}
    assert dead_parts(FABRIC.with_links_down({3}), reading(down={3}), NOBODY) == NOBODY


def test_a_switch_is_dead_where_it_is_silent_and_all_its_cables_are_down():
    found = dead_parts(FABRIC, reading(silent={"s1"}), NOBODY)
    assert (found.switches, found.links, found.silent) == ({1}, at("s1"), ())


def test_a_silent_switch_with_a_cable_up_is_not_dead_but_named():
    seen = reading(silent={"s1"})
    others = reading()
    seen |= {name: others[name] for name in ("s0", "s2", "s3")}
    found = dead_parts(FABRIC, seen, NOBODY)
    assert (found.switches, found.links, found.silent) == (frozenset(), frozenset(), ("s1",))


def test_two_dead_neighbours_are_both_found_and_nothing_is_known_where_nobody_answers():
    found = dead_parts(FABRIC, reading(silent={"s1", "s2"}), NOBODY)
    assert (found.switches, found.links) == ({1, 2}, at("s1") | at("s2"))
    everyone = {switch.name for switch in FABRIC.switches}
    assert dead_parts(FABRIC, reading(silent=everyone), NOBODY).switches == frozenset()


def test_what_was_dead_stays_so_until_it_has_been_back_for_long_enough():
    known = DeadParts(frozenset({3}))
    name = " - ".join(link_ends(FABRIC, 3))
    seen = reading(since=940.0)
    found = dead_parts(FABRIC, seen, known, 120.0)
    assert (found.links, found.back) == ({3}, {name: 60.0})
    found = dead_parts(FABRIC, seen, known, 30.0)
    assert (found.links, found.back) == (frozenset(), {name: 60.0})
    found = dead_parts(FABRIC, reading(uptime=50.0), DeadParts(switches=frozenset({2})), 120.0)
    assert (found.switches, found.links) == ({2}, at("s2"))
