"""Every field of a switch's state is in the model of a wave, guarded, or without effect on frames."""

from dataclasses import fields, replace

import numpy as np
import pytest
from test_wave_proof import MODEL, two_switches

from fabrics import make_mixed
from tagloom import platforms
from tagloom.pipeline.proving import proof_services
from tagloom.records.change import PORT_CELLS, Cell, Change, apply_changes, difference
from tagloom.records.lines import BOUNCES, GUARDED, MODELLED, UNFELT, Lines
from tagloom.records.switch_state import DEFAULT_VLAN, FlowControl, Frames, Membership, PortMode, SwitchState
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.render import line_effects
from tagloom.route import route
from tagloom.verify import prove_wave
from tagloom.weave import weave

pytestmark = pytest.mark.kernel

# How a field is changed, at the port of s0 that the paths take (index 0) or the switch, and the cells that show it.
FIELDS = {
    "vlans": {Cell.VLAN, Cell.MEMBER, Cell.VLAN_NAME, Cell.ENTRY, Cell.PVID},
    "vlan_names": {Cell.VLAN_NAME},
    "membership": {Cell.MEMBER},
    "mode": {Cell.MODE},
    "pvid": {Cell.PVID},
    "ingress_filter": {Cell.INGRESS_FILTER},
    "frames": {Cell.FRAMES},
    "enabled": {Cell.ENABLED},
    "negotiation": {Cell.NEGOTIATION},
    "speed_mbps": {Cell.SPEED},
    "flow_control": {Cell.FLOW_CONTROL},
    "eee": {Cell.EEE},
    "port_spanning_tree": {Cell.PORT_SPANNING_TREE},
    "lag": {Cell.LAG},
    "flooding": {Cell.FLOODING},
    "learning": {Cell.LEARNING},
    "entry_vlan": {Cell.ENTRY},
    "entry_mac": {Cell.ENTRY},
    "entry_port": {Cell.ENTRY},
    "spanning_tree": {Cell.SPANNING_TREE},
    "aging_seconds": {Cell.AGING},
    "bpdu_filtering": {Cell.BPDU_FILTERING},
}


def test_every_field_of_a_state_is_decided():
    """A new field fails here until it has a cell, and a new cell until it is in the model, guarded or felt by none."""
    assert {each.name for each in fields(SwitchState)} == set(FIELDS)
    assert set().union(*FIELDS.values()) == set(Cell)
    decided = [*MODELLED, *GUARDED, *UNFELT]
    assert sorted(decided) == sorted(Cell)
    assert set(BOUNCES) <= set(PORT_CELLS)


@pytest.mark.parametrize("name", FIELDS)
def test_no_change_of_a_field_is_without_a_cell(name):
    """`difference` sees the field, so that no line is made of a change that the proof does not hear of."""
    _, before, _ = two_switches()
    held = before["s0"]
    value = getattr(held, name)
    if name == "vlans":
        value = np.array([DEFAULT_VLAN, *(held.vlans[1:] + 1)], np.int32)
    elif name == "vlan_names":
        value = ("", *("other" for _ in value[1:]))
    elif name.startswith("entry_"):
        value = value.copy()
        value[-1] += 1
    elif isinstance(value, np.ndarray):
        value = value.copy()
        value.flat[0] = not value.flat[0] if value.dtype == np.bool_ else value.flat[0] + 1
    else:
        value = not value if isinstance(value, bool) else value + 1
    cells = {change.cell for change in difference(held, replace(held, **{name: value}))}
    assert cells
    assert cells <= FIELDS[name]


