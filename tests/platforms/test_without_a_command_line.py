"""A model of which no command line is published is planned and counted, and says so where texts are asked for."""

import json
from pathlib import Path

import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.cli import main
from tagloom.errors import InputError
from tagloom.platforms.power import fabric_watts

TEMPLATES = Path(__file__).parents[2] / "templates"


def test_it_is_planned_proven_and_its_watts_are_added_up():
    fabric = make_fabric("torus", 3, 3, model="sf-0420g")
    _, proof, texts = pipeline.plan(fabric, TEMPLATES, texts=False)
    assert proof.proven
    assert texts == {}
    assert fabric_watts(fabric) == pytest.approx(9 * 32.6 + (9 + 2 * 18) * 1.0)


def test_texts_and_apply_say_what_is_missing(tmp_path, capsys):
    with pytest.raises(InputError, match="SF-0420G, of which none is: plan it with --no-texts"):
        pipeline.plan(make_fabric("ring", 3, model="sf-0420g"), TEMPLATES)
    fabric, build = tmp_path / "sf.yml", tmp_path / "build"
    assert main(["new", "ring", "--dims", "3", "--model", "sf-0420g", "-o", str(fabric)]) == 0
    assert main(["plan", str(fabric), "-o", str(build)]) == 2
    assert main(["plan", str(fabric), "-o", str(build), "--no-texts"]) == 0
    capsys.readouterr()
    assert main(["apply", str(build), "--check", "--json"]) == 2
    assert "findings" in json.loads(capsys.readouterr().out)


def test_a_tree_of_aggregated_links_can_be_asked_for(tmp_path, capsys):
    """The papers' baseline, planned, rendered and proven from its texts; and one cable less is seen."""
    fabric, build = tmp_path / "tree.yml", tmp_path / "build"
    asked = ["new", "tree", "--dims", "3", "1", "--parallel", "4", "--lag", "--hosts", "2", "-o", str(fabric)]
    assert main(asked) == 0
    assert main(["plan", str(fabric), "-o", str(build)]) == 0
    text = (build / "configs" / "s0.cfg").read_text()
    assert text.count("channel-group") == 3
    assert "permanent" not in text
    assert "bridge address 02:00:00:00:00:07 port-channel 3" in text
    capsys.readouterr()
    assert main(["verify", str(build), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["unreachable_pairs"] == 0
    s1 = build / "configs" / "s1.cfg"
    s1.write_text(s1.read_text().replace("interface range ethernet g(1-4)\nchannel", "interface ethernet g1\nchannel"))
    assert main(["verify", str(build), "--json"]) == 1
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert [f["where"] for f in findings if f["actual"] == "alone"] == ["s1:g2", "s1:g3", "s1:g4"]
