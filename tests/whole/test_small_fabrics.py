"""One switch alone, and a switch without hosts that nothing connects: every command takes them."""

import shutil
from dataclasses import replace

import pytest

from fabrics import ROOT, make_irregular
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.read.fabric_file import parse_fabric

pytestmark = pytest.mark.kernel

CASES = ROOT / "tests" / "data" / "cases"


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize(("case", "pairs"), [("crash1", 2), ("hostless", 2)])
def test_it_plans_verifies_checks_renders_forecasts_and_reports(
    case, pairs, assignment, tmp_path, answer, check_certificate
):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    shutil.copy(CASES / f"{case}.yml", fabric)
    status, page = answer("plan", fabric, "-o", build, "--assignment", assignment)
    assert (status, page["unreachable_pairs"], page["reachable_pairs"]) == (0, 0, pairs)
    assert page["deadlock_free"] is page["storm_free"] is page["broadcast_exactly_once"] is True
    for words in ((build,), ("--fabric", build / "fabric.yml", "--configs", build / "configs", "--what-if")):
        status, page = answer("verify", *words)
        assert (status, page["reachable_pairs"], page["findings"]) == (0, pairs, [])
    assert check_certificate(build)[0] == 0
    status, page = answer("predict", build, "--traffic", "pattern:uniform", "--seconds", 1)
    assert (status, page["lost_bytes"]) == (0, 0)
    assert page["watts_before"] > 0
    assert answer("report", build, "-o", tmp_path / "r.html")[0] == 0
    assert "</html>" in (tmp_path / "r.html").read_text()
    assert answer("regulate", fabric, "--traffic", "pattern:uniform", "-o", tmp_path / "s.json")[0] == 0
    for method in ("greedy", "optimal"):
        assert answer("regulate", fabric, "--traffic", "pattern:uniform", "--method", method)[0] == 0
    assert answer("rollout", "--greenfield", build, "-o", tmp_path / "g")[0] == 0


@pytest.mark.parametrize("prefer", ["vlans", "load"])
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("routing", ["auto", "any", "up-down", "tree"])
@pytest.mark.parametrize("hosts", [[1], [3], [2, 0], [0, 2, 1]], ids=str)
def test_every_general_routing_plans_past_it(hosts, routing, assignment, prefer):
    links = [(1, 2)] if len(hosts) == 3 else []
    text_links = [(0, 1), *links] if len(hosts) > 1 else []
    whole = make_irregular(hosts, text_links)
    fabric = whole.with_links_down({0} if text_links else ())
    build, proof, _ = pipeline.plan(fabric, ROOT / "templates", routing=routing, assignment=assignment, prefer=prefer)
    assert proof.proven, [str(finding) for finding in proof.findings]
    assert pipeline.summary_of(build, proof)["max_channel_load"] == (2 if links else 0)


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_a_spine_falls_asleep_and_wakes_by_rollouts(assignment, tmp_path, answer, check_certificate):
    fabric = tmp_path / "f.yml"
    assert answer("new", "fat-tree", "--dims", 2, 4, 2, "-o", fabric)[0] == 0
    ends = [f"s13:g{n}" for n in range(1, 5)]  # one of the two at the top
    assert answer("plan", fabric, "-o", tmp_path / "awake", "--assignment", assignment)[0] == 0
    status, page = answer("plan", fabric, "-o", tmp_path / "asleep", "--assignment", assignment, "--off", *ends)
    assert (status, page["links_off"], page["unreachable_pairs"]) == (0, 4, 0)
    assert check_certificate(tmp_path / "asleep")[0] == 0
    for old, new in (("awake", "asleep"), ("asleep", "awake")):
        status, page = answer("rollout", tmp_path / old, tmp_path / new, "-o", tmp_path / f"to-{new}")
        assert (status, page["peak_lost_pairs"]) == (0, 0)


def test_a_switch_with_hosts_or_without_any_cable_is_refused_still():
    with pytest.raises(InputError, match="a connected fabric, actual no way from s0 to s2"):
        parse_fabric((CASES / "hostless.yml").read_text() + "  h2: {switch: s2, port: g10}\n", "test")
    with pytest.raises(InputError, match="a connected fabric, actual no way from s0 to s1"):
        make_irregular([2, 0], [])
    with pytest.raises(InputError, match="links that are up to connect all hosts, actual no way to s1"):
        pipeline.plan(make_irregular([1, 1, 0], [(0, 1), (1, 2)]).with_links_down({0}), ROOT / "templates")


def test_a_dead_switch_may_cut_off_one_without_hosts(templates):
    fabric = make_irregular([2, 1, 0], [(0, 1), (1, 2)]).with_switches_down({1})
    build, proof, texts = pipeline.plan(fabric, templates)
    assert proof.proven
    assert sorted(texts) == ["s0", "s2"]
    assert build.state["s2"].vlans.tolist() == [1]


@pytest.mark.slow
@pytest.mark.parametrize("routing", ["up-down", "any"])
def test_compiled_loops_plan_past_it(routing):
    """From 128 switches on, routing is compiled."""
    shape = "name: big\nmodel: linux-bridge\nshape: {family: tree, dims: [5, 3], hosts: 1}\n"
    fabric = parse_fabric(shape, "test")
    last = len(fabric.switches) - 1
    links = {i for i, link in enumerate(fabric.links) if last in (link.a, link.b)}
    fabric = replace(fabric, hosts=fabric.hosts[:last]).with_links_down(links)
    _, proof, _ = pipeline.plan(fabric, ROOT / "templates", routing=routing, texts=False, effort=0)
    assert (proof.proven, proof.pairs) == (True, last * (last - 1))
