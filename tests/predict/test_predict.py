"""Forecasts: the paper's own numbers, and where ours differ, why."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from judges.application import predicted_seconds
from tagloom.errors import InputError
from tagloom.platforms import load, models
from tagloom.platforms.power import fabric_watts
from tagloom.predict import (
    Eee,
    delay_seconds,
    fit_overhead,
    forecast,
    idle_seconds,
    overhead_seconds,
    step_overhead_seconds,
)
from tagloom.predict.eee import check_policy, most_overhead_seconds, sleeping_share
from tagloom.predict.links import predict
from tagloom.read import read_fabric
from tagloom.records.traffic import Traffic
from tagloom.route import route

DEVICE = Eee(1e-3, 182e-6, 60e-6)  # PowerConnect 5548, Miwa et al. 2013


def test_the_worked_example_of_miwa_gives_999_us():
    """Miwa et al. 2013, eq. 4: 1,000 messages of 1,024 bits in 1 s at 1 Gb/s; printed as 999 us."""
    assert idle_seconds(1.0, 1000, 1024, 1e9) == pytest.approx(998.976e-6)


def test_a_message_of_1730_bytes_takes_13_84_us_and_not_the_papers_1_73():
    """The paper's "1.73 KB takes 1.73 us" forgets the 8 bits of a byte; eq. 4 wants bits."""
    seconds = 1e-3
    assert seconds - idle_seconds(seconds, 1, 1730 * 8, 1e9) == pytest.approx(13.84e-6)


@pytest.mark.parametrize(
    ("gap_us", "overhead_us"),
    [(100, 0.007), (250, 2.07), (500, 12.1), (1000, 27.8), (2000, 41.3), (5000, 51.8), (10000, 55.8)],
)
def test_the_closed_form_rises_as_the_fit_of_the_paper_does(gap_us, overhead_us):
    assert overhead_seconds(gap_us * 1e-6, DEVICE) * 1e6 == pytest.approx(overhead_us, rel=0.01, abs=5e-4)


def test_long_gaps_cost_the_wake_time_and_short_ones_nothing():
    assert overhead_seconds(100.0, DEVICE) == pytest.approx(DEVICE.wake_seconds, rel=1e-4)
    assert overhead_seconds(1e-6, DEVICE) == 0.0
    assert overhead_seconds(0.0, DEVICE) == 0.0


def test_the_fitted_form_is_zero_up_to_its_threshold_and_does_not_jump_there():
    assert step_overhead_seconds(1e-3, 60e-6, 1000.0, 1e-3) == 0.0
    assert step_overhead_seconds(1.000001e-3, 60e-6, 1000.0, 1e-3) == pytest.approx(6e-11, rel=1e-3)
    assert step_overhead_seconds(1.0, 60e-6, 1000.0, 1e-3) == pytest.approx(60e-6)


def test_the_run_grows_by_n_overheads_on_every_link_that_sleeps():
    assert predicted_seconds(10.0, 1000, 50e-6, 2) == pytest.approx(10.1)


def test_data_that_do_not_fit_the_time_are_refused():
    with pytest.raises(InputError, match=r"at most 125000000 bytes.*negative gap"):
        idle_seconds(1.0, 10, 1e9, 1e9)
    with pytest.raises(InputError) as raised:
        idle_seconds(float("nan"), 0, -1, 1e9)
    assert [f.where for f in raised.value.findings] == ["profile.seconds", "profile.messages", "profile.message_bits"]


@pytest.mark.parametrize(
    ("inventory", "watts", "percent_per_link"),
    [
        ("misc", 605.4, 0.694),
        ("supernova128", 874.4, 0.480),
        ("supernova128-complete", 958.4, 0.438),
        ("supernova64-5324", 340.8, 0.704),
        ("supernova64-6248", 840.8, 0.500),
    ],
)
def test_whole_clusters_draw_what_table_2_adds_up_to(inventory, watts, percent_per_link):
    """Koibuchi et al. 2011, Table 2: base + ports x watts at 1 Gb/s, both ends of a link."""
    fabric = read_fabric(ROOT / "inventory" / inventory / "fabric.yml")
    assert fabric_watts(fabric) == pytest.approx(watts)
    saved = 100 * (watts - fabric_watts(fabric.with_links_down({0}))) / watts
    assert saved == pytest.approx(percent_per_link, abs=5e-4)


