"""Write results/performance.md: bandwidth of the paper's networks, our flows beside SimGrid's, a large forecast's cost.

SimGrid's part needs its module for the system's Python (Debian: apt-get install python3-simgrid) and is left out, with
a word, where it is missing; `--large BUILD` adds CPU seconds and memory of a forecast and a report of that build.
`--cases N` is for a look: with fewer cases than the page has, 64 hosts send all-to-all in place of 256, on which
SimGrid takes minutes, and the page is printed, not written.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "predict"))
from fabrics import make_fabric
from judged import judge, random_case
from needs import missing
from tagloom.graph.flows import flows_of
from tagloom.graph.paths import average_hops
from tagloom.graph.trees import per_switch, rooted
from tagloom.platforms.power import latency_seconds
from tagloom.predict.flows import finish, max_min_rates
from tagloom.predict.performance import move, performance
from tagloom.read.patterns import pattern
from tagloom.records.routes import Routes
from tagloom.route import route
from tagloom.route.spread import spread

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric

ROOT = Path(__file__).resolve().parents[1]
PATTERNS = ("all-to-all", "bit-reversal", "matrix-transpose")
NETWORKS = (  # the seven of Koibuchi et al. 2011, table 11, all with 16 hosts
    ("mesh 4x2", "mesh", (4, 2), {"hosts": 2}, "auto"),
    ("torus 4x2, 3 links", "torus", (4, 2), {"hosts": 2, "parallel": 3}, "auto"),
    ("Myri-clos (K4,4)", "clos", (4, 4), {"hosts": 2}, "auto"),
    ("tree in mesh 4x4", "mesh", (4, 4), {}, "tree"),
    ("mesh 4x4", "mesh", (4, 4), {}, "auto"),
    ("torus 4x4", "torus", (4, 4), {}, "auto"),
    ("fat tree (2,4,2)", "fat-tree", (2, 4, 2), {"hosts": 2}, "auto"),
)
CLUSTERS = (
    ("testbed: torus 4x4, 2 links, 16 hosts", "torus", (4, 4), 2, 1),
    ("the same with 64 hosts", "torus", (4, 4), 2, 4),
    ("Misc: K6, 2 links, 66 hosts", "complete", (6,), 2, 11),
    ("SuperNova: torus 4x2, 3 links, 224 hosts", "torus", (4, 2), 3, 28),
    ("SuperNova: torus 4x2, 5 links, 64 hosts", "torus", (4, 2), 5, 8),
)
CASES = 50
SIDE, SMALL_SIDE = 8, 4  # switches along each dimension of the torus on which all hosts send to all

TEXT = """\
# What the network does to traffic

Written by `python benchmarks/flows.py`, the last part with `--large BUILD`; tests compute all but times again. Flows
share channels max-min fair, all begin at once, hosts' links carry 1 Gb/s; 100 % is the time of one ideal switch that
holds all hosts.

## The seven networks of table 11 (Koibuchi et al. 2011), 16 hosts each: bandwidth relative to one switch (Fig. 10)

| network | switches on a path | all-to-all | bit reversal | matrix transpose |
|---|---|---|---|---|
"""
FIG_10 = """
Fig. 10 is drawn as bars without numbers, so no number of it stands beside ours; its text says that all topologies
outrun the M-tree, and that mesh and torus 4x4, fat tree and Myri-clos come near the flat switch in all-to-all. Both
hold here. The model leaves out protocol headers, PAUSE and head-of-line blocking behind full ports, and hosts that do
not send in step. In the matrix transpose all 16 hosts send (Sect. 5.3).

## Against a tree of aggregated links over the same cables

More bandwidth than the tree has, in percent. The tree is our breadth-first one, its parallel links bound into one
(IEEE 802.1AX) that shares its load perfectly, which real hashing does not; hosts are spread over lanes and trees
(`--prefer load`). The paper's 27 % and 650 % are of NAS benchmarks of class C on 128 and 225 hosts of SuperNova (Sect.
5.4.1, Fig. 11c): run times, computation included. 27 %: a torus of 36 links beside a tree of 42, six from switch to
switch; 650 %: the most of any topology. [The papers, row by row](../../docs/papers.md) has ours beside them.

| fabric | all-to-all | bit reversal | matrix transpose |
|---|---|---|---|
"""
AFTER_TREE = """
The +650 % of the testbed with 64 hosts has nothing to do with the paper's 650 %. Where a pattern has fewer
flows than links, as on 16 hosts, a bound link is worth more than two paths of which a flow can use one: the tree wins.

