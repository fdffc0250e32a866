"""The command line of forecasts and exports: a build with a profile, settings and a rollout."""

import csv
import json
import sqlite3
import xml.etree.ElementTree as ET

import networkx as nx
import pytest

from fabrics import ROOT

pytestmark = pytest.mark.kernel

PROFILES = ROOT / "tests" / "data" / "profiles"


@pytest.fixture
def build(tmp_path, run):
    assert run("new", "torus", "--dims", 3, 3, "--parallel", 2, "-o", tmp_path / "f.yml")[0] == 0
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    return tmp_path / "b"


def test_a_profile_settings_rates_and_csv(tmp_path, build, run):
    settings, table = tmp_path / "s.json", tmp_path / "all.csv"
    fabric = build.parent / "f.yml"
    assert run("regulate", fabric, "--traffic", "pattern:nearest-neighbour", "-o", settings)[0] == 0
    words = ["predict", build, "--profile", PROFILES / "cg.S.4.tau", "--settings", settings, "--price", 0.3]
    status, out, _ = run(*words, "--co2", 0.4, "--host-watts", 90, "--csv", table)
    assert status == 0
    assert [line.split()[0] for line in out.splitlines()[:3]] == ["slow-down", "loss", "saving"]
    status, out, _ = run(*words, "--json")
    page = json.loads(out)
    keys = "watts_before watts_after saving_percent joules seconds_base seconds_predicted slowdown_percent lost_bytes"
    assert set(page) >= {*keys.split(), "toggle_seconds", "cost_after", "computation_seconds", "pays_after_seconds"}
    assert page["seconds_base"] == pytest.approx(0.467679)
    assert page["computation_seconds"] == pytest.approx(0.467679 - 0.065784, abs=1e-5)
    assert page["saving_percent"] > 0
    assert page["toggle_seconds"] == 3.2
    assert page["idle_seconds"] == 0  # no 5324 sleeps, and nobody said that its hosts do
    assert {row["switch"] for row in page["switches"]} == {f"s{s}" for s in range(9)}
    with table.open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    for key in ("watts_after", "seconds_predicted", "joules", "relative_bandwidth_after", "s0: watts_after"):
        assert rows[key]["value"], key
        assert rows[key]["source"], key
    assert float(rows["watts_after"]["value"]) == pytest.approx(page["watts_after"])
    assert float(rows["watts_after"]["low"]) < page["watts_after"] < float(rows["watts_after"]["high"])


def test_a_rollout_that_pauses_hosts_is_forecast_pair_by_pair(tmp_path, build, run):
    fabric, other = build.parent / "f.yml", tmp_path / "other"
    assert run("plan", fabric, "--routing", "up-down", "-o", other)[0] == 0
    drained = tmp_path / "drained"
    words = ["rollout", build, other, "-o", drained, "--strategy", "drain", "--allow", "drain"]
    assert run(*words)[0] == 0
    down = json.loads((drained / "rollout.json").read_text())["downtime_seconds"]
    words = ["predict", other, "--rollout", drained, "--traffic", "pattern:all-to-all", "--seconds", 1000]
    page = json.loads(run(*words, "--json")[1])
    (every,) = page["interruptions"]
    assert every["pairs"] == 72
    assert every["seconds"] == pytest.approx(down, abs=0.01)
    assert page["lost_bytes"] == pytest.approx(9e6 * down / 1000, rel=0.01)  # R T of what nine hosts send
    assert "cut off" in run(*words)[1]


