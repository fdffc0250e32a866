"""Rollouts: every pair stays reachable after every single command line, in any interleaving."""

import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from plans import mesh, plans

from fabrics import ROOT, make_fabric, make_irregular
from tagloom import platforms
from tagloom.errors import InputError, PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.graph.numbering import ids_clash, owned, vlan_fingerprint, with_numbers
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import plan, rollout
from tagloom.pipeline.proving import proof_services
from tagloom.platforms.interpreter import Interpreter
from tagloom.records.change import apply_changes
from tagloom.records.switch_state import BROADCAST, Membership, SwitchEditor, SwitchState
from tagloom.render import render_commands
from tagloom.rollout import choose
from tagloom.route import route
from tagloom.verify import broadcasts_once
from tagloom.weave import weave
from thinned import few

pytestmark = pytest.mark.kernel


def planned(fabric, method="auto", assignment="fixed"):
    return weave(
        fabric, route(fabric, method, assignment), assignment, broadcasts_once=partial(broadcasts_once, fabric)
    ).state


def torus(**options):
    return make_fabric("torus", 3, 2, parallel=2, model="powerconnect-5324", **options)


def pentagon():
    """Five switches in a ring, a chord and a tail: renamed up*/down* repeats broadcasts here without group entries."""
    ring = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]
    return make_irregular([1, 2, 1, 1, 1, 0], [*ring, (1, 3), (4, 5)], model="powerconnect-5324")


def grouped(fabric):
    state = planned(fabric, "up-down", "renamed")
    assert any(BROADCAST in held.entry_mac for held in state.values())
    return state


CHANGES = {
    "a link goes off": lambda f: (planned(f), planned(f.with_links_down({0}))),
    "three links go off": lambda f: (planned(f), planned(f.with_links_down({0, 1, 6}))),
    "links come on": lambda f: (planned(f.with_links_down({0, 4})), planned(f)),
    "one tree to many": lambda f: (planned(f, "tree"), planned(f)),
    "many to one tree": lambda f: (planned(f), planned(f, "tree")),
    "fixed to renamed": lambda f: (planned(f), planned(f, "auto", "renamed")),
    "renamed to fixed": lambda f: (planned(f, "auto", "renamed"), planned(f)),
    "renamed with group entries": lambda f: (planned(f), grouped(f)),
    "fixed from group entries": lambda f: (grouped(f), planned(f)),
    "renamed to renamed": lambda f: (planned(f, "auto", "renamed"), planned(f, "tree", "renamed")),
    "links change their speed": lambda f: (planned(f), planned(slower(f, {0, 5}))),
    "a ring cut opposite": lambda f: tuple(cut(f, link) for link in (0, 3)),
    "a ring cut beside": lambda f: tuple(cut(f, link) for link in (0, 1)),
    "sources one batch after another": lambda _: (plans()["tree of row 0"], plans()["tree of row 1"]),
}
DIRECT, PARK = ["add", "flip", "remove"], ["add", "flip", "remove and add", "flip", "remove"]
OTHERS = {
    "renamed to renamed": ("park", PARK),
    "links change their speed": ("park", PARK),
    "a ring cut opposite": ("slides", [*PARK[:-1], "remove and add", "flip", "remove"]),
    "sources one batch after another": ("batches", ["add", "flip", "flip", "remove"]),
}


def slower(fabric, links):
    changed = [replace(link, speed_mbps=100 if i in links else 0) for i, link in enumerate(fabric.links)]
    return replace(fabric, links=tuple(changed))


def cut(fabric, link):
    """The tree a ring is without one link, that link staying on."""
    state = planned(fabric.with_links_down({link}), "tree")
    return {name: replace(held, enabled=np.ones(held.ports, bool)) for name, held in state.items()}


def fabric_of(name):
    if "group entries" in name:
        return pentagon()
    if "ring" in name:
        return make_fabric("ring", 6, model="powerconnect-5324")
    if "batch" in name:
        return mesh()
    return torus()


@pytest.mark.parametrize("name", CHANGES)
def test_the_shortest_order_is_found_and_every_wave_of_it_is_proven(name):
    fabric = fabric_of(name)
    before, after = CHANGES[name](fabric)
    change = rollout(fabric, before, after)
    assert (change.strategy, [wave.name for wave in change.waves]) == OTHERS.get(name, ("direct", DIRECT))
    assert all(wave.proof.proven for wave in change.waves)
    assert all(wave.drain_seconds >= 5 for wave in change.waves if wave.name == "flip")
    assert change.downtime_seconds == 0
    assert change.proven_states > sum(len(wave.patches) for wave in change.waves)
    here = dict(before)
    for wave in change.waves:
        for patch in wave.patches:
            here[patch.switch] = apply_changes(here[patch.switch], patch.changes)
        assert here == wave.state
    assert here == change.after
    for wave in reversed(change.waves):
        for patch in wave.patches:
            here[patch.switch] = apply_changes(here[patch.switch], patch.inverse.changes)
    assert here == before


