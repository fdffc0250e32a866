"""Write the fabric file: of a family, or of a whole fabric with all its parts explicit."""

from __future__ import annotations

import re
import sys
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

import yaml

from tagloom import platforms
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.fabric import Shape
from tagloom.units import format_mac

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric, Host, Link, Switch


def format_family(
    name: str, family: str, dims: tuple[int, ...], parallel: int, hosts: int, model: str, *, lag: bool = False
) -> str:
    """Write the fabric file of a family. Raises InputError where the family cannot be built."""
    text = f"name: {word(name)}\nmodel: {word(model)}\nshape: {_shape(Shape(family, dims, parallel, hosts, lag))}\n"
    parse_fabric(text, "new")
    return text


def format_fabric(fabric: Fabric) -> str:
    """Write a fabric with all its parts explicit; reading it back gives an equal fabric, links and hosts in order."""
    model = {s.name: platforms.load(s.model) for s in fabric.switches}
    lines = [f"name: {word(fabric.name)}", f"vlans: {{first: {fabric.first_vlan}}}"]
    if fabric.flow_control:
        lines.append('flow_control: "on"')
    if fabric.spanning_tree != "off":
        lines.append(f"spanning_tree: {fabric.spanning_tree}")
    if fabric.renamed:
        lines.append(
            f"renamed: {{{', '.join(f'{quoted(former)}: {quoted(name)}' for former, name in fabric.renamed)}}}"
        )
    if fabric.eee is not None:
        lines.append(f'eee: "{"on" if fabric.eee else "off"}"')
    if (how := fabric.management) is not None:
        links = [
            _sides(x, *(fabric.switches[s].name for s in (x.a, x.b)))[0] for x in (fabric.links[i] for i in how.links)
        ]
        said = ", ".join(quoted(f"{name}:{model[name].port_name(ports[0])}") for name, ports in links)
        at = fabric.switches[how.switch].name
        controller = quoted(f"{at}:{model[at].port_name(how.port)}")
        lines.append(f"management: {{vlan: {how.vlan}, controller: {controller}, links: [{said}]}}")
    if fabric.reserved:
        lines.append("reserved:")
        for s, ports in groupby(fabric.reserved, key=itemgetter(0)):
            name = fabric.switches[s].name
            lines.append(f"  {word(name)}: [{', '.join(quoted(model[name].port_name(port)) for _, port in ports)}]")
    lines += _networks(fabric)
    if fabric.returned_ports != "isolated":
        lines.append(f"returned_ports: {fabric.returned_ports}")
    if fabric.shape is not None:
        lines.append(f"shape: {_shape(fabric.shape, ', explicit: true')}")
    lines.append("switches:")
    lines += map(_switch, fabric.switches)
    lines.append("hosts:" if fabric.hosts else "hosts: {}")
    for host in (host for host in fabric.hosts if not host.beside):
        at = fabric.switches[host.switch].name
        port = model[at].port_name(host.port)
        lines.append(f"  {word(host.name)}: {{switch: {word(at)}, port: {quoted(port)}{_addresses(host)}}}")
    lines.append("links:" if fabric.links else "links: []")
    for link in fabric.links:
        a, b = fabric.switches[link.a].name, fabric.switches[link.b].name
        sides = [
            [quoted(f"{name}:{model[name].port_name(port)}") for port in ports] for name, ports in _sides(link, a, b)
        ]
        extra = (f", speed: {link.speed_mbps}" if link.speed_mbps else "") + _LINK_STATE[link.up, link.dead]
        if link.members:
            numbers = [p - model[n].physical_ports for n, p in ((a, link.a_port), (b, link.b_port))]
            extra = f", lag: [{numbers[0]}, {numbers[1]}]{extra}"
            ends = "[" + ", ".join(f"[{', '.join(ports)}]" for ports in sides) + "]"
        else:
            ends = f"[{sides[0][0]}, {sides[1][0]}]"
        lines.append(f"  - {{ends: {ends}{extra}}}" if extra else f"  - {ends}")
    return "\n".join(lines) + "\n"


