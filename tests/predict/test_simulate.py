"""The simulation of sleeping links: small cases worked by hand."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import make_fabric
from judges.networks import all_to_all, exchange, network, row, star, stream
from judges.simulate import simulate
from tagloom.predict.eee import POWERCONNECT_5548, Eee, delay_seconds
from tagloom.predict.trace import ends_and_sleep, in_frames, network_of, replay, replay_run
from tagloom.route import route

pytestmark = pytest.mark.kernel

DEVICE = replace(POWERCONNECT_5548, together=False)
FRAME = 12e-6  # 1500 bytes at 1 Gb/s


def delays(gap, eee, switches=0):
    program = stream(np.full((50, 1), gap + FRAME), 1500)
    run = simulate(row(switches, 1e9, eee, 0.0), program)
    return run, (run.delivered_seconds - run.released_seconds - (switches + 1) * FRAME)[1:]


@pytest.mark.parametrize("gap", [0.0, 0.5e-3, 0.99e-3, 1.05e-3, 1.18e-3, 1.5e-3, 5e-3])
def test_periodic_frames_wait_as_the_step_says(gap):
    """A frame that waits leaves the link later: the gap its follower finds is shorter by that wait."""
    run, waited = delays(gap, DEVICE)
    late, expected = delay_seconds(gap + FRAME, DEVICE), []  # the first found the link idle since the start
    for _ in waited:
        late = delay_seconds(gap - late, DEVICE)
        expected.append(late)
    assert waited == pytest.approx(expected, abs=1e-12)
    assert run.lost_frames == 0


@pytest.mark.parametrize("switches", [1, 2, 4])
def test_every_further_sleeping_link_adds_a_wake_and_no_more(switches):
    _, waited = delays(5e-3, DEVICE, switches)
    assert waited == pytest.approx((switches + 1) * DEVICE.wake_seconds)


def test_a_link_that_sleeps_in_both_directions_is_kept_awake_by_the_other_one():
    apart, together = (
        simulate(
            row(0, 1e9, replace(DEVICE, together=flag), 0.0),
            stream(np.column_stack([np.full(200, 4e-3), np.full(200, 0.5e-3)]), 1500, both=True),
        )
        for flag in (False, True)
    )
    busy_while = 0.5 * 200e-3  # as long as the other direction sends every half millisecond
    assert apart.state_seconds[0, 2] > 0.5
    assert together.state_seconds[0, 2] < apart.state_seconds[0, 2] - 0.5 * busy_while
    assert together.state_seconds[0] == pytest.approx(together.state_seconds[1])


def test_all_to_all_takes_what_its_wires_take():
    """Four hosts, one frame each to three others: three frames up, three down, the first of them stored and sent on."""
    program = all_to_all(range(4), np.full((2, 4), 1e-3), 1000)
    wire = 8 * (1000 + 78) / 1e9
    run = simulate(star(4, 1e9, None, 0.0), program)
    # Each sends to 0, 1, 2, 3 in this order: 0's three are there first and queue; 3's come last, all at once.
    assert (run.step_seconds[0] - 1e-3) / wire == pytest.approx([4, 4, 5, 6])
    assert run.busy_seconds == pytest.approx(np.full(8, 2 * 3 * wire))


def test_processes_of_one_host_share_one_wake():
    calm = np.full((20, 16), 2e-3)
    slept, awake = (
        simulate(star(4, 1e9, e), all_to_all([r % 4 for r in range(16)], calm, 256)) for e in (DEVICE, None)
    )
    # One wake up and one down per round, whatever the number of messages: 240 of them a round.
    assert slept.seconds - awake.seconds == pytest.approx(20 * 2 * DEVICE.wake_seconds, rel=0.02)
    assert slept.wakes.tolist() == [20] * 8


@pytest.mark.parametrize("together", [False, True])
def test_a_replay_sleeps_as_long_as_a_simulation_by_frames_does(together):
    eee = replace(POWERCONNECT_5548, timeout_seconds=300e-6, together=together)
    compute = np.random.default_rng(2).gamma(2, 400e-6, (30, 8))
    program = all_to_all([rank % 4 for rank in range(8)], compute, 3000)
    found = simulate(star(4, 1e9, eee), program)
    ends, asleep = ends_and_sleep(star(4, 1e9, eee), program)
    assert asleep / ends.max() == pytest.approx(found.lpi_share, abs=0.005)
    assert 0.1 < found.lpi_share.min() < found.lpi_share.max() < 0.9


def test_pause_holds_the_sender_where_a_full_buffer_would_lose():
    """Two hosts send to a third: its link is the bottleneck, the switch's buffers fill."""
    paths = [[[], [], [0, 5]], [[], [], [2, 5]], [[], [], []]]
    volume = np.full((1, 3, 3), np.nan)
    volume[0, 0, 2] = volume[0, 1, 2] = 1e6
    program = exchange([0, 1, 2], np.zeros((1, 3)), volume)
    held = simulate(network(3, paths, 1e9, None, buffer_bytes=100_000, pause=True), program)
    assert held.lost_frames == 0
    assert held.seconds == pytest.approx(8 * program.wire_bits.sum() / 8 / 1e9, rel=0.02)
    assert held.paused_seconds[0] > 1e-3
    assert held.paused_seconds[2] > 1e-3
    with pytest.raises(ValueError, match="frames were lost"):
        simulate(network(3, paths, 1e9, None, buffer_bytes=100_000), program)
    assert simulate(network(3, paths, 1e9, None), program).paused_seconds.sum() == 0