@pytest.mark.slow
@pytest.mark.parametrize("seed", few(range(2), 0))
@pytest.mark.parametrize("name", CHANGES)
def test_no_pair_is_lost_and_nothing_storms_after_any_line_in_any_interleaving(name, seed):
    """Real command lines, one at a time, from all switches of a wave shuffled together (order kept per switch)."""
    fabric = fabric_of(name)
    before, after = CHANGES[name](fabric)
    change = rollout(fabric, before, after)
    chance = random.Random(seed)
    platform = platforms.load("powerconnect-5324")
    editors = {name: SwitchEditor.of(state) for name, state in before.items()}
    lines_seen = 0
    for wave in change.waves:
        queues = {
            patch.switch: (
                Interpreter(platform, editors[patch.switch]),
                list(render_commands(platform, patch.changes)),
            )
            for patch in wave.patches
        }
        while queues:
            switch = chance.choice(sorted(queues))
            interpreter, lines = queues[switch]
            for _ in range(chance.randint(1, 12)):
                if lines:
                    assert interpreter.feed(lines.pop(0)).accepted
                    lines_seen += 1
            if not lines:
                del queues[switch]
            plane = Dataplane(fabric, {name: editor.freeze() for name, editor in editors.items()})
            found = plane.ping_all()
            assert found.reached == found.pairs, (wave.name, found.lost)
            for host in fabric.hosts:
                sent = plane.broadcast(host.name)
                assert not sent.storm
                assert all(n == 1 for b, n in sent.delivered_to.items()), wave.name
                assert len(sent.delivered_to) == len(fabric.hosts) - 1
        assert {name: editor.freeze() for name, editor in editors.items()} == wave.state
    assert lines_seen > 30


def test_an_id_never_names_two_trees():
    fabric = torus()
    before, after = CHANGES["a link goes off"](fabric)
    change = rollout(fabric, before, after)
    both = owned(change.before) & owned(change.after)
    assert all(vlan_fingerprint(change.before, v) == vlan_fingerprint(change.after, v) for v in both)
    assert owned(change.after) - owned(change.before), "a changed tree got a fresh id"


def test_trees_that_run_under_other_ids_are_led_to_those_that_are_asked_for():
    fabric = torus()
    old = planned(fabric)
    ids = owned(old)
    up = {v: v + 100 for v in ids}
    new = {name: with_numbers(name, held, up) for name, held in old.items()}
    assert not ids_clash(old, new, fabric.first_vlan)
    change = choose(fabric, old, new, proof_services(fabric), renumber=False)
    assert (change.after, change.waves[-1].state) == (new, new)
    assert all(wave.proof.proven for wave in change.waves)
    one, *others = sorted(ids)
    part = {name: with_numbers(name, held, {one: one + 100}) for name, held in old.items()}
    assert not ids_clash(old, part, fabric.first_vlan)  # the others name the same trees
    assert choose(fabric, old, part, proof_services(fabric), renumber=False).after == part
    turned = {name: with_numbers(name, held, {one: others[0], others[0]: one}) for name, held in old.items()}
    assert ids_clash(old, turned, fabric.first_vlan)
    assert not ids_clash(old, turned, max(ids) + 1)  # ids of the operator's, for given networks
    mine = next(iter(old))
    foreign = SwitchEditor.of(old[mine])
    foreign.create_vlan(one + 100)
    assert ids_clash({**old, mine: foreign.freeze()}, part, fabric.first_vlan)  # which somebody else has


def test_equal_states_need_no_wave():
    fabric = torus()
    change = rollout(fabric, planned(fabric), planned(fabric))
    assert (change.strategy, change.waves) == ("unchanged", ())


def test_a_fabric_that_does_not_prove_is_no_place_to_start_from():
    fabric = torus()
    factory = {s.name: SwitchState.factory(32) for s in fabric.switches}
    with pytest.raises(PlanError, match="starts from a fabric that proves"):
        rollout(fabric, factory, planned(fabric))


def test_a_cyclic_union_is_refused_and_the_cycle_shown():
    fabric = fabric_of("ring")
    for strategy in ("direct", "batches", "park"):
        with pytest.raises(PlanError, match="dependency cycle") as caught:
            rollout(fabric, cut(fabric, 0), cut(fabric, 3), strategy=strategy)
        assert caught.value.witness.count("->") >= 6
        assert "--allow drain" in caught.value.next_step


