"""The certificate of a build, and the stand-alone script that checks it against the texts."""

import ast
import json
import re
import sys

import networkx as nx
import numpy as np
import pytest

from fabrics import ROOT, make_fabric
from tagloom.cli import main
from tagloom.graph.cycles import find_cycle, ranks
from tagloom.pipeline import plan, write_build

FABRICS = {
    "mesh": ("mesh", (4, 4), {}),
    "torus": ("torus", (4, 4), {"parallel": 2}),
    "fat tree": ("fat-tree", (2, 4, 2), {"hosts": 2}),
}
MODELS = ("powerconnect-5324", "powerconnect-6248")


def make_build(directory, templates, name, model, assignment):
    family, dims, options = FABRICS[name]
    build, proof, texts = plan(make_fabric(family, *dims, model=model, **options), templates, assignment=assignment)
    write_build(build, proof, texts, directory)
    return directory


@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", FABRICS)
def test_a_good_build_has_a_certificate_that_checks(tmp_path, templates, name, model, assignment, check_certificate):
    status, said = check_certificate(make_build(tmp_path / "b", templates, name, model, assignment))
    assert (status, said[:4]) == (0, "yes:"), said


def test_a_link_that_is_down_and_a_slow_one_check(tmp_path, templates, check_certificate):
    extra = 'flow_control: "on"\nlinks:\n  - {ends: ["s0:g20", "s5:g20"], state: down}\n'
    extra += '  - {ends: ["s1:g20", "s6:g20"], speed: 100}\n'
    fabric = make_fabric("mesh", 4, 4, model="powerconnect-5324", extra=extra)
    build, proof, texts = plan(fabric, templates)
    write_build(build, proof, texts, tmp_path / "b")
    assert check_certificate(tmp_path / "b")[0] == 0


@pytest.fixture(scope="module")
def torus(tmp_path_factory, templates):
    return {
        model: make_build(tmp_path_factory.mktemp("certificate") / "b", templates, "torus", model, "fixed")
        for model in MODELS
    }


EDITS = {
    "powerconnect-5324": [
        ("switchport general pvid 100", "switchport general pvid 107"),
        ("switchport general pvid 100", "switchport general pvid 4095"),
        ("switchport general pvid 100", "switchport general pvid 99"),
        ("allowed vlan add 102-105 tagged", "allowed vlan add 102-104 tagged"),
        ("vlan 100-107", "vlan 100-106"),
        ("bridge address 02:00:00:00:00:01 ethernet g4", "bridge address 02:00:00:00:00:01 ethernet g2"),
        ("bridge address 02:00:00:00:00:01 ethernet g4\n", ""),
        ("switchport mode general\n", ""),
        ("acceptable-frame-type tagged-only", "acceptable-frame-type untagged-only"),
        ("no spanning-tree", "spanning-tree"),
        ("switchport general allowed vlan remove 1", "shutdown"),
        ("name tagloom", "nome tagloom"),
        ("no spanning-tree", "interface ethernet g1\nspeed 100\nexit\nno spanning-tree"),
        ("no spanning-tree", "interface ethernet g1\nno negotiation\nexit\nno spanning-tree"),
    ],
    "powerconnect-6248": [
        ("switchport general pvid 100", "switchport general pvid 107"),
        ("switchport general allowed vlan add 100-107\n", "switchport general allowed vlan add 100-106\n"),
        ("switchport general allowed vlan add 100-107\n", "switchport general allowed vlan add 100-107 tagged\n"),
        ("bridge address 0200.0000.0001 ethernet 1/g4", "bridge address 0200.0000.0001 ethernet 1/g2"),
        ("bridge address 0200.0000.0001 ethernet 1/g4 permanent\n", ""),
        ("vlan 100-107", "vlan 100-106"),
    ],
}


@pytest.mark.parametrize(("model", "was", "now"), [(m, *edit) for m, edits in EDITS.items() for edit in edits])
def test_an_edited_text_is_a_no(torus, model, was, now, check_certificate):
    path = torus[model] / "configs" / "s0.cfg"
    text = path.read_text()
    assert was in text
    path.write_text(text.replace(was, now, 1))
    try:
        status, said = check_certificate(torus[model])
    finally:
        path.write_text(text)
    assert (status, said[:3]) == (1, "no:"), said


