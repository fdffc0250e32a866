"""Law: the verifier's findings on frames that hosts tag themselves agree with what such frames do, one by one."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, SMALL_FABRICS, make_fabric
from tagloom import pipeline, platforms
from tagloom.errors import PlanError
from tagloom.graph.cycles import find_cycle
from tagloom.lab.dataplane import Dataplane
from tagloom.platforms import load
from tagloom.read import read_fabric
from tagloom.records.switch_state import Frames, SwitchEditor
from tagloom.route import route
from tagloom.verify import broadcasts_once, verify
from tagloom.weave import weave
from thinned import examples

MODELS = ["linux-bridge", "powerconnect-5324", "powerconnect-6224", "mikrotik-crs326-24g-2s", "hpe-5130-24g-4sfp"]
MODELS += ["huawei-s5731-s24t4x", "arista-7010t-48"]
NOBODY = 0x33_33_00_00_00_01  # a group address that no entry names


def woven(draw, fabric):
    platform = load(fabric.switches[0].model)
    assignment = platform.assignments[0] or draw(st.sampled_from(["fixed", "renamed", "pinned"]))
    method = draw(st.sampled_from(["auto", "up-down", "tree"]))
    if assignment == "pinned" and not platform.floods_by_port:
        method = "tree"  # these flood by every port
    routes = route(fabric, method, assignment)
    tags = draw(st.booleans())
    return weave(fabric, routes, assignment, broadcasts_once=partial(broadcasts_once, fabric), hosts_tag=tags).state


def edited(draw, fabric, state):
    """Change what some ports of hosts take, as a slip of the hand would."""
    state = dict(state)
    for host in draw(st.lists(st.sampled_from(fabric.hosts), max_size=3)):
        name = fabric.switches[host.switch].name
        editor = SwitchEditor.of(state[name])
        editor.frames[host.port - 1] = draw(st.sampled_from(list(Frames)))
        editor.ingress_filter[host.port - 1] = draw(st.booleans())
        state[name] = editor.freeze()
    return state


def sent_by_hosts(fabric, state, tags_at=None):
    """Send from every host, untagged or with each tag of `tags_at` by switch, until something storms.

    Return the waits of all frames, as (channel held, channel wanted), whether one storms, and the ports they entered
    by.
    """
    plane, waits, entered = Dataplane(fabric, state), set(), set()
    for host in fabric.hosts:
        for tag in tags_at[host.switch] if tags_at else [0]:
            sent = [plane.broadcast(host.name, tag, NOBODY)]
            if sent[0].storm:
                return waits, True, entered
            sent += [plane.broadcast(host.name, tag), plane.unicast(host.name, fabric.hosts[-1].name, tag)]
            for hop in [hop for each in sent for hop in each.path]:
                s = fabric.index[hop.switch]
                out, back = (int(fabric.port_channel[s, port]) for port in (hop.out_port, hop.in_port))
                if back < 0:
                    entered.add((host.switch, host.port))
                elif out >= 0:
                    waits.add((back ^ 1, out))  # it came in over the other direction of that link
    return waits, False, entered


def around(fabric, waits):
    return find_cycle(len(fabric.tail), *np.array(sorted(waits), np.int64).reshape(-1, 2).T)


@examples(40)
@given(st.data())
def test_the_verdict_on_frames_that_hosts_tag_is_what_they_do(data):
    family, dims, options = data.draw(st.sampled_from(SMALL_FABRICS))
    fabric = make_fabric(family, *dims, **options, model=data.draw(st.sampled_from(MODELS)))
    state = edited(data.draw, fabric, woven(data.draw, fabric))
    proof = verify(fabric, state)
    vlans = {s: state[switch.name].vlans.tolist() for s, switch in enumerate(fabric.switches)}
    plain = sent_by_hosts(fabric, state)[0]
    waits, storm, entered = sent_by_hosts(fabric, state, vlans)
    assert proof.tagged_frames_ports >= len(entered)
    cycle = around(fabric, plain | waits)
    safe = not storm and not cycle
    if not proof.tagged_frames_ports:
        assert not waits
        assert proof.tagged_frames_safe
    elif all(held.flooding.all() for held in state.values()):
        assert proof.tagged_frames_safe == safe, (storm, cycle, proof.tagged_frames_cycle)
    else:  # frames in a VLAN other than that of the port are taken to leave by all its members
        assert safe or not proof.tagged_frames_safe


@pytest.mark.parametrize("model", platforms.models())
def test_ports_of_hosts_take_untagged_frames_only_wherever_the_family_can(model):
    if not load(model).grammar:
        pytest.skip("tagloom has no command lines for this model")
    fabric, only = make_fabric("ring", 4, model=model), load(model).assignments[0]
    tree = bool(only) and not load(model).floods_by_port
    way = {"assignment": only or "fixed", "routing": "tree" if tree else "auto"}
    build, proof, texts = pipeline.plan(fabric, ROOT / "templates", **way)
    assert proof.proven
    held = {int(build.state[fabric.switches[h.switch].name].frames[h.port - 1]) for h in fabric.hosts}
    can = load(model).refuses_tagged
    assert held == {int(Frames.UNTAGGED_ONLY if can else Frames.ALL)}
    assert proof.tagged_frames_ports == (0 if can else 4)
    assert proof.tagged_frames_safe == (can or tree)  # the trees of a ring close a cycle together, and one does not
    words = ("acceptable-frame-type untagged-only", "frame-types=admit-only-untagged-and-priority-tagged")
    assert any(each in texts["s0"] for each in words) == can


def test_the_families_of_the_53xx_the_55xx_the_ciscos_and_the_mikrotiks_can_refuse_them_and_no_other():
    can = {model for model in platforms.models() if load(model).refuses_tagged}
    ciscos = {model for model in platforms.models() if model.startswith(("cisco-", "mikrotik-"))}
    assert can == {f"powerconnect-{n}" for n in (5324, 5424, 5448, 5524, 5548)} | ciscos


def test_learning_is_refused_where_its_frames_close_a_cycle_and_planned_where_they_do_not(templates):
    quiet = read_fabric(ROOT / "tests" / "data" / "cases" / "tri.yml")
    fabric = replace(quiet, flow_control=True)
    with pytest.raises(PlanError, match=r"must close no dependency cycle.*--routing tree") as caught:
        pipeline.plan(fabric, templates, learning=True)
    assert str(caught.value).count(" -> ") >= 2
    without_pause = pipeline.plan(quiet, templates, learning=True)[1]
    assert without_pause.proven  # a full buffer drops frames, and nothing waits
    assert not without_pause.tagged_frames_safe
    build, proof, texts = pipeline.plan(fabric, templates, routing="tree", learning=True)
    assert proof.proven
    assert proof.tagged_frames_safe
    assert proof.tagged_frames_ports == 4
    assert not any("untagged-only" in text for text in texts.values())
    vlans = {s: state.owned_vlans for s, state in enumerate(build.state.values())}
    waits, storm, entered = sent_by_hosts(fabric, build.state, vlans)
    assert not storm
    assert len(entered) == 4
    assert not around(fabric, waits)
