"""Every single failure, frame by frame from the rendered texts: hosts change VLANs, and the pairs are back."""

from pathlib import Path

import networkx as nx
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric, make_irregular
from failing import holds
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.read import read_fabric
from tagloom.verify import what_if
from thinned import examples

pytestmark = pytest.mark.kernel

GADGETS = sorted((Path(__file__).parents[1] / "gadgets").glob("*.yml"))
FAMILIES = [("complete", 4), ("complete", 5), ("clos", 3, 3), ("torus", 3, 3), ("hypercube", 3), ("mesh", 3, 2)]


@pytest.mark.parametrize("kind", ["link", "switch"])
@pytest.mark.parametrize("path", GADGETS, ids=lambda path: path.stem)
def test_each_failure_of_a_gadget_is_what_was_proven(path, kind):
    holds(read_fabric(path), kind)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: "-".join(map(str, family)))
def test_regular_fabrics_of_more_than_one_ring_are_protected(family):
    build = holds(make_fabric(*family), "switch")
    assert build.protection.unprotected == 0 or family[0] in {"mesh", "hypercube"}


@pytest.mark.parametrize("path", GADGETS, ids=lambda path: path.stem)
def test_each_failure_of_a_gadget_with_renamed_vlans_is_what_was_proven(path):
    holds(read_fabric(path), "switch", assignment="renamed")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: "-".join(map(str, family)))
@pytest.mark.parametrize("prefer", ["vlans", "load"])
def test_detours_keep_their_vlan_where_paths_rename_theirs(family, prefer):
    holds(make_fabric(*family), "link", prefer, assignment="renamed")


@pytest.mark.slow
@examples(20)
@given(
    st.integers(4, 9),
    st.sampled_from([0, 1, 2]),
    st.integers(0, 2**16),
    st.sampled_from(["link", "switch"]),
    st.sampled_from([("powerconnect-5324", False), ("powerconnect-5324", True), ("powerconnect-6248", False)]),
    st.sampled_from(["auto", "any", "up-down"]),
)
def test_each_failure_beside_renamed_vlans_is_what_was_proven(switches, degree, seed, kind, how, routing):
    graph = nx.gnm_random_graph(switches, max(1, degree * switches), seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    hosts = [(seed >> v) % 3 for v in range(switches)]
    hosts[0], hosts[-1] = 1, 2
    model, static_arp = how
    fabric = make_irregular(hosts, sorted(graph.edges), model)
    try:
        build = holds(fabric, kind, assignment="renamed", routing=routing, static_arp=static_arp)
    except PlanError:  # some routings leave no tree for broadcasts; detours are not why
        with pytest.raises(PlanError, match="broadcasts need one tree"):
            pipeline.plan(fabric, ROOT / "templates", assignment="renamed", routing=routing)
        return
    event(f"broadcasts by {build.broadcast}")


@pytest.mark.slow
@examples(20)
@given(
    st.integers(4, 9),
    st.sampled_from([0, 1, 2]),
    st.integers(0, 2**16),
    st.sampled_from(["link", "switch"]),
    st.sampled_from(["vlans", "load"]),
)
def test_each_failure_of_a_two_connected_fabric_is_what_was_proven(switches, degree, seed, kind, prefer):
    graph = nx.gnm_random_graph(switches, max(1, degree * switches), seed=seed)
    graph.add_edges_from((v, (v + 1) % switches) for v in range(switches))
    hosts = [(seed >> v) % 3 for v in range(switches)]
    hosts[0], hosts[-1] = 1, 2
    holds(make_irregular(hosts, sorted(graph.edges), "linux-bridge"), kind, prefer)


@pytest.mark.parametrize("family", FAMILIES[1:4], ids=lambda family: "-".join(map(str, family)))
def test_short_detours_of_each_source_are_as_good(family):
    fabric = make_fabric(*family)
    short, shared = holds(fabric, "link", "load"), holds(fabric, "link")
    assert short.protection.unprotected == 0
    assert short.protection.load_after_failure_max <= shared.protection.load_after_failure_max
    assert short.protection.detour_vlans > shared.protection.detour_vlans


def test_what_if_without_a_plan_finds_what_the_vlans_of_the_texts_can_do():
    fabric = make_fabric("torus", 3, 3)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates", protect="link")
    planned = what_if(fabric, build.state, "links", build.detours)
    found = what_if(fabric, build.state, "links")
    assert (planned.unprotected, found.unprotected) == (0, 0)
    assert found.safe
    bare, _, _ = pipeline.plan(fabric, ROOT / "templates")
    alone = what_if(fabric, bare.state, "links")
    assert alone.safe
    assert alone.unprotected == sum(loss.unprotected for loss in alone.losses) > 0
    assert alone.protected + alone.unprotected == 18 * 72


def test_a_switch_without_hosts_is_joined_where_no_detour_leads():
    links = [(0, 1), (0, 2), (2, 3), (3, 4), (0, 4), (1, 3)]
    holds(make_irregular([2, 1, 1, 0, 1], links), "link")


@pytest.mark.parametrize("kind", ["link", "switch"])
def test_one_switch_has_no_link_to_protect(kind):
    build = holds(make_irregular([2], []), kind)
    assert (build.protection.protected, build.protection.unprotected) == (0, 0)
