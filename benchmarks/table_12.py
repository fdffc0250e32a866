"""Write results/table-12.md: FT, LU and SP of class C on SuperNova, frame by frame (Koibuchi et al. 2011, table 12).

Messages are those of the NAS Parallel Benchmarks' sources, by pair and in their order; a test compares those of class S
with the matrices recorded of real runs. What a rank computes is taken from the paper.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from fabrics import make_fabric, make_irregular
from judges.orders import links_of
from judges.simulate import simulate
from tagloom.records.simulation import Program
from tagloom.route import route
from tagloom.route.spread import spread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tagloom.records.fabric import Fabric
    from tagloom.records.simulation import Network

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "benchmarks" / "results" / "table-12.md"
BUFFER = 65_536.0  # of a switch for what came by one link: an assumption
DOUBLE = 8
FT = {  # points and steps by class
    "S": (64**3, 6),
    "A": (256 * 256 * 128, 6),
    "B": (512 * 256 * 256, 20),
    "C": (512**3, 20),
    "D": (2048 * 1024 * 1024, 25),
}
LU = {"S": (12, 50), "W": (33, 300), "A": (64, 250), "B": (102, 250), "C": (162, 250)}  # points of an edge, iterations
SP = {"S": (12, 100), "W": (36, 400), "A": (64, 400), "B": (102, 400), "C": (162, 400)}
COMPUTE = {"FT.128": 8.6, "LU.128": 23.2, "SP.225": 16.7}  # s, table 12
TABLE_12 = {  # network: {benchmark: (total, computation, communication)}, s
    "Tree(1link)": {"FT.128": (189.0, 8.6, 180.4), "LU.128": (119.4, 23.2, 96.2), "SP.225": (312.9, 16.6, 296.3)},
    "Compl(2link)": {"FT.128": (62.7, 8.6, 54.1), "LU.128": (71.7, 23.2, 48.5), "SP.225": (158.0, 16.7, 141.2)},
    "Mesh(6link)": {"FT.128": (51.4, 8.6, 42.8), "LU.128": (53.2, 23.2, 30.0), "SP.225": (111.7, 16.7, 95.0)},
}
LINE = [(s, s + 1) for s in range(7)]
LEVELS = [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7)]
NETWORKS = {  # name: (the network of the table, family, dims, links between neighbours), or the edges of a tree
    "Tree(1link), a line": ("Tree(1link)", LINE, (), 1),
    "Tree(1link), four levels": ("Tree(1link)", LEVELS, (), 1),
    "Compl(2link)": ("Compl(2link)", "complete", (8,), 2),
    "Mesh(6link)": ("Mesh(6link)", "mesh", (4, 2), 6),
    "Torus, 3 links": ("", "torus", (4, 2), 3),
    "Tree(6link), a line": ("", LINE, (), 6),
    "Tree(6link), four levels": ("", LEVELS, (), 6),
}
Message = tuple[int, int, int, float]  # step, source, destination, bytes


@dataclass(frozen=True)
class Part:
    """A part of a benchmark that repeats: its messages by step, its steps, and which ranks compute in which of them."""

    ranks: int
    steps: int
    messages: list[Message]
    busy: list[tuple[int, int]]  # (step, rank), each as long as the others
    times: int


def ft(kind: str, ranks: int) -> Part:
    """Return one transpose of FT: 16 bytes a point, to the next rank first, as MPI's linear all-to-all sends."""
    points, steps = FT[kind]
    size = 16.0 * points / ranks**2
    messages = [(0, a, (a + k) % ranks, size) for a in range(ranks) for k in range(1, ranks)]
    return Part(ranks, 1, messages, [(0, a) for a in range(ranks)], steps + 2)