## Latency: switches on a path (table 4, U-(T)-U; it has no 6248, taken for a 6224, layer 3 as it is)

| model | a switch adds, us | 3 switches (torus 4x4), us | 4.81 (tree), us |
|---|---|---|---|
"""


def routed(network: tuple[str, str, tuple[int, ...], dict[str, int], str]) -> tuple[Fabric, Routes]:
    """Return a network of table 11 with its paths."""
    _, family, dims, options, method = network
    fabric = make_fabric(family, *dims, **options)
    if method != "tree":
        return fabric, route(fabric, method)
    at = [switch.at for switch in fabric.switches]  # row 0 and all columns: the table's 4.81 switches on a path
    kept = {
        i for i, link in enumerate(fabric.links)
        if at[link.a][0] == at[link.b][0] or at[link.a][1] == at[link.b][1] == 0
    }  # fmt: skip
    source_of_host, root = per_switch(fabric)
    return fabric, Routes("tree", "", source_of_host, root, np.stack([rooted(fabric, kept, int(s)) for s in root]))


def relative(network: tuple[str, str, tuple[int, ...], dict[str, int], str]) -> tuple[float, list[float]]:
    """Return switches on a path, and the bandwidth of the patterns relative to one ideal switch."""
    fabric, routes = routed(network)
    shares = []
    for name in PATTERNS:
        moved = move(fabric, routes, pattern(fabric, f"pattern:{name}"))
        shares.append(performance(moved, moved).bandwidth_after.value)
    return average_hops(fabric, routes), shares


def gains(family: str, dims: tuple[int, ...], parallel: int, hosts: int) -> list[float]:
    """Return how much more bandwidth than a tree of aggregated links over the same cables, in percent by pattern."""
    fabric = make_fabric(family, *dims, parallel=parallel, hosts=hosts)
    bound = make_fabric(family, *dims, hosts=hosts)
    bound = bound.with_speeds(dict.fromkeys(range(len(bound.links)), 1000 * parallel))
    ours = spread(fabric, route(fabric), "fixed", None).routes
    tree = route(bound, "tree")
    found = []
    for name in PATTERNS:
        seconds = [move(f, r, pattern(f, f"pattern:{name}")).seconds for f, r in ((fabric, ours), (bound, tree))]
        found.append(100 * (seconds[1] / seconds[0] - 1))
    return found


def latencies() -> list[str]:
    """Return the rows of switches' latencies, of one and over the paths of a torus 4x4 and of its tree."""
    found = []
    for model in ("powerconnect-5324", "powerconnect-6224", "powerconnect-6248", "sf-0420g"):
        each = 1e6 * latency_seconds(model)
        found.append(f"| {model} | {each:.2f} | {3 * each:.2f} | {4.8125 * each:.2f} |")
    return found


def network_row(network: tuple[str, str, tuple[int, ...], dict[str, int], str]) -> str:
    """Return a row of table 11's networks."""
    hops, shares = relative(network)
    return f"| {network[0]} | {hops:.2f} | {' | '.join(f'{100 * share:.0f} %' for share in shares)} |"


def cluster_row(name: str, family: str, dims: tuple[int, ...], parallel: int, hosts: int) -> str:
    """Return a row of a cluster beside its tree."""
    return f"| {name} | {' | '.join(f'{gain:+.0f} %' for gain in gains(family, dims, parallel, hosts))} |"


