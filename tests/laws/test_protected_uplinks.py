"""Law: after any single failure floods to uplinks follow their senders' trees, once each, as was proven."""

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from fabrics import make_fabric
from failing import holds
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.verify import what_if
from test_networks import planned, with_networks
from test_protected_networks import two_connected
from test_uplinks import with_uplinks
from thinned import examples


@examples(12)
@given(
    st.integers(4, 7),
    st.integers(0, 2**16),
    st.sampled_from(["link", "switch"]),
    st.sampled_from(["vlans", "load"]),
    st.data(),
)
def test_each_failure_leaves_uplinks_what_was_proven(switches, seed, kind, prefer, data):
    """The judge sends every frame, to hosts and behind uplinks, learnt or not, before and after hosts move."""
    fabric = with_uplinks(data.draw, two_connected(seed, switches))
    if data.draw(st.booleans()):
        fabric = with_networks(data.draw, fabric)
    build = holds(fabric, kind, prefer)
    event(f"{len(fabric.networks)} networks, {build.protection.unprotected} unprotected")


@pytest.mark.parametrize("known", [True, False])
def test_a_fabric_of_two_ways_protects_an_uplink_fully(known, tmp_path, answer):
    mac = ', mac: "02:00:00:00:77:01"' if known else ""
    (tmp_path / "f.yml").write_text(
        f"shape: {{family: torus, dims: [3, 3]}}\nmodel: powerconnect-5324\nhosts: {{h4: {{uplink: true{mac}}}}}\n",
        "utf-8",
    )
    status, found = answer("plan", tmp_path / "f.yml", "--protect", "link", "-o", tmp_path / "b")
    assert (status, found["unprotected"], found["uplinks"]) == (0, 0, 1)
    assert found["protected"] == 18 * 9 * 8
    for kind in ("links", "switches"):
        status, found = answer("verify", tmp_path / "b", "--what-if", kind)
        assert status == 0
        assert kind == "switches" or found["what_if"]["unprotected"] == 0
        assert found["what_if"]["broadcast_exactly_once"]


def test_a_detour_that_misses_the_uplink_is_counted():
    """In a detour's VLAN the uplink's own port is missing: no frame comes there, and those pairs are unprotected."""
    fabric = make_fabric("ring", 4, extra="hosts: {h2: {uplink: true}}\n")
    build, _, _ = planned(fabric, protect="link")
    good = what_if(fabric, build.state, "links", build.detours)
    assert good.safe
    host = fabric.hosts[2]
    name = fabric.switches[host.switch].name
    taken = {v for detour in build.detours for h, v in detour.pvids.items() if h != host.name}
    held = SwitchEditor.of(build.state[name])
    for vlan in taken:
        held.set_member(vlan, host.port, Membership.NONE)
    found = what_if(fabric, {**build.state, name: held.freeze()}, "links", build.detours)
    assert found.unprotected > good.unprotected
    lost = {pair for loss in found.losses for pair in loss.pairs} - {p for loss in good.losses for p in loss.pairs}
    assert lost
    assert all("h2" in pair for pair in lost)


def test_two_copies_at_an_uplink_are_no_proof():
    """A ring whose detour VLAN is closed at a switch that sends two ways to the uplink's: a second copy, or a storm."""
    fabric = make_fabric("ring", 4, extra="hosts: {h2: {uplink: true}}\n")
    build, _, _ = planned(fabric, protect="link")
    vlan = next(iter(build.detours[0].pvids.values()))
    state = dict(build.state)
    for name, before in build.state.items():
        held = SwitchEditor.of(before)
        for link in fabric.links:
            for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
                if fabric.switches[s].name == name:
                    held.set_member(vlan, port, Membership.TAGGED)
        state[name] = held.freeze()
    assert not what_if(fabric, state, "links", build.detours).safe
