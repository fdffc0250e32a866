"""A lower bound that is printed holds: no routing, assignment or option of tagloom gets below it."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import make_fabric, make_irregular
from tagloom import pipeline
from tagloom.errors import InputError, PlanError
from tagloom.graph.paths import channel_load
from tagloom.platforms import PortWatts
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.greedy import Rules
from tagloom.regulate.packing import heaviest, weighed
from tagloom.regulate.program import Program, checked_bound
from tagloom.regulate.settings_file import to_json
from tagloom.route import METHODS, balanced, route
from tagloom.route.spread import any_bound
from thinned import daily, few

pytestmark = pytest.mark.kernel

ASSIGNMENTS = ("fixed", "renamed")


def a_fabric(seed, *, aggregated=False):
    """Return a small random fabric, with parallel links and switches without hosts, and random bytes for it."""
    chance = np.random.default_rng(seed)
    switches = int(chance.integers(3, 7))
    links = [(int(chance.integers(v)), v) for v in range(1, switches)]
    links += [tuple(chance.choice(switches, 2, replace=False).tolist()) for _ in range(int(chance.integers(1, 6)))]
    if aggregated:
        links = [(*ends, int(chance.integers(1, 4))) for ends in links]
    fabric = make_irregular([1, *chance.integers(0, 3, switches - 1).tolist()], links, model="powerconnect-5324")
    hosts = len(fabric.hosts)
    volume = chance.integers(0, 50, (hosts, hosts)) * (chance.random((hosts, hosts)) < chance.uniform(0.2, 1.0)) * 1.0
    np.fill_diagonal(volume, 0.0)
    return fabric, Traffic(volume, volume)


def choose(fabric, traffic, routing="auto", assignment="fixed", **options):
    ticks = iter(range(100_000))  # every look at the clock takes a second
    wish = RegulateOptions(**{"time_limit_seconds": 10.0, **options})
    return pipeline.regulate(fabric, traffic, routing, assignment, lambda *_: None, wish, lambda: next(ticks))


def every_routing(fabric, volume):
    """Yield every plan's routes: all routings, both assignments, for few VLANs and for a small load."""
    for method in METHODS:
        for assignment in ASSIGNMENTS:
            try:
                plain = route(fabric, method, assignment)
            except (InputError, PlanError):
                continue
            yield plain
            yield from (
                routes for _, routes, _ in balanced(fabric, plain, assignment, volume, 1, free=method == "auto")
            )


@pytest.mark.parametrize("seed", few(list(range(40)), *range(8)))
def test_no_routing_loads_its_busiest_channel_less_than_the_best_possible(seed):
    fabric, traffic = a_fabric(seed)
    for volume in (None, traffic.volume_bytes):
        bound = any_bound(fabric, volume)
        loads = [channel_load(fabric, routes, volume).max() for routes in every_routing(fabric, volume)]
        assert len(loads) > 8
        assert bound <= min(loads) * (1 + 1e-9)


@pytest.mark.parametrize("shape", [("mesh", (2, 2), 2), ("torus", (4, 4), 2), ("torus", (3, 3), 1)], ids=str)
def test_the_best_possible_of_the_families_holds_for_every_routing_of_theirs(shape):
    family, dims, parallel = shape
    fabric = make_fabric(family, *dims, parallel=parallel, model="powerconnect-5324")
    loads = [channel_load(fabric, routes).max() for routes in every_routing(fabric, None)]
    assert 0 < any_bound(fabric) <= min(loads)


def test_the_best_possible_is_what_a_star_and_a_ring_have():
    star = make_irregular([0, 2, 2, 2], [(0, 1), (0, 2), (0, 3)])
    assert any_bound(star) == 8 == channel_load(star, route(star)).max()  # 2 hosts of a leaf to 4 others
    dead = star.with_links_down({0, 1, 2})
    assert any_bound(dead) == 0
    ring = make_irregular([1] * 4, [(0, 1), (1, 2), (2, 3), (3, 0)])
    assert any_bound(ring) == 2  # 4 x (1 + 2 + 1) hops over 8 channels


@pytest.mark.slow
@pytest.mark.parametrize("aggregated", daily([False, True], 0), ids=["cables", "aggregated"])
@pytest.mark.parametrize("seed", few(list(range(100, 130)), 1))
def test_no_choice_of_any_option_draws_less_than_a_bound_that_was_printed(seed, aggregated):
    """Results whose busiest channel is within a bound's limit, under its connectivity rule, never beat the bound."""
    fabric, traffic = a_fabric(seed, aggregated=aggregated)
    found = []
    for assignment in ASSIGNMENTS:
        for routing in ("auto", "up-down", "any") if seed % 2 else ("auto", "tree"):
            for method in ("static", "greedy", "optimal"):
                for cut in (False, True) if method != "static" else (True,):
                    try:
                        settings = choose(fabric, traffic, routing, assignment, method=method, allow_cut=cut)
                    except PlanError:
                        continue
                    found.append((assignment, cut, settings))
    assert len(found) > 8
    for _, cut, printed in found:
        limit = printed.max_channel_load_before
        for assignment, other_cut, other in found:
            if printed.bound_holds_for not in {"any", assignment} or (other_cut and not cut):
                continue
            if other.max_channel_load_after <= limit:
                assert other.watts_after >= printed.lower_bound_watts - 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("assignment", daily(ASSIGNMENTS, 0))
