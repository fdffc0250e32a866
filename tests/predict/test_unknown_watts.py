"""Models whose watts nobody knows: what needs no watts is answered, what needs them is null, and that is said."""

import csv
import json

import pytest

from tagloom.platforms import load, models

pytestmark = pytest.mark.kernel

WATTS = "watts_before watts_after saved_watts eee_saved_watts saving_percent joules_before joules transition_joules"
NULL = (*WATTS.split(), "kwh_saved_per_year", "kwh")
UNKNOWN = [model for model in models() if load(model).watts is None]
KNOWN_BY_POWER = "{base: 20, per_port: {10: 0.5, 100: 0.7, 1000: 1}, source: our meter}\n"


@pytest.fixture
def fabric(tmp_path):
    def write(model, *others):
        shape = f"name: r\nmodel: {model}\nshape: {{family: ring, dims: [4], parallel: 2, hosts: 1}}\n"
        mixed = "".join(f"  s{number}: {{model: {other}}}\n" for number, other in enumerate(others))
        (tmp_path / "f.yml").write_text(shape + (f"switches:\n{mixed}" if mixed else ""))
        return tmp_path / "f.yml"

    return write


@pytest.fixture
def build(tmp_path, run):
    def plan(fabric, *words):
        assert run("plan", fabric, "-o", tmp_path / "b", *words)[0] == 0
        return tmp_path / "b"

    return plan


@pytest.fixture
def settings(tmp_path):
    (tmp_path / "off.json").write_text(json.dumps({"off": [{"ends": ["s0:g3", "s1:g1"]}]}))
    return tmp_path / "off.json"


def power(tmp_path, *names):
    (tmp_path / "w.yml").write_text("".join(f"{name}: {KNOWN_BY_POWER}" for name in names))
    return tmp_path / "w.yml"


def answer(run, *words):
    status, out, err = run(*words, "--json")
    assert status == 0, err
    return json.loads(out)


def test_there_are_models_whose_watts_are_not_known():
    assert {"linux-bridge", "powerconnect-8024f"} <= set(UNKNOWN)


@pytest.mark.parametrize("model", UNKNOWN)
def test_predict_answers_all_but_watts_and_is_the_same_beside_that_with_power(tmp_path, fabric, build, run, model):
    only = load(model).assignments[0]
    b = build(fabric(model), *(["--assignment", only, "--routing", "tree"] if only else []))
    words = ["predict", b, "--traffic", "pattern:all-to-all", "--seconds", 100]
    without, known = answer(run, *words), answer(run, *words, "--power", power(tmp_path, model))
    assert without["power_unknown"] == [model]
    assert known["power_unknown"] == []
    assert {key: without[key] for key in NULL} == dict.fromkeys(NULL)
    assert None not in [known[key] for key in NULL]
    same = set(known) - {*NULL, "power_unknown", "sources", "intervals", "causes", "switches", "break_even_host_watts"}
    assert {key: without[key] for key in same} == {key: known[key] for key in same}
    assert without["seconds_base"] == 100
    assert set(without["intervals"]) == set(known["intervals"]) - {*NULL, "break_even_host_watts"}
    assert without["switches"] == []


def test_predict_says_in_one_line_whose_watts_are_not_known_and_how_they_are_given(fabric, build, run):
    b = build(fabric("linux-bridge"))
    status, out, _ = run("predict", b, "--traffic", "pattern:all-to-all", "--seconds", 100, "--price", 0.3)
    assert status == 0
    (line,) = [line for line in out.splitlines() if " W" in line or "watts" in line or "--power" in line]
    assert line == "saving    unknown: no watts of linux-bridge are known (--power FILE)"
    assert "slow-down" in out
    assert "energy" not in out


def test_one_model_among_others_makes_the_sum_unknown(tmp_path, fabric, build, run):
    b = build(fabric("powerconnect-5548", "linux-bridge", "powerconnect-8024f"))
    words = ["predict", b, "--traffic", "pattern:all-to-all", "--seconds", 100]
    found = answer(run, *words)
    assert found["power_unknown"] == ["linux-bridge", "powerconnect-8024f"]
    assert {key: found[key] for key in NULL} == dict.fromkeys(NULL)
    assert answer(run, *words, "--power", power(tmp_path, "linux-bridge"))["power_unknown"] == ["powerconnect-8024f"]
    assert answer(run, *words, "--power", power(tmp_path, *found["power_unknown"]))["watts_before"] > 80


