"""Forecasts: the paper's own numbers, and where ours differ, why."""

import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom.errors import InputError
from tagloom.pipeline import predict
from tagloom.platforms.power import fabric_watts
from tagloom.predict import Eee, idle_seconds, overhead_seconds, step_overhead_seconds
from tagloom.predict.eee import predicted_seconds
from tagloom.read import read_fabric
from tagloom.records.traffic import Traffic

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
    with pytest.raises(ValueError, match="more data"):
        idle_seconds(1.0, 10, 1e9, 1e9)
    with pytest.raises(ValueError, match="no message"):
        idle_seconds(1.0, 0, 1, 1e9)


@pytest.mark.parametrize(
    ("inventory", "watts", "percent_per_link"),
    [("misc", 605.4, 0.694), ("supernova64-5324", 340.8, 0.704), ("supernova64-6248", 840.8, 0.500)],
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
    overhead = overhead_seconds(998.976e-6, DEVICE)
    assert found.idle_seconds.value == pytest.approx(998.976e-6)
    assert found.seconds_predicted.value == pytest.approx(1.0 + 1000 * 2 * overhead)
    assert found.watts_before.value - found.watts_after.value == pytest.approx(2.4)
    assert found.toggle_seconds.value == 3.2
    assert predict(fabric, fabric, None).toggle_seconds.value == 0.0


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
