"""Law: hosts of a network reach each other and nobody else, whatever tags they give their frames."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.lab.dataplane import UNTAGGED, Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.fabric import DEFAULT_NETWORK
from tagloom.records.fabric_pair import FabricPair, owned_ports, shared_part
from tagloom.records.ownership import overlay
from tagloom.records.switch_state import Frames, Membership, SwitchEditor
from tagloom.render import lines_of
from tagloom.verify import prove_wave, verify
from test_every_plan_is_what_frames_do import damaged, families, fits, graphs
from thinned import examples

NOBODY, GROUP = 0x06_00_00_00_99_99, 0x33_33_00_00_00_01  # an address that no host has, and IPv6's all nodes
NAMES = ["storage", "compute", DEFAULT_NETWORK]


def with_networks(draw, fabric):
    """Give every host a network, of which two have hosts."""
    names = [draw(st.sampled_from(NAMES)) for _ in fabric.hosts]
    if len(set(names)) == 1:
        names[-1] = next(name for name in NAMES if name != names[0])
    hosts = (replace(host, network=name) for host, name in zip(fabric.hosts, names, strict=True))
    return replace(fabric, hosts=tuple(hosts))


def planned(fabric, **options):
    options = {"routing": "auto", "assignment": "fixed", "prefer": "vlans", "effort": 0, "texts": False} | options
    return pipeline.plan(fabric, ROOT / "templates", **options)


def ports_reached(fabric, state, host):
    """Follow by hand what a host may send, any tags below any tag; return the hosts whose ports a copy leaves by."""
    vlans = sorted({vlan for held in state.values() for vlan in held.vlans.tolist()})
    far = {
        (a, p): (b, q)
        for x in fabric.links
        for a, p, b, q in ((x.a, x.a_port, x.b, x.b_port), (x.b, x.b_port, x.a, x.a_port))
    }
    at = {(other.switch, other.port): other for other in fabric.hosts}
    found, seen = set(), set()
    queue = [(host.switch, host.port, tag) for tag in (UNTAGGED, *vlans)]
    while queue:
        s, port, tag = queue.pop()
        held = state[fabric.switches[s].name]
        vlan = tag or int(held.pvid[port - 1])
        refused = Frames.UNTAGGED_ONLY if tag else Frames.TAGGED_ONLY
        if not held.enabled[port - 1] or held.frames[port - 1] == refused or vlan not in held.vlans:
            continue
        members = held.membership[held.vlans.tolist().index(vlan)].tolist()
        if (held.ingress_filter[port - 1] and not members[port - 1]) or (s, port, vlan) in seen:
            continue
        seen.add((s, port, vlan))
        for out, how in enumerate(members, start=1):
            if not how or out == port or not held.enabled[out - 1]:
                continue
            if (s, out) in at:
                found.add(at[s, out].name)
            elif (s, out) in far:
                queue += [
                    (*far[s, out], below) for below in ([vlan] if how == Membership.TAGGED else [UNTAGGED, *vlans])
                ]
    return found


def leaking(fabric, state):
    """List the pairs of networks between which there is a way, by `ports_reached`."""
    network = {host.name: host.network for host in fabric.hosts}
    reached = {(a.network, network[b]) for a in fabric.hosts for b in ports_reached(fabric, state, a)}
    return sorted((a, b) for a, b in reached if a != b)


def sent_across(fabric, state):
    """Send every host's frames, with all tags, to everybody: list those that leave by a port of another network."""
    plane, wrong = Dataplane(fabric, state), []
    at = {(fabric.switches[host.switch].name, host.port): host for host in fabric.hosts}
    tags = [UNTAGGED, *sorted({vlan for held in state.values() for vlan in held.vlans.tolist()}), 4094]
    for a in fabric.hosts:
        for tag in tags:
            sent = [
                plane.broadcast(a.name, tag),
                plane.broadcast(a.name, tag, GROUP),
                plane.broadcast(a.name, tag, NOBODY),
            ]
            sent += [plane.unicast(a.name, b.name, tag) for b in fabric.hosts if b.network != a.network]
            hops = [hop for each in sent for hop in each.path]
            wrong += [hop for hop in hops if (b := at.get((hop.switch, hop.out_port))) and b.network != a.network]
    return wrong