def _networks(fabric: Fabric) -> list[str]:
    lines = []
    for key in ("network", "former_network"):
        members: dict[str, list[str]] = {}
        for host in fabric.hosts:
            if (name := getattr(host, key)) and (not host.tag or key == "former_network"):
                members.setdefault(name, []).append(word(host.name))
            elif name:
                members.setdefault(name, [])
        lines += [f"{key}s:"] if members else []
        own = {name: _own_ways(fabric, name) for name in members} if key == "network" else {}
        for name, hosts in sorted(members.items()):
            said = f"[{', '.join(hosts)}]"
            lines.append(f"  {word(name)}: {f'{{hosts: {said}{own[name]}}}' if own.get(name) else said}")
    return lines


def _own_ways(fabric: Fabric, network: str) -> str:
    """Return what a network has of its own: its routing, the links that it may use."""
    routing = dict(fabric.routings).get(network, "")
    said = f", routing: {word(routing)}" if routing else ""
    if vlan := dict(fabric.tags).get(network):
        tagged = (word(host.name.partition("@")[0]) for host in fabric.hosts if host.tag and host.network == network)
        said += f", vlan: {vlan}, tagged: [{', '.join(tagged)}]"
    if any(network in link.barred for link in fabric.links):
        ends = ((fabric.switches[link.a], link.cables[0][0]) for link in fabric.links if network not in link.barred)
        words = (quoted(f"{switch.name}:{platforms.of(switch).port_name(port)}") for switch, port in ends)
        said += f", links: [{', '.join(words)}]"
    return said


def _addresses(host: Host) -> str:
    macs = [f'"{format_mac(mac)}"' for mac in host.macs]
    said = macs[0] if len(macs) == 1 else f"[{', '.join(macs)}]"
    prefixes = f", mac_prefix: [{', '.join(map(quoted, host.prefixes))}]" if host.prefixes else ""
    return (f", mac: {said}" if macs else "") + prefixes + (", uplink: true" if host.uplink else "")


_LINK_STATE = {(True, False): "", (False, False): ", state: down", (False, True): ", state: dead"}


def _switch(switch: Switch) -> str:
    parts = [f"model: {word(switch.model)}", f"at: [{', '.join(map(str, switch.at))}]"]
    if switch.address:
        parts.append(f"address: {quoted(switch.address)}")
    if switch.rack:
        parts.append(f"rack: {quoted(switch.rack)}")
    if not switch.up:
        parts.append("state: down")
    if switch.firmware:
        said = ", ".join(f"{word(variable)}: {quoted(choice)}" for variable, choice in switch.firmware)
        parts.append(f"firmware: {{{said}}}")
    if switch.site:
        parts.append(f"site: {switch.site}")  # JSON is YAML
    return f"  {word(switch.name)}: {{{', '.join(parts)}}}"


@lru_cache(1 << 16)
def word(text: str) -> str:
    """Write text as a word of YAML, quoted where YAML would read something else: a number, a date, on or null.

    >>> word("s0"), word("1e3"), word("on"), word("2001-01-01")
    ('s0', '"1e3"', '"on"', '"2001-01-01"')
    """
    plain = re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", text) is not None
    tag = _RESOLVER.resolve(yaml.ScalarNode, text, (True, False)) if plain else ""  # type: ignore[no-untyped-call]
    if tag == _RESOLVER.DEFAULT_SCALAR_TAG:
        # YAML 1.2 (section 10.3.2) reads as numbers what 1.1 does not, such as 1e3 and 0o17
        return text if not re.fullmatch(r"0o[0-7]+|[0-9.]+([eE][-+]?[0-9]+)?", text) else f'"{text}"'
    return quoted(text)


@lru_cache(1 << 16)
def quoted(text: str) -> str:
    """Write text between double quotes, escaped as YAML wants it."""
    if re.fullmatch(r"[A-Za-z0-9 :/._-]*", text):
        return f'"{text}"'
    written: str = yaml.safe_dump(text, default_style='"', width=sys.maxsize, allow_unicode=True)
    return written.rstrip("\n")


_RESOLVER = yaml.SafeLoader("")


def _sides(link: Link, a: str, b: str) -> tuple[tuple[str, list[int]], tuple[str, list[int]]]:
    return (a, [p for p, _ in link.cables]), (b, [q for _, q in link.cables])


def _shape(shape: Shape, more: str = "") -> str:
    dims, more = ", ".join(map(str, shape.dims)), f"{', lag: true' if shape.lag else ''}{more}"
    return f"{{family: {word(shape.family)}, dims: [{dims}], parallel: {shape.parallel}, hosts: {shape.hosts}{more}}}"
