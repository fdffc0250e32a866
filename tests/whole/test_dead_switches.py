"""A switch that is dead is not contacted, the others are led round it, and it is readmitted when it is back."""

import pytest

from tagloom.lab import process
from terminal import Terminal

OTHERS = ["s0", "s2", "s3"]
PLAN = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4]}\n"
SILENT = {"s1": {"refuse_login": True}}
SPEAKS = {"s1": {"refuse_login": False}}


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Start a ring of four that runs a build, and plan one in which s1 is dead."""
    terminal = Terminal(tmp_path_factory.mktemp("dead"))
    (terminal.home / "f.yml").write_text(PLAN)
    (terminal.home / "down.yml").write_text(PLAN + "switches: {s1: {state: down}}\n")
    terminal("plan", "f.yml", "-o", "b")
    terminal("plan", "down.yml", "-o", "d", "--previous", "b")
    with terminal.lab("f.yml", ("apply", "b", "--allow", "interrupt")):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose ring runs build b."""
    return running.fresh()


def commands(terminal):
    return process.status(terminal.rack)["switches"]["s1"]["commands"]


def test_a_switch_that_is_down_is_not_contacted_and_comes_back_into_its_place(terminal):
    process.quirks(terminal.rack, SILENT)
    typed = commands(terminal)
    page = terminal.answer("apply", "d", "--check")
    assert (page["changed"], page["failed"], page["hitless"], page["cut_off_pairs"]) == (OTHERS, [], True, 1)
    page = terminal.answer("apply", "d")
    assert (page["changed"], page["failed"], page["waves_reached"]) == (OTHERS, [], 3)
    assert (page["hitless"], page["cut_off_pairs"], page["restored_pairs"]) == (True, 1, 1)
    assert commands(terminal) == typed

    process.quirks(terminal.rack, SPEAKS)
    terminal("plan", "f.yml", "-o", "again", "--previous", "d")
    shown = " ".join(terminal("apply", "again", "--readmit", "s1", "--check").split())
    assert "6 pairs are cut off now, this brings all back; no other pair is cut at any time" in shown
    page = terminal.answer("apply", "again", "--readmit", "s1")
    assert (page["failed"], page["hitless"], page["restored_pairs"]) == ([], True, 6)
    assert terminal.answer("lab", "ping")["lost"] == 0
    assert terminal.answer("apply", "again")["changed"] == []


def test_where_a_switch_does_not_answer_the_advice_leads_to_the_end(terminal):
    process.quirks(terminal.rack, SILENT)
    page = terminal.answer("apply", "b", expect=3)
    assert (page["failed"], page["next"]) == (["s1"], "tagloom apply b --without s1")
    page = terminal.answer(*page["next"].split()[1:])
    assert (page["changed"], page["failed"], page["hitless"], page["restored_pairs"]) == (OTHERS, [], True, 1)
    assert terminal.answer("apply", "b", "--without", "s9", expect=2)["findings"][0]["where"] == "--without"
