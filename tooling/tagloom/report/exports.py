"""Export a fabric, or a build of it, in the formats of other tools."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

import numpy as np

from tagloom import platforms
from tagloom.graph.flows import flows_of
from tagloom.platforms.power import latency_seconds
from tagloom.records.fabric import DEFAULT_SPEED_MBPS
from tagloom.report.batfish import layer1
from tagloom.report.cabling import cabling_csv, cabling_table
from tagloom.report.lab_topologies import containerlab, netlab
from tagloom.report.monitoring import alert_rules, dashboard
from tagloom.report.slurm import topology_conf
from tagloom.units import format_mac

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tagloom.records.fabric import Fabric, Link
    from tagloom.records.routes import Routes

SIMGRID_HEAD = """<?xml version="1.0"?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<!-- Every channel is a link of its own, every ordered pair of hosts of one network a route: the planned one.
     A channel's latency is that of the switch it enters. SimGrid weighs flows by latency, as TCP does; for max-min fair
     rates set network/model:CM02, both factors 1, weight-S, crosstraffic and TCP-gamma 0, and all latencies to 0. -->
<platform version="4.1">
"""


def simgrid(fabric: Fabric, routes: Routes, *, latency: bool = True) -> Iterator[str]:
    """Yield the pieces of a SimGrid platform (version 4.1 of its format) with the planned routes.

    Hosts of different networks have no route to each other. SimGrid weighs flows by their latency, as TCP does: without
    `latency` its shares are max-min fair.
    """
    hosts = len(fabric.hosts)
    flows = flows_of(fabric, routes, fabric.same_network.astype(np.float64))
    enters = np.concatenate([fabric.host_switch, fabric.head])
    seconds = np.array([latency_seconds(switch.model) * latency for switch in fabric.switches])
    late = np.concatenate([seconds[enters[:hosts]], np.zeros(hosts), seconds[enters[hosts:]]])
    names = [*(f"{h.name}-out" for h in fabric.hosts), *(f"{h.name}-in" for h in fabric.hosts)]
    ends = zip(fabric.tail.tolist(), fabric.tail_port.tolist(), strict=True)
    named = ((fabric.switches[s], port) for s, port in ends)
    names += [f"{switch.name}:{platforms.of(switch).port_name(port)}" for switch, port in named]
    yield SIMGRID_HEAD
    yield f' <zone id={quoteattr(fabric.name)} routing="Full">\n'
    for host in fabric.hosts:
        yield f'  <host id={quoteattr(host.name)} speed="1Gf"/>\n'
    for name, bps, wait in zip(names, flows.capacity_bps.tolist(), late.tolist(), strict=True):
        if bps > 0:
            yield f'  <link id={quoteattr(name)} bandwidth="{bps:.0f}bps" latency="{wait:g}s"/>\n'
    steps = [f"<link_ctn id={quoteattr(name)}/>" for name in names]
    first, channel = flows.first.tolist(), flows.channel.tolist()
    for f, (a, b) in enumerate(zip(flows.source.tolist(), flows.destination.tolist(), strict=True)):
        path = "".join(steps[c] for c in channel[first[f] : first[f + 1]])
        ends_of = f"src={quoteattr(fabric.hosts[a].name)} dst={quoteattr(fabric.hosts[b].name)}"
        yield f'  <route {ends_of} symmetrical="NO">{path}</route>\n'
    yield " </zone>\n</platform>\n"


def _parts(fabric: Fabric) -> tuple[list[tuple[str, dict[str, str]]], list[tuple[str, str, dict[str, str]]]]:
    """Return nodes and edges with the attributes that `tagloom import` reads; a link is one edge."""
    names = [switch.name for switch in fabric.switches]
    platform = [platforms.of(switch) for switch in fabric.switches]
    nodes = []
    for switch in fabric.switches:
        at, address = " ".join(map(str, switch.at)), switch.address
        said = {"kind": "switch", "model": switch.model, "at": at, "address": address}
        nodes.append((switch.name, {key: word for key, word in said.items() if word or key == "at"}))
    edges = []
    for link in fabric.links:
        ports = [[platform[s].port_name(pair[end]) for pair in link.cables] for end, s in enumerate((link.a, link.b))]
        # networkx writes an edge from the node that came first
        (a, a_ports), (b, b_ports) = sorted(zip((link.a, link.b), ports, strict=True))
        given = {"source_port": ",".join(a_ports), "target_port": ",".join(b_ports)}
        given |= {"speed": str(link.speed_mbps)} if link.speed_mbps else {}
        given |= {} if link.up else {"state": "dead" if link.dead else "down"}
        edges.append((names[a], names[b], given))
    for host in fabric.hosts:
        nodes.append((host.name, {"kind": "host", "mac": " ".join(map(format_mac, host.macs))}))
        nodes[-1][1].update({"uplink": "true"} if host.uplink else {})
        port = platform[host.switch].port_name(host.port)
        edges.append((names[host.switch], host.name, {"source_port": port}))
    return nodes, edges


def graphml(fabric: Fabric) -> str:
    """Return switches, hosts and links as GraphML; a link is one edge, with its capacity in Mb/s."""
    import networkx as nx  # noqa: PLC0415 - a third of a second that most commands need not spend

    graph: nx.MultiGraph[str] = nx.MultiGraph(name=fabric.name)
    nodes, edges = _parts(fabric)
    links: list[Link | None] = [*fabric.links, *[None] * len(fabric.hosts)]
    for name, given in nodes:
        graph.add_node(name, **given)
    for (a, b, given), link in zip(edges, links, strict=True):
        mbps = link.capacity_mbps(DEFAULT_SPEED_MBPS) if link else DEFAULT_SPEED_MBPS
        graph.add_edge(a, b, **given, mbps=mbps, up=link.up if link else True)
    file = io.BytesIO()
    nx.write_graphml(graph, file)
    return file.getvalue().decode("utf-8") + "\n"


def dot(fabric: Fabric) -> str:
    """Return switches, hosts and links for Graphviz; links that are off are dashed, slower ones labelled."""

    def quoted(name: str) -> str:
        return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'

    def said(given: dict[str, str], *drawn: str) -> str:
        return ", ".join([*drawn, *(f"{key}={quoted(word)}" for key, word in given.items() if word)])

    nodes, edges = _parts(fabric)
    lines = [f"graph {quoted(fabric.name)} {{", "  node [shape=box];"]
    drawn: list[list[str]] = [[]] * len(fabric.switches) + [["shape=ellipse"]] * len(fabric.hosts)
    lines += [f"  {quoted(name)} [{said(given, *each)}];" for (name, given), each in zip(nodes, drawn, strict=True)]
    marks: list[list[str]] = []
    for link in fabric.links:
        speed = link.capacity_mbps(DEFAULT_SPEED_MBPS)
        slow = [f'label="{speed}"'] if speed != DEFAULT_SPEED_MBPS else []
        marks.append([*([] if link.up else ["style=dashed"]), *slow])
    marks += [[]] * len(fabric.hosts)
    for (a, b, given), each in zip(edges, marks, strict=True):
        lines.append(f"  {quoted(a)} -- {quoted(b)} [{said(given, *each)}];")
    return "\n".join([*lines, "}"]) + "\n"


# What a fabric is enough for.
OF_FABRIC: dict[str, Callable[[Fabric], str]] = {
    "graphml": graphml,
    "dot": dot,
    "slurm": topology_conf,
    "batfish": layer1,
    "prometheus": alert_rules,
    "grafana": dashboard,
    "cabling": cabling_csv,
    "cabling-table": cabling_table,
}
OF_BUILD: dict[str, Callable[[Fabric, Routes, str], str]] = {
    "simgrid": lambda fabric, routes, _: "".join(simgrid(fabric, routes)),
    "containerlab": lambda fabric, _, configs: containerlab(fabric, configs),
    "netlab": lambda fabric, _, configs: netlab(fabric, configs),
}