def test_35_links_off_are_the_25_percent_of_the_5324s():
    """Koibuchi et al. 2011, Sect. 5.4: "up to 25 %" is 35 (24.65 %) or 36 (25.35 %) of 60 links."""
    fabric = read_fabric(ROOT / "inventory" / "supernova64-5324" / "fabric.yml")
    saved = [100 * (340.8 - fabric_watts(fabric.with_links_down(set(range(n))))) / 340.8 for n in (35, 36)]
    assert saved == pytest.approx([24.65, 25.35], abs=0.005)


def test_a_slower_link_draws_what_its_speed_does():
    fabric = make_fabric(
        "mesh", 2, 1, hosts=0, model="powerconnect-6248", extra='links: [{ends: ["s0:g1", "s1:g1"], speed: 100}]\n'
    )
    assert fabric_watts(fabric) == pytest.approx(2 * (56.8 + 1.3))


def test_a_forecast_counts_the_busiest_sender_and_the_toggle_of_its_switches():
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324")
    messages = np.zeros((4, 4))
    messages[0, 1], messages[1, 2] = 1000, 10
    traffic = Traffic(messages * 128, messages, seconds=1.0)
    found = predict(fabric, fabric.with_links_down({0}), traffic)
    # The receiver's link also carries the 10 messages that it sends: both directions wake together.
    overhead = [overhead_seconds(gap, DEVICE) for gap in (998.976e-6, (1.0 - 1.024e-3) / 1010)]
    assert found.idle_seconds.value == pytest.approx(998.976e-6)
    assert found.seconds_predicted.value == pytest.approx(1.0 + 1000 * sum(overhead))
    assert found.watts_before.value - found.watts_after.value == pytest.approx(2.4)
    assert found.toggle_seconds.value == 3.2
    assert predict(fabric, fabric, None).toggle_seconds.value == 0.0


def test_a_forecast_says_how_wrong_it_can_be():
    """Low: no gap outlasts the time-out. High: every wait the worst, as far as the idle time reaches."""
    fabric = make_fabric("mesh", 2, 2, model="powerconnect-5324")
    messages = np.zeros((4, 4))
    messages[0, 1] = 100
    found = predict(fabric, fabric, Traffic(messages * 128, messages, seconds=1.0))
    assert found.seconds_predicted.low == 1.0
    assert found.seconds_predicted.high == pytest.approx(1.0 + 100 * 2 * 242e-6)
    assert found.seconds_predicted.low < found.seconds_predicted.value < found.seconds_predicted.high
    assert most_overhead_seconds(0.1e-3, DEVICE) == pytest.approx(0.1 * 242e-6)
    for variation in (0.0, 0.1, 0.5, 1.0, 2.0, 4.0):
        for gap in (0.1e-3, 0.9e-3, 1.0001e-3, 1.1e-3, 5e-3):
            assert overhead_seconds(gap, DEVICE, variation) <= most_overhead_seconds(gap, DEVICE)


def test_links_between_switches_wait_too_where_they_sleep_each_by_its_own_traffic():
    fabric = make_fabric("mesh", 3, 1, model="powerconnect-5324")
    messages = np.zeros((3, 3))
    messages[0, 2], messages[1, 2] = 100, 300
    traffic = Traffic(messages * 128, messages, seconds=1.0)
    hosts, everything = (predict(fabric, fabric, traffic, DEVICE, r) for r in (None, route(fabric)))

    def wait(carried):
        return overhead_seconds((1.0 - carried * 1024e-9) / carried, DEVICE)

    assert hosts.seconds_predicted.value == pytest.approx(1.0 + 300 * (wait(300) + wait(400)))
    assert everything.seconds_predicted.value == pytest.approx(1.0 + 300 * (wait(300) + wait(400) + wait(400)))


