"""Fabrics on which rollouts once failed, planned, rolled out and verified by the command line as a user would."""

import json

import pytest

from fabrics import ROOT
from tagloom.cli import main

pytestmark = pytest.mark.kernel

CASES = ROOT / "tests" / "data" / "cases" / "rollout"


def tagloom(capsys, *words):
    """Run a command with --json; return its exit status and output."""
    status = main([*map(str, words), "--json"])
    return status, json.loads(capsys.readouterr().out)


def planned(capsys, directory, case, *words):
    status, _ = tagloom(capsys, "plan", CASES / f"{case}.yml", "-o", directory, *words)
    assert status == 0
    return directory


def test_an_aggregated_link_is_up_before_frames_take_it(tmp_path, capsys):
    """Its port-channel was opened in the first wave, and the members behind it in the last."""
    old = planned(capsys, tmp_path / "a", "lag-f", "--off", "s0:1/g2")
    new = planned(capsys, tmp_path / "b", "lag-f", "--off", "s0:1/g1")
    status, change = tagloom(capsys, "rollout", old, new, "-o", tmp_path / "r")
    assert (status, change["peak_lost_pairs"], change["strategy"]) == (0, 0, "direct")
    waves = sorted((tmp_path / "r" / "waves").iterdir(), key=lambda path: int(path.name))
    assert len(waves) == change["waves"] == 3
    for wave in waves:
        status, proof = tagloom(capsys, "verify", "--fabric", CASES / "lag-f.yml", "--configs", wave)
        assert proof["unreachable_pairs"] == 0, wave


@pytest.mark.parametrize("kind", ["lag-g", "lag-p"])
def test_a_link_in_use_keeps_its_speed_aggregated_or_not(tmp_path, capsys, kind):
    slow, fast = ("25", "15") if kind == "lag-g" else ("2", "1")
    old = planned(capsys, tmp_path / "old", kind + fast)
    new = planned(capsys, tmp_path / "new", kind + slow)
    for one, other in ((old, new), (new, old)):
        status = main(["rollout", str(one), str(other), "-o", str(tmp_path / "r")])
        assert status == 1
        assert "retrained" in capsys.readouterr().err
    status, change = tagloom(capsys, "rollout", old, new, "-o", tmp_path / "r", "--allow", "drain")
    assert (status, change["strategy"]) == (0, "drain")
    assert change["downtime_seconds"] > 0


def test_a_tree_that_leaves_out_a_switch_without_hosts_ends_the_search(tmp_path, capsys):
    """The gap of a slide was sought in a cycle that the missing link does not close."""
    old = planned(capsys, tmp_path / "mc", "hang6-min", "--routing", "any", "--assignment", "renamed")
    new = planned(capsys, tmp_path / "mb", "hang6-min", "--routing", "up-down", "--root", "s4")
    status, change = tagloom(capsys, "rollout", old, new, "-o", tmp_path / "r")
    assert (status, change["strategy"], change["peak_lost_pairs"]) == (0, "slides", 0)
