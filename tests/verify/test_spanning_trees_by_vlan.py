"""A network under spanning tree is no yes where a line takes a VLAN out of the tree, or gives it one of its own."""

from dataclasses import replace
from functools import cache

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline, platforms
from tagloom.pipeline.proving import prove_what_runs
from tagloom.platforms.factory import factory
from tagloom.records.switch_state import Membership, PortMode
from tagloom.render import render_configuration

pytestmark = pytest.mark.kernel

MODELS = {
    "eos": "arista-7050tx-64",
    "comware": "hpe-5130-24g-4sfp",
    "huawei": "huawei-s5731-s24t4x",
    "ros": "powerconnect-5324",
    "cbs350": "cisco-cbs350-24t-4g",
    "fastpath": "powerconnect-6248",
    "os6": "n-series",
}
END = "!\nexit"  # of FASTPATH's texts
EVERYWHERE, ONE_LINK = ((1, 2), (1, 2), (1, 2)), ((1,), (2,), ())  # the ports in VLAN 7, switch by switch


@cache
def ring(family):
    return make_fabric("ring", 3, model=MODELS[family])


@cache
def texts(family, members=EVERYWHERE):
    """Return the texts of a ring of three switches under spanning tree, with VLAN 7 tagged on some ports."""
    platform = platforms.load(MODELS[family])
    written = {}
    for switch, ports in zip(ring(family).switches, members, strict=True):
        editor = factory(platform)
        if ports:
            editor.create_vlan(7)
        for port in ports:
            editor.mode[port - 1] = PortMode.GENERAL
            editor.set_member(7, port, Membership.TAGGED)
        written[switch.name] = render_configuration(platform, editor.freeze(), ROOT / "templates")
    return written


def proof_of(family, lines, members=EVERYWHERE):
    """Prove what runs where the agents report that the tree of VLAN 1 blocks a port of the last switch."""
    whole = {
        name: "\n".join([text.rstrip().removesuffix(END), lines, ""]) for name, text in texts(family, members).items()
    }
    return prove_what_runs(ring(family), whole, ((2, ring(family).used_ports[2][1]),))


def cases(table):
    return [pytest.param(family, each, id=f"{family}: {each}"[:60]) for family, some in table.items() for each in some]


BY_VLAN = ["no spanning-tree vlan 7", "no spanning-tree vlan 2-9", "spanning-tree mode rapid-pvst"]
TREELESS = {
    "eos": [
        "no spanning-tree vlan-id 7",
        "no spanning-tree vlan-id 3,5-8",
        "no spanning-tree vlan-id 1-4094",
        "no spanning-tree vlan-id",
        "no  spanning-tree  vlan-id   7",
        "no spanning-tree vlan-id  7",
        "no spanning-tree vlan-id 6, 7",
        "no spanning-tree vlan-id all",
        "spanning-tree  mode   rapid-pvst",
        "no spanning-tree vlan 7",
        "spanning-tree mode rapid-pvst",
        "spanning-tree mode rapid-pvst\nno spanning-tree vlan-id 7",
        "spanning-tree mode mstp\nno spanning-tree vlan-id 7",
        "spanning-tree mode backup",
        "spanning-tree mode mstp\nspanning-tree mst configuration\n   instance 1 vlan 7",
        "spanning-tree edge-port bpdufilter default",
        "interface Ethernet1\n   spanning-tree bpdufilter enable",
    ],
    "comware": [
        "stp mode pvst",
        "undo stp vlan 7 enable",
        "undo stp vlan 2 6 to 8 enable",
        "undo stp instance 1 enable",
        "undo stp instance  1   enable",
        "stp  mode  pvst",
        "stp ignored vlan 7",
        "stp region-configuration\ninstance 1 vlan 7\nactive region-configuration",
    ],
    "huawei": ["stp mode vbst", "stp vlan 7 disable", "stp vlan 2 6 to 8 disable", "stp bpdu-filter default"],
    "ros": BY_VLAN,
    "cbs350": BY_VLAN,
    "fastpath": BY_VLAN,
    "os6": [*BY_VLAN, "spanning-tree portfast bpdufilter default"],
}


