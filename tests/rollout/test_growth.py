"""Rollouts between fabrics that differ: a host in both is never cut, and keeps VLAN ids and entries."""

import random
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from watched import follow, kept_by, plugged, watch

from fabrics import make_fabric
from tagloom import pipeline, platforms
from tagloom.errors import InputError, PlanError
from tagloom.graph.numbering import owned
from tagloom.operate import prepare, waves
from tagloom.pipeline.proving import proof_services
from tagloom.records.change import Cell, apply_changes
from tagloom.records.fabric import Management
from tagloom.records.fabric_pair import FabricPair, owned_ports, shared_part
from tagloom.records.ownership import overlay
from tagloom.records.switch_state import Membership, SwitchEditor
from tagloom.render import line_changes
from tagloom.rollout import finish
from tagloom.rollout.between_fabrics import refuse_unlike
from tagloom.share import share_directory
from tagloom.verify import verify
from thinned import few

pytestmark = pytest.mark.kernel

TEMPLATES = share_directory() / "templates"
NEW_MAC = "00:11:22:33:44:55"
ANOTHER_MAC = "00:11:22:33:44:66"
HOST = f'hosts: {{x: {{switch: s1, port: g20, mac: "{NEW_MAC}"}}}}\n'
SWITCH = f"""switches: {{n: {{model: powerconnect-5324, at: [2, 0]}}}}
hosts: {{x: {{switch: n, port: g20, mac: "{NEW_MAC}"}}}}
links: [["s1:g15", "n:g1"]]
"""
TWICE = SWITCH.replace("]]", '], ["s3:g15", "n:g2"]]')
LINK = 'links: [["s0:g15", "s3:g15"]]\n'


def fabric(extra=""):
    return make_fabric("mesh", 2, 2, model="powerconnect-5324", extra=extra)


def without(fabric, name):
    return replace(fabric, hosts=tuple(host for host in fabric.hosts if host.name != name), shape=None)


def moved(fabric, name, switch, port):
    hosts = (replace(h, switch=fabric.index[switch], port=port) if h.name == name else h for h in fabric.hosts)
    return replace(fabric, hosts=tuple(hosts))


def renamed(fabric):
    return replace(fabric, hosts=tuple(replace(host, name=f"new-{host.name}") for host in fabric.hosts))


DIFFERENCES = {
    "a host is added": lambda: (fabric(), fabric(HOST)),
    "a host is removed": lambda: (fabric(HOST), fabric()),
    "the only host of a switch is removed": lambda: (fabric(), without(fabric(), "h3")),
    "the only host of a switch is added": lambda: (without(fabric(), "h3"), fabric()),
    "a host moves to another port": lambda: (fabric(), moved(fabric(), "h3", "s3", 20)),
    "a host moves to another switch": lambda: (fabric(), moved(fabric(), "h3", "s0", 20)),
    "a host is replaced by another": lambda: (
        fabric(HOST),
        fabric(HOST.replace("{x:", "{y:").replace(NEW_MAC, ANOTHER_MAC)),
    ),
    "an address changes": lambda: (fabric(), fabric(f'hosts: {{h3: {{mac: "{NEW_MAC}"}}}}\n')),
    "two hosts swap their cards": lambda: (
        fabric(f'hosts: {{h2: {{mac: "{NEW_MAC}"}}, h3: {{mac: "{ANOTHER_MAC}"}}}}\n'),
        fabric(f'hosts: {{h2: {{mac: "{ANOTHER_MAC}"}}, h3: {{mac: "{NEW_MAC}"}}}}\n'),
    ),
    "a link is added": lambda: (fabric(), fabric(LINK)),
    "a link is removed": lambda: (fabric(LINK), fabric()),
    "a link moves to another port": lambda: (fabric(LINK), fabric(LINK.replace("g15", "g16"))),
    "a link moves to another switch": lambda: (fabric(LINK), fabric('links: [["s1:g15", "s2:g15"]]\n')),
    "one end of a link moves": lambda: (fabric(LINK), fabric('links: [["s0:g15", "s3:g16"]]\n')),
    "a host makes room for a link": lambda: (
        fabric(HOST.replace("s1", "s0").replace("g20", "g15")),
        fabric(LINK),
    ),
    "a link makes room for a host": lambda: (
        fabric(LINK),
        fabric(HOST.replace("s1", "s0").replace("g20", "g15")),
    ),
    "a switch is added": lambda: (fabric(), fabric(SWITCH)),
    "a switch is removed": lambda: (fabric(SWITCH), fabric()),
    "a switch with two links is added": lambda: (fabric(), fabric(TWICE)),
    "a switch with two links is removed": lambda: (fabric(TWICE), fabric()),
    "a switch in the middle is removed": lambda: (
        make_fabric("ring", 4, model="powerconnect-5324"),
        less(make_fabric("ring", 4, model="powerconnect-5324"), "s2"),
    ),
}


