"""Law: what is forecast for bytes to addresses behind uplinks is what their flooded frames load, copy by copy."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.errors import InputError, PlanError
from tagloom.graph.floods import flooded_bytes
from tagloom.graph.network_loads import busiest_of_networks
from tagloom.lab.dataplane import Dataplane
from tagloom.predict.floods import counted_floods
from tagloom.predict.links import predict
from tagloom.predict.networks import networks_of
from tagloom.predict.performance import move
from tagloom.records.traffic import Traffic
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_forecasts_of_networks import random_traffic
from test_networks import planned, with_networks
from test_own_ways_of_networks import with_own_ways
from test_tagged_networks import with_tagged
from test_uplinks import behind
from thinned import examples

FABRIC = "shape: {family: mesh, dims: [3], hosts: 2}\nhosts: {h5: {uplink: true}}\n"


def with_some_uplinks(draw, fabric):
    """Make one or two hosts uplinks; the first has no address."""
    plain = [h for h, host in enumerate(fabric.hosts) if not host.beside and not host.tag]
    chosen = draw(st.lists(st.sampled_from(plain), min_size=1, max_size=2, unique=True)) if plain else []
    known = {h for h in chosen[1:] if draw(st.booleans())}
    hosts = (
        replace(host, uplink=True, mac=host.mac if h in known else 0) if h in chosen else host
        for h, host in enumerate(fabric.hosts)
    )
    return replace(fabric, hosts=tuple(hosts))


def loaded_by_frames(fabric, state, volume):
    """Send a frame of every pair that sends, and add up bytes wherever a copy goes, float64[2H + C] as `Flows` has."""
    plane, hosts = Dataplane(fabric, state), len(fabric.hosts)
    load = np.zeros(2 * hosts + len(fabric.tail))
    for a, b in zip(*(axis.tolist() for axis in np.nonzero(volume)), strict=True):
        one, other = fabric.hosts[a], fabric.hosts[b]
        unknown = other.uplink and not other.macs
        sent = (
            plane.unicast(one.name, other.name, mac=behind(other)) if unknown else plane.unicast(one.name, other.name)
        )
        assert sent.delivered_to.get(other.name) == 1
        load[fabric.host_link[a]] += volume[a, b]
        for hop in sent.path:
            s = fabric.index[hop.switch]
            channel, host = fabric.port_channel[s, hop.out_port], fabric.port_host[s, hop.out_port]
            load[2 * hosts + channel if channel >= 0 else hosts + host] += volume[a, b]
    return load


@examples(25)
@given(
    st.one_of(graphs(least=3), families()),
    st.sampled_from(["one network", "networks", "own ways", "tagged"]),
    st.integers(0, 10_000),
    st.data(),
)
def test_the_load_of_a_forecast_is_that_of_every_copy(fabric, kind, seed, data):
    fabric = damaged(data.draw, fabric)
    fabric = fabric if kind == "one network" else with_networks(data.draw, fabric)
    fabric = with_own_ways(data.draw, fabric) if kind == "own ways" else fabric
    fabric = with_tagged(data.draw, fabric) if kind == "tagged" else fabric
    fabric = with_some_uplinks(data.draw, fabric)
    traffic = random_traffic(seed, fabric)
    try:
        build, _, _ = planned(
            fabric, prefer="vlans" if fabric.own_ways else data.draw(st.sampled_from(["vlans", "load"]))
        )
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    floods, said = counted_floods(fabric, traffic, [build.routes], build.assignment)
    amount = flooded_bytes(fabric, traffic.volume_bytes)
    event(f"{kind}: {'floods' if amount else 'none'}")
    assert floods == bool(said) == bool(amount)
    moved = move(fabric, build.routes, traffic, floods=floods)
    found = moved.flows.add_up(moved.flows.volume_bytes)
    assert found == pytest.approx(loaded_by_frames(fabric, build.state, traffic.volume_bytes))
    plain = move(fabric, build.routes, traffic)
    assert moved.seconds >= plain.seconds * (1 - 1e-9)
    assert (moved.latency, moved.waiting) == (plain.latency, plain.waiting), "copies delay no message"
    assert moved.flows.hops.tolist() == plain.flows.hops.tolist()
    inner = found[2 * len(fabric.hosts) :]
    capacity = np.repeat([link.capacity_mbps() / 1000.0 for link in fabric.links], 2)
    loads = busiest_of_networks(fabric, build.routes, build.assignment, traffic.volume_bytes)
    for each in networks_of(fabric, fabric, traffic, (moved, moved), (loads, loads)):
        mine = np.zeros_like(traffic.volume_bytes)
        mine[fabric.networks[each.name]] = traffic.volume_bytes[fabric.networks[each.name]]
        own = loaded_by_frames(fabric, build.state, mine)[2 * len(fabric.hosts) :]
        assert each.max_channel_load_after == pytest.approx((own / capacity).max(initial=0.0))
        assert (own <= inner * (1 + 1e-9)).all()


def test_a_flood_takes_the_time_of_the_busiest_port_that_hears_it():
    """Two senders of 125e6 bytes each: the gateway's port and every other host's hear both, and take two seconds."""
    fabric = make_fabric("mesh", 3, hosts=2, extra="hosts: {h5: {uplink: true}}\n")
    build, _, _ = planned(fabric)
    volume = np.zeros((6, 6))
    volume[0, 5] = volume[1, 5] = volume[3, 2] = 125e6
    traffic = Traffic(volume, np.ceil(volume / 1000), 10.0)
    moved, plain = (move(fabric, build.routes, traffic, floods=floods) for floods in (True, False))
    busy = dict(zip(range(12), moved.busy * moved.seconds, strict=False))
    assert busy[6 + 5] == pytest.approx(2.0)
    assert busy[6 + 2] == pytest.approx(3.0), "what is sent to h2, and a copy of each flood"
    assert busy[6 + 0] == busy[6 + 1] == pytest.approx(1.0), "each hears the other's"
    assert (plain.seconds, moved.seconds) == (pytest.approx(2.0), pytest.approx(3.0))


def test_a_copy_wakes_the_ports_that_hear_it():
    """A frame every 5 ms to the gateway comes to h1 as well, whom nobody sends anything: its port sleeps less."""
    fabric = make_fabric("mesh", 3, hosts=2, extra="hosts: {h5: {uplink: true}}\n", model="powerconnect-5548")
    build, _, _ = planned(fabric)
    volume = np.zeros((6, 6))
    volume[0, 5] = 2e6
    traffic = Traffic(volume, volume / 1000, 10.0)
    saved = []
    for floods in (False, True):
        moved = move(fabric, build.routes, traffic, floods=floods)
        found = predict(fabric, fabric, traffic, moved=(moved, moved))
        share = {port.host: port.lpi_share for port in found.ports}
        assert share["h0"] == share["h5"] == pytest.approx(0.72, abs=0.1)
        assert share["h1"] == share["h4"] == (share["h5"] if floods else 1.0)
        saved.append(found.eee_saved_watts.value)
    assert saved[1] < saved[0]


def test_copies_that_a_host_cannot_hear_in_the_time_are_refused():
    """What h1 sends to h4 fits into a second; with copies of what h0 sends to the gateway it does not."""
    fabric = make_fabric("mesh", 3, hosts=2, extra="hosts: {h5: {uplink: true}}\n", model="powerconnect-5548")
    build, _, _ = planned(fabric)
    volume = np.zeros((6, 6))
    volume[0, 5] = volume[1, 4] = 75e6
    traffic = Traffic(volume, volume / 1000, 1.0)
    plain, copied = (move(fabric, build.routes, traffic, floods=floods) for floods in (False, True))
    predict(fabric, fabric, traffic, moved=(plain, plain))
    refused = r"^traffic: .* over the link of h4, receiving, in 1 s, actual 150000000 bytes, with copies of what floods"
    with pytest.raises(InputError, match=refused):
        predict(fabric, fabric, traffic, moved=(copied, copied))


def test_a_forecast_says_what_it_counts_of_floods(tmp_path, answer):
    (tmp_path / "f.yml").write_text(FABRIC, "utf-8")
    (tmp_path / "t.csv").write_text("# seconds: 10\nsource,destination,bytes\nh0,h5,5000\nh0,h2,700\n", "utf-8")
    assert answer("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    status, page = answer("predict", tmp_path / "b", "--traffic", tmp_path / "t.csv")
    assert status == 0
    (said,) = [line for line in page["assumed"] if "flooded" in line]
    assert said.startswith("5,000 bytes go to addresses behind h5, which nobody knows, and are flooded: copies fill")
