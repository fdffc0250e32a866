"""Why `--assignment renamed` refuses several networks: no switch that frames reach untagged can tell whose they are."""

from itertools import product

import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.lab.dataplane import BROADCAST, Dataplane
from tagloom.platforms.factory import factory_state
from tagloom.records.switch_state import Membership, SwitchEditor

A, B = 100, 101  # the VLANs of two networks at the first switch, and those that the second may use
HOSTS = "networks: {a: [h0, h2], b: [h1, h3]}\n"


def first(fabric, *, tagged=False):
    """Return a switch with a host of each network in a VLAN of its own; both leave by the link, untagged or not."""
    editor = SwitchEditor.of(factory_state(platforms.of(fabric.switches[0])))
    link = fabric.links[0].a_port
    for vlan, host in ((A, fabric.hosts[0]), (B, fabric.hosts[1])):
        editor.create_vlan(vlan)
        editor.set_member(1, host.port, Membership.NONE)
        editor.set_member(vlan, host.port, Membership.UNTAGGED)
        editor.set_pvid(host.port, vlan)
        editor.set_member(vlan, link, Membership.TAGGED if tagged else Membership.UNTAGGED)
    editor.set_member(1, link, Membership.NONE)
    return editor.freeze()


def second(fabric, members, of_link, entries):
    """Return a switch whose ports are members of VLANs at will: of each (VLAN, host) whether, and how the link's is."""
    editor = SwitchEditor.of(factory_state(platforms.of(fabric.switches[1])))
    link = fabric.links[0].b_port
    for vlan in (A, B):
        editor.create_vlan(vlan)
        editor.set_member(vlan, link, of_link)
    editor.set_member(1, link, Membership.NONE)
    editor.set_pvid(link, A)
    for (vlan, host), inside in members.items():
        editor.set_member(1, host.port, Membership.NONE)
        if inside:
            editor.set_member(vlan, host.port, Membership.UNTAGGED)
            editor.set_pvid(host.port, vlan)
    if entries is not None:
        editor.set_entry(A, BROADCAST, list(entries))
    return editor.freeze()


@pytest.fixture(scope="module")
def fabric():
    return make_fabric("mesh", 2, hosts=2, extra=HOSTS, model="powerconnect-5324")


def heard(fabric, state):
    """Return who hears a broadcast of h0, of network a, and of h1, of b, at the second switch."""
    plane = Dataplane(fabric, state)
    return [{name for name in plane.broadcast(host).delivered_to if name in {"h2", "h3"}} for host in ("h0", "h1")]


def every_second(fabric):
    """Yield each way to make hosts' ports members at the second switch, with and without entries for broadcasts."""
    far = [host for host in fabric.hosts if host.switch == 1]
    for inside in product([False, True], repeat=4):
        members = dict(zip(product((A, B), far), inside, strict=True))
        ports = [host.port for host in far]
        for entries in (None, ports, ports[:1], ports[1:]):
            yield members, entries


def test_no_second_switch_keeps_apart_what_comes_to_it_untagged(fabric):
    """What to do with a broadcast follows from port, VLAN and address (IEEE 802.1Q, 8.6): alike for both networks."""
    outcomes = []
    for members, entries in every_second(fabric):
        state = {"s0": first(fabric), "s1": second(fabric, members, Membership.UNTAGGED, entries)}
        of_a, of_b = heard(fabric, state)
        assert of_a == of_b, "whoever hears the one network's hears the other's"
        outcomes.append(of_a)
    assert {frozenset(each) for each in outcomes} == {frozenset(), *map(frozenset, (["h2"], ["h3"], ["h2", "h3"]))}


def test_where_the_link_carries_tags_some_second_switch_does(fabric):
    """The same switches with tags on the link, as under fixed assignment: the search finds what isolates them."""
    found = [
        heard(fabric, {"s0": first(fabric, tagged=True), "s1": second(fabric, members, Membership.TAGGED, entries)})
        for members, entries in every_second(fabric)
    ]
    assert [{"h2"}, {"h3"}] in found