def spoilt(draw, fabric, state):
    """Change a port, mostly a host's, as a slip would: a member, the PVID, what it takes, whether it filters."""
    host = draw(st.sampled_from(fabric.hosts))
    at = fabric.switches[host.switch]
    held, port = SwitchEditor.of(state[at.name]), host.port
    if draw(st.integers(0, 3)) == 0:
        port = draw(st.sampled_from(fabric.used_ports[host.switch]))
    vlan = draw(st.sampled_from(sorted(held.vlans)))
    match draw(st.integers(0, 3)):
        case 0:
            held.set_member(vlan, port, draw(st.sampled_from(Membership)))
        case 1:
            held.pvid[port - 1] = vlan
            held.set_member(vlan, port, Membership.UNTAGGED)
        case 2:
            held.frames[port - 1] = draw(st.sampled_from(Frames))
        case _:
            held.ingress_filter[port - 1] = False
            held.frames[port - 1] = Frames.ALL
    return {**state, at.name: held.freeze()}


@examples(30)
@given(st.one_of(graphs(least=3), families()), st.data())
def test_hosts_reach_their_own_network_and_no_port_of_another(fabric, data):
    fabric = with_networks(data.draw, damaged(data.draw, fabric))
    routing = data.draw(st.sampled_from(["auto", "up-down", "tree", "any"]))
    build, proof, _ = planned(fabric, routing=routing, prefer=data.draw(st.sampled_from(["vlans", "load"])))
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert proof.isolated
    assert proof.pairs == sum(len(mine) * (len(mine) - 1) for mine in fabric.networks.values())
    assert {each.name: each.hosts for each in proof.networks} == {
        name: len(mine) for name, mine in fabric.networks.items() if len(fabric.networks) > 1
    }
    assert not fits(fabric) or parse_fabric(format_fabric(fabric), "again").hosts == fabric.hosts
    plane = Dataplane(fabric, build.state)
    for a in fabric.hosts:
        mates = {b.name for b in fabric.hosts if b.network == a.network and b is not a}
        for b in mates:
            sent = plane.unicast(a.name, b)
            assert (sent.delivered_to, sent.flooded, sent.storm) == ({b: 1}, (), "")
        assert plane.broadcast(a.name).delivered_to == dict.fromkeys(mates, 1)
        assert ports_reached(fabric, build.state, a) <= mates | {a.name}
    assert sent_across(fabric, build.state) == []


@examples(70)
@given(families(), st.data())
def test_what_leaks_is_found_and_nothing_else(fabric, data):
    fabric = with_networks(data.draw, fabric)
    build, _, _ = planned(fabric)
    state = build.state
    for _ in range(data.draw(st.integers(1, 3))):
        state = spoilt(data.draw, fabric, state)
    proof = verify(fabric, state)
    told = sorted((leak.network, leak.other) for leak in proof.leaks)
    event(f"{len(told)} leaks")
    assert told == leaking(fabric, state)
    assert proof.isolated == (not told)
    assert not (told and proof.proven)
    across = sent_across(fabric, state) if proof.storm_free and proof.tagged_frames_safe else []
    assert told or not across


def test_a_tag_below_the_first_one_leads_nowhere():
    """A switch that takes a tag off before a link may uncover another, which the next switch would believe."""
    fabric = make_fabric("mesh", 2, hosts=2, extra="networks: {a: [h0, h1], b: [h2, h3]}\n")
    build, proof, _ = planned(fabric)
    assert proof.isolated
    link, other = (int(build.state[f"s{s}"].pvid[fabric.hosts[2 * s].port - 1]) for s in (0, 1))
    state = dict(build.state)
    for name in ("s0", "s1"):
        held = SwitchEditor.of(state[name])
        held.frames[0] = Frames.ALL
        for vlan in (link, other) if name == "s1" else (link,):
            if vlan not in held.vlans:
                held.create_vlan(vlan)
            held.set_member(vlan, 1, Membership.UNTAGGED if name == "s0" else Membership.TAGGED)
        state[name] = held.freeze()
    assert sent_across(fabric, state) == []  # by one tag there is no way
    assert (
        [(leak.network, leak.other) for leak in verify(fabric, state).leaks] == leaking(fabric, state) == [("a", "b")]
    )


def test_renamed_vlans_are_refused_with_a_way_out():
    fabric = make_fabric("ring", 4, extra="networks: {a: [h0, h1]}\n")
    with pytest.raises(
        PlanError, match=r"renamed VLANs tell frames apart by the port.*use --assignment fixed or pinned"
    ):
        planned(fabric, assignment="renamed")
    tagged = make_fabric("ring", 4, extra="networks: {a: [h0, h1], s: {tagged: [h0, h1], vlan: 20}}\n")
    with pytest.raises(InputError, match="--assignment: expected fixed or pinned, where networks have a VLAN of their"):
        planned(tagged, assignment="renamed")


