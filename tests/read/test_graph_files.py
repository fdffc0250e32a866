"""GraphML and DOT: what `export` writes is read back, drawings of others are read, and every fault is told at once."""

import networkx as nx
import pytest

from fabrics import make_fabric
from tagloom.errors import InputError
from tagloom.read import read_fabric
from tagloom.read.drawn_fabric import fabric_of_drawing
from tagloom.read.graph_files import read_dot, read_graphml
from tagloom.report.exports import dot, graphml

BOTH = pytest.mark.parametrize(("write", "read"), [(graphml, read_graphml), (dot, read_dot)])
PARTS = """
name: parts
model: powerconnect-5324
switches:
  s0: {model: powerconnect-6248, address: 192.0.2.10}
  "s 1": {}
  s2: {model: "linux-bridge:lan1-4,wan", at: [3, 0]}
hosts:
  h0: {switch: s0, port: 1/g24, mac: ["00:1e:c9:00:00:01", "00:1e:c9:00:00:02"]}
  gateway: {switch: s2, port: wan, uplink: true}
links:
  - {ends: ["s2:lan1", "s0:1/g1"], speed: 100}
  - {ends: ["s0:1/g2", "s2:lan2"], state: dead}
  - {ends: [["s0:1/g3", "s0:1/g4"], ["s1:g1", "s1:g2"]], lag: true}
""".replace('"s 1"', "s1")


def read_back(text, read, model=None):
    return fabric_of_drawing(read(text, "x", "mesh", model))[0]


def shape_of(fabric):
    """Give what a drawing says of a fabric, links by their ends whichever stands first."""
    ends = [sorted([(x.a, tuple(p for p, _ in x.cables)), (x.b, tuple(q for _, q in x.cables))]) for x in fabric.links]
    links = sorted((*end, x.speed_mbps, x.up, x.dead) for end, x in zip(ends, fabric.links, strict=True))
    return [(s.name, s.model, s.at, s.address) for s in fabric.switches], fabric.hosts, links


def findings_of(text, read, model=None):
    with pytest.raises(InputError) as error:
        read_back(text, read, model)
    return {(each.where, each.expected, each.actual) for each in error.value.findings}


@BOTH
@pytest.mark.parametrize(("family", "dims"), [("torus", (3, 4)), ("fat-tree", (2, 4, 1)), ("dragonfly", (3, 2))])
def test_what_export_writes_is_read_back(write, read, family, dims):
    fabric = make_fabric(family, *dims, parallel=2)
    assert shape_of(read_back(write(fabric), read)) == shape_of(fabric)


@BOTH
def test_models_ports_speeds_states_uplinks_and_aggregated_links_are_read_back(write, read, tmp_path):
    (tmp_path / "f.yml").write_text(PARTS)
    fabric = read_fabric(tmp_path / "f.yml")
    assert shape_of(read_back(write(fabric), read)) == shape_of(fabric)


def test_ports_that_nobody_named_are_the_lowest_free_links_before_hosts():
    text = """graph lab {
      node [model="powerconnect-5324"]; a; b; c;   // defaults hold for what follows
      node [kind=host, model=""]; h [mac="00:1e:c9:00:00:01"]; i [mac="00-1e-c9-00-00-02"];
      a -- b -- c; a:g2 -- c:"g9";
      h -- a; i -- c [headport=g1];
    }"""
    fabric = read_back(text, read_dot)
    ends = [(x.a, x.a_port, x.b, x.b_port) for x in fabric.links]
    assert ends == [(0, 1, 1, 1), (1, 2, 2, 2), (0, 2, 2, 9)]
    assert [(h.name, h.switch, h.port) for h in fabric.hosts] == [("h", 0, 3), ("i", 2, 1)]


def test_a_drawing_of_yed_or_networkx_without_models_takes_the_one_that_is_named():
    graph = nx.cycle_graph(4)
    nx.set_node_attributes(graph, {0: "s0", 1: "s1", 2: "s2", 3: "s3"}, "label")
    text = "\n".join(nx.generate_graphml(graph))
    assert "a model (or --model M), or the kind host" in {
        expected for _, expected, _ in findings_of(text, read_graphml)
    }
    fabric = read_back(text, read_graphml, "powerconnect-5324")
    assert [s.name for s in fabric.switches] == ["s0", "s1", "s2", "s3"]
    assert len(fabric.links) == 4


