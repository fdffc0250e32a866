"""Law: with one VLAN for each network, its frames take the entries' paths, floods keep to it, and nothing crosses."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from sending import line_by_line
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.graph.network_loads import network_loads
from tagloom.graph.trees import flooding_links
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.records.switch_state import OWNED_VLAN_NAME, Membership, SwitchEditor
from tagloom.render import lines_of
from tagloom.verify import Plan, prove_wave, verify
from test_every_plan_is_what_frames_do import damaged, families, graphs
from test_forecasts_of_networks import carried_by_frames, random_traffic
from test_networks import (
    NOBODY,
    kept_apart,
    leaking,
    moved,
    planned,
    ports_reached,
    sent_across,
    spoilt,
    with_networks,
)
from test_tagged_networks import heard_across, with_tagged
from thinned import examples

NETWORKS = "networks: {a: [h0, h2, h4], b: [h1, h3]}\n"
REFUSED = ("no line that keeps floods off", "broadcasts need one tree")


def pinned(fabric, **options):
    return planned(fabric, assignment="pinned", **options)


def pinned_or_refused(fabric, **options):
    """Plan, or return None where the plan is refused for the reasons for which one of a single network is, too."""
    try:
        return pinned(fabric, **options)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        if not any(why in str(refused) for why in REFUSED):
            raise
        return None


def on_linux(fabric):
    """Take bridges for switches, which keep floods off single ports."""
    return replace(fabric, switches=tuple(replace(switch, model="linux-bridge") for switch in fabric.switches))


def vlans_of(fabric, state):
    """Return the VLANs in which each network's hosts send."""
    return {
        name: {
            fabric.hosts[h].tag
            or int(state[fabric.switches[fabric.hosts[h].switch].name].pvid[fabric.hosts[h].port - 1])
            for h in hosts.tolist()
        }
        for name, hosts in fabric.networks.items()
    }


def frames_keep_to_their_network(fabric, state):
    """Follow every host's frames to its own network, to others, to everybody and to nobody."""
    plane = Dataplane(fabric, state)
    for a in fabric.hosts:
        mates = {b.name for b in fabric.hosts if b.network == a.network and b is not a}
        for b in mates:
            sent = plane.unicast(a.name, b)
            assert (sent.delivered_to, sent.flooded, sent.storm) == ({b: 1}, (), "")
        assert plane.broadcast(a.name).delivered_to == dict.fromkeys(mates, 1)
        assert plane.broadcast(a.name, mac=NOBODY).delivered_to == dict.fromkeys(mates, 1)
        for b in fabric.hosts:
            if b.network != a.network and b.name.partition("@")[0] != a.name.partition("@")[0]:
                assert plane.unicast(a.name, b.name).storm == ""
    assert heard_across(fabric, state) == set()


@examples(30)
@given(st.one_of(graphs(least=3), families()), st.booleans(), st.data())
def test_hosts_reach_their_own_network_in_one_vlan_and_no_port_of_another(fabric, tagged, data):
    fabric = with_networks(data.draw, damaged(data.draw, fabric))
    fabric = with_tagged(data.draw, fabric) if tagged else fabric
    found = pinned_or_refused(fabric, routing=data.draw(st.sampled_from(["auto", "up-down", "tree", "any"])))
    if found is None:
        return
    build, proof, _ = found
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert (proof.isolated, proof.pairs) == (True, fabric.pairs)
    vlans = vlans_of(fabric, build.state)
    assert all(len(each) == 1 for each in vlans.values())
    assert len(set().union(*vlans.values())) == len(fabric.networks) == build.vlans
    assert {name: vlans[name] for name, _ in fabric.tags} == {name: {tag} for name, tag in fabric.tags}
    frames_keep_to_their_network(fabric, build.state)


@examples(50)
@given(st.one_of(graphs(least=3), families()), st.data())
def test_what_leaks_is_found_and_nothing_else(fabric, data):
    fabric = with_networks(data.draw, on_linux(fabric))
    found = pinned_or_refused(fabric)
    if found is None:
        return
    state = found[0].state
    for _ in range(data.draw(st.integers(1, 3))):
        state = spoilt(data.draw, fabric, state)
    proof = verify(fabric, state)
    told = sorted((leak.network, leak.other) for leak in proof.leaks)
    event(f"{len(told)} leaks")
    assert told == leaking(fabric, state)
    assert not (told and proof.proven)
    across = sent_across(fabric, state) if proof.storm_free and proof.tagged_frames_safe else []
    assert told or not across