def test_hosts_teach_switches_in_the_vlans_of_their_network_alone(tmp_path, answer):
    fabric, build = tmp_path / "fabric.yml", tmp_path / "build"
    fabric.write_text("shape: {family: mesh, dims: [3], hosts: 2}\nnetworks: {a: [h0, h2, h4], b: [h1, h3]}\n", "utf-8")
    status, plan = answer("plan", fabric, "-o", build, "--learning")
    assert (status, plan["isolated"], plan["tagged_frames_safe"], plan["tagged_frames_ports"]) == (0, True, True, 6)
    scripts = {path.name: path.read_text("utf-8") for path in (build / "hosts").glob("*.sh")}
    assert set(scripts) == {"learning-a.sh", "learning-b.sh", "learning-default.sh"}
    taught = {
        name: [line.strip() for line in text.splitlines() if "for vlan" in line] for name, text in scripts.items()
    }
    assert taught["learning-a.sh"] == ["for vlan in 100; do"]
    assert taught["learning-b.sh"] == ["for vlan in 101; do"]
    read = pipeline.read_build(build)
    assert leaking(read.fabric, read.state) == []  # ports take tags now
    assert sent_across(read.fabric, read.state) == []


def test_networks_share_the_models_vlans():
    fabric = make_fabric("complete", 6, hosts=2, model="powerconnect-5324")
    one, _, _ = planned(fabric)
    parts = replace(fabric, hosts=tuple(replace(host, network=f"n{h % 2}") for h, host in enumerate(fabric.hosts)))
    two, proof, _ = planned(parts)
    assert proof.proven
    assert two.vlans == 2 * one.vlans
    alone = replace(fabric, hosts=tuple(replace(host, network=host.name) for host in fabric.hosts))
    each, proof, _ = planned(alone)
    assert (each.vlans, proof.pairs, proof.proven, proof.isolated) == (12, 0, True, True)
    assert sent_across(alone, each.state) == []


def test_loads_count_pairs_of_one_network():
    fabric = make_fabric("mesh", 4, extra="networks: {a: [h0, h1], b: [h2, h3]}\n")
    build, proof, _ = planned(fabric)
    summary = pipeline.summary_of(build, proof)
    assert (summary["max_channel_load"], summary["max_channel_load_bound"], summary["average_hops"]) == (1, 1, 1.5)
    assert np.array_equal(fabric.within_networks.sum(axis=1), [1, 1, 1, 1])


def moved(draw, fabric):
    """Give some hosts another network."""
    hosts = list(fabric.hosts)
    for h in draw(st.lists(st.integers(0, len(hosts) - 1), min_size=1, max_size=3)):
        hosts[h] = replace(hosts[h], network=draw(st.sampled_from([*NAMES, "fresh"])))
    return replace(fabric, hosts=tuple(hosts))


def kept_apart(old, new):
    """List the pairs of hosts that are of two networks before and after."""
    return [
        (a.name, b.name)
        for a, was in zip(new.hosts, old.hosts, strict=True)
        for b, other in zip(new.hosts, old.hosts, strict=True)
        if a.network != b.network and was.network != other.network
    ]


@examples(15)
@given(families(), st.data())
def test_every_state_of_a_rollout_keeps_networks_apart_and_pairs_that_stay_together(fabric, data):
    old_fabric = with_networks(data.draw, fabric)
    change = data.draw(st.sampled_from(["hosts move", "a link goes", "networks come"]))
    if change == "networks come":
        old_fabric, new_fabric = fabric, old_fabric
    elif change == "a link goes":
        new_fabric = damaged(data.draw, old_fabric)
        if len(new_fabric.hosts) < len(fabric.hosts) or new_fabric.live != fabric.live:
            return  # a switch that is dead takes no rollout between fabrics
    else:
        new_fabric = moved(data.draw, old_fabric)
    old, _, _ = planned(old_fabric)
    new, _, _ = planned(new_fabric, keep=old if data.draw(st.booleans()) else None)
    try:
        rollout = rollout_between(old, new)
    except PlanError as error:
        event(f"{change}: refused, {error.rule}")
        return
    event(f"{change}: {len(rollout.waves)} waves")
    apart = set(kept_apart(old_fabric, new_fabric))
    states = [wave.state for wave in rollout.waves]
    for wave in rollout.waves:
        ends = {name: (wave.before[name], wave.state[name]) for name in wave.state}
        states.append({name: data.draw(st.sampled_from(both)) for name, both in ends.items()})
    together = [
        (a.name, b.name)
        for a, was in zip(new_fabric.hosts, old_fabric.hosts, strict=True)
        for b, other in zip(new_fabric.hosts, old_fabric.hosts, strict=True)
        if a is not b and a.network == b.network and was.network == other.network
    ]
    for state in states[: len(rollout.waves)]:
        plane = Dataplane(fabric.with_links_up(), state)
        assert all(plane.unicast(a, b).delivered_to.keys() >= {b} for a, b in together)
    for state in states:
        reach = {host.name: ports_reached(fabric, state, host) for host in fabric.hosts}
        assert not [(a, b) for a, b in apart if b in reach[a]]
    assert verify(new_fabric, rollout.after).proven