def less(whole, name):
    """Return a fabric without a switch, its hosts and links."""
    gone = whole.index[name]
    index = {s: i for i, s in enumerate(s for s in range(len(whole.switches)) if s != gone)}
    return replace(
        whole,
        switches=tuple(s for s in whole.switches if s.name != name),
        ports=tuple(p for s, p in enumerate(whole.ports) if s != gone),
        hosts=tuple(replace(h, switch=index[h.switch]) for h in whole.hosts if h.switch != gone),
        links=tuple(replace(x, a=index[x.a], b=index[x.b]) for x in whole.links if gone not in (x.a, x.b)),
        shape=None,
    )


def all_of(fabric, model):
    """Return a fabric with all switches of one model; ports have the same numbers."""
    switches = tuple(replace(switch, model=model) for switch in fabric.switches)
    return replace(fabric, switches=switches, ports=(platforms.load(model).ports,) * len(switches))


def built(fabric, **options):
    return pipeline.plan(fabric, Path(), texts=False, **options)[0]


def grown(name, **options):
    old, new = DIFFERENCES[name]()
    old, new = built(old, **options), built(new, **options)
    return old, new, pipeline.rollout_between(old, new)


MODELS = ["powerconnect-5324", "powerconnect-6248", "linux-bridge"]
CASES = [(name, model, "fixed") for model in MODELS for name in DIFFERENCES]
CASES += [(name, MODELS[0], "renamed") for name in DIFFERENCES]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "model", "assignment"), few(CASES, *range(len(DIFFERENCES)), 46, 47, 60, 63, 79))
def test_whoever_is_in_both_is_reached_after_every_line(name, model, assignment):
    old, new = (all_of(each, model) for each in DIFFERENCES[name]())
    old, new = built(old, assignment=assignment), built(new, assignment=assignment)
    change = pipeline.rollout_between(old, new)
    assert change.waves
    assert watch(change, old.fabric, new.fabric, random.Random(1), every=4)
    end = {switch.name: change.after[switch.name] for switch in new.fabric.switches}
    assert verify(new.fabric, end).proven
    assert change.to_json()["peak_lost_pairs"] == 0


@pytest.mark.parametrize("name", few(list(DIFFERENCES), 0, 3, 10, 14))
def test_where_spanning_tree_stays_on_outside_it_runs_on_no_port_of_the_fabric(name):
    old, new = (built(replace(each, spanning_tree="outside")) for each in DIFFERENCES[name]())
    change = pipeline.rollout_between(old, new)
    assert watch(change, old.fabric, new.fabric, random.Random(1), every=4)
    for s, switch in enumerate(new.fabric.switches):
        held = change.after[switch.name]
        assert held.spanning_tree
        assert np.flatnonzero(~held.port_spanning_tree).tolist() == [p - 1 for p in sorted(new.fabric.used_ports[s])]


def test_another_place_of_spanning_tree_takes_a_rollout_of_its_own():
    old, new = DIFFERENCES["a link is added"]()
    with pytest.raises(InputError, match="spanning_tree: expected off, as before"):
        pipeline.rollout_between(built(old), built(replace(new, spanning_tree="outside")))