def test_an_attribute_of_graphml_without_a_type_is_text():
    """networkx warns of it; warnings are errors here."""
    text = graphml(make_fabric("ring", 3)).replace(' attr.type="string"', "")
    assert "attr.type" in text
    assert shape_of(read_back(text, read_graphml)) == shape_of(make_fabric("ring", 3))


def test_groups_and_subgraphs_of_dot_are_walked():
    text = """graph { node [model="powerconnect-5324"];
      subgraph cluster_rack { edge [speed=100]; a -- b; }
      a -- {c d}; }"""
    fabric = read_back(text, read_dot)
    names = [(fabric.switches[x.a].name, fabric.switches[x.b].name, x.speed_mbps) for x in fabric.links]
    assert names == [("a", "b", 100), ("a", "c", 0), ("a", "d", 0)]


def test_every_fault_of_a_drawing_is_told_at_once():
    text = """graph { a [model="powerconnect-5324"]; b [model="powerconect-6248"]; c [kind=router];
      d [model="powerconnect-5324", at="x"]; h [kind=host, mac="zz"]; i [kind=host]; h -- a; h -- d; h -- i; a -- a;
      a:g77 -- d:g1; a:g1 -- d:g1 [speed=7, up=perhaps]; }"""
    found = findings_of(text, read_dot)
    assert {(where, actual) for where, _, actual in found} == {
        ("x: b", "'powerconect-6248'"),
        ("x: c", "router"),
        ("x: d", "'x'"),
        ("x: h", "2 of them"),
        ("x: i", "0 of them"),
        ("x: edge 3, h - i", "two hosts"),
        ("x: edge 4, a - a", "a twice"),
        ("x: edge 5, a - d", "'g77'"),
        ("x: edge 6, a - d", "d:g1 (taken by edge 5, a - d)"),
        ("x: edge 6, a - d", "'7'"),
        ("x: edge 6, a - d", "'perhaps'"),
    }


def test_a_speed_that_no_port_at_an_end_has_is_told():
    text = """graph { node [model="powerconnect-5324"]; a; b; a -- b [speed=10000]; }"""
    (found,) = findings_of(text, read_dot)
    assert found == ("x: edge 1, a - b", "at most 1000, the best speed of a:g1 in Mb/s", "10000")


def test_ports_taken_twice_unknown_or_too_many_are_told_at_once():
    hosts = "".join(f"h{n} [kind=host]; h{n} -- a; " for n in range(24))
    text = (
        """graph { node [model="powerconnect-5324"]; a; b; node [model=""]; a:g77 -- b:g1; a:g1 -- b:g1; """
        + hosts
        + "}"
    )
    assert {(where, actual) for where, _, actual in findings_of(text, read_dot)} == {
        ("x: edge 1, a - b", "'g77'"),
        ("x: edge 2, a - b", "b:g1 (taken by edge 1, a - b)"),
        ("x: h23", "all 24 are taken"),
    }


def test_what_a_fabric_file_would_refuse_is_refused_without_the_line_of_a_text_that_nobody_sees():
    text = """graph { node [model="powerconnect-5324"]; a; b; c; node [model=""]; a -- b;
      h [kind=host, mac="00:1e:c9:00:00:01"]; i [kind=host, mac="00:1e:c9:00:00:01"]; h -- a; i -- b; }"""
    found = findings_of(text, read_dot)
    assert ("x: hosts.i.mac", "a MAC address of its own", "00:1e:c9:00:00:01 (that of h)") in found


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_graphml, "<graphml"),
        (read_graphml, "<html/>"),
        (read_graphml, '<!DOCTYPE x [<!ENTITY a "b">]><graphml/>'),
        (read_dot, "graph {"),
        (read_dot, "graph { a -- }"),
        (read_dot, "graph {} graph {}"),
        (read_dot, "graph " + "{" * 12 + "}" * 12),
        (read_dot, ""),
    ],
)
def test_what_is_no_graph_is_one_finding(read, text):
    assert len(findings_of(text, read)) == 1
