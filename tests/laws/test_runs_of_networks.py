"""Law: each network's run is forecast as its frames go, beside all others', and a shared port is one port."""

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric
from judges.simulate import simulate
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.platforms import PortWatts
from tagloom.platforms.power import fabric_watts
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.energy import Rates
from tagloom.predict.performance import move
from tagloom.predict.trace import network_of, rank_ends
from tagloom.records.simulation import Program, joined_programs
from tagloom.records.traffic import Traffic
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_forecasts_of_networks import random_traffic
from test_networks import planned, with_networks
from test_tagged_networks import with_tagged
from thinned import examples

FRAME_BYTES = 1000


def tenants(draw, fabric):
    """Draw networks, some of them tagged at some ports, and plan; None where no order of channels serves all."""
    fabric = with_tagged(draw, with_networks(draw, fabric))
    try:
        return fabric, planned(fabric)[0]
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return None


@examples(12)
@given(st.one_of(graphs(least=3), families()), st.integers(0, 10_000), st.data())
def test_a_port_that_networks_share_carries_the_bytes_of_all_of_them(fabric, seed, data):
    drawn = tenants(data.draw, damaged(data.draw, fabric))
    if drawn is None:
        return
    fabric, build = drawn
    traffic = random_traffic(seed, fabric)
    if not traffic.volume_bytes.any():
        return
    moved, hosts = move(fabric, build.routes, traffic), len(fabric.hosts)
    carried = moved.busy * moved.seconds * 1e9 / 8
    places = [(host.switch, host.port) for host in fabric.hosts]
    for way, axis in ((0, 1), (hosts, 0)):
        there = dict.fromkeys(places, 0.0)
        for place, amount in zip(places, traffic.volume_bytes.sum(axis=axis).tolist(), strict=True):
            there[place] += amount
        found = dict.fromkeys(places, 0.0)
        for h, place in enumerate(places):
            found[place] += carried[way + h]
        assert found == pytest.approx(there)
        assert np.count_nonzero(carried[way : way + hosts]) <= len(set(places))
    assert moved.seconds >= max(there.values()) * 8 / 1e9 * (1 - 1e-9)


def messages(draw, hosts):
    """Draw a program of some hosts, of messages of one frame, all alike."""
    steps, chance = draw(st.integers(1, 4)), np.random.default_rng(draw(st.integers(0, 10_000)))
    return random_program(chance, hosts, steps, 0.5, 20e-6, lambda count: np.full(count, float(FRAME_BYTES)))


def random_program(chance, hosts, steps, share, compute_seconds, sizes):
    """Make a program of some hosts: steps in which each computes, and sends a message to a share of the others."""
    ranks = len(hosts)
    sent = [
        (k, r, [d for d in range(ranks) if d != r and chance.random() < share])
        for k in range(steps)
        for r in range(ranks)
    ]
    to = [d for _, _, others in sent for d in others]
    first = np.concatenate([[0], np.cumsum([len(others) for _, _, others in sent])]).astype(np.int64)
    size = sizes(len(to))
    return Program(hosts, chance.exponential(compute_seconds, (steps, ranks)), first, np.array(to, np.int64), size)


@examples(12)
@given(graphs(least=3), st.data())
def test_each_network_is_done_when_its_last_frame_is_there(fabric, data):
    """The judge follows every frame of all networks at once over the paths of the plan; messages are a frame each."""
    drawn = tenants(data.draw, fabric)
    if drawn is None:
        return
    fabric, build = drawn
    groups = list(fabric.networks.values())
    program = joined_programs([messages(data.draw, hosts) for hosts in groups])
    if not len(program.destination):
        return
    network = network_of(fabric, build.routes, fabric.same_network.astype(float), None, every_link=False)
    found, judged = rank_ends(network, program), simulate(network, program).step_seconds[-1]
    for hosts in groups:
        mine = np.isin(program.host, hosts)
        assert found[mine].max() == pytest.approx(judged[mine].max(), rel=1e-6)


ROW = "shape: {family: mesh, dims: [4], hosts: 2}\nmodel: powerconnect-5324\n"
ENDS = "networks: {far: [h4, h5, h6, h7], near: [h0, h1, h2, h3]}\n"  # at either end of a row: they share no channel


def written(folder, name, source, *pairs, seconds=None):
    rows = [f"# seconds: {seconds}"] * (seconds is not None) + ["source,destination,bytes,messages"]
    (folder / name).write_text("\n".join([*rows, *(f"{a},{b},{n},{m}" for a, b, n, m in pairs)]) + "\n", "utf-8")
    return f"{source}={folder / name}" if source else folder / name


@pytest.fixture
def row(tmp_path, run):
    (tmp_path / "row.yml").write_text(ROW + ENDS, "utf-8")
    assert run("plan", tmp_path / "row.yml", "-o", tmp_path / "row")[0] == 0
    settings = '{"off": [], "slowed": [{"ends": ["s0:g1", "s1:g1"], "mbps": 10}]}'
    (tmp_path / "slow.json").write_text(settings, "utf-8")
    return tmp_path


