"""Law: what switches hold of several networks, tagged ones too, is enough to find them again."""

from dataclasses import replace

from hypothesis import event, given
from hypothesis import strategies as st

from tagloom.errors import PlanError
from tagloom.observe.host_networks import with_networks as read_back
from tagloom.read.fabric_file import parse_fabric
from tagloom.read.fabric_text import format_fabric
from test_every_plan_is_what_frames_do import families, graphs
from test_networks import planned, with_networks
from test_own_ways_of_networks import with_own_ways
from test_tagged_networks import with_tagged
from thinned import examples


def places(fabric):
    """Return the networks as sets of (switch, port, tag)."""
    at = [(host.switch, host.port, host.tag) for host in fabric.hosts]
    return {frozenset(at[h] for h in hosts.tolist()) for hosts in fabric.networks.values()}


@examples(30)
@given(st.one_of(graphs(least=3), families()), st.sampled_from(["networks", "own ways", "tagged"]), st.data())
def test_networks_are_found_by_whom_switches_name(fabric, kind, data):
    fabric = with_networks(data.draw, fabric)
    fabric = with_own_ways(data.draw, fabric) if kind == "own ways" else fabric
    fabric = with_tagged(data.draw, fabric) if kind == "tagged" else fabric
    assignment = "fixed" if kind != "networks" else data.draw(st.sampled_from(["fixed", "pinned"]))
    try:
        build, _, _ = planned(fabric, assignment=assignment)
    except PlanError as refused:
        event(f"refused: {refused.rule}")
        return
    event(f"{kind}, {assignment}: {len(fabric.networks)} networks")
    ports = [replace(host, network="", tag=0) for host in fabric.hosts if not host.beside]
    links = tuple(replace(link, barred=()) for link in fabric.links)
    bare = replace(fabric, hosts=tuple(ports), links=links, tags=(), routings=(), shape=None)
    found = read_back(bare, build.state)
    assert places(found) == places(fabric)
    assert sorted(vlan for _, vlan in found.tags) == sorted({host.tag for host in fabric.hosts if host.tag})
    again = parse_fabric(format_fabric(found), "adopt")
    assert (places(again), again.tags) == (places(found), found.tags)
