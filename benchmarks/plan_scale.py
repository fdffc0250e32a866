"""Measure how planning and proving grow with the fabric, against memcpy, networkx and scipy in the same run.

Plans are of tori with two links between neighbours and one host a switch, renamed, without texts, each in a process of
its own, so that its peak memory is its own. OpenSM's quoted figures are of torus-2QoS of version 3.3.23, routes only,
without a proof; where Debian's opensm, ibsim-utils and ibutils are installed, they run beside ours. `--texts` adds
texts written and proven at 1,024 switches; `--to N` stops early.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import shortest_path

sys.path.insert(0, str(Path(__file__).parent))
from opensm import credit_loops, opensm

from tagloom import pipeline
from tagloom.graph.cycles import find_cycle
from tagloom.graph.paths import dependencies
from tagloom.read.fabric_file import parse_fabric
from tagloom.route import route
from tagloom.share import share_directory
from tagloom.verify.forwarding import forwarding
from tagloom.verify.unicast import walk

if TYPE_CHECKING:
    from collections.abc import Callable

    from tagloom.records.fabric import Fabric

TORI = ((8, 8), (16, 16), (32, 32), (64, 64), (16, 16, 16))
CHECKED_UP_TO = 1024  # switches: ibdmchk takes 7 CPU-s for as many
OPENSM_SECONDS = {(32, 32): 0.42, (16, 16, 16): 7.95}


def torus(dims: tuple[int, ...], model: str = "linux-bridge") -> Fabric:
    shape = f"{{family: torus, dims: {list(dims)}, parallel: 2, hosts: 1}}"
    return parse_fabric(f"name: t\nmodel: {model}\nshape: {shape}\n", "benchmark")


def seconds(work: Callable[[], object], least: float = 0.2) -> float:
    """Return the CPU seconds of one run, the best of as many as fit in `least` seconds, at least one."""
    best, spent = math.inf, 0.0
    while spent <= least:
        start = time.process_time()
        work()
        took = time.process_time() - start
        best, spent = min(best, took), spent + max(took, 1e-4)
    return best


def one(dims: tuple[int, ...], *, texts: bool) -> dict[str, float]:
    """Plan one torus: CPU seconds, peak bytes, static entries, and the seconds of the steps in it."""
    fabric = torus(dims, "powerconnect-5324" if texts else "linux-bridge")
    templates = share_directory() / "templates"
    start = time.process_time()
    build, proof, _ = pipeline.plan(fabric, templates, assignment="renamed", texts=texts)
    took = time.process_time() - start
    assert proof.proven
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    entries = sum(len(state.entry_vlan) for state in build.state.values())
    model = forwarding(fabric, build.state)
    return {
        "seconds": took,
        "peak": peak,
        "entries": entries,
        "routes": seconds(lambda: route(fabric, "dor", "renamed")),
        "proof": seconds(lambda: find_cycle(len(fabric.tail), *dependencies(fabric, build.routes))),
        "written": seconds(lambda: walk(model, None), 0),
    }


def peers(dims: tuple[int, ...]) -> None:
    """Compare the routes of one torus with copying their bytes and with graph libraries, in this process."""
    fabric = torus(dims)
    routes = route(fabric, "dor")
    assert routes.parent is not None
    ours = seconds(lambda: route(fabric, "dor"))
    copy = seconds(routes.parent.copy)
    n = len(fabric.switches)
    matrix = csr_matrix((np.ones(len(fabric.tail)), (fabric.tail, fabric.head)), (n, n))
    scipy = seconds(lambda: shortest_path(matrix, unweighted=True, return_predecessors=True))
    graph = nx.Graph(fabric.graph)
    networkx = seconds(lambda: dict(nx.all_pairs_shortest_path_length(graph)), 0)
    print(f"routes of {n:,} switches, {routes.parent.nbytes / 1e6:.1f} MB: {ours:.4f} CPU-s")
    print(f"  memcpy of the same bytes {copy:.5f} CPU-s: {ours / copy:.0f} times that (goal: at most 10)")
    print(f"  scipy all pairs with predecessors {scipy:.3f} CPU-s: {scipy / ours:.1f} times ours")
    print(f"  networkx all pairs, lengths only {networkx:.3f} CPU-s: {networkx / ours:.1f} times ours")


def fabric_manager(dims: tuple[int, ...], page: dict[str, float]) -> None:
    """Route with OpenSM the same torus by torus-2QoS, and ibdmchk look for loops in tables of its up*/down*."""
    if not all(map(shutil.which, ("opensm", "ibsim", "ibsim-run", "ibdmchk"))):
        print(f"{'':>12} opensm, ibsim or ibdmchk is not installed (Debian: opensm, ibsim-utils, ibutils)")
        return
    fabric = parse_fabric(f"name: t\nmodel: linux-bridge\nshape: {{family: torus, dims: {list(dims)}}}\n", "benchmark")
    mine = page["routes"] + page["proof"]
    with tempfile.TemporaryDirectory() as folder:
        took = opensm(fabric, "torus-2QoS", 0, Path(folder), dims)
        if took is not None:
            print(f"{'':>12} OpenSM torus-2QoS here: {took:.3f} s of one thread (wall) = {took / mine:.0f} times ours")
    if len(fabric.switches) <= CHECKED_UP_TO:
        with tempfile.TemporaryDirectory() as folder:
            opensm(fabric, "updn", 0, Path(folder), dumps=True)
            seconds, verdict = credit_loops(Path(folder))
            times = seconds / page["proof"]
            what = f"CPU-s for one table, parsing too ({verdict})"
            print(f"{'':>12} ibdmchk here: {seconds:.2f} {what} = {times:.0f} times ours")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--to", type=int, default=4096, metavar="N", help="largest fabric, switches (default 4096)")
    arguments.add_argument("--texts", action="store_true", help="also texts written and proven at 1,024 switches")
    arguments.add_argument("--one", nargs="+", type=int, help=argparse.SUPPRESS)
    args = arguments.parse_args()
    if args.one:
        print(json.dumps(one(tuple(args.one), texts=args.texts)))
        return

    def measured(dims: tuple[int, ...], *more: str) -> dict[str, float]:
        command = [sys.executable, __file__, "--one", *map(str, dims), *more]
        page: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        return page

    print(f"{'torus':>12} {'switches':>8} {'entries':>11} {'CPU-s':>8} {'MB':>7} {'us/entry':>9}  growth: CPU, entries")
    last: tuple[int, dict[str, float]] | None = None
    for dims in TORI:
        n = math.prod(dims)
        if n > args.to:
            continue
        page = measured(dims)
        growth = ""
        if last is not None and n > last[0]:
            by = math.log(n / last[0])
            growth = ", ".join(f"N^{math.log(page[k] / last[1][k]) / by:.2f}" for k in ("seconds", "entries"))
        name, each = "x".join(map(str, dims)), page["seconds"] / page["entries"] * 1e6
        print(
            f"{name:>12} {n:>8,} {page['entries']:>11,} {page['seconds']:>8.2f} {page['peak'] / 1e6:>7.0f} {each:>9.2f}"
            f"  {growth}",
            flush=True,
        )
        if dims in OPENSM_SECONDS:
            mine, reference = page["routes"] + page["proof"], OPENSM_SECONDS[dims]
            print(
                f"{'':>12} routes {page['routes']:.4f} + dependencies of their table {page['proof']:.4f} CPU-s;"
                f" OpenSM torus-2QoS, quoted, no proof: {reference} CPU-s = {reference / mine:.0f} times ours"
                f" (goal: 50); following all static entries as well: {page['written']:.2f} CPU-s"
            )
            fabric_manager(dims, page)
        last = n, page
    for dims in ((32, 32), (16, 16, 16)):
        if math.prod(dims) <= args.to:
            peers(dims)
    if args.texts:
        page = measured((32, 32), "--texts")
        print(f"32x32 with texts written and proven: {page['seconds']:.1f} CPU-s, {page['peak'] / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
