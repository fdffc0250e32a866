"""Law: where links are chosen, frames that flood to uplinks count with every copy, as the frames themselves show."""

import time

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.graph.floods import flooded_bytes, load_with_copies
from tagloom.graph.paths import channel_load
from tagloom.pipeline.planning import summary_of
from tagloom.pipeline.timetabling import built, planner
from tagloom.predict.floods import counted_floods
from tagloom.predict.performance import move
from tagloom.records.timetable import History
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.day import TimetableOptions, timetable
from tagloom.regulate.settings_file import RegulateResult, settings_routes
from tagloom.route import route
from test_every_plan_is_what_frames_do import families, graphs
from test_forecasts_of_floods import loaded_by_frames, with_some_uplinks
from test_forecasts_of_networks import random_traffic
from test_networks import with_networks
from test_own_ways_of_networks import with_own_ways
from test_tagged_networks import with_tagged
from thinned import examples

SHAPES = [("mesh", 2, 2), ("ring", 4), ("torus", 3, 2)]
KINDS = ["one network", "networks", "own ways", "tagged"]


def busiest(fabric, state, volume):
    """Return the bytes on the busiest channel between switches, scaled to 1 Gb/s, by every copy of every frame."""
    capacity = np.repeat([link.capacity_mbps() / 1000.0 for link in fabric.links], 2)
    return (loaded_by_frames(fabric, state, volume)[2 * len(fabric.hosts) :] / capacity).max(initial=0.0)


@examples(10)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["static", "greedy", "optimal"]),
    st.sampled_from(KINDS),
    st.sampled_from(["fixed", "fixed", "renamed"]),
    st.integers(0, 10_000),
    st.data(),
)
def test_no_channel_gets_busier_by_any_copy_than_the_busiest_was(shape, method, kind, assignment, seed, data):
    fabric = make_fabric(*shape, hosts=2, model="powerconnect-5324")
    assignment = assignment if kind == "one network" else "fixed"
    fabric = fabric if kind == "one network" else with_networks(data.draw, fabric)
    fabric = with_own_ways(data.draw, fabric) if kind == "own ways" else fabric
    fabric = with_tagged(data.draw, fabric) if kind == "tagged" else fabric
    fabric = with_some_uplinks(data.draw, fabric)
    traffic = random_traffic(seed, fabric)
    levels = (0,) if method == "static" or data.draw(st.booleans()) else (0, 10, 100)
    options = RegulateOptions(method, levels, time_limit_seconds=0.5)
    words = fabric, traffic, "auto", assignment, lambda _done, _of: None, options, time.monotonic
    try:
        whole = pipeline.plan(fabric, ROOT / "templates", assignment=assignment, texts=False)[0]
        chosen = pipeline.regulate(*words)
        smaller = fabric.with_links_down(chosen.links_off).with_speeds(dict(chosen.links_slowed))
        given = RegulateResult(settings_routes(smaller, chosen), {}, ())
        build = pipeline.plan(smaller, ROOT / "templates", assignment=assignment, regulated=given, texts=False)[0]
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    event(f"{kind}, {method}: {'floods' if flooded_bytes(fabric, traffic.volume_bytes) else 'none'}")
    assert chosen.max_channel_load_before == pytest.approx(busiest(fabric, whole.state, traffic.volume_bytes))
    assert chosen.max_channel_load_after == pytest.approx(busiest(smaller, build.state, traffic.volume_bytes))
    copies = chosen.max_channel_load_before > channel_load(fabric, whole.routes, traffic.volume_bytes).max() * 1.001
    event("copies fill the busiest channel" if copies else "its paths do")
    assert chosen.max_channel_load_after <= chosen.max_channel_load_before * (1 + 1e-9)
    assert chosen.lower_bound_watts <= chosen.watts_after + 1e-9


UPLINK = "hosts: {h5: {uplink: true}}\n"


def no_progress(_done, _of):
    """Take what a search says of how far it is, for nobody."""


@pytest.mark.parametrize(
    ("assignment", "routing"), [("fixed", "auto"), ("renamed", "tree"), ("pinned", "tree"), ("pinned", "up-down")]
)
def test_plans_and_forecasts_count_copies_under_each_assignment_where_they_follow_from_the_paths(assignment, routing):
    fabric = make_fabric(
        "mesh", 3, 3, extra=UPLINK, model="linux-bridge" if assignment == "pinned" else "powerconnect-5324"
    )
    traffic = random_traffic(7, fabric)
    build, proof, _ = pipeline.plan(fabric, ROOT / "templates", routing=routing, assignment=assignment, traffic=traffic)
    floods, (said,) = counted_floods(fabric, traffic, [build.routes], assignment)
    assert floods == ((assignment, routing) != ("pinned", "up-down")), said
    assert ("not counted" in said) != floods
    summary = summary_of(build, proof)["max_channel_load"]
    of_paths = round(channel_load(fabric, build.routes, traffic.volume_bytes).max())
    if floods:
        frames = loaded_by_frames(fabric, build.state, traffic.volume_bytes)
        moved = move(fabric, build.routes, traffic, floods=True)
        assert moved.flows.add_up(moved.flows.volume_bytes) == pytest.approx(frames)
        assert summary == round(busiest(fabric, build.state, traffic.volume_bytes)) > of_paths
    else:
        assert summary == of_paths