def cells(change):
    return [(patch.switch, each) for wave in change.waves for patch in wave.patches for each in patch.changes]


def entries(state, but=()):
    rows = zip(state.entry_vlan.tolist(), state.entry_mac.tolist(), state.entry_port.tolist(), strict=True)
    return {row for row in rows if row[1] not in but}


def test_another_address_touches_the_entries_of_its_host_alone():
    old, new, change = grown("an address changes")
    macs = {old.fabric.hosts[3].mac, new.fabric.hosts[3].mac}
    found = cells(change)
    assert {each.cell for _, each in found} == {Cell.ENTRY}
    assert {each.mac for _, each in found} == macs
    with_one = {name for name, held in old.state.items() if macs & set(held.entry_mac.tolist())}
    assert {switch for switch, _ in found} == with_one
    assert [wave.name for wave in change.waves] == ["prepare", "end"]


def test_other_names_of_hosts_are_nothing_to_do():
    old = fabric()
    assert pipeline.rollout_between(built(old), built(renamed(old))).waves == ()


def test_another_name_of_a_switch_is_nothing_to_do_where_its_address_tells():
    plain = fabric("switches: {s2: {address: 192.0.2.7}}\n")
    for same in ("192.0.2.7", "192.0.2.7:22", "::ffff:192.0.2.7"):
        z = {"name": "z", "address": same}
        new = replace(plain, switches=tuple(replace(s, **z) if s.name == "s2" else s for s in plain.switches))
        assert pipeline.rollout_between(built(plain), built(new)).waves == ()
    nowhere = replace(new, switches=tuple(replace(s, address="") for s in new.switches))
    assert pipeline.rollout_between(built(plain), built(nowhere)).growth.pairs_kept == 6


def test_a_plan_keeps_the_vlan_ids_of_a_switch_that_has_another_name():
    old, new = (
        replace(x, switches=tuple(replace(s, address="192.0.2.7") if s.name == "s0" else s for s in x.switches))
        for x in DIFFERENCES["a switch is added"]()
    )
    new = replace(new, switches=tuple(replace(s, name="z") if s.name == "s0" else s for s in new.switches))
    runs = built(old)
    planned = built(new, keep=runs)
    after = pipeline.rollout_between(runs, planned).after
    assert {name: after[name] for name in planned.state} == planned.state


def called(fabric, **names):
    """Return a fabric whose switches have other names, and whose file says so."""
    switches = tuple(replace(s, name=names.get(s.name, s.name)) for s in fabric.switches)
    return replace(fabric, switches=switches, renamed=tuple(sorted(names.items())))


def test_another_name_of_a_switch_is_nothing_to_do_where_the_fabric_file_says_so():
    old = fabric()
    assert pipeline.rollout_between(built(old), built(called(old, s2="z"))).waves == ()
    swapped = called(old, s0="s1", s1="s0")
    assert pipeline.rollout_between(built(old), built(swapped)).waves == ()
    assert pipeline.rollout_between(built(swapped), built(swapped)).waves == (), "what was said before is done"


def test_a_fabric_grows_while_switches_are_renamed():
    old, new = fabric(), called(fabric(SWITCH), s2="z", s0="s1", s1="s0")
    change = pipeline.rollout_between(built(old), built(new))
    assert (change.growth.pairs_kept, change.growth.pairs_added) == (12, 8)
    assert watch(change, called(old, s2="z", s0="s1", s1="s0"), new, random.Random(1), every=4)


def test_a_renamed_switch_takes_no_name_that_another_had():
    old, new = fabric(), called(less(fabric(), "s3"), s2="s3")
    with pytest.raises(InputError, match=r"renamed\.s2: expected a name that no other switch had, actual s3"):
        pipeline.rollout_between(built(old), built(new))


