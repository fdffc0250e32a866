"""One link under the time-out policy: the closed form against independent simulators, and against ours."""

import csv
from dataclasses import replace

import numpy as np
import pytest

from fabrics import ROOT
from judges.networks import row, stream
from judges.simulate import simulate
from tagloom.errors import InputError
from tagloom.predict import Eee, delay_seconds, evenly_spaced, load_phy, one_link
from tagloom.predict.phy import phys
from tagloom.records.forecast import LinkForecast

ONE_G, TEN_G = Eee(0.0, 182e-6, 16.5e-6), Eee(0.0, 2.88e-6, 4.48e-6)
BOTH = replace(ONE_G, together=True)


def reference(name):
    with (ROOT / "tests" / "data" / "eee" / name).open() as file:
        return [
            pytest.param(name, *(float(r[k]) for k in columns), id=f"{name}-{r['rho']}") for r in csv.DictReader(file)
        ]


columns = ("rho", "power_rel(sigma=0.1)", "frac_lpi", "mean_queue_delay_us", "wakes_per_s")


@pytest.mark.parametrize(
    ("file", "load", "power", "lpi", "delay_us", "wakes"), [*reference("hyst_1g.csv"), *reference("hyst_10g.csv")]
)
def test_the_closed_form_agrees_with_an_independent_simulator(file, load, power, lpi, delay_us, wakes):
    found = one_link(*((ONE_G, load, 1500, 1e9) if "1g" in file else (TEN_G, load, 1500, 1e10)))
    assert found.power_relative == pytest.approx(power, abs=0.001)
    assert found.lpi_share == pytest.approx(lpi, abs=0.001)
    assert found.mean_delay_seconds == pytest.approx(delay_us * 1e-6, rel=0.02)
    assert found.wakes_per_second == pytest.approx(wakes, rel=0.01)


@pytest.mark.parametrize(
    ("eee", "rate", "timeout_us", "load", "power", "delay_us"),
    [
        (ONE_G, 1e9, 50, 0.05, 0.737794, 59.14),
        (ONE_G, 1e9, 200, 0.05, 0.845617, 34.88),
        (ONE_G, 1e9, 1000, 0.01, 0.670801, 13.24),
        (TEN_G, 1e10, 5, 0.1, 0.667585, 3.083),
        (TEN_G, 1e10, 20, 0.1, 0.888024, 1.083),
        (TEN_G, 1e10, 100, 0.01, 0.628042, 1.972),
    ],
)
def test_time_outs_agree_with_the_same_simulator(eee, rate, timeout_us, load, power, delay_us):
    """Runs of HystEEE with a time-out; 2,000,000 frames each."""
    found = one_link(replace(eee, timeout_seconds=timeout_us * 1e-6), load, 1500, rate)
    assert found.power_relative == pytest.approx(power, abs=0.001)
    assert found.mean_delay_seconds == pytest.approx(delay_us * 1e-6, rel=0.02)


@pytest.mark.parametrize(
    ("name", "powers"),
    [
        ("100BASE-TX", (0.1260, 0.3395, 0.6766, 0.8596)),
        ("2.5GBASE-T", (0.1617, 0.5448, 0.8678, 0.9598)),
        ("5GBASE-T", (0.1617, 0.5448, 0.8678, 0.9598)),
        ("25GBASE-T", (0.1548, 0.5016, 0.8239, 0.9349)),
        ("40GBASE-KR4", (0.2695, 0.7911, 0.9623, 0.9909)),
        ("100GBASE-KR4", (0.4340, 0.9340, 0.9959, 0.9996)),
    ],
)
def test_every_phy_that_was_simulated_draws_what_was_simulated(name, powers):
    """HystEEE, frames of 1500 bytes, time-out 0, at loads 0.01, 0.1, 0.3 and 0.5."""
    phy = load_phy(name)
    eee = Eee(0.0, phy.sleep_seconds, phy.wake_seconds, lpi_power=phy.lpi_power)
    found = [one_link(eee, load, 1500, phy.rate_bps).power_relative for load in (0.01, 0.1, 0.3, 0.5)]
    assert found == pytest.approx(powers, abs=0.001)


def test_a_multigig_phy_asked_to_wake_early_takes_ts_longer():
    """IEEE 802.3 table 78-4: case 1 is case 2 and Ts; HystEEE at case 1 of 10GBASE-T."""
    found = [one_link(replace(TEN_G, wake_seconds=7.36e-6), x, 1500, 1e10).power_relative for x in (0.01, 0.1, 0.5)]
    assert found == pytest.approx((0.1806, 0.6113, 0.9702), abs=0.001)


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize(
    ("eee", "rate", "load"),
    [
        (ONE_G, 1e9, 0.05),
        (replace(ONE_G, timeout_seconds=200e-6), 1e9, 0.1),
        (TEN_G, 1e10, 0.3),
        (BOTH, 1e9, 0.02),
        (BOTH, 1e9, 0.3),
        (replace(BOTH, timeout_seconds=100e-6), 1e9, 0.05),
        (replace(TEN_G, timeout_seconds=5e-6, together=True), 1e10, 0.4),
    ],
)
def test_the_simulation_agrees_with_the_closed_form_in_one_direction_and_in_both(eee, rate, load):
    service, directions = 12000 / rate, 1 + eee.together
    gaps = np.random.default_rng(11).exponential(service / load, (400_000, directions))
    run = simulate(row(0, rate, eee, 0.0), stream(gaps, 1500, both=eee.together))
    waited = run.delivered_seconds - run.released_seconds - service
    form = one_link(eee, load, 1500, rate)
    assert run.lpi_share[0] == pytest.approx(form.lpi_share, abs=0.002)
    assert waited.mean() == pytest.approx(form.mean_delay_seconds, rel=0.02)
    assert run.wakes[0] / run.seconds == pytest.approx(form.wakes_per_second, rel=0.02)
    assert run.state_seconds[0].sum() == pytest.approx(run.seconds)


