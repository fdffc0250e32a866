"""Links are chosen where nobody knows a model's watts: how many is said, what they save is null."""

import json

import pytest

pytestmark = pytest.mark.kernel

WATTS = ("watts_before", "watts_after", "saving_percent", "lower_bound_watts", "gap_percent", "survive_watts")
OF_A_DAY = (
    "joules_before joules_after lower_bound_joules watts_before watts_after saving_percent most_percent kept_percent"
)
AS_A_5324 = "{base: 0, per_port: {10: 0.5, 100: 0.9, 1000: 1.2}, source: chosen by}\n"
SAID = "no watts of linux-bridge are known (--power FILE)"


@pytest.fixture
def fabric(tmp_path):
    text = "name: r\nmodel: linux-bridge\nshape: {family: ring, dims: [4], parallel: 2, hosts: 1}\n"
    (tmp_path / "f.yml").write_text(text)
    return tmp_path / "f.yml"


def test_the_most_links_go_off_and_watts_are_null(tmp_path, fabric, run):
    words = ["regulate", fabric, "--traffic", "pattern:nearest-neighbour", "--method", "greedy"]
    status, out, err = run(*words, "--json", "-o", tmp_path / "s.json")
    assert status == 0, err
    found = json.loads(out)
    assert found["power_unknown"] == ["linux-bridge"]
    assert {key: found[key] for key in WATTS} == dict.fromkeys(WATTS)
    (remark,) = [remark for remark in found["remarks"] if "as if" in remark]
    assert remark == "links are chosen as if a port of linux-bridge drew what a PowerConnect 5324's does"
    (tmp_path / "w.yml").write_text(f"linux-bridge: {AS_A_5324}")
    known = json.loads(run(*words, "--json", "--power", tmp_path / "w.yml")[1])
    assert known["power_unknown"] == []
    assert found["off"] == known["off"]
    assert found["links_off"] == len(found["off"]) > 0
    assert None not in [known[key] for key in WATTS[:-1]]
    status, out, _ = run("plan", fabric, "--settings", tmp_path / "s.json", "-o", tmp_path / "b")
    assert status == 0, out


@pytest.mark.parametrize("method", ["static", "greedy", "optimal"])
def test_every_method_says_it_in_one_line(fabric, run, method):
    words = ["regulate", fabric, "--traffic", "pattern:nearest-neighbour", "--method", method]
    status, out, _ = run(*words, *(["--survive", "link"] if method == "static" else []))
    assert status == 0
    assert out.splitlines()[0] == f"saving    unknown: {SAID}"
    assert f"off ({method})" in out
    assert " W" not in out


def test_a_link_that_cannot_go_off_is_slowed_all_the_same(fabric, run):
    words = ["regulate", fabric, "--traffic", "pattern:nearest-neighbour", "--method", "greedy", "--levels", "100"]
    found = json.loads(run(*words, "--seconds", 1e6, "--headroom", 0.1, "--json")[1])
    assert found["links_slowed"] > 0


def test_a_days_timetable_has_its_times_and_no_joules(tmp_path, fabric, run):
    rows = ["time,source,destination,bytes"]
    hosts = ["h0", "h1", "h2", "h3"]
    for hour in (0, 8, 16):
        busy = 4e11 if hour == 8 else 1e9
        rows += [f"2026-11-02T{hour:02d}:00:00,{a},{b},{busy:.0f}" for a in hosts for b in hosts if a != b]
    (tmp_path / "day.csv").write_text("# seconds: 28800\n" + "\n".join(rows) + "\n")
    words = ["timetable", fabric, "--traffic", tmp_path / "day.csv", "--most-settings", 2, "-o", tmp_path / "t.yml"]
    status, out, err = run(*words)
    assert status == 0, err
    assert out.splitlines()[0].startswith(f"saving    unknown: {SAID}")
    assert " W" not in out
    assert "as if a port of linux-bridge drew what a PowerConnect 5324's does" in " ".join(out.split())
    found = json.loads(run(*words, "--json")[1])
    assert found["power_unknown"] == ["linux-bridge"]
    assert {key: found[key] for key in OF_A_DAY.split()} == dict.fromkeys(OF_A_DAY.split())
    assert {each["watts"] for each in found["settings"]} == {None}
    assert max(each["links_off"] for each in found["settings"]) > 0
    (tmp_path / "w.yml").write_text(f"linux-bridge: {AS_A_5324}")
    for power in ([], ["--power", tmp_path / "w.yml"]):
        status, out, err = run("timetable", fabric, "--calendar", tmp_path / "t.yml", *power)
        assert status == 0, err
        assert (SAID in out) is (not power)
        assert (" W" in out) is bool(power)
