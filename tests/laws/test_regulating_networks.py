"""Law: links are turned off for several networks at once, and what is left is proven, isolation included."""

import time
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.graph.paths import channel_load
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.settings_file import RegulateResult, settings_routes
from test_forecasts_of_networks import carried_by_frames, random_traffic
from test_networks import sent_across
from test_own_ways_of_networks import with_own_ways
from test_tagged_networks import heard_across, with_tagged
from thinned import examples

SHAPES = [("mesh", 2, 2), ("ring", 4), ("torus", 3, 2)]


def with_networks(data, fabric):
    numbers = [0, 1, *(data.draw(st.integers(0, 2)) for _ in fabric.hosts[2:])]
    hosts = (replace(host, network=f"n{n}") for host, n in zip(fabric.hosts, numbers, strict=True))
    return replace(fabric, hosts=tuple(hosts))


@examples(4)
@given(st.sampled_from(SHAPES), st.sampled_from(["static", "greedy"]), st.integers(0, 10_000), st.data())
def test_what_is_left_on_is_proven_for_each_network(shape, method, seed, data):
    fabric = with_networks(data, make_fabric(*shape, hosts=2, model="powerconnect-5324"))
    traffic = random_traffic(seed, fabric)
    if not traffic.volume_bytes.any():
        return
    options = RegulateOptions(method, time_limit_seconds=1.0)
    chosen = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None, options, time.monotonic)
    smaller = fabric.with_links_down(chosen.links_off)
    given = RegulateResult(settings_routes(smaller, chosen), {}, ())
    build, proof, texts = pipeline.plan(smaller, ROOT / "templates", regulated=given)
    assert proof.proven
    assert proof.isolated
    _, again = pipeline.prove(smaller, texts, build.routes)
    assert again.proven
    assert again.isolated
    assert again.pairs == fabric.pairs
    assert sent_across(smaller, build.state) == []
    plane = Dataplane(smaller, build.state)
    for mine in fabric.networks.values():
        names = [fabric.hosts[h].name for h in mine.tolist()]
        assert all(plane.unicast(a, b).delivered_to == {b: 1} for a in names for b in names if a != b)
    total = np.zeros(len(fabric.tail))
    assert [network.name for network in chosen.networks] == list(fabric.networks)
    for network in chosen.networks:
        mine = fabric.networks[network.name]
        volume = np.zeros_like(traffic.volume_bytes)
        volume[mine] = traffic.volume_bytes[mine]
        own = carried_by_frames(smaller, build.state, volume)
        assert own.max(initial=0.0) == pytest.approx(network.max_channel_load_after)
        total += own
    assert total == pytest.approx(channel_load(smaller, build.routes, traffic.volume_bytes))
    assert total.max() == pytest.approx(chosen.max_channel_load_after)
    assert chosen.max_channel_load_after <= chosen.max_channel_load_before * (1 + 1e-9)
    assert chosen.max_hops_after == max(network.max_hops_after for network in chosen.networks)


def of_one_tree(fabric, state, network):
    """Return the links that the VLAN of a network in a given one takes."""
    vlan, found = dict(fabric.tags)[network], set()
    for i, link in enumerate(fabric.links):
        held = state[fabric.switches[link.a].name]
        if vlan in held.vlan_index and held.membership[held.vlan_index[vlan], link.a_port - 1]:
            found.add(i)
    return found


@examples(6)
@given(
    st.sampled_from(SHAPES),
    st.sampled_from(["static", "greedy"]),
    st.sampled_from(["own ways", "tagged"]),
    st.integers(0, 10_000),
    st.data(),
)
def test_networks_with_ways_of_their_own_keep_to_them_and_tagged_trees_stay(shape, method, kind, seed, data):
    fabric = with_networks(data, make_fabric(*shape, hosts=2, parallel=2, model="powerconnect-5324"))
    fabric = with_own_ways(data.draw, fabric) if kind == "own ways" else with_tagged(data.draw, fabric)
    traffic = random_traffic(seed, fabric)
    options = RegulateOptions(method, time_limit_seconds=1.0, max_hops=data.draw(st.sampled_from([None, 9])))
    try:
        whole = pipeline.plan(fabric, ROOT / "templates", texts=False)[0]
        chosen = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None, options, time.monotonic)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    event(f"{kind}: {len(chosen.links_off)} links off")
    smaller = fabric.with_links_down(chosen.links_off)
    given = RegulateResult(settings_routes(smaller, chosen), {}, ())
    build, proof, _ = pipeline.plan(smaller, ROOT / "templates", regulated=given)
    assert proof.proven, [str(finding) for finding in proof.findings]  # on links of its own alone, too
    assert (proof.isolated, proof.pairs) == (True, fabric.pairs)
    assert heard_across(smaller, build.state) == set()
    load = carried_by_frames(smaller, build.state, traffic.volume_bytes)
    assert load.max(initial=0.0) == pytest.approx(chosen.max_channel_load_after)
    assert not load[np.repeat(np.isin(np.arange(len(fabric.links)), chosen.links_off), 2)].any()
    assert chosen.max_channel_load_after <= chosen.max_channel_load_before * (1 + 1e-9)
    assert chosen.lower_bound_watts <= chosen.watts_after <= chosen.watts_before
    for network in dict(fabric.tags):
        assert of_one_tree(fabric, build.state, network) == of_one_tree(fabric, whole.state, network)