def lu(kind: str, ranks: int) -> Part:
    """Return one iteration of LU: faces with all neighbours, then two sweeps through the planes, from corner to corner.

    proc_grid.f: xdim is 2^(m // 2), doubled for odd m, of 2^m ranks, ydim the rest, and rank r is at (r mod xdim,
    r // xdim), so 128 ranks are 16 x 8. subdomain.f shares x among xdim; neighbors.f: r + 1 is next along x.
    """
    points, times = LU[kind]
    bits = ranks.bit_length() - 1
    wide = 2 ** ((bits + 1) // 2)
    high = ranks // wide
    nx, ny = _shares(points, wide), _shares(points, high)
    depth = wide + high - 2
    planes = points - 2
    messages: list[Message] = []
    busy = []
    for rank in range(ranks):
        x, y = rank % wide, rank // wide
        near = [(rank + 1, x + 1 < wide, ny[y]), (rank - 1, x > 0, ny[y])]
        near += [(rank + wide, y + 1 < high, nx[x]), (rank - wide, y > 0, nx[x])]
        messages += [(0, rank, to, 2.0 * 5 * DOUBLE * side * points) for to, there, side in near if there]
        inner_x = nx[x] - (x == 0) - (x + 1 == wide)
        inner_y = ny[y] - (y == 0) - (y + 1 == high)
        for sweep, forth in ((0, 1), (1, -1)):
            ahead = x + y if forth > 0 else depth - x - y
            ends = [
                (rank + forth, 0 <= x + forth < wide, inner_y),
                (rank + forth * wide, 0 <= y + forth < high, inner_x),
            ]
            for plane in range(planes):
                step = 1 + sweep * (planes + depth) + ahead + plane
                busy.append((step, rank))
                messages += [(step, rank, to, 5.0 * DOUBLE * side) for to, there, side in ends if there]
    return Part(ranks, 1 + 2 * (planes + depth), messages, busy, times)


def sp(kind: str, ranks: int) -> Part:
    """Return one iteration of SP: faces with six neighbours, then two sweeps through the cells of each direction.

    make_set.f: a rank has a cell of each of the p slices, along a diagonal, so that all ranks compute in every stage.
    """
    points, times = SP[kind]
    p = isqrt(ranks)
    size = _shares(points, p)
    messages: list[Message] = []
    busy = []
    for rank in range(ranks):
        i, j = rank % p, rank // p
        cells = [((i + c) % p, (j - c) % p, c) for c in range(p)]
        forward = [(i + 1) % p + p * j, i + p * ((j + 1) % p), (i - 1) % p + p * ((j + 1) % p)]
        backward = [(i - 1) % p + p * j, i + p * ((j - 1) % p), (i + 1) % p + p * ((j - 1) % p)]
        for d in range(3):
            others = [e for e in range(3) if e != d]
            face = {cell[d]: size[cell[others[0]]] * size[cell[others[1]]] for cell in cells}
            inner = {
                cell[d]: np.prod([size[cell[e]] - (cell[e] == 0) - (cell[e] == p - 1) for e in others])
                for cell in cells
            }
            for to, end in ((forward[d], p - 1), (backward[d], 0)):
                messages.append((0, rank, to, 2.0 * 5 * DOUBLE * sum(face[at] for at in range(p) if at != end)))
            for stage in range(p):
                there, back = 1 + 2 * d * p + stage, 1 + (2 * d + 1) * p + stage
                busy += [(there, rank), (back, rank)]
                if stage < p - 1:
                    messages.append((there, rank, forward[d], 22.0 * DOUBLE * inner[stage]))
                    messages.append((back, rank, backward[d], 10.0 * DOUBLE * inner[p - 1 - stage]))
    return Part(ranks, 1 + 6 * p, messages, busy, times)


def _shares(points: int, parts: int) -> list[int]:
    return [points // parts + (at < points % parts) for at in range(parts)]


def program(part: Part, compute_seconds: float) -> Program:
    """Return a part as a program whose ranks sit on as many hosts, each computing `compute_seconds` in all of it."""
    compute = np.zeros((part.steps, part.ranks))
    step, rank = np.array(part.busy).T
    compute[step, rank] = compute_seconds * part.ranks / len(part.busy)
    row = np.array([step * part.ranks + source for step, source, *_ in part.messages])
    order = np.argsort(row, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=compute.size))]).astype(np.int64)
    to, size = (np.array([message[at] for message in part.messages])[order] for at in (2, 3))
    return Program(np.arange(part.ranks), compute, first, to.astype(np.int64), size.astype(np.float64))