def test_a_pause_is_taken_only_where_it_is_allowed_and_said_in_seconds():
    fabric = fabric_of("ring")
    before, after = cut(fabric, 0), cut(fabric, 3)
    with pytest.raises(InputError, match="--allow drain"):
        rollout(fabric, before, after, strategy="drain")
    assert rollout(fabric, before, after, allow_drain=True).strategy == "slides", "nothing gentler is passed over"
    change = rollout(fabric, before, after, strategy="drain", allow_drain=True)
    assert [wave.name for wave in change.waves] == ["add", "pause", "resume", "remove"]
    assert 5 < change.downtime_seconds < 30
    assert [wave.paused for wave in change.waves] == [False, True, False, False]
    plane = Dataplane(fabric, change.waves[1].state)
    assert plane.ping_all().reached == 0
    assert not any(plane.broadcast(host.name).delivered_to for host in fabric.hosts)


def test_flow_control_on_every_port_needs_a_pause():
    """A port that renegotiates PAUSE may go down for seconds, hosts' ports too: no path leads round those."""
    fabric = torus()
    before, after = planned(fabric), planned(replace(fabric, flow_control=True))
    with pytest.raises(PlanError, match="retrained"):
        rollout(fabric, before, after)
    change = rollout(fabric, before, after, allow_drain=True)
    assert [wave.name for wave in change.waves] == ["pause", "rebuild", "resume"]
    assert change.after == after


@pytest.mark.parametrize(
    ("name", "wave", "what"),
    [("links come on", "add", "on_off"), ("links change their speed", "remove and add", "1000_100")],
)
def test_links_are_waited_for_as_long_as_their_model_takes(name, wave, what):
    fabric = torus()
    seconds = {"on_off": 3.2, "1000_100": 4.1}  # PowerConnect 5324, Koibuchi et al. 2011, table 6
    services = replace(proof_services(fabric), up_seconds=lambda _, what: seconds[what])
    change = choose(fabric, *CHANGES[name](fabric), services)
    waits = {each.name: each.drain_seconds for each in change.waves}
    assert waits[wave] == pytest.approx(3 * seconds[what])
    assert sum(each.expected_seconds for each in change.waves) > sum(waits.values())


def test_a_table_without_room_for_both_is_said_to_be_the_reason():
    fabric = torus()
    before, after = CHANGES["a link goes off"](fabric)
    services = proof_services(fabric)
    most = max(len(state.entry_vlan) for each in (before, after) for state in each.values())
    with pytest.raises(PlanError, match=r"was not found.*no room for both at once"):
        choose(fabric, before, after, replace(services, room=lambda _: (256, most + 2)), strategy="direct")
    # a tree's entries, one for each host, stand beside the old ones where those of the new plan do not
    parked = choose(
        fabric, before, after, replace(services, room=lambda _: (256, most + len(fabric.hosts))), strategy="park"
    )
    assert parked.strategy == "park"
    assert [wave.name for wave in parked.waves] == ["add", "flip", "remove", "add", "flip", "remove"]


def test_a_group_entry_is_never_taken_from_a_vlan_that_stays():
    """Without it a widened VLAN floods: broadcasts would come several times."""
    fabric = pentagon()
    before = grouped(fabric)
    bare = {}
    for name, held in before.items():
        editor = SwitchEditor.of(held)
        editor.entries = {key: ports for key, ports in editor.entries.items() if key[1] != BROADCAST}
        bare[name] = editor.freeze()
    with pytest.raises(PlanError):
        rollout(fabric, before, bare)
    change = rollout(fabric, before, planned(fabric))
    for wave in change.waves:
        for patch in wave.patches:
            for line in patch.changes:
                if getattr(line, "mac", None) == BROADCAST:
                    assert wave.name == "remove"
                    assert line.vlan not in wave.state[patch.switch].vlan_index


@pytest.mark.slow
def test_where_entries_are_short_vlans_go_one_by_one_or_hosts_park_on_a_tree_that_floods():
    fabric = make_fabric("mesh", 3, 3, model="powerconnect-5324")
    before, after = planned(fabric), planned(fabric.with_links_down({0}))
    services = proof_services(fabric)
    both = choose(fabric, before, after, services)
    assert both.strategy == "direct"
    found = {}
    for room in range(max(len(held.entry_vlan) for state in (before, after) for held in state.values()), 60):
        tight = replace(services, room=lambda _, room=room: (256, room))
        change = choose(fabric, before, after, tight)
        for wave in change.waves:
            assert wave.proof.proven
            for name, held in wave.state.items():
                assert len({*keys(held), *keys(wave.before[name])}) <= room
        found.setdefault(change.strategy, []).append(room)
    assert {"batches", "direct"} <= set(found)
    assert min(found["batches"]) < min(found["direct"])
    tree = services_without_batches(fabric, before, after, services)
    assert tree.strategy == "park"
    vlan = (owned(tree.waves[0].state) - owned(before)).pop()
    assert not any((wave.state[s.name].entry_vlan == vlan).any() for wave in tree.waves for s in fabric.switches)
    plane = Dataplane(fabric, tree.waves[1].state)
    assert plane.ping_all().reached == 72, "it floods, and every pair is reached"


