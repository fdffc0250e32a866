"""Compare the routing of any graph with up*/down* and shortest paths: hops, loads, CPU seconds.

Run `PYTHONPATH=tooling python benchmarks/any_routing.py [--effort N] [--large]`. Hops are over those of shortest paths,
loads over what no routing can undercut (shortest hops / channels), one host per switch, all pairs alike. CPU seconds
are of one process, the kernels compiled before (their compilation, once per installation, is printed first).

benchmarks/opensm.py sets the seconds beside OpenSM's.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING, TypeVar

import networkx as nx
import numpy as np

from tagloom.graph.paths import channel_load
from tagloom.read.families import FAMILIES
from tagloom.records.fabric import Fabric, Host, Link, Switch
from tagloom.records.routes import DELIVERED
from tagloom.route.any_order import any_relation, any_trees
from tagloom.route.up_down import up_down

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

    from tagloom.records.routes import Relation

T = TypeVar("T")


def cabled(name: str, n: int, edges: Iterable[tuple[int, int]]) -> Fabric:
    used = [0] * n

    def port(s: int) -> int:
        used[s] += 1
        return used[s]

    links = tuple(Link(a, port(a), b, port(b)) for a, b in edges)
    hosts = tuple(Host(f"h{s}", s, port(s), s + 1) for s in range(n))
    return Fabric(name, tuple(Switch(f"s{s}", "linux-bridge") for s in range(n)), hosts, links, tuple(used))


def family(name: str, *dims: int) -> Fabric:
    layout = FAMILIES[name].build(dims)
    return cabled(name, len(layout.at), ((edge.a, edge.b) for edge in layout.edges))


def random_regular(degree: int, n: int) -> Fabric:
    return cabled("random", n, nx.random_regular_graph(degree, n, seed=1).edges)


def balanced_shortest(fabric: Fabric) -> NDArray[np.float64]:
    """Load the channels by shortest paths per destination, each hop over the least loaded: not free of deadlock."""
    n, load = len(fabric.switches), np.zeros(len(fabric.tail))
    near: list[list[tuple[int, int]]] = [[] for _ in range(n)]
    for c, (u, v) in enumerate(zip(fabric.tail.tolist(), fabric.head.tolist(), strict=True)):
        near[u].append((c, v))
    for d in np.random.default_rng(1).permutation(n).tolist():
        depth, order = [-1] * n, [d]
        depth[d] = 0
        for u in order:
            for _, v in near[u]:
                if depth[v] < 0:
                    depth[v] = depth[u] + 1
                    order.append(v)
        flow = [1] * n
        for u in reversed(order[1:]):
            c, v = min(((c, v) for c, v in near[u] if depth[v] < depth[u]), key=lambda way: load[way[0]])
            load[c] += flow[u]
            flow[v] += flow[u]
    return load


def walked(fabric: Fabric, relation: Relation) -> NDArray[np.float64]:
    """Load the channels by walking all pairs at once."""
    n, load = len(fabric.switches), np.zeros(len(fabric.tail))
    target = np.tile(np.arange(n), n)
    channel = relation.first.ravel()
    while len(channel):
        going = channel != DELIVERED
        channel, target = channel[going], target[going]
        load += np.bincount(channel, minlength=len(load))
        channel = relation.following[channel, target]
    return load


def timed(make: Callable[[], T]) -> tuple[T, float]:
    begin = time.process_time()
    made = make()
    return made, time.process_time() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--effort", type=int, default=1, help="effort of the search (1)")
    parser.add_argument("--large", action="store_true", help="4,096 switches, too")
    options = parser.parse_args()
    graphs: dict[str, Callable[[], Fabric]] = {
        "random 4-regular 64": lambda: random_regular(4, 64),
        "random 4-regular 256": lambda: random_regular(4, 256),
        "random 4-regular 1024": lambda: random_regular(4, 1024),
        "dragonfly 19 x 6": lambda: family("dragonfly", 19, 6),
        "torus 8x8": lambda: family("torus", 8, 8),
        "torus 16x16": lambda: family("torus", 16, 16),
        "torus 8x8x8": lambda: family("torus", 8, 8, 8),
        "torus 10x10x10": lambda: family("torus", 10, 10, 10),
        "torus 32x32": lambda: family("torus", 32, 32),
    }
    if options.large:
        graphs["torus 16x16x16"] = lambda: family("torus", 16, 16, 16)
    small = family("torus", 4, 4)
    efforts = [0, options.effort] if options.effort else [0]
    _, seconds = timed(lambda: [(any_relation(small, e), any_trees(small, e)) for e in efforts] + [up_down(small)])
    print(f"compiling or loading the kernels: {seconds:.1f} s\n")
    print(f"{'graph':22} {'routing':28} {'hops':>6} {'load':>6} {'CPU s':>9}")
    for name, make in graphs.items():
        fabric = make()
        _ = fabric.tail, fabric.head, fabric.channel_up, fabric.host_switch
        balanced, took = timed(lambda fabric=fabric: balanced_shortest(fabric))
        shortest = balanced.sum()

        def row(
            what: str, load: NDArray[np.float64], seconds: float, name: str = name, shortest: float = shortest
        ) -> None:
            bound = shortest / len(load)
            print(
                f"{name:22} {what:28} {load.sum() / shortest:6.3f} {load.max() / bound:6.2f} {seconds:9.4f}", flush=True
            )

        for effort in efforts:
            (_, _, relation), seconds = timed(lambda fabric=fabric, e=effort: any_relation(fabric, e))
            row(f"any renamed, effort {effort}", walked(fabric, relation), seconds)
            routes, seconds = timed(lambda fabric=fabric, e=effort: any_trees(fabric, e))
            row(f"any fixed, effort {effort}", channel_load(fabric, routes), seconds)
        routes, seconds = timed(lambda fabric=fabric: up_down(fabric))
        row("up*/down*, best root", channel_load(fabric, routes), seconds)
        row("shortest paths (can deadlock)", balanced, took)


if __name__ == "__main__":
    main()