@pytest.mark.parametrize("followed", [True, False])
def test_a_link_that_one_network_alone_uses_slows_that_one_alone(row, answer, monkeypatch, followed):
    """Each network's file has a run of its own, as long as it says; also where seconds come from channels alone."""
    if not followed:
        monkeypatch.setattr("tagloom.predict.orders.MOST_PAIRS", 0)
    near = written(row, "n.csv", "near", ("h0", "h2", 40_000, 40), ("h3", "h1", 30_000, 40), seconds=0.3)
    far = written(row, "f.csv", "far", ("h4", "h6", 60_000, 30), ("h7", "h5", 60_000, 60), seconds=0.2)
    words = ("predict", row / "row", "--traffic", near, "--traffic", far, "--settings", row / "slow.json")
    status, found = answer(*words)
    assert status == 0
    networks = found["networks"]
    assert {name: each["seconds_base"] for name, each in networks.items()} == {"far": 0.2, "near": 0.3}
    assert networks["near"]["slowdown_percent"] > 0.1
    assert networks["near"]["seconds_predicted_low"] <= networks["near"]["seconds_predicted"]
    assert networks["near"]["seconds_predicted"] <= networks["near"]["seconds_predicted_high"]
    assert networks["far"]["slowdown_percent"] == pytest.approx(0.0, abs=1e-6)
    assert networks["far"]["seconds_predicted_high"] < 0.21
    assert found["seconds_base"] == 0.3
    assert found["seconds_predicted"] == pytest.approx(networks["near"]["seconds_predicted"], rel=0.02)


def test_a_trace_of_each_network_is_replayed_beside_the_others(row, answer):
    """A network that shares no channel takes as long as alone, and one that does waits for frames of another."""
    head = "step,source,destination,bytes,compute_seconds\n"
    (row / "n.csv").write_text(head + "0,h0,h2,100000,1e-3\n1,h2,h0,100000,2e-3\n", "utf-8")
    (row / "f.csv").write_text(head + "0,h4,h6,500000,1e-3\n", "utf-8")
    alone = [answer("predict", row / "row", "--trace", f"{name}={row / name[0]}.csv") for name in ("near", "far")]
    status, both = answer("predict", row / "row", "--trace", f"near={row / 'n.csv'}", "--trace", f"far={row / 'f.csv'}")
    assert [status, *(each[0] for each in alone)] == [0, 0, 0]
    for (_, found), name, other in zip(alone, ("near", "far"), ("far", "near"), strict=True):
        assert both["networks"][name]["seconds_base"] == pytest.approx(found["networks"][name]["seconds_base"])
        assert both["networks"][name]["seconds_predicted"] == pytest.approx(found["seconds_predicted"])
        assert found["networks"][other]["seconds_base"] is None
    assert both["seconds_base"] == max(each["seconds_base"] for each in both["networks"].values())


def test_files_of_networks_are_refused_with_what_is_expected(row, run):
    near = written(row, "n.csv", "near", ("h0", "h2", 4000, 4), seconds=1)
    across = written(row, "x.csv", "far", ("h4", "h0", 4000, 4), seconds=1)
    plain = written(row, "p.csv", "", ("h0", "h2", 4000, 4))
    untimed = written(row, "u.csv", "far", ("h4", "h6", 4000, 4))
    words = ("predict", row / "row", "--traffic")
    for more, said in (
        ((near, "--traffic", near), "one file of near"),
        ((near, "--traffic", plain), "NETWORK=FILE, of far near"),
        ((near, "--traffic", across), "h0"),
        ((near, "--traffic", untimed), "traffic of far: expected how long it took"),
        ((near, "--profile", plain), "NETWORK=FILE, as --traffic has it"),
        ((near, "--trace", near), "--trace: expected the messages of a run, or --traffic and --profile"),
        ((f"near={row / 'none.csv'}",), "none.csv"),
    ):
        status, _, error = run(*words, *more)
        assert (status, said in error) == (2, True), error


def test_a_shared_port_draws_and_costs_once():
    """A port that carries three networks is one port in watts, in what sleeps, and one machine in what hosts draw."""
    extra = (
        "networks: {a: {hosts: [h0, h1]}, b: {hosts: [h2], tagged: [h0, h1], vlan: 20}, c: {tagged: [h1], vlan: 30}}\n"
    )
    fabric = make_fabric("mesh", 3, model="powerconnect-5548", extra=extra)
    plain = make_fabric("mesh", 3, model="powerconnect-5548")
    assert len(fabric.hosts) == len(plain.hosts) + 3
    power = {"powerconnect-5548": PortWatts(50.0, {1000: 1.0}, "a test", 0.5)}
    assert fabric_watts(fabric, power) == fabric_watts(plain, power)
    build, _, _ = planned(fabric)
    volume = np.where(fabric.same_network, 1e5, 0.0)
    traffic = Traffic(volume, volume / 1000, 1.0)
    found = pipeline.predict_build(
        build, pipeline.Question(traffic, eee=POWERCONNECT_5548, power=power, rates=Rates(host_watts=100.0))
    )
    assert [port.host for port in found.ports] == ["h0", "h1", "h2"]
    assert found.energy is not None
    assert found.energy.joules_before.value == pytest.approx(fabric_watts(plain, power) + 300.0)
