"""Forecasts kept and held against what came: SNMP history, meters, run times, by quantity and over time."""

import json
import sqlite3
from contextlib import closing

import pytest

from fabrics import ROOT
from tagloom.adapters.forecasts import Forecasts
from tagloom.adapters.history import History
from tagloom.graph.paths import channel_load
from tagloom.pipeline import read_build, traffic_of
from tagloom.records.kept import Quantity
from tagloom.records.observation import Counters, Observation

pytestmark = pytest.mark.kernel

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"


def record(answer, site, store):
    words = ["--traffic", LU, "--seconds", "10", "--settings", site / "night.json", "--record", "--store", store]
    status, page = answer("predict", site / "b0", *words)
    assert status == 0
    return page


@pytest.mark.slow
def test_run_time_and_watts_are_scored_inside_and_outside_their_intervals(site, answer, tmp_path, clock):
    store = tmp_path / "f.db"
    page = record(answer, site, store)
    assert page["recorded"] == 1
    low, high = page["intervals"]["seconds_predicted"]
    middle, watts = (low + high) / 2, 1.25 * page["watts_after"]
    status, good = answer("score", "--store", store, "--measured", f"seconds_predicted={middle!r}")
    assert (status, good["scored"], good["good"], good["over_time"][0]["coverage_percent"]) == (0, 1, 1, 100.0)
    assert good["scores"][0]["inside"] is True
    assert good["scores"][0]["error_percent"] == pytest.approx(100 * (page["seconds_predicted"] - middle) / middle)
    (tmp_path / "m.csv").write_text(
        f"quantity,value,at\nwatts_after,{watts},\nseconds_predicted,{2 * high},{clock() + 90}\n"
    )
    status, bad = answer("score", "--store", store, "--measured", tmp_path / "m.csv")
    assert (status, bad["scored"], bad["good"]) == (1, 3, 1)  # what was measured before is kept
    rows = {row["quantity"]: row for row in bad["by_quantity"]}
    assert rows["watts_after"]["mean_error_percent"] == pytest.approx(20.0)
    assert (rows["watts_after"]["coverage_percent"], rows["seconds_predicted"]["coverage_percent"]) == (0.0, 50.0)
    assert sum(row["count"] for row in bad["over_time"]) == 3
    assert answer("score", "--store", store, "--measured", tmp_path / "m.csv")[1]["scored"] == 3  # not twice
    assert answer("score", "--store", store, "--tolerance", "30")[0] == 1  # the interval still says no


@pytest.mark.slow
def test_counters_of_snmp_are_scored_channel_by_channel(site, answer, tmp_path, clock):
    store = tmp_path / "f.db"
    build = read_build(site / "b0")
    words = ["--traffic", LU, "--seconds", "10", "--store", store]
    assert answer("predict", site / "b0", *words)[0] == 0
    traffic = traffic_of(LU, build.fabric, "", 10.0)
    load = channel_load(build.fabric, build.routes, traffic.volume_bytes)
    begin, seen = clock() + 60, {}
    with closing(History(tmp_path / "h.db")) as history:
        for at, done in ((begin, 0.0), (begin + 10.0, 1.05)):  # 5 % more than was forecast
            for s, switch in enumerate(build.fabric.switches):
                channels = [c for c in range(len(load)) if build.fabric.tail[c] == s]
                ports = [
                    Counters(int(build.fabric.tail_port[c]), f"g{c}", out_octets=round(1e6 + done * load[c]), bits=64)
                    for c in channels
                ]
                seen[switch.name] = Observation(switch.name, at, "", ports=tuple(ports))
            history.append(build.fabric.name, at, seen)
        history.append("another", begin + 20.0, seen)
        history.append("another", begin + 30.0, seen)
    status, page = answer("score", "--store", store, "--measured", tmp_path / "h.db")
    assert (status, page["scored"], page["left_over"]) == (0, len(load), [])
    (row,) = page["by_quantity"]
    used = [score for score in page["scores"] if score["forecast"]]
    assert used
    assert (row["quantity"], row["unit"], len(used)) == ("out_bps", "bit/s", int((load > 0).sum()))
    assert all(score["error_percent"] == pytest.approx(-100 * 0.05 / 1.05, abs=0.5) for score in used)
    assert answer("score", "--store", store, "--tolerance", "1")[0] == 1


def test_a_meters_watts_are_read_from_what_measure_keeps(site, answer, tmp_path, clock):
    store = tmp_path / "f.db"
    page = record(answer, site, store)
    with closing(sqlite3.connect(tmp_path / "m.db")) as file, file:
        columns = '"when" REAL, kind TEXT, fabric TEXT, parameters TEXT, quantity TEXT, value REAL, unit TEXT'
        file.execute(f"CREATE TABLE measurement (id INTEGER PRIMARY KEY, {columns}, uncertainty REAL)")
        rows = [
            (clock() + 5, "power", "torus", "watts", page["watts_after"] + 1),
            (clock(), "rps", "torus", "watts", 0),
        ]
        file.executemany(
            'INSERT INTO measurement ("when", kind, fabric, parameters, quantity, value, unit) '
            "VALUES (?, ?, ?, '{}', ?, ?, 'W')",
            rows,
        )
    status, found = answer("score", "--store", store, "--measured", tmp_path / "m.db")
    assert (status, found["scored"]) == (0, 1)
    assert found["scores"][0]["measured"] == pytest.approx(page["watts_after"] + 1)


