"""Links are turned off so that any one that is left may die: every failure of small fabrics, one after the other."""

import json
from functools import partial

import networkx as nx
import numpy as np
import pytest

from fabrics import make_fabric, make_irregular
from tagloom import pipeline
from tagloom.cli import main
from tagloom.errors import InputError
from tagloom.operate.repair_target import failures_left, target
from tagloom.platforms.power import fabric_watts
from tagloom.records.dead_parts import DeadParts
from tagloom.records.traffic import Traffic
from tagloom.regulate.choose import RegulateOptions
from tagloom.regulate.settings_file import to_json
from tagloom.regulate.static import static
from tagloom.route import route
from thinned import few

FABRICS = {
    "mesh": make_fabric("mesh", 3, 3, model="powerconnect-5324"),
    "torus": make_fabric("torus", 3, 3, model="powerconnect-5324"),
    "complete": make_fabric("complete", 5, model="powerconnect-5324"),
    "two cables each": make_fabric("ring", 4, parallel=2, model="powerconnect-5324"),
    "ring": make_fabric("ring", 5, model="powerconnect-5324"),
    "with a bridge": make_irregular([1] * 5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (3, 4)]),
    "braced": make_irregular([1] * 6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3), (1, 4)]),
}


def chosen(fabric, method, survive):
    volume = np.random.default_rng(7).integers(0, 50, (len(fabric.hosts),) * 2) * ~np.eye(len(fabric.hosts), dtype=bool)
    traffic = Traffic(volume.astype(float), volume.astype(float))
    options = RegulateOptions(
        method, time_limit_seconds=1.0, survives=(lambda less: not failures_left(less, fabric)) if survive else None
    )
    return pipeline.regulate(fabric, traffic, "auto", "fixed", lambda _done, _of: None, options)


def parts(fabric, links):
    """Return the sets of hosts that links join, by a judge that knows nothing of repairs."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(fabric.switches)))
    graph.add_edges_from((fabric.links[i].a, fabric.links[i].b) for i in links)
    at = {host.switch for host in fabric.hosts}
    return {frozenset(part & at) for part in nx.connected_components(graph) if part & at}


@pytest.mark.kernel
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "method"),
    few(
        [*((name, "static") for name in FABRICS), *((n, "greedy") for n in ("complete", "two cables each", "braced"))],
        *range(0, len(FABRICS) + 3, 2),
    ),
)
def test_whichever_link_dies_one_that_sleeps_is_woken_at_most_and_all_are_joined_that_cables_join(name, method):
    fabric = FABRICS[name]
    settings = chosen(fabric, method, survive=True)
    less = fabric.with_links_down(settings.links_off)
    for i in (i for i, link in enumerate(less.links) if link.up):
        around = target(less, less, fabric, DeadParts(frozenset({i})))
        assert len(around.woken) <= 1
        on = {j for j, link in enumerate(less.links) if link.up and j != i} | around.woken
        assert parts(fabric, on) == parts(fabric, {j for j in range(len(fabric.links)) if j != i})
    assert settings.max_channel_load_after <= settings.max_channel_load_before
    without = chosen(fabric, method, survive=False)
    assert settings.survive_watts == pytest.approx(settings.watts_after - without.watts_after)
    assert (without.survive_watts, to_json(fabric, without)["survive"]) == (None, "none")


def test_without_it_a_fabric_may_be_left_that_needs_more_than_one():
    fabric = make_fabric("mesh", 3, 4, model="powerconnect-5324")
    one = np.zeros((12, 12))
    one[0, 1] = 1.0  # so little that one tree of links carries it
    traffic, given = Traffic(one, one), (partial(route, method="up-down"), fabric_watts)
    left = static(fabric, traffic, *given)
    assert failures_left(fabric.with_links_down(left.links_off), fabric)
    better = static(fabric, traffic, *given, survives=lambda less: not failures_left(less, fabric))
    assert failures_left(fabric.with_links_down(better.links_off), fabric) == []


def test_paths_that_are_the_planners_alone_are_not_chosen_for_by_greedy():
    fabric = FABRICS["mesh"]
    options = RegulateOptions("greedy", survives=lambda _less: True)
    traffic = Traffic(1 - np.eye(9), 1 - np.eye(9))
    with pytest.raises(InputError, match="--survive"):
        pipeline.regulate(fabric, traffic, "auto", "renamed", lambda _done, _of: None, options)


def test_the_command_says_what_it_costs(tmp_path, capsys):
    assert main(["new", "mesh", "--dims", "3", "3", "-o", str(tmp_path / "f.yml")]) == 0
    rows = [f"h{a},h{b},1" for a in range(9) for b in range(9) if a != b]
    (tmp_path / "t.csv").write_text("\n".join(["source,destination,bytes", *rows, ""]))
    words = ["regulate", str(tmp_path / "f.yml"), "--traffic", str(tmp_path / "t.csv"), "--survive", "link"]
    capsys.readouterr()
    assert main([*words, "--json"]) == 0
    page = json.loads(capsys.readouterr().out)
    assert page["survive"] == "link"
    assert main(words) == 0
    assert f"costs {page['survive_watts']:.1f} W" in capsys.readouterr().out