def test_every_setting_of_a_day_carries_every_copy():
    fabric = make_fabric("ring", 3, hosts=2, parallel=2, extra=UPLINK, model="powerconnect-5324")
    pairs = np.random.default_rng(1).exponential(2e6, (2, 6, 6)) * (1 - np.eye(6))
    rate = (pairs * np.array([0.01, 1.0])[:, None, None]).astype(np.float32)
    day = History(np.arange(2) * 43_200.0, np.full(2, 43_200.0), rate, np.ones(2, np.bool_), ())
    how = planner(fabric, ROOT / "templates")
    found = timetable(fabric, day, how, TimetableOptions(settings=1), no_progress, time.monotonic)
    used = [found.candidates[k] for k in found.schedules[-1].used]
    assert any(each.settings.links_off for each in used)
    for each in used:
        build = built(each.fabric, settings_routes(each.fabric, each.settings), ROOT / "templates")
        for t in range(2):
            assert busiest(each.fabric, build.state, rate[t].astype(np.float64)) == pytest.approx(each.busiest[t])


def test_a_flood_that_fills_a_hosts_port_is_refused_where_links_are_chosen():
    """A gigabit port hears 1.25e9 bytes in 10 s: copies of floods fill the ports of hosts that nobody sends to."""
    fabric = make_fabric("mesh", 3, hosts=2, extra=UPLINK, model="powerconnect-5324")
    volume = np.zeros((6, 6))
    volume[0, 5] = volume[3, 5] = 0.7e9
    traffic = Traffic(volume, np.ceil(volume / 1000), 10.0)
    options = RegulateOptions("static")
    with pytest.raises(PlanError, match=r"h1 receives 1,400,000,000, 150,000,000 too many"):
        pipeline.regulate(fabric, traffic, "auto", "fixed", no_progress, options, time.monotonic)


@examples(15)
@given(
    st.one_of(graphs(least=3), families()),
    st.sampled_from(["one network", "networks"]),
    st.sampled_from(["fixed", "fixed", "renamed"]),
    st.integers(0, 10_000),
    st.data(),
)
def test_paths_chosen_for_load_carry_every_copy_with_no_more_on_a_channel(fabric, kind, assignment, seed, data):
    """`--prefer load` with traffic: the busiest channel by all copies is above the bound, and no busier than plain."""
    fabric = fabric if kind == "one network" else with_networks(data.draw, fabric)
    assignment = assignment if kind == "one network" else "fixed"
    fabric = with_some_uplinks(data.draw, fabric)
    traffic = random_traffic(seed, fabric)
    words = {"assignment": assignment, "traffic": traffic, "texts": False}
    try:
        plain = route(fabric, "auto", assignment)
        build, proof, _ = pipeline.plan(fabric, ROOT / "templates", prefer="load", **words)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    if plain.parent is None or build.routes.parent is None:
        event("no trees")
        return
    found = busiest(fabric, build.state, traffic.volume_bytes)
    event(f"{kind}: {'floods' if flooded_bytes(fabric, traffic.volume_bytes) else 'none'}")
    assert summary_of(build, proof)["max_channel_load"] == round(found)
    assert build.load_bound <= found * (1 + 1e-9)
    assert found <= load_with_copies(fabric, plain, traffic.volume_bytes).max(initial=0.0) * (1 + 1e-9)


def test_copies_are_spread_over_parallel_links():
    """What h0 floods to h3 has no path between switches, but copies: h1's and h2's bytes take the other link."""
    fabric = make_fabric("mesh", 2, hosts=4, parallel=2, extra="hosts: {h3: {uplink: true}}\n")
    volume = np.zeros((8, 8))
    volume[0, 3], volume[0, 7], volume[1, 5], volume[2, 6] = 3e6, 0.1e6, 2e6, 2e6
    traffic = Traffic(volume, np.ceil(volume / 1000), 10.0)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", prefer="load", traffic=traffic)
    assert busiest(fabric, build.state, volume) == build.load_bound == pytest.approx(4e6)