def test_a_measurement_stands_beside_the_last_forecast_before_it(answer, tmp_path):
    with closing(Forecasts(tmp_path / "f.db", new=True)) as file:
        for at, watts in ((1000.0, 100.0), (2000.0, 200.0)):
            file.keep(at, "a", "build", {"watts_after": Quantity(watts)})
    (tmp_path / "m.csv").write_text(
        "quantity,value,at,fabric\nwatts_after,100,1500,a\nwatts_after,200,86400000,a\n"
        "watts_after,100,900,a\nwatts_after,200,2500,b\nspeed,1,,\n"
    )
    status, page = answer("score", "--store", tmp_path / "f.db", "--measured", tmp_path / "m.csv")
    assert (status, [score["forecast_number"] for score in page["scores"]]) == (0, [1, 2])
    assert [row["day"] for row in page["over_time"]] == ["1970-01-01", "1972-09-27"]
    assert sorted((m["quantity"], m["at"]) for m in page["left_over"] if m["quantity"] != "speed") == [
        ("watts_after", 900.0),
        ("watts_after", 2500.0),
    ]
    assert "speed" in {m["quantity"] for m in page["left_over"]}


def test_a_forecast_that_says_anything_may_happen_has_no_skill(answer, run, tmp_path):
    """Inside its interval, as everything is: Winkler's score says what that is worth: less than 'nothing changes'."""
    honest, gamed = ((100.5, 102.0), (100.0, 114_128.13))
    for name, (low, high), status, skill in (
        ("honest", honest, 0, 1 - 1.5 / 20),
        ("gamed", gamed, 1, 1 - 14_028.13 / 20 - 100_000 / 20),
    ):
        with closing(Forecasts(tmp_path / f"{name}.db", new=True)) as file:
            said = {"seconds_base": Quantity(100.0), "seconds_predicted": Quantity(100.99, low, high)}
            file.keep(1000.0, "a", "build", said)
        (tmp_path / "m.csv").write_text("quantity,value,at\nseconds_predicted,101,1500\n")
        words = ("score", "--store", tmp_path / f"{name}.db", "--measured", tmp_path / "m.csv")
        found, page = answer(*words)
        assert (found, page["good"], page["scored"]) == (status, 1, 1)
        (row,) = page["by_quantity"]
        assert (row["coverage_percent"], row["mean_width"]) == (100.0, pytest.approx(high - low))
        assert row["interval_score"] == pytest.approx(high - low)
        of_all = {key: page[key] for key in ("coverage", "interval_score", "skill")}
        assert of_all == {"coverage": 1.0, "interval_score": row["interval_score"], "skill": row["skill"]}
        assert (row["skill"], row["worse_than_unchanged"]) == (pytest.approx(skill), bool(status))
        assert ("no skill  seconds_predicted: " in run(*words)[1]) == bool(status)
    (tmp_path / "out.csv").write_text("quantity,value,at\nseconds_predicted,103,1600\n")
    status, page = answer("score", "--store", tmp_path / "honest.db", "--measured", tmp_path / "out.csv")
    assert [score["interval_score"] for score in page["scores"]] == [pytest.approx(1.5), pytest.approx(1.5 + 20 * 1.0)]
    assert (status, page["by_quantity"][0]["skill"]) == (1, pytest.approx(1 - 23 / 80))
    assert (page["coverage"], page["interval_score"], page["skill"]) == (
        0.5,
        pytest.approx(11.5),
        pytest.approx(57 / 80),
    )
    (tmp_path / "watts.csv").write_text("quantity,value,at\nseconds_predicted,101,1500\nwatts_after,50,1700\n")
    with closing(Forecasts(tmp_path / "two.db", new=True)) as file:
        file.keep(1000.0, "a", "build", said | {"watts_after": Quantity(50.0, 49.0, 52.0)})
    page = answer("score", "--store", tmp_path / "two.db", "--measured", tmp_path / "watts.csv")[1]
    assert (page["coverage"], page["interval_score"]) == (1.0, None), "seconds and watts have no mean"


def test_a_forecast_made_after_the_measurement_does_not_count(answer, tmp_path, clock):
    """Without a time a measurement is as old as its first mention, however often it is given."""
    store = tmp_path / "f.db"
    with closing(Forecasts(store, new=True)) as file:
        file.keep(clock() - 50, "a", "build", {"watts_after": Quantity(90.0)})
    words = ("score", "--store", store, "--measured", "watts_after=100")
    assert [score["forecast"] for score in answer(*words)[1]["scores"]] == [90.0]
    with closing(Forecasts(store, new=False)) as file:
        file.keep(clock() + 50, "a", "build", {"watts_after": Quantity(100.0)})
    assert [score["forecast"] for score in answer(*words)[1]["scores"]] == [90.0]


