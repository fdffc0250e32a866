"""benchmarks/results/predict-errors.md says what its script computes, and docs/forecasts.md claims no more."""

import importlib.util
import sys

import pytest

from fabrics import ROOT
from judges.orders import lasting, order, read_matrix, slowdown
from judges.simulate import simulate

pytestmark = pytest.mark.kernel

SPEC = importlib.util.spec_from_file_location("predict_error", ROOT / "benchmarks" / "predict_error.py")
predict_error = importlib.util.module_from_spec(SPEC)
sys.modules["predict_error"] = predict_error  # its dataclasses look their module up
SPEC.loader.exec_module(predict_error)

PAGE = (ROOT / "benchmarks" / "results" / "predict-errors.md").read_text("utf-8")


@pytest.mark.slow
def test_a_row_of_forecasts_and_simulations_stands_in_the_page(tmp_path):
    bench = predict_error.benches(tmp_path)[0]
    cases = [predict_error.judge(bench, "is", busy, tmp_path) for busy in predict_error.BUSY]
    assert predict_error.line("is.S.4", cases) in PAGE.split(f"## {bench.name}")[1].split("## ")[0]
    assert PAGE.startswith(predict_error.TEXT)
    before, goals, after = PAGE.partition("## Beyond the goals\n")
    assert goals + after == predict_error.losers(before)


def test_the_documents_claim_what_the_page_measured():
    row = next(row for row in PAGE.split("\n## All\n")[1].splitlines() if row.startswith("| all |"))
    cells = row.strip("| ").split(" | ")
    (mean, worst), (least, least_worst) = (cell.split(" / ") for cell in cells[2:4])
    held, width = cells[4], cells[5]
    (tau, tau_worst), (mpip, mpip_worst), (traced, most) = (cell.partition(",")[0].split(" / ") for cell in cells[7:10])
    of_tau, of_mpip, of_trace = (cell.partition(", ")[2] for cell in cells[7:10])
    astray, still = cells[10].split(", ")
    said = " ".join((ROOT / "docs" / "forecasts.md").read_text("utf-8").split())
    assert f"by {mean} % of the run on average and {worst} % at worst" in said
    assert f"their own median errs by {least} % and {least_worst} %" in said
    assert f"held {held} % of the simulated orders" in said
    assert f"{of_tau} %, {of_mpip} % and {of_trace} % of the runs" in said
    assert f"{width} times as wide" in said
    assert f"by {traced} % and {most} %" in said
    assert f"by {astray} % on average, and {still} % of them lie in the interval" in said
    assert f"by {tau} % and {tau_worst} %" in said
    assert f"by {mpip} % and {mpip_worst} %" in said
    assert float(mean) <= float(least) + 1.0
    assert float(worst) <= float(least_worst) + 5.0
    assert float(traced) <= 1.0
    assert float(most) <= 5.0
    assert 80 <= int(held) <= 95
    assert min(int(of_tau), int(of_mpip), int(of_trace)) >= 80
    assert float(width) <= 1.5


def test_a_forecast_without_partners_draws_them_and_says_so(tmp_path):
    """With a matrix nothing of the kind is said."""
    build = predict_error.benches(tmp_path)[0].build
    profile = ROOT / "tests" / "data" / "profiles" / "lu.S.4.mpiP.txt"
    alone = predict_error.tagloom("predict", build, "--profile", profile)
    assert alone["orders"]["partners_drawn"] is True
    assert any("has partners of its own" in line for line in alone["assumed"])
    assert any("--traffic beside the profile names partners" in line for line in alone["assumed"])
    matrix = predict_error.NPB / "lu.S.4.matrix.csv"
    beside = predict_error.tagloom("predict", build, "--profile", profile, "--traffic", matrix)
    assert beside["orders"]["partners_drawn"] is False
    assert any("times and calls count" in line for line in beside["assumed"])
    assert not any("partners" in line for line in beside["assumed"])


@pytest.mark.slow
def test_a_summary_without_messages_gives_an_interval_that_holds_the_truth(tmp_path):
    """The runs are of NAS matrices, in orders as assumed, of one message a step, and of very uneven computing."""
    held = []
    for bench in predict_error.benches(tmp_path)[1:]:
        for name, busy in (("cg", 1.5), ("lu", 8.0)):
            matrix = read_matrix(predict_error.NPB / f"{name}.S.16.matrix.csv")
            messages = {pair: (size / count * 5, 5) for pair, (size, count) in matrix.items()}
            alone = order(messages, 16, 0)
            alone = alone._replace(compute_seconds=0 * alone.compute_seconds)
            seconds = busy * simulate(bench.before, alone).seconds
            for seed, others in enumerate(({}, {"kind": "pipelined"}, {"uneven": 1.0})):
                program = lasting(order(messages, 16, seed, **others), bench.before, seconds)
                true = 100 * slowdown(program, bench.before, bench.after)
                predict_error.write_paraprof(tmp_path / "s.txt", program, seconds)
                words = ("predict", bench.build, "--profile", tmp_path / "s.txt", "--ranks", 16, *bench.words)
                page = predict_error.tagloom(*words)
                held.append(page["slowdown_percent_low"] <= true <= page["slowdown_percent_high"])
                assert page["slowdown_percent_high"] < 1000, "an interval, not everything"
    assert sum(held) >= 0.8 * len(held)