@pytest.mark.parametrize(("family", "lines"), cases(TREELESS))
def test_a_line_that_decides_the_tree_of_a_vlan_is_named_where_a_ring_hangs_on_it(family, lines):
    assert not proof_of(family, lines).proven


FIGURES = {
    "eos": [
        "spanning-tree mode mstp\nspanning-tree mst 0 priority 4096",
        "spanning-tree vlan-id 7 priority 4096",
        "no spanning-tree vlan-id 7 priority",
        "no spanning-tree vlan-id 4093-4094",
        "interface Ethernet40\n   spanning-tree bpdufilter enable",
    ],
    "comware": ["stp mode rstp", "stp instance 0 root primary", "undo stp priority"],
    "huawei": ["stp mode rstp", "stp instance 0 root primary"],
    "ros": ["spanning-tree mode rstp", "spanning-tree priority 4096", "no spanning-tree priority"],
    "cbs350": ["spanning-tree mode rstp", "no spanning-tree vlan 4094"],
    "fastpath": ["spanning-tree mode mst", "no spanning-tree vlan 4094"],
    "os6": ["spanning-tree mode mst", "no spanning-tree vlan 4094"],
}


@pytest.mark.parametrize(("family", "lines"), [(family, "") for family in MODELS] + cases(FIGURES))
def test_the_figures_of_the_one_tree_leave_the_yes_as_it_is(family, lines):
    proof = proof_of(family, lines)
    assert proof.proven, [str(each) for each in proof.findings]
    assert proof.latent == ()


def test_a_vlan_without_a_tree_and_without_a_ring_is_proven():
    """Every pair of Arista switches with MLAG has such a VLAN on the links between them."""
    assert proof_of("eos", "no spanning-tree vlan-id 7", ONE_LINK).proven


@pytest.mark.parametrize("family", MODELS)
def test_one_tree_for_each_vlan_is_one_tree_where_there_is_but_one_vlan(family):
    mode = {"comware": "stp mode pvst", "huawei": "stp mode vbst"}.get(family, "spanning-tree mode rapid-pvst")
    named = [line.text for line in proof_of(family, mode, ((), (), ())).unknown_lines]
    assert named == ([] if family in ("eos", "comware", "huawei") else [f"{mode}"] * 3)


def test_a_host_in_a_vlan_without_a_tree_makes_the_ring_storm():
    """The ports that the tree of VLAN 1 blocks forward frames of a VLAN that is left out."""
    fabric = ring("eos")
    port = fabric.used_ports[0][2]
    lines = f"no spanning-tree vlan-id 7\ninterface Ethernet{port}\n   switchport access vlan 7"
    assert not proof_of("eos", lines).storm_free
    assert proof_of("eos", lines.replace("vlan-id 7", "vlan-id 8")).storm_free


def test_a_host_s_vlan_has_a_latent_ring_where_no_host_of_it_is():
    """The host of VLAN 7 stands behind a switch that the ring's links in VLAN 7 do not lead to."""
    fabric, lines = ring("eos"), "no spanning-tree vlan-id 7"
    texts_of = {name: f"{text}\n{lines}\n" for name, text in texts("eos").items()}
    lone = replace(
        fabric,
        switches=(*fabric.switches, replace(fabric.switches[0], name="s3")),
        hosts=tuple(replace(host, switch=3, port=host.port + i) for i, host in enumerate(fabric.hosts)),
        ports=(*fabric.ports, fabric.ports[0]),
        shape=None,
    )
    ports = "".join(f"interface Ethernet{host.port}\n   switchport access vlan 7\n" for host in lone.hosts)
    proof = prove_what_runs(lone, {**texts_of, "s3": f"vlan 7\n{ports}{lines}\n"}, ((2, fabric.used_ports[2][1]),))
    assert [each.vlan for each in proof.latent] == [7]
    assert not proof.proven


def test_where_no_port_of_the_fabric_runs_spanning_tree_its_lines_decide_nothing():
    fabric = make_fabric("ring", 3, model=MODELS["eos"])
    planned = pipeline.plan(fabric, ROOT / "templates", assignment="pinned", routing="tree")[2]
    whole = {name: f"no spanning-tree vlan-id 7\n{text}" for name, text in planned.items()}
    assert pipeline.prove(fabric, whole, None, whole=True)[1].proven
