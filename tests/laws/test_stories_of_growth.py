"""Law: however a small fabric grows or shrinks, hosts in both are reached after every line, and the end is proven."""

import random
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import networkx as nx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric, random_step, switch_comes
from tagloom import pipeline
from tagloom.errors import PlanError
from tagloom.verify import verify
from thinned import examples

sys.path.insert(0, str(ROOT / "tests" / "rollout"))
from watched import watch

MODEL = "powerconnect-5324"
STARTS = [("ring", (4,)), ("mesh", (2, 2)), ("mesh", (3, 2)), ("complete", (4,)), ("tree", (2, 1))]


@st.composite
def stories(draw):
    """Draw a fabric and what it becomes: both hold together, and have hosts."""
    family, dims = draw(st.sampled_from(STARTS))
    old = replace(make_fabric(family, *dims, model=MODEL), shape=None)
    new = old
    chance = draw(st.randoms(use_true_random=False))
    for _ in range(draw(st.integers(1, 3))):
        new, _ = random_step(new, chance)
    return old, new


@st.composite
def stories_beside_dead_switches(draw):
    """Draw a fabric with a switch that is dead, or one that comes or goes dead, and what the rest becomes."""
    family, dims = draw(st.sampled_from(STARTS))
    old = replace(make_fabric(family, *dims, model=MODEL), shape=None)
    chance = draw(st.randoms(use_true_random=False))
    how = draw(st.sampled_from(["stays", "comes", "goes"]))
    more = switch_comes(old, chance)
    dead = len(old.switches)
    new = more if how == "comes" else old
    if how == "stays":
        dead = chance.randrange(len(old.switches))
    elif how == "goes":
        new, old = old, more
    name = (new if how == "comes" else old).switches[dead].name
    for _ in range(draw(st.integers(0, 2))):
        new, _ = random_step(new, chance)
    down = [each.with_switches_down({each.index[name]} if name in each.index else set()) for each in (old, new)]
    assume(all(holds_together(each) for each in down))
    return *down, name


def holds_together(fabric):
    """Return whether the switches that live are joined, and there are two hosts at them."""
    graph = nx.Graph()
    graph.add_nodes_from(s for s, switch in enumerate(fabric.switches) if switch.up)
    graph.add_edges_from((x.a, x.b) for x in fabric.links if fabric.switches[x.a].up and fabric.switches[x.b].up)
    return nx.is_connected(graph) and sum(fabric.switches[host.switch].up for host in fabric.hosts) > 1


def told(old, new, seed, *, keep):
    a = pipeline.plan(old, Path(), texts=False)[0]
    b = pipeline.plan(new, Path(), texts=False, keep=a if keep else None)[0]
    change = None
    with suppress(PlanError):  # none was found, and none is sent: how often is for the long run to say
        change = pipeline.rollout_between(a, b)
    if change is None or change.growth is None:
        return None
    watch(change, old, new, random.Random(seed), every=12)
    end = {switch.name: change.after[switch.name] for switch in new.switches}
    assert verify(new, end).proven
    return change


@examples(100)
@given(stories(), st.integers(0, 1000), st.booleans())
def test_whoever_is_in_both_is_reached_after_every_line_of_any_story(story, seed, keep):
    told(*story, seed, keep=keep)


@examples(60)
@given(stories_beside_dead_switches(), st.integers(0, 1000), st.booleans())
def test_a_fabric_grows_and_shrinks_beside_dead_switches_which_are_sent_nothing(story, seed, keep):
    *story, name = story
    change = told(*story, seed, keep=keep)
    if change is not None:
        assert not any(patch.switch == name for wave in change.waves for patch in wave.patches)


@pytest.mark.long
@examples(2_000)
@given(stories(), st.integers(0, 1000), st.booleans())
def test_whoever_is_in_both_is_reached_after_every_line_of_many_stories(story, seed, keep):
    told(*story, seed, keep=keep)
