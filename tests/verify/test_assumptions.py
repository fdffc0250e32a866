"""What proofs assume: one table, one document, and for each fabric the assumptions that its proof rests on."""

import json
from dataclasses import replace

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.cli import main
from tagloom.platforms.family import families
from tagloom.verify.assumptions import ANY, ASSUMPTIONS, as_markdown

ALWAYS = {
    "the cables",
    "switches hold",
    "switches learn",
    "static entries",
    "frames pass",
    "hosts have",
    "with spanning tree",
    "multicast",
}
CASES = [
    ({"model": "powerconnect-5324"}, {}, {"a port may", "ports that take"}),
    ({"model": "powerconnect-6224"}, {}, {"a port may", "hosts send"}),
    ({"model": "powerconnect-6224"}, {"routing": "tree"}, set()),
    ({"model": "powerconnect-6224"}, {"routing": "tree", "assignment": "renamed"}, set()),
    ({"model": "powerconnect-5324", "extra": 'flow_control: "on"\n'}, {"routing": "tree"}, {"ports that", "PAUSE"}),
    (
        {"model": "powerconnect-5324", "parallel": 2, "lag": True},
        {"routing": "tree"},
        {"ports that", "a port-channel"},
    ),
    (
        {"model": "powerconnect-5324"},
        {"assignment": "renamed", "routing": "up-down"},
        {"a port may", "ports that", "entries for"},
    ),
    (
        {"model": "powerconnect-5324"},
        {"assignment": "renamed", "routing": "up-down", "static_arp": True},
        {"a port may", "ports that", "hosts know"},
    ),
    (
        {
            "model": "powerconnect-5324",
            "extra": 'management: {vlan: 9, controller: "s0:g24", links: ["s0:g1", "s1:g2", "s2:g2", "s3:g2"]}\n',
        },
        {"routing": "tree"},
        {"ports that", "the management"},
    ),
    (
        {"model": "powerconnect-5324", "extra": "hosts: {h0: {uplink: true}}\n"},
        {"routing": "tree"},
        {"ports that", "nothing joins two uplinks"},
    ),
]


@pytest.mark.parametrize(
    ("options", "how", "besides"), CASES, ids=lambda part: str(sorted(part) if isinstance(part, set) else part)[:60]
)
def test_a_proof_names_what_it_rests_on(templates, options, how, besides):
    fabric = make_fabric("ring", 5, **options)
    build, proof, _ = pipeline.plan(fabric, templates, **how)
    named = {each["name"] for each in pipeline.assumptions(fabric, build.state, proof)}
    for start in ALWAYS | besides:
        assert any(name.startswith(start) for name in named), start
    assert len(named) == len(ALWAYS | besides), named


def test_every_family_is_told_how_likely_each_is_and_how_to_check_it(templates):
    for each in ASSUMPTIONS:
        assert set(each.likelihood) <= {ANY, *families()}
        said = each.to_json(families())
        assert all(said.values()), each.name
        assert all(each.to_json((family,))["likelihood"] for family in families())
    fabric = make_fabric("ring", 3, model="linux-bridge")
    mixed = replace(fabric, switches=(replace(fabric.switches[0], model="powerconnect-5324"), *fabric.switches[1:]))
    mixed = replace(mixed, ports=tuple(platforms.of(switch).ports for switch in mixed.switches))
    build, proof, _ = pipeline.plan(mixed, templates)
    (said,) = (a for a in pipeline.assumptions(mixed, build.state, proof) if a["name"].startswith("static entries"))
    assert "Linux 6.1" in said["likelihood"]
    assert "not measured" in said["likelihood"]


def test_the_page_is_the_table():
    assert (ROOT / "docs" / "assumptions.md").read_text("utf-8") == as_markdown()


@pytest.mark.parametrize("command", ["plan", "verify"])
def test_the_commands_print_them_where_asked(command, tmp_path, capsys):
    fabric, build = tmp_path / "f.yml", tmp_path / "b"
    fabric.write_text("name: r\nmodel: powerconnect-6224\nshape: {family: ring, dims: [4]}\n")
    assert main(["plan", str(fabric), "-o", str(build), "--json"]) == 0
    assert "assumptions" not in json.loads(capsys.readouterr().out)
    words = ["verify", str(build)] if command == "verify" else ["plan", str(fabric), "-o", str(build)]
    assert main([*words, "--assumptions", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert all(set(each) == {"name", "why", "likelihood", "check"} for each in page["assumptions"])
    assert (page["tagged_frames_safe"], page["tagged_frames_ports"]) == (False, 4)
    assert page["tagged_frames_cycle"]
    assert main([*words, "--assumptions"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for each in page["assumptions"]:
        assert f"assumes {each['name']}" in shown
        assert f"check: {each['check']}" in shown
    assert "assumed hosts send untagged frames only" in shown