def test_the_messages_of_a_run_are_replayed_over_links_that_sleep(tmp_path, build, run):
    """h0 and h1 answer each other every 4 ms: each message finds its two links asleep, and one wake after the other."""
    trace, messages, wake = tmp_path / "run.csv", 100, 60e-6
    rows = [f"{k},h{k % 2},h{1 - k % 2},1000,0.004" for k in range(messages)]
    trace.write_text("step,source,destination,bytes,compute_seconds\n" + "\n".join(rows) + "\n")
    words = ["predict", build, "--trace", trace]
    status, out, _ = run(*words, "--eee", "1e-3,182e-6,60e-6", "--json")
    page = json.loads(out)
    assert status == 0
    keys = "watts_before watts_after saving_percent joules seconds_base seconds_predicted slowdown_percent lost_bytes"
    assert set(page) >= set(keys.split())
    assert page["trace"]["messages"] == page["trace"]["steps"] == messages
    assert page["seconds_base"] == pytest.approx(page["trace"]["seconds"])
    assert page["seconds_base"] == pytest.approx(0.4, rel=0.01)
    assert page["trace"]["network_seconds"] == 0
    assert page["trace"]["sleep_seconds"] == pytest.approx(2 * wake * messages, rel=0.05)
    assert page["seconds_predicted"] - page["seconds_base"] == pytest.approx(page["trace"]["sleep_seconds"])
    low, high = page["intervals"]["seconds_predicted"]
    assert (page["seconds_predicted_low"], page["seconds_predicted_high"]) == (low, high)
    assert low <= page["seconds_predicted"] <= high
    ends = [page["slowdown_percent_low"], page["slowdown_percent_high"]]
    assert ends == page["intervals"]["slowdown_percent"]
    assert ends[0] <= page["slowdown_percent"] <= ends[1]
    assert ends[0] <= ends[1] < 1.05 * ends[0], (
        "a percent more or less of computing lets no message find its link awake"
    )
    assert page["model"] == page["sources"]["seconds_predicted"]
    assert json.loads(run(*words, "--eee-fit", "1e-3,182e-6,60e-6", "--json")[1]) == page
    said = run(*words, "--eee", "1e-3,182e-6,60e-6", "--seconds", 2)[1]
    assert "replayed" in said
    assert "per message and link (closed form)" in said
    assert "; replayed, all ports cost the run 0.60 %" in " ".join(said.split())
    assert "2 s -> 2.012 s" in said
    assert json.loads(run(*words, "--json")[1])["trace"]["sleep_seconds"] == 0  # a PowerConnect 5324 has no EEE


def test_all_that_is_wrong_with_a_trace_is_told_at_once(tmp_path, build, run):
    trace = tmp_path / "run.csv"
    trace.write_text("step,source,destination,bytes\n0,h0,h99,1\nx,h0,h1,1\n1,h0,h1,much\n2,,h1,1\n")
    status, _, err = run("predict", build, "--trace", trace, "--traffic", "pattern:all-to-all")
    assert status == 2
    for where in ("--trace", *(f"{trace}:{row}" for row in (2, 3, 4, 5))):
        assert any(line.startswith(where) for line in err.splitlines()), where
    trace.write_text("a,b\n1,2\n")
    assert run("predict", build, "--trace", trace)[0] == 2


def test_a_host_computes_for_one_time_in_a_step(tmp_path, build, run):
    """Two times that differ are a finding; neither is taken. The same time twice is read once."""
    trace, head = tmp_path / "run.csv", "step,source,destination,bytes,compute_seconds\n"
    trace.write_text(head + "0,h0,h1,1000,0.25\n0,h0,h2,1000,0.5\n0,h1,,,0.75\n")
    status, _, err = run("predict", build, "--trace", trace)
    assert status == 2
    (line,) = [each for each in err.splitlines() if each.startswith(f"{trace}:")]
    assert line == f"{trace}:3  compute_seconds: expected 0.25, as another row of step 0 and h0 says, actual '0.5'"
    trace.write_text(head + "0,h0,h1,1000,0.25\n0,h0,h2,1000,0.250\n0,h1,,,0.75\n")
    status, out, _ = run("predict", build, "--trace", trace, "--json")
    assert (status, json.loads(out)["seconds_base"]) == (0, pytest.approx(0.75, rel=1e-3))


def test_traffic_without_its_duration_names_the_option_that_gives_it(tmp_path, build, run):
    (tmp_path / "m.csv").write_text("source,destination,bytes,messages\nh0,h1,1000,1\n")
    status, _, err = run("predict", build, "--traffic", tmp_path / "m.csv")
    assert status == 2
    assert "expected how long it took (a line '# seconds: N', or --seconds), actual nothing said" in err


@pytest.mark.slow
def test_links_that_change_speed_would_lose_what_comes_while_they_are_away(tmp_path, build, run):
    settings, pattern = tmp_path / "s.json", "pattern:all-to-all"
    assert run("regulate", build.parent / "f.yml", "--traffic", pattern, "-o", settings)[0] == 0
    page = json.loads(settings.read_text())
    slowed = [{"ends": ["s0:g3", "s1:g1"], "mbps": 100}]
    settings.write_text(json.dumps({**page, "off": [], "slowed": slowed}))
    words = ["predict", build, "--settings", settings, "--traffic", pattern, "--seconds", 1000]
    status, out, err = run(*words, "--json")
    assert status == 0, err
    switched = json.loads(out)["rate_switch"]
    assert switched["links"] == 1
    assert 0 < switched["lost_bytes"] <= 2 * 72e6 * switched["outage_seconds"] / 1000
    assert switched["lost_packets"] >= switched["lost_bytes"] / 1500
    assert "in place" in run(*words)[1]
    assert (
        json.loads(run("predict", build, "--traffic", pattern, "--seconds", 1000, "--json")[1])["rate_switch"] is None
    )


