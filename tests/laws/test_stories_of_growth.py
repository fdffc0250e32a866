"""Law: however a small fabric grows or shrinks, hosts in both are reached after every line, and the end is proven."""

import random
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fabrics import ROOT, make_fabric
from steps_of_growth import step
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
        new, _ = step(new, chance)
    return old, new


def told(old, new, seed, *, keep):
    a = pipeline.plan(old, Path(), texts=False)[0]
    b = pipeline.plan(new, Path(), texts=False, keep=a if keep else None)[0]
    change = None
    with suppress(PlanError):  # none was found, and none is sent: how often is for the long run to say
        change = pipeline.rollout_between(a, b)
    if change is None or change.growth is None:
        return
    watch(change, old, new, random.Random(seed), every=12)
    end = {switch.name: change.after[switch.name] for switch in new.switches}
    assert verify(new, end).proven


@examples(100)
@given(stories(), st.integers(0, 1000), st.booleans())
def test_whoever_is_in_both_is_reached_after_every_line_of_any_story(story, seed, keep):
    told(*story, seed, keep=keep)


@pytest.mark.long
@examples(2_000)
@given(stories(), st.integers(0, 1000), st.booleans())
def test_whoever_is_in_both_is_reached_after_every_line_of_many_stories(story, seed, keep):
    told(*story, seed, keep=keep)
