"""Destinations of tables followed in shards, by processes or a Dask cluster, give the answer of one process."""

import random

import networkx as nx
import numpy as np
import pytest

from tagloom.records.route_set import DELIVERED, NONE, ForwardingTables, Sharing
from tagloom.verify import forbidden_turns
from tagloom.verify.lossless import dependencies, prove_lossless


@pytest.fixture(scope="module")
def cluster():
    from distributed import LocalCluster  # noqa: PLC0415 - a second that only these tests need

    here = {"host": "127.0.0.1", "protocol": "tcp", "scheduler_port": 0, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **here) as running:
        yield running


@pytest.fixture(autouse=True)
def _hurry(monkeypatch):
    """Search for turns to forbid no longer than a moment: what is found by then is not compared."""
    monkeypatch.setattr(forbidden_turns, "SECONDS", 0.05)


def random_tables(seed, switches=24):
    """Return tables over a random graph: groups of one or two next channels, some entries missing."""
    rng = random.Random(seed)
    graph = nx.connected_watts_strogatz_graph(switches, 4, 0.3, seed=seed)
    ends = np.array([end for a, b in graph.edges for end in ((a, b), (b, a))], np.int32)
    out = {s: np.flatnonzero(ends[:, 0] == s).tolist() for s in graph}
    groups, at = [], {}
    group = np.full((switches, switches), NONE, np.int32)
    for d in graph:
        away = nx.single_source_shortest_path_length(graph, d)
        for s in graph:
            if s == d:
                group[s, d] = DELIVERED
            elif rng.random() > 0.01:
                good = [c for c in out[s] if away[int(ends[c, 1])] <= away[s] - rng.choice([0, 1, 1, 1])] or out[s][:1]
                chosen = tuple(sorted(rng.sample(good, min(len(good), rng.randint(1, 2)))))
                group[s, d] = at.setdefault(chosen, len(at))
                groups = list(at)
    first = np.cumsum([0, *map(len, groups)]).astype(np.int32)
    members = np.array([c for each in groups for c in each], np.int32)
    names = tuple(f"s{s}" for s in graph)
    channels = tuple(f"{a}>{b}" for a, b in ends.tolist())
    return ForwardingTables(names, channels, names, ends, group, first, members, np.ones(switches, np.bool_))


def answer_of(tables, sharing=None):
    routes = dependencies(tables, sharing)
    return routes.before.tolist(), routes.after.tolist(), without_turns(prove_lossless(routes).to_json())


def without_turns(page):
    """Leave out the turns to forbid: their search ends by the clock."""
    return {key: value for key, value in page.items() if not key.startswith("turns_to_forbid")}


@pytest.mark.kernel
@pytest.mark.parametrize("seed", range(8))
def test_any_number_of_shards_gives_the_same_dependencies_and_verdict(seed):
    tables = random_tables(seed)
    whole = answer_of(tables)
    assert whole[2]["dead_ends"] > 0 or seed
    for shards in (1, 2, 5, 24, 1000):
        assert answer_of(tables, Sharing(shards, map)) == whole


@pytest.mark.kernel
def test_a_cluster_gives_the_same_answer(cluster):
    tables = random_tables(99, 40)
    with cluster.get_client() as client, client.get_executor() as executor:
        assert answer_of(tables, Sharing(7, executor.map)) == answer_of(tables)


@pytest.mark.slow
def test_the_command_has_them_followed_by_processes_and_by_a_cluster(cluster, tmp_path, answer):
    tables = random_tables(3)
    parts = {name: getattr(tables, name) for name in ("ends", "group", "first", "members")}
    np.savez(tmp_path / "tables.npz", senders=tables.senders.astype(np.int32), **parts)
    status, alone = answer("verify", "--fdb", tmp_path)
    assert alone["destinations"] == len(tables.destinations)
    alone = without_turns(alone)
    for how in (
        ("--jobs", 2),
        ("--scheduler", cluster.scheduler_address),
        ("--scheduler", cluster.scheduler_address, "--jobs", 3),
    ):
        again, page = answer("verify", "--fdb", tmp_path, *how)
        assert (again, without_turns(page)) == (status, alone)


@pytest.mark.parametrize(
    ("words", "where"),
    [
        (("--jobs", 0, "--fdb", "."), "--jobs"),
        (("--jobs", 2), "verify"),
        (("--jobs", 2, "--paths", "x.csv"), "--jobs, --scheduler"),
        (("--scheduler", "nonsense://nowhere", "--fdb", "."), "--scheduler"),
    ],
)
def test_what_cannot_be_shared_is_named(words, where, answer):
    status, page = answer("verify", *words)
    assert (status, page["findings"][0]["where"]) == (2, where)


def test_a_wrong_number_and_a_directory_that_is_not_there_are_named_together(answer, tmp_path):
    status, page = answer("verify", "--fdb", tmp_path / "none", "--jobs", 0)
    assert (status, [each["where"] for each in page["findings"]]) == (2, ["--jobs", str(tmp_path / "none")])