def test_every_host_port_gets_a_verdict():
    fabric = make_fabric("mesh", 2, 3, model="powerconnect-5548")
    messages = np.zeros((6, 6))
    messages[0, 1] = 10  # h0, h1: hardly used
    messages[2, 3] = 2_000_000  # h2, h3: never idle for long
    messages[4, 5] = 400  # h4, h5: gaps of 2.5 ms, a 2 % slow-down
    # No watts of a 5548 were ever published: its fabric has a forecast only from who knows them.
    found = forecast(fabric, fabric, Traffic(messages * 10, messages, seconds=1.0), lambda _: 300.0, lambda _: 0.0)
    by_host = {port.host: port for port in found.ports}
    assert [by_host[f"h{h}"].verdict for h in (0, 1, 2, 3, 4, 5)] == ["on", "on", "off", "off", "lengthen", "lengthen"]
    assert by_host["h4"].slowdown > 0.01
    longer = replace(DEVICE, timeout_seconds=by_host["h4"].timeout_seconds)
    assert 400 * overhead_seconds(2.5e-3, longer) <= 0.01
    assert sleeping_share(2.5e-3, longer) > 0.01
    old = make_fabric("mesh", 2, 3, model="powerconnect-5324")
    ports = predict(old, old, Traffic(messages * 10, messages, seconds=1.0)).ports
    assert {port.verdict for port in ports} == {"off"}
    assert ports[0].reason == "powerconnect-5324 has no EEE"


def test_the_general_law_of_gaps_meets_the_exponential_and_the_periodic_one():
    for gap in (0.3e-3, 1.1e-3, 4e-3):
        h, ts, tw = DEVICE.timeout_seconds, DEVICE.sleep_seconds, DEVICE.wake_seconds
        exponential = np.exp(-h / gap) * (tw + ts - gap * (1 - np.exp(-ts / gap)))
        assert overhead_seconds(gap, DEVICE) == pytest.approx(exponential)
        assert overhead_seconds(gap, DEVICE, 0.01) == pytest.approx(delay_seconds(gap, DEVICE), abs=1e-6)
        assert overhead_seconds(gap, DEVICE, 0.0) == delay_seconds(gap, DEVICE)
    gaps = np.random.default_rng(5).gamma(4, 0.25 * 1.2e-3, 400_000)
    mean = np.mean([delay_seconds(g, DEVICE) for g in gaps[:100_000]])
    assert overhead_seconds(1.2e-3, DEVICE, 0.5) == pytest.approx(mean, rel=0.01)
    asleep = np.maximum(gaps - 1.182e-3, 0).sum() / gaps.sum()
    assert sleeping_share(1.2e-3, DEVICE, 0.5) == pytest.approx(asleep, rel=0.01)


def test_the_fit_finds_what_made_the_pairs():
    gaps = np.linspace(0, 5e-3, 40)
    pairs = [(g, step_overhead_seconds(g, 58e-6, 900.0, 0.4e-3)) for g in gaps]
    for threshold in (None, 0.4e-3):
        fit = fit_overhead(pairs, threshold)
        found = fit.plateau_seconds, fit.alpha, fit.threshold_seconds
        assert found == pytest.approx((58e-6, 900.0, 0.4e-3), rel=1e-3)
    smooth = fit_overhead([(g, overhead_seconds(g, DEVICE)) for g in gaps])
    assert smooth.residual_seconds < 1.5e-6
    assert smooth.plateau_seconds == pytest.approx(overhead_seconds(5e-3, DEVICE), rel=0.02)
    with pytest.raises(InputError, match="at least 3 pairs"):
        fit_overhead(pairs[:2])
    with pytest.raises(InputError, match=r"pairs\[0\]"):
        fit_overhead([(-1.0, 0.0), *pairs])


