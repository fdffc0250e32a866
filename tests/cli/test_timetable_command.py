"""tagloom timetable: keys, files that prove and are read back, exit statuses; three settings do nearly for all."""

import csv
import importlib.util
import json
import time
from itertools import permutations

import numpy as np
import pytest
import yaml

from fabrics import ROOT, make_fabric
from tagloom.adapters.history import History
from tagloom.pipeline.timetabling import planner
from tagloom.read.counter_history import gravity
from tagloom.read.timetable_file import format_timetable, read_timetable
from tagloom.records.observation import Counters, Observation
from tagloom.regulate.day import TimetableOptions, per_interval, timetable, toggle_joules
from tagloom.regulate.day_changes import VIA
from tagloom.regulate.day_figures import files_of

pytestmark = pytest.mark.kernel

spec = importlib.util.spec_from_file_location("timetable", ROOT / "benchmarks" / "timetable.py")
benchmark = importlib.util.module_from_spec(spec)
spec.loader.exec_module(benchmark)


@pytest.fixture
def site(tmp_path, answer):
    """Write a ring of four, two links between neighbours, and a day: idle but for 9 to 17 h, when all talk to all."""
    answer("new", "ring", "--dims", 4, "--parallel", 2, "-o", tmp_path / "f.yml")
    with (tmp_path / "day.csv").open("w", newline="") as file:
        file.write("# seconds: 3600\n")
        rows = csv.writer(file)
        rows.writerow(["time", "source", "destination", "bytes"])
        for hour in range(24):
            rate = 35e6 if 9 <= hour < 17 else 1e3
            for a, b in permutations(("h0", "h1", "h2", "h3"), 2):
                rows.writerow([f"2026-11-20T{hour:02d}:00", a, b, rate * 3600])
    return tmp_path


def test_a_timetable_is_written_proven_and_read_back(site, answer):
    words = ("timetable", site / "f.yml", "--traffic", site / "day.csv", "--timezone", "Europe/Berlin")
    status, page = answer(*words, "--settings", 3, "-o", site / "out" / "week.yml")
    assert status == 0
    assert {"by_settings", "settings", "times", "saving_percent", "most_percent", "kept_percent", "changes"} <= set(
        page
    )
    assert {"lower_bound_joules", "joules_before", "joules_after", "toggle_seconds", "lost_bytes"} <= set(page)
    savings = [row["saving_percent"] for row in page["by_settings"]]
    assert savings == sorted(savings)
    assert page["joules_before"] >= page["joules_after"] >= page["lower_bound_joules"]
    assert (page["intervals"], page["seconds"], page["changes"], page["exact"]) == (24, 86_400, 2, True)
    idle, busy = sorted(page["settings"], key=lambda each: -each["links_off"])
    assert (idle["links_off"], idle["seconds"], busy["seconds"]) == (4, 16 * 3600, 8 * 3600)
    assert (idle["max_channel_share"] <= 0.5, busy["name"]) == (True, "all-on")  # 0.56 even with everything on
    assert page["times"] == [
        {"at": "08:58", "settings": busy["name"]},  # a minute and what links take, before they are needed
        {"at": "17:00", "settings": idle["name"]},
    ]
    assert page["max_channel_share_in_changes"] < page["max_channel_share_if_late"] <= 1
    table = yaml.safe_load((site / "out" / "week.yml").read_text())
    assert table["timezone"] == "Europe/Berlin"
    assert [rule["when"] for rule in table["rules"]] == ["58 8 * * *", "0 17 * * *"]
    for rule in table["rules"]:
        if rule["settings"] != "all-on":
            settings = site / "out" / rule["settings"]
            assert answer("plan", site / "f.yml", "--settings", settings, "-o", site / "b")[1]["deadlock_free"]
    status, week = answer("timetable", site / "f.yml", "--calendar", site / "out" / "week.yml")
    assert (status, len(week["week"])) == (0, 14)
    assert week["saving_percent"] == pytest.approx(page["saving_percent"], abs=0.5)  # changes are not charged there


