"""Law: settings of a day are sought and proven for several networks at once, and estimates keep to each network."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.timetabling import built, planner
from tagloom.read.counter_history import history_of_counters
from tagloom.records.observation import CountedInterval, Rate, Rates
from tagloom.records.timetable import History
from tagloom.regulate.day import TimetableOptions, timetable
from tagloom.regulate.settings_file import settings_routes
from test_forecasts_of_networks import carried_by_frames
from test_networks import leaking, sent_across
from test_regulating_networks import with_networks
from thinned import examples

TEMPLATES = ROOT / "templates"


@pytest.mark.parametrize("seed", [1, 2])
def test_every_setting_of_a_day_is_proven_for_each_network_and_carries_what_is_said(seed):
    chance = np.random.default_rng(seed)
    fabric = make_fabric("ring", 3, hosts=2, parallel=2, model="powerconnect-5324")
    names = chance.permutation(["a", "b", "b", "a", "c", "b"]).tolist()
    fabric = replace(fabric, hosts=tuple(replace(h, network=n) for h, n in zip(fabric.hosts, names, strict=True)))
    pairs = chance.exponential(2e6, (4, len(fabric.hosts), len(fabric.hosts))) * fabric.within_networks
    rate = (pairs * np.array([0.01, 1.0, 1.0, 0.02])[:, None, None]).astype(np.float32)
    day = History(np.arange(4) * 21_600.0, np.full(4, 21_600.0), rate, np.ones(4, np.bool_), ())
    found = timetable(
        fabric, day, planner(fabric, TEMPLATES), TimetableOptions(settings=2), lambda _done, _of: None, time.monotonic
    )
    for k in found.schedules[-1].used:
        each = found.candidates[k]
        routes = settings_routes(each.fabric, each.settings)
        build = built(each.fabric, routes, TEMPLATES)
        assert build is not None
        assert leaking(each.fabric, build.state) == sent_across(each.fabric, build.state) == []
        plane = Dataplane(each.fabric, build.state)
        for mine in fabric.networks.values():
            names = [fabric.hosts[h].name for h in mine.tolist()]
            assert all(plane.unicast(a, b).delivered_to == {b: 1} for a in names for b in names if a != b)
        for t in range(4):
            carried = carried_by_frames(each.fabric, build.state, rate[t].astype(np.float64))
            assert carried.max(initial=0.0) == pytest.approx(each.busiest[t], rel=1e-5)


@examples(20)
@given(st.integers(0, 10_000), st.data())
def test_what_counters_say_is_spread_within_each_network_alone(seed, data):
    fabric = with_networks(data, make_fabric("ring", 4, hosts=2))
    truth = np.random.default_rng(seed).exponential(1e6, (8, 8)) * fabric.within_networks
    ports = {
        switch.name: [
            (host.port, truth[h].sum(), truth[:, h].sum()) for h, host in enumerate(fabric.hosts) if host.switch == s
        ]
        for s, switch in enumerate(fabric.switches)
    }
    seen = {
        name: Rates(name, 3600.0, tuple(Rate(n, f"g{n}", 8 * sent, 8 * received, None) for n, sent, received in rows))
        for name, rows in ports.items()
    }
    found = history_of_counters(fabric, [CountedInterval(86_400.0, seen)], "UTC").rate[0]
    assert not found[fabric.within_networks == 0].any()
    assert found.sum(axis=1) == pytest.approx(truth.sum(axis=1), rel=5e-3, abs=1.0)
    assert found.sum(axis=0) == pytest.approx(truth.sum(axis=0), rel=5e-3, abs=1.0)


def test_what_counters_of_a_port_say_is_counted_once_for_all_networks_that_it_carries():
    said = "networks: {compute: [h0, h2, h3], storage: {hosts: [h1], tagged: [h0, h2, h5], vlan: 20}}\n"
    fabric = make_fabric("mesh", 3, hosts=2, extra=said)
    ports = {(host.switch, host.port): 1e6 * (1 + host.switch) for host in fabric.hosts}
    seen = {
        switch.name: Rates(
            switch.name, 60.0, tuple(Rate(p, f"g{p}", 8 * b, 8 * b, None) for (at, p), b in ports.items() if at == s)
        )
        for s, switch in enumerate(fabric.switches)
    }
    found = history_of_counters(fabric, [CountedInterval(86_400.0, seen)], "UTC").rate[0]
    assert not found[fabric.within_networks == 0].any()
    counted = sum(ports.values()) - ports[next((h.switch, h.port) for h in fabric.hosts if h.name == "h4")]
    assert 0.9 * counted <= found.sum() <= 1.01 * counted, "h4 is alone in its network: its bytes go nowhere"


@pytest.fixture
def site(tmp_path):
    """Write a ring with two networks, and a day that is busy in the middle."""
    fabric = "model: powerconnect-5324\nshape: {family: ring, dims: [4], parallel: 2}\nnetworks: {a: [h0, h2]}\n"
    (tmp_path / "f.yml").write_text(fabric, "utf-8")
    rows = [f"2026-11-20T{hour:02d}:00,h0,h2,{50e9 if 9 <= hour < 17 else 1e3}" for hour in range(24)]
    rows += [f"2026-11-20T{hour:02d}:00,h3,h1,2000" for hour in range(24)]
    head = "# seconds: 3600\ntime,source,destination,bytes\n"
    (tmp_path / "day.csv").write_text(head + "\n".join(rows) + "\n", "utf-8")
    return tmp_path


def test_a_timetable_of_two_networks_is_written_and_its_settings_are_planned(site, answer):
    status, page = answer("timetable", site / "f.yml", "--traffic", site / "day.csv", "-o", site / "out" / "week.yml")
    assert status == 0
    night = max(page["settings"], key=lambda each: each["links_off"])
    assert night["links_off"] == 4
    (settings,) = (site / "out").glob("*.json")
    status, planned = answer("plan", site / "f.yml", "--settings", settings, "-o", site / "night")
    assert (status, planned["isolated"], planned["links_off"]) == (0, True, 4)
    assert answer("timetable", site / "f.yml", "--calendar", site / "out" / "week.yml")[0] == 0


def test_a_day_with_bytes_between_networks_is_refused_with_its_pairs(site, answer):
    with (site / "day.csv").open("a") as file:
        file.write("2026-11-20T23:00,h0,h1,5\n")
    status, page = answer("timetable", site / "f.yml", "--traffic", site / "day.csv")
    assert status == 2
    assert "h0 (a) -> h1 (default)" in page["findings"][0]["actual"]