def test_links_of_a_tagged_network_stay_on_and_the_rollout_to_settings_cuts_nothing():
    said = "networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4], vlan: 20}}\n"
    fabric = make_fabric("ring", 4, hosts=2, parallel=2, extra=said, model="powerconnect-5324")
    traffic = random_traffic(7, fabric)
    options = RegulateOptions("greedy", time_limit_seconds=1.0)
    chosen = pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None, options, time.monotonic)
    assert chosen.links_off
    whole = pipeline.plan(fabric, ROOT / "templates")[0]
    build = pipeline.plan(fabric.with_links_down(chosen.links_off), ROOT / "templates", previous=whole)[0]
    assert not of_one_tree(fabric, whole.state, "storage") & set(chosen.links_off)
    change = rollout_between(whole, build)
    assert change.waves
    assert all(wave.proof.proven for wave in change.waves)


def test_bytes_of_all_networks_share_a_port():
    """A gigabit port carries 1.25e9 bytes in 10 s: what two networks have at one adds up."""
    said = "networks: {compute: [h0, h1], storage: {hosts: [h2], tagged: [h0], vlan: 20}}\n"
    fabric = make_fabric("mesh", 3, extra=said, model="powerconnect-5324")
    at = {host.name: h for h, host in enumerate(fabric.hosts)}
    volume = np.zeros((len(fabric.hosts),) * 2)
    volume[at["h0"], at["h1"]] = volume[at["h0@storage"], at["h2"]] = 0.7e9
    traffic = Traffic(volume, np.ceil(volume / 1000), 10.0)
    options = RegulateOptions("static")
    with pytest.raises(PlanError, match=r"h0 sends 1,400,000,000, 150,000,000 too many"):
        pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None, options, time.monotonic)


def test_links_to_turn_off_are_said_per_network(tmp_path, answer, run):
    fabric, settings = tmp_path / "fabric.yml", tmp_path / "settings.json"
    shape = "shape: {family: torus, dims: [3, 2], hosts: 2}\n"
    fabric.write_text(f"model: powerconnect-5324\n{shape}networks: {{a: [h0, h4, h8], b: [h1, h3]}}\n", "utf-8")
    traffic = tmp_path / "t.csv"
    traffic.write_text("source,destination,bytes\nh0,h8,5000\nh1,h3,700\nh2,h5,300\n", "utf-8")
    words = "regulate", fabric, "--traffic", traffic
    status, found = answer(*words, "-o", settings)
    assert status == 0
    assert found["links_off"] > 0
    assert set(found["networks"]) == {"a", "b", "default"}
    assert found["max_hops_after"] == max(network["max_hops_after"] for network in found["networks"].values())
    status, planned = answer("plan", fabric, "--settings", settings, "-o", tmp_path / "build")
    assert (status, planned["isolated"], planned["links_off"]) == (0, True, found["links_off"])
    status, screen, _ = run(*words)
    assert status == 0
    assert "networks  a: at most" in screen


def test_assignments_that_cannot_keep_networks_apart_refuse_them(tmp_path, answer):
    fabric = tmp_path / "fabric.yml"
    fabric.write_text("model: powerconnect-5324\nshape: {family: ring, dims: [4]}\nnetworks: {a: [h0, h1]}\n", "utf-8")
    status, found = answer("regulate", fabric, "--traffic", "pattern:all-to-all", "--assignment", "renamed")
    assert status == 2
    assert [finding["actual"] for finding in found["findings"]] == ["a default"]


def test_networks_with_a_vlan_of_their_own_are_refused_where_entries_choose_the_paths(tmp_path, answer):
    """Their id stays while their paths would change, which no wave is known to do."""
    fabric = tmp_path / "fabric.yml"
    said = "networks: {a: [h0, h1, h2], s: {tagged: [h0, h1], vlan: 20}}\n"
    fabric.write_text(f"model: powerconnect-5324\nshape: {{family: ring, dims: [4]}}\n{said}", "utf-8")
    status, found = answer("regulate", fabric, "--traffic", "pattern:all-to-all", "--assignment", "pinned")
    assert status == 2
    (finding,) = found["findings"]
    assert (finding["where"], finding["actual"]) == ("--assignment", "pinned")
    assert finding["expected"] == "fixed, where networks have a routing, links or a VLAN of their own"
