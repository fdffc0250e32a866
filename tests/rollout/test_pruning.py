"""Foreign VLANs that would loop are pruned to trees first: none of their frames is lost or loops at any line."""

import json
import operator
import random
from dataclasses import replace
from functools import partial

import pytest
from test_greenfield import MODEL, a_fabric, blocked_words, build_of

from fabrics import ROOT, make_fabric
from sending import line_by_line
from tagloom import pipeline, platforms
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.operate import waves
from tagloom.operate.waves import SwitchProgress, read_sequence
from tagloom.pipeline.proving import proof_services
from tagloom.pipeline.rollouts import greenfield
from tagloom.platforms.factory import factory_state
from tagloom.records.fabric import Host
from tagloom.records.forms import ProofAssumptionsForm
from tagloom.records.switch_state import Membership, PortMode, SwitchEditor
from tagloom.records.wave_proof import ProofAssumptions
from tagloom.rollout.foreign import without_members
from tagloom.rollout.pruning import laid_over, pruned_first
from tagloom.verify import prove_foreign
from tagloom.verify.foreign_reach import cut_vlans

pytestmark = pytest.mark.kernel

PORTS = {10: 20, 30: 21}  # the VLANs of others, and the port outside the fabric that is in each


def shared(fabric, state, links):
    """Return states with foreign VLANs: an untagged port of each at every switch, tagged on `links` of each."""
    found = {}
    for s, switch in enumerate(fabric.switches):
        editor = SwitchEditor.of(state[switch.name])
        for vlan, port in PORTS.items():
            editor.create_vlan(vlan)
            editor.name_vlan(vlan, "theirs")
            editor.set_member(1, port, Membership.NONE)
            editor.set_member(vlan, port, Membership.UNTAGGED)
            editor.set_pvid(port, vlan)
            for i in links[vlan]:
                link = fabric.links[i]
                for end, at in ((link.a, link.a_port), (link.b, link.b_port)):
                    if end == s:
                        editor.set_member(vlan, at, Membership.TAGGED)
                        editor.mode[at - 1] = PortMode.GENERAL
        found[switch.name] = editor.freeze()
    return found


def heard(fabric, state):
    """Send a broadcast from each foreign port, and a frame between hosts; return who hears whom of the former."""
    ends = [
        Host(f"x{s}-{port}", s, port, (0x02AA << 32) + 100 * s + port)
        for s in range(len(fabric.switches))
        for port in PORTS.values()
    ]
    up = fabric.with_links_up()
    plane = Dataplane(replace(up, hosts=(*up.hosts, *ends), shape=None), state)
    found = set()
    for end in ends:
        sent = plane.broadcast(end.name)
        assert not sent.storm, end.name
        found |= {(end.name, to) for to in sent.delivered_to}
    return found


def walk(fabric, change, chance, every=12):
    """Send every line of every wave in random order; yield the state after each few of them."""
    for wave in change.waves:
        here = dict(wave.before)
        for _ in line_by_line(fabric, wave, here, chance, every):
            yield here
        assert here == wave.state


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_from_factory_no_vlan_of_others_loses_a_frame_or_goes_round_at_any_line(seed):
    chance = random.Random(seed)
    fabric = a_fabric(chance)
    build = build_of(fabric)
    factory = {s.name: factory_state(platforms.of(s)) for s in fabric.switches}
    links = {vlan: [i for i in range(len(fabric.links)) if chance.random() < 0.8] for vlan in PORTS}
    running = shared(fabric, factory, links)
    wish = {"before": running, "blocked": blocked_words(fabric)}
    change = greenfield(build, **wish, foreign="prune")
    assert all(wave.proof.proven for wave in change.waves)
    assert (change.waves[0].name == "prune") == bool(change.pruned)
    first = heard(fabric, running)
    for state in walk(fabric, change, chance):
        assert first <= heard(fabric, state)
    assert not cut_vlans(fabric, running, change.after)
    assert not cut_vlans(fabric, change.after, running)
    shared_cells = {(name, vlan) for name, cells in change.pruned.items() for vlan, _ in cells}
    assert shared_cells <= {(switch.name, vlan) for switch in fabric.switches for vlan in PORTS}
    if not change.pruned:
        assert greenfield(build, **wish).waves == change.waves
        return
    with pytest.raises(PlanError, match="copies go round") as refused:
        greenfield(build, **wish)
    assert "--foreign prune" in str(refused.value)
    back = prove_foreign(fabric, change.waves[0].state, change.before)
    assert back.proven, "a rollback puts the memberships back where spanning tree runs again"


