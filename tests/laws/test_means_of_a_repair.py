"""Law: of all that is known beforehand for a failure, what a repair takes leaves the fewest pairs cut off."""

from types import SimpleNamespace

from hypothesis import assume, event, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from sending import delivered
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.lab.dataplane import Dataplane
from tagloom.operate.repair import waves_around
from tagloom.operate.repair_detour import dead_for, detour_for
from tagloom.operate.repair_spare import spare_for
from tagloom.operate.repair_target import target
from tagloom.platforms.port_names import link_ends
from tagloom.records.switch_state import dead_states
from test_every_plan_is_what_frames_do import damaged
from thinned import examples

TEMPLATES = ROOT / "templates"
SHAPES = [
    ("ring", 4, 2),
    ("mesh", 2, 2, 2),
    ("mesh", 2, 3, 1),
    ("mesh", 3, 2, 2),
    ("complete", 4, 2),
    ("torus", 3, 3, 1),
]


@st.composite
def fabrics(draw):
    """Return a small fabric of one model."""
    family, *dims, parallel = draw(st.sampled_from(SHAPES))
    model = draw(st.sampled_from(["powerconnect-5324", "powerconnect-6248", "linux-bridge"]))
    return make_fabric(family, *dims, parallel=parallel, model=model)


def ways_around(build, whole, dead):
    """Return the detour and the spare for a dead part, if there are any, each with what shall run then."""
    home = build.fabric
    if (detour := detour_for(build, dead)) is not None:
        yield detour, target(home, home, home, dead)
    wanted = target(home, home, whole, dead)
    if (spare := spare_for(home, whole, dead.links, wanted)) is not None:
        yield spare, wanted


@examples(6)
@given(fabrics(), st.sampled_from(["fixed", "renamed"]), st.sampled_from(["link", "switch"]), st.data())
def test_no_means_known_beforehand_leaves_fewer_pairs_cut_off_than_the_one_taken(whole, assignment, protect, data):
    less = damaged(data.draw, whole)
    assume(len(less.live) == len(whole.switches))
    try:
        build, _, texts = pipeline.plan(less, TEMPLATES, assignment=assignment, protect=protect)
    except PlanError as error:
        event(f"no plan: {error.rule}")
        return
    runs = SimpleNamespace(home=build, state=build.state, texts=texts)
    home = build.fabric
    mates = {(a.name, b.name) for a in home.hosts for b in home.hosts if a is not b}
    for link in (i for i, each in enumerate(home.links) if each.up):
        dead = dead_for(home, link_ends(home, link))
        left = []
        for way, wanted in ways_around(build, whole, dead):
            waves = waves_around(runs, wanted.fabric, way, TEMPLATES)
            assert waves is not None or not way.pvids, "a plan records no detour that a repair refuses"
            if waves is None:
                continue
            alive = mates & {(a.name, b.name) for a in wanted.fabric.hosts for b in wanted.fabric.hosts}
            works = [
                delivered(wanted.fabric, Dataplane(wanted.fabric, {**state, **dead_states(wanted.fabric)}))[0]
                for state in (build.state, waves.build.state)
            ]
            assert works[0] <= works[1]
            assert not waves.complete or works[1] == alive
            left.append((waves.complete, len(alive - works[1])))
        taken = next((pairs for complete, pairs in left if complete), None)
        event(f"{len(left)} ways, {'one is complete' if taken is not None else 'none is complete'}")
        assert taken is None or taken == min(pairs for _, pairs in left)
