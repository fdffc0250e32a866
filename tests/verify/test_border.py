"""A port of nothing in the fabric is open in none of its VLANs, at any line of a wave."""

from dataclasses import replace

import numpy as np
import pytest

from fabrics import make_fabric
from tagloom import pipeline
from tagloom.platforms import of
from tagloom.records.change import Cell, Change
from tagloom.records.lines import Lines
from tagloom.records.switch_state import DEFAULT_VLAN, Membership, SwitchEditor
from tagloom.share import share_directory
from tagloom.verify.border import open_borders

SPARE = 20  # a port that no link or host has
OPEN = ["s0:g20"]


@pytest.fixture(scope="module")
def ring():
    fabric = make_fabric("ring", 4, model="powerconnect-5324")
    state = pipeline.plan(fabric, share_directory() / "templates", texts=False)[0].state
    assert SPARE not in fabric.used_ports[0]
    assert of(fabric.switches[0]).port_name(SPARE) == "g20"
    return fabric, state, state["s0"].owned_vlans[0]


def with_port(state, vlan, *, enabled, member):
    """Return the state in which the spare port of s0 is open or shut, in a VLAN of the fabric or in none."""
    editor = SwitchEditor.of(state["s0"])
    editor.enabled[SPARE - 1] = enabled
    editor.set_member(vlan, SPARE, Membership.TAGGED if member else Membership.NONE)
    return state | {"s0": editor.freeze()}


def joins(vlan, how=Membership.TAGGED):
    was = Membership.NONE if how is not Membership.NONE else Membership.TAGGED
    return Change(Cell.MEMBER, was, how, port=SPARE, vlan=vlan)


def leaves(vlan):
    return joins(vlan, Membership.NONE)


def opens(*, to):
    return Change(Cell.ENABLED, not to, to, port=SPARE)


def found(fabric, state, *lines, transient=()):
    sent = {"s0": Lines.of(list(enumerate(lines, 1)))} if lines else {}
    return [finding.where for finding in open_borders(fabric, state, sent, transient)]


def test_a_port_that_is_open_in_a_vlan_is_found_and_none_that_is_shut_or_in_no_vlan(ring):
    fabric, state, vlan = ring
    assert found(fabric, state) == []
    assert found(fabric, with_port(state, vlan, enabled=True, member=True)) == OPEN
    assert found(fabric, with_port(state, vlan, enabled=False, member=True)) == []
    assert found(fabric, with_port(state, vlan, enabled=True, member=False)) == []
    assert found(fabric, with_port(state, vlan, enabled=True, member=True), transient=[("s0", SPARE)]) == []
    assert found(fabric, with_port(state, vlan, enabled=True, member=True), transient=[("s1", SPARE)]) == OPEN


def test_a_port_that_frames_are_classified_at_is_found(ring):
    fabric, state, vlan = ring
    pvid = state["s0"].pvid.copy()
    pvid[SPARE - 1] = vlan
    assert found(fabric, state | {"s0": replace(state["s0"], pvid=pvid)}) == OPEN
    assert found(fabric, state, [Change(Cell.PVID, DEFAULT_VLAN, vlan, port=SPARE)]) == OPEN


def test_lines_that_open_a_port_in_a_vlan_are_found_whatever_the_last_one_leaves(ring):
    fabric, state, vlan = ring
    shut = with_port(state, vlan, enabled=False, member=True)
    bare = with_port(state, vlan, enabled=False, member=False)
    up = with_port(state, vlan, enabled=True, member=False)
    assert found(fabric, up, [joins(vlan)]) == OPEN
    assert found(fabric, up, [joins(vlan)], [leaves(vlan)]) == OPEN
    assert found(fabric, shut, [opens(to=True)], [opens(to=False)]) == OPEN
    assert found(fabric, shut, [leaves(vlan)], [opens(to=True)]) == []
    assert found(fabric, shut, [opens(to=True)], [leaves(vlan)]) == OPEN
    assert found(fabric, shut, [leaves(vlan), opens(to=True)]) == [], "one line does both"
    assert found(fabric, bare, [joins(vlan)]) == []
    assert found(fabric, bare, [joins(vlan)], [opens(to=True)]) == OPEN


def test_a_vlan_that_a_line_makes_is_the_fabrics_and_one_of_others_is_not(ring):
    fabric, state, _ = ring
    up = with_port(state, state["s0"].owned_vlans[0], enabled=True, member=False)
    assert found(fabric, up, [joins(3000)]) == OPEN
    assert found(fabric, up, [joins(DEFAULT_VLAN)]) == []
    assert int(np.count_nonzero(up["s0"].vlans == 3000)) == 0


def test_a_dead_switch_has_no_border(ring):
    fabric, state, vlan = ring
    dead = fabric.with_switches_down({0})
    assert found(dead, with_port(state, vlan, enabled=True, member=True)) == []
