"""A newcomer's path: README alone, the wheel alone, and an environment that holds nothing else."""

import subprocess
import sys
import zipfile

import pytest

from console_blocks import PROGRESS, TARGETS, blocks_of, run_blocks
from fabrics import ROOT

STEPS = ("demo", "new", "plan", "lab up", "apply", "lab fault", "repair", "rollback", "lab down")


@pytest.mark.long
def test_the_readme_leads_through_everything_with_the_wheel_and_nothing_else(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", tmp_path, ROOT]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("tagloom-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    for name in ("home", "work"):
        (tmp_path / name).mkdir()
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path / "home"), "PYTHONPATH": str(tmp_path / "site")}
    environment |= {"NO_COLOR": "1", "COLUMNS": "80", "LANG": "C.UTF-8"}
    begun = []

    def run(command, directory):
        words = TARGETS.get(" ".join(command.words), command.words)
        assert words[0] == "tagloom", command.line
        begun.append(" ".join(words[1:]))
        line = [sys.executable, "-P", "-m", "tagloom.cli", *words[1:]]
        to = subprocess.PIPE
        done = subprocess.run(
            line, cwd=directory, env=environment, text=True, check=False, stdout=to, stderr=subprocess.STDOUT
        )
        return done.returncode, PROGRESS.sub("", done.stdout)

    run_blocks([block for block in blocks_of(ROOT / "README.md") if block.example is None], tmp_path / "work", run)
    assert [step for step in STEPS if not any(line.startswith(step) for line in begun)] == []
