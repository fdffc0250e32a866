"""The verifier proves good plans, and rejects every kind of bad one with the right witness."""

from functools import partial

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.records.routes import Routes
from tagloom.records.switch_state import Membership, SwitchEditor, SwitchState
from tagloom.route import route
from tagloom.verify import Plan, broadcasts_once, verify
from tagloom.weave import weave


def planned(fabric, assignment="fixed"):
    routes = route(fabric, "auto", assignment)
    return routes, weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric)).state


def edited(state, switch, edit):
    editor = SwitchEditor.of(state[switch])
    edit(editor)
    return {**state, switch: editor.freeze()}


@pytest.fixture(scope="module")
def torus():
    return make_fabric("torus", 4, 4, parallel=2)


@pytest.mark.kernel
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize(
    ("family", "dims", "options"),
    [
        ("mesh", (4, 4), {}),
        ("mesh", (3, 3, 3), {}),
        ("torus", (4, 4), {"parallel": 2}),
        ("torus", (5, 5), {"parallel": 2, "hosts": 2}),
        ("torus", (4, 4), {}),
        ("hypercube", (4,), {}),
        ("fat-tree", (2, 4, 2), {"hosts": 2}),
        ("clos", (4, 4), {}),
        ("complete", (6,), {"parallel": 2, "hosts": 3}),
        ("tree", (2, 3), {}),
        ("dragonfly", (7, 3), {}),
        ("ring", (7,), {}),
    ],
)
def test_a_plan_proves(family, dims, options, assignment):
    fabric = make_fabric(family, *dims, model="powerconnect-6248", **options)
    routes, state = planned(fabric, assignment)
    proof = verify(fabric, state, Plan(routes))
    assert proof.proven, [str(f) for f in proof.findings]
    assert proof.pairs == len(fabric.hosts) * (len(fabric.hosts) - 1)
    assert verify(fabric, state).proven, "from the states alone"


def test_the_torus_has_the_96_dependencies_of_eight_trees(torus):
    routes, state = planned(torus)
    proof = verify(torus, state, Plan(routes))
    assert (proof.channels, proof.dependencies, proof.fdb_entries_max) == (128, 96, 28)


def test_a_wrong_pvid_is_off_path_or_worse_and_names_the_pairs(torus):
    _, state = planned(torus)
    broken = edited(state, "s5", lambda e: e.set_pvid(9, 107))
    proof = verify(torus, broken)
    assert not proof.proven
    assert any(str(f).startswith("h5 -> ") for f in proof.findings)


def test_a_host_port_without_pvid_sends_nothing(torus):
    _, state = planned(torus)
    proof = verify(torus, edited(state, "s5", lambda e: e.set_pvid(9, 0)))
    assert proof.unreachable_pairs == 15
    assert "dropped on entering s5:swp9" in str(proof.findings[0])


def test_a_missing_static_entry_floods_and_is_off_path_though_reachable(torus):
    _, state = planned(torus)
    vlan, mac = int(state["s1"].entry_vlan[0]), int(state["s1"].entry_mac[0])
    proof = verify(torus, edited(state, "s1", lambda e: e.set_entry(vlan, mac, ())))
    assert proof.unreachable_pairs == 0
    assert proof.off_path_pairs > 0
    assert f"flooded at s1 in VLAN {vlan}" in " ".join(map(str, proof.findings))


def test_a_static_entry_to_the_wrong_port_black_holes(torus):
    _, state = planned(torus)
    vlan, mac, port = (int(x[0]) for x in (state["s1"].entry_vlan, state["s1"].entry_mac, state["s1"].entry_port))
    proof = verify(torus, edited(state, "s1", lambda e: e.set_entry(vlan, mac, (9 if port != 9 else 1,))))
    assert proof.unreachable_pairs > 0


def test_a_member_that_closes_a_loop_storms_and_the_loop_is_named(torus):
    _, state = planned(torus)
    vlan = 100
    tree = {i for i, x in enumerate(torus.links) if state[f"s{x.a}"].member(vlan, x.a_port)}
    spare = next(i for i in range(64) if i not in tree)
    link = torus.links[spare]
    looped = edited(state, f"s{link.a}", lambda e: e.set_member(vlan, link.a_port, Membership.TAGGED))
    half = verify(torus, looped)
    assert half.storm_free, "one end alone does not close it: the other filters"
    looped = edited(looped, f"s{link.b}", lambda e: e.set_member(vlan, link.b_port, Membership.TAGGED))
    proof = verify(torus, looped)
    assert not proof.storm_free
    assert not proof.broadcast_exactly_once
    witness = next(str(f) for f in proof.findings if "round" in str(f))
    assert f"(VLAN {vlan})" in witness


def test_a_lost_member_cuts_pairs(torus):
    _, state = planned(torus)
    link = torus.links[0]
    proof = verify(torus, edited(state, "s0", lambda e: e.set_member(101, link.a_port, Membership.NONE)))
    assert proof.unreachable_pairs > 0
    assert not proof.broadcast_exactly_once


def test_a_shut_port_cuts_the_link_for_both_ends(torus):
    _, state = planned(torus)

    def shut(editor):
        editor.enabled[2] = False

    proof = verify(torus, edited(state, "s0", shut))
    assert proof.unreachable_pairs > 0


def test_another_path_than_planned_is_off_path_though_it_proves_alone(torus):
    routes, _ = planned(torus)
    other = route(torus, "up-down")
    state = weave(torus, other).state
    assert verify(torus, state).proven
    proof = verify(torus, state, Plan(routes))
    assert proof.off_path_pairs > 0
    assert "another path than planned" in str(proof.findings[0])


