"""Law: what is forecast for several networks is what their frames load, each network's and all together."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.graph.network_loads import busiest_of_networks
from tagloom.lab.dataplane import Dataplane
from tagloom.predict.networks import networks_of
from tagloom.predict.performance import move
from tagloom.read import read_traffic
from tagloom.records.traffic import Traffic
from tagloom.report.terminal import forecast_lines, forecast_payload
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_networks import planned, with_networks
from thinned import examples

SECONDS = 10.0


def random_traffic(seed, fabric):
    """Return bytes between most pairs of hosts of one network, in messages of a kilobyte."""
    chance = np.random.default_rng(seed)
    shape = (len(fabric.hosts),) * 2
    within = fabric.within_networks
    volume = np.round(chance.exponential(1e5, shape)) * (chance.random(shape) < 0.7)
    volume *= within if within is not None else 1 - np.eye(len(fabric.hosts))
    return Traffic(volume, np.ceil(volume / 1000.0), SECONDS)


def carried_by_frames(fabric, state, volume):
    """Send a frame of every pair that sends, and add up the pairs' bytes on the channels that it crosses."""
    plane, load = Dataplane(fabric, state), np.zeros(len(fabric.tail))
    for a, b in zip(*(axis.tolist() for axis in np.nonzero(volume)), strict=True):
        sent = plane.unicast(fabric.hosts[a].name, fabric.hosts[b].name)
        assert sent.delivered_to == {fabric.hosts[b].name: 1}
        crossed = [fabric.port_channel[fabric.index[hop.switch], hop.out_port] for hop in sent.path]
        for c in crossed:
            load[c] += volume[a, b] if c >= 0 else 0.0
    return load


@examples(15)
@given(st.one_of(graphs(least=3), families()), st.integers(0, 10_000), st.data())
def test_the_joint_load_is_the_sum_of_what_frames_of_each_network_load(fabric, seed, data):
    fabric = with_networks(data.draw, damaged(data.draw, fabric))
    traffic = random_traffic(seed, fabric)
    build, _, _ = planned(fabric, prefer=data.draw(st.sampled_from(["vlans", "load"])))
    if len(fabric.networks) < 2 or not traffic.volume_bytes.any() or not fabric.links:
        return
    moved = move(fabric, build.routes, traffic)
    loads = busiest_of_networks(fabric, build.routes, build.assignment, traffic.volume_bytes)
    networks = networks_of(fabric, fabric, traffic, (moved, moved), (loads, loads))
    capacity = np.repeat([link.capacity_mbps() / 1000.0 for link in fabric.links], 2)
    total, several = np.zeros(len(fabric.tail)), np.zeros(len(fabric.tail), np.int64)
    own = {}
    for name, mine in fabric.networks.items():
        volume = np.zeros_like(traffic.volume_bytes)
        volume[mine] = traffic.volume_bytes[mine]
        own[name] = carried_by_frames(fabric, build.state, volume)
        total += own[name]
        several += own[name] > 0
    assert moved.busy[2 * len(fabric.hosts) :] * moved.seconds == pytest.approx(8.0 * total / (capacity * 1e9))
    assert [each.name for each in networks] == list(fabric.networks)
    for each in networks:
        assert each.max_channel_load_after == pytest.approx((own[each.name] / capacity).max())
        assert each.shared_channels == np.count_nonzero((own[each.name] > 0) & (several > 1))
        assert each.volume_bytes == traffic.volume_bytes[fabric.networks[each.name]].sum()
    assert max(each.communication_seconds_after for each in networks) == pytest.approx(moved.seconds)


@examples(8)
@given(st.integers(0, 10_000), st.integers(2, 4))
def test_networks_that_share_no_channel_are_each_as_fast_as_alone(seed, side):
    """Two networks at either end of a row: what one sends is no matter to the other."""
    fabric = make_fabric("mesh", 2 * side, hosts=2)
    hosts = (replace(host, network="near" if host.switch < side else "far") for host in fabric.hosts)
    fabric = replace(fabric, hosts=tuple(hosts))
    build, _, _ = planned(fabric)
    traffic = random_traffic(seed, fabric)
    moved = move(fabric, build.routes, traffic)
    loads = busiest_of_networks(fabric, build.routes, build.assignment, traffic.volume_bytes)
    for each in networks_of(fabric, fabric, traffic, (moved, moved), (loads, loads)):
        only = np.isin(np.arange(len(fabric.hosts)), fabric.networks[each.name])[:, None]
        alone = replace(traffic, volume_bytes=traffic.volume_bytes * only, messages=traffic.messages * only)
        if not alone.volume_bytes.any():
            continue
        moved = move(fabric, build.routes, alone)
        loads = busiest_of_networks(fabric, build.routes, build.assignment, alone.volume_bytes)
        found = networks_of(fabric, fabric, alone, (moved, moved), (loads, loads))
        (mine,) = (x for x in found if x.name == each.name)
        assert mine.max_channel_load_after == pytest.approx(each.max_channel_load_after)
        assert each.communication_seconds_after == pytest.approx(moved.seconds)
        assert each.shared_channels == 0


def test_a_forecast_speaks_per_network_on_screen_and_in_json(tmp_path, answer, run):
    fabric, traffic, build = tmp_path / "fabric.yml", tmp_path / "t.csv", tmp_path / "build"
    fabric.write_text("shape: {family: mesh, dims: [3], hosts: 2}\nnetworks: {a: [h0, h4], b: [h1, h3]}\n", "utf-8")
    traffic.write_text("# seconds: 10\nsource,destination,bytes\nh0,h4,5000\nh1,h3,7000\nh3,h1,3000\n", "utf-8")
    assert answer("plan", fabric, "-o", build)[0] == 0
    status, found = answer("predict", build, "--traffic", traffic)
    assert status == 0
    assert {name: part["volume_bytes"] for name, part in found["networks"].items()} == {
        "a": 5e3,
        "b": 1e4,
        "default": 0,
    }
    assert {name: part["pairs"] for name, part in found["networks"].items()} == dict.fromkeys(("a", "b", "default"), 2)
    assert found["networks"]["b"]["max_channel_load_after"] == 7000
    assert found["networks"]["b"]["shared_channels"] == 1
    assert found["networks"]["default"]["shared_channels"] == 0
    status, screen, _ = run("predict", build, "--traffic", traffic)
    assert status == 0
    assert "a: a run of 10 s -> 10 s; 5,000 bytes" in screen
    assert "1 channel shared with others" in screen


def test_without_networks_there_are_none_in_a_forecast():
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    build, _, _ = planned(fabric)
    traffic = replace(read_traffic(Path("pattern:uniform"), fabric), seconds=SECONDS)
    payload = forecast_payload(pipeline.predict_build(build, pipeline.Question(traffic)), fabric)
    assert payload["networks"] == {}
    assert not any(line.startswith("networks") for line in forecast_lines(payload))
