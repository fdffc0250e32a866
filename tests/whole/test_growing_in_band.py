"""Switches managed over the fabric's own links: one more comes as down and is brought over its link, and one goes."""

import pytest

from command_line.terminal import Terminal
from tagloom import pipeline
from tagloom.lab import process
from tagloom.read import read_fabric

pytestmark = pytest.mark.slow

RING = "name: ring\nmodel: powerconnect-5324\nshape: {family: ring, dims: [4], parallel: 1, hosts: 1}\n"
MORE = """switches: {n: {model: powerconnect-5324, at: [4]STATE}}
links: [["s1:g15", "n:g1"], ["s2:g15", "n:g2"]]
hosts:
  x: {switch: n, port: g20, mac: "02:00:00:00:77:01"}
"""
OLD = ["s0", "s1", "s2", "s3"]


def managed(text, *more):
    ways = ", ".join(f'"{end}"' for end in ("s0:g1", "s1:g1", "s2:g1", *more))
    return f'{text}management: {{vlan: 40, controller: "s0:g24", links: [{ways}]}}\n'


@pytest.fixture
def terminal(tmp_path):
    """Return a terminal whose ring runs, with one switch more as from the factory, its cables plugged in."""
    terminal = Terminal(tmp_path)
    texts = {
        "old": managed(RING),
        "beside": managed(RING + MORE.replace("STATE", ", state: down")),
        "new": managed(RING + MORE.replace("STATE", ""), "s1:g15"),
    }
    for name, text in texts.items():
        (terminal.home / f"{name}.yml").write_text(text)
    terminal("plan", "old.yml", "-o", "old")
    terminal("plan", "new.yml", "-o", "at-once", "--keep", "old")
    with terminal.lab("new.yml"):
        terminal("apply", "old", "--allow", "interrupt", "--limit", ",".join(OLD))
        process.fault(terminal.rack, "n", "factory")
        yield terminal


def states(terminal, *names):
    found = pipeline.parse(read_fabric(terminal.home / "new.yml"), process.configurations(terminal.rack))[0]
    return {name: found[name] for name in names}


def unreached(terminal):
    return process.traffic(terminal.rack, "report")["unreached"]["frames"]


@pytest.mark.daily
def test_a_switch_comes_over_its_one_link_of_the_management_vlan_and_goes_again_under_traffic(terminal):
    (finding,) = terminal.answer("apply", "at-once", expect=2)["findings"]
    assert (finding["where"], "state: down" in finding["expected"]) == ("management", True)

    terminal("plan", "beside.yml", "-o", "beside", "--keep", "old")
    page = terminal.answer("apply", "beside")
    assert (page["failed"], page["hitless"], "n" in page["changed"]) == ([], True, False)
    terminal("plan", "new.yml", "-o", "new", "--previous", "beside")
    process.traffic(terminal.rack, "start")
    cut = unreached(terminal)
    assert len(cut) == 8, "those of the host that comes"
    words = ["--telnet", process.console(terminal.rack, "n")["telnet"], "--network", "127.0.0.0/8", "--new-key"]
    page = terminal.answer("replace", "n", *words, "--build", "new", "--check")
    assert (page["isolated"], page["opened"]) == ({}, {"s1": ["g15"]})
    assert not states(terminal, "s1")["s1"].port(15).enabled
    page = terminal.answer("replace", "n", *words, "--build", "new")
    seen = process.traffic(terminal.rack, "report")
    process.traffic(terminal.rack, "stop")
    assert (seen["unreached"]["frames"], seen["duplicated"], seen["storms"]) == (cut, 0, 0)
    assert (page["failed"], page["hitless"], page["restored_pairs"]) == ([], True, 8)
    assert terminal.answer("lab", "ping")["lost"] == 0
    assert terminal.answer("apply", "new")["changed"] == []

    terminal("plan", "beside.yml", "-o", "without", "--previous", "new")
    page = terminal.answer("apply", "without")
    assert (page["failed"], page["hitless"], "n" in page["changed"]) == ([], True, False)
    terminal("plan", "old.yml", "-o", "again", "--keep", "without")
    page = terminal.answer("apply", "again")
    assert (page["failed"], page["hitless"], "n" in page["changed"]) == ([], True, False)
    assert terminal.answer("lab", "ping", expect=1)["reached"] == 12
    held = states(terminal, "s1", "s2")
    assert all(state.port(15).tagged == state.port(15).untagged == () for state in held.values())
