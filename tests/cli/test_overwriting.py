"""No command overwrites a file that tagloom did not write, or that changed since, unless it is forced."""

import argparse
import json
import os
import shutil
import stat
import subprocess
import threading

import pytest

from tagloom.adapters.clock_metrics import ClockMetrics
from tagloom.cli import parser
from tagloom.cli.words import _Output
from tagloom.errors import InputError
from tagloom.lab.directory import INVENTORY, check_inventory
from tagloom.read.active_tree import write_running_network
from tagloom.storage.outputs import RECORD
from tagloom.storage.repository import check_repository

MINE = "mine, and nobody else's\n"
# What each command needs besides the file that it writes; most of it is not there, and need not be.
NEEDED = {
    "new": ["ring", "--dims", "4"],
    "schema": [],
    "verify": ["--paths", "p.csv"],
    "regulate": ["f.yml", "--traffic", "m.csv"],
    "timetable": ["f.yml", "--traffic", "m.csv"],
    "export": ["dot", "f.yml"],
    "import": ["g.dot"],
    "predict": ["b"],
    "report": ["b"],
    "fit": ["--pairs", "p.csv"],
    "sweep": ["s.yml"],
    "discover": ["--start", "192.0.2.1"],
    "adopt": [],
    "record": ["s0"],
    "measure pingpong": ["--local"],
    "measure idle-gap": ["--emulate", "1,1,1"],
    "measure rps": ["--namespaces"],
    "measure power": [],
    "measure messages": [],
}


def outputs(of, words=""):
    """Yield each command of a parser with an option for a file that it writes."""
    for action in of._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield from outputs(command, f"{words} {name}".lstrip())
        elif isinstance(action, _Output):
            yield words, action.option_strings[-1]


OUTPUTS = sorted(outputs(parser()))


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_that_writes_a_file_is_tried_below():
    assert {command for command, _ in OUTPUTS} == NEEDED.keys()


@pytest.mark.parametrize(("command", "option"), OUTPUTS, ids=map(" ".join, OUTPUTS))
def test_no_command_overwrites_a_file_that_tagloom_did_not_write(here, answer, command, option):
    path = here / "mine.c"
    path.write_text(MINE)
    status, page = answer(*command.split(), *NEEDED[command], option, path)
    found = {each["where"]: each["actual"] for each in page["findings"]}
    assert status == 2
    assert "--force overwrites it" in found[str(path)]
    assert path.read_text() == MINE
    assert [each.name for each in here.iterdir()] == ["mine.c"]


def test_every_command_that_writes_a_file_can_be_forced():
    for command, _ in OUTPUTS:
        assert parser().parse_args([*command.split(), *NEEDED[command], *_required(command), "--force"]).force


def _required(command):
    return ["-o", "x"] if command == "record" else []


def test_a_file_is_written_again_until_somebody_changes_it(here, run):
    words = ("new", "ring", "--dims", 4, "-o", "f.yml")
    assert [run(*words)[0], run(*words)[0]] == [0, 0]
    (here / "f.yml").write_text(MINE)
    status, _, err = run(*words)
    assert status == 2
    assert "f.yml: expected a new file, or one that tagloom wrote and nobody changed, actual one that changed" in err
    assert (here / "f.yml").read_text() == MINE
    assert run(*words, "--force")[0] == 0
    assert run(*words)[0] == 0


def test_a_directory_that_moves_takes_the_record_of_its_files_along(here, run):
    run("new", "ring", "--dims", 4, "-o", "a/f.yml")
    (here / "a").rename(here / "b")
    assert run("new", "ring", "--dims", 5, "-o", "b/f.yml")[0] == 0
    shutil.copy(here / "b" / "f.yml", here / "f.yml")
    assert run("new", "ring", "--dims", 6, "-o", "f.yml")[0] == 2
    (here / "b" / RECORD).unlink()
    assert run("new", "ring", "--dims", 6, "-o", "b/f.yml")[0] == 2


@pytest.mark.parametrize(
    "record", [MINE, "[]", '{"format": 9, "files": {}}', ""], ids=["text", "list", "newer", "empty"]
)
def test_a_record_that_is_not_of_tagloom_stays_and_is_not_believed(here, run, record):
    (here / RECORD).write_text(record)
    words = ("new", "ring", "--dims", 4, "-o", "f.yml")
    assert [run(*words)[0], run(*words)[0]] == [0, 2]
    assert (here / RECORD).read_text() == record


def test_a_link_to_a_file_is_written_through_only_where_the_file_is_of_tagloom(here, run):
    (here / "mine.yml").write_text(MINE)
    (here / "f.yml").symlink_to("mine.yml")
    words = ("new", "ring", "--dims", 4, "-o", "f.yml")
    assert run(*words)[0] == 2
    assert run(*words, "--force")[0] == 0
    assert run(*words)[0] == 0
    assert (here / "f.yml").is_symlink()
    assert "ring" in (here / "mine.yml").read_text()


