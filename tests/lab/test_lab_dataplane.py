import pytest

from lab_fabrics import editors, fabric, frozen, torus
from tagloom.lab.dataplane import MAX_COPIES, Dataplane, Hop
from tagloom.records.switch_state import Frames, Membership

TRIANGLE = [(0, 1, 1, 2), (1, 1, 2, 2), (2, 1, 0, 2)]


def pair():
    """Two switches whose hosts are untagged in VLAN 10, tagged on the cable; VLAN 1 is left nowhere."""
    made = fabric(2, [(0, 1, 1, 1)])
    configured = editors(made)
    for editor in configured.values():
        editor.create_vlan(10)
        editor.set_member(10, 24, Membership.UNTAGGED)
        editor.set_member(10, 1, Membership.TAGGED)
        editor.set_pvid(24, 10)
        for port in range(1, 25):
            editor.set_member(1, port, Membership.NONE)
    return made, configured


def run(made, configured):
    return Dataplane(made, frozen(configured))


def test_factory_switches_carry_every_pair():
    made = fabric(2, [(0, 1, 1, 1)])
    found = run(made, editors(made)).ping_all()
    assert (found.pairs, found.reached, found.lost, found.storm) == (2, 2, (), "")


def test_a_frame_takes_the_tagged_vlan_and_leaves_untagged():
    made, configured = pair()
    found = run(made, configured).unicast("h0", "h1")
    assert found.path == (Hop("s0", 24, 10, 1), Hop("s1", 1, 10, 24))
    assert found.copies == 1
    assert found.flooded == ("s0", "s1")


def test_an_answer_goes_only_where_the_address_was_learned():
    made = fabric(3, TRIANGLE[:2])
    wire = run(made, editors(made))
    assert wire.unicast("h0", "h1").delivered_to == {"h1": 1, "h2": 1}
    back = wire.unicast("h1", "h0")
    assert back.delivered_to == {"h0": 1}
    assert back.flooded == ()
    assert wire.learned("s1") == {(1, 0x0200_0000_0000): 2, (1, 0x0200_0000_0001): 24}


def test_a_triangle_storms_without_spanning_tree_and_not_with_it():
    made = fabric(3, TRIANGLE)
    configured = editors(made)
    guarded = run(made, configured).ping_all()
    assert (guarded.reached, guarded.storm) == (6, "")
    assert run(made, configured).broadcast("h0").delivered_to == {"h1": 1, "h2": 1}
    for editor in configured.values():
        editor.spanning_tree = False
    melted = run(made, configured).ping_all()
    assert melted.reached == 0
    assert melted.storm.startswith("VLAN 1: a frame of h0 still circulates")
    assert run(made, configured).broadcast("h1").storm


def test_one_switch_without_spanning_tree_is_enough_to_close_a_loop():
    made = fabric(3, TRIANGLE)
    configured = editors(made)
    configured["s1"].spanning_tree = False
    assert run(made, configured).broadcast("h0").storm


def test_one_port_without_spanning_tree_is_enough_to_close_a_loop():
    made = fabric(3, TRIANGLE)
    configured = editors(made)
    configured["s1"].port_spanning_tree[0] = False  # the link that the tree from s0 does not need
    assert run(made, configured).broadcast("h0").storm


def test_parallel_links_are_blocked_but_one():
    made = fabric(2, [(0, 1, 1, 1), (0, 2, 1, 2)])
    found = run(made, editors(made)).broadcast("h0")
    assert found.delivered_to == {"h1": 1}
    assert [hop.out_port for hop in found.path] == [1, 24]


@pytest.mark.parametrize("filtered", [True, False])
def test_an_ingress_filter_drops_frames_of_vlans_the_port_is_not_in(filtered):
    made, configured = pair()
    configured["s1"].set_member(10, 1, Membership.NONE)
    configured["s1"].ingress_filter[0] = filtered
    assert run(made, configured).unicast("h0", "h1").copies == int(not filtered)


def test_a_vlan_the_switch_does_not_have_is_dropped_even_unfiltered():
    made, configured = pair()
    configured["s1"].delete_vlan(10)
    configured["s1"].ingress_filter[0] = False
    assert run(made, configured).unicast("h0", "h1").copies == 0


def test_a_static_entry_at_the_wrong_port_black_holes_and_is_never_moved():
    made, configured = pair()
    configured["s1"].set_entry(10, 0x0200_0000_0001, [5])
    wire = run(made, configured)
    wire.broadcast("h1")  # s1 hears h1 on port 24, and must not believe it
    found = wire.unicast("h0", "h1")
    assert (found.copies, found.flooded, found.path) == (0, (), (Hop("s0", 24, 10, 1),))
    assert wire.learned("s1") == {(10, 0x0200_0000_0000): 1}


