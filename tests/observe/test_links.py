"""Links and hosts' ports over SNMP against a build: up, speed, every cable of an aggregated link, hosts elsewhere."""

from dataclasses import replace

import pytest

from fabrics import ROOT
from tagloom import pipeline
from tagloom.observe import link_findings
from tagloom.read.fabric_file import parse_fabric
from tagloom.records.observation import Counters, Observation, Vlans
from tagloom.records.switch_state import SwitchEditor

FABRIC = """\
name: pair
switches: {s0: , s1: }
links:
  - {ends: [["s0:g1", "s0:g2"], ["s1:g1", "s1:g2"]], lag: true}
  - ["s0:g3", "s1:g3"]
hosts:
  h0: {switch: s0, port: g24, mac: "00:1e:c9:00:00:01"}
  h1: {switch: s1, port: g24, mac: "00:1e:c9:00:00:02"}
"""


@pytest.fixture(scope="module")
def build():
    return pipeline.plan(parse_fabric(FABRIC, "f"), ROOT / "templates")[0]


def readings(build, changes=(), learned=None):
    """What a healthy fabric shows, but for (switch, port): {field: value}."""
    changes = dict(changes)
    return {
        name: Observation(
            name,
            0.0,
            ports=tuple(
                replace(
                    Counters(port, f"g{port}", admin_up=True, oper_up=True, speed_bps=1_000_000_000),
                    **changes.get((name, port), {}),
                )
                for port in (1, 2, 3, 24)
            ),
            vlans=Vlans(learned=(learned or {}).get(name)),
        )
        for name in build.state
    }


def told(build, state=None, **words):
    return [str(each) for each in link_findings(build.fabric, state or build.state, readings(build, **words))]


def test_a_fabric_that_is_as_it_should_be_has_no_finding(build):
    assert told(build) == []


DOWN = {"oper_up": False, "speed_bps": 0}


@pytest.mark.parametrize(
    ("changes", "finding"),
    [
        ({("s0", 3): DOWN, ("s1", 3): DOWN}, "s0:g3 - s1:g3: expected up, actual down over SNMP"),
        ({("s1", 3): DOWN}, "s0:g3 - s1:g3: expected up, actual up at one end, down at the other over SNMP"),
        ({("s0", 2): DOWN, ("s1", 2): DOWN}, "s0:g2 - s1:g2: expected up, actual down over SNMP"),  # a LAG's member
        ({("s0", 3): {"speed_bps": 100_000_000}}, "s0:g3 - s1:g3: expected 1000 Mb/s, actual 100 Mb/s over SNMP"),
        ({("s1", 24): DOWN}, "h1 at s1:g24: expected up, actual down over SNMP"),
    ],
)
def test_a_cable_that_is_not_as_planned_is_named_once_by_both_ends(build, changes, finding):
    assert told(build, changes=changes) == [finding]


def test_what_a_switch_does_not_show_is_no_finding(build):
    assert told(build, changes={("s0", 3): {"oper_up": None, "speed_bps": None}}) == []


def with_ports(build, change):
    return {name: change(SwitchEditor.of(state)) for name, state in build.state.items()}


def test_a_link_that_the_build_shuts_must_be_down_and_one_that_it_slows_may_be_slow(build):
    def shut(editor):
        editor.enabled[2] = False
        return editor.freeze()

    def slow(editor):
        editor.speed_mbps[2] = 100
        return editor.freeze()

    assert told(build, with_ports(build, shut)) == ["s0:g3 - s1:g3: expected down, actual up over SNMP"]
    slowed = {(name, 3): {"speed_bps": 100_000_000} for name in build.state}
    assert told(build, with_ports(build, slow), changes=slowed) == []


def test_a_host_that_is_heard_at_another_port_is_named(build):
    mac = build.fabric.hosts[0].mac
    learned = {"s0": {(1, mac): 24}, "s1": {(1, mac): 3}}  # at home, and towards it
    assert told(build, learned=learned) == []
    learned["s1"] = {(1, mac): 9}
    assert told(build, learned=learned) == [
        "h0 (00:1e:c9:00:00:01): expected heard at s0:g24, actual at s1:g9 over SNMP"
    ]