@pytest.fixture(scope="module")
def ring():
    """Return a planned ring of four with a link off and on, and foreign VLANs on all of its links."""
    fabric = make_fabric("ring", 4, model=MODEL)
    off, _, _ = pipeline.plan(fabric.with_links_down({1}), ROOT / "templates")
    on, _, _ = pipeline.plan(fabric, ROOT / "templates", previous=off)
    before = shared(fabric, off.state, dict.fromkeys(PORTS, range(4)))
    return fabric, before, laid_over(fabric, before, on.state)


def test_a_link_that_comes_on_under_a_vlan_of_others_gets_it_taken_off_first(ring):
    fabric, before, after = ring
    order = partial(pipeline.rollout, fabric)
    with pytest.raises(PlanError, match="copies go round"):
        pruned_first(fabric, proof_services(fabric), before, after, order)
    change = pruned_first(fabric, proof_services(fabric), before, after, order, foreign="prune")
    link = fabric.links[1]
    ends = {(fabric.switches[link.a].name, link.a_port), (fabric.switches[link.b].name, link.b_port)}
    assert {(name, port) for name, cells in change.pruned.items() for _, port in cells} == ends, (
        "it carries nothing yet"
    )
    assert change.waves[0].name == "prune"
    first = heard(fabric, before)
    for state in walk(fabric, change, random.Random(1)):
        assert heard(fabric, state) == first
        plane = Dataplane(fabric, state)
        assert plane.ping_all().lost == ()


def changed(state, name, change):
    editor = SwitchEditor.of(state[name])
    change(editor)
    return {**state, name: editor.freeze()}


def test_a_wave_on_vlans_of_others_changes_nothing_else_cuts_nothing_and_closes_no_ring(ring):
    fabric, before, after = ring
    kept = pruned_first(
        fabric, proof_services(fabric), before, after, partial(pipeline.rollout, fabric), foreign="prune"
    ).after
    s0 = fabric.links[0]
    ours = before["s0"].owned_vlans[0]
    cases = {
        "its pvid": (before, lambda e: e.set_pvid(20, 30)),
        "its member": (before, lambda e: e.set_member(ours, s0.a_port, Membership.NONE)),
        "no link between them carries it": (before, lambda e: e.set_member(10, s0.a_port, Membership.NONE)),
    }
    for said, (state, change) in cases.items():
        proof = prove_foreign(fabric, state, changed(state, "s0", change))
        assert not proof.proven
        assert said in str(proof.findings[0]), said
    link = fabric.links[1]
    closed = kept
    for s, port in ((link.a, link.a_port), (link.b, link.b_port)):
        closed = changed(
            closed, fabric.switches[s].name, lambda e, port=port: e.set_member(10, port, Membership.TAGGED)
        )
    assert "copies go round" in str(prove_foreign(fabric, kept, closed).findings[0])
    assert prove_foreign(fabric, closed, kept).proven, "to take away what loops already is no harm"


