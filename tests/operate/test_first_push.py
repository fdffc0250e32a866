"""The first push from spanning tree: the tree that switches report decides whether there is a hitless way."""

from dataclasses import replace

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.apply.site import Site
from tagloom.errors import DeviceError, PlanError
from tagloom.operate import prepare
from tagloom.operate.first_push import first_push
from tagloom.platforms.factory import factory_state
from tagloom.records.observation import Counters, Neighbour, Observation, SpanningTree
from tagloom.records.switch_state import SwitchEditor
from tagloom.rollout import settled
from tagloom.rollout.spanning import active_tree

pytestmark = pytest.mark.kernel

SPARE = 20  # a port outside the fabric
FABRIC = make_fabric("ring", 4, model="powerconnect-5324")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a build for a ring of four, proven, and where its waves are written."""
    home = tmp_path_factory.mktemp("first")
    build, proof, texts = pipeline.plan(FABRIC, ROOT / "templates")
    pipeline.write_build(build, proof, texts, home / "build")
    return prepare.prepare(home / "build"), build.state, Site(home / "tagloom.yml", ROOT, {}, "run")


def from_factory():
    return {switch.name: factory_state(platforms.of(switch)) for switch in FABRIC.switches}


def reported(**other):
    """Return what the four switches report of the tree that 802.1D settles on, `other` by a switch's name."""
    tree = settled(FABRIC, range(4))
    seen = {}
    for s, switch in enumerate(FABRIC.switches):
        blocked = frozenset(port for at, port in tree.blocked if at == s)
        spanning = SpanningTree(f"{s:012x}", f"{0:012x}", 0, blocked, frozenset())
        seen[switch.name] = Observation(switch.name, 0.0, spanning=spanning)
    return {name: other.get(name, lambda shown: shown)(shown) for name, shown in seen.items()}


def with_tree(**parts):
    return lambda shown: replace(shown, spanning=replace(shown.spanning, **parts))


def pushed(prepared, seen, before=None):
    change, state, site = prepared
    return first_push(change, before or from_factory(), state, site, seen and (lambda _fabric: seen))


def test_waves_lead_from_the_tree_that_switches_report(prepared):
    found, why = pushed(prepared, reported())
    assert why == ""
    assert found.sequence.names[:2] == ("strip", "spanning tree off")
    assert found.source == prepared[0].source


def everywhere(**parts):
    return {f"s{s}": with_tree(**parts) for s in range(4)}


def with_a_cable_at_a_spare_port(shown):
    up = Counters(SPARE, "g20", oper_up=True)
    return replace(with_tree(blocked=shown.spanning.blocked | {SPARE})(shown), ports=(up,))


def beside_a_switch(port):
    return lambda shown: replace(
        shown, ports=(Counters(port, f"g{port}", oper_up=True),), neighbours=(Neighbour(port, "mac 02:aa", "1", "x"),)
    )


REFUSED = {
    "an agent is silent": ({"s2": lambda shown: replace(shown, error="no answer")}, "1 of 4 switches do not answer"),
    "no tree is reported": ({"s1": lambda shown: replace(shown, spanning=None)}, "BRIDGE-MIB"),
    "a port still listens": ({"s1": with_tree(changing=frozenset({1}))}, "has not settled"),
    "two roots": ({"s1": with_tree(root="0" * 11 + "9")}, "has not settled"),
    "a cable that the fabric lacks": ({"s3": with_a_cable_at_a_spare_port}, "s3:g20, whose cable the fabric lacks"),
    "no port is blocked": (everywhere(blocked=frozenset()), "no switch reports one"),
    "a blocked port too many": ({"s0": with_tree(blocked=frozenset({1}))}, "must be a tree of all switches"),
    "a root nobody knows": (everywhere(root="f" * 12), "no port is known to lead outside"),
    "two ways outside": ({"s0": beside_a_switch(20), "s2": beside_a_switch(21)}, "VLAN 1 would loop over them"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_tree_that_is_not_known_for_sure_gives_no_way_and_the_reason(case, prepared):
    other, reason = REFUSED[case]
    found, why = pushed(prepared, reported(**other))
    assert found is None
    assert reason in why


def test_a_port_that_is_down_is_no_cable(prepared):
    down = with_tree(blocked=reported()["s3"].spanning.blocked | {SPARE})
    assert pushed(prepared, reported(s3=down))[1] == ""


def test_switches_set_otherwise_or_without_spanning_tree_have_their_reasons(prepared):
    assert "not set up" in pushed(prepared, None)[1]
    other = SwitchEditor.of(from_factory()["s1"])
    other.set_pvid(1, 0)
    assert "set otherwise" in pushed(prepared, reported(), from_factory() | {"s1": other.freeze()})[1]
    none = {name: replace(held, spanning_tree=False) for name, held in from_factory().items()}
    assert pushed(prepared, reported(), none) == (None, "")


def test_what_fails_while_the_network_is_read_is_the_reason(prepared):
    change, state, site = prepared

    def broken(_fabric):
        raise DeviceError("s1", "", "unplugged")

    assert "s1: unplugged" in first_push(change, from_factory(), state, site, broken)[1]


def test_the_switch_with_the_only_way_to_a_root_outside_loses_spanning_tree_last():
    blocked = ["s1:g2"] if settled(FABRIC, range(4)).blocked else []
    tree, _ = active_tree(FABRIC, "", blocked, outside=["s2:g20"])
    assert tree.depth.tolist().index(0) == FABRIC.index["s2"]
    for ways in ([], ["s0:g20", "s2:g20"]):
        with pytest.raises(PlanError, match=r"must be known|one port at most"):
            active_tree(FABRIC, "", blocked, outside=ways)
