"""Write results/pinned.md: what one VLAN with paths by destination costs beside VLANs of source trees.

Run `PYTHONPATH=tooling python benchmarks/pinned.py`. Both are planned and proven with the same routing; loads are pairs
of hosts on the busiest channel.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import networkx as nx

from tagloom import pipeline
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_family
from tagloom.records.fabric import Fabric, Host, Link, Switch

TEMPLATES = Path(__file__).resolve().parents[1] / "templates"
HEAD = """# One VLAN beside a VLAN for every tree

Written by `python benchmarks/pinned.py`: `--assignment fixed` and `pinned` with the same routing, planned and proven.
Hops are switches on a path, a host with itself included; load is pairs of hosts on the busiest channel.

| fabric | routing | VLANs | entries in a switch | hops: fixed | pinned | ratio | load: fixed | pinned | ratio |
|---|---|---|---|---|---|---|---|---|---|
"""
TAIL = """
With one host on each switch (or leaf) the ratio is 1 by a theorem: each pinned path is a fixed one walked backwards.
With two hosts on a leaf a fat tree's `fixed` plan gives each a tree; pinned paths towards a leaf share one.
"""


def family(name: str, dims: tuple[int, ...], hosts: int = 1) -> Fabric:
    return parse_fabric(format_family(name, name, dims, 1, hosts, "linux-bridge"), name)


def regular(degree: int, n: int) -> Fabric:
    used = [0] * n

    def port(s: int) -> int:
        used[s] += 1
        return used[s]

    edges = nx.random_regular_graph(degree, n, seed=1).edges
    links = tuple(Link(a, port(a), b, port(b)) for a, b in edges)
    hosts = tuple(Host(f"h{s}", s, port(s), 0x0200_0000_0000 + s) for s in range(n))
    return Fabric("regular", tuple(Switch(f"s{s}", "linux-bridge") for s in range(n)), hosts, links, (64,) * n)


def row(name: str, fabric: Fabric, routing: str) -> str:
    found = []
    for assignment in ("fixed", "pinned"):
        build, proof, _ = pipeline.plan(fabric, TEMPLATES, routing=routing, assignment=assignment, texts=False)
        if not proof.proven:
            raise SystemExit(f"{name}, {assignment}: not proven")
        found.append(pipeline.summary_of(build, proof))
    fixed, pinned = found
    cells = [name, fixed["routing"], *(f"{fixed[key]} / {pinned[key]}" for key in ("vlans", "fdb_entries_max"))]
    for key, shown in (("average_hops", "{:.2f}"), ("max_channel_load", "{}")):
        cells += [shown.format(fixed[key]), shown.format(pinned[key]), f"{pinned[key] / fixed[key]:.2f}"]
    return f"| {' | '.join(cells)} |\n"


ROWS = {
    "mesh 8x8, any": ("mesh 8x8", partial(family, "mesh", (8, 8)), "any"),
    "torus 8x8, any": ("torus 8x8", partial(family, "torus", (8, 8)), "any"),
    "4-regular, any": ("4-regular, 64 switches", partial(regular, 4, 64), "any"),
    "fat tree, any": ("fat tree 4, 8, 2", partial(family, "fat-tree", (4, 8, 2)), "any"),
    "mesh 8x8, auto": ("mesh 8x8", partial(family, "mesh", (8, 8)), "auto"),
    "torus 8x8, up-down": ("torus 8x8", partial(family, "torus", (8, 8)), "up-down"),
    "fat tree, auto": ("fat tree 4, 8, 2", partial(family, "fat-tree", (4, 8, 2)), "auto"),
    "fat tree, two hosts": ("fat tree 4, 8, 2, two hosts on a leaf", partial(family, "fat-tree", (4, 8, 2), 2), "auto"),
}


def main() -> None:
    text = HEAD + "".join(row(name, make(), routing) for name, make, routing in ROWS.values()) + TAIL
    (Path(__file__).parent / "results" / "pinned.md").write_text(text, "utf-8")


if __name__ == "__main__":
    main()
