"""Waits: old frames leave after a wave that ends their kind; the slowest port is up after one that raises links."""

from dataclasses import replace

import networkx as nx
import numpy as np
import pytest
from test_per_port import pairs
from test_rollout import CHANGES, cut, fabric_of, planned, torus

from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.pipeline.proving import proof_services
from tagloom.records.carrier import links_on
from tagloom.records.switch_state import DISCARD_PVID
from tagloom.rollout import choose
from tagloom.rollout.choose import BUFFER_SECONDS, DRAIN_SECONDS, LONGEST_DRAIN_SECONDS, UP_MARGIN
from tagloom.rollout.layers import retrained

pytestmark = pytest.mark.kernel


def of(name):
    fabric = fabric_of(name)
    return fabric, *CHANGES[name](fabric)


def pausing_everywhere():
    fabric = torus()
    return fabric, planned(fabric), planned(replace(fabric, flow_control=True))


def opposite_with_a_link_more():
    fabric = fabric_of("ring")
    return fabric, planned(fabric.with_links_down({0}), "tree"), cut(fabric, 3)


ROOM = 24  # entries: too few for both plans of the mesh


def a_mesh_with_a_link_more():
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324")
    return fabric, planned(fabric.with_links_down({0})), planned(fabric)


# What changes, by which strategy, and in which waves hosts' frames end to be of a kind.
SCENARIOS = {
    "links come on": (lambda: of("links come on"), "direct", ["flip"]),
    "links come on in a pause": (lambda: of("links come on"), "drain", ["pause"]),
    "links come on one VLAN after another": (a_mesh_with_a_link_more, "piecewise", ["flip", "flip"]),
    "links change their speed": (lambda: of("links change their speed"), "park", ["flip", "flip"]),
    "links change their speed in a pause": (lambda: of("links change their speed"), "drain", ["pause"]),
    "batches": (lambda: of("sources one batch after another"), "batches", ["flip", "flip"]),
    "slides": (lambda: of("a ring cut opposite"), "slides", ["flip", "flip", "flip"]),
    "slides with a link more": (opposite_with_a_link_more, "slides", ["flip", "flip", "flip"]),
    "without PAUSE": (lambda: of("a ring cut opposite"), "pause-off", ["flip"]),
    "PAUSE everywhere": (pausing_everywhere, "drain", ["pause"]),
    "three VLANs for each port": (lambda: next(pairs(5, 100)), "per-port", ["flip"]),
}
EARLY = {"links come on", "links come on in a pause", "links come on one VLAN after another", "slides with a link more"}


def seconds_up(switch, _):
    return 7.0 + switch


def host_vlans(fabric, state):
    return np.array([state[fabric.switches[h.switch].name].pvid[h.port - 1] for h in fabric.hosts])


@pytest.mark.parametrize("name", SCENARIOS)
def test_each_wave_waits_for_what_it_ends_and_for_what_it_raises(name):
    made, strategy, ends = SCENARIOS[name]
    fabric, before, after = made()
    services = replace(proof_services(fabric, duplicates_allowed=strategy == "per-port"), up_seconds=seconds_up)
    if strategy == "piecewise":
        services, strategy = replace(services, room=lambda _: (256, ROOM)), "batches"
    change = choose(fabric, before, after, services, strategy=strategy, allow_drain=True)
    assert change.strategy == strategy
    rising = links_on(fabric, change.after) & ~links_on(fabric, change.before)
    slow = fabric.cables[(rising | retrained(fabric, change.before, change.after))[fabric.cables[:, 0]]]
    up_seconds = UP_MARGIN * seconds_up(int(slow[:, [1, 3]].max()), "") if len(slow) else 0.0
    ended, raised, early = [], 0, 0
    for wave in change.waves:
        was, now = (host_vlans(fabric, state) for state in (wave.before, wave.state))
        waits = 0.0
        if ((was != now) & (was != DISCARD_PVID)).any():
            waits = DRAIN_SECONDS
        fresh = links_on(fabric, wave.state) & ~links_on(fabric, wave.before)
        trained = retrained(fabric, wave.before, wave.state).any()
        if fresh.any() or trained:
            raised += 1
            waits = max(waits, up_seconds)
        # A link that changes speed is seen up until it goes down, and frames that must leave are seen by nobody.
        assert not wave.until_up or (fresh.any() and not trained and waits == up_seconds), wave.name
        early += wave.until_up
        if strategy == "per-port" and wave.name == "flip":
            ended += [wave.name] * (wave.drain_seconds > 0)
            continue
        assert wave.drain_seconds == waits, wave.name
        ended += [wave.name] * (waits == DRAIN_SECONDS)
    assert ended == ends
    assert raised == (1 if up_seconds else 0)
    assert early == (name in EARLY)


@pytest.mark.parametrize(("dims", "bound"), [((3, 2), "shortest"), ((4, 3), "of its own"), ((8, 3), "longest")])
def test_where_ports_pause_old_frames_have_the_time_of_fair_outputs(dims, bound):
    """(Q / R) times the sum of f^k over the hops k, by the longest chain of channels that wait for the next."""
    fabric = replace(make_fabric("mesh", *dims, model="powerconnect-5324"), flow_control=True)
    services = proof_services(fabric)
    before, after = planned(fabric.with_links_down({0})), planned(fabric)
    worst = 0.0
    for held, wanted in map(services.dependencies, (before, after)):
        waits = nx.DiGraph(zip(held.tolist(), wanted.tolist(), strict=True))
        hops, inputs = nx.dag_longest_path_length(waits) + 2, max(n for _, n in waits.in_degree()) + 1
        worst = max(worst, sum(BUFFER_SECONDS * inputs**k for k in range(hops + 1)))
    expected = min(max(DRAIN_SECONDS, worst), LONGEST_DRAIN_SECONDS)
    assert bound == {DRAIN_SECONDS: "shortest", LONGEST_DRAIN_SECONDS: "longest"}.get(expected, "of its own")
    change = choose(fabric, before, after, services)
    assert [(wave.name, wave.drain_seconds) for wave in change.waves][1] == ("flip", pytest.approx(expected))


@pytest.mark.parametrize("name", ["links change their speed", "batches", "slides", "PAUSE everywhere"])
def test_what_a_refusal_says_that_a_pause_takes_is_what_it_takes(name):
    fabric, before, after = SCENARIOS[name][0]()
    services = proof_services(fabric)
    with pytest.raises(PlanError) as caught:
        choose(fabric, before, after, services, strategy="direct")
    paused = choose(fabric, before, after, services, strategy="drain", allow_drain=True)
    said = f"--allow drain pauses the hosts for about {paused.downtime_seconds:.0f} s"
    assert caught.value.next_step == f"--strategy auto, or {said}"
