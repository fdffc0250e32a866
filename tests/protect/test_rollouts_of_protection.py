"""Detours come and go by a rollout, proven at every line, and the target's record names the VLANs as they stand."""

import json

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.cli import main
from tagloom.verify import what_if

pytestmark = pytest.mark.kernel


@pytest.fixture(scope="module", params=["fixed", "renamed"])
def builds(request, tmp_path_factory):
    fabric, root = make_fabric("torus", 3, 3, model="powerconnect-5324"), tmp_path_factory.mktemp("builds")
    how = {"assignment": request.param, "routing": "any"}
    for protect in ("none", "link"):
        build, proof, texts = pipeline.plan(fabric, ROOT / "templates", protect=protect, **how)
        pipeline.write_build(build, proof, texts, root / protect)
    return root


@pytest.mark.slow
@pytest.mark.parametrize(("old", "new"), [("none", "link"), ("link", "none"), ("link", "link")])
def test_a_rollout_brings_detours_and_takes_them_away(builds, tmp_path, capsys, old, new):
    assert main(["rollout", str(builds / old), str(builds / new), "-o", str(tmp_path / "r"), "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["downtime_seconds"] == 0
    target = pipeline.read_build(tmp_path / "r" / "build")
    assert (target.protection is not None) == (new == "link")
    if target.protection is not None:
        found = what_if(target.fabric, target.state, "links", target.detours)
        assert found.safe
        assert (found.protected, found.unprotected) == (target.protection.protected, 0)
        planned = pipeline.read_build(builds / new)
        numbers = {
            (a, b)
            for x, y in zip(planned.detours, target.detours, strict=True)
            for a, b in zip(x.pvids.values(), y.pvids.values(), strict=True)
        }
        assert len(numbers) == len(dict(numbers)) == len({b for _, b in numbers}) > 0


def test_a_plan_keeps_the_numbers_of_a_build_before(builds):
    before = pipeline.read_build(builds / "link")
    how = {"assignment": before.assignment, "previous": before, "texts": False}
    again, proof, _ = pipeline.plan(before.fabric, ROOT / "templates", routing="any", protect="link", **how)
    assert proof.proven
    assert again.detours == before.detours
    fresh, _, _ = pipeline.plan(before.fabric, ROOT / "templates", routing="up-down", protect="switch", **how)
    old = {vlan for each in before.detours for vlan in each.pvids.values()}
    kept = {vlan for each in fresh.detours for vlan in each.pvids.values()} & old
    assert all(what_if(fresh.fabric, fresh.state, kind, fresh.detours).safe for kind in ("links", "switches"))
    assert len(kept) < len(old)


def test_the_command_says_what_protection_costs_and_what_a_loss_does(builds, tmp_path, capsys):
    fabric = builds / "none" / "fabric.yml"
    kind = pipeline.read_build(builds / "none").assignment
    asked = ["plan", str(fabric), "-o", str(tmp_path / "b"), "--protect", "switch", "--assignment", kind, "--json"]
    assert main(asked) == 0
    page = json.loads(capsys.readouterr().out)
    left = {"fixed": 0, "renamed": 4}[kind]
    assert {key: page[key] for key in ("protect", "unprotected")} == {"protect": "switch", "unprotected": left}
    assert page["detour_vlans"] > 0
    assert page["protected"] == 18 * 72 + 9 * 56 - left
    for words, kind in ((["--what-if"], "entries"), (["--what-if", "links"], "links")):
        assert main(["verify", *words, "--json", str(tmp_path / "b")]) == 0
        assert json.loads(capsys.readouterr().out)["what_if"]["kind"] == kind
    assert main(["verify", "--what-if", str(tmp_path / "b")]) == 0  # bare, as it was before there were kinds
    assert "any one of" in capsys.readouterr().out
    assert main(["verify", str(tmp_path / "b"), "--what-if", "hosts"]) == 2
    assert main(["verify", str(tmp_path / "b"), "--what-if", "switches"]) == 0
    assert "a way for all still cabled" in capsys.readouterr().out
