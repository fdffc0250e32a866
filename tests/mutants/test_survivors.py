"""What is said of mutants that no test notices is said of lines that are there."""

import re

import yaml

from fabrics import ROOT

SURVIVORS = yaml.safe_load((ROOT / "tests" / "mutants" / "survivors.yml").read_text("utf-8"))


def test_each_survivor_is_a_change_of_a_line_of_its_module():
    assert len(SURVIVORS) > 10
    for entry in SURVIVORS:
        code = (ROOT / "tooling" / "tagloom" / entry["module"]).read_text("utf-8")
        assert re.sub(r"\s+", "", entry["before"]) in re.sub(r"\s+", "", code), entry
        assert entry["reason"]