def simgrid_lines(cases: int, side: int = SIDE) -> list[str]:
    """Set our rates and ends beside SimGrid's, and its CPU seconds beside ours all-to-all on 4 side^2 hosts."""
    hosts = 4 * side**2
    lines = ["", "## Beside SimGrid", ""]
    if reason := missing("simgrid"):
        return [*lines, reason]
    rate_error, end_error, batch_error = [], [], []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(cases):
            fabric, volume, _ = random_case(seed)
            routes = route(fabric)
            flows = flows_of(fabric, routes, volume)
            rates, _ = judge(fabric, routes, flows, folder, "rates")
            ends, _ = judge(fabric, routes, flows, folder, "finish")
            rate_error.append(np.abs(max_min_rates(flows) / rates - 1).max())
            end_error.append(np.abs(finish(flows).seconds / ends - 1).max())
            batch_error.append(np.abs(finish(flows, 0.01).seconds / ends - 1).max())
        fabric = make_fabric("torus", side, side, parallel=2, hosts=4)
        routes = route(fabric)
        volume = np.full((hosts, hosts), 1e6)
        np.fill_diagonal(volume, 0.0)
        flows = flows_of(fabric, routes, volume)
        began = time.process_time()
        found = finish(flows)
        ours = time.process_time() - began
        ends, theirs = judge(fabric, routes, flows, folder, "finish")
        worst = np.abs(found.seconds / ends - 1).max()
        began = time.process_time()
        rates = max_min_rates(flows)
        our_rates = time.process_time() - began
        their_rates_bps, their_rates = judge(fabric, routes, flows, folder, "rates")
        worst_rate = np.abs(rates / their_rates_bps - 1).max()
    return [
        *lines,
        f"SimGrid 3.32 (network/model:CM02 without factors, latencies 0), {cases} random fabrics and patterns, links",
        "slowed at random, random sizes; the routes are those that `tagloom export simgrid` writes.",
        "",
        "| | worst difference | asked for |",
        "|---|---|---|",
        f"| rates at the beginning, {cases} cases | {max(rate_error):.1e} | 1 % |",
        f"| completion times, {cases} cases | {max(end_error):.1e} | 5 % |",
        f"| completion times, ends within 1 % of the time taken together | {100 * max(batch_error):.2f} % | 5 % |",
        f"| rates, {hosts} hosts all-to-all on a torus {side}x{side} | {worst_rate:.1e} | 1 % |",
        f"| completion times, the same | {worst:.1e} | 5 % |",
        "",
        f"| {hosts} hosts all-to-all, {len(flows):,} flows | SimGrid, CPU s | ours, CPU s | times faster (goal: 20) |",
        "|---|---|---|---|",
        f"| rates | {their_rates:.2f} | {our_rates:.3f} | {their_rates / our_rates:.0f} |",
        f"| until the last has finished | {theirs:.2f} | {ours:.3f} | {theirs / ours:.0f} |",
        "",
        "SimGrid's seconds are of its run alone, without reading the platform. Sizes alike end in 23 events here; of",
        "sizes all different every end is one, and ours is then slower: 4,032 flows take seconds, 65,280 are taken",
        "together where they end within 1 % of the time.",
    ]


def large(build: Path) -> list[str]:
    """Forecast and report a large build, each in a process of its own."""
    code = (
        "import sys, time, resource\nfrom tagloom.cli import main\n"
        "status = main(sys.argv[1:])\n"
        "peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20\n"
        "print(f'{time.process_time()} {peak}', file=sys.stderr)\nsys.exit(status)"
    )
    plan = json.loads((build / "plan.json").read_text("utf-8"))["summary"]
    lines = [
        "",
        "## A large forecast and its report",
        "",
        f"Of {plan['switches']:,} switches, {plan['links']:,} links and {plan['hosts']:,} hosts ({plan['name']}),",
        "all-to-all. The report proves the build from its configurations first.",
        "",
        "| | CPU s (asked for: 20) | peak, GiB (2) |",
        "|---|---|---|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        for words in (["predict", str(build)], ["report", str(build), "-o", f"{folder}/r.html"]):
            command = [sys.executable, "-c", code, *words, "--traffic", "pattern:all-to-all", "--seconds", "100"]
            run = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
            cpu, peak = map(float, run.stderr.split()[-2:])
            lines.append(f"| `tagloom {words[0]}` | {cpu:.1f} | {peak:.2f} |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", type=Path, metavar="BUILD")
    parser.add_argument("--cases", type=int, default=CASES, metavar="N")
    args = parser.parse_args()
    whole = args.cases >= CASES
    text = TEXT
    text += "".join(f"{network_row(network)}\n" for network in NETWORKS)
    text += FIG_10
    text += "".join(f"{cluster_row(*cluster)}\n" for cluster in CLUSTERS)
    text += AFTER_TREE
    text += "".join(f"{line}\n" for line in latencies())
    text += (
        "\n".join(simgrid_lines(args.cases, SIDE if whole else SMALL_SIDE) + (large(args.large) if args.large else []))
        + "\n"
    )
    if whole:
        (ROOT / "benchmarks" / "results" / "performance.md").write_text(text, "utf-8")
    print(text)
    print(f"{time.process_time() + sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]):.0f} CPU s in all")


if __name__ == "__main__":
    main()
