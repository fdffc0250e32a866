"""What is printed as next on a rack leads to a build that runs, family by family."""

import json
import os
import re
import shlex

import pytest

from command_line import commands
from tagloom.lab import process
from thinned import few

pytestmark = pytest.mark.slow
MOST_COMMANDS = 6
RACKS = [
    ("ring", "4", "powerconnect-5324"),
    ("ring", "3", "hpe-5130-24g-4sfp"),  # has no hitless way
    ("ring", "3", "mikrotik-crs326-24g-2s"),  # takes one assignment alone
    ("torus", "3 3", "powerconnect-6248"),
    ("complete", "4", "powerconnect-5548"),
    ("ring", "3", "n-series"),
    ("ring", "3", "cisco-sg350-28"),
    ("tree", "2 2", "cisco-sg300-28"),
    ("ring", "3", "huawei-s5720-52x-ei"),
    ("ring", "3", "arista-7010t-48"),
    ("ring", "4", "linux-bridge"),
]


def advised(shown):
    """Return the commands that a screen names as next, in order."""
    wrapped = re.compile(r"^next {6}(.+(?:\n {10}.+)*)", re.MULTILINE)
    rows = [" ".join(found.split()) for found in wrapped.findall(shown)]
    return [words.removeprefix("tagloom ") for row in rows for words in row.split(", then ")]


@pytest.mark.parametrize(("family", "dims", "model"), few(RACKS, 1))
def test_what_is_advised_leads_to_a_build_that_runs(tmp_path, family, dims, model):
    def run(words):
        done = commands.run(shlex.split(words), tmp_path, os.environ | {"NO_COLOR": "1"})
        assert done.returncode in {0, 1}, (words, done.stdout, done.stderr)
        return done

    run(f"new {family} --dims {dims} --model {model} -o f.yml")
    up = run("lab up f.yml").stdout
    try:
        plan, apply = advised(up)
        assert "--allow" not in up
        todo, allowed = [plan], ""
        for _ in range(MOST_COMMANDS):
            if not todo:
                break
            words = todo[0]
            done = run(words)
            refused = done.returncode == 1
            assert not refused or ("--check" in words and not allowed), (words, done.stdout, done.stderr)
            todo = advised(done.stdout)
            allowed = allowed or next((" --allow interrupt" for each in todo if "--allow" in each), "")
        assert words == f"{apply}{allowed}"
        assert process.ping(tmp_path / "inventory/lab")["lost"] == 0
        page = json.loads(run("status --json").stdout)
        assert (page["next"], page["differs"]) == ("", [])
    finally:
        process.down(tmp_path / "inventory/lab")


def test_a_rack_elsewhere_is_named_in_what_is_advised(tmp_path):
    commands.run(["new", "ring", "--dims", "3", "-o", "f.yml"], tmp_path)
    up = commands.run(["lab", "up", "f.yml", "--dir", "rack"], tmp_path).stdout
    try:
        assert advised(up) == ["plan f.yml -o build -i rack", "apply build -i rack"]
        assert commands.run(shlex.split(advised(up)[0]), tmp_path).returncode == 0
    finally:
        process.down(tmp_path / "rack")