def pinned_ring(extra=NETWORKS, **more):
    return make_fabric("ring", 5, extra=extra, **more)


def line_spoilt(draw, texts):
    """Take away a line of one switch's text, or repeat one of another place there."""
    name = draw(st.sampled_from(sorted(texts)))
    lines = texts[name].splitlines()
    at = draw(st.integers(0, len(lines) - 1))
    if draw(st.booleans()):
        del lines[at]
    else:
        lines.insert(at, lines[draw(st.integers(0, len(lines) - 1))])
    return {**texts, name: "\n".join(lines) + "\n"}


@examples(80)
@given(st.data())
def test_texts_with_a_line_less_or_more_are_proven_only_if_frames_still_do_the_same(data):
    fabric = pinned_ring(hosts=2)
    build, _, texts = pipeline.plan(fabric, ROOT / "templates", assignment="pinned")
    assert pipeline.prove(fabric, texts, None)[1].proven
    spoilt_texts = line_spoilt(data.draw, texts)
    try:
        state, proof = pipeline.prove(fabric, spoilt_texts, build.routes)
    except InputError:
        event("not readable")
        return
    event(f"proven: {proof.proven}")
    if proof.proven:
        frames_keep_to_their_network(fabric, state)


@pytest.mark.parametrize("model", ["powerconnect-5324", "powerconnect-6248", "n-series", "linux-bridge"])
def test_every_family_writes_a_vlan_for_each_network_and_reads_it_back(model):
    fabric = pinned_ring(model=model)
    build, proof, texts = pipeline.plan(fabric, ROOT / "templates", assignment="pinned", routing="tree")
    assert (proof.proven, proof.isolated, build.vlans) == (True, True, 2)
    assert texts
    frames_keep_to_their_network(fabric, build.state)


def test_networks_share_one_flood_tree_and_links_that_one_does_not_need_are_not_in_its_vlan():
    """Two networks at either end of a row: no frame of one may be on links of the other."""
    fabric = make_fabric("mesh", 4, extra="networks: {a: [h0, h1], b: [h2, h3]}\n")
    build, proof, _ = pinned(fabric)
    assert proof.proven
    assert flooding_links(fabric, build.state).all()
    (a,), (b,) = vlans_of(fabric, build.state).values()
    assert [sorted({a, b} & set(build.state[f"s{s}"].vlans.tolist())) for s in range(4)] == [[a], [a], [b], [b]]


def test_an_entry_for_a_host_of_another_network_at_a_port_that_floods_nothing_is_a_finding():
    """No proof follows frames for it, and off the flood tree they may go round."""
    fabric = pinned_ring()
    build, _, _ = pinned(fabric)
    quiet = [i for i, floods in enumerate(flooding_links(fabric, build.state).tolist()) if not floods]
    link, stranger = fabric.links[quiet[0]], fabric.hosts[1]
    name = fabric.switches[link.a].name
    held = SwitchEditor.of(build.state[name])
    vlan = int(build.state["s0"].pvid[fabric.hosts[0].port - 1])
    if vlan not in held.vlans:
        held.create_vlan(vlan)
        held.name_vlan(vlan, OWNED_VLAN_NAME)
    held.set_member(vlan, link.a_port, Membership.TAGGED)
    held.set_entry(vlan, stranger.mac, (link.a_port,))
    proof = verify(fabric, {**build.state, name: held.freeze()}, Plan(build.routes))
    (finding,) = proof.findings
    assert str(finding).endswith("as its port floods nothing, actual that of a host of another network")


