"""Parameters fitted to pairs come back as what made the pairs, and forecasts read them."""

import sqlite3
from contextlib import closing

import numpy as np
import pytest
import yaml

from fabrics import ROOT
from tagloom.predict.eee import delay_seconds, overhead_seconds
from tagloom.predict.fit_policy import fit_policy
from tagloom.records.sleep import Eee

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"
DEVICE = Eee(800e-6, 150e-6, 70e-6)
GAPS = np.geomspace(2e-4, 5e-2, 25)


def pairs_of(noise, law):
    chance = np.random.default_rng(4)
    return [(float(g), max(0.0, law(float(g), DEVICE) * (1 + noise * chance.standard_normal()))) for g in GAPS]


def test_random_gaps_give_the_policy_back():
    paper, eee, residual = fit_policy(pairs_of(0.0, overhead_seconds))
    assert (eee.timeout_seconds, eee.sleep_seconds, eee.wake_seconds) == pytest.approx(
        (800e-6, 150e-6, 70e-6), rel=0.02
    )
    assert residual < 1e-8 < paper.residual_seconds  # eq. 3 has another shape than what it is fitted to


def test_noise_moves_the_forecast_little():
    _, eee, _ = fit_policy(pairs_of(0.03, overhead_seconds))
    for gap in GAPS[GAPS > 4e-4]:
        assert overhead_seconds(float(gap), eee) == pytest.approx(overhead_seconds(float(gap), DEVICE), rel=0.05)


def test_regular_gaps_bracket_the_time_out():
    _, eee, _ = fit_policy(pairs_of(0.0, delay_seconds), regular=True)
    below, above = GAPS[GAPS <= 800e-6].max(), GAPS[GAPS > 800e-6].min()
    assert below < eee.timeout_seconds < above
    assert eee.wake_seconds == pytest.approx(70e-6, rel=0.02)


def test_a_known_time_out_is_kept():
    assert fit_policy(pairs_of(0.0, overhead_seconds), timeout_seconds=800e-6)[1].timeout_seconds == 800e-6


def test_predict_reads_what_fit_wrote(site, answer, tmp_path):
    lines = [f"{gap!r},{over!r}" for gap, over in pairs_of(0.0, overhead_seconds)]
    (tmp_path / "p.csv").write_text("\n".join(["gap_seconds,overhead_seconds", *lines]))
    status, page = answer("fit", "--pairs", tmp_path / "p.csv", "-o", tmp_path / "switch.yml")
    assert (status, page["pairs"], set(page["fit"])) == (
        0,
        25,
        {"plateau_seconds", "alpha", "threshold_seconds", "residual_seconds"},
    )
    eee = yaml.safe_load((tmp_path / "switch.yml").read_text())["eee"]
    words = ["predict", site / "b0", "--traffic", LU, "--seconds", "10", "--eee"]
    fitted = answer(*words, tmp_path / "switch.yml")[1]
    given = answer(*words, f"{eee['timeout_seconds']},{eee['sleep_seconds']},{eee['wake_seconds']}")[1]
    assert fitted["seconds_predicted"] == given["seconds_predicted"] != answer(*words[:-1])[1]["seconds_predicted"]
    assert "p.csv" in fitted["sources"]["overhead_seconds"]


def test_a_probe_of_measure_needs_no_fit(answer, tmp_path):
    with closing(sqlite3.connect(tmp_path / "m.db")) as file, file:
        file.execute(
            'CREATE TABLE measurement (id INTEGER PRIMARY KEY, "when" REAL, kind TEXT, fabric TEXT, parameters TEXT, '
            "quantity TEXT, value REAL, unit TEXT, uncertainty REAL)"
        )
        rows = [
            (1.0, "idle-gap", "timeout", 9e-4),
            (2.0, "idle-gap", "timeout", 1e-3),
            (2.0, "idle-gap", "sleep", 2e-4),
        ]
        file.executemany('INSERT INTO measurement ("when", kind, quantity, value) VALUES (?, ?, ?, ?)', rows)
    assert answer("fit", "--probe", tmp_path / "m.db")[1]["findings"][0]["actual"] == "no wake"
    with closing(sqlite3.connect(tmp_path / "m.db")) as file, file:
        file.execute(
            "INSERT INTO measurement (id, \"when\", kind, quantity, value) VALUES (9, 2.0, 'idle-gap', 'wake', 6e-5)"
        )
    status, page = answer("fit", "--probe", tmp_path / "m.db")
    assert (status, [page["eee"][f"{k}_seconds"] for k in ("timeout", "sleep", "wake")]) == (0, [1e-3, 2e-4, 6e-5])


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("gap_seconds,overhead_seconds\n1,x\n-1,2\n", ["p.csv: line 2", "p.csv: line 3"]),
        ("gap,over\n", ["p.csv: line 1"]),
        ("gap_seconds,overhead_seconds\n1e-3,1e-6\n", ["pairs"]),
    ],
    ids=["rows", "header", "few"],
)
def test_pairs_that_cannot_be_are_named(answer, tmp_path, text, where):
    (tmp_path / "p.csv").write_text(text)
    status, page = answer("fit", "--pairs", tmp_path / "p.csv")
    assert (status, [f["where"].replace(f"{tmp_path}/", "") for f in page["findings"]]) == (2, where)


def test_parameters_that_cannot_be_are_named(site, answer, tmp_path):
    (tmp_path / "p.yml").write_text("eee: {timeout_seconds: soon, sleep_seconds: 1e-4}\n")
    status, page = answer("predict", site / "b0", "--eee", tmp_path / "p.yml")
    assert (status, len(page["findings"])) == (2, 3)  # YAML 1.1 reads 1e-4 as a word, too
    assert answer("predict", site / "b0", "--eee", tmp_path / "none.yml")[0] == 2
    assert answer("fit")[1]["findings"][0]["where"] == "fit"
