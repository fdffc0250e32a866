"""Law: the proof of what a network under spanning tree does today agrees with its frames, one by one."""

import random
from dataclasses import replace

import pytest

from fabrics import make_irregular
from tagloom import platforms
from tagloom.lab.dataplane import BROADCAST, Dataplane
from tagloom.platforms.factory import factory_state
from tagloom.records.fabric import Host
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.verify import prove_running
from thinned import few

MODELS = ("powerconnect-5324", "powerconnect-6224")
NETWORKS = 200  # in ten parts
OUTSIDE = 20
UNKNOWN = 0x33_33_00_00_00_01


def a_network(chance):
    """Return a random network of others: VLAN 1 and 10 on most links, spanning tree mostly on, hosts in either."""
    switches = chance.randint(2, 6)
    links = [(chance.randrange(s), s) for s in range(1, switches)]
    links += [chance.sample(range(switches), 2) for _ in range(chance.randint(0, 4))]
    fabric = make_irregular(
        [chance.randint(0, 2) for _ in range(switches - 1)] + [2], links, model=chance.choice(MODELS)
    )
    odd = chance.random() < 0.5  # somebody has changed things by hand
    state = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(factory_state(platforms.of(switch)))
        editor.create_vlan(10)
        for link in fabric.links:
            for end, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if end == s and chance.random() < 0.8:
                    editor.set_member(10, port, Membership.TAGGED)
                if end == s and odd and chance.random() < 0.1:
                    editor.set_member(1, port, Membership.NONE)
        editor.set_member(1, OUTSIDE, Membership.NONE)
        editor.set_member(10, OUTSIDE, Membership.UNTAGGED)
        editor.set_pvid(OUTSIDE, 10)
        if odd and chance.random() < 0.2:
            editor.spanning_tree = False
        for host in fabric.hosts:
            if host.switch == s and odd and chance.random() < 0.1:
                editor.set_entry(1, host.mac, [chance.choice(fabric.used_ports[s])])
        state[switch.name] = editor.freeze()
    return fabric, state


def what_frames_do(fabric, state):
    """Return (pairs that reach, whether anything storms, whether each broadcast comes once, who hears VLAN 10)."""
    outside = [Host(f"x{s}", s, OUTSIDE, 0x02AA_0000_0000 + s) for s in range(len(fabric.switches))]
    plane = Dataplane(replace(fabric, hosts=(*fabric.hosts, *outside), shape=None), state)
    names = [host.name for host in fabric.hosts]
    frames = [(end.name, tag, UNKNOWN) for end in outside for tag in (0, 1, 10)]
    others, sent = {}, {}
    for name, tag, mac in (*frames, *((name, 0, BROADCAST) for name in names)):
        found = plane.broadcast(name, tag, mac)
        if found.storm:
            return 0, True, False, set()
        (sent if name in names else others)[name, tag] = found.delivered_to
    plane.configure(state)
    flooded, learnt = (
        {(a, b) for a in names for b in names if a != b and plane.unicast(a, b).copies} for _ in range(2)
    )
    assert flooded == learnt, "what nobody has learnt arrives where it does once it is learnt"
    heard = {a: {b: n for b, n in got.items() if b in names} for (a, _), got in sent.items()}
    once = all(got == {b: 1 for b in names if b != a} for a, got in heard.items())
    strangers = {host for (_, tag), got in others.items() if not tag for host in got if host in names}
    return len(flooded), False, once, strangers


def blocked_by(fabric, state):
    plane = Dataplane(fabric, state)
    return {(s, port) for s, switch in enumerate(fabric.switches) for port in plane.spanning(switch.name)[1]}


@pytest.mark.parametrize("part", few(range(10), 0))
def test_the_proof_of_a_running_network_is_what_its_frames_do(part):
    chance = random.Random(part)
    seen = []
    for _ in range(NETWORKS // 10):
        fabric, state = a_network(chance)
        proof = prove_running(fabric, state, blocked_by(fabric, state))
        reached, storms, once, strangers = what_frames_do(fabric, state)
        told = {each.where for each in proof.findings if each.expected == "no frames of a VLAN of others"}
        assert proof.reachable_pairs == reached
        assert proof.storm_free == (not storms)
        assert storms or proof.broadcast_exactly_once == once
        assert storms or told == {f"host {name}" for name in strangers}
        assert proof.proven == (once and not strangers and reached == proof.pairs)
        seen.append((proof.proven, storms, reached == proof.pairs))
    assert len(set(seen)) > 2, "networks that work, that storm, and that are cut"