@examples(15)
@given(families(), st.data())
def test_hosts_are_led_to_other_networks_with_the_ids_of_a_plan_beside_what_runs(fabric, data):
    old_fabric = with_networks(data.draw, fabric)
    new_fabric = moved(data.draw, old_fabric)
    old, _, _ = planned(old_fabric)
    new, _, _ = planned(new_fabric, previous=old)
    try:
        rollout_between(old, new)
    except PlanError as error:
        event(f"refused, {error.rule}")
        return
    change = rollout_between(old, new, own_ids=True)
    event(f"{len(change.waves)} waves")
    for name, end in change.after.items():
        assert overlay(end, new.state[name], owned_ports((new_fabric,), name)) == end


@examples(30)
@given(families(), st.data())
def test_a_line_by_which_a_frame_would_cross_is_found(fabric, data):
    switches = (replace(switch, model="powerconnect-5324") for switch in fabric.switches)  # takes any PVID, any entry
    fabric = with_networks(data.draw, replace(fabric, switches=tuple(switches)))
    build, _, _ = planned(fabric)
    name = data.draw(st.sampled_from([fabric.switches[host.switch].name for host in fabric.hosts]))
    held = SwitchEditor.of(build.state[name])
    for _ in range(data.draw(st.integers(1, 2))):
        port = data.draw(st.sampled_from(fabric.used_ports[fabric.index[name]]))
        vlan = data.draw(st.sampled_from(sorted(held.vlans)))
        held.set_member(vlan, port, data.draw(st.sampled_from(Membership)))
        if data.draw(st.booleans()):
            held.set_member(vlan, port, Membership.UNTAGGED)
            held.pvid[port - 1] = vlan
    after = {name: held.freeze()}
    there = {**build.state, **after}
    proof = prove_wave(fabric, build.state, lines_of(fabric, build.state, after))
    told = {finding.where for finding in proof.findings if "at every line" in finding.expected}
    wanted = {f"network {a} -> {b}" for a, b in leaking(fabric, there)}
    event(f"{len(wanted)} leaks")
    assert wanted <= told
    back = prove_wave(fabric, there, lines_of(fabric, there, build.state))  # what leaks beforehand may leak meanwhile
    assert not wanted.intersection(finding.where for finding in back.findings)


def test_a_fabric_of_a_rollouts_waves_is_read_back_with_both_networks_of_its_hosts():
    old = make_fabric("ring", 4, extra="networks: {a: [h0, h1], b: [h2, h3]}\n")
    new = make_fabric("ring", 4, extra="networks: {a: [h0], b: [h1, h2, h3]}\n")
    both = FabricPair(old, new)
    assert (both.same_cabling, both.difference) == (False, "1 host moved to another network")
    between = both.united(new_addresses=True)
    assert {name: mine.tolist() for name, mine in between.networks.items()} == {"a": [0], "a -> b": [1], "b": [2, 3]}
    assert between.isolated_networks.tolist() == [[False, False, True], [False, False, False], [True, False, False]]
    again = parse_fabric(format_fabric(between), "again")
    assert [host.networks for host in again.hosts] == [host.networks for host in between.hosts]
    assert [host.networks for host in shared_part(old, between)[0].hosts] == [h.networks for h in between.hosts]


@pytest.mark.parametrize(("family", "dims"), [("mesh", (3,)), ("torus", (3, 3)), ("fat-tree", (2, 4, 1))])
def test_under_renamed_vlans_a_broadcast_of_one_network_is_heard_by_another(family, dims):
    """Why renamed is refused: past a channel that both take, one VLAN of the receiving port has frames of both."""
    fabric = make_fabric(family, *dims, hosts=2)
    build, proof, _ = planned(fabric, assignment="renamed")
    assert proof.proven
    names = [host.name for host in fabric.hosts]
    two = make_fabric(
        family, *dims, hosts=2, extra=f"networks: {{a: {names[::2]}, b: {names[1::2]}}}\n".replace("'", "")
    )
    heard = Dataplane(two, build.state).broadcast("h0").delivered_to
    assert {two.hosts[names.index(name)].network for name in heard} == {"a", "b"}
    assert not verify(two, build.state).isolated
