"""Law: following known detours in compiled loops finds what following all paths in arrays finds, failure by failure."""

import sys
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, SMALL_FABRICS, make_fabric, make_irregular
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.records.switch_state import SwitchEditor
from tagloom.verify import what_if
from test_networks import with_networks
from thinned import examples

module = sys.modules[what_if.__module__]


def both(fabric, state, kind, detours):
    """Return what is found in both ways, and that the second was really taken."""
    slow = what_if(fabric, state, kind, detours)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "AT_ONCE", -1)
        patch.setattr(module, "_walked", None)
        return slow, what_if(fabric, state, kind, detours)


def same(slow, fast):
    assert fast == slow
    keys = [np.unique(held * 10_000 + wanted) for held, wanted in (fast.dependencies, slow.dependencies)]
    assert np.array_equal(*keys)


def damaged(draw, state):
    """Return the states with some entries, members and PVIDs lost or changed."""
    for name in draw(st.lists(st.sampled_from(sorted(state)), max_size=3)):
        editor = SwitchEditor.of(state[name])
        held = editor.freeze()
        if len(held.entry_vlan):
            kept = np.ones(len(held.entry_vlan), np.bool_)
            kept[draw(st.integers(0, len(kept) - 1))] = False
            wrong = held.entry_port[kept].copy()
            if len(wrong):
                wrong[draw(st.integers(0, len(wrong) - 1))] = draw(st.integers(1, held.ports))
            held = replace(held, entry_vlan=held.entry_vlan[kept], entry_mac=held.entry_mac[kept], entry_port=wrong)
        state = {**state, name: held}
    return state


@pytest.mark.slow
@examples(30)
@given(
    st.integers(4, 8),
    st.integers(0, 2**16),
    st.sampled_from(["link", "switch"]),
    st.sampled_from(["vlans", "load"]),
    st.booleans(),
    st.data(),
)
def test_both_ways_find_the_same(switches, seed, protect, prefer, several, data):
    graph = nx.gnm_random_graph(switches, 2 * switches, seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    graph.add_edges_from([(0, switches)] * data.draw(st.booleans()))  # a link that cuts, at times
    hosts = [(seed >> v) % 3 for v in range(len(graph))]
    hosts[0], hosts[-1] = 1, 2
    fabric = make_irregular(hosts, sorted(graph.edges), "linux-bridge")
    if several:
        fabric = with_networks(data.draw, fabric)
    try:
        build, _, _ = pipeline.plan(fabric, ROOT / "templates", protect=protect, prefer=prefer, texts=False)
    except PlanError:
        return
    state = damaged(data.draw, build.state)
    for kind in ("links", "switches"):
        slow, fast = both(fabric, state, kind, build.detours)
        same(slow, fast)
        event(f"{'safe' if slow.safe else 'harmful'}, {'some' if slow.losses else 'nothing'} lost")


@examples(9)
@given(st.sampled_from(SMALL_FABRICS), st.sampled_from(["links", "switches"]))
def test_both_ways_find_the_same_in_fabrics_of_a_family(small, kind):
    family, dims, more = small
    fabric = make_fabric(family, *dims, **more)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", protect="switch", texts=False)
    same(*both(fabric, build.state, kind, build.detours))
    some = build.detours[::2]  # others stay where they are
    same(*both(fabric, build.state, kind, some))
    same(*both(fabric, build.state, kind, ()))


@examples(9)
@given(st.sampled_from(SMALL_FABRICS), st.sampled_from(["links", "switches"]))
def test_both_ways_find_the_same_where_switches_rename_vlans(small, kind):
    family, dims, more = small
    fabric = make_fabric(family, *dims, **more)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", assignment="renamed", texts=False)
    same(*both(fabric, build.state, kind, ()))


def test_both_ways_follow_no_frame_back_out_of_the_port_it_came_in_by():
    fabric = make_fabric("ring", 4)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", protect="link", texts=False)
    back = 0
    for s, (name, held) in enumerate(list(build.state.items())[:2]):
        for vlan, mac in sorted(SwitchEditor.of(held).entries):
            for port in np.flatnonzero(fabric.port_channel[s] >= 0).tolist():
                editor = SwitchEditor.of(held)
                editor.set_entry(vlan, mac, (port,))
                slow, fast = both(fabric, {**build.state, name: editor.freeze()}, "links", build.detours)
                same(slow, fast)
                back += slow.unprotected > 0
    assert back > 0