def test_entries_for_a_host_of_another_network_that_lead_round_a_ring_are_not_proven():
    fabric = pinned_ring()
    build, _, _ = pinned(fabric)
    vlan = int(build.state["s0"].pvid[fabric.hosts[0].port - 1])
    state = {}
    for s, switch in enumerate(fabric.switches):
        held = SwitchEditor.of(build.state[switch.name])
        c = next(c for c in range(10) if fabric.tail[c] == s and fabric.head[c] == (s + 1) % 5)
        if vlan not in held.vlans:
            held.create_vlan(vlan)
        for port in (fabric.tail_port[c], fabric.head_port[c - 2]):
            held.set_member(vlan, int(port), Membership.TAGGED)
        held.set_member(vlan, int(fabric.tail_port[c]), Membership.TAGGED)
        held.set_entry(vlan, fabric.hosts[1].mac, (int(fabric.tail_port[c]),))
        state[switch.name] = held.freeze()
    assert Dataplane(fabric, state).unicast("h0", "h1").storm
    proof = verify(fabric, state, Plan(build.routes))
    assert {finding.actual for finding in proof.findings} == {"that of a host of another network"}


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ("networks: {a: {hosts: [h0, h2], routing: up-down}, b: [h1, h3]}\n", "routings or links of their own"),
        (
            'networks: {a: {hosts: [h0, h2], links: ["s0:swp1", "s1:swp2"]}, b: [h1, h3]}\n',
            "routings or links of their",
        ),
    ],
)
def test_routings_and_links_of_their_own_are_refused_with_the_assignment_that_has_them(extra, said):
    with pytest.raises(InputError, match=f"--assignment: expected fixed, where networks have {said}"):
        pinned(pinned_ring(extra))


def test_a_network_in_a_given_vlan_takes_all_links_where_its_entries_choose_the_path():
    """With other assignments it has one tree, as a port has one id for it."""
    fabric = pinned_ring("networks: {a: [h0, h1, h2, h3, h4], s: {tagged: [h0, h1, h2, h3, h4], vlan: 20}}\n")
    build, proof, _ = pinned(fabric)
    assert (proof.proven, proof.isolated, build.vlans) == (True, True, 2)
    on = [bool(held.membership[held.vlan_index[20], :2].all()) for held in build.state.values()]
    assert all(on)
    frames_keep_to_their_network(fabric, build.state)
    again, _, _ = pinned(fabric, keep=build)
    assert rollout_between(build, again).strategy == "unchanged"
    one_tree, _, _ = planned(fabric)
    on = [bool(held.membership[held.vlan_index[20], :2].all()) for held in one_tree.state.values()]
    assert not all(on)


@examples(12)
@given(families(), st.sampled_from(["other paths", "a link goes", "hosts move", "networks come"]), st.data())
def test_every_line_of_a_rollout_keeps_networks_apart_and_pairs_connected(fabric, change, data):
    fabric = old_fabric = on_linux(fabric)
    new_fabric = with_networks(data.draw, fabric)
    if change != "networks come":
        old_fabric = new_fabric
    if change == "a link goes":
        new_fabric = damaged(data.draw, old_fabric)
        if len(new_fabric.hosts) < len(old_fabric.hosts):
            return
    elif change == "hosts move":
        new_fabric = moved(data.draw, old_fabric)
    routing = "up-down" if change == "other paths" else "auto"
    try:
        old, _, _ = pinned(old_fabric)
        new, proof, _ = pinned(new_fabric, routing=routing, previous=old)
        rollout = rollout_between(old, new)
    except PlanError as refused:
        event(f"{change}: refused, {refused.rule}")
        return
    assert proof.proven
    event(f"{change}: {len(rollout.waves)} waves")
    apart, kept = kept_apart(old_fabric, new_fabric), kept_together(old_fabric, new_fabric)
    chance, here = random.Random(data.draw(st.integers(0, 2**16))), dict(old.state)
    for wave in rollout.waves:
        for _ in line_by_line(new_fabric, wave, here, chance, 9):
            if chance.random() < 0.3:
                pairs_are_kept(fabric.with_links_up(), here, chance.sample(kept, min(9, len(kept))))
                reach = {host.name: ports_reached(fabric, here, host) for host in chance.sample(fabric.hosts, 2)}
                assert not [(a, b) for a, b in apart if b in reach.get(a, ())]
        pairs_are_kept(fabric.with_links_up(), here, kept)
    assert verify(new_fabric, rollout.after).proven


@pytest.fixture(scope="module")
def built():
    fabric = pinned_ring(hosts=2)
    return fabric, pinned(fabric)[0].state


