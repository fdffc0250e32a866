"""From a plan back to spanning tree: no pair is lost at any line, nothing storms, and what ran before runs again."""

import random
from dataclasses import replace

import pytest

from fabrics import make_fabric
from tagloom import platforms
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.pipeline import plan
from tagloom.pipeline.rollouts import greenfield
from tagloom.platforms.factory import factory_state
from tagloom.platforms.interpreter import Interpreter
from tagloom.records.switch_state import SwitchEditor
from tagloom.render import render_commands
from thinned import few

pytestmark = pytest.mark.kernel

MODEL = "powerconnect-5324"
FABRICS = [
    ("ring", (5,), {}, "fixed"),
    ("mesh", (3, 2), {}, "renamed"),
    ("torus", (3, 2), {"parallel": 2}, "fixed"),
    ("ring", (4,), {"model": "powerconnect-6248"}, "fixed"),
]


def a_build(family, dims, options, assignment, **more):
    fabric = make_fabric(family, *dims, **{"model": MODEL} | options)
    return plan(fabric, None, assignment=assignment, texts=False, **more)[0]


def blocked_words(fabric):
    """List what the rack's own spanning tree blocks from factory default."""
    plane = Dataplane(fabric, {s.name: factory_state(platforms.of(s)) for s in fabric.switches})
    return [
        f"{switch.name}:{platforms.of(switch).port_name(port)}"
        for switch in fabric.switches
        for port in sorted(plane.spanning(switch.name)[1])
    ]


@pytest.mark.parametrize(("family", "dims", "options", "assignment"), few(FABRICS, 0))
def test_frames_arrive_after_any_line_of_the_way_back_in_any_interleaving(family, dims, options, assignment):
    """The rack's spanning tree settles at once; what it takes elsewhere is announced."""
    build = a_build(family, dims, options, assignment)
    fabric, blocked = build.fabric, blocked_words(build.fabric)
    there = greenfield(build, blocked=blocked)
    change = greenfield(build, blocked=blocked, back=True)
    assert (change.before, change.after) == (there.after, there.before)
    assert all(wave.proof.proven for wave in change.waves)
    on = [wave for wave in change.waves if wave.downtime_seconds]
    assert [wave.name for wave in on] == ["spanning tree on"]
    assert change.downtime_seconds == on[0].expected_seconds > on[0].drain_seconds >= 50
    assert (change.to_json()["hitless"], change.to_json()["interrupted_pairs"]) == (False, there.after_proof.pairs)
    chance = random.Random(4)
    editors = {name: SwitchEditor.of(held) for name, held in change.before.items()}
    models = {switch.name: platforms.of(switch) for switch in fabric.switches}
    for wave in change.waves:
        queues = {
            patch.switch: list(render_commands(models[patch.switch], patch.changes, wave.before[patch.switch]))
            for patch in wave.patches
        }
        consoles = {name: Interpreter(models[name], editors[name]) for name in queues}
        while queues:
            switch = chance.choice(sorted(queues))
            for _ in range(chance.randint(1, 9)):
                if queues[switch]:
                    assert consoles[switch].feed(queues[switch].pop(0)).accepted
            if not queues[switch]:
                del queues[switch]
            plane = Dataplane(fabric, {name: editor.freeze() for name, editor in editors.items()})
            found = plane.ping_all()
            assert (found.reached, found.storm) == (found.pairs, ""), wave.name
            assert all(
                plane.broadcast(host.name).delivered_to == {h.name: 1 for h in fabric.hosts if h is not host}
                for host in fabric.hosts
            ), wave.name
        assert {name: editor.freeze() for name, editor in editors.items()} == wave.state
    assert {name: editor.freeze() for name, editor in editors.items()} == there.before


def test_where_the_way_there_pauses_the_hosts_the_way_back_is_refused_with_the_reason():
    paused = replace(make_fabric("ring", 4, model=MODEL), flow_control=True)
    build = plan(paused, None, texts=False)[0]
    with pytest.raises(PlanError, match="without flow control"):
        greenfield(build, allow_drain=True, back=True)