def keys(held):
    return zip(held.entry_vlan.tolist(), held.entry_mac.tolist(), strict=True)


def services_without_batches(fabric, before, after, services):
    most = max(len(held.entry_vlan) for state in (before, after) for held in state.values())
    return choose(fabric, before, after, replace(services, room=lambda _: (256, most)), strategy="park")


def test_without_pause_a_cyclic_union_may_lose_frames_and_never_circles_or_locks():
    fabric = fabric_of("ring")
    before, after = cut(fabric, 0), cut(fabric, 3)
    change = rollout(fabric, before, after, strategy="pause-off")
    assert [wave.name for wave in change.waves] == DIRECT, "no link sends PAUSE before, nor afterwards"
    assert find_cycle(len(fabric.tail), change.waves[1].proof.held, change.waves[1].proof.wanted)
    assert rollout(fabric, before, after).strategy == "slides", "what loses nothing comes first"
    sending, goal = (pausing(state) for state in (before, after))
    with pytest.raises(PlanError, match="flow control off"):
        rollout(fabric, sending, goal, strategy="pause-off")
    quiet = replace(fabric, switches=tuple(replace(s, firmware=QUIET) for s in fabric.switches))
    change = rollout(quiet, sending, goal, strategy="pause-off")
    assert [wave.name for wave in change.waves] == ["flow control off", *DIRECT, "flow control on"]
    for wave in change.waves[:-1]:
        assert not any(held.flow_control[:2].any() for held in wave.state.values()), "both ports of each switch's links"
    assert change.waves[-1].state == change.after
    assert all(held.flow_control[:2].all() for held in change.after.values())


QUIET = (("flow_control_change", "quiet"),)


def pausing(state):
    return {name: replace(held, flow_control=np.ones(held.ports, np.uint8)) for name, held in state.items()}


def test_flow_control_that_keeps_its_link_up_needs_no_pause():
    fabric = torus()
    quiet = replace(fabric, switches=tuple(replace(s, firmware=QUIET) for s in fabric.switches))
    change = rollout(quiet, planned(quiet), planned(replace(quiet, flow_control=True)))
    assert [wave.name for wave in change.waves] == ["remove"]


def test_a_link_that_comes_up_has_left_vlan_1_at_both_ends():
    """Spanning tree is off: VLAN 1 on raised links would close loops that the switches' own frames go round."""
    fabric = torus()
    before, after = planned(fabric.with_links_down({0, 4})), planned(fabric)
    for link in (fabric.links[0], fabric.links[4]):
        for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
            editor = SwitchEditor.of(before[fabric.switches[s].name])
            editor.set_member(1, port, Membership.UNTAGGED)
            before[fabric.switches[s].name] = editor.freeze()
    change = rollout(fabric, before, after)
    first = change.waves[0]
    editors = {name: SwitchEditor.of(held) for name, held in before.items()}
    platform = platforms.load("powerconnect-5324")
    raised = 0
    for patch in first.patches:
        interpreter = Interpreter(platform, editors[patch.switch])
        for line in render_commands(platform, patch.changes, before[patch.switch]):
            assert interpreter.feed(line).accepted
            held = editors[patch.switch]
            for link in (fabric.links[0], fabric.links[4]):
                for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
                    if fabric.switches[s].name == patch.switch and held.enabled[port - 1]:
                        assert port not in held.members[1]
                        raised += 1
    assert raised >= 4
    assert first.drain_seconds > 0, "they are waited for"


def test_where_no_vlan_id_is_free_hosts_are_not_parked_and_the_reason_is_told():
    fabric = replace(make_fabric("mesh", 2, 2), first_vlan=4091)
    old, _, _ = plan(fabric, ROOT / "templates", texts=False)
    new, _, _ = plan(fabric, ROOT / "templates", routing="up-down", previous=old, texts=False)
    with pytest.raises(PlanError, match="no VLAN id of 4091 to 4094 is free for a tree beside both"):
        rollout(fabric, old.state, new.state, strategy="park")