@examples(60)
@given(data=st.data())
def test_a_wave_is_proven_only_if_frames_arrive_and_keep_to_their_network_after_it(built, data):
    """Take the lines of a slip: a member, a PVID, what a port takes or floods, an entry of any host to any port."""
    fabric, state = built
    after = dict(state)
    for _ in range(data.draw(st.integers(1, 2))):
        after = spoilt(data.draw, fabric, after) if data.draw(st.booleans()) else led_astray(data.draw, fabric, after)
    try:
        lines = lines_of(fabric, state, after)
    except PlanError:
        return  # no line of a bridge says this
    proof = prove_wave(fabric, state, lines)
    event(f"proven: {proof.proven}")
    if proof.proven:
        frames_keep_to_their_network(fabric, after)


def led_astray(draw, fabric, state):
    """Let a port flood, or flood nothing, or an entry for some host lead there in a VLAN of the switch."""
    s = draw(st.integers(0, len(fabric.switches) - 1))
    name = fabric.switches[s].name
    held, port = SwitchEditor.of(state[name]), draw(st.sampled_from(fabric.used_ports[s]))
    if draw(st.booleans()):
        held.flooding[port - 1] = not held.flooding[port - 1]
    else:
        vlan = draw(st.sampled_from(sorted(set(held.vlans) - {1})))
        held.set_entry(vlan, draw(st.sampled_from(fabric.hosts)).mac, (port,))
    return {**state, name: held.freeze()}


def kept_together(old, new):
    """List the pairs of hosts that are of one network before and after."""
    return [
        (a.name, b.name)
        for a, was in zip(new.hosts, old.hosts, strict=True)
        for b, other in zip(new.hosts, old.hosts, strict=True)
        if a is not b and a.network == b.network and was.network == other.network
    ]


def pairs_are_kept(fabric, state, pairs):
    plane = Dataplane(fabric, state)
    for a, b in pairs:
        sent = plane.unicast(a, b)
        assert (sent.delivered_to.get(b), sent.storm) == (1, ""), (a, b)
        assert not plane.broadcast(a).storm


def test_a_rollout_to_other_paths_of_both_networks_beside_the_same_flood_tree_is_hitless():
    fabric = make_fabric("mesh", 4, 3, extra=NETWORKS)
    before, _, _ = pinned(fabric, routing="dor")
    after, _, _ = pinned(fabric, routing="up-down", previous=before)
    found = rollout_between(before, after)
    assert (found.strategy, [wave.proof.proven for wave in found.waves]) == ("direct", [True] * 3)


def test_the_load_of_each_network_is_what_its_frames_load():
    fabric = make_fabric("torus", 3, 3, hosts=2, extra=NETWORKS)
    build, proof, _ = pinned(fabric)
    volume = random_traffic(1, fabric).volume_bytes
    loads = network_loads(fabric, build.routes, build.state, volume)
    capacity = np.repeat([link.capacity_mbps() / 1000.0 for link in fabric.links], 2)
    for each in loads:
        mine = np.isin(np.arange(len(fabric.hosts)), fabric.networks[each.name])
        assert each.load == pytest.approx(carried_by_frames(fabric, build.state, volume * mine[:, None]) / capacity)
    assert [len(each.vlans) for each in loads] == [1, 1, 1]
    summary = pipeline.summary_of(build, proof)
    assert (summary["vlans"], summary["isolated"]) == (3, True)


