"""Changes are summarized by kind, switches that change alike once, all on one screen."""

import pytest

from tagloom.records.change import Cell, Change
from tagloom.records.switch_state import Membership
from tagloom.report.change_summary import SHOWN_LINES, SwitchChange, kind_words, summary_lines, switch_change
from tagloom.report.terminal import WIDTH

TAGGED, UNTAGGED, NONE = Membership.TAGGED, Membership.UNTAGGED, Membership.NONE


def member(vlan, port, before, after):
    return Change(Cell.MEMBER, before, after, port=port, vlan=vlan)


KINDS = {
    "VLANs": ([Change(Cell.VLAN, 0, 1, vlan=7), Change(Cell.VLAN, 0, 1, vlan=8)], ["2 VLANs"]),
    "one VLAN": ([Change(Cell.VLAN, 0, 1, vlan=7), Change(Cell.VLAN_NAME, "", "tagloom", vlan=7)], ["1 VLAN"]),
    "VLANs exchanged": ([Change(Cell.VLAN, 0, 1, vlan=7), Change(Cell.VLAN, 1, 0, vlan=8)], ["1 VLAN (1 removed)"]),
    "a VLAN removed": ([Change(Cell.VLAN, 1, 0, vlan=8)], ["1 VLAN removed"]),
    "a VLAN renamed": ([Change(Cell.VLAN_NAME, "a", "b", vlan=8)], ["1 VLAN renamed"]),
    "ports in VLANs": (
        [member(7, 1, NONE, TAGGED), member(8, 1, NONE, TAGGED), member(7, 2, NONE, UNTAGGED)],
        ["1 port tagged", "1 port untagged"],
    ),
    "ports out of VLANs": ([member(7, 1, TAGGED, NONE)], ["1 port taken out of VLANs"]),
    "entries": (
        [
            *(Change(Cell.ENTRY, (), (3,), vlan=7, mac=mac) for mac in range(9)),
            Change(Cell.ENTRY, (3,), (), vlan=7, mac=10),
            Change(Cell.ENTRY, (3,), (4,), vlan=7, mac=11),
        ],
        ["9 static MAC entries (1 removed)", "1 static MAC entry changed"],
    ),
    "links": (
        [Change(Cell.ENABLED, 1, 0, port=1), Change(Cell.ENABLED, 1, 0, port=2), Change(Cell.ENABLED, 0, 1, port=3)],
        ["2 ports turned off", "1 port turned on"],
    ),
    "the switch": (
        [Change(Cell.SPANNING_TREE, 1, 0), Change(Cell.AGING, 300, 600), Change(Cell.BPDU_FILTERING, 0, 1)],
        ["spanning tree off", "aging time 600 s", "BPDU filtering on"],
    ),
}


@pytest.mark.parametrize("case", KINDS)
def test_changes_are_counted_by_kind(case):
    changes, words = KINDS[case]
    assert list(kind_words(changes)) == words


@pytest.mark.parametrize("cell", Cell)
def test_no_kind_of_change_is_silent(cell):
    assert kind_words([Change(cell, 0, 1, port=1, vlan=7, mac=9)])


def test_lines_are_counted_as_a_diff_does_and_the_operators_own_beside():
    found = switch_change("s0", "a\nb\nc\n", "a\nx\nc\nd\n", [], own_lines=1)
    assert (found.added, found.removed, found.kinds) == (3, 1, ("1 line of your own",))
    assert found.lines() == ["s0        +3 -1       1 line of your own"]


def test_switches_that_change_alike_are_shown_once():
    same = [SwitchChange(f"s{n}", 12, 2, ("2 VLANs", "9 static MAC entries")) for n in range(16)]
    assert summary_lines(same) == [
        "s0        +12 -2      2 VLANs, 9 static MAC entries",
        "          and 15 more switches alike",
    ]
    assert summary_lines(same[:2])[1] == "          and 1 more switch alike: s1"
    assert summary_lines([]) == []


def test_switches_that_differ_take_one_screen_and_the_rest_is_counted():
    kinds = tuple(f"{n} different things" for n in range(10, 20))
    lines = summary_lines([SwitchChange(f"s{n}", n, 2, kinds) for n in range(16)])
    assert len(lines) <= SHOWN_LINES + 1
    assert max(map(len, lines)) <= WIDTH
    shown = sum(line.startswith("s") for line in lines)
    assert lines[-1] == f"          ... {16 - shown} more switches (all lines: -v)"
    assert len(summary_lines([SwitchChange("s0", 1, 2, kinds * 5)])) > SHOWN_LINES  # one at least is shown
