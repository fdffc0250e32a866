"""VLANs that change keep clear of every id that either state uses."""

from tagloom.graph.numbering import owned, renumbered
from tagloom.records.switch_state import Membership, SwitchEditor


def fabric_of(members):
    """Return the state of one switch: VLANs, each with its one port."""
    editor = SwitchEditor.blank(4)
    for vlan, port in members.items():
        editor.create_vlan(vlan)
        editor.name_vlan(vlan, f"tagloom-{vlan}")
        editor.set_member(vlan, port, Membership.TAGGED)
    return {"s0": editor.freeze()}


def test_an_id_that_a_vlan_gives_up_is_not_given_to_another():
    after = renumbered(fabric_of({100: 1}), fabric_of({100: 2, 101: 1}), 100)
    assert owned(after) == {100, 102}
    assert (after["s0"].member(100, 1), after["s0"].member(102, 2)) == (Membership.TAGGED, Membership.TAGGED)