LINK, HOST = 0, 2  # the ports, from 0, of the link that the paths take and of the host, at both switches
SLOW = Change(Cell.SPEED, 0, 100, port=LINK + 1)
ALONE = Change(Cell.NEGOTIATION, True, False, port=LINK + 1)
QUIET = tuple(BOUNCES)
# What one line of s0 does at the port of the link, and what the proof says of the wave ("" where it is proven).
CHANGES = {
    "a name": (Change(Cell.VLAN_NAME, "tagloom", "tagloom-x", vlan=100), (), ""),
    "aging": (Change(Cell.AGING, 300, 10), (), ""),
    "BPDU filtering": (Change(Cell.BPDU_FILTERING, False, True), (), ""),
    "EEE that bounces": (Change(Cell.EEE, False, True, port=LINK + 1), (), "dropped at s0:g1"),
    "EEE that does not": (Change(Cell.EEE, False, True, port=LINK + 1), QUIET, ""),
    "PAUSE that bounces": (Change(Cell.FLOW_CONTROL, 0, 1, port=LINK + 1), (), "dropped at s0:g1"),
    "PAUSE that does not": (Change(Cell.FLOW_CONTROL, 0, 1, port=LINK + 1), QUIET, ""),
    "speed": (SLOW, (), "lost before s0:g1"),
    "speed at one end": (SLOW, QUIET, "where the ends of the link differ"),
    "negotiation at one end": (ALONE, QUIET, "where the ends of the link differ"),
    "a link's port bound": (Change(Cell.LAG, 0, 25, port=LINK + 1), QUIET, "dropped at s0:g1"),
    "a host's port bound": (Change(Cell.LAG, 0, 25, port=HOST + 1), QUIET, "dropped at s0:g3"),
    "a port's spanning tree": (Change(Cell.PORT_SPANNING_TREE, True, False, port=LINK + 1), (), ""),
    "spanning tree": (Change(Cell.SPANNING_TREE, False, True), (), "s0:g1 spanning-tree: expected off"),
    "mode": (Change(Cell.MODE, PortMode.GENERAL, PortMode.TRUNK, port=LINK + 1), (), "s0:g1 mode: expected the same"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_the_proof_says_of_a_line_on_each_cell_at_a_port_in_use(name):
    fabric, before, _ = two_switches()
    change, quiet, said = CHANGES[name]
    proof = prove_wave(fabric, before, {"s0": Lines.of([(1, (change,))], quiet)})
    assert proof.proven is not bool(said)
    assert said in "; ".join(map(str, proof.findings))


def test_a_cell_that_is_changed_and_not_modelled_is_no_matter_where_no_frame_feels_it():
    """Mode and speed of a port that is shut, and spanning tree where none of the fabric's ports takes part."""
    fabric, before, _ = two_switches()
    port = fabric.links[1].a_port  # no path takes it
    shut = Change(Cell.ENABLED, True, False, port=port)
    turned = Change(Cell.MODE, PortMode.GENERAL, PortMode.TRUNK, port=port)
    down = before | {"s0": apply_changes(before["s0"], (shut,))}
    assert prove_wave(fabric, down, {"s0": Lines.of([(1, (turned,))])}).proven
    opened = Lines.of([(1, (shut.inverse,)), (2, (turned,))])
    assert "mode" in str(prove_wave(fabric, down, {"s0": opened}).findings)
    assert prove_wave(fabric, down, {"s0": Lines.of([(1, (turned,)), (2, (shut.inverse,))])}).proven
    aside = {name: replace(held, port_spanning_tree=np.zeros(held.ports, bool)) for name, held in before.items()}
    spanning = Lines.of([(1, (Change(Cell.SPANNING_TREE, False, True),))])
    assert prove_wave(fabric, aside, {"s0": spanning}).proven
    joined = Lines.of(
        [
            (1, (Change(Cell.SPANNING_TREE, False, True),)),
            (2, (Change(Cell.PORT_SPANNING_TREE, False, True, port=1),)),
        ]
    )
    assert "spanning-tree" in str(prove_wave(fabric, aside, {"s0": joined}).findings)


def test_a_port_in_the_factorys_vlan_may_change_its_mode():
    """VLAN 1 alone, untagged, is every mode's default, so frames go on; a member of another VLAN is no such port."""
    fabric, before, _ = two_switches()
    plain = before["s0"].membership.copy()
    plain[:, HOST] = Membership.NONE
    plain[0, HOST] = Membership.UNTAGGED
    pvid = before["s0"].pvid.copy()
    pvid[HOST] = DEFAULT_VLAN
    held = replace(before["s0"], membership=plain, pvid=pvid, mode=np.zeros(before["s0"].ports, np.uint8))
    turned = Change(Cell.MODE, PortMode.ACCESS, PortMode.GENERAL, port=HOST + 1)
    joined = Change(Cell.MEMBER, Membership.NONE, Membership.UNTAGGED, port=HOST + 1, vlan=100)
    for lines, fine in (([turned, joined], True), ([joined, turned], False)):
        sent = Lines.of([(n, (line,)) for n, line in enumerate(lines, 1)])
        findings = "; ".join(map(str, prove_wave(fabric, before | {"s0": held}, {"s0": sent}).findings))
        assert ("mode" not in findings) is fine


def test_where_nothing_may_wait_no_port_of_a_link_sends_pause():
    fabric, before, _ = two_switches()
    lossy = ProofAssumptions(lossy=True)
    assert prove_wave(fabric, before, {}, assumptions=lossy).proven
    for port, fine in ((LINK, False), (HOST, True)):
        flow = np.zeros(before["s0"].ports, np.uint8)
        flow[port] = FlowControl.ON
        held = before | {"s0": replace(before["s0"], flow_control=flow)}
        assert prove_wave(fabric, held, {}, assumptions=lossy).proven is fine
        line = Lines.of([(1, (Change(Cell.FLOW_CONTROL, 0, 1, port=port + 1),))], QUIET)
        assert prove_wave(fabric, before, {"s0": line}, assumptions=lossy).proven is fine
        assert prove_wave(fabric, held, {}).proven, "under PAUSE nothing waits in a cycle"


def test_ends_forced_to_different_speeds_have_no_link_within_a_wave_or_after_it():
    fabric, before, _ = two_switches()
    forced = {
        name: apply_changes(held, (ALONE, replace(SLOW, after=speed)))
        for (name, held), speed in zip(before.items(), (100, 10), strict=True)
    }
    assert not prove_wave(fabric, forced, {}).proven
    assert not proof_services(fabric).verify(forced).proven
    same = {name: apply_changes(held, (ALONE, SLOW)) for name, held in before.items()}
    assert prove_wave(fabric, same, {}).proven
    slower = Lines.of([(1, (replace(SLOW, before=100, after=10),))], QUIET)
    assert not prove_wave(fabric, same, {"s0": slower}).proven
    assert not prove_wave(fabric, same, {"s0": slower, "s1": slower}).proven, "one end may be before the other"


def aggregated():
    """Two switches, two cables bound together, a host each."""
    fabric = make_mixed([1, 1], [(0, 1, 2)])
    return fabric, weave(fabric, route(fabric, "auto", "fixed"), "fixed").state


# What one line of s0 does to a member of the link in use, or its port-channel (port 25), and what the proof says.
MEMBERS = {
    "one of two is shut": (Change(Cell.ENABLED, True, False, port=1), (), ""),
    "one of two bounces": (Change(Cell.EEE, False, True, port=1), (), ""),
    "the port-channel is shut": (Change(Cell.ENABLED, True, False, port=25), (), "dropped at s0:ch1"),
    "the port-channel bounces": (Change(Cell.EEE, False, True, port=25), (), "dropped at s0:ch1"),
    "one is let go": (Change(Cell.LAG, 25, 0, port=1), QUIET, "s0:g1 lag: expected a member of ch1"),
    "one is bound elsewhere": (Change(Cell.LAG, 25, 26, port=1), QUIET, "s0:g1 lag: expected a member of ch1"),
    "a stranger is bound": (Change(Cell.LAG, 0, 25, port=9), QUIET, "where the ends of the link differ"),
    "one is slower than its far end": (Change(Cell.SPEED, 0, 100, port=1), (), "where the ends of the link differ"),
}


@pytest.mark.parametrize("name", MEMBERS)
def test_what_the_proof_says_of_a_line_on_a_member_of_a_link_in_use(name):
    fabric, before = aggregated()
    change, quiet, said = MEMBERS[name]
    proof = prove_wave(fabric, before, {"s0": Lines.of([(1, (change,))], quiet)})
    assert proof.proven is not bool(said)
    assert said in "; ".join(map(str, proof.findings))


@pytest.mark.parametrize("end", [0, 1])
def test_a_link_whose_members_are_all_shut_at_an_end_carries_nothing_before_a_wave_within_it_or_after(end):
    """Its port-channel stays open at both ends."""
    fabric, before = aggregated()
    name = f"s{end}"
    shut = [Change(Cell.ENABLED, True, False, port=port) for port in (1, 2)]
    opened = [line.inverse for line in shut]
    for lines in (shut, opened, [*shut, *opened], [shut[0], opened[0], shut[1]]):
        held = before[name] if lines[0] is shut[0] else apply_changes(before[name], tuple(shut))
        sent = Lines.of([(n, (line,)) for n, line in enumerate(lines, 1)])
        proof = prove_wave(fabric, before | {name: held}, {name: sent})
        assert proof.proven is (lines[:2] == [shut[0], opened[0]])
    down = before | {name: apply_changes(before[name], tuple(shut))}
    assert not prove_wave(fabric, down, {}).proven
    assert proof_services(fabric).verify(down).unreachable_pairs == 2


@pytest.mark.parametrize("end", [0, 1])
def test_a_stranger_in_the_group_at_either_end_loses_flows(end):
    """A port of nothing else that is bound takes flows which the far end never sees."""
    fabric, before = aggregated()
    name = f"s{end}"
    bound = apply_changes(before[name], (Change(Cell.LAG, 0, 25, port=9),))
    shut = apply_changes(bound, (Change(Cell.ENABLED, True, False, port=9),))
    for held, lost in ((before[name], 0), (bound, 2), (shut, 0)):
        state = before | {name: held}
        assert proof_services(fabric).verify(state).unreachable_pairs == lost
        assert prove_wave(fabric, state, {}).proven is not bool(lost)


def test_the_lines_of_a_model_bounce_what_its_page_says():
    """A line that is known to keep its link up has its value in the wave all the same."""
    _, before, _ = two_switches()
    platform = platforms.load(MODEL)
    after = apply_changes(before["s0"], (ALONE, SLOW, Change(Cell.FLOW_CONTROL, 0, 1, port=1)))
    loud = line_effects(platform, before["s0"], after)
    still = line_effects(replace(platform, firmware=(("flow_control_change", "quiet"),)), before["s0"], after)
    values = {(int(c), int(v)) for c, v in zip(loud.cell, loud.value, strict=True)}
    assert {(int(c), int(v)) for c, v in zip(still.cell, still.value, strict=True)} == values
    assert len(still) == len(loud) - 1
    assert before["s0"].frames[0] == Frames.TAGGED_ONLY
