"""What is wrong with traffic is told in the same pass as a build or fabric that cannot be read."""

import pytest

WRONG = {
    "predict": (
        ["--traffic", "t.csv", "--profile", "p.csv", "--seconds", "-3", "--ranks", "0", "--settings", "s.json"],
        ["none:", "t.csv:", "p.csv:", "--seconds:", "--ranks:", "s.json:"],
    ),
    "predict a trace": (["--trace", "m.csv", "--seconds", "nan"], ["none:", "m.csv:", "--seconds:"]),
    "predict too much": (["--trace", "m.csv", "--traffic", "t.csv"], ["none:", "m.csv:", "t.csv:", "--trace:"]),
    "regulate": (
        ["--traffic", "t.csv", "--seconds", "nan", "--span", "-1", "--time-limit", "0"],
        ["none:", "t.csv:", "--seconds:", "--span:", "--time-limit:"],
    ),
    "timetable": (
        ["--traffic", "t.csv", "u.csv", "--dwell", "soon", "--headroom", "3", "--levels", "1", "--power", "w.yml"],
        ["none:", "t.csv:", "u.csv:", "--dwell:", "--headroom:", "--levels:", "w.yml:"],
    ),
    "timetable by a calendar": (["--calendar", "c.yml"], ["none:", "c.yml:"]),
    "timetable of nothing": (["--headroom", "3"], ["none:", "timetable:", "--headroom:"]),
    "report": (["--traffic", "t.csv", "--seconds", "0"], ["none:", "t.csv:", "--seconds:", "report:"]),
}


@pytest.mark.parametrize("case", WRONG)
def test_all_is_told_of_a_command_whose_first_file_is_not_there(case, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words, expected = WRONG[case]
    status, out, err = run(case.split()[0], "none", *words)
    assert status == 2
    assert not out
    lines = err.splitlines()
    assert sorted(line.split(":")[0] + ":" for line in lines[:-1]) == sorted(expected), err
    assert lines[-1].startswith(f"{len(expected)} findings; nothing was changed")


@pytest.mark.parametrize("command", ["predict", "regulate"])
@pytest.mark.parametrize("seconds", ["nan", "-3", "inf", "0"])
def test_a_duration_that_cannot_be_is_refused(command, seconds, run, answer, tmp_path):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    run("new", "ring", "--dims", 4, "-o", fabric)
    answer("plan", fabric, "-o", build)
    what = build if command == "predict" else fabric
    status, _, err = run(command, what, "--traffic", "pattern:all-to-all", "--seconds", seconds)
    assert status == 2
    assert f"--seconds: expected from 1e-06 to 3.2e+08, actual {seconds}\n" in err