def test_parts_in_another_order_are_nothing_to_do():
    old = fabric()
    order = [2, 0, 3, 1]
    new = replace(
        old,
        switches=tuple(old.switches[s] for s in order),
        hosts=tuple(replace(host, switch=order.index(host.switch)) for host in reversed(old.hosts)),
        links=tuple(
            replace(x, a=order.index(x.b), a_port=x.b_port, b=order.index(x.a), b_port=x.a_port) for x in old.links
        ),
        shape=None,
    )
    before = built(old)
    after = replace(before, fabric=new, state={switch.name: before.state[switch.name] for switch in new.switches})
    assert pipeline.rollout_between(before, after).waves == ()


@pytest.mark.parametrize("how", ["previous", "keep"])
@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_build_planned_beside_what_runs_is_reached_with_its_own_ids(name, how):
    old, new = DIFFERENCES[name]()
    old = built(old)
    new = built(new, **{how: old})
    change = pipeline.rollout_between(old, new, own_ids=True)
    for switch in new.fabric.live:
        end, ports = change.after[switch.name], owned_ports((new.fabric,), switch.name)
        assert overlay(end, new.state[switch.name], ports) == end


@pytest.mark.parametrize(
    "name", ["a host is added", "a host is removed", "a host moves to another port", "a link is added"]
)
def test_what_both_share_keeps_its_vlans_and_entries(name):
    old, new, change = grown(name)
    differ = {h.mac for h in old.fabric.hosts} ^ {h.mac for h in new.fabric.hosts} or {old.fabric.hosts[3].mac}
    for wave in change.waves:
        assert owned(wave.state) == owned(old.state)
        for switch, held in wave.state.items():
            assert entries(held, differ) == entries(old.state[switch], differ)


def test_hosts_that_come_are_let_in_last_and_hosts_that_go_leave_first():
    _, _, change = grown("a host is replaced by another")
    port = [wave.state["s1"].port(20) for wave in change.waves]
    assert [view.enabled for view in port] == [False] * (len(port) - 1) + [True]
    assert change.waves[0].state["s1"].port(20).untagged == ()
    assert change.before["s1"].port(20).untagged


def test_a_new_switch_is_configured_before_its_links_open():
    _, new, change = grown("a switch with two links is added")
    n = next(i for i, wave in enumerate(change.waves) if wave.state["n"] != wave.before["n"])
    assert not any(change.waves[n].state["n"].port(p).enabled for p in (1, 2, 20))
    assert not change.waves[n].state["n"].spanning_tree
    for wave in change.waves[: n + 1]:
        assert not wave.state["s1"].port(15).enabled
        assert not wave.state["s3"].port(15).enabled
    assert change.after["n"] == new.state["n"] or owned(change.after) != owned(new.state)


def test_a_switch_that_goes_is_sent_nothing():
    _, _, change = grown("a switch is removed")
    assert "n" not in change.after
    assert "n" in change.growth.left


@pytest.mark.parametrize("name", list(DIFFERENCES))
def test_waves_lead_from_the_old_fabric_to_the_new_one(name):
    old, new, change = grown(name)
    pairs = [wave.fabrics for wave in change.waves]
    assert (pairs[0][0], pairs[-1][1]) == (old.fabric, new.fabric)


@pytest.mark.parametrize(
    ("how", "enabled", "vlan"),
    [("isolated", True, Membership.NONE), ("shut", False, Membership.NONE), ("factory", True, Membership.UNTAGGED)],
)
@pytest.mark.parametrize("name", ["a host is removed", "a link is removed", "a link makes room for a host"])
def test_ports_are_given_back_as_the_operator_says(name, how, enabled, vlan):
    old, new = DIFFERENCES[name]()
    change = pipeline.rollout_between(built(old), built(replace(new, returned_ports=how)))
    at = {"a host is removed": ("s1", 20), "a link is removed": ("s0", 15), "a link makes room for a host": ("s3", 15)}
    switch, port = at[name]
    held = change.after[switch]
    assert held.port(port).enabled is enabled
    assert held.member(1, port) is vlan
    assert set(held.port(port).untagged + held.port(port).tagged) <= {1}
    assert watch(change, old, new, random.Random(2), every=8)


