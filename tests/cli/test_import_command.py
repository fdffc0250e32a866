"""tagloom import: a fabric file from what another tool has, or all that is wrong with it and no file."""

import json

from tagloom.read import read_fabric


def test_a_drawing_becomes_a_fabric_file_that_plans(run, tmp_path):
    fabric, drawing, new = (tmp_path / name for name in ("f.yml", "f.graphml", "g.yml"))
    assert run("new", "mesh", "--dims", 2, 2, "-o", fabric)[0] == 0
    assert run("export", "graphml", fabric, "-o", drawing)[0] == 0
    status, out, _ = run("import", drawing, "-o", new, "--name", "square")
    assert (status, out.splitlines()[0]) == (0, "square    4 switches, 4 links, 4 hosts")
    assert run("plan", new, "-o", tmp_path / "b")[0] == 0
    assert read_fabric(new).hosts == read_fabric(fabric).hosts
    status, out, _ = run("import", drawing, "--json")
    answer = json.loads(out)
    assert (answer["switches"], answer["links"], answer["hosts"], answer["findings"]) == (4, 4, 4, [])
    assert answer["fabric"] == new.read_text().replace("name: square", "name: imported")


def test_a_bad_drawing_and_a_file_that_is_there_are_told_at_once(run, tmp_path):
    drawing, new = tmp_path / "f.dot", tmp_path / "g.yml"
    drawing.write_text("graph { a -- a")
    new.write_text("mine")
    status, _, err = run("import", drawing, "-o", new, "--model", "powerconnect")
    assert status == 2
    assert [line.split(":")[0] for line in err.splitlines()[:3]] == [str(new), "--model", str(drawing)]
    assert new.read_text() == "mine"
