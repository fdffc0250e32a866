"""The command line of sleeping links: one link, and a forecast whose links sleep."""

import pytest

from fabrics import ROOT
from tagloom.cli import main

KEYS = {"power_relative", "lpi_share", "mean_delay_seconds", "wakes_per_second"}


def test_one_link_is_answered_by_the_keys_of_the_contract(answer):
    words = ["eee", "--phy", "1000BASE-T", "--load", 0.1, "--timeout", 0, "--frame-bytes", 1500]
    status, page = answer(*words)
    assert status == 0
    assert set(page) >= KEYS
    assert page["power_relative"] == pytest.approx(0.905043, abs=0.001)
    assert page["lpi_share"] == pytest.approx(0.105508, abs=0.001)
    assert page["mean_delay_seconds"] == pytest.approx(90.222e-6, rel=0.02)
    assert page["wakes_per_second"] == pytest.approx(4002.1, rel=0.01)
    both = answer(*words, "--both-directions")[1]
    assert both["power_relative"] > page["power_relative"]
    assert answer(*words, "--refresh")[1]["power_relative"] >= page["power_relative"]


def test_every_value_that_cannot_be_is_named_at_once(answer):
    status, page = answer("eee", "--phy", "1000BASE-T", "--load", 2, "--timeout", 0, "--burst", 0)
    assert (status, [each["where"] for each in page["findings"]]) == (2, ["--load", "--burst"])


def test_bursty_frames_are_the_largest_bursts_of_the_range(answer):
    words = ["eee", "--phy", "1000BASE-T", "--load", 0.1, "--timeout", 0]
    bursty, alone, every = answer(*words, "--bursty")[1], answer(*words, "--burst", 1)[1], answer(*words)[1]
    assert bursty == answer(*words, "--burst", 100)[1]
    assert bursty["model"] == "bursts of 100 frames, at random times"
    assert alone["model"] == every["model"] == "single frames, at random times"
    assert bursty["power_relative"] < alone["power_relative"]
    assert max(each["frames"] for each in every["bursts"]) == bursty["burst_frames"]
    assert answer(*words, "--bursty", "--burst", 3)[0] == 2


def test_the_times_of_a_phy_can_be_replaced(answer):
    own = answer("eee", "--phy", "10GBASE-T", "--load", 0.1, "--timeout", 0)[1]
    assert own["power_relative"] == pytest.approx(0.544894, abs=0.001)
    case_1 = answer("eee", "--phy", "10gbase-t", "--load", 0.1, "--timeout", 0, "--tw", 7.36e-6)[1]
    assert case_1["power_relative"] == pytest.approx(0.6113, abs=0.001)
    thrifty = answer("eee", "--phy", "10GBASE-T", "--load", 0, "--timeout", 0, "--lpi-power", 0.3)[1]
    assert thrifty["power_relative"] == pytest.approx(0.3)
    switch = answer("eee", "--phy", "PowerConnect-5548", "--load", 0.01)[1]
    assert (switch["timeout_seconds"], switch["ts_seconds"], switch["tw_seconds"]) == (1e-3, 182e-6, 60e-6)
    slow = answer("eee", "--phy", "10BASE-T1L", "--load", 0.01, "--timeout", 0, "--ts", 1e-4)[1]
    assert slow["tw_seconds"] == pytest.approx(250.5e-6)


@pytest.mark.parametrize(
    ("words", "wheres"),
    [
        (["--phy", "token-ring", "--load", "0.1"], ["--phy"]),
        (["--phy", "10GBASE-T", "--load", "1", "--timeout", "0"], ["--load"]),
        (
            ["--phy", "10GBASE-T", "--load", "nan", "--timeout", "-1", "--tw", "inf"],
            ["--load", "--idle-timeout", "--tw"],
        ),
        (["--phy", "10GBASE-T", "--load", "-0.1", "--timeout", "0", "--frame-bytes", "0"], ["--load", "--frame-bytes"]),
        (["--phy", "10BASE-T1L", "--load", "0.1"], ["--ts", "--idle-timeout"]),
        (["--phy", "10GBASE-T", "--load", "0.1", "--timeout", "0", "--lpi-power", "2"], ["--lpi-power"]),
    ],
)
def test_bad_values_are_all_named_with_exit_2(answer, words, wheres):
    status, page = answer("eee", *words)
    assert status == 2
    assert [finding["where"] for finding in page["findings"]] == wheres


def test_people_read_the_same_figures(capsys):
    assert main(["eee", "--phy", "1000BASE-T", "--load", "0.1", "--timeout", "0"]) == 0
    out = capsys.readouterr().out
    assert "90.51 % of an awake port's" in out
    assert "90.22 us" in out
    assert "both directions" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.kernel
def test_a_forecast_gives_intervals_and_verdicts_and_refuses_time_outs_below_ts(tmp_path, answer):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    assert answer("new", "mesh", "--dims", 2, 2, "-o", fabric)[0] == 0
    assert answer("plan", fabric, "-o", build)[0] == 0
    traffic = ["--traffic", ROOT / "tests" / "data" / "npb" / "cg.S.4.matrix.csv", "--seconds", 2]
    status, page = answer("predict", build, *traffic, "--eee", "1e-3,182e-6,60e-6")
    assert status == 0
    low, high = page["intervals"]["seconds_predicted"]
    assert 2 < low < page["seconds_predicted"] < high  # in every order some message finds its links asleep
    assert {port["host"] for port in page["ports"]} == {"h0", "h1", "h2", "h3"}
    assert page["eee_saved_watts"] == 0  # no 5324 knows EEE
    every = answer("predict", build, *traffic, "--eee-links", "all")[1]
    assert every["seconds_predicted"] > page["seconds_predicted"]
    for policy in ("1e-4,182e-6,60e-6", "1e-3,182e-6,-1", "1e-3,nan,1e-6"):
        status, page = answer("predict", build, *traffic, "--eee", policy)
        assert status == 2
        assert page["findings"][0]["where"].startswith("--eee")
    status, page = answer("predict", build, *traffic[:2], "--seconds", 1e-3)
    assert status == 2
    assert "negative gap" in page["findings"][0]["actual"]


def test_a_bad_phy_and_a_bad_load_are_told_together(answer):
    status, page = answer("eee", "--phy", "token-ring", "--load", 2, "--timeout", -1)
    assert status == 2
    assert [finding["where"] for finding in page["findings"]] == ["--phy", "--load", "--idle-timeout"]
