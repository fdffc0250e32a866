"""Law: every address at a host's port is reached as the host's own is, in every state that a fabric passes through."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline.rollouts import rollout_between
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from tagloom.records.fabric_pair import FabricPair
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import lines_of
from tagloom.verify import kept_pairs, prove_wave, verify, working_pairs
from test_every_plan_is_what_frames_do import damaged, families, fits, graphs
from thinned import examples

FURTHER = 0x001E_C900_0000  # addresses of virtual machines and management controllers
FIRST_OWN = 0x0200_0000_0000  # hosts' own, and the broadcast address


def with_several(draw, fabric):
    """Return a fabric with up to three further addresses for some hosts."""
    fresh = iter(range(FURTHER, FURTHER + 1000))
    counts = draw(st.lists(st.integers(0, 3), min_size=len(fabric.hosts), max_size=len(fabric.hosts)))
    hosts = (
        replace(host, also=tuple(next(fresh) for _ in range(count)))
        for host, count in zip(fabric.hosts, counts, strict=True)
    )
    return replace(fabric, hosts=tuple(hosts))


def planned(fabric, **options):
    options = {"routing": "auto", "assignment": "fixed", "prefer": "vlans", "effort": 0, "texts": False} | options
    return pipeline.plan(fabric, ROOT / "templates", **options)


def frames_arrive(fabric, state):
    """Return whether a frame from each address of each host reaches every address of every other, once, unflooded.

    Nothing is sent from an address before all was sent to it: no switch has learnt it.
    """
    for b in fabric.hosts:
        for mac in b.macs:
            plane = Dataplane(fabric, state)
            for a in fabric.hosts:
                for sender in a.macs if a is not b else ():
                    sent = plane.unicast(a.name, b.name, mac=mac, sender=sender)
                    if (sent.delivered_to, sent.flooded, sent.storm) != ({b.name: 1}, (), ""):
                        return False
    return True


@examples(40)
@given(st.one_of(graphs(), families()), st.data())
def test_frames_to_every_address_take_the_hosts_own_path(fabric, data):
    fabric = with_several(data.draw, damaged(data.draw, fabric))
    assignment = data.draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    try:
        build, proof, _ = planned(fabric, assignment=assignment)
    except PlanError:
        return  # that the routing refuses the fabric is not asked here
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert frames_arrive(fabric, build.state)
    assert not fits(fabric) or parse_fabric(format_fabric(fabric), "again").hosts == fabric.hosts
    single = replace(fabric, hosts=tuple(replace(host, also=()) for host in fabric.hosts))
    for name, alone in planned(single, assignment=assignment)[0].state.items():
        held = build.state[name]
        assert held.entry_mac[held.entry_mac >= FIRST_OWN].tolist() == alone.entry_mac.tolist()


@examples(100)
@given(families(), st.data())
def test_the_proof_misses_what_frames_to_one_address_miss(fabric, data):
    """One entry of one address is taken away, or points elsewhere: told exactly where frames fare otherwise."""
    fabric = with_several(data.draw, fabric)
    assume(fabric.also)
    build, _, _ = planned(fabric)
    name = data.draw(st.sampled_from([switch.name for switch in fabric.switches]))
    held = SwitchEditor.of(build.state[name])
    mine = sorted(key for key in held.entries if key[1] < FIRST_OWN)
    assume(mine)
    vlan, mac = data.draw(st.sampled_from(mine))
    held.set_entry(vlan, mac, data.draw(st.sampled_from([(), (1,), (2,)])))
    state = {**build.state, name: held.freeze()}
    proof = verify(fabric, state)
    pairs_good = proof.reachable_pairs == proof.pairs and not proof.off_path_pairs
    assert pairs_good == frames_arrive(fabric, state)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize(
    "after",
    [(FURTHER + 1, FURTHER + 2), (FURTHER + 1,), (FURTHER + 3, FURTHER + 1), (FURTHER + 3,)],
    ids=["one more", "as before", "own one exchanged", "all exchanged"],
)
def test_addresses_that_come_and_go_are_a_proven_rollout_without_a_lost_frame(assignment, after):
    fabric = make_fabric("mesh", 2, 2, extra='hosts: {h1: {mac: ["00:1e:c9:00:00:01", "02:00:00:00:00:77"]}}\n')
    changed = tuple(replace(host, mac=after[0], also=after[1:]) if host.name == "h1" else host for host in fabric.hosts)
    new = replace(fabric, hosts=changed)
    before, _, _ = planned(fabric, assignment=assignment)
    target, proof, _ = planned(new, assignment=assignment, keep=before)
    assert proof.proven
    assert FabricPair(fabric, new).difference == "1 address changed"
    rollout = rollout_between(before, target)
    stay = tuple(
        replace(host, mac=macs[0], also=macs[1:])
        for host, known in zip(fabric.hosts, new.hosts, strict=True)
        if (macs := tuple(mac for mac in host.macs if mac in known.macs))
    )
    both = replace(fabric, hosts=stay)
    for wave in rollout.waves:
        assert frames_arrive(both, wave.state)
    assert frames_arrive(new, rollout.waves[-1].state)


@pytest.mark.parametrize("family", [("mesh", 2, 3), ("ring", 5)], ids=lambda family: family[0])
@examples(20)
@given(data=st.data())
def test_a_virtual_machine_that_moves_is_found_at_its_new_host_and_nobody_else_loses_a_frame(family, data):
    """Its address leaves one port and comes to another: a proven rollout, in which it alone is in two minds."""
    fabric = make_fabric(*family)
    old, new = data.draw(st.permutations(range(len(fabric.hosts))))[:2]
    machine = FURTHER + 77

    def with_it_at(h):
        hosts = (replace(host, also=(machine,) if i == h else ()) for i, host in enumerate(fabric.hosts))
        return replace(fabric, hosts=tuple(hosts))

    before, _, _ = planned(with_it_at(old))
    target, proof, _ = planned(with_it_at(new), keep=before)
    assert proof.proven
    rollout = rollout_between(before, target)
    assert rollout.waves
    names = [host.name for host in fabric.hosts]
    others = [name for name in names if name not in (names[old], names[new])]
    for state in (before.state, *(wave.state for wave in rollout.waves)):
        assert frames_arrive(fabric, state), "addresses that stay are reached at every wave"
        for a in others:
            sent = Dataplane(fabric, state).unicast(a, names[new], mac=machine, sender=fabric.hosts[names.index(a)].mac)
            assert not sent.storm
            assert sent.delivered_to.keys() & {names[old], names[new]}, "by an entry to one of its places, or flooded"
    for at, state in ((old, before.state), (new, rollout.waves[-1].state)):
        for a in names:
            sent = Dataplane(fabric, state).unicast(a, names[at], mac=machine)
            assert a == names[at] or (sent.delivered_to, sent.flooded) == ({names[at]: 1}, ())


def test_a_wave_that_loses_frames_to_one_address_at_some_line_is_not_proven():
    fabric = make_fabric("mesh", 2, 2, extra='hosts: {h1: {mac: ["02:00:00:00:00:01", "00:1e:c9:00:00:02"]}}\n')
    build, _, _ = planned(fabric)
    held = SwitchEditor.of(build.state["s0"])
    vlan, mac = next(key for key in held.entries if key[1] == FURTHER + 2)
    held.set_entry(vlan, mac, (fabric.hosts[0].port,))
    lines = lines_of(fabric, build.state, {"s0": held.freeze()})
    proof = prove_wave(fabric, build.state, lines)
    assert any("frames to h1 (00:1e:c9:00:00:02)" in str(finding) for finding in proof.findings)
    kept, harm = kept_pairs(fabric, build.state, lines)
    assert not harm
    assert sorted(b for _, b in np.argwhere(~kept & ~np.eye(4, dtype=bool)).tolist()) == [1]
    works = working_pairs(fabric, {**build.state, "s0": held.freeze()})
    assert sorted(b for _, b in np.argwhere(~works & ~np.eye(4, dtype=bool)).tolist()) == [1]


def test_two_hosts_with_one_address_and_one_twice_are_findings():
    with pytest.raises(Exception, match="a MAC address of its own") as told:
        make_fabric(
            "ring",
            3,
            extra='hosts: {h0: {mac: ["00:1e:c9:00:00:01", "00:1e:c9:00:00:02"]}, h1: {mac: "00:1e:c9:00:00:02"}}\n',
        )
    assert "hosts.h1.mac" in str(told.value)
    with pytest.raises(Exception, match="addresses that differ"):
        make_fabric("ring", 3, extra='hosts: {h0: {mac: ["00:1e:c9:00:00:01", "001e.c900.0001"]}}\n')
    with pytest.raises(Exception, match="a MAC address, or several"):
        make_fabric("ring", 3, extra="hosts: {h0: {mac: []}}\n")


def test_a_table_that_the_addresses_overfill_is_refused_with_their_number():
    fabric = make_fabric("ring", 4, hosts=8, model="powerconnect-5324")
    many = tuple(
        replace(host, also=tuple(range(FURTHER + 300 * h, FURTHER + 300 * h + 299)))
        for h, host in enumerate(fabric.hosts)
    )
    with pytest.raises(PlanError, match="holds at most") as told:
        planned(replace(fabric, hosts=many))
    assert "for 32 hosts with 9600 addresses" in str(told.value)
