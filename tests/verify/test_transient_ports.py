"""Hosts that come or go stand in for the frames of their ports: each where one may be, and nowhere else."""

from fabrics import make_fabric
from tagloom.verify.transient_ports import with_transient_tags

FABRIC = make_fabric("ring", 4, model="powerconnect-5324")
HOST = FABRIC.hosts[1]
AT = (FABRIC.switches[HOST.switch].name, HOST.port)


def guests(*tags, fabric=FABRIC):
    """Return the switch, port, tag and network of those that are added, in their order."""
    known = {host.mac for host in fabric.hosts}
    found = with_transient_tags(fabric, tags).hosts
    return [(h.switch, h.port, h.tag, h.network) for h in found if h.mac not in known]


def test_a_port_with_a_host_has_a_guest_of_each_network_that_it_leaves_or_joins():
    assert guests((*AT, 300, "storage"), (*AT, 400, "compute")) == [
        (HOST.switch, HOST.port, 300, "storage"),
        (HOST.switch, HOST.port, 400, "compute"),
    ]


def test_a_port_without_hosts_and_one_of_a_dead_or_unknown_switch_has_none():
    free = (AT[0], 20, 300, "storage")
    assert 20 not in FABRIC.used_ports[HOST.switch]
    assert with_transient_tags(FABRIC, {free}) is FABRIC
    assert with_transient_tags(FABRIC, {("nowhere", HOST.port, 300, "storage")}) is FABRIC
    dead = FABRIC.with_switches_down({HOST.switch})
    assert with_transient_tags(dead, {(*AT, 300, "storage")}) is dead


def test_what_the_port_has_already_comes_once():
    assert guests((*AT, 0, "storage")) == [], "its host sends untagged"
    assert guests((*AT, 300, "compute"), (*AT, 300, "storage")) == [(HOST.switch, HOST.port, 300, "compute")]
