"""Law: a day's settings and the changes between them, where networks have ways of their own or ports carry several."""

import random
import time
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from sending import line_by_line
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.pipeline.timetabling import planner
from tagloom.records.timetable import History
from tagloom.regulate.day import TimetableOptions, timetable
from tagloom.regulate.settings_file import RegulateResult, settings_routes
from test_forecasts_of_networks import carried_by_frames
from test_own_ways_of_networks import with_own_ways
from test_regulating_networks import SHAPES, of_one_tree, with_networks
from test_tagged_networks import heard_across, with_tagged
from thinned import examples

TEMPLATES = ROOT / "templates"
MODEL = "powerconnect-5324"
TRUNK = "networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4], vlan: 20}}\n"


def a_day(seed, fabric):
    """Return a day of four intervals, two of them busy; a quarter of what a port carries at most."""
    chance, shape = np.random.default_rng(seed), (4, len(fabric.hosts), len(fabric.hosts))
    pairs = chance.exponential(5e5, shape) * fabric.same_network
    rate = (pairs * np.array([0.01, 1.0, 1.0, 0.02])[:, None, None]).astype(np.float32)
    return History(np.arange(4) * 21_600.0, np.full(4, 21_600.0), rate, np.ones(4, np.bool_), ())


def sought(fabric, day, **options):
    chosen = TimetableOptions(settings=2, **options)
    return timetable(fabric, day, planner(fabric, TEMPLATES), chosen, lambda _done, _of: None, time.monotonic)


def planned_as_run_does(each, previous):
    given = RegulateResult(settings_routes(each.fabric, each.settings), {}, ())
    build, proof, _ = pipeline.plan(each.fabric, TEMPLATES, previous=previous, regulated=given)
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert proof.isolated
    return build


def arrive(fabric, state, where, *, once):
    """Follow a frame of every pair, and, where `once`, one of each host to all."""
    plane = Dataplane(fabric, state)
    for a in fabric.hosts:
        mine = {b.name for b in fabric.hosts if b.network == a.network and b != a}
        for b in mine:
            sent = plane.unicast(a.name, b)
            assert (sent.delivered_to.get(b), sent.flooded) == (1, ()), (where, a.name, b)
        heard = plane.broadcast(a.name)
        assert not heard.storm, (where, a.name)
        assert set(heard.delivered_to) >= mine, (where, a.name)
        assert not once or heard.delivered_to == dict.fromkeys(mine, 1), (where, a.name)


def lines_of_changes(change, fabric, chance, every):
    """Send the lines of every wave in a random order, and follow frames and hostile tags after each few."""
    for wave in change.waves:
        assert wave.proof.proven
        here = dict(wave.before)
        for _ in line_by_line(fabric, wave, here, chance, every):
            arrive(fabric, here, wave.name, once=False)
            assert heard_across(fabric, here) == set(), wave.name
        assert all(here[name] == held for name, held in wave.state.items())


@examples(4)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["own ways", "tagged", "both"]),
    st.sampled_from([(0,), (0, 100)]),
    st.integers(0, 10_000),
    st.data(),
)
def test_every_setting_and_every_change_of_a_day_is_what_frames_do(shape, kind, levels, seed, data):
    fabric = with_networks(data, make_fabric(*shape, hosts=2, parallel=2, model=MODEL))
    fabric = with_own_ways(data.draw, fabric) if kind == "own ways" else with_tagged(data.draw, fabric)
    if kind == "both" and (names := [name for name in fabric.networks if name not in dict(fabric.tags)]):
        own = (*fabric.routings, (names[0], data.draw(st.sampled_from(["up-down", "any"]))))
        fabric = replace(fabric, routings=tuple(sorted(own)))
    day = a_day(seed, fabric)
    try:
        whole = pipeline.plan(fabric, TEMPLATES)[0]
        found = sought(fabric, day, levels=levels)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    used = [found.candidates[k] for k in {0, *found.schedules[-1].used}]
    event(f"{kind}: {len(used)} settings, {max(len(each.settings.links_off) for each in used)} links off")
    chance = random.Random(seed)
    for each in used:
        build = planned_as_run_does(each, whole)
        arrive(fabric, build.state, "at rest", once=True)
        assert heard_across(each.fabric, build.state) == set()
        for network in dict(fabric.tags):
            assert of_one_tree(fabric, build.state, network) == of_one_tree(fabric, whole.state, network)
        for t in range(4):
            carried = carried_by_frames(each.fabric, build.state, day.rate[t].astype(np.float64))
            scale = np.repeat([1000.0 / link.capacity_mbps() for link in each.fabric.links], 2)
            assert (carried * scale).max(initial=0.0) == pytest.approx(each.busiest[t], rel=1e-5)
    for one, other in permutations(used, 2):
        before = planned_as_run_does(one, whole)
        change = rollout_between(before, planned_as_run_does(other, before))
        lines_of_changes(change, fabric, chance, every=8)
    assert found.bound_joules <= found.schedules[-1].joules <= found.full_joules * (1 + 1e-9)


def test_links_go_off_at_night_where_ports_carry_several_networks():
    fabric = make_fabric("ring", 4, hosts=2, parallel=2, extra=TRUNK, model=MODEL)
    found = sought(fabric, a_day(3, fabric))
    night = found.candidates[found.schedules[-1].setting[0]]
    assert len(night.settings.links_off) >= 3
    tree = of_one_tree(fabric, pipeline.plan(fabric, TEMPLATES)[0].state, "storage")
    assert not tree & set(night.settings.links_off)


def test_what_all_networks_have_at_a_port_must_fit_it_in_every_interval():
    """A gigabit port carries 125e6 bytes a second: what two networks have at one adds up."""
    said = "networks: {compute: [h0, h1], storage: {hosts: [h2], tagged: [h0], vlan: 20}}\n"
    fabric = make_fabric("mesh", 3, extra=said, model=MODEL)
    at = {host.name: h for h, host in enumerate(fabric.hosts)}
    rate = np.zeros((1, len(fabric.hosts), len(fabric.hosts)), np.float32)
    rate[0, at["h0"], at["h1"]] = rate[0, at["h0@storage"], at["h2"]] = 70e6
    day = History(np.zeros(1), np.full(1, 86_400.0), rate, np.ones(1, np.bool_), ())
    with pytest.raises(PlanError, match=r"host h0 sends 140,000,000, 15,000,000 too many"):
        sought(fabric, day)
