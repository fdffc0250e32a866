"""Read GraphML and Graphviz's DOT: nodes that are switches or hosts, edges that are links."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

from tagloom.errors import Finding, InputError
from tagloom.read.drawn_fabric import MOST_PARTS, Drawing, DrawnHost, DrawnLink, check_model
from tagloom.records.fabric import Switch
from tagloom.records.settings import STEPS_MBPS
from tagloom.storage.document import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    Attributes = Mapping[str, Any]
    Edge = tuple[str, str, Attributes]

DEEPEST = 8  # subgraphs within each other: the parser's time is exponential in it
_COMPASS = {"n", "ne", "e", "se", "s", "sw", "w", "nw", "c", "_"}
_TRUE, _FALSE = {"true", "1", "yes"}, {"false", "0", "no"}
# By what attribute an edge names the port at each of its ends, in this order: the first is what `export` writes.
_PORTS = (("source_port", "target_port"), ("tailport", "headport"), ("taillabel", "headlabel"))


def read_graphml(text: str, source: str, name: str, model: str | None) -> Drawing:
    """Return the drawing that a GraphML file shows. Raises InputError for what is no GraphML.

    Every edge keeps its direction while it is read: it tells which port is at which end.
    """
    import networkx as nx  # noqa: PLC0415 - a third of a second that most commands need not spend

    expected = "GraphML (XML, without a document type)"
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError([Finding(source, expected, "a document type")])
    try:
        root = ET.fromstring(text)  # noqa: S314 - entities, which expand without end, need the document type
        for each in root.iter():
            if isinstance(each.tag, str) and each.tag.endswith("}graph"):
                each.set("edgedefault", "directed")
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "No key type for id", UserWarning)  # a string, as tagloom takes it
            graph = nx.parse_graphml(ET.tostring(root, "unicode"), force_multigraph=True)
    except (ET.ParseError, nx.NetworkXError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError([Finding(source, expected, shown(str(error).strip("'")))]) from None
    node_default, edge_default = (graph.graph.get(f"{kind}_default", {}) for kind in ("node", "edge"))
    given = {node: {**node_default, **said} for node, said in graph.nodes(data=True)}
    called = {node: str(said.get("label") or "") for node, said in given.items()}
    if "" in called.values() or len(set(called.values())) < len(called):  # yEd's nodes are n0, n1, ..., with labels
        called = {node: str(node) for node in given}
    nodes = {called[node]: said for node, said in given.items()}
    edges = [(called[a], called[b], {**edge_default, **said}) for a, b, said in graph.edges(data=True)]
    return drawing_of(nodes, edges, Drawing(source, name), model)


def read_dot(text: str, source: str, name: str, model: str | None) -> Drawing:
    """Return the drawing that a DOT file shows. Raises InputError for what is no DOT, or where pydot is missing."""
    try:
        from pydot.dot_parser import GraphParser  # noqa: PLC0415 - an extra
        from pyparsing import ParseBaseException  # noqa: PLC0415 - what pydot is written with
    except ImportError:
        raise InputError([Finding(source, "pydot:  pip install 'tagloom[graphviz]'", "not installed")]) from None

    depth = deepest = 0
    for bracket in re.findall(r"[{}]", text):
        depth += 1 if bracket == "{" else -1
        deepest = max(deepest, depth)
    if deepest > DEEPEST:
        raise InputError([Finding(source, f"DOT, at most {DEEPEST} subgraphs within each other", "more")])
    try:
        graphs = list(GraphParser.parser.parse_string(text, parse_all=True))
    except ParseBaseException as error:
        at = f"{source}:{error.lineno}"
        raise InputError([Finding(at, "DOT (Graphviz)", shown(error.line.strip() or "its end"))]) from None
    except (RecursionError, ValueError, TypeError, AttributeError, AssertionError) as error:
        raise InputError([Finding(source, "DOT (Graphviz)", shown(str(error)))]) from None
    if len(graphs) != 1:
        raise InputError([Finding(source, "one graph", str(len(graphs)))])
    nodes: dict[str, dict[str, Any]] = {}
    edges: list[Edge] = []
    _walk(graphs[0].obj_dict, {}, {}, nodes, edges)
    return drawing_of(nodes, edges, Drawing(source, name), model)


def _walk(
    graph: Mapping[str, Any],
    node_default: dict[str, Any],
    edge_default: dict[str, Any],
    nodes: dict[str, dict[str, Any]],
    edges: list[Edge],
) -> list[str]:
    """Gather the nodes and edges of a graph and its subgraphs as they stand; return the names of its own nodes.

    Defaults (``node [...]``) hold for what follows them, in this graph and below it.
    """
    node_default, edge_default = dict(node_default), dict(edge_default)
    own: dict[str, None] = {}

    def node(name: str) -> str:
        own[name] = None
        nodes.setdefault(name, dict(node_default))
        return name

    parts = [part for kind in ("nodes", "edges", "subgraphs") for some in graph[kind].values() for part in some]
    for part in sorted(parts, key=lambda each: each["sequence"]):
        given = {_bare(key): _bare(value) for key, value in part["attributes"].items()}
        if part["type"] == "edge":
            ends = []
            for point in part["points"]:
                inside = isinstance(point, dict)
                named = (
                    [(each, "") for each in _walk(point, node_default, edge_default, nodes, edges)] if inside else []
                )
                ends.append(named or [_split(str(point))])
                own.update((node(each), None) for each, _ in ends[-1])
            for a, a_port in ends[0]:
                for b, b_port in ends[1]:
                    ports = {"source_port": a_port} if a_port else {}
                    ports |= {"target_port": b_port} if b_port else {}
                    edges.append((a, b, {**edge_default, **given, **ports}))
        elif part["type"] != "node":
            own.update(dict.fromkeys(_walk(part, node_default, edge_default, nodes, edges)))
        elif part["name"] in {"node", "edge", "graph"}:
            {"node": node_default, "edge": edge_default, "graph": {}}[part["name"]].update(given)
        else:
            nodes[node(_bare(part["name"]))].update(given)
    return list(own)


def _split(point: str) -> tuple[str, str]:
    """Return the node and the port of an edge's end.

    >>> _split('s0'), _split('"rack 1":"1/g1"'), _split('s0:g1:n'), _split('s0:n')
    (('s0', ''), ('rack 1', '1/g1'), ('s0', 'g1'), ('s0', ''))
    """
    parts = re.findall(r'"(?:[^"\\]|\\.)*"|[^:"]+', point)
    port = _bare(parts[1]) if len(parts) > 1 and (len(parts) > 2 or parts[1] not in _COMPASS) else ""
    return _bare(parts[0]) if parts else "", port


def _bare(text: object) -> str:
    """Return an ID of DOT without its quotes; an attribute without a value is true."""
    words = "true" if text is None else str(text)
    if len(words) >= 2 and words[0] == words[-1] == '"':
        return words[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    return words


def drawing_of(
    nodes: Mapping[str, Attributes], edges: Sequence[Edge], drawing: Drawing, model: str | None = None
) -> Drawing:
    """Return the drawing with what nodes and edges say; `model` is that of switches that name none.

    A node with a `model`, or of the `kind` switch, is a switch; one of the `kind` host, or with a `mac`, a host.
    """
    if len(nodes) + len(edges) > MOST_PARTS:
        raise InputError([Finding(drawing.source, f"at most {MOST_PARTS:,} nodes and edges", "more")])
    hosts: dict[str, Attributes] = {}
    for name, given in nodes.items():
        kind = str(given.get("kind", "")).lower()
        if kind == "host" or (not kind and "model" not in given and "mac" in given):
            hosts[name] = given
        elif kind not in {"", "switch"} or not (given.get("model") or model):
            expected = "a model (or --model M), or the kind host"
            drawing.find(name, expected if kind in {"", "switch"} else "the kind switch or host", kind or "none")
        else:
            named = str(given.get("model") or model)
            check_model(drawing, name, named)
            drawing.switches[name] = Switch(name, named, _at(drawing, name, given), str(given.get("address", "")))
    plugs = _links(drawing, hosts, edges)
    for name, given in hosts.items():
        found = plugs.get(name, [])
        if len(found) != 1:
            drawing.find(name, "one edge to a switch", f"{len(found)} of them")
            continue
        macs, uplink = tuple(_macs(drawing, name, given)), _truth(drawing, name, given, "uplink", otherwise=False)
        drawing.hosts[name] = DrawnHost(name, *found[0], macs, uplink)
    return drawing


def _links(
    drawing: Drawing, hosts: Mapping[str, Attributes], edges: Sequence[Edge]
) -> dict[str, list[tuple[str, str]]]:
    """Add the edges between switches to a drawing; return where hosts are plugged in, as (switch, port)."""
    plugs: dict[str, list[tuple[str, str]]] = {}
    for number, (a, b, given) in enumerate(edges):
        where = f"edge {number + 1}, {a} - {b}"
        ports = tuple(next((str(given[names[end]]) for names in _PORTS if given.get(names[end])), "") for end in (0, 1))
        inside = [each in drawing.switches for each in (a, b)]
        if a == b:
            drawing.find(where, "two different nodes", f"{a} twice")
        elif all(inside):
            state, up = str(given.get("state", "")), _truth(drawing, where, given, "up", otherwise=True)
            if state not in {"", "up", "down", "dead"}:
                drawing.find(where, "a state: up, down or dead", repr(state))
            ends = tuple((name, tuple(filter(None, said.split(",")))) for name, said in zip((a, b), ports, strict=True))
            up = up and state in {"", "up"}
            speed = _speed(drawing, where, given)
            drawing.links.append(DrawnLink(where, (ends[0], ends[1]), speed, up, dead=state == "dead"))
        elif a in hosts and b in hosts:
            drawing.find(where, "a switch at one end at least", "two hosts")
        else:
            for host, switch, port in ((a, b, ports[1]), (b, a, ports[0])):
                if host in hosts and switch in drawing.switches:
                    plugs.setdefault(host, []).append((switch, port))
    return plugs


def _speed(drawing: Drawing, where: str, given: Attributes) -> int:
    said = given.get("speed") or 0
    if str(said) not in {"0", *map(str, STEPS_MBPS)}:
        drawing.find(where, f"a speed in Mb/s: one of {', '.join(map(str, STEPS_MBPS))}", shown(said))
        return 0
    return int(said)


def _at(drawing: Drawing, name: str, given: Attributes) -> tuple[int, ...]:
    words = re.split(r"[\s,]+", str(given.get("at", "")).strip())
    if words != [""] and not all(re.fullmatch(r"\d{1,9}", word) for word in words):
        drawing.find(name, "coordinates, such as 0 1", repr(given["at"]))
        return ()
    return tuple(int(word) for word in words if word)


def _truth(drawing: Drawing, where: str, given: Attributes, key: str, *, otherwise: bool) -> bool:
    said = str(given.get(key, otherwise)).lower()
    if said not in _TRUE | _FALSE:
        drawing.find(where, f"{key} true or false", repr(said))
    return said in _TRUE


def _macs(drawing: Drawing, name: str, given: Attributes) -> Iterator[int]:
    words = re.split(r"[\s,]+", str(given.get("mac", "")).strip())
    yield from filter(None, (drawing.mac(name, word) for word in words if word))
