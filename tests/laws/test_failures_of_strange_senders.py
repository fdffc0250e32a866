"""Law: what a single loss does on switches that drop frames of senders pinned elsewhere is what frames do there."""

import random
from dataclasses import replace

import networkx as nx
import pytest

from fabrics import ROOT, make_fabric
from failing import alive, moved, note
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import plan
from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour
from tagloom.records.switch_state import SwitchEditor
from tagloom.verify import missing_entry, what_if
from thinned import few

TEMPLATES = ROOT / "templates"
LOOKS = "huawei-s5731-s24t4x"
FABRICS = [
    (("mesh", 3, 2), {}),
    (("ring", 4), {"hosts": 2}),
    (("complete", 4), {}),
    (("torus", 3, 3), {}),
    (("clos", 2, 3), {"hosts": 2}),
]


def states(seed, assignment, family, more):
    """Return a fabric of which some switches look at senders, and a plan with some entries elsewhere."""
    chance = random.Random(seed)
    plain = make_fabric(*family, **more)
    try:
        held = dict(plan(plain, TEMPLATES, assignment=assignment, texts=False)[0].state)
    except PlanError:
        pytest.skip("this fabric has no plan with this assignment")
    for name in list(held) if seed else ():
        editor = SwitchEditor.of(held[name])
        vlan, mac = chance.choice(sorted(editor.entries))
        members = sorted(p for p, how in editor.members[vlan].items() if how)
        editor.set_entry(vlan, mac, (chance.choice(members),))
        other = {**held, name: editor.freeze()}
        if not any(sent.storm or sent.flooded for sent in every_frame(plain, other)):  # but to an uplink
            held = other
    which = [chance.random() < 0.7 or s == 0 for s in range(len(plain.switches))]
    switches = (replace(x, model=LOOKS) if yes else x for x, yes in zip(plain.switches, which, strict=True))
    return replace(plain, switches=tuple(switches)), held, chance


def every_frame(fabric, state):
    """Send a frame of every pair over switches that have learnt nothing."""
    names = [host.name for host in fabric.hosts if not host.uplink]
    return [Dataplane(fabric, state).unicast(a, b) for a in names for b in names if a != b]


def after_the_loss(fabric, state, switch, vlan, mac):
    """Return (extra hosts, copies) of each frame that floods where the entry was that is taken away."""
    editor = SwitchEditor.of(state[switch])
    editor.set_entry(vlan, mac, ())
    without = {**state, switch: editor.freeze()}
    target = next(host.name for host in fabric.hosts if host.mac == mac)
    found = []
    for source in fabric.hosts:
        sent = Dataplane(fabric, without).unicast(source.name, target) if source.name != target else None
        if sent is not None and sent.flooded:
            found.append((len({name for name, n in sent.delivered_to.items() if n} - {target}), sent.copies))
    return found


@pytest.mark.parametrize("assignment", ["fixed", "renamed", "pinned"])
@pytest.mark.parametrize(("family", "more"), few(FABRICS, 0, 1), ids=str)
@pytest.mark.parametrize("seed", few(range(4), 0, 1))
def test_a_missing_entry_does_what_frames_do(seed, family, more, assignment):
    fabric, state, _ = states(seed, assignment, family, more)
    found = [
        flow
        for name, held in state.items()
        for vlan, mac in sorted(SwitchEditor.of(held).entries)
        for flow in after_the_loss(fabric, state, name, vlan, mac)
    ]
    loss = missing_entry(fabric, state)
    assert loss.flows == len(found)
    assert loss.extra_hosts_average == pytest.approx(sum(extra for extra, _ in found) / max(1, len(found)))
    assert loss.lost_flows == sum(copies == 0 for _, copies in found)
    assert loss.duplicated_flows == sum(copies > 1 for _, copies in found)


@pytest.mark.parametrize("kind", ["links", "switches"])
@pytest.mark.parametrize("assignment", ["fixed", "renamed", "pinned"])
@pytest.mark.parametrize(("family", "more"), few(FABRICS, 0, 1), ids=str)
@pytest.mark.parametrize("seed", few(range(4), 0, 1))
def test_a_failure_costs_what_frames_do(seed, family, more, assignment, kind):
    """Hosts move to any VLAN of their own port: no frame of theirs is counted that a switch drops."""
    if seed % 2 and assignment != "pinned":
        more = {**more, "extra": "hosts: {h1: {uplink: true}}\n"}
    fabric, state, chance = states(seed, assignment, family, more)
    uplinks = {host.name for host in fabric.hosts if host.uplink}
    parts = [(link_ends(fabric, i), i, -1) for i in range(len(fabric.links))]
    if kind == "switches":
        parts = [((switch.name,), -1, s) for s, switch in enumerate(fabric.switches)]
    detours = [Detour(dead, other_pvids(fabric, state, chance)) for dead, _, _ in parts]
    found, waits, counts = what_if(fabric, state, kind, detours), nx.DiGraph(), [0, 0]
    for (_, link, switch), detour in zip(parts, detours, strict=True):
        there, after = alive(fabric, link, switch), moved(fabric, state, detour.pvids)
        plane = Dataplane(fabric, after)
        pulled = {(x.a, p): "pulled" for i, x in enumerate(fabric.links) if i == link for p, _ in x.cables}
        plane.break_off({switch: "dead"} if switch >= 0 else {}, pulled)
        arrived = set()
        for a, b in sorted(there):
            fresh = Dataplane(fabric, after)
            fresh.break_off({switch: "dead"} if switch >= 0 else {}, pulled)
            sent = fresh.unicast(a, b, mac=0x0A00_0000_0001 if b in uplinks else 0)
            note(fabric, sent, waits)
            if sent.copies and (b in uplinks or not sent.flooded):
                arrived.add((a, b))
        counts = [counts[0] + len(arrived), counts[1] + len(there - arrived)]
    assert [found.protected, found.unprotected] == counts
    assert not found.deadlock_free or nx.is_directed_acyclic_graph(waits)


def other_pvids(fabric, state, chance):
    """Draw another PVID for some hosts: a VLAN of which their port is a member."""
    pvids = {}
    for host in fabric.hosts:
        held = state[fabric.switches[host.switch].name]
        mine = held.vlans[held.membership[:, host.port - 1] > 0].tolist()
        if mine and chance.random() < 0.5:
            pvids[host.name] = chance.choice(mine)
    return pvids


def test_an_entry_that_points_back_leads_nowhere():
    """A switch never sends a frame out of the port it came in by; renamed, the switch before may lead it on."""
    test_a_failure_costs_what_frames_do(2, *FABRICS[4], "renamed", "links")
