"""Make fabrics, by family or link by link, for every test."""

import json
from pathlib import Path

from tagloom.read.fabric_file import parse_fabric

ROOT = Path(__file__).resolve().parents[1]
# Small ones of every kind, as `make_fabric` takes them, for laws that follow every frame.
SMALL_FABRICS = [
    ("mesh", (3, 2), {}),
    ("ring", (4,), {}),
    ("ring", (5,), {"parallel": 2}),
    ("torus", (3, 3), {}),
    ("clos", (2, 3), {}),
    ("complete", (4,), {"hosts": 2}),
    ("fat-tree", (2, 4, 1), {"hosts": 2}),
    ("tree", (2, 2), {}),
    ("dragonfly", (3, 2), {}),
]


def make_fabric(family, *dims, parallel=1, hosts=1, model="linux-bridge", extra="", lag=False):
    """Read a generated fabric; linux-bridge has ports enough for anything."""
    shape = f"{{family: {family}, dims: {list(dims)}, parallel: {parallel}, hosts: {hosts}, lag: {str(lag).lower()}}}"
    return parse_fabric(f"name: {family}\nmodel: {model}\nshape: {shape}\n{extra}", "test")


def make_irregular(hosts, links, model="powerconnect-6248"):
    """Read a fabric of `hosts[s]` hosts on switch s and of links between pairs of switches, ports in that order.

    A link of a pair and a number is an aggregated one of so many cables.
    """
    used = [0] * len(hosts)

    def port(switch):
        used[switch] += 1
        return f"g{used[switch]}"

    lines = ["name: irregular", f"model: {model}", "switches:"]
    lines += [f"  s{s}: {{}}" for s in range(len(hosts))]

    def link(a, b, cables=1):
        if cables == 1:
            return f'  - ["s{a}:{port(a)}", "s{b}:{port(b)}"]'
        ends = [[f"s{end}:{port(end)}" for _ in range(cables)] for end in (a, b)]
        return f"  - {{ends: {json.dumps(ends)}, lag: true}}"

    lines += ["links:", *(link(*each) for each in links)] if links else []
    at = [s for s, count in enumerate(hosts) for _ in range(count)]
    macs = [f"02:00:00:00:{h // 256:02x}:{h % 256:02x}" for h in range(len(at))]
    lines += ["hosts:"]
    lines += [f'  h{h}: {{switch: s{s}, port: {port(s)}, mac: "{macs[h]}"}}' for h, s in enumerate(at)]
    return parse_fabric("\n".join(lines) + "\n", "test")