def test_links_may_get_slower_by_the_clock_where_a_proven_rollout_leads_there_and_back(site, answer):
    """At night 3 kB/s remain: four links go off, and the four that carry it to 10 Mb/s."""
    words = ("timetable", site / "f.yml", "--traffic", site / "day.csv")
    off = answer(*words)[1]
    status, page = answer(*words, "--levels", "off,10,100", "-o", site / "slow.yml")
    assert (status, page["exact"]) == (0, True)
    night, day = sorted(page["settings"], key=lambda each: -each["links_off"])
    assert (night["links_off"], night["links_slowed"], day["name"]) == (4, 4, "all-on")
    assert night["watts"] == pytest.approx(4 * (15 + 1.2) + 4 * 2 * 0.5)  # Koibuchi et al. 2011, table 2
    assert page["toggle_seconds"] == 4.1  # 5324, 1000 to 100 Mb/s, the slowest of table 6
    change = 4 * 2.4 * (3.2 + 60) + 4 * 2.4 * (2.5 + 60), 4 * 2.4 * (3.2 + 60) + 4 * 2.4 * (2.4 + 60)
    hours = 15 * 3600 * night["watts"] + 9 * 3600 * day["watts"]  # all on an hour early: links at 10 Mb/s would be full
    assert page["joules_after"] == pytest.approx(hours + sum(change))
    assert page["joules_after"] < off["joules_after"]
    assert page["lower_bound_joules"] <= page["joules_after"]
    settings = next(site.glob("slow.settings-*.json"))
    assert answer("plan", site / "f.yml", "-o", site / "on")[0] == 0
    assert answer("plan", site / "f.yml", "--settings", settings, "-o", site / "night")[0] == 0
    for old, new in (("on", "night"), ("night", "on")):
        status, change = answer("rollout", site / old, site / new, "-o", site / f"to-{new}")
        assert (status, change["peak_lost_pairs"]) == (0, 0)
    status, week = answer("timetable", site / "f.yml", "--calendar", site / "slow.yml")
    assert (status, sorted(each["links_slowed"] for each in week["settings"])) == (0, [0, 4])
    assert answer(*words, "--levels", "off,eee")[0] == 2


def test_speeds_that_no_rollout_reaches_are_findings_before_anything_runs(site, answer):
    """All links get slower and none is off: hosts could be parked on none of them meanwhile."""
    ends = [([f"s{s}:g{p}", f"s{t}:g{q}"]) for s, t, a, b in ((0, 1, 3, 1), (1, 2, 3, 1), (2, 3, 3, 1), (3, 0, 3, 1))
            for p, q in ((a, b), (a + 1, b + 1))]  # fmt: skip
    slow = {"method": "by hand", "off": [], "slowed": [{"ends": pair, "mbps": 100} for pair in ends]}
    (site / "slow.json").write_text(json.dumps(slow))
    (site / "t.yml").write_text(
        '- {when: "0 20 * * *", settings: slow.json}\n- {when: "0 7 * * *", settings: all-on}\n'
    )
    status, page = answer("timetable", site / "f.yml", "--calendar", site / "t.yml")
    assert status == 2
    assert sorted(each["where"] for each in page["findings"]) == ["all-on to slow.json", "slow.json to all-on"]
    assert "is retrained" in page["findings"][0]["actual"]


@pytest.mark.long
def test_three_settings_keep_nearly_all_that_one_for_each_interval_would_save(tmp_path):
    """A smaller day than the benchmark's, of the same jobs: hard enough that one setting is not enough."""
    fabric = benchmark.fabric_of(4)
    history = benchmark.day_of(fabric, "hard", 30)
    wish = TimetableOptions(3)
    day = timetable(fabric, history, planner(fabric, ROOT / "templates"), wish, lambda *_: None, time.monotonic)
    each = per_interval(day, planner(fabric, ROOT / "templates"), wish, lambda *_: None, time.monotonic)
    saved = [day.full_joules - schedule.joules for schedule in day.schedules]
    assert saved[0] < 0.95 * (day.full_joules - each)
    assert saved[2] >= 0.95 * (day.full_joules - each)
    assert each >= day.bound_joules
    for name, text in files_of(fabric, day, wish, day.schedules[-1], "UTC", "t", format_timetable).items():
        (tmp_path / name).write_text(text)
    rules = read_timetable(tmp_path / "t.yml").rules  # its changes are no closer than it says itself
    assert len(rules) == day.schedules[-1].changes + sum(each.mode == VIA for each in day.changes) > 4


