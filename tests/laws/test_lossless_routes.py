"""Routes of others: what is said of their deadlocks is what walking every frame, ibdmchk and the literature say."""

import itertools
import json
import random
import shutil
import subprocess
import sys

import networkx as nx
import numpy as np
import pytest

from command_line.terminal import Terminal
from fabrics import ROOT
from judges.ibdm import credit_loop, write_subnet
from tagloom.pipeline import prove_paths, prove_tables
from tagloom.verify.forbidden_turns import fewest_to_remove

RING = ROOT / "tests" / "data" / "infiniband" / "ring"
CLOS = ROOT / "tests" / "data" / "routes" / "clos.csv"


def random_network(rng, most=12):
    """Return a connected graph, its links with ports from 2 on, and the port to each neighbour."""
    count = rng.randrange(3, most)
    graph = nx.random_regular_graph(3, count + count % 2, seed=rng.randrange(1 << 30)) if rng.random() < 0.5 else None
    if graph is None or not nx.is_connected(graph):
        graph = nx.cycle_graph(count)
        for _ in range(rng.randrange(count)):
            graph.add_edge(*rng.sample(range(count), 2))
    port, links = {}, []
    used = dict.fromkeys(graph, 1)
    for a, b in graph.edges:
        used[a] += 1
        used[b] += 1
        port[a, b], port[b, a] = used[a], used[b]
        links.append(((a, used[a]), (b, used[b])))
    return graph, links, port


def random_tables(rng, graph, *, spread=1):
    """Return next hops by (switch, destination): shortest by links, by lengths by chance, or along one tree."""
    kind = rng.choice(["links", "lengths", "tree"])
    ways = nx.bfs_tree(graph, 0).to_undirected() if kind == "tree" else graph.copy()
    for _, _, link in ways.edges(data=True):
        link["length"] = 1 if kind == "links" else rng.randrange(1, 4)
    hops = {}
    for d in graph:
        away = nx.single_source_dijkstra_path_length(ways, d, weight="length")
        for s in graph:
            if s != d:
                good = [n for n, link in ways[s].items() if away[n] + link["length"] == away[s]]
                hops[s, d] = rng.sample(good, min(len(good), rng.randint(1, spread)))
    return hops


def walked(graph, hops):
    """Return the dependencies of every frame from every switch, one path after the other."""
    found = set()
    for source, d in itertools.permutations(graph, 2):
        paths = [(source,)]
        while paths:
            path = paths.pop()
            found.update(zip(itertools.pairwise(path), itertools.pairwise(path[1:]), strict=False))
            if path[-1] != d and len(path) <= len(graph):
                paths += [(*path, onward) for onward in hops[path[-1], d]]
    return found


def write_tables(directory, links, hops, port):
    """Write the tables as CSV; destinations are hosts at port 1."""
    directory.mkdir(exist_ok=True)
    rows = [f"s{a},p{p},s{b},p{q}" for (a, p), (b, q) in links]
    (directory / "links.csv").write_text("\n".join(["a,a_port,b,b_port", *rows, ""]), "utf-8")
    rows = [f"s{s},h{d},{' '.join(f'p{port[s, n]}' for n in to)}" for (s, d), to in hops.items()]
    rows += [f"s{d},h{d},p1" for d in {d for _, d in hops}]
    (directory / "tables.csv").write_text("\n".join(["switch,destination,ports", *rows, ""]), "utf-8")


@pytest.mark.parametrize("seed", range(40))
def test_tables_cause_the_dependencies_that_frames_do(tmp_path, seed):
    rng = random.Random(seed)
    graph, links, port = random_network(rng)
    hops = random_tables(rng, graph, spread=3)
    write_tables(tmp_path, links, hops, port)
    proof = prove_tables(tmp_path)
    names = proof.routes.channels
    found = {(names[a], names[b]) for a, b in proof.routes.pairs.T.tolist()}
    assert proof.routes.dependencies == len(found)
    expected = walked(graph, hops)
    assert found == {(f"s{a}:p{port[a, b]}", f"s{b}:p{port[b, c]}") for (a, b), (_, c) in expected}
    dependencies = nx.DiGraph(expected)
    acyclic = nx.is_directed_acyclic_graph(dependencies)
    assert proof.deadlock_free == proof.any_priority == acyclic
    assert bool(proof.cycle) == bool(proof.turns) == (not acyclic)
    if acyclic:
        return
    cycle = [*proof.cycle, proof.cycle[0]]
    assert set(itertools.pairwise(cycle)) <= found
    without = found - {(turn.before, turn.after) for turn in proof.turns}
    assert nx.is_directed_acyclic_graph(nx.DiGraph(without))
    assert len(proof.turns) >= proof.turns_at_least >= 1