def test_pause_frames_wake_a_sleeping_link():
    paths = [[[], [], [0, 5]], [[], [], [2, 5]], [[], [], []]]
    volume = np.full((1, 3, 3), np.nan)
    volume[0, 0, 2] = volume[0, 1, 2] = 1e6
    program = exchange([0, 1, 2], np.full((1, 3), 5e-3), volume)
    eee = Eee(1e-3, 182e-6, 60e-6)
    run = simulate(network(3, paths, 1e9, eee, buffer_bytes=100_000, pause=True), program)
    assert run.lost_frames == 0
    assert run.wakes[1] >= 1  # the way back to host 0 carries nothing but PAUSE
    assert run.paused_seconds[0] > 1e-3


def test_a_trace_of_periodic_calls_forecasts_them_exactly():
    for eee in (DEVICE, POWERCONNECT_5548):
        for mean in (0.4e-3, 1.5e-3, 4e-3):
            program = all_to_all(range(4), np.full((15, 4), mean), 256)
            net, awake = star(4, 1e9, eee), star(4, 1e9, replace(eee, timeout_seconds=np.inf))
            forecast = simulate(awake, program).seconds + replay(net, program) - replay(awake, program)
            assert forecast == pytest.approx(simulate(net, program).seconds, rel=1e-3)


def test_messages_of_several_frames_that_share_links_are_replayed_frame_by_frame():
    """As flows they wait 8 % of the run too long: each is taken to come as fast as it did before others joined it."""
    fabric = make_fabric("ring", 4, hosts=2, model="powerconnect-5324").with_links_down({0})
    hosts = len(fabric.hosts)
    chance = np.random.default_rng(0)
    volume = np.where(chance.random((hosts, hosts)) < 0.4, 9213.0, 0.0)
    np.fill_diagonal(volume, 0.0)
    program = exchange(range(hosts), chance.exponential(7e-5, (40, hosts)), volume)
    net = network_of(fabric, route(fabric, "tree"), volume, None, every_link=False)
    true = simulate(net, program).seconds
    (found,) = replay_run(program, net, [net])
    assert found.seconds == pytest.approx(true, rel=1e-3)
    assert (found.messages, in_frames(program).volume_bytes.sum()) == (
        len(program.volume_bytes),
        program.volume_bytes.sum(),
    )
    assert replay(net, program) > 1.05 * true