def test_bad_input_is_exit_2_with_every_finding_and_writes_nothing(site, answer):
    text = (site / "day.csv").read_text()
    (site / "bad.csv").write_text(text.replace("h3,h1", "h3,h9", 1).replace("126000000000.0", "-1", 1))
    status, page = answer("timetable", site / "f.yml", "--traffic", site / "bad.csv", "-o", site / "t.yml")
    assert (status, len(page["findings"])) == (2, 2)
    options = ("--settings", 0, "--headroom", 2, "--changes", -1)
    status, page = answer("timetable", site / "f.yml", "--traffic", site / "day.csv", *options, "-o", site / "t.yml")
    assert (status, [each["where"] for each in page["findings"]]) == (2, ["--most-settings", "--headroom", "--changes"])
    (site / "none.csv").write_text("time,source,destination,bytes\n")
    assert answer("timetable", site / "f.yml", "--traffic", site / "none.csv")[0] == 2
    assert answer("timetable", site / "f.yml")[0] == 2
    assert not (site / "t.yml").exists()


def test_traffic_that_does_not_fit_with_everything_on_is_exit_1_and_says_when_and_where(site, answer):
    (site / "much.csv").write_text((site / "day.csv").read_text().replace("126000000000.0", "1260000000000.0"))
    status, page = answer("timetable", site / "f.yml", "--traffic", site / "much.csv", "-o", site / "t.yml")
    assert status == 1
    places = page["witness"].split("; ")
    assert places[0].startswith("bytes a second: at 09:00 host h0 sends 1,050,000,000, 925,000,000 too many")
    assert len(places) == 10 + 2
    assert places[-2] == "and 6 more places"  # 4 hosts both ways, and 8 channels
    assert places[-1] == "8 of 24 intervals do not fit"
    assert not (site / "t.yml").exists()


def test_settings_of_a_calendar_that_do_not_fit_the_fabric_are_findings(site, answer):
    (site / "a.json").write_text('{"off": [{"ends": ["s0:g1", "s9:g1"]}]}')
    (site / "b.json").write_text("{}")
    rows = '- {when: "0 20 * * *", settings: a.json}\n- {when: "0 7 * * *", settings: b.json}\n'
    (site / "t.yml").write_text(rows)
    status, page = answer("timetable", site / "f.yml", "--calendar", site / "t.yml")
    assert (status, len(page["findings"])) == (2, 2)


def test_counters_of_host_ports_make_a_day_where_no_matrix_is_known(site, answer):
    """h0 and h2 exchange 45 MB/s from 9 to 17 h; counters see what each sends and receives, and no more."""
    history = History(site / "h.db")
    begin = 1_763_593_200.0  # midnight in Berlin
    sent = dict.fromkeys(range(4), 0)
    for hour in range(25):
        seen = {}
        for s in range(4):
            octets = {"in_octets": sent[s], "out_octets": sent[(s + 2) % 4]}
            port = Counters(5, "g5", speed_bps=10**9, **octets)
            seen[f"s{s}"] = Observation(f"s{s}", begin + 3600 * hour, uptime_seconds=3600.0 * hour + 1, ports=(port,))
        history.append("ring", begin + 3600 * hour, seen)
        sent = {s: count + (126_000_000_000 if 9 <= hour < 17 and s in {0, 2} else 3600) for s, count in sent.items()}
    history.close()
    words = ("timetable", site / "f.yml", "--traffic", site / "h.db", "--timezone", "Europe/Berlin")
    status, page = answer(*words)
    assert (status, page["intervals"]) == (0, 24)
    assert "gravity model" in page["remarks"][0]
    assert page["settings"][0]["links_off"] == 4


def test_gravity_keeps_every_total_and_sends_nothing_to_oneself():
    chance = np.random.default_rng(1)
    truth = chance.random((6, 6))
    np.fill_diagonal(truth, 0.0)
    found = gravity(truth.sum(axis=1), truth.sum(axis=0))
    assert np.allclose(found.sum(axis=1), truth.sum(axis=1), rtol=2e-3)
    assert np.allclose(found.sum(axis=0), truth.sum(axis=0), rtol=2e-3)
    assert not np.diag(found).any()
    assert not gravity(np.zeros(3), np.zeros(3)).any()


def test_a_link_costs_its_watts_while_it_changes():
    fabric = make_fabric("ring", 3, model="powerconnect-5324")
    wish = TimetableOptions(change_seconds=60.0)
    changes = ((1000, 0), (0, 1000), (1000, 100), (100, 1000), (100, 0), (100, 100))
    joules = [toggle_joules(fabric, 0, a, b, wish) for a, b in changes]
    assert joules == pytest.approx([2.4 * 63.2, 2.4 * 63.2, 2.4 * 64.1, 2.4 * 62.4, 1.8 * 63.2, 0.0])