def test_a_port_that_is_shut_for_good_is_not_opened_in_between():
    makes_room = fabric(HOST.replace("s1", "s0").replace("g20", "g15"))
    old, new = fabric(HOST + LINK), replace(makes_room, returned_ports="shut")
    change = pipeline.rollout_between(built(old), built(new))
    assert [wave.state["s1"].port(20).enabled for wave in change.waves] == [False] * len(change.waves)
    assert "clear" in {wave.name for wave in change.waves}


def test_a_switch_of_another_model_is_two_rollouts():
    old, new = fabric(), fabric("switches: {s3: {model: powerconnect-5424}}\n")
    with pytest.raises(InputError, match="switch s3: expected a powerconnect-5324, as before"):
        pipeline.rollout_between(built(old), built(new))


def test_a_cable_that_holds_the_fabric_together_cannot_be_moved():
    old = make_fabric("tree", 2, 1, model="powerconnect-5324")
    link = old.links[0]
    free = next(p for p in range(24, 1, -1) if p not in old.used_ports[link.b])
    new = replace(old, links=(replace(link, b_port=free), *old.links[1:]), shape=None)
    with pytest.raises(PlanError, match="must hold together while links are moved"):
        pipeline.rollout_between(built(old), built(new))


@pytest.fixture
def written(tmp_path):
    """Write a rollout that grows, as the command does; return its directory, its fabric, and its first state."""

    def write(name):
        _, new, change = grown(name)
        pipeline.write_rollout(new, change, TEMPLATES, tmp_path / "change")
        return tmp_path / "change", change

    return write


def test_a_switch_that_goes_and_is_sent_lines_is_written_with_its_cables(tmp_path):
    old, less = DIFFERENCES["a switch in the middle is removed"]()
    hosts = (replace(h, mac=h.mac + (1 << 32)) if h.name == less.hosts[-1].name else h for h in less.hosts)
    runs, new = built(old), built(replace(less, hosts=tuple(hosts)))
    change = pipeline.rollout_between(runs, new)
    assert len(change.growth.fabric.switches) == len(old.switches)
    pipeline.write_rollout(new, change, TEMPLATES, tmp_path / "change")
    assert waves.read_sequence(tmp_path / "change").fabric.links == change.growth.fabric.links


@pytest.mark.parametrize("name", ["a switch with two links is added", "a switch in the middle is removed"])
def test_a_rollout_that_was_written_proves_from_what_switches_hold_there_and_back(written, name, tmp_path):
    directory, change = written(name)
    sequence = waves.read_sequence(directory)
    assert [sequence.states[0], *sequence.states[1:]] == [change.before, *(wave.state for wave in change.waves)]
    assert prepare.prepare(directory).proof.proven
    here = waves.SwitchProgress(change.before, dict.fromkeys(change.before, 0), (), (), ())
    assert waves.plan_onward(sequence, here, 1) == [(1, 0, ())]
    done = waves.SwitchProgress(change.after, dict.fromkeys(change.after, sequence.waves), (), (), ())
    back = waves.write_inverse(sequence, done, sequence.waves, tmp_path / "back", TEMPLATES)
    assert back.states[-1] == change.before
    assert waves.read_sequence(tmp_path / "back").states == back.states
    again = waves.read_sequence(tmp_path / "back")
    assert waves.plan_onward(again, here.__class__(change.after, dict.fromkeys(change.after, 0), (), (), ()), 1)


def test_a_wave_that_opens_a_link_to_nowhere_proven_is_refused_from_what_switches_hold(written):
    directory, change = written("a switch is added")
    sequence = waves.read_sequence(directory)
    editor = SwitchEditor.of(change.before["s1"])
    editor.set_member(owned(change.before).pop(), 15, Membership.TAGGED)  # an open port that somebody put into a VLAN
    read = {**change.before, "s1": editor.freeze()}
    there = {**change.waves[0].state, "s1": replace(change.waves[0].state["s1"], enabled=editor.freeze().enabled)}
    with pytest.raises(PlanError, match="wave 2 of 9 is not"):
        waves.check_wave(sequence, read, there, 2, "wave 2 of 9", {})


