"""A sweep gives what single forecasts give, by processes and by a cluster alike, and a bad cell costs no other."""

import csv

import pytest

from fabrics import ROOT

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"


@pytest.fixture(scope="module")
def plan(site):
    lists = f"traffic: [{LU}, missing.csv]\nsettings: [none, night.json]\ntimeouts: [0.0005, 0.001]\n"
    text = f"build: b0\nseconds: 10\n{lists}"
    (site / "sweep.yml").write_text(text)
    return site / "sweep.yml"


@pytest.fixture
def cluster():
    from distributed import LocalCluster  # noqa: PLC0415 - a second that only these tests need

    here = {"host": "127.0.0.1", "protocol": "tcp", "scheduler_port": 0, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **here) as running:
        yield running


@pytest.mark.daily
@pytest.mark.slow
def test_processes_and_single_forecasts_agree_and_a_bad_cell_costs_no_other(plan, site, answer, tmp_path):
    status, page = answer("sweep", plan, "--jobs", "2", "-o", tmp_path / "s.csv")
    assert (status, page["count"], page["failed"]) == (1, 8, 4)
    good = [cell for cell in page["cells"] if not cell["error"]]
    assert [(c["settings"], c["timeout_seconds"]) for c in good] == [
        ("none", 0.0005),
        ("none", 0.001),
        ("night.json", 0.0005),
        ("night.json", 0.001),
    ]
    assert all("missing.csv" in cell["error"] for cell in page["cells"] if cell not in good)
    for cell in good:
        words = ["--traffic", LU, "--seconds", "10", "--eee", f"{cell['timeout_seconds']},182e-6,60e-6"]
        words += ["--settings", site / "night.json"] if cell["settings"] != "none" else []
        alone = answer("predict", site / "b0", *words)[1]
        for key in ("watts_after", "seconds_predicted", "saving_percent", "slowdown_percent", "eee_saved_watts"):
            assert cell[key] == pytest.approx(alone[key], abs=1e-6)
    with (tmp_path / "s.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["seconds_predicted"]) for row in rows if not row["error"]] == [
        c["seconds_predicted"] for c in good
    ]


@pytest.mark.long
def test_a_cluster_runs_the_same_code(plan, answer, cluster, tmp_path):
    status, page = answer("sweep", plan, "--scheduler", cluster.scheduler_address, "-o", tmp_path / "s.json")
    assert (status, page["count"], page["failed"]) == (1, 8, 4)
    assert page["cells"] == answer("sweep", plan, "--jobs", "1")[1]["cells"]


def test_a_sweep_that_cannot_be_is_named_whole(answer, tmp_path):
    (tmp_path / "s.yml").write_text("build: 3\ntimeouts: [soon, -1]\nsettings: []\nspeed: 1\n")
    status, page = answer("sweep", tmp_path / "s.yml", "--jobs", "0", "-o", tmp_path / "s.txt")
    where = [finding["where"].replace(f"{tmp_path}/", "") for finding in page["findings"]]
    assert status == 2
    assert where == [
        *("--jobs", "--output", "s.yml: build", "s.yml: settings", "s.yml: speed"),
        *("s.yml: timeouts[0]", "s.yml: timeouts[1]", "s.yml: traffic"),
    ]
    assert not (tmp_path / "s.txt").exists()


@pytest.mark.kernel
@pytest.mark.slow
def test_a_scheduler_that_is_no_address_is_named(plan, answer):
    status, page = answer("sweep", plan, "--scheduler", "nonsense://nowhere")
    assert (status, page["findings"][0]["where"]) == (2, "--scheduler")