def test_a_static_entry_back_where_the_frame_came_from_drops_it():
    made, configured = pair()
    configured["s1"].set_entry(10, 0x0200_0000_0001, [1])
    assert run(made, configured).unicast("h0", "h1").copies == 0


def test_static_entries_all_along_flood_nothing():
    made, configured = pair()
    configured["s0"].set_entry(10, 0x0200_0000_0001, [1])
    configured["s1"].set_entry(10, 0x0200_0000_0001, [24])
    found = run(made, configured).unicast("h0", "h1")
    assert (found.copies, found.flooded) == (1, ())


def test_a_host_drops_what_arrives_tagged():
    made, configured = pair()
    configured["s1"].set_member(10, 24, Membership.TAGGED)
    found = run(made, configured).unicast("h0", "h1")
    assert found.path[-1] == Hop("s1", 1, 10, 24)
    assert (found.copies, found.delivered_to) == (0, {})


def test_an_untagged_end_of_a_tagged_cable_changes_the_vlan():
    made, configured = pair()
    configured["s0"].set_member(10, 1, Membership.UNTAGGED)
    assert run(made, configured).unicast("h0", "h1").copies == 0  # lands in VLAN 1, where port 1 of s1 is not
    configured["s1"].set_pvid(1, 10)
    assert run(made, configured).unicast("h0", "h1").copies == 1


@pytest.mark.parametrize(("frames", "copies"), [(Frames.ALL, 1), (Frames.TAGGED_ONLY, 1), (Frames.UNTAGGED_ONLY, 0)])
def test_acceptable_frames_on_a_tagged_cable(frames, copies):
    made, configured = pair()
    configured["s1"].frames[0] = frames
    assert run(made, configured).unicast("h0", "h1").copies == copies


@pytest.mark.parametrize(("frames", "copies"), [(Frames.ALL, 1), (Frames.TAGGED_ONLY, 0), (Frames.UNTAGGED_ONLY, 1)])
def test_acceptable_frames_on_a_host_port(frames, copies):
    made, configured = pair()
    configured["s0"].frames[23] = frames
    assert run(made, configured).unicast("h0", "h1").copies == copies


def test_a_discard_pvid_drops_untagged_frames():
    made, configured = pair()
    configured["s0"].set_pvid(24, 0)
    assert run(made, configured).unicast("h0", "h1").copies == 0


@pytest.mark.parametrize(("switch", "port"), [("s0", 1), ("s1", 1), ("s0", 24), ("s1", 24)])
def test_a_shut_port_at_either_end_carries_nothing(switch, port):
    made, configured = pair()
    configured[switch].enabled[port - 1] = False
    assert run(made, configured).ping_all().lost == (("h0", "h1"), ("h1", "h0"))


def test_a_link_that_is_down_carries_nothing():
    made, configured = pair()
    assert run(made.with_links_down([0]), configured).ping_all().reached == 0


def test_learning_is_independent_by_vlan():
    made, configured = pair()
    for editor in configured.values():
        editor.create_vlan(20)
        editor.set_member(20, 24, Membership.UNTAGGED)
        editor.set_member(20, 1, Membership.TAGGED)
    configured["s1"].set_pvid(24, 20)  # h1 answers in another VLAN: h0 is unknown there
    wire = run(made, configured)
    assert wire.unicast("h0", "h1").copies == 1
    assert wire.unicast("h1", "h0").flooded == ("s1", "s0")


def test_frames_are_counted_and_outlive_a_change():
    made, configured = pair()
    wire = run(made, configured)
    wire.unicast("h0", "h1")
    wire.configure(frozen(configured))
    wire.unicast("h0", "h1")
    assert (wire.sent["s0", 1], wire.received["s1", 1], wire.received["s0", 24]) == (2, 2, 2)


def test_an_exploding_storm_ends_by_itself():
    made = torus(4, 4)
    configured = editors(made)
    for editor in configured.values():
        editor.spanning_tree = False
    wire = run(made, configured)
    assert "copies" in wire.ping_all().storm
    assert wire.sent.total() <= MAX_COPIES + 4


def test_240_pairs_take_few_copies():
    """A frame to an address that nobody has heard goes over the tree's 15 links and to 15 hosts; no other."""
    made = torus(4, 4)
    wire = run(made, editors(made))
    assert wire.ping_all().reached == 240
    assert wire.sent.total() < 240 * 30