@pytest.mark.parametrize("method", ["greedy", "optimal"])
def test_levels_without_off_turn_nothing_off_and_their_gap_is_true(method, assignment):
    for seed in range(2):
        fabric, traffic = a_fabric(seed)
        fabric = replace(fabric, switches=tuple(replace(s, model="powerconnect-6248") for s in fabric.switches))
        for levels in ((100,), (10, 100)):
            settings = choose(fabric, traffic, "auto", assignment, method=method, levels=levels)
            assert settings.links_off == ()
            assert settings.lower_bound_watts <= settings.watts_after
            both = choose(fabric, traffic, "auto", assignment, method=method, levels=(0, *levels))
            assert both.lower_bound_watts <= settings.lower_bound_watts + 1e-4


def test_a_bound_counts_how_many_whole_flows_fit_on_a_link():
    """Three flows of 0.6 of a link come to 1.8 links in fractions, and take three: no two fit on one."""
    fabric = make_irregular([3, 3], [(0, 1)] * 5, model="powerconnect-5324")
    volume = np.zeros((6, 6))
    volume[[0, 1, 2], [3, 4, 5]] = 6e5
    for share, links in ((1.0, 3), (0.5, 1), (1.7, np.inf)):
        rules = Rules(1e6, False, True, (), lambda _, mbps: float(mbps > 0), 10)
        bound = Program(fabric, Traffic(share * volume, volume), rules).solve(10.0, lambda: 0.0)
        assert bound.watts == pytest.approx(links, abs=1e-4)


@pytest.mark.parametrize("seed", range(8))
def test_flows_that_fit_on_a_link_together_never_count_for_more_than_it_carries(seed):
    """Flows are drawn from parts of a link, halves and thirds among them, until the next is too large."""
    chance = np.random.default_rng(seed)
    parts = np.r_[1 / np.arange(1, 20), 1 / 3 + 1e-6, 0.5 - 1e-9, 0.5 + 1e-9, chance.random(10)]
    for _ in range(300):
        flows = chance.choice(parts, 40)
        fits = np.cumsum(flows) <= 1 + 1e-12
        counted = weighed(7.0 * flows, 7.0)
        assert len(counted) > 8
        assert all(each[fits].sum() <= 7.0 * (1 + 1e-9) for each in counted)
    assert heaviest(weighed(np.full((2, 2), 6.0), 10.0), np.ones((2, 2))) == 1
    assert heaviest(weighed(np.full((2, 2), 5.0), 10.0), np.ones((2, 2))) == 0


def test_a_bound_lets_every_link_sleep_that_may():
    fabric = make_fabric("ring", 4, model="powerconnect-5548")
    power = {"powerconnect-5548": PortWatts(20.0, {1000: 1.5}, "a meter")}
    volume = 1e3 * (1 - np.eye(4))
    traffic = Traffic(volume, volume, 100.0)
    awake = choose(fabric, traffic, method="greedy", power=power)
    asleep = choose(fabric, traffic, method="greedy", power=power, sleep=True)
    assert asleep.watts_after < awake.lower_bound_watts
    assert 80.0 < asleep.lower_bound_watts <= asleep.watts_after
    page = to_json(fabric, asleep)
    assert 0 < page["gap_percent"] < 10


def test_a_choice_that_beats_its_bound_is_a_fault_of_tagloom(monkeypatch):
    fabric, traffic = a_fabric(1)
    good = Program.solve

    def raised(self, *given):
        bound = good(self, *given)
        return replace(bound, watts=bound.watts + 100.0)

    monkeypatch.setattr(Program, "solve", raised)
    for method in ("static", "greedy", "optimal"):
        with pytest.raises(AssertionError, match="beats the lower bound"):
            choose(fabric, traffic, method=method)


def test_rounding_does_not_beat_a_bound_and_a_watt_does():
    assert checked_bound(400.0, 399.99999) == 399.99999
    assert checked_bound(400.0, 401.0) == 400.0
    with pytest.raises(AssertionError, match=r"399\.900000 beats the lower bound of 400\.000000"):
        checked_bound(400.0, 399.9)
    with pytest.raises(AssertionError):
        checked_bound(0.5, 0.49)
