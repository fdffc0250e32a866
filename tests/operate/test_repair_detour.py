"""Detours that a build has are found for what is dead, and taken as builds that differ in PVIDs alone."""

from dataclasses import replace

import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.apply.build import read_waves
from tagloom.apply.journal import Run
from tagloom.apply.run_states import DONE, STOPPED
from tagloom.operate.repair import waves_around
from tagloom.operate.repair_detour import dead_for, detour_for, detour_wave, write_detour
from tagloom.operate.repair_runs import Runs, assess, assess_ends
from tagloom.operate.repair_spare import Spare
from tagloom.operate.repair_target import target
from tagloom.operate.waves import read_sequence
from tagloom.pipeline import plan, read_build
from tagloom.records.change import Cell, difference
from tagloom.records.dead_parts import DeadParts
from tagloom.records.observation import Counters, Observation
from tagloom.records.switch_state import dead_states
from tagloom.render import render_configuration
from tagloom.rollout.layers import without
from tagloom.verify import working_pairs

pytestmark = pytest.mark.kernel

NONE = DeadParts()


@pytest.fixture(scope="module", params=["fixed", "renamed"])
def build(request, templates):
    fabric = make_fabric("ring", 4, model="powerconnect-5324", parallel=2)
    return plan(fabric, templates, assignment=request.param, protect="switch")[0]


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


def runs_of(build, templates, state=None):
    state = state or build.state
    texts = {s.name: render_configuration(platforms.of(s), state[s.name], templates) for s in build.fabric.switches}
    return Runs(None, build.fabric, state, build, None, False, texts)


def around(build, detour):
    found = dead_for(build.fabric, detour.dead)
    assert detour_for(build, found) == detour
    return target(build.fabric, build.fabric, build.fabric, found).fabric


def test_a_detour_is_one_proven_wave_to_the_build_that_takes_it_and_reads_back_as_it_was_written(
    build, templates, tmp_path
):
    runs = runs_of(build, templates)
    for number, detour in enumerate(build.detours):
        fabric, place = around(build, detour), tmp_path / str(number)
        wave = detour_wave(runs, fabric, detour, templates)
        if not detour.pvids:
            assert wave is None
            continue
        sequence = wave.write(templates, place / "rollout")
        read = read_sequence(place / "rollout")
        assert (read.states, read.proven, read.assumptions) == (sequence.states, sequence.proven, sequence.assumptions)
        assert write_detour(build, fabric, detour, templates, place / "build")
        taken = read_build(place / "build")
        assert sequence.states[-1] == taken.state
        (order,) = read_waves(place / "rollout")
        assert order.assumptions.keeping


def test_a_detour_whose_vlan_is_not_there_is_not_taken(build, templates):
    detour = next(each for each in build.detours if each.pvids and len(each.dead) == 2)
    gone = set(detour.pvids.values())
    less = {name: without(held, gone & set(held.vlans.tolist())) for name, held in build.state.items()}
    assert detour_wave(runs_of(build, templates, less), around(build, detour), detour, templates) is None


@pytest.fixture(scope="module")
def guarded_ring(templates):
    """Return a whole ring, and a build with one link of each two off and detours, of which some leave pairs cut off."""
    whole = make_fabric("ring", 4, model="powerconnect-5324", parallel=2)
    off = {i for i, link in enumerate(whole.links) if link.parallel_link}
    return whole, plan(whole.with_links_down(off), templates, protect="link")[0]


def test_a_detour_that_leaves_pairs_cut_off_restores_others_and_says_that_it_is_not_complete(guarded_ring, templates):
    _, build = guarded_ring
    runs = runs_of(build, templates)
    complete = set()
    for detour in (each for each in build.detours if each.pvids):
        fabric = around(build, detour)
        wave = detour_wave(runs, fabric, detour, templates)
        was, now = (
            working_pairs(fabric, {**state, **dead_states(fabric)}) for state in (build.state, wave.build.state)
        )
        assert not (was & ~now).any()
        assert wave.complete == bool(now.sum() == fabric.same_network.sum())
        complete.add(wave.complete)
    assert complete == {True, False}