def test_intervals_of_a_sleep_policy_settings_and_a_rollout_are_answered_too(tmp_path, fabric, build, settings, run):
    b = build(fabric("linux-bridge"))
    ends = "timeout_seconds: [0.0009, 0.0011], sleep_seconds: [0.00018, 0.00019], wake_seconds: [0.00005, 0.00007]"
    times = "timeout_seconds: 0.001\nsleep_seconds: 0.000182\nwake_seconds: 0.00006\n"
    (tmp_path / "eee.yml").write_text(f"{times}intervals: {{{ends}}}\n")
    assert run("plan", fabric("linux-bridge"), "--settings", settings, "--previous", b, "-o", tmp_path / "n")[0] == 0
    assert run("rollout", b, tmp_path / "n", "-o", tmp_path / "change")[0] == 0
    words = ["predict", b, "--traffic", "pattern:all-to-all", "--seconds", 100, "--settings", settings]
    words += ["--eee", tmp_path / "eee.yml", "--eee-links", "all", "--rollout", tmp_path / "change", "--co2", 0.4]
    found = answer(run, *words, "--host-watts", 90)
    assert {key: found[key] for key in NULL} == dict.fromkeys(NULL)
    low, high = found["intervals"]["seconds_predicted"]
    assert low < found["seconds_predicted"] < high


def test_the_table_of_a_forecast_has_no_row_of_watts(tmp_path, fabric, build, run):
    table = tmp_path / "all.csv"
    words = ["predict", build(fabric("linux-bridge")), "--traffic", "pattern:all-to-all", "--seconds", 100]
    answer(run, *words, "--csv", table)
    with table.open(newline="") as file:
        rows = {row["name"]: row["value"] for row in csv.DictReader(file)}
    assert float(rows["seconds_base"]) == 100
    assert {name: float(value) for name, value in rows.items() if name != "name"}  # numbers, every one of them
    assert not set(rows) & set(NULL)


@pytest.mark.parametrize("traffic", [[], ["--traffic", "pattern:all-to-all", "--seconds", 100]])
def test_the_report_leaves_energy_out_and_says_so_once(tmp_path, fabric, build, run, traffic):
    page = tmp_path / "r.html"
    found = answer(run, "report", build(fabric("linux-bridge")), *traffic, "-o", page)
    (said,) = [part for part in found["left_out"] if "--power" in part]
    assert said == "watts and saving (none of linux-bridge are known): give --power FILE"
    text = page.read_text()
    assert said in text
    assert "Power of all switches" not in text
    assert "None" not in text
    assert 'id="energy"' not in text


def test_the_report_of_a_timetable_leaves_out_its_power(tmp_path, fabric, build, settings, run):
    day = tmp_path / "day.yml"
    day.write_text(f"rules: [{{when: 0 20 * * *, settings: {settings.name}}}, {{when: 0 6 * * *, settings: all-on}}]\n")
    words = ["report", build(fabric("linux-bridge")), "--timetable", day, "-o", tmp_path / "r.html"]
    answer(run, *words)
    assert "Power by the timetable" not in (tmp_path / "r.html").read_text()
    answer(run, *words, "--power", power(tmp_path, "linux-bridge"))
    assert "Power by the timetable" in (tmp_path / "r.html").read_text()


@pytest.mark.slow
def test_a_sweep_of_such_a_build_has_its_seconds(tmp_path, fabric, build, run):
    b, sweep, rows = build(fabric("linux-bridge")), tmp_path / "s.yml", tmp_path / "s.json"
    sweep.write_text(f"build: {b}\ntraffic: ['pattern:all-to-all']\nseconds: 100\n")
    status, out, _ = run("sweep", sweep, "-o", rows, "--jobs", 1)
    assert status == 0
    assert out.count("unknown") == 2  # saving, and what EEE saves
    (cell,) = json.loads(rows.read_text())["cells"]
    assert cell["error"] == ""
    assert cell["seconds_predicted"] >= 100
    assert [cell[key] for key in ("watts_before", "watts_after", "saving_percent", "joules")] == [None] * 4


def test_a_forecast_without_watts_is_kept_and_scored_by_its_seconds(tmp_path, fabric, build, run):
    b = build(fabric("linux-bridge"))
    words = ["predict", b, "--traffic", "pattern:all-to-all", "--seconds", 100, "--store", tmp_path / "f.db"]
    status, out, _ = run(*words)
    assert status == 0
    assert "--measured seconds_predicted=S" in out
    seconds = answer(run, *words[:-2])["seconds_predicted"]
    scored = answer(run, "score", "--store", tmp_path / "f.db", "--measured", f"seconds_predicted={seconds}")
    assert scored["good"] == 1
    status, _, err = run("score", "--store", tmp_path / "f.db", "--measured", "watts_after=3")
    assert status == 2
    assert "seconds_predicted" in err


@pytest.mark.slow
def test_figures_for_papers_leave_out_the_saving(tmp_path, fabric, build, run):
    words = ["predict", build(fabric("linux-bridge")), "--traffic", "pattern:all-to-all", "--seconds", 100]
    names = answer(run, *words, "--figures", tmp_path / "drawn")["figures"]
    assert {name.split(".")[0] for name in names} == {"load", "wait", "sleep"}
