"""Law: multicast, IPv6 neighbour discovery and DHCP come as broadcasts are said to come, and never go round."""

from hypothesis import given
from hypothesis import strategies as st

from fabrics import SMALL_FABRICS, make_fabric
from tagloom.errors import PlanError
from tagloom.lab.dataplane import BROADCAST, Dataplane
from tagloom.report.terminal import BROADCAST_WORDS
from test_several_addresses import planned
from thinned import examples

GROUPS = {
    "DHCP, ARP": BROADCAST,
    "multicast": 0x0100_5E00_00FB,  # 224.0.0.251, RFC 1112
    "IPv6 neighbour discovery": 0x3333_FF00_0001,  # a solicited-node address, RFC 4861 and RFC 2464
}


@examples(40)
@given(st.sampled_from(SMALL_FABRICS), st.sampled_from(["fixed", "renamed", "pinned"]), st.booleans(), st.data())
def test_each_kind_comes_once_or_as_often_as_is_said(fabric, assignment, uplink, data):
    family, dims, options = fabric
    fabric = make_fabric(family, *dims, **options, extra="hosts: {h0: {uplink: true}}\n" if uplink else "")
    try:
        build, proof, _ = planned(fabric, assignment=assignment)
    except PlanError:
        return  # that the routing refuses the fabric is not asked here
    assert proof.storm_free
    sender = data.draw(st.sampled_from(fabric.hosts)).name
    others = {host.name for host in fabric.hosts} - {sender}
    said = BROADCAST_WORDS.get(build.broadcast, "each once")
    for kind, mac in GROUPS.items():
        sent = Dataplane(fabric, build.state).broadcast(sender, mac=mac)
        assert sent.storm == ""
        assert sent.delivered_to.keys() - {sender} == others, f"{kind} reaches everybody"
        once = build.broadcast == "flood" or (mac == BROADCAST and build.broadcast == "tree")
        assert once or kind in said, f"{kind} is named where it may come several times"
        assert not once or set(sent.delivered_to.values()) == {1}, f"{kind} comes once"
        assert not once or sender not in sent.delivered_to