@pytest.fixture
def edited_ranks(check_certificate):
    """Return what checks a build whose ranks a function has edited: (exit status, output)."""

    def edited_ranks(build, edit):
        path = build / "plan.json"
        before = path.read_text()
        page = json.loads(before)
        edit(page["certificate"]["ranks"])
        path.write_text(json.dumps(page))
        try:
            return check_certificate(build)
        finally:
            path.write_text(before)

    return edited_ranks


def test_every_rank_that_is_lowered_below_its_predecessors_is_a_no(torus, edited_ranks):
    build = torus["powerconnect-5324"]
    rows = json.loads((build / "plan.json").read_text())["certificate"]["ranks"]
    high = [at for at, (_, _, rank) in enumerate(rows) if rank]
    assert len(high) > 10
    for at in high[::7]:
        status, said = edited_ranks(build, lambda ranks, at=at: ranks[at].__setitem__(2, 0))
        assert status == 1
        assert "waits for" in said


def test_a_rank_that_is_missing_is_a_no_and_one_of_no_channel_is_unreadable(torus, edited_ranks):
    build = torus["powerconnect-5324"]
    assert edited_ranks(build, lambda ranks: ranks.remove(max(ranks, key=lambda row: row[2])))[0] == 1
    assert edited_ranks(build, lambda ranks: ranks[0].__setitem__(0, "s0:g24"))[0] == 2
    assert edited_ranks(build, lambda ranks: ranks[0].__setitem__(2, None))[0] == 2


NESTED = "[" * 100_000
RANKS = ["Infinity", "-Infinity", "NaN", "1e400", "1e3", "9" * 5000, "-1", "true", '"5"', "null", "[3]", "{}", "32768"]


@pytest.mark.parametrize("rank", RANKS, ids=lambda rank: rank[:12])
def test_a_rank_that_is_no_channel_s_is_one_plain_refusal(torus, rank, check_certificate):
    path = torus["powerconnect-5324"] / "plan.json"
    before = path.read_text()
    page = json.loads(before)
    page["certificate"]["ranks"][0][2] = "HERE"
    path.write_text(json.dumps(page).replace('"HERE"', rank))
    try:
        status, said = check_certificate(torus["powerconnect-5324"])
    finally:
        path.write_text(before)
    assert (status, said[:12], said.count("\n")) == (2, "cannot read:", 1), said


@pytest.mark.parametrize(
    "text",
    [
        "", "null", "3", "[]", "{}", '{"certificate": 3}', '{"certificate": {}}', '{"certificate": {"ranks": 7}}',
        '{"certificate": {"ranks": [[]]}}', '{"certificate": {"ranks": [["s0:g1"]]}}',
        '{"certificate": {"ranks": [[1, 2, 3]]}}', '{"certificate": {"ranks": [[["s0"], "s0:g1", 3]]}}',
        '{"certificate": {"ranks": {"s0:g1": 3}}}', NESTED, f'{{"certificate": {{"ranks": {NESTED}', "\udcff\udcfe",
    ],
    ids=lambda text: text[:40],
)  # fmt: skip
def test_a_certificate_of_any_other_form_is_one_plain_refusal(torus, text, check_certificate):
    path = torus["powerconnect-5324"] / "plan.json"
    before = path.read_text()
    path.write_text(text, "utf-8", "surrogateescape")
    try:
        status, said = check_certificate(torus["powerconnect-5324"])
    finally:
        path.write_text(before)
    assert (status, said[:12], said.count("\n")) == (2, "cannot read:", 1), said


def test_a_text_with_endless_vlans_is_a_no_at_once(torus, check_certificate):
    build = torus["powerconnect-5324"]
    path = build / "configs" / "s0.cfg"
    text = path.read_text()
    path.write_text(text.replace("vlan 100-107", "vlan 100-99999999999", 1))
    try:
        status, said = check_certificate(build)
    finally:
        path.write_text(text)
    assert status, said


