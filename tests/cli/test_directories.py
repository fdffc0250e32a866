"""What a command writes takes the place of what tagloom wrote, whole, and of nothing else."""

import contextlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import pytest

from fabrics import ROOT
from tagloom.cli import main

pytestmark = pytest.mark.kernel

RING = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [3], parallel: 2}\n"
PLAN, ROLLOUT = ["plan", "f.yml", "-o", "d"], ["rollout", "b", "c", "-o", "d"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    home = tmp_path_factory.mktemp("made")
    (home / "f.yml").write_text(RING)
    with contextlib.chdir(home):
        assert main(["plan", "f.yml", "-o", "b"]) == 0
        assert main(["plan", "f.yml", "--off", "s0:g1", "-o", "c"]) == 0
    return home


@pytest.fixture
def here(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tree(directory):
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}


@pytest.mark.parametrize(("words", "mark"), [(PLAN, "plan.json"), (ROLLOUT, "rollout.json")], ids=["plan", "rollout"])
@pytest.mark.parametrize("page", ["{}", '{"name": "somebody\'s holiday"}', '{"tagloom": 1}', "[]", "plan", ""])
def test_a_directory_with_a_file_named_as_ours_is_not_deleted(here, capsys, words, mark, page):
    (here / "d" / "photos").mkdir(parents=True)
    (here / "d" / mark).write_text(page)
    (here / "d" / "photos" / "a.jpg").write_text("dear")
    before = tree(here)
    assert main(words) == 2
    assert "d: expected a new directory, or a" in capsys.readouterr().err
    assert tree(here) == before


@pytest.mark.parametrize("words", [PLAN, ROLLOUT], ids=["plan", "rollout"])
@pytest.mark.parametrize(
    ("edition", "name"), [(1, "configs/s0.cfg.mine"), (1, "waves/1/commands/x/y.txt"), (2, "notes.txt")]
)
def test_a_file_of_somebody_else_in_a_directory_of_ours_is_not_deleted(here, capsys, words, name, edition):
    assert main(words) == 0
    if edition == 1:  # which wrote no marker
        (here / "d" / ".tagloom").unlink()
    (here / "d" / name).parent.mkdir(parents=True, exist_ok=True)
    (here / "d" / name).write_text("mine")
    before = tree(here)
    assert main(words) == 2
    assert f"d/{name}: expected only files that tagloom wrote" in capsys.readouterr().err
    assert tree(here) == before


@pytest.mark.parametrize("words", [PLAN, ROLLOUT], ids=["plan", "rollout"])
@pytest.mark.parametrize("edition", [1, 2])
def test_a_directory_of_ours_is_written_anew_and_keeps_the_backups_of_runs(here, words, edition):
    assert main(words) == 0
    fresh = set(tree(here / "d"))
    if edition == 1:
        (here / "d" / ".tagloom").unlink()
    (here / "d" / "apply").mkdir()
    (here / "d" / "apply" / "s0.cfg").write_text("backup")
    assert main(words) == 0
    assert (here / "d" / "apply" / "s0.cfg").read_text() == "backup"
    shutil.rmtree(here / "d" / "apply")
    assert set(tree(here / "d")) == fresh
    assert sorted(p.name for p in here.iterdir()) == ["b", "c", "d", "f.yml"]


def test_a_build_does_not_take_the_place_of_a_rollout(here, capsys):
    assert main(ROLLOUT) == 0
    before = tree(here)
    assert main(PLAN) == 2
    assert "a build of tagloom's" in capsys.readouterr().err
    assert tree(here) == before


@pytest.mark.parametrize("name", [".d.new", ".d.old"])
def test_what_is_not_ours_beside_the_directory_is_not_deleted(here, name):
    (here / name).mkdir()
    (here / name / "mine").write_text("mine")
    before = tree(here)
    assert main(PLAN) == 2
    assert tree(here) == before


def test_what_a_killed_command_left_is_taken_away(here):
    assert main(PLAN) == 0
    shutil.copytree(here / "d", here / ".d.new")
    (here / ".d.new" / ".tagloom").write_text(json.dumps({"tagloom": "0", "format": 1, "kind": "build", "files": []}))
    shutil.copytree(here / "d", here / ".d.old")
    assert main(PLAN) == 0
    assert sorted(p.name for p in here.iterdir()) == ["b", "c", "d", "f.yml"]


def test_a_command_killed_between_two_renames_loses_nothing(here):
    assert main(PLAN) == 0
    (here / "d").rename(here / ".d.old")
    assert main(["plan", "f.yml", "--off", "s9:g1", "-o", "d"]) == 2
    assert (here / ".d.old" / "plan.json").is_file()
    assert main(PLAN) == 0
    assert sorted(p.name for p in here.iterdir()) == ["b", "c", "d", "f.yml"]


def test_a_link_to_a_directory_of_ours_stays_a_link(here):
    assert main(PLAN) == 0
    (here / "d").rename(here / "elsewhere")
    (here / "d").symlink_to("elsewhere")
    assert main(PLAN) == 0
    assert (here / "d").is_symlink()
    assert (here / "elsewhere" / "plan.json").is_file()


def test_links_in_a_directory_are_not_followed(here):
    assert main(PLAN) == 0
    (here / "dear").mkdir()
    (here / "dear" / "s0.cfg").write_text("dear")
    shutil.rmtree(here / "d" / "configs")
    (here / "d" / "configs").symlink_to(here / "dear")
    before = tree(here / "dear")
    assert main(PLAN) == 2
    assert tree(here / "dear") == before


def run(words, cwd, **more):
    command = [sys.executable, "-m", "tagloom.cli", *words]
    # what Python compiles of tagloom on a disk that is full would be cut short, and break whoever reads it next
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tooling"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, **more)


def _small_disk():
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (700, 700))


def test_a_full_disk_leaves_the_old_build_whole(here):
    before = tree(here)
    done = run(["plan", "f.yml", "--off", "s0:g1", "-o", "b"], here, preexec_fn=_small_disk)
    assert done.returncode == 2, done.stderr
    assert "b: expected a directory that can be written, actual File too large" in done.stderr
    assert tree(here) == before
    assert sorted(p.name for p in here.iterdir()) == ["b", "c", "f.yml"]
