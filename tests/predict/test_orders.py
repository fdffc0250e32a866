"""Forecasts of runs whose messages have no known order, against frame-by-frame simulations of other orders."""

import json

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from judges.orders import KINDS, interval_score, lasting, links_of, order, read_matrix, slowdown
from judges.simulate import simulate
from tagloom.pipeline import read_build
from tagloom.predict.eee import POWERCONNECT_5548
from tagloom.predict.orders import ORDERS, can_be_replayed, replay_orders
from tagloom.predict.trace import network_of
from tagloom.read import read_traffic
from tagloom.records.traffic import Traffic
from tagloom.route import own_routes
from thinned import few

pytestmark = pytest.mark.kernel

NPB = ROOT / "tests" / "data" / "npb"
EEE = ("--eee", "1e-3,182e-6,60e-6")


@pytest.fixture(scope="module")
def builds(tmp_path_factory):
    """Plan four hosts around one switch, a 3x3 torus, and the torus as a tree of rows and one column."""
    from tagloom.cli import main  # noqa: PLC0415 - only here

    folder = tmp_path_factory.mktemp("orders")
    for name, words in (
        ("star", ("mesh", "--dims", "1", "1", "--hosts", "4")),
        ("square", ("torus", "--dims", "4", "4")),
    ):
        assert main(["new", *words, "-o", str(folder / f"{name}.yml")]) == 0
        assert main(["plan", str(folder / f"{name}.yml"), "-o", str(folder / name)]) == 0
    links = read_build(folder / "square").fabric.links
    off = [f"s{link.a}:g{link.a_port}" for link in links if link.a // 4 != link.b // 4 and link.a % 4]
    assert main(["plan", str(folder / "square.yml"), "-o", str(folder / "comb"), "--off", *off]) == 0
    return folder


def links(directory, eee=None):
    build = read_build(directory, states=False)
    return links_of(build.fabric, build.routes, eee)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("before", "after", "matrix", "busy"),
    few([("star", "star", "is.S.4", 8.0), ("square", "comb", "is.S.16", 1.5), ("star", "star", "ft.S.4", 3.0)], 0, 1),
)
def test_orders_hold_most_simulated_ones_and_are_not_vague(builds, answer, before, after, matrix, busy):
    """The judge draws its own orders, scales its own computing times, and follows every frame."""
    ranks = int(matrix.rpartition(".")[2])
    messages = read_matrix(NPB / f"{matrix}.matrix.csv")
    asleep = before == after
    old, new = links(builds / before), links(builds / after, POWERCONNECT_5548 if asleep else None)
    idle = [order(messages, ranks, 0, kind=kind) for kind in KINDS]
    seconds = busy * max(
        simulate(old, each._replace(compute_seconds=0 * each.compute_seconds)).seconds for each in idle
    )
    drawn = [lasting(order(messages, ranks, n, kind=KINDS[n % len(KINDS)]), old, seconds) for n in range(40)]
    found = 100 * np.array([slowdown(program, old, new) for program in drawn])
    words = ("--traffic", NPB / f"{matrix}.matrix.csv", "--seconds", seconds, *(EEE if asleep else ()))
    status, page = answer("predict", builds / after, *words)
    assert status == 0
    low, high = page["intervals"]["slowdown_percent"]
    assert page["orders"]["orders"] == ORDERS
    assert page["trace"] is None
    assert found.max() > 0.3  # there is something to forecast
    assert 0.75 <= np.mean((found >= low) & (found <= high)) <= 1.0
    least, most = np.quantile(found, [0.05, 0.95]).tolist()
    assert high - low <= 1.5 * (most - least)
    assert np.abs(page["slowdown_percent"] - found).mean() <= np.abs(np.median(found) - found).mean() + 1.0
    assert interval_score(low, high, found) <= 1.5 * interval_score(least, most, found)