def test_a_spare_is_tried_after_a_detour_and_new_paths_after_both(guarded_ring, templates):
    whole, build = guarded_ring
    run = Run(1, "r", "apply", "ring", "b", "apply b", "o", 0.0, DONE, "", 1, 1, True, None, 1.0)
    runs = replace(runs_of(build, templates), run=run)
    links = [dead_for(build.fabric, detour.dead).links for detour in build.detours if detour.pvids]
    partly = set()
    for (dead,) in links:
        found = assess(runs, whole, lambda _, down=frozenset({dead}): reading(whole, down), 300.0)
        assert [type(way.known).__name__ for way in found.ways] == ["Detour", "Spare", "NoneType", "NoneType"]
        detour, spare = found.known_ways
        waves = [waves_around(runs, way.wanted.fabric, way.known, templates) for way in (detour, spare)]
        assert waves[1].complete
        partly.add(waves[0].complete)
    assert partly == {True, False}


def test_what_a_detour_leaves_is_planned_anew_and_a_link_that_sleeps_stays_asleep(guarded_ring, templates):
    whole, build = guarded_ring
    runs = runs_of(build, templates)
    detour = next(each for each in build.detours if each.pvids)
    taken = detour_wave(runs, around(build, detour), detour, templates).build
    run = Run(2, "r", "apply", "ring", "x/repair/build", "r", "o", 0.0, DONE, "", 1, 1, True, None, 1.0)
    (dead,) = dead_for(build.fabric, detour.dead).links
    now = replace(runs, run=run, ours=True, fabric=taken.fabric, state=taken.state)
    found = assess(now, whole, lambda _: reading(whole, {dead}), 300.0)
    assert (found.to_do, found.ways[0].known, found.ways[0].wanted.woken) == (False, None, frozenset())


def reading(fabric, down):
    """Return what all switches show, of whose links some are down."""
    seen = {}
    for s, switch in enumerate(fabric.switches):
        rows = (
            (i, p)
            for i, a, a_port, b, b_port in fabric.cables.tolist()
            for e, p in ((a, a_port), (b, b_port))
            if e == s
        )
        ports = tuple(Counters(port, "", admin_up=True, oper_up=i not in down) for i, port in rows)
        seen[switch.name] = Observation(switch.name, 0.0, ports=ports)
    return seen


@pytest.mark.parametrize(
    ("down", "heard", "dead", "asked"),
    [
        ({3}, [["s1"], ["s2"]], {3}, {"s1", "s2"}),  # its second end tells while the first is read
        ({3}, [["s1"]], None, {"s1"}),  # of a switch that died, one of its neighbours
        ({3}, [["s0"]], None, {"s0"}),
        ({0, 3}, [["s0", "s1", "s2"]], None, {"s0", "s1", "s2"}),  # two: no detour is for them
        (set(), [["s1", "s2"]], None, {"s1", "s2"}),
    ],
)
def test_a_link_of_which_both_ends_tell_is_known_to_be_dead_without_a_look_at_the_others(
    build, templates, down, heard, dead, asked
):
    fabric = build.fabric
    assert {fabric.switches[s].name for s in (fabric.links[3].a, fabric.links[3].b)} == {"s1", "s2"}
    run = Run(1, "r", "apply", "ring", "b", "apply b", "o", 0.0, DONE, "", 1, 1, True, None, 1.0)
    runs = replace(runs_of(build, templates), run=run)
    shown, read = reading(fabric, down), []

    def poll(_fabric, names):
        read.extend(names)
        return {name: shown[name] for name in names}

    told = iter(heard)
    found = assess_ends(runs, fabric, reading(fabric, ()), lambda: next(told, ()), poll, 300.0)
    assert (found and found.dead.links) == dead
    assert sorted(read) == sorted(asked)


def test_a_link_with_a_spare_is_known_to_be_dead_so_too_and_its_way_is_known_from_the_build_without_repairs_alone(
    templates,
):
    whole = make_fabric("ring", 4, model="powerconnect-5324", parallel=2)
    off = {i for i, link in enumerate(whole.links) if link.parallel_link}
    runs = runs_of(plan(whole.with_links_down(off), templates)[0], templates)
    (dead,) = (i for i, link in enumerate(whole.links) if {link.a, link.b} == {1, 2} and i not in off)
    shown = reading(whole, {dead})
    run = Run(1, "r", "apply", "ring", "b", "apply b", "o", 0.0, DONE, "", 1, 1, True, None, 1.0)
    for state in (DONE, STOPPED):
        heard = iter([["s1", "s2"]])
        at = replace(runs, run=replace(run, state=state))
        found = assess_ends(
            at,
            whole,
            reading(whole, ()),
            lambda tell=heard: next(tell, ()),
            lambda _, names: {n: shown[n] for n in names},
            9.0,
        )
        first = found.ways[0]
        assert isinstance(first.known, Spare)
        assert (first.known.link, found.dead.links) == (dead, {dead})
        assert found.known_ways == ((first,) if state == DONE else ())
