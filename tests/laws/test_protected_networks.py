"""Law: after any single failure each network's pairs are back by detours of its own, and nothing crosses meanwhile."""

from dataclasses import replace

import networkx as nx
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric, make_irregular
from failing import holds
from tagloom.records.switch_state import SwitchEditor
from tagloom.verify import what_if
from test_networks import leaking, planned, sent_across, with_networks
from thinned import examples

NETWORKS = "networks: {a: [h0, h2, h3], b: [h1, h4]}\n"


def two_connected(seed, switches):
    graph = nx.gnm_random_graph(switches, 2 * switches, seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    hosts = [(seed >> v) % 3 for v in range(switches)]
    hosts[0], hosts[-1] = 1, 2
    return make_irregular(hosts, sorted(graph.edges), "linux-bridge")


@examples(12)
@given(
    st.integers(4, 8),
    st.integers(0, 2**16),
    st.sampled_from(["link", "switch"]),
    st.sampled_from(["vlans", "load"]),
    st.data(),
)
def test_each_failure_is_what_was_proven_and_nothing_crosses(switches, seed, kind, prefer, data):
    fabric = with_networks(data.draw, two_connected(seed, switches))
    apart = []

    def judge(state):
        assert leaking(fabric, state) == []
        apart.append(state)

    build = holds(fabric, kind, prefer, judge)
    event(f"{len(fabric.networks)} networks, {build.protection.unprotected} unprotected")
    assert sent_across(fabric, apart[0]) == []
    for after in apart[:: max(1, len(apart) // 4)]:  # while hosts move, some have their detours and some not yet
        both = {name: data.draw(st.sampled_from([build.state[name], after[name]])) for name in after}
        assert leaking(fabric, both) == []
    for network in fabric.networks.values():  # a network's detours are among the VLANs that its hosts' ports are in
        for h in network.tolist():
            host = fabric.hosts[h]
            held = build.state[fabric.switches[host.switch].name]
            mine = set(held.vlans[held.membership[:, host.port - 1] > 0].tolist())
            assert {detour.pvids.get(host.name, 0) for detour in build.detours} <= mine | {0}


def test_vlans_of_detours_are_shared_out_among_networks():
    """Where models hold fewer VLANs than all detours need, each network still has some, and the plan is proven."""
    fabric = make_fabric("complete", 6, hosts=2, model="powerconnect-5324")
    hosts = tuple(replace(host, network=f"n{h % 2}") for h, host in enumerate(fabric.hosts))
    fabric = replace(fabric, hosts=hosts, first_vlan=4094 - 30)
    build, proof, _ = planned(fabric, protect="link", prefer="load")
    assert (proof.proven, proof.isolated) == (True, True)
    assert build.vlans <= 31
    assert build.protection.protected > 0
    moving = {fabric.hosts[h].network for d in build.detours for h, x in enumerate(hosts) if x.name in d.pvids}
    assert moving == {"n0", "n1"}


@pytest.mark.parametrize("filters", [True, False])
def test_a_detour_into_a_vlan_of_another_network_is_found_where_it_would_leak(filters):
    fabric = make_fabric("ring", 5, extra=NETWORKS, model="powerconnect-5324")
    build, proof, _ = planned(fabric, protect="link")
    assert proof.proven
    good = what_if(fabric, build.state, "links", build.detours)
    assert (good.isolated, good.leaks, good.safe) == (True, (), True)
    host = fabric.hosts[0]
    name = fabric.switches[host.switch].name
    other = next(x for x in fabric.hosts if x.network == "b")
    vlan = int(build.state[fabric.switches[other.switch].name].pvid[other.port - 1])
    held = SwitchEditor.of(build.state[name])
    held.ingress_filter[host.port - 1] = filters
    state = {**build.state, name: held.freeze()}
    astray = replace(build.detours[0], pvids={**build.detours[0].pvids, host.name: vlan})
    found = what_if(fabric, state, "links", (astray, *build.detours[1:]))
    assert found.isolated == filters
    assert {(leak.source, leak.network, leak.other) for leak in found.leaks} <= {("h0", "a", "b")}
    assert found.safe == found.isolated
    assert found.unprotected > good.unprotected
    assert what_if(fabric, state, "links", build.detours).isolated


def test_without_a_plan_hosts_move_within_their_network():
    fabric = make_fabric("torus", 3, 3, extra="networks: {a: [h0, h2, h3, h8], b: [h1, h4, h5]}\n")
    build, _, _ = planned(fabric, protect="link")
    as_planned = what_if(fabric, build.state, "links", build.detours)
    found = what_if(fabric, build.state, "links")
    assert (as_planned.unprotected, found.unprotected, found.isolated, found.safe) == (0, 0, True, True)
    assert found.protected == as_planned.protected == 18 * fabric.pairs
    bare, _, _ = planned(fabric)
    assert what_if(fabric, bare.state, "links").unprotected > 0


def test_losses_are_said_of_each_networks_pairs(tmp_path, answer, run):
    fabric, build = tmp_path / "fabric.yml", tmp_path / "build"
    fabric.write_text(f"model: powerconnect-5324\nshape: {{family: torus, dims: [3, 3]}}\n{NETWORKS}", "utf-8")
    status, planned_ = answer("plan", fabric, "--protect", "link", "-o", build)
    assert (status, planned_["isolated"], planned_["unprotected"]) == (0, True, 0)
    assert planned_["protected"] == 18 * (6 + 2 + 12)
    for kind in ("links", "switches", "entries"):
        status, found = answer("verify", build, "--what-if", kind)
        assert (status, found["isolated"]) == (0, True), kind
        assert found["what_if"]["kind"] == kind
        assert kind == "entries" or (found["what_if"]["isolated"], found["what_if"]["leaks"]) == (True, [])
    status, screen, _ = run("verify", build, "--what-if", "links")
    assert status == 0
    assert "no frame of a network at ports of others meanwhile" in screen
