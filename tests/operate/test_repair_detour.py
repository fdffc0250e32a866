"""Detours that a build has are found for what is dead, and taken as builds that differ in PVIDs alone."""

import pytest

from fabrics import make_fabric
from tagloom.operate.repair_detour import detour_for, write_detour
from tagloom.operate.repair_target import target
from tagloom.pipeline import plan, read_build
from tagloom.records.change import Cell, difference
from tagloom.records.dead_parts import DeadParts

NONE = DeadParts()


@pytest.fixture(scope="module")
def build(templates):
    fabric = make_fabric("ring", 4, model="powerconnect-5324", parallel=2)
    return plan(fabric, templates, protect="switch")[0]


def switch(build, s):
    links = frozenset(i for i, link in enumerate(build.fabric.links) if s in (link.a, link.b))
    return DeadParts(links, frozenset({s}))


def test_one_dead_link_or_switch_has_a_detour_and_two_have_none(build):
    assert detour_for(build, DeadParts(frozenset({3}))).dead in {detour.dead for detour in build.detours}
    assert detour_for(build, switch(build, 2)).dead == ("s2",)
    assert detour_for(build, NONE) is None
    assert detour_for(build, DeadParts(frozenset({1, 3}))) is None
    two = switch(build, 2)
    other = frozenset(range(len(build.fabric.links))) - two.links
    assert detour_for(build, DeadParts(two.links | other, two.switches)) is None


@pytest.mark.parametrize("dead", ["link", "switch"])
def test_a_detour_is_written_as_a_build_that_proves_and_changes_pvids_alone(build, templates, tmp_path, dead):
    parts = [DeadParts(frozenset({i})) for i in range(8)] if dead == "link" else [switch(build, s) for s in range(4)]
    for number, found in enumerate(parts):
        detour = detour_for(build, found)
        fabric = target(build.fabric, build.fabric, build.fabric, found).fabric
        assert write_detour(build, fabric, detour, templates, tmp_path / str(number))
        taken = read_build(tmp_path / str(number))
        changed = {
            (each.cell, s.name) for s in fabric.live for each in difference(build.state[s.name], taken.state[s.name])
        }
        assert {cell for cell, _ in changed} <= {Cell.PVID}
        assert {s for _, s in changed} <= {fabric.switches[host.switch].name for host in fabric.hosts}
        assert taken.detours == ()
