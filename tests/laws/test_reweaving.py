"""Paths woven anew for traffic: what is forecast is what frames do, and no pair is cut off on the way."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.reweaving import busiest_shares, possible, weave_for
from tagloom.pipeline.planning import plan
from tagloom.pipeline.rollouts import rollout_between
from tagloom.records.traffic import Traffic

SHAPES = (("ring", 3, 2, 2), ("ring", 4, 2, 1), ("complete", 4, 1, 2), ("mesh", (2, 2), 2, 1))
RUNNING = {}


def running(shape):
    if shape not in RUNNING:
        family, dims, parallel, hosts = shape
        dims = dims if isinstance(dims, tuple) else (dims,)
        fabric = make_fabric(family, *dims, parallel=parallel, hosts=hosts, model="powerconnect-5324")
        RUNNING[shape] = plan(fabric, ROOT / "templates")[0]
    return RUNNING[shape]


def frames_on_the_busiest(build, volume):
    """Send a frame for every byte, and return how many the busiest port of a link sent."""
    plane = Dataplane(build.fabric, build.state)
    names = [host.name for host in build.fabric.hosts]
    for a, b in zip(*np.nonzero(volume), strict=True):
        for _ in range(int(volume[a, b])):
            assert plane.unicast(names[a], names[b]).copies == 1
    fabric = build.fabric
    ends = [
        (fabric.switches[switch].name, port)
        for link in fabric.links
        for switch, port in ((link.a, link.a_port), (link.b, link.b_port))
    ]
    return max(plane.sent[end] for end in ends)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(SHAPES), st.integers(0, 2**32 - 1))
def test_the_forecast_is_what_frames_do_and_no_wave_cuts_a_pair_off(shape, seed):
    build = running(shape)
    chance = np.random.default_rng(seed)
    hosts = len(build.fabric.hosts)
    volume = (chance.integers(0, 9, (hosts, hosts)) * (chance.random((hosts, hosts)) < 0.4)).astype(np.float64)
    np.fill_diagonal(volume, 0.0)
    seconds = 1.0 / 125e6  # in which a channel of 1 Gb/s carries one byte: shares are frames
    measured = [Traffic(volume, volume, seconds)]
    woven, forecast = weave_for(build, measured, ROOT / "templates", "none")
    assert round(forecast.before[0]) == frames_on_the_busiest(build, volume)
    assert round(forecast.after[0]) == frames_on_the_busiest(woven.build, volume)
    (least,) = possible(build.fabric, build.routes, measured).after
    assert least <= min(forecast.before[0], forecast.after[0]) + 1e-6
    change = rollout_between(build, woven.build)
    assert not change.downtime_seconds
    assert (forecast.waves, forecast.lines) == (len(change.waves), sum(wave.lines for wave in change.waves))
    for wave in change.waves:
        found = Dataplane(build.fabric, wave.state).ping_all()
        assert (found.reached, found.storm) == (found.pairs, "")


def test_shares_are_of_each_matrix_and_of_the_time_it_took():
    build = running(SHAPES[0])
    volume = 1e6 * (1 - np.eye(6))
    one, slow = (Traffic(volume, volume, seconds) for seconds in (1.0, 10.0))
    fast, calm = busiest_shares(build.fabric, build.routes, [one, slow])
    assert abs(fast - 10 * calm) < 1e-12
