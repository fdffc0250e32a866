"""Greedy and optimal where the paths stay the planner's own (renamed assignment): planned, proven, rolled out."""

import json
from itertools import count
from pathlib import Path

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.cli import main
from tagloom.errors import InputError
from tagloom.graph.paths import channel_load
from tagloom.platforms.power import fabric_watts
from tagloom.read import format_fabric, read_fabric, read_traffic
from tagloom.regulate import two_connected
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.settings_file import read_result, to_json, with_links_off
from thinned import few


def choose(fabric, traffic, wish, routing="auto", assignment="renamed"):
    ticks = count()  # every look at the clock takes a second
    return pipeline.regulate(fabric, traffic, routing, assignment, lambda _done, _of: None, wish, lambda: next(ticks))


@pytest.mark.slow
@pytest.mark.parametrize("routing", few(["auto", "up-down"], 1))
def test_a_renamed_plan_with_greedys_links_off_carries_what_it_said_and_proves(npb, templates, tmp_path, routing):
    fabric = make_fabric("mesh", 4, 4, parallel=2, model="powerconnect-6248")
    traffic = read_traffic(npb / "cg.S.16.matrix.csv", fabric)
    settings = choose(fabric, traffic, RegulateOptions("greedy"), routing)
    assert settings.links_off
    assert settings.two_connected
    assert settings.lower_bound_watts <= settings.watts_after
    path = tmp_path / "s.json"
    path.write_text(json.dumps(to_json(fabric, settings)))
    smaller = with_links_off(fabric, [], path)
    assert two_connected(smaller)
    assert fabric_watts(smaller) == pytest.approx(settings.watts_after)
    regulated = read_result(smaller, path)
    build, proof, _ = pipeline.plan(smaller, templates, routing=routing, assignment="renamed", regulated=regulated)
    assert proof.proven
    load = channel_load(smaller, build.routes, traffic.volume_bytes).max()
    assert load == pytest.approx(settings.max_channel_load_after)
    assert load <= settings.max_channel_load_before


def test_it_is_never_worse_than_static_where_static_may_not_cut_either(npb):
    misc = read_fabric(ROOT / "inventory" / "misc" / "fabric.yml")
    traffic = read_traffic(npb / "is.S.16.matrix.csv", misc)
    static = choose(misc, traffic, RegulateOptions("static"))
    greedy = choose(misc, traffic, RegulateOptions("greedy", allow_cut=True))
    assert greedy.saving_percent >= static.saving_percent
    optimal = choose(misc, traffic, RegulateOptions("optimal", allow_cut=True, time_limit_seconds=12.0))
    assert optimal.saving_percent >= greedy.saving_percent


def test_links_are_slowed_and_ports_sleep_with_renamed_too():
    fabric = make_fabric("ring", 4, model="powerconnect-6248")
    traffic = read_traffic(Path("pattern:uniform"), fabric)
    settings = choose(fabric, traffic, RegulateOptions("greedy", levels=(10, 100)))
    assert settings.links_off == ()
    assert settings.max_channel_load_after <= settings.max_channel_load_before
    assert settings.watts_after <= settings.watts_before


@pytest.mark.kernel
def test_the_command_line_rolls_greedys_answer_out_on_renamed(tmp_path, capsys):
    fabric = tmp_path / "fabric.yml"
    fabric.write_text(format_fabric(make_fabric("mesh", 3, 3, parallel=2, model="powerconnect-6248")))
    before, settings, after = (str(tmp_path / name) for name in ("before", "s.json", "after"))
    renamed = ["--assignment", "renamed"]
    assert main(["plan", str(fabric), *renamed, "-o", before]) == 0
    traffic = ["--traffic", "pattern:uniform", "--method", "greedy"]
    assert main(["regulate", str(fabric), *traffic, *renamed, "-o", settings]) == 0
    assert f"tagloom plan {fabric} --assignment renamed --settings {settings} -o build" in capsys.readouterr().out
    assert main(["plan", str(fabric), *renamed, "--settings", settings, "--previous", before, "-o", after]) == 0
    assert main(["verify", after]) == 0
    assert main(["rollout", before, after, "-o", str(tmp_path / "change")]) == 0
    page = json.loads((tmp_path / "change" / "rollout.json").read_text())
    assert page["peak_lost_pairs"] == 0


def test_settings_that_make_a_link_faster_than_its_ports_are_refused(tmp_path):
    fabric = make_fabric("ring", 3, model="powerconnect-5324")
    link = fabric.links[0]
    ends = [f"s{link.a}:g{link.a_port}", f"s{link.b}:g{link.b_port}"]
    (tmp_path / "s.json").write_text(json.dumps({"off": [], "slowed": [{"ends": ends, "mbps": 10000}]}))
    with pytest.raises(InputError, match="at most 1000, the best speed of s0:g"):
        with_links_off(fabric, [], tmp_path / "s.json")
