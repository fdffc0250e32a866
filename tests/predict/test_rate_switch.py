"""Rate switches: the paper's figures, and the page that sets them beside ours."""

import importlib.util

import pytest

from fabrics import ROOT
from judges.transfers import tcp_transfer, udp_transfer
from tagloom.errors import InputError
from tagloom.predict.rate_switch import longest_pause_seconds, lost_bytes, lost_packets

SPEC = importlib.util.spec_from_file_location("rate_switch_page", ROOT / "benchmarks" / "rate_switch.py")
page = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(page)


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


def test_values_that_cannot_be_are_all_named():
    with pytest.raises(InputError) as raised:
        lost_bytes(-1.0, 0.0, float("nan"), 1.0)
    assert [f.where for f in raised.value.findings] == ["burst_bytes", "rate_bps", "outage_seconds"]
