"""Switches that drop frames of senders pinned elsewhere: what is proven is what frames do, in every interleaving."""

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import settings

from fabrics import ROOT, SMALL_FABRICS, make_fabric
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import plan
from tagloom.records.change import apply_changes, difference
from tagloom.records.lines import Lines
from tagloom.records.switch_state import SwitchEditor
from tagloom.verify import frame_path, kept_pairs, prove_wave, verify, working_pairs
from thinned import few

TEMPLATES = ROOT / "templates"
LOOKS = "huawei-s5731-s24t4x"


def looking(fabric, which=None):
    """Give a fabric's switches, or those of some numbers, a model that looks at senders."""
    switches = [replace(s, model=LOOKS) if which is None or n in which else s for n, s in enumerate(fabric.switches)]
    return replace(fabric, switches=tuple(switches))


def strange(findings):
    return [each for each in findings if "of such senders" in str(each)]


def drops(plain, fabric, state):
    """Send every frame, and return whether one does otherwise on switches that look at senders."""
    plane, free = Dataplane(fabric, state), Dataplane(plain, state)
    names = [host.name for host in fabric.hosts]
    floods = any(plane.broadcast(a).path != free.broadcast(a).path for a in names)
    return floods or any(plane.unicast(a, b).path != free.unicast(a, b).path for a in names for b in names if a != b)


@pytest.mark.parametrize("assignment", ["fixed", "renamed", "pinned"])
@pytest.mark.parametrize(("family", "dims", "more"), SMALL_FABRICS, ids=str)
def test_a_plan_is_proven_on_such_switches_if_and_only_if_they_drop_no_frame(family, dims, more, assignment):
    plain = make_fabric(family, *dims, **more)
    try:
        build = plan(plain, TEMPLATES, assignment=assignment, texts=False)[0]
    except PlanError:
        pytest.skip("this fabric has no plan with this assignment")
    for which in (None, {0}, {1, 2}):
        fabric = looking(plain, which)
        assert bool(strange(verify(fabric, build.state).findings)) == drops(plain, fabric, build.state)


def test_fixed_and_a_single_tree_never_meet_a_sender_elsewhere_and_pinned_on_a_mesh_does():
    for assignment, routing, meets in (("fixed", "auto", False), ("pinned", "tree", False), ("pinned", "auto", True)):
        plain = make_fabric("mesh", 3, 2)
        build = plan(plain, TEMPLATES, assignment=assignment, routing=routing, texts=False)[0]
        found = strange(verify(looking(plain), build.state).findings)
        assert bool(found) is meets
        assert all("--assignment fixed" in str(each) for each in found)


@pytest.mark.parametrize("seed", few(range(12), 0, 1, 5, 6, 7, 9))
def test_entries_moved_one_by_one_are_proven_only_where_no_order_of_lines_drops_a_frame(seed):
    """Move some entries of a plan to other ports, or take them away: each interleaving is followed, frame by frame."""
    chance = random.Random(seed)
    plain = make_fabric(*chance.choice([("mesh", 3, 2), ("ring", 4), ("complete", 4)]))
    before = plan(plain, TEMPLATES, assignment=chance.choice(["fixed", "renamed"]), texts=False)[0].state
    fabric, after = looking(plain), {}
    for name, held in before.items():
        editor = SwitchEditor.of(held)
        for vlan, mac in chance.sample(sorted(editor.entries), min(2, len(editor.entries))):
            members = sorted(p for p, how in editor.members[vlan].items() if how)
            editor.set_entry(vlan, mac, chance.choice([(), (chance.choice(members),)]))
        after[name] = editor.freeze()
    changes = {name: list(difference(before[name], after[name])) for name in before}
    lines = {
        name: Lines.of([(at, (change,)) for at, change in enumerate(each, start=1)])
        for name, each in changes.items()
        if each
    }
    found = strange(prove_wave(fabric, before, lines).findings)
    kept, _ = kept_pairs(fabric, before, lines)
    names = [host.name for host in fabric.hosts]
    for _ in range(min(40, settings.default.max_examples // 5)):  # orders of lines; the rest are for a long run
        state, left = dict(before), {name: list(each) for name, each in changes.items() if each}
        while left:
            name = chance.choice(sorted(left))
            state[name] = apply_changes(state[name], (left[name].pop(0),))
            left = {each: rest for each, rest in left.items() if rest}
            if drops(plain, fabric, state):
                assert found, (name, state[name].entry_port)
            plane = Dataplane(fabric, state)
            proof = verify(fabric, state)
            sent = [Dataplane(fabric, state).unicast(a, b) for a in names for b in names if a != b]
            assert proof.reachable_pairs == sum(each.copies > 0 for each in sent)
            ways = [frame_path(fabric, state, a, b) for a in range(len(names)) for b in range(len(names)) if a != b]
            assert [way.reaches for way in ways] == [each.copies > 0 for each in sent]
            for a, b in np.argwhere(kept).tolist():
                assert plane.unicast(names[a], names[b]).copies == 1, (names[a], names[b], name)


def pvid(fabric, state, host):
    """Return the VLAN of the frames that a host sends."""
    return int(state[fabric.switches[host.switch].name].pvid[host.port - 1])


@pytest.mark.parametrize("seed", range(24))
def test_what_is_said_of_broadcasts_and_uplinks_is_what_frames_do(seed):
    """Move entries of some plans: a flood that a switch drops for its sender reaches nobody behind that switch."""
    chance = random.Random(seed)
    family = chance.choice([("mesh", 3, 2), ("ring", 4), ("complete", 4)])
    plain = make_fabric(*family, extra="hosts: {h1: {uplink: true}}\n" if seed % 2 else "")
    pinned = "pinned" if seed < 4 and not seed % 2 else "fixed"
    state = dict(plan(plain, TEMPLATES, assignment=pinned, texts=False)[0].state)
    for name, held in state.items() if pinned == "fixed" else ():
        editor = SwitchEditor.of(held)
        for vlan in held.owned_vlans:  # of a host whose own frames are in that VLAN
            mac = chance.choice([x.mac for x in plain.hosts if not x.uplink and pvid(plain, state, x) == vlan] or [0])
            if mac and chance.random() < 0.4:
                editor.set_entry(vlan, mac, (chance.choice(sorted(editor.members[vlan])),))
        state[name] = editor.freeze()
    fabric = looking(plain, {0, 2})
    plane, proof, names = Dataplane(fabric, state), verify(fabric, state), [host.name for host in fabric.hosts]
    heard = [plane.broadcast(a) for a in names]
    assert not any(each.storm for each in heard)
    once = all(each.delivered_to == dict.fromkeys(set(names) - {a}, 1) for a, each in zip(names, heard, strict=True))
    assert proof.broadcast_exactly_once == once
    assert proof.proven <= once
    works = working_pairs(fabric, state)
    reached = 0
    for a, b in ((a, b) for a in fabric.hosts for b in fabric.hosts if a is not b):
        fresh = Dataplane(fabric, state)
        sent = fresh.unicast(a.name, b.name, mac=0x0A00_0000_0001 if b.uplink else 0)
        assert works[names.index(a.name), names.index(b.name)] == (sent.copies > 0)
        reached += sent.copies > 0
    assert proof.reachable_pairs == reached