def test_without_store_the_forecast_is_kept_beside_the_build(site, answer):
    assert answer("predict", site / "b0", "--record")[1]["store"] == str(site / "forecasts.db")
    status, page = answer("score", "--store", site / "forecasts.db")
    assert (status, page["scored"]) == (1, 0)


@pytest.mark.parametrize("at", ["-1", "1e30", "253402300800"])
def test_a_time_that_no_calendar_has_is_named_and_nothing_kept(site, answer, tmp_path, at):
    store = tmp_path / "f.db"
    record(answer, site, store)
    (tmp_path / "m.csv").write_text(f"quantity,value,at\nwatts_after,3,{at}\n")
    status, page = answer("score", "--store", store, "--measured", tmp_path / "m.csv")
    assert (status, [finding["expected"] for finding in page["findings"]]) == (2, ["seconds since the epoch"])
    with closing(Forecasts(store, new=False)) as file:
        assert file.measured() == []
    with closing(sqlite3.connect(store)) as wire, wire:  # as a program of others might
        wire.execute("INSERT INTO measured VALUES ('watts_after', 3, 'x', 1e30, '')")
    assert answer("score", "--store", store)[0] == 2


def test_bad_evidence_is_all_named_at_once_and_nothing_kept(site, answer, tmp_path):
    store = tmp_path / "f.db"
    record(answer, site, store)
    (tmp_path / "m.csv").write_text("quantity,value\nwatts_after,many\n,3\n")
    (tmp_path / "n.csv").write_text("a,b\n")
    words = ["watts_after=nan", tmp_path / "m.csv", tmp_path / "n.csv", tmp_path / "none.csv", "speed=3", store]
    status, page = answer("score", "--store", store, "--tolerance", "-1", "--measured", *words)
    where = [finding["where"].replace(str(tmp_path), "") for finding in page["findings"]]
    assert (status, where) == (
        2,
        [
            *("--tolerance", "--measured watts_after=nan: value", "/m.csv: line 2: value", "/m.csv: line 3"),
            *("/n.csv: line 1", "/none.csv", "/f.db"),
        ],
    )
    status, page = answer("score", "--store", store, "--measured", "speed=3", "watts_after=1")
    assert (status, [finding["where"] for finding in page["findings"]]) == (2, ["--measured speed"])
    with closing(Forecasts(store, new=False)) as file:
        assert file.measured() == []
    assert answer("score", "--store", tmp_path / "none.db")[0] == 2
    assert answer("score", "--store", tmp_path / "m.csv")[0] == 2
    with closing(History(tmp_path / "h.db")):
        pass
    assert answer("score", "--store", tmp_path / "h.db")[0] == 2
    assert json.loads(json.dumps(page))["findings"]


def test_each_networks_run_is_scored_by_itself(tmp_path, answer, run):
    """Two networks share a channel that is slowed down: each run is longer, and measured by itself."""
    shape = "shape: {family: mesh, dims: [3], hosts: 2}\nnetworks: {compute: [h0, h2, h4], storage: [h1, h3, h5]}\n"
    (tmp_path / "f.yml").write_text(shape)
    (tmp_path / "t.csv").write_text("# seconds: 10\nsource,destination,bytes\nh0,h4,400000000\nh1,h3,90000000\n")
    (tmp_path / "slow.json").write_text(json.dumps({"off": [], "slowed": [{"ends": ["s0:g1", "s1:g1"], "mbps": 100}]}))
    assert answer("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    words = ["--traffic", tmp_path / "t.csv", "--settings", tmp_path / "slow.json", "--store", tmp_path / "s.db"]
    status, page = answer("predict", tmp_path / "b", *words)
    assert status == 0
    compute, storage = (page["networks"][name] for name in ("compute", "storage"))
    assert compute["seconds_predicted"] > storage["seconds_predicted"] > 10
    measured = f"seconds_predicted/compute={compute['seconds_predicted']!r}"
    wrong = f"seconds_predicted/storage={1.5 * storage['seconds_predicted_high']!r}"
    words = ["score", "--store", tmp_path / "s.db", "--measured", measured, wrong]
    assert answer(*words, "seconds_predicted/nobody=1")[0] == 2
    status, scores = answer(*words)
    assert (status, scores["scored"], scores["good"]) == (1, 2, 1)
    rows = {row["quantity"]: (row["unit"], row["good"]) for row in scores["by_quantity"]}
    assert rows == {"seconds_predicted/compute": ("s", 1), "seconds_predicted/storage": ("s", 0)}
    assert "seconds_predicted/storage, s" in run(*words[:3])[1]
    with closing(Forecasts(tmp_path / "s.db", new=False)) as kept:
        (forecast,) = kept.forecasts()
    moved = forecast.quantities["communication_seconds_after/storage"]
    assert moved.value == pytest.approx(storage["communication_seconds_after"])
