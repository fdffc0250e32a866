"""VLAN assignment: published counts, entries only where needed, limits, stable numbers."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.graph.numbering import owned, renumbered, vlan_fingerprint
from tagloom.records.switch_state import Membership
from tagloom.route import route
from tagloom.weave import Alternative, weave


def plan(fabric, assignment, previous=None):
    return weave(fabric, route(fabric, "auto", assignment), assignment, previous)


@pytest.mark.parametrize(("k", "n"), [(3, 2), (4, 2), (8, 2), (3, 3), (4, 3), (2, 4)])
def test_a_mesh_needs_the_vlans_of_table_3(k, n):
    """Koibuchi et al. 2011, Table 3, mesh: k^(n-1) fixed, n renamed."""
    fabric = make_fabric("mesh", *[k] * n)
    assert plan(fabric, "fixed").vlans == k ** (n - 1)
    assert plan(fabric, "renamed").vlans == n


@pytest.mark.parametrize(("u", "d", "r"), [(2, 4, 2), (2, 4, 3), (3, 6, 2)])
def test_a_fat_tree_needs_the_vlans_of_table_3(u, d, r):
    """Koibuchi et al. 2011, Table 3, fat tree: u^r fixed, u renamed, with u hosts or more on a leaf."""
    fabric = make_fabric("fat-tree", u, d, r, hosts=u)
    assert plan(fabric, "fixed").vlans == u**r
    assert plan(fabric, "renamed").vlans == u


@pytest.mark.parametrize("k", [4, 5, 8])
def test_a_torus_with_two_links_needs_2k_vlans_fixed(k):
    """Rule R7: 2k^(n-1), the paper's figure; renamed 2n."""
    fabric = make_fabric("torus", k, k, parallel=2)
    assert plan(fabric, "fixed").vlans == 2 * k
    assert plan(fabric, "renamed").vlans == 4


@pytest.mark.parametrize(("dims", "fixed"), [((5, 5), 25), ((6, 6), 18), ((8, 8), 32), ((4, 4, 4), 32)])
def test_rule_r1_needs_the_vlans_found_by_brute_force(dims, fixed):
    """(k/2)k^(n-1) with ties paired, k^n for odd k; renamed 2n for k >= 5 and for paired ties at 4."""
    fabric = make_fabric("torus", *dims, parallel=2)
    assert weave(fabric, route(fabric, "dor-r1"), "fixed").vlans == fixed
    assert weave(fabric, route(fabric, "dor-r1", "renamed"), "renamed").vlans == 2 * len(dims)


@pytest.mark.parametrize(
    ("family", "dims", "options", "vlans"),
    [
        ("mesh", (2, 8), {}, 2),
        ("mesh", (8, 2), {}, 2),
        ("mesh", (3, 4, 5), {}, 12),
        ("torus", (3, 6), {"parallel": 2}, 6),
        ("torus", (3, 4), {}, 6),
    ],
)
def test_the_dimension_with_the_fewest_trees_by_point_is_travelled_first(family, dims, options, vlans):
    assert plan(make_fabric(family, *dims, **options), "fixed").vlans == vlans


def test_double_stars_and_complete_graphs():
    assert plan(make_fabric("clos", 4, 4), "fixed").vlans == 4
    assert plan(make_fabric("clos", 4, 4), "renamed").vlans == 4
    for assignment in ("fixed", "renamed"):
        assert plan(make_fabric("complete", 6, parallel=2), assignment).vlans == 6


@pytest.mark.parametrize(
    ("family", "dims", "options", "fixed", "renamed"),
    [
        ("mesh", (4, 4), {}, (19, 21, 23), (17, 18.5, 20)),
        ("mesh", (3, 3, 3), {}, (39, 43, 51), (31, 33.7, 39)),
        ("torus", (4, 4), {}, (28, 28, 28), (23, 23, 23)),
        ("torus", (8, 8), {"parallel": 2}, (106, 110, 114), (77, 83, 89)),
        ("fat-tree", (2, 4, 2), {"hosts": 2}, (32, 34.3, 36), (32, 32, 32)),
    ],
)
def test_static_entries_stand_only_where_a_frame_can_need_them(family, dims, options, fixed, renamed):
    """Least, mean and most entries of a switch, found by brute force over all paths."""
    fabric = make_fabric(family, *dims, **options)
    method = "dor-r7" if family == "torus" and len(fabric.links) > 64 else "auto"  # the rule that was brute-forced
    for assignment, expected in (("fixed", fixed), ("renamed", renamed)):
        counts = [len(s.entry_vlan) for s in weave(fabric, route(fabric, method), assignment).state.values()]
        assert (min(counts), round(float(np.mean(counts)), 1), max(counts)) == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_every_fabric_port_leaves_vlan_1_and_no_other_port_does(assignment):
    fabric = make_fabric("torus", 4, 4, parallel=2, model="powerconnect-5324")
    for i, (name, state) in enumerate(plan(fabric, assignment).state.items()):
        for port in range(1, 25):
            member = state.member(1, port)
            assert (member is Membership.NONE) == (port in fabric.used_ports[i]), f"{name} port {port}"
        assert not state.spanning_tree


