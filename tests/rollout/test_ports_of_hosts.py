"""Rollouts between builds whose host ports accept all frames, as older ones did, and builds that reject tagged ones."""

from dataclasses import replace
from functools import partial

import pytest

from fabrics import make_fabric
from tagloom.errors import PlanError
from tagloom.pipeline import rollout
from tagloom.records.switch_state import Frames
from tagloom.route import route
from tagloom.verify import broadcasts_once, verify
from tagloom.weave import weave

pytestmark = pytest.mark.kernel

FABRIC = make_fabric("mesh", 3, 2, model="powerconnect-5324")


def planned(method, assignment, *, older):
    routes = route(FABRIC, method, assignment)
    once = partial(broadcasts_once, FABRIC)
    return weave(FABRIC, routes, assignment, broadcasts_once=once, hosts_tag=older).state


def taken(state):
    return {int(state[FABRIC.switches[h.switch].name].frames[h.port - 1]) for h in FABRIC.hosts}


def waves(before, after):
    """Order a change; return the names of its waves, or "none" if no safe order is found."""
    try:
        return [wave.name for wave in rollout(FABRIC, before, after).waves]
    except PlanError:
        return "none"


@pytest.mark.parametrize("older_first", [True, False])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("dor", "fixed"), ("up-down", "fixed")),
        (("dor", "fixed"), ("dor", "renamed")),
        (("up-down", "renamed"), ("dor", "fixed")),
        (("dor", "renamed"), ("tree", "renamed")),
    ],
)
def test_the_line_costs_no_wave_and_no_pair(old, new, older_first):
    before, after = planned(*old, older=older_first), planned(*new, older=not older_first)
    change = rollout(FABRIC, before, after)
    assert change.downtime_seconds == 0
    assert all(wave.proof.proven for wave in change.waves)
    assert taken(change.after) == {int(Frames.UNTAGGED_ONLY if older_first else Frames.ALL)}
    assert [wave.name for wave in change.waves] == waves(planned(*old, older=False), planned(*new, older=False))


@pytest.mark.parametrize("older_first", [True, False])
def test_a_build_that_differs_in_nothing_else_changes_by_one_wave_of_that_line(older_first):
    before = planned("dor", "fixed", older=older_first)
    after = planned("dor", "fixed", older=not older_first)
    change = rollout(FABRIC, before, after)
    assert change.after == after
    assert len(change.waves) == 1
    cells = [cell for wave in change.waves for patch in wave.patches for cell in patch.changes]
    assert {cell.cell.value for cell in cells} == {"frames"}
    assert len(cells) == len(FABRIC.hosts)
    assert verify(FABRIC, after).tagged_frames_safe == older_first


@pytest.mark.parametrize("cell", ["speed_mbps", "negotiation", "flow_control"])
@pytest.mark.parametrize("method", ["dor", "up-down"])
def test_a_port_of_a_host_is_not_retrained_while_it_is_in_use(method, cell):
    before, end = (planned(each, "fixed", older=False) for each in ("dor", method))
    host = FABRIC.hosts[2]
    held = end[FABRIC.switches[host.switch].name]
    column = getattr(held, cell).copy()
    column[host.port - 1] = not column[host.port - 1]
    after = {**end, FABRIC.switches[host.switch].name: replace(held, **{cell: column})}
    with pytest.raises(PlanError) as caught:
        rollout(FABRIC, before, after)
    assert caught.value.witness == f"the port of {host.name} is retrained, which cuts it off"
    change = rollout(FABRIC, before, after, allow_drain=True)
    assert (change.strategy, change.downtime_seconds > 0) == ("drain", True)
