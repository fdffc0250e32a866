"""Rate switches: the paper's figures, and the page that sets them beside ours."""

import importlib.util

import numpy as np
import pytest

from fabrics import ROOT
from judges.transfers import tcp_transfer, udp_transfer
from tagloom.errors import InputError
from tagloom.predict.rate_switch import longest_pause_seconds, loss_probability, lost_bytes, lost_packets


def script(name):
    """Return a benchmark as a module."""
    spec = importlib.util.spec_from_file_location(f"{name}_page", ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


page, transfers = script("rate_switch"), script("rps_transfers")


@pytest.mark.parametrize(
    ("gigabits", "percent"),
    [(2, (25, 15, 5, 0, 0, 0, 0)), (4, (50, 40, 30, 25, 0, 0, 0)), (6, (75, 65, 55, 50, 25, 0, 0))],
)
def test_a_burst_loses_what_the_paper_draws(gigabits, percent):
    """T = 10 ms, B = 10 MB, S = 0, 1, 2, 2.5, 5, 7.5, 10 MB."""
    found = [lost_bytes(10e6, gigabits * 1e9, 10e-3, s * 1e6) / 1e5 for s in (0, 1, 2, 2.5, 5, 7.5, 10)]
    assert found == pytest.approx(percent)


def test_what_is_lost_is_never_more_than_was_sent_and_is_lost_by_whole_packets():
    assert lost_bytes(1e6, 1e9, 10.0, 0.0) == 1e6
    assert lost_bytes(1e9, 1e9, 1e-3, 0.0) == pytest.approx(122.07 * 1024, rel=1e-4)  # "122 KB per ms"
    assert lost_packets(1e6, 1500) == 667
    assert lost_packets(0.0, 1500) == 0


def test_one_pause_frame_holds_a_gigabit_sender_for_33_6_ms():
    assert longest_pause_seconds(1e9) == pytest.approx(33.6e-3, abs=5e-5)


def test_table_1_and_2():
    assert [tcp_transfer(15.64, t, 1.0).seconds for t in (1e-3, 1e-2, 2e-2)] == pytest.approx([15.655, 15.79, 15.94])
    shares = [udp_transfer(500e6, 142.5e6, t, 1.0).loss_share for t in (1e-3, 1e-2, 2e-2)]
    assert shares == pytest.approx([0.001, 0.01, 0.02], rel=0.005)
    paused = udp_transfer(500e6, 142.5e6, 2e-2, 1.0, pause=True)
    assert (paused.lost_bytes, paused.lost_packets) == (0.0, 0)
    assert paused.seconds == pytest.approx(8 * 500e6 / 142.5e6 + 28 * 2e-2)


def test_one_pause_frame_explains_the_first_hold_of_table_1_and_not_the_others():
    holds = [1e3 * page.hold_seconds(t) for t in page.OUTAGES]
    assert holds == pytest.approx([33.7, 41.3, 47.3], abs=0.05)
    assert holds[0] == pytest.approx(1e3 * longest_pause_seconds(1e9), abs=0.67), (
        "the table's times are to 10 ms, of 15"
    )
    assert min(holds[1:]) > 1e3 * longest_pause_seconds(1e9) + 7


def test_the_buffers_that_fit_table_2_lose_what_it_says():
    fitting = [page.fitting_buffer(outage) for outage in page.OUTAGES]
    assert fitting == pytest.approx([8884, -446, 2679], abs=1)  # the second row lost more than arrived
    for outage, buffer in zip(page.OUTAGES[::2], fitting[::2], strict=True):
        found = udp_transfer(page.UDP_BYTES, page.UDP_BPS, outage, 1.0, buffer)
        assert 100 * found.loss_share == pytest.approx(page.TABLE_2[outage])


def test_the_published_page_is_what_the_script_writes():
    assert (ROOT / "benchmarks" / "results" / "rate-switch.md").read_text("utf-8") == page.page()


def test_the_times_of_table_2_are_those_of_the_stream_held_by_the_interruptions():
    for outage, (_, on) in page.UDP_SECONDS.items():
        found = udp_transfer(page.UDP_BYTES, page.UDP_BPS, outage, 1.0, pause=True)
        assert found.seconds == pytest.approx(on, abs=0.16)
        assert found.lost_bytes == 0.0
    undisturbed = udp_transfer(page.UDP_BYTES, page.UDP_BPS, 0.0, 1.0)
    assert undisturbed.seconds == pytest.approx(page.UDP_UNDISTURBED, abs=0.015)


def test_a_burst_loses_something_as_often_as_bursts_at_random_moments_do():
    """Bursts of 4 ms, interruptions of 10 ms each second, which fill the buffer after 1.6 ms."""
    begin = np.random.default_rng(3).random(200_000)
    overlap = np.maximum(np.minimum(begin + 4e-3, 1.0 + 10e-3) - np.maximum(begin, 1.0), 0.0)
    overlap += np.maximum(np.minimum(begin + 4e-3, 10e-3) - begin, 0.0)
    share = loss_probability(2e6, 4e9, 10e-3, 0.8e6, 1.0)
    assert (overlap > 1.6e-3).mean() == pytest.approx(share, rel=0.05)
    assert loss_probability(2e6, 4e9, 10e-3, 2e6, 1.0) == 0.0
    with pytest.raises(InputError, match=r"at least 0\.014 s"):
        loss_probability(2e6, 4e9, 10e-3, 0.0, 0.01)


def test_the_script_answers_for_one_burst(capsys, monkeypatch):
    monkeypatch.setattr("sys.argv", ["rate_switch.py", "--burst", "10e6", "--rate", "4e9", "--buffer", "1e6"])
    page.main()
    out = capsys.readouterr().out
    assert "loses up to 4,000,000 bytes (40.0 %, 2,667 packets" in out
    assert "probability of 2.6 %" in out


def test_a_voice_waits_as_often_as_the_link_is_away_and_no_longer():
    for outage in page.OUTAGES:
        share, longest = page.voice(outage)
        assert share == pytest.approx(outage, rel=0.05)
        assert 0.95 * outage < longest <= outage


@pytest.mark.slow
@pytest.mark.kernel
def test_tcp_sends_again_what_the_switch_loses_and_pause_loses_nothing():
    seconds, volume = 1.564, 50e6
    off, on = transfers.SETTINGS["off"], transfers.SETTINGS["on, taken back"]
    undisturbed = transfers.transfer(off, 0.0, seconds, volume)
    assert (undisturbed.seconds, undisturbed.lost) == (pytest.approx(seconds, abs=0.001), 0)
    lossy, held = (transfers.transfer(setting, 20e-3, seconds, volume) for setting in (off, on))
    assert lossy.lost > 20
    assert lossy.timeouts == held.lost == 0
    for found in (lossy, held):  # two interruptions of 20 ms, less what the send buffer of 4 ms hides
        assert seconds + 2 * 15e-3 < found.seconds < seconds + 2 * 21e-3


@pytest.mark.kernel
def test_a_pause_that_nobody_takes_back_holds_a_transfer_for_33_6_ms_and_the_page_says_so():
    found = transfers.table(50e6, 1, ("on, never taken back", "on, repeated while the link is away"))
    never, repeated = found.values()
    each = [(run.seconds - 1.564) / run.pauses for run in never]
    assert each == pytest.approx([33.6e-3 - 4e-3] * 3, abs=2e-3)
    assert repeated[2].seconds - repeated[0].seconds == pytest.approx(19e-3 * repeated[0].pauses, abs=2e-3)
    text = (ROOT / "benchmarks" / "results" / "rps-transfers.md").read_text("utf-8")
    for name, runs in found.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| {name} |"))
        said = [float(cell) for cell in row.split("|")[2:5]]
        # Of the whole file, of five repetitions: as much per interruption, of which there are ten times as many.
        assert said == pytest.approx([15.64 + 16 * (run.seconds - 1.564) / run.pauses for run in runs], abs=0.05)


@pytest.mark.kernel
@pytest.mark.long
def test_the_page_of_transfers_is_what_its_script_writes():
    assert (ROOT / "benchmarks" / "results" / "rps-transfers.md").read_text("utf-8") == transfers.page()


def test_values_that_cannot_be_are_all_named():
    with pytest.raises(InputError) as raised:
        lost_bytes(-1.0, 0.0, float("nan"), 1.0)
    assert [f.where for f in raised.value.findings] == ["burst_bytes", "rate_bps", "outage_seconds"]
