"""Frames of others enter by open ports outside the fabric: by which, and whether what they enter leads on."""

from pathlib import Path

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.records.wave_proof import AS_PLANNED
from tagloom.render import lines_of
from tagloom.verify.foreign_waits import _entrances

OUTSIDE = 20


def changed(state, change):
    editor = SwitchEditor.of(state["s0"])
    change(editor)
    return {**state, "s0": editor.freeze()}


def open_outside(editor):
    """Leave one port outside open, in no VLAN, and all others shut."""
    for port in range(4, editor.ports + 1):
        editor.enabled[port - 1] = port == OUTSIDE
        editor.mode[port - 1] = PortMode.GENERAL
        for vlan in editor.vlans:
            editor.set_member(vlan, port, Membership.NONE)


def test_a_port_that_a_line_stops_filtering_is_an_entrance_to_every_vlan_of_its_links():
    fabric = make_fabric("ring", 3, model="powerconnect-5324")
    planned = pipeline.plan(fabric, Path(), texts=False)[0].state
    for name in planned:
        planned = {**planned, name: changed({"s0": planned[name]}, open_outside)["s0"]}

    def unfiltered(editor):
        editor.ingress_filter[OUTSIDE - 1] = False

    after = changed(planned, unfiltered)
    assert _entrances(fabric, planned, {}, AS_PLANNED) == [], "what filters and is in no VLAN lets nothing in"
    ports = [(0, OUTSIDE), (1, OUTSIDE), (2, OUTSIDE)]
    assert _entrances(fabric, planned, lines_of(fabric, planned, after), AS_PLANNED) == ports
    assert _entrances(fabric, after, {}, AS_PLANNED) == ports
    assert _entrances(fabric, after, lines_of(fabric, after, planned), AS_PLANNED) == ports, (
        "until the line is in force"
    )
