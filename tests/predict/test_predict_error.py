"""benchmarks/results/predict-errors.md says what its script computes, and docs/forecasts.md claims no more."""

import importlib.util
import sys

import pytest

from fabrics import ROOT

pytestmark = pytest.mark.kernel

SPEC = importlib.util.spec_from_file_location("predict_error", ROOT / "benchmarks" / "predict_error.py")
predict_error = importlib.util.module_from_spec(SPEC)
sys.modules["predict_error"] = predict_error  # its dataclasses look their module up
SPEC.loader.exec_module(predict_error)

PAGE = (ROOT / "benchmarks" / "results" / "predict-errors.md").read_text("utf-8")


def test_a_row_of_forecasts_and_simulations_stands_in_the_page(tmp_path):
    bench = predict_error.benches(tmp_path)[0]
    cases = [predict_error.judge(bench, "is", busy, tmp_path) for busy in predict_error.BUSY]
    assert predict_error.line("is.S.4", cases) in PAGE.split(f"## {bench.name}")[1].split("## ")[0]
    assert PAGE.startswith(predict_error.TEXT)


def test_the_documents_claim_what_the_page_measured():
    cells = PAGE.rstrip().splitlines()[-1].strip("| ").split(" | ")
    mean, worst = cells[2].split(" / ")
    (tau, tau_worst), (mpip, mpip_worst), (traced, most) = (cell.split(" / ") for cell in cells[6:9])
    held, width = cells[3], cells[4]
    astray, still = cells[9].split(", ")
    said = " ".join((ROOT / "docs" / "forecasts.md").read_text("utf-8").split())
    assert f"by {mean} % of the run on average and {worst} % at worst" in said
    assert f"held {held} % of the simulated orders" in said
    assert f"{width} times as wide" in said
    assert f"by {traced} % and {most} %" in said
    assert f"by {astray} % on average, and {still} % of them lie in the interval" in said
    assert f"by {tau} % and {tau_worst} %" in said
    assert f"by {mpip} % and {mpip_worst} %" in said
    assert max(float(mean), float(tau), float(traced)) <= 1.0
    assert max(float(worst), float(tau_worst), float(most)) <= 10.0
    assert 80 <= int(held) <= 95
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