def test_bursts_sleep_more_and_wait_longer_than_frames_at_random_times():
    device = load_phy("PowerConnect-5548")
    eee = Eee(device.timeout_seconds, device.sleep_seconds, device.wake_seconds)
    alone, ten = (one_link(eee, 0.1, 1500, 1e9, frames=frames) for frames in (1, 10))
    assert alone == one_link(eee, 0.1, 1500, 1e9)
    assert ten.power_relative < 0.75 < alone.power_relative
    assert ten.mean_delay_seconds > 30e-6 > alone.mean_delay_seconds
    # Frame by frame: ten that arrive back to back at the link's rate, at random times.
    begin = np.cumsum(np.random.default_rng(5).exponential(10 * 12e-6 / 0.1, 20_000))
    free, asleep, waited = 0.0, 0.0, 0.0
    for at in begin.tolist():
        idle = at - free
        wait = -idle if idle <= 0 else delay_seconds(idle, eee)
        asleep += max(idle - eee.timeout_seconds - eee.sleep_seconds, 0.0)
        waited, free = waited + wait, at + wait + 120e-6
    assert 1 - 0.9 * asleep / free == pytest.approx(ten.power_relative, abs=0.01)
    assert waited / len(begin) == pytest.approx(ten.mean_delay_seconds, rel=0.03)


def test_evenly_spaced_frames_wait_after_gaps_longer_than_the_time_out_alone():
    eee = Eee(1e-3, 182e-6, 60e-6)
    assert evenly_spaced(eee, 0.1, 1500, 1e9) == LinkForecast(1.0, 0.0, 0.0, 0.0)
    slow = evenly_spaced(eee, 0.001, 1500, 1e9)
    assert slow.mean_delay_seconds == pytest.approx(60e-6)
    assert slow.lpi_share == pytest.approx((12e-3 - 12e-6 - 60e-6 - 1.182e-3) / 12e-3, rel=1e-3)


def test_both_directions_save_less_than_one():
    one, both = (one_link(e, 0.05, 1500, 1e9) for e in (ONE_G, BOTH))
    assert both.power_relative > one.power_relative
    assert both.lpi_share < one.lpi_share / 2


def test_an_idle_link_sleeps_and_its_next_frame_waits_for_the_wake():
    for eee in (replace(ONE_G, timeout_seconds=1e-3), BOTH):
        found = one_link(eee, 0.0, 1500, 1e9)
        assert (found.lpi_share, found.wakes_per_second) == (1.0, 0.0)
        assert found.power_relative == pytest.approx(0.1)
        assert found.mean_delay_seconds == pytest.approx(16.5e-6)


def test_refresh_costs_its_duty_in_long_sleep_and_nothing_in_short():
    """Tr / (Tq + Tr): 1000BASE-T 0.98 %, 10GBASE-T 3.1 %, 40GBASE-KR4 0.34 %."""
    phys = [load_phy(n) for n in ("1000BASE-T", "10GBASE-T", "40GBASE-KR4")]
    duty = [p.refresh_seconds / (p.quiet_seconds + p.refresh_seconds) for p in phys]
    assert duty == pytest.approx([0.0098, 0.031, 0.0034], rel=0.02)
    phy = load_phy("1000BASE-T")
    times = phy.quiet_seconds, phy.refresh_seconds
    assert one_link(ONE_G, 0.0, 1500, 1e9, *times).power_relative == pytest.approx(0.1 + 0.9 * duty[0])
    plain, charged = one_link(ONE_G, 0.1, 1500, 1e9), one_link(ONE_G, 0.1, 1500, 1e9, *times)
    assert charged.power_relative == pytest.approx(plain.power_relative, abs=1e-9)


def test_large_time_outs_do_not_overflow_and_never_sleep():
    found = one_link(replace(ONE_G, timeout_seconds=3600.0), 0.5, 1500, 1e9)
    assert found.power_relative == 1.0
    assert found.mean_delay_seconds == pytest.approx(0.5 * 12e-6)  # M/D/1


def test_all_bad_values_are_named_at_once():
    with pytest.raises(InputError) as raised:
        one_link(Eee(-1.0, 182e-6, float("nan"), lpi_power=2.0), 1.0, 0, 1e9)
    wheres = [finding.where for finding in raised.value.findings]
    assert wheres == ["--load", "--idle-timeout", "--tw", "--lpi-power", "--frame-bytes"]


def test_the_phy_table_holds_the_measured_switch_and_only_1000base_t_sleeps_together():
    switch = load_phy("powerconnect-5548")
    assert (switch.timeout_seconds, switch.sleep_seconds, switch.wake_seconds) == (1e-3, 182e-6, 60e-6)
    assert {name for name, phy in phys().items() if phy.together} == {"1000BASE-T", "PowerConnect-5548"}
    with pytest.raises(InputError, match="one of"):
        load_phy("token ring")
