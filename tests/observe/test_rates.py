"""Two readings give rates, through counters that wrap, switches that reboot and readings that are missing."""

from dataclasses import replace

import pytest

from tagloom.observe import rates
from tagloom.observe.counted import counted
from tagloom.records.observation import Counters, Observation

GIGABIT = 10**9


def seen(at, uptime, octets, *, bits=64, speed=GIGABIT, error=""):
    port = Counters(1, "g1", speed_bps=speed, in_octets=octets, out_octets=0, bits=bits)
    return Observation("s0", at, error, uptime_seconds=uptime, ports=(port,))


def rate(before, after):
    found = rates(before, after)
    assert found.why_none == ""
    return found.ports[0].in_bps if found.ports else None


def test_octets_become_bits_per_second_of_the_switchs_own_clock():
    found = rates(seen(1000, 50, 10_000), seen(1011.5, 60, 10_000 + 125_000_000))
    assert (found.seconds, found.ports[0].in_bps, found.ports[0].out_bps) == (10, 100e6, 0)
    assert found.ports[0].utilisation == 0.1


@pytest.mark.parametrize("bits", [32, 64])
def test_a_counter_wraps_once(bits):
    top = 1 << bits
    assert rate(seen(0, 0, top - 500, bits=bits), seen(10, 10, 750, bits=bits)) == 1250 * 8 / 10


def test_thirty_two_bits_give_no_rate_where_they_could_have_wrapped_twice():
    """At 1 Gb/s 2^32 octets pass in 34.4 s."""
    assert rate(seen(0, 0, 5, bits=32), seen(34, 34, 905, bits=32)) == 900 * 8 / 34
    assert rate(seen(0, 0, 5, bits=32), seen(35, 35, 905, bits=32)) is None


def test_a_counter_that_was_cleared_gives_no_rate():
    assert rate(seen(0, 0, 10**12), seen(10, 10, 5)) is None


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("speed", [None, 0])
def test_a_counter_that_went_back_at_a_port_of_unknown_speed_gives_no_rate(bits, speed):
    before, after = seen(0, 0, 10**9, bits=bits, speed=speed), seen(10, 10, 5, bits=bits, speed=speed)
    assert rate(before, after) is None
    assert rate(after, replace(before, at=20, uptime_seconds=20)) == (10**9 - 5) * 8 / 10


def test_a_counter_that_rises_faster_than_its_port_gives_no_rate():
    """Agents that read their hardware every 30 s catch up in one interval."""
    assert rate(seen(0, 0, 5), seen(10, 10, 5 + 10**13)) is None
    assert rate(seen(0, 0, 5), seen(1, 1, 5 + 30 * 125_000_000)) == 30 * 10**9


def test_a_counter_that_changed_its_width_gives_no_rate():
    assert rate(seen(0, 0, 5, bits=32), seen(10, 10, 905, bits=64)) is None


@pytest.mark.parametrize(("uptime", "elapsed"), [(3, 60), (1800, 3600), (40, 60)])
def test_a_reboot_gives_no_rate_even_where_the_uptime_is_higher_than_before(uptime, elapsed):
    found = rates(seen(0, 20, 5), seen(elapsed, uptime, 905))
    assert (found.ports, found.why_none) == ((), "it rebooted in between")


def test_the_uptime_itself_wraps_after_497_days():
    top = 2**32 / 100
    assert rate(seen(0, top - 4, 0), seen(10, 6, 1250)) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (seen(0, 0, 0, error="no answer"), seen(10, 10, 0), "no answer"),
        (seen(0, 0, 0), seen(10, 10, 0, error="wrong key"), "wrong key"),
        (seen(0, None, 0), seen(10, 10, 0), "sysUpTime: missing"),
        (seen(0, 7, 0), seen(0, 7, 0), "no time went by"),
    ],
)
def test_a_reading_that_is_missing_gives_no_rate_and_says_so(before, after, why):
    assert rates(before, after).why_none == why


def test_a_port_without_counters_is_left_out():
    assert rate(seen(0, 0, None), seen(10, 10, 5)) is None
    assert rates(seen(0, 0, 1, speed=None), seen(10, 10, 5, speed=None)).ports[0].utilisation is None


def test_bytes_of_a_port_that_gave_no_rate_for_a_while_are_remarked():
    """Cleared between the first two of three readings: what came after stands for the whole time."""
    shots = [{"s0": each} for each in (seen(0, 0, 10**12), seen(10, 10, 5), seen(20, 20, 1005))]
    found = counted(shots, "here")
    assert found.carried["s0", 1] == (2000.0, 0.0)
    assert len(found.remarks) == 1
    assert "the ports s0:g1 gave no rates" in found.remarks[0]
    assert counted(shots[1:], "here").remarks == ()
