"""Law: a run that is replayed takes as long as its frames do, beside every copy that floods to uplinks."""

from heapq import heappop, heappush
from itertools import count

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.graph.floods import unknown_uplinks
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms.power import latency_seconds
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.floods import MOST_FOLLOWED, followed_floods
from tagloom.predict.trace import awake, network_of, rank_ends
from tagloom.records.simulation import Program, joined_programs
from test_every_plan_is_what_frames_do import families, graphs
from test_forecasts_of_floods import with_some_uplinks
from test_networks import planned, with_networks
from test_runs_of_networks import random_program
from test_uplinks import behind
from thinned import examples


def messages(chance, hosts):
    """Draw a program of some hosts, of messages of one frame each."""
    steps = int(chance.integers(1, 4))
    return random_program(chance, hosts, steps, 0.6, 10e-6, lambda count: chance.uniform(100, 1400, count))


def ends_of_frames(fabric, state, program):  # noqa: C901 - one loop over events of four kinds
    """Follow each frame and all its copies through the switches' states: FIFO ports, store and forward; float64[R]."""
    plane, hosts = Dataplane(fabric, state), fabric.hosts
    steps, ranks = program.compute_seconds.shape
    row = np.repeat(np.arange(steps * ranks), np.diff(program.first_message))
    sent = {}
    for pair in sorted({(r % ranks, d) for r, d in zip(row.tolist(), program.destination.tolist(), strict=True)}):
        a, b = (hosts[int(program.host[r])] for r in pair)
        unknown = b.uplink and not b.macs
        sent[pair] = plane.unicast(a.name, b.name, mac=behind(b)) if unknown else plane.unicast(a.name, b.name)
    missing = np.zeros((steps, ranks), int)
    np.add.at(missing, (row // ranks, program.destination), 1)
    free, order, events = {}, count(), []
    step, called, ends = [0] * ranks, [False] * ranks, np.zeros(ranks)

    def comes_to(switch, m, now):
        for hop in sent[row[m] % ranks, program.destination[m]].path:
            if hop.switch == switch:
                leaves_by((switch, hop.out_port), m, now)

    def leaves_by(port, m, now):
        speed = 1e9
        if len(port) == 2:
            channel = fabric.port_channel[fabric.index[port[0]], port[1]]
            speed = 1e6 * fabric.links[channel // 2].capacity_mbps() if channel >= 0 else 1e9
        free[port] = max(free.get(port, 0.0), now) + program.wire_bits[m] / speed
        heappush(events, (free[port], next(order), "arrives", port, m))

    def goes_on(r, now):
        if called[r] and not missing[step[r], r]:
            called[r], step[r], ends[r] = False, step[r] + 1, now
            if step[r] < steps:
                heappush(events, (now + program.compute_seconds[step[r], r], next(order), "calls", r, 0))

    for r in range(ranks):
        heappush(events, (program.compute_seconds[0, r], next(order), "calls", r, 0))
    while events:
        now, _, kind, at, m = heappop(events)
        if kind == "calls":
            called[at] = True
            for m in np.flatnonzero(row == step[at] * ranks + at).tolist():
                leaves_by((int(fabric.host_link[program.host[at]]),), m, now)
            goes_on(at, now)
        elif kind == "enters":
            comes_to(at, m, now)
        elif len(at) == 1:
            name = fabric.switches[hosts[at[0]].switch].name
            heappush(events, (now + late(fabric, name), next(order), "enters", name, m))
        else:
            s = fabric.index[at[0]]
            channel = int(fabric.port_channel[s, at[1]])
            d = int(program.destination[m])
            if channel >= 0:
                name = fabric.switches[int(fabric.head[channel])].name
                heappush(events, (now + late(fabric, name), next(order), "enters", name, m))
            elif fabric.port_host[s, at[1]] == fabric.host_link[program.host[d]]:
                missing[row[m] // ranks, d] -= 1
                goes_on(d, now)
    assert step == [steps] * ranks, "a frame was lost"
    return ends


def late(fabric, name):
    return latency_seconds(fabric.switches[fabric.index[name]].model)


def floods_in(fabric, program):
    return int(np.isin(program.host[program.destination], unknown_uplinks(fabric)).sum())


@examples(20)
@given(st.one_of(graphs(least=3), families()), st.booleans(), st.integers(0, 10_000), st.data())
def test_a_run_is_done_when_its_last_frame_is_there_beside_all_copies(fabric, several, seed, data):
    fabric = with_networks(data.draw, fabric) if several else fabric
    fabric = with_some_uplinks(data.draw, fabric)
    try:
        build, _, _ = planned(fabric)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    chance = np.random.default_rng(seed)
    program = joined_programs([messages(chance, hosts) for hosts in fabric.networks.values()])
    if not len(program.destination):
        return
    sent = fabric.same_network.astype(float)
    network = network_of(fabric, build.routes, sent, None, every_link=False, floods=True)
    plain = network_of(fabric, build.routes, sent, None, every_link=False)
    found, judged = rank_ends(network, program), ends_of_frames(fabric, build.state, program)
    without = rank_ends(plain, program)
    event(f"{'floods' if floods_in(fabric, program) else 'none'}, {'later' if (found > without).any() else 'as late'}")
    assert found == pytest.approx(judged, rel=1e-9)
    if not floods_in(fabric, program):
        assert found.tolist() == without.tolist()


def sends(fabric, steps, volume_bytes):
    """Make a program of all hosts: in each step some pairs send a message, and nobody computes but as said."""
    hosts = len(fabric.hosts)
    compute = np.array([[seconds] * hosts for seconds, _ in steps])
    rows = [[[d for a, d in pairs if a == r] for r in range(hosts)] for _, pairs in steps]
    each = [to for step in rows for to in step]
    first = np.concatenate([[0], np.cumsum([len(to) for to in each])]).astype(np.int64)
    to = np.array([d for some in each for d in some], np.int64)
    return Program(np.arange(hosts), compute, first, to, np.full(len(to), float(volume_bytes)))


def test_a_copy_wakes_a_port_that_sleeps_and_delays_what_is_behind_it():
    """What h0 floods to the gateway h5, a switch further on, comes to h2 as h3's message does."""
    fabric = make_fabric("mesh", 3, hosts=2, extra="hosts: {h5: {uplink: true}}\n")
    build, _, _ = planned(fabric)
    eee, ones = POWERCONNECT_5548, np.ones((6, 6)) - np.eye(6)
    floods = network_of(fabric, build.routes, ones, eee, every_link=False, floods=True)
    plain = network_of(fabric, build.routes, ones, eee, every_link=False)
    assert floods.copies[0, 5] == 4, "h1, h2, h3 and h4 hear it; the path has both channels between switches"
    assert floods.copies[:, :5].sum() == plain.copies.sum() == 0
    size = 1_000_000.0
    one = sends(fabric, [(0.1, [(0, 5), (3, 2)])], size)
    alone, beside = (rank_ends(each, one)[2] for each in (awake(plain), awake(floods)))
    bits = 8 * (size + np.ceil(size / 1460) * 78)
    assert beside - alone == pytest.approx(bits / 1e9, rel=0.01), "h2's port takes both messages"
    later = sends(fabric, [(0.1, [(0, 5)]), (90e-6, [(4, 2)])], 1000.0)
    slept, woken = (rank_ends(each, later)[2] - rank_ends(awake(each), later)[2] for each in (plain, floods))
    assert slept > woken > 0, "h2's port was woken by the copy of what h0 sent, so h4's message finds it awake"


def test_a_run_of_too_many_floods_is_replayed_without_their_copies_and_says_so():
    fabric = make_fabric("mesh", 3, hosts=2, extra="hosts: {h5: {uplink: true}}\n")
    few = sends(fabric, [(0.1, [(0, 5), (3, 4)])], 100)
    assert followed_floods(fabric, few) == followed_floods(fabric, None) == (True, ())
    many = few._replace(destination=np.full(1 + MOST_FOLLOWED // 9, 5))
    followed, (said,) = followed_floods(fabric, many)
    assert not followed
    assert said.startswith("2,222,223 flooded messages are too many")