@pytest.mark.parametrize("seed", range(12))
def test_fewest_turns_are_the_fewest(seed):
    rng = random.Random(seed)
    edges = [(a, b) for a in range(6) for b in range(6) if a != b and rng.random() < 0.35]
    graph = nx.DiGraph(edges)
    least = next(
        k
        for k in range(len(edges) + 1)
        if any(
            nx.is_directed_acyclic_graph(nx.restricted_view(graph, [], chosen))
            for chosen in itertools.combinations(edges, k)
        )
    )
    removed, bound = fewest_to_remove(*np.array(edges, np.int64).T)
    assert nx.is_directed_acyclic_graph(nx.restricted_view(graph, [], removed))
    assert (len(removed), bound) == (least, least)


@pytest.mark.needs("ibdmchk")
@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(n, marks=pytest.mark.long) for n in range(20, 200))])
def test_ibdmchk_agrees(tmp_path, seed):
    rng = random.Random(1000 + seed)
    graph, links, port = random_network(rng, 20)
    hops = random_tables(rng, graph)
    write_subnet(tmp_path, len(graph), links, {(s, d): port[s, to[0]] for (s, d), to in hops.items()})
    proof = prove_tables(tmp_path)
    assert not proof.routes.findings
    assert (not proof.deadlock_free) == credit_loop(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        ("opensm-subnet.lst", "opensm.fdbs"),
        ("opensm-subnet.lst", "opensm-lfts.dump"),
        ("ibnetdiscover.txt", "dump_lfts.txt"),
        ("ibnetdiscover.txt", "opensm.fdbs"),
    ],
)
def test_opensm_routes_a_ring_into_a_credit_loop(tmp_path, files):
    for name in files:
        shutil.copy(RING / name, tmp_path)
    found = Terminal(tmp_path).answer("verify", "--fdb", tmp_path, expect=1)
    assert (found["deadlock_free"], found["dead_ends"]) == (False, 0)
    assert {"S0", "S1", "S2", "S3"} == {channel.split(":")[0] for channel in found["deadlock_cycle"]}
    assert (found["switches"], found["destinations"], found["channels"], found["dependencies"]) == (4, 4, 8, 4)
    assert found["turns_to_forbid_at_least"] == len(found["turns_to_forbid"]) == 1


def test_bounces_in_a_clos_network_can_deadlock(tmp_path):
    proof = prove_paths(CLOS)
    assert set(proof.cycle) == {"L1>S1", "S1>L3", "L3>S2", "S2>L1"}
    assert len(proof.turns) == proof.turns_at_least == 1
    path = tmp_path / "clos.csv"
    rows = CLOS.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(row for row in rows if not row.startswith("blue")), "utf-8")
    assert prove_paths(path).deadlock_free


def test_priorities_are_proven_one_by_one(tmp_path):
    path = tmp_path / "ring.csv"
    ring = ["s0 s1 s2", "s1 s2 s3", "s2 s3 s0", "s3 s0 s1"]
    rows = [f"a,b,{each},{number // 2}" for number, each in enumerate(ring)]
    path.write_text("\n".join(["source,destination,path,priority", *rows]), "utf-8")
    proof = prove_paths(path)
    assert proof.deadlock_free
    assert not proof.any_priority
    assert proof.cycles_by_priority == {0: (), 1: ()}
    assert len(proof.cycle) == 4
    path.write_text(path.read_text("utf-8").replace(",1", ",0"), "utf-8")
    assert not prove_paths(path).deadlock_free


@pytest.mark.parametrize("seed", range(8))
def test_whoever_has_the_certificate_can_check_it(tmp_path, seed):
    rng = random.Random(seed)
    graph, links, port = random_network(rng)
    onto = nx.bfs_tree(graph, 0).to_undirected()
    hops = {(s, d): [nx.shortest_path(onto, s, d)[1]] for s, d in itertools.permutations(graph, 2)}
    write_tables(tmp_path / "tables", links, hops, port)
    Terminal(tmp_path)("verify", "--fdb", "tables", "--certificate", "ranks.json")

    def checked():
        checker = ROOT / "tooling" / "check_routes.py"
        words = [sys.executable, "-I", "-S", checker, tmp_path / "ranks.json", tmp_path / "tables"]
        return subprocess.run(words, capture_output=True, text=True, check=False)

    assert (checked().returncode, checked().stderr) == (0, "")
    page = json.loads((tmp_path / "ranks.json").read_text("utf-8"))
    rank = page["ranks"][""]
    page["ranks"][""] = [-each for each in rank]
    (tmp_path / "ranks.json").write_text(json.dumps(page), "utf-8")
    assert checked().returncode == 1
    (tmp_path / "ranks.json").write_text("[]", "utf-8")
    assert checked().returncode == 2