def test_link_ports_are_tagged_for_fixed_and_untagged_for_renamed():
    fabric = make_fabric("mesh", 3, 3)
    for assignment, how in (("fixed", Membership.TAGGED), ("renamed", Membership.UNTAGGED)):
        state = plan(fabric, assignment).state["s4"]
        at_links = state.membership[1:, :4]
        assert set(at_links[at_links > 0].tolist()) == {int(how)}


def test_a_link_that_is_off_is_shut_at_both_ends_and_in_no_vlan():
    fabric = make_fabric("mesh", 3, 3).with_links_down({0})
    link = fabric.links[0]
    state = plan(fabric, "fixed").state
    for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
        held = state[fabric.switches[s].name].port(port)
        assert not held.enabled
        assert not held.tagged
        assert not held.untagged


@pytest.mark.kernel
def test_too_many_vlans_for_a_model_propose_the_other_assignment_where_it_has_been_counted_to_fit():
    fabric = make_fabric("dragonfly", 19, 6, hosts=1, model="powerconnect-5324")
    crowded = replace(fabric, first_vlan=4093)
    other = Alternative("use --assignment renamed", "renamed", lambda: route(crowded, "auto", "renamed"))
    with pytest.raises(PlanError, match="--assignment renamed"):
        weave(crowded, route(crowded), "fixed", None, [other])


@pytest.mark.kernel
def test_what_does_not_fit_either_is_not_proposed():
    fabric = make_fabric("dragonfly", 19, 6, hosts=1, model="powerconnect-5324")
    full = replace(fabric, first_vlan=4094)
    with pytest.raises(PlanError, match=r"fewer hosts or models that hold more .*--assignment renamed"):
        weave(full, route(full), "fixed")  # up*/down* trees are no relation: renamed cannot take them
    ways = [
        Alternative("use --assignment renamed", "renamed", lambda: route(full)),
        Alternative("use --routing tree", "fixed", lambda: route(full, "tree")),
    ]
    with pytest.raises(PlanError, match=r"use --routing tree$"):
        weave(full, route(full), "fixed", None, ways)


@pytest.mark.kernel
def test_more_static_entries_than_a_mac_table_holds_are_refused_with_the_exact_count():
    fabric = make_fabric("dragonfly", 19, 6, hosts=5, model="powerconnect-6248")
    with pytest.raises(
        PlanError, match=r"at most 8000 MAC addresses; s\d+ would need \d+ static entries for 570 hosts"
    ):
        weave(fabric, route(fabric, "up-down"), "fixed")


def test_previous_keeps_the_numbers_of_unchanged_vlans_and_gives_changed_ones_fresh_numbers():
    fabric = make_fabric("mesh", 4, 4)
    old = plan(fabric, "fixed").state
    assert plan(fabric, "fixed", old).state == old
    new = plan(fabric.with_links_down({0}), "fixed", old).state
    kept = owned(old) & owned(new)
    assert kept
    assert owned(new) - owned(old)
    for vlan in kept:
        assert vlan_fingerprint(old, vlan) == vlan_fingerprint(new, vlan)


@pytest.mark.parametrize("eee", [True, False])
@pytest.mark.parametrize("model", ["powerconnect-5548", "powerconnect-7024"])
def test_eee_is_set_at_the_ports_of_the_fabric_where_the_file_asks(model, eee):
    fabric = replace(make_fabric("ring", 3, model=model), eee=eee)
    state = plan(fabric, "fixed").state
    left = replace(fabric, eee=None)
    factory = plan(left, "fixed").state
    for s, switch in enumerate(fabric.switches):
        used = [port - 1 for port in fabric.used_ports[s]]
        assert (state[switch.name].eee[used] == eee).all()
        others = np.delete(np.arange(fabric.ports[s]), used)
        assert (state[switch.name].eee[others] == factory[switch.name].eee[others]).all()


def test_a_state_with_entries_in_a_vlan_that_its_switch_lacks_is_not_renumbered():
    fabric = make_fabric("mesh", 2, 2)
    before = plan(fabric, "fixed").state
    odd = replace(before["s0"], entry_vlan=before["s0"].entry_vlan + 3900)
    with pytest.raises(PlanError, match="s0 has entries in VLAN 4000"):
        renumbered(plan(fabric, "renamed").state, {**before, "s0": odd}, 100)


def test_an_assignment_that_a_model_cannot_have_is_refused_for_the_first_such_switch():
    fabric = make_fabric("ring", 4, model="mikrotik-crs326-24g-2s")
    switches = tuple(replace(s, model="powerconnect-5324") if s.name in {"s0", "s2"} else s for s in fabric.switches)
    fabric = replace(fabric, switches=switches)
    with pytest.raises(PlanError, match=r"--assignment pinned on a RouterOS.*fixed, and s1 is one"):
        weave(fabric, route(fabric, "tree", "fixed"), "fixed")


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("protect", ["none", "link"])
def test_ids_of_vlans_follow_one_another_from_the_first(assignment, protect):
    fabric = make_fabric("mesh", 3, 2)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", assignment=assignment, protect=protect, texts=False)
    found = {int(vlan) for held in build.state.values() for vlan in held.owned_vlans}
    assert sorted(found) == list(range(fabric.first_vlan, fabric.first_vlan + len(found)))
    detours = build.protection.detour_vlans if build.protection is not None else 0
    assert (detours > 0) == (protect == "link")
    if assignment == "fixed":
        assert len(found) == build.vlans + detours
