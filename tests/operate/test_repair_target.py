"""What a fabric shall be around its dead parts."""

from fabrics import make_fabric
from tagloom.operate.repair_target import island_pairs, joined_pairs, same_target, target
from tagloom.records.dead_parts import DeadParts

RING = make_fabric("ring", 4, model="powerconnect-5324")
DOUBLE = make_fabric("ring", 4, model="powerconnect-5324", parallel=2)


def links_at(fabric, *switches):
    return frozenset(i for i, x in enumerate(fabric.links) if {x.a, x.b} & set(switches))


def links_between(fabric, a, b):
    return [i for i, x in enumerate(fabric.links) if {x.a, x.b} == {a, b}]


def test_a_dead_link_is_marked_and_nothing_dead_leads_home():
    found = target(RING, RING, RING, DeadParts(frozenset({2})))
    assert [i for i, link in enumerate(found.fabric.links) if link.dead] == [2]
    assert (found.woken, found.apart) == (frozenset(), ())
    home = target(RING, found.fabric, RING, DeadParts()).fabric
    assert same_target(home, RING)
    assert not same_target(home, found.fabric)


def test_the_sleeping_parallel_link_of_a_dead_one_is_woken_and_stays_awake():
    one, other = links_between(DOUBLE, 0, 1)
    asleep = {i for i, x in enumerate(DOUBLE.links) if x.parallel_link == 1}
    night = DOUBLE.with_links_down(asleep)
    dead = DeadParts(frozenset({one}))
    found = target(night, night, DOUBLE, dead)
    assert found.woken == {other}
    again = target(night, found.fabric, DOUBLE, dead)
    assert again.woken == frozenset()
    assert same_target(again.fabric, found.fabric)
    both = target(night, found.fabric, DOUBLE, DeadParts(frozenset({one, other})))  # it did not come up
    assert both.woken == frozenset()
    assert [i for i, link in enumerate(both.fabric.links) if link.dead] == [one, other]


def test_a_dead_switch_is_left_out_and_its_neighbours_are_joined_by_links_that_slept():
    spine = {*links_between(DOUBLE, 0, 1), *links_between(DOUBLE, 1, 2), *links_between(DOUBLE, 2, 3)}
    night = DOUBLE.with_links_down(set(range(len(DOUBLE.links))) - spine)
    dead = DeadParts(links_at(DOUBLE, 1), frozenset({1}))
    found = target(night, night, DOUBLE, dead)
    assert found.woken == {links_between(DOUBLE, 0, 3)[0]}
    assert (found.apart, [s.up for s in found.fabric.switches]) == ((1,), [True, False, True, True])
    assert [host.name for host in found.fabric.hosts] == ["h0", "h2", "h3"]


def test_hosts_that_no_cable_joins_with_most_others_are_apart():
    dead = DeadParts(frozenset({links_between(RING, 0, 1)[0], links_between(RING, 0, 3)[0]}))
    found = target(RING, RING, RING, dead)
    assert (found.apart, len(found.fabric.hosts)) == ((0,), 3)
    joined = joined_pairs(RING, RING, dead)
    assert (joined.sum(), joined[0].sum()) == (6, 0)


def test_pairs_of_switches_that_come_back_together_are_cut_until_the_last_is_readmitted():
    assert island_pairs(RING, [2], [3]) == [(2, 3), (3, 2)]
    assert island_pairs(RING, [1], [3]) == []  # nothing joins them but switches that are not set apart
    assert len(island_pairs(RING, [1], [2, 3])) == 6
    twice = make_fabric("ring", 4, hosts=2)
    assert len(island_pairs(twice, [2], [3])) == 2 * 4 + 2  # two at s3, which is configured later, may be cut, too
