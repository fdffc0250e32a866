"""Growth under pinned at a tree of Arista switches, whose ports are untagged in one VLAN: the tree stays."""

import random
from dataclasses import replace

import pytest
from test_growth import DIFFERENCES, TEMPLATES, all_of, built
from watched import watch

from tagloom import pipeline
from tagloom.errors import AT_ONCE, PlanError
from tagloom.operate import waves

pytestmark = pytest.mark.kernel

MODEL = "arista-7010t-48"
TREE = {"assignment": "pinned", "routing": "tree"}
MOVES_THE_TREE = [
    "a link is removed", "a link moves to another port", "a link moves to another switch", "one end of a link moves",
    "a link makes room for a host",
]  # fmt: skip


def fabrics(name):
    return [all_of(each, MODEL) for each in DIFFERENCES[name]()]


def without_link_15(fabric):
    """Return a fabric whose link at port 15 of s0 is off, and so not of the tree."""
    links = (replace(x, up=False) if (x.a, x.a_port) == (0, 15) else x for x in fabric.links)
    return replace(fabric, links=tuple(links))


def led_there_and_back(old, new, directory):
    """Plan with --keep; follow frames line by line to the new fabric, and prove the way back."""
    old = built(old, **TREE)
    new = built(new, keep=old, **TREE)
    change = pipeline.rollout_between(old, new)
    assert watch(change, old.fabric, new.fabric, random.Random(1))
    assert change.to_json()["peak_lost_pairs"] == 0
    pipeline.write_rollout(new, change, TEMPLATES, directory / "change")
    sequence = waves.read_sequence(directory / "change")
    there = waves.SwitchProgress(change.after, dict.fromkeys(change.after, sequence.waves), (), (), ())
    back = waves.write_inverse(sequence, there, sequence.waves, directory / "back", TEMPLATES)
    assert back.states[-1] == change.before


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in DIFFERENCES if name not in MOVES_THE_TREE])
def test_whoever_is_in_both_is_reached_after_every_line_there_and_the_way_back_proves(name, tmp_path):
    old, new = fabrics(name)
    led_there_and_back(old, new, tmp_path)


@pytest.mark.parametrize("name", MOVES_THE_TREE)
def test_a_link_of_the_tree_that_goes_is_refused_until_the_tree_is_off_it(name, tmp_path):
    old, new = fabrics(name)
    runs = built(old, **TREE)
    with pytest.raises(PlanError, match="untagged in one VLAN") as refused:
        pipeline.rollout_between(runs, built(new, keep=runs, **TREE))
    assert "tagloom plan OLD.yml --off s0:Et15 -o OFF" in refused.value.next_step
    assert refused.value.advice == ("plan --off LINK",)
    led_there_and_back(without_link_15(old), new, tmp_path)


def test_a_switch_in_the_middle_of_the_tree_goes_once_the_tree_is_off_all_its_links_but_one(tmp_path):
    old, new = fabrics("a switch in the middle is removed")
    middle = old.index["s2"]
    first, other = (i for i, link in enumerate(old.links) if middle in (link.a, link.b))
    spare = next(i for i in range(len(old.links)) if i not in (first, other))

    def off(which):
        return replace(old, links=tuple(replace(x, up=i != which) for i, x in enumerate(old.links)))

    runs = built(off(spare), **TREE)
    with pytest.raises(PlanError) as refused:
        pipeline.rollout_between(runs, built(new, keep=runs, **TREE))
    end = old.links[other]
    assert f"--off {old.switches[end.a].name}:Et{end.a_port} -o OFF" in refused.value.next_step
    led_there_and_back(off(other), new, tmp_path)


def test_a_plan_that_moves_the_tree_is_refused_and_keep_is_named():
    old, new = (without_link_15(each) for each in fabrics("a link is removed"))
    runs = built(old, **TREE)
    moved = replace(new, links=tuple(replace(x, up=i != 1) for i, x in enumerate(new.links)))
    with pytest.raises(PlanError, match="untagged in one VLAN") as refused:
        pipeline.rollout_between(runs, built(moved, **TREE))
    assert "tagloom plan --keep OLD" in refused.value.next_step
    assert refused.value.advice == ("plan --keep BUILD", AT_ONCE)
