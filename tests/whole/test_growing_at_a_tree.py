"""A tree of Arista switches grows and shrinks under one VLAN, line by line, while hosts send."""

import shlex

import pytest

from command_line.terminal import Terminal, without_waits
from tagloom.lab import process
from tagloom.read import read_fabric

pytestmark = pytest.mark.slow

TREE = ("--assignment", "pinned", "--routing", "tree")
HOST = '  {}: {{switch: {}, port: Et{}, mac: "02:00:00:00:00:0{}"}}\n'
OLD = """name: eos
model: arista-7010t-48
switches: {s0: {}, s1: {}, s2: {}}
links: [["s0:Et1", "s1:Et1"], ["s1:Et2", "s2:Et1"]]
hosts:
""" + "".join(HOST.format(f"h{n}", f"s{n}", 5, n) for n in range(3))
LINE = '["s1:Et2", "s2:Et1"]'
NEW = OLD.replace("s2: {}", "s2: {}, n: {}").replace(LINE, f'{LINE}, ["s0:Et2", "s2:Et2"], ["s2:Et3", "n:Et1"]')
FILES = {
    "old": OLD + HOST.format("goes", "s1", 6, 7),
    "new": NEW + HOST.format("x", "n", 5, 8) + HOST.format("y", "s0", 6, 9),
    "ring": OLD.replace(LINE, f'{LINE}, ["s0:Et2", "s2:Et2"]'),
}
BOTH = ("h0", "h1", "h2")
LIMIT = ("--limit", "s0,s1,s2")


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    """Plan a line of three switches, and one with a switch, a link and two hosts more and one host less."""
    terminal = Terminal(tmp_path_factory.mktemp("tree"))
    for name, text in FILES.items():
        (terminal.home / f"{name}.yml").write_text(text)
    terminal("plan", "old.yml", "-o", "old", *TREE)
    terminal("plan", "new.yml", "-o", "new", "--keep", "old", *TREE)
    terminal("rollout", "old", "new", "-o", "change")
    without_waits(terminal.home / "change")
    with terminal.lab("new.yml"):
        yield terminal


@pytest.fixture
def terminal(running):
    """Return a terminal whose line of switches runs, the switch more being as the factory made it."""
    running.fresh()
    running("apply", "old", "--allow", "interrupt", *LIMIT)
    plug(running, "old", BOTH)
    return running


def plug(terminal, build, names=()):
    """Plug in the hosts of a build, or those of some names."""
    hosts = read_fabric(terminal.home / build / "fabric.yml").hosts
    process.plug(terminal.rack, [host for host in hosts if not names or host.name in names])


def nothing_lost(terminal):
    report = process.traffic(terminal.rack, "stop")
    assert {report[kind] for kind in ("lost", "duplicated", "flooded", "overheard", "storms")} == {0}
    assert report["lines"] > 20


@pytest.mark.daily
def test_it_grows_under_traffic_and_goes_on_where_a_switch_stopped_in_the_middle(terminal):
    process.quirks(terminal.rack, {"n": {"reject_line": "spanning-tree mode none"}})
    process.traffic(terminal.rack, "start")
    page = terminal.answer("apply", "change", expect=3)
    assert page["failed"] == ["n"]
    assert "switchport access vlan 100" in process.configurations(terminal.rack)["n"]
    process.quirks(terminal.rack, {"n": {"reject_line": ""}})
    page = terminal.answer("apply", "--resume")
    assert (page["state"], page["failed"], page["hitless"]) == ("done", [], True)
    nothing_lost(terminal)
    plug(terminal, "new")
    ping = terminal.answer("lab", "ping")
    assert (ping["pairs"], ping["reached"]) == (20, 20)
    terminal("observe", "--against", "change/build")


@pytest.mark.long
def test_it_is_led_back_under_traffic(terminal):
    before = process.configurations(terminal.rack)
    process.traffic(terminal.rack, "start")
    page = terminal.answer("apply", "change")
    assert (sorted(page["changed"]), page["hitless"]) == (["n", "s0", "s1", "s2"], True)
    page = terminal.answer("rollback")
    assert (sorted(page["changed"]), page["failed"]) == (["n", "s0", "s1", "s2"], [])
    nothing_lost(terminal)
    assert process.configurations(terminal.rack) == before


def test_a_link_of_the_tree_that_goes_is_refused_and_what_is_named_leads_on(terminal):
    """Off the tree it goes while pairs are cut off, which is said; after that without a cut."""
    terminal("plan", "ring.yml", "-o", "ring", "--keep", "old", *TREE)
    terminal("apply", "ring", *LIMIT)
    before = process.configurations(terminal.rack)
    (terminal.home / "less.yml").write_text(FILES["ring"].replace('["s0:Et1", "s1:Et1"], ', ""))
    terminal("plan", "less.yml", "-o", "less", "--keep", "ring", *TREE)
    page = terminal.answer("apply", "less", *LIMIT, expect=1)
    assert "untagged in one VLAN" in page["witness"]
    assert page["advice"] == ["plan --off LINK"]
    assert process.configurations(terminal.rack) == before
    first, _, rest = page["next"].partition(", then ")
    then, _, _ = rest.partition(", which")
    terminal(*shlex.split(first.replace("OLD.yml", "ring.yml"))[1:], "--previous", "ring", *TREE)
    page = terminal.answer(*shlex.split(then)[1:], *LIMIT)
    assert (page["hitless"], page["failed"]) == (False, [])
    process.traffic(terminal.rack, "start")
    terminal("plan", "less.yml", "-o", "less", "--keep", "OFF", *TREE)
    page = terminal.answer("apply", "less", *LIMIT)
    assert (page["changed"], page["hitless"]) == (["s0", "s1"], True)
    report = process.traffic(terminal.rack, "stop")
    assert (report["lost"], report["storms"], report["lines"] > 0) == (0, 0, True)
    assert terminal.answer("lab", "ping")["reached"] == 6
