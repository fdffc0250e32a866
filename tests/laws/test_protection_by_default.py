"""Law: detours that nobody asked for change nothing else of a plan, and are what a failure leaves, frame by frame."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.graph.numbering import owned
from tagloom.route.any_order.detours import along, needed
from tagloom.route.any_order.orders import ordered
from tagloom.route.any_order.protect import failures
from tagloom.route.any_order.sets_of_failures import ROOT as AT_ROOT
from tagloom.route.any_order.sets_of_failures import Growth, Sweep, protecting_order
from tagloom.route.detours import order_beside
from tagloom.route.net import lay_out
from tagloom.verify import dependencies, what_if
from test_every_plan_is_what_frames_do import damaged, families, graphs
from thinned import examples

pytestmark = pytest.mark.kernel


def planned(fabric, kind, **options):
    return pipeline.plan(fabric, ROOT / "templates", protect=kind, texts=False, **options)


def rows(state, vlan):
    """Return a VLAN of each switch: its members and its entries."""
    found = {}
    for name, held in state.items():
        if vlan in held.vlan_index:
            mine = held.entry_vlan == vlan
            members = held.membership[held.vlan_index[vlan]].tolist()
            found[name] = members, list(zip(held.entry_mac[mine].tolist(), held.entry_port[mine].tolist(), strict=True))
    return found


@examples(60)
@given(st.one_of(families(), graphs()), st.sampled_from(["vlans", "load"]), st.booleans(), st.data())
def test_a_protected_plan_holds_the_plan_without_detours(fabric, prefer, again, data):
    options = {"prefer": prefer, "effort": 0}
    try:
        plain, _, _ = planned(fabric, "none", **options)
    except PlanError:
        return
    if again:  # beside a protected plan of the whole fabric, with links off
        options["previous"], fabric = planned(fabric, "auto", **options)[0], damaged(data.draw, fabric)
        try:
            plain, _, _ = planned(fabric, "none", **options)
        except PlanError:
            return
    build, proof, _ = planned(fabric, "auto", **options)
    assert proof.proven
    assert (build.vlans, build.routes.reason) == (plain.vlans, plain.routes.reason)
    for a, b in ((build.routes.root, plain.routes.root), (build.routes.trees, plain.routes.trees)):
        np.testing.assert_array_equal(a, b)
    for name, held in plain.state.items():
        np.testing.assert_array_equal(held.pvid, build.state[name].pvid)
    for vlan in owned(plain.state):
        assert rows(plain.state, vlan) == rows(build.state, vlan)
    detours = owned(build.state) - owned(plain.state)
    assert {vlan for each in build.detours for vlan in each.pvids.values()} <= detours
    event(f"{'no' if build.protection is None else 'some'} detours: {build.unprotected_why.partition(':')[0]}")
    if build.protection is None:
        assert build.unprotected_why
        assert not detours
        return
    found, bare = what_if(fabric, build.state, "links", build.detours), what_if(fabric, plain.state, "links", ())
    assert found.safe
    assert (found.protected, found.unprotected) == (build.protection.protected, build.protection.unprotected)
    assert found.unprotected < bare.unprotected
    assert build.protection.detour_vlans == len(detours)
    entries = [len(held.entry_vlan) for held in plain.state.values()]
    assert build.protection.fdb_entries_max_without == max(entries)
    assert proof.fdb_entries_max == max(len(held.entry_vlan) for held in build.state.values())


@examples(60)
@given(graphs(), st.integers(0, 2**16))
def test_sets_of_failures_are_what_compiled_loops_find(fabric, seed):
    net = lay_out(fabric)
    if not len(net.channel):
        return
    order = np.random.default_rng(seed).permutation(len(net.channel)).astype(np.int32)
    what, sweep = failures(net, "link"), Sweep(net)
    assert sweep.cut == int(what.cut.sum())
    loops = along(ordered(net, order), order, what)
    growth = Growth(sweep, order.tolist(), net.target.tolist())
    for (k, h), found in growth.hearing.items():
        expected = (loops.reach[:, k, h >> 6] >> np.uint64(h & 63)) & np.uint64(1)
        np.testing.assert_array_equal(growth.failures_in(found), expected)
    trees = [growth.grown(root, -1, (), foremost=True) for root in growth.roots]
    plain = np.array([[-1 if c == AT_ROOT else -2 if c < 0 else c for c in tree] for tree in trees], np.int32)
    lost = needed(loops, net.target, plain)
    found = [growth.failures_in(growth.needed(k, tree)) for k, tree in enumerate(trees)]
    np.testing.assert_array_equal(np.array(found, np.bool_), lost)
    after, left = protecting_order(sweep, order.tolist(), ())
    assert sorted(after) == list(range(len(order)))
    assert left <= sweep.unprotected(sweep.reach(order.tolist()))


@pytest.mark.parametrize("shape", ["torus 4 4", "mesh 4 4", "ring 6", "clos 4 4", "fat-tree 2 4 2", "complete 6"])
def test_as_many_cases_are_protected_as_the_longer_search_leaves_beside_the_same_paths(shape):
    family, *dims = shape.split()
    fabric = make_fabric(family, *map(int, dims), model="powerconnect-5324")
    build, _, _ = planned(fabric, "auto")
    _, left = order_beside(fabric, dependencies(fabric, planned(fabric, "none")[0].state), "link")
    assert build.protection.unprotected == left  # one host on each switch


def test_half_of_the_vlan_ids_stay_free_and_what_has_no_room_is_left_unprotected():
    fabric = make_fabric("torus", 4, 4, parallel=2, model="powerconnect-5324")
    left = {}
    for first in (4000, 4050, 4080):
        build, proof, _ = planned(replace(fabric, first_vlan=first), "auto")
        assert proof.proven
        assert build.protection is None or max(owned(build.state)) < first + (4095 - first) // 2
        left[first] = build.protection and build.protection.unprotected
    assert (left[4000], left[4080]) == (0, None)
    assert left[4050] > 0
    assert build.unprotected_why.endswith("tagloom plan --protect link computes it")


def test_what_detours_do_not_serve_is_planned_without_them_and_the_reason_is_given():
    fabric = make_fabric("ring", 4)
    whys = {
        "renamed": planned(fabric, "auto", assignment="renamed")[0].unprotected_why,
        "pinned": planned(fabric, "auto", assignment="pinned")[0].unprotected_why,
    }
    assert whys["renamed"] == "not computed under renamed; tagloom plan --protect link computes it"
    assert whys["pinned"].startswith("not computed under pinned")
    tree = make_fabric("tree", 2, 2, model="powerconnect-5324")
    assert planned(tree, "auto")[0].unprotected_why.startswith("none: a failed link disconnects hosts")
    large = make_fabric("torus", 12, 12, model="powerconnect-5324")
    assert "not computed for 144 switches" in planned(large, "auto", routing="up-down")[0].unprotected_why