@pytest.mark.kernel
@pytest.mark.parametrize("assignment", ["fixed", "renamed"])
def test_texts_over_a_link_that_is_declared_down_are_a_no_with_a_witness(
    tmp_path, assignment, capsys, check_certificate
):
    """The texts of the same cabling with all links up, judged against a file that says one of them is down."""
    dead = ROOT / "tests" / "data" / "cases" / "misc-dead-f.yml"
    whole = tmp_path / "f.yml"
    whole.write_text(dead.read_text().replace(", state: down", ""))
    build = tmp_path / "b"
    assert main(["plan", str(whole), "-o", str(build), "--assignment", assignment, "--prefer", "load"]) == 0
    fabric = build / "fabric.yml"
    text = fabric.read_text()
    found = []
    for number in (1, 2):
        ends = f'["s0:1/g{number}", "s1:1/g{number}"]'
        assert ends in text
        fabric.write_text(text.replace(f"- {ends}", f"- {{ends: {ends}, state: down}}"))
        capsys.readouterr()
        status = main(["verify", "--fabric", str(fabric), "--configs", str(build / "configs"), "--json"])
        page = json.loads(capsys.readouterr().out)
        said = check_certificate(build)
        found.append((status, said[0]))
        if status:
            assert any("declared down" in finding["actual"] + finding["expected"] for finding in page["findings"])
            assert re.search(rf"waits for s\d:1/g{number}: .* on a link that is declared down", said[1])
    assert (1, 1) in found
    assert set(found) <= {(0, 0), (1, 1)}  # the link that nothing uses may as well be dead


def test_a_build_that_cannot_be_read_is_2(tmp_path, templates, check_certificate):
    assert check_certificate(tmp_path)[0] == 2
    build = make_build(tmp_path / "b", templates, "mesh", "powerconnect-5324", "fixed")
    text = (build / "fabric.yml").read_text()
    (build / "fabric.yml").write_text(text.replace("mac:", "address:", 1))
    status, said = check_certificate(build)
    assert status == 2
    assert "not in the regular form" in said


def test_the_checker_can_be_read_in_ten_minutes_and_needs_nobody():
    text = (ROOT / "tooling" / "check_certificate.py").read_text()
    assert len(text.splitlines()) < 150
    imported = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Import | ast.ImportFrom)]
    names = {n.name if isinstance(i, ast.Import) else i.module for i in imported for n in i.names}
    assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names


def test_ranks_climb_along_every_dependency_and_are_as_low_as_can_be():
    draw = np.random.default_rng(1)
    for _ in range(50):
        channels = int(draw.integers(1, 30))
        place = draw.permutation(channels)
        a, b = (draw.integers(0, channels, 60) for _ in range(2))
        up = place[a] < place[b]
        before, after = a[up], b[up]
        rank = ranks(channels, before, after)
        assert np.all(rank[before] < rank[after])
        for c in range(channels):
            assert rank[c] == max(rank[before[after == c]] + 1, default=0)


def test_a_cycle_has_no_ranks():
    before, after = np.array([0, 1, 2, 3]), np.array([1, 2, 1, 0])
    assert find_cycle(4, before, after)
    with pytest.raises(ValueError, match="cycle"):
        ranks(4, before, after)
    assert ranks(0, np.array([], int), np.array([], int)).tolist() == []


def test_a_plan_without_texts_is_proven_and_no_build(tmp_path, capsys):
    fabric = tmp_path / "f.yml"
    fabric.write_text("name: t\nmodel: linux-bridge\nshape: {family: torus, dims: [4, 4], parallel: 2}\n")
    assert main(["plan", str(fabric), "-o", str(tmp_path / "b"), "--no-texts", "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert (page["proven"], page["texts_proven"], page["vlans"]) == (True, False, 8)
    assert {path.name for path in (tmp_path / "b").iterdir()} == {"plan.json", ".tagloom"}
    assert main(["verify", str(tmp_path / "b")]) == 2


def test_the_witness_of_a_cycle_is_a_shortest_one():
    draw = np.random.default_rng(2)
    for _ in range(60):
        channels = int(draw.integers(2, 40))
        edges = draw.integers(0, channels, (int(draw.integers(1, 80)), 2))
        graph = nx.DiGraph(edges.tolist())
        lengths = [1 + nx.shortest_path_length(graph, b, a) for a, b in graph.edges if nx.has_path(graph, b, a)]
        cycle = find_cycle(channels, edges[:, 0], edges[:, 1])
        assert len(cycle) == min(lengths, default=0)
        assert all(graph.has_edge(a, b) for a, b in zip(cycle, [*cycle[1:], *cycle[:1]], strict=True))
