"""Flows: max-min fair by definition, as another algorithm finds them, and as SimGrid does."""

import numpy as np
import pytest

from fabrics import make_fabric
from judged import judge, random_case
from tagloom.graph.flows import flows_of, one_switch
from tagloom.predict.flows import finish, max_min_rates
from tagloom.route import route

pytestmark = pytest.mark.kernel

SEEDS = range(8)


def all_pairs(fabric, volume_bytes=1e6):
    volume = np.full((len(fabric.hosts),) * 2, float(volume_bytes))
    np.fill_diagonal(volume, 0.0)
    return flows_of(fabric, route(fabric), volume)


def case(seed):
    fabric, volume, _ = random_case(seed)
    return flows_of(fabric, route(fabric), volume)


def ways(flows):
    return [flows.channel[flows.first[f] : flows.first[f + 1]] for f in range(len(flows))]


def one_by_one(flows, alive):
    """Fill channel by channel: the textbook's loop, without arrays."""
    left, rate, way = flows.capacity_bps.copy(), np.zeros(len(flows)), ways(flows)
    open_ = set(alive)
    while open_:
        count = np.zeros(len(left))
        for f in open_:
            count[way[f]] += 1
        share = np.where(count > 0, left / np.maximum(count, 1), np.inf)
        full = int(share.argmin())
        for f in [f for f in open_ if full in way[f]]:
            rate[f] = share[full]
            open_.remove(f)
            left[way[f]] -= rate[f]
    return rate


@pytest.mark.parametrize("seed", SEEDS)
def test_every_flow_has_a_full_channel_where_nobody_is_faster(seed):
    """The definition of max-min fairness (Bertsekas and Gallager 1992, Sect. 6.5.2): every flow has a bottleneck."""
    flows = case(seed)
    rate = max_min_rates(flows)
    load = flows.add_up(rate)
    assert np.all(load <= flows.capacity_bps * (1 + 1e-9))
    full = load >= flows.capacity_bps * (1 - 1e-9)
    fastest = np.zeros(len(load))
    for f, way in enumerate(ways(flows)):
        fastest[way] = np.maximum(fastest[way], rate[f])
    for f, way in enumerate(ways(flows)):
        assert np.any(full[way] & (rate[f] >= fastest[way] * (1 - 1e-9)))


@pytest.mark.parametrize("seed", SEEDS)
def test_flows_finish_when_rates_are_computed_anew_from_nothing_each_time(seed):
    """Only flows at least as fast as those that finished are shared anew; the others keep their rates."""
    fabric, volume, _ = random_case(seed)
    volume *= np.random.default_rng(seed).random(volume.shape) < 60 / np.count_nonzero(volume)
    volume[0, 1] = 1e6
    flows = flows_of(fabric, route(fabric), volume)
    alive, bits, now = set(range(len(flows))), 8 * flows.volume_bytes, 0.0
    seconds = np.zeros(len(flows))
    while alive:
        rate, who = one_by_one(flows, alive), np.array(sorted(alive))
        first = who[(bits[who] / rate[who]).argmin()]
        step = bits[first] / rate[first]
        now += step
        bits[who] -= rate[who] * step
        seconds[first] = now
        alive.remove(first)
    found = finish(flows)
    assert found.seconds == pytest.approx(seconds, rel=1e-6)
    assert found.makespan_seconds == pytest.approx(now, rel=1e-6)
    assert finish(flows, 0.01).makespan_seconds == pytest.approx(now, rel=0.05)


def test_no_network_is_faster_than_its_busiest_channel_nor_than_one_switch():
    fabric = make_fabric("mesh", 4, 2, hosts=2)
    flows = all_pairs(fabric)
    found = finish(flows)
    assert found.makespan_seconds >= (8 * flows.add_up(flows.volume_bytes) / flows.capacity_bps).max() * (1 - 1e-9)
    alone = finish(one_switch(flows))
    assert alone.makespan_seconds == pytest.approx(15 * 8e6 / 1e9)  # each host's link carries all it sends
    assert found.makespan_seconds > alone.makespan_seconds


def test_slow_and_aggregated_links_carry_what_they_can():
    one = make_fabric("mesh", 2, 1, hosts=1)
    for speed, rate in ((0, 1e9), (100, 1e8)):
        fabric = one.with_speeds({0: speed})
        assert max_min_rates(all_pairs(fabric)) == pytest.approx([rate, rate])
    bound = make_fabric("mesh", 2, 1, hosts=3, parallel=2, lag=True, model="powerconnect-5324")
    volume = np.zeros((6, 6))
    volume[[0, 1, 2], [3, 4, 5]] = 1e6
    assert max_min_rates(flows_of(bound, route(bound), volume)) == pytest.approx([2e9 / 3] * 3)


def test_a_flow_over_a_link_that_is_off_never_finishes_and_a_missing_way_is_refused():
    fabric = make_fabric("mesh", 2, 1)
    routes = route(fabric)
    one = np.array([[0.0, 1.0], [0.0, 0.0]])
    off = flows_of(fabric.with_links_down({0}), routes, one)
    assert np.isinf(finish(off).makespan_seconds)
    torn = make_fabric("mesh", 3, 1)
    there = route(torn)
    there.parent[there.source_of_host[0], 2] = -1
    apart = np.zeros((3, 3))
    apart[0, 2] = 1.0
    with pytest.raises(ValueError, match="do not reach"):
        flows_of(torn, there, apart)


@pytest.mark.needs("simgrid")
@pytest.mark.parametrize("seed", range(5))
def test_simgrid_gives_the_same_rates_within_1_percent_and_the_same_ends_within_5(seed, tmp_path):
    """benchmarks/flows.py asks it of 50 fabrics and patterns; both agree far more closely than that."""
    fabric, volume, _ = random_case(seed)
    routes = route(fabric)
    flows = flows_of(fabric, routes, volume)
    rates, _ = judge(fabric, routes, flows, tmp_path, "rates")
    assert max_min_rates(flows) == pytest.approx(rates, rel=0.01)
    seconds, _ = judge(fabric, routes, flows, tmp_path, "finish")
    assert finish(flows).seconds == pytest.approx(seconds, rel=0.05)
