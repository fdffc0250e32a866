"""Read-back by SNMP is a second witness: where the state and Q-BRIDGE disagree, it is a finding by name."""

import pytest

from loopback import served, snmp, switch
from strategies_snmp import woven
from tagloom import platforms
from tagloom.lab.device import Quirks
from tagloom.observe import disagreements, interpret
from tagloom.observe.objects import EVERYTHING
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.observation import Observation
from tagloom.records.switch_state import Membership, SwitchEditor

PAIR = """
switches: {s0: {}, s1: {}}
links: [["s0:g1", "s1:g1"], ["s0:g2", "s1:g2"], ["s0:g3", "s1:g3"]]
hosts: {h0: {switch: s0, port: g24}, h1: {switch: s1, port: g24}}
"""
STATE = woven(platforms.load("powerconnect-5324"))


@pytest.fixture
def compare():
    """Let a switch run the state after `change`, and compare what it shows with the state before."""

    def compare(change=lambda _: None, quirks=None):
        editor = SwitchEditor.of(STATE)
        change(editor)
        device, agent = switch(state=editor.freeze())
        device.quirks = quirks or Quirks()
        with served(agent) as [place], snmp() as wire:
            raw = wire.ask({"s0": place}, EVERYTHING)["s0"]
        seen = {"s0": interpret("s0", raw, platforms.load("powerconnect-5324"))}
        return [str(each) for each in disagreements(parse_fabric(PAIR, "test"), {"s0": STATE}, seen)]

    return compare


def test_a_switch_that_runs_the_state_has_no_finding(compare):
    assert compare() == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (
            lambda e: e.set_member(100, 2, Membership.UNTAGGED),
            "s0: g2 in VLAN 100: expected none, actual untagged over SNMP",
        ),
        (
            lambda e: e.set_member(100, 24, Membership.NONE),
            "s0: g24 in VLAN 100: expected untagged, actual none over SNMP",
        ),
        (lambda e: e.set_pvid(3, 1), "s0: g3 PVID: expected 103, actual 1 over SNMP"),
        (lambda e: e.set_pvid(24, 100), "s0: g24 PVID: expected 0, actual 100 over SNMP"),
        (
            lambda e: e.set_entry(101, 0x0200_0000_0001, [4]),
            "s0: 02:00:00:00:00:01 in VLAN 101: expected g3, actual g4 over SNMP",
        ),
        (
            lambda e: e.set_entry(101, 0xFFFF_FFFF_FFFF, []),
            "s0: ff:ff:ff:ff:ff:ff in VLAN 101: expected g1 to g3, actual no static entry over SNMP",
        ),
        (
            lambda e: e.set_entry(102, 0x0200_0000_0007, [1]),
            "s0: 02:00:00:00:00:07 in VLAN 102: expected no static entry, actual g1 over SNMP",
        ),
    ],
)
def test_one_change_is_one_finding_by_name(compare, change, says):
    assert compare(change) == [says]


def test_a_vlan_that_is_gone_is_found(compare):
    found = compare(lambda e: e.delete_vlan(103))
    assert "s0: VLAN 103: expected there, actual no such VLAN over SNMP" in found
    assert "s0: a0:b0:c0:d0:e0:f0 in VLAN 103: expected g24, actual no static entry over SNMP" in found
    assert "s0: g3 PVID: expected 103, actual 1 over SNMP" in found


def test_what_is_not_tagloom_s_is_none_of_its_business(compare):
    def change(editor):
        editor.create_vlan(7)
        editor.set_member(7, 12, Membership.TAGGED)
        editor.set_entry(7, 0x0200_0000_0009, [12])
        editor.set_pvid(12, 7)  # no port of the fabric

    assert compare(change) == []


def test_silence_is_no_agreement(compare):
    assert compare(quirks=Quirks(hide=r"^1\.3\.6\.1\.2\.1\.17\.7\.1\.4\.(3|2)\.")) == [
        "s0: dot1qVlanStaticTable: expected a second witness, actual the switch does not show it over SNMP"
    ]
    fabric = parse_fabric(PAIR, "test")
    lost = {"s0": Observation("s0", 0.0, error="no answer")}
    assert [str(each) for each in disagreements(fabric, {"s0": STATE, "s1": STATE}, lost)] == [
        "s0: expected a reading over SNMP, actual no answer",
        "s1: expected a reading over SNMP, actual none",
    ]


def test_a_switch_that_is_down_or_was_not_read_is_not_compared():
    fabric = parse_fabric(PAIR, "test")
    assert [str(each) for each in disagreements(fabric, {"s1": STATE}, {})] == [
        "s1: expected a reading over SNMP, actual none"
    ]
    assert disagreements(fabric.with_switches_down([1]), {"s1": STATE}, {}) == ()
