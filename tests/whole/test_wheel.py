"""The wheel: `pip install .` gives a tagloom with templates, playbooks and roles inside."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from fabrics import ROOT
from tagloom.cli.reading import rendered

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Build the wheel and unpack it where nothing of the checkout is importable."""
    home = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", home, ROOT],
        check=True,
        capture_output=True,
    )
    (path,) = home.glob("tagloom-*.whl")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(home / "site")
    return home / "site"


def test_it_brings_the_operators_files(wheel):
    share = wheel / "tagloom" / "_share"
    for name in (
        "playbooks/apply.yml",
        "roles/tagloom_apply/tasks/main.yml",
        "templates/ros",
        "inventory/testbed/fabric.yml",
    ):
        assert (share / name).exists(), name
    assert (wheel / "tagloom" / "measure" / "message_log.c").is_file()
    assert not list(share.rglob("__pycache__"))
    assert not (share / "inventory" / "lab").exists()


def test_it_is_as_large_as_the_readme_says(wheel):
    said = float(re.search(r"a wheel of ([\d.]+) MB", (ROOT / "README.md").read_text("utf-8"))[1])
    (path,) = wheel.parent.glob("tagloom-*.whl")
    assert path.stat().st_size / 1e6 == pytest.approx(said, rel=0.15)


def test_it_brings_the_manual_page(wheel):
    (page,) = wheel.glob("tagloom-*.data/data/share/man/man1/tagloom.1")
    text = page.read_text("utf-8")
    assert text.startswith(".TH TAGLOOM")
    assert "tagloom rollout" in text.replace("\\", "")


def test_it_brings_every_page_that_help_and_errors_name_and_shows_it_without_a_checkout(wheel, tmp_path):
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    brought = wheel / "tagloom" / "_share" / "docs"
    assert {path.relative_to(brought).as_posix() for path in brought.rglob("*") if path.is_file()} == pages
    start = [sys.executable, "-P", "-m", "tagloom.cli"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(wheel)}

    def run(*words):
        done = subprocess.run(
            [*start, *words], env=environment, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout, done.stderr

    status, _, said = run("plan", "none.yml", "-o", "b")
    assert (status, said.splitlines()[-1].rpartition("tagloom docs ")[2]) == (2, "fabric-file")
    assert run("docs", "fabric-file")[:2] == (0, rendered((ROOT / "docs/fabric-file.md").read_text("utf-8")) + "\n")


def needed(requirements):
    """Return the names of distributions that requirements bring, themselves included."""
    wanted, names = list(requirements), set()
    while wanted:
        line = wanted.pop()
        name = re.match(r"[\w.-]+", line)[0]
        if "extra ==" not in line and "python_version <" not in line and name not in names:
            names.add(name)
            wanted += metadata.requires(name) or ()
    return names


def test_it_is_built_by_what_it_says_it_is_built_by_and_nothing_else(tmp_path):
    """As `pip install .` does: an environment that holds what [build-system] requires, found by PYTHONPATH."""
    required = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    (tmp_path / "has").mkdir()
    for name in needed(required):
        for file in metadata.files(name):
            top, *below = file.parts
            if top not in {"..", "__pycache__"} and not (tmp_path / "has" / top).exists():
                where = Path(file.locate())
                (tmp_path / "has" / top).symlink_to(where.parents[len(below) - 1] if below else where)
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", bare], check=True)
    build = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(tmp_path / "has")}
    command = [bare / "bin" / "python", "-c", build, tmp_path]
    done = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / done.stdout.split()[-1]) as archive:
        assert [name for name in archive.namelist() if name.endswith("share/man/man1/tagloom.1")]


def test_it_plans_and_verifies_away_from_the_checkout(wheel, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    where = [sys.executable, "-P", "-c", "import tagloom; print(tagloom.__file__)"]
    found = subprocess.run(where, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert found.startswith(str(wheel))
    for words in (
        ["new", "torus", "--dims", "4", "4", "--parallel", "2", "-o", "f.yml"],
        ["plan", "f.yml", "-o", "b", "--json"],
        ["verify", "--fabric", "f.yml", "--configs", "b/configs"],
    ):
        command = [sys.executable, "-P", "-m", "tagloom.cli", *words]
        subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