@pytest.mark.parametrize("name", few(list(DIFFERENCES), 0, 1, 6, 10, 14, 16))
def test_the_others_finish_whatever_line_a_stuck_switch_stands_at(name):
    """Every wave that the others may still take, line by line, with the stuck switch at a line by chance."""
    old, new, change = grown(name)
    before, after = kept_by(old.fabric, new.fabric)
    chance = random.Random(name)
    states = [{**change.growth.left, **each} for each in (change.before, *(wave.state for wave in change.waves))]
    pairs = [wave.fabrics for wave in change.waves]
    parts = [(a if a is b else shared_part(a, b)[0], proof_services(a, b)) for a, b in pairs]
    went_on = 0
    for number, wave in enumerate(change.waves, start=1):
        for patch in wave.patches:
            here, stuck = states[number - 1], patch.switch
            model = platforms.of(change.growth.fabric.switches[change.growth.fabric.index[stuck]])
            stops = [here[stuck]]
            for _, lines in line_changes(model, patch.changes, here[stuck]):
                stops.append(apply_changes(stops[-1], lines))
            at = number
            with suppress(PlanError):
                for end in finish(parts, states, number, [stuck], [each.assumptions for each in change.waves]):
                    kept = before if at == 1 or change.waves[at - 1].name in {"leave", "prepare"} else after
                    one, other = pairs[at - 1]
                    fabric = plugged(one, other, kept)
                    passed = follow(fabric, here, {**end, stuck: here[stuck]}, chance, stuck=(stuck, stops))
                    went_on += passed and at > number
                    here, at = end, at + 1
    waits = len(change.waves) == 1 or name in {"a host moves to another port", "an address changes"}
    assert bool(went_on) != waits


def test_fabrics_of_two_files_are_alike_where_their_words_are():
    """What two files say in the same words is the same, although it is read twice."""
    old = fabric()
    refuse_unlike(FabricPair(old, replace(old, spanning_tree="".join(list(old.spanning_tree)))))
    other = next(each for each in ("off", "outside") if each != old.spanning_tree)
    with pytest.raises(InputError, match=r"spanning_tree: expected .*, as before"):
        refuse_unlike(FabricPair(old, replace(old, spanning_tree=other)))


def test_switches_that_are_managed_over_links_that_come_are_refused_with_what_to_do_instead():
    """A link that comes is shut until the switch behind it is configured, which it would have to be over that link."""
    old, new = (make_fabric("mesh", columns, 2) for columns in (2, 3))
    ways = [(0, 1), (0, 2)], [(0, 1), (0, 3), (1, 2)]  # by the switches at both ends of each link of the tree
    old, new = (
        replace(
            each,
            management=Management(40, 0, 20, tuple(i for i, link in enumerate(each.links) if (link.a, link.b) in tree)),
        )
        for each, tree in zip((old, new), ways, strict=True)
    )
    with pytest.raises(InputError, match=r"management: expected the same .* comes or goes with `state: down`"):
        refuse_unlike(FabricPair(old, new))
    refuse_unlike(FabricPair(*(replace(fabric, management=None) for fabric in (old, new))))


def test_a_wave_in_which_no_port_sends_pause_may_close_a_cycle_with_frames_of_a_switch_that_goes(tmp_path):
    whole = make_fabric("mesh", 4, 2, model="powerconnect-5324")
    runs = replace(whole, links=tuple(x for x in whole.links if {x.a, x.b} != {1, 5}), shape=None)
    old, new = built(runs), built(less(runs, "s3"))
    change = pipeline.rollout_between(old, new)
    assert change.strategy == "pause-off"
    pipeline.write_rollout(new, change, TEMPLATES, tmp_path / "change")
    assert prepare.prepare(tmp_path / "change").proof.proven