def test_an_empty_file_is_no_file_to_protect(here, run):
    (here / "f.yml").touch()
    assert run("new", "ring", "--dims", 4, "-o", "f.yml")[0] == 0
    assert "ring" in (here / "f.yml").read_text()


def test_a_pipe_and_a_device_are_no_files_to_protect(here, run):
    os.mkfifo(here / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((here / "pipe").read_text()))
    reader.start()
    assert run("new", "ring", "--dims", 4, "-o", "pipe")[0] == 0
    reader.join(60)
    assert "ring" in heard[0]
    assert stat.S_ISFIFO((here / "pipe").stat().st_mode)
    assert run("new", "ring", "--dims", 4, "-o", "/dev/null")[0] == 0
    assert sorted(each.name for each in here.iterdir()) == ["pipe"]


def test_the_name_of_standard_output_writes_there_even_where_it_is_a_file(here, run):
    assert run("new", "ring", "--dims", 4, "-o", "-")[1] == run("new", "ring", "--dims", 4)[1]
    (here / "log").write_text(MINE)
    with (here / "log").open("a") as log:
        descriptor = os.dup(log.fileno())
    try:
        assert run("schema", "-o", f"/dev/fd/{descriptor}")[0] == 0
    finally:
        os.close(descriptor)
    assert (here / "log").read_text().startswith(f"{MINE}{{")
    assert [each.name for each in here.iterdir()] == ["log"]


@pytest.mark.kernel
def test_what_stands_beside_a_timetable_is_checked_before_anything_is_written(here, run):
    (here / "f.yml").write_text("name: r\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3], parallel: 2}\n")
    (here / "m.csv").write_text("# start: 0\n# seconds: 86400\nsource,destination,bytes\nh0,h1,1\n")
    words = ("timetable", "f.yml", "--traffic", "m.csv", "-o", "day.yml")
    assert run(*words)[0] == 0
    beside = next(path for path in here.glob("*.json"))
    before = {each: each.read_bytes() for each in here.iterdir()}
    beside.write_text(MINE)
    status, _, err = run(*words, "--timezone", "Europe/Berlin")
    assert (status, err.startswith(beside.name)) == (2, True)
    assert (here / "day.yml").read_bytes() == before[here / "day.yml"]


@pytest.mark.parametrize("name", ["s0.txt", "labels.html"])
def test_bootstrap_writes_no_file_where_one_of_them_is_a_users(here, run, name):
    switches = ", ".join(f"s{s}: {{address: 192.0.2.{s + 1}}}" for s in range(3))
    shape = "shape: {family: ring, dims: [3]}"
    (here / "f.yml").write_text(f"name: r\nmodel: powerconnect-5324\n{shape}\nswitches: {{{switches}}}\n")
    words = ("bootstrap", "f.yml", "--network", "192.0.2.0/24", "-o", "first")
    (here / "first").mkdir()
    (here / "first" / name).write_text(MINE)
    status, _, err = run(*words)
    assert (status, err.startswith(f"first/{name}: expected a new file")) == (2, True)
    assert [(each.name, each.read_text()) for each in (here / "first").iterdir()] == [(name, MINE)]
    assert run(*words, "--force")[0] == 0
    assert run(*words)[0] == 0


