"""Measure computing and proving rollouts, of the two sizes that matter, in CPU seconds.

The first is the size of Snowcap's worst published case (Schneider, Birkner, Vanbever, SIGCOMM 2021: 186 commands on
a graph of 69 nodes and 96 links, 59 s), which is quoted, not measured here: that tool orders the commands of BGP and
OSPF routers, and proves no interleavings. The second is a torus of 1,024 switches that loses 10 % of its links. Plans
are made before the clock starts; every rollout is computed twice and the second time counts, so that compiling is left
out.
"""

from __future__ import annotations

import argparse
import random
import time
from functools import partial
from typing import TYPE_CHECKING

import networkx as nx

from tagloom.pipeline import rollout
from tagloom.read.fabric_file import parse_fabric
from tagloom.route import route
from tagloom.verify import broadcasts_once
from tagloom.weave import weave

if TYPE_CHECKING:
    from tagloom.records.fabric import Fabric
    from tagloom.records.switch_state import FabricState

SNOWCAP_SECONDS = 59.0
MODEL = "powerconnect-6248"
CONFIGURATIONS = [(2, "dor", "renamed"), (1, "up-down", "renamed"), (2, "up-down", "renamed"), (1, "up-down", "fixed")]


def irregular(switches: int, links: int, seed: int) -> Fabric:
    """Make a connected random graph with a host on each switch."""
    graph = nx.Graph(nx.random_labeled_tree(switches, seed=seed))
    chance = random.Random(seed)  # noqa: S311 - a graph, not a secret
    while graph.number_of_edges() < links:
        graph.add_edge(*chance.sample(range(switches), 2))
    port = [1] * switches
    lines = []
    for a, b in sorted(graph.edges):
        lines.append(f'  - ["s{a}:g{port[a]}", "s{b}:g{port[b]}"]')
        port[a], port[b] = port[a] + 1, port[b] + 1
    names = "\n".join(f"  s{s}: {{}}" for s in range(switches))
    hosts = "\n".join(f"  h{s}: {{switch: s{s}, port: g{port[s]}}}" for s in range(switches))
    return parse_fabric(
        f"name: irregular\nmodel: {MODEL}\nswitches:\n{names}\nhosts:\n{hosts}\nlinks:\n" + "\n".join(lines), "bench"
    )


def torus(side: int, parallel: int) -> Fabric:
    shape = f"{{family: torus, dims: [{side}, {side}], parallel: {parallel}, hosts: 1}}"
    return parse_fabric(f"name: torus\nmodel: {MODEL}\nshape: {shape}\n", "bench")


def planned(fabric: Fabric, routing: str, assignment: str) -> FabricState:
    routes = route(fabric, routing, assignment)
    return weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric)).state


def measure(title: str, fabric: Fabric, before: FabricState, after: FabricState) -> float:
    rollout(fabric, before, after)
    start = time.process_time()
    change = rollout(fabric, before, after)
    seconds = time.process_time() - start
    patches = sum(len(wave.patches) for wave in change.waves)
    entries = [sum(len(held.entry_vlan) for held in state.values()) for state in (before, change.after)]
    print(
        f"{title}: {len(fabric.switches)} switches, {len(fabric.links)} links, {entries[0]:,} and {entries[1]:,} "
        f"static entries\n  {change.strategy}, {len(change.waves)} waves, {patches} patches, {change.proven_states:,} "
        f"states of single switches proven in every interleaving: {seconds:.2f} s"
    )
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true", help="the first size only")
    parser.add_argument("--side", type=int, default=32, help="switches on a side of the torus (default 32)")
    options = parser.parse_args()
    fabric = irregular(69, 96, 1)
    before = planned(fabric, "up-down", "fixed")
    alone = (fabric.with_links_down({link}) for link in range(len(fabric.links)))
    less = next(smaller for smaller in alone if smaller.reached(0).all())
    seconds = measure("one link off", less, before, planned(less, "up-down", "fixed"))
    print(f"  Snowcap's worst published case: {SNOWCAP_SECONDS:.0f} s, quoted; {SNOWCAP_SECONDS / seconds:.0f} times")
    if options.small:
        return
    for parallel, routing, assignment in CONFIGURATIONS:
        fabric = torus(options.side, parallel)
        lost = random.Random(1).sample(range(len(fabric.links)), len(fabric.links) // 10)  # noqa: S311 - as above
        less = fabric.with_links_down(set(lost))
        before, after = planned(fabric, routing, assignment), planned(less, "up-down", assignment)
        title = f"a tenth of all links lost, {parallel} per neighbour, {assignment}, from {routing} to up-down"
        seconds = measure(title, less, before, after)
        print(f"  asked for: under 20 s; {20 / seconds:.1f} times faster")


if __name__ == "__main__":
    main()
