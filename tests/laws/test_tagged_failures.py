"""Law: where ports carry several networks, what a single failure does is what frames of all of them do."""

from dataclasses import replace
from functools import partial

import networkx as nx
import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric
from failing import alive, moved, note
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.port_names import link_ends
from tagloom.records.detours import Detour
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.records.tagged_ports import without_tags
from tagloom.verify import kept_pairs, what_if
from test_networks import planned, with_networks
from test_protected_networks import two_connected
from test_tagged_networks import heard_across, trunks, with_tagged
from thinned import examples


def astray(draw, fabric, state):
    """Draw other PVIDs for some hosts that send untagged: VLANs of their own network, or of any."""
    found = {}
    for host in fabric.hosts:
        if host.tag or draw(st.integers(0, 2)):
            continue
        held = state[fabric.switches[host.switch].name]
        mine = held.vlans[held.membership[:, host.port - 1] > 0].tolist()
        any_of = mine if draw(st.integers(0, 3)) else held.owned_vlans
        found[host.name] = int(draw(st.sampled_from(sorted(any_of) or [1])))
    return found


def reached(fabric, new_plane, waits):
    """Send every unicast within a network, and every broadcast; return the pairs that entries lead to their end.

    Switches that have learnt nothing of the receivers flood what no entry leads: each sender has a plane of its own.
    """
    found = set()
    for a in fabric.hosts:
        plane = new_plane()
        shout = plane.broadcast(a.name)
        assert not shout.storm
        note(fabric, shout, waits)
        for b in fabric.hosts:
            if a is not b and a.network == b.network:
                sent = plane.unicast(a.name, b.name)
                note(fabric, sent, waits)
                if sent.delivered_to == {b.name: 1} and not sent.flooded:
                    found.add((a.name, b.name))
    return found


def broken(fabric, state, link, switch):
    plane = Dataplane(fabric, state)
    pulled = {(x.a, p): "pulled" for i, x in enumerate(fabric.links) if i == link for p, _ in x.cables}
    plane.break_off({switch: "dead"} if switch >= 0 else {}, pulled)
    return plane


@examples(8)
@given(st.integers(3, 6), st.integers(0, 2**16), st.sampled_from(["links", "switches"]), st.data())
def test_each_failure_is_counted_as_frames_of_all_networks_go(switches, seed, kind, data):
    fabric = with_tagged(data.draw, with_networks(data.draw, two_connected(seed, switches)))
    try:
        build, _, _ = planned(fabric)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    state, parts = build.state, [(link_ends(fabric, i), i, -1) for i in range(len(fabric.links))]
    if kind == "switches":
        parts = [((switch.name,), -1, s) for s, switch in enumerate(fabric.switches)]
    detours = [Detour(dead, astray(data.draw, fabric, state)) for dead, _, _ in parts]
    found, waits = what_if(fabric, state, kind, detours), nx.DiGraph()
    reached(fabric, lambda: Dataplane(fabric, state), waits)
    protected = unprotected = 0
    leaked = False
    for (_, link, switch), detour in zip(parts, detours, strict=True):
        there, after = alive(fabric, link, switch), moved(fabric, state, detour.pvids)
        reached(fabric, partial(Dataplane, fabric, after), waits)
        leaked = leaked or (link < 2 and bool(heard_across(fabric, after)))
        arrived = reached(fabric, partial(broken, fabric, after, link, switch), waits) & there
        protected += len(arrived)
        unprotected += len(there - arrived)
    assert (found.protected, found.unprotected) == (protected, unprotected)
    assert sum(loss.unprotected for loss in found.losses) == unprotected
    assert not found.deadlock_free or nx.is_directed_acyclic_graph(waits)
    assert not leaked or not found.isolated
    event(f"isolated: {found.isolated}, deadlock free: {found.deadlock_free}")


def test_hosts_move_within_their_networks_and_tagged_ones_stay(tmp_path, answer):
    """Without a plan for failures, those that send untagged may move; a tag is one VLAN, and its pairs wait."""
    fabric = trunks()
    build, _, _ = planned(fabric)
    bare, found = what_if(fabric, build.state, "links", ()), what_if(fabric, build.state, "links")
    assert found.safe
    assert (found.isolated, found.leaks) == (True, ())
    assert found.unprotected <= bare.unprotected
    assert found.protected + found.unprotected == len(fabric.links) * fabric.pairs
    with pytest.MonkeyPatch.context() as here:
        here.chdir(tmp_path)
        text = "shape: {family: ring, dims: [4], parallel: 2, hosts: 2}\nmodel: powerconnect-5324\n"
        extra = "networks: {compute: [h0, h2, h4, h6], storage: {hosts: [h1, h3], tagged: [h0, h4, h7], vlan: 20}}\n"
        (tmp_path / "f.yml").write_text(text + extra, "utf-8")
        assert answer("plan", "f.yml", "-o", "b")[0] == 0
        status, page = answer("verify", "b", "--what-if", "links")
        assert (status, page["what_if"]["isolated"]) == (0, True)
        status, page = answer("verify", "b", "--what-if", "entries")
        assert (status, page["what_if"]["kind"]) == (0, "entries")
        assert [page["what_if"][f"{how}_flows"] for how in ("lost", "duplicated", "storm")] == [0, 0, 0]
    assert np.sum([loss.unprotected for loss in found.losses]) == found.unprotected


def test_a_cycle_that_networks_close_together_harms_all_pairs_of_a_repair():
    """Three trees over three links, each without another link: each is acyclic, and frames of all wait in a circle."""
    networks = (
        "a: {hosts: [h0, h1, h2], vlan: 20}, b: {tagged: [h0, h1, h2], vlan: 30}, c: {tagged: [h0, h1, h2], vlan: 40}"
    )
    fabric = make_fabric("ring", 3, extra=f"networks: {{{networks}}}\n", model="powerconnect-5324")
    fabric = replace(fabric, flow_control=True)
    state = dict(planned(fabric)[0].state)
    assert kept_pairs(fabric, state, {})[1] == ""
    for i, vlan in enumerate((20, 30, 40)):
        for name, before in [*state.items()]:
            held = SwitchEditor.of(before)
            for j, link in enumerate(fabric.links):
                for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
                    if fabric.switches[s].name == name:
                        held.set_member(vlan, port, Membership.NONE if i == j else Membership.TAGGED)
            state[name] = held.freeze()
    for part in fabric.by_network:
        assert kept_pairs(*without_tags(part, state), {})[1] == ""
    kept, harm = kept_pairs(fabric, state, {})
    assert "no dependency cycle" in harm
    assert not kept.any()
    assert not what_if(fabric, state, "links", ()).deadlock_free


def test_one_switch_without_links_has_nothing_to_fail():
    networks = "a: {hosts: [h0, h1], vlan: 20}, b: {tagged: [h0, h1], vlan: 30}"
    fabric = make_fabric("complete", 1, hosts=2, extra=f"networks: {{{networks}}}\n", model="powerconnect-5324")
    found = what_if(fabric, planned(fabric)[0].state, "links")
    assert (found.failures, found.cut_pairs_max, found.unprotected_pairs_max, found.pvids_max) == (0, 0, 0, 0)
    assert (found.load_before, found.load_max, found.losses) == (0, 0, ())