def test_the_fit_finds_a_curve_that_jumps_as_the_papers_two_names_allow():
    gaps = np.linspace(0, 5e-3, 41)
    fit = fit_overhead([(g, step_overhead_seconds(g, 58e-6, 900.0, 0.95e-3, 0.2e-3)) for g in gaps])
    assert (fit.plateau_seconds, fit.alpha, fit.offset_seconds) == pytest.approx((58e-6, 900.0, 0.2e-3), rel=1e-3)
    assert fit.threshold_seconds == pytest.approx(0.9375e-3)  # the middle between the gaps that t is between
    assert fit_overhead([(g, step_overhead_seconds(g, 58e-6, 900.0, 0.4e-3)) for g in gaps]).offset_seconds is None


def test_a_sleep_policy_that_cannot_be_is_refused():
    check_policy(1e-3, 182e-6, 60e-6, "--eee")
    with pytest.raises(InputError, match="a time-out from TS"):
        check_policy(1e-4, 182e-6, 60e-6, "--eee")
    with pytest.raises(InputError) as raised:
        check_policy(-1, float("inf"), float("nan"), "--eee")
    assert len(raised.value.findings) == 3


def test_traffic_without_a_duration_or_too_much_of_it_is_a_finding():
    fabric = make_fabric("mesh", 2, 1, model="powerconnect-5324")
    one = np.array([[0.0, 1.0], [0.0, 0.0]])
    with pytest.raises(InputError, match="how long it took"):
        predict(fabric, fabric, Traffic(one, one))
    with pytest.raises(InputError, match="at most 125000000 bytes"):
        predict(fabric, fabric, Traffic(one * 1e9, one, seconds=1.0))


def test_a_model_of_unknown_power_is_a_finding():
    with pytest.raises(InputError, match="watts are known"):
        fabric_watts(make_fabric("mesh", 2, 1, model="linux-bridge"))


MEASURED = ("powerconnect-5324", "powerconnect-6224", "powerconnect-6248", "sf-0420g")


@pytest.mark.parametrize("model", [m for m in models() if load(m).watts and m not in MEASURED])
def test_watts_that_nobody_measured_are_a_measured_models_and_reach_as_far_as_all_of_them(model):
    links = make_fabric("mesh", 2, 3, model=model)
    fewer = links.with_links_down({0})
    found = predict(links, fewer, None)
    as_if = [
        (fabric_watts(links, {model: load(each).watts}), fabric_watts(fewer, {model: load(each).watts}))
        for each in MEASURED
    ]
    like = load(model).watts.like
    assert found.watts_before.value == as_if[MEASURED.index(like)][0]
    assert found.assumed[0] == f"watts of {model} as a {load(like).title}'s; --power has yours"
    assert "assumed: as a" in found.watts_after.source
    for figure, values in (
        (found.watts_before, [before for before, _ in as_if]),
        (found.watts_after, [after for _, after in as_if]),
        (found.saved_watts, [before - after for before, after in as_if]),
    ):
        assert figure.low <= min(values) <= figure.value <= max(values) <= figure.high
    own = {model: load(like).watts}
    known = predict(links, fewer, None, power={model: replace(own[model], like="", source="our meter")})
    assert not any("watts" in each for each in known.assumed)
    wide, narrow = (each.watts_before.high - each.watts_before.low for each in (found, known))
    assert wide > 5 * narrow


def test_a_fabric_of_measured_models_has_the_intervals_of_table_2_alone():
    fabric = make_fabric("mesh", 2, 3, model="powerconnect-5324")
    found = predict(fabric, fabric.with_links_down({0}), None)
    assert not any("watts" in each for each in found.assumed)
    assert found.watts_before.low == pytest.approx(found.watts_before.value / 1.022)
