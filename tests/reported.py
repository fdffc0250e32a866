"""Make a site for the tests of reports, scores and sweeps: a build, its settings, the rollout there, a timetable."""

import contextlib
import io

import pytest

from fabrics import ROOT
from tagloom.cli import main

LU = ROOT / "tests" / "data" / "npb" / "lu.S.16.matrix.csv"


@pytest.fixture(scope="session", name="site")
def make_site(tmp_path_factory):
    home = tmp_path_factory.mktemp("report")
    choose = ["regulate", home / "f.yml", "--traffic", LU, "--method", "greedy", "--levels", "off,100"]
    run = [
        ["new", "torus", "--dims", "4", "4", "--parallel", "2", "-o", home / "f.yml"],
        ["plan", home / "f.yml", "-o", home / "b0"],
        [*choose, "-o", home / "night.json"],
        ["plan", home / "f.yml", "--settings", home / "night.json", "--previous", home / "b0", "-o", home / "b1"],
        ["rollout", home / "b0", home / "b1", "-o", home / "to-night"],
    ]
    with contextlib.redirect_stdout(io.StringIO()):
        for words in run:
            assert main([str(word) for word in words]) == 0
    rules = '- {when: "30 6 * * *", settings: all-on}\n- {when: "0 20 * * *", settings: night.json}\n'
    (home / "day.yml").write_text(rules)
    return home