@pytest.mark.parametrize("links", [(), range(3)], ids=["alone", "shared"])
def test_the_way_from_factory_is_proven_again_from_its_texts_there_and_back(links, tmp_path):
    fabric = make_fabric("ring", 3, model=MODEL)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates")
    factory = {s.name: factory_state(platforms.of(s)) for s in fabric.switches}
    before = shared(fabric, factory, dict.fromkeys(PORTS, links)) if links else factory
    change = greenfield(build, before=before, foreign="prune")
    pipeline.write_rollout(build, change, ROOT / "templates", tmp_path / "r")
    sequence = read_sequence(tmp_path / "r")
    assert sequence.pruned == change.pruned
    waves.plan_onward(sequence, SwitchProgress(before, dict.fromkeys(before, 0), (), (), ()), 1)
    end = SwitchProgress(change.after, dict.fromkeys(before, sequence.waves), (), (), ())
    (tmp_path / "back").mkdir()
    back = waves.write_inverse(sequence, end, sequence.waves, tmp_path / "back", ROOT / "templates")
    assert back.states[-1] == before
    assert read_sequence(tmp_path / "back").pruned == change.pruned


@pytest.mark.parametrize(
    "said", [{"foreign": True}, {"spanning": True, "blocked": frozenset({(1, 2)})}, {"lossy": True}]
)
def test_a_wave_s_assumptions_are_read_back_as_they_were_written(said):
    whole = ProofAssumptions(**said)
    page = ProofAssumptionsForm.model_validate_json(json.dumps(whole.to_json()))
    assert ProofAssumptions.from_json(page.model_dump()) == whole


@pytest.mark.parametrize("pausing", [False, True])
def test_a_ring_that_is_only_closed_between_two_plans_is_named_as_a_ring_and_pruned(pausing):
    """Where ports send PAUSE, what goes round waits for itself as well: the way out is that of a ring."""
    fabric = replace(make_fabric("ring", 4, model=MODEL), flow_control=pausing)
    one, _, _ = pipeline.plan(fabric.with_links_down({1}), ROOT / "templates")
    other, _, _ = pipeline.plan(fabric.with_links_down({2}), ROOT / "templates", previous=one)
    before = shared(fabric, one.state, dict.fromkeys(PORTS, range(4)))
    after = laid_over(fabric, before, other.state)
    services, order = proof_services(fabric), partial(pipeline.rollout, fabric)
    assert not services.foreign_harm(before)
    assert not services.foreign_harm(after)
    with pytest.raises(PlanError, match="copies go round") as refused:
        pruned_first(fabric, services, before, after, order)
    assert "--foreign prune" in str(refused.value)
    change = pruned_first(fabric, services, before, after, order, foreign="prune")
    assert change.waves[0].name == "prune"
    assert all(wave.proof.proven for wave in change.waves)


def opened(state, on):
    """Open or shut the ports outside."""
    for name in state:
        for port in PORTS.values():
            state = changed(state, name, lambda editor, port=port: operator.setitem(editor.enabled, port - 1, on))
    return state


@pytest.mark.parametrize("spans", [False, True])
def test_a_ring_that_no_port_leads_into_is_pruned_too_where_that_is_asked_for(spans):
    """Where a switch goes, ports that led to it are outside, and may lead into a ring that harmed nobody before."""
    fabric = make_fabric("ring", 4, model=MODEL)
    build, _, _ = pipeline.plan(fabric, ROOT / "templates")
    before = shared(fabric, build.state, dict.fromkeys(PORTS, range(3 if spans else 4)))
    before = opened(before, on=False)
    services, order = proof_services(fabric), partial(pipeline.rollout, fabric)
    assert not services.foreign_harm(before)
    assert pruned_first(fabric, services, before, before, order).waves == ()
    change = pruned_first(fabric, services, before, before, order, foreign="prune")
    assert [wave.name for wave in change.waves] == ([] if spans else ["prune"])
    taken = {name: {vlan for vlan, _ in cells} for name, cells in change.pruned.items()}
    assert len(taken) == (0 if spans else 2)
    assert all(vlans == set(PORTS) for vlans in taken.values())
    before = opened(before, on=True)
    assert bool(services.foreign_harm(before)) != spans
    assert not services.foreign_harm(without_members(before, change.pruned))