def test_a_run_that_other_paths_may_shorten_has_a_negative_low_end():
    fabric = make_fabric("ring", 4, parallel=2)
    slower = fabric.with_speeds({0: 100})
    chance = np.random.default_rng(4)
    count = np.ceil(chance.uniform(1, 30, (4, 4))) * (1 - np.eye(4))
    traffic = Traffic(count * 1500, count, seconds=0.02)
    routes = own_routes(fabric, "auto", "fixed")
    fast, slow = (network_of(f, routes, count, None, every_link=False) for f in (fabric, slower))
    (worse,), (better,) = replay_orders(fast, [slow], traffic), replay_orders(slow, [fast], traffic)
    assert worse.least_seconds > 0
    assert better.least_seconds < better.network_seconds < better.most_seconds < 0


def test_the_same_seed_draws_the_same_orders_and_a_part_of_a_long_run_stands_for_it():
    """A run of four times the messages in as much more time adds four times as much.

    Orders of one kind vary by the root of that more, the kinds differ by all of it.
    """
    fabric = make_fabric("ring", 4)
    count = np.full((4, 4), 400.0) * (1 - np.eye(4))
    routes = own_routes(fabric, "auto", "fixed")
    awake, asleep = (network_of(fabric, routes, count, eee, every_link=False) for eee in (None, POWERCONNECT_5548))
    once, again, longer = (
        replay_orders(awake, [asleep], Traffic(n * count * 2000, n * count, seconds=n * 0.52))[0] for n in (1, 1, 4)
    )
    assert once == again
    assert longer.sleep_seconds == pytest.approx(4 * once.sleep_seconds, rel=0.05)
    wider = (longer.most_seconds - longer.least_seconds) / (once.most_seconds - once.least_seconds)
    assert 1.5 < wider < 4.5


def test_bytes_without_messages_are_split_into_few_or_many():
    fabric = make_fabric("ring", 4)
    volume = np.full((4, 4), 1e6) * (1 - np.eye(4))
    routes = own_routes(fabric, "auto", "fixed")
    awake, asleep = (network_of(fabric, routes, volume, eee, every_link=False) for eee in (None, POWERCONNECT_5548))
    (found,) = replay_orders(awake, [asleep], Traffic(volume, np.sign(volume), seconds=1.0))
    assert found.most_seconds > 5 * found.least_seconds > 0


def test_what_cannot_be_replayed_is_left_to_the_channels(tmp_path, run, monkeypatch):
    """More pairs than are replayed, no message or no duration: the forecast says that it counts channels."""
    one = np.ones((4, 4)) - np.eye(4)
    assert can_be_replayed(Traffic(one, one, seconds=1.0))
    assert not can_be_replayed(Traffic(one, one))
    assert not can_be_replayed(Traffic(0 * one, 0 * one, seconds=1.0))
    monkeypatch.setattr("tagloom.predict.orders.MOST_PAIRS", 11)
    assert run("new", "ring", "--dims", 4, "-o", tmp_path / "f.yml")[0] == 0
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    words = ("predict", tmp_path / "b", "--traffic", "pattern:all-to-all", "--seconds", 1)
    page = json.loads(run(*words, "--json")[1])
    assert page["orders"] is None
    assert "max-min fair" in page["sources"]["seconds_predicted"]


def test_one_switch_has_forecasts_too(builds, answer):
    """The platform of Miwa et al. 2013: four hosts around a switch, no link between switches."""
    for words in (
        (),
        ("--traffic", NPB / "cg.S.4.matrix.csv", "--seconds", 2, *EEE, "--eee-links", "all"),
        ("--traffic", "pattern:hotspot", "--seconds", 2),
    ):
        status, page = answer("predict", builds / "star", *words)
        assert status == 0
        assert page["seconds_predicted"] >= page["seconds_base"]
    assert read_traffic(NPB / "cg.S.4.matrix.csv", read_build(builds / "star").fabric).messages.any()