def network(name: str, ranks: int) -> Network:
    """Return SuperNova's eight switches as a network with PAUSE, and 16 hosts each, or 28 and 29 on the last.

    Parallel links are used host by host (`--prefer load`); those of a tree are one aggregated link that shares its load
    perfectly, which real hashing does not.
    """
    _, family, dims, parallel = NETWORKS[name]
    hosts = [ranks // 8] * 7 + [ranks - 7 * (ranks // 8)]
    if isinstance(family, str):
        odd = hosts[7] - hosts[0]
        extra = f"hosts: {{h{ranks - 1}: {{switch: s7, port: swp60}}}}\n" if odd else ""
        fabric = make_fabric(family, *dims, parallel=parallel, hosts=hosts[0], extra=extra)
        return _with_pause(fabric, links_of(fabric, spread(fabric, route(fabric), "fixed", None).routes, None))
    fabric = make_irregular(hosts, family)
    fabric = fabric.with_speeds(dict.fromkeys(range(len(fabric.links)), 1000 * parallel))
    return _with_pause(fabric, links_of(fabric, route(fabric, "tree"), None))


def _with_pause(fabric: Fabric, links: Network) -> Network:
    assert len(fabric.hosts) == links.hosts
    return links._replace(buffer_bits=8.0 * BUFFER, pause=True)


def seconds(name: str, benchmark: str, kind: str = "C") -> float:
    """Return how long a benchmark takes on a network: one of its repeating parts is simulated, all take as long."""
    letters, ranks = benchmark.split(".")
    part = {"FT": ft, "LU": lu, "SP": sp}[letters](kind, int(ranks))
    made = program(part, COMPUTE[benchmark] / part.times)
    return part.times * simulate(network(name, int(ranks)), made).seconds


Times = dict[str, dict[str, float]]  # by network and benchmark, in seconds

TEXT = """\
# FT, LU and SP on SuperNova, frame by frame

Written by `python benchmarks/table_12.py`; a test simulates a part of it again. Koibuchi et al. 2011, Sect. 5.4.1 and
table 12: eight PowerConnect 6248, class C, one process on a host, 128 hosts (16 on a switch) or 225 (28, and 29 on the
last), PAUSE at every port. Messages, their sizes and their order are those of the benchmarks' sources: of class S they
are, pair by pair, what real runs were recorded to send. What a rank computes is the paper's, spread evenly over its
steps. Assumed: ranks in the order of hosts, all-to-all in MPI's linear order, 64 KiB of buffer for each link, hosts
spread over parallel links (`--prefer load`), an aggregated link that shares its load perfectly. Half or double the
buffer changes FT by 3 s at most, 12 s on the line of aggregated links. The paper doesn't draw its tree: beside 28 hosts
and with six links to a neighbor, a switch has ports for three neighbors; two such trees are tried. Hosts take no time
to send or receive and there is no TCP, so ours is what the network alone takes, and less than the paper's. `+ hosts`
adds to each of ours what it lacks on `Compl(2link)`, as if hosts and TCP took as long on every network.

"""
LINKS = """
Run times, computation included, in seconds, and how much longer the tree of aggregated links takes (the paper: up to
27 %, of a torus with 3 links between neighbors, 36 in all, beside a tree with 6, 42 in all; it doesn't name the
benchmark):

| network | FT.128 | LU.128 | SP.225 |
|---|---|---|---|
"""


def simulated(networks: Iterable[str] = NETWORKS) -> Times:
    """Return the seconds of every benchmark on some networks."""
    return {name: {benchmark: seconds(name, benchmark) for benchmark in COMPUTE} for name in networks}


def page(times: Times) -> str:
    """Lay the page out: a table for each benchmark of the paper's, and one of the networks of its 27 %."""
    text = TEXT.rstrip("\n") + "\n"
    for benchmark, compute in COMPUTE.items():
        text += (
            f"\n## {benchmark}\n\n| network | the paper: total (computation + communication), s | ours, s | + hosts |\n"
        )
        text += "|---|---|---|---|\n"
        lacking = TABLE_12["Compl(2link)"][benchmark][0] - times["Compl(2link)"][benchmark]
        for name, (paper, *_) in NETWORKS.items():
            if paper:
                total, own, other = TABLE_12[paper][benchmark]
                ours = times[name][benchmark]
                text += f"| {name} | {total} ({own} + {other}) | {ours:.1f} ({compute} + {ours - compute:.1f}) |"
                text += f" {ours + lacking:.1f} |\n"
    text += "\n## A torus beside a tree of aggregated links\n" + LINKS
    torus = times["Torus, 3 links"]
    for name, (paper, *_) in NETWORKS.items():
        if not paper:
            cells = [f"{times[name][b]:.1f}" for b in COMPUTE]
            if name != "Torus, 3 links":
                cells = [
                    f"{c}, {100 * (times[name][b] / torus[b] - 1):+.0f} %" for c, b in zip(cells, COMPUTE, strict=True)
                ]
            text += f"| {name} | {' | '.join(cells)} |\n"
    return text


def main() -> None:
    PAGE.write_text(page(simulated()), "utf-8")
    sys.stdout.write(PAGE.read_text("utf-8"))


if __name__ == "__main__":
    main()