@pytest.mark.daily
@pytest.mark.slow
def test_plan_verify_predict_report_and_rollout_speak_of_both_networks(tmp_path, answer):
    fabric, build, other = tmp_path / "fabric.yml", tmp_path / "build", tmp_path / "other"
    fabric.write_text(f"model: linux-bridge\nshape: {{family: torus, dims: [3, 3]}}\n{NETWORKS}", "utf-8")
    status, plan = answer("plan", fabric, "--assignment", "pinned", "-o", build)
    assert (status, plan["isolated"], plan["vlans"], len(plan["networks"])) == (0, True, 3, 3)
    status, proof = answer("verify", build)
    assert (status, proof["isolated"], proof["deadlock_free"], proof["broadcast_exactly_once"]) == (0, True, True, True)
    status, proof = answer("verify", "--fabric", fabric, "--configs", build / "configs")
    assert (status, [each["name"] for each in proof["networks"]]) == (0, ["a", "b", "default"])
    traffic = tmp_path / "traffic.csv"
    traffic.write_text("# seconds: 3600\nsource,destination,bytes\nh0,h2,1000000000\nh1,h3,2000000000\n", "utf-8")
    power = tmp_path / "power.yml"
    power.write_text("linux-bridge: {base: 31.0, per_port: {1000: 0.9, 100: 0.4}, source: a meter}\n", "utf-8")
    status, forecast = answer("predict", build, "--traffic", traffic, "--power", power)
    assert (status, list(forecast["networks"])) == (0, ["a", "b", "default"])
    asked = ["regulate", fabric, "--traffic", traffic, "--assignment", "pinned", "--power", power]
    status, settings = answer(*asked, "-o", tmp_path / "settings.json")
    assert (status, list(settings["networks"])) == (0, ["a", "b", "default"])
    assert settings["links_off"]
    less = ["--assignment", "pinned", "--settings", tmp_path / "settings.json"]
    status, plan = answer("plan", fabric, *less, "-o", tmp_path / "less")
    assert (status, plan["isolated"], plan["links_off"]) == (0, True, settings["links_off"])
    read = pipeline.read_build(tmp_path / "less")
    frames_keep_to_their_network(read.fabric, read.state)
    status, _ = answer("report", build, "--power", power, "-o", tmp_path / "report.html")
    assert status == 0
    assert "default" in (tmp_path / "report.html").read_text("utf-8")
    answer("plan", fabric, "--assignment", "pinned", "--routing", "up-down", "--previous", build, "-o", other)
    status, change = answer("rollout", build, other, "-o", tmp_path / "change")
    assert (status, change["peak_lost_pairs"], change["hitless"]) == (0, 0, True)
    status, guarded = answer("plan", fabric, "--assignment", "pinned", "--protect", "switch", "-o", other)
    assert (status, guarded["isolated"], guarded["detour_vlans"]) == (0, True, 0)
    for where, worse in ((build, True), (other, False)):
        found = [answer("verify", where, "--what-if", kind)[1]["what_if"] for kind in ("links", "switches")]
        assert all(each["isolated"] and each["deadlock_free"] and each["storm_free"] for each in found)
        assert (sum(each["unprotected"] for each in found) > guarded["unprotected"]) is worse
        assert (sum(each["saved"] for each in found) == 0) is worse


@pytest.mark.parametrize("change", ["host moves", "to fixed"])
def test_rollouts_that_are_not_proven_are_refused_with_what_leads_on(change):
    fabric = make_fabric("mesh", 3, 2, extra=NETWORKS)
    build, _, _ = pinned(fabric)
    extra = NETWORKS if change == "to fixed" else "networks: {a: [h0, h2], b: [h1, h3, h4]}\n"
    assignment = "fixed" if change == "to fixed" else "pinned"
    after, _, _ = planned(make_fabric("mesh", 3, 2, extra=extra), assignment=assignment, previous=build)
    with pytest.raises(PlanError, match=r"--allow (interrupt|drain)"):
        rollout_between(build, after)


def test_a_host_moves_to_another_network_where_all_ports_flood():
    fabric = make_fabric("tree", 2, 2, hosts=2, extra=NETWORKS)
    build, _, _ = pinned(fabric)
    other = make_fabric("tree", 2, 2, hosts=2, extra="networks: {a: [h0, h2], b: [h1, h3, h4]}\n")
    after, _, _ = pinned(other, previous=build)
    found = rollout_between(build, after)
    assert found.waves
    assert all(wave.proof.proven for wave in found.waves)
    frames_keep_to_their_network(other, found.after)


def test_an_uplink_hears_what_nobody_is_known_by_from_its_network_alone():
    gateway = "hosts: {gw: {switch: s0, port: swp9, uplink: true}}\nnetworks: {a: [h0, h2, gw], b: [h1, h3, h4]}\n"
    fabric = make_fabric("ring", 5, extra=gateway)
    build, proof, _ = pinned(fabric)
    assert (proof.proven, proof.uplinks) == (True, 1)
    plane = Dataplane(fabric, build.state)
    heard = {host.name: plane.broadcast(host.name, mac=NOBODY).delivered_to.get("gw", 0) for host in fabric.hosts}
    assert heard == {"h0": 1, "h1": 0, "h2": 1, "h3": 0, "h4": 0, "gw": 0}
