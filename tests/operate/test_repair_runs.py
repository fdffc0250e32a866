"""What a repair finds: who is readmitted first of switches that are back together, and other names in the inventory."""

from dataclasses import replace

import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.operate.repair_runs import _refuse_other_names, _waiting
from tagloom.records.dead_parts import DeadParts

NOTHING = DeadParts(frozenset(), frozenset())


def line(switches):
    """Return switches in a row."""
    fabric = make_fabric("mesh", switches, 1)
    assert [(link.a, link.b) for link in fabric.links] == [(s, s + 1) for s in range(switches - 1)]
    return fabric


def dead(*switches):
    return DeadParts(frozenset(), frozenset(switches))


def test_of_switches_that_are_back_the_one_that_a_cable_joins_to_the_rest_is_readmitted_first():
    """Found by the story of seed 293: s1 was tried first, which only s2 joins to the others, and nothing was to do."""
    assert _waiting(line(4), NOTHING, dead(0, 1, 2)) == {0, 1}
    assert _waiting(line(4), NOTHING, dead(0, 1)) == {0}
    assert _waiting(line(4), NOTHING, dead(3)) == set()
    assert _waiting(line(4), dead(2), dead(0, 1, 2)) == {1}, "s2 is dead still: there is no way to the rest yet"
    assert _waiting(line(4), DeadParts(frozenset({2}), frozenset()), dead(0, 2)) == {2}, "its cable to s3 is dead"


def test_a_switch_that_the_inventory_calls_otherwise_is_a_finding():
    fabric = line(3)
    _refuse_other_names(fabric, fabric)
    switches = tuple(replace(s, name="z") if s.name == "s1" else s for s in fabric.switches)
    with pytest.raises(InputError, match="s1: expected a switch of the inventory"):
        _refuse_other_names(fabric, replace(fabric, switches=switches))