def test_all_that_is_wrong_with_a_question_is_told_at_once(build, run):
    words = ["--price", "nan", "--co2", 400, "--host-watts", -1, "--eee", "1e-4,182e-6,60e-6", "--traffic", "none.csv"]
    status, _, err = run("predict", build, *words, "--profile", PROFILES / "cg.S.4.mpisummary.txt")
    assert status == 2
    for where in ("--price", "--co2", "--host-watts", "--eee", "none.csv", "--ranks"):
        assert any(line.startswith(where) for line in err.splitlines()), where
    assert "6 findings; nothing was changed" in err
    matrix = ROOT / "tests" / "data" / "npb" / "cg.S.4.matrix.csv"
    status, _, err = run("predict", build, "--profile", matrix)
    assert status == 2
    assert "mpiP, TAU or paraprof" in err
    assert run("predict", build, "--rollout", build)[0] == 2


@pytest.mark.slow
def test_a_summary_of_times_and_calls_alone_is_forecast_within_an_interval(tmp_path, build, run):
    """Nobody knows who sent to whom: the run may cost nothing more, and no load of a channel is forecast."""
    fabric = build.parent / "f.yml"
    assert run("plan", fabric, "--off", "s0:g1", "s0:g2", "-o", tmp_path / "less")[0] == 0
    words = ["predict", tmp_path / "less", "--profile", PROFILES / "cg.S.4.mpisummary.txt"]
    status, out, err = run(*words, "--ranks", 4, "--record", "--store", tmp_path / "kept.db", "--json")
    assert status == 0, err
    page = json.loads(out)
    low, high = page["slowdown_percent_low"], page["slowdown_percent_high"]
    assert low <= 0 < page["slowdown_percent"] < high
    assert page["computation_seconds"] == pytest.approx(0.467679 - 0.065784, abs=2e-3)
    (said,) = [line for line in page["assumed"] if "--traffic FILE" in line]
    assert "who sent what to whom" in said
    assert "relative_bandwidth_after" not in page
    (kept,) = sqlite3.connect(tmp_path / "kept.db").execute("SELECT * FROM forecast").fetchall()
    assert "seconds_predicted" in str(kept)
    assert "out_bps" not in str(kept)
    status, _, err = run(*words, "--ranks", 4, "--ranks-per-host", 4)
    assert (status, "expected ranks on 2 hosts or more" in err) == (2, True)


def test_a_simgrid_platform_has_routes_within_networks_and_none_between_them(tmp_path, run):
    networks = "networks: {a: [h0, h3], b: {hosts: [h1, h2], routing: tree}}\n"
    (tmp_path / "f.yml").write_text("name: f\nshape: {family: hypercube, dims: [2]}\n" + networks)
    assert run("plan", tmp_path / "f.yml", "-o", tmp_path / "b")[0] == 0
    status, said, err = run("export", "simgrid", tmp_path / "b")
    assert status == 0, err
    ways = {(r.get("src"), r.get("dst")) for r in ET.fromstring(said).iter("route")}  # noqa: S314 - our own
    assert ways == {("h0", "h3"), ("h3", "h0"), ("h1", "h2"), ("h2", "h1")}


def test_a_build_is_exported_with_its_very_routes(tmp_path, build, run):
    platform = tmp_path / "platform.xml"
    assert run("export", "simgrid", build, "-o", platform)[0] == 0
    zone = ET.parse(platform).getroot().find("zone")  # noqa: S314 - our own file
    links = {link.get("id"): link.get("bandwidth") for link in zone.iter("link")}
    assert len(links) == 2 * 9 + 2 * 36
    assert set(links.values()) == {"1000000000bps"}
    ways = {(r.get("src"), r.get("dst")): [c.get("id") for c in r] for r in zone.iter("route")}
    assert len(ways) == 72
    for (a, b), way in ways.items():
        assert (way[0], way[-1]) == (f"{a}-out", f"{b}-in")
        assert way[1].startswith(f"s{a[1:]}:")  # host i is on switch i
    assert run("export", "graphml", build, "-o", tmp_path / "g.xml")[0] == 0
    graph = nx.read_graphml(tmp_path / "g.xml")
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (18, 45)
    said = run("export", "dot", build)[1]
    assert said.count(" -- ") == 45
    assert said.startswith("graph ")
    assert run("export", "svg", build)[0] == 2
