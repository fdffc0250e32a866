"""Ports that a model's page lacks, of a stack, a module or further port-channels, are read where a text names them."""

import pytest

from tagloom import platforms
from tagloom.pipeline.proving import prove
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.switch_state import Membership
from tagloom.render.parse import read_text

ACCESS = "switchport access vlan 10\nexit\n"
STACKS = [  # model, the same with its ports, text, ports in VLAN 10
    ("n-series", "units=3,lags=22", f"vlan 10\nexit\ninterface Gi3/0/1\n{ACCESS}interface port-channel 22\n{ACCESS}"),
    ("n-series", "N4032,modules", f"vlan 10\nexit\ninterface Te1/0/24\n{ACCESS}interface Fo1/1/1\n{ACCESS}"),
    ("powerconnect-7048", "units=2,modules", f"vlan 10\nexit\ninterface Gi2/0/1\n{ACCESS}interface Te1/1/1\n{ACCESS}"),
    ("powerconnect-8024", "units=2", f"vlan 10\nexit\ninterface Te1/0/1\n{ACCESS}interface Te2/0/24\n{ACCESS}"),
    (
        "powerconnect-6248",
        "units=2,modules",
        f"vlan database\nvlan 10\nexit\ninterface ethernet 2/g1\n{ACCESS}interface ethernet 1/xg3\n{ACCESS}",
    ),
    (
        "powerconnect-5548",
        "units=2,lags=20",
        f"vlan database\nvlan 10\nexit\ninterface gigabitethernet2/0/1\n{ACCESS}interface port-channel 20\n{ACCESS}",
    ),
    (
        "cisco-cbs350-24t-4x",
        "units=2",
        (
            "vlan database\nvlan 10\nexit\ninterface GigabitEthernet1/0/1\n switchport access vlan 10\n!\n"
            "interface TenGigabitEthernet2/0/2\n switchport access vlan 10\n!\n"
        ),
    ),
    (
        "cisco-sg300-28",
        "SG500-28,units=2",
        (  # a port without a line of its mode is a trunk there
            f"vlan database\nvlan 10\nexit\ninterface gigabitethernet1/1/28\nswitchport mode access\n{ACCESS}"
            f"interface gi2/1/1\nswitchport mode access\n{ACCESS}"
        ),
    ),
    (
        "hpe-5130-24g-4sfp",
        "units=2",
        (
            "vlan 10\n#\ninterface GigabitEthernet1/0/1\n port access vlan 10\n#\n"
            "interface GigabitEthernet2/0/1\n port access vlan 10\n#\n"
        ),
    ),
    (
        "huawei-s5731-s24t4x",
        "units=2",
        (
            "vlan batch 10\n#\ninterface GigabitEthernet0/0/1\n port link-type access\n port default vlan 10\n#\n"
            "interface GigabitEthernet1/0/1\n port link-type access\n port default vlan 10\n#\n"
        ),
    ),
]


def read(model, text):
    """Return what is wrong with a text, and the ports untagged in VLAN 10 and what they are bound to, by name."""
    platform = platforms.load(model)
    reading = read_text(platform, text, "s", [1])
    row = reading.state.membership[reading.state.vlans.tolist().index(10)]
    ports = {platform.port_name(at + 1) for at, how in enumerate(row.tolist()) if how == Membership.UNTAGGED}
    lags = {
        platform.port_name(at + 1): platform.port_name(lag) for at, lag in enumerate(reading.state.lag.tolist()) if lag
    }
    entries = [platform.port_name(port) for port in reading.state.entry_port.tolist()]
    return (*reading.findings, *reading.unknown_lines), ports, lags, entries


@pytest.mark.parametrize(("model", "behind", "text"), STACKS, ids=[f"{model}:{behind}" for model, behind, _ in STACKS])
def test_ports_of_other_machines_of_a_model_are_read_as_by_the_model_that_has_them(model, behind, text):
    found = read(model, text)
    assert found == read(f"{model}:{behind}", text)
    wrong, ports, _, _ = found
    assert (wrong, len(ports)) == ((), 2)


def test_entries_and_groups_lead_to_the_ports_they_name():
    text = "vlan 10\nexit\ninterface Te2/0/2\nchannel-group 22 mode on\nexit\n"
    text += "mac address-table static 0200.0000.0001 vlan 10 interface Gi2/0/7\n"
    found = read("n-series", text)
    assert found == read("n-series:units=2,lags=22", text)
    assert found[2:] == ({"Te2/0/2": "Po22"}, ["Gi2/0/7"])


@pytest.mark.parametrize("name", ["Gi13/0/1", "Gi1/0/49", "Po129", "Xx1/0/1"])
def test_a_port_that_no_machine_of_the_model_has_stays_unknown(name):
    reading = read_text(platforms.load("n-series"), f"interface {name}\nswitchport access vlan 10\nexit\n", "s", [1])
    assert reading.further_ports == ()
    assert reading.unknown_lines or reading.findings


FABRIC = """\
name: t
switches: {{s0: {{model: "{}"}}}}
hosts: {{h0: {{switch: s0, port: Gi1/0/1}}, h1: {{switch: s0, port: Gi1/0/2}}}}
"""
TEXT = (
    "vlan 10\nexit\ninterface range gigabitethernet 1/0/1-2\nswitchport access vlan 10\nexit\ninterface {}\n" + ACCESS
)


def test_a_text_with_ports_that_the_fabric_files_model_lacks_is_not_proven():
    texts = {"s0": TEXT.format("Gi2/0/1")}
    proof = prove(parse_fabric(FABRIC.format("n-series"), "t"), texts, None, whole=True)[1]
    (finding,) = [each for each in proof.findings if each.where == "s0: model"]
    assert (finding.expected, finding.actual) == ("n-series:units=2, in the fabric file", "n-series, without Gi2/0/1")
    proof = prove(parse_fabric(FABRIC.format("n-series:units=2"), "t"), texts, None, whole=True)[1]
    assert not any("model" in each.where for each in proof.findings)