@pytest.mark.parametrize(
    "words",
    [
        ("plan", "f.yml", "-o", "d"),
        ("rollout", "a", "b", "-o", "d"),
        pytest.param(("lab", "up", "f.yml", "--dir", "d"), marks=pytest.mark.rack),
        ("demo", "--dir", "d"),
        ("predict", "b", "--figures", "d"),
        ("observe", "-i", "d", "-o", "d/history.db"),
        ("hosts", "import", "list", "f.yml", "-o", "d/tagloom.yml"),
        ("score", "--store", "d/history.db", "--measured", "watts_after=1"),
        ("measure", "power", "--store", "d/history.db"),
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_no_command_overwrites_what_a_directory_holds(here, run, words):
    run("new", "ring", "--dims", 3, "-o", "f.yml")
    (here / "list").write_text("02:00:00:00:00:01 h0\n")
    for name in ("tagloom.yml", "notes.txt", "load.pdf", "settings.json", "history.db"):
        (here / "d").mkdir(exist_ok=True)
        (here / "d" / name).write_text(MINE)
    before = {path: path.read_bytes() for path in here.rglob("*") if path.is_file()}
    assert run(*words)[0] == 2
    assert {path: path.read_bytes() for path in here.rglob("*") if path.is_file()} == before


def test_a_forced_build_stands_beside_the_files_of_others_and_takes_its_own_with_it(here, run):
    run("new", "ring", "--dims", 4, "-o", "f.yml")
    (here / "d" / "configs").mkdir(parents=True)
    for name in ("notes.txt", "configs/s0.cfg"):
        (here / "d" / name).write_text(MINE)
    assert run("plan", "f.yml", "-o", "d", "--force")[0] == 0
    assert (here / "d" / "notes.txt").read_text() == MINE
    assert run("verify", "d")[0] == 0
    run("new", "ring", "--dims", 3, "-o", "f.yml")
    assert run("plan", "f.yml", "-o", "d")[0] == 2
    assert run("plan", "f.yml", "-o", "d", "--force")[0] == 0
    assert sorted(each.name for each in (here / "d" / "configs").iterdir()) == ["s0.cfg", "s1.cfg", "s2.cfg"]
    assert (here / "d" / "notes.txt").read_text() == MINE
    assert run("verify", "d")[0] == 0


def test_a_build_that_a_user_edited_is_not_planned_over(here, run):
    run("new", "ring", "--dims", 4, "-o", "f.yml")
    words = ("plan", "f.yml", "-o", "d")
    assert [run(*words)[0], run(*words)[0]] == [0, 0]
    with (here / "d" / "configs" / "s1.cfg").open("a") as text:
        text.write("! mine\n")
    before = (here / "d" / "configs" / "s1.cfg").read_bytes()
    status, _, err = run(*words)
    assert status == 2
    assert "d/configs/s1.cfg: expected only files that tagloom wrote, actual one that changed since" in err
    assert (here / "d" / "configs" / "s1.cfg").read_bytes() == before
    assert [run(*words, "--force")[0], run(*words)[0]] == [0, 0]


def test_a_marker_without_digests_is_judged_by_the_time_of_its_files(here, run):
    run("new", "ring", "--dims", 4, "-o", "f.yml")
    run("plan", "f.yml", "-o", "d")
    marker = here / "d" / ".tagloom"
    document = json.loads(marker.read_text())
    marker.write_text(json.dumps({**document, "format": 1, "files": list(document["files"])}))
    assert run("plan", "f.yml", "-o", "d")[0] == 0
    marker.write_text(json.dumps({**document, "format": 1, "files": list(document["files"])}))
    at = marker.stat().st_mtime + 5
    os.utime(here / "d" / "configs" / "s0.cfg", (at, at))
    assert run("plan", "f.yml", "-o", "d")[0] == 2


def test_what_runs_of_a_network_is_kept_in_no_directory_of_a_user(here):
    write_running_network(here / "now", {"s0": "text"}, "s0", ())
    write_running_network(here / "now", {"s0": "other"}, "s0", ())
    (here / "now" / "s0.cfg").write_text(MINE)
    with pytest.raises(InputError, match="one that changed since"):
        write_running_network(here / "now", {"s0": "text"}, "s0", ())
    write_running_network(here / "now", {"s0": "text"}, "s0", (), force=True)
    assert (here / "now" / "s0.cfg").read_text() == "text"


@pytest.mark.parametrize("name", [*INVENTORY, "known_hosts", "fabric.json"])
def test_a_rack_takes_no_inventory_of_a_user_for_its_own(here, name):
    (here / name).parent.mkdir(exist_ok=True)
    (here / name).write_text(MINE)
    with pytest.raises(InputError, match=name):
        check_inventory(here, force=False)
    check_inventory(here, force=True)


def test_metrics_replace_metrics_of_tagloom_and_no_others(here):
    page = here / "run.prom"
    page.write_text("# HELP node_x of others\n# TYPE node_x gauge\nnode_x 1\n")
    with pytest.raises(InputError, match="a file that tagloom has no record of"):
        ClockMetrics(None, page)
    page.write_text("# HELP tagloom_run_settings ours\n# TYPE tagloom_run_settings gauge\n")
    ClockMetrics(None, page).close()
    assert "node_x" not in page.read_text()


def test_a_backup_overwrites_no_file_of_a_repository_that_git_does_not_have(here):
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(here)}
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    names = ["s0.cfg", "s1.cfg", "s2.cfg"]
    subprocess.run(["git", "init", "--quiet", here], check=True, env=environment)
    for name in names[:2]:
        (here / name).write_text(MINE)
    subprocess.run(["git", "add", "s0.cfg"], check=True, cwd=here, env=environment)
    subprocess.run(["git", *identity, "commit", "--quiet", "-m", "a"], check=True, cwd=here, env=environment)
    with pytest.raises(InputError) as refused:
        check_repository(here, names, environment)
    assert [finding.where for finding in refused.value.findings] == [str(here / "s1.cfg")]
    check_repository(here, ["s0.cfg", "s2.cfg"], environment)