def ring_routes_clockwise(fabric):
    """Return routes on which every frame goes plus all the way around: the textbook deadlock."""
    n = len(fabric.switches)
    into = {(int(t), int(h)): c for c, (t, h) in enumerate(zip(fabric.tail, fabric.head, strict=True))}
    parent = np.full((n, n), -1, np.int32)
    for s in range(n):
        for step in range(1, n):
            parent[s, (s + step) % n] = into[(s + step - 1) % n, (s + step) % n]
    return Routes("clockwise", "", np.arange(n, dtype=np.int32), np.arange(n, dtype=np.int32), parent)


def test_a_dependency_cycle_is_found_and_shown_as_switches_and_ports():
    fabric = make_fabric("ring", 5, model="powerconnect-5324")
    routes = ring_routes_clockwise(fabric)
    proof = verify(fabric, weave(fabric, routes).state, Plan(routes))
    assert proof.reachable_pairs == proof.pairs
    assert proof.storm_free
    assert not proof.deadlock_free
    assert sorted(proof.deadlock_cycle) == [
        "s0:g2 -> s1:g1", "s1:g2 -> s2:g1", "s2:g2 -> s3:g1", "s3:g2 -> s4:g1", "s4:g2 -> s0:g1",
    ]  # fmt: skip


def test_minimal_routing_on_k44_by_sum_of_numbers_is_cyclic():
    """ "Minimal routings on indirect topologies are always deadlock-free" (Koibuchi Sect. 5.2) fails for Myri-clos."""
    fabric = make_fabric("clos", 4, 4)
    into = {(int(t), int(h)): c for c, (t, h) in enumerate(zip(fabric.tail, fabric.head, strict=True))}
    held, wanted = [], []
    for s in range(8):
        for d in range(8):
            if s != d and s // 4 == d // 4:
                via = (s % 4 + d % 4) % 4 + (4 if s < 4 else 0)
                held.append(into[s, via])
                wanted.append(into[via, d])
    from tagloom.graph.cycles import find_cycle  # noqa: PLC0415 - only here

    cycle = find_cycle(32, np.array(held), np.array(wanted))
    pairs = set(zip(held, wanted, strict=True))
    assert len(cycle) >= 2
    assert all((a, b) in pairs for a, b in zip(cycle, [*cycle[1:], cycle[0]], strict=True)), "the witness is a cycle"


def test_renamed_with_alternative_paths_duplicates_broadcasts():
    """The member sets of a mesh with a detour under renamed assignment: 60 of 240 pairs get a second copy."""
    fabric = make_fabric("torus", 5, 5, parallel=2)
    routes, state = planned(fabric, "renamed")
    widened = edited(
        state, "s0", lambda e: [e.set_member(v, p, Membership.UNTAGGED) for v in (100, 101) for p in range(1, 10)]
    )
    proof = verify(fabric, widened, Plan(routes))
    assert not proof.broadcast_exactly_once


def test_spanning_tree_on_cannot_be_proven_and_is_said():
    fabric = make_fabric("mesh", 2, 2)
    _, state = planned(fabric)

    def on(editor):
        editor.spanning_tree = True

    proof = verify(fabric, edited(state, "s0", on))
    assert not proof.proven
    assert "spanning tree" in str(proof.findings[0])


def test_a_factory_default_ring_storms():
    fabric = make_fabric("ring", 4)
    proof = verify(fabric, {s.name: SwitchState.factory(64) for s in fabric.switches})
    assert not proof.storm_free
    assert proof.unreachable_pairs == 0, "everything is flooded, and arrives"
    assert proof.off_path_pairs == proof.pairs


def test_each_of_more_hosts_than_a_word_has_bits_must_hear_every_broadcast():
    """Who hears is kept as bits, 64 hosts a word: at both sides of its end, one that hears nobody counts."""
    fabric = make_fabric("complete", 4, hosts=17)
    _, state = planned(fabric)
    assert broadcasts_once(fabric, state)
    for h in (0, 1, 62, 63, 64, 67):
        host = fabric.hosts[h]
        name = fabric.switches[host.switch].name
        vlans = [vlan for vlan in state[name].owned_vlans if state[name].member(vlan, host.port)]
        deaf = edited(
            state, name, lambda e, port=host.port, those=vlans: [e.set_member(v, port, Membership.NONE) for v in those]
        )
        assert not broadcasts_once(fabric, deaf)


def test_the_broadcast_group_entry_narrows_a_flood():
    """A static entry for ff:ff:ff:ff:ff:ff replaces the flood of its VLAN at that switch."""
    fabric = make_fabric("mesh", 3, 1)
    _, state = planned(fabric)
    vlan = int(state["s1"].pvid[fabric.hosts[1].port - 1])
    narrowed = edited(state, "s1", lambda e: e.set_entry(vlan, 0xFFFFFFFFFFFF, (1,)))
    proof = verify(fabric, narrowed)
    assert proof.reachable_pairs == proof.pairs
    assert not proof.broadcast_exactly_once


@pytest.mark.parametrize("more", [0, 1])
def test_a_model_s_limits_may_be_reached_and_not_passed(more):
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    _, state = planned(fabric)
    model = platforms.load("powerconnect-5324")

    def with_vlans(editor):
        free = (vlan for vlan in range(2, model.max_vlan_id) if vlan not in editor.vlans)
        while len(editor.vlans) < model.max_vlans + more:
            editor.create_vlan(next(free))

    def with_entries(editor):
        for mac in range(model.mac_table + more - len(editor.entries)):
            editor.set_entry(1, 0x02FF_0000_0000 + mac, (1,))

    for fill, named in ((with_vlans, "VLANs"), (with_entries, "static entries")):
        findings = verify(fabric, edited(state, "s2", fill)).findings
        assert [finding.where for finding in findings] == [f"s2 {named}"] * more
