"""A rollout refuses parts that are down in one fabric alone, and names the command for each."""

from dataclasses import replace

import pytest

from fabrics import ROOT, make_fabric
from tagloom import pipeline
from tagloom.errors import InputError
from tagloom.rollout.changed_states import changed_states

RING = make_fabric("ring", 4, model="powerconnect-5548")
WITHOUT_S2 = RING.with_switches_down([2])


def dead(link):
    links = [replace(each, up=False, dead=True) if i == link else each for i, each in enumerate(RING.links)]
    return replace(RING, links=tuple(links))


CASES = {
    "a switch is down": (
        *(RING, WITHOUT_S2, "switch s2 is up in what runs, and down in the new build"),
        "tagloom apply OLD --without s2",
    ),
    "a switch is back": (
        *(WITHOUT_S2, RING, "switch s2 is down in what runs, and up in the new build"),
        "tagloom apply NEW --readmit s2",
    ),
    "a link is dead": (RING, dead(0), "link s0:gi1/0/2 - s1:gi1/0/1 is dead in the new build alone", "tagloom repair"),
    "a link is mended": (
        *(dead(0), RING, "link s0:gi1/0/2 - s1:gi1/0/1 is dead in what runs, and good in the new build"),
        "tagloom repair",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_changed_state_names_a_command(case):
    old, new, said, command = CASES[case]
    (found,) = changed_states(old, new)
    assert str(found).startswith(said)
    assert command in found.way


def test_equal_fabrics_and_other_parts_have_none():
    assert changed_states(RING, RING) == []
    assert changed_states(RING, make_fabric("ring", 3, model="powerconnect-5548")) == []


@pytest.mark.kernel
def test_a_rollout_to_a_switch_that_is_down_names_a_command():
    old, new = (pipeline.plan(fabric, ROOT / "templates")[0] for fabric in (RING, WITHOUT_S2))
    for before, after, command in ((old, new, "apply OLD --without s2"), (new, old, "apply NEW --readmit s2")):
        with pytest.raises(InputError) as raised:
            pipeline.rollout_between(before, after)
        assert f"tagloom {command}" in str(raised.value)
