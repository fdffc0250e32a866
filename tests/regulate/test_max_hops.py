"""Paths get longer where links go: every method says how long, keeps --max-hops, and frames take no more."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import pipeline
from tagloom.cli import main
from tagloom.errors import InputError, PlanError
from tagloom.graph.paths import max_hops
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.repair_target import failures_left
from tagloom.read import read_traffic
from tagloom.records.traffic import Traffic
from tagloom.regulate import routes_of
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.forest import net_of, trees_of
from tagloom.regulate.settings_file import read_result, to_json, with_links_off

pytestmark = pytest.mark.kernel

LIGHT = Traffic(np.eye(9, k=1), np.eye(9, k=1))  # a neighbour's byte, which any tree carries


def choose(fabric, traffic, assignment="fixed", **options):
    ticks = iter(range(10_000))  # every look at the clock takes a second
    options.setdefault("time_limit_seconds", 20.0)
    return pipeline.regulate(
        fabric, traffic, "auto", assignment, lambda *_: None, RegulateOptions(**options), lambda: next(ticks)
    )


def by_frames(fabric, settings, assignment, tmp_path):
    """Return the switches on the path of each pair's frame, sent through the planned switches; 1 to oneself."""
    path = tmp_path / "s.json"
    path.write_text(json.dumps(to_json(fabric, settings)))
    smaller = with_links_off(fabric, [], path)
    build, proof, _ = pipeline.plan(
        smaller, ROOT / "templates", assignment=assignment, regulated=read_result(smaller, path), texts=False
    )
    assert proof.proven
    plane = Dataplane(smaller, build.state)
    names = [host.name for host in fabric.hosts]
    return [len({hop.switch for hop in plane.unicast(a, b).path}) if a != b else 1 for a, b in product(names, names)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("assignment", "options"),
    [
        ("fixed", {"method": "static"}),
        ("fixed", {"method": "greedy", "allow_cut": True}),
        ("fixed", {"method": "optimal", "allow_cut": True}),
        ("renamed", {"method": "greedy", "allow_cut": True}),
        ("fixed", {"method": "static", "survive": True}),
        ("fixed", {"method": "greedy", "allow_cut": True, "survive": True}),
    ],
    ids=str,
)
def test_no_frame_takes_more_switches_than_were_allowed_and_all_are_said(assignment, options, tmp_path):
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324")
    survives = {"survives": lambda less: not failures_left(less, fabric)} if options.pop("survive", False) else {}
    free = choose(fabric, LIGHT, assignment, **options, **survives)
    hops = by_frames(fabric, free, assignment, tmp_path)
    assert (max(hops), np.mean(hops)) == (free.max_hops_after, pytest.approx(free.average_hops_after))
    assert free.max_hops_before == 5
    kept = choose(fabric, LIGHT, assignment, **options, **survives, max_hops=5)
    hops = by_frames(fabric, kept, assignment, tmp_path)
    assert max(hops) == kept.max_hops_after == 5
    assert kept.links_off, "there is room within the limit"


@pytest.mark.parametrize("method", ["static", "greedy", "optimal"])
def test_without_a_limit_paths_of_the_3x3_mesh_get_longer(method):
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324")
    assert choose(fabric, LIGHT, method=method, allow_cut=True).max_hops_after > 5


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_is_too_long_where_some_pair_of_its_hosts_says_so(seed):
    """Sets of trees are refused exactly where the walk from some host is longer than allowed."""
    chance = np.random.default_rng(seed)
    fabric = make_irregular(
        [*chance.integers(0, 3, 6).tolist(), 1], [(int(chance.integers(v)), v) for v in range(1, 7)]
    )
    hosts = len(fabric.hosts)
    traffic = Traffic(np.zeros((hosts, hosts)), np.zeros((hosts, hosts)))
    routes = routes_of(fabric, [list(range(6))], np.zeros(hosts, np.int64), "", "")
    longest = max_hops(fabric, routes)
    for most in range(1, 8):
        fits = trees_of(fabric, net_of(fabric, traffic, most), routes, 4) is not None
        assert fits == (most >= longest)


def test_a_limit_that_no_paths_keep_is_a_finding_and_one_that_the_planner_does_not_keep_is_refused():
    mesh, torus = make_fabric("mesh", 3, 3), make_fabric("torus", 5, 5, model="powerconnect-5324")
    for method in ("static", "greedy"):
        with pytest.raises(InputError, match="--max-hops: expected 5 switches or more"):
            choose(mesh, LIGHT, method=method, max_hops=4)
        traffic = read_traffic(Path("pattern:uniform"), torus)
        with pytest.raises(PlanError, match="every path must have at most 5 switches"):
            choose(torus, traffic, method=method, max_hops=5)


@pytest.mark.slow
def test_both_commands_take_the_limit_and_show_the_paths(tmp_path, capsys):
    assert main(["new", "mesh", "--dims", "3", "3", "-o", str(tmp_path / "f.yml")]) == 0
    (tmp_path / "t.csv").write_text("# seconds: 3600\nsource,destination,bytes\nh0,h1,1000\n")
    (tmp_path / "d.csv").write_text("# seconds: 43200\ntime,source,destination,bytes\n00:00,h0,h1,9\n12:00,h0,h1,9\n")
    words = [str(tmp_path / "f.yml"), "--max-hops", "5", "--traffic"]
    capsys.readouterr()
    assert main(["regulate", *words, str(tmp_path / "t.csv"), "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["max_hops_before"], page["max_hops_after"]) == (5, 5)
    assert main(["regulate", *words, str(tmp_path / "t.csv")]) == 0
    assert "5 -> 5 on the longest" in " ".join(capsys.readouterr().out.split())
    assert main(["timetable", *words, str(tmp_path / "d.csv"), "--settings", "1", "--allow-cut", "--json"]) == 0
    (settings,) = json.loads(capsys.readouterr().out)["settings"]
    assert settings["max_hops"] == 5
    assert settings["links_off"] >= 2
    assert (
        main(
            [
                "timetable",
                *words,
                str(tmp_path / "d.csv"),
                "--settings",
                "1",
                "--allow-cut",
                "--max-hops",
                "9",
                "--json",
            ]
        )
        == 0
    )
    (longer,) = json.loads(capsys.readouterr().out)["settings"]
    assert longer["average_hops"] > settings["average_hops"] > 1
    assert main(["timetable", *words[:1], "--max-hops", "4", "--traffic", str(tmp_path / "d.csv")]) == 2
    assert "--max-hops" in capsys.readouterr().err
