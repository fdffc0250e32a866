"""Law: frames to addresses that nobody knows come to each uplink once; what comes from there reaches every host."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.render import lines_of
from tagloom.verify import kept_pairs, prove_wave, verify, working_pairs
from test_every_plan_is_what_frames_do import damaged, families, fits, graphs
from thinned import examples


def with_uplinks(draw, fabric):
    """Make one or two hosts uplinks, perhaps with a known address."""
    chosen = draw(st.lists(st.integers(0, len(fabric.hosts) - 1), min_size=1, max_size=2))
    known = draw(st.booleans())
    hosts = (
        replace(host, uplink=True, mac=host.mac if known else 0) if h in chosen else host
        for h, host in enumerate(fabric.hosts)
    )
    return replace(fabric, hosts=tuple(hosts))


def planned(fabric, **options):
    options = {"routing": "auto", "assignment": "fixed", "prefer": "vlans", "effort": 0, "texts": False} | options
    return pipeline.plan(fabric, ROOT / "templates", **options)


def behind(host):
    """Give an address that somebody behind an uplink has."""
    return 0x0A00_0000_0000 + host.port + (host.switch << 8)


def unheard(fabric, state, rng=None):
    """List the pairs (host, uplink) of which not just one copy comes of a frame to an unknown address.

    With `rng`, those behind the uplinks have talked before, to some, and switches have learnt them.
    """
    plane, wrong = Dataplane(fabric, state), []
    uplinks = [host for host in fabric.hosts if host.uplink]
    for u in uplinks:
        for b in fabric.hosts if rng is not None else ():
            if b is not u and rng.random() < 0.5:
                plane.unicast(u.name, b.name, sender=behind(u))
        if rng is not None and rng.random() < 0.5:
            plane.broadcast(u.name, sender=behind(u))
    for u in uplinks:
        for a in fabric.hosts:
            if a is u:
                continue
            sent = plane.unicast(a.name, u.name, mac=behind(u))
            if sent.copies != 1 or sent.storm or a.name in sent.delivered_to:
                wrong.append((a.name, u.name))
    return wrong


@examples(100)
@given(st.one_of(graphs(), families()), st.data())
def test_frames_come_to_every_uplink_once_and_from_it_to_every_host(fabric, data):
    fabric = with_uplinks(data.draw, damaged(data.draw, fabric))
    assignment = data.draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    try:
        build, proof, _ = planned(fabric, assignment=assignment)
    except PlanError as error:
        event("refused")
        refused = str(error)
    else:
        refused = ""
    if refused:
        assert assignment == "renamed" or "uplink" not in refused
        return
    event(f"planned {assignment}")
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert not fits(fabric) or parse_fabric(format_fabric(fabric), "again").hosts == fabric.hosts
    assert unheard(fabric, build.state) == []
    assert unheard(fabric, build.state, np.random.default_rng(data.draw(st.integers(0, 9)))) == []
    plane = Dataplane(fabric, build.state)
    for u in (host for host in fabric.hosts if host.uplink):
        for b in fabric.hosts:
            if b is not u and not b.uplink:
                sent = plane.unicast(u.name, b.name, sender=behind(u))
                assert (sent.delivered_to, sent.flooded) == ({b.name: 1}, ())
    taken = [
        plane.unicast(a.name, u.name, mac=1) for a in fabric.hosts for u in fabric.hosts if u.uplink and a is not u
    ]
    crossed = [
        sum(fabric.port_channel[fabric.index[hop.switch], hop.out_port] >= 0 for hop in each.path) for each in taken
    ]
    assert max(crossed) <= proof.flood_links_max < 2 * len(fabric.switches)
    assert max(len(each.delivered_to) for each in taken) <= proof.flood_ports_max == len(fabric.hosts) - 1


@examples(100)
@given(families(), st.data())
def test_the_proof_of_an_uplink_is_what_frames_do_where_a_member_is_missing(fabric, data):
    fabric = with_uplinks(data.draw, fabric)
    build, _, _ = planned(fabric)
    name = data.draw(st.sampled_from([switch.name for switch in fabric.switches]))
    held = SwitchEditor.of(build.state[name])
    vlan = data.draw(st.sampled_from(sorted(held.vlans)))
    port = data.draw(st.sampled_from(fabric.used_ports[fabric.index[name]]))
    held.set_member(vlan, port, data.draw(st.sampled_from(Membership)))
    state = {**build.state, name: held.freeze()}
    wrong = unheard(fabric, state)
    proof = verify(fabric, state)
    told = {finding.where for finding in proof.findings if "behind it" in finding.actual}
    assert not proof.proven or not wrong
    if proof.storm_free:
        assert bool(told) == bool(wrong)
        works = working_pairs(fabric, state)
        place = {host.name: h for h, host in enumerate(fabric.hosts)}
        for a, u in (
            (a, u) for a in place for u in fabric.uplinks.tolist() if place[a] != u and not fabric.hosts[u].mac
        ):
            arrives = Dataplane(fabric, state).unicast(a, fabric.hosts[u].name, mac=1).copies > 0
            assert works[place[a], u] == arrives


def test_a_host_whose_frames_do_not_come_to_the_uplink_is_named():
    fabric = make_fabric("ring", 3, extra="hosts: {h2: {uplink: true}}\n")
    build, proof, _ = planned(fabric, routing="tree")
    assert (proof.proven, proof.uplinks, proof.flood_ports_max, proof.flood_links_max) == (True, 1, 2, 2)
    at_uplink = int(build.state["s2"].pvid[fabric.hosts[2].port - 1])
    held = SwitchEditor.of(build.state["s0"])
    held.delete_vlan(at_uplink)
    told = [str(finding) for finding in verify(fabric, {**build.state, "s0": held.freeze()}).findings]
    assert any(line.startswith("h0 -> h2: expected one copy, actual to an address behind it") for line in told)


@pytest.mark.parametrize("change", ["another link off", "an uplink comes", "an uplink goes"])
def test_every_line_of_a_rollout_leaves_each_uplink_one_copy(change):
    host = "hosts: {h3: {uplink: true}}\n"
    fabric = make_fabric("mesh", 3, 3, extra=host)
    old, _, _ = planned(make_fabric("mesh", 3, 3) if change == "an uplink comes" else fabric)
    less = fabric.with_links_down({5}) if change == "another link off" else fabric
    new, proof, _ = planned(make_fabric("mesh", 3, 3) if change == "an uplink goes" else less, keep=old)
    assert proof.proven
    rollout = rollout_between(old, new)
    assert rollout.waves
    if change == "another link off":
        for wave in rollout.waves:
            assert unheard(fabric, wave.state) == []
    assert unheard(new.fabric, rollout.waves[-1].state) == []


def test_a_line_that_cuts_an_uplink_off_is_named():
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324", extra="hosts: {h1: {uplink: true}}\n")
    build, _, _ = planned(fabric)
    held = SwitchEditor.of(build.state["s1"])
    pvid = [int(build.state[f"s{h}"].pvid[fabric.hosts[h].port - 1]) for h in range(4)]
    cut = [h for h in range(4) if pvid[h] != pvid[1]]
    held.set_member(pvid[cut[0]], fabric.hosts[1].port, Membership.NONE)
    lines = lines_of(fabric, build.state, {"s1": held.freeze()})
    told = [str(finding) for finding in prove_wave(fabric, build.state, lines).findings]
    assert f"frames to addresses behind h1: expected one copy at every line, actual h{cut[0]}'s may be lost" in told
    kept, harm = kept_pairs(fabric, build.state, lines)
    assert (harm, np.flatnonzero(~kept[:, 1]).tolist()) == ("", sorted({1, *cut}))
    assert kept[1, [0, 2, 3]].all()


@pytest.mark.parametrize("uplink", [True, False])
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_no_line_beside_an_uplink_is_proven_where_switches_rename_vlans(assignment, uplink):
    fabric = make_fabric("ring", 4, model="powerconnect-5324", extra=f"hosts: {{h1: {{uplink: {uplink}}}}}\n".lower())
    build, proof, _ = planned(fabric, assignment=assignment)
    assert proof.proven
    found = [finding.where for finding in prove_wave(fabric, build.state, {}).findings]
    assert found == ["uplinks"] * (uplink and assignment == "renamed")


def test_of_equal_roots_the_one_nearest_to_the_uplink_is_taken():
    for name in ("h0", "h4"):
        fabric = make_fabric("ring", 5, extra=f"hosts: {{{name}: {{uplink: true}}}}\n")
        for routing in ("tree", "up-down"):
            build, _, _ = planned(fabric, routing=routing)
            assert f"from s{name[1]}" in build.routes.reason


def test_over_one_tree_an_uplink_without_an_address_has_no_entry_and_a_host_one_for_each_of_its_own():
    several = "h0: {mac: ['00:1e:c9:00:00:01', '00:1e:c9:00:00:02']}"
    fabric = make_fabric(
        "ring", 4, hosts=2, extra=f"hosts: {{{several}, h3: {{uplink: true}}, h6: {{uplink: true}}}}\n"
    )
    old, new = planned(fabric, routing="up-down")[0], planned(fabric, routing="tree")[0]
    rollout = rollout_between(old, new, strategy="park")
    ends = {vlan for state in (old.state, new.state) for held in state.values() for vlan in held.vlans.tolist()}
    entries, of_tree = [], []
    for wave in rollout.waves:
        assert unheard(fabric, wave.state) == []
        for held in wave.state.values():
            pairs = list(zip(held.entry_vlan.tolist(), held.entry_mac.tolist(), strict=True))
            entries += [mac for _, mac in pairs]
            of_tree.append(sorted(mac for vlan, mac in pairs if vlan not in ends))
    assert 0 not in entries
    assert sorted(mac for host in fabric.hosts for mac in host.macs) in of_tree
