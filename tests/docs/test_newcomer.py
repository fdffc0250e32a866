"""A newcomer's path: README alone, the wheel alone, and a container that holds nothing else."""

import subprocess
import sys
import zipfile
from contextlib import ExitStack

import pytest

import needs
from console_blocks import PROGRESS, TARGETS, blocks_of, run_blocks
from container import Container
from fabrics import ROOT

STEPS = ("demo", "new", "plan", "lab up", "apply", "lab fault", "repair", "rollback", "lab down")


def in_an_environment(site, home):
    """Return what runs a command where no container can be made: nothing of this one's settings, paths and home."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(site)}
    environment |= {"NO_COLOR": "1", "COLUMNS": "80", "LANG": "C.UTF-8"}

    def run(words, directory):
        to = subprocess.PIPE
        done = subprocess.run(
            words, cwd=directory, env=environment, text=True, check=False, stdout=to, stderr=subprocess.STDOUT
        )
        return done.returncode, done.stdout

    return run


@pytest.mark.long
def test_the_readme_leads_through_everything_with_the_wheel_and_nothing_else(tmp_path, record_property):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("tagloom-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    made = not needs.missing("bubblewrap")
    if needs.strict():
        needs.require("bubblewrap")
    record_property("where", "container" if made else "environment")
    with ExitStack() as ending:
        if made:
            inside = Container(tmp_path / "home", tmp_path / "site", tmp_path / "work")
            ending.callback(inside.close)
            start = inside.run
            status, shown = start(["/bin/sh", "-c", "ls -A ~; test ! -e " + str(ROOT / "README.md")], tmp_path / "work")
            assert (status, shown) == (0, ""), "no checkout and nothing of anybody's home is in there"
        else:
            start = in_an_environment(tmp_path / "site", tmp_path / "home")
        begun = []

        def run(command, directory):
            words = TARGETS.get(" ".join(command.words), command.words)
            assert words[0] == "tagloom", command.line
            begun.append(" ".join(words[1:]))
            status, printed = start([sys.executable, "-P", "-m", "tagloom.cli", *words[1:]], directory)
            return status, PROGRESS.sub("", printed)

        run_blocks([block for block in blocks_of(ROOT / "README.md") if block.example is None], tmp_path / "work", run)
    assert [step for step in STEPS if not any(line.startswith(step) for line in begun)] == []
